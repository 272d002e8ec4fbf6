"""Apply decisions to the annotators' own labels, as one step that can be undone.

Every sample, or frame, gets its changed labels, and what was done beside its decisions, in one write that has no effect
if anything that was read is different by then. A killed process leaves nothing half done, and two processes do nothing
twice. Samples get a new time stamp, so that :func:`update_agreement` finds them.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TextIO, get_args

import fiftyone as fo
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from pymongo import UpdateOne

from ... import names
from ...agreement.settings.arguments import one_of, print_to, takes_arrays, text_of, texts_of, true_or_false
from ...agreement.settings.options import OPTIONS, value_name
from ...charts.reports.decided import applied_section, but_left_out
from ...charts.text.sections import as_text
from ...charts.text.words import counted
from ..database.fiftyone_private import reload_samples
from ..labels.kinds import LabelKind, kind_of
from ..labels.paths import attributes_of_runs
from ..labels.source import refuse_read_only
from ..record.changes import now
from ..record.gold_fields import APPLIED
from ..record.lease import unless_deleted
from ..record.run_labels import open_run_labels
from ..run.work_through import MAX_ATTEMPTS, Progress, rare_collections
from ..shards.engines import Engine
from ..shards.shared_pass import SharedPass, done_pass, part_done
from .annotator_labels import hash_of_label, label_key
from .decidable import Decidable
from .decide import ObjectsToDecide, documents_of, open_to_decide, user_name
from .decision_log import DecisionLog, is_edited
from .decisions import Gold
from .label_edits import LabelEdits, new_label
from .stored_decisions import ADDED, DELETED, REPLACED_BY, Stored, is_decision

if TYPE_CHECKING:
    from pandas import DataFrame

#: what can be done to a label of an annotator: it gets the class of what was decided, or its geometry (of samples: the
#: number, or mask), or its values of the attributes that the run compares; it is deleted where there is no object; it
#: is added where the annotator was assigned and drew none
Change = Literal["class", "geometry", "attributes", "delete", "add"]

_CHANGES: tuple[str, ...] = get_args(Change)
_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class AppliedTo:
    """Numbers of changed labels of an annotator, by kind of change; one label may be in several."""

    name: str
    n_class: int = 0  #: labels that got another class
    n_geometry: int = 0  #: labels that got another geometry, number or mask
    n_attributes: int = 0  #: labels that got other values of attributes
    n_deleted: int = 0
    n_added: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class Applied:
    """Outcomes of decisions that were applied to the annotators' labels; in a preview: those to expect."""

    field: str  #: the field of decisions
    step: str | None  #: what :func:`undo_applied` takes back; None if nothing was changed
    annotators: list[AppliedTo]  #: by name
    n_applied: int = 0  #: objects of which labels were changed, deleted or added
    n_right: int = 0  #: objects on which there is nothing to do
    n_changed: int = 0  #: objects left out, as labels were edited, added or deleted since the decision
    n_edited: int = 0  #: objects left out, as what is right was edited by hand: record_own_labels() records that
    n_unfit: int = 0  #: labels left out: a whole number cannot be 2.5, a mask is not given a box, or a field is damaged
    n_meanwhile: int = 0  #: samples or frames left out because others kept on changing them

    def told(self, what: str) -> str:
        """A sentence on the outcomes that begins with ``what``."""
        others = [
            (self.n_changed, "whose labels were edited, added or deleted since the decision"),
            (self.n_edited, "whose decided label was edited by hand"),
            (self.n_unfit, "labels that cannot be made so"),
            (self.n_meanwhile, "samples that somebody kept on changing"),
        ]
        right = f"; on {self.n_right:,} there is nothing to do" if self.n_right else ""
        return f"{what} the labels of {counted(self.n_applied, 'object')}{right}" + but_left_out(others)

    def _title(self) -> str:
        return self.told("Would change" if self.step is None and self.n_applied else "Changed")

    def __repr__(self) -> str:
        undo = "" if self.step is None else f"; run.decisions.undo_applied({self.step!r}) takes it back"
        return f"<{self._title()}{undo}; print_report() says whose>"

    def _repr_html_(self) -> str:
        from ...charts.page.page import sections_html  # imports Plotly, which is not needed to apply

        return sections_html([applied_section(self._title(), self.annotators)])

    def print_report(self, file: TextIO | None = None) -> None:
        """Print the changes to the labels of every annotator.

        Args:
            file: output file, standard output by default
        """
        print_to(file, as_text([applied_section(self._title(), self.annotators)]))

    def to_dataframe(self) -> DataFrame:
        """Changes to the labels of every annotator, a row each."""
        import pandas as pd

        return pd.DataFrame([dataclasses.asdict(each) for each in self.annotators])


