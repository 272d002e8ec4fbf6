"""Labels and units of a run as pandas DataFrames, from its stored records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fiftyone as fo
import numpy as np
from fiftyone.core.collections import SampleCollection

from ...agreement.families.family import FAMILIES
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
    records, index, config = loaded.records, loaded.index, loaded.context.config
    on_frames = index.frame_numbers() is not None
    if not isinstance(view, fo.Dataset):
        kept = index.among(keys_of(view, on_frames=on_frames))
        records, index = records.select(kept), index.select(kept)
    if "label_id" in records.rows and "label_id" not in records.parts[0]:
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
    rows = np.asarray(whole.pop("row"), np.int64)
    ids, frames = np.array([*index.ids(), None], object)[rows], index.frame_numbers()
    if "field" in whole:
        whole["field"] = np.array([*config.fields, None], object)[whole["field"]]
    elif table == "labels":
        annotators = dict.fromkeys(loaded.context.annotators, config.fields[0])
        if not config.attribute_mode:
            annotators = dict(zip(loaded.context.annotators, config.fields, strict=True))
        whole["field"] = [annotators[name] for name in whole["annotator"]]
    if table == "labels" and loaded.context.details.get("roles") and records.of_classes is not None:
        rows = _with_role_labels(whole, rows, records, loaded.context)
        ids = np.array([*index.ids(), None], object)[rows]
    numbers = np.empty(0, np.int64) if frames is None else frames
    where = {"sample_id": ids, **({"frame_number": numbers[rows]} if on_frames else {})}
    whole["unit"] = [unit if unit is not None else of for unit, of in zip(whole["unit"], ids, strict=True)]
    found = pd.DataFrame({**where, **{name: whole[name] for name in TABLES[table] if name in whole}})
    return found.sort_values(list(where), kind="stable", ignore_index=True)


def _with_role_labels(whole: dict[str, Any], rows: IntArray, records: Records, context: ReportContext) -> IntArray:
    """Add the labels of roles to the columns, and what they say of the others; also returns the rows of all samples."""
    n = len(rows)
    found = role_table(records, context)
    whole["unit"] = [*whole["unit"], *(None if k < 0 else whole["unit"][k] for k in found.pop("drawn").tolist())]
    whole["reference"] = [*found.pop("reference"), *[None] * len(found["row"])]
    whole["role"] = [*["annotator"] * n, *found["role"]]
    of_roles = np.asarray(found.pop("row"), np.int64)
    for name in set(whole) - {"unit", "reference", "role"}:
        added = found.get(name, [np.nan if name == "iou" else None] * len(of_roles))
        whole[name] = [*whole[name], *added]
    return np.concatenate([rows, of_roles])


def _joined(parts: list[Any]) -> Any:
    """The values of all chunks."""
    if isinstance(parts[0], list):
        return [value for part in parts for value in part]
    return np.concatenate(parts)
