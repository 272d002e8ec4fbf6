"""Read the geometry of labels from the database, one reader per label type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar, Protocol

import numpy as np

from ...agreement.settings.config import AgreementConfig
from ...metrics.geometry.boxes import Boxes
from ...metrics.geometry.objects import Geometry
from ...metrics.numeric.arrays import BoolArray, FloatArray

#: numbers with a greater absolute value count as infinite, so that nothing overflows
LARGEST = 1e9

#: a coordinate in shares of the image is at most this, but for rounding
_LARGEST_SHARE = 1.0 + 1e-6

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
        """True if the size of the image must be known, which ratios of areas and times do not depend on."""
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
        """The boxes; masks of other fields can be compared with them."""
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
    return max(map(abs, box)) > _LARGEST_SHARE


def outside_boxes() -> dict[str, Any]:
    """A query for labels whose box :func:`lies_outside`: any of its four numbers."""
    return {"$or": [{"bounding_box": {"$gt": _LARGEST_SHARE}}, {"bounding_box": {"$lt": -_LARGEST_SHARE}}]}


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
