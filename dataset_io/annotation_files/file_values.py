"""Values in annotation files: numbers, ids, sizes and attributes, and the outlines of turned boxes and ellipses."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

Point = tuple[float, float]

#: a keypoint that is not labelled
ABSENT: Point = (math.nan, math.nan)
#: an ellipse becomes a polygon of so many corners, with 99.8 % of its area
_CORNERS_OF_ELLIPSE = 64
#: pixels of the longest side that an image can have
_LONGEST_SIDE = 2**31


def as_number(value: object) -> float | None:
    """A finite number; None for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf:
        return float(value)
    return None


def number_in(value: object) -> float | None:
    """A finite number, also one that is spelt as a text, with a point or a comma; None for anything else.

    A text with a comma before three digits is no number: the comma may separate thousands.
    """
    if isinstance(value, str):
        text = value.strip()
        if re.fullmatch(r"[+-]?\d*,\d+", text) and not may_be_thousands(text):
            text = text.replace(",", ".")
        if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) or len(text) > 400:
            return None
        value = float(text)
    return as_number(value)


def may_be_thousands(value: object) -> bool:
    """True for a text with a comma that is decimal or separates thousands."""
    return isinstance(value, str) and bool(re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", value.strip()))


def id_text(value: object) -> str:
    """An id, which is the same whether it is spelt as a number or as a text."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def stored_size(width: object, height: object) -> tuple[int, int] | None:
    """The size of an image in pixels, from values in a file; None if no image can have it."""
    sides = [number_in(width) or 0.0, number_in(height) or 0.0]
    return (int(sides[0]), int(sides[1])) if min(sides) >= 1 and max(sides) <= _LONGEST_SIDE else None


def plain_attributes(values: dict[str, Any], without: Iterable[str] = ()) -> dict[str, Any]:
    """The entries that labels can have as attributes: texts, numbers, true or false."""
    left_out = set(without)
    return {str(name): value for name, value in values.items()
            if name not in left_out and (isinstance(value, str | bool) or as_number(value) is not None)}  # fmt: skip


def whole_characters(text: str) -> str:
    """A text that can be shown: halves of surrogate pairs become their codes."""
    return text.encode("utf-8", "backslashreplace").decode()


def turned(offsets: Iterable[Point], x: float, y: float, degrees: float) -> list[Point]:
    """Points at offsets from a centre, turned clockwise about it."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return [(x + a * cos - b * sin, y + a * sin + b * cos) for a, b in offsets]


def ellipse_ring(x: float, y: float, radius_x: float, radius_y: float, degrees: float) -> list[Point]:
    """The corners of a polygon for an ellipse that is turned clockwise about its centre."""
    turns = (2 * math.pi * k / _CORNERS_OF_ELLIPSE for k in range(_CORNERS_OF_ELLIPSE))
    return turned(((radius_x * math.cos(turn), radius_y * math.sin(turn)) for turn in turns), x, y, degrees)
