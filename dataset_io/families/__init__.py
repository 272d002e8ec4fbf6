"""Families of label types: reading, comparing and writing their labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...agreement.families.family import OBJECTS, PIXELS, RATINGS, TAGS
from ...agreement.statistics.report import ReportContext
from ..labels.source import Source
from .objects import ObjectFamily
from .pixels import PixelFamily, write_map
from .protocol import LabelFamily
from .ratings import RatingFamily
from .tags import TagFamily

_FAMILIES: dict[str, Callable[[Source, ReportContext | None], LabelFamily[Any, Any]]] = {
    OBJECTS.name: ObjectFamily,
    RATINGS.name: RatingFamily,
    TAGS.name: TagFamily,
    PIXELS.name: PixelFamily,
}


def open_family(source: Source, known: ReportContext | None = None) -> LabelFamily[Any, Any]:
    """The object that reads, compares and writes the labels of a source.

    Args:
        source: the labels
        known: facts about all labels of a run, if these are only some of its samples (of an update, or a shard)

    Raises:
        WholeRunNeededError: if the other samples must be compared again, too
    """
    return _FAMILIES[source.family.name](source, known)
