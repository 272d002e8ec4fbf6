"""Compare the numbers of two runs on the same samples: changes with intervals, by part and by sample."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ... import names
from ...metrics.numeric.arrays import FloatArray, IntArray
from ..roles import role_hashes
from ..settings.options import OPTIONS
from ..statistics.estimates import estimates
from ..statistics.numbers import Key, Numbers, differences
from ..statistics.presentation import ShowsItself, shown_as
from ..statistics.records import Hashes, Records, content_ranks, mixed
from ..statistics.report import Describe, Interval, ReportContext, number, read
from .family import FAMILIES, numbers_of

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, slots=True)
class Change:
    """A number in both runs, over the same samples; ``difference`` is ``b - a``.

    Undefined numbers are None; ``interval`` is also None where there are too few samples.
    """

    a: float | None
    b: float | None
    difference: float | None
    interval: Interval | None

    @property
    def is_clear(self) -> bool:
        """True if the interval excludes 0."""
        return self.interval is not None and self.interval.low * self.interval.high > 0


@dataclass(frozen=True, slots=True)
class PartChanges:
    """The changes of one pair of annotators, one class or one annotator."""

    names: list[str]
    numbers: dict[str, Change]


@dataclass(frozen=True, slots=True)
class SampleChanges:
    """Number of samples whose score is better, worse, equal, or undefined in one of the runs.

    ``better`` and ``worse`` list the largest changes first: ``{id, filepath, a, b, difference}``, for frames also
    ``frame_number``.
    """

    n_better: int
    n_worse: int
    n_equal: int
    n_undefined: int
    better: list[dict[str, Any]]
    worse: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class DecidedBetween:
    """Labels that were set to what somebody decided (``run.decisions.apply``) in one of the runs and not in the other.

    Such labels agree because somebody set them; ``numbers`` are of the samples without them.
    """

    n_labels: int  #: labels that were changed, deleted or added
    n_samples: int  #: samples with such labels
    n_left: int  #: samples without such labels
    #: whether decisions that one of the runs saw applied were undone or deleted since: which labels they set is unknown
    is_incomplete: bool
    numbers: dict[str, Change]  #: as ``numbers`` of the comparison; empty without samples


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AgreementComparison(ShowsItself):
    """The changes from one run to another, over the samples that have at least two assigned annotators in both.

    ``numbers`` has the numbers of the whole report by path; ``changes`` has the numbers of ``pairs``, ``classes``,
    ``annotators`` and so on that both runs have. Intervals come from a paired bootstrap: both runs use the same
    resamples of the shared samples (of whole videos or groups), so effects of hard samples cancel out.
    """

    shown_by: ClassVar[str] = "comparison"

    a: str
    b: str
    family: str
    n_samples: int
    n_only_a: int
    n_only_b: int
    n_unrated: int
    #: number of videos or groups of the samples; None if samples are independent
    n_clusters: int | None
    on_frames: bool
    #: ``{option, a, b}`` of every option that differs
    options: list[dict[str, Any]]
    annotators_only_a: list[str]
    annotators_only_b: list[str]
    numbers: dict[str, Change]
    changes: dict[str, list[PartChanges]]
    samples: SampleChanges
    resamples: int
    seed: int
    #: labels that decisions set between the runs; None if there are none
    decided: DecidedBetween | None = None
    #: name of the similarity of two objects; "similarity" if the runs have different ones
    measure: str = "IoU"
    #: versions of the formulas of both runs, where they differ: numbers may then differ for the same labels
    formulas: list[str] | None = None
    schema_version: int = names.SCHEMA_VERSION

    def __repr__(self) -> str:
        what = f"{self.n_samples:,} shared {'frames' if self.on_frames else 'samples'}"
        return f"<{type(self).__name__} from {self.a!r} to {self.b!r}: {what}; print_report() says more>"

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON-serialisable values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> AgreementComparison:
        """Rebuild a comparison from :meth:`to_dict`."""
        comparison: AgreementComparison = read(cls, values)
        return comparison

    def to_dataframe(self, table: str = "numbers") -> DataFrame:
        """A table of the comparison as a pandas DataFrame; undefined numbers are nan.

        Args:
            table: ``"numbers"``, ``"without_decided"`` (the same of the samples without labels that decisions set),
                ``"samples"`` (the largest changes), or a table of ``changes``: ``"pairs"``, ``"classes"``,
                ``"annotators"``

        Raises:
            AgreementInputError: if there is no such table; the message lists the tables
        """
        return shown_as("comparison_frame", self, table)


#: number of listed samples, better and worse each
N_LISTED = 10
#: scores that differ by at most this are equal
_ROUNDING = 1e-9
#: number of names in the key of a number: two for a pair, none for all sessions together; else one
_N_NAMES = (
    {"pairs": 2, "sessions": 0, "models": 2}
    | dict.fromkeys(("reference_classes", "reference_sizes", "reference_attributes"), 2)
    | dict.fromkeys(("models_classes", "models_sizes", "models_attributes"), 3)
)


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run, and the samples that it shares with the other run."""

    records: Records  #: records of all samples of the run
    context: ReportContext  #: context of the run's report
    rows: IntArray  #: shape ``(S,)``, rows of the shared samples, in the same order in both runs


