"""The field of decisions: labels that somebody decided to be right, and beside it who decided what, when and why.

A decision names the annotators' labels of its object, by field and id, and what they were like. So it outlives runs,
and tells when a label was changed since. A sample gets a decision and its label in one write, on condition that nobody
else decided on one of these labels meanwhile: two people cannot decide on one object, and a killed process leaves
nothing half done. The time stamp of the sample stays: the App loses edits of a sample that others give a new one.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Collection as Several
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import bson
import fiftyone as fo
import fiftyone.core.labels as fol
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from pymongo import UpdateOne
from pymongo.collection import Collection
from pymongo.errors import PyMongoError

from ... import names
from ...agreement.settings.arguments import text_of
from ...agreement.settings.errors import AgreementInputError
from ...agreement.settings.options import value_name
from ..database.fiftyone_private import (
    frame_collection,
    has_frame_fields,
    list_of,
    reload_dataset,
    reload_samples,
    sample_collection,
)
from ..labels.kinds import LabelKind, kind_of
from ..labels.paths import all_fields, gold_of, is_of_frames, run_of
from ..labels.source import refuse_read_only
from ..labels.stored import NoRoomError
from ..record.fields import delete_fields, new_field, unset_undeclared
from ..record.lease import writing
from ..record.run import dataset_of, list_agreements
from ..record.schema import declare
from ..run.write import too_large_ids
from .label_schemas import end_editing
from .stored_decisions import APPLIED, BY_RULE, Stored, decided_in, list_at, object_at, seems_whole, whole_decisions

#: a stored label, and its type
StoredLabel = tuple[Stored, LabelKind]

_BATCH = 1_000
#: in a name of decisions: they are indexed, and names in indexes must not be long
_MOST_LETTERS = 100


@dataclass(frozen=True, slots=True)
class Made:
    """A decision to be written."""

    decision: Stored
    label: Stored | None  #: what is right, as stored; None if there is no object, or nothing was decided yet
    replaces: tuple[Stored, ...] = ()  #: the decisions whose place it takes, as they were read
    read: Stored | None = None  #: label whose place the label takes, as it must still be stored
    #: label of the decision that it replaces, as it was written before somebody edited it; None if that is not known
    written: Stored | None = None
    #: whether undo brings back what was there before the decision that it replaces, which only opened a form
    undoes_more: bool = False


def label_key(field: str, label_id: object, kind: LabelKind) -> str:
    """What decisions call a label of an annotator; fields that were cloned share ids, and plain values have none."""
    return f"{field.removeprefix(names.FRAMES_PREFIX)} {label_id if kind.is_label else 'value'}"


class Gold:
    """The field of decisions of a dataset, for one call: others may write, or delete it, at any time.

    Attributes:
        dataset: the dataset
        name: name of the field on a sample, or frame
        path: its path in the schema of the dataset
        decisions: name of the field beside it, which says who decided what
    """

    def __init__(self, dataset: fo.Dataset, name: str, *, on_frames: bool) -> None:
        self.dataset = dataset
        self.name = text_of("gold", name)
        self.on_frames = on_frames
        self.path = f"{names.FRAMES_PREFIX if on_frames else ''}{name}"
        self.decisions = self.name + names.DECISIONS_SUFFIX

    @property
    def paths(self) -> list[str]:
        """What is ours: the field of decisions, and the field beside it."""
        return [self.path, self.path + names.DECISIONS_SUFFIX]

    @property
    def collection(self) -> Collection[Stored]:
        """The collection of the samples, or frames."""
        return frame_collection(self.dataset) if self.on_frames else sample_collection(self.dataset)

    @property
    def exists(self) -> bool:
        """Whether anything was decided in it."""
        return all(gold_of(self.dataset.get_field(path)) == self.name for path in self.paths)

    @property
    def left(self) -> list[str]:
        """What is there of the two fields under their own names."""
        return [path for path in self.paths if gold_of(self.dataset.get_field(path)) == self.name]

    def what_is_missing(self) -> str:
        """Why one field of the two is no field of decisions, and what to do."""
        (left,), (missing,) = self.left, set(self.paths) - set(self.left)
        is_list = missing != self.path
        others = [
            path
            for path, field in all_fields(self.dataset).items()
            if gold_of(field) == self.name and path != left and isinstance(field, fo.ListField) == is_list
        ]
        renamed = f", or renamed to {others[0]!r}" if others else ""
        advice = f"rename {others[0]!r} to {missing!r}" if others else f"bring {missing!r} back"
        return (
            f"`gold` must be a field of decisions with its two fields, got {left!r} alone: {missing!r} was deleted"
            f"{renamed}; {advice}, or delete what is left with delete_decisions(dataset, gold={self.name!r})"
        )

    @functools.cached_property
    def kind(self) -> LabelKind:
        """Type of its labels."""
        kind = kind_of(self.dataset.get_field(self.path))
        if kind is None or not kind.is_label:
            raise AgreementInputError(f"`{self.path}` must hold decisions, but its type was changed; delete it")
        return kind

    @functools.cached_property
    def _stored_labels(self) -> Stored:
        """The labels of a document, as a list; none of a field that is damaged."""
        return self._labels_at()

    def _labels_at(self, damaged: Sequence[Any] = ()) -> Stored:
        """The labels of a document, as a list; of a field that is damaged what is given."""
        held, list_name = f"${self.name}", self.kind.list_name
        if list_name is not None:
            is_field = {"$or": [{"$lte": [held, None]}, {"$eq": [{"$type": held}, "object"]}]}
            return {"$cond": [is_field, list_at(f"{held}.{list_name}", damaged), {"$literal": list(damaged)}]}
        is_there = {"$eq": [{"$type": f"{held}._cls"}, "string"]}
        otherwise = {"$cond": [{"$lte": [held, None]}, [], {"$literal": list(damaged)}]}
        return {"$cond": [is_there, [held], otherwise]}

    @property
    def has_labels(self) -> Stored:
        """A query for documents with labels."""
        of_list = self.kind.list_name
        return {f"{self.name}._cls" if of_list is None else f"{self.name}.{of_list}.0": {"$exists": True}}

    # ---- its life ----

    def check(self, stored: type[fol.Label]) -> None:
        """Refuse a name that is not free, or a field with labels of another type.

        Raises:
            AgreementInputError: with the reason
        """
        if not self.name.isidentifier() or len(self.name) > _MOST_LETTERS:
            raise AgreementInputError(
                f"`gold` must be a name of letters, digits and underscores, at most {_MOST_LETTERS}, got {self.name!r}"
            )
        if self.exists:
            if self.kind.stored is not stored:
                raise AgreementInputError(
                    f"`gold` must hold {stored.__name__}, got {self.path!r} with {self.kind.title}; choose another name"
                )
            refuse_read_only(self.dataset, self.paths)
            return
        for key in list_agreements(self.dataset):
            if {self.name, self.decisions} & names.own_names(key):
                raise AgreementInputError(f"`gold` must be free, but {self.name!r} belongs to the run {key!r}")
        if self.left:
            raise AgreementInputError(self.what_is_missing())
        taken = next((path for path in self.paths if self.dataset.get_field(path) is not None), None)
        if taken is not None:
            raise AgreementInputError(f"`{taken}` must be free, but it is a field of the dataset; choose another name")

    def declare(self, stored: type[fol.Label], fields: Iterable[str]) -> None:
        """Declare the field, with all attributes that the labels of the annotators' fields have."""
        self.check(stored)
        list_name, label_type = list_of(stored) or ("", stored)
        inside_list = f".{list_name}." if list_name else "."
        schema, own = all_fields(self.dataset), {*label_type._fields, *names.GOLD_ATTRIBUTES}
        info, wanted = {names.GOLD_MARK: self.name}, dict[str, fo.Field]()
        described = "What was decided to be right: a label for every object that there is"
        wanted[self.path] = fo.EmbeddedDocumentField(stored, description=described, info=info)
        for field in sorted(fields):
            inside = f"{field}{inside_list}"
            for path, declared in schema.items():
                attribute = path.removeprefix(inside)
                is_new = path.startswith(inside) and "." not in attribute and attribute not in own
                if is_new and run_of(path, declared) is None:
                    wanted.setdefault(f"{self.path}{inside_list}{attribute}", declared)
        for attribute, spec in names.GOLD_ATTRIBUTES.items():
            wanted[f"{self.path}{inside_list}{attribute}"] = new_field(spec)
        described = "Who decided what, when and why; one entry for every decision"
        wanted[self.path + names.DECISIONS_SUFFIX] = fo.ListField(fo.DictField(), description=described, info=info)
        if any(self.dataset.get_field(path) is None for path in wanted):
            with writing(self.dataset):
                self.check(stored)
                declare(self.dataset, wanted)
        self.collection.create_index(f"{self.decisions}.id", sparse=True)

    def delete(self) -> None:
        """Delete the field and all decisions."""
        with writing(self.dataset):
            refuse_read_only(self.dataset, self.paths)
            end_editing(self.dataset)
            for name, index in self.collection.index_information().items():
                if index["key"][0][0].startswith(f"{self.decisions}."):
                    self.collection.drop_index(name)
            delete_fields(self.dataset, self.left)
            unset_undeclared(self.dataset, self.paths)
        reload_samples(self.dataset)

    def delete_if_empty(self) -> None:
        """Delete the field if no sample, or frame, has a decision or a label in it."""
        if self.decided_ids():
            return
        held: Stored = {self.name: {"$ne": None}}
        if (list_name := self.kind.list_name) is not None:
            held = {"$and": [held, {f"{self.name}.{list_name}": {"$ne": []}}]}
        with writing(self.dataset):
            if self.collection.find_one({"$or": [held, {self.decisions: {"$nin": [None, []]}}]}, {"_id": True}) is None:
                self.delete()

    def remove_if_deleted(self) -> None:
        """Remove what was written after somebody deleted the field.

        Raises:
            AgreementInputError: if somebody did
        """
        reload_dataset(self.dataset)
        if not self.exists:
            self.delete()
            raise AgreementInputError(f"The field `{self.path}` was deleted meanwhile; nothing was decided")

    # ---- reading ----

    def projection(self) -> Stored:
        """The decisions and the labels of a document, as columns ``decisions`` and ``gold``.

        They are as stored, for :func:`~.stored_decisions.decided_in`; a field that is no list is a list with None.
        """
        if not self.exists:
            return {"decisions": {"$literal": []}, "gold": {"$literal": []}}
        return {"decisions": list_at(f"${self.decisions}", [None]), "gold": self._labels_at([None])}

    def decided(self, only: Sequence[ObjectId] | None = None) -> dict[ObjectId, Stored]:
        """The samples, or frames, with decisions by id: decisions, labels, and the video and the number of frames."""
        query: Stored = {f"{self.decisions}.id": {"$exists": True}}
        if only is not None:
            query["_id"] = {"$in": list(only)}
        of_frames = {"_sample_id": True, "frame_number": True} if self.on_frames else {}
        stages = [{"$match": query}, {"$project": {**self.projection(), **of_frames}}]
        return {row["_id"]: row for row in self.collection.aggregate(stages)} if self.exists else {}

    def decided_ids(self) -> list[ObjectId]:
        """Ids of the samples, or frames, with decisions."""
        query = {f"{self.decisions}.id": {"$exists": True}}
        return [row["_id"] for row in self.collection.find(query, {"_id": True})] if self.exists else []

    def has_more_than(self, n: int) -> bool:
        """Whether more than so many samples, or frames, have decisions."""
        return self.collection.count_documents({f"{self.decisions}.id": {"$exists": True}}, limit=n + 1) > n

    def latest_step(self, by: str | None) -> str | None:
        """The step that was decided last, by anybody or by one, and not applied to labels; a form is no step."""
        decision = f"{self.decisions}"
        stages: list[Stored] = [
            {"$match": {f"{decision}.id": {"$exists": True}}},
            {"$project": {decision: True}},
            {"$unwind": f"${decision}"},
            {"$match": {f"{decision}.{APPLIED}.0": {"$exists": False}, f"{decision}.step": {"$type": "string"}}},
            {"$match": {} if by is None else {f"{decision}.decided_by": by}},
            {"$match": {"$or": [{f"{decision}.choice": {"$ne": "skip"}}, {f"{decision}.gold_id": None}]}},
            {"$sort": {f"{decision}.decided_at": -1, f"{decision}.id": -1}},
            {"$limit": 1},
        ]
        return next((row[decision]["step"] for row in self.collection.aggregate(stages)), None)

    def steps_by_rule(self) -> set[str]:
        """Steps of a rule among decisions of earlier versions, which do not say: several decisions, no own label."""
        decision = f"${self.decisions}"
        stages: list[Stored] = [
            {"$match": {self.decisions: {"$elemMatch": {"id": {"$exists": True}, BY_RULE: {"$exists": False}}}}},
            {"$unwind": decision},
            {"$group": {"_id": f"{decision}.step", "n": {"$sum": 1}, "choices": {"$addToSet": f"{decision}.choice"}}},
            {"$match": {"n": {"$gt": 1}, "choices": {"$ne": "own"}}},
        ]
        return {row["_id"] for row in self.collection.aggregate(stages) if isinstance(row["_id"], str)}

    def only_decision(self, step: str, run_key: str) -> tuple[str, Stored] | None:
        """The decision of a step on an object of a run, and the id of its document; None if these are several."""
        rows = self.collection.find({f"{self.decisions}.step": step}, self.projection()).limit(2)
        made = [(str(row["_id"]), one) for row in rows for one in decided_in(row).decisions if one["step"] == step]
        return made[0] if len(made) == 1 and made[0][1]["run_key"] == run_key else None

    def counts(
        self, verdicts: Sequence[str], annotator: str | None = None, label: str | None = None, votes: int | None = None
    ) -> tuple[int, int]:
        """Number of objects that were decided, and that were skipped, as they were at that time.

        Args:
            verdicts: verdicts of the objects
            annotator: an annotator who was assigned; None for all
            label: a class that somebody gave; None for all
            votes: number of labels; None for all
        """
        if not self.exists:
            return 0, 0
        wanted: list[Stored] = [seems_whole(), {"$in": ["$$this.verdict", list(verdicts)]}]
        wanted += [] if annotator is None else [{"$in": [{"$literal": annotator}, list_at("$$this.asked")]}]
        wanted += [] if label is None else [{"$in": [{"$literal": label}, list_at("$$this.classes")]}]
        wanted += [] if votes is None else [{"$eq": [{"$size": list_at("$$this.labels")}, votes]}]
        found = _filtered(list_at(f"${self.decisions}"), {"$and": wanted})
        skipped = _filtered(found, {"$eq": ["$$this.choice", "skip"]})
        counted: list[Stored] = [
            {"$match": {f"{self.decisions}.id": {"$exists": True}}},
            {"$project": {"all": {"$size": found}, "skipped": {"$size": skipped}}},
            {"$group": {"_id": None, "all": {"$sum": "$all"}, "skipped": {"$sum": "$skipped"}}},
        ]
        sums = next(iter(self.collection.aggregate(counted)), {"all": 0, "skipped": 0})
        return sums["all"] - sums["skipped"], sums["skipped"]

    def numbers(
        self, among: Sequence[ObjectId] | None = None, fields: Mapping[str, LabelKind] | None = None
    ) -> dict[ObjectId, int]:
        """Number of decisions in every sample, or frame, that has some, without those on what nobody drew.

        Args:
            among: only these; None for all
            fields: types of the annotators' labels by field, to leave out decisions of which no label is there any more
        """
        if not self.exists:
            return {}
        query: Stored = {f"{self.decisions}.id": {"$exists": True}}
        if among is not None:
            query["_id"] = {"$in": list(among)}
        is_drawn: list[Stored] = [{"$ne": ["$$this.asked", []]}, {"$ne": ["$$this.labels", []]}]
        if fields is not None:
            there = {"$concatArrays": [_keys_in(name, kind) for name, kind in fields.items()]}
            is_drawn.append({"$ne": [{"$setIntersection": [list_at("$$this.labels"), there]}, []]})
        drawn = _filtered(list_at(f"${self.decisions}"), {"$and": [seems_whole(), *is_drawn]})
        stages: list[Stored] = [{"$match": query}, {"$project": {"n": {"$size": drawn}}}]
        return {row["_id"]: row["n"] for row in self.collection.aggregate(stages)}

    def changed_since_decided(self, among: Sequence[ObjectId]) -> set[ObjectId]:
        """Those of some samples, or frames, that were written after the last decision on them, by whomever."""
        if not self.exists:
            return set()
        query: Stored = {"_id": {"$in": list(among)}, f"{self.decisions}.id": {"$exists": True}}
        is_later = {"$gt": ["$last_modified_at", {"$max": f"${self.decisions}.decided_at"}]}
        return {row["_id"] for row in self.collection.find({**query, "$expr": is_later}, {"_id": True})}

    # ---- writing ----

    def update(
        self, document_id: ObjectId, made: Sequence[Made], *, is_first: bool = False, damaged: Sequence[Any] = ()
    ) -> UpdateOne:
        """Add decisions, each with its label if any, to a document.

        It has no effect if there are other decisions on labels of these than those that they replace, if one of those
        was applied to labels meanwhile, or taken back, or if a label whose place one takes was edited meanwhile.

        Args:
            document_id: id of the document
            made: the decisions
            is_first: whether it had no decision and no label when it was read; has no effect if it has one now
            damaged: entries among the decisions that are none; they stay
        """
        if is_first:
            return self._first(document_id, made)
        decisions, labels = list_at(f"${self.decisions}"), self._stored_labels
        old = [[each["id"], each["hashes"]] for one in made for each in one.replaces]
        is_whole: Stored = {"$not": [{"$in": ["$$this", {"$literal": list(damaged)}]}]}
        whole = _filtered(decisions, is_whole) if damaged else decisions
        touched = _filtered(whole, _share(sorted({key for one in made for key in one.decision["labels"]})))
        # a decision that is applied, or taken back, keeps its id: its labels have other hashes then
        condition = [{"$setEquals": [_each(touched, ["$$this.id", "$$this.hashes"]), {"$literal": old}]}]
        condition += [{"$in": [{"$literal": one.read}, labels]} for one in made if one.read is not None]
        taken = {"$literal": [{"_id": one.read["_id"]} for one in made if one.read is not None]}
        replaced, labels_of_replaced = _those(decisions, labels, [each for each, _ in old])
        # the App edits labels by their places in the list
        kept = _in_place(_without(labels, _without(labels_of_replaced, taken, "_id"), "_id"), made)
        new: list[Stored] = []
        for one in made:
            of_decisions, of_labels = _those(decisions, labels, [each["id"] for each in one.replaces])
            if self.kind.list_name is None:  # there is one label, whoever wrote it
                of_labels, kept = _without(labels, taken, "_id"), {"$literal": []}
            if one.written is not None:
                of_labels = {"$literal": [one.written]}
            if one.undoes_more:
                of_labels = _joined(_each(of_decisions, list_at("$$this.replaced.labels")))
                of_decisions = _joined(_each(of_decisions, _nested(list_at("$$this.replaced.decisions"))))
            history = {"replaced": {"decisions": _flat(of_decisions), "labels": of_labels}}
            is_first = not one.replaces and self.kind.list_name is not None
            new.append({"$mergeObjects": [{"$literal": one.decision}, {} if is_first else history]})
        is_new = [one for one in made if one.label is not None and (one.read is None or self.kind.list_name is None)]
        written = [{"$literal": one.label} for one in is_new]
        return UpdateOne(
            {"_id": document_id, "$expr": {"$and": condition}},
            self._set(
                {"$concatArrays": [_without(decisions, replaced, "id"), new]},
                {"$concatArrays": [kept, written]},
            ),
        )

    def _first(self, document_id: ObjectId, made: Sequence[Made]) -> UpdateOne:
        """The same for a document without decisions and labels, which takes the database a fraction of the time."""
        kind = self.kind
        labels = [one.label for one in made if one.label is not None]
        values: Stored = {self.decisions: [one.decision for one in made]}
        if kind.list_name is not None:
            values[self.name] = {"_cls": kind.stored.__name__, kind.list_name: labels}
        elif labels:
            values[self.name] = labels[-1]
        path = next(iter(self.has_labels))
        nothing = {f"{self.decisions}.0": {"$exists": False}, path: {"$exists": False}}
        return UpdateOne({"_id": document_id, **nothing}, {"$set": values})

    def keep_as_written(self, document_id: ObjectId, decision: Stored, label: Stored) -> None:
        """Keep the label of a decision as it was written, so that it can be brought back after somebody edited it."""
        if "written" in decision or is_edited(decision, [label], self.kind):
            return
        this = {"_id": document_id, f"{self.decisions}.id": decision["id"]}
        self.collection.update_one(this, {"$set": {f"{self.decisions}.$.written": label}})

    def write(self, updates: Mapping[ObjectId, UpdateOne], step: str) -> list[ObjectId]:
        """Write the decisions of a step on some documents; the ids of those in which somebody decided meanwhile.

        Raises:
            NoRoomError: if one of them is too large
        """
        if not updates or write_all(self.collection, list(updates.values())) == len(updates):
            return []
        found = self.collection.find({"_id": {"$in": list(updates)}, f"{self.decisions}.step": step}, {"_id": True})
        written = {row["_id"] for row in found}
        return [document_id for document_id in updates if document_id not in written]

    def undo(self, step: str, *, unedited: bool = False) -> int:
        """Take back a step: what it replaced is there again. The number of decisions taken back.

        Args:
            step: the step
            unedited: only decisions whose labels are as :meth:`keep_as_written` kept them

        Raises:
            AgreementInputError: if all of them were applied to labels
        """
        decisions, labels = list_at(f"${self.decisions}"), self._stored_labels
        of_step = {"$eq": ["$$this.step", {"$literal": step}]}
        conditions = [of_step, {"$eq": [list_at(f"$$this.{APPLIED}"), []]}]
        is_gone = {"$and": [*conditions, *([{"$in": ["$$this.written", labels]}] if unedited else [])]}
        gone, left = _filtered(decisions, is_gone), _filtered(decisions, {"$not": [is_gone]})
        query = {f"{self.decisions}.step": step}
        counted: list[Stored] = [{"$match": query}, {"$group": {"_id": None, "n": {"$sum": {"$size": gone}}}}]
        n = next((row["n"] for row in self.collection.aggregate(counted)), None)
        if n == 0 and not unedited:
            raise AgreementInputError(
                f"`step` must not be applied to annotators' labels, got {step!r}, which is; call undo_applied() first"
            )
        own = _filtered(labels, {"$not": [{"$in": ["$$this._id", _each(gone, "$$this.gold_id")]}]})
        before = {"$concatArrays": [left, _joined(_each(gone, _nested(list_at("$$this.replaced.decisions"))))]}
        labels_before = _joined(_each(gone, list_at("$$this.replaced.labels")))
        self.collection.update_many(query, self._set(before, {"$concatArrays": [own, labels_before]}))
        return int(n or 0)

    def _set(self, decisions: Stored, labels: Stored) -> list[Stored]:
        """Stages that set both fields; samples without decisions and labels are as they were before the first."""
        kind = self.kind
        label: Stored = {"$arrayElemAt": ["$_labels", -1]}
        if kind.list_name is not None:
            held = object_at(f"${self.name}")
            label = {"$mergeObjects": [{"_cls": kind.stored.__name__}, held, {kind.list_name: "$_labels"}]}
        nothing: Stored = {"$eq": ["$_decisions", []]}
        without_labels: Stored = {"$eq": ["$_labels", []]}
        if kind.list_name is not None:  # an empty list says that somebody looked, and there is nothing
            without_labels = {"$and": [nothing, without_labels]}
        values: Stored = {
            self.decisions: {"$cond": [nothing, "$$REMOVE", "$_decisions"]},
            self.name: {"$cond": [without_labels, "$$REMOVE", label]},
        }
        return [
            {"$set": {"_decisions": decisions, "_labels": labels}},
            {"$set": values},
            {"$unset": ["_decisions", "_labels"]},
        ]


