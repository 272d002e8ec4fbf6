"""Instance masks on the pixel grid of their image, and their intersections with masks, boxes and polygons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely

from ..numeric.arrays import BoolArray, FloatArray, IntArray, concatenated, ranges, sums_by
from .boxes import check_boxes
from .vertices import Edges, GeometryArray, distinct_geometries, polygon_edges, shared_areas

#: a shared area below this share of the pair's extent is rounding and counts as 0
ROUNDING_SHARE = 1e-12
#: a mask of more pixels is compared with polygons in bands of rows: a noisy mask has too many edges for the memory
BAND_PIXELS = 32_768


@dataclass(frozen=True, slots=True)
class MaskCrops:
    """Masks of ``N`` objects, each stored as a rectangle of pixels (crop).

    Pixel ``(row, column)`` of an image is the unit square from ``(column, row)`` to ``(column + 1, row + 1)``.

    Attributes:
        pixels: all rectangles, concatenated, each row by row
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
        """Masks from ``(rectangle of pixels, column of its first pixel, row of its first pixel)``.

        Raises:
            ValueError: if a rectangle does not have two dimensions
        """
        for crop, _, _ in crops:
            if crop.ndim != 2:
                raise ValueError(f"`crops` must have the shape (H, W), got {crop.shape}")
        height, width = (np.array([crop.shape[axis] for crop, _, _ in crops], np.int64) for axis in (0, 1))
        size = height * width
        return cls(
            np.concatenate([np.empty(0, np.bool_), *(crop.reshape(-1) for crop, _, _ in crops)]).astype(
                np.bool_, copy=False
            ),
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

    def unions(self, rows: IntArray, group: IntArray, n_groups: int) -> MaskCrops:
        """Union of the masks of every group; ``group`` is ascending, shape ``(M,)``."""
        unions: list[tuple[BoolArray, int, int]] = [(np.zeros((0, 0), np.bool_), 0, 0)] * n_groups
        end = np.searchsorted(group, np.arange(n_groups + 1)).tolist()
        right, bottom = self.left + self.width, self.top + self.height
        for k in np.unique(group).tolist():
            own = rows[end[k] : end[k + 1]]
            left, top = int(self.left[own].min()), int(self.top[own].min())
            covered = np.zeros((int(bottom[own].max()) - top, int(right[own].max()) - left), np.bool_)
            for row in own.tolist():
                crop, x, y = self.crop(row), int(self.left[row]) - left, int(self.top[row]) - top
                covered[y : y + crop.shape[0], x : x + crop.shape[1]] |= crop
            unions[k] = covered, left, top
        return MaskCrops.from_crops(unions)

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
        start = np.concatenate([masks.start + offset for masks, offset in zip(every, before, strict=False)])
        return MaskCrops(start=start, **concatenated(every, "pixels", "left", "top", "width", "height", "area"))


def mask_intersection(masks: MaskCrops, i: IntArray, j: IntArray) -> FloatArray:
    """Number of pixels that the masks of two index columns share, row by row.

    Args:
        masks: ``N`` masks
        i: shape ``(P,)``
        j: shape ``(P,)``

    Undefined:
        never; 0 where a mask is empty

    Raises:
        ValueError: if the lengths differ

    Example:
        >>> masks = MaskCrops.from_crops([(np.ones((2, 2), bool), 0, 0), (np.ones((2, 3), bool), 1, 1)])
        >>> mask_intersection(masks, np.array([0]), np.array([1]))
        array([1.])
    """
    _check_length(i, "j", len(j))
    edge = np.stack([masks.left, masks.top, masks.left + masks.width, masks.top + masks.height])
    near = np.flatnonzero((np.maximum(edge[:2, i], edge[:2, j]) < np.minimum(edge[2:, i], edge[2:, j])).all(axis=0))
    a, b = i[near], j[near]
    left, top = np.maximum(edge[:2, a], edge[:2, b])
    width, height = np.minimum(edge[2:, a], edge[2:, b]) - (left, top)
    stride_a, stride_b = masks.width[a], masks.width[b]
    start_a = masks.start[a] + (top - masks.top[a]) * stride_a + left - masks.left[a]
    start_b = masks.start[b] + (top - masks.top[b]) * stride_b + left - masks.left[b]
    columns = (near, height, width, start_a, stride_a, start_b, stride_b)
    pixels = masks.pixels
    shared = np.zeros(len(i))
    for pair, h, w, from_a, step_a, from_b, step_b in zip(*(column.tolist() for column in columns), strict=True):
        # the part common to both rectangles, without copies: views by number are faster than slices of slices
        part_a = np.ndarray((h, w), np.bool_, pixels, from_a, (step_a, 1))
        part_b = np.ndarray((h, w), np.bool_, pixels, from_b, (step_b, 1))
        shared[pair] = np.count_nonzero(part_a & part_b)
    return shared


def mask_box_intersection(masks: MaskCrops, i: IntArray, boxes_xyxy: FloatArray) -> FloatArray:
    """Area that masks share with boxes, row by row; pixels that a box covers partly count partly.

    Args:
        masks: ``N`` masks
        i: shape ``(P,)``, row of a mask
        boxes_xyxy: shape ``(P, 4)``, ``(x_min, y_min, x_max, y_max)`` in pixels

    Undefined:
        never; 0 where a mask or box is empty

    Raises:
        ValueError: if the lengths differ, or as :func:`~.boxes.box_iou`

    Example:
        >>> masks = MaskCrops.from_crops([(np.ones((2, 2), bool), 0, 0)])
        >>> mask_box_intersection(masks, np.array([0]), np.array([[0.5, 0, 9, 1.]]))
        array([1.5])
    """
    boxes = check_boxes(boxes_xyxy, "boxes_xyxy")
    _check_length(i, "boxes_xyxy", len(boxes))
    # the box relative to the corner of the rectangle
    corner = np.stack([masks.left, masks.top], axis=1)[i]
    low = np.maximum(boxes[:, :2] - corner, 0.0)
    high = np.minimum(boxes[:, 2:] - corner, np.stack([masks.width, masks.height], axis=1)[i])
    near = np.flatnonzero((high > low).all(axis=1))
    low, high = low[near], high[near]
    first, end = np.floor(low).astype(np.int64), np.ceil(high).astype(np.int64)
    columns = (near, i[near], first, end, low - first, end - high)
    shared = np.zeros(len(i))
    for pair, row, (x, y), (x_end, y_end), before, after in zip(*(column.tolist() for column in columns), strict=True):
        covered_x, covered_y = _covered(x_end - x, before[0], after[0]), _covered(y_end - y, before[1], after[1])
        shared[pair] = covered_y @ (masks.crop(row)[y:y_end, x:x_end] @ covered_x)
    return shared


def _covered(n: int, before: float, after: float) -> FloatArray:
    """Share of each of ``n >= 1`` pixels in a row that is left after cutting ``before`` and ``after`` off its ends."""
    covered = np.ones(n)
    covered[0] -= before
    covered[-1] -= after
    return covered


def mask_polygon_intersection(masks: MaskCrops, i: IntArray, polygons: GeometryArray) -> FloatArray:
    """Area that masks share with polygons, row by row; exact up to rounding, a pixel is a unit square.

    Args:
        masks: ``N`` masks
        i: shape ``(P,)``, row of a mask
        polygons: shape ``(P,)``, valid shapely Polygons and MultiPolygons in pixels

    Undefined:
        never; 0 where a mask or polygon is empty

    Raises:
        ValueError: if the lengths differ

    Example:
        >>> masks = MaskCrops.from_crops([(np.ones((2, 2), bool), 0, 0)])
        >>> triangle = shapely.polygons([[[0, 0], [4, 0], [0, 4.]]])
        >>> mask_polygon_intersection(masks, np.array([0]), triangle)
        array([4.])
    """
    _check_length(i, "polygons", len(polygons))
    geometry, (polygon,) = distinct_geometries(np.asarray(polygons, np.object_))
    polygon_bounds = np.nan_to_num(shapely.bounds(geometry).reshape(-1, 4), nan=0.0)
    rows, mask = np.unique(i, return_inverse=True)
    # masks cut into bands of rows: the areas that the bands share with a polygon add up to that of the mask
    cut = masks.take(rows)
    n_rows = np.maximum(BAND_PIXELS // np.maximum(cut.width, 1), 1)
    n_of_mask = -(-cut.height // n_rows)
    of, first = np.repeat(np.arange(len(cut)), n_of_mask), np.cumsum([0, *n_of_mask])
    row = ranges(np.zeros_like(n_of_mask), n_of_mask) * n_rows[of]
    width, height = cut.width[of], np.minimum(n_rows[of], cut.height[of] - row)
    start, no_area = cut.start[of] + row * width, np.full(len(of), np.nan)
    bands = MaskCrops(cut.pixels, start, cut.left[of], cut.top[of] + row, width, height, no_area)
    n_bands = np.diff(first)[mask]
    band, pair = ranges(first[mask], n_bands), np.repeat(np.arange(len(i)), n_bands)
    band_bounds = bands.bounds
    low = np.minimum(band_bounds[band], polygon_bounds[polygon[pair]])
    high = np.maximum(band_bounds[band], polygon_bounds[polygon[pair]])
    near = np.flatnonzero((high[:, :2] < low[:, 2:]).all(axis=1))
    chosen, number = np.unique(band[near], return_inverse=True)
    pair = pair[near]
    of_masks, of_polygons = _mask_edges(bands, chosen), polygon_edges(geometry)
    edges = Edges(
        np.concatenate([of_masks.start[:-1], of_masks.start[-1] + of_polygons.start]),
        *(
            np.concatenate([getattr(of_masks, name), getattr(of_polygons, name)])
            for name in ("x_left", "x_right", "y_left", "slope", "sign")
        ),
    )
    bounds = np.concatenate([band_bounds[chosen], polygon_bounds])
    area = shared_areas(edges, bounds, number, len(chosen) + polygon[pair])
    extent = (high[near, 2:] - low[near, :2]).prod(axis=1)
    area[area < ROUNDING_SHARE * extent] = 0.0
    smaller: FloatArray = np.minimum(masks.area[i], shapely.area(geometry)[polygon])
    return np.minimum(smaller, sums_by(pair, area, len(i)), out=smaller)


def _mask_edges(masks: MaskCrops, rows: IntArray) -> Edges:
    """The horizontal borders of the pixels of some masks, as edges of polygons; vertical edges are not needed."""
    columns: list[list[IntArray]] = [[np.empty(0, np.int64)] for _ in range(4)]
    n_edges = []
    for row in rows.tolist():
        crop = masks.crop(row)
        height, width = crop.shape
        padded = np.zeros((height + 2, width + 2), np.int8)
        padded[1:-1, 1:-1] = crop
        begins = np.diff(padded, axis=0).reshape(-1)  # 1 where the mask begins below a border, -1 where it ends
        turn = np.flatnonzero(begins[1:] != begins[:-1]) + 1
        is_edge = np.flatnonzero(begins[turn])
        y, x = np.divmod(turn, width + 2)
        x += int(masks.left[row]) - 1
        x_left = x[is_edge]
        order = np.argsort(x_left, kind="stable")
        edge = is_edge[order]
        # the padding ends every edge in its own row
        mask_edges = (x_left[order], x[edge + 1], y[edge] + int(masks.top[row]), -begins[turn[edge]])
        for column, values in zip(columns, mask_edges, strict=True):
            column.append(values)
        n_edges.append(len(edge))
    x_left, x_right, y_left, sign = (np.concatenate(column).astype(np.float64) for column in columns)
    return Edges(np.cumsum([0, *n_edges]), x_left, x_right, y_left, np.zeros(len(x_left)), sign)


def _check_length(i: IntArray, name: str, n: int) -> None:
    if len(i) != n:
        raise ValueError(f"`i` and `{name}` must have the same length, got {len(i)} and {n}")