@dataclass(frozen=True, slots=True, repr=False)
class TakenBack:
    """Outcomes of undoing applied decisions, in labels."""

    step: str | None  #: the step; None if there was none
    n_objects: int = 0  #: objects whose labels are again what they were
    n_changed: int = 0  #: objects left as they are, as labels were edited since
    n_meanwhile: int = 0  #: samples or frames left as they are because others kept on changing them

    def told(self) -> str:
        """A sentence on the outcomes."""
        others = [
            (self.n_changed, "whose labels were edited since"),
            (self.n_meanwhile, "samples that somebody changed"),
        ]
        return f"Took back what was applied to {counted(self.n_objects, 'object')}" + but_left_out(others)

    def __repr__(self) -> str:
        return f"<{self.told()}>"


@takes_arrays
def apply_decisions(
    samples: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    annotators: Sequence[str] | str | None = None,
    changes: Sequence[Change] | Change | None = None,
    by: str | None = None,
    gold: str = names.DEFAULT_GOLD_FIELD,
    preview: bool = False,
    workers: int = 1,
    executor: Executor | None = None,
    progress: Progress = None,
) -> Applied:
    """Change the annotators' own labels to the adjudicated ones; :func:`undo_applied` undoes it.

    Labels get the class (number, mask) of what was decided, labels of what is no object are deleted, and annotators get
    a label of every object that they were assigned to and did not draw. Boxes and shapes stay as they were drawn,
    unless ``changes`` has ``"geometry"``. Ids, tags and all other attributes of a label stay; an added label has none.
    Skipped objects stay as they are, and so do objects whose labels were edited, added or deleted since the decision:
    these are counted.

    Samples that somebody changes meanwhile are read again; what others wrote is never overwritten. Samples have been
    edited then: :func:`update_agreement` brings runs up to date. Labels that are the same because they were changed
    here are no agreement: :func:`compare_agreement` says how many there are, and compares without them, too. Numbers on
    how right annotators were leave out labels that were changed here: ask for them (:func:`report_decisions`) before.

    Args:
        samples: the dataset, or a view of its samples
        run_key: key of the run, which says who the annotators are and who was assigned
        annotators: change the labels of this annotator, or of several; None for all
        changes: ``"class"``, ``"geometry"`` (numbers and masks, too), ``"attributes"`` (those that the run compares),
            ``"delete"`` and ``"add"``, one or several; None for class, delete and add, or number, mask and delete
        by: name of who does it; None for the name of the user
        gold: the field of decisions
        preview: count only
        workers: as in :func:`compute_agreement`
        executor: as in :func:`compute_agreement`
        progress: as in :func:`compute_agreement`

    Raises:
        AgreementInputError: if there is no such completed run, or no such field; if a label field is read-only, or an
            argument is not usable
    """
    labels = open_run_labels(samples, run_key)
    field = Gold.open(samples, gold)
    chosen = labels.annotators_asked(annotators)
    wanted = [one_of("changes", each, _CHANGES) for each in texts_of("changes", () if changes is None else changes)]
    by = text_of("by", user_name() if by is None else by)
    true_or_false("preview", preview)
    OPTIONS["progress"].checked(progress)
    engine = Engine(OPTIONS["workers"].checked(workers), OPTIONS["executor"].checked(executor))
    refuse_read_only(labels.dataset, [*labels.label_paths, *labels.config.fields])
    opened = open_to_decide(labels, gold, among=_decided_in(field, samples))
    if changes is None:
        wanted = [change for change, is_default in possible_changes(opened).items() if is_default]
    options: dict[str, Any] = {
        "annotators": chosen or labels.annotators,
        "changes": wanted,
        "by": by,
        "preview": preview,
    }
    options |= {"step": str(ObjectId())}
    with unless_deleted(labels.dataset), rare_collections():
        if engine.is_shared:
            advice = f"run.decisions.undo_applied({options['step']!r}) takes it back, and applying again does the rest"
            shared = SharedPass("decide.apply:apply_part", labels, field.name, opened.among, options, advice)
            total = shared.done(engine, progress)
        else:
            total = done_pass(_Pass(opened, **options), progress)
        if not preview:
            reload_samples(labels.dataset)
    step = options["step"] if total["n_applied"] and not preview else None
    counts = ("n_applied", "n_right", "n_changed", "n_edited", "n_unfit", "n_meanwhile")
    kinds = ("n_class", "n_geometry", "n_attributes", "n_deleted", "n_added")
    applied_to = [
        AppliedTo(name, **{kind: total[name, kind] for kind in kinds})
        for name in labels.annotators if name in options["annotators"]
    ]  # fmt: skip
    return Applied(field.path, step, applied_to, **{name: total[name] for name in counts})


