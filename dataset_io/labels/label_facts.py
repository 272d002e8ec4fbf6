"""Find out which optional parts (masks, crowd, attributes) labels have, so that only these are read."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np
from bson import ObjectId

from ...agreement.settings.errors import AgreementInputError, shown
from ...agreement.statistics.codes import MISSING, ClassCodes, attribute_error
from ...metrics.numeric.arrays import BoolArray, IntArray
from .source import Source

#: BSON types that values of compared attributes must not have
NOT_COMPARED = ["array", "object", "objectId", "date", "timestamp", "binData", "regex", "decimal"]
_HAS_MASK = {"$or": [{"mask": {"$ne": None}}, {"mask_path": {"$ne": None}}]}


@dataclass(frozen=True, slots=True)
class LabelFacts:
    """Optional parts that the labels of a source have."""

    masks: frozenset[int]  #: indices of fields with instance masks to compare
    crowd: bool  #: whether any label is marked as a crowd region


def label_facts(source: Source) -> LabelFacts:
    """Look for masks and crowd regions: one query for all fields, then one per field if any are found."""
    config = source.config
    fields = range(len(source.kinds))
    boxed = [field for field in fields if source.kinds[field].mask_geometry is not None]
    masks = [(field, _HAS_MASK) for field in boxed if config.geometry == "auto"]
    crowd: list[tuple[int, dict[str, Any]]] = []
    if config.crowd_attribute is not None:
        crowd = [(field, _where(config.crowd_attribute, {"$nin": [None, False, 0]})) for field in fields]
    shaped = frozenset(boxed) if config.geometry == "shape" else frozenset[int]()
    if not _any_label(source, [*masks, *crowd]):
        return LabelFacts(shaped, crowd=False)
    found = frozenset(field for field, condition in masks if _any_label(source, [(field, condition)]))
    return LabelFacts(shaped | found, _any_label(source, crowd))


def with_masks(source: Source, facts: LabelFacts) -> Source:
    """The source with readers for masks on the given fields."""
    kinds = [
        dataclasses.replace(kind, geometry=kind.mask_geometry) if field in facts.masks else kind
        for field, kind in enumerate(source.kinds)
    ]
    return dataclasses.replace(source, kinds=tuple(kinds))


def value_of(attribute: str) -> dict[str, Any]:
    """Expression for an attribute of the label ``$$this`` (dynamic or in ``attributes``); None if absent."""
    # a plain "$path.attribute" would skip labels without the attribute and shift the others
    return {"$ifNull": [*(f"$$this.{place}" for place in _places(attribute)), None]}


def _places(attribute: str) -> tuple[str, str]:
    return attribute, f"attributes.{attribute}.value"


def _where(attribute: str, condition: dict[str, Any]) -> dict[str, Any]:
    """Condition on an attribute in either place where FiftyOne may store it."""
    return {"$or": [{place: condition} for place in _places(attribute)]}


def check_attributes(source: Source, *, needed: bool = True) -> None:
    """Refuse attributes that no label has (if they are needed), or with values that cannot be compared."""
    fields = range(len(source.kinds))
    for attribute in source.config.attributes:
        if needed and not _any_label(source, [(field, _where(attribute, {"$ne": None})) for field in fields]):
            raise AgreementInputError(
                f"`attributes` must be found on labels, got {attribute!r}, which no label of "
                f"{shown(source.config.fields)} has"
            )
        if _any_label(source, [(field, _where(attribute, {"$type": NOT_COMPARED})) for field in fields]):
            raise attribute_error(attribute)


def codes_of(codes: ClassCodes, classes: Sequence[Any]) -> IntArray:
    """The codes of the classes of labels; those of damaged labels, which are left out, are arbitrary."""
    if set(map(type, classes)) <= {str, NoneType}:
        return np.fromiter(map(codes.__getitem__, classes), np.int64, len(classes))
    found = (codes[name] if is_class(name) else MISSING for name in classes)
    return np.fromiter(found, np.int64, len(classes))


def is_class(value: object) -> bool:
    """True if a value can be the class of a label: a text, a number, true or false, or none."""
    return value is None or isinstance(value, str | int | float)


def are_labels(ids: Sequence[Any], classes: Sequence[Any]) -> BoolArray:
    """True for entries of lists that are labels, with an id and a class, shape ``(N,)``."""
    if set(map(type, ids)) <= {ObjectId} and set(map(type, classes)) <= {str, NoneType}:
        return np.ones(len(ids), np.bool_)
    found = (label_id is not None and is_class(name) for label_id, name in zip(ids, classes, strict=True))
    return np.fromiter(found, np.bool_, len(ids))


def is_crowd(value: object) -> bool:
    """True if the value of a crowd attribute marks a crowd region."""
    return bool(value) and str(value).lower() not in ("0", "false", "no")


def _any_label(source: Source, wanted: Iterable[tuple[int, dict[str, Any]]]) -> bool:
    """True if any label of a field meets the condition for that field."""
    conditions = [{source.label_paths[field]: {"$elemMatch": condition}} for field, condition in wanted]
    return bool(conditions) and source.has_any({"$or": conditions})
