"""Vertices of shapes with several rings or lines as columns, and GEOS overlays in bounded memory."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeAlias

import numpy as np
import shapely
from numpy.typing import NDArray

from ..numeric.arrays import BoolArray, FloatArray, IntArray, number_by_first

#: geometries of shapely
GeometryArray: TypeAlias = NDArray[np.object_]


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


class Overlay(Protocol):
    """``shapely.intersection``, ``shapely.symmetric_difference`` …"""

    def __call__(self, a: Any, b: Any, grid_size: float | None = None) -> Any:
        """Overlay row by row."""


class Measure(Protocol):
    """``shapely.area``, ``shapely.length``."""

    def __call__(self, geometry: Any) -> Any:
        """One number for every geometry."""


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
            return np.array([_overlay_on_grid(operation, a[0], b[0])], dtype=np.object_)
    half = len(a) // 2
    parts = (overlay(operation, a[rows], b[rows]) for rows in (slice(half), slice(half, None)))
    return np.concatenate(list(parts))


def _overlay_on_grid(operation: Overlay, a: Any, b: Any) -> Any:
    bounds = shapely.bounds([a, b])
    extent = np.nanmax(bounds[:, 2:]) - np.nanmin(bounds[:, :2])
    return operation(shapely.make_valid(a), shapely.make_valid(b), grid_size=FALLBACK_GRID * extent)


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
