"""Vertices of shapes as columns, GEOS overlays in bounded memory, and areas shared by polygons from their edges."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import shapely
from numpy.typing import NDArray

from ..numeric.arrays import BoolArray, FloatArray, IntArray, number_by_first, ranges, sums_by

#: geometries of shapely
GeometryArray: TypeAlias = NDArray[np.object_]
#: ``shapely.intersection``, ``shapely.symmetric_difference`` …, row by row; takes ``grid_size``, too
Overlay: TypeAlias = Callable[..., Any]
#: ``shapely.area``, ``shapely.length``: one number for every geometry
Measure: TypeAlias = Callable[[Any], Any]


def check_vertices(
    points_xy: FloatArray, part: IntArray, shape: IntArray, n_shapes: int, part_name: str
) -> tuple[FloatArray, IntArray, IntArray]:
    """Return the columns as float64 and int64.

    Args:
        points_xy: shape ``(V, 2)``
        part: shape ``(V,)``, ascending: the part (ring or line) of every vertex
        shape: ascending: the shape of every part
        n_shapes: number of shapes
        part_name: name of a part in messages

    Raises:
        ValueError: if the columns do not fit together, or a coordinate is not finite
    """
    points, parts, shapes = np.asarray(points_xy, np.float64), np.asarray(part), np.asarray(shape)
    if not points.size:
        points = points.reshape(0, 2)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"`points_xy` must have the shape (V, 2), got {points.shape}")
    if not np.isfinite(points).all():
        raise ValueError(f"`points_xy` must be finite, got {points[~np.isfinite(points).all(axis=1)][0].tolist()}")
    if parts.shape != (len(points),):
        raise ValueError(f"`{part_name}` must have the shape ({len(points)},), got {parts.shape}")
    _check_numbers(parts, part_name, len(shapes))
    _check_numbers(shapes, "shape", n_shapes)
    return points, parts.astype(np.int64), shapes.astype(np.int64)


def _check_numbers(numbers: NDArray[Any], name: str, n: int) -> None:
    if not len(numbers):
        return
    if numbers.dtype.kind not in "iu" or numbers[0] < 0 or numbers[-1] >= n or (np.diff(numbers) < 0).any():
        raise ValueError(
            f"`{name}` must be ascending integers from 0 to {n - 1}, "
            f"got {numbers.dtype} from {numbers.min()} to {numbers.max()}"
        )


def differs_from_previous(points_xy: FloatArray, part: IntArray) -> BoolArray:
    """Mask of vertices that are the first of their part or differ from the previous vertex; shape ``(V,)``."""
    new = np.ones(len(part), np.bool_)
    new[1:] = (part[1:] != part[:-1]) | (points_xy[1:] != points_xy[:-1]).any(axis=1)
    return new


def distinct_geometries(*columns: GeometryArray) -> tuple[GeometryArray, list[IntArray]]:
    """The distinct Python objects of several columns, and the number of the object in every row of each column.

    Pairs repeat shapes many times; values derived from a shape are then computed once.
    """
    rows = np.concatenate(columns)
    number, n = number_by_first(np.fromiter(map(id, rows), np.int64, len(rows)))
    geometry = np.empty(n, dtype=np.object_)
    geometry[number] = rows
    return geometry, np.split(number, np.cumsum([len(column) for column in columns])[:-1])


#: rows that are overlaid at once (about 1 kB each)
MAX_ROWS_AT_ONCE = 2_000
#: shapely releases the interpreter's lock; measured: two threads take 0.53 of the time of one
MAX_THREADS = 4
#: grid of the fallback, relative to the extent of the two geometries
FALLBACK_GRID = 1e-10


def overlay(operation: Overlay, a: GeometryArray, b: GeometryArray) -> GeometryArray:
    """Overlay row by row; a row on which GEOS fails does not spoil the others.

    Such a row (a ``TopologyException``: invalid geometry, or lines that cross after rounding) is computed again from
    geometries made valid and rounded to a grid of 1e-10 of their extent, on which GEOS cannot fail.

    Args:
        operation: an overlay of shapely
        a: shape ``(P,)``, geometries
        b: shape ``(P,)``, geometries
    """
    try:
        return np.asarray(operation(a, b), dtype=np.object_)
    except shapely.GEOSException:
        if len(a) == 1:
            bounds = shapely.bounds([a[0], b[0]])
            grid = FALLBACK_GRID * (np.nanmax(bounds[:, 2:]) - np.nanmin(bounds[:, :2]))
            valid = operation(shapely.make_valid(a[0]), shapely.make_valid(b[0]), grid_size=grid)
            return np.array([valid], dtype=np.object_)
    half = len(a) // 2
    parts = (overlay(operation, a[rows], b[rows]) for rows in (slice(half), slice(half, None)))
    return np.concatenate(list(parts))


def intersection_measure(measure: Measure, a: GeometryArray, b: GeometryArray) -> FloatArray:
    """Area or length of the intersections row by row, shape ``(P,)``.

    Args:
        measure: ``shapely.area`` or ``shapely.length``
        a: shape ``(P,)``, valid geometries
        b: shape ``(P,)``, valid geometries
    """

    def rows_from(start: int) -> FloatArray:
        rows = slice(start, start + MAX_ROWS_AT_ONCE)
        return np.asarray(measure(overlay(shapely.intersection, a[rows], b[rows])), dtype=np.float64)

    starts = range(0, len(a), MAX_ROWS_AT_ONCE)
    if len(starts) <= 1:
        return rows_from(0)
    with ThreadPoolExecutor(min(MAX_THREADS, os.cpu_count() or 1)) as threads:
        return np.concatenate(list(threads.map(rows_from, starts)))


#: edges, or polygons, processed at once, so that intermediate arrays fit in the processor's cache
MAX_EDGES_AT_ONCE = 20_000
MAX_POLYGONS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges of ``N`` polygons as columns, one row each, sorted by polygon, then ``x_left``.

    Vertical edges are left out: they bound no area above or below them.
    """

    start: IntArray  #: shape ``(N + 1,)``, first row of every polygon, and the number of rows
    x_left: FloatArray  #: abscissa of the left end
    x_right: FloatArray  #: abscissa of the right end, ``> x_left``
    y_left: FloatArray  #: ordinate of the left end
    slope: FloatArray  #: change of y per unit of x
    sign: FloatArray  #: 1 if the polygon lies on the side of smaller y of the edge, else -1


