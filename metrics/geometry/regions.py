"""Boxes, polygons, instance masks and lines in one set of objects, compared across kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from ..numeric.arrays import BoolArray, FloatArray, IntArray, concatenated
from .boxes import Boxes, box_area, box_intersection, box_overlaps, boxes_as_polygons, check_boxes
from .lines import Lines, line_overlap
from .masks import MaskCrops, mask_box_intersection, mask_intersection, mask_polygon_intersection
from .objects import Geometry, Objects, Overlaps, find_overlaps
from .outlines import WHOLE_BOX, mask_outlines, polygon_outlines
from .polygons import Polygons, polygon_intersection, polygon_unions

BOX, POLYGON, MASK, LINE = range(4)


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

    def detached(self) -> Regions:
        """The same objects, without the shapes of others that :meth:`take` keeps."""
        row = np.empty(len(self), np.int64)
        for kind in np.unique(self.kind).tolist():
            is_kind = self.kind == kind
            row[is_kind] = np.arange(int(is_kind.sum()))
        polygons, masks, lines = (self.row[self.kind == kind] for kind in (POLYGON, MASK, LINE))
        corners = np.stack([self.masks.left, self.masks.top], axis=1)[masks]
        crops = [(self.masks.crop(k), x, y) for k, (x, y) in zip(masks.tolist(), corners.tolist(), strict=True)]
        return Regions(
            self.kind,
            row,
            self.bounds,
            self.area,
            self.polygons.take(polygons),
            MaskCrops.from_crops(crops),
            None if self.lines is None else self.lines.take(lines),
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
        for (kind_a, kind_b), compare in _COMPARE.items():
            is_pair = (self.kind[a] == kind_a) & (self.kind[b] == kind_b)
            if is_pair.any():
                shared[near[is_pair]] = compare(self, a[is_pair], b[is_pair])
        return shared

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

    def _boxes_as_polygons(self, rows: IntArray) -> shapely.Geometry:
        distinct, inverse = np.unique(rows, return_inverse=True)
        return boxes_as_polygons(self.bounds[distinct])[inverse]

    def _box_box(self, a: IntArray, b: IntArray) -> FloatArray:
        return box_intersection(self.bounds[a], self.bounds[b])

    def _box_polygon(self, a: IntArray, b: IntArray) -> FloatArray:
        return polygon_intersection(self._boxes_as_polygons(a), self.polygons.geometry[self.row[b]])

    def _box_mask(self, a: IntArray, b: IntArray) -> FloatArray:
        return mask_box_intersection(self.masks, self.row[b], self.bounds[a])

    def _polygon_polygon(self, a: IntArray, b: IntArray) -> FloatArray:
        return polygon_intersection(self.polygons.geometry[self.row[a]], self.polygons.geometry[self.row[b]])

    def _polygon_mask(self, a: IntArray, b: IntArray) -> FloatArray:
        return mask_polygon_intersection(self.masks, self.row[b], self.polygons.geometry[self.row[a]])

    def _mask_mask(self, a: IntArray, b: IntArray) -> FloatArray:
        return mask_intersection(self.masks, self.row[a], self.row[b])

    def _line_line(self, a: IntArray, b: IntArray) -> FloatArray:
        if self.lines is None:
            raise ValueError("`lines` must be given with objects that are lines, got None")
        geometry = self.lines.geometry
        return line_overlap(geometry[self.row[a]], geometry[self.row[b]], self.lines.tolerance_px)


_COMPARE: dict[tuple[int, int], Callable[[Regions, IntArray, IntArray], FloatArray]] = {
    (BOX, BOX): Regions._box_box,
    (BOX, POLYGON): Regions._box_polygon,
    (BOX, MASK): Regions._box_mask,
    (POLYGON, POLYGON): Regions._polygon_polygon,
    (POLYGON, MASK): Regions._polygon_mask,
    (MASK, MASK): Regions._mask_mask,
    (LINE, LINE): Regions._line_line,
}


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
