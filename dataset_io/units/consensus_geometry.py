"""The consensus geometry of a unit, from the geometry of its members, as FiftyOne stores it; one class per type."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, cast, get_args

import fiftyone as fo
import fiftyone.core.labels as fol
import numpy as np
from bson import Binary
from fiftyone.core.utils import serialize_numpy_array

from ...agreement.settings.arguments import one_of
from ...agreement.settings.errors import AgreementInputError
from ...metrics.consensus.consensus import (
    interval_medians,
    keypoint_medians,
    majority_pixels,
    medians_by_group,
    medoids,
)
from ...metrics.geometry.boxes import Boxes
from ...metrics.geometry.rasterize import region_pixels
from ...metrics.geometry.regions import Regions, as_regions
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ..labels.geometry_readers import (
    BoxReader,
    GeometryReader,
    KeypointReader,
    TemporalReader,
    is_usable_support,
    read_boxes,
    read_keypoints,
    to_xyxy,
)
from ..labels.shape_readers import InstanceMaskReader, PolylineReader
from ..labels.source import Source
from .unit_members import UnitMembers

#: how shapes are merged: the shape most similar to the others, or the pixels that are in at least half of the shapes
Shapes = Literal["medoid", "vote"]

#: pixels of members that are rasterised at once
_PIXELS_AT_ONCE = 1 << 25

#: geometry of a label by attribute; None if the geometry of a member is unusable (now)
Extent = dict[str, Any] | None


class ConsensusMaker:
    """Makes the consensus geometry of units; it is a detection, unless a type of labels has its own."""

    stored: ClassVar[type[fol.Label]] = fo.Detections  #: type of the field that holds such labels
    label: ClassVar[type[fol.Label]] = fo.Detection  #: type of these labels

    def __init__(self, source: Source) -> None:
        self._readers, self._config = source.geometry_readers, source.config

    def extents(self, members: UnitMembers) -> list[Extent]:
        """The consensus geometry of every unit."""
        raise NotImplementedError


def consensus_maker(source: Source, shapes: Shapes) -> ConsensusMaker:
    """The consensus maker for the label types of a run.

    Args:
        source: the labels, with the readers for their geometry
        shapes: how shapes are merged

    Raises:
        AgreementInputError: if ``shapes`` is unknown, or asks for the pixels of lines
    """
    one_of("shapes", shapes, get_args(Shapes))
    config = source.config
    readers: set[type[object]] = {type(reader) for reader in source.geometry_readers}
    if readers == {KeypointReader}:
        return KeypointMedian(source)
    if readers == {TemporalReader}:
        return TemporalMedian(source)
    if shapes == "vote" and readers != {BoxReader}:
        if config.line_tolerance is not None and PolylineReader in readers:
            raise AgreementInputError('`shapes` must be "medoid" for lines, which have no pixels, got "vote"')
        return PixelVote(source)
    if readers == {PolylineReader}:
        return PolylineMedoid(source)
    if readers <= {BoxReader, InstanceMaskReader}:
        return DetectionConsensus(source)
    return BoxesAround(source)


class DetectionConsensus(ConsensusMaker):
    """Detections: the median box; if a member has a mask, box and mask of the medoid."""

    def extents(self, members: UnitMembers) -> list[Extent]:
        """Box, and mask if any."""
        boxes_xywh, usable = read_boxes(members.geometry["box"])
        extents = _median_xyxy(members, to_xyxy(boxes_xywh), usable)
        masks = [members.geometry.get(name) for name in ("mask", "mask_path")]
        if not any(value is not None for column in masks for value in column or ()):
            return extents
        has_mask = np.array([any(entry is not None for entry in of) for of in zip(*masks, strict=True)], np.bool_)
        shaped = np.bincount(members.unit[has_mask], minlength=members.n_units) > 0
        nearest = medoids(members.unit, members.iou, members.n_units)
        for unit in np.flatnonzero(shaped).tolist():
            if extents[unit] is not None:
                extents[unit] = _copied(members, int(nearest[unit]), _OF_MASKS)
        return extents


#: attributes of labels by their short names in query results
_OF_MASKS = InstanceMaskReader.columns
_OF_POLYLINES = PolylineReader.columns


class PolylineMedoid(ConsensusMaker):
    """Polylines: points of the medoid."""

    stored: ClassVar[type[fol.Label]] = fo.Polylines
    label: ClassVar[type[fol.Label]] = fo.Polyline

    def extents(self, members: UnitMembers) -> list[Extent]:
        """Points, and whether they are closed and filled."""
        nearest = medoids(members.unit, members.iou, members.n_units)
        points = members.geometry["points"]
        return [_copied(members, row, _OF_POLYLINES) if points[row] else None for row in nearest.tolist()]


class KeypointMedian(ConsensusMaker):
    """Keypoints: the median of every point that at least half of the members labelled."""

    stored: ClassVar[type[fol.Label]] = fo.Keypoints
    label: ClassVar[type[fol.Label]] = fo.Keypoint

    def extents(self, members: UnitMembers) -> list[Extent]:
        """Points, nan where not labelled; as many as in the longest member."""
        stored = members.geometry["points"]
        points, usable = read_keypoints(stored, None)
        medians = keypoint_medians(members.unit, points, members.n_units).tolist()
        length = np.zeros(members.n_units, np.int64)
        n_points = np.array([len(entry) if ok else 0 for entry, ok in zip(stored, usable.tolist(), strict=True)])
        np.maximum.at(length, members.unit, n_points.astype(np.int64))
        complete = _all_of(usable, members)
        return [
            {"points": of_unit[:n]} if ok else None
            for of_unit, n, ok in zip(medians, length.tolist(), complete.tolist(), strict=True)
        ]


class TemporalMedian(ConsensusMaker):
    """Temporal detections: the median of first and last frames."""

    stored: ClassVar[type[fol.Label]] = fo.TemporalDetections
    label: ClassVar[type[fol.Label]] = fo.TemporalDetection

    def extents(self, members: UnitMembers) -> list[Extent]:
        """First and last frame."""
        usable = np.array([is_usable_support(support) for support in members.geometry["support"]], np.bool_)
        frames = [
            support if ok else (1, 1) for support, ok in zip(members.geometry["support"], usable.tolist(), strict=True)
        ]
        medians = interval_medians(members.unit, np.array(frames, np.int64).reshape(-1, 2), members.n_units)
        return [
            {"support": support} if ok else None
            for support, ok in zip(medians.tolist(), _all_of(usable, members).tolist(), strict=True)
        ]


class BoxesAround(ConsensusMaker):
    """Labels of several types, or of a type without an own rule: the median of their bounding boxes."""

    def extents(self, members: UnitMembers) -> list[Extent]:
        """The box."""
        xyxy, usable = np.zeros((len(members.unit), 4)), np.zeros(len(members.unit), np.bool_)
        for rows, reader in _field_rows(members, self._readers):
            xyxy[rows], usable[rows] = reader.boxes(_values(members, rows, reader), self._config)
        return _median_xyxy(members, xyxy, usable)


class PixelVote(ConsensusMaker):
    """Masks, polygons and boxes: the pixels that are in at least half of the members."""

    def extents(self, members: UnitMembers) -> list[Extent]:
        """Box and mask; if no pixel has enough votes, box and mask of the medoid."""
        known = ~np.isnan(members.size_px.sum(axis=1))
        size_px = np.where(known[:, None], members.size_px, 1.0)[members.unit]
        regions, n_before = list[Regions](), 0
        order, usable = np.zeros(len(members.unit), np.int64), np.zeros(len(members.unit), np.bool_)
        for rows, reader in _field_rows(members, self._readers):
            geometry, usable[rows] = reader.read(_values(members, rows, reader), self._config, size_px[rows])
            regions.append(as_regions(cast(Boxes | Regions, geometry)))
            order[rows] = n_before + np.arange(len(rows))
            n_before += len(rows)
        region = regions[0].joined(regions[1:]).take(order) if regions else Regions.of_boxes(np.zeros((0, 4)))
        complete = _all_of(usable, members) & known
        nearest = medoids(members.unit, members.iou, members.n_units)
        end = np.searchsorted(members.unit, np.arange(members.n_units + 1))
        extents: list[Extent] = []
        low, high = (np.clip(corner, 0.0, size_px) for corner in (region.bounds[:, :2], region.bounds[:, 2:]))
        area = np.bincount(members.unit, weights=(high - low).prod(axis=1), minlength=members.n_units)
        part = np.cumsum(area) // _PIXELS_AT_ONCE
        edges = [*np.flatnonzero(np.diff(part, prepend=-1.0)).tolist(), members.n_units]
        for first, last in itertools.pairwise(edges):  # whose pixels fit in memory
            rows = np.arange(end[first], end[last])
            pixels = region_pixels(region.take(rows), np.rint(size_px[rows]).astype(np.int64))
            voted = majority_pixels(pixels, members.unit[rows] - first, last - first)
            of_nearest = pixels.take(nearest[first:last] - end[first])
            for unit in range(first, last):
                masks = voted if voted.area[unit - first] else of_nearest
                extents.append(None)
                if complete[unit] and masks.area[unit - first]:  # box and mask as stored in a detection
                    row, (width, height) = unit - first, members.size_px[unit].tolist()
                    mask = np.ascontiguousarray(masks.crop(row))
                    left, top = int(masks.left[row]), int(masks.top[row])
                    box = [left / width, top / height, mask.shape[1] / width, mask.shape[0] / height]
                    extents[-1] = {"bounding_box": box, "mask": Binary(serialize_numpy_array(mask))}
        return extents


def _field_rows(members: UnitMembers, readers: Sequence[GeometryReader]) -> list[tuple[IntArray, GeometryReader]]:
    """The members in every label field with members, and the reader of their geometry."""
    found = [(np.flatnonzero(members.field == field), reader) for field, reader in enumerate(readers)]
    return [(rows, reader) for rows, reader in found if len(rows)]


def _values(members: UnitMembers, rows: IntArray, reader: GeometryReader) -> dict[str, list[Any]]:
    chosen = rows.tolist()
    return {name: [members.geometry[name][k] for k in chosen] for name in reader.columns}


def _all_of(usable: BoolArray, members: UnitMembers) -> BoolArray:
    """True for units whose members are all usable, shape ``(U,)``."""
    return np.bincount(members.unit[~usable], minlength=members.n_units) == 0


def _copied(members: UnitMembers, row: int, columns: dict[str, str]) -> dict[str, Any]:
    """The geometry of a member, as stored."""
    values = {attribute: members.geometry[name][row] for name, attribute in columns.items()}
    return {attribute: value for attribute, value in values.items() if value is not None}


def _median_xyxy(members: UnitMembers, boxes_xyxy: FloatArray, usable: BoolArray) -> list[Extent]:
    """Boxes whose edges are the medians of the edges of the members."""
    boxes = medians_by_group(members.unit, boxes_xyxy, members.n_units)
    boxes[:, 2:] -= boxes[:, :2]
    complete = _all_of(usable, members)
    return [{"bounding_box": box} if ok else None for box, ok in zip(boxes.tolist(), complete.tolist(), strict=True)]
