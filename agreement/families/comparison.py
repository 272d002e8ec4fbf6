"""Result of comparing two runs: changes of numbers with intervals, by part and by sample."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ... import names
from ..statistics.presentation import ShowsItself, shown_as
from ..statistics.report import Interval, read

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
    """Labels that were set to what somebody decided (:func:`apply_decisions`) in one of the runs and not in the other.

    That they agree is no agreement of annotators; ``numbers`` are of the samples without such labels.
    """

    n_labels: int  #: labels that were changed, deleted or added
    n_samples: int  #: samples with such labels
    n_left: int  #: samples without
    #: whether decisions that one of the runs saw applied were taken back, or deleted, since: their labels are not known
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
    #: what was applied to labels between the runs; None if nothing was
    decided: DecidedBetween | None = None
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
