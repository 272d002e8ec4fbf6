"""Apply decisions to the annotators' own labels, as one step that can be undone, and undo it.

Every sample, or frame, gets its changed labels, and what was done beside its decisions, in one write that has no effect
if anything that was read is different by then. A killed process leaves nothing half done, and two processes do nothing
twice. Samples get a new time stamp, so that ``run.update`` finds them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
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
from ..labels.paths import attributes_of_runs
from ..labels.source import refuse_read_only
from ..record.gold_fields import APPLIED
from ..record.lease import unless_deleted
from ..record.run_labels import open_run_labels
from ..record.sample_index import now
from ..run.work_through import MAX_ATTEMPTS, CountingPass, Progress, SentBatch, rare_collections
from .decidable import Decidable
from .decide import ObjectsToDecide, documents_of, open_to_decide, user_name
from .decision_log import ADDED, DELETED, REPLACED_BY, DecisionLog, Stored, hash_of_label, label_key
from .gold import Gold
from .label_edits import LabelEdits, new_label

if TYPE_CHECKING:
    from pandas import DataFrame

#: what can be done to a label of an annotator: it gets the class of what was decided, or its geometry (of samples: the
#: number, or mask), or its values of the attributes that the run compares; it is deleted where there is no object; it
#: is added where the annotator was assigned and drew none
Change = Literal["class", "geometry", "attributes", "delete", "add"]

_CHANGES: tuple[str, ...] = get_args(Change)


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
    step: str | None  #: what ``run.decisions.undo_applied`` takes back; None if nothing was changed
    annotators: list[AppliedTo]  #: by name
    n_applied: int = 0  #: objects of which labels were changed, deleted or added
    n_right: int = 0  #: objects on which there is nothing to do
    n_changed: int = 0  #: objects left out, as labels were edited, added or deleted since the decision
    n_edited: int = 0  #: objects left out, as what is right was edited by hand: record_own_labels() records that
    n_unfit: int = 0  #: labels left out: a whole number cannot be 2.5, and a mask is not given a box
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
    progress: Progress = None,
) -> Applied:
    """Change the annotators' own labels to the adjudicated ones; ``run.decisions.undo_applied`` undoes it.

    Labels get the class (number, mask) of what was decided, labels of what is no object are deleted, and annotators get
    a label of every object that they were assigned to and did not draw. Boxes and shapes stay as they were drawn,
    unless ``changes`` has ``"geometry"``. Ids, tags and all other attributes of a label stay; an added label has none.
    Skipped objects stay as they are, and so do objects whose labels were edited, added or deleted since the decision:
    these are counted.

    Samples that somebody changes meanwhile are read again; what others wrote is never overwritten. Samples have been
    edited then: ``run.update`` brings runs up to date. Labels that are the same because they were changed
    here are no agreement: ``run.compare`` says how many there are, and compares without them, too. Numbers on
    how right annotators were leave out labels that were changed here: ask for them (``run.decisions.report``) before.

    Args:
        samples: the dataset, or a view of its samples
        run_key: key of the run, which says who the annotators are and who was assigned
        annotators: change the labels of this annotator, or of several; None for all
        changes: ``"class"``, ``"geometry"`` (numbers and masks, too), ``"attributes"`` (those that the run compares),
            ``"delete"`` and ``"add"``, one or several; None for class, delete and add, or number, mask and delete
        by: name of who does it; None for the name of the user
        gold: the field of decisions
        preview: count only
        progress: as in ``compute``

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
    refuse_read_only(labels.dataset, [*labels.label_paths, *labels.config.fields])
    rows = field.collection.find(field.with_decisions, {"_sample_id": True})
    decided = tuple(dict.fromkeys(row["_sample_id" if field.on_frames else "_id"] for row in rows))
    if not isinstance(samples, fo.Dataset):
        decided = tuple(each for each in documents_of(samples) if each in set(decided))
    opened = open_to_decide(labels, gold, among=decided)
    if changes is None:
        wanted = [change for change, is_default in possible_changes(opened).items() if is_default]
    step, chosen = str(ObjectId()), chosen or labels.annotators
    with unless_deleted(labels.dataset), rare_collections():
        one_pass = _Pass(opened, annotators=chosen, changes=wanted, by=by, step=step, preview=preview)
        total = one_pass.done(progress)
        if not preview:
            reload_samples(labels.dataset)
    counts = ("n_applied", "n_right", "n_changed", "n_edited", "n_unfit", "n_meanwhile")
    kinds = ("n_class", "n_geometry", "n_attributes", "n_deleted", "n_added")
    applied_to = [
        AppliedTo(name, **{kind: total[name, kind] for kind in kinds})
        for name in labels.annotators if name in chosen
    ]  # fmt: skip
    done = step if total["n_applied"] and not preview else None
    return Applied(field.path, done, applied_to, **{name: total[name] for name in counts})


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


