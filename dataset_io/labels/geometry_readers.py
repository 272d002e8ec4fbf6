"""Read the geometry of labels from the database: boxes, keypoints, temporal detections; one reader per label type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar, Protocol

import numpy as np

from ...agreement.settings.config import AgreementConfig
from ...metrics.geometry.boxes import Boxes
from ...metrics.geometry.keypoints import Keypoints
from ...metrics.geometry.objects import Geometry
from ...metrics.geometry.temporal import Intervals
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray

#: numbers with a greater absolute value count as infinite, so that nothing overflows
LARGEST = 1e9

#: largest coordinate in shares of the image, with room for rounding errors
LARGEST_SHARE = 1.0 + 1e-6

#: requirement of a box, for messages
BOX_NUMBERS = f"four finite numbers (to {LARGEST:g}) with a width and height of at least 0"


class GeometryReader(Protocol):
    """Reads the geometry of the labels of one type."""

    columns: ClassVar[dict[str, str]]  #: attributes of a label to read, by their short name in query results
    files: ClassVar[tuple[str, ...]] = ()  #: attributes with paths of files
    requirement: ClassVar[str]  #: requirement of a usable label, for messages

    def unusable(self, config: AgreementConfig) -> dict[str, Any]:
        """A query that finds labels whose geometry cannot be used."""

    def unusable_lists(self, path: str) -> list[dict[str, Any]]:
        """Queries for documents with unusable labels, where :meth:`unusable` (one label at a time) cannot find them."""
        return []

    def painted(self, values: dict[str, list[Any]], config: AgreementConfig) -> float:
        """Upper bound of the pixels painted while reading labels, in image sizes; 0 if nothing is painted."""
        return 0.0

    def is_usable(self, label: dict[str, Any], config: AgreementConfig) -> bool:
        """True if the geometry of a stored label is usable; must agree with :meth:`unusable`."""

    def needs_size(self, config: AgreementConfig) -> bool:
        """True if the size of the image must be known; ratios of areas and times do not depend on it."""
        return False

    def read(
        self, values: dict[str, list[Any]], config: AgreementConfig, size_px: FloatArray | None
    ) -> tuple[Geometry, BoolArray]:
        """The geometry of ``N`` labels, and which of them are usable ``(N,)``.

        Args:
            values: the ``N`` values of every column
            size_px: shape ``(N, 2)``, width and height of every label's image for a geometry in pixels; None for
                relative coordinates
        """

    def boxes(self, values: dict[str, list[Any]], config: AgreementConfig) -> tuple[FloatArray, BoolArray]:
        """Boxes ``(N, 4)`` around ``N`` labels in relative coordinates, and which labels are usable ``(N,)``."""
        geometry, usable = self.read(values, replace(config, geometry="box"), None)
        boxes = geometry.boxes_xyxy()
        return np.zeros((len(usable), 4)) if boxes is None else boxes, usable


@dataclass(frozen=True, slots=True)
class BoxReader(GeometryReader):
    """Bounding boxes of detections."""

    columns: ClassVar[dict[str, str]] = {"box": "bounding_box"}
    requirement: ClassVar[str] = f"Boxes must be {BOX_NUMBERS}"

    def unusable(self, config: AgreementConfig) -> dict[str, Any]:
        """A query for boxes that are not four finite numbers with a width and height of at least 0."""
        return {
            "$or": [
                {"bounding_box": {"$not": {"$size": 4}}},
                {"bounding_box.0": not_finite()},
                {"bounding_box.1": not_finite()},
                {"bounding_box.2": not_finite(lowest=0.0)},
                {"bounding_box.3": not_finite(lowest=0.0)},
            ]
        }

    def is_usable(self, label: dict[str, Any], config: AgreementConfig) -> bool:
        """True if the box is four finite numbers with a width and height of at least 0."""
        return is_usable_box(label.get("bounding_box"))

    def painted(self, values: dict[str, list[Any]], config: AgreementConfig) -> float:
        """Area of the boxes, in image sizes: masks of other fields can be compared with them."""
        return float(sum(box[2] * box[3] for box in values["box"] if is_usable_box(box)))

    def read(
        self, values: dict[str, list[Any]], config: AgreementConfig, size_px: FloatArray | None
    ) -> tuple[Boxes, BoolArray]:
        """The boxes; unusable ones are zero."""
        boxes, usable = read_boxes(values["box"])
        if size_px is not None:
            boxes *= np.tile(size_px, 2)
        return Boxes(to_xyxy(boxes)), usable


def is_usable_box(box: object) -> bool:
    """True for four finite numbers ``(x, y, width, height)`` with a width and height of at least 0."""
    if not isinstance(box, list | tuple) or len(box) != 4:
        return False
    return all(map(is_finite, box)) and bool(box[2] >= 0 and box[3] >= 0)


def lies_outside(box: Sequence[float]) -> bool:
    """True if a box ``(x, y, width, height)`` is beyond its image, as those in pixels are: a number exceeds 1."""
    return max(map(abs, box)) > LARGEST_SHARE


def is_finite(value: object, largest: float = LARGEST) -> bool:
    """True for a finite number of at most this size."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -largest <= value <= largest