def _keys_in(field: str, kind: LabelKind) -> Stored:
    """What decisions call the labels in a field of a document (:func:`label_key`)."""
    if not kind.is_label:
        return {"$literal": [label_key(field, None, kind)]}
    held = [f"${field}"] if kind.list_name is None else list_at(f"${kind.label_path(field)}")
    key = {"$concat": [f"{field} ", {"$convert": {"input": "$$this._id", "to": "string", "onError": "", "onNull": ""}}]}
    return {"$map": {"input": held, "as": "this", "in": key}}


def _filtered(values: Stored | str, condition: Stored) -> Stored:
    return {"$filter": {"input": values, "as": "this", "cond": condition}}


def _each(values: Stored, value: Any) -> Stored:
    return {"$map": {"input": values, "as": "this", "in": value}}


def _those(decisions: Stored, labels: Stored, ids: Sequence[str]) -> tuple[Stored, Stored]:
    """The decisions with some ids, and their labels."""
    found = _filtered(decisions, {"$in": ["$$this.id", {"$literal": list(ids)}]})
    return found, _filtered(labels, {"$in": ["$$this._id", _each(found, "$$this.gold_id")]})


def _without(values: Stored, others: Stored, name: str) -> Stored:
    """A list without the entries of another one, told by their ids."""
    return _filtered(values, {"$not": [{"$in": [f"$$this.{name}", _each(others, f"$$this.{name}")]}]})


