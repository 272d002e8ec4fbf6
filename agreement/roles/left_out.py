"""Leave every annotator out in turn, and compare them with the others as a model is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...metrics.numeric.arrays import FloatArray, IntArray
from ..matching.batch import Batch, SamplePairs
from ..matching.compute import MatchedBatch
from ..objects.records import shown_area
from ..objects.sizes import SizeRule
from ..settings.config import AgreementConfig
from ..statistics.records import Columns, Records, compact
from ..statistics.report import ReportContext
from .columns import StoredRole
from .given_labels import AgainstGiven
from .matching import COVERED, EXCUSED, LOOSELY, RolePairs, match_annotators
from .numbers import AgainstRole, class_table

#: the kind of a pair from the other side
_MIRRORED = np.arange(COVERED + 1)
_MIRRORED[[EXCUSED, COVERED]] = COVERED, EXCUSED


def left_out_columns(agreement: MatchedBatch, read: Batch, config: AgreementConfig) -> Columns:
    """The pairs of labels of every two annotators, each two matched alone, as columns of stored records.

    Args:
        agreement: the agreement of the annotators
        read: their objects as they were read, with crowd regions
        config: the options
    """
    drawn = agreement.counted if read.crowd is None else agreement.counted | read.crowd
    batch, number = read.among(drawn), (np.cumsum(agreement.counted) - 1)[drawn]
    found, pairs = match_annotators(batch, config), SamplePairs.of(batch.objects, batch.assigned)
    kept = np.flatnonzero(found.kind != LOOSELY)
    kept = kept[np.lexsort((found.drawn[kept], found.label[kept], found.annotator[kept]))]  # pairs are sorted by sample
    of_pair = found.annotator[kept]
    sample = pairs.sample[of_pair]
    first = np.cumsum(agreement.n_objects) - agreement.n_objects

    def in_sample(rows: IntArray) -> IntArray:
        return np.where(rows >= 0, np.append(number, 0)[rows] - first[sample], -1)

    return {
        "n_left_out": compact(np.bincount(sample, minlength=agreement.n_samples)),
        "left_out_label": compact(in_sample(found.label[kept])),
        "left_out_drawn": compact(in_sample(found.drawn[kept])),
        "left_out_a": compact(pairs.a[of_pair]),
        "left_out_b": compact(pairs.b[of_pair]),
        "left_out_kind": found.kind[kept].astype(np.uint8),
        "left_out_iou": found.iou[kept],
    }


@dataclass(frozen=True)
class LeftOutAnnotator(AgainstRole):
    """The labels of the annotator left out in the place of a role, and those of the others."""

    rule: SizeRule = field(kw_only=True)

    @classmethod
    def of_annotator(cls, records: Records, context: ReportContext, annotator: int, rule: SizeRule) -> LeftOutAnnotator:
        """One annotator, on samples that they were assigned to."""
        n_objects, n_pairs = (records.column(name).astype(np.int64) for name in ("n_objects", "n_left_out"))
        of_pair, first = np.repeat(np.arange(len(n_pairs)), n_pairs), np.cumsum(n_objects) - n_objects
        label, drawn, a, b, kind = (
            records.column(f"left_out_{name}").astype(np.int64) for name in ("label", "drawn", "a", "b", "kind")
        )
        own = np.flatnonzero((a == annotator) | (b == annotator))
        second = b[own] == annotator
        start = first[of_pair[own]]
        mine, others = (
            np.where(rows >= 0, rows + start, -1)
            for rows in (np.where(second, drawn[own], label[own]), np.where(second, label[own], drawn[own]))
        )
        row = np.flatnonzero(records.column("annotator") == annotator)
        number = np.full(int(n_objects.sum()) + 1, -1)
        number[row] = np.arange(len(row))
        pairs = RolePairs(
            number[mine],
            others,
            np.where(second, a[own], b[own]),
            np.where(second, _MIRRORED[kind[own]], kind[own]),
            records.column("left_out_iou")[own],
        )
        sample, category = np.repeat(np.arange(len(n_objects)), n_objects)[row], records.column("category")[row]
        stored = StoredRole(records.assigned[:, annotator], row, sample, category.astype(np.int64), pairs)
        return cls(records, context, stored, is_model=False, annotator=annotator, rule=rule)

    @cached_property
    def classes(self) -> tuple[list[str], IntArray, IntArray]:
        """As of a role; both have the codes of annotators."""
        names, of_annotators, _ = class_table(self.context)
        drawn = of_annotators[self.drawn[2]]
        return names, drawn, drawn[self.stored.row]

    @property
    def size_rule(self) -> SizeRule:
        """That of all samples."""
        return self.rule

    @property
    def role_area(self) -> FloatArray:
        """Area of the labels of the annotator."""
        return shown_area({"area": self.records.column("area")})[self.stored.row]

    @property
    def boxes(self) -> tuple[FloatArray, FloatArray]:
        """Boxes of all labels, and of those of the annotator."""
        drawn = self.records.column("boxes_xyxy").astype(np.float64)
        return drawn, drawn[self.stored.row]

    def measured(self) -> Iterator[tuple[str, IntArray, FloatArray | None]]:
        """Nothing: nobody asks for the bias."""
        return iter(())


def left_out_as(model: AgainstRole, records: Records, annotator: int) -> AgainstRole:
    """An annotator left out in the place of a model, on samples that they were assigned to."""
    if isinstance(model, AgainstGiven):
        return type(model).of_annotator(records, model.context, annotator)
    return LeftOutAnnotator.of_annotator(records, model.context, annotator, model.size_rule)