@dataclass(frozen=True, slots=True)
class AppliedBetween:
    """Labels changed by applied decisions in one of two runs only."""

    n_labels: IntArray  #: shape ``(S,)``, labels of every shared sample that were set to what somebody decided
    is_incomplete: bool  #: as in :class:`~.compare.DecidedBetween`


def compare_runs(
    a: ComparedRun,
    b: ComparedRun,
    describe: Describe,
    clusters: IntArray | None,
    *,
    resamples: int,
    seed: int,
    on_frames: bool = False,
    applied: AppliedBetween | None = None,
) -> AgreementComparison:
    """Compare the numbers of two runs on the same samples.

    Args:
        b: second run, of the same family of label types
        clusters: shape ``(S,)``, video or group of every sample
        resamples: number of resamples; 0 for no intervals
        on_frames: whether the samples are frames
        applied: labels that decisions set between the runs; None if there are none
    """
    rated = np.flatnonzero(np.logical_and(*(run.records.assigned[run.rows].sum(axis=1) >= 2 for run in (a, b))))
    config_a, config_b = a.context.config, b.context.config
    changes = _changes(a, b, rated, clusters, resamples=resamples, seed=seed)
    names_a, names_b = set(a.context.annotators), set(b.context.annotators)
    versions = [run.context.run.versions.get(names.FORMULAS, "") for run in (a, b)]
    decided = None
    if applied is not None and (applied.n_labels[rated].any() or applied.is_incomplete):
        n_labels = applied.n_labels[rated]
        left = rated[n_labels == 0]
        without = _changes(a, b, left, clusters, resamples=resamples, seed=seed) if len(left) else {}
        n_changed = int((n_labels > 0).sum())
        whole = _whole_report(without)
        decided = DecidedBetween(int(n_labels.sum()), n_changed, len(left), applied.is_incomplete, whole)
    aside = {option.name for option in OPTIONS.values() if not option.changes_numbers}
    of_a, of_b = ({**run.context.config.to_dict(), "label types": list(run.context.label_types)} for run in (a, b))
    differing = [name for name in of_a if name not in aside and of_a[name] != of_b.get(name)]
    return AgreementComparison(
        a=config_a.run_key,
        b=config_b.run_key,
        family=a.records.family,
        n_samples=len(rated),
        n_only_a=a.records.n_samples - len(a.rows),
        n_only_b=b.records.n_samples - len(b.rows),
        n_unrated=len(a.rows) - len(rated),
        n_clusters=None if clusters is None else len(np.unique(clusters[rated])),
        on_frames=on_frames,
        options=[{"option": name, "a": of_a[name], "b": of_b.get(name)} for name in differing],
        annotators_only_a=sorted(names_a - names_b),
        annotators_only_b=sorted(names_b - names_a),
        numbers=_whole_report(changes),
        changes=_by_part(changes),
        samples=_samples(a, b, rated, describe),
        resamples=resamples,
        seed=seed,
        decided=decided,
        measure=a.context.measure if a.context.measure == b.context.measure else "similarity",
        formulas=None if versions[0] == versions[1] else versions,
    )


