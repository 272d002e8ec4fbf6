"""What a comparison of two runs says."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

from .. import names
from .report import Each, Interval, read

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, slots=True)
class Change:
    """A number in both runs, over the same samples; ``difference`` is ``b - a``, with its interval.

    None where undefined, and where there are too few samples for an interval.
    """

    a: float | None
    b: float | None
    difference: float | None
    interval: Interval | None

    parts: ClassVar[dict[str, Any]] = {"interval": Interval}

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out 0: resampling does not explain the difference."""
        found = self.interval
        return found is not None and found.low is not None and found.high is not None and found.low * found.high > 0


@dataclass(frozen=True, slots=True)
class PartChanges:
    """The numbers of a pair of annotators, of a class, or of an annotator."""

    names: list[str]
    numbers: dict[str, Change]

    parts: ClassVar[dict[str, Any]] = {"numbers": Each(Change)}


@dataclass(frozen=True, slots=True)
class SampleChanges:
    """Samples by what became of their score: better, worse, equal, or undefined in one of the runs.

    ``better`` and ``worse`` list ``{id, filepath, a, b, difference}`` (and ``frame_number``, of frames) of those that
    changed most, the largest change first.
    """

    n_better: int
    n_worse: int
    n_equal: int
    n_undefined: int
    better: list[dict[str, Any]]
    worse: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementComparison:
    """What changed from one run to another, over the samples that two annotators or more were assigned to in both.

    ``numbers`` are those of the whole, by their path in the report; ``changes`` those of ``pairs``, ``classes``,
    ``annotators`` and so on, that both runs have. Intervals are made by resampling the samples that both share (of
    videos and groups these as a whole), the same ones for both runs: what makes a sample hard in both cancels out.
    """

    a: str
    b: str
    family: str
    n_samples: int
    n_only_a: int
    n_only_b: int
    n_unrated: int
    #: videos or groups that the samples are of; None where they stand alone
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
    schema_version: int = names.SCHEMA_VERSION

    parts: ClassVar[dict[str, Any]] = {
        "numbers": Each(Change),
        "changes": Each(PartChanges),
        "samples": SampleChanges,
    }

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON-serialisable values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> AgreementComparison:
        """The comparison that :meth:`to_dict` wrote."""
        comparison: AgreementComparison = read(cls, values)
        return comparison

    def print_report(self, file: TextIO | None = None) -> None:
        """Print the comparison as aligned text.

        Args:
            file: where to, standard output by default
        """
        from ..charts import comparison_text

        (file or sys.stdout).write(comparison_text(self) + "\n")

    def to_dataframe(self, table: str = "numbers") -> DataFrame:
        """A table of the comparison as a pandas DataFrame; undefined numbers are nan.

        Args:
            table: ``"numbers"``, ``"samples"`` (those that changed most), or what ``changes`` has: ``"pairs"``,
                ``"classes"``, ``"annotators"``

        Raises:
            AgreementInputError: if there is no such table; the message lists those that there are
        """
        from ..charts import comparison_frame

        return comparison_frame(self, table)
