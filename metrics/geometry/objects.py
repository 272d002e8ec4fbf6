"""Objects of annotators as columns, overlapping pairs (of crowded samples the most similar ones), IoU and Dice.

A sample of 60,000 objects has a billion pairs. They are compared in blocks, sorted by their left edge, so that
only the pairs that are kept are in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..numeric.arrays import BoolArray, FloatArray, IntArray, group_ends, pairs_between

#: most pairs of a sample that are kept; if there are more, every object keeps its most similar ones by annotator
MAX_PAIRS_OF_SAMPLE = 3_000_000

#: pairs that are compared together: few enough for the cache of a processor
_BLOCK = 1 << 16
#: subtracted from a similarity for each place between two objects in their annotators' lists; far less than a tie
_PER_PLACE = 1e-14


@dataclass(frozen=True, slots=True)
class NearPairs:
    """Pairs of objects of different annotators on one sample whose bounding boxes overlap, ordered by ``(i, j)``."""

    i: IntArray  #: shape ``(P,)``
    j: IntArray  #: shape ``(P,)``, greater than ``i``
    complete: bool  #: whether these are all


def near_pairs(bounds: FloatArray, annotator: IntArray, max_pairs: int) -> NearPairs:
    """The pairs of objects of different annotators whose bounding boxes overlap.

    If these are more than ``max_pairs``, only the most similar ones: for every object the objects of every other
    annotator with the greatest IoU of the bounding boxes, as many as fit. Of equally similar ones those come first that
    are at the same place, or next after it, in the list of their annotator. If even one of every annotator is too many,
    every object keeps the most similar ones of all annotators together.

    Args:
        bounds: shape ``(N, 4)``, ``(x_min, y_min, x_max, y_max)``
        annotator: shape ``(N,)``, ascending
        max_pairs: pairs to keep
    """
    n = len(bounds)
    found: list[IntArray] = []
    n_found = 0
    for keys in overlapping_boxes(bounds, annotator):
        found.append(keys)
        n_found += len(keys)
        if n_found > max_pairs:
            found = list(_most_similar(bounds, annotator, max_pairs))
            break
    complete = n_found <= max_pairs
    keys = np.concatenate([np.empty(0, np.int64), *found])
    keys = np.sort(keys) if complete else np.unique(keys)
    return NearPairs(*np.divmod(keys, max(n, 1)), complete)


def overlapping_boxes(bounds: FloatArray, annotator: IntArray) -> Iterator[IntArray]:
    """All pairs of boxes ``(N, 4)`` of different annotators that overlap, as numbers ``i * N + j``, block by block."""
    n = len(bounds)
    order = np.argsort(bounds[:, 0], kind="stable")
    left, top, right, bottom = np.ascontiguousarray(bounds[order].T)
    who = annotator[order].astype(np.int32)
    end = np.searchsorted(left, right)  # where the boxes begin that lie to the right
    start = 0
    while start < n:
        stop = min(n, start + max(1, _BLOCK // max(1, int(end[start]) - start)))
        last = int(end[start:stop].max())
        for first in range(start + 1, last, _BLOCK):
            rows, columns = slice(start, stop), slice(first, min(first + _BLOCK, last))
            meets = left[columns] < right[rows, None]
            meets &= top[columns] < bottom[rows, None]
            meets &= bottom[columns] > top[rows, None]
            meets &= who[columns] != who[rows, None]
            row, column = np.nonzero(meets)
            row, column = row + start, column + first
            later = column > row
            a, b = order[row[later]], order[column[later]]
            yield np.minimum(a, b) * n + np.maximum(a, b)
        start = stop


@dataclass(frozen=True, slots=True)
class _Side:
    """The objects of one annotator (or of all), sorted by their left edge."""

    rows: IntArray
    place: IntArray  # in the list of the annotator
    edges: FloatArray  # (4, M)
    area: FloatArray
    rightmost: FloatArray  # greatest right edge up to here

    @classmethod
    def of(cls, rows: IntArray, bounds: FloatArray, area: FloatArray, place: IntArray) -> _Side:
        rows = rows[np.argsort(bounds[rows, 0], kind="stable")]
        edges = np.ascontiguousarray(bounds[rows].T)
        return cls(rows, place[rows], edges, area[rows], np.maximum.accumulate(edges[2]))

    def meeting(self, left: float, right: float) -> slice:
        """The objects that may overlap an interval of abscissas."""
        return slice(int(np.searchsorted(self.rightmost, left, "right")), int(np.searchsorted(self.edges[0], right)))


def _most_similar(bounds: FloatArray, annotator: IntArray, max_pairs: int) -> Iterator[IntArray]:
    """For every object the most similar ones of the others, as numbers ``i * N + j``; pairs may occur twice."""
    n = len(bounds)
    area = (bounds[:, 2] - bounds[:, 0]) * (bounds[:, 3] - bounds[:, 1])
    place = np.arange(n) - np.searchsorted(annotator, annotator)
    different = np.unique(annotator)
    sides = {who: _Side.of(np.flatnonzero(annotator == who), bounds, area, place) for who in different.tolist()}
    n_kept = max_pairs // max(1, n * (len(different) - 1))
    every = None
    if not n_kept:
        n_kept, every = max(1, max_pairs // n), _Side.of(np.arange(n), bounds, area, place)
    for who, own in sides.items():
        for other in [every] if every is not None else [side for name, side in sides.items() if name != who]:
            start = 0
            while start < len(own.rows):
                columns = other.meeting(own.edges[0, start], own.edges[2, start])
                stop = min(len(own.rows), start + max(1, _BLOCK // max(1, columns.stop - columns.start)))
                columns = other.meeting(own.edges[0, start], float(own.edges[2, start:stop].max()))
                row, column = _best(own, slice(start, stop), other, columns, n_kept, annotator if every else None)
                a, b = own.rows[start + row], other.rows[columns.start + column]
                yield np.minimum(a, b) * n + np.maximum(a, b)
                start = stop


def _best(
    own: _Side, rows: slice, other: _Side, columns: slice, n_kept: int, annotator: IntArray | None
) -> tuple[IntArray, IntArray]:
    """Of every row the columns with the greatest IoU above 0; with ``annotator`` only those of other annotators."""
    left, top, right, bottom = own.edges[:, rows, None]
    shared = np.minimum(other.edges[2, columns], right)
    shared -= np.maximum(other.edges[0, columns], left)
    height = np.minimum(other.edges[3, columns], bottom)
    height -= np.maximum(other.edges[1, columns], top)
    np.maximum(shared, 0.0, out=shared)
    shared *= np.maximum(height, 0.0, out=height)
    if annotator is not None:
        shared[annotator[other.rows[columns]] == annotator[own.rows[rows], None]] = 0.0
    if shared.shape[1] > n_kept:
        union = own.area[rows, None] + other.area[columns]
        union -= shared
        score = np.divide(shared, union, out=np.zeros_like(shared), where=shared > 0.0)
        score -= _PER_PLACE * ((other.place[columns] - own.place[rows, None]) % len(other.rows))
        chosen = np.argpartition(score, -n_kept, axis=1)[:, -n_kept:]
        row = np.repeat(np.arange(len(chosen)), n_kept)
        column = chosen.ravel()
    else:
        row, column = (index.ravel() for index in np.indices(shared.shape))
    kept: BoolArray = shared[row, column] > 0.0
    return row[kept], column[kept]


G = TypeVar("G", bound="Geometry")

#: similarity of two objects: intersection over union, or the Dice coefficient
Similarity = Literal["iou", "dice"]

#: pairs whose overlaps are computed at once (about 300 bytes each)
MAX_PAIRS_AT_ONCE = 500_000

#: from this many pairs of objects of a sample on, only those whose bounding boxes overlap are compared
_MANY_PAIRS = 250_000

#: maps two index columns ``(i, j)`` to the shared areas, in the unit of the objects' areas
IntersectionOf = Callable[[IntArray, IntArray], FloatArray]


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """``numerator / denominator``, nan where the denominator is 0."""
    empty = denominator <= 0
    return np.where(empty, np.nan, numerator / np.where(empty, 1.0, denominator))


def iou_from_areas(intersection: FloatArray, area_a: FloatArray, area_b: FloatArray) -> FloatArray:
    """Intersection over union (IoU), |A ∩ B| / |A ∪ B|, in [0, 1].

    Args:
        intersection: areas shared by the two regions, any one unit
        area_a: areas of the regions of one annotator, same unit
        area_b: areas of the regions of the other, same unit; shapes must broadcast

    Undefined:
        nan where both regions are empty
    """
    return _ratio(intersection, area_a + area_b - intersection)


def dice_from_areas(intersection: FloatArray, area_a: FloatArray, area_b: FloatArray) -> FloatArray:
    """Dice coefficient, 2 |A ∩ B| / (|A| + |B|), in [0, 1].

    Args:
        intersection: areas shared by the two regions, any one unit
        area_a: areas of the regions of one annotator, same unit
        area_b: areas of the regions of the other, same unit; shapes must broadcast

    Undefined:
        nan where both regions are empty
    """
    return _ratio(2.0 * intersection, area_a + area_b)


def iom_from_areas(intersection: FloatArray, area_a: FloatArray, area_b: FloatArray) -> FloatArray:
    """Intersection over minimum (IoM), |A ∩ B| / min(|A|, |B|), in [0, 1].

    Args:
        intersection: areas shared by the two regions, any one unit
        area_a: areas of the regions of one annotator, same unit
        area_b: areas of the regions of the other, same unit; shapes must broadcast

    Undefined:
        nan where both regions are empty; 0 where one is empty
    """
    smaller = np.minimum(area_a, area_b)
    one_empty = (smaller <= 0) & (np.maximum(area_a, area_b) > 0)
    return np.where(one_empty, 0.0, _ratio(intersection, smaller))


def dice_from_iou(iou: FloatArray) -> FloatArray:
    """Dice coefficient from the IoU: ``2 IoU / (1 + IoU)``.

    Args:
        iou: in [0, 1], any shape

    Undefined:
        nan where the IoU is nan
    """
    return 2.0 * iou / (1.0 + iou)


@dataclass(frozen=True, slots=True)
class Objects:
    """Objects as columns, one row each.

    Rows are sorted by sample, then annotator. The order within one sample and annotator breaks ties (the plugin sorts
    by label id).

    Attributes:
        sample: shape ``(N,)``, ascending
        annotator: shape ``(N,)``, ascending within a sample, ``>= 0``
        category: shape ``(N,)``, class code, ``>= 0``
    """

    sample: IntArray
    annotator: IntArray
    category: IntArray

    def __post_init__(self) -> None:
        for name in ("sample", "annotator", "category"):
            column = getattr(self, name)
            if column.shape != self.sample.shape or column.ndim != 1:
                raise ValueError(f"`{name}` must have the shape {self.sample.shape}, got {column.shape}")
            if len(column) and (column.dtype.kind not in "iu" or column.min() < 0):
                raise ValueError(f"`{name}` must be integers >= 0, got {column.dtype} from {column.min()}")
        step = np.diff(self.sample)
        if (step < 0).any() or ((step == 0) & (np.diff(self.annotator) < 0)).any():
            raise ValueError("Objects must be sorted by sample, then annotator, got rows out of order")

    def __len__(self) -> int:
        return len(self.sample)

    def same_annotator_ends(self) -> IntArray:
        """For every row, one past the last row of the same sample and annotator; shape ``(N,)``."""
        if not len(self):
            return np.empty(0, np.int64)
        return group_ends(self.sample * (int(self.annotator.max()) + 1) + self.annotator)


@dataclass(frozen=True)
class Overlaps:
    """Overlapping pairs of objects of different annotators on one sample, ordered by ``(i, j)``.

    Attributes:
        i: shape ``(P,)``, row of the first object (of the annotator who comes first)
        j: shape ``(P,)``, row of the second object; ``i < j``
        intersection: shape ``(P,)``, shared area, ``> 0``
        area: shape ``(N,)``, area of every object
        crowded: shape ``(N,)``, objects of samples with so many overlapping pairs that only the most similar ones are
            here (see :func:`~.objects.near_pairs`); None if there are none
    """

    i: IntArray
    j: IntArray
    intersection: FloatArray
    area: FloatArray
    crowded: BoolArray | None = None

    @cached_property
    def iou(self) -> FloatArray:
        """IoU of every pair, shape ``(P,)``."""
        return iou_from_areas(self.intersection, self.area[self.i], self.area[self.j])

    def similarity(self, kind: Similarity) -> FloatArray:
        """IoU or Dice of every pair, shape ``(P,)``."""
        if kind == "iou":
            return self.iou
        return dice_from_areas(self.intersection, self.area[self.i], self.area[self.j])

    def inclusion(self) -> FloatArray:
        """Intersection over the smaller area of every pair, shape ``(P,)``."""
        return iom_from_areas(self.intersection, self.area[self.i], self.area[self.j])

    def among(self, kept: BoolArray) -> Overlaps:
        """Pairs of two objects kept by a mask ``(N,)``, with the row numbers of the kept objects."""
        number = np.cumsum(kept) - 1
        pairs = kept[self.i] & kept[self.j]
        crowded = None if self.crowded is None else self.crowded[kept]
        return Overlaps(
            number[self.i[pairs]], number[self.j[pairs]], self.intersection[pairs], self.area[kept], crowded
        )

    def find(self, i: IntArray, j: IntArray) -> tuple[IntArray, BoolArray]:
        """Positions of pairs ``(i, j)``, ``i < j``, among the overlapping pairs, and whether each is one of them."""
        if not len(self.i):
            return np.zeros(len(i), np.int64), np.zeros(len(i), np.bool_)
        n = len(self.area)
        keys, wanted = self.i * n + self.j, i * n + j
        position = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return position, keys[position] == wanted

    def values_at(self, values: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
        """Values of pairs ``(i, j)`` from a column ``(P,)`` of the overlapping pairs; 0 for other pairs."""
        if not len(self.i):
            return np.zeros(len(i))
        position, found = self.find(i, j)
        return np.where(found, values[position], 0.0)


def find_overlaps(
    objects: Objects, area: FloatArray, intersection_of: IntersectionOf, bounds: FloatArray | None = None
) -> Overlaps:
    """Compare all objects of different annotators on the same sample, in chunks of bounded memory.

    Args:
        objects: the objects
        area: shape ``(N,)``
        intersection_of: areas shared by the objects of two index columns
        bounds: shape ``(N, 4)``, ``(x_min, y_min, x_max, y_max)``; objects share nothing where these boxes do not
            overlap. On samples with very many objects only those with overlapping boxes are compared; None: all are
    """
    parts = []
    crowded = np.zeros(len(objects), np.bool_)
    for i, j in _pairs_to_compare(objects, bounds, crowded):
        shared = intersection_of(i, j)
        kept = np.flatnonzero(shared > 0)
        parts.append((i[kept], j[kept], shared[kept]))
    if not parts:
        return Overlaps(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), area)
    i, j, shared = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Overlaps(i, j, shared, area, crowded if crowded.any() else None)


def _pairs_to_compare(
    objects: Objects, bounds: FloatArray | None, crowded: BoolArray
) -> Iterator[tuple[IntArray, IntArray]]:
    """Pairs of objects of different annotators on the same sample, chunk by chunk, ordered by ``(i, j)``; marks the
    objects of samples of which only the most similar pairs are compared."""
    first, end = objects.same_annotator_ends(), group_ends(objects.sample)
    large: list[int] = []  # samples
    if bounds is not None and len(objects):
        n_pairs = np.bincount(objects.sample, weights=end - first)
        large = np.flatnonzero(n_pairs > _MANY_PAIRS).tolist()
    done = 0
    for sample in large:
        start, stop = np.searchsorted(objects.sample, [sample, sample + 1]).tolist()
        for i, j in pairs_between(first[done:start], end[done:start], MAX_PAIRS_AT_ONCE):
            yield i + done, j
        near = near_pairs(bounds[start:stop], objects.annotator[start:stop], MAX_PAIRS_OF_SAMPLE)  # type: ignore[index]
        crowded[start:stop] = not near.complete
        for chunk in range(0, len(near.i), MAX_PAIRS_AT_ONCE):
            rows = slice(chunk, chunk + MAX_PAIRS_AT_ONCE)
            yield near.i[rows] + start, near.j[rows] + start
        done = stop
    for i, j in pairs_between(first[done:], end[done:], MAX_PAIRS_AT_ONCE):
        yield i + done, j


class Geometry(Protocol):
    """The extent of ``N`` objects, as one or more columns."""

    __slots__ = ()
    is_quick: ClassVar[bool] = False  #: whether comparing pairs of objects takes hardly any time

    @property
    def repaired(self) -> BoolArray:
        """Objects with a repaired outline, shape ``(N,)``."""
        return np.zeros(len(self), np.bool_)

    @property
    def without_extent(self) -> BoolArray:
        """Objects with a single known point, or several in one place, shape ``(N,)``."""
        return np.zeros(len(self), np.bool_)

    def places(self) -> dict[str, NDArray[Any]]:
        """What is known of the extent of every object besides its box in single precision, by column:
        ``boxes_rest``, ``points_xy``, ``first`` or ``outline``."""
        return {}

    def in_another_order(self, objects: Objects, alone: BoolArray) -> BoolArray:
        """Objects whose points, in another order, would be near those of another annotator's object, ``(N,)``; False
        without points.

        Args:
            alone: shape ``(N,)``, objects that match nothing; only they are compared
        """
        return np.zeros(len(self), np.bool_)

    def visibility(self, i: IntArray, j: IntArray) -> FloatArray | None:
        """Points that both objects of a pair have / points that either has; None for geometry without points."""
        return None

    @property
    def area(self) -> FloatArray:
        """Size of every object, shape ``(N,)``: its area, length or number of frames."""

    def __len__(self) -> int:
        """Number of objects."""

    def take(self: G, rows: IntArray | BoolArray) -> G:
        """The extent of some of the objects, by index or mask."""

    def joined(self: G, others: Sequence[G]) -> G:
        """These objects, followed by others of the same kind."""

    def boxes_xyxy(self) -> FloatArray | None:
        """Bounding box of every object, shape ``(N, 4)``, in the geometry's own unit; None if objects have no place."""

    def overlaps(self, objects: Objects) -> Overlaps:
        """The overlapping pairs of objects of different annotators on the same sample."""

    def intersection_of(self, i: IntArray, j: IntArray) -> FloatArray:
        """Intersections of the objects of two index columns, as in :meth:`overlaps`, shape ``(P,)``."""

    def union_area(self, rows: IntArray, group: IntArray, n_groups: int) -> FloatArray:
        """Area of the union of the objects of every group.

        Args:
            rows: shape ``(M,)``, rows of objects
            group: shape ``(M,)``, ascending, group of each of these objects
            n_groups: number ``G`` of groups

        Returns:
            shape ``(G,)``, 0 for a group without objects

        Undefined:
            nan for geometry without areas, such as lines and keypoints
        """
        return np.full(n_groups, np.nan)