def apply_part(task: Mapping[str, Any]) -> dict[str, Any]:
    """Apply the decisions of some samples, in any process; see :class:`~..shards.shared_pass.SharedPass`."""
    return part_done(
        task, lambda labels, gold, among, **options: _Pass(open_to_decide(labels, gold, among=among), **options)
    )


def possible_changes(opened: ObjectsToDecide) -> dict[Change, bool]:
    """The changes that mean something for the labels of a run, and whether they are made unless asked otherwise."""
    units = opened.units
    found: dict[Change, tuple[bool, bool]] = {
        "class": (units.has_classes and not units.can_repeat, True),
        # of what has no class, the number or mask is what was decided
        "geometry": (bool(units.kind.content), not units.has_classes),
        "attributes": (bool(units.config.attributes), False),
        "delete": (True, True),
        "add": (units.has_votes, True),
    }
    return {change: is_default for change, (is_possible, is_default) in found.items() if is_possible}


def _decided_in(gold: Gold, samples: SampleCollection) -> tuple[ObjectId, ...]:
    """Ids of the samples, or videos, of a dataset or view with decisions."""
    rows = gold.collection.find(gold.with_decisions, {"_sample_id": True})
    found: dict[ObjectId, None] = dict.fromkeys(row["_sample_id" if gold.on_frames else "_id"] for row in rows)
    if isinstance(samples, fo.Dataset):
        return tuple(found)
    return tuple(each for each in documents_of(samples) if each in found)


def _steps(decisions: Sequence[Stored]) -> list[tuple[str, int]]:
    """Version of the decisions of a sample: it differs after another decision, or after they were applied."""
    return [(each["id"], len(each.get(APPLIED) or ())) for each in decisions]


@dataclass(frozen=True, slots=True)
class _Sent:
    ids: list[ObjectId]
    counts: list[Counter[Any]]  #: what became of the objects and labels of every sample
    between: list[ObjectId]  #: samples that changed between two queries
    written: Future[list[ObjectId]]