class _Pass(CountingPass):
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
        super().__init__(objects.reader())
        self.objects, self.source = objects, objects.units.reader.source
        self.chosen = [name for name in objects.labels.annotators if name in annotators]
        self.changes, self.by, self.step, self._preview = frozenset(changes), by, step, preview
        self.of_runs = sorted(attributes_of_runs(objects.labels.dataset))
        self._numbers = [objects.labels.annotators.index(name) for name in self.chosen]

    @functools.cached_property
    def values(self) -> dict[str, Any]:
        """Values of the annotator attribute, as they are on labels, by what they are called."""
        path = f"{self.source.label_paths[0]}.{self.source.config.annotator_attribute}"
        return {value_name(value): value for value in self.source.collection.distinct(path)}

    def send(self, rows: list[dict[str, Any]], writers: ThreadPoolExecutor) -> SentBatch:
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
            steps = [
                [(each["id"], len(each.get(APPLIED) or ())) for each in some] for some in (log.decisions, decisions)
            ]
            if steps[0] != steps[1]:  # somebody decided again, or applied the decisions
                between.append(ids[k])
                continue
            applied = _Document(self, read.labels, k, document, log, counts[k]).apply()
            if applied is not None and not self._preview:
                updates[ids[k]] = applied
        return SentBatch(ids, counts, writers.submit(lambda: [*between, *gold.swap(updates)]))

    def _n_right(self, objects: Decidable, sample: int) -> int | None:
        """Number of decisions on a sample if all chosen annotators drew what was decided, and no label was changed.

        None if that is not so, or cannot be told from what was read.
        """
        if not self.changes.isdisjoint(("geometry", "attributes")):
            return None
        n, of_decision = 0, {each["id"]: unit for unit in objects.of_sample(sample) for each in objects.found[unit]}
        for decision in objects.decided[sample]:
            if decision["choice"] == "skip":
                continue
            unit, right = of_decision.get(decision["id"]), objects.gold[sample].get(decision["gold_id"])
            if unit is None or APPLIED in decision or right is None:
                return None
            if hash_of_label(right, self.objects.kind) != decision["gold_hash"]:
                return None
            rows = slice(objects.rows(unit).start, objects.rows(unit).stop)
            annotator, category = objects.members.annotator[rows].tolist(), objects.members.category[rows].tolist()
            drew = dict(zip(annotator, category, strict=True))
            code = self.objects.units.code(right) if "class" in self.changes else None
            for number in self._numbers:
                if number in drew and code is not None and drew[number] != code:
                    return None
                if number not in drew and "add" in self.changes and objects.assigned[sample, number]:
                    return None
            named = dict(zip(decision["labels"], decision["hashes"], strict=True))
            if not objects.is_of_same_labels(unit) or objects.hashes(unit) != named:
                return None
            n += 1
        return n


