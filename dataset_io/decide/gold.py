"""The gold field (field of decisions) of a dataset: declare and delete it, read, count, list and undo decisions.

:mod:`~.decision_log` describes what is stored in a sample, and how it is written.
"""

from __future__ import annotations

import dataclasses
import functools
import html
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import fiftyone as fo
import fiftyone.core.labels as fol
from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.settings.arguments import takes_arrays, text_of
from ...agreement.settings.errors import AgreementInputError
from ...charts.text.words import counted
from ..app.label_schemas import end_editing
from ..database.fiftyone_private import list_of, reload_samples
from ..labels.kinds import LabelKind, kind_of
from ..labels.source import is_own_name, refuse_read_only, whole_samples
from ..labels.stored import all_fields, run_of
from ..record.gold_fields import APPLIED, GoldField
from ..record.lease import writing
from ..record.run import list_agreements
from ..record.schema import declare, delete_fields, new_field, undeclare, unset_undeclared
from ..run.read import rare_collections
from ..units.changing import BATCH, Changed, Documents, change
from ..units.unit_labels import Stored
from .decision_log import BY_RULE, REPLACED_BY, Choice, DecisionLog

if TYPE_CHECKING:
    from pandas import DataFrame

#: most letters in the name of the field: it is part of the name of an index, which must not be long
_MOST_LETTERS = 100