def pixels_or_0(length: object) -> float:
    """The width or height of an image; 0 where it is not known, or cannot be one."""
    return float(length) if isinstance(length, int | float) and 0 < length <= LARGEST else 0.0


def not_finite(largest: float = LARGEST, lowest: float | None = None) -> dict[str, Any]:
    """A query for values that are not finite numbers, or lower than the lowest."""
    least = -largest if lowest is None else lowest
    return {"$not": {"$type": ["double", "int", "long"], "$gte": least, "$lte": largest}}


def finite_numbers(values: list[Any], largest: float = LARGEST) -> FloatArray:
    """Values as an array.

    Raises:
        ValueError: if they are not all finite numbers
    """
    # numpy would convert strings and booleans to numbers
    if all(issubclass(kind, int | float) and kind is not bool for kind in set(map(type, values))):
        numbers = np.array(values, np.float64)
        if (np.abs(numbers) <= largest).all():
            return numbers
    raise ValueError(f"`values` must be finite numbers up to {largest:g}, got others")


def read_boxes(values: list[Any]) -> tuple[FloatArray, BoolArray]:
    """Stored boxes as an array ``(N, 4)``, and which are usable; unusable ones are zero."""
    try:
        if set(map(len, values)) <= {4}:
            boxes = finite_numbers(list(chain.from_iterable(values))).reshape(-1, 4)
            usable: BoolArray = np.all(boxes[:, 2:] >= 0, axis=1)
            return np.where(usable[:, None], boxes, 0.0), usable
    except (TypeError, ValueError):
        pass  # not all are lists of numbers: check one by one
    usable = np.fromiter(map(is_usable_box, values), np.bool_, len(values))
    boxes = np.array([box if ok else (0.0,) * 4 for box, ok in zip(values, usable.tolist(), strict=True)], np.float64)
    return boxes.reshape(-1, 4), usable


def to_xyxy(boxes_xywh: FloatArray) -> FloatArray:
    """``(x, y, width, height)`` as ``(x_min, y_min, x_max, y_max)``."""
    boxes = boxes_xywh.copy()
    boxes[:, 2:] += boxes[:, :2]
    return boxes


_LABELLED = {"$gt": -math.inf, "$lt": math.inf}
#: MongoDB integers are at least minus this number, and less than it
_INTEGERS = 1 << 63


