"""Objects of a run in their current state, with their decisions; and conditions that choose among them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pymongo.collection import Collection

from ...agreement.matching.verdicts import VERDICTS
from ...metrics.numeric.arrays import BoolArray, IntArray
from ..labels.kinds import LabelKind
from ..units.unit_labels import Stored, UnitLabels
from .decision_log import ADDED, DecisionLog, applied_changes, hash_of_label, label_key

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

    def of(self, units: UnitLabels, votes: IntArray, class_names: Sequence[str]) -> BoolArray:
        """The objects that meet all conditions, shape ``(U,)``; ``votes`` are those for the leading value."""

        def any_label(chosen: BoolArray) -> BoolArray:
            return np.bincount(units.unit[chosen], minlength=units.n_units) > 0

        found: BoolArray = votes >= self.min_votes
        if self.objects is not None:
            found &= np.array([each in self.objects for each in units.unit_ids], np.bool_)
        if self.verdicts:
            found &= np.isin(units.verdict, [VERDICTS.index(verdict) for verdict in self.verdicts])
        if self.classes:
            codes = [code for code, name in enumerate(class_names) if name in self.classes]
            found &= any_label(np.isin(units.category, codes))
        if self.annotators:
            found &= any_label(np.isin(units.annotator, self.annotators))
        if self.one_class:
            first = np.searchsorted(units.unit, np.arange(units.n_units))
            found &= ~any_label(units.category != units.category[first[units.unit]])
        if self.min_iou is not None:
            with np.errstate(invalid="ignore"):
                found &= units.mean_iou >= self.min_iou - _ROUNDING
        return found


class Decidable:
    """The ``U`` objects of ``S`` samples, or frames, with ``N`` labels, and their decisions.

    Args:
        units: the objects
        logs: for every sample, its log of decisions
        fields: name and type of every label field
        masks: collection in which masks are looked up that were not read with the objects; None if there are none

    Attributes:
        keys: shape ``(N,)``, name of every label in decisions
        rows: for every object, its labels
        of_sample: for every sample, its objects
        found: for every object, the current decisions on any of its labels
        gold: for every sample, the labels in the field of decisions, by id
    """

    def __init__(
        self,
        units: UnitLabels,
        logs: Sequence[DecisionLog],
        fields: Sequence[tuple[str, LabelKind]],
        masks: Collection[Stored] | None = None,
    ) -> None:
        self.units, self.logs, self._masks = units, logs, masks
        self._fields = [fields[field] for field in units.field.tolist()]
        named = zip(self._fields, units.labels, strict=True)
        self.keys = [label_key(name, label.get("_id"), kind) for (name, kind), label in named]
        first = np.searchsorted(units.unit, np.arange(units.n_units + 1)).tolist()
        self.rows = [range(*ends) for ends in itertools.pairwise(first)]
        first = np.searchsorted(units.sample, np.arange(len(logs) + 1)).tolist()
        self.of_sample = [range(*ends) for ends in itertools.pairwise(first)]
        self.gold = [{label["_id"]: label for label in log.labels} for log in logs]
        self.found: list[list[Stored]] = [[] for _ in units.unit_ids]
        for log, of_sample in zip(logs, self.of_sample, strict=True):
            decision_on = {key: one for one in log.decisions for key in one["labels"]}
            for unit in of_sample if decision_on else ():
                keys = sorted(self.keys[row] for row in self.rows[unit])
                self.found[unit] = list({one["id"]: one for one in map(decision_on.get, keys) if one}.values())

    def hashes(self, unit: int) -> dict[str, str]:
        """Hashes of the labels of an object as they are now, sorted by what decisions call them."""
        units = self.units
        if self._masks is not None:  # of all samples, when the first is asked for
            documents = {"_id": {"$in": [each["_id"] for each in units.documents]}}
            fields = {f"{name}.{part}": True for name, kind in self._fields for part in ("label", *kind.content)}
            stored = {each["_id"]: each for each in self._masks.find(documents, fields)}
            for k, (name, _), label in zip(units.sample[units.unit].tolist(), self._fields, units.labels, strict=True):
                label |= stored.get(units.documents[k]["_id"], {}).get(name) or {}
            self._masks = None
        rows = sorted(self.rows[unit], key=self.keys.__getitem__)
        return {self.keys[row]: hash_of_label(units.labels[row], self._fields[row][1]) for row in rows}

    def facts(self, unit: int, annotators: Sequence[str]) -> Stored:
        """Facts that a decision records of its object: labels and their hashes, classes, and assigned annotators.

        The verdict is None on samples that are not rated.
        """
        hashes, asked = self.hashes(unit), self.units.asked[self.units.sample[unit]].tolist()
        code = int(self.units.verdict[unit])
        return {
            "labels": list(hashes),
            "hashes": list(hashes.values()),
            "classes": sorted({str(self.units.values[row]) for row in self.rows[unit]}),
            "asked": [name for name, is_asked in zip(annotators, asked, strict=True) if is_asked],
            "unit": self.units.unit_ids[unit],
            "verdict": VERDICTS[code] if code >= 0 else None,
        }

    def gold_label(self, unit: int) -> Stored | None:
        """The label in the field of decisions for an object; None if it was decided that there is none."""
        gold_id = self.found[unit][0]["gold_id"]
        return None if gold_id is None else self.gold[int(self.units.sample[unit])].get(gold_id)

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
        (decision,), keys = self.found[unit], {self.keys[row] for row in self.rows[unit]}
        # an object does not have labels that were added to it by applying the decision until the run is updated
        added = {each["key"] for each in applied_changes(decision) if each["what"] == ADDED}
        return {*decision["labels"]} - (added - keys) == keys
