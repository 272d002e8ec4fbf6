"""Queue of adjudication: the disputed objects, tags or samples of a run one by one, the most costly first.

Also labels that people draw, edit or delete in FiftyOne's App: labels are prepared for that, and recorded as decisions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import fiftyone as fo
import fiftyone.core.labels as fol
import fiftyone.core.media as fom
import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView

from ... import names
from ...agreement.disputes.costs import CostlyUnits
from ...agreement.settings.arguments import one_of, takes_arrays, text_of
from ...agreement.settings.errors import AgreementInputError
from ..app.label_schemas import start_editing
from ..database.fiftyone_private import frame_collection, reload_samples, sample_collection
from ..record.run_labels import RunLabels
from ..record.sample_index import SampleIndex, now
from ..units.changing import Changed, Documents, change
from ..units.unit_labels import Stored
from ..units.units_field import DISPUTED
from .decide import Decided, decide_on, open_decided, user_name
from .decision_log import BY_RULE, Choice, DecisionLog, hash_of_label, label_key
from .decision_units import CHANGED, OPEN, SKIPPED, Decidable, ObjectsToDecide, Rule, objects_to_decide
from .gold import Gold

#: verdicts that a filter by verdict stands for: ``split`` replaces ``missed`` and ``lone``, ``duplicate`` only ``lone``
MEANT: dict[str | None, tuple[str, ...]] = {
    None: DISPUTED,
    "class_conflict": ("class_conflict",),
    "attribute_conflict": ("attribute_conflict",),
    "missed": ("missed", "split"),
    "lone": ("lone", "split", "duplicate"),
}
#: samples that are read at once to find the next object: in the first batch, and at most
_BATCH, _LARGEST_BATCH = 20, 1_000


@dataclass(frozen=True, slots=True)
class Version:
    """An annotator's label of an object."""

    annotator: str
    label: str  #: its class or number
    iou: float | None  #: mean IoU with the others' labels
    stored: Stored  #: the label as stored


@dataclass(frozen=True, slots=True)
class ShownObject:
    """An object to decide on."""

    sample_id: str  #: id of the sample, for frames of the video
    document_id: str  #: id of the sample or frame
    frame_number: int | None
    unit: str  #: match id
    verdict: str | None
    versions: list[Version]  #: by annotator
    missing: list[str]  #: annotators who were assigned and did not draw it
    consensus: str | None  #: class of the consensus; None if there is no consensus
    state: int  #: one of :data:`~.decision_units.STATES`
    decision: Stored | None  #: the decision on it; None if there is none
    filepath: str | None


@dataclass(frozen=True, slots=True)
class Sought:
    """Filters of the objects to decide on."""

    verdict: str | None = None  #: a key of :data:`MEANT`; None for all disputed ones
    annotator: str | None = None  #: an annotator who was assigned; None for all
    label: str | None = None  #: a class that somebody gave; None for all
    votes: int | None = None  #: number of annotators who drew it; None for all
    skipped: bool = False  #: objects that were left for later, instead of those on which nobody decided
    sample_id: str | None = None  #: objects of this sample; None for all


