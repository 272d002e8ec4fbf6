"""Boxes, polygons, instance masks and lines in one set of objects, compared across kinds; their coarse outlines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from ..numeric.arrays import BoolArray, FloatArray, IntArray, concatenated, ranges
from .boxes import Boxes, box_area, box_intersection, box_overlaps, boxes_as_polygons, check_boxes
from .lines import Lines, line_overlap
from .masks import MaskCrops, mask_box_intersection, mask_intersection, mask_polygon_intersection
from .objects import Geometry, Objects, Overlaps, find_overlaps
from .polygons import Polygons, polygon_intersection, polygon_unions
from .vertices import GeometryArray

#: rows of the box around a shape, and columns of the box around a mask, at whose middles the shape is sampled
N_ROWS, N_COLUMNS = 24, 64
#: bytes of an outline: begin and end of two spans in every row, in 255ths of the width of the box
OUTLINE_BYTES = 4 * N_ROWS
#: the outline of a box
WHOLE_BOX = np.tile(np.array([0, 255, 255, 255], np.uint8), N_ROWS)
#: up to this share of the smaller shape, the part that two shapes do not share is rounding (of 32 bits)
ROUNDING_SHARE = 1e-5
#: shapes, or pairs of shapes, that are processed at once (about 20 kB each)
AT_ONCE = 1_000


def crossings(
    polygons: GeometryArray, corner: FloatArray, cell: FloatArray, n_rows: int
) -> tuple[IntArray, FloatArray]:
    """Crossings of the edges of polygons with the middles of the rows of grids that lie on them.

    An edge covers the rows whose middle is in [upper end, lower end), so that shared ends count once: in every row
    there is an even number.

    Args:
        polygons: shape ``(N,)``, valid shapely Polygons and MultiPolygons
        corner: shape ``(N, 2)``, upper left corner of every grid
        cell: shape ``(N, 2)``, width and height of its cells, ``> 0``
        n_rows: number of its rows

    Returns:
        for every crossing the number of its row (rows are numbered polygon by polygon), and its abscissa in cells

    Undefined:
        never; an empty polygon has no crossings
    """
    rings, owner = polygons, np.arange(len(polygons))
    if (shapely.get_type_id(polygons) != 3).any() or shapely.get_num_interior_rings(polygons).any():
        parts, polygon_of_part = shapely.get_parts(polygons, return_index=True)
        rings, part_of_ring = shapely.get_rings(parts, return_index=True)
        owner = polygon_of_part[part_of_ring]
    xy, ring = shapely.get_coordinates(rings, return_index=True)
    polygon = owner[ring]
    xy = (xy - corner[polygon]) / cell[polygon]
    start = np.flatnonzero(ring[1:] == ring[:-1])
    (x_from, y_from), (x_to, y_to) = xy[start].T, xy[start + 1].T
    first, end = (
        np.clip(np.ceil(y - 0.5), 0, n_rows).astype(np.int64)
        for y in (np.minimum(y_from, y_to), np.maximum(y_from, y_to))
    )
    crossing = np.flatnonzero(end > first)
    first, n = first[crossing], (end - first)[crossing]
    edge, further = np.repeat(np.arange(len(crossing)), n), ranges(np.zeros_like(n), n)
    slope = (x_to - x_from)[crossing] / (y_to - y_from)[crossing]
    x_first = x_from[crossing] + (first + 0.5 - y_from[crossing]) * slope
    line = polygon[start[crossing]] * n_rows + first
    return line[edge] + further, x_first[edge] + further * slope[edge]


def polygon_outlines(polygons: GeometryArray, bounds: FloatArray) -> NDArray[np.uint8]:
    """The outlines of polygons, shape ``(N, OUTLINE_BYTES)``; the whole box of an empty one.

    Args:
        polygons: shape ``(N,)``, valid shapely Polygons and MultiPolygons
        bounds: shape ``(N, 4)``, the boxes around them, ``(x_min, y_min, x_max, y_max)``

    Undefined:
        never

    Example:
        >>> triangle = shapely.polygons([[[0, 0], [8, 0], [0, 8.]]])
        >>> polygon_outlines(triangle, np.array([[0, 0, 8, 8.]])).reshape(N_ROWS, 4)[[0, 23]]
        array([[  0, 250, 250, 250],
               [  0,   5,   5,   5]], dtype=uint8)
    """
    found = [np.empty((0, OUTLINE_BYTES), np.uint8)]
    size = bounds[:, 2:] - bounds[:, :2]
    cell = np.where(size > 0, size, 1.0) / [1, N_ROWS]
    for start in range(0, len(polygons), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        found.append(_spans(*crossings(polygons[some], bounds[some, :2], cell[some], N_ROWS), len(cell[some])))
    return np.concatenate(found)


def mask_outlines(masks: MaskCrops) -> NDArray[np.uint8]:
    """The outlines of masks on their rectangles, shape ``(N, OUTLINE_BYTES)``; the whole rectangle of an empty one."""
    found = [np.empty((0, OUTLINE_BYTES), np.uint8)]
    for start in range(0, len(masks), AT_ONCE):
        some = masks.take(np.arange(start, min(start + AT_ONCE, len(masks))))
        row, column = (
            ((np.arange(n) + 0.5) * side[:, None] / n).astype(np.int64)
            for n, side in ((N_ROWS, some.height), (N_COLUMNS, some.width))
        )
        pixel = some.start[:, None, None] + (row * some.width[:, None])[:, :, None] + column[:, None, :]
        covered = np.zeros((len(some), N_ROWS, N_COLUMNS + 2), np.bool_)
        covered[some.area > 0, :, 1:-1] = masks.pixels[pixel[some.area > 0]]
        every = covered.reshape(-1)
        line, change = np.divmod(np.flatnonzero(every[1:] != every[:-1]), N_COLUMNS + 2)
        found.append(_spans(line, change / N_COLUMNS, len(some)))
    return np.concatenate(found)


def _spans(line: IntArray, x: FloatArray, n_shapes: int) -> NDArray[np.uint8]:
    """Two spans in every row, from the abscissas at which the shape begins and ends there, in shares of the width.

    In a row with more spans all gaps but the widest are filled.
    """
    # rounded before sorting, so that the other shapes change nothing
    end = np.sort((line * 256 + np.rint(255 * np.clip(x, 0.0, 1.0)).astype(np.int64)).astype(np.int32)).astype(np.uint8)
    n = np.bincount(line, minlength=n_shapes * N_ROWS)
    some = np.flatnonzero(n)
    last = np.cumsum(n)[some] - 1
    first = last - n[some] + 1
    ends = np.zeros((len(n), 4), np.uint8)
    ends[some] = end[last][:, None]
    ends[some, 0] = end[first]
    n_gaps = n[some] // 2 - 1
    gap_owner = np.repeat(some, n_gaps)
    gap = np.repeat(first + 1, n_gaps) + 2 * ranges(np.zeros_like(n_gaps), n_gaps)
    order = np.lexsort((end[gap + 1] - end[gap], gap_owner))
    widest = gap[order[np.flatnonzero(np.diff(gap_owner, append=-1))]]
    ends[some[n_gaps > 0], 1], ends[some[n_gaps > 0], 2] = end[widest], end[widest + 1]
    outlines = ends.reshape(n_shapes, OUTLINE_BYTES)
    outlines[~outlines.any(axis=1)] = WHOLE_BOX
    return outlines


@dataclass(frozen=True, slots=True)
class Outlines(Geometry):
    """Shapes known by their box and coarse outline alone.

    Between two rows the ends of spans are interpolated if both rows have equally many; areas are those of such shapes.
    """

    xyxy: FloatArray  #: shape ``(N, 4)``, ``(x_min, y_min, x_max, y_max)``, one unit per sample
    outline: NDArray[np.uint8]  #: shape ``(M, OUTLINE_BYTES)``
    row: IntArray  #: shape ``(N,)``, row of every shape in ``outline``
    area: FloatArray = field()  #: shape ``(N,)``; no default, although the base has a property of this name

    @classmethod
    def of(cls, boxes_xyxy: FloatArray, outline: NDArray[Any]) -> Outlines:
        """Shapes from the boxes around them, and their outlines."""
        ends = outline.reshape(-1, N_ROWS, 4).astype(np.float64)
        share = (ends[..., 1] - ends[..., 0] + ends[..., 3] - ends[..., 2]).mean(axis=1) / 255
        return cls(boxes_xyxy, outline, np.arange(len(outline)), box_area(boxes_xyxy) * share)

    def __len__(self) -> int:
        return len(self.xyxy)

    def take(self, rows: IntArray | BoolArray) -> Outlines:
        return Outlines(self.xyxy[rows], self.outline, self.row[rows], self.area[rows])

    def joined(self, others: Sequence[Outlines]) -> Outlines:
        every = [self, *others]
        outline = np.concatenate([outlines.outline[outlines.row] for outlines in every])
        return Outlines.of(np.concatenate([outlines.xyxy for outlines in every]), outline)

    def boxes_xyxy(self) -> FloatArray:
        return self.xyxy

    def overlaps(self, objects: Objects) -> Overlaps:
        return find_overlaps(objects, self.area, self.intersection_of, self.xyxy)

    def intersection_of(self, i: IntArray, j: IntArray) -> FloatArray:
        """Areas that the shapes of two index columns share, summed over rows of the overlap of their boxes."""
        shared = np.zeros(len(i))
        low, high = np.maximum(self.xyxy[i, :2], self.xyxy[j, :2]), np.minimum(self.xyxy[i, 2:], self.xyxy[j, 2:])
        near = np.flatnonzero((low < high).all(axis=1))
        for start in range(0, len(near), AT_ONCE):
            pair = near[start : start + AT_ONCE]
            height = high[pair, 1] - low[pair, 1]
            y = low[pair, 1, None] + height[:, None] * ((np.arange(N_ROWS) + 0.5) / N_ROWS)
            a, b = self._spans_at(i[pair], y), self._spans_at(j[pair], y)
            length = np.minimum(a[:, :, 1::2, None], b[:, :, None, 1::2])
            length -= np.maximum(a[:, :, ::2, None], b[:, :, None, ::2])
            shared[pair] = np.maximum(length, 0.0).sum(axis=(1, 2, 3), dtype=np.float64) * height / N_ROWS
        smaller = np.minimum(self.area[i], self.area[j])
        return np.where(shared > (1.0 - ROUNDING_SHARE) * smaller, smaller, shared)

    def _spans_at(self, shapes: IntArray, y: FloatArray) -> FloatArray:
        """Begin and end of two spans of shapes at ordinates ``(P, Y)``, shape ``(P, Y, 4)``."""
        x_min, y_min, x_max, y_max = self.xyxy[shapes].T[..., None]
        place = (y - y_min) / (y_max - y_min) * N_ROWS - 0.5
        row = np.clip(place.astype(np.int64), 0, N_ROWS - 2)
        first = self.row[shapes][:, None] * N_ROWS + row
        packed_rows = np.ascontiguousarray(self.outline).view(np.uint32).reshape(-1)  # a row is one number: faster
        spans = [packed_rows[rows].view(np.uint8).reshape(*rows.shape, 4) for rows in (first, first + 1)]
        has_above, has_below = ((each[..., 1::2] > each[..., ::2]).view(np.uint16)[..., 0] for each in spans)
        above, below = (each.astype(np.float32) for each in spans)
        share = np.where(has_above == has_below, place - row, place - row >= 0.5).astype(np.float32)[..., None]
        width = ((x_max - x_min) / 255).astype(np.float32)
        spans_at: FloatArray = (
            x_min.astype(np.float32)[..., None] + (above + share * (below - above)) * width[..., None]
        )
        return spans_at


BOX, POLYGON, MASK, LINE = range(4)
#: pairs of kinds that can overlap
_COMPARED = ((BOX, BOX), (BOX, POLYGON), (BOX, MASK), (POLYGON, POLYGON), (POLYGON, MASK), (MASK, MASK), (LINE, LINE))


@dataclass(frozen=True, slots=True)
class Regions(Geometry):
    """Objects of any of four kinds, in one unit per sample: image pixels if there are masks or lines.

    Boxes, polygons and masks are compared by shared area; a mask covers the unit squares of its pixels, and a pixel
    that a box or polygon covers partly counts partly. Lines are compared by shared length (see
    :class:`~.lines.Lines`), and share nothing with other kinds.

    Attributes:
        kind: shape ``(N,)``, ``BOX``, ``POLYGON``, ``MASK`` or ``LINE``
        row: shape ``(N,)``, row of every object within its kind
        bounds: shape ``(N, 4)``, ``(x_min, y_min, x_max, y_max)`` of every object
        area: shape ``(N,)``, area; length for lines
        polygons: the objects that are polygons
        masks: the objects that are masks
        lines: the objects that are lines; None without lines
    """

    kind: IntArray
    row: IntArray
    bounds: FloatArray
    area: FloatArray = field()  # no default, although the base has a property of this name
    polygons: Polygons
    masks: MaskCrops
    lines: Lines | None = None

    def __len__(self) -> int:
        return len(self.kind)

    @classmethod
    def of_boxes(cls, boxes_xyxy: FloatArray) -> Regions:
        """Regions that are boxes."""
        boxes = check_boxes(boxes_xyxy)
        return _single_kind(BOX, boxes, box_area(boxes))

    @classmethod
    def of_polygons(cls, polygons: Polygons) -> Regions:
        """Regions that are polygons."""
        return _single_kind(POLYGON, polygons.bounds, polygons.area, polygons=polygons)

    @classmethod
    def of_masks(cls, masks: MaskCrops) -> Regions:
        """Regions that are masks."""
        return _single_kind(MASK, masks.bounds, masks.area, masks=masks)

    @classmethod
    def of_lines(cls, lines: Lines) -> Regions:
        """Objects that are lines."""
        return _single_kind(LINE, lines.boxes_xyxy(), lines.length, lines=lines)

    @property
    def _reach(self) -> FloatArray:
        """Greatest distance from an object at which others can overlap it."""
        return np.where(self.kind == LINE, 0.0 if self.lines is None else self.lines.tolerance_px, 0.0)

    @property
    def repaired(self) -> BoolArray:
        """Polygons with a ring that had to be repaired."""
        found = np.zeros(len(self), np.bool_)
        polygons = self.kind == POLYGON
        found[polygons] = self.polygons.repaired[self.row[polygons]]
        return found

    def boxes_xyxy(self) -> FloatArray:
        return self.bounds

    def places(self) -> dict[str, NDArray[Any]]:
        """Coarse outlines of polygons and masks; the whole box of others."""
        outline = np.tile(WHOLE_BOX, (len(self), 1))
        polygons, masks = self.kind == POLYGON, self.kind == MASK
        outline[polygons] = polygon_outlines(self.polygons.geometry[self.row[polygons]], self.bounds[polygons])
        outline[masks] = mask_outlines(self.masks.take(self.row[masks]))
        return {"outline": outline}

    def take(self, rows: IntArray | BoolArray) -> Regions:
        return Regions(
            self.kind[rows], self.row[rows], self.bounds[rows], self.area[rows], self.polygons, self.masks, self.lines
        )

    def joined(self, others: Sequence[Regions]) -> Regions:
        every = [self, *others]
        n_before = {
            POLYGON: _starts([len(regions.polygons) for regions in every]),
            MASK: _starts([len(regions.masks) for regions in every]),
            LINE: _starts([0 if regions.lines is None else len(regions.lines) for regions in every]),
        }
        rows = []
        for number, regions in enumerate(every):
            offset = np.zeros(len(regions), np.int64)
            for kind, starts in n_before.items():
                offset[regions.kind == kind] = starts[number]
            rows.append(regions.row + offset)
        lines = [regions.lines for regions in every if regions.lines is not None]
        return Regions(
            row=np.concatenate(rows),
            polygons=self.polygons.joined([regions.polygons for regions in others]),
            masks=self.masks.joined([regions.masks for regions in others]),
            lines=lines[0].joined(lines[1:]) if lines else None,
            **concatenated(every, "kind", "bounds", "area"),
        )

    def overlaps(self, objects: Objects) -> Overlaps:
        if (self.kind == BOX).all():
            return box_overlaps(objects, self.bounds)
        reach = self._reach[:, None] * [-1.0, -1.0, 1.0, 1.0]
        return find_overlaps(objects, self.area, self.intersection_of, self.bounds + reach)

    def intersection_of(self, i: IntArray, j: IntArray) -> FloatArray:
        """Intersections of the objects of two index columns, row by row; shape ``(P,)``, symmetric up to rounding."""
        shared = np.zeros(len(i))
        reach = self._reach
        gap = np.maximum(self.bounds[i, :2], self.bounds[j, :2]) - np.minimum(self.bounds[i, 2:], self.bounds[j, 2:])
        near = np.flatnonzero((gap <= reach[i][:, None]).all(axis=1))
        # order each pair by kind
        swapped = self.kind[i[near]] > self.kind[j[near]]
        a, b = np.where(swapped, j[near], i[near]), np.where(swapped, i[near], j[near])
        for kinds in _COMPARED:
            is_pair = (self.kind[a] == kinds[0]) & (self.kind[b] == kinds[1])
            if is_pair.any():
                shared[near[is_pair]] = self._shared(kinds, a[is_pair], b[is_pair])
        return shared

    def _shared(self, kinds: tuple[int, int], a: IntArray, b: IntArray) -> FloatArray:
        """Intersections of objects of one of the pairs of kinds that are ``_COMPARED``."""
        polygons, row_a, row_b = self.polygons.geometry, self.row[a], self.row[b]
        if kinds == (BOX, BOX):
            return box_intersection(self.bounds[a], self.bounds[b])
        if kinds == (BOX, POLYGON):
            distinct, inverse = np.unique(a, return_inverse=True)
            return polygon_intersection(boxes_as_polygons(self.bounds[distinct])[inverse], polygons[row_b])
        if kinds == (BOX, MASK):
            return mask_box_intersection(self.masks, row_b, self.bounds[a])
        if kinds == (POLYGON, POLYGON):
            return polygon_intersection(polygons[row_a], polygons[row_b])
        if kinds == (POLYGON, MASK):
            return mask_polygon_intersection(self.masks, row_b, polygons[row_a])
        if kinds == (MASK, MASK):
            return mask_intersection(self.masks, row_a, row_b)
        if self.lines is None:
            raise ValueError("`lines` must be given with objects that are lines, got None")
        return line_overlap(self.lines.geometry[row_a], self.lines.geometry[row_b], self.lines.tolerance_px)

    def union_area(self, rows: IntArray, group: IntArray, n_groups: int) -> FloatArray:
        """Area of the union of the regions of every group; nan if one of them is a line."""
        kind = self.kind[rows]
        if (kind == BOX).all():
            return Boxes(self.bounds).union_area(rows, group, n_groups)
        drawn = (kind == BOX) | (kind == POLYGON)
        geometry = np.full(int(drawn.sum()), shapely.Polygon(), dtype=np.object_)
        boxes = kind[drawn] == BOX
        geometry[boxes] = boxes_as_polygons(self.bounds[rows[kind == BOX]])
        geometry[~boxes] = self.polygons.geometry[self.row[rows[kind == POLYGON]]]
        polygons = polygon_unions(geometry, group[drawn], n_groups)
        painted = kind == MASK
        of_masks, number = np.unique(group[painted], return_inverse=True)
        masks = self.masks.unions(self.row[rows[painted]], number.reshape(-1), len(of_masks))
        area: FloatArray = shapely.area(polygons)
        shared = mask_polygon_intersection(masks, np.arange(len(of_masks)), polygons[of_masks])
        area[of_masks] += masks.area - shared
        area[group[kind == LINE]] = np.nan
        return area


def as_regions(geometry: Boxes | Regions) -> Regions:
    """Objects as regions, to compare them with objects of other kinds."""
    return Regions.of_boxes(geometry.xyxy) if isinstance(geometry, Boxes) else geometry


def joined(geometries: Sequence[Any]) -> Any:
    """The objects of several geometries, one after another; mixed boxes and shapes become regions."""
    if len({type(geometry) for geometry in geometries}) > 1:
        geometries = [as_regions(geometry) for geometry in geometries]
    return geometries[0].joined(geometries[1:])


def _starts(lengths: list[int]) -> IntArray:
    return np.cumsum([0, *lengths[:-1]])


def _single_kind(
    kind: int,
    bounds: FloatArray,
    area: FloatArray,
    polygons: Polygons | None = None,
    masks: MaskCrops | None = None,
    lines: Lines | None = None,
) -> Regions:
    n = len(bounds)
    return Regions(
        np.full(n, kind),
        np.zeros(n, np.int64) if kind == BOX else np.arange(n),
        bounds,
        area,
        Polygons.from_geometry(np.empty(0, np.object_)) if polygons is None else polygons,
        MaskCrops.from_crops([]) if masks is None else masks,
        lines,
    )
