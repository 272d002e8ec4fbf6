"""Agreement of semantic masks, one class per pixel, from one count of the value combinations of all annotators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..alpha.nominal import NominalTally
from ..arrays import BoolArray, FloatArray, IntArray, sums_by
from ..geometry.overlaps import dice_from_areas, iou_from_areas

#: a semantic mask: any integers up to 64 bits with sign, RGB colours packed to integers too
ClassMask: TypeAlias = NDArray[Any]

#: combinations that are counted by position, without sorting; their codes, and how many there are, fit 16 bits
MAX_CODES = 2**16 - 1

#: masks are counted by runs of equal pixels unless there are more than this share of the pixels; then runs cost more
MAX_RUN_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class PixelTally:
    """Sufficient statistics of Krippendorff's alpha over pixels; tallies of any samples and annotators add up.

    Attributes:
        values: shape ``(K,)``, mask values, ascending
        nominal: the ratings, one unit per pixel, with ``values`` as categories
    """

    values: IntArray
    nominal: NominalTally

    @classmethod
    def empty(cls) -> PixelTally:
        """No pixels at all."""
        return cls(np.zeros(0, np.int64), NominalTally.empty())

    @classmethod
    def from_counts(cls, values: IntArray, count: IntArray) -> PixelTally:
        """Count pixels.

        Args:
            values: shape ``(T, R)``, values that ``R`` annotators gave to a pixel; fewer than 2 annotators give no unit
            count: shape ``(T,)``, pixels with these values
        """
        n_annotators = values.shape[1]
        if n_annotators < 2:
            return cls.empty()
        classes, code = np.unique(values, return_inverse=True)
        agreeing = np.zeros(len(count), np.int64)
        for r in range(n_annotators):
            agreeing += (values == values[:, r, None]).sum(axis=1)
        disagreement, units = np.zeros((2, n_annotators + 1), np.int64)
        disagreement[n_annotators] = (count * (n_annotators**2 - agreeing)).sum()
        units[n_annotators] = count.sum()
        of_class = sums_by(code.ravel(), np.repeat(count, n_annotators), len(classes))
        return cls(classes, NominalTally(of_class.astype(np.int64), disagreement, units))

    def __add__(self, other: PixelTally) -> PixelTally:
        values = np.union1d(self.values, other.values)
        return PixelTally(values, self._on(values) + other._on(values))

    def _on(self, values: IntArray) -> NominalTally:
        """The ratings with more values as categories."""
        counts = np.zeros(len(values), np.int64)
        counts[np.searchsorted(values, self.values)] = self.nominal.category_counts
        return NominalTally(counts, self.nominal.disagreement, self.nominal.units)


@dataclass(frozen=True, slots=True)
class JointCounts:
    """How often each combination of the values of ``R`` annotators occurs in one image.

    Attributes:
        values: shape ``(T, R)``, the combinations, ascending, each once
        count: shape ``(T,)``, pixels with the combination, ``> 0``
        n_ignored: pixels left out because an annotator gave them an ignored value
    """

    values: IntArray
    count: IntArray
    n_ignored: int

    @property
    def n_pixels(self) -> int:
        """Pixels that were compared."""
        return int(self.count.sum())

    def tally(self) -> PixelTally:
        """What Krippendorff's alpha over the pixels of all annotators needs."""
        return PixelTally.from_counts(self.values, self.count)


