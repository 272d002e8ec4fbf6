"""Records of tags: the tags of every annotator on every sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...metrics.numeric.arrays import BoolArray, IntArray
from ..statistics.records import OF_SAMPLE, AnyColumns, Columns, Records, compact, packed, rows_by_column
from .compute import TagAgreement, TagBatch, compute_tags


@dataclass(frozen=True, slots=True)
class TagRecords(Records):
    """The tags of any number of samples, each once per annotator.

    About 40 bytes for a sample with three annotators and four tags each, and 12 for the id of every label.
    """

    family: ClassVar[str] = "tags"
    rows: ClassVar[Mapping[str, str]] = rows_by_column(
        {
            OF_SAMPLE: ("assigned", "otherwise", "score", "n_objects", "n_units", "n_disputed"),
            "n_objects": ("annotator", "tag", "label_id"),
        }
    )
    of_classes: ClassVar[str | None] = "tag"

    def agreement(self) -> TagAgreement:
        """The agreement on all samples at once."""
        return compute_tags(self.batch())

    def read_otherwise(self) -> TagRecords:
        """The records of the same tags if a null label list had the other meaning."""
        return record_tags(compute_tags(self.batch(self.otherwise)), self.n_annotators)

    def _recoded(self, part: AnyColumns, classes: IntArray, attributes: Sequence[IntArray]) -> AnyColumns:
        """The tags of an annotator stand in the order of their codes."""
        # the short form of super() does not work in classes with slots
        found = super(TagRecords, self)._recoded(part, classes, attributes)
        sample = np.repeat(np.arange(len(part["score"])), part["n_objects"])
        order = np.lexsort((found["tag"], part["annotator"], sample))
        return {**found, **{name: found[name][order] for name in ("tag", "label_id") if name in found}}

    def batch(self, assigned: BoolArray | None = None) -> TagBatch:
        """The tags, with who is assigned, or was by another reading."""
        assigned = self.assigned if assigned is None else assigned
        sample = np.repeat(np.arange(self.n_samples), self.column("n_objects"))
        annotator, tag = (self.column(name).astype(np.int64) for name in ("annotator", "tag"))
        return TagBatch(sample, annotator, tag, assigned)


def record_tags(agreement: TagAgreement, n_annotators: int) -> TagRecords:
    """The records of a batch with ``R`` annotators."""
    sets, n_samples = agreement.sets, len(agreement.score)
    assigned = np.zeros((n_samples, n_annotators), np.bool_)
    assigned[sets.unit, agreement.annotator] = True
    of_sample = sets.unit[sets.row]
    columns: Columns = {
        "assigned": packed(assigned),
        "score": agreement.score,
        "n_objects": compact(np.bincount(of_sample, minlength=n_samples)),
        "n_units": compact(agreement.n_tags),
        "n_disputed": compact(agreement.n_disputed),
        "annotator": compact(agreement.annotator[sets.row]),
        "tag": compact(sets.tag),
    }
    if agreement.otherwise is not None:
        columns["otherwise"] = packed(agreement.otherwise)
    return TagRecords(n_annotators, (columns,))
