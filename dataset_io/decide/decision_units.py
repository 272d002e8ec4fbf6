"""Units of adjudication for every family of labels: objects, tags, and the class, number or mask of a sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from typing import Any, ClassVar

import fiftyone.core.labels as fol
import numpy as np
from bson import ObjectId

from ...agreement.disputes.costs import object_costs
from ...agreement.disputes.judged import NO_MAJORITY, NOTHING
from ...agreement.families.family import OBJECTS, PIXELS, RATINGS, TAGS
from ...agreement.matching.verdicts import CLASS_CONFLICT
from ...agreement.ratings.compute import agreeing
from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError
from ...agreement.settings.options import value_name
from ...metrics.consensus.consensus import medians_by_group, quorum_votes, vote_classes
from ...metrics.geometry.boxes import box_iou
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..database.fiftyone_private import list_of
from ..families.protocol import LabelsRead
from ..families.ratings import is_comparable
from ..labels.assignment import assigned_annotators
from ..labels.checks import is_class
from ..labels.kinds import KINDS, LabelKind
from ..labels.stored import StoredSample
from ..record.run_labels import RunLabels
from ..units.consensus_geometry import consensus_maker
from ..units.unit_members import MaskReader, TagReader, UnitMembers, UnitReader, ValueReader
from ..units.units_field import unit_documents
from .decidable import Decidable
from .decision_log import Stored, StoredLabel, label_key, stored_labels
from .gold import Gold
from .label_edits import is_same, new_label

#: least IoU of the boxes of a drawn label and of an annotator's label of the same object
_LEAST_IOU = 0.5
#: codes of what is right, and of anything else, where labels have no classes
_RIGHT, _OTHER = 1, 2


class DecisionUnits:
    """Units of adjudication: tags, or anything whose labels have a class each."""

    unit: ClassVar[str] = "object"  #: word for a unit
    conflict: ClassVar[str] = "class conflict"  #: word for a conflict of what was said of it
    without: ClassVar[frozenset[str]] = frozenset()  #: conditions of a rule that mean nothing here
    has_consensus: ClassVar[bool] = True
    has_classes: ClassVar[bool] = True  #: whether labels have classes
    has_votes: ClassVar[bool] = True  #: whether some annotators may have given a unit no label
    can_repeat: ClassVar[bool] = False  #: whether an annotator may have given a unit several labels, which count once
    requirement: str = "a class"  #: what a label of one's own must have

    def __init__(self, reader: UnitReader, kind: LabelKind, annotators: Sequence[str]) -> None:
        self.reader = reader
        self.kind = kind  #: type of the labels in the field of decisions
        self.annotators = annotators

    @property
    def config(self) -> AgreementConfig:
        """The options of the run."""
        return self.reader.source.config

    def assigned(self, rows: list[Stored], samples: list[StoredSample], members: UnitMembers) -> BoolArray:
        """Annotators assigned to every sample, shape ``(S, R)``."""
        label_pairs = (members.sample[members.unit], members.annotator)
        return assigned_annotators(self.reader.source, rows, samples, label_pairs).assigned

    def content(self, members: UnitMembers) -> Callable[[int], Stored] | None:
        """Stored content of the label in a row of the members; None if it was not read."""
        return lambda row: {"label": members.labels[row]}

    def votes(self, members: UnitMembers) -> IntArray:
        """Votes for the consensus, shape ``(U,)``."""
        return members.votes

    def costs(self, members: UnitMembers) -> IntArray:
        """Cost of every unit by its present labels, shape ``(U,)``."""
        n_codes = int(members.category.max(initial=0)) + 1
        key, count = np.unique(members.unit * n_codes + members.category, return_counts=True)
        alike = sums_by(key // n_codes, count * (count - 1), members.n_units).astype(np.int64)
        return object_costs(members.votes, members.assigned, alike, members.verdict == CLASS_CONFLICT)

    def has_majority(self, members: UnitMembers) -> BoolArray:
        """Units with a consensus, as ``run.objects.consensus`` asks for it, shape ``(U,)``.

        More than half of the assigned annotators gave the unit a label (of samples: the leading class), and there is
        no tie. Masks have none.
        """
        if not self.has_consensus:
            return np.zeros(members.n_units, np.bool_)
        is_tied = vote_classes(members.unit, members.category, members.n_units).tie
        return (self.votes(members) >= quorum_votes(members.assigned, "majority")) & ~is_tied

    def consensus(self, members: UnitMembers) -> list[Stored | None]:
        """The consensus label of every unit; None without a majority."""
        voted = vote_classes(members.unit, members.category, members.n_units)
        class_names, nameless = self.reader.codes.names(), self.reader.codes.get(None)
        name = self.label_type.__name__
        return [
            new_label(name, {"label": None if code == nameless else class_names[code]}) if has_majority else None
            for code, has_majority in zip(voted.category.tolist(), self.has_majority(members).tolist(), strict=True)
        ]

    @property
    def label_type(self) -> type[fol.Label]:
        """Type of one label."""
        stored: Any = self.kind.stored
        found = list_of(stored)
        return stored if found is None else found[1]

    def is_usable(self, label: Stored) -> bool:
        """True if a stored label of one's own can be right."""
        return label.get("label") is not None and is_class(label["label"])

    def shown(self, value: Any) -> str:
        """The class of a label, for people."""
        return str(value)

    def value(self, label: Stored) -> Any:
        """The class of a stored label, as in ``UnitMembers.labels``."""
        return label.get("label")

    # ---- who was right ----

    def right(self, objects: Decidable, units: Sequence[int]) -> IntArray:
        """Code of the adjudicated class of some units, shape ``(U,)``; ``NOTHING`` for all others."""
        found = np.full(objects.members.n_units, NOTHING)
        for unit in units:
            label = objects.gold_label(unit)
            if label is not None:
                found[unit] = self.code(label)
        return found

    def code(self, label: Stored) -> int:
        """Code of the class of a stored label; of an adjudicated one, where labels have no classes, that of right."""
        if not self.has_classes:
            return _RIGHT
        value = label.get("label")
        return self.reader.codes[value if value is None or isinstance(value, str) else value_name(value)]

    def given(self, objects: Decidable, units: Sequence[int]) -> IntArray:
        """Code of the class that every member gave, shape ``(N,)``; of members of some units alone, if need be."""
        return objects.members.category

    def majority(self, objects: Decidable, units: Sequence[int]) -> IntArray:
        """Code of the majority of the assigned annotators for every unit; ``NO_MAJORITY`` without one.

        It is the class of the consensus, or ``NOTHING`` where more than half gave the unit no label.
        """
        members = objects.members
        voted = vote_classes(members.unit, members.category, members.n_units)
        is_nothing = members.assigned - members.votes >= quorum_votes(members.assigned, "majority")
        return np.where(self.has_majority(members), voted.category, np.where(is_nothing, NOTHING, NO_MAJORITY))

    # ---- labels of annotators that are not right ----

    def corrections(
        self, label: Stored, right: Stored, kinds: Set[str] = frozenset(("class", "geometry", "attributes"))
    ) -> dict[str, Stored]:
        """Corrections of a label from the adjudicated one, by kind of change: class, geometry, and attributes."""
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

    # ---- labels that somebody drew ----

    def drawn(self, members: UnitMembers, units: Sequence[int], labels: Sequence[Stored]) -> list[int | None]:
        """Unit of every drawn label among some units of one sample, each at most once; None for none."""
        left = {}
        for row in np.flatnonzero(np.isin(members.unit, units)).tolist():
            left[int(members.category[row])] = int(members.unit[row])
        return [left.pop(self.code(label), None) for label in labels]