def _in_place(labels: Stored, made: Sequence[Made]) -> Stored:
    """Labels, those that were read and take the place of others already in that place."""
    branches = [
        {"case": {"$eq": ["$$this._id", one.read["_id"]]}, "then": {"$literal": one.label}}
        for one in made
        if one.read is not None and one.label is not None
    ]
    return _each(labels, {"$switch": {"branches": branches, "default": "$$this"}}) if branches else labels


def _joined(lists: Stored) -> Stored:
    return {"$reduce": {"input": lists, "initialValue": [], "in": {"$concatArrays": ["$$value", "$$this"]}}}


def _flat(decisions: Stored) -> Stored:
    """Decisions in one list, each followed by those before it, as many as its ``replaced.n`` says.

    If each kept the one before it, a document would soon be nested deeper than the database allows.
    """
    before = "$$this.replaced.decisions"
    kept = {"labels": "$$this.replaced.labels", "n": {"$size": before}}
    flat = {"$concatArrays": [[{"$mergeObjects": ["$$this", {"replaced": kept}]}], before]}
    return _joined(_each(decisions, {"$cond": [{"$isArray": [before]}, flat, ["$$this"]]}))


def _nested(flat: Stored) -> Stored:
    """The decisions of which :func:`_flat` made one list, each with those before it.

    Decisions of earlier versions, in which every decision keeps the one before it, have no ``n`` and stay as they are.
    """
    n: Stored = {"$min": ["$$one.replaced.n", {"$size": "$$flat"}]}
    is_flat: Stored = {"$and": [{"$in": [{"$type": "$$one.replaced.n"}, ["int", "long"]]}, {"$gte": [n, 0]}]}
    n = {"$cond": [is_flat, n, 0]}

    def with_one(at: str, value: Stored) -> Stored:
        return {"$let": {"vars": {"one": {"$arrayElemAt": ["$$flat", at]}}, "in": value}}

    found = {"next": {"$add": ["$$this", 1, n]}, "at": {"$concatArrays": ["$$value.at", ["$$this"]]}}
    is_next = {"$eq": ["$$this", "$$value.next"]}
    walked: Stored = {
        "input": {"$range": [0, {"$size": "$$flat"}]},
        "initialValue": {"next": 0, "at": []},
        "in": {"$cond": [is_next, with_one("$$this", found), "$$value"]},
    }
    own = {"$cond": [{"$gt": [n, 0]}, {"$slice": ["$$flat", {"$add": ["$$this", 1]}, {"$max": [n, 1]}]}, []]}
    before = {"replaced": {"decisions": own, "labels": "$$one.replaced.labels"}}
    restored = {"$cond": [is_flat, {"$mergeObjects": ["$$one", before]}, "$$one"]}
    at = {"$let": {"vars": {"walked": {"$reduce": walked}}, "in": "$$walked.at"}}
    return {"$let": {"vars": {"flat": flat}, "in": _each(at, with_one("$$this", restored))}}


