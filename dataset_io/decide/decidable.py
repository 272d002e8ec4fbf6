"""Objects of a run in their current state, with their decisions; and conditions that choose among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pymongo.collection import Collection

from ...agreement.matching.verdicts import VERDICTS
from ...metrics.numeric.arrays import BoolArray, IntArray
from ..labels.kinds import LabelKind
from ..units.unit_labels import Stored, UnitLabels
from .decision_log import DecisionLog, added_labels, hash_of_label, label_key

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
        units = objects.units
        found: BoolArray = objects.votes >= self.min_votes
        if self.objects is not None:
            found &= np.array([each in self.objects for each in units.unit_ids], np.bool_)
        if self.verdicts:
            found &= np.isin(units.verdict, [VERDICTS.index(verdict) for verdict in self.verdicts])
        if self.classes:
            codes = [code for code, name in enumerate(class_names) if name in self.classes]
            found &= _any_label(units, np.isin(units.category, codes))
        if self.annotators:
            found &= _any_label(units, np.isin(units.annotator, self.annotators))
        if self.one_class:
            first = np.searchsorted(units.unit, np.arange(units.n_units))
            found &= ~_any_label(units, units.category != units.category[first[units.unit]])
        if self.min_iou is not None:
            with np.errstate(invalid="ignore"):
                found &= units.mean_iou >= self.min_iou - _ROUNDING
        return found


def _any_label(units: UnitLabels, chosen: BoolArray) -> BoolArray:
    """True for objects with a chosen label, shape ``(U,)``."""
    return np.bincount(units.unit[chosen], minlength=units.n_units) > 0


class Decidable:
    """The ``U`` objects of ``S`` samples, or frames, and their decisions.

    Args:
        units: the objects
        votes: shape ``(U,)``, annotators who drew it, or who gave the leading value
        logs: for every sample, its log of decisions
        fields: name and type of every label field
        masks: collection in which masks are looked up that were not read with the objects; None if there are none

    Attributes:
        decided: for every sample, the current decisions
        gold: for every sample, the labels in the field of decisions, by id
        found: the decisions on any label of every object
    """

    def __init__(
        self,
        units: UnitLabels,
        votes: IntArray,
        logs: Sequence[DecisionLog],
        fields: Sequence[tuple[str, LabelKind]],
        masks: Collection[Stored] | None = None,
    ) -> None:
        self.units, self.votes, self.logs, self._fields, self._masks = units, votes, logs, fields, masks
        self.decided = [log.decisions for log in logs]
        self.gold = [{label["_id"]: label for label in log.labels} for log in logs]
        self._first = np.searchsorted(units.unit, np.arange(units.n_units + 1)).tolist()
        self._first_unit = np.searchsorted(units.sample, np.arange(len(logs) + 1)).tolist()
        self._hashes: dict[int, dict[str, str]] = {}
        self._field, self._samples = units.field.tolist(), units.sample.tolist()
        self.found: list[list[Stored]] = [[] for _ in units.unit_ids]
        for sample, decisions in enumerate(self.decided):
            decision_on = {key: one for one in decisions for key in one["labels"]}
            for unit in self.of_sample(sample) if decision_on else ():
                on_labels = [decision_on[key] for key in self.keys(unit) if key in decision_on]
                self.found[unit] = list({each["id"]: each for each in on_labels}.values())

    def member_key(self, row: int) -> str:
        """Name of a label in decisions."""
        name, kind = self._fields[self._field[row]]
        return label_key(name, self.units.labels[row].get("_id"), kind)

    def of_sample(self, sample: int) -> range:
        """The objects of a sample."""
        return range(self._first_unit[sample], self._first_unit[sample + 1])

    def rows(self, unit: int) -> range:
        """The labels of an object."""
        return range(self._first[unit], self._first[unit + 1])

    def keys(self, unit: int) -> list[str]:
        """Names of the labels of an object in decisions, sorted."""
        return sorted(map(self.member_key, self.rows(unit)))

    def hashes(self, unit: int) -> dict[str, str]:
        """Hashes of the labels of an object as they are now, sorted by what decisions call them."""
        if self._masks is not None:  # of all samples, when the first is asked for
            documents = {"_id": {"$in": [each["_id"] for each in self.units.documents]}}
            fields = [f"{name}.{part}" for name, kind in self._fields for part in ("label", *kind.content)]
            stored = {each["_id"]: each for each in self._masks.find(documents, dict.fromkeys(fields, True))}
            for row, k in enumerate(self.units.unit.tolist()):
                document = stored.get(self.units.documents[self._samples[k]]["_id"], {})
                self.units.labels[row] |= document.get(self._fields[self._field[row]][0]) or {}
            self._masks = None
        if unit not in self._hashes:
            found = {
                self.member_key(row): hash_of_label(self.units.labels[row], self._fields[self._field[row]][1])
                for row in self.rows(unit)
            }
            self._hashes[unit] = dict(sorted(found.items()))
        return self._hashes[unit]

    def verdict(self, unit: int) -> str | None:
        """The verdict of an object; None on samples that are not rated."""
        code = int(self.units.verdict[unit])
        return VERDICTS[code] if code >= 0 else None

    def facts(self, unit: int, annotators: Sequence[str]) -> Stored:
        """Facts that a decision records of its object: labels and their hashes, classes, and assigned annotators."""
        hashes, asked = self.hashes(unit), self.units.asked[self._samples[unit]].tolist()
        return {
            "labels": list(hashes),
            "hashes": list(hashes.values()),
            "classes": sorted({str(self.units.values[row]) for row in self.rows(unit)}),
            "asked": [name for name, is_asked in zip(annotators, asked, strict=True) if is_asked],
            "unit": self.units.unit_ids[unit],
            "verdict": self.verdict(unit),
        }

    def gold_label(self, unit: int) -> Stored | None:
        """The label in the field of decisions for an object; None if it was decided that there is none."""
        gold_id = self.found[unit][0]["gold_id"]
        return None if gold_id is None else self.gold[self._samples[unit]].get(gold_id)

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
