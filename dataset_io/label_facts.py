"""What the database tells of the labels as a whole, so that only what is there must be read."""

from __future__ import annotations

import dataclasses
from typing import Any

from .geometry_readers import BoxReader
from .kinds import LabelKind
from .shape_readers import InstanceMaskReader
from .source import Source

_HAS_MASK = {"$or": [{"mask": {"$ne": None}}, {"mask_path": {"$ne": None}}]}


def with_masks(source: Source) -> Source:
    """The source, in which detections are read with their masks where there are masks that are to be compared."""
    geometry = source.config.geometry

    def kind_of(field: int, kind: LabelKind) -> LabelKind:
        if not isinstance(kind.geometry, BoxReader) or geometry == "box":
            return kind
        if geometry == "shape" or _any_label(source, field, _HAS_MASK):
            return dataclasses.replace(kind, geometry=InstanceMaskReader())
        return kind

    return dataclasses.replace(source, kinds=tuple(kind_of(field, kind) for field, kind in enumerate(source.kinds)))


def has_crowd(source: Source) -> bool:
    """Whether any label is marked as a crowd region."""
    name = source.config.crowd_attribute
    if name is None:
        return False
    marked = {"$nin": [None, False, 0]}
    condition = {"$or": [{name: marked}, {f"attributes.{name}.value": marked}]}
    return any(_any_label(source, field, condition) for field in range(len(source.kinds)))


def is_crowd(value: object) -> bool:
    """Whether the value of a crowd attribute marks a crowd region."""
    return bool(value) and str(value).lower() not in ("0", "false", "no")


def _any_label(source: Source, field: int, condition: dict[str, Any]) -> bool:
    found = source.aggregate([{"$match": {source.label_paths[field]: {"$elemMatch": condition}}}, {"$limit": 1}])
    return any(True for _ in found)
