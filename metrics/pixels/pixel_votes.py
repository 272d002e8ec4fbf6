"""Regions as pixels, and the pixels that at least half of several annotators gave to an object."""

from __future__ import annotations

import numpy as np
import shapely

from ..arrays import BoolArray, FloatArray, IntArray, ranges
from ..geometry.masks import MaskCrops
from ..geometry.regions import BOX, LINE, MASK, Regions


def region_pixels(regions: Regions, size_px: IntArray) -> MaskCrops:
    """The pixels of regions: those whose centre is inside, or on the left or upper edge, and on the image.

    Args:
        regions: ``N`` regions in pixels
        size_px: shape ``(N, 2)``, width and height of the image of each

    Undefined:
        never; a region may have no pixels

    Raises:
        ValueError: if one is a line, which has no pixels

    Example:
        >>> box = Regions.of_boxes(np.array([[0.6, -1, 3.4, 2.0]]))
        >>> masks = region_pixels(box, np.array([[9, 9]]))
        >>> masks.left, masks.top, masks.width, masks.height
        (array([1]), array([0]), array([2]), array([2]))
    """
    if (regions.kind == LINE).any():
        raise ValueError("`regions` must be boxes, polygons or masks, got lines")
    return MaskCrops.from_crops([_pixels(regions, row, size) for row, size in enumerate(size_px.tolist())])


def _pixels(regions: Regions, row: int, size: list[int]) -> tuple[BoolArray, int, int]:
    """The pixels of one region, and the column and row of the first."""
    # a pixel's centre is half a pixel after its number; a centre on the left or upper edge is inside
    first = np.clip(np.ceil(regions.bounds[row, :2] - 0.5), 0, size).astype(np.int64)
    end = np.clip(np.ceil(regions.bounds[row, 2:] - 0.5), first, size).astype(np.int64)
    (left, top), (right, bottom) = first.tolist(), end.tolist()
    number = int(regions.row[row])
    if regions.kind[row] == BOX:
        inside = np.ones((bottom - top, right - left), np.bool_)
    elif regions.kind[row] == MASK:
        masks = regions.masks
        x, y = left - int(masks.left[number]), top - int(masks.top[number])
        inside = masks.crop(number)[y : y + bottom - top, x : x + right - left]
    else:
        inside = _filled(regions.polygons.geometry[number], left, top, right, bottom)
    return inside, left, top


def _filled(polygon: shapely.Geometry, left: int, top: int, right: int, bottom: int) -> BoolArray:
    """The pixels of a rectangle that are in a polygon: those with an odd number of its edges at or left of the centre.

    An edge is met in the rows with a centre from its upper end to before its lower end, so that ends count once.
    """
    xy, ring = shapely.get_coordinates(shapely.get_rings(shapely.get_parts(polygon)), return_index=True)
    start = np.flatnonzero(ring[1:] == ring[:-1])
    (x_from, y_from), (x_to, y_to) = xy[start].T, xy[start + 1].T
    first, end = (
        np.clip(np.ceil(y - 0.5), top, bottom).astype(np.int64)
        for y in (np.minimum(y_from, y_to), np.maximum(y_from, y_to))
    )
    edge, row = np.repeat(np.arange(len(start)), end - first), ranges(first, end - first)
    along = (row + 0.5 - y_from[edge]) / (y_to - y_from)[edge]
    column = np.clip(np.ceil(x_from[edge] + along * (x_to - x_from)[edge] - 0.5), left, right).astype(np.int64)
    flips = np.zeros((bottom - top, right - left + 1), np.bool_)
    np.logical_xor.at(flips, (row - top, column - left), True)
    inside: BoolArray = np.logical_xor.accumulate(flips, axis=1)[:, :-1]
    return inside


def majority_pixels(masks: MaskCrops, group: IntArray, n_groups: int) -> MaskCrops:
    """The pixels that at least half of the masks of every group have, in the smallest rectangle around them.

    Of two masks these are the pixels that either has: half of the annotators is enough.

    Args:
        masks: ``N`` masks
        group: shape ``(N,)``, ascending, group ``0 … G - 1`` of each
        n_groups: number ``G`` of groups

    Returns:
        ``G`` masks

    Undefined:
        never; a mask is empty where no pixel has so many votes, or no mask is in the group

    Example:
        >>> square = (np.ones((2, 2), bool), 0, 0)
        >>> masks = MaskCrops.from_crops([square, square, (np.ones((1, 3), bool), 1, 1)])
        >>> majority = majority_pixels(masks, np.array([0, 0, 0]), 1)
        >>> majority.crop(0).astype(int)
        array([[1, 1],
               [1, 1]])
    """
    end = np.searchsorted(group, np.arange(n_groups + 1))
    return MaskCrops.from_crops([_majority(masks, np.arange(end[k], end[k + 1])) for k in range(n_groups)])


def _majority(masks: MaskCrops, rows: IntArray) -> tuple[BoolArray, int, int]:
    if not len(rows):
        return np.zeros((0, 0), np.bool_), 0, 0
    bounds: FloatArray = masks.bounds[rows]
    left, top = (int(low) for low in bounds[:, :2].min(axis=0))
    right, bottom = (int(high) for high in bounds[:, 2:].max(axis=0))
    votes = np.zeros((bottom - top, right - left), np.int32)
    for row in rows.tolist():
        crop, x, y = masks.crop(row), int(masks.left[row]) - left, int(masks.top[row]) - top
        votes[y : y + crop.shape[0], x : x + crop.shape[1]] += crop
    inside = 2 * votes >= len(rows)
    inside &= votes > 0
    if not inside.any():
        return np.zeros((0, 0), np.bool_), 0, 0
    of_rows, of_columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    y, x = int(of_rows[0]), int(of_columns[0])
    return inside[y : int(of_rows[-1]) + 1, x : int(of_columns[-1]) + 1], left + x, top + y
