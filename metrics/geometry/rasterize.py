"""Rasterize shapes: by pixel centres, or exactly as Pillow does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from ..numeric.arrays import BoolArray, FloatArray, IntArray
from .masks import MaskCrops
from .regions import BOX, LINE, MASK, Regions, crossings

#: relative coordinates times the size of an image miss an integer by about 1e-13, and truncation would lose a pixel
NEAR_INTEGER = 1e-6


def pillow_mask(rings: Sequence[FloatArray]) -> tuple[BoolArray, int, int]:
    """The pixels that ``PIL.ImageDraw.Draw(image).polygon(ring, outline=1, fill=1)`` fills on a large enough image.

    Vertices are pixels: coordinates are truncated toward 0, and the border belongs to the polygon, so a square from 0
    to 3 has 16 pixels. This is more than the exact area, but agrees with the published method. With several rings, a
    pixel is inside if an odd number of rings fill it; the border of a hole therefore belongs to the hole.

    Args:
        rings: rings of one polygon, each of shape ``(V, 2)``, in pixels; may be negative. Rings with fewer than three
            vertices fill nothing

    Returns:
        mask ``(H, W)`` of the extent of the rings, and the column and the row of its first pixel; without rings, an
        empty mask at (0, 0)

    Undefined:
        never

    Raises:
        ValueError: if a ring is not ``(V, 2)``, or a coordinate is not finite

    Example:
        >>> mask, left, top = pillow_mask([np.array([[2, 1], [5, 1], [5, 4], [2, 4.]])])
        >>> mask.shape, int(mask.sum()), left, top
        ((4, 4), 16, 2, 1)
    """
    pixels = [corners for corners in map(_vertex_pixels, rings) if len(corners) >= 3]
    if not pixels:
        return np.zeros((0, 0), np.bool_), 0, 0
    every = np.concatenate(pixels)
    left, top = (int(lowest) for lowest in every.min(axis=0))
    right, bottom = (int(highest) for highest in every.max(axis=0))
    # Pillow computes abscissas in float32, so moving a polygon sideways can change rounding: the canvas begins at
    # column 0 of the image, and at the first row of the polygon
    margin = max(left, 0)
    origin = np.array([left - margin, top])
    size = (right - left + 1 + margin, bottom - top + 1)
    mask = np.zeros((size[1], right - left + 1), np.bool_)
    for corners in pixels:
        canvas = Image.new("L", size)
        ImageDraw.Draw(canvas).polygon((corners - origin).ravel().tolist(), fill=1, outline=1)
        mask ^= np.asarray(canvas)[:, margin:].astype(np.bool_)
    return mask, left, top


def _vertex_pixels(ring_xy: FloatArray) -> IntArray:
    """Pixels of the vertices of a ring."""
    ring = np.asarray(ring_xy, dtype=np.float64)
    if not ring.size:
        return np.zeros((0, 2), np.int64)
    if ring.ndim != 2 or ring.shape[1] != 2:
        raise ValueError(f"A ring of `rings` must have the shape (V, 2), got {ring.shape}")
    if not np.isfinite(ring).all():
        raise ValueError(f"`rings` must be finite, got {ring[~np.isfinite(ring).all(axis=1)][0].tolist()}")
    nearest = np.rint(ring)
    return np.where(np.abs(ring - nearest) < NEAR_INTEGER, nearest, np.trunc(ring)).astype(np.int64)


def region_pixels(regions: Regions, size_px: IntArray) -> MaskCrops:
    """The pixels of regions: pixels of the image whose centre is inside, or on the left or upper edge.

    Args:
        regions: ``N`` regions in pixels
        size_px: shape ``(N, 2)``, width and height of the image of every region

    Undefined:
        never; a region may have no pixels

    Raises:
        ValueError: if a region is a line, which has no pixels

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
    # the centre of pixel k is at k + 0.5; a centre on the left or upper edge is inside
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
        # an odd number of the edges of the polygon is at or left of the centre
        polygon = regions.polygons.geometry[number : number + 1]
        line, x = crossings(polygon, np.array([[left, top]]), np.ones((1, 2)), bottom - top)
        column = np.clip(np.ceil(x - 0.5), 0, right - left).astype(np.int64)
        flips = np.zeros((bottom - top, right - left + 1), np.bool_)
        np.logical_xor.at(flips, (line, column), True)
        inside = np.logical_xor.accumulate(flips, axis=1)[:, :-1]
    return inside, left, top
