"""Open lines (lanes, cracks, vessels): the length that two lines share within a tolerance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely

from ..numeric.arrays import BoolArray, FloatArray, IntArray, concatenated
from .vertices import GeometryArray, check_vertices, differs_from_previous, distinct_geometries, intersection_measure


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of any number of parts, as sets of points: a stretch that was drawn twice counts once.

    Lines are compared by length, not area: their intersection is :func:`line_overlap`.

    Attributes:
        geometry: shape ``(N,)``, shapely LineStrings and MultiLineStrings, in pixels; empty for zero length
        length: shape ``(N,)``, in pixels
        tolerance_px: distance up to which two lines are at the same place
    """

    geometry: GeometryArray
    length: FloatArray
    tolerance_px: float

    def __post_init__(self) -> None:
        _check_tolerance(self.tolerance_px)

    def __len__(self) -> int:
        return len(self.geometry)

    def boxes_xyxy(self) -> FloatArray:
        """Box around every line; zeros where empty."""
        boxes: FloatArray = np.nan_to_num(shapely.bounds(self.geometry).reshape(-1, 4), nan=0.0)
        return boxes

    def take(self, rows: IntArray | BoolArray) -> Lines:
        return Lines(self.geometry[rows], self.length[rows], self.tolerance_px)

    def joined(self, others: Sequence[Lines]) -> Lines:
        return Lines(tolerance_px=self.tolerance_px, **concatenated([self, *others], "geometry", "length"))


def lines_from_points(
    points_xy: FloatArray, line: IntArray, shape: IntArray, n_shapes: int, *, tolerance_px: float
) -> Lines:
    """Lines from the points they were drawn through.

    Args:
        points_xy: shape ``(V, 2)``, points in pixels
        line: shape ``(V,)``, ascending: the line of every point
        shape: one entry for each line, ascending: the shape that the line is a part of
        n_shapes: number ``N`` of shapes; those without a line of two different points are empty
        tolerance_px: distance up to which two lines are at the same place

    Returns:
        ``N`` shapes

    Raises:
        ValueError: if the columns do not fit together, a coordinate is not finite, or the tolerance not positive

    Example:
        >>> lines_from_points(np.array([[0, 0], [3, 4.]]), np.array([0, 0]), np.array([0]), 1, tolerance_px=2).length
        array([5.])
    """
    points, line, shape = check_vertices(points_xy, line, shape, n_shapes, "line")
    geometry = np.full(n_shapes, shapely.LineString(), dtype=np.object_)
    kept = differs_from_previous(points, line)
    points, line = points[kept], line[kept]
    long_enough = np.bincount(line, minlength=len(shape)) >= 2
    if long_enough.any():
        number = np.cumsum(long_enough) - 1
        rows = long_enough[line]
        parts = shapely.linestrings(points[rows], indices=number[line[rows]])
        shapes, shape_index = np.unique(shape[long_enough], return_inverse=True)
        drawn = shapely.multilinestrings(parts, indices=shape_index.reshape(-1))
        twice = ~shapely.is_simple(drawn)
        drawn[twice] = shapely.union_all(drawn[twice][:, None], axis=1)
        geometry[shapes] = drawn
    return Lines(geometry, shapely.length(geometry), tolerance_px)


def line_overlap(a: GeometryArray, b: GeometryArray, tolerance_px: float) -> FloatArray:
    """Length that two lines share within a tolerance, row by row.

    It is the mean of two lengths: the part of ``a`` within the tolerance of ``b``, and the reverse; at most the
    shorter line. ``dice_from_areas(overlap, length_a, length_b)`` is then the share of both lines that lies near the
    other, like the surface Dice of Nikolov et al. for outlines. Symmetric; the whole length for equal lines.

    Args:
        a: shape ``(P,)``, shapely LineStrings and MultiLineStrings in pixels that do not run over themselves, as from
            :func:`lines_from_points`
        b: shape ``(P,)``, the same
        tolerance_px: positive; at round ends and bends of the zone around a line up to 0.12 % too small

    Returns:
        shape ``(P,)``, between 0 and the shorter length, in pixels

    Undefined:
        never; 0 where a line is empty

    Raises:
        ValueError: if the lengths of the columns differ, or the tolerance is not positive

    Example:
        >>> lines = shapely.linestrings([[[0, 0], [10, 0.]], [[0, 1], [10, 1.]]])
        >>> line_overlap(lines[:1], lines[1:], 1.5)
        array([10.])

    References:
        S. Nikolov et al., "Deep learning to achieve clinically applicable segmentation of head and neck anatomy for
        radiotherapy", 2018, arXiv:1809.04430 (surface Dice)
    """
    if len(a) != len(b):
        raise ValueError(f"`a` and `b` must have the same length, got {len(a)} and {len(b)}")
    _check_tolerance(tolerance_px)
    geometry, (i, j) = distinct_geometries(np.asarray(a, np.object_), np.asarray(b, np.object_))
    length, zones = shapely.length(geometry), shapely.buffer(geometry, tolerance_px, quad_segs=16)
    bounds = np.nan_to_num(shapely.bounds(geometry).reshape(-1, 4), nan=0.0)
    apart = np.maximum(bounds[i, :2], bounds[j, :2]) - np.minimum(bounds[i, 2:], bounds[j, 2:])
    near = np.flatnonzero((apart <= tolerance_px).all(axis=1) & (length[i] > 0) & (length[j] > 0))
    same = shapely.equals_exact(geometry[i[near]], geometry[j[near]], 0.0)
    p, q = i[near[~same]], j[near[~same]]
    within_q = intersection_measure(shapely.length, geometry[p], zones[q])
    within_p = intersection_measure(shapely.length, geometry[q], zones[p])
    shared = np.zeros(len(i))
    shared[near[same]] = length[i[near[same]]]
    shared[near[~same]] = 0.5 * (within_q + within_p)
    found: FloatArray = np.minimum(shared, np.minimum(length[i], length[j]))
    return found


def _check_tolerance(tolerance_px: float) -> None:
    if not (math.isfinite(tolerance_px) and tolerance_px > 0):
        raise ValueError(f"`tolerance_px` must be positive, got {tolerance_px!r}")