def next_object(
    labels: RunLabels, gold: str, index: SampleIndex, objects: CostlyUnits, sought: Sought
) -> tuple[str, str] | None:
    """The most costly undecided object: id of its sample, or frame, and match id; None if there is none.

    Samples whose objects are all decided come last, if they were saved since. ``objects`` are the disputed objects in
    the records of the run, by sample and cost.
    """
    opened = objects_to_decide(labels, gold, ())
    wanted = (SKIPPED,) if sought.skipped else (OPEN, CHANGED)
    rule = Rule(verdicts=MEANT[sought.verdict], classes=frozenset(() if sought.label is None else (sought.label,)))
    ids, numbers = index.ids(), index.frame_numbers()
    if sought.sample_id is not None:
        objects = objects.select([ids[row] == sought.sample_id for row in objects.row.tolist()])
    for again in (False,) if sought.skipped else (False, True):
        start, end = 0, _BATCH
        while start < len(objects.row):
            rows = objects.row[start:end].tolist()
            places = [(ids[k], None if numbers is None else int(numbers[k])) for k in rows]
            n_units = dict(zip(places, objects.n_of_sample[start:end].tolist(), strict=True))
            still = _still_open(opened, n_units, skipped=sought.skipped, again=again)
            found: dict[ObjectId | None, list[tuple[int, str]]] = defaultdict(list)  # cost and match id, by document
            if still:
                there = objects_of(labels, gold, sorted(still.values()))
                units, is_sought = there.units, there.opened.meeting(rule, there.units)
                if sought.votes is not None:
                    is_sought &= units.votes == sought.votes
                if sought.annotator is not None:
                    is_sought &= units.asked[units.sample, labels.annotators.index(sought.annotator)]
                costs = there.opened.costs(units).tolist()
                for unit in np.flatnonzero(is_sought).tolist():
                    if there.state(unit) in wanted:
                        found[there.document_of(unit)].append((-costs[unit], units.unit_ids[unit]))
            for place, least in zip(places, objects.cost[start:end].tolist(), strict=True):
                for cost, unit_id in sorted(found.get(still.get(place), ()))[:1]:
                    if -cost >= least:
                        return str(still[place]), unit_id
            start, end = end, end + min(2 * (end - start), _LARGEST_BATCH)
    return None


def _still_open(
    opened: ObjectsToDecide, n_units: Mapping[tuple[str, int | None], int], *, skipped: bool, again: bool
) -> dict[tuple[str, int | None], ObjectId]:
    """Ids of samples, or frames, with undecided objects, by id of the sample and number of the frame.

    With ``skipped``: those with any decision; with ``again``: those that were saved after their last decision.
    """
    gold, found = opened.gold, dict[tuple[str, int | None], ObjectId]()
    query: Stored = {"_id": {"$in": [ObjectId(each) for each, _ in n_units]}}
    if gold.on_frames:
        query = {"$or": [{"_sample_id": ObjectId(each), "frame_number": number} for each, number in n_units]}
    wanted = [gold.decisions, "last_modified_at", "_sample_id", "frame_number"]
    for name, kind in opened.fields.items():
        path = kind.label_path(name)
        wanted += [f"{path}._id", f"{path}._cls"] if kind.is_label else [name]
    for row in gold.collection.find(query, dict.fromkeys(wanted, True)):
        place = (str(row["_sample_id"]), row["frame_number"]) if gold.on_frames else (str(row["_id"]), None)
        entries, stamp = row.get(gold.decisions) or [], row.get("last_modified_at")
        log = DecisionLog(gold, opened.kind, row, opened.fields)
        # objects that only an adjudicator drew have nobody in ``asked``
        n_decided = sum(bool(each["asked"]) and any(map(log.label, each["labels"])) for each in log.decisions)
        is_changed = bool(entries) and stamp is not None and stamp > max(each["decided_at"] for each in entries)
        if bool(entries) if skipped else is_changed if again else n_decided < n_units[place]:
            found[place] = row["_id"]
    return found


def objects_of(labels: RunLabels, gold: str, documents: Sequence[ObjectId]) -> Decidable:
    """The objects of some samples, or frames, as they are now."""
    among = tuple(documents)
    if labels.on_frames:
        rows = frame_collection(labels.dataset).find({"_id": {"$in": list(documents)}}, {"_sample_id": 1})
        among = tuple({row["_sample_id"] for row in rows})
    opened = objects_to_decide(labels, gold, among)
    return Decidable(opened, opened.reader.again(documents))


