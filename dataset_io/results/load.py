"""Load the results of completed runs: the report, also on a view, and the tables of samples, labels and units."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import fiftyone as fo
import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from numpy.typing import NDArray

from ... import names
from ...agreement.disputes.judged import DecisionReport
from ...agreement.families.family import FAMILIES, build_report
from ...agreement.families.unit_tables import lists_by_row, other_labels
from ...agreement.objects.sensitivity import Sensitivity
from ...agreement.roles.summary import reference_of_samples
from ...agreement.settings.arguments import takes_arrays
from ...agreement.settings.errors import AgreementInputError
from ...agreement.settings.options import OPTIONS
from ...agreement.statistics.presentation import shown_as
from ...agreement.statistics.records import Records
from ...agreement.statistics.report import AgreementReport, ReportContext
from ...metrics.numeric.arrays import IntArray
from ..database.fiftyone_private import sample_collection
from ..record.gold_fields import GoldField, gold_fields
from ..record.run import Run
from ..record.run_labels import changed_since
from ..record.sample_index import SampleIndex
from ..record.stored_records import OpenRecords
from ..run.work_list import look_first, worst_samples
from .thresholds import sensitivity_on

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
        AgreementInputError: if there is no such run, or it did not complete
    """
    import pandas as pd  # a run does not need it

    loaded = Run(view, run_key).records()
    records, index = loaded.records, loaded.index
    on_frames = index.frame_numbers() is not None
    if not isinstance(view, fo.Dataset):
        kept = index.among(view)
        records, index = records.select(kept), index.select(kept)
    columns: dict[str, list[Any]] = {}
    for part in FAMILIES[records.family].tables(records, loaded.context):
        chosen = getattr(part, table)
        if table == "labels":
            chosen = {**chosen, "unit": np.asarray(part.units["unit"], object)[chosen["unit"]]}
        for name, values in chosen.items():
            columns.setdefault(name, []).append(values)
    whole: dict[str, Any] = {
        name: [value for part in parts for value in part] if isinstance(parts[0], list) else np.concatenate(parts)
        for name, parts in columns.items()
    }
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
    """Add the fields, the verdicts of the reference, and rows for labels of roles and labels that are in no unit.

    Returns:
        the row of the sample of every label
    """
    config, roles = context.config, context.details.get("roles", ())
    fields = dict.fromkeys(context.annotators, config.fields[0])
    if not config.attribute_mode:
        fields = dict(zip(config.annotators, config.fields, strict=True))
    whole["field"] = [fields[name] for name in whole["annotator"]]
    found, said = other_labels(records, context)
    if said is not None:
        whole |= {"reference": said, "role": ["annotator"] * len(rows)}
    if found:
        who, n = found["annotator"].tolist(), len(context.annotators)
        drawn = zip(who, found.pop("drawn").tolist(), ids[found["row"]], strict=True)
        names = [*context.annotators, *(role["name"] for role in roles)]
        of_roles = [config.fields[0] if role["of_attribute"] else role["name"] for role in roles]
        every = [*(fields[name] for name in context.annotators), *of_roles]
        found["unit"] = [None if own < n else of if k < 0 else whole["unit"][k] for own, k, of in drawn]
        found |= {"annotator": [names[k] for k in who], "field": [every[k] for k in who]}
        added = np.asarray(found.pop("row"), np.int64)
        for name in {*whole, *found}:  # a column that one of the two lacks is None or nan
            nothing = np.nan if name in ("iou", "area") else None
            before, after = (of.get(name, [nothing] * len(at)) for of, at in ((whole, rows), (found, added)))
            whole[name] = [*before, *after]
        rows = np.concatenate([rows, added])
    return rows


Report = TypeVar("Report", bound=AgreementReport)

_report_decisions: list[Callable[..., DecisionReport]] = []


