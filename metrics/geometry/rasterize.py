"""Polygons as pixels, exactly those that Pillow fills."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from ..arrays import BoolArray, FloatArray, IntArray

#: relative coordinates times the size of an image miss an integer by about 1e-13, and truncation would lose a pixel
NEAR_INTEGER = 1e-6


def pillow_mask(rings: Sequence[FloatArray]) -> tuple[BoolArray, int, int]:
    """The pixels that ``PIL.ImageDraw.Draw(image).polygon(ring, outline=1, fill=1)`` fills on a large enough image.

    Vertices are pixels: coordinates are truncated toward 0, and the border belongs to the polygon, so a square from 0
    to 3 has 16 pixels. More than the exact area, but what the source documents count. With several rings, the pixels
    that an odd number of them fill; the border of a hole therefore belongs to the hole.

    Args:
        rings: of one polygon, each of shape ``(V, 2)``, in pixels; negative coordinates are pixels too. Rings of less
            than three vertices fill nothing

    Returns:
        mask ``(H, W)`` of the extent of the rings, and the column and the row of its first pixel; without rings
        ``(0, 0)`` at 0, 0

    Undefined:
        never

    Raises:
        ValueError: if a ring is not ``(V, 2)``, or a coordinate is not finite

    Example:
        >>> mask, left, top = pillow_mask([np.array([[2, 1], [5, 1], [5, 4], [2, 4.]])])
        >>> mask.shape, int(mask.sum()), left, top
        ((4, 4), 16, 2, 1)
    """
    pixels = [corners for corners in map(_pixels, rings) if len(corners) >= 3]
    if not pixels:
        return np.zeros((0, 0), np.bool_), 0, 0
    every = np.concatenate(pixels)
    left, top = (int(lowest) for lowest in every.min(axis=0))
    right, bottom = (int(highest) for highest in every.max(axis=0))
    # Pillow computes abscissas in float32, where moving a polygon sideways can change how they round: the canvas begins
    # at column 0 as the image does, and only its rows at the polygon
    margin = max(left, 0)
    origin = np.array([left - margin, top])
    size = (right - left + 1 + margin, bottom - top + 1)
    mask = np.zeros((size[1], right - left + 1), np.bool_)
    for corners in pixels:
        canvas = Image.new("L", size)
        ImageDraw.Draw(canvas).polygon((corners - origin).ravel().tolist(), fill=1, outline=1)
        mask ^= np.asarray(canvas)[:, margin:].astype(np.bool_)
    return mask, left, top


def _pixels(ring_xy: FloatArray) -> IntArray:
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