def files_of(
    opened: ObjectsToDecide, documents: Sequence[ObjectId | str]
) -> dict[ObjectId, tuple[ObjectId, int | None, str | None]]:
    """Sample, number of the frame, and file of some samples, or frames; None for what is missing."""
    ids, sample_id = list(map(ObjectId, documents)), "_sample_id" if opened.gold.on_frames else "_id"
    rows = opened.gold.collection.find({"_id": {"$in": ids}}, {"_sample_id": 1, "frame_number": 1})
    places = {row["_id"]: (row[sample_id], row.get("frame_number")) for row in rows}
    samples = {"_id": {"$in": [sample for sample, _ in places.values()]}}
    found = sample_collection(opened.labels.dataset).find(samples, {"filepath": 1})
    paths = {row["_id"]: row.get("filepath") for row in found}
    found_at = ((each, *places.get(each, (each, None))) for each in ids)
    return {each: (sample, frame, paths.get(sample)) for each, sample, frame in found_at}


def shown_object(labels: RunLabels, gold: str, document_id: str, unit_id: str) -> ShownObject | None:
    """An object of a sample, or frame, by its match id, with all its versions; None if it is gone."""
    document = ObjectId(document_id)
    objects = objects_of(labels, gold, [document])
    units, opened = objects.units, objects.opened
    if unit_id not in units.unit_ids:
        return None
    unit = units.unit_ids.index(unit_id)
    facts = objects.facts(unit)  # this reads the masks of samples
    versions = [
        Version(
            labels.annotators[int(units.annotator[row])],
            opened.shown(units.values[row]),
            None if np.isnan(units.iou[row]) else float(units.iou[row]),
            units.labels[row],
        )
        for row in objects.rows[unit]
    ]
    (consensus,) = opened.consensus(units.only(np.arange(units.n_units) == unit))
    sample_id, frame_number, filepath = files_of(opened, [document])[document]
    return ShownObject(
        sample_id=str(sample_id),
        document_id=document_id,
        frame_number=frame_number,
        unit=unit_id,
        verdict=facts["verdict"],
        versions=versions,
        missing=[name for name in facts["asked"] if name not in {version.annotator for version in versions}],
        consensus=None if consensus is None else opened.shown(consensus.get(opened.said)),
        state=objects.state(unit),
        decision=objects.found[unit][0] if objects.found[unit] else None,
        filepath=filepath,
    )


def decide_seen(
    labels: RunLabels,
    gold: str,
    found: ShownObject,
    choice: Choice,
    *,
    annotator: str | None,
    by: str,
    seen: str | None,
) -> Decided:
    """Decide on an object as somebody does who sees it, and the decision ``seen`` on it, whose place it may take.

    Raises:
        AgreementInputError: if there is no such choice but a label of one's own, or no such annotator
    """
    one_of("choice", choice, [each for each in get_args(Choice) if each != "own"])
    if choice == "version":
        labels.check_annotators("annotator", [text_of("annotator", annotator)])
    opened = objects_to_decide(labels, gold, (ObjectId(found.sample_id),))
    rule, whose = Rule(objects=frozenset([found.unit])), annotator if choice == "version" else None
    return decide_on(opened, rule, choice, annotator=whose, by=by, again=seen)


#: values of a decision that the decision on its edited label takes over
_KEPT = ("labels", "hashes", "classes", "asked", "unit", "verdict", "run_key", "remark")