@dataclass(frozen=True, slots=True)
class KeypointReader(GeometryReader):
    """Keypoints: points ``(x, y)``, nan or None where a point is not labelled."""

    columns: ClassVar[dict[str, str]] = {"points": "points"}
    requirement: ClassVar[str] = (
        f"Keypoints must have points (x, y) that are finite (to {LARGEST:g}), or nan where not labelled, "
        "at least one labelled, two points or more unless `point_radius` gives a radius around single points (in "
        "pixels, below 1 as a share of the longer side; they have no size by which a distance is small or large), "
        'and, where `sigmas` names a constant for every point ("coco" names 17), as many points as constants'
    )

    def unusable(self, config: AgreementConfig) -> dict[str, Any]:
        """A query for keypoints without a labelled point, with other values than numbers, or of wrong length."""
        not_a_number = {"$not": {"$type": ["number", "null"]}}
        conditions: list[dict[str, Any]] = [
            {"points": {"$not": {"$elemMatch": {"0": _LABELLED, "1": _LABELLED}}}},
            {"points": {"$elemMatch": {"$not": {"$size": 2}}}},
            {"points": {"$elemMatch": {"$elemMatch": {"$gt": LARGEST}}}},
            {"points": {"$elemMatch": {"$elemMatch": {"$lt": -LARGEST}}}},
            {"points": {"$elemMatch": {"$elemMatch": not_a_number}}},
        ]
        n_points = number_of_points(config)
        if n_points is not None:
            conditions.append({"points": {"$not": {"$size": n_points}}})
        if config.point_radius is None:
            conditions.append({"points": {"$size": 1}})
        return {"$or": conditions}

    def is_usable(self, label: dict[str, Any], config: AgreementConfig) -> bool:
        """True if all points are two numbers or nan, at least one is labelled, and their number is right."""
        points: Any = label.get("points")
        usable = are_usable_keypoints(points, number_of_points(config))
        # a single point has no size by which a distance could be small or large
        return usable and (config.point_radius is not None or len(points) > 1)

    def needs_size(self, config: AgreementConfig) -> bool:
        """Yes: relative coordinates distort distances on images that are not square."""
        return True

    def read(
        self, values: dict[str, list[Any]], config: AgreementConfig, size_px: FloatArray | None
    ) -> tuple[Keypoints, BoolArray]:
        """The points in pixels; unusable labels have none."""
        if size_px is None:
            raise ValueError("`size_px` must be given to measure distances, got None")
        points, usable = read_keypoints(values["points"], number_of_points(config))
        if config.point_radius is None:
            stored = zip(values["points"], usable.tolist(), strict=True)
            usable = np.fromiter((ok and len(each) > 1 for each, ok in stored), np.bool_, len(usable))
        points = np.where(usable[:, None, None], points, np.nan) * size_px[:, None, :]
        return Keypoints(points, config.point_sigmas, config.radius_px(size_px)), usable


def number_of_points(config: AgreementConfig) -> int | None:
    """Required number of points of every object; None: any number."""
    sigmas = config.point_sigmas
    return None if isinstance(sigmas, float) else len(sigmas)


def read_keypoints(values: list[Any], n_points: int | None) -> tuple[FloatArray, BoolArray]:
    """Stored keypoints of ``N`` objects as ``(N, L, 2)``, nan where not labelled, and which are usable ``(N,)``."""
    usable: BoolArray | None = None
    try:
        counts = np.fromiter(map(len, values), np.int64, len(values))
        every = list(chain.from_iterable(values))
        if set(map(len, every)) - {2} or set(map(type, chain.from_iterable(every))) - {float, int}:
            raise ValueError("not all are pairs of numbers")
        coordinates = np.fromiter(chain.from_iterable(every), np.float64, 2 * len(every)).reshape(-1, 2)
        if (np.abs(coordinates) > LARGEST).any():
            raise ValueError("not all are finite")
    except (TypeError, ValueError):  # check one by one
        usable = np.fromiter((are_usable_keypoints(points, n_points) for points in values), np.bool_, len(values))
        kept = [points if ok else [] for points, ok in zip(values, usable.tolist(), strict=True)]
        flat = chain.from_iterable(chain.from_iterable(kept))
        coordinates = np.fromiter((math.nan if value is None else value for value in flat), np.float64).reshape(-1, 2)
        counts = np.fromiter(map(len, kept), np.int64, len(kept))
    # padded with nan to the largest number of points
    points = np.full((len(counts), int(counts.max(initial=0)), 2), np.nan)
    column = np.arange(len(coordinates)) - np.repeat(np.cumsum(counts) - counts, counts)
    points[np.repeat(np.arange(len(counts)), counts), column] = coordinates
    if usable is None:
        usable = ~np.all(np.any(np.isnan(points), axis=2), axis=1)
        if n_points is not None:
            usable &= counts == n_points
        points = np.where(usable[:, None, None], points, np.nan)
    if n_points is not None:  # as many columns as there are constants; points of unusable objects are nan anyway
        n_absent = max(0, n_points - points.shape[1])
        points = np.pad(points[:, :n_points], ((0, 0), (0, n_absent), (0, 0)), constant_values=np.nan)
    return points, usable


