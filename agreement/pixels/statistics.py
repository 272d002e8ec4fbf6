"""Statistics of masks that add up over batches: everything a report needs, of any number of samples."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...metrics.arrays import FloatArray, IntArray, sums_by
from ...metrics.pixel_classes import PixelConfusion, PixelTally
from .compute import ALPHA_REASONS, NUMBERS, PixelAgreement, SampleMasks


@dataclass(frozen=True, slots=True)
class ValueSums:
    """Sums for every mask value that occurs.

    Attributes:
        values: shape ``(K,)``, ascending
        sums: shape ``(K, C)``, ``C`` numbers of every value
    """

    values: IntArray
    sums: NDArray[Any]

    @classmethod
    def of(cls, values: IntArray, rows: NDArray[Any]) -> ValueSums:
        """Add up the rows of equal values, shapes ``(N,)`` and ``(N, C)``."""
        different, at = np.unique(values, return_inverse=True)
        sums = np.zeros((len(different), rows.shape[1]), rows.dtype)
        np.add.at(sums, at.ravel(), rows)
        return cls(different, sums)

    def __add__(self, other: ValueSums) -> ValueSums:
        return ValueSums.of(np.r_[self.values, other.values], np.concatenate([self.sums, other.sums]))


@dataclass(frozen=True, slots=True)
class NumberSums:
    """Sums of the numbers in tables with a column for each of ``NUMBERS``, and how many of them are defined.

    Attributes:
        total: shape ``(..., len(NUMBERS))``
        n: the same shape
    """

    total: FloatArray
    n: IntArray

    @classmethod
    def of(cls, row: IntArray, numbers: FloatArray, n_rows: int) -> NumberSums:
        """Add up the numbers of every row."""
        defined = ~np.isnan(numbers)
        total = np.zeros((n_rows, numbers.shape[1]))
        n = np.zeros((n_rows, numbers.shape[1]), np.int64)
        np.add.at(total, row, np.where(defined, numbers, 0.0))
        np.add.at(n, row, defined)
        return cls(total, n)

    def __add__(self, other: NumberSums) -> NumberSums:
        return NumberSums(self.total + other.total, self.n + other.n)

    def means(self, row: int) -> dict[str, float | None]:
        """The means of a row by name; None where nothing is defined."""
        columns = zip(NUMBERS, self.total[row].tolist(), self.n[row].tolist(), strict=True)
        return {name: total / n if n else None for name, total, n in columns}


@dataclass(frozen=True, slots=True)
class PixelStatistics:
    """Sufficient statistics of any number of samples; only rated samples enter, unless said otherwise.

    Attributes:
        score: shape ``(S,)``, score of every sample; nan where not scored
        alpha: shape ``(S,)``, alpha of every sample; nan where undefined
        alpha_reasons: shape ``(len(ALPHA_REASONS),)``, samples by reason
        n_assigned: shape ``(R,)``, samples with a mask of each annotator, rated or not
        n_rated: samples with at least two annotators
        n_empty: those in which nobody drew anything but background
        n_masks: masks
        n_units: sum over samples of the classes that anybody used, background left out
        n_disputed: those on which any pair does not fully agree
        n_ignored: pixels that were left out
        tally: what alpha counts
        samples: one row, sums over the samples of their means over pairs
        pairs: a row for every pair of annotators, sums over the samples with masks of both
        n_shared: shape ``(P,)``, those samples
        confusions: of every pair, over all pixels of those samples
        classes: columns: samples with the class, sums over these of its IoU and Dice
        pixels: columns: pixels that every annotator gave a value
    """

    score: FloatArray
    alpha: FloatArray
    alpha_reasons: IntArray
    n_assigned: IntArray
    n_rated: int
    n_empty: int
    n_masks: int
    n_units: int
    n_disputed: int
    n_ignored: int
    tally: PixelTally
    samples: NumberSums
    pairs: NumberSums
    n_shared: IntArray
    confusions: tuple[PixelConfusion, ...]
    classes: ValueSums
    pixels: ValueSums

    def __add__(self, other: PixelStatistics) -> PixelStatistics:
        total: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            own, others = getattr(self, field.name), getattr(other, field.name)
            if field.name in ("score", "alpha"):
                total[field.name] = np.concatenate([own, others])
            elif field.name == "confusions":
                total[field.name] = tuple(a + b for a, b in zip(own, others, strict=True))
            else:
                total[field.name] = own + others
        return PixelStatistics(**total)


def summarise_pixels(agreement: PixelAgreement) -> PixelStatistics:
    """The statistics of a batch."""
    assigned = agreement.batch.assigned
    n_annotators = assigned.shape[1]
    samples = [sample for sample in agreement.batch.samples if sample is not None]
    pair_number = {pair: k for k, pair in enumerate(combinations(range(n_annotators), 2))}
    pair = np.array(
        [pair_number[names] for sample in samples for names in combinations(sample.annotators, 2)], np.int64
    )
    numbers = np.concatenate([np.empty((0, len(NUMBERS))), *(sample.numbers for sample in samples)])
    rated = agreement.rated
    return PixelStatistics(
        score=agreement.score,
        alpha=agreement.alpha,
        alpha_reasons=np.bincount(agreement.alpha_reason, minlength=len(ALPHA_REASONS)),
        n_assigned=assigned.sum(axis=0),
        n_rated=len(samples),
        n_empty=sum(sample.is_empty for sample in samples),
        n_masks=sum(len(sample.annotators) for sample in samples),
        n_units=int(agreement.n_units.sum()),
        n_disputed=int(agreement.n_disputed.sum()),
        n_ignored=sum(sample.joint.n_ignored for sample in samples),
        tally=_tally(samples),
        samples=NumberSums.of(np.zeros(len(samples), np.int64), agreement.numbers[rated], 1),
        pairs=NumberSums.of(pair, numbers, len(pair_number)),
        n_shared=np.bincount(pair, minlength=len(pair_number)),
        confusions=_confusions(samples, pair, len(pair_number)),
        classes=_classes(samples),
        pixels=_pixels(samples, n_annotators),
    )


def _tally(samples: Sequence[SampleMasks]) -> PixelTally:
    """What alpha counts, of all samples together; those with equally many annotators at once."""
    total = PixelTally.empty()
    for m in sorted({len(sample.annotators) for sample in samples}):
        joints = [sample.joint for sample in samples if len(sample.annotators) == m]
        values, counts = (np.concatenate([getattr(joint, name) for joint in joints]) for name in ("values", "count"))
        total += PixelTally.from_counts(values, counts)
    return total


def _confusions(samples: Sequence[SampleMasks], pair: IntArray, n_pairs: int) -> tuple[PixelConfusion, ...]:
    by_pair: list[list[PixelConfusion]] = [[] for _ in range(n_pairs)]
    for k, confusion in zip(pair.tolist(), (entry for sample in samples for entry in sample.confusions), strict=True):
        by_pair[k].append(confusion)
    return tuple(map(_joined, by_pair))


def _joined(confusions: Sequence[PixelConfusion]) -> PixelConfusion:
    """The sum of confusion matrices, in one step."""
    if not confusions:
        return PixelConfusion.empty()
    columns = [
        np.concatenate([getattr(confusion, name) for confusion in confusions])
        for name in ("values_a", "values_b", "count")
    ]
    return PixelConfusion.from_counts(np.column_stack(columns[:2]), columns[2])


def _classes(samples: Sequence[SampleMasks]) -> ValueSums:
    values = np.concatenate([np.empty(0, np.int64), *(sample.values for sample in samples)])
    iou = np.concatenate([np.empty(0), *(sample.class_iou for sample in samples)])
    dice = np.concatenate([np.empty(0), *(sample.class_dice for sample in samples)])
    return ValueSums.of(values, np.column_stack([np.ones(len(values)), iou, dice]))


def _pixels(samples: Sequence[SampleMasks], n_annotators: int) -> ValueSums:
    values = np.concatenate([np.empty(0, np.int64), *(sample.values for sample in samples)])
    rows = np.zeros((len(values), n_annotators), np.int64)
    start = 0
    for sample in samples:
        own = rows[start : start + len(sample.values)]
        for m, annotator in enumerate(sample.annotators):
            at = np.searchsorted(sample.values, sample.joint.values[:, m])
            own[:, annotator] = sums_by(at, sample.joint.count, len(own))
        start += len(own)
    return ValueSums.of(values, rows)