def _share(keys: Sequence[str]) -> Stored:
    """Whether a decision ``$$this`` is on one of some labels."""
    return {"$ne": [{"$setIntersection": [list_at("$$this.labels"), {"$literal": list(keys)}]}, []]}


def write_all(collection: Collection[Stored], updates: Sequence[UpdateOne]) -> int:
    """Write some updates; how many of them had an effect.

    Raises:
        NoRoomError: if a document is too large
    """
    try:
        return collection.bulk_write(list(updates), ordered=False).matched_count
    except PyMongoError as error:
        too_large = too_large_ids(error)
        if too_large is None:
            raise
        raise NoRoomError(list(map(str, too_large))) from None  # it quotes all labels


# ---- for users ----


def open_gold(samples: SampleCollection, name: str) -> Gold:
    """The field of decisions of a dataset, on its samples or on its frames.

    Raises:
        AgreementInputError: if there is none of that name
    """
    found = _left_of(samples, name)
    dataset = dataset_of(samples)
    if found is not None and found.exists:
        return found
    if found is not None:
        raise AgreementInputError(found.what_is_missing())
    known = gold_fields(dataset)
    raise AgreementInputError(
        f"`gold` must be a field of decisions of {dataset.name!r}, got {name!r}; there "
        + (f"are {', '.join(known)}" if known else "is none: decide() makes it")
    )