class _Pass:
    """One pass over the samples with decisions; those that somebody changes meanwhile are read again."""

    def __init__(
        self,
        objects: ObjectsToDecide,
        *,
        annotators: Sequence[str],
        changes: Sequence[str],
        by: str,
        step: str,
        preview: bool,
    ) -> None:
        self.reader = objects.reader()
        self.step = step
        self.total: Counter[Any] = Counter()
        self.objects = objects
        self.chosen = [name for name in objects.labels.annotators if name in annotators]
        self._numbers = [objects.labels.annotators.index(name) for name in self.chosen]
        self.changes = frozenset(changes)
        self.by = by
        self.of_runs = sorted(attributes_of_runs(objects.labels.dataset))
        self._preview = preview
        self._values: dict[str, Any] | None = None

    def send(self, rows: list[dict[str, Any]], writers: ThreadPoolExecutor) -> _Sent:
        """Apply the decisions of a batch, and begin to write it."""
        read = self.reader.columns(rows)
        ids = [sample.sample_id for sample in read.samples]
        counts: list[Counter[Any]] = [Counter() for _ in ids]
        decided: dict[int, list[Stored]] = {}
        for k, decisions in enumerate(read.labels.decided):
            n_right = self._n_right(read.labels, k) if decisions else 0
            if n_right is None:
                decided[k] = decisions
            else:
                counts[k]["n_right"] += n_right
        gold = self.objects.gold
        wanted = dict.fromkeys((*self.objects.fields, gold.name, gold.decisions), True)
        found = gold.collection.find({"_id": {"$in": [ids[k] for k in decided]}}, wanted)
        documents = {document["_id"]: document for document in found}
        between: list[ObjectId] = []
        updates: dict[ObjectId, tuple[UpdateOne, list[Stored]]] = {}
        for k, decisions in decided.items():
            document = documents.get(ids[k], {})
            log = gold.log_of(document)
            current = log.decisions
            if _steps(current) != _steps(decisions):
                between.append(ids[k])
                continue
            applied = _Document(self, read.labels, k, document, log, counts[k]).apply(current)
            if applied is not None and not self._preview:
                updates[ids[k]] = applied
        return _Sent(ids, counts, between, writers.submit(_write, gold, updates))

    def _n_right(self, objects: Decidable, sample: int) -> int | None:
        """Number of decisions on a sample if what was read shows that there is nothing to do; None if it does not."""
        if not self.changes.isdisjoint(("geometry", "attributes")):
            return None
        n, of_decision = 0, {each["id"]: unit for unit in objects.of_sample(sample) for each in objects.found[unit]}
        for decision in objects.decided[sample]:
            if decision["choice"] == "skip":
                continue
            unit = of_decision.get(decision["id"])
            if unit is None or APPLIED in decision or not self._is_right(objects, sample, unit, decision):
                return None
            n += 1
        return n

    def _is_right(self, objects: Decidable, sample: int, unit: int, decision: Stored) -> bool:
        """True if the labels of an object are those that were decided on, and all chosen annotators drew it so."""
        right, rows = objects.gold[sample].get(decision["gold_id"]), objects.rows(unit)
        if right is None or hash_of_label(right, self.objects.kind) != decision["gold_hash"]:
            return False
        annotator, category = (each[rows.start : rows.stop].tolist() for each in (
            objects.members.annotator, objects.members.category))  # fmt: skip
        drew = dict(zip(annotator, category, strict=True))
        code = self.objects.units.code(right) if "class" in self.changes else None
        for number in self._numbers:
            if number in drew and code is not None and drew[number] != code:
                return False
            if number not in drew and "add" in self.changes and objects.assigned[sample, number]:
                return False
        named = dict(zip(decision["labels"], decision["hashes"], strict=True))
        return objects.is_of_same_labels(unit) and objects.hashes(unit) == named

    def settle(self, sent: _Sent) -> list[ObjectId]:
        """Wait until a batch is written, and count it; the samples that somebody changed meanwhile."""
        refused = {*sent.between, *sent.written.result()}
        for document_id, counts in zip(sent.ids, sent.counts, strict=True):
            if document_id not in refused:
                self.total.update(counts)
        return [each for each in sent.ids if each in refused]

    def value_of(self, annotator: str) -> Any:
        """Value of the annotator attribute on labels of an annotator, of the type that it has on labels."""
        if self._values is None:
            source = self.reader.source
            path = f"{source.label_paths[0]}.{source.config.annotator_attribute}"
            self._values = {value_name(value): value for value in source.collection.distinct(path)}
        value = self.objects.labels.value_of(annotator)
        if value not in self._values and {type(each) for each in self._values.values()} == {int}:
            with contextlib.suppress(ValueError):  # an annotator without labels, among others with numbers
                return int(value)
        return self._values.get(value, value)