@takes_arrays
def load_agreement(dataset: fo.Dataset | SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> AgreementReport:
    """The report of a completed run.

    Args:
        dataset: the dataset, or a view of it
        run_key: key of the run

    Raises:
        AgreementInputError: if there is no such run, or it did not complete
    """
    run = Run(dataset, run_key)
    return with_samples(run.report(), run.dataset)


@takes_arrays
def agreement_on(
    view: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY, *, resamples: int | None = None
) -> AgreementReport:
    """The report of a run for the samples of a view, from the stored records.

    Labels that were edited, deleted or added since the run, and labels that the view hides, make no difference.

    Args:
        view: a view of the dataset, or the dataset; samples that the run did not see are left out. For runs on frames,
            the frames of the view count; for patches and clips, the samples or frames that they were made from
        run_key: key of the run
        resamples: number of resamples for the intervals, which take the most time; None for the number in the run, 0
            for no intervals

    Raises:
        AgreementInputError: as ``load``; if the view has no sample of the run
    """
    records, index, context = records_on(view, run_key)
    if resamples is not None:
        resamples = OPTIONS["resamples"].checked(resamples)
        context = dataclasses.replace(context, config=dataclasses.replace(context.config, resamples=resamples))
    first = look_first(records, index, Run(view, run_key).dataset, context)
    return with_samples(dataclasses.replace(build_report(records, context), look_first=first), view)


def records_on(
    view: SampleCollection, run_key: str, loaded: OpenRecords | None = None
) -> tuple[Records, SampleIndex, ReportContext]:
    """The records of a run for the samples of a view, these samples, and the context of a report.

    Raises as ``run.on``.

    Args:
        loaded: the records of the whole run, if already loaded
    """
    run = Run(view, run_key)
    loaded = loaded or run.records()
    kept = loaded.index.among(view)
    if not kept.any():
        raise AgreementInputError(f"`view` must have samples of the run {run_key!r}, got none among {len(view)}")
    records, index = loaded.records.select(kept), loaded.index.select(kept)
    counts = {} if kept.all() else index.totals(loaded.context.annotators)
    facts = dataclasses.replace(
        loaded.report.run,
        **counts,
        n_of=loaded.report.n_samples,
        n_videos=None if index.frame_numbers() is None else len(np.unique(index.numbers())),
    )
    context = dataclasses.replace(
        loaded.context,
        run=facts,
        worst_samples=worst_samples(records.sample_values(), index, run.dataset),
        clusters=index.clusters(),
        describe=functools.partial(index.list_samples, run.dataset),
    )
    return records, index, context


# ---- the table of samples ----


#: a report shows decisions if no more samples, or frames, have any; that takes about a second
MOST_DECIDED = 2_000


def report_decisions_with(function: Callable[..., DecisionReport]) -> None:
    """Set the function that makes adjudication reports, which reports show; this module does not import decisions."""
    _report_decisions[:] = [function]


@dataclass(frozen=True)
class StoredSamples:
    """Reads the table of the samples of a report from the stored records."""

    view: SampleCollection  #: the samples of the report
    run_key: str  #: key of the run

    def read(self, table: str) -> DataFrame:
        """The table of samples (``run.samples``), labels or units, or one that is computed now."""
        if table == "samples":
            return agreement_samples(self.view, self.run_key)
        if table not in TABLES:
            found: DataFrame = shown_as("sensitivity_frame", self.sensitivity, table)
            return found
        return run_table(self.view, self.run_key, table)

    def n_changed(self) -> int | None:
        """Number of changed samples (``run.changed``); None also if the run is gone."""
        with contextlib.suppress(AgreementInputError):
            return changed_since(self.view, self.run_key)
        return None

    @functools.cached_property
    def sensitivity(self) -> Sensitivity:
        """Other thresholds and rules of a run on objects, computed once; if that fails, no numbers and the reason."""
        try:
            return sensitivity_on(self.view, self.run_key)
        except AgreementInputError as error:
            return Sensitivity(note=str(error))

    def decisions(self) -> DecisionReport | int | None:
        """Adjudication report on the objects, from the first field of decisions; None if there is none.

        If more than ``MOST_DECIDED`` samples, or frames, have decisions, which takes long to read: this number instead.
        """
        with contextlib.suppress(AgreementInputError):
            for field in gold_fields(self.view)[:1]:
                many = GoldField.open(self.view, field).has_more_than(MOST_DECIDED)
                return MOST_DECIDED if many else _report_decisions[0](self.view, self.run_key, gold=field)
        return None


def with_samples(report: Report, view: SampleCollection) -> Report:
    """The report, with access to the table of its samples."""
    return dataclasses.replace(report, samples=StoredSamples(view, report.run_key))


@takes_arrays
def agreement_samples(dataset: fo.Dataset | SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> DataFrame:
    """The table of all samples of a run, from the stored records; one row each, sorted by id.

    Args:
        dataset: the dataset, or a view to list only its samples
        run_key: key of the run

    Returns:
        a pandas DataFrame with ``id`` (``sample_id`` in the tables of labels and units) and ``filepath`` of the sample
        (of the video, and ``frame_number``, for frames), ``score`` and ``alpha`` (nan where undefined),
        ``n_annotators``, ``n_objects``, ``n_units`` and ``n_disputed``; ``cost``, by which the
        work list is sorted (of what is missed, misnamed or drawn differently); ``annotators``, the list of those who
        were asked; with a reference the F1 of each annotator against it, ``reference_f1.<annotator>`` (masks:
        ``reference_iou.…``; classes and numbers: ``reference_accuracy.…``, 1 or 0), nan where one of the two was not
        asked or neither has a label. Samples deleted since have no ``filepath``

    Raises:
        AgreementInputError: if there is no such run, or it did not complete
    """
    import pandas as pd  # a run does not need it

    run = Run(dataset, run_key)
    loaded = run.records()
    values, ids = loaded.records.sample_values(), loaded.index.ids()
    found = sample_collection(run.dataset).find(
        {"_id": {"$in": [ObjectId(sample_id) for sample_id in sorted(set(ids))]}}, {"filepath": True}
    )
    filepaths = {str(row["_id"]): row.get("filepath") for row in found}
    frames, (sample, annotator) = loaded.index.frame_numbers(), np.nonzero(loaded.records.assigned)
    annotators = np.array([*loaded.context.annotators, None], object)[:-1]
    table = pd.DataFrame(
        {
            "id": ids,
            "filepath": [filepaths.get(sample_id) for sample_id in ids],
            **({"frame_number": frames} if frames is not None else {}),
            "score": np.asarray(values.score, np.float64),
            "alpha": np.asarray(values.alpha, np.float64),
            "n_annotators": values.n_annotators,
            "n_objects": values.n_objects,
            "n_units": values.n_units,
            "n_disputed": values.n_disputed,
            "cost": FAMILIES[loaded.records.family].costs(loaded.records),
            "annotators": lists_by_row(sample, annotators[annotator], len(ids)),
            **reference_of_samples(loaded.records, loaded.context),
        }
    )
    if not isinstance(dataset, fo.Dataset):
        table = table[loaded.index.among(dataset)]
    return table.sort_values(["id", *(["frame_number"] if frames is not None else [])], ignore_index=True)
