"""Columns of the vertices of shapes that each consist of several rings or lines, and their geometries for shapely."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays import BoolArray, FloatArray, IntArray, number_by_first

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
        part_name: what a part is called in messages

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
    """Whether a vertex is the first of its part or another point than the one before it; shape ``(V,)``."""
    new = np.ones(len(part), np.bool_)
    new[1:] = (part[1:] != part[:-1]) | (points_xy[1:] != points_xy[:-1]).any(axis=1)
    return new


def distinct_geometries(*columns: GeometryArray) -> tuple[GeometryArray, list[IntArray]]:
    """The distinct Python objects of several columns, and the number of the object in every row of each column.

    Pairs repeat each shape many times; this way, what is derived from a shape is computed once.
    """
    rows = np.concatenate(columns)
    number, n = number_by_first(np.fromiter(map(id, rows), np.int64, len(rows)))
    geometry = np.empty(n, dtype=np.object_)
    geometry[number] = rows
    return geometry, np.split(number, np.cumsum([len(column) for column in columns])[:-1])