class ObjectUnits(DecisionUnits):
    """Objects: detections, polylines, keypoints and intervals."""

    def __init__(self, reader: UnitReader, kind: LabelKind, annotators: Sequence[str]) -> None:
        super().__init__(reader, kind, annotators)
        self._geometry = kind.mask_geometry or kind.geometry
        self.requirement = f"a usable geometry: {getattr(self._geometry, 'requirement', '')}"

    def content(self, members: UnitMembers) -> Callable[[int], Stored] | None:
        """Class and geometry; None if the run leaves out masks."""
        source = self.reader.source
        if self.kind.mask_geometry is not None and source.config.geometry != "auto":
            return None
        columns = [
            [(attribute, members.geometry[name]) for name, attribute in reader.columns.items()]
            for reader in source.geometry_readers
        ]
        field = members.field.tolist()
        return lambda row: {"label": members.labels[row], **{name: values[row] for name, values in columns[field[row]]}}

    def consensus(self, members: UnitMembers) -> list[Stored | None]:
        """The consensus; None without a majority, or a usable geometry."""
        maker = consensus_maker(self.reader.source, "medoid")
        attributes = ("_id", "_cls", "tags", "label", *self.kind.content)
        made = unit_documents(members, maker, self.reader, self.annotators)
        return [
            {name: label[name] for name in attributes if name in label} if label is not None and has_majority else None
            for label, has_majority in zip(made, self.has_majority(members).tolist(), strict=True)
        ]

    def is_usable(self, label: Stored) -> bool:
        """True if a label has a usable geometry."""
        return self._geometry is not None and self._geometry.is_usable(label, self.config)

    def code(self, label: Stored) -> int:
        """Code of the class."""
        return self.reader.codes[label.get("label")]

    def drawn(self, members: UnitMembers, units: Sequence[int], labels: Sequence[Stored]) -> list[int | None]:
        """The unit that a label overlaps most (IoU of boxes at least 0.5)."""
        reader = self.kind.geometry
        rows = np.flatnonzero(np.isin(members.unit, units)).tolist()
        if reader is None or not rows:
            return [None for _ in labels]
        member_columns = {name: [members.geometry[name][row] for row in rows] for name in reader.columns}
        label_columns = {name: [label.get(attribute) for label in labels] for name, attribute in reader.columns.items()}
        ious = box_iou(reader.boxes(label_columns, self.config)[0], reader.boxes(member_columns, self.config)[0])
        ious = np.nan_to_num(ious)
        chosen: list[int | None] = [None for _ in labels]
        while ious.size and ious.max() >= _LEAST_IOU:
            label, member = divmod(int(ious.argmax()), len(rows))
            unit = int(members.unit[rows[member]])
            chosen[label] = unit
            ious[label] = 0.0
            ious[:, [k for k, row in enumerate(rows) if int(members.unit[row]) == unit]] = 0.0
        return chosen


