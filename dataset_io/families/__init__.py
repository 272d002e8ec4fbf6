"""The families of label types, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..labels.source import Source
from .family import Family
from .objects import ObjectFamily
from .pixels import PixelFamily
from .ratings import RatingFamily
from .tags import TagFamily

FAMILIES: dict[str, Callable[[Source], Family[Any, Any]]] = {
    "objects": ObjectFamily,
    "ratings": RatingFamily,
    "numbers": RatingFamily,
    "tags": TagFamily,
    "pixels": PixelFamily,
}