_COLUMNS = ("x_left", "x_right", "y_left", "slope", "sign")


def polygon_edges(geometry: GeometryArray) -> Edges:
    """Edges of valid polygons.

    Args:
        geometry: shape ``(N,)``, valid Polygons and MultiPolygons; may be empty
    """
    starts = range(0, max(len(geometry), 1), MAX_POLYGONS_AT_ONCE)
    blocks = [_edges_of(geometry[start : start + MAX_POLYGONS_AT_ONCE]) for start in starts]
    n_edges = np.concatenate([np.diff(block.start) for block in blocks])
    return Edges(
        np.r_[0, np.cumsum(n_edges)],
        *(np.concatenate([getattr(block, name) for block in blocks]) for name in _COLUMNS),
    )


def _edges_of(geometry: GeometryArray) -> Edges:
    parts, polygon_of_part = shapely.get_parts(geometry, return_index=True)
    rings, part_of_ring = shapely.get_rings(parts, return_index=True)
    is_hole = np.zeros(len(rings), np.bool_)
    is_hole[1:] = part_of_ring[1:] == part_of_ring[:-1]  # the shell comes first
    xy, ring_of_vertex = shapely.get_coordinates(rings, return_index=True)
    starts_edge = np.flatnonzero(ring_of_vertex[1:] == ring_of_vertex[:-1])
    ring = ring_of_vertex[starts_edge]
    x, y = np.ascontiguousarray(xy[:, 0]), np.ascontiguousarray(xy[:, 1])
    x_from, x_to, y_from, y_to = x[starts_edge], x[starts_edge + 1], y[starts_edge], y[starts_edge + 1]
    # cross products relative to a vertex of the ring: relative to a far origin they would lose digits
    origin = np.searchsorted(ring_of_vertex, np.arange(len(rings)))[ring]
    cross = (x_from - x[origin]) * (y_to - y[origin]) - (x_to - x[origin]) * (y_from - y[origin])
    counter_clockwise = np.bincount(ring, weights=cross, minlength=len(rings)) > 0
    inside_is_left = counter_clockwise ^ is_hole
    leftward = x_to < x_from
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = (y_to - y_from) / (x_to - x_from)
    # an edge too steep for a finite slope counts as vertical
    kept = np.flatnonzero((x_to != x_from) & np.isfinite(slope))
    polygon = polygon_of_part[part_of_ring[ring[kept]]]
    order = np.lexsort((np.minimum(x_from, x_to)[kept], polygon))
    kept, polygon = kept[order], polygon[order]
    left, right = (starts_edge + leftward)[kept], (starts_edge + ~leftward)[kept]
    return Edges(
        start=np.searchsorted(polygon, np.arange(len(geometry) + 1)).astype(np.int64, copy=False),
        x_left=x[left],
        x_right=x[right],
        y_left=y[left],
        slope=slope[kept],
        sign=np.where(leftward == inside_is_left[ring], 1.0, -1.0)[kept],
    )


