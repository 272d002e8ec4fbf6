"""The state of the panel: the run that it shows, or why there is none; the cache of its report and tables."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators.cache import execution_cache

from .. import names
from ..agreement.disputes.costs import CostlyUnits, LeftOut, SoughtUnits, disputed_by_class, left_out
from ..agreement.families.family import FAMILIES, build_report
from ..agreement.matching.verdicts import VERDICTS
from ..agreement.objects.sensitivity import Sensitivity, has_stored_geometry
from ..agreement.parts.result import AgreementParts
from ..agreement.settings.errors import AgreementInputError
from ..agreement.statistics.records import Records
from ..agreement.statistics.report import AgreementReport, ReportContext
from ..charts.reports.document import outcome
from ..charts.reports.families import family_of
from ..charts.text.advice import whom_to_talk_to
from ..dataset_io import changed_since
from ..dataset_io.app.settings import lacks_colors
from ..dataset_io.database.fiftyone_private import serialized_stages
from ..dataset_io.decide.next_object import Sought
from ..dataset_io.record.run import COMPLETED, FAILED, Run, completed_kinds, newest_first
from ..dataset_io.record.sample_index import SampleIndex
from ..dataset_io.record.stored_records import OpenRecords
from ..dataset_io.results.load import records_on
from ..dataset_io.results.parts import OpenParts
from ..dataset_io.results.thresholds import sensitivity_of
from ..dataset_io.run.work_list import WorkList, work_list

#: meaning of the status of a run that is not completed
_UNDER_WAY = {
    "running": "is being computed, or its process died",
    "renaming": "is being renamed",
    "deleting": "is being deleted",
}


OBJECT_ID = re.compile("[0-9a-f]{24}")
#: the state that the App stores of a panel: the type of every part, which may be missing; ``...``: all other entries. A
#: list has entries of one type, a tuple entries of these types
_KEPT: dict[Any, Any] = {
    **dict.fromkeys(("run_key", "tab", "decider", "shown", "answer", "by"), str),
    "of_view": bool,
    "known": [str],
    "sort": {...: int},
    "page": {...: int},
    "refreshed": int,
    "decide": {
        **dict.fromkeys(("by", "editor", "verdict", "annotator", "label"), str),
        "sample": OBJECT_ID,
        "votes": int,
        **dict.fromkeys(("skipped", "filtering"), bool),
        "colours": [{"path": str}],
        "left": [(str, float)],
        "at": (OBJECT_ID, str),
        "past": [(OBJECT_ID, str)],
        "n": int,
        "editing": {"active": [str], "fields": [str], "step": str},
        "watched": {OBJECT_ID: object},
        "counted": {},
    },
}


def unusable_parts(kept: dict[str, Any]) -> list[str]:
    """Names of the parts of the stored state that have another type than the panel gave them."""
    return sorted(name for name, value in kept.items() if not _is_of(value, _KEPT.get(name, object)))


def _is_of(value: Any, kind: Any) -> bool:
    if value is None or kind is object:
        return True
    if isinstance(kind, list | tuple):
        kinds = kind if isinstance(kind, tuple) else kind * len(value if isinstance(value, list) else ())
        same = isinstance(value, list | tuple) and len(value) == len(kinds) and None not in value
        return same and all(map(_is_of, value, kinds))
    if isinstance(kind, dict):
        if not isinstance(value, dict) or (OBJECT_ID in kind and not all(map(OBJECT_ID.fullmatch, value))):
            return False
        other = kind.get(..., object)
        return all(_is_of(entry, kind.get(name, other)) for name, entry in value.items())
    if isinstance(kind, re.Pattern):
        return isinstance(value, str) and kind.fullmatch(value) is not None
    return isinstance(value, kind) and isinstance(value, bool) == (kind is bool)


@dataclass(frozen=True, slots=True)
class PanelState:
    """The runs of a dataset, and the run to show."""

    keys: list[str] = field(default_factory=list)  #: the runs of the dataset, the newest first
    run_key: str | None = None  #: the run to show; None if there is none
    config: dict[str, Any] = field(default_factory=dict)  #: the config of the run
    problem: str | None = None  #: why there are no numbers; None if there are
    advice: str = ""  #: what to do about the problem
    notes: list[str] = field(default_factory=list)  #: changes since the run was computed
    has_dataset: bool = True  #: whether there is a dataset to compute on
    n_changed: int = 0  #: samples that somebody changed since the run
    lacks_colors: bool = False  #: whether nobody chose colours for the annotators' labels
    comparable: list[str] = field(default_factory=list)  #: the other runs on the same fields, the newest first

    @property
    def results_id(self) -> str:
        """Id of the results, different for every run of the same key."""
        return str(self.config.get("results_id"))

    @property
    def field_key(self) -> str | None:
        """Prefix of the run's fields; differs from the key if the run was renamed with FiftyOne's ``rename_run()``."""
        key: str | None = self.config.get("options", {}).get("run_key", self.run_key)
        return key

    @property
    def fields(self) -> list[str]:
        """The annotators' fields."""
        return list(self.config.get("options", {}).get("fields", ()))


