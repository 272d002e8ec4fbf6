"""Changes by which decisions are applied to the annotators' labels of one sample, or frame."""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from pymongo import UpdateOne

from ... import names
from ...agreement.settings.options import value_name
from ..labels.paths import attributes_of_runs
from ..record.gold_fields import APPLIED
from ..record.sample_index import now
from .decidable import Decidable
from .decide import ObjectsToDecide
from .decision_log import DecisionLog, is_edited
from .label_edits import LabelEdits, new_label
from .stored_decisions import ADDED, DELETED, Stored, label_key


class Applying:
    """What a call of ``run.decisions.apply`` applies, to which labels.

    Attributes:
        objects: the objects of the run, and the field of decisions
        source: the labels of the run
        chosen: annotators whose labels are changed, sorted
        changes: kinds of changes
        by: who does it
        step: what ``run.decisions.undo_applied`` takes back
        of_runs: attributes that runs wrote on labels
    """

    def __init__(
        self, objects: ObjectsToDecide, *, annotators: Sequence[str], changes: Sequence[str], by: str, step: str
    ) -> None:
        self.objects = objects
        self.source = objects.units.reader.source
        self.chosen = [name for name in objects.labels.annotators if name in annotators]
        self.changes = frozenset(changes)
        self.by = by
        self.step = step
        self.of_runs = sorted(attributes_of_runs(objects.labels.dataset))

    def value_of(self, annotator: str) -> Any:
        """Value of the annotator attribute on labels of an annotator, of the type that it has on labels."""
        value = self.objects.labels.value_of(annotator)
        if value not in self._values and {type(each) for each in self._values.values()} == {int}:
            with contextlib.suppress(ValueError):  # an annotator without labels, among others with numbers
                return int(value)
        return self._values.get(value, value)

    @functools.cached_property
    def _values(self) -> dict[str, Any]:
        path = f"{self.source.label_paths[0]}.{self.source.config.annotator_attribute}"
        return {value_name(value): value for value in self.source.collection.distinct(path)}


