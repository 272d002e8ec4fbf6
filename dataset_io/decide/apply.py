"""Apply decisions to the annotators' own labels, as one step that can be undone, and undo it.

One write changes the labels of a sample, or frame, and records the changes in its decisions; it has no effect if any of
what was read was changed meanwhile. So a killed process leaves no sample half changed, and two processes make no change
twice. Samples get a new time stamp, so that ``run.update`` finds them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TextIO, get_args

import fiftyone as fo
from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.settings.arguments import one_of, print_to, takes_arrays, text_of, texts_of, true_or_false
from ...agreement.settings.options import OPTIONS, value_name
from ...charts.reports.decided import applied_section, but_left_out
from ...charts.text.sections import as_text
from ...charts.text.words import counted
from ...metrics.numeric.arrays import BoolArray
from ..database.fiftyone_private import reload_samples
from ..labels.source import refuse_read_only
from ..labels.stored import all_fields, attributes_of_runs, can_hold
from ..record.gold_fields import APPLIED
from ..record.lease import unless_deleted
from ..record.run_labels import open_run_labels
from ..record.sample_index import now
from ..run.read import Progress, rare_collections
from ..units.changing import Changed, Documents, change
from ..units.unit_labels import Stored
from .decide import documents_of, user_name
from .decision_log import ADDED, DELETED, REPLACED_BY, DecisionLog, label_key, new_label
from .decision_units import Decidable, ObjectsToDecide, objects_to_decide
from .gold import Gold

if TYPE_CHECKING:
    from pandas import DataFrame

#: changes of an annotator's label: it gets the class of the decided label, or its geometry (for samples: the number, or
#: mask), or its values of the attributes that the run compares; it is deleted if there is no object; it is added if the
#: annotator was assigned and drew none
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
    n_changed: int = 0  #: objects left out because labels were edited, added or deleted since the decision
    n_edited: int = 0  #: objects left out because the decided label was edited: record_own_labels() records it
    n_unfit: int = 0  #: labels that cannot get the right values: a text for a number, a box for a mask
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

    Labels get the class (number, mask) of the decided label, or are deleted if it was decided that there is no object;
    annotators who were assigned to an object and did not draw it get a label. Boxes and shapes stay as they were drawn,
    unless ``changes`` has ``"geometry"``. Ids, tags and all other attributes of a label stay; an added label has none.
    Skipped objects stay as they are, and so do objects whose labels were edited, added or deleted since the decision:
    these are counted.

    Samples that somebody changes meanwhile are read again; changes by others are never overwritten. Changed samples
    count as edited: ``run.update`` brings runs up to date. Labels that are equal because they were changed here show no
    agreement: ``run.compare`` counts them, and also compares without them. The accuracy of annotators
    (``run.decisions.report``) leaves out labels that were changed here: compute it before.

    Args:
        samples: the dataset, or a view of its samples
        run_key: key of the run, which says who the annotators are and who was assigned
        annotators: change the labels of this annotator, or of several; None for all
        changes: ``"class"``, ``"geometry"`` (numbers and masks, too), ``"attributes"`` (those that the run compares),
            ``"delete"`` and ``"add"``, one or several; None: class, delete and add (numbers, masks: geometry, delete)
        by: name of the person who applies them; None for the name of the user
        gold: the field of decisions
        preview: count only
        progress: as in ``compute``

    Raises:
        AgreementInputError: if there is no such completed run, or no such field; if a label field is read-only, or an
            argument is not usable
    """
    labels = open_run_labels(samples, run_key)
    field = Gold.open(samples, gold)
    chosen = labels.annotators_asked(annotators) or labels.annotators
    wanted = [one_of("changes", each, _CHANGES) for each in texts_of("changes", () if changes is None else changes)]
    by = text_of("by", user_name() if by is None else by)
    true_or_false("preview", preview)
    OPTIONS["progress"].checked(progress)
    refuse_read_only(labels.dataset, [*labels.label_paths, *labels.config.fields])
    rows = field.collection.find(field.with_decisions, {"_sample_id": True})
    decided = dict.fromkeys(row["_sample_id" if field.on_frames else "_id"] for row in rows)
    wanted_ids = decided if isinstance(samples, fo.Dataset) else documents_of(samples)
    opened = objects_to_decide(labels, gold, tuple(each for each in wanted_ids if each in decided))
    if changes is None:
        wanted = [change for change, is_default in possible_changes(opened).items() if is_default]
    step = _Step(opened, [name for name in labels.annotators if name in chosen], frozenset(wanted), by)
    with unless_deleted(labels.dataset), rare_collections():
        total = change(opened.reader, step.applied, preview=preview, progress=progress)
        if not preview:
            reload_samples(labels.dataset)
    counts = ("n_applied", "n_right", "n_changed", "n_edited", "n_unfit", "n_meanwhile")
    kinds = ("n_class", "n_geometry", "n_attributes", "n_deleted", "n_added")
    applied_to = [AppliedTo(name, **{kind: total[name, kind] for kind in kinds}) for name in step.annotators]
    done = step.id if total["n_applied"] and not preview else None
    return Applied(field.path, done, applied_to, **{name: total[name] for name in counts})


