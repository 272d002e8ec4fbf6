"""How the labels of every family are read, compared and written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...agreement.family import OBJECTS, PIXELS, RATINGS, TAGS
from ..labels.source import Source
from .objects import ObjectFamily
from .pixels import PixelFamily
from .protocol import LabelFamily
from .ratings import RatingFamily
from .tags import TagFamily

_FAMILIES: dict[str, Callable[[Source], LabelFamily[Any, Any]]] = {
    OBJECTS.name: ObjectFamily,
    RATINGS.name: RatingFamily,
    TAGS.name: TagFamily,
    PIXELS.name: PixelFamily,
}


def open_family(source: Source) -> LabelFamily[Any, Any]:
    """The object that reads, compares and writes the labels of a source."""
    return _FAMILIES[source.family.name](source)
