"""Objects of a run in their current state, with their decisions; and conditions that choose among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from bson import ObjectId

from ...agreement.matching.verdicts import VERDICTS
from ...metrics.numeric.arrays import BoolArray, IntArray
from ..labels.kinds import LabelKind
from ..units.unit_members import UnitMembers
from .decision_log import DecisionLog, Stored, added_labels, hash_of_label, label_key

#: what is known of an object: nobody decided; it was left for later; somebody decided, and labels were added, edited or
#: deleted since; somebody decided
STATES = OPEN, SKIPPED, CHANGED, DECIDED = range(4)

#: means of IoUs that differ by less are equal
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Rule:
    """Conditions on the objects of a decision; those that are None, or empty, hold for all."""

    objects: frozenset[str] | None = None  #: match ids
    verdicts: tuple[str, ...] = ()
    classes: frozenset[str] = frozenset()  #: classes of which one label at least has one
    annotators: tuple[int, ...] = ()  #: annotators of whom one at least drew it
    min_votes: int = 1
    one_class: bool = False  #: whether all labels must have the same class
    min_iou: float | None = None  #: least mean IoU, which a single label does not have

    def of(self, objects: Decidable, class_names: Sequence[str]) -> BoolArray:
        """The objects that meet all conditions, shape ``(U,)``."""
        members = objects.members
        found: BoolArray = objects.votes >= self.min_votes
        if self.objects is not None:
            found &= np.array([each in self.objects for each in members.unit_ids], np.bool_)
        if self.verdicts:
            found &= np.isin(members.verdict, [VERDICTS.index(verdict) for verdict in self.verdicts])
        if self.classes:
            codes = [code for code, name in enumerate(class_names) if name in self.classes]
            found &= _any_member(members, np.isin(members.category, codes))
        if self.annotators:
            found &= _any_member(members, np.isin(members.annotator, self.annotators))
        if self.one_class:
            first = np.searchsorted(members.unit, np.arange(members.n_units))
            found &= ~_any_member(members, members.category != members.category[first[members.unit]])
        if self.min_iou is not None:
            with np.errstate(invalid="ignore"):
                found &= members.mean_iou >= self.min_iou - _ROUNDING
        return found


def _any_member(members: UnitMembers, chosen: BoolArray) -> BoolArray:
    """True for objects with a chosen member, shape ``(U,)``."""
    return np.bincount(members.unit[chosen], minlength=members.n_units) > 0


@dataclass(eq=False)
class Decidable:
    """The ``U`` objects of ``S`` samples, or frames, and their decisions."""

    members: UnitMembers  #: the objects
    document_ids: list[ObjectId]  #: id of every sample
    logs: Sequence[DecisionLog]  #: for every sample, its log of decisions
    fields: Sequence[tuple[str, LabelKind]]  #: name and type of every label field
    assigned: BoolArray  #: shape ``(S, R)``, who was assigned
    votes: IntArray  #: shape ``(U,)``, annotators who drew it, or who gave the leading value
    content: Callable[[int], Stored]  #: what the label in a row of the members says

    def __post_init__(self) -> None:
        members = self.members
        self.decided = [each.decisions for each in self.logs]  #: for every sample, the current decisions
        #: for every sample, the labels in the field of decisions, by id
        self.gold = [{label["_id"]: label for label in each.labels} for each in self.logs]
        self._field = members.field.tolist()
        self._first = np.searchsorted(members.unit, np.arange(members.n_units + 1)).tolist()
        self._first_unit = np.searchsorted(members.sample, np.arange(members.n_samples + 1)).tolist()
        self._hashes: dict[int, dict[str, str]] = {}
        self._asked: dict[int, list[int]] = {}
        self.found: list[list[Stored]] = [[] for _ in members.unit_ids]  #: the decisions on any label of an object
        on_label = [{key: one for one in each for key in one["labels"]} for each in self.decided]
        for sample, decision_on in enumerate(on_label):
            for unit in self.of_sample(sample) if decision_on else ():
                on_labels = [decision_on[key] for key in self.keys(unit) if key in decision_on]
                self.found[unit] = list({each["id"]: each for each in on_labels}.values())

    def member_key(self, row: int) -> str:
        """Name of a member in decisions."""
        name, kind = self.fields[self._field[row]]
        return label_key(name, self.members.label_ids[row], kind)

    def of_sample(self, sample: int) -> range:
        """The objects of a sample."""
        return range(self._first_unit[sample], self._first_unit[sample + 1])

    def rows(self, unit: int) -> range:
        """The members of an object."""
        return range(self._first[unit], self._first[unit + 1])

    def keys(self, unit: int) -> list[str]:
        """Names of the labels of an object in decisions, sorted."""
        return sorted(map(self.member_key, self.rows(unit)))

    def hashes(self, unit: int) -> dict[str, str]:
        """Hashes of the labels of an object as they are now, sorted by what decisions call them."""
        if unit not in self._hashes:
            found = [
                (self.member_key(row), hash_of_label(self.content(row), self.fields[self._field[row]][1]))
                for row in self.rows(unit)
            ]
            self._hashes[unit] = dict(sorted(found))
        return self._hashes[unit]

    def verdict(self, unit: int) -> str | None:
        """The verdict of an object; None on samples that are not rated."""
        code = int(self.members.verdict[unit])
        return VERDICTS[code] if code >= 0 else None

    def facts(self, unit: int, annotators: Sequence[str]) -> Stored:
        """Facts that a decision records of its object: labels and their hashes, classes, and assigned annotators."""
        sample = int(self.members.sample[unit])
        if sample not in self._asked:
            self._asked[sample] = np.flatnonzero(self.assigned[sample]).tolist()
        hashes = self.hashes(unit)
        return {
            "labels": list(hashes),
            "hashes": list(hashes.values()),
            "classes": sorted({str(self.members.labels[row]) for row in self.rows(unit)}),
            "asked": [annotators[k] for k in self._asked[sample]],
            "unit": self.members.unit_ids[unit],
            "verdict": self.verdict(unit),
        }

    def gold_label(self, unit: int) -> Stored | None:
        """The label in the field of decisions for an object; None if it was decided that there is none."""
        gold_id = self.found[unit][0]["gold_id"]
        return None if gold_id is None else self.gold[int(self.members.sample[unit])].get(gold_id)

    def state(self, unit: int) -> int:
        """State of an object."""
        if not self.found[unit]:
            return OPEN
        if not self.is_of_same_labels(unit):
            return CHANGED
        decision, hashes = self.found[unit][0], self.hashes(unit)
        named = zip(decision["labels"], decision["hashes"], strict=True)
        if any(hashes.get(key, found) != found for key, found in named):
            return CHANGED
        return SKIPPED if decision["choice"] == "skip" else DECIDED

    def is_of_same_labels(self, unit: int) -> bool:
        """True if an object has one decision, and the labels that this one names, edited or not."""
        if len(self.found[unit]) != 1:
            return False
        (decision,), keys = self.found[unit], set(self.keys(unit))
        # an object does not have labels that were added to it by applying the decision until the run is updated
        return {*decision["labels"]} - (added_labels(decision).keys() - keys) == keys
