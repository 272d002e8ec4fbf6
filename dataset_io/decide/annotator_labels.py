"""References of decisions to annotators' labels: by field and id, and by a hash of their content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import bson
from bson import ObjectId
from pymongo.collection import Collection

from ... import names
from ...agreement.settings.options import value_name
from ..labels.kinds import LabelKind
from .stored_decisions import Stored

#: a stored label, and its type
StoredLabel = tuple[Stored, LabelKind]

_BATCH = 1_000


def label_key(field: str, label_id: object, kind: LabelKind) -> str:
    """Name of an annotator's label in decisions: field and id; cloned fields share ids, and plain values have none."""
    return f"{field.removeprefix(names.FRAMES_PREFIX)} {label_id if kind.is_label else 'value'}"


def hash_of_label(label: Stored, kind: LabelKind) -> str:
    """A hash of the class and the geometry, number or mask of a stored label."""
    content = {name: label[name] for name in kind.content if label.get(name) is not None}
    named = label.get("label")
    named = named if named is None or isinstance(named, str) else value_name(named)
    return hashlib.blake2b(bson.encode({"label": named, **content}), digest_size=8).hexdigest()


def stored_labels(
    collection: Collection[Stored], ids: Sequence[ObjectId], kinds: Mapping[str, LabelKind], *, whole: bool = False
) -> dict[ObjectId, dict[str, StoredLabel]]:
    """The labels in some fields of some documents, by document and :func:`label_key`.

    Args:
        collection: the documents
        ids: ids of the documents
        kinds: types of the labels by field
        whole: all attributes of the labels, not only what they say
    """
    wanted: dict[str, bool] = {}
    for name, kind in kinds.items():
        path = kind.label_path(name)
        attributes = ["_id", "_cls", "label", *kind.content]
        every = whole or not kind.is_label
        wanted |= {path: True} if every else {f"{path}.{attribute}": True for attribute in attributes}
    found: dict[ObjectId, dict[str, StoredLabel]] = {each: {} for each in ids}
    for start in range(0, len(ids) if kinds else 0, _BATCH):
        for document in collection.find({"_id": {"$in": list(ids[start : start + _BATCH])}}, wanted):
            for name, kind in kinds.items():
                for label in labels_in(document.get(name), kind):
                    if isinstance(label, dict):
                        found[document["_id"]][label_key(name, label.get("_id"), kind)] = (label, kind)
    return found


def labels_in(held: Any, kind: LabelKind) -> list[Stored]:
    """The labels in a field of a document, as stored; a plain value as the label that it would be."""
    if held is None:
        return []
    if not kind.is_label:
        return [{"value": held} if kind.is_number else {"label": value_name(held)}]
    if not isinstance(held, dict):
        return []
    if kind.list_name is None:
        return [held] if held.get("_cls") else []
    entries = held.get(kind.list_name)
    return entries if isinstance(entries, list) else []
