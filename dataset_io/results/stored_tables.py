"""Labels and units of a run as pandas DataFrames, from its stored records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fiftyone as fo
import numpy as np
from fiftyone.core.collections import SampleCollection
from numpy.typing import NDArray

from ...agreement.families.family import FAMILIES
from ...agreement.families.unit_tables import uncounted_labels
from ...agreement.roles.summary import role_table
from ...agreement.settings.errors import AgreementInputError
from ...agreement.statistics.records import Records
from ...agreement.statistics.report import ReportContext
from ...metrics.numeric.arrays import IntArray
from ..record.run import Run
from ..record.sample_index import keys_of

if TYPE_CHECKING:
    from pandas import DataFrame

#: the tables, and their columns as far as the label type has them
TABLES = {
    "labels": ("unit", "annotator", "role", "field", "label_id", "label", "verdict", "reference", "iou", "area"),
    "units": ("unit", "labels", "drawn_by", "missed_by", "votes", "assigned", "verdict", "iou", "cost"),
}


def run_table(view: SampleCollection, run_key: str, table: str) -> DataFrame:
    """A table of a run, as ``AgreementReport.labels()`` and ``.units()`` describe it.

    Args:
        view: the dataset, or a view to list only what is on its samples
        table: ``"labels"`` or ``"units"``

    Raises:
        AgreementInputError: if there is no such run, or it did not complete, or an older version computed it
    """
    import pandas as pd  # a run does not need it

    loaded = Run(view, run_key).records()
    records, index = loaded.records, loaded.index
    on_frames = index.frame_numbers() is not None
    if not isinstance(view, fo.Dataset):
        kept = index.among(keys_of(view, on_frames=on_frames))
        records, index = records.select(kept), index.select(kept)
    if loaded.report.has_objects and "label_id" not in records.parts[0]:
        raise AgreementInputError(
            f"The run {run_key!r} was computed by an older version, which kept no ids of labels; compute it again with "
            "overwrite=True"
        )
    columns: dict[str, list[Any]] = {}
    for part in FAMILIES[records.family].tables(records, loaded.context):
        chosen = getattr(part, table)
        if table == "labels":
            chosen = {**chosen, "unit": np.asarray(part.units["unit"], object)[chosen["unit"]]}
        for name, values in chosen.items():
            columns.setdefault(name, []).append(values)
    whole = {name: _joined(values) for name, values in columns.items()}
    rows, ids = np.asarray(whole.pop("row"), np.int64), np.array([*index.ids(), None], object)
    whole["unit"] = [unit if unit is not None else of for unit, of in zip(whole["unit"], ids[rows], strict=True)]
    if table == "labels":
        rows = _with_other_labels(whole, rows, ids, records, loaded.context)
    frames = index.frame_numbers()
    numbers = np.empty(0, np.int64) if frames is None else frames
    where = {"sample_id": ids[rows], **({"frame_number": numbers[rows]} if on_frames else {})}
    found = pd.DataFrame({**where, **{name: whole[name] for name in TABLES[table] if name in whole}})
    return found.sort_values(list(where), kind="stable", ignore_index=True)


def _with_other_labels(
    whole: dict[str, Any], rows: IntArray, ids: NDArray[Any], records: Records, context: ReportContext
) -> IntArray:
    """Add fields, the labels of roles and what they say of the others, and the labels that make no unit.

    Returns:
        the row of the sample of every label
    """
    config = context.config
    field_of = dict.fromkeys(context.annotators, config.fields[0])
    if not config.attribute_mode:
        field_of = dict(zip(config.annotators, config.fields, strict=True))
    whole["field"] = [field_of[name] for name in whole["annotator"]]
    has_roles = context.details.get("roles") and records.of_classes is not None
    if has_roles:
        found, units = role_table(records, context), whole["unit"]
        drawn = zip(found.pop("drawn").tolist(), ids[found["row"]], strict=True)
        found["unit"] = [of if k < 0 else units[k] for k, of in drawn]
        whole |= {"reference": found.pop("reference"), "role": ["annotator"] * len(rows)}
        rows = _with_rows(whole, rows, found)
    found = uncounted_labels(records, context)
    if found:
        found["field"] = [field_of[name] for name in found["annotator"]]
        if has_roles:
            found["role"] = ["annotator"] * len(found["row"])
        rows = _with_rows(whole, rows, found)
    return rows


def _with_rows(whole: dict[str, Any], rows: IntArray, found: dict[str, Any]) -> IntArray:
    """Add the rows of other columns, with nothing where one of the two has no such column; returns those of samples."""
    added = np.asarray(found.pop("row"), np.int64)
    for name in {*whole, *found}:
        nothing = np.nan if name in ("iou", "area") else None
        before, after = (of.get(name, [nothing] * len(at)) for of, at in ((whole, rows), (found, added)))
        whole[name] = [*before, *after]
    return np.concatenate([rows, added])


def _joined(parts: list[Any]) -> Any:
    """The values of all chunks."""
    if isinstance(parts[0], list):
        return [value for part in parts for value in part]
    return np.concatenate(parts)