#: the state if somebody deleted the dataset meanwhile
WITHOUT_DATASET = PanelState(problem="The dataset was deleted", advice="Open another dataset.", has_dataset=False)


def panel_state_of(dataset: fo.Dataset | None, wanted: str | None) -> PanelState:
    """The state for a dataset: its runs, the run to show, and its problems.

    Args:
        dataset: the dataset, just loaded by an execution context; None if the App shows none
        wanted: the run that the user chose, which may be gone; None for the default run
    """
    if dataset is None:
        advice = "Open a dataset with labels of several annotators."
        return PanelState(problem="No dataset is open", advice=advice, has_dataset=False)
    if dataset.deleted:
        return WITHOUT_DATASET
    keys = newest_first(dataset)
    if not keys:
        return PanelState(
            problem="No agreement was computed on this dataset yet"
            if wanted is None
            else f"The run {wanted!r} is gone",
            advice="Compute it: choose the fields with the labels of your annotators.",
        )
    completed = (key for key in keys if Run(dataset, key).status == COMPLETED)
    run_key = wanted if wanted in keys else next(completed, keys[0])
    notes = []
    if wanted is not None and wanted != run_key:
        notes.append(f"The run {wanted!r} was deleted or renamed meanwhile; this is {run_key!r}.")
    config = Run(dataset, run_key).config
    problem, advice = _problem(Run(dataset, run_key), config)
    lost = [path for path in config.get("fields_written", []) if dataset.get_field(path) is None]
    if problem is None and lost:
        paths = ", ".join(f"`{path}`" for path in lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
        notes.append(
            f"Fields of this run were deleted: {paths}. The numbers are still correct, but the samples and labels "
            "behind them cannot be shown; compute it again with “overwrite”."
        )
    n_changed = 0
    try:
        n_changed = (changed_since(dataset, run_key) or 0) if problem is None else 0
    except AgreementInputError as error:  # its view names what was deleted since
        notes.append(f"{error}. The numbers are those of the run; what was changed since is not known.")
    options = config.get("options", {})
    in_one_field = options.get("annotator_attribute") is not None
    fields = [path for path in options.get("fields") or () if isinstance(path, str)]
    offers = problem is None and lacks_colors(dataset, run_key, fields, in_one_field=in_one_field)
    kinds = completed_kinds(dataset)
    comparable = [key for key, kind in kinds.items() if key != run_key and kind == kinds.get(run_key)]
    found = PanelState(keys, run_key, config, problem, advice, notes)
    return dataclasses.replace(found, n_changed=n_changed, lacks_colors=offers, comparable=comparable)


def _problem(run: Run, config: dict[str, Any]) -> tuple[str | None, str]:
    run_key, status, version = run.key, config.get("status"), config.get("schema_version")
    if status == FAILED:
        error = config.get("error") or "no reason was recorded"
        return f"The run {run_key!r} failed: {error}", "Compute it again with “overwrite”, or delete it."
    if run.was_killed:
        return (
            f"The process that computed the run {run_key!r} is gone",
            "Compute it again with “overwrite”, or with “Continue” if workers shared it, or delete it.",
        )
    if status != COMPLETED:
        return (
            f"The run {run_key!r} {_UNDER_WAY.get(str(status), f'has the status {status!r}')}",
            "Refresh when it is done. If its process has died, compute it again with “overwrite”, or delete it.",
        )
    if version != names.SCHEMA_VERSION:
        return (
            f"The run {run_key!r} was computed by another version of the plugin",
            "Compute it again with “overwrite” to see it here.",
        )
    return None, ""


#: views with more samples get no intervals, which would take more than a second
MOST_RESAMPLED = 2_000
#: other thresholds and rules of more objects are computed when the user asks for them
MOST_COMPARED = 20_000
#: parts of more samples get no intervals
MOST_DIVIDED = 20_000
#: records of a run up to this size are cached for the next view
_MOST_KEPT = 150_000_000


def hash_of(*parts: Any) -> str:
    """A short hash of some values."""
    return hashlib.md5(json.dumps(parts, sort_keys=True, default=str).encode(), usedforsecurity=False).hexdigest()[:10]


def hash_of_view(view: SampleCollection | None) -> str:
    """A hash of the stages of a view; different views of a dataset have different hashes."""
    stages = [] if view is None else serialized_stages(view, with_ids=False)
    return hash_of(stages)


class ShownReport:
    """A report, and what the panel shows in addition to it: the scores and disputes of single samples."""

    def __init__(
        self,
        report: AgreementReport,
        records: Records,
        index: SampleIndex,
        context: ReportContext,
        version: str = "1",
        notes: Sequence[str] = (),
    ) -> None:
        self.report: AgreementReport = report
        self.version = version  #: identifies this content
        self.notes = list(notes)  #: remarks on the numbers
        self._records = records
        self.index = index  #: the samples of the records
        self.annotator_codes = {name: k for k, name in enumerate(context.annotators)}  #: their codes in the records
        self.class_names = sorted(context.class_names[1:])  #: the classes of the labels
        self._context = context
        self._costly: dict[Sought, CostlyUnits] = {}
        self._parts: dict[str, AgreementParts] = {}
        self._divided: OpenParts | None = None
        self._sensitivity: Sensitivity | None = None
        self.scores = records.column("score")  #: shape ``(S,)``, nan where undefined
        values = records.sample_values()
        rated = values.n_annotators >= 2
        self.n_units = int(values.n_units[rated].sum())  #: units of rated samples
        self.n_disputed = int(values.n_disputed[rated].sum())  #: disputed ones of these

    @functools.cached_property
    def work(self) -> WorkList:
        """The samples on which annotators differ, the most costly first."""
        return work_list(self._records, self.index)

    @functools.cached_property
    def frames(self) -> WorkList | None:
        """The frames with disputes, the most costly first; None if samples are no videos."""
        is_of_frames = self.report.run.n_videos is not None
        return work_list(self._records, self.index, of_frames=True) if is_of_frames else None

    @functools.cached_property
    def findings(self) -> tuple[list[str], list[str]]:
        """Sentences above the tabs (the outcome, the main cause, whom to talk to), and those on all other findings."""
        family = family_of(self.report)
        first, found = outcome(self.report), family.findings(self.report)
        whom = whom_to_talk_to(self.report, family.phrases)
        n_cause = int(self.report.has_objects and bool(found))
        head, others = [first, *found[:n_cause]], found[n_cause:]
        return ([*head, whom], others) if whom else ([*head, *others[:1]], others[1:])

    def described(self, dataset: fo.Dataset | None, work: WorkList, first: int, end: int) -> list[dict[str, Any]]:
        """Some entries of a work list: id, file and frame of a sample, and the reasons for its disputes."""
        rows = work.row[first:end]
        reasons = family_of(self.report).reasons(self._records.take(rows), self._context)
        samples = self.index.list_samples(dataset, rows.tolist()) if dataset is not None else [{}] * len(rows)
        return [{**sample, "reason": reason} for sample, reason in zip(samples, reasons, strict=True)]

    @property
    def is_quick(self) -> bool:
        """Whether the numbers at other thresholds and rules are computed quickly, so that no button is needed."""
        return has_stored_geometry(self._records) and self.report.n_objects <= MOST_COMPARED  # type: ignore[arg-type]

    def sensitivity(self, dataset: fo.Dataset, run_key: str) -> Sensitivity:
        """Other thresholds and rules of the objects, computed once."""
        if self._sensitivity is None:
            run = Run(dataset, run_key)
            self._sensitivity = sensitivity_of(run, self._records, self.index, self._context)
        return self._sensitivity

    @functools.cached_property
    def left_out(self) -> LeftOut:
        """Misses and lone objects by class and annotator; only for runs on objects."""
        return left_out(self._records, len(self._context.class_names), range(len(self._context.annotators)))  # type: ignore[arg-type]

    @functools.cached_property
    def disputed_by_class(self) -> list[dict[str, Any]]:
        """Every class with disputed objects, its objects and how many of them are disputed; most disputed first."""
        counts = disputed_by_class(self._records, len(self._context.class_names))  # type: ignore[arg-type]
        found = zip(self._context.class_names, *(count.tolist() for count in counts), strict=True)
        rows = [{"name": name, "n": n, "n_disputed": n_disputed} for name, n, n_disputed in found if n_disputed]
        return sorted(rows, key=lambda row: (-row["n_disputed"], row["name"]))

    def divided(self, dataset: fo.Dataset) -> OpenParts:
        """Access to parts of the samples; of very many samples without intervals, which would take seconds."""
        context = self._context
        if self._records.n_samples > MOST_DIVIDED:
            context = dataclasses.replace(context, config=dataclasses.replace(context.config, resamples=0))
        self._divided = self._divided or OpenParts(
            dataset, context.config.run_key, self._records, self.index, context, self.report
        )
        return self._divided

    def parts_by(self, dataset: fo.Dataset, by: str) -> AgreementParts:
        """The numbers of the parts by a field, or by saved views, as :meth:`divided` offers it."""
        if by not in self._parts:
            self._parts[by] = self.divided(dataset).by_offered(by)
        return self._parts[by]

    def costly(self, sought: Sought) -> CostlyUnits:
        """The disputed units that pass the filters, the most costly first."""
        key = dataclasses.replace(sought, skipped=False, sample_id=None)
        if key not in self._costly:
            codes = SoughtUnits(
                verdict=None if sought.verdict is None else VERDICTS.index(sought.verdict),
                annotator=None if sought.annotator is None else self.annotator_codes[sought.annotator],
                category=None if sought.label is None else self.class_code(sought.label),
                votes=sought.votes,
            )
            self._costly[key] = FAMILIES[self._records.family].costly_units(self._records, codes)
        return self._costly[key]

    def run_filters(self, decide: Mapping[str, Any]) -> dict[str, Any]:
        """The state of Decide, without filters by a verdict, annotator or class that the run does not have."""
        has = {"verdict": VERDICTS, "annotator": self.annotator_codes, "label": self.class_names}
        return {**decide, **{name: None for name, values in has.items() if decide.get(name) not in values}}

    def class_code(self, name: str) -> int:
        """Code of a class in the records."""
        return list(self._context.class_names).index(name)


@execution_cache(residency="ephemeral", max_size=8, key_fn=lambda ctx, *key, view: list(key))
def cached_shown(ctx: foo.ExecutionContext, *key: Any, view: SampleCollection | None) -> ShownReport:
    """Cached content of the panel for a run.

    Args:
        key: id of the dataset, the run, id of its results (new whenever it is computed), how often the user refreshed,
            and a hash of the view
        view: the samples that the numbers describe; None for all
    """
    version, run_key = hash_of(*key), key[1]
    kept = Run(ctx.dataset, run_key).stored_bytes <= _MOST_KEPT
    loaded: OpenRecords = (_records if kept else _records.uncached)(ctx, *key[:4])
    if view is None:
        return ShownReport(loaded.report, loaded.records, loaded.index, loaded.context, version)
    records, index, context = records_on(view, run_key, loaded)
    notes = []
    if context.config.resamples and records.n_samples > MOST_RESAMPLED:
        context = dataclasses.replace(context, config=dataclasses.replace(context.config, resamples=0))
        notes.append(
            f"Without intervals, which the panel computes for views of up to {MOST_RESAMPLED:,} samples; "
            "“Show the annotator agreement report” and `run.on(view)` do it for all."
        )
    return ShownReport(build_report(records, context), records, index, context, version, notes)


@execution_cache(residency="ephemeral", max_size=2)
def _records(ctx: foo.ExecutionContext, dataset_id: str, run_key: str, results_id: str, refreshed: int) -> OpenRecords:
    """The records of a run, cached for the numbers of several views."""
    return Run(ctx.dataset, run_key).records()