class _Document:
    """The labels of one sample of a batch, or frame, as read after its objects, to which its decisions are applied."""

    def __init__(
        self, work: _Pass, objects: Decidable, sample: int, document: Stored, log: DecisionLog, counts: Counter[Any]
    ) -> None:
        self._work, self._opened, self._objects, self._log, self._counts = work, work.objects, objects, log, counts
        self._assigned = objects.assigned[sample]
        self._edits = LabelEdits(document, work.objects.fields)
        self._right = {label["_id"]: label for label in log.labels}
        self._unit = {each["id"]: unit for unit in objects.of_sample(sample) for each in objects.found[unit]}

    def apply(self) -> tuple[UpdateOne, list[Stored]] | None:
        """The update, and the log after it; None if there is nothing to do."""
        gold, counts, entries, is_changed = self._opened.gold, self._counts, list[Stored](), False
        kind_of_name = {"label": "n_class", **dict.fromkeys(self._opened.units.config.attributes, "n_attributes")}
        for decision in self._log.entries:
            entries.append(decision)
            if REPLACED_BY in decision or decision["choice"] == "skip":
                continue
            attempts = [part for part in decision.get(APPLIED) or () if part["step"] == self._work.step]
            if attempts:  # of a process that died after it wrote
                counts["n_applied"] += 1
                for change in attempts[0]["changes"]:
                    others = {DELETED: {"n_deleted"}, ADDED: {"n_added"}}.get(change["what"])
                    kinds = others or {kind_of_name.get(name, "n_geometry") for name in change["after"]}
                    counts.update((change["annotator"], kind) for kind in kinds)
                continue
            problem = self._problem(decision)
            changes = [] if problem else list(self._changes(decision))
            counts[problem or ("n_applied" if changes else "n_right")] += 1
            if changes:
                entries[-1], is_changed = self._after(decision, changes), True
        return (self._edits.update({gold.decisions: entries}, (gold.name,)), entries) if is_changed else None

    def _is_drawn(self, decision: Stored) -> bool:
        """True if the adjudicator added this object."""
        return decision["labels"] == [label_key(self._opened.gold.name, decision["gold_id"], self._opened.kind)]

    def _problem(self, decision: Stored) -> str | None:
        """Reason why a decision cannot be applied, as a field of :class:`Applied`; None if it can."""
        if not self._is_drawn(decision):
            unit = self._unit.get(decision["id"])
            # until the run is updated, it does not know objects of which labels were deleted by applying
            is_known = bool(decision.get(APPLIED)) if unit is None else self._objects.is_of_same_labels(unit)
            named = zip(decision["labels"], decision["hashes"], strict=True)
            if not is_known or any(self._edits.hash(key) != found for key, found in named):
                return "n_changed"
        return "n_edited" if self._log.is_edited(decision) else None

    def _changes(self, decision: Stored) -> Iterator[Stored]:
        """Change the labels of the object of a decision; returns the changes, label by label."""
        work, edits, counts = self._work, self._edits, self._counts
        labels, units, kind = self._opened.labels, self._opened.units, self._opened.kind
        right = None if decision["gold_id"] is None else self._right[decision["gold_id"]]
        is_drawn = self._is_drawn(decision)
        drew = {self._annotator_of(key): key for key in decision["labels"] if not is_drawn}
        for name in work.chosen:
            key = drew.get(name)
            if key is not None and right is not None:  # it gets class, geometry or attributes of the adjudicated one
                wanted = units.corrections(edits.label(key) or {}, right, work.changes)
                fitting = {what: values for what, values in wanted.items() if edits.fits(key, values)}
                counts["n_unfit"] += len(fitting) < len(wanted)
                counts.update((name, f"n_{what}") for what in fitting)
                given = {each: value for values in fitting.values() for each, value in values.items()}
                if fitting:
                    yield {**edits.give(key, given), "annotator": name}
            elif key is not None and "delete" in work.changes:  # there is no object
                keys = [key]
                if units.can_repeat:  # a tag goes as often as it was given
                    field, label = key.rpartition(" ")[0], edits.label(key) or {}
                    given_labels = [each for each in edits.of(field) if isinstance(each, dict)]
                    same = [edits.key(field, each) for each in given_labels if not units.corrections(each, label)]
                    keys = [each for each in same if self._annotator_of(each) == name]
                for each in keys:
                    counts[name, "n_deleted"] += 1
                    yield {**edits.delete(each), "of_runs": work.of_runs, "annotator": name}
            elif key is None and right is not None and "add" in work.changes:  # they missed it, if they were asked
                is_known = decision["id"] in self._unit or is_drawn
                if not is_known or not self._assigned[labels.annotators.index(name)]:
                    continue
                counts[name, "n_added"] += 1
                values = {each: right[each] for each in ("label", *kind.content) if right.get(each) is not None}
                if (attribute := labels.config.annotator_attribute) is not None:
                    value = labels.value_of(name)
                    values[attribute] = work.values.get(value, value)
                    if value not in work.values and {type(each) for each in work.values.values()} == {int}:
                        with contextlib.suppress(ValueError):  # an annotator without labels, among others with numbers
                            values[attribute] = int(value)
                field = labels.field_of(name).removeprefix(names.FRAMES_PREFIX)
                yield {**edits.add(field, new_label(units.label_type.__name__, values)), "annotator": name}

    def _annotator_of(self, key: str) -> str | None:
        """The annotator of a label."""
        source, field = self._work.source, key.rpartition(" ")[0]
        if source.config.annotator_attribute is None:
            return source.annotators[source.field_annotator[list(self._opened.fields).index(field)]]
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