def _changes(
    a: ComparedRun, b: ComparedRun, rows: IntArray, clusters: IntArray | None, *, resamples: int, seed: int
) -> dict[Key, Change]:
    """The change of every number that is known from one run to the other, over some of the shared samples.

    Both runs yield their numbers in the same order, except for numbers that only one of them has. They are paired up by
    key and subtracted, a few columns at a time to save memory.
    """
    ranks = _ranks(a, b, rows, None if clusters is None else clusters[rows])
    values: tuple[dict[Key, float], dict[Key, float]] = ({}, {})
    waiting: tuple[dict[Key, Numbers], dict[Key, Numbers]] = ({}, {})

    def by_sample(run: ComparedRun) -> Iterator[Numbers]:
        """The numbers known sample by sample, so that they can have an interval, and those of the whole report."""
        # without resamples only the sums would be kept
        config = dataclasses.replace(run.context.config, resamples=max(run.context.config.resamples, 1))
        context = dataclasses.replace(run.context, clusters=ranks, config=config)
        every = numbers_of(run.records.take(run.rows[rows]), context)
        return (each for each in every if each.by_sample or any(len(key) == 1 for key in each.keys))

    def subtracted() -> Iterator[Numbers]:
        for both in zip_longest(by_sample(a), by_sample(b)):
            for run, each in enumerate(both):
                if each is None:
                    continue
                values[run].update(zip(each.keys, each.values().tolist(), strict=True))
                others = waiting[1 - run]
                found = [key for key in each.keys if key in others]
                for other in {id(others[key]): others[key] for key in found}.values():
                    first, second = (each, other) if run == 0 else (other, each)
                    yield differences(first, second, len(rows))
                for key in found:
                    del others[key]
                waiting[run].update((key, each) for key in each.keys if key not in values[1 - run])

    changes = {
        key: Change(number(values[0][key]), number(values[1][key]), number(found.value), found.interval)
        for key, found in estimates(subtracted(), ranks, resamples=resamples, seed=seed).items()
    }
    return {key: change for key, change in changes.items() if change.a is not None or change.b is not None}


def _ranks(a: ComparedRun, b: ComparedRun, rows: IntArray, clusters: IntArray | None) -> IntArray:
    """Rank of the samples by their content in both runs: intervals do not depend on their order, nor which run is a."""

    def content(run: ComparedRun) -> tuple[Hashes, FloatArray]:
        records = run.records.take(run.rows[rows])
        hashes, values = FAMILIES[records.family].contents(records, run.context)
        return hashes + role_hashes(records, run.context), values

    (of_a, values_a), (of_b, values_b) = content(a), content(b)
    # after what both have together, the first run alone tells samples apart that are the other way round in it
    first = (mixed(of_a) >> np.uint64(32)).astype(np.float64)
    return content_ranks(mixed(of_a) + mixed(of_b), np.column_stack([first, values_a, values_b]), clusters)


def _whole_report(changes: Mapping[Key, Change]) -> dict[str, Change]:
    """The changes of the numbers of the whole report, by path."""
    return {key[0]: change for key, change in changes.items() if len(key) == 1}


def _by_part(changes: Mapping[Key, Change]) -> dict[str, list[PartChanges]]:
    """Changes of pairs, classes and so on: entries with an interval first, then the largest change first, of alpha or
    of the first number.

    A key is table, names and path of the number: ``("annotators", "alice", "bias", "mean.size")``.
    """
    found: dict[str, dict[Key, dict[str, Change]]] = defaultdict(lambda: defaultdict(dict))
    for key, change in changes.items():
        if len(key) > 1:
            table, n_names = key[0], _N_NAMES.get(key[0], 1)
            found[table][key[1 : 1 + n_names]][".".join(key[1 + n_names :])] = change

    def place(item: tuple[Key, dict[str, Change]]) -> tuple[bool, float, Key]:
        change = item[1].get("alpha") or next(iter(item[1].values()))
        # rounded, so that rounding errors do not decide the order
        size = -1.0 if change.difference is None else round(abs(change.difference), 9)
        return change.interval is None, -size, item[0]

    return {
        table: [PartChanges(list(part), numbers) for part, numbers in sorted(parts.items(), key=place)]
        for table, parts in found.items()
    }


def _samples(a: ComparedRun, b: ComparedRun, rated: IntArray, describe: Describe) -> SampleChanges:
    """Count samples whose score rose or fell, and list the largest changes."""
    before, after = (run.records.take(run.rows[rated]).sample_values().score for run in (a, b))
    difference = after - before
    better, worse = (np.flatnonzero(sign * difference > _ROUNDING) for sign in (1, -1))
    n_undefined = int(np.isnan(difference).sum())

    def listed(changed: IntArray) -> list[dict[str, Any]]:
        largest = changed[np.argsort(-np.abs(difference[changed]).round(9), kind="stable")[:N_LISTED]]
        columns = (column[largest].tolist() for column in (before, after, difference))
        return [
            {**entry, **dict(zip(("a", "b", "difference"), values, strict=True))}
            for entry, *values in zip(describe(rated[largest].tolist()), *columns, strict=True)
        ]

    return SampleChanges(
        n_better=len(better),
        n_worse=len(worse),
        n_equal=len(difference) - len(better) - len(worse) - n_undefined,
        n_undefined=n_undefined,
        better=listed(better),
        worse=listed(worse),
    )
