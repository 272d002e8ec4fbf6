"""The objects of a run as they are now, with what was decided on them; and which of them a rule is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bson import ObjectId

from ...agreement.objects.verdicts import VERDICTS
from ...metrics.arrays import BoolArray, IntArray
from ..units.unit_members import UnitMembers
from .decisions import Stored, StoredLabel, hash_of_label

#: what is known of an object: nobody decided; it was left for later; somebody decided, and labels were added, edited or
#: deleted since; somebody decided
STATES = OPEN, SKIPPED, CHANGED, DECIDED = range(4)

#: means of IoUs that differ by less are equal
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Rule:
    """Which objects a decision is about; conditions that are None, or empty, hold for all."""

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
            found &= ~_any_member(members, members.category != members.category[first_members(members)[members.unit]])
        if self.min_iou is not None:
            with np.errstate(invalid="ignore"):
                found &= members.mean_iou >= self.min_iou - _ROUNDING
        return found


def _any_member(members: UnitMembers, chosen: BoolArray) -> BoolArray:
    """The objects of which any member is chosen, shape ``(U,)``."""
    return np.bincount(members.unit[chosen], minlength=members.n_units) > 0


def first_members(members: UnitMembers) -> IntArray:
    """The first member of every object, shape ``(U,)``."""
    return np.searchsorted(members.unit, np.arange(members.n_units))


@dataclass(frozen=True, slots=True)
class Decidable:
    """The ``U`` objects of ``S`` samples, or frames, and what was decided on them."""

    members: UnitMembers
    document_ids: list[ObjectId]  #: id of every sample
    assigned: BoolArray  #: shape ``(S, R)``, who was assigned
    votes: IntArray  #: shape ``(U,)``, annotators who drew it, or who gave the leading value
    keys: list[list[str]]  #: for every object, what decisions call its labels, sorted
    member_keys: list[str]  #: the same for every member
    gold: list[dict[Any, Stored]]  #: for every sample, the labels in the field of decisions, by id
    found: list[list[Stored]]  #: for every object, the decisions on any of its labels

    def verdict(self, unit: int) -> str | None:
        """The verdict of an object; None on samples that are not rated."""
        code = int(self.members.verdict[unit])
        return VERDICTS[code] if code >= 0 else None

    def facts(self, unit: int, annotators: Sequence[str]) -> Stored:
        """What decisions say of an object, to be counted by it: its classes, and who was assigned."""
        members = self.members
        first, end = np.searchsorted(members.unit, (unit, unit + 1)).tolist()
        asked = np.flatnonzero(self.assigned[int(members.sample[unit])]).tolist()
        classes = sorted({str(label) for label in members.labels[first:end]})
        return {"classes": classes, "asked": [annotators[k] for k in asked]}

    def gold_label(self, unit: int) -> Stored | None:
        """The label in the field of decisions for an object; None if it was decided that there is none."""
        gold_id = self.found[unit][0]["gold_id"]
        return None if gold_id is None else self.gold[int(self.members.sample[unit])].get(gold_id)

    def hashes(self, unit: int, stored: Mapping[str, StoredLabel]) -> dict[str, str]:
        """Hashes of the labels of an object, and of those that decisions on it name, as they are now.

        Args:
            unit: number of the object
            stored: the annotators' labels of its sample by key
        """
        wanted = {*self.keys[unit], *(key for decision in self.found[unit] for key in decision["labels"])}
        return {key: hash_of_label(*stored[key]) for key in wanted if key in stored}

    def state(self, unit: int, hashes: Mapping[str, str]) -> int:
        """What is known of an object.

        Args:
            unit: number of the object
            hashes: see :meth:`hashes`
        """
        return _state(self.found[unit], self.keys[unit], hashes)


def _state(found: Sequence[Stored], keys: Sequence[str], hashes: Mapping[str, str]) -> int:
    if not found:
        return OPEN
    decision = found[0]
    now = [hashes.get(key) for key in decision["labels"]]
    if len(found) > 1 or decision["labels"] != keys or now != decision["hashes"]:
        return CHANGED
    return SKIPPED if decision["choice"] == "skip" else DECIDED
