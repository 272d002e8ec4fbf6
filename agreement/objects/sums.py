"""Additive sums over samples, and chunks of samples with values that several parts of the report need."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...metrics.consensus.consensus import majority_of_others, medians_by_group
from ...metrics.geometry.boxes import box_area
from ...metrics.matching.merging import TIE
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..matching.compute import Agreement
from ..matching.verdicts import NO_VERDICT
from ..settings.annotators import AnnotatorPairs
from ..statistics.report import Describe
from .report import Sample

A = TypeVar("A", bound="Additive")

#: length of lists of worst samples
N_WORST = 5
#: measures of the bias of boxes, in this order
MEASURES = ("size", "left", "top", "right", "bottom")
#: bins of the histograms, from 0 to 1
N_BINS = 20
#: maximum number of cells for a dense count if there may be more cells than rows
_MAX_CELLS = 1 << 16
#: values that are counted together
_VALUES_AT_ONCE = 1 << 20
#: class of a pair of labels with different classes
NO_CLASS = -1
#: minimum number of other assigned annotators for a consensus of the others
MIN_OTHERS = 2


class Additive:
    """Base of dataclasses that are added field by field; fields in ``fixed`` must be equal instead."""

    __slots__ = ()
    fixed: ClassVar[tuple[str, ...]] = ()

    def __add__(self: A, other: A) -> A:
        # fields of the subclass
        names = {field.name for field in dataclasses.fields(self)} - set(self.fixed)  # type: ignore[arg-type]
        added = {name: getattr(self, name) + getattr(other, name) for name in names}
        return dataclasses.replace(self, **added)  # type: ignore[type-var]


@dataclass(frozen=True, slots=True)
class SparseCounts:
    """Counts of the combinations of codes that occur in some columns."""

    keys: IntArray  #: shape ``(T,)``, every combination packed into one number; ascending
    counts: IntArray  #: shape ``(T,)``
    widths: tuple[int, ...]  #: bits of the codes of every column, by default equal; at most 62 in total

    @classmethod
    def of(cls, *columns: IntArray, widths: tuple[int, ...] | None = None) -> SparseCounts:
        """Count the rows of columns of codes ``>= 0``.

        Raises:
            ValueError: if a code has more bits than its column
        """
        widths = widths or _equal_widths(len(columns))
        shape = [int(column.max(initial=0)) + 1 for column in columns]
        if any(n > 1 << width for n, width in zip(shape, widths, strict=True)):
            raise ValueError(f"codes must have at most {widths} bits, got as many as {shape}")
        n_cells = int(np.prod(shape, dtype=np.float64))
        if n_cells > max(_MAX_CELLS, 2 * len(columns[0])):
            return cls(*np.unique(_keys(columns, widths), return_counts=True), widths)
        counts = np.bincount(np.ravel_multi_index(columns, shape), minlength=n_cells)
        cells = np.flatnonzero(counts)
        return cls(_keys(np.unravel_index(cells, shape), widths), counts[cells], widths)

    def __add__(self, other: SparseCounts) -> SparseCounts:
        return self._summed(np.r_[self.keys, other.keys], np.r_[self.counts, other.counts], self.widths)

    @classmethod
    def _summed(cls, keys: IntArray, counts: IntArray, widths: tuple[int, ...]) -> SparseCounts:
        order = np.argsort(keys, kind="stable")  # fast where the keys are two ascending columns
        keys = keys[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        return cls(keys[first], np.add.reduceat(counts[order], first) if len(first) else counts, widths)

    def column(self, k: int) -> IntArray:
        """Codes of column ``k``, for every entry."""
        return (self.keys >> sum(self.widths[k + 1 :])) & ((1 << self.widths[k]) - 1)

    def columns(self) -> list[IntArray]:
        """Codes of all columns."""
        return [self.column(k) for k in range(len(self.widths))]

    def regrouped(self, *columns: IntArray) -> SparseCounts:
        """The same counts grouped by other columns with one code for every entry."""
        widths = _equal_widths(len(columns))
        return self._summed(_keys(columns, widths), self.counts, widths)


def _equal_widths(n_columns: int) -> tuple[int, ...]:
    return (62 // n_columns,) * n_columns


def _keys(columns: Iterable[IntArray], widths: tuple[int, ...]) -> IntArray:
    every = [np.asarray(column, np.int64) for column in columns]
    keys = every[0]
    for column, width in zip(every[1:], widths[1:], strict=True):
        keys = (keys << width) | column
    return keys


@dataclass(frozen=True, slots=True)
class Moments:
    """Number, mean and sum of squared deviations of the values of every row; adding them loses no precision.

    References:
        T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample
        variances", 1979
    """

    n: IntArray
    mean: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, row: IntArray, values: FloatArray, n_rows: int) -> Moments:
        """The moments of the values of every row; rows without a value have the mean 0."""
        n = np.bincount(row, minlength=n_rows)
        mean = sums_by(row, values, n_rows) / np.maximum(n, 1)
        return cls(n, mean, sums_by(row, (values - mean[row]) ** 2, n_rows))

    def __add__(self, other: Moments) -> Moments:
        n = self.n + other.n
        share = other.n / np.maximum(n, 1)
        distance = other.mean - self.mean
        return Moments(n, self.mean + distance * share, self.squares + other.squares + distance**2 * self.n * share)


@dataclass(frozen=True, slots=True)
class KeptValues:
    """Values kept one by one, for statistics such as medians that are not functions of sums."""

    parts: tuple[NDArray[Any], ...]

    @classmethod
    def of(cls, values: NDArray[Any]) -> KeptValues:
        """The values of some samples."""
        return cls((values,))

    def __add__(self, other: KeptValues) -> KeptValues:
        return KeptValues(self.parts + other.parts)

    def values(self) -> NDArray[Any]:
        """All values, in the order of the samples."""
        return np.concatenate(self.parts)


@dataclass(frozen=True, slots=True)
class Worst:
    """The samples with the lowest values; ties go to the larger weight, then to the larger area."""

    row: IntArray  #: shape ``(N,)``, row of the sample
    value: FloatArray  #: shape ``(N,)``
    weight: FloatArray  #: shape ``(N,)``, number of labels (or pairs of labels) behind the value
    area: FloatArray  #: shape ``(N,)``, total area of the labels
    n_samples: int  #: number of samples considered

    @classmethod
    def of(cls, value: FloatArray, weight: FloatArray | IntArray, area: FloatArray) -> Worst:
        """The worst of some samples, from columns of shape ``(S,)``; samples with the value nan are left out."""
        row = np.flatnonzero(~np.isnan(value))
        return cls(row, value[row], weight[row].astype(np.float64), area[row], len(value))._lowest()

    def __add__(self, other: Worst) -> Worst:
        return Worst(
            np.r_[self.row, other.row + self.n_samples],
            np.r_[self.value, other.value],
            np.r_[self.weight, other.weight],
            np.r_[self.area, other.area],
            self.n_samples + other.n_samples,
        )._lowest()

    def _lowest(self) -> Worst:
        kept = np.arange(len(self.row))
        if len(kept) > N_WORST:
            kept = np.flatnonzero(self.value <= np.partition(self.value, N_WORST - 1)[N_WORST - 1])
        order = np.lexsort((self.row[kept], -self.area[kept], -self.weight[kept], self.value[kept]))
        kept = kept[order[:N_WORST]]
        return Worst(self.row[kept], self.value[kept], self.weight[kept], self.area[kept], self.n_samples)

    def described(self, describe: Describe, *, largest: bool = False) -> list[Sample]:
        """The samples with their values, as listed in a report.

        Args:
            largest: whether values were stored with opposite sign
        """
        values = (-self.value if largest else self.value).tolist()
        entries = describe(self.row.tolist())
        return [{**entry, "value": value} for entry, value in zip(entries, values, strict=True)]


@dataclass(frozen=True)
class Chunk:
    """The agreement on some samples, with derived values that several parts of the report need."""

    #: ``N`` objects in ``U`` units on ``S`` samples, ``P`` pairs of objects of one unit, ``Q`` pairs of annotators on
    #: samples
    agreement: Agreement
    n_categories: int  #: number ``K`` of category codes, including *missing*
    rated_unit: BoolArray  #: shape ``(U,)``, units of samples that are rated
    n_same_class: IntArray  #: shape ``(N,)``, members of the object's unit with its class, including itself
    size: IntArray  #: shape ``(U,)``, index into ``SIZES``, -1 where unknown
    match_sample: IntArray  #: shape ``(P,)``
    annotator_pairs: AnnotatorPairs  #: the pairs of annotators of the report
    label_area: FloatArray  #: shape ``(S,)``, total area of all labels
    drew: BoolArray  #: shape ``(S, R)``, whether an annotator drew anything
    by_sample: bool  #: whether columns have a row for every sample, or a single row with the sums

    @classmethod
    def of(
        cls,
        agreement: Agreement,
        n_categories: int,
        size: IntArray,
        annotator_pairs: AnnotatorPairs,
        *,
        by_sample: bool = True,
    ) -> Chunk:
        """The agreement on some samples, with the size of every unit."""
        objects, pairs = agreement.objects, agreement.pairs
        same = np.concatenate([pairs.i[pairs.same_class], pairs.j[pairs.same_class]])
        drew = np.zeros(agreement.assigned.shape, np.bool_)
        drew[objects.sample, objects.annotator] = True
        return cls(
            agreement=agreement,
            n_categories=n_categories,
            rated_unit=agreement.units.verdict != NO_VERDICT,
            n_same_class=1 + np.bincount(same, minlength=len(objects)),
            size=size,
            match_sample=objects.sample[pairs.i],
            annotator_pairs=annotator_pairs,
            label_area=sums_by(objects.sample, agreement.area, agreement.n_samples),
            drew=drew,
            by_sample=by_sample,
        )

    @property
    def n_rows(self) -> int:
        """Rows of columns of samples."""
        return self.agreement.n_samples if self.by_sample else 1

    def rows_of(self, sample: IntArray) -> IntArray:
        """Rows of samples in columns."""
        return sample if self.by_sample else np.zeros_like(sample)

    @cached_property
    def offsets(self) -> tuple[IntArray, FloatArray]:
        """Offsets of boxes from the median box of their unit, over units with at least two members.

        Returns:
            rows of the objects ``(M,)`` in units whose median box has a width and height, and their offsets in per
            cent, shape ``(M, 5)``, in the order of ``MEASURES``
        """
        boxes, unit, votes = self.agreement.boxes_xyxy, self.agreement.unit, self.agreement.units.votes
        if boxes is None:
            return np.empty(0, np.int64), np.empty((0, len(MEASURES)))
        rows = np.flatnonzero(votes[unit] >= 2)
        own = boxes[rows]
        median = medians_by_group(unit[rows], own, len(votes))[unit[rows]]
        width, height = median[:, 2] - median[:, 0], median[:, 3] - median[:, 1]
        kept = (width > 0) & (height > 0)  # False for nan
        own, median, sides = own[kept], median[kept], np.column_stack([width, height, width, height])[kept]
        size = np.sqrt(box_area(own) / box_area(median)) - 1.0
        return rows[kept], 100.0 * np.column_stack([size, (own - median) / sides])

    @cached_property
    def others_class(self) -> FloatArray:
        """The class that more than half of the others who drew an object gave it, shape ``(N,)``; nan without.

        At least two of them: otherwise nobody can tell who of two is right. With two annotators in all, that of the
        other.
        """
        agreement = self.agreement
        at_least = MIN_OTHERS if agreement.n_annotators > MIN_OTHERS else 1
        category, n_units = agreement.objects.category, len(agreement.units.votes)
        return majority_of_others(agreement.unit, category, self.n_same_class, n_units, at_least)

    @cached_property
    def match_pair(self) -> IntArray:
        """Pair of annotators of every pair of objects, shape ``(P,)``."""
        pairs, annotator = self.agreement.pairs, self.agreement.objects.annotator
        return self.annotator_pairs.rows(annotator[pairs.i], annotator[pairs.j])

    @cached_property
    def shared_pair(self) -> IntArray:
        """Pair of annotators of every sample pair, shape ``(Q,)``."""
        return self.annotator_pairs.rows(self.agreement.sample_pairs.a, self.agreement.sample_pairs.b)


@dataclass(frozen=True, slots=True)
class Matches(Additive):
    """All pairs of matched labels; 16 bytes each."""

    iou_parts: KeptValues  #: IoU of every pair
    category_parts: KeptValues  #: class of the two labels, ``NO_CLASS`` if they differ
    size_parts: KeptValues  #: index into ``SIZES`` of their unit, -1 where unknown

    @classmethod
    def of(cls, chunk: Chunk) -> Matches:
        """The pairs of some samples."""
        agreement, pairs = chunk.agreement, chunk.agreement.pairs
        category = np.where(pairs.same_class, agreement.objects.category[pairs.i], NO_CLASS)
        return cls(
            iou_parts=KeptValues.of(pairs.iou),
            category_parts=KeptValues.of(category.astype(np.int32)),
            size_parts=KeptValues.of(chunk.size[agreement.unit[pairs.i]].astype(np.int8)),
        )

    @property
    def iou(self) -> FloatArray:
        """IoU of every pair, shape ``(P,)``."""
        return self.iou_parts.values()

    @property
    def category(self) -> IntArray:
        """Class of every pair, shape ``(P,)``."""
        return self.category_parts.values()

    @property
    def size(self) -> IntArray:
        """Size of every pair, shape ``(P,)``."""
        return self.size_parts.values()


def mean(values: FloatArray) -> float | None:
    """The mean; None without a value."""
    return float(values.sum()) / len(values) if len(values) else None


def distribution(iou: FloatArray) -> dict[str, Any]:
    """Median and histogram of IoU, by name; None, and no histogram, without pairs of labels."""
    return {"median_iou": median(iou), "iou_histogram": histogram(iou) if len(iou) else []}


def median(values: FloatArray) -> float | None:
    """The median; None without a value."""
    if not len(values):
        return None
    places = [(len(values) - 1) // 2, len(values) // 2]  # the array may be large
    return float(np.partition(values, places)[places].mean())


def histogram(values: FloatArray) -> list[int]:
    """Number of values in [0, 1] in each bin of 0.05.

    Values on an edge (within ``TIE``) are in the upper bin.
    """
    counts = np.zeros(N_BINS, np.int64)
    for start in range(0, len(values), _VALUES_AT_ONCE):
        some = values[start : start + _VALUES_AT_ONCE]
        place = np.minimum(((some + TIE) * N_BINS).astype(np.int64), N_BINS - 1)
        counts += np.bincount(place, minlength=N_BINS)
    found: list[int] = counts.tolist()
    return found
