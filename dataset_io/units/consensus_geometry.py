"""The consensus geometry of a unit, from the geometry of its members, as FiftyOne stores it; a function per type."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, cast, get_args

import fiftyone as fo
import fiftyone.core.labels as fol
import numpy as np
from bson import Binary
from fiftyone.core.utils import serialize_numpy_array

from ...agreement.settings.arguments import one_of
from ...agreement.settings.config import AgreementConfig
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
from ...metrics.numeric.arrays import BoolArray, IntArray
from ..labels.geometry_readers import (
    BoxReader,
    GeometryReader,
    KeypointReader,
    TemporalReader,
    is_usable_support,
    read_keypoints,
)
from ..labels.shape_readers import InstanceMaskReader, PolylineReader
from ..labels.source import Source
from .unit_labels import UnitLabels

#: how shapes are merged: the shape most similar to the others, or the pixels that are in at least half of the shapes
Shapes = Literal["medoid", "vote"]

#: pixels of members that are rasterised at once
_PIXELS_AT_ONCE = 1 << 25

#: geometry of a label by attribute; None if the geometry of a member is unusable (now)
Extent = dict[str, Any] | None


class ConsensusMaker(NamedTuple):
    """Makes the consensus geometry of units."""

    stored: type[fol.Label]  #: type of the field that holds such labels
    label: type[fol.Label]  #: type of these labels
    extents: Callable[[UnitLabels], list[Extent]]  #: the consensus geometry of every unit
    needs_size: bool = False  #: whether the sizes of images must be known


def consensus_maker(source: Source, shapes: Shapes) -> ConsensusMaker:
    """The consensus maker for the label types of a run: of detections, unless all labels are of a type with its own.

    Raises:
        AgreementInputError: if ``shapes`` is unknown, or asks for the pixels of lines
    """
    one_of("shapes", shapes, get_args(Shapes))
    config, readers = source.config, source.geometry_readers
    kinds: set[type[object]] = {type(reader) for reader in readers}
    if kinds == {KeypointReader}:
        return ConsensusMaker(fo.Keypoints, fo.Keypoint, keypoint_extents)
    if kinds == {TemporalReader}:
        return ConsensusMaker(fo.TemporalDetections, fo.TemporalDetection, temporal_extents)
    if shapes == "vote" and kinds != {BoxReader}:
        if config.line_tolerance is not None and PolylineReader in kinds:
            raise AgreementInputError('`shapes` must be "medoid" for lines, which have no pixels, got "vote"')
        return ConsensusMaker(fo.Detections, fo.Detection, partial(pixel_extents, readers, config), needs_size=True)
    if kinds == {PolylineReader}:
        return ConsensusMaker(fo.Polylines, fo.Polyline, polyline_extents)
    return ConsensusMaker(fo.Detections, fo.Detection, partial(box_extents, readers, config))


def box_extents(readers: Sequence[GeometryReader], config: AgreementConfig, units: UnitLabels) -> list[Extent]:
    """The median of the bounding boxes; if a detection has a mask that is compared, box and mask of the medoid."""
    xyxy, usable = np.zeros((len(units.unit), 4)), np.zeros(len(units.unit), np.bool_)
    for rows, reader, values in _of_fields(units, readers):
        xyxy[rows], usable[rows] = reader.boxes(values, config)
    boxes = medians_by_group(units.unit, xyxy, units.n_units)
    boxes[:, 2:] -= boxes[:, :2]
    complete = zip(boxes.tolist(), _all_of(usable, units).tolist(), strict=True)
    extents: list[Extent] = [{"bounding_box": box} if ok else None for box, ok in complete]
    if config.geometry != "box" and all(isinstance(reader, BoxReader | InstanceMaskReader) for reader in readers):
        masked = [label.get("mask") is not None or label.get("mask_path") is not None for label in units.labels]
        nearest = medoids(units.unit, units.iou, units.n_units) if any(masked) else np.zeros(0, np.int64)
        for unit in np.unique(units.unit[np.array(masked, np.bool_)]).tolist():
            if extents[unit] is not None:
                extents[unit] = _copied(units, int(nearest[unit]), InstanceMaskReader)
    return extents


def polyline_extents(units: UnitLabels) -> list[Extent]:
    """Polylines: points of the medoid, and whether they are closed and filled."""
    nearest = medoids(units.unit, units.iou, units.n_units).tolist()
    return [_copied(units, row, PolylineReader) if units.labels[row].get("points") else None for row in nearest]


def keypoint_extents(units: UnitLabels) -> list[Extent]:
    """Keypoints: the median of every point that at least half of the members labelled, nan where not labelled.

    There are as many points as in the longest member.
    """
    stored: list[Any] = [label.get("points") for label in units.labels]
    points, usable = read_keypoints(stored, None)
    medians = keypoint_medians(units.unit, points, units.n_units).tolist()
    length = np.zeros(units.n_units, np.int64)
    n_points = np.array([len(entry) if ok else 0 for entry, ok in zip(stored, usable.tolist(), strict=True)])
    np.maximum.at(length, units.unit, n_points.astype(np.int64))
    rows = zip(medians, length.tolist(), _all_of(usable, units).tolist(), strict=True)
    return [{"points": of_unit[:n]} if ok else None for of_unit, n, ok in rows]


def temporal_extents(units: UnitLabels) -> list[Extent]:
    """Temporal detections: the median of first and last frames."""
    stored = [label.get("support") for label in units.labels]
    usable = np.array([is_usable_support(support) for support in stored], np.bool_)
    frames = [support if ok else (1, 1) for support, ok in zip(stored, usable.tolist(), strict=True)]
    medians = interval_medians(units.unit, np.array(frames, np.int64).reshape(-1, 2), units.n_units).tolist()
    rows = zip(medians, _all_of(usable, units).tolist(), strict=True)
    return [{"support": support} if ok else None for support, ok in rows]


def pixel_extents(readers: Sequence[GeometryReader], config: AgreementConfig, units: UnitLabels) -> list[Extent]:
    """Masks, polygons and boxes: box and mask of the pixels that are in at least half of the members.

    If no pixel has enough votes, box and mask of the medoid.
    """
    known = ~np.isnan(units.size_px.sum(axis=1))
    size_px = np.where(known[:, None], units.size_px, 1.0)[units.unit]
    regions, n_before = list[Regions](), 0
    order, usable = np.zeros(len(units.unit), np.int64), np.zeros(len(units.unit), np.bool_)
    for rows, reader, values in _of_fields(units, readers):
        geometry, usable[rows] = reader.read(values, config, size_px[rows])
        regions.append(as_regions(cast(Boxes | Regions, geometry)))
        order[rows] = n_before + np.arange(len(rows))
        n_before += len(rows)
    region = regions[0].joined(regions[1:]).take(order) if regions else Regions.of_boxes(np.zeros((0, 4)))
    complete = _all_of(usable, units) & known
    nearest = medoids(units.unit, units.iou, units.n_units)
    end = np.searchsorted(units.unit, np.arange(units.n_units + 1))
    extents: list[Extent] = []
    low, high = (np.clip(corner, 0.0, size_px) for corner in (region.bounds[:, :2], region.bounds[:, 2:]))
    area = np.bincount(units.unit, weights=(high - low).prod(axis=1), minlength=units.n_units)
    part = np.cumsum(area) // _PIXELS_AT_ONCE
    edges = [*np.flatnonzero(np.diff(part, prepend=-1.0)).tolist(), units.n_units]
    for first, last in itertools.pairwise(edges):  # ranges of units whose pixels fit in memory
        rows = np.arange(end[first], end[last])
        pixels = region_pixels(region.take(rows), np.rint(size_px[rows]).astype(np.int64))
        voted = majority_pixels(pixels, units.unit[rows] - first, last - first)
        of_nearest = pixels.take(nearest[first:last] - end[first])
        for unit in range(first, last):
            masks = voted if voted.area[unit - first] else of_nearest
            extents.append(None)
            if complete[unit] and masks.area[unit - first]:  # box and mask as stored in a detection
                row, (width, height) = unit - first, units.size_px[unit].tolist()
                mask = np.ascontiguousarray(masks.crop(row))
                left, top = int(masks.left[row]), int(masks.top[row])
                box = [left / width, top / height, mask.shape[1] / width, mask.shape[0] / height]
                extents[-1] = {"bounding_box": box, "mask": Binary(serialize_numpy_array(mask))}
    return extents


def _of_fields(
    units: UnitLabels, readers: Sequence[GeometryReader]
) -> Iterator[tuple[IntArray, GeometryReader, dict[str, list[Any]]]]:
    """For every label field with members: their rows, the reader of their geometry, the columns that it reads."""
    for field, reader in enumerate(readers):
        rows = np.flatnonzero(units.field == field)
        labels = [units.labels[k] for k in rows.tolist()]
        if labels:
            columns = reader.columns.items()
            yield rows, reader, {name: [label.get(attribute) for label in labels] for name, attribute in columns}


def _all_of(usable: BoolArray, units: UnitLabels) -> BoolArray:
    """True for units whose members are all usable, shape ``(U,)``."""
    return np.bincount(units.unit[~usable], minlength=units.n_units) == 0


def _copied(units: UnitLabels, row: int, reader: type[GeometryReader]) -> dict[str, Any]:
    """The geometry of a member, as stored."""
    label = units.labels[row]
    return {attribute: label[attribute] for attribute in reader.columns.values() if label.get(attribute) is not None}