def is_undecided(samples: SampleCollection, name: str) -> bool:
    """Whether a field of decisions does not exist, and nothing is left of it."""
    return _left_of(samples, name) is None


def delete_empty_gold(samples: SampleCollection, name: str) -> None:
    """Delete a field of decisions in which nothing is left, as after the last undo; do nothing without one."""
    found = _left_of(samples, name)
    if found is not None and found.exists:
        found.delete_if_empty()


def left_gold(samples: SampleCollection, name: str) -> Gold:
    """What is left of a field of decisions; raises as :func:`open_gold` if that is nothing."""
    return _left_of(samples, name) or open_gold(samples, name)


def _left_of(samples: SampleCollection, name: str) -> Gold | None:
    dataset = dataset_of(samples)
    reload_dataset(dataset)
    places = (False, True) if has_frame_fields(dataset) else (False,)
    return next((gold for on in places if (gold := Gold(dataset, name, on_frames=on)).left), None)


def gold_fields(samples: SampleCollection) -> list[str]:
    """Names of the fields of decisions of a dataset; the default name first."""
    marks = {path: gold_of(field) for path, field in all_fields(dataset_of(samples)).items()}
    names_of = {path: path.removeprefix(names.FRAMES_PREFIX) for path in marks}
    found = {name for path, name in names_of.items() if name == marks[path] == marks.get(path + names.DECISIONS_SUFFIX)}
    return sorted(found, key=lambda name: (name != names.DEFAULT_GOLD_FIELD, name))


