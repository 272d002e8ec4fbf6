"""Log of decisions of one sample, or frame, and its projection, the labels; written by compare-and-swap.

**What is stored.** Beside the field of decisions (``agreement_gold``) stands its log (``agreement_gold_decisions``), a
list of entries in the order in which they were made. An entry says who decided what, when and why, and about which
labels: it names them by field and id, with a hash of what each said. So it outlives runs, and tells when a label was
changed since. What was done to the annotators' labels to apply it stands in it as ``applied``, a part for every step,
with each label before and after. No entry holds another one: an object can be decided any number of times.

**Projection.** An entry whose place another one took names that one (``replaced_by``) and keeps the label that it had
(``label``). All others are current, and an object has one current entry. The field holds the labels of the current
entries (``gold_id``), besides labels that somebody drew there and nobody recorded yet.

**Undo** takes the entries of a step out of the log. Those whose place they took are current again, with their labels;
so the sample is what it was before, exactly. An entry that is applied stays until that was taken back, the last part
first.

**Writing** is a compare-and-swap: a sample is read, both lists are computed here, and one update writes them on
condition that both are what was read. Applying, and taking that back, writes the annotators' labels in the same
update, on condition that these, too, are what was read. Whoever is refused reads the sample again. Deciding leaves the
time stamp of the sample, as the App loses edits of a sample that others give a new one; changing labels renews it, so
that runs see it.

**Failures.** A process that is killed before a write leaves the sample as it was, after it, whole; what a step did to
other samples can be undone as this step. Two processes on one object: one is refused, and finds the decision of the
other when it reads again; so it is with an edit in the App, of which nothing is lost. Where the field was deleted
meanwhile, what was written is removed again. A sample that would pass 16 MB stays as it was, and is named.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import repeat
from typing import Any, Literal, get_args

import bson
from bson import ObjectId
from pymongo.collection import Collection

from ... import names
from ...agreement.settings.errors import AgreementInputError
from ...agreement.settings.options import value_name
from ..labels.checks import is_class
from ..labels.kinds import LabelKind
from ..record.gold_fields import APPLIED, GoldField
from ..units.changing import BATCH, MISSING, Write, as_before
from ..units.unit_labels import Stored, labels_in

#: what can be decided on an object: an annotator's label is right, or the consensus, or a label of one's own; there is
#: no object; or it is left for later
Choice = Literal["version", "consensus", "own", "none", "skip"]

_CHOICES = get_args(Choice)

#: entry of a decision that says whether a rule decided, and not somebody on an object that they named
BY_RULE = "by_rule"

#: entries of a decision whose place another one took: the id of that one, and the label that it had
REPLACED_BY, LABEL = "replaced_by", "label"

#: entry of a decision with the label in the place of its own on which nobody had decided
BEFORE = "before"

#: what was done to a label
GIVEN, DELETED, ADDED = "given", "deleted", "added"

_NAMED = {"labels": list, "hashes": list}
#: types of the entries of a decision; of entries that only some have; of a part that applied it; and of its changes
_DECISION = {
    **dict.fromkeys(("id", "choice", "unit", "run_key", "decided_by", "step"), str),
    **dict.fromkeys(("annotator", "verdict", "remark", "gold_hash"), str | None),
    **_NAMED,
    "classes": list,
    "asked": list,
    BY_RULE: bool,
    "decided_at": datetime,
    "gold_id": ObjectId | None,
}
_OF_SOME = {**dict.fromkeys(("written", LABEL, BEFORE), dict | None), REPLACED_BY: str | None, APPLIED: list | None}
_PART = {**_NAMED, "step": str, "by": str, "at": datetime, "fields": list, "changes": list}
_CHANGES: dict[str, dict[str, Any]] = {
    GIVEN: {"before": dict, "after": dict},
    DELETED: {"before": dict, "at": int, "of_runs": list},
    ADDED: {"was": str | None},
}


# ---- reading ----


def _is_decision(entry: Any) -> bool:
    """True if an entry has all that a decision has."""
    if not _has(entry, _DECISION) or "replaced" in entry or entry["choice"] not in _CHOICES:
        return False
    if not all(isinstance(entry[name], wanted) for name, wanted in _OF_SOME.items() if name in entry):
        return False
    parts = entry.get(APPLIED) or ()
    return all(_has(part, _PART) for part in parts) and all(
        _has(change, dict.fromkeys(("what", "key", "annotator"), str)) and _has(change, _CHANGES.get(change["what"]))
        for part in parts
        for change in part["changes"]
    )


def _has(entry: Any, types: Mapping[str, Any] | None) -> bool:
    """True if an entry is a document with values of some types, texts in its lists, and a hash of every label."""
    if types is None or not isinstance(entry, dict):
        return False
    if not all(map(isinstance, map(entry.get, types, repeat(MISSING)), types.values())):
        return False
    texts = [entry[name] for name in ("labels", "hashes", "classes", "asked", "fields") if name in types]
    return {type(each) for values in texts for each in values} <= {str} and (
        "labels" not in types or len(entry["labels"]) == len(entry["hashes"])
    )


def applied_changes(decision: Stored) -> list[Stored]:
    """Changes of labels that applied a decision, in their order."""
    return [change for part in decision.get(APPLIED) or () for change in part["changes"]]


def is_opened(decision: Stored) -> bool:
    """True if nothing is decided yet: its label is only there to be edited in the App."""
    return decision["choice"] == "skip" and decision["gold_id"] is not None


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
    collection: Collection[Stored], ids: Sequence[ObjectId], kinds: Mapping[str, LabelKind]
) -> dict[ObjectId, dict[str, tuple[Stored, LabelKind]]]:
    """What the labels in some fields of some documents say, and their types, by document and :func:`label_key`."""
    wanted: dict[str, bool] = {}
    for name, kind in kinds.items():
        path, said = kind.label_path(name), ("_id", "_cls", "label", *kind.content)
        wanted |= {f"{path}.{attribute}": True for attribute in said} if kind.is_label else {path: True}
    found: dict[ObjectId, dict[str, tuple[Stored, LabelKind]]] = {each: {} for each in ids}
    for start in range(0, len(ids) if kinds else 0, BATCH):
        for document in collection.find({"_id": {"$in": list(ids[start : start + BATCH])}}, wanted):
            for name, kind in kinds.items():
                for label in labels_in(document.get(name), kind):
                    if isinstance(label, dict):
                        found[document["_id"]][label_key(name, label.get("_id"), kind)] = (label, kind)
    return found


class DecisionLog:
    """Decisions on a sample, or frame: the log, and the labels in the field of decisions.

    Args:
        gold: the field of decisions
        kind: type of its labels
        document: the document as stored, or both fields of it

    Attributes:
        entries: the log
        labels: the labels in the field

    Raises:
        AgreementInputError: if something else changed what is stored
    """

    def __init__(self, gold: GoldField, kind: LabelKind, document: Stored) -> None:
        self._names, self._kind, self._document = (gold.name, gold.decisions), kind, document
        held, entries = map(document.get, self._names)
        labels = labels_in(held, kind)
        is_ours = isinstance(held, dict | None) and isinstance(entries, list | None)
        if is_ours and held is not None and kind.list_name is not None:
            is_ours = isinstance(held.get(kind.list_name), list | None)
        if not (is_ours and all(map(_is_decision, entries or ()))) or not all(
            isinstance(each, dict) and isinstance(each.get("_id"), ObjectId) and is_class(each.get("label"))
            for each in labels
        ):
            raise AgreementInputError(
                f"The decisions in `{gold.name}` were changed by something else, or made by an earlier version; delete "
                f"them with run.decisions.delete(gold={gold.name!r}) and decide again"
            )
        self.entries: list[Stored] = list(entries or ())
        self.labels: list[Stored] = list(labels)

    # ---- reading ----

    @property
    def decisions(self) -> list[Stored]:
        """The current decisions, in the order in which they were made."""
        return [each for each in self.entries if REPLACED_BY not in each]

    def is_edited(self, decision: Stored) -> bool:
        """True if the label of a decision was edited or deleted since it was written."""
        if decision["gold_id"] is None:
            return False
        at = self._position(decision["gold_id"])
        return at is None or hash_of_label(self.labels[at], self._kind) != decision["gold_hash"]

    def _position(self, label_id: ObjectId | None) -> int | None:
        found = enumerate(self.labels if label_id is not None else ())
        return next((at for at, label in found if label["_id"] == label_id), None)

    # ---- changing ----

    def add(
        self,
        facts: Stored,
        label: Stored | None,
        said: Stored,
        basis: str | None,
        replaces: Sequence[Stored] = (),
        read: Stored | None = None,
        written: Stored | None = None,
    ) -> None:
        """Add a decision, and its label with what it repeats of the decision.

        Args:
            facts: facts of the object: its labels and their hashes, classes, and assigned annotators
            label: what is right, as stored; None if there is no object, or nothing was decided yet
            said: who decided what, when and why
            basis: whose label it is, or what else was chosen
            replaces: the decisions whose place it takes
            read: label in the field whose place in the list the label takes
            written: label of the decision that it replaces, as it was before somebody edited it; None: not known
        """
        decision = {**facts, **said, "id": str(ObjectId()), "gold_id": None, "gold_hash": None}
        if label is not None:
            same = {name: decision[name] for name in ("decided_by", "decided_at", "unit", "remark")}
            label = {"basis_id": None, **label, **same, "decision": decision["choice"], "basis": basis}
            decision |= {"gold_id": label["_id"], "gold_hash": hash_of_label(label, self._kind)}
        place = None if read is None else self._position(read["_id"])
        replaced = {each["id"] for each in replaces}
        is_single = self._kind.list_name is None
        after: list[Stored] = []
        for entry in self.entries:
            if entry["id"] not in replaced:
                after.append(entry)
                continue
            # of a field with one label it is the label, whoever drew it
            at = 0 if is_single and self.labels and read is None else self._position(entry["gold_id"])
            was = written or (None if at is None else self.labels[at])
            if at is not None and at != place:
                del self.labels[at]
                place = place if place is None or place < at else place - 1
            if not is_opened(entry):
                after.append({**entry, REPLACED_BY: decision["id"], **({} if was is None else {LABEL: was})})
            else:  # undo brings back what was there before the form was opened
                by_this = {REPLACED_BY: decision["id"]}
                after = [each | by_this if each.get(REPLACED_BY) == entry["id"] else each for each in after]
                decision |= {BEFORE: entry[BEFORE]} if BEFORE in entry else {}
        self.entries = [*after, decision]
        if is_single and self.labels:
            place = 0
            if not replaced and read is None:
                decision[BEFORE] = self.labels[0]
        if place is not None:
            self.labels[place : place + 1] = [] if label is None else [label]
        elif label is not None:
            self.labels.append(label)

    def undo(self, step: str, *, unedited: bool = False) -> int:
        """Undo the decisions of a step that are not applied; returns their number.

        Args:
            step: the step
            unedited: only decisions whose labels are as they were kept before somebody could edit them
        """
        gone = [
            each for each in self.decisions
            if each["step"] == step and not each.get(APPLIED) and (not unedited or each.get("written") in self.labels)
        ]  # fmt: skip
        for decision in gone:
            entries, labels = list[Stored](), list[Stored]()
            for each in self.entries:
                if each.get(REPLACED_BY) == decision["id"]:  # it is current again
                    labels += [each[LABEL]] if LABEL in each else []
                    entries.append({name: each[name] for name in each if name not in (REPLACED_BY, LABEL)})
                elif each is not decision:
                    entries.append(each)
            if (at := self._position(decision["gold_id"])) is not None:
                del self.labels[at]
            self.entries = entries
            self.labels += labels + ([decision[BEFORE]] if BEFORE in decision else [])
        return len(gone)

    # ---- writing ----

    def write(self) -> Write:
        """Both fields, to be written if they are what was read; ``MISSING``, as before the first decision, if empty."""
        kind, held = self._kind, MISSING
        if kind.list_name is None:
            held = self.labels[-1] if self.labels else MISSING
        elif self.labels or self.entries:  # an empty list says that somebody looked, and there is nothing
            before = self._document.get(self._names[0]) or {}
            held = {"_cls": kind.stored.__name__, **before, kind.list_name: self.labels}
        values = dict(zip(self._names, (held, self.entries or MISSING), strict=True))
        return Write(values, as_before(self._document, self._names), self._names[1])