class _Document:
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
        self,
        work: _Pass,
        objects: Decidable,
        sample: int,
        document: Stored,
        log: DecisionLog,
        counts: Counter[Any],
    ) -> None:
        opened = work.objects
        self._work = work
        self._objects = objects
        self._sample = sample
        self._counts = counts
        self._edits = LabelEdits(document, opened.fields)
        self._fields = list(opened.fields)
        self._log = log
        self._right = {label["_id"]: label for label in log.right}
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
        unit = self._unit.get(decision["id"])
        # a crowd region excuses somebody: it is not known whom
        is_known = self._is_drawn(decision) if unit is None else assigned.sum() == self._objects.members.assigned[unit]
        if right is None or "add" not in self._work.changes or not (assigned[number] and is_known):
            return
        field = opened.labels.field_of(annotator).removeprefix(names.FRAMES_PREFIX)
        if not self._edits.has_room(field):
            self._counts["n_unfit"] += 1
            return
        self._counts[annotator, "n_added"] += 1
        values = {name: right[name] for name in ("label", *opened.kind.content) if right.get(name) is not None}
        attribute = opened.labels.config.annotator_attribute
        if attribute is not None:
            values[attribute] = self._work.value_of(annotator)
        yield self._edits.add(field, new_label(opened.label_type.__name__, values))

    def _annotator_of(self, key: str) -> str | None:
        """The annotator of a label."""
        source, field = self._work.reader.source, key.rpartition(" ")[0]
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


def _write(gold: Gold, updates: Mapping[ObjectId, tuple[UpdateOne, list[Stored]]]) -> list[ObjectId]:
    """Write some samples, or frames; returns the ids of those that somebody changed meanwhile.

    Raises:
        NoRoomError: if one of them is too large
    """
    return gold.swap(updates)


@takes_arrays
def undo_applied(
    dataset: fo.Dataset | SampleCollection, step: str | None = None, *, gold: str = names.DEFAULT_GOLD_FIELD
) -> TakenBack:
    """Undo the changes of one call of :func:`apply_decisions` to the annotators' labels; the decisions stay.

    Labels are again what they were, with their ids and all attributes: what was changed of them changes back, deleted
    labels are there again at their places, added ones are gone. An object of which a label was edited since stays as it
    is, and is counted. Where somebody decided again since, that decision stays.

    Args:
        dataset: the dataset, or a view of it
        step: the step, as :func:`apply_decisions` names it; None for the last one
        gold: the field of decisions

    Raises:
        AgreementInputError: if there is no such field, or a label field is read-only
    """
    field = Gold.open(dataset, gold)
    latest = latest_applied(field) if step is None else None
    if step is None and latest is None:
        return TakenBack(None)
    wanted = latest.step if latest is not None else text_of("step", step)
    step_query = {**field.with_decisions, f"{field.decisions}.{APPLIED}.step": wanted}
    ids = [row["_id"] for row in field.collection.find(step_query, {"_id": True})]
    work = _Undoing(field, wanted, field.collection.distinct(f"{field.decisions}.{APPLIED}.fields", step_query))
    with unless_deleted(field.dataset), rare_collections():
        for start in range(0, len(ids), _BATCH):
            left = ids[start : start + _BATCH]
            for _ in range(1 + MAX_ATTEMPTS):
                left = work.take_back(left)
            work.total["n_meanwhile"] += len(left)
        reload_samples(field.dataset)
    return TakenBack(wanted, **work.total)


@dataclass(frozen=True, slots=True)
class AppliedStep:
    """Decisions that were applied at once."""

    step: str
    by: str
    at: datetime  #: in UTC
    n_objects: int


def latest_applied(gold: Gold) -> AppliedStep | None:
    """Step of the last application; None if nothing was applied."""
    part = f"{gold.decisions}.{APPLIED}"
    types = {"step": "string", "by": "string", "at": "date"}
    stages: list[Stored] = [
        {"$match": {**gold.with_decisions, f"{part}.0": {"$exists": True}}},
        {"$project": dict.fromkeys((f"{part}.step", f"{part}.at", f"{part}.by"), True)},
        {"$unwind": f"${gold.decisions}"},
        {"$unwind": f"${part}"},
        {"$match": {f"{part}.{name}": {"$type": each} for name, each in types.items()}},
        {
            "$group": {
                "_id": f"${part}.step",
                "by": {"$first": f"${part}.by"},
                "at": {"$max": f"${part}.at"},
                "n": {"$sum": 1},
            }
        },
        {"$sort": {"at": -1, "_id": -1}},
        {"$limit": 1},
    ]
    found = gold.collection.aggregate(stages, allowDiskUse=True)
    return next((AppliedStep(row["_id"], row["by"], row["at"], row["n"]) for row in found), None)