@dataclass(frozen=True, slots=True)
class PixelConfusion:
    """The confusion matrix of two annotators over pixels, without its zeros; matrices of any samples add up.

    Attributes:
        values_a: shape ``(T,)``, value of one annotator
        values_b: shape ``(T,)``, value of the other; the rows ``(values_a, values_b)`` ascend, each occurs once
        count: shape ``(T,)``, pixels with both values, ``> 0``
    """

    values_a: IntArray
    values_b: IntArray
    count: IntArray

    @classmethod
    def empty(cls) -> PixelConfusion:
        """No pixels at all."""
        return cls(*np.zeros((3, 0), np.int64))

    @classmethod
    def from_counts(cls, values: IntArray, count: IntArray) -> PixelConfusion:
        """Add up the counts of equal rows.

        Args:
            values: shape ``(T, 2)``, values of the two annotators; rows may repeat
            count: shape ``(T,)``, pixels with these values, ``> 0``
        """
        if not len(count):
            return cls.empty()
        order = np.lexsort((values[:, 1], values[:, 0]))
        values = values[order]
        first = np.flatnonzero(np.r_[True, (values[1:] != values[:-1]).any(axis=1)])
        return cls(values[first, 0], values[first, 1], np.add.reduceat(count[order], first))

    def __add__(self, other: PixelConfusion) -> PixelConfusion:
        values = [np.r_[self.values_a, other.values_a], np.r_[self.values_b, other.values_b]]
        return PixelConfusion.from_counts(np.column_stack(values), np.r_[self.count, other.count])

    @property
    def n_pixels(self) -> int:
        """Pixels that were compared."""
        return int(self.count.sum())

    def tally(self) -> PixelTally:
        """What Krippendorff's alpha over the pixels of the two annotators needs."""
        return PixelTally.from_counts(np.column_stack([self.values_a, self.values_b]), self.count)

    def pixel_accuracy(self) -> float:
        """Share of the pixels to which both annotators gave the same value, in [0, 1].

        Undefined:
            nan without pixels
        """
        return self._n_agreed() / self.n_pixels if self.n_pixels else math.nan

    def cohen_kappa(self) -> float:
        """Cohen's kappa over pixels, ``(p_o - p_e) / (1 - p_e)``, in [-1, 1].

        Undefined:
            nan without pixels, and where both annotators gave all of them one and the same value

        References:
            J. Cohen, "A coefficient of agreement for nominal scales", 1960
        """
        _, area_a, area_b, _ = self._areas()
        n = self.n_pixels
        # Python integers do not overflow
        expected = sum(a * b for a, b in zip(area_a.tolist(), area_b.tolist(), strict=True))
        if n * n == expected:
            return math.nan
        return float((n * self._n_agreed() - expected) / (n * n - expected))

    def class_iou(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """IoU and Dice of every class that at least one of the two annotators used.

        Returns:
            values ``(K,)``, ascending, and the IoU and the Dice coefficient of each, ``(K,)``, in [0, 1]; 0 for a
            class that only one of them used

        Undefined:
            never; a class that both left out has no row
        """
        values, *areas = self._areas()
        area_a, area_b, shared = (area.astype(np.float64) for area in areas)
        return values, iou_from_areas(shared, area_a, area_b), dice_from_areas(shared, area_a, area_b)

    def mean_iou(self, without: Sequence[int] = ()) -> float:
        """Mean over classes of the IoU, each class weighing the same, in [0, 1].

        Args:
            without: classes that do not enter the mean, such as background; their pixels still count as such in the
                IoU of the others

        Undefined:
            nan if neither annotator used another class
        """
        values, iou, _ = self.class_iou()
        return _mean_of(values, iou, without)

    def mean_dice(self, without: Sequence[int] = ()) -> float:
        """Mean over classes of the Dice coefficient; arguments and range as in :meth:`mean_iou`.

        Undefined:
            nan if neither annotator used another class
        """
        values, _, dice = self.class_iou()
        return _mean_of(values, dice, without)

    def _n_agreed(self) -> int:
        return int(self.count[self.values_a == self.values_b].sum())

    def _areas(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Values, and for each the pixels of one annotator, of the other, and of both."""
        values = np.union1d(self.values_a, self.values_b)
        index_a, index_b = np.searchsorted(values, self.values_a), np.searchsorted(values, self.values_b)
        area_a, area_b, shared = np.zeros((3, len(values)), np.int64)
        np.add.at(area_a, index_a, self.count)
        np.add.at(area_b, index_b, self.count)
        same = index_a == index_b
        shared[index_a[same]] = self.count[same]
        return values, area_a, area_b, shared


def _mean_of(values: IntArray, scores: FloatArray, without: Sequence[int]) -> float:
    kept = scores[~np.isin(values, np.asarray(without, np.int64))]
    return float(kept.mean()) if len(kept) else math.nan


def pair_confusion(joint: JointCounts, a: int, b: int) -> PixelConfusion:
    """The confusion matrix of two of the annotators, over the pixels that no annotator ignored.

    Args:
        joint: combinations of the values of all annotators
        a: index of one annotator, from 0
        b: index of the other

    Example:
        >>> masks = [np.array([[0, 0, 1, 1]]), np.array([[0, 1, 1, 1]])]
        >>> confusion = pair_confusion(joint_counts(masks), 0, 1)
        >>> confusion.mean_iou(), confusion.mean_iou(without=[0])
        (0.5833333333333333, 0.6666666666666666)
    """
    return PixelConfusion.from_counts(joint.values[:, [a, b]], joint.count)


def joint_counts(masks: Sequence[ClassMask], ignore: Sequence[int] = ()) -> JointCounts:
    """Count the combinations of values in one pass over the pixels of all annotators.

    All numbers of semantic masks but the boundary ones follow from these counts.

    Args:
        masks: ``R`` semantic masks of one image, ``(H, W)``, of any integers
        ignore: values that mean "do not judge"; a pixel is left out if any annotator gave it one of them

    Raises:
        ValueError: if there is no mask, or masks are not integers of one shape ``(H, W)``

    Example:
        >>> joint = joint_counts([np.array([[0, 0, 7, 7]]), np.array([[0, 7, 7, 255]])], ignore=[255])
        >>> joint.values.tolist(), joint.count.tolist(), joint.n_ignored
        ([[0, 0], [0, 7], [7, 7]], [1, 1, 1], 1)
    """
    columns, length = _runs([mask.ravel() for mask in _checked(masks)])
    values, count = _count_combinations(columns, length)
    ignored = np.isin(values, np.asarray(ignore, np.int64)).any(axis=1)
    return JointCounts(values[~ignored], count[~ignored], int(count[ignored].sum()))


def ignored_pixels(masks: Sequence[ClassMask], ignore: Sequence[int]) -> BoolArray:
    """Where any annotator gave an ignored value, shape ``(H, W)``; arguments as in :func:`joint_counts`."""
    masks = _checked(masks)
    ignored = np.zeros(masks[0].shape, np.bool_)
    for mask in masks:
        for value in ignore:
            ignored |= mask == value
    return ignored


def disagreement_map(masks: Sequence[ClassMask], ignore: Sequence[int] = ()) -> NDArray[np.uint8]:
    """How many annotators disagree with the majority, for every pixel.

    The majority is the value that most annotators gave; where several values have equally many votes, the annotators
    of all but one of them disagree.

    Args:
        masks: ``R`` semantic masks of one image, ``(H, W)``, of any integers; at most 255
        ignore: values that mean "do not judge"

    Returns:
        shape ``(H, W)``, from 0 to ``R - 1``; 0 where any annotator gave an ignored value

    Raises:
        ValueError: as :func:`joint_counts`, and for more than 255 masks

    Example:
        >>> disagreement_map([np.array([[1, 1, 1]]), np.array([[1, 1, 2]]), np.array([[1, 2, 3]])])
        array([[0, 1, 2]], dtype=uint8)
    """
    masks = _checked(masks)
    if len(masks) > 255:
        raise ValueError(f"`masks` must be at most 255, got {len(masks)}")
    votes = np.ones((len(masks), *masks[0].shape), np.uint8)
    for r, mask in enumerate(masks):
        for s in range(r):
            same = mask == masks[s]
            votes[r] += same
            votes[s] += same
    disagreeing: NDArray[np.uint8] = np.uint8(len(masks)) - votes.max(axis=0)
    disagreeing[ignored_pixels(masks, ignore)] = 0
    return disagreeing


def _checked(masks: Sequence[ClassMask]) -> list[ClassMask]:
    arrays = [np.asarray(mask) for mask in masks]
    if not arrays:
        raise ValueError("`masks` must be at least one, got none")
    shapes = {mask.shape: None for mask in arrays}  # in the order of the masks
    if len(shapes) > 1 or arrays[0].ndim != 2:
        raise ValueError(f"`masks` must have one shape (H, W), got {', '.join(map(str, list(shapes)[:5]))}")
    for mask in arrays:
        if not np.can_cast(mask.dtype, np.int64):
            raise ValueError(f"`masks` must be integers that fit int64, got {mask.dtype}")
    return arrays


def _runs(columns: list[ClassMask]) -> tuple[list[ClassMask], IntArray | None]:
    """Keep one of consecutive pixels that are equal in every column.

    Annotated masks have few runs, which saves nearly all of the counting. Masks like noise are left as they are.

    Returns:
        the columns, and the pixels of every row; None if each is one pixel
    """
    n = len(columns[0])
    starts = np.ones(n, np.bool_)
    np.not_equal(columns[0][1:], columns[0][:-1], out=starts[1:])
    for column in columns[1:]:
        starts[1:] |= column[1:] != column[:-1]
    if np.count_nonzero(starts) > MAX_RUN_SHARE * n:
        return columns, None
    first = np.flatnonzero(starts)
    return [column[first] for column in columns], np.diff(first, append=n)


def _count_combinations(columns: list[ClassMask], length: IntArray | None) -> tuple[IntArray, IntArray]:
    """Count equal rows.

    Args:
        columns: ``R`` columns ``(N,)``
        length: shape ``(N,)``, how often every row counts; None for once

    Returns:
        the different rows ``(T, R)``, ascending, and their counts ``(T,)``
    """
    code = np.zeros(len(columns[0]), np.uint16)
    n_codes = 1
    steps: list[tuple[IntArray, IntArray | None]] = []
    for column in columns:
        digit, values = _digits(column, len(columns))
        n_codes *= max(len(values), 1)
        kept = None
        if n_codes <= MAX_CODES:
            code *= np.uint16(len(values))
            np.add(code, digit, out=code, casting="unsafe")
        else:  # only the combinations that occur get a code
            kept, wide = np.unique(code.astype(np.int64) * len(values) + digit, return_inverse=True)
            n_codes = len(kept)
            code = wide.astype(np.uint16 if n_codes <= MAX_CODES else np.int64)
        steps.append((values, kept))
    count = np.bincount(code, weights=length).astype(np.int64)
    row = np.flatnonzero(count)
    count = count[row]
    table = np.empty((len(row), len(columns)), np.int64)
    for r in reversed(range(len(columns))):
        values, kept = steps[r]
        if kept is not None:
            row = kept[row]
        table[:, r] = values[row % max(len(values), 1)]
        row = row // max(len(values), 1)
    return table, count


def _digits(column: ClassMask, n_annotators: int) -> tuple[ClassMask, IntArray]:
    """Small numbers from 0 in place of the values of a column, and the value of each number, ascending."""
    if not len(column):
        return column, np.zeros(0, np.int64)
    lowest, highest = int(column.min()), int(column.max())
    if lowest < 0 or highest >= MAX_CODES:
        values, digit = np.unique(column, return_inverse=True)
        return digit, values.astype(np.int64)
    if (highest + 1) ** n_annotators <= MAX_CODES:
        return column, np.arange(highest + 1)
    # a table is many times faster than sorting
    used = np.bincount(column) > 0
    digit_of = (np.cumsum(used) - 1).astype(np.uint16)
    return np.take(digit_of, column), np.flatnonzero(used)