@takes_arrays
def record_own_labels(
    samples: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    by: str | None = None,
    gold: str = names.DEFAULT_GOLD_FIELD,
) -> Decided:
    """Record what somebody drew, edited or deleted in the field of decisions, in FiftyOne's App or from Python.

    The App does not say who edited a label, so the labels are compared with those that were written. An edited label is
    recorded as the decision *own label*, a deleted one as the decision that there is no object. A drawn label decides
    the undecided object of the run that overlaps it most (IoU of boxes at least 0.5); without one, it is an object that
    no annotator drew. A tag decides the undecided tag of that name; a class, number or mask decides its sample.

    Args:
        samples: the dataset, or a view of its samples
        run_key: key of the run, to find the object of a drawn label
        by: name of the person who drew; None for the name of the user. A label that somebody else opened to edit it in
            *Decide* is recorded under that name
        gold: the field of decisions

    Returns:
        ``n_decided``: labels that were recorded, as one step for ``run.decisions.undo``; ``n_changed``: samples that
        somebody kept on editing

    Raises:
        AgreementInputError: if there is no such completed run, or no such field
    """
    opened = open_decided(samples, run_key, gold)
    field, kind, reader, step = opened.gold, opened.kind, opened.reader, str(ObjectId())
    by = text_of("by", user_name() if by is None else by)
    has_labels = f"{field.name}._cls" if kind.list_name is None else f"{field.name}.{kind.list_name}.0"
    query: Stored = {"$or": [{has_labels: {"$exists": True}}, {"_id": {"$in": field.decided_ids()}}]}
    if opened.among is not None:
        query = {"$and": [query, {"_sample_id" if field.on_frames else "_id": {"$in": list(opened.among)}}]}

    def recorded(rows: list[Stored]) -> dict[ObjectId, Changed]:
        logs = {row["_id"]: DecisionLog(field, kind, row) for row in rows}
        found, drawn = Counter[ObjectId](), dict[ObjectId, list[Stored]]()

        def record(of: ObjectId, facts: Stored, label: Stored | None, replaced: Sequence[Stored] = ()) -> None:
            choice = "none" if label is None else "own"  # without a label there is no object
            # a label that is there to be edited is that of who opened its form
            whose = next((each["decided_by"] for each in replaced if each["choice"] == "skip"), by)
            said = {"annotator": None, "decided_by": whose, "step": step, BY_RULE: False, "choice": choice}
            kept = {name: facts[name] for name in _KEPT}
            said |= {"decided_at": now()}
            logs[of].add(kept, label, said, choice, replaced, read=label, written=facts.get("written"))
            found[of] += 1

        for document_id, log in logs.items():
            left = {label["_id"]: label for label in log.labels}
            for decision, label, is_edited in [
                (each, left.pop(each["gold_id"], None), log.is_edited(each)) for each in log.decisions
            ]:
                if is_edited and label is None and kind.list_name is None and left:  # the only label has another id
                    _, label = left.popitem()
                if is_edited:
                    record(document_id, decision, label, [decision])
            if left:
                drawn[document_id] = list(left.values())
        for batch in reader.batched(reader.again(list(drawn)) if drawn else ()):
            objects = Decidable(opened, batch)
            for sample, of_sample in zip(objects.units.samples, objects.of_sample, strict=True):
                labels = drawn[sample.sample_id]
                undecided = [unit for unit in of_sample if not objects.found[unit]]
                for label, unit in zip(labels, opened.drawn(objects.units, undecided, labels), strict=True):
                    facts: Stored = {"labels": [label_key(field.name, label["_id"], kind)], "classes": [], "asked": []}
                    facts |= {"hashes": [hash_of_label(label, kind)], "unit": str(label["_id"]), "verdict": None}
                    facts = facts if unit is None else objects.facts(unit)
                    record(sample.sample_id, {**facts, "run_key": opened.labels.run_key, "remark": None}, label)
        return {
            each: (Counter(n_decided=found[each]), log.write() if found[each] else None) for each, log in logs.items()
        }

    total = change(Documents(field.collection, query, (field.name, field.decisions)), recorded)
    reload_samples(field.dataset)
    return Decided(field.path, step if total["n_decided"] else None, total["n_decided"], n_changed=total["n_meanwhile"])


#: types of labels on images that the App can edit
_EDITABLE = (fol.Classification, fol.Classifications, fol.Detections, fol.Polylines)
#: those of them that the App shows one by one, with the form open
_AS_PATCHES = (fol.Detections, fol.Polylines)