class Gold(GoldField):
    """The field of decisions of a dataset, to read and write."""

    @functools.cached_property
    def kind(self) -> LabelKind:
        """Type of the labels in the field."""
        kind = kind_of(self.dataset.get_field(self.path))
        if kind is None or not kind.is_label:
            raise AgreementInputError(f"`{self.path}` must hold decisions, but its type was changed; delete it")
        return kind

    def kinds_of(self, fields: Iterable[str]) -> dict[str, LabelKind]:
        """Types of the labels in fields of the documents, by field; without deleted fields."""
        found = {name: kind_of(self.dataset.get_field(self.prefix + name)) for name in sorted(fields)}
        return {name: kind for name, kind in found.items() if kind is not None}

    # ---- declaring and deleting ----

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
        if is_own_name(self.name):
            raise AgreementInputError(
                f"`gold` must be free, but {self.name!r} is a name of FiftyOne's own; choose another name"
            )
        for key in list_agreements(self.dataset):
            if {self.name, self.decisions} & names.own_names(key):
                raise AgreementInputError(f"`gold` must be free, but {self.name!r} belongs to the run {key!r}")
        if self.left:
            raise AgreementInputError(self.what_is_missing())
        taken = next((path for path in self.paths if self.dataset.get_field(path) is not None), None)
        if taken is not None:
            raise AgreementInputError(f"`{taken}` must be free, but it is a field of the dataset; choose another name")

    def declare(self, stored: type[fol.Label], fields: Iterable[str]) -> None:
        """Declare the field, with all attributes that the labels of the annotators' fields have.

        FiftyOne reads an attribute of any type if it is not declared: so it is where these fields disagree on its type.
        """
        self.check(stored)
        list_name, label_type = list_of(stored) or ("", stored)
        inside_list = f".{list_name}." if list_name else "."
        schema, own = all_fields(self.dataset), {*label_type._fields, *names.GOLD_ATTRIBUTES}
        ours = f"{self.path}{inside_list}"
        found, types = dict[str, fo.Field](), defaultdict[str, set[Any]](set)
        for field in sorted({*fields, self.path}):
            inside = f"{field}{inside_list}"
            for path, declared in schema.items():
                attribute = path.removeprefix(inside)
                is_new = path.startswith(inside) and "." not in attribute and attribute not in own
                if is_new and run_of(path, declared) is None:
                    found.setdefault(ours + attribute, declared)
                    # what two fields have in common if each can hold the values of the other; all numbers are alike
                    kind = fo.FloatField if isinstance(declared, fo.IntField) else type(declared)
                    inner, document = getattr(declared, "field", None), getattr(declared, "document_type", None)
                    types[ours + attribute].add((kind, type(inner), document))
        differing, info = {path for path, kinds in types.items() if len(kinds) > 1}, {names.GOLD_MARK: self.name}
        described = "What was decided to be right: a label for every object that there is"
        log_described = "Who decided what, when and why; one entry for every decision"
        wanted: dict[str, fo.Field] = {
            self.path: fo.EmbeddedDocumentField(stored, description=described, info=info),
            **{path: declared for path, declared in found.items() if path not in differing},
            **{ours + name: new_field(spec) for name, spec in names.GOLD_ATTRIBUTES.items()},
            self.paths[1]: fo.ListField(fo.DictField(), description=log_described, info=info),
        }
        if differing & schema.keys() or any(self.dataset.get_field(path) is None for path in wanted):
            with writing(self.dataset):
                self.check(stored)
                if differing & schema.keys():
                    undeclare(self.dataset, differing)
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
        """Delete the field if no sample, or frame, has a decision or a label in it; do nothing without a field."""
        if not self.exists or self.decided_ids():
            return
        held: Stored = {self.name: {"$ne": None}}
        if (list_name := self.kind.list_name) is not None:
            held = {"$and": [held, {f"{self.name}.{list_name}": {"$ne": []}}]}
        with writing(self.dataset):
            if self.collection.find_one({"$or": [held, {self.decisions: {"$nin": [None, []]}}]}, {"_id": True}) is None:
                self.delete()

    # ---- reading ----

    def decided(self, only: Sequence[ObjectId] | None = None) -> dict[ObjectId, tuple[DecisionLog, Stored]]:
        """For every sample, or frame, with decisions its log and document (of frames with video and number), by id."""
        query = self.with_decisions | ({} if only is None else {"_id": {"$in": list(only)}})
        beside = {"_sample_id": True, "frame_number": True} if self.on_frames else {}
        rows = self.collection.find(query, {self.name: True, self.decisions: True, **beside}) if self.exists else ()
        return {row["_id"]: (DecisionLog(self, self.kind, row), row) for row in rows}

    def decided_ids(self) -> list[ObjectId]:
        """Ids of the samples, or frames, with decisions."""
        found = self.collection.find(self.with_decisions, {"_id": True}) if self.exists else ()
        return [row["_id"] for row in found]

    def latest_step(self, by: str | None) -> str | None:
        """The last step of decisions, by anybody or by one person, that was not applied; opening a form is no step."""
        decision = self.decisions
        conditions = [
            {f"{decision}.{APPLIED}.0": {"$exists": False}, f"{decision}.{REPLACED_BY}": {"$exists": False}},
            {"$or": [{f"{decision}.choice": {"$ne": "skip"}}, {f"{decision}.gold_id": None}]},
            {} if by is None else {f"{decision}.decided_by": by},
        ]
        stages: list[Stored] = [
            {"$match": self.with_decisions},
            {"$project": {decision: True}},
            {"$unwind": f"${decision}"},
            {"$match": {"$and": conditions}},
            {"$sort": {f"{decision}.decided_at": -1, f"{decision}.id": -1}},
            {"$limit": 1},
        ]
        return next((row[decision]["step"] for row in self.collection.aggregate(stages)), None)

    def only_decision(self, step: str) -> tuple[str, Stored] | None:
        """Id of the document and decision of a step; None unless the step has exactly one decision."""
        rows = self.collection.find({f"{self.decisions}.step": step}, {self.name: True, self.decisions: True}).limit(2)
        logs = ((str(row["_id"]), DecisionLog(self, self.kind, row)) for row in rows)
        made = [(document, one) for document, log in logs for one in log.decisions if one["step"] == step]
        return made[0] if len(made) == 1 else None

    def counts(
        self, verdicts: Sequence[str], annotator: str | None = None, label: str | None = None, votes: int | None = None
    ) -> tuple[int, int]:
        """Numbers of decided and of skipped objects that passed filters when they were decided.

        They had one of the verdicts; if given, ``annotator`` was assigned, somebody gave the class ``label``, and there
        were ``votes`` labels.
        """
        size = None if votes is None else {"$size": votes}
        sought = {"verdict": {"$in": list(verdicts)}, "asked": annotator, "classes": label, "labels": size}
        conditions = {f"{self.decisions}.{name}": value for name, value in sought.items() if value is not None}
        stages: list[Stored] = [
            {"$match": self.with_decisions},
            {"$project": {f"{self.decisions}.{name}": True for name in (*sought, "choice", REPLACED_BY)}},
            {"$unwind": f"${self.decisions}"},
            {"$match": {f"{self.decisions}.{REPLACED_BY}": {"$exists": False}, **conditions}},
            {"$group": {"_id": {"$eq": [f"${self.decisions}.choice", "skip"]}, "n": {"$sum": 1}}},
        ]
        found = {row["_id"]: row["n"] for row in self.collection.aggregate(stages)} if self.exists else {}
        return found.get(False, 0), found.get(True, 0)

    # ---- writing ----

    def undo(self, step: str, *, unedited: bool = False) -> int:
        """Undo a step: replaced decisions are current again. Returns the number of undone decisions.

        With ``unedited`` only those whose labels are still as they were when the form was opened.

        Raises:
            AgreementInputError: if all of them were applied to labels, or their labels were edited
        """

        def undone(rows: list[Stored]) -> dict[ObjectId, Changed]:
            found = dict[ObjectId, Changed]()
            for row in rows:
                log = DecisionLog(self, self.kind, row)
                of_step = [each for each in log.decisions if each["step"] == step]
                counts = Counter(applied=sum(bool(each.get(APPLIED)) for each in of_step))
                counts["edited"] = sum(map(log.would_lose, of_step))
                counts["n"] = log.undo(step, unedited=unedited)
                found[row["_id"]] = counts, log.write() if counts["n"] else None
            return found

        documents = Documents(self.collection, {f"{self.decisions}.step": step}, (self.name, self.decisions))
        total = change(documents, undone)
        while total.pop("n_meanwhile", 0):  # until nobody changes one of the samples meanwhile
            total += change(documents, undone)
        if total["applied"] and not total["n"] and not unedited:
            raise AgreementInputError(
                f"`step` must not be applied to annotators' labels, got {step!r}, which is; call "
                "run.decisions.undo_applied() first"
            )
        if total["edited"] and not total["n"] and not unedited:
            raise AgreementInputError(
                f"`step` must have labels as they were decided, got {step!r}, whose labels somebody edited since: "
                "undoing it would delete them; delete these labels, or record them with run.decisions.record_own()"
            )
        return total["n"]


