"""Read the geometry of polylines and instance masks from the database, masks on the pixels of their image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import cv2
import numpy as np

from ...agreement.settings.config import AgreementConfig
from ...metrics.geometry.boxes import Boxes
from ...metrics.geometry.lines import lines_from_points
from ...metrics.geometry.masks import MaskCrops
from ...metrics.geometry.polygons import MAX_CROSSINGS, polygons_from_rings, tangled_shapes
from ...metrics.geometry.rasterize import pillow_mask
from ...metrics.geometry.regions import Regions
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ..database.stored_arrays import stored_array, stored_image
from .geometry_readers import (
    BOX_NUMBERS,
    LARGEST,
    BoxReader,
    GeometryReader,
    finite_numbers,
    is_finite,
    is_usable_box,
    not_finite,
    read_boxes,
    to_xyxy,
)

#: rounding errors of relative coordinates times image size (2.9999999996 for 3)
_SNAP = 1e-6


def decode_mask(stored: bytes) -> BoolArray:
    """The mask of a label from its bytes in the database; pixels that are not 0 are inside.

    Raises:
        ValueError: if the bytes are not a two-dimensional array
    """
    return _inside(stored_array(stored))


def read_mask_file(path: str) -> BoolArray:
    """The mask in an image file; pixels that are not 0 are inside.

    Raises:
        ValueError: if the file is not a two-dimensional image
    """
    return _inside(stored_image(path))


def _inside(array: Any) -> BoolArray:
    if array.ndim == 3 and array.shape[2] == 1:  # the only three-dimensional masks that FiftyOne accepts
        array = array[:, :, 0]
    if array.ndim != 2:
        raise ValueError(f"A mask must have two dimensions, got {array.ndim}")
    inside: BoolArray = array if array.dtype == np.bool_ else array != 0
    return inside


def pixel_boxes(boxes_xywh_rel: FloatArray, size_px: FloatArray) -> IntArray:
    """The pixels that FiftyOne gives to boxes: ``(left, top, width, height)``, shape ``(N, 4)``.

    Boxes are clipped to the image and their edges rounded down; edges within rounding error below a whole number are
    rounded to it first.
    """
    low = np.clip(boxes_xywh_rel[:, :2], 0.0, 1.0)
    high = np.clip(boxes_xywh_rel[:, :2] + boxes_xywh_rel[:, 2:], 0.0, 1.0)
    first = np.floor(low * size_px + _SNAP).astype(np.int64)
    last = np.floor(high * size_px + _SNAP).astype(np.int64)
    return np.hstack([first, last - first])


def placed_masks(masks: Sequence[BoolArray], boxes_xywh_rel: FloatArray, size_px: FloatArray) -> MaskCrops:
    """Masks of any resolution on the pixels of their boxes, as :meth:`fiftyone.Detection.to_segmentation` paints them.

    A mask that differs in size from its box is scaled bilinearly; values from 0.5 on are inside. All values except 0
    count as 1, so that the same shape always has the same pixels (FiftyOne itself takes every touched pixel of a scaled
    mask with other values).

    Args:
        masks: ``N`` masks, shape ``(H, W)`` each
        boxes_xywh_rel: shape ``(N, 4)``, relative to the image
        size_px: shape ``(N, 2)``, width and height of the images in pixels
    """
    crops: list[tuple[BoolArray, int, int]] = []
    for mask, (left, top, width, height) in zip(masks, pixel_boxes(boxes_xywh_rel, size_px).tolist(), strict=True):
        scaled: BoolArray = mask
        if mask.shape != (height, width):
            scaled = np.zeros((height, width), np.bool_)
            if mask.size and width and height:
                scaled = cv2.resize(mask.astype(np.uint8), (width, height)).astype(np.bool_)
        crops.append((scaled, left, top))
    return MaskCrops.from_crops(crops)


#: largest coordinate of a polygon to rasterize, in image sizes; larger ones would fill memory
LARGEST_PAINTED = 2.0
#: stored values that count as false
_NOT_TRUE = {"$in": [None, False, 0, ""]}


@dataclass(frozen=True, slots=True)
class InstanceMaskReader(BoxReader):
    """Detections, some or all with an instance mask."""

    columns: ClassVar[dict[str, str]] = {"box": "bounding_box", "mask": "mask", "mask_path": "mask_path"}
    files: ClassVar[tuple[str, ...]] = ("mask_path",)
    requirement: ClassVar[str] = (
        f'Boxes must be {BOX_NUMBERS}, masks (needed with geometry="shape") readable two-dimensional arrays'
    )

    def unusable(self, config: AgreementConfig) -> dict[str, Any]:
        """A query for unusable boxes, and for labels without a mask where one is needed."""
        of_box = BoxReader().unusable(config)
        if config.geometry != "shape":
            return of_box
        return {"$or": [of_box, {"mask": None, "mask_path": None}]}

    def is_usable(self, label: dict[str, Any], config: AgreementConfig) -> bool:
        """True if box and mask look usable, without reading the mask."""
        has_mask = label.get("mask") is not None or label.get("mask_path") is not None
        return is_usable_box(label.get("bounding_box")) and (has_mask or config.geometry != "shape")

    def needs_size(self, config: AgreementConfig) -> bool:
        """Yes: masks are placed on the pixels of the image."""
        return True

    def boxes(self, values: dict[str, list[Any]], config: AgreementConfig) -> tuple[FloatArray, BoolArray]:
        """The boxes of the detections; no mask is read."""
        return BoxReader().boxes(values, config)

    def read(  # type: ignore[override]
        self, values: dict[str, list[Any]], config: AgreementConfig, size_px: FloatArray | None
    ) -> tuple[Regions, BoolArray]:
        """Masks, or boxes for labels without a mask, in pixels."""
        if size_px is None:
            raise ValueError("`size_px` must be given to place masks, got None")
        boxes, usable = read_boxes(values["box"])
        masks: list[Any] = []
        rows: list[int] = []
        for row, (stored, path) in enumerate(zip(values["mask"], values["mask_path"], strict=True)):
            if stored is None and path is None:
                usable[row] &= config.geometry != "shape"
            elif usable[row]:
                try:
                    masks.append(decode_mask(stored) if stored is not None else read_mask_file(str(path)))
                    rows.append(row)
                except (ValueError, OSError):  # it cannot be read
                    usable[row] = False
        of_masks = Regions.of_masks(placed_masks(masks, boxes[rows], size_px[rows]))
        order = np.arange(len(boxes))
        order[rows] = len(boxes) + np.arange(len(rows))
        of_boxes = Regions.of_boxes(to_xyxy(boxes * np.tile(size_px, 2)))
        return of_boxes.joined([of_masks]).take(order), usable


@dataclass(frozen=True, slots=True)
class PolylineReader(GeometryReader):
    """Polylines: polygons if closed or filled, else lines."""

    columns: ClassVar[dict[str, str]] = {"points": "points", "closed": "closed", "filled": "filled"}
    requirement: ClassVar[str] = (
        f"Polylines must have points (x, y) of finite numbers (to {LARGEST:g}; with `rasterize` to "
        f"{LARGEST_PAINTED:g}), cross themselves at most {MAX_CROSSINGS:,} times, and be closed or filled unless "
        "`line_tolerance` is given"
    )

    def unusable(self, config: AgreementConfig) -> dict[str, Any]:
        """A query for polylines without points, with points that are not two finite numbers, and for open lines."""
        point = {"$elemMatch": {"$elemMatch": {"$elemMatch": not_finite(self._largest(config))}}}
        conditions: list[dict[str, Any]] = [
            {"points": {"$not": {"$elemMatch": {"$elemMatch": {"$size": 2}}}}},
            {"points": {"$elemMatch": {"$elemMatch": {"$not": {"$size": 2}}}}},
            {"points": {"$elemMatch": {"$not": {"$type": "array"}}}},
            {"points": point},
        ]
        if not self._takes_lines(config):
            conditions.append({"closed": _NOT_TRUE, "filled": _NOT_TRUE})
        return {"$or": conditions}

    def is_usable(self, label: dict[str, Any], config: AgreementConfig) -> bool:
        """True if there are points, all of two finite numbers, and open lines only if these can be compared."""
        is_region = bool(label.get("closed")) or bool(label.get("filled"))
        usable = are_usable_points(label.get("points"), self._largest(config))
        return usable and (is_region or self._takes_lines(config))

    def painted(self, values: dict[str, list[Any]], config: AgreementConfig) -> float:
        """Area of the boxes around the polygons, in image sizes, if these are compared as pixels."""
        if config.rasterize is None:
            return 0.0
        points, ring, shape, _ = read_points(values["points"], LARGEST_PAINTED)
        bounds = _bounds(points, shape[ring], len(values["points"]))
        return float((bounds[:, 2:] - bounds[:, :2]).prod(axis=1).sum())

    def needs_size(self, config: AgreementConfig) -> bool:
        """Pixels and distances depend on the size of the image, ratios of areas do not."""
        return config.geometry != "box" and (config.rasterize is not None or config.line_tolerance is not None)

    def read(
        self, values: dict[str, list[Any]], config: AgreementConfig, size_px: FloatArray | None
    ) -> tuple[Boxes | Regions, BoolArray]:
        """Boxes, polygons, the pixels of polygons, or lines; unusable ones are empty."""
        n = len(values["points"])
        points, ring, shape, usable = read_points(values["points"], self._largest(config))
        is_region = np.fromiter(
            (bool(closed) or bool(filled) for closed, filled in zip(values["closed"], values["filled"], strict=True)),
            np.bool_,
            n,
        )
        if not self._takes_lines(config):
            usable &= is_region
        if size_px is not None:
            points = points * size_px[shape[ring]]
        if config.geometry == "box":
            return Boxes(_bounds(points, shape[ring], n)), usable
        columns = points, ring, shape
        if config.rasterize is None:
            tangled = tangled_shapes(*columns, n)
            usable &= ~tangled
            columns = _of_shapes(columns, ~tangled)
        if config.rasterize == "pillow":  # the pixels that Pillow fills
            points, ring, shape = _of_shapes(columns, is_region)
            parts = np.split(points, np.flatnonzero(np.diff(ring)) + 1) if len(points) else []
            of_shape: list[list[FloatArray]] = [[] for _ in range(n)]
            for part, number in zip(parts, shape[np.unique(ring)].tolist(), strict=True):
                of_shape[number].append(part)
            regions = Regions.of_masks(MaskCrops.from_crops([pillow_mask(each) for each in of_shape]))
        else:
            regions = Regions.of_polygons(polygons_from_rings(*_of_shapes(columns, is_region), n))
        if self._takes_lines(config) and not is_region.all():
            of_lines = _of_shapes(columns, ~is_region)
            lines = lines_from_points(*of_lines, n, tolerance_px=config.line_tolerance or 0.0)
            regions = regions.joined([Regions.of_lines(lines)]).take(np.arange(n) + np.where(is_region, 0, n))
        return regions, usable

    def _takes_lines(self, config: AgreementConfig) -> bool:
        return config.line_tolerance is not None or config.geometry == "box"

    def _largest(self, config: AgreementConfig) -> float:
        """The largest usable absolute value of a coordinate."""
        return LARGEST if config.rasterize is None or config.geometry == "box" else LARGEST_PAINTED


def _of_shapes(
    columns: tuple[FloatArray, IntArray, IntArray], chosen: BoolArray
) -> tuple[FloatArray, IntArray, IntArray]:
    """The columns of :func:`read_points` of some shapes, whose numbers do not change."""
    points, ring, shape = columns
    rings = chosen[shape]
    rows = rings[ring]
    return points[rows], (np.cumsum(rings) - 1)[ring[rows]], shape[rings]


def are_usable_points(points: object, largest: float) -> bool:
    """True for a list of lists of points ``(x, y)``, at least one point, all finite and within ±largest."""
    if not isinstance(points, list | tuple) or not all(isinstance(ring, list | tuple) for ring in points):
        return False
    every = list(chain.from_iterable(points))
    return bool(every) and all(
        isinstance(point, list | tuple) and len(point) == 2 and all(is_finite(value, largest) for value in point)
        for point in every
    )


def read_points(values: list[Any], largest: float) -> tuple[FloatArray, IntArray, IntArray, BoolArray]:
    """Stored points of ``N`` polylines as columns: vertices ``(V, 2)``, the ring of each, the shape of every ring, and
    which shapes are usable ``(N,)``; the others have no rings."""
    try:
        columns = _point_columns(values, largest)
    except (TypeError, ValueError):  # not all are lists of points: check one by one
        usable = [are_usable_points(points, largest) for points in values]
        columns = _point_columns([points if ok else [] for points, ok in zip(values, usable, strict=True)], largest)
    has_points = np.zeros(len(values), np.bool_)
    has_points[columns[2][columns[1]]] = True
    return *columns, has_points


def _point_columns(values: list[Any], largest: float) -> tuple[FloatArray, IntArray, IntArray]:
    """The columns of points; raises an error for anything unexpected."""
    rings = list(chain.from_iterable(values))
    points = list(chain.from_iterable(rings))
    # strings have a length and elements too
    if not set(map(type, chain(values, rings, points))) <= {list, tuple} or not set(map(len, points)) <= {2}:
        raise ValueError("points must be lists of two coordinates")
    coordinates = finite_numbers(list(chain.from_iterable(points)), largest).reshape(-1, 2)
    ring = np.repeat(np.arange(len(rings)), np.fromiter(map(len, rings), np.int64, len(rings)))
    shape = np.repeat(np.arange(len(values)), np.fromiter(map(len, values), np.int64, len(values)))
    return coordinates, ring, shape


def _bounds(points: FloatArray, shape: IntArray, n: int) -> FloatArray:
    """``(x_min, y_min, x_max, y_max)`` of the points of every shape; zeros without points."""
    low, high = np.full((n, 2), np.inf), np.full((n, 2), -np.inf)
    np.minimum.at(low, shape, points)
    np.maximum.at(high, shape, points)
    bounds = np.hstack([low, high])
    bounds[~np.isfinite(bounds).all(axis=1)] = 0.0
    return bounds