class _Undoing:
    """Undoes a step, some samples at a time."""

    def __init__(self, gold: Gold, step: str, fields: Sequence[str]) -> None:
        prefix = names.FRAMES_PREFIX if gold.on_frames else ""
        found = {
            name: kind_of(gold.dataset.get_field(prefix + name))
            for name in sorted(each for each in fields if isinstance(each, str))
        }
        self.total: Counter[str] = Counter()
        self._gold = gold
        self._step = step
        self._kinds: dict[str, LabelKind] = {name: kind for name, kind in found.items() if kind is not None}
        self._of_runs = attributes_of_runs(gold.dataset)
        refuse_read_only(gold.dataset, [prefix + path for name, kind in self._kinds.items()
                                        for path in (name, kind.label_path(name))])  # fmt: skip

    def take_back(self, ids: Sequence[ObjectId]) -> list[ObjectId]:
        """Take back the step on some samples, or frames; the ids of those that somebody changed meanwhile."""
        if not ids:
            return []
        wanted = dict.fromkeys((*self._kinds, self._gold.decisions), True)
        counts, updates = {}, {}
        for document in self._gold.collection.find({"_id": {"$in": list(ids)}}, wanted):
            edits, found = LabelEdits(document, self._kinds), Counter(n_objects=0, n_changed=0)
            stored = document.get(self._gold.decisions)
            log = list(stored) if isinstance(stored, list) else []
            for at in reversed(range(len(log))):
                if is_decision(log[at]):
                    self._take_back(edits, log, at, found)
            counts[document["_id"]] = found
            if found["n_objects"]:
                updates[document["_id"]] = edits.update({self._gold.decisions: log}), log
        refused = _write(self._gold, updates)
        for document_id, found in counts.items():
            if document_id not in refused:
                self.total.update(found)
        return refused

    def _take_back(self, edits: LabelEdits, log: list[Any], at: int, counts: Counter[str]) -> None:
        """Undo the changes to the labels of a decision where possible, and note it in the log; later ones are done."""
        decision = log[at]
        parts = decision.get(APPLIED) or []
        if self._step not in (part["step"] for part in parts):
            return
        changes = [self._declared(change) for change in parts[-1]["changes"]]
        hashes = dict(zip(decision["labels"], decision["hashes"], strict=True))
        is_as_applied = all(
            edits.can_take_back(change) and edits.hash(change["key"]) == hashes.get(change["key"]) for change in changes
        )
        later = list(_later(log, at))
        is_last = parts[-1]["step"] == self._step and not any(log[k].get(APPLIED) for k in later)
        if not is_last or not is_as_applied:
            counts["n_changed"] += 1
            return
        for change in reversed(changes):
            edits.take_back(change)
        counts["n_objects"] += 1
        before = {name: parts[-1][name] for name in ("labels", "hashes")}
        log[at] = {**decision, **before, APPLIED: parts[:-1]}
        if len(parts) == 1:
            del log[at][APPLIED]
        for k in later:  # decided on the labels as they were applied, with those that were added or without
            if set(zip(log[k]["labels"], log[k]["hashes"], strict=True)) <= hashes.items():
                log[k] = {**log[k], **before}

    def _declared(self, change: Stored) -> Stored:
        """A change without what runs wrote on a deleted label that were deleted since."""
        gone = {*change.get("of_runs", ())} - self._of_runs
        if not gone:
            return change
        return {**change, "before": {name: value for name, value in change["before"].items() if name not in gone}}


def _later(log: Sequence[Any], at: int) -> Iterator[int]:
    """Places of the decisions that replaced one, the next one first; they follow it in the log."""
    for k in range(at + 1, len(log)):
        if is_decision(log[k]) and log[k]["id"] == log[at].get(REPLACED_BY):
            at = k
            yield k