class TagUnits(DecisionUnits):
    """Tags of samples, each of which is right or not."""

    unit = "tag"
    without = frozenset(("one_class", "min_iou"))
    can_repeat = True


class ClassUnits(DecisionUnits):
    """Classes of samples: which one is right."""

    unit = "image"
    without = frozenset(("min_iou",))
    has_votes = False

    def assigned(self, rows: list[Stored], samples: list[StoredSample], members: UnitMembers) -> BoolArray:
        """Annotators who gave a value."""
        found = np.zeros((len(rows), len(self.annotators)), np.bool_)
        found[members.sample[members.unit], members.annotator] = True
        return found

    def votes(self, members: UnitMembers) -> IntArray:
        """Annotators who gave the class with most votes."""
        return vote_classes(members.unit, members.category, members.n_units).votes

    def costs(self, members: UnitMembers) -> IntArray:
        """As much as records can say: a sample has no other unit."""
        return np.full(members.n_units, np.iinfo(np.int64).max)

    def drawn(self, members: UnitMembers, units: Sequence[int], labels: Sequence[Stored]) -> list[int | None]:
        """The only unit of the sample."""
        left = list(units)
        return [left.pop() if left else None for _ in labels]


class NumberUnits(ClassUnits):
    """Numbers of samples; the median is the consensus, and a number is right if it differs by the tolerance at most."""

    without = frozenset(("classes", "one_class", "min_iou"))
    conflict = "numbers differ"
    has_classes = False
    requirement = "a finite number as value"

    def content(self, members: UnitMembers) -> Callable[[int], Stored] | None:
        """The number."""
        return lambda row: {"value": members.labels[row]}

    def votes(self, members: UnitMembers) -> IntArray:
        """The most annotators who agree with one of them."""
        table = np.full((members.n_units, len(self.annotators)), np.nan)
        table[members.unit, members.annotator] = members.labels
        agree = agreeing(table[:, :, None], table[:, None, :], self.config.tolerance)
        found: IntArray = agree.sum(axis=2).max(axis=1, initial=0)
        return found

    def has_majority(self, members: UnitMembers) -> BoolArray:
        """All: a median needs no majority."""
        return np.ones(members.n_units, np.bool_)

    def consensus(self, members: UnitMembers) -> list[Stored | None]:
        """The median."""
        name = self.label_type.__name__
        return [new_label(name, {"value": value}) for value in self._medians(members).tolist()]

    def is_usable(self, label: Stored) -> bool:
        """True if a label has a number that can be compared."""
        return is_comparable(label.get("value"))

    def shown(self, value: Any) -> str:
        """The number, without needless digits."""
        return value_name(round(value, 6)) if isinstance(value, float) else str(value)

    def value(self, label: Stored) -> Any:
        """The number of a stored label."""
        return label.get("value")

    def given(self, objects: Decidable, units: Sequence[int]) -> IntArray:
        """Code of every member: right or other."""
        numbers = np.array(objects.members.labels, np.float64)
        return self._is_right(objects, units, objects.members.unit, numbers)

    def majority(self, objects: Decidable, units: Sequence[int]) -> IntArray:
        """Code of every median: right or other."""
        n_units = objects.members.n_units
        return self._is_right(objects, units, np.arange(n_units), self._medians(objects.members))

    def _is_right(self, objects: Decidable, units: Sequence[int], unit: IntArray, numbers: FloatArray) -> IntArray:
        decided = np.full(objects.members.n_units, np.nan)
        for each in units:
            label = objects.gold_label(each)
            if label is not None and is_comparable(label.get("value")):
                decided[each] = label["value"]
        return np.where(agreeing(numbers, decided[unit], self.config.tolerance), _RIGHT, _OTHER)

    def _is_elsewhere(self, label: Stored, right: Stored) -> bool:
        number, others = (np.array([each.get("value")], np.float64) for each in (label, right))
        return not agreeing(number, others, self.config.tolerance).all()

    def _medians(self, members: UnitMembers) -> FloatArray:
        numbers = np.array(members.labels, np.float64).reshape(-1, 1)
        return medians_by_group(members.unit, numbers, members.n_units)[:, 0]


