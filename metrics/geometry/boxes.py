"""Axis-aligned boxes: their areas, and which of them overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import shapely
from numpy.typing import NDArray

from ..numeric.arrays import BoolArray, FloatArray, IntArray, concatenated
from .objects import Geometry, Objects, Overlaps, find_overlaps
from .polygons import union_area
from .vertices import GeometryArray

#: with more boxes, the union is computed with polygons, which needs less memory
MAX_IN_GRID = 8


def check_boxes(boxes_xyxy: FloatArray, name: str = "boxes") -> FloatArray:
    """Return the boxes as float64.

    Raises:
        ValueError: if the array is not ``(_, 4)``, has a non-finite value, or max < min
    """
    boxes = np.asarray(boxes_xyxy, dtype=np.float64)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        if boxes.size:
            raise ValueError(f"`{name}` must have the shape (N, 4), got {boxes.shape}")
        boxes = boxes.reshape(0, 4)
    if not np.isfinite(boxes).all():
        raise ValueError(f"`{name}` must be finite, got {boxes[~np.isfinite(boxes).all(axis=1)][0].tolist()}")
    negative = (boxes[:, 2:] < boxes[:, :2]).any(axis=1)
    if negative.any():
        raise ValueError(f"`{name}` must have max >= min, got {boxes[negative][0].tolist()}")
    return boxes


def box_area(boxes_xyxy: FloatArray) -> FloatArray:
    """Areas of boxes ``(..., 4)``, ``(x_min, y_min, x_max, y_max)``, in the square of their unit; never undefined."""
    area: FloatArray = (boxes_xyxy[..., 2] - boxes_xyxy[..., 0]) * (boxes_xyxy[..., 3] - boxes_xyxy[..., 1])
    return area


def box_intersection(boxes_a: FloatArray, boxes_b: FloatArray) -> FloatArray:
    """Areas shared by boxes ``(..., 4)`` of two broadcastable arrays, 0 where they are apart; never undefined."""
    width = np.minimum(boxes_a[..., 2], boxes_b[..., 2]) - np.maximum(boxes_a[..., 0], boxes_b[..., 0])
    height = np.minimum(boxes_a[..., 3], boxes_b[..., 3]) - np.maximum(boxes_a[..., 1], boxes_b[..., 1])
    shared: FloatArray = np.maximum(width, 0.0) * np.maximum(height, 0.0)
    return shared


def box_overlaps(objects: Objects, boxes_xyxy: FloatArray) -> Overlaps:
    """The overlapping pairs of boxes of different annotators on the same sample.

    Args:
        objects: ``N`` objects
        boxes_xyxy: shape ``(N, 4)``, ``(x_min, y_min, x_max, y_max)``, one unit per sample

    Raises:
        ValueError: as :func:`~.boxes.box_iou`
    """
    boxes = check_boxes(boxes_xyxy)
    # one contiguous column per edge: half the time of gathering rows of four
    edges = [np.ascontiguousarray(column) for column in boxes.T]

    def intersection_of(i: IntArray, j: IntArray) -> FloatArray:
        width = np.minimum(edges[2][i], edges[2][j]) - np.maximum(edges[0][i], edges[0][j])
        height = np.minimum(edges[3][i], edges[3][j]) - np.maximum(edges[1][i], edges[1][j])
        shared: FloatArray = np.maximum(width, 0.0) * np.maximum(height, 0.0)
        return shared

    return find_overlaps(objects, box_area(boxes), intersection_of, boxes)


def box_iou(boxes_a: FloatArray, boxes_b: FloatArray) -> FloatArray:
    """Intersection over union (IoU) of every box of one annotator with every box of another, as used in matching.

    Symmetric: ``box_iou(a, b) == box_iou(b, a).T``.

    Args:
        boxes_a: shape ``(N, 4)``, ``(x_min, y_min, x_max, y_max)``, any one unit; ``N`` may be 0
        boxes_b: shape ``(M, 4)``, same unit

    Returns:
        shape ``(N, M)`` in [0, 1]; entry ``[i, j]`` compares ``boxes_a[i]`` with ``boxes_b[j]``

    Undefined:
        nan where both boxes have zero area; 0 where one has zero area

    Raises:
        ValueError: if an array is not ``(_, 4)``, has a non-finite value, or max < min

    Example:
        >>> box_iou(np.array([[0, 0, 2, 2.]]), np.array([[1, 0, 3, 2.]])).round(4)
        array([[0.3333]])
    """
    boxes = np.concatenate([check_boxes(boxes_a, "boxes_a"), check_boxes(boxes_b, "boxes_b")])
    n = len(np.reshape(boxes_a, (-1, 4)))
    one_image = np.zeros(len(boxes), np.int64)
    found = box_overlaps(Objects(one_image, (np.arange(len(boxes)) >= n).astype(np.int64), one_image), boxes)
    iou = np.where((found.area[:n, None] > 0) | (found.area[n:] > 0), 0.0, np.nan)
    iou[found.i, found.j - n] = found.similarity("iou")
    return iou


def boxes_as_polygons(boxes_xyxy: FloatArray) -> GeometryArray:
    """Boxes as shapely Polygons, shape ``(N,)``, to compare them with other shapes; empty Polygons for zero area.

    Args:
        boxes_xyxy: shape ``(N, 4)``, ``(x_min, y_min, x_max, y_max)``

    Raises:
        ValueError: as :func:`~.boxes.box_iou`
    """
    boxes = check_boxes(boxes_xyxy, "boxes_xyxy")
    geometry = np.full(len(boxes), shapely.Polygon(), dtype=np.object_)
    solid = (boxes[:, 2:] > boxes[:, :2]).all(axis=1)
    geometry[solid] = shapely.box(*boxes[solid].T)
    return geometry


@dataclass(frozen=True, slots=True)
class Boxes(Geometry):
    """Axis-aligned boxes."""

    is_quick: ClassVar[bool] = True

    xyxy: FloatArray  #: shape ``(N, 4)``, ``(x_min, y_min, x_max, y_max)``, one unit per sample

    def __len__(self) -> int:
        return len(self.xyxy)

    @property
    def area(self) -> FloatArray:
        return box_area(self.xyxy)

    def boxes_xyxy(self) -> FloatArray:
        return self.xyxy

    def places(self) -> dict[str, NDArray[Any]]:
        """The difference between the boxes and the same boxes in single precision."""
        return {"boxes_rest": (self.xyxy - self.xyxy.astype(np.float32)).astype(np.float32)}

    def take(self, rows: IntArray | BoolArray) -> Boxes:
        return Boxes(self.xyxy[rows])

    def joined(self, others: Sequence[Boxes]) -> Boxes:
        return Boxes(**concatenated([self, *others], "xyxy"))

    def overlaps(self, objects: Objects) -> Overlaps:
        return box_overlaps(objects, self.xyxy)

    def intersection_of(self, i: IntArray, j: IntArray) -> FloatArray:
        return box_intersection(self.xyxy[i], self.xyxy[j])

    def union_area(self, rows: IntArray, group: IntArray, n_groups: int) -> FloatArray:
        size = np.bincount(group, minlength=n_groups)
        few, many = (size > 0) & (size <= MAX_IN_GRID), size > MAX_IN_GRID
        rows_of_many = many[group]
        area = union_area(boxes_as_polygons(self.xyxy[rows[rows_of_many]]), group[rows_of_many], n_groups)
        number = np.cumsum(few) - 1
        rows, group, size = rows[few[group]], number[group[few[group]]], size[few]
        first = np.cumsum(size) - size
        place = np.minimum(np.arange(size.max(initial=0)), size[:, None] - 1)  # pads small groups with their last box
        boxes = self.xyxy[rows[first[:, None] + place]]
        # the cells between all edges of the boxes of a group
        covered, width = [], []
        for low, high in ((0, 2), (1, 3)):
            start, end = boxes[..., low], boxes[..., high]
            edge = np.sort(np.concatenate([start, end], axis=1), axis=1)
            inside = (start[..., None] <= edge[:, None, :-1]) & (edge[:, None, 1:] <= end[..., None])
            covered.append(inside.astype(np.float32))
            width.append(np.diff(edge, axis=1))
        cells = covered[0].transpose(0, 2, 1) @ covered[1] > 0
        area[few] = (width[0] * (cells * width[1][:, None, :]).sum(axis=2)).sum(axis=1)
        return area
