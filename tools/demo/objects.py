"""The true objects of a scene: their classes, boxes and outlines."""

from __future__ import annotations

from dataclasses import dataclass

from shapely import Polygon

#: ``(x_min, y_min, x_max, y_max)`` in pixels
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class TrueObject:
    """One object that is visible on an image; the box and the outline, which may have holes, are in its pixels."""

    label: str
    box_xyxy: Box
    outline: Polygon


def box_area(box_xyxy: Box) -> float:
    """Area of a box in square pixels."""
    return (box_xyxy[2] - box_xyxy[0]) * (box_xyxy[3] - box_xyxy[1])