# ---- taking back what was applied ----


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
def undo_applied(
    dataset: fo.Dataset | SampleCollection, step: str | None = None, *, gold: str = names.DEFAULT_GOLD_FIELD
) -> TakenBack:
    """Undo the changes of one call of ``run.decisions.apply`` to the annotators' labels; the decisions stay.

    Labels are again what they were, with their ids and all attributes: what was changed of them changes back, deleted
    labels are there again at their places, added ones are gone. An object of which a label was edited since stays as it
    is, and is counted. Where somebody decided again since, that decision stays.

    Args:
        dataset: the dataset, or a view of it
        step: the step, as ``run.decisions.apply`` names it; None for the last one
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
    kinds = field.kinds_of(field.collection.distinct(f"{field.decisions}.{APPLIED}.fields", step_query))
    prefix = names.FRAMES_PREFIX if field.on_frames else ""
    paths = [path for name, kind in kinds.items() for path in (name, kind.label_path(name))]
    refuse_read_only(field.dataset, [prefix + path for path in paths])
    of_runs = attributes_of_runs(field.dataset)

    def undone(document: Stored) -> tuple[Counter[str], tuple[UpdateOne, list[Any]] | None]:
        edits, counts = LabelEdits(document, kinds), Counter[str]()
        log = field.log_of({field.decisions: document[field.decisions]}).entries
        for at in reversed(range(len(log))):  # later ones first
            _take_back(edits, log, at, wanted, of_runs, counts)
        return counts, (edits.update({field.decisions: log}), log) if counts["n_objects"] else None

    with unless_deleted(field.dataset), rare_collections():
        total = field.change(step_query, (*kinds, field.decisions), undone, 1 + MAX_ATTEMPTS)
        reload_samples(field.dataset)
    return TakenBack(wanted, total["n_objects"], total["n_changed"], total["n_meanwhile"])


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
    at_last = {"at": {"$max": f"${part}.at"}}
    stages: list[Stored] = [
        {"$match": {**gold.with_decisions, f"{part}.0": {"$exists": True}}},
        {"$project": dict.fromkeys((f"{part}.step", f"{part}.at", f"{part}.by"), True)},
        {"$unwind": f"${gold.decisions}"},
        {"$unwind": f"${part}"},
        {"$group": {"_id": f"${part}.step", "by": {"$first": f"${part}.by"}, **at_last, "n": {"$sum": 1}}},
        {"$sort": {"at": -1, "_id": -1}},
        {"$limit": 1},
    ]
    found = gold.collection.aggregate(stages, allowDiskUse=True)
    return next((AppliedStep(row["_id"], row["by"], row["at"], row["n"]) for row in found), None)


def _take_back(
    edits: LabelEdits, log: list[Any], at: int, step: str, of_runs: Collection[str], counts: Counter[str]
) -> None:
    """Undo the changes to the labels of a decision in a step where possible, and note it in the log.

    What runs wrote on a deleted label that were deleted since is left out.
    """
    decision, later = log[at], list[int]()
    parts = decision.get(APPLIED) or []
    if step not in (part["step"] for part in parts):
        return
    changes = []
    for change in parts[-1]["changes"]:
        gone = {*change.get("of_runs", ())} - {*of_runs}
        before = {name: value for name, value in change["before"].items() if name not in gone} if gone else None
        changes.append(change if before is None else {**change, "before": before})
    hashes = dict(zip(decision["labels"], decision["hashes"], strict=True))
    is_as_applied = all(
        edits.can_take_back(change) and edits.hash(change["key"]) == hashes.get(change["key"]) for change in changes
    )
    replaced_by = decision.get(REPLACED_BY)
    for k in range(at + 1, len(log)):  # the decisions that replaced it, the next one first; they follow it in the log
        if log[k]["id"] == replaced_by:
            later.append(k)
            replaced_by = log[k].get(REPLACED_BY)
    is_last = parts[-1]["step"] == step and not any(log[k].get(APPLIED) for k in later)
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
