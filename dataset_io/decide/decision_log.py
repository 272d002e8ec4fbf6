"""Decisions on one sample, or frame: the log, the current decisions and their labels; edits of annotators' labels.

**What is stored.** Beside the field of decisions (``agreement_gold``) is its log (``agreement_gold_decisions``), a list
of entries in the order in which they were made. An entry says who decided what, when and why, and on which labels: it
names the labels by field and id, with a hash of the class and geometry of each. So decisions outlive runs, and show
whether a label was changed since. The changes of the annotators' labels that applied a decision are in its entry as
``applied``, one part for every step. No entry contains another one: an object can be decided any number of times.

**Current decisions.** An entry that was replaced names its successor (``replaced_by``) and keeps its own label
(``label``). All other entries are current, and an object has one current entry. The field holds the labels of the
current entries (``gold_id``), and labels that somebody drew there and nobody recorded yet.

**Undo** deletes the entries of a step from the log. The entries that they replaced are current again, with their
labels, so that the sample is exactly what it was before. An applied entry stays until its changes of labels are undone,
those of the last part first.

**Writing** is a compare-and-swap: a sample is read, both lists are computed here, and one update writes them on
condition that both are what was read. Applying decisions, and undoing that, writes the annotators' labels in the same
update, on condition that they, too, are what was read. If the update is refused, the sample is read again. Deciding
does not renew the time stamp of a sample: the App would lose edits of the sample that are open there. Changing labels
renews it, so that runs see the change.

**Failures.** A process that is killed leaves a sample as it was before a write or as it is after it, never between;
what the step wrote to other samples can be undone with the step. If two processes decide on one object, one is refused,
and finds the other's decision when it reads again; no edit in the App is lost either. If the field was deleted
meanwhile, what was written is deleted again. A sample that would pass 16 MB stays as it was, and the error names it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, get_args

import bson
import fiftyone as fo
from bson import ObjectId

from ... import names
from ...agreement.settings.errors import AgreementInputError
from ...agreement.settings.options import value_name
from ..labels.checks import is_class
from ..labels.kinds import LabelKind
from ..record.gold_fields import APPLIED, GoldField
from ..units.changing import MISSING, Write, as_before
from ..units.unit_labels import Stored, labels_in

#: what can be decided on an object: an annotator's label is right, or the consensus, or a label of one's own; there is
#: no object; or it is left for later
Choice = Literal["version", "consensus", "own", "none", "skip"]

_CHOICES = get_args(Choice)

#: key of a decision: whether a rule decided, and not a person on an object named by id
BY_RULE = "by_rule"

#: keys of a replaced decision: the id of its successor, and the label that the decision had
REPLACED_BY, LABEL = "replaced_by", "label"

#: key of a decision in a field of one label: the label before, on which nobody had decided
BEFORE = "before"

#: what was done to a label
GIVEN, DELETED, ADDED = "given", "deleted", "added"

#: attributes with a mask
_MASKS = ("mask", "mask_path")

#: types of the values of a decision, by key; of those that only some have; of a part of ``applied``; of its changes
_NAMED = {"labels": [str], "hashes": [str]}
_DECISION = {
    **dict.fromkeys(("id", "choice", "unit", "run_key", "decided_by", "step"), str),
    **dict.fromkeys(("annotator", "verdict", "remark", "gold_hash"), str | None),
    **_NAMED,
    "classes": [str],
    "asked": [str],
    BY_RULE: bool,
    "decided_at": datetime,
    "gold_id": ObjectId | None,
}
_CHANGE = dict.fromkeys(("what", "key", "annotator"), str)
_PART = {**_NAMED, "step": str, "by": str, "at": datetime, "fields": [str], "changes": [_CHANGE]}
_OF_SOME = {**dict.fromkeys(("written", LABEL, BEFORE), dict), REPLACED_BY: str, APPLIED: [_PART]}
_CHANGES: dict[str, dict[str, Any]] = {
    GIVEN: {"before": dict, "after": dict},
    DELETED: {"before": dict, "at": int, "of_runs": list},
    ADDED: {"was": str | None},
}


def _is_decision(entry: Any) -> bool:
    """True if an entry has all values of a decision, of the right types, and as many hashes as labels."""
    if not _fits(entry, _DECISION) or "replaced" in entry or entry["choice"] not in _CHOICES:
        return False
    if not all(entry.get(key) is None or _fits(entry[key], shape) for key, shape in _OF_SOME.items()):
        return False
    return all(len(each["labels"]) == len(each["hashes"]) for each in (entry, *(entry.get(APPLIED) or ()))) and all(
        change["what"] in _CHANGES and _fits(change, _CHANGES[change["what"]]) for change in applied_changes(entry)
    )


def _fits(value: Any, shape: Any) -> bool:
    """True if a value is of a type; a list, if all in it are; a dictionary, if its values by key are."""
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(each, shape[0]) for each in value)
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(_fits(value.get(key, MISSING), each) for key, each in shape.items())
    return isinstance(value, shape)


def applied_changes(decision: Stored) -> list[Stored]:
    """The changes of labels by which a decision was applied, in their order."""
    return [change for part in decision.get(APPLIED) or () for change in part["changes"]]


def is_opened(decision: Stored) -> bool:
    """True if an entry decides nothing yet: its label was only written to be edited in the App."""
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


class DecisionLog:
    """A sample, or frame, with decisions: its log (``entries``), and the labels of some fields, to be changed.

    A change of an annotator's label is stored as the values before and after it, with the name of the label in
    decisions. It can be undone as long as the label has the values that the change gave it, even if other values of it,
    or other labels, were changed.

    Args:
        gold: the field of decisions, with labels of type ``kind``
        document: the two fields of decisions, and the annotators', as they were read
        kinds: types of the annotators' fields that are asked for or change

    Raises:
        AgreementInputError: if something else changed what is stored
    """

    def __init__(
        self, gold: GoldField, kind: LabelKind, document: Stored, kinds: Mapping[str, LabelKind] | None = None
    ) -> None:
        self.document, self._gold, self._kind, self._kinds = document, gold, kind, {**(kinds or {}), gold.name: kind}
        #: labels by field, with the changes so far; a plain value as if it were a label
        self.of = {field: list(labels_in(document.get(field), kind)) for field, kind in self._kinds.items()}
        self.labels = self.of[gold.name]  #: those in the field of decisions
        self._places: dict[str, dict[str, int]] = {}  # of labels, by field and name in decisions
        self._changed: set[str] = set()
        self._without: dict[str, str] = {}  # of emptied fields: "null" or "missing", as before
        held, entries = document.get(gold.name), document.get(gold.decisions)
        is_ours = isinstance(held, dict | None) and isinstance(entries, list | None)
        if is_ours and held is not None and kind.list_name is not None:
            is_ours = isinstance(held.get(kind.list_name), list | None)
        if not (is_ours and all(map(_is_decision, entries or ()))) or not all(
            isinstance(each, dict) and isinstance(each.get("_id"), ObjectId) and is_class(each.get("label"))
            for each in self.labels
        ):
            raise AgreementInputError(
                f"The decisions in `{gold.name}` were changed by something else, or made by an earlier version; delete "
                f"them with run.decisions.delete(gold={gold.name!r}) and decide again"
            )
        self.entries: list[Stored] = list(entries or ())

    # ---- labels ----

    def key(self, field: str, label: Stored) -> str:
        """The name of a label in decisions."""
        return label_key(field, label.get("_id"), self._kinds[field])

    def _place(self, key: str) -> tuple[str, int | None]:
        """Field of a label, and its place in the list; the place is None if the label is gone."""
        field = key.rpartition(" ")[0]
        if field not in self._kinds:
            return field, None
        if field not in self._places:
            labels = enumerate(self.of[field])
            places = [(self.key(field, label), at) for at, label in labels if isinstance(label, dict)]
            self._places[field] = dict(reversed(places))  # of labels with the same id the first one counts
        return field, self._places[field].get(key)

    def _gold_key(self, decision: Stored) -> str:
        return f"{self._gold.name} {decision['gold_id']}"

    def _gold_place(self, label_id: ObjectId | None) -> int | None:
        # while decisions are added: _place names all labels again after every change of the list
        found = enumerate(self.labels if label_id is not None else ())
        return next((at for at, label in found if label["_id"] == label_id), None)

    def label(self, key: str) -> Stored | None:
        """A label by its name in decisions; None if it is gone."""
        field, at = self._place(key)
        return None if at is None else self.of[field][at]

    def hash(self, key: str) -> str | None:
        """Hash of a label; None if it is gone."""
        label = self.label(key)
        return None if label is None else hash_of_label(label, self._kinds[key.rpartition(" ")[0]])

    def fits(self, key: str, values: Stored) -> bool:
        """True if a label can get the values: its field can store them, and a label with a mask gets no box alone."""
        label, kind = self.label(key) or {}, self._kinds[key.rpartition(" ")[0]]
        if any(label.get(name) is not None for name in _MASKS) and "bounding_box" in values:
            return any(values.get(name) is not None for name in _MASKS)
        return kind.is_label or _stored_value(kind, {**label, **values}) is not None

    def _put(self, field: str, at: int, n: int, *labels: Stored) -> None:
        """Put labels in the place of ``n`` others."""
        before = self.of[field][at : at + n]
        self.of[field][at : at + n] = labels
        self._changed.add(field)
        if [label.get("_id") for label in before] != [label.get("_id") for label in labels]:
            self._places.pop(field, None)

    def give(self, key: str, values: Stored) -> Stored:
        """Give a label other values; returns the change."""
        field, at = self._place(key)
        label, kind = self.of[field][at or 0], self._kinds[field]
        if kind.is_number and not kind.is_label:
            values = {"value": _stored_value(kind, values)}
        self._put(field, at or 0, 1, {**label, **values})
        before = {name: label[name] for name in values if name in label}
        return {"what": GIVEN, "key": key, "before": before, "after": dict(values)}

    def remove(self, key: str) -> Stored:
        """Delete a label; returns the change."""
        field, at = self._place(key)
        label = self.of[field][at or 0]
        self._put(field, at or 0, 1)
        return {"what": DELETED, "key": key, "before": label, "at": at}

    def insert(self, field: str, label: Stored) -> Stored:
        """Add a label; returns the change."""
        held = "null" if field in self.document else "missing"
        was = None if isinstance(self.document.get(field), dict) or field in self._changed else held
        self._put(field, len(self.of[field]), 0, label)
        return {"what": ADDED, "key": self.key(field, label), "was": was}

    def can_take_back(self, change: Stored) -> bool:
        """True if the effect of a change on a label is still there."""
        key, label = change["key"], self.label(change["key"])
        field = key.rpartition(" ")[0]
        if field not in self._kinds:
            return False
        if change["what"] == DELETED:
            return label is None and (self._kinds[field].list_name is not None or not self.of[field])
        after = change.get("after", {})
        return label is not None and is_same({name: label.get(name) for name in after}, after)

    def take_back(self, change: Stored) -> None:
        """Undo a change."""
        field, at = self._place(change["key"])
        if change["what"] == DELETED:
            self._put(field, change["at"], 0, change["before"])
        elif change["what"] == GIVEN:
            before, after = change["before"], change["after"]
            label = self.of[field][at or 0]
            kept = {name: value for name, value in label.items() if name in before or name not in after}
            self._put(field, at or 0, 1, {**kept, **before})
        else:
            self._put(field, at or 0, 1)
            if change["was"] is not None:
                self._without[field] = change["was"]

    # ---- decisions ----

    @property
    def decisions(self) -> list[Stored]:
        """The current decisions, in the order in which they were made."""
        return [each for each in self.entries if REPLACED_BY not in each]

    def is_edited(self, decision: Stored) -> bool:
        """True if the label of a decision was edited or deleted since it was written."""
        return decision["gold_id"] is not None and self.hash(self._gold_key(decision)) != decision["gold_hash"]

    def would_lose(self, decision: Stored) -> bool:
        """True if the label of a decision is there, and was edited: undoing the decision would delete it."""
        return self.label(self._gold_key(decision)) is not None and self.is_edited(decision)

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
        """Add a decision, and its label, whose attributes repeat who decided, when and why.

        Args:
            facts: facts of the object: its labels and their hashes, classes, and assigned annotators
            label: the right label, as stored; None if there is no object, or nothing was decided yet
            said: who decided what, when and why
            basis: the annotator whose label was chosen, or the choice
            replaces: the decisions that it replaces
            read: the label in the field whose place in the list the new label takes
            written: the label of the replaced decision before somebody edited it; None: not known
        """
        decision = {**facts, **said, "id": str(ObjectId()), "gold_id": None, "gold_hash": None}
        if label is not None:
            same = {name: decision[name] for name in ("decided_by", "decided_at", "unit", "remark")}
            label = {"basis_id": None, **label, **same, "decision": decision["choice"], "basis": basis}
            decision |= {"gold_id": label["_id"], "gold_hash": hash_of_label(label, self._kind)}
        replaced, name, after = {each["id"] for each in replaces}, self._gold.name, list[Stored]()
        is_single, read_id = self._kind.list_name is None, None if read is None else read["_id"]
        for entry in self.entries:
            if entry["id"] not in replaced:
                after.append(entry)
                continue
            # a field of one label: it is this label, whoever drew it
            at = 0 if is_single and self.labels and read is None else self._gold_place(entry["gold_id"])
            was = written or (None if at is None else self.labels[at])
            if at is not None and entry["gold_id"] != read_id:
                self._put(name, at, 1)
            if not is_opened(entry):
                after.append({**entry, REPLACED_BY: decision["id"], **({} if was is None else {LABEL: was})})
            else:  # undoing restores what was there before the form was opened
                by_this = {REPLACED_BY: decision["id"]}
                after = [each | by_this if each.get(REPLACED_BY) == entry["id"] else each for each in after]
                decision |= {BEFORE: entry[BEFORE]} if BEFORE in entry else {}
        self.entries = [*after, decision]
        place = 0 if is_single and self.labels else self._gold_place(read_id)
        if is_single and self.labels and not replaced and read is None:
            decision[BEFORE] = self.labels[0]
        at, n = (len(self.labels), 0) if place is None else (place, 1)
        self._put(name, at, n, *([] if label is None else [label]))

    def undo(self, step: str, *, unedited: bool = False) -> int:
        """Undo the decisions of a step that are not applied, and whose label nobody edited; returns their number.

        With ``unedited`` only those whose labels are still as they were when the form for editing was opened.
        """
        gone = [each for each in self.decisions if each["step"] == step and not each.get(APPLIED) and (
            each.get("written") in self.labels if unedited else not self.would_lose(each))]  # fmt: skip
        back = {each["id"]: list[Stored]() for each in gone}  # labels that come back, by decision
        entries = list[Stored]()
        for each in self.entries:
            if each.get(REPLACED_BY) in back:  # it is current again
                back[each[REPLACED_BY]] += [each[LABEL]] if LABEL in each else []
                entries.append({name: each[name] for name in each if name not in (REPLACED_BY, LABEL)})
            elif each["id"] not in back:
                entries.append(each)
        self.entries = entries
        places = {self._place(self._gold_key(each))[1] for each in gone}
        left = [label for at, label in enumerate(self.labels) if at not in places]
        for decision in gone:
            left += back[decision["id"]] + ([decision[BEFORE]] if BEFORE in decision else [])
        if gone:
            self._put(self._gold.name, 0, len(self.labels), *left)
        return len(gone)

    def write(self, *, without_gold: bool = False) -> Write:
        """The write of the log and the changed fields, if they, and the field of decisions, still are what was read.

        An emptied field is again what it was without labels; ``without_gold``: the field of decisions was not read.
        """
        gold, values = self._gold, dict[str, Any]()
        if self._kind.list_name is None or not self.entries:  # else an empty list: it was decided that there is nothing
            self._without[gold.name] = "missing"
        for field in sorted(self._changed):
            kind, labels, without = self._kinds[field], self.of[field], self._without.get(field)
            if not labels and without == "missing":
                values[field] = MISSING
            elif kind.list_name is None:  # one label, the last one
                value = labels[-1] if labels else None
                values[field] = value if kind.is_label or value is None else _stored_value(kind, value)
            elif not labels and without is not None:
                values[field] = None
            else:
                held = self.document.get(field) or {}
                values[field] = {"_cls": kind.stored.__name__, **held, kind.list_name: labels}
        values[gold.decisions] = self.entries or MISSING
        unchanged = as_before(self.document, sorted({*values, *(() if without_gold else [gold.name])}))
        return Write(values, unchanged, gold.decisions, renews=bool(self._changed - {gold.name}))


def new_label(label_type: str, values: Stored) -> Stored:
    """A new label with some values."""
    return {"_id": ObjectId(), "_cls": label_type, "tags": [], **values}


def is_same(one: Any, other: Any) -> bool:
    """True if two stored values are equal; nan equals nan."""
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
