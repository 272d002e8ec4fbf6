"""Change labels of annotators in one sample, or frame, and undo it: in memory, then by one compare-and-swap.

A change is stored as what it was before and after, with the name that decisions give the label. It can be taken back
while the label still has what the change gave it, whatever else became of the label and of its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import bson
import fiftyone as fo
from bson import ObjectId

from ...agreement.settings.options import value_name
from ..labels.kinds import LabelKind
from ..units.changing import MISSING, Write, as_before
from ..units.unit_labels import Stored, labels_in
from .decision_log import ADDED, DELETED, GIVEN, hash_of_label, label_key

#: attributes with the shape of an object within its box
_MASKS = ("mask", "mask_path")


class LabelEdits:
    """The labels of a document, to be changed.

    Args:
        document: the document as it was read
        kinds: type of the labels by field, within the document
    """

    def __init__(self, document: Stored, kinds: Mapping[str, LabelKind]) -> None:
        self.document, self._kinds = document, kinds
        self._labels: dict[str, list[Stored]] = {}  # of the fields that were looked at
        self._places: dict[str, dict[str, int]] = {}  # of the labels of a field by the names that decisions give them
        self._changed: set[str] = set()
        self._without: dict[str, str] = {}  # what a field was before it had labels

    # ---- looking ----

    def of(self, field: str) -> list[Stored]:
        """The labels of a field as they are by now; a plain value as the label that it would be."""
        if field not in self._labels:
            self._labels[field] = list(labels_in(self.document.get(field), self._kinds[field]))
        return self._labels[field]

    def key(self, field: str, label: Stored) -> str:
        """The name that decisions give a label."""
        return label_key(field, label.get("_id"), self._kinds[field])

    def _place(self, key: str) -> tuple[str, int | None]:
        """Field of a label, and its place there; None if it is gone."""
        field = key.rpartition(" ")[0]
        if field not in self._places:
            if field not in self._kinds:
                return field, None
            labels = enumerate(self.of(field))
            places = [(self.key(field, label), at) for at, label in labels if isinstance(label, dict)]
            self._places[field] = dict(reversed(places))  # the first of labels with one id
        return field, self._places[field].get(key)

    def label(self, key: str) -> Stored | None:
        """A label by the name that decisions give it; None if it is gone."""
        field, at = self._place(key)
        return None if at is None else self._labels[field][at]

    def hash(self, key: str) -> str | None:
        """Hash of a label; None if it is gone."""
        label = self.label(key)
        return None if label is None else hash_of_label(label, self._kinds[key.rpartition(" ")[0]])

    def fits(self, key: str, values: Stored) -> bool:
        """True if a label can take the right values: whole numbers, texts, and no box for a mask."""
        label, kind = self.label(key) or {}, self._kinds[key.rpartition(" ")[0]]
        if any(label.get(name) is not None for name in _MASKS) and "bounding_box" in values:
            return any(values.get(name) is not None for name in _MASKS)
        return kind.is_label or _stored_value(kind, {**label, **values}) is not None

    # ---- changing ----

    def _put(self, field: str, at: int, n: int, *labels: Stored) -> None:
        """Put labels in the place of ``n`` others."""
        self.of(field)[at : at + n] = labels
        self._changed.add(field)
        if n != len(labels):
            self._places.pop(field, None)

    def give(self, key: str, values: Stored) -> Stored:
        """Give a label other values; returns the change."""
        field, at = self._place(key)
        label, kind = self._labels[field][at or 0], self._kinds[field]
        if kind.is_number and not kind.is_label:
            values = {"value": _stored_value(kind, values)}
        before = {name: label[name] for name in values if name in label}
        self._put(field, at or 0, 1, {**label, **values})
        return {"what": GIVEN, "key": key, "before": before, "after": dict(values)}

    def delete(self, key: str) -> Stored:
        """Delete a label; returns the change."""
        field, at = self._place(key)
        label = self._labels[field][at or 0]
        self._put(field, at or 0, 1)
        return {"what": DELETED, "key": key, "before": label, "at": at}

    def add(self, field: str, label: Stored) -> Stored:
        """Add a label; returns the change."""
        held = "null" if field in self.document else "missing"
        was = None if isinstance(self.document.get(field), dict) or field in self._changed else held
        self._put(field, len(self.of(field)), 0, label)
        return {"what": ADDED, "key": self.key(field, label), "was": was}

    def can_take_back(self, change: Stored) -> bool:
        """True if the effect of a change on a label is still there."""
        key, label = change["key"], self.label(change["key"])
        field = key.rpartition(" ")[0]
        if field not in self._kinds:
            return False
        if change["what"] == DELETED:
            return label is None and (self._kinds[field].list_name is not None or not self.of(field))
        after = change.get("after", {})
        return label is not None and is_same({name: label.get(name) for name in after}, after)

    def take_back(self, change: Stored) -> None:
        """Undo a change."""
        field, at = self._place(change["key"])
        if change["what"] == DELETED:
            self._put(field, change["at"], 0, change["before"])
        elif change["what"] == GIVEN:
            before, after = change["before"], change["after"]
            label = self._labels[field][at or 0]
            kept = {name: value for name, value in label.items() if name in before or name not in after}
            self._put(field, at or 0, 1, {**kept, **before})
        else:
            self._put(field, at or 0, 1)
            if change["was"] is not None:
                self._without[field] = change["was"]

    # ---- writing ----

    def write(self, decisions: str, log: list[Stored], *unchanged: str) -> Write:
        """The changed fields with a log of decisions, to be written if they are what was read.

        Args:
            decisions: the field of the log
            log: its new entries
            unchanged: other fields that must be what was read
        """
        values: Stored = {decisions: log}
        for field in sorted(self._changed):
            kind, labels = self._kinds[field], self._labels[field]
            if not labels and self._without.get(field) == "missing":
                values[field] = MISSING
            elif kind.list_name is None:
                label = labels[0] if labels else None
                values[field] = label if kind.is_label or label is None else _stored_value(kind, label)
            elif not labels and field in self._without:
                values[field] = None
            else:
                held = self.document.get(field) or {"_cls": kind.stored.__name__}
                values[field] = {**held, kind.list_name: labels}
        return Write(values, as_before(self.document, sorted({*values, *unchanged})), decisions, renews=True)


def new_label(label_type: str, values: Stored) -> Stored:
    """A new label with some values."""
    return {"_id": ObjectId(), "_cls": label_type, "tags": [], **values}


def is_same(one: Any, other: Any) -> bool:
    """True if two stored values are the same; nan is nan."""
    return bson.encode({"": one}) == bson.encode({"": other})


def _stored_value(kind: LabelKind, label: Stored) -> Any:
    """The plain value of a label; None if the field cannot hold it."""
    if kind.is_number:
        value = label.get("value")
        if kind.stored is not fo.IntField or not isinstance(value, float):
            return value
        return int(value) if value.is_integer() else None
    if kind.stored is fo.StringField:
        return label.get("label")
    return {value_name(value): value for value in (True, False)}.get(str(label.get("label")))