def shared_areas(edges: Edges, bounds: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """Areas shared by the polygons of two index columns, shape ``(P,)``, up to rounding: may be slightly below 0.

    With ``y_e(x)`` the ordinate of edge ``e``, a polygon's indicator function is ``Σ sign_e [y < y_e(x)]`` over its
    edges. The area shared by two polygons is therefore ``Σ sign_e sign_f ∫ min(y_e, y_f) dx`` over the pairs of their
    edges and their common abscissas. At every ``x`` the signs of a polygon's edges add up to 0, so ``y_f`` may be
    subtracted from the minimum: the rest is the area between ``e`` and ``f`` where ``e`` is below ``f``.

    Args:
        edges: of ``N`` polygons
        bounds: shape ``(N, 4)``, ``(x_min, y_min, x_max, y_max)``
        i: shape ``(P,)``, rows of polygons
        j: shape ``(P,)``, rows of polygons
    """
    n_edges = np.diff(edges.start)
    total = np.cumsum(n_edges[i] + n_edges[j])
    shared = np.empty(len(i))
    first = 0
    while first < len(i):
        done = int(total[first - 1]) if first else 0
        end = max(first + 1, int(np.searchsorted(total, done + MAX_EDGES_AT_ONCE, side="right")))
        rows = slice(first, end)
        of_i, of_j = i[rows], j[rows]
        # one ascending key for the abscissas of all pairs; rounding may make two keys equal, but never reverses them
        x_min = np.minimum(bounds[of_i, 0], bounds[of_j, 0])
        per_unit = 0.5 / (np.maximum(bounds[of_i, 2], bounds[of_j, 2]) - x_min)
        e, pair_e = _rows_of(edges, of_i)
        f, pair_f = _rows_of(edges, of_j)
        left_e, right_e = (pair_e + (x[e] - x_min[pair_e]) * per_unit[pair_e] for x in (edges.x_left, edges.x_right))
        left_f, right_f = (pair_f + (x[f] - x_min[pair_f]) * per_unit[pair_f] for x in (edges.x_left, edges.x_right))

        # edges e and f have common abscissas if f begins within e, or e begins within f
        row_e, row_f = _beginning_within(left_e, right_e, left_f)
        within_e = edges.x_left[f[row_f]] >= edges.x_left[e[row_e]]
        other_f, other_e = _beginning_within(left_f, right_f, left_e)
        within_f = edges.x_left[e[other_e]] > edges.x_left[f[other_f]]
        row_e = np.concatenate([row_e[within_e], other_e[within_f]])
        row_f = np.concatenate([row_f[within_e], other_f[within_f]])
        pair, e, f = pair_e[row_e], e[row_e], f[row_f]
        left = np.maximum(edges.x_left[e], edges.x_left[f])
        right = np.minimum(edges.x_right[e], edges.x_right[f])

        # height of edge f above edge e at both ends of the common abscissas
        apart = edges.y_left[f] - edges.y_left[e]
        above_left = apart + edges.slope[f] * (left - edges.x_left[f]) - edges.slope[e] * (left - edges.x_left[e])
        above_right = apart + edges.slope[f] * (right - edges.x_left[f]) - edges.slope[e] * (right - edges.x_left[e])
        # a trapezoid, or a triangle where the edges cross: one formula of the mean height holds for both
        positive = np.maximum(above_left, 0.0) + np.maximum(above_right, 0.0)
        both = np.abs(above_left) + np.abs(above_right)
        mean_height = 0.5 * positive * (positive / np.where(both > 0, both, 1.0))
        area = mean_height * np.maximum(right - left, 0.0) * (edges.sign[e] * edges.sign[f])
        shared[rows] = -sums_by(pair, area, len(of_i))
        first = end
    return shared


def _rows_of(edges: Edges, polygon: IntArray) -> tuple[IntArray, IntArray]:
    """Rows of the edges of some polygons, and the entry of ``polygon`` that each belongs to."""
    counts = edges.start[polygon + 1] - edges.start[polygon]
    return ranges(edges.start[polygon], counts), np.repeat(np.arange(len(polygon)), counts)


def _beginning_within(left: FloatArray, right: FloatArray, begin: FloatArray) -> tuple[IntArray, IntArray]:
    """All pairs (interval, value of an ascending column in the closed interval), as two index columns."""
    first = np.searchsorted(begin, left, side="left")
    counts = np.searchsorted(begin, right, side="right") - first
    return np.repeat(np.arange(len(left)), counts), ranges(first, counts)