#: how many names, and how many decisions, are shown at most
_MOST_NAMES, _MOST_SHOWN = 3, 10
#: fields of :class:`Decision` with the same value as in the log
_AS_STORED = ("choice", "annotator", "decided_by", "decided_at", "remark", "run_key", "unit", "verdict", "step")


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision on an object."""

    sample_id: str  #: id of the sample, for frames of the video
    frame_number: int | None  #: number of the frame; None on samples
    choice: Choice  #: what was chosen
    annotator: str | None  #: the annotator whose label was copied; None if none was
    decided_by: str
    decided_at: datetime  #: in UTC
    remark: str | None
    run_key: str  #: the run in which the object was decided
    unit: str  #: match id of the object in that run
    verdict: str | None  #: verdict of the object in that run
    labels: tuple[str, ...]  #: field and id of the annotators' labels of the object
    gold_id: str | None  #: id of the label in the field of decisions; None without one
    step: str  #: id of all that one call decided, for ``run.decisions.undo``
    by_rule: bool  #: whether a rule decided, and not a person on an object named by id
    changed: bool  #: whether an annotator's label of the object was edited or deleted since
    edited: bool  #: whether the label in the field of decisions was edited or deleted since
    applied: bool  #: whether it was applied to the annotators' labels; ``changed`` means since then


class Decisions(list[Decision]):
    """Decisions, in the order in which they were made."""

    def __repr__(self) -> str:
        by = Counter(each.decided_by for each in self).most_common(_MOST_NAMES)
        who = f", most of them by {', '.join(name for name, _ in by)}" if by else ""
        on = counted(len({each.sample_id for each in self}), "sample")
        return f"<{counted(len(self), 'decision')} on {on}{who}; to_dataframe() has them>"

    def _repr_html_(self) -> str:
        shown = self.to_dataframe().head(_MOST_SHOWN)
        return f"<p>{html.escape(repr(self))}</p>{shown.to_html(index=False)}"

    def to_dataframe(self) -> DataFrame:
        """The decisions as a pandas DataFrame, a row each."""
        import pandas as pd

        columns = [field.name for field in dataclasses.fields(Decision)]
        return pd.DataFrame([[getattr(each, name) for name in columns] for each in self], columns=columns)


@takes_arrays
def list_decisions(dataset: fo.Dataset | SampleCollection, *, gold: str = names.DEFAULT_GOLD_FIELD) -> Decisions:
    """All decisions on objects, in the order in which they were made; skipped objects are among them.

    Args:
        dataset: the dataset, or a view of it, to list the decisions on its samples
        gold: the field of decisions

    Raises:
        AgreementInputError: if there is no such field
    """
    opened = Gold.open_if_any(dataset, gold)
    if opened is None:
        return Decisions()
    only = None
    if isinstance(dataset, fo.DatasetView):
        samples = whole_samples(dataset)
        ids = samples.values("frames.id", unwind=True) if opened.on_frames else samples.values("id")
        only = [ObjectId(each) for each in ids]
    listed = list[Decision]()
    with rare_collections():
        found = opened.decided(only)
        made = [one for log, _ in found.values() for one in log.decisions]
        kinds = opened.kinds_of({key.rpartition(" ")[0] for one in made for key in one["labels"]})
        documents = Documents(opened.collection, {}, ("_id", *kinds))
        batches = (documents.again(list(found)[start : start + BATCH]) for start in range(0, len(found), BATCH))
        for now in (each for batch in batches for each in batch):  # labels as they are now
            row = found[now["_id"]][1]
            log = DecisionLog(opened, opened.kind, {**row, **now}, kinds)
            for stored in log.decisions:
                decision = Decision(
                    sample_id=str(row.get("_sample_id", row["_id"])),
                    frame_number=row.get("frame_number"),
                    **{name: stored[name] for name in _AS_STORED},
                    labels=tuple(stored["labels"]),
                    gold_id=None if stored["gold_id"] is None else str(stored["gold_id"]),
                    by_rule=stored[BY_RULE],
                    changed=list(map(log.hash, stored["labels"])) != stored["hashes"],
                    edited=log.is_edited(stored),
                    applied=bool(stored.get(APPLIED)),
                )
                listed.append(decision)
    listed.sort(key=lambda each: (each.decided_at, each.sample_id, each.frame_number or 0, each.unit))
    return Decisions(listed)


@takes_arrays
def undo_decisions(
    dataset: fo.Dataset | SampleCollection,
    step: str | None = None,
    *,
    by: str | None = None,
    gold: str = names.DEFAULT_GOLD_FIELD,
) -> int:
    """Undo the last step of decisions: one object, or all that ``run.decisions.decide`` decided in one call.

    Decisions that the undone ones replaced are current again. Those that were applied to the annotators' labels stay
    until ``run.decisions.undo_applied`` undoes that.

    Args:
        dataset: the dataset, or a view of it
        step: the step, as ``run.decisions.decide`` and ``run.decisions.list`` name it; None for the last one
        by: the last step of this person; only used without ``step``
        gold: the field of decisions

    Returns:
        number of decisions that were taken back; 0 if there is nothing to take back

    Raises:
        AgreementInputError: if there is no such field, the step has no decisions (any more), or all of them were
            applied
    """
    opened = Gold.open_if_any(dataset, gold)
    by = None if by is None else text_of("by", by)
    wanted, n = None if step is None else text_of("step", step), 0
    if opened is not None and (wanted := wanted or opened.latest_step(by)) is not None:
        n = opened.undo(wanted)
        reload_samples(opened.dataset)
    if step is not None and not n:
        raise AgreementInputError(
            f"`step` must be that of decisions which are there, got {step!r}, and none was taken back; "
            "run.decisions.list() has the steps"
        )
    return n


@takes_arrays
def delete_decisions(dataset: fo.Dataset | SampleCollection, *, gold: str = names.DEFAULT_GOLD_FIELD) -> None:
    """Delete the field of decisions with all decisions. The annotators' labels, and runs, stay as they are.

    Afterwards, changes of labels by applied decisions cannot be undone. If one of the two fields was deleted or renamed
    with FiftyOne's own functions, the other one is deleted.

    Args:
        dataset: the dataset, or a view of it
        gold: the field of decisions

    Raises:
        AgreementInputError: if there is no such field
    """
    (Gold.left_in(dataset, gold) or Gold.open(dataset, gold)).delete()
