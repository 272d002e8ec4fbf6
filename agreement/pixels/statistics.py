"""Statistics of masks that add up over batches: everything a report needs, of any number of samples."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...metrics.alpha.nominal import NominalTally
from ...metrics.arrays import FloatArray, IntArray, sums_by
from ..pairs import pair_rows
from .compute import ALPHA_REASONS, NUMBERS, PixelAgreement
from .counts import MaskCounts

#: rows of tables of areas that are added up at once
MAX_ROWS_AT_ONCE = 500_000


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
class PairAreas:
    """Areas of the values that either of two annotators used, for all pairs; rows ascend by pair, then value.

    Attributes:
        pair: shape ``(N,)``, number of the pair
        value: shape ``(N,)``
        areas: shape ``(N, 3)``, pixels of the value in the masks of its first annotator, of the second, and of both
    """

    pair: IntArray
    value: IntArray
    areas: IntArray

    @classmethod
    def joined(cls, parts: Sequence[PairAreas]) -> PairAreas:
        """Add up rows, which need not ascend, nor differ."""
        pair, value, areas = (
            np.concatenate([getattr(part, field.name) for part in parts]) for field in dataclasses.fields(cls)
        )
        values, code = np.unique(value, return_inverse=True)
        n_values = max(len(values), 1)
        keys, at = np.unique(pair * n_values + code.ravel(), return_inverse=True)
        sums = [sums_by(at.ravel(), column, len(keys)).astype(np.int64) for column in areas.T]
        return cls(keys // n_values, values[keys % n_values], np.stack(sums, axis=1))

    def __add__(self, other: PairAreas) -> PairAreas:
        return PairAreas.joined([self, other])

    def of_pair(self, pair: int) -> IntArray:
        """The areas of one pair, shape ``(K, 3)``."""
        first, end = np.searchsorted(self.pair, [pair, pair + 1]).tolist()
        return self.areas[first:end]


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
        differing: shape ``(R + 1,)``, over samples with so many masks: ordered pairs of masks, over pixels, that differ
        n_pixels: shape ``(R + 1,)``, the pixels of these samples
        samples: one row, sums over the samples of their means over pairs
        pairs: a row for every pair of annotators, sums over the samples with masks of both
        n_shared: shape ``(P,)``, those samples
        pair_areas: areas of every pair, over all pixels of those samples
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
    differing: IntArray
    n_pixels: IntArray
    samples: NumberSums
    pairs: NumberSums
    n_shared: IntArray
    pair_areas: PairAreas
    classes: ValueSums
    pixels: ValueSums

    def __add__(self, other: PixelStatistics) -> PixelStatistics:
        total: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            own, others = getattr(self, field.name), getattr(other, field.name)
            joined = field.name in ("score", "alpha")
            total[field.name] = np.concatenate([own, others]) if joined else own + others
        return PixelStatistics(**total)

    @property
    def tally(self) -> NominalTally:
        """What alpha counts, the values as categories."""
        return NominalTally(self.pixels.sums.sum(axis=1), self.differing, self.n_pixels)


def summarise_pixels(agreement: PixelAgreement) -> PixelStatistics:
    """The statistics of some samples."""
    counts, rated = agreement.counts, agreement.rated
    n_annotators = counts.assigned.shape[1]
    n_pairs = n_annotators * (n_annotators - 1) // 2
    pair = pair_rows(agreement.pair[:, 0], agreement.pair[:, 1], n_annotators)
    n_masks = counts.n_masks

    def by_masks(values: IntArray) -> IntArray:
        return sums_by(n_masks, values, n_annotators + 1).astype(np.int64)

    return PixelStatistics(
        score=agreement.score,
        alpha=agreement.alpha,
        alpha_reasons=np.bincount(agreement.alpha_reason, minlength=len(ALPHA_REASONS)),
        n_assigned=counts.assigned.sum(axis=0),
        n_rated=int(rated.sum()),
        n_empty=int(agreement.is_empty.sum()),
        n_masks=int(n_masks.sum()),
        n_units=int(agreement.n_units.sum()),
        n_disputed=int(agreement.n_disputed.sum()),
        n_ignored=int(counts.n_ignored.sum()),
        differing=by_masks(agreement.differing),
        n_pixels=by_masks(agreement.n_pixels),
        samples=NumberSums.of(np.zeros(int(rated.sum()), np.int64), agreement.numbers[rated], 1),
        pairs=NumberSums.of(pair, agreement.pair_numbers, n_pairs),
        n_shared=np.bincount(pair, minlength=n_pairs),
        pair_areas=_pair_areas(counts, n_annotators),
        classes=ValueSums.of(
            counts.values, np.column_stack([np.ones(len(counts.values)), agreement.class_iou, agreement.class_dice])
        ),
        pixels=ValueSums.of(counts.values, agreement.area),
    )


def _pair_areas(counts: MaskCounts, n_annotators: int) -> PairAreas:
    """The areas of all pairs of annotators."""
    none = np.empty(0, np.int64)
    parts = [PairAreas(none, none, np.empty((0, 3), np.int64))]
    n_rows = 0
    for table in counts.tables():
        value, of_value = table.spread(counts.values), np.nonzero(table.is_value)[0]
        for shared, a, b in zip(table.shared, *table.pairs, strict=True):
            pair = pair_rows(table.members[:, a], table.members[:, b], n_annotators)
            areas = np.stack([table.areas[a], table.areas[b], shared], axis=2)[table.is_value]
            used = areas.any(axis=1)
            parts.append(PairAreas(pair[of_value][used], value[table.is_value][used], areas[used]))
            n_rows += len(areas)
            if n_rows > MAX_ROWS_AT_ONCE:
                parts, n_rows = [PairAreas.joined(parts)], 0
    return PairAreas.joined(parts)
