"""Objects of several annotators on many samples as columns, and which of them overlap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray, group_ends, pairs_between
from .boxes import box_area, check_boxes
from .overlaps import Similarity, dice_from_areas, iom_from_areas, iou_from_areas

#: pairs of which overlaps are computed at once (about 300 bytes each)
MAX_PAIRS_AT_ONCE = 500_000

#: areas shared by the objects of two index columns ``(i, j)``, in the unit of the objects' areas
IntersectionOf = Callable[[IntArray, IntArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Objects:
    """Objects as columns, one row each.

    Rows are sorted by sample, then annotator; within one sample and annotator they stand in the order that breaks
    ties (the plugin sorts them by label id).

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


@dataclass(frozen=True, slots=True)
class Overlaps:
    """The pairs of objects of two annotators on one sample that share some area, ordered by ``(i, j)``.

    Attributes:
        i: shape ``(P,)``, row of the first object, of the annotator who comes first
        j: shape ``(P,)``, row of the second object; ``i < j``
        intersection: shape ``(P,)``, shared area, ``> 0``
        area: shape ``(N,)``, area of every object
    """

    i: IntArray
    j: IntArray
    intersection: FloatArray
    area: FloatArray

    def similarity(self, kind: Similarity) -> FloatArray:
        """IoU or Dice of every pair, shape ``(P,)``."""
        from_areas = {"iou": iou_from_areas, "dice": dice_from_areas}[kind]
        return from_areas(self.intersection, self.area[self.i], self.area[self.j])

    def inclusion(self) -> FloatArray:
        """Intersection over the smaller area of every pair, shape ``(P,)``."""
        return iom_from_areas(self.intersection, self.area[self.i], self.area[self.j])

    def among(self, kept: BoolArray) -> Overlaps:
        """The pairs of which both objects are kept by a mask ``(N,)``, numbered as the kept objects."""
        number = np.cumsum(kept) - 1
        pairs = kept[self.i] & kept[self.j]
        return Overlaps(number[self.i[pairs]], number[self.j[pairs]], self.intersection[pairs], self.area[kept])

    def find(self, i: IntArray, j: IntArray) -> tuple[IntArray, BoolArray]:
        """Where the pairs ``(i, j)``, ``i < j``, stand among the overlapping ones, and whether they do."""
        if not len(self.i):
            return np.zeros(len(i), np.int64), np.zeros(len(i), np.bool_)
        n = len(self.area)
        keys, wanted = self.i * n + self.j, i * n + j
        position = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return position, keys[position] == wanted

    def values_at(self, values: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
        """One value for each pair ``(i, j)`` from a column ``(P,)`` of the overlapping pairs, 0 for the others."""
        if not len(self.i):
            return np.zeros(len(i))
        position, found = self.find(i, j)
        return np.where(found, values[position], 0.0)


def find_overlaps(objects: Objects, area: FloatArray, intersection_of: IntersectionOf) -> Overlaps:
    """Compare all objects of different annotators on the same sample, in chunks of bounded memory.

    Args:
        objects: the objects
        area: shape ``(N,)``
        intersection_of: areas shared by the objects of two index columns
    """
    first = objects.same_annotator_ends()
    parts = []
    for i, j in pairs_between(first, group_ends(objects.sample), MAX_PAIRS_AT_ONCE):
        shared = intersection_of(i, j)
        kept = shared > 0
        parts.append((i[kept], j[kept], shared[kept]))
    if not parts:
        return Overlaps(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), area)
    i, j, shared = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Overlaps(i, j, shared, area)


def box_overlaps(objects: Objects, boxes_xyxy: FloatArray) -> Overlaps:
    """The overlapping pairs of boxes of different annotators on the same sample.

    Args:
        objects: ``N`` objects
        boxes_xyxy: shape ``(N, 4)``, ``(x_min, y_min, x_max, y_max)``, one unit per sample

    Raises:
        ValueError: as :func:`~.boxes.box_iou`
    """
    boxes = check_boxes(boxes_xyxy)
    # one contiguous column an edge: half the time of gathering rows of four
    edges = [np.ascontiguousarray(column) for column in boxes.T]

    def intersection_of(i: IntArray, j: IntArray) -> FloatArray:
        width = np.minimum(edges[2][i], edges[2][j]) - np.maximum(edges[0][i], edges[0][j])
        height = np.minimum(edges[3][i], edges[3][j]) - np.maximum(edges[1][i], edges[1][j])
        shared: FloatArray = np.maximum(width, 0.0) * np.maximum(height, 0.0)
        return shared

    return find_overlaps(objects, box_area(boxes), intersection_of)
