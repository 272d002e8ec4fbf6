"""True objects of a scene, and outlines in pixels: made from masks, points and boxes, and turned into masks again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy import ndimage
from shapely import affinity
from skimage import measure

#: ``(x_min, y_min, x_max, y_max)`` in pixels
Box = tuple[float, float, float, float]
#: corners of the polygon that stands for an ellipse
ELLIPSE_CORNERS = 48
#: standard deviation, in pixels, of the blur that smooths the outline of a mask
MASK_BLUR = 0.7


@dataclass(frozen=True, slots=True)
class TrueObject:
    """One object that is visible on an image; the box and the outline, which may have holes, are in its pixels."""

    label: str
    box_xyxy: Box
    outline: shapely.Polygon


def box_area(box_xyxy: Box) -> float:
    """Area of a box in square pixels."""
    return (box_xyxy[2] - box_xyxy[0]) * (box_xyxy[3] - box_xyxy[1])


def ellipse_outline(box_xyxy: Box) -> shapely.Polygon:
    """The ellipse that touches the four edges of a box."""
    x_min, y_min, x_max, y_max = box_xyxy
    angles = np.linspace(0, 2 * np.pi, ELLIPSE_CORNERS, endpoint=False)
    circle = shapely.Polygon(np.column_stack([np.cos(angles), np.sin(angles)]))
    scaled = affinity.scale(circle, (x_max - x_min) / 2, (y_max - y_min) / 2, origin=(0, 0))
    return affinity.translate(scaled, (x_min + x_max) / 2, (y_min + y_max) / 2)


def mask_outline(mask: NDArray[np.bool_], box_xyxy: Box) -> shapely.Polygon:
    """The smooth outline of the largest part of ``mask``, stretched to its box."""
    blurred = ndimage.gaussian_filter(np.pad(mask, 3).astype(float), MASK_BLUR)
    contours = measure.find_contours(blurred, 0.5)
    # (row, column) to (x, y)
    return fitted(largest_part(shapely.union_all([shapely.Polygon(c[:, ::-1]).buffer(0) for c in contours])), box_xyxy)


def fitted(outline: shapely.Polygon, box_xyxy: Box) -> shapely.Polygon:
    """The outline, moved and stretched to touch the four edges of the box."""
    x_min, y_min, x_max, y_max = outline.bounds
    x_scale = (box_xyxy[2] - box_xyxy[0]) / (x_max - x_min)
    y_scale = (box_xyxy[3] - box_xyxy[1]) / (y_max - y_min)
    scaled = affinity.scale(outline, x_scale, y_scale, origin=(x_min, y_min))
    return affinity.translate(scaled, box_xyxy[0] - x_min, box_xyxy[1] - y_min)


def cut_to_box(outline: shapely.Polygon, box_xyxy: Box) -> shapely.Polygon:
    """The largest part of an outline that is inside a box; an empty polygon if nothing is."""
    return largest_part(outline.intersection(shapely.box(*box_xyxy)))


def largest_part(shape: shapely.Geometry) -> shapely.Polygon:
    """The polygon with the greatest area among the parts of any geometry; empty if it has no area."""
    parts = [part for part in shapely.get_parts(shape) if isinstance(part, shapely.Polygon)]
    return max(parts, key=lambda part: part.area, default=shapely.Polygon())


def mean_width(outline: shapely.Polygon) -> float:
    """Mean width of a shape: the side of a square, the diameter of a circle, twice the thickness of a long band."""
    return float(4 * outline.area / outline.length)


def rings_xy(outline: shapely.Polygon) -> list[NDArray[np.float64]]:
    """The outer ring and then the holes, each ``(V, 2)`` points x, y; the first point is not repeated at the end."""
    return [np.asarray(ring.coords)[:-1] for ring in (outline.exterior, *outline.interiors)]


def fill(outline: shapely.Polygon, box_xyxy: Box, height: int, width: int) -> NDArray[np.bool_]:
    """The cells inside an outline when the box is divided into ``height`` x ``width`` cells, tested at their centres.

    Works row by row (scikit-image tests every cell against every corner, which takes seconds for all masks): every edge
    that crosses the middle of a row switches between inside and outside, so holes need no special case.
    """
    x_min, y_min, x_max, y_max = box_xyxy
    crossings = np.zeros((height, width + 1), np.int64)
    rows = np.arange(height)[:, None]
    for ring in rings_xy(outline):
        # in cells, 0 at the centre of the first
        x, y = (ring - (x_min, y_min)).T * [[width / (x_max - x_min)], [height / (y_max - y_min)]] - 0.5
        next_x, next_y = np.roll(x, -1), np.roll(y, -1)
        row, edge = np.nonzero((y <= rows) != (next_y <= rows))
        share = (row - y[edge]) / (next_y - y)[edge]
        column = np.ceil(x[edge] + share * (next_x - x)[edge]).clip(0, width).astype(int)
        np.add.at(crossings, (row, column), 1)
    return np.asarray(crossings.cumsum(axis=1)[:, :width] % 2 == 1)
