"""Polygons of any shape: built and repaired from the rings that annotators drew; exact areas of intersections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely

from ..numeric.arrays import BoolArray, FloatArray, IntArray, concatenated
from .objects import overlapping_boxes
from .vertices import (
    GeometryArray,
    Overlay,
    check_vertices,
    differs_from_previous,
    distinct_geometries,
    intersection_measure,
    overlay,
    polygon_edges,
    shared_areas,
)

#: shapes with a ring or line that crosses itself more often are not repaired, which would take longer than two seconds
MAX_CROSSINGS = 2_000
#: with more pairs of edges, GEOS is as fast, and needs less memory where many edges have common abscissas
MAX_EDGE_PAIRS = 1_000_000
#: a shared area below this share of the pair's extent may be rounding; GEOS then decides
DOUBTFUL_SHARE = 1e-9


@dataclass(frozen=True, slots=True)
class Polygons:
    """Polygons, each with any number of parts and holes.

    Attributes:
        geometry: shape ``(N,)``, valid shapely Polygons and MultiPolygons; an empty Polygon where there is no area
        area: shape ``(N,)``, in the square of the coordinates' unit
        bounds: shape ``(N, 4)``, ``(x_min, y_min, x_max, y_max)``; zeros where empty
        repaired: shape ``(N,)``, whether a ring was invalid as drawn: it crosses or touches itself, has a spike, or
            encloses nothing
    """

    geometry: GeometryArray
    area: FloatArray
    bounds: FloatArray
    repaired: BoolArray

    @classmethod
    def from_geometry(cls, geometry: GeometryArray, repaired: BoolArray | None = None) -> Polygons:
        """Polygons from valid geometries, shape ``(N,)``."""
        bounds = np.nan_to_num(shapely.bounds(geometry).reshape(-1, 4), nan=0.0)
        none = np.zeros(len(geometry), np.bool_)
        return cls(geometry, shapely.area(geometry), bounds, none if repaired is None else repaired)

    def __len__(self) -> int:
        return len(self.geometry)

    def take(self, rows: IntArray | BoolArray) -> Polygons:
        return Polygons(self.geometry[rows], self.area[rows], self.bounds[rows], self.repaired[rows])

    def joined(self, others: Sequence[Polygons]) -> Polygons:
        return Polygons(**concatenated([self, *others], "geometry", "area", "bounds", "repaired"))


def polygons_from_rings(points_xy: FloatArray, ring: IntArray, shape: IntArray, n_shapes: int) -> Polygons:
    """Polygons from the rings that annotators drew (even-odd rule).

    A point is inside if an odd number of the shape's rings surround it: a ring within a ring is a hole, separate rings
    are parts, the overlap of two rings is outside, and twice the same ring is an empty shape. A ring may be open or end
    with its first point. A ring that crosses itself is repaired (``shapely.make_valid``): its loops are inside, areas
    that it surrounds twice are outside (unless edges coincide); spikes and rings without area are dropped.

    Args:
        points_xy: shape ``(V, 2)``, vertices in any one unit per shape
        ring: shape ``(V,)``, ascending: the ring of every vertex
        shape: one entry for each ring, ascending: the shape that the ring belongs to
        n_shapes: number ``N`` of shapes; those without rings are empty

    Returns:
        ``N`` polygons

    Raises:
        ValueError: if the columns do not fit together, or a coordinate is not finite

    Example:
        >>> square_with_hole = np.array([[0, 0], [4, 0], [4, 4], [0, 4], [1, 1], [1, 3], [3, 3], [3, 1.]])
        >>> polygons_from_rings(square_with_hole, np.repeat([0, 1], 4), np.array([0, 0]), 1).area
        array([12.])
    """
    points, rings, shapes = check_vertices(points_xy, ring, shape, n_shapes, "ring")
    # without points that repeat the one before, or the first
    n_rings, kept = len(shapes), differs_from_previous(points, rings)
    points, rings = points[kept], rings[kept]
    start = np.searchsorted(rings, np.arange(n_rings + 1))
    first, last, some = start[:-1], start[1:] - 1, np.diff(start) > 1
    closing = last[some][(points[first[some]] == points[last[some]]).all(axis=1)]
    points, rings = np.delete(points, closing, axis=0), np.delete(rings, closing)
    # the valid area inside every ring, and whether the ring was valid as drawn
    enough = np.bincount(rings, minlength=n_rings) >= 3
    geometry, intact = np.full(n_rings, shapely.Polygon(), dtype=np.object_), np.zeros(n_rings, np.bool_)
    if enough.any():
        number, rows = np.cumsum(enough) - 1, enough[rings]
        drawn = shapely.polygons(shapely.linearrings(points[rows], indices=number[rings[rows]]))
        valid = shapely.is_valid(drawn)
        drawn[~valid] = _areas_of(shapely.make_valid(drawn[~valid]))
        geometry[enough], intact[enough] = drawn, valid
    repaired = np.bincount(shapes[~intact], minlength=n_shapes) > 0
    kept = ~shapely.is_empty(geometry)
    shapes, geometry = shapes[kept], geometry[kept]
    return Polygons.from_geometry(_merged(shapely.symmetric_difference, geometry, shapes, n_shapes), repaired)


def tangled_shapes(points_xy: FloatArray, ring: IntArray, shape: IntArray, n_shapes: int) -> BoolArray:
    """Mask of shapes with a ring or line that crosses itself more than :data:`MAX_CROSSINGS` times, shape ``(N,)``.

    Twice as many crossings take four times as long to repair. Arguments as of :func:`polygons_from_rings`.
    """
    tangled = np.zeros(n_shapes, np.bool_)
    n_points = np.bincount(ring, minlength=len(shape))
    start = np.cumsum(n_points) - n_points
    # fewer points cannot have as many crossings
    for number in np.flatnonzero(n_points * (n_points - 3) // 2 > MAX_CROSSINGS).tolist():
        points = points_xy[start[number] : start[number] + n_points[number]]
        if not shapely.LinearRing(points).is_simple and _crosses_itself_often(points):
            tangled[shape[number]] = True
    return tangled


def _crosses_itself_often(points: FloatArray) -> bool:
    a, b = points, np.roll(points, -1, axis=0)
    n_crossings = 0
    for keys in overlapping_boxes(np.hstack([np.minimum(a, b), np.maximum(a, b)]), np.arange(len(a))):
        i, j = np.divmod(keys, len(a))
        crosses = np.ones(len(keys), np.bool_)
        for p, q in ((i, j), (j, i)):  # the ends of each lie on both sides of the other
            crosses &= _side(a[p], b[p], a[q]) * _side(a[p], b[p], b[q]) < 0.0
        n_crossings += int(crosses.sum())
        if n_crossings > MAX_CROSSINGS:
            return True
    return False


def _side(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """On which side of the line from ``a`` to ``b`` the point ``c`` lies: 1, -1, or 0 on the line."""
    turn: FloatArray = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    return np.sign(turn)


def _merged(operation: Overlay, geometry: GeometryArray, group: IntArray, n_groups: int) -> GeometryArray:
    """Merge the polygons of every group (ascending) into one; empty for a group without polygons."""
    merged = np.full(n_groups, shapely.Polygon(), dtype=np.object_)
    geometry = geometry.copy()
    while len(group):  # neighbours of one group, two by two
        place = np.arange(len(group)) - np.searchsorted(group, group)
        first = place % 2 == 0
        second = np.flatnonzero(~first)
        if not len(second):
            break
        geometry[second - 1] = _areas_of(overlay(operation, geometry[second - 1], geometry[second]))
        group, geometry = group[first], geometry[first]
    merged[group] = geometry
    return merged


def polygon_unions(geometry: GeometryArray, group: IntArray, n_groups: int) -> GeometryArray:
    """Union of the polygons of every group, shape ``(G,)``; empty for a group without polygons.

    Args:
        geometry: shape ``(M,)``, valid shapely Polygons and MultiPolygons
        group: shape ``(M,)``, ascending, group of each of them
        n_groups: number ``G`` of groups
    """
    return _merged(shapely.union, geometry, group, n_groups)


def union_area(geometry: GeometryArray, group: IntArray, n_groups: int) -> FloatArray:
    """Area of the union of the polygons of every group, shape ``(G,)``; arguments as in :func:`polygon_unions`.

    Undefined:
        never; 0 for a group without polygons

    Example:
        >>> boxes = shapely.box([0, 1, 5], [0, 0, 0], [2, 3, 6], [2, 2, 1])
        >>> union_area(boxes, np.array([0, 0, 1]), 2)
        array([6., 1.])
    """
    area: FloatArray = shapely.area(polygon_unions(geometry, group, n_groups))
    return area


def _areas_of(geometry: GeometryArray) -> GeometryArray:
    """The parts with an area, shape ``(N,)``; lines and points of mixed collections are dropped."""
    result = geometry.copy()
    mixed = np.flatnonzero(~np.isin(shapely.get_type_id(geometry), (3, 6)))  # neither Polygon nor MultiPolygon
    result[mixed] = shapely.Polygon()
    parts, row = shapely.get_parts(geometry[mixed], return_index=True)
    polygons, part = shapely.get_parts(parts, return_index=True)
    areal = shapely.get_type_id(polygons) == 3
    rows, number = np.unique(row[part[areal]], return_inverse=True)
    if len(rows):
        result[mixed[rows]] = shapely.multipolygons(polygons[areal], indices=number.reshape(-1))
    return result


def polygon_intersection(a: GeometryArray, b: GeometryArray) -> FloatArray:
    """Area shared by two polygons, row by row; symmetric up to rounding; exactly their area for equal polygons.

    Args:
        a: shape ``(P,)``, valid shapely Polygons and MultiPolygons, as from :func:`polygons_from_rings`
        b: shape ``(P,)``, the same

    Returns:
        shape ``(P,)``, between 0 and the smaller area, in the square of the coordinates' unit

    Undefined:
        never; 0 where a polygon is empty

    Raises:
        ValueError: if the lengths differ

    Example:
        >>> boxes = shapely.box([0, 1], [0, 0], [2, 3], [2, 2])
        >>> polygon_intersection(boxes[:1], boxes[1:])
        array([2.])
    """
    if len(a) != len(b):
        raise ValueError(f"`a` and `b` must have the same length, got {len(a)} and {len(b)}")
    geometry, (i, j) = distinct_geometries(np.asarray(a, np.object_), np.asarray(b, np.object_))
    polygons = Polygons.from_geometry(geometry)
    low, high = polygons.bounds[:, :2], polygons.bounds[:, 2:]
    near = np.flatnonzero((np.minimum(high[i], high[j]) > np.maximum(low[i], low[j])).all(axis=1))
    same = shapely.equals_exact(geometry[i[near]], geometry[j[near]], 0.0)
    shared = np.zeros(len(i))
    shared[near[same]] = polygons.area[i[near[same]]]
    different = near[~same]
    p, q = i[different], j[different]
    edges, sides = polygon_edges(geometry), high - low
    n_edges = np.diff(edges.start)
    large = n_edges[p] * n_edges[q] > MAX_EDGE_PAIRS
    small = np.flatnonzero(~large)
    of_small = shared_areas(edges, polygons.bounds, p[small], q[small])
    extent = np.maximum(sides[p[small]], sides[q[small]]).prod(axis=1)
    shared[different[small]] = of_small
    large[small] = of_small < DOUBTFUL_SHARE * extent
    shared[different[large]] = intersection_measure(shapely.area, geometry[p[large]], geometry[q[large]])
    return np.clip(shared, 0.0, np.minimum(polygons.area[i], polygons.area[j]))
