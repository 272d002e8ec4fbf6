"""What matching needs to know of the extent of objects, whatever their kind: which pairs overlap, and how far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray
from .boxes import box_area
from .objects import Objects, Overlaps, box_overlaps

G = TypeVar("G", bound="Geometry")


class Geometry(Protocol):
    """The extent of ``N`` objects, as one or more columns."""

    @property
    def area(self) -> FloatArray:
        """How large every object is, shape ``(N,)``: its area, or length, or number of frames."""

    def __len__(self) -> int:
        """Number of objects."""

    def take(self: G, rows: IntArray | BoolArray) -> G:
        """The extent of some of the objects, by index or mask."""

    def joined(self: G, others: Sequence[G]) -> G:
        """These objects, followed by others of the same kind."""

    def boxes_xyxy(self) -> FloatArray | None:
        """Box around every object, shape ``(N, 4)``, in the geometry's own unit; None if objects have no place."""

    def overlaps(self, objects: Objects) -> Overlaps:
        """The overlapping pairs of objects of different annotators on the same sample."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """Axis-aligned boxes.

    Attributes:
        xyxy: shape ``(N, 4)``, ``(x_min, y_min, x_max, y_max)``, one unit per sample
    """

    xyxy: FloatArray

    def __len__(self) -> int:
        return len(self.xyxy)

    @property
    def area(self) -> FloatArray:
        """Area of every box."""
        return box_area(self.xyxy)

    def boxes_xyxy(self) -> FloatArray:
        """The boxes."""
        return self.xyxy

    def take(self, rows: IntArray | BoolArray) -> Boxes:
        """Some of the boxes."""
        return Boxes(self.xyxy[rows])

    def joined(self, others: Sequence[Boxes]) -> Boxes:
        """These boxes, followed by others."""
        return Boxes(np.concatenate([self.xyxy, *(other.xyxy for other in others)]))

    def overlaps(self, objects: Objects) -> Overlaps:
        """The overlapping pairs; see :func:`~.objects.box_overlaps`."""
        return box_overlaps(objects, self.xyxy)
