"""Instance masks on the pixel grid of their image, and the areas that they share with masks, boxes and polygons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely

from .arrays import BoolArray, FloatArray, IntArray, ranges, sums_by
from .polygons import polygon_intersection
from .vertices import GeometryArray


@dataclass(frozen=True, slots=True)
class MaskCrops:
    """Masks of ``N`` objects, each stored as the rectangle of pixels around it.

    Pixel ``(row, column)`` of an image is the unit square from ``(column, row)`` to ``(column + 1, row + 1)``.

    Attributes:
        pixels: the rectangles row by row, one after the other
        start: shape ``(N,)``, where the rectangle of an object begins in ``pixels``
        left: shape ``(N,)``, first column of the rectangle in the image; may be negative
        top: shape ``(N,)``, first row
        width: shape ``(N,)``, columns of the rectangle
        height: shape ``(N,)``, rows
        area: shape ``(N,)``, pixels of the object
    """

    pixels: BoolArray
    start: IntArray
    left: IntArray
    top: IntArray
    width: IntArray
    height: IntArray
    area: FloatArray

    @classmethod
    def from_crops(cls, crops: Sequence[tuple[BoolArray, int, int]]) -> MaskCrops:
        """Masks from rectangles of pixels with the column and row of their first pixel.

        Raises:
            ValueError: if a rectangle does not have two dimensions
        """
        for crop, _, _ in crops:
            if crop.ndim != 2:
                raise ValueError(f"`crops` must have the shape (H, W), got {crop.shape}")
        height, width = (np.array([crop.shape[axis] for crop, _, _ in crops], np.int64) for axis in (0, 1))
        size = height * width
        return cls(
            np.concatenate([np.empty(0, np.bool_), *(crop.reshape(-1) for crop, _, _ in crops)]).astype(np.bool_),
            np.cumsum(size) - size,
            np.array([left for _, left, _ in crops], np.int64),
            np.array([top for _, _, top in crops], np.int64),
            width,
            height,
            np.array([np.count_nonzero(crop) for crop, _, _ in crops], np.float64),
        )

    def __len__(self) -> int:
        return len(self.start)

    @property
    def bounds(self) -> FloatArray:
        """``(x_min, y_min, x_max, y_max)`` of every rectangle in pixels, shape ``(N, 4)``."""
        sides = np.stack([self.left, self.top, self.left + self.width, self.top + self.height], axis=1)
        return sides.astype(np.float64)

    def crop(self, row: int) -> BoolArray:
        """The rectangle of one object, shape ``(H, W)``."""
        start, height, width = int(self.start[row]), int(self.height[row]), int(self.width[row])
        return self.pixels[start : start + height * width].reshape(height, width)

    def take(self, rows: IntArray | BoolArray) -> MaskCrops:
        """Some of the masks; the pixels of all are kept."""
        start, left, top, width, height = (
            column[rows] for column in (self.start, self.left, self.top, self.width, self.height)
        )
        return MaskCrops(self.pixels, start, left, top, width, height, self.area[rows])

    def joined(self, others: Sequence[MaskCrops]) -> MaskCrops:
        """These masks, followed by others."""
        every = [self, *others]
        before = np.cumsum([0, *(len(masks.pixels) for masks in every)])
        return MaskCrops(
            np.concatenate([masks.pixels for masks in every]),
            np.concatenate([masks.start + offset for masks, offset in zip(every, before, strict=False)]),
            np.concatenate([masks.left for masks in every]),
            np.concatenate([masks.top for masks in every]),
            np.concatenate([masks.width for masks in every]),
            np.concatenate([masks.height for masks in every]),
            np.concatenate([masks.area for masks in every]),
        )


def mask_intersection(masks: MaskCrops, i: IntArray, j: IntArray) -> FloatArray:
    """Pixels that the masks of two index columns share, row by row; only where the rectangles meet is looked at.

    Args:
        masks: ``N`` masks
        i: shape ``(P,)``
        j: shape ``(P,)``

    Undefined:
        never; 0 where a mask is empty

    Example:
        >>> masks = MaskCrops.from_crops([(np.ones((2, 2), bool), 0, 0), (np.ones((2, 3), bool), 1, 1)])
        >>> mask_intersection(masks, np.array([0]), np.array([1]))
        array([1.])
    """
    right, bottom = masks.left + masks.width, masks.top + masks.height
    left, top = np.maximum(masks.left[i], masks.left[j]), np.maximum(masks.top[i], masks.top[j])
    width, height = np.minimum(right[i], right[j]) - left, np.minimum(bottom[i], bottom[j]) - top
    shared = np.zeros(len(i))
    near = np.flatnonzero((width > 0) & (height > 0))
    x_i, x_j, y_i, y_j = left - masks.left[i], left - masks.left[j], top - masks.top[i], top - masks.top[j]
    columns = (near, i[near], j[near], x_i[near], y_i[near], x_j[near], y_j[near], width[near], height[near])
    for pair, a, b, xa, ya, xb, yb, w, h in zip(*(column.tolist() for column in columns), strict=True):
        both = masks.crop(a)[ya : ya + h, xa : xa + w] & masks.crop(b)[yb : yb + h, xb : xb + w]
        shared[pair] = np.count_nonzero(both)
    return shared


def mask_box_intersection(masks: MaskCrops, i: IntArray, boxes_xyxy: FloatArray) -> FloatArray:
    """Area that masks share with boxes, row by row; of a pixel that a box covers in part, that part.

    Args:
        masks: ``N`` masks
        i: shape ``(P,)``, row of a mask
        boxes_xyxy: shape ``(P, 4)``, ``(x_min, y_min, x_max, y_max)`` in pixels

    Undefined:
        never; 0 where a mask or box is empty

    Example:
        >>> masks = MaskCrops.from_crops([(np.ones((2, 2), bool), 0, 0)])
        >>> mask_box_intersection(masks, np.array([0]), np.array([[0.5, 0, 9, 1.]]))
        array([1.5])
    """
    shared = np.zeros(len(i))
    for pair, (row, box) in enumerate(zip(i.tolist(), boxes_xyxy.tolist(), strict=True)):
        crop = masks.crop(row)
        covered_x = _covered(box[0] - float(masks.left[row]), box[2] - float(masks.left[row]), crop.shape[1])
        covered_y = _covered(box[1] - float(masks.top[row]), box[3] - float(masks.top[row]), crop.shape[0])
        shared[pair] = covered_y @ (crop @ covered_x)
    return shared


def _covered(low: float, high: float, n: int) -> FloatArray:
    """Share of each of the unit intervals ``[k, k + 1]``, ``k = 0 … n - 1``, that ``[low, high]`` covers."""
    k = np.arange(n)
    covered: FloatArray = np.clip(np.minimum(k + 1, high) - np.maximum(k, low), 0.0, 1.0)
    return covered


def mask_polygon_intersection(masks: MaskCrops, i: IntArray, polygons: GeometryArray) -> FloatArray:
    """Area that masks share with polygons, row by row, exactly: every run of pixels is a rectangle.

    Args:
        masks: ``N`` masks
        i: shape ``(P,)``, row of a mask
        polygons: shape ``(P,)``, valid shapely geometries in pixels

    Undefined:
        never; 0 where a mask or polygon is empty
    """
    distinct, inverse = np.unique(i, return_inverse=True)
    runs = [_runs(masks, row) for row in distinct.tolist()]
    n_runs = np.array([len(boxes) for boxes in runs], np.int64)
    boxes = np.concatenate([np.empty((0, 4)), *runs])
    of_pair = n_runs[inverse]
    pair = np.repeat(np.arange(len(i)), of_pair)
    rows = ranges((np.cumsum(n_runs) - n_runs)[inverse], of_pair)
    bounds = shapely.bounds(polygons)[pair]
    near = (np.maximum(boxes[rows, :2], bounds[:, :2]) < np.minimum(boxes[rows, 2:], bounds[:, 2:])).all(axis=1)
    rectangles = shapely.box(*boxes.T)
    shared = polygon_intersection(rectangles[rows[near]], polygons[pair[near]])
    return np.minimum(sums_by(pair[near], shared, len(i)), masks.area[i])


def _runs(masks: MaskCrops, row: int) -> FloatArray:
    """The horizontal runs of pixels of a mask as rectangles ``(T, 4)``; equal runs of successive rows are one."""
    crop = masks.crop(row)
    edges = np.diff(np.pad(crop, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    y, first = np.nonzero(edges == 1)
    last = np.nonzero(edges == -1)[1]
    order = np.lexsort((y, last, first))
    y, first, last = y[order], first[order], last[order]
    new = np.ones(len(y), np.bool_)
    new[1:] = (first[1:] != first[:-1]) | (last[1:] != last[:-1]) | (y[1:] != y[:-1] + 1)
    begin = np.flatnonzero(new)
    end = np.append(begin[1:], len(y)) - 1
    left, top = int(masks.left[row]), int(masks.top[row])
    sides = [first[begin] + left, y[begin] + top, last[begin] + left, y[end] + 1 + top] if len(y) else [first] * 4
    return np.stack(sides, axis=1).astype(np.float64)
