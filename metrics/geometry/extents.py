"""What matching needs to know of the extent of objects, whatever their kind: which pairs overlap, and how far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from .boxes import box_area, box_intersection
from .objects import Objects, Overlaps, box_overlaps
from .polygons import boxes_as_polygons, union_area

G = TypeVar("G", bound="Geometry")

#: beyond this many boxes the union is that of polygons, which needs less memory
MAX_IN_GRID = 8


class Geometry(Protocol):
    """The extent of ``N`` objects, as one or more columns."""

    @property
    def area(self) -> FloatArray:
        """How large every object is, shape ``(N,)``: its area, or length, or number of frames."""

    def __len__(self) -> int:
        """Number of objects."""

    def take(self: G, rows: IntArray | BoolArray) -> G:
        """The extent of some of the objects, by index or mask."""

    def joined(self: G, others: Sequence[G]) -> G:
        """These objects, followed by others of the same kind."""

    def boxes_xyxy(self) -> FloatArray | None:
        """Box around every object, shape ``(N, 4)``, in the geometry's own unit; None if objects have no place."""

    def overlaps(self, objects: Objects) -> Overlaps:
        """The overlapping pairs of objects of different annotators on the same sample."""

    def intersection_of(self, i: IntArray, j: IntArray) -> FloatArray:
        """What any objects of two index columns share, as :meth:`overlaps` counts it, shape ``(P,)``."""

    def union_area(self, rows: IntArray, group: IntArray, n_groups: int) -> FloatArray:
        """Area that the objects of every group cover together.

        Args:
            rows: shape ``(M,)``, some of the objects, in any number of groups
            group: shape ``(M,)``, ascending, group of each of them
            n_groups: number ``G`` of groups

        Returns:
            shape ``(G,)``, 0 for a group without objects

        Undefined:
            nan where an object covers no area: lines and keypoints
        """


@dataclass(frozen=True, slots=True)
class Boxes:
    """Axis-aligned boxes.

    Attributes:
        xyxy: shape ``(N, 4)``, ``(x_min, y_min, x_max, y_max)``, one unit per sample
    """

    xyxy: FloatArray

    def __len__(self) -> int:
        return len(self.xyxy)

    @property
    def area(self) -> FloatArray:
        """Area of every box."""
        return box_area(self.xyxy)

    def boxes_xyxy(self) -> FloatArray:
        """The boxes."""
        return self.xyxy

    def take(self, rows: IntArray | BoolArray) -> Boxes:
        """Some of the boxes."""
        return Boxes(self.xyxy[rows])

    def joined(self, others: Sequence[Boxes]) -> Boxes:
        """These boxes, followed by others."""
        return Boxes(np.concatenate([self.xyxy, *(other.xyxy for other in others)]))

    def overlaps(self, objects: Objects) -> Overlaps:
        """The overlapping pairs; see :func:`~.objects.box_overlaps`."""
        return box_overlaps(objects, self.xyxy)

    def intersection_of(self, i: IntArray, j: IntArray) -> FloatArray:
        """Areas shared by the boxes of two index columns."""
        return box_intersection(self.xyxy[i], self.xyxy[j])

    def union_area(self, rows: IntArray, group: IntArray, n_groups: int) -> FloatArray:
        """Area that the boxes of every group cover together."""
        size = np.bincount(group, minlength=n_groups)
        few, many = (size > 0) & (size <= MAX_IN_GRID), size > MAX_IN_GRID
        rows_of_many = many[group]
        area = union_area(boxes_as_polygons(self.xyxy[rows[rows_of_many]]), group[rows_of_many], n_groups)
        number = np.cumsum(few) - 1
        rows, group, size = rows[few[group]], number[group[few[group]]], size[few]
        first = np.cumsum(size) - size
        place = np.minimum(np.arange(size.max(initial=0)), size[:, None] - 1)  # small groups repeat their last box
        area[few] = _area_in_grid(self.xyxy[rows[first[:, None] + place]])
        return area


def _area_in_grid(boxes_xyxy: FloatArray) -> FloatArray:
    """Area that the ``K`` boxes of every row ``(G, K, 4)`` cover together: the cells between all their edges."""
    covered, width = [], []
    for low, high in ((0, 2), (1, 3)):
        start, end = boxes_xyxy[..., low], boxes_xyxy[..., high]
        edge = np.sort(np.concatenate([start, end], axis=1), axis=1)
        inside = (start[..., None] <= edge[:, None, :-1]) & (edge[:, None, 1:] <= end[..., None])
        covered.append(inside.astype(np.float32))
        width.append(np.diff(edge, axis=1))
    cells = covered[0].transpose(0, 2, 1) @ covered[1] > 0
    area: FloatArray = (width[0] * (cells * width[1][:, None, :]).sum(axis=2)).sum(axis=1)
    return area
