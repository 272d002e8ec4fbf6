"""What can be decided on in each family of labels: objects, tags, or the class, number or mask of a sample.

The objects of a run in their current state, with the decisions on them; and conditions that select some of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence, Set
from typing import Any, ClassVar, NamedTuple

import fiftyone.core.labels as fol
import numpy as np
from bson import ObjectId

from ...agreement.disputes.costs import object_costs
from ...agreement.families.family import OBJECTS, PIXELS, RATINGS, TAGS
from ...agreement.matching.verdicts import CLASS_CONFLICT, VERDICTS
from ...agreement.ratings.compute import agreeing
from ...agreement.settings.errors import AgreementInputError
from ...agreement.settings.options import value_name
from ...agreement.statistics.codes import NO_LABEL
from ...metrics.consensus.consensus import medians_by_group, quorum_votes, vote_classes
from ...metrics.geometry.boxes import box_iou
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..database.fiftyone_private import list_of
from ..families.ratings import is_comparable
from ..labels.checks import is_class
from ..labels.kinds import KINDS, LabelKind
from ..record.run_labels import RunLabels
from ..units.consensus_geometry import consensus_maker
from ..units.unit_labels import Stored, UnitLabels, UnitReader
from ..units.units_field import unit_documents
from .decision_log import ADDED, DecisionLog, applied_changes, hash_of_label, is_same, label_key, new_label
from .gold import Gold

#: states of an object: nobody decided on it; it was left for later; somebody decided, but labels were added, edited or
#: deleted since; somebody decided
STATES = OPEN, SKIPPED, CHANGED, DECIDED = range(4)

#: means of IoUs that differ by less are equal
_ROUNDING = 1e-9
#: least IoU of the boxes of a drawn label and of an annotator's label of the same object
_LEAST_IOU = 0.5


class Rule(NamedTuple):
    """Conditions on the objects of a decision; a condition that is None, or empty, holds for all objects."""

    objects: frozenset[str] | None = None  #: match ids
    verdicts: tuple[str, ...] = ()
    classes: frozenset[str] = frozenset()  #: at least one label has one of these classes
    annotators: tuple[int, ...] = ()  #: at least one of these annotators drew it
    min_votes: int = 1
    one_class: bool = False  #: whether all labels must have the same class
    min_iou: float | None = None  #: least mean IoU; an object with a single label has none


class Decidable:
    """The ``U`` objects of ``S`` samples, or frames, with ``N`` labels, and their decisions.

    Attributes:
        opened: the objects of the run
        units: those in some query results of its reader
        logs: for every sample, its log of decisions
        rows: for every object, the rows of its labels
        of_sample: for every sample, the numbers of its objects
        keys: name of every label in decisions, shape ``(N,)``
        found: for every object, the current decisions on any of its labels
        gold: for every sample, the labels in the field of decisions, by id
    """

    def __init__(self, opened: ObjectsToDecide, rows: list[Stored]) -> None:
        self.opened, self.units = opened, opened.reader.units(rows)
        units, fields = self.units, list(opened.fields.items())
        self.logs = [DecisionLog(opened.gold, opened.kind, document, opened.fields) for document in units.documents]
        self._fields, self._is_lean = [fields[field] for field in units.field.tolist()], opened.reader.is_lean
        named = zip(self._fields, units.labels, strict=True)
        self.keys = [label_key(name, label.get("_id"), kind) for (name, kind), label in named]
        self.rows, self.of_sample = (
            [range(*ends) for ends in itertools.pairwise(np.searchsorted(of, np.arange(n + 1)).tolist())]
            for of, n in ((units.unit, units.n_units), (units.sample, len(self.logs)))
        )
        self.gold = [{label["_id"]: label for label in log.labels} for log in self.logs]
        self.found: list[list[Stored]] = [[] for _ in units.unit_ids]
        for log, of_sample in zip(self.logs, self.of_sample, strict=True):
            decision_on = {key: one for one in log.decisions for key in one["labels"]}
            for unit in of_sample if decision_on else ():
                keys = sorted(self.keys[row] for row in self.rows[unit])
                self.found[unit] = list({one["id"]: one for one in map(decision_on.get, keys) if one}.values())

    def hashes(self, unit: int) -> dict[str, str]:
        """Hashes of the labels of an object as they are now, by their names in decisions, sorted."""
        units = self.units
        if self._is_lean:  # masks of all samples are read for the first hash
            documents = {"_id": {"$in": [each["_id"] for each in units.documents]}}
            fields = {f"{name}.{part}": True for name, kind in self._fields for part in ("label", *kind.content)}
            stored = {each["_id"]: each for each in self.opened.reader.collection.find(documents, fields)}
            for k, (name, _), label in zip(units.sample[units.unit].tolist(), self._fields, units.labels, strict=True):
                label |= stored.get(units.documents[k]["_id"], {}).get(name) or {}
            self._is_lean = False
        rows = sorted(self.rows[unit], key=self.keys.__getitem__)
        return {self.keys[row]: hash_of_label(units.labels[row], self._fields[row][1]) for row in rows}

    def facts(self, unit: int) -> Stored:
        """Facts that a decision records of its object: labels and their hashes, classes, and assigned annotators.

        The verdict is None on samples that are not rated.
        """
        hashes, asked = self.hashes(unit), self.units.asked[self.units.sample[unit]].tolist()
        code = int(self.units.verdict[unit])
        return {
            "labels": list(hashes),
            "hashes": list(hashes.values()),
            "classes": sorted({str(self.units.values[row]) for row in self.rows[unit]}),
            "asked": [name for name, is_asked in zip(self.opened.labels.annotators, asked, strict=True) if is_asked],
            "unit": self.units.unit_ids[unit],
            "verdict": VERDICTS[code] if code >= 0 else None,
        }

    def document_of(self, unit: int) -> ObjectId:
        """Id of the sample, or frame, of an object."""
        return self.units.samples[int(self.units.sample[unit])].sample_id

    def gold_label(self, unit: int) -> Stored | None:
        """The label in the field of decisions for an object; None if the decision has none, or it was deleted."""
        gold_id = self.found[unit][0]["gold_id"] if self.found[unit] else None
        return None if gold_id is None else self.gold[int(self.units.sample[unit])].get(gold_id)

    def state(self, unit: int) -> int:
        """State of an object, one of ``STATES``."""
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
        """True if an object has exactly one decision, and exactly the labels that it names, edited or not."""
        if len(self.found[unit]) != 1:
            return False
        (decision,), keys = self.found[unit], {self.keys[row] for row in self.rows[unit]}
        # labels that were added by applying the decision belong to the object only after the run is updated
        added = {each["key"] for each in applied_changes(decision) if each["what"] == ADDED}
        return {*decision["labels"]} - (added - keys) == keys


class ObjectsToDecide:
    """The objects of a run as they are now, what can be decided on them, and the field of decisions.

    This base class suits labels with one class each, such as tags; subclasses change what differs.

    Attributes:
        gold: the field of decisions
        kind: type of the labels in that field
        label_type: type of one of these labels
        geometry: reader of the geometry of one label; None if labels have no geometry
        among: ids of the samples; None for all
        reader: reads the objects
        fields: types of the annotators' labels, by name of the field in a document
    """

    unit: ClassVar[str] = "object"  #: word for a unit
    conflict: ClassVar[str] = "class conflict"  #: words for a unit on which annotators differ
    said: ClassVar[str] = "label"  #: attribute of a label with its class or number
    without: ClassVar[frozenset[str]] = frozenset()  #: conditions of a rule that do not apply
    has_consensus: ClassVar[bool] = True
    has_classes: ClassVar[bool] = True  #: whether labels have classes
    has_votes: ClassVar[bool] = True  #: whether assigned annotators may have given a unit no label
    can_repeat: ClassVar[bool] = False  #: whether an annotator may have given a unit several labels, which count once
    requirement: str = "a class"  #: what a label of one's own must have

    def __init__(self, labels: RunLabels, gold: str, kind: LabelKind, among: tuple[ObjectId, ...] | None) -> None:
        self.labels, self.config, self.kind, self.among = labels, labels.config, kind, among
        self.gold = Gold(labels.dataset, gold, on_frames=labels.on_frames)
        self.reader = UnitReader(labels, among, (self.gold.name, self.gold.decisions))
        stored: Any = kind.stored
        self.label_type: type[fol.Label] = (list_of(stored) or ("", stored))[1]
        self.fields = dict(zip(self.reader.source.fields, labels.kinds, strict=True))
        self.geometry = kind.mask_geometry or kind.geometry
        if self.geometry is not None:
            self.requirement = f"a usable geometry: {self.geometry.requirement}"
        self.gold.check(stored)

    def meeting(self, rule: Rule, units: UnitLabels) -> BoolArray:
        """The objects that meet all conditions of a rule, shape ``(U,)``."""

        def any_label(chosen: BoolArray) -> BoolArray:
            return np.bincount(units.unit[chosen], minlength=units.n_units) > 0

        found: BoolArray = self.votes(units) >= rule.min_votes
        if rule.objects is not None:
            found &= np.array([each in rule.objects for each in units.unit_ids], np.bool_)
        if rule.verdicts:
            found &= np.isin(units.verdict, [VERDICTS.index(verdict) for verdict in rule.verdicts])
        if rule.classes:
            codes = [code for code, name in enumerate(self.reader.codes.names()) if name in rule.classes]
            found &= any_label(np.isin(units.category, codes))
        if rule.annotators:
            found &= any_label(np.isin(units.annotator, rule.annotators))
        if rule.one_class:
            first = np.searchsorted(units.unit, np.arange(units.n_units))
            found &= ~any_label(units.category != units.category[first[units.unit]])
        if rule.min_iou is not None:
            with np.errstate(invalid="ignore"):
                found &= units.mean_iou >= rule.min_iou - _ROUNDING
        return found

    def votes(self, units: UnitLabels) -> IntArray:
        """Number of annotators who drew an object, or gave the leading value, shape ``(U,)``."""
        return units.votes

    def costs(self, units: UnitLabels) -> IntArray:
        """Cost of every unit by its present labels, shape ``(U,)``."""
        n_codes = int(units.category.max(initial=0)) + 1
        key, count = np.unique(units.unit * n_codes + units.category, return_counts=True)
        alike = sums_by(key // n_codes, count * (count - 1), units.n_units).astype(np.int64)
        return object_costs(units.votes, units.assigned, alike, units.verdict == CLASS_CONFLICT)

    def has_majority(self, units: UnitLabels) -> BoolArray:
        """Units with a consensus, as ``run.objects.consensus`` defines it, shape ``(U,)``.

        More than half of the assigned annotators gave the unit a label (samples: the leading class), and no classes
        tie. Masks have no consensus.
        """
        if not self.has_consensus:
            return np.zeros(units.n_units, np.bool_)
        is_tied = vote_classes(units.unit, units.category, units.n_units).tie
        return (self.votes(units) >= quorum_votes(units.assigned, "majority")) & ~is_tied

    def consensus(self, units: UnitLabels) -> list[Stored | None]:
        """The consensus label of every unit; None without a majority."""
        voted = vote_classes(units.unit, units.category, units.n_units)
        class_names, nameless = self.reader.codes.names(), self.reader.codes.get(None)
        name = self.label_type.__name__
        return [
            new_label(name, {"label": None if code == nameless else class_names[code]}) if has_majority else None
            for code, has_majority in zip(voted.category.tolist(), self.has_majority(units).tolist(), strict=True)
        ]

    def is_usable(self, label: Stored) -> bool:
        """True if a stored label can be the right one: here, if it has a class."""
        return label.get("label") is not None and is_class(label["label"])

    def shown(self, value: Any) -> str:
        """The class of a label as a text to show."""
        return NO_LABEL if value is None else str(value)

    def code(self, label: Stored) -> int:
        """Code of the class of a stored label."""
        value = label.get("label")
        return self.reader.codes[value if value is None or isinstance(value, str) else value_name(value)]

    def corrections(
        self, label: Stored, right: Stored, kinds: Set[str] = frozenset(("class", "geometry", "attributes"))
    ) -> dict[str, Stored]:
        """The values that a label should get from the right one, by kind of change: class, geometry, attributes."""
        found: dict[str, Stored] = {}
        if "class" in kinds and self.has_classes and self.code(label) != self.code(right):
            found["class"] = {"label": right.get("label")}
        if "geometry" in kinds and self._is_elsewhere(label, right):
            said = [name for name in self.kind.content if any(each.get(name) is not None for each in (label, right))]
            found["geometry"] = {name: right.get(name) for name in said}
        if "attributes" in kinds:
            compared = {name: right[name] for name in self.config.attributes if right.get(name) is not None}
            attributes = {name: value for name, value in compared.items() if label.get(name) != value}
            found |= {"attributes": attributes} if attributes else {}
        return found

    def _is_elsewhere(self, label: Stored, right: Stored) -> bool:
        """True if the geometry, number or mask of a label is not the right one."""
        differing = [name for name in self.kind.content if label.get(name) != right.get(name)]
        one, other = ({name: each.get(name) for name in differing} for each in (label, right))
        return bool(differing) and not is_same(one, other)

    def drawn(self, units: UnitLabels, among: Sequence[int], labels: Sequence[Stored]) -> list[int | None]:
        """For every label that an adjudicator drew on a sample: its unit among some units, each used once; or None."""
        left = {}
        for row in np.flatnonzero(np.isin(units.unit, among)).tolist():
            left[int(units.category[row])] = int(units.unit[row])
        return [left.pop(self.code(label), None) for label in labels]


class DrawnToDecide(ObjectsToDecide):
    """Objects that were drawn: detections, polylines, keypoints and intervals."""

    def consensus(self, units: UnitLabels) -> list[Stored | None]:
        """The consensus label of every unit; None without a majority, or without a usable geometry."""
        attributes = ("_id", "_cls", "tags", "label", *self.kind.content)
        made = unit_documents(units, consensus_maker(self.reader.source, "medoid"), self.reader)
        return [
            {name: label[name] for name in attributes if name in label} if label is not None and has_majority else None
            for label, has_majority in zip(made, self.has_majority(units).tolist(), strict=True)
        ]

    def is_usable(self, label: Stored) -> bool:
        return self.geometry is not None and self.geometry.is_usable(label, self.config)

    def code(self, label: Stored) -> int:
        return self.reader.codes[label.get("label")]

    def drawn(self, units: UnitLabels, among: Sequence[int], labels: Sequence[Stored]) -> list[int | None]:
        """For every label the unit that it overlaps most (IoU of boxes at least 0.5), each used once; or None."""
        reader = self.kind.geometry
        rows = np.flatnonzero(np.isin(units.unit, among)).tolist()
        if reader is None or not rows:
            return [None for _ in labels]
        boxes = []
        for drawn in (labels, [units.labels[row] for row in rows]):
            columns = {name: [label.get(attribute) for label in drawn] for name, attribute in reader.columns.items()}
            boxes.append(reader.boxes(columns, self.config)[0])
        ious = np.nan_to_num(box_iou(*boxes))
        chosen: list[int | None] = [None for _ in labels]
        while ious.size and ious.max() >= _LEAST_IOU:
            label, member = divmod(int(ious.argmax()), len(rows))
            unit = int(units.unit[rows[member]])
            chosen[label] = unit
            ious[label] = 0.0
            ious[:, [k for k, row in enumerate(rows) if int(units.unit[row]) == unit]] = 0.0
        return chosen


class TagsToDecide(ObjectsToDecide):
    """Tags of samples, each of which is right or not."""

    unit = "tag"
    without = frozenset(("one_class", "min_iou"))
    can_repeat = True


class ClassesToDecide(ObjectsToDecide):
    """Classes of samples: which one is right."""

    unit = "image"
    without = frozenset(("min_iou",))
    has_votes = False

    def votes(self, units: UnitLabels) -> IntArray:
        """Number of annotators who gave the class with most votes, shape ``(U,)``."""
        return vote_classes(units.unit, units.category, units.n_units).votes

    def costs(self, units: UnitLabels) -> IntArray:
        """The largest integer for every unit, so that no sample, which is one unit, costs less than in the records."""
        return np.full(units.n_units, np.iinfo(np.int64).max)

    def drawn(self, units: UnitLabels, among: Sequence[int], labels: Sequence[Stored]) -> list[int | None]:
        """The only unit of the sample for the first label, None for others."""
        left = list(among)
        return [left.pop() if left else None for _ in labels]


class NumbersToDecide(ClassesToDecide):
    """Numbers of samples; the median is the consensus, and a number is right if it differs by the tolerance at most."""

    without = frozenset(("classes", "one_class", "min_iou"))
    conflict = "numbers differ"
    said = "value"
    has_classes = False
    requirement = "a finite number as value"

    def votes(self, units: UnitLabels) -> IntArray:
        """Number of annotators who agree on the number on which most agree, shape ``(U,)``."""
        table = np.full((units.n_units, len(self.labels.annotators)), np.nan)
        table[units.unit, units.annotator] = units.values
        agree = agreeing(table[:, :, None], table[:, None, :], self.config.tolerance)
        found: IntArray = agree.sum(axis=2).max(axis=1, initial=0)
        return found

    def has_majority(self, units: UnitLabels) -> BoolArray:
        """True for all units: a median needs no majority."""
        return np.ones(units.n_units, np.bool_)

    def consensus(self, units: UnitLabels) -> list[Stored | None]:
        return [new_label(self.label_type.__name__, {"value": value}) for value in self.medians(units).tolist()]

    def is_usable(self, label: Stored) -> bool:
        return is_comparable(label.get("value"))

    def shown(self, value: Any) -> str:
        """The number as a text to show, with at most 6 decimals."""
        return value_name(round(value, 6)) if isinstance(value, float) else str(value)

    def _is_elsewhere(self, label: Stored, right: Stored) -> bool:
        number, others = (np.array([each.get("value")], np.float64) for each in (label, right))
        return not agreeing(number, others, self.config.tolerance).all()

    def medians(self, units: UnitLabels) -> FloatArray:
        """The median of every unit, shape ``(U,)``."""
        numbers = np.array(units.values, np.float64).reshape(-1, 1)
        return medians_by_group(units.unit, numbers, units.n_units)[:, 0]


class MasksToDecide(ClassesToDecide):
    """Masks of samples: whose mask is right. An annotator is right if their mask equals the decided one."""

    without = frozenset(("classes", "one_class"))
    has_consensus = False
    conflict = "masks differ"
    has_classes = False
    requirement = "a mask, or the path of one"

    def is_usable(self, label: Stored) -> bool:
        return label.get("mask") is not None or label.get("mask_path") is not None


_OF_FAMILY: dict[str, type[ObjectsToDecide]] = {
    OBJECTS.name: DrawnToDecide,
    RATINGS.name: ClassesToDecide,
    TAGS.name: TagsToDecide,
    PIXELS.name: MasksToDecide,
}


def objects_to_decide(labels: RunLabels, gold: str, among: tuple[ObjectId, ...] | None = None) -> ObjectsToDecide:
    """The objects of a run, or of some of its samples, with the field of decisions.

    Raises:
        AgreementInputError: if the annotators' labels are of different types, or the field is not free
    """
    to_decide = NumbersToDecide if labels.kinds[0].is_number else _OF_FAMILY[labels.family.name]
    # the type of the annotators' labels, or the label type for plain values
    kind = first = labels.kinds[0]
    if not first.is_label or any(each.stored is not first.stored for each in labels.kinds):
        kind, *others = [each for each in KINDS if each.comparable == first.comparable and each.is_label]
        if others:
            raise AgreementInputError(
                f"Decisions need one label type in all fields, got {labels.title} in the run {labels.run_key!r}"
            )
    return to_decide(labels, gold, kind, among)