def are_usable_keypoints(points: object, n_points: int | None) -> bool:
    """True for a list of the required number of points ``(x, y)``, at least one labelled."""
    if not isinstance(points, list | tuple) or (n_points is not None and len(points) != n_points):
        return False
    n_labelled = 0
    for point in points:
        if not isinstance(point, list | tuple) or len(point) != 2:
            return False
        x, y = point
        for value in point:
            if value is not None and (not isinstance(value, int | float) or isinstance(value, bool)):
                return False
            if value is not None and abs(value) > LARGEST:
                return False
        n_labelled += x is not None and y is not None and x == x and y == y  # nan is not equal to itself
    return n_labelled > 0


@dataclass(frozen=True, slots=True)
class TemporalReader(GeometryReader):
    """Temporal detections: intervals ``[first, last]`` of frames, both included."""

    columns: ClassVar[dict[str, str]] = {"support": "support"}
    requirement: ClassVar[str] = "Temporal detections must have a support [first, last] of two integers in this order"

    def unusable(self, config: AgreementConfig) -> dict[str, Any]:
        """A query for supports that are not two integers; :meth:`unusable_lists` finds those in the wrong order."""
        not_an_integer = {"$not": {"$type": ["int", "long"]}}
        return {
            "$or": [{"support": {"$not": {"$size": 2}}}, {"support.0": not_an_integer}, {"support.1": not_an_integer}]
        }

    def unusable_lists(self, path: str) -> list[dict[str, Any]]:
        """A query for documents that have a support that ends before it begins."""
        ends_early = {"$lt": [{"$arrayElemAt": ["$$this.support", 1]}, {"$arrayElemAt": ["$$this.support", 0]}]}
        checked = {"$and": [{"$isArray": "$$this.support"}, ends_early]}
        labels = {"$cond": [{"$isArray": f"${path}"}, f"${path}", []]}
        return [{"$expr": {"$anyElementTrue": {"$map": {"input": labels, "in": checked}}}}]

    def is_usable(self, label: dict[str, Any], config: AgreementConfig) -> bool:
        """True if the support is two integers in ascending order."""
        return is_usable_support(label.get("support"))

    def read(
        self, values: dict[str, list[Any]], config: AgreementConfig, size_px: FloatArray | None
    ) -> tuple[Intervals, BoolArray]:
        """The supports; unusable ones are replaced by one frame."""
        usable = np.fromiter(map(is_usable_support, values["support"]), np.bool_, len(values["support"]))
        supports = [support if ok else (1, 1) for support, ok in zip(values["support"], usable.tolist(), strict=True)]
        frames: IntArray = np.array(supports, np.int64).reshape(-1, 2)
        return Intervals(frames[:, 0], frames[:, 1]), usable


def is_usable_support(support: object) -> bool:
    """True for two integers ``[first, last]`` in ascending order."""
    if not isinstance(support, list | tuple) or len(support) != 2:
        return False
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in support):
        return False
    return bool(-_INTEGERS <= support[0] <= support[1] < _INTEGERS)