@dataclass(frozen=True, slots=True)
class LabelToEdit:
    """The label in the field of decisions that somebody edits."""

    sample_id: str
    fields: list[str]  #: fields that the App should show
    view: DatasetView  #: the patch of the label, or its sample where the App shows no patches of such labels
    shown_id: str  #: id of the patch, or sample
    step: str | None  #: id of the step that wrote the label only for the form; None if it was decided before


def can_edit(opened: ObjectsToDecide) -> bool:
    """True if the App can edit labels of this type, on images."""
    return opened.kind.stored in _EDITABLE and opened.labels.dataset.media_type == fom.IMAGE


def edit_object(
    labels: RunLabels,
    gold: str,
    document_id: str,
    unit_id: str,
    *,
    by: str,
    class_names: Sequence[str],
    again: bool | str | None = False,
) -> LabelToEdit | None:
    """Prepare a label of an object for editing in the App: the decided one, else the consensus or best version.

    Nothing is decided until somebody edits the label. :func:`close_unedited` deletes a label that nobody edited. With
    ``again``, or the id of that decision, there is also a label if it was decided before that there is no object.

    Returns:
        the label; None if the object is gone, or somebody decided meanwhile that there is none

    Raises:
        AgreementInputError: if the App cannot edit labels of this type
    """
    objects = objects_of(labels, gold, [ObjectId(document_id)])
    opened, units, step = objects.opened, objects.units, None
    if not can_edit(opened):
        raise AgreementInputError(f"FiftyOne's App cannot edit {labels.title} of this dataset; edit them from Python")
    if unit_id not in units.unit_ids:
        return None
    label = _kept_label(objects, unit_id)
    if label is None:  # put the consensus there, or the version that overlaps the others most
        iou = np.nan_to_num(units.iou, nan=-1.0)
        best = max(objects.rows[units.unit_ids.index(unit_id)], key=iou.__getitem__)
        starts: list[tuple[Choice, str | None]] = [("consensus", None)] if opened.has_consensus else []
        rule = Rule(objects=frozenset([unit_id]))
        for choice, annotator in (*starts, ("version", labels.annotators[int(units.annotator[best])])):
            if step is None:
                step = decide_on(opened, rule, choice, annotator=annotator, by=by, again=again, opens=True).step
        label = _kept_label(Decidable(opened, opened.reader.again([ObjectId(document_id)])), unit_id)
    if label is None:
        return None
    classes = [name for name in (*class_names, label.get("label")) if isinstance(name, str)]
    start_editing(labels.dataset, gold, labels.config.fields, classes)
    label_id, view, fields = str(label["_id"]), labels.dataset.select(document_id), labels.config.fields
    if opened.kind.stored not in _AS_PATCHES:
        return LabelToEdit(document_id, [gold, *fields], view, document_id, step)
    # without other fields, beside which the App would not offer the label
    return LabelToEdit(document_id, [gold], view.to_patches(gold).select(label_id), label_id, step)


def close_unedited(dataset: fo.Dataset, gold: str, step: str) -> None:
    """Delete a label that :func:`edit_object` wrote, unless somebody edited it."""
    Gold.open(dataset, gold).undo(step, unedited=True)
    reload_samples(dataset)


def _kept_label(objects: Decidable, unit_id: str) -> Stored | None:
    """The label in the field of decisions for an object; the decision keeps a copy of it. None if there is none."""
    unit, gold = objects.units.unit_ids.index(unit_id), objects.opened.gold
    label = objects.gold_label(unit)
    if label is not None:
        decision = objects.found[unit][0]
        if "written" not in decision and hash_of_label(label, objects.opened.kind) == decision["gold_hash"]:
            this = {"_id": objects.document_of(unit), f"{gold.decisions}.id": decision["id"]}
            gold.collection.update_one(this, {"$set": {f"{gold.decisions}.$.written": label}})
    return label
