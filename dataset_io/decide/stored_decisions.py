"""Stored format of decisions in the log, the check when it is read, and references to annotators' labels.

Anybody can change the database. :func:`is_log` is the only place that checks, for
:class:`~.decision_log.DecisionLog`, which refuses a log that something else changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from itertools import repeat
from types import NoneType
from typing import Any, Literal, get_args

import bson
from bson import ObjectId
from pymongo.collection import Collection

from ... import names
from ...agreement.settings.options import value_name
from ..labels.checks import is_class
from ..labels.kinds import LabelKind
from ..record.gold_fields import APPLIED

#: what can be decided on an object: an annotator's label is right, or the consensus, or a label of one's own; there is
#: no object; or it is left for later
Choice = Literal["version", "consensus", "own", "none", "skip"]

_CHOICES = get_args(Choice)
_MISSING = object()

#: a stored decision, or label
Stored = dict[str, Any]

#: entry of a decision that says whether a rule decided, and not somebody on an object that they named; decisions of
#: earlier versions have none
BY_RULE = "by_rule"

#: entries of a decision whose place another one took: the id of that one, and the label that it had
REPLACED_BY, LABEL = "replaced_by", "label"

#: entry of a decision with the label in the place of its own on which nobody had decided
BEFORE = "before"

#: what was done to a label
GIVEN, DELETED, ADDED = "given", "deleted", "added"

#: types of the entries of a decision
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("id", "choice", "unit", "run_key", "decided_by", "step"), (str,)),
    **dict.fromkeys(("annotator", "verdict", "remark", "gold_hash"), (str, NoneType)),
    **dict.fromkeys(("labels", "hashes", "classes", "asked"), (list,)),
    "decided_at": (datetime,),
    "gold_id": (ObjectId, NoneType),
}
#: the same for entries that only some decisions have
_TYPES_OF_KEPT: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("written", LABEL, BEFORE), (NoneType, dict)),
    REPLACED_BY: (NoneType, str),
    APPLIED: (NoneType, list),
}
#: the same for what was done to apply a decision, and for every change of a label
_TYPES_OF_PART: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("step", "by"), (str,)),
    "at": (datetime,),
    **dict.fromkeys(("labels", "hashes", "fields", "changes"), (list,)),
}
_TYPES_OF_CHANGES: dict[str, dict[str, tuple[type, ...]]] = {
    GIVEN: {"before": (dict,), "after": (dict,)},
    DELETED: {"before": (dict,), "at": (int,), "of_runs": (list,)},
    ADDED: {"was": (str, NoneType)},
}


# ---- reading ----


def is_log(held: Any, entries: Any, kind: LabelKind) -> bool:
    """True if a field of decisions, and the log beside it, hold what the plugin, or the App, stores there.

    Args:
        held: what the field holds; None without one
        entries: what is stored as the log; None without one
        kind: type of the labels in the field
    """
    if not isinstance(held, dict | NoneType) or not isinstance(entries, list | NoneType):
        return False
    if held is not None and kind.list_name is not None and not isinstance(held.get(kind.list_name), list | NoneType):
        return False
    return all(map(is_decision, entries or ())) and all(
        isinstance(each, dict) and isinstance(each.get("_id"), ObjectId) and is_class(each.get("label"))
        for each in labels_in(held, kind)
    )


def is_decision(entry: Any) -> bool:
    """True if an entry has all that a decision has."""
    if not _has(entry, _TYPES) or entry["choice"] not in _CHOICES or not _has_hashes(entry):
        return False
    if not _are_texts(entry["classes"]) or not _are_texts(entry["asked"]):
        return False
    if not all(isinstance(entry[name], wanted) for name, wanted in _TYPES_OF_KEPT.items() if name in entry):
        return False
    for part in entry.get(APPLIED) or ():
        if not _has(part, _TYPES_OF_PART) or not _has_hashes(part) or not _are_texts(part["fields"]):
            return False
        for change in part["changes"]:
            if not _has(change, dict.fromkeys(("what", "key", "annotator"), (str,))):
                return False
            types = _TYPES_OF_CHANGES.get(change["what"])
            if types is None or not _has(change, types):
                return False
    return True


def _has(entry: Any, types: Mapping[str, tuple[type, ...]]) -> bool:
    """True if an entry is a document with values of some types."""
    if not isinstance(entry, dict):
        return False
    return all(map(isinstance, map(entry.get, types, repeat(_MISSING)), types.values()))


def _has_hashes(entry: Stored) -> bool:
    """True if every label that an entry names has a hash."""
    labels, hashes = entry["labels"], entry["hashes"]
    return len(labels) == len(hashes) and _are_texts(labels) and _are_texts(hashes)


def _are_texts(values: Sequence[Any]) -> bool:
    return {*map(type, values)} <= {str}


def is_by_rule(decision: Stored, steps_by_rule: Set[str]) -> bool:
    """True if a rule decided.

    Args:
        decision: the decision as stored
        steps_by_rule: steps of a rule among the decisions that do not say
    """
    said = decision.get(BY_RULE)
    return said if isinstance(said, bool) else decision["step"] in steps_by_rule


def applied_changes(decision: Stored) -> list[Stored]:
    """Changes of labels that applied a decision, in their order."""
    return [change for part in decision.get(APPLIED) or () for change in part["changes"]]


def added_labels(decision: Stored) -> dict[str, str]:
    """Annotators of the labels that were added to apply a decision, by the names of the labels in decisions."""
    return {each["key"]: each["annotator"] for each in applied_changes(decision) if each["what"] == ADDED}


def is_opened(decision: Stored) -> bool:
    """True if nothing is decided yet: its label is only there to be edited in the App."""
    return decision["choice"] == "skip" and decision["gold_id"] is not None


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
