"""What a run needs of a family of label types: how its labels are read, compared, written and reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from ...agreement.records import Records
from ...agreement.report import ReportContext, RunFacts
from ...metrics.arrays import BoolArray, IntArray
from ..labels.source import Source
from ..run.stored import StoredSample

Labels = TypeVar("Labels")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class LabelsRead(Generic[Labels]):
    """The labels of some samples."""

    labels: Labels  #: the labels, in the form that the reader gives
    n_invalid: IntArray  #: shape ``(S,)``, labels that were left out because they cannot be compared
    n_unknown: IntArray  #: shape ``(S,)``, labels that were left out because their annotator appeared during the run
    n_added: IntArray  #: shape ``(S,)``, annotators who are not listed but labelled, and count as assigned

    @classmethod
    def of(cls, labels: Labels, n_samples: int) -> LabelsRead[Labels]:
        """Labels of which none was left out."""
        return cls(labels, *(np.zeros(n_samples, np.int64) for _ in range(3)))


class LabelReader(Protocol[Labels]):
    """Turns query results into labels."""

    source: Source

    def projection(self) -> dict[str, Any]:
        """What is read of a document beside the ids of its labels."""

    def load(self, row: dict[str, Any]) -> int:
        """How much a query result adds to a batch, in labels."""

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> LabelsRead[Labels]:
        """The labels of query results."""


class LabelFamily(LabelReader[Labels], Protocol[Labels, Result]):
    """A family of label types; records of batches are added with ``+``, and its report is built from these."""

    def check(self) -> None:
        """Refuse labels that cannot be compared, before anything is written."""

    def without(self, labels: Labels, kept: BoolArray) -> Labels:
        """The labels of the samples that a mask ``(S,)`` keeps."""

    def compute(self, labels: Labels) -> Result:
        """The agreement on a batch."""

    def values(self, labels: Labels, result: Result) -> list[dict[str, Any]]:
        """What is written on every sample, by path in its document."""

    def record(self, result: Result) -> Records:
        """What is kept of a batch."""

    def context(self, run: RunFacts) -> ReportContext:
        """What the report needs to know of the labels and the run."""