def possible_changes(opened: ObjectsToDecide) -> dict[Change, bool]:
    """The changes that are possible for the labels of a run, and whether each is made by default."""
    found: dict[Change, tuple[bool, bool]] = {
        "class": (opened.has_classes and not opened.can_repeat, True),
        # where labels have no class, the number or mask was decided
        "geometry": (bool(opened.kind.content), not opened.has_classes),
        "attributes": (bool(opened.config.attributes), False),
        "delete": (True, True),
        "add": (opened.has_votes, True),
    }
    return {change: is_default for change, (is_possible, is_default) in found.items() if is_possible}


class _Step:
    """Changes labels of some annotators to the decided ones, as one step."""

    def __init__(self, opened: ObjectsToDecide, annotators: Sequence[str], changes: frozenset[str], by: str) -> None:
        self._opened, self.annotators, self._changes, self._by = opened, annotators, changes, by
        self.id = str(ObjectId())
        opened.reader.is_lean = False
        self._of_runs = sorted(attributes_of_runs(opened.labels.dataset))
        self._declared = all_fields(opened.labels.dataset)

    def applied(self, rows: list[Stored]) -> dict[ObjectId, Changed]:
        """The changes and counts of samples, or frames, by id."""
        objects, opened, found = Decidable(self._opened, rows), self._opened, dict[ObjectId, Changed]()
        kind_of_name = {"label": "n_class", **dict.fromkeys(opened.config.attributes, "n_attributes")}
        for k, log in enumerate(objects.logs):
            counts, is_changed = Counter[Any](), False
            unit_of = {each["id"]: unit for unit in objects.of_sample[k] for each in objects.found[unit]}
            for at, decision in enumerate(log.entries):
                if REPLACED_BY in decision or decision["choice"] == "skip":
                    continue
                parts = decision.get(APPLIED) or []
                attempt = next((part for part in parts if part["step"] == self.id), None)
                if attempt is not None:  # made by an earlier attempt, after which the sample was changed again
                    counts["n_applied"] += 1
                    for made in attempt["changes"]:
                        others = {DELETED: {"n_deleted"}, ADDED: {"n_added"}}.get(made["what"])
                        kinds = others or {kind_of_name.get(name, "n_geometry") for name in made["after"]}
                        counts.update((made["annotator"], kind) for kind in kinds)
                    continue
                unit = unit_of.get(decision["id"])
                own = dict(zip(decision["labels"], decision["hashes"], strict=True))
                # whether the adjudicator added this object, which nobody drew
                is_drawn = [*own] == [label_key(opened.gold.name, decision["gold_id"], opened.kind)]
                # until the run is updated, it has no objects of which labels were deleted by applying decisions
                is_known = bool(parts) if unit is None else objects.is_of_same_labels(unit)
                if not is_drawn and (not is_known or any(log.hash(key) != hashed for key, hashed in own.items())):
                    counts["n_changed"] += 1
                elif log.is_edited(decision):
                    counts["n_edited"] += 1
                else:
                    right = None if decision["gold_id"] is None else objects.gold[k][decision["gold_id"]]
                    asked = objects.units.asked[k] if unit is not None or is_drawn else None
                    own = {} if is_drawn else own
                    changes = list(self._changed([*own], right, asked, log, counts))
                    counts["n_applied" if changes else "n_right"] += 1
                    if changes:  # the decision names the changed labels from now on
                        is_changed = True
                        hashes = {**own, **{made["key"]: log.hash(made["key"]) for made in changes}}
                        there = {key: value for key, value in sorted(hashes.items()) if value is not None}
                        fields = sorted({made["key"].rpartition(" ")[0] for made in changes})
                        part = {"step": self.id, "by": self._by, "at": now(), "fields": fields, "changes": changes}
                        part |= {name: decision[name] for name in ("labels", "hashes")}
                        named = {"labels": [*there], "hashes": [*there.values()], APPLIED: [*parts, part]}
                        log.entries[at] = {**decision, **named}
            found[log.document["_id"]] = counts, log.write() if is_changed else None
        return found

    def _changed(
        self,
        keys: Sequence[str],
        right: Stored | None,
        asked: BoolArray | None,
        log: DecisionLog,
        counts: Counter[Any],
    ) -> Iterator[Stored]:
        """Change the labels of an object; yields the changes, label by label, and counts them.

        ``right`` is None if there is no object; ``asked`` ``(R,)`` is None if the run does not have the object.
        """
        labels, opened = self._opened.labels, self._opened
        drew = {self._annotator_of(key, log): key for key in keys}
        for name in self.annotators:
            key = drew.get(name)
            if key is not None and right is not None:  # it gets class, geometry or attributes of the right label
                wanted = opened.corrections(log.label(key) or {}, right, self._changes)
                field, fitting = key.rpartition(" ")[0], dict[str, Stored]()
                path = opened.fields[field].label_path(f"{opened.gold.prefix}{field}")
                for what, values in wanted.items():  # FiftyOne reads attributes as they are declared
                    held = (can_hold(self._declared.get(f"{path}.{each}"), value) for each, value in values.items())
                    if log.fits(key, values) and all(held):
                        fitting[what] = values
                counts["n_unfit"] += len(fitting) < len(wanted)
                counts.update((name, f"n_{what}") for what in fitting)
                given = {each: value for values in fitting.values() for each, value in values.items()}
                if fitting:
                    yield {**log.give(key, given), "annotator": name}
            elif key is not None and "delete" in self._changes:  # there is no object
                gone = [key]
                if opened.can_repeat:  # a tag is deleted as often as the annotator gave it
                    field, label = key.rpartition(" ")[0], log.label(key) or {}
                    given_labels = [each for each in log.of[field] if isinstance(each, dict)]
                    same = [log.key(field, each) for each in given_labels if not opened.corrections(each, label)]
                    gone = [each for each in same if self._annotator_of(each, log) == name]
                for each in gone:
                    counts[name, "n_deleted"] += 1
                    yield {**log.remove(each), "of_runs": self._of_runs, "annotator": name}
            elif key is None and right is not None and "add" in self._changes:  # a miss, if the annotator was asked
                if asked is None or not asked[labels.annotators.index(name)]:
                    continue
                counts[name, "n_added"] += 1
                values = {each: right[each] for each in ("label", *opened.kind.content) if right.get(each) is not None}
                if (attribute := labels.config.annotator_attribute) is not None:
                    value = labels.config.annotator_value(name)
                    values[attribute] = self._values.get(value, value)
                    if value not in self._values and {type(each) for each in self._values.values()} == {int}:
                        with contextlib.suppress(ValueError):  # without labels, among annotators with numbers
                            values[attribute] = int(value)
                field = labels.field_of(name).removeprefix(names.FRAMES_PREFIX)
                yield {**log.insert(field, new_label(opened.label_type.__name__, values)), "annotator": name}

    @functools.cached_property
    def _values(self) -> dict[str, Any]:
        """Values of the annotator attribute as stored on labels, by their names."""
        source = self._opened.reader.source
        path = f"{source.label_paths[0]}.{source.config.annotator_attribute}"
        return {value_name(value): value for value in source.collection.distinct(path)}

    def _annotator_of(self, key: str, log: DecisionLog) -> str | None:
        """The annotator of a label."""
        source, field = self._opened.reader.source, key.rpartition(" ")[0]
        if source.config.annotator_attribute is None:
            return source.annotators[source.field_annotator[source.fields.index(field)]]
        value = value_name((log.label(key) or {}).get(source.config.annotator_attribute))
        number = source.annotator_numbers.get(value)
        return None if number is None else source.annotators[number]


