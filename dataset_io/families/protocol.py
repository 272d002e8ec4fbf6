"""Interface of a family of label types: reading, comparing, writing and reporting labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from numpy.typing import NDArray

from ...agreement.statistics.codes import ClassCodes, CodeNames
from ...agreement.statistics.records import Records
from ...agreement.statistics.report import ReportContext, RunFacts
from ...metrics.numeric.arrays import BoolArray, IntArray
from ..labels.kinds import titles
from ..labels.source import Source
from ..labels.stored import StoredSample

Labels = TypeVar("Labels")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class LabelsRead(Generic[Labels]):
    """The labels of some samples."""

    labels: Labels  #: the labels, in a type of the family
    n_invalid: IntArray  #: shape ``(S,)``, labels left out because they cannot be compared
    n_unknown: IntArray  #: shape ``(S,)``, labels left out because their annotator appeared during the run
    n_added: IntArray  #: shape ``(S,)``, annotators counted as assigned only because they labelled
    #: shape ``(S, R)``, who has a label; None where every annotator has a field
    drew: BoolArray | None = None


class WholeRunReason(Enum):
    """Reason for which changed samples cannot be compared alone; ``docs/guides/before_and_after.md`` lists all."""

    OTHER_VERSION = "another version computed the run, or the dataset was cloned since"
    NEW_ANNOTATOR = "there are annotators now who were not there"
    ANNOTATOR_GONE = "there are annotators of the run who are no longer there"
    OTHER_GEOMETRY = "there are masks or crowd regions now that there were not, or the other way round"
    OTHER_KIND = "what is compared of the labels, or their mask targets, is not what it was"
    OTHER_THRESHOLD = "the labels suggest another threshold now"
    OTHER_DECISIONS = "something was decided, or taken back, in the field of decisions that is the reference"
    REPEATED_VIDEOS = "the view of the run repeats videos"
    EQUAL_NAMES = "classes of the same name must be told apart"


class WholeRunNeededError(Exception):
    """Samples that were changed cannot be compared alone."""

    def __init__(self, reason: WholeRunReason, found: object = None) -> None:
        super().__init__(reason.value if found is None else f"{reason.value}: {found}")


class LabelReader(Protocol[Labels]):
    """Turns query results into labels."""

    source: Source

    def projection(self) -> dict[str, Any]:
        """Projection of a document, in addition to the ids of its labels."""

    def load(self, row: dict[str, Any]) -> int:
        """Size of a query result in labels, to limit batches."""
        return sum(len(row[f"id{field}"] or ()) for field in range(len(self.source.everybody.kinds)))

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> LabelsRead[Labels]:
        """The labels of query results."""


class LabelFamily(LabelReader[Labels], Protocol[Labels, Result]):
    """A family of label types; the report is built from the sum of the records of all batches."""

    codes: ClassCodes  #: the classes that were read; of masks, whose values are no codes, none

    def check(self) -> None:
        """Refuse labels that cannot be compared, before anything is written."""

    def compute(self, labels: Labels) -> Result:
        """The agreement on a batch."""

    def values(self, labels: Labels, result: Result) -> list[dict[str, Any]]:
        """The values for every sample, by path in its document; ``run.settle`` writes them."""

    def record(self, labels: Labels, result: Result) -> Records:
        """The records of a batch."""

    def context(self, run: RunFacts) -> ReportContext:
        """The context of the report."""

    def code_names(self) -> CodeNames:
        """Meaning of the codes in the records, so far: the classes that were read."""
        return CodeNames(self.codes.looked_up())


def report_context(source: Source, run: RunFacts, class_names: Sequence[str] = (), **more: Any) -> ReportContext:
    """The context of a report: the entries on labels and roles that all families have, and ``more`` entries."""
    kinds, details = titles(source.kinds), more.pop("details", {})
    if source.roles:
        said = ("name", "is_model", "of_attribute", "decided", "n_by_rule")
        roles = [{name: getattr(role, name) for name in said} for role in source.roles]
        thresholds = [list(role.thresholds) for role in source.roles]
        details |= {"roles": [{**role, "thresholds": each} for role, each in zip(roles, thresholds, strict=True)]}
    more["details"] = details
    return ReportContext(source.config, source.annotators, class_names, label_types=kinds, run=run, **more)


def values_by_path(run_key: str, columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """The values to write on every sample, by path.

    Args:
        run_key: key of the run
        columns: a value for every sample, by the name of its field without the key; None and nan are not written
    """
    paths = [f"{run_key}_{name}" for name in columns]
    return [
        {path: value for path, value in zip(paths, row, strict=True) if value is not None and value == value}
        for row in zip(*columns.values(), strict=True)
    ]


def where_rated(rated: BoolArray, column: NDArray[Any]) -> list[Any]:
    """A column of values of samples, None where fewer than two annotators are assigned."""
    return [value if is_rated else None for value, is_rated in zip(column.tolist(), rated.tolist(), strict=True)]