class DocumentChanges:
    """The labels of one sample, or frame, to which its decisions are applied.

    Args:
        work: what is applied
        objects: the objects of a batch
        sample: number of the sample in the batch
        document: the sample as it was read after them
        log: its decisions by then
        counts: what became of its objects and labels
    """

    def __init__(
        self, work: Applying, objects: Decidable, sample: int, document: Stored, log: DecisionLog, counts: Counter[Any]
    ) -> None:
        opened = work.objects
        self._work = work
        self._objects = objects
        self._sample = sample
        self._counts = counts
        self._edits = LabelEdits(document, opened.fields)
        self._fields = list(opened.fields)
        self._log = log
        self._right = {label["_id"]: label for label in log.labels}
        self._unit = {each["id"]: unit for unit in objects.of_sample(sample) for each in objects.found[unit]}

    def apply(self, current: Sequence[Stored]) -> tuple[UpdateOne, list[Stored]] | None:
        """The update, and the log after it; None if there is nothing to do.

        Args:
            current: the decisions of the log that no other one replaced
        """
        gold, is_changed = self._work.objects.gold, False
        decisions: list[Stored] = []
        to_apply = {id(each) for each in current if each["choice"] != "skip"}
        for decision in self._log.entries:
            changes: list[Stored] = []
            if id(decision) in to_apply:
                attempts = [part for part in decision.get(APPLIED) or () if part["step"] == self._work.step]
                if attempts:  # of a process that died after it wrote
                    self._count_again(attempts[0]["changes"])
                else:
                    problem = self._problem(decision)
                    changes = [] if problem else list(self._changes(decision))
                    self._counts[problem or ("n_applied" if changes else "n_right")] += 1
            decisions.append(self._after(decision, changes) if changes else decision)
            is_changed |= bool(changes)
        return (self._edits.update({gold.decisions: decisions}, (gold.name,)), decisions) if is_changed else None

    def _count_again(self, changes: Sequence[Stored]) -> None:
        """Count the changes that an attempt before has made."""
        self._counts["n_applied"] += 1
        attributes = dict.fromkeys(self._work.objects.units.config.attributes, "n_attributes")
        kind_of_name = {"label": "n_class", **attributes}
        for change in changes:
            others = {DELETED: {"n_deleted"}, ADDED: {"n_added"}}.get(change["what"])
            kinds = others or {kind_of_name.get(name, "n_geometry") for name in change["after"]}
            self._counts.update((change["annotator"], kind) for kind in kinds)

    def _is_drawn(self, decision: Stored) -> bool:
        """True if the adjudicator added this object."""
        gold = self._work.objects.gold
        return decision["labels"] == [label_key(gold.name, decision["gold_id"], self._work.objects.kind)]

    def _problem(self, decision: Stored) -> str | None:
        """Reason why a decision cannot be applied, as a field of :class:`Applied`; None if it can."""
        if not self._is_drawn(decision):
            unit = self._unit.get(decision["id"])
            # until the run is updated, it does not know objects of which labels were deleted by applying
            is_known = bool(decision.get(APPLIED)) if unit is None else self._objects.is_of_same_labels(unit)
            named = zip(decision["labels"], decision["hashes"], strict=True)
            if not is_known or any(self._edits.hash(key) != found for key, found in named):
                return "n_changed"
        return "n_edited" if is_edited(decision, self._right, self._work.objects.kind) else None

    def _changes(self, decision: Stored) -> Iterator[Stored]:
        """Change the labels of the object of a decision; returns the changes, label by label."""
        right = None if decision["gold_id"] is None else self._right[decision["gold_id"]]
        drew = {self._annotator_of(key): key for key in decision["labels"] if not self._is_drawn(decision)}
        for name in self._work.chosen:
            if name not in drew:
                found = self._added(decision, name, right)
            elif right is None:
                found = self._deleted(name, drew[name])
            else:
                found = self._corrected(name, drew[name], right)
            yield from ({**change, "annotator": name} for change in found)

    def _corrected(self, annotator: str, key: str, right: Stored) -> Iterator[Stored]:
        """Copy class, geometry or attributes from the adjudicated label."""
        wanted = self._work.objects.units.corrections(self._edits.label(key) or {}, right, self._work.changes)
        fitting = {kind: values for kind, values in wanted.items() if self._edits.fits(key, values)}
        self._counts["n_unfit"] += len(fitting) < len(wanted)
        self._counts.update((annotator, f"n_{kind}") for kind in fitting)
        if fitting:
            yield self._edits.give(key, {name: value for values in fitting.values() for name, value in values.items()})

    def _deleted(self, annotator: str, key: str) -> Iterator[Stored]:
        """Delete a label where there is no object; a tag as often as it was given."""
        if "delete" not in self._work.changes:
            return
        keys, units = [key], self._work.objects.units
        if units.can_repeat:
            field, label = key.rpartition(" ")[0], self._edits.label(key) or {}
            labels = [each for each in self._edits.of(field) if isinstance(each, dict)]
            same = [each for each in labels if not units.corrections(each, label)]
            keys = [
                each for each in (self._edits.key(field, one) for one in same) if self._annotator_of(each) == annotator
            ]
        for each in keys:
            self._counts[annotator, "n_deleted"] += 1
            yield {**self._edits.delete(each), "of_runs": self._work.of_runs}

    def _added(self, decision: Stored, annotator: str, right: Stored | None) -> Iterator[Stored]:
        """Add a label of an object that an annotator missed, if it is known that they were assigned to it."""
        opened = self._work.objects
        number = opened.labels.annotators.index(annotator)
        assigned = self._objects.assigned[self._sample]
        is_known = decision["id"] in self._unit or self._is_drawn(decision)
        if right is None or "add" not in self._work.changes or not (assigned[number] and is_known):
            return
        field = opened.labels.field_of(annotator).removeprefix(names.FRAMES_PREFIX)
        self._counts[annotator, "n_added"] += 1
        values = {name: right[name] for name in ("label", *opened.kind.content) if right.get(name) is not None}
        attribute = opened.labels.config.annotator_attribute
        if attribute is not None:
            values[attribute] = self._work.value_of(annotator)
        yield self._edits.add(field, new_label(opened.units.label_type.__name__, values))

    def _annotator_of(self, key: str) -> str | None:
        """The annotator of a label."""
        source, field = self._work.source, key.rpartition(" ")[0]
        if source.config.annotator_attribute is None:
            return source.annotators[source.field_annotator[self._fields.index(field)]]
        value = value_name((self._edits.label(key) or {}).get(source.config.annotator_attribute))
        number = source.annotator_numbers.get(value)
        return None if number is None else source.annotators[number]

    def _after(self, decision: Stored, changes: list[Stored]) -> Stored:
        """A decision with its labels as they are now, and their changes."""
        labels = () if self._is_drawn(decision) else zip(decision["labels"], decision["hashes"], strict=True)
        hashes = {**dict(labels), **{change["key"]: self._edits.hash(change["key"]) for change in changes}}
        there = {key: found for key, found in sorted(hashes.items()) if found is not None}
        part = {
            "step": self._work.step,
            "by": self._work.by,
            "at": now(),
            "labels": decision["labels"],
            "hashes": decision["hashes"],
            "fields": sorted({change["key"].rpartition(" ")[0] for change in changes}),
            "changes": changes,
        }
        parts = [*(decision.get(APPLIED) or ()), part]
        return {**decision, "labels": list(there), "hashes": list(there.values()), APPLIED: parts}