@dataclass(frozen=True, slots=True, repr=False)
class TakenBack:
    """Outcomes of undoing the changes of labels by applied decisions."""

    step: str | None  #: the step; None if there was none
    n_objects: int = 0  #: objects whose labels were restored
    n_changed: int = 0  #: objects left as they are because labels were edited since
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

    Labels are restored with their ids and all attributes: changed values change back, deleted labels return to their
    places, added ones are deleted. If a label of an object was edited since, the object stays as it is, and is counted.
    If somebody decided again on an object since, that decision stays.

    Args:
        dataset: the dataset, or a view of it
        step: the step, as ``run.decisions.apply`` names it; None for the last one
        gold: the field of decisions

    Raises:
        AgreementInputError: if there is no such field, or a label field is read-only
    """
    field = Gold.open(dataset, gold)
    latest = latest_applied(field) if step is None else {"_id": text_of("step", step)}
    if latest is None:
        return TakenBack(None)
    wanted: str = latest["_id"]
    step_query = {**field.with_decisions, f"{field.decisions}.{APPLIED}.step": wanted}
    kinds = field.kinds_of(field.collection.distinct(f"{field.decisions}.{APPLIED}.fields", step_query))
    paths = [path for name, kind in kinds.items() for path in (name, kind.label_path(name))]
    refuse_read_only(field.dataset, [field.prefix + path for path in paths])
    of_runs = attributes_of_runs(field.dataset)

    def undone(document: Stored) -> Changed:
        log, counts = DecisionLog(field, field.kind, document, kinds), Counter[str]()
        for at in reversed(range(len(log.entries))):  # later ones first
            if wanted in (part["step"] for part in log.entries[at].get(APPLIED) or ()):
                counts["n_objects" if _take_back(log, at, wanted, of_runs) else "n_changed"] += 1
        return counts, log.write(without_gold=True) if counts["n_objects"] else None

    with unless_deleted(field.dataset), rare_collections():
        documents = Documents(field.collection, step_query, (*kinds, field.decisions))
        total = change(documents, lambda rows: {each["_id"]: undone(each) for each in rows})
        reload_samples(field.dataset)
    return TakenBack(wanted, total["n_objects"], total["n_changed"], total["n_meanwhile"])


def latest_applied(gold: Gold) -> Stored | None:
    """The last step that was applied: id, by whom, when (UTC), and number of objects; None if there is none."""
    part = f"{gold.decisions}.{APPLIED}"
    at_last = {"at": {"$max": f"${part}.at"}}
    stages: list[Stored] = [
        {"$match": {**gold.with_decisions, f"{part}.0": {"$exists": True}}},
        {"$project": dict.fromkeys((f"{part}.step", f"{part}.at", f"{part}.by"), True)},
        {"$unwind": f"${gold.decisions}"},
        {"$unwind": f"${part}"},
        {"$group": {"_id": f"${part}.step", "by": {"$first": f"${part}.by"}, **at_last, "n_objects": {"$sum": 1}}},
        {"$sort": {"at": -1, "_id": -1}},
        {"$limit": 1},
    ]
    return next(iter(gold.collection.aggregate(stages, allowDiskUse=True)), None)


def _take_back(log: DecisionLog, at: int, step: str, of_runs: Collection[str]) -> bool:
    """Undo the changes of a step to the labels of a decision, in the log too; False if that is not possible.

    A deleted label returns without the attributes of runs that were deleted since.
    """
    entries, decision, later = log.entries, log.entries[at], list[int]()
    last = decision[APPLIED][-1]
    hashes, replaced_by = dict(zip(decision["labels"], decision["hashes"], strict=True)), decision.get(REPLACED_BY)
    for k in range(at + 1, len(entries)):  # the decisions that replaced it, the next one first; they follow it
        if entries[k]["id"] == replaced_by:
            later.append(k)
            replaced_by = entries[k].get(REPLACED_BY)
    if last["step"] != step or any(entries[k].get(APPLIED) for k in later):
        return False
    changes = last["changes"]
    if any(not log.can_take_back(made) or log.hash(made["key"]) != hashes.get(made["key"]) for made in changes):
        return False
    for made in reversed(changes):
        gone = {*made.get("of_runs", ())} - {*of_runs}
        kept = {name: value for name, value in made.get("before", {}).items() if name not in gone}
        log.take_back({**made, "before": kept})
    before = {name: last[name] for name in ("labels", "hashes")}
    entries[at] = {**decision, **before, APPLIED: decision[APPLIED][:-1]}
    if not entries[at][APPLIED]:
        del entries[at][APPLIED]
    for k in later:  # a decision on the applied labels, with or without added ones, names the restored ones
        if set(zip(entries[k]["labels"], entries[k]["hashes"], strict=True)) <= hashes.items():
            entries[k] = {**entries[k], **before}
    return True