def applied_steps(samples: SampleCollection) -> list[str]:
    """The steps of decisions that are applied to annotators' labels."""
    opened = [open_gold(samples, name) for name in gold_fields(samples)]
    with_decisions = [(gold, {f"{gold.decisions}.id": {"$exists": True}}) for gold in opened]
    found = {step for gold, query in with_decisions
             for step in gold.collection.distinct(f"{gold.decisions}.{APPLIED}.step", query)}  # fmt: skip
    return sorted(step for step in found if isinstance(step, str))


def labels_of_steps(
    samples: SampleCollection, steps: Several[str], fields: Sequence[str]
) -> tuple[dict[tuple[ObjectId, int | None], int], set[str]]:
    """Number of labels in some fields that were set in some steps, by sample and number of the frame; the steps found.

    Args:
        samples: the dataset, or a view of it
        steps: steps of :func:`apply_decisions`
        fields: label fields of samples, or of frames
    """
    numbers: dict[tuple[ObjectId, int | None], int] = {}
    found = set()
    on_frames, wanted = is_of_frames(fields[0]), {name.removeprefix(names.FRAMES_PREFIX) for name in fields}
    for gold in (open_gold(samples, name) for name in gold_fields(samples)):
        of_steps = {f"{gold.decisions}.id": {"$exists": True}, f"{gold.decisions}.{APPLIED}.step": {"$in": list(steps)}}
        for row in gold.collection.find(of_steps, {gold.decisions: True, "_sample_id": True, "frame_number": True}):
            decisions = whole_decisions(row[gold.decisions])
            parts = [part for each in decisions for part in each.get(APPLIED) or () if part["step"] in steps]
            found |= {part["step"] for part in parts}
            keys = {change["key"] for part in parts for change in part["changes"]}
            n = sum(key.rpartition(" ")[0] in wanted for key in keys)
            if n and gold.on_frames == on_frames:
                place = (row["_sample_id"], row["frame_number"]) if on_frames else (row["_id"], None)
                numbers[place] = numbers.get(place, 0) + n
    return numbers, found


def is_edited(decision: Stored, labels: Sequence[Stored], kind: LabelKind) -> bool:
    """Whether the label of a decision was edited or deleted since it was written."""
    if decision["gold_id"] is None:
        return False
    label = next((each for each in labels if each["_id"] == decision["gold_id"]), None)
    return label is None or hash_of_label(label, kind) != decision["gold_hash"]


def hash_of_label(label: Stored, kind: LabelKind) -> str:
    """A hash of the class and the geometry, number or mask of a stored label."""
    content = {name: label[name] for name in sorted(kind.content) if label.get(name) is not None}
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