class MaskUnits(ClassUnits):
    """Masks of samples: whose is right. An annotator is right if their mask is the same as the decided one."""

    without = frozenset(("classes", "one_class"))
    has_consensus = False
    conflict = "masks differ"
    has_classes = False
    requirement = "a mask, or the path of one"

    def content(self, members: UnitMembers) -> Callable[[int], Stored] | None:
        """None: masks are read where they are needed."""
        return None

    def is_usable(self, label: Stored) -> bool:
        """True if there is a mask."""
        return label.get("mask") is not None or label.get("mask_path") is not None

    def given(self, objects: Decidable, units: Sequence[int]) -> IntArray:
        """Code of every member: right if it is the decided mask, by hashes, or other."""
        right: dict[tuple[int, str], bool] = {}
        for unit in units:
            decision = objects.found[unit][0]
            hashed = zip(decision["labels"], decision["hashes"], strict=True)
            right |= {(unit, key): found == decision["gold_hash"] for key, found in hashed}
        numbered_units = enumerate(objects.members.unit.tolist())
        found = [_RIGHT if right.get((unit, objects.member_key(row))) else _OTHER for row, unit in numbered_units]
        return np.array(found, np.int64)


_UNITS: dict[str, tuple[type[DecisionUnits], type[UnitReader]]] = {
    OBJECTS.name: (ObjectUnits, UnitReader),
    RATINGS.name: (ClassUnits, ValueReader),
    TAGS.name: (TagUnits, TagReader),
    PIXELS.name: (MaskUnits, MaskReader),
}


def decision_units(labels: RunLabels, among: tuple[ObjectId, ...] | None) -> DecisionUnits:
    """Units of adjudication of a run.

    Args:
        labels: the labels of the run
        among: ids of samples; None for all

    Raises:
        AgreementInputError: if the annotators' labels are of different types
    """
    units, reader = _UNITS[labels.family.name]
    if labels.kinds[0].is_number:
        units = NumberUnits
    opened = reader(replace(labels.source(), among=among), labels.field_key)
    # of the annotators, or the label type of their plain values
    kind = first = labels.kinds[0]
    if not first.is_label or any(each.stored is not first.stored for each in labels.kinds):
        kind, *others = [each for each in KINDS if each.comparable == first.comparable and each.is_label]
        if others:
            raise AgreementInputError(
                f"Decisions need one label type in all fields, got {labels.title} in the run {labels.run_key!r}"
            )
    return units(opened, kind, labels.annotators)


class DecidableReader:
    """Reads the units of a run with the decisions on them, for :class:`~..run.read.Reader`."""

    def __init__(self, units: DecisionUnits, gold: Gold) -> None:
        self.units = units
        self.source = units.reader.source
        self._gold = gold

    def projection(self) -> dict[str, Any]:
        """Fields of the units, the decisions of every sample, and its assigned annotators."""
        assigned = self.source.config.assigned_field
        assignment = {} if assigned is None else {"assigned": f"${assigned}"}
        return {**self.units.reader.projection(), **self._gold.projection(), **assignment}

    def load(self, row: dict[str, Any]) -> int:
        """Size of a query result in labels."""
        return self.units.reader.load(row)

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> LabelsRead[Decidable]:
        """The units of query results; ``n_invalid`` counts those whose labels were deleted or added since the run."""
        read = self.units.reader.read(rows, samples)
        members = read.labels
        ids = [sample.sample_id for sample in samples]
        fields = dict(zip(self.source.fields, self.source.kinds, strict=True))
        stored: dict[ObjectId, dict[str, StoredLabel]] = {}

        def content_again(row: int) -> Stored:
            """What was not read with the units: that of all samples is read when the first is asked for."""
            if not stored:
                stored.update(stored_labels(self._gold.collection, ids, fields))
            name, kind = list(fields.items())[int(members.field[row])]
            of_sample = stored[ids[int(members.sample[members.unit[row]])]]
            return of_sample.get(label_key(name, members.label_ids[row], kind), ({}, kind))[0]

        decidable = Decidable(
            members,
            ids,
            [self._gold.log(row, self.units.kind) for row in rows],
            list(fields.items()),
            assigned=self.units.assigned(rows, samples, members),
            votes=self.units.votes(members),
            content=self.units.content(members) or content_again,
        )
        return LabelsRead(decidable, read.n_invalid, read.n_unknown, read.n_added)
