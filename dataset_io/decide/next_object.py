"""Queue of adjudication: the disputed objects, tags or samples of a run one by one, the most costly first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from bson import ObjectId

from ...agreement.disputes.costs import CostlyUnits
from ..database.fiftyone_private import frame_collection, sample_collection
from ..record.run_labels import RunLabels
from ..record.sample_index import SampleIndex
from ..units.patches import DISPUTED
from .decidable import CHANGED, OPEN, SKIPPED, Decidable, Rule
from .decide import ObjectsToDecide, open_to_decide
from .decision_log import Stored, stored_labels

#: verdicts of objects that somebody looks for; a part of a whole, or a duplicate, is one that others did not draw
MEANT: dict[str | None, tuple[str, ...]] = {
    None: DISPUTED,
    "class_conflict": ("class_conflict",),
    "attribute_conflict": ("attribute_conflict",),
    "missed": ("missed", "split"),
    "lone": ("lone", "split", "duplicate"),
}
#: samples that are read at once while looking for the next object: first, and at most
_BATCH, _LARGEST_BATCH = 20, 1_000


@dataclass(frozen=True, slots=True)
class Version:
    """An annotator's label of an object."""

    annotator: str
    label: str  #: its class
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
    state: int  #: one of :data:`~.decidable.STATES`
    decision: Stored | None  #: what was decided on it before
    filepath: str | None


@dataclass(frozen=True, slots=True)
class Sought:
    """Filters of the objects that somebody decides on."""

    verdict: str | None = None  #: a key of :data:`MEANT`; None for all disputed ones
    annotator: str | None = None  #: an annotator who was assigned; None for all
    label: str | None = None  #: a class that somebody gave; None for all
    votes: int | None = None  #: number of annotators who drew it; None for all
    skipped: bool = False  #: those that were left for later, instead of those on which nobody decided
    sample_id: str | None = None  #: those of one sample; None for all


def next_object(
    labels: RunLabels,
    gold: str,
    index: SampleIndex,
    objects: CostlyUnits,
    sought: Sought,
    left_out: Sequence[tuple[str, str]] = (),
) -> tuple[str, str] | None:
    """The most costly object that is still to be decided: id of its sample, or frame, and match id; None if none is.

    Samples on all whose objects somebody decided come last: those in which a label was changed since.

    Args:
        labels: the labels of the run
        gold: the field of decisions
        index: the samples of the records
        objects: the disputed objects in the records
        sought: which objects
        left_out: objects to pass over
    """
    opened = open_to_decide(labels, gold, among=())
    wanted = (SKIPPED,) if sought.skipped else (OPEN, CHANGED)
    ids, numbers = index.ids(), index.frame_numbers()
    if sought.sample_id is not None:
        objects = objects.select([ids[row] == sought.sample_id for row in objects.row.tolist()])
    for again in (False,) if sought.skipped else (False, True):
        start, end = 0, _BATCH
        while start < len(objects.row):
            each_of = (objects.row, objects.cost, objects.of_sample)
            rows, costs, of_sample = (each[start:end].tolist() for each in each_of)
            start, end = end, end + min(2 * (end - start), _LARGEST_BATCH)
            documents = _documents(labels, [(ids[k], None if numbers is None else int(numbers[k])) for k in rows])
            there = [each for each in documents if each is not None]
            decided = opened.gold.numbers(there, opened.fields)
            if sought.skipped:
                open_ones = set(decided)
            elif again:
                open_ones = opened.gold.changed_since_decided(there)
            else:
                open_ones = {
                    each for each, n_units in zip(documents, of_sample, strict=True)
                    if each is not None and decided.get(each, 0) < n_units
                }  # fmt: skip
            if not open_ones:
                continue
            found = _sought_units(labels, gold, sorted(open_ones), sought)
            for document, least in zip(documents, costs, strict=True):
                for cost, state, unit in found.get(document, ()) if document is not None else ():
                    if state in wanted and cost >= least and (str(document), unit) not in left_out:
                        return str(document), unit
    return None


def _documents(labels: RunLabels, places: Sequence[tuple[str, int | None]]) -> list[ObjectId | None]:
    """Ids of the samples, or frames, that still exist, in the same order."""
    if not labels.on_frames:
        wanted = [ObjectId(each) for each, _ in places]
        existing = {row["_id"] for row in sample_collection(labels.dataset).find({"_id": {"$in": wanted}}, {"_id": 1})}
        return [each if each in existing else None for each in wanted]
    queries = [{"_sample_id": ObjectId(each), "frame_number": number} for each, number in places]
    rows = frame_collection(labels.dataset).find({"$or": queries}, {"_sample_id": 1, "frame_number": 1})
    found = {(str(row["_sample_id"]), row["frame_number"]): row["_id"] for row in rows}
    return [found.get((each, number)) for each, number in places]


def _sought_units(
    labels: RunLabels, gold: str, documents: Sequence[ObjectId], sought: Sought
) -> dict[ObjectId, list[tuple[int, int, str]]]:
    """The objects of some samples that pass the filters: cost, state and match id, the most costly first."""
    opened, objects = objects_of(labels, gold, documents)
    members = objects.members
    rule = Rule(verdicts=MEANT[sought.verdict], classes=frozenset(() if sought.label is None else (sought.label,)))
    is_sought = rule.of(objects, opened.units.reader.codes.names())
    if sought.votes is not None:
        is_sought &= members.votes == sought.votes
    if sought.annotator is not None:
        is_sought &= objects.assigned[members.sample, labels.annotators.index(sought.annotator)]
    costs, samples = opened.units.costs(members).tolist(), members.sample.tolist()
    found: dict[ObjectId, list[tuple[int, int, str]]] = {}
    for unit in sorted(np.flatnonzero(is_sought).tolist(), key=lambda unit: (-costs[unit], members.unit_ids[unit])):
        entry = (costs[unit], objects.state(unit), members.unit_ids[unit])
        found.setdefault(objects.document_ids[samples[unit]], []).append(entry)
    return found


def objects_of(labels: RunLabels, gold: str, documents: Sequence[ObjectId]) -> tuple[ObjectsToDecide, Decidable]:
    """The objects of some samples, or frames, as they are now."""
    among = tuple(documents)
    if labels.on_frames:
        rows = frame_collection(labels.dataset).find({"_id": {"$in": list(documents)}}, {"_sample_id": 1})
        among = tuple({row["_sample_id"] for row in rows})
    opened = open_to_decide(labels, gold, among=among)
    reader = opened.reader()
    objects = reader.columns(reader.again(documents)).labels
    return opened, objects


def files_of(
    opened: ObjectsToDecide, documents: Sequence[ObjectId]
) -> dict[ObjectId, tuple[ObjectId, int | None, str | None]]:
    """Sample, number of the frame, and file of some samples, or frames."""
    rows = opened.gold.collection.find({"_id": {"$in": list(documents)}}, {"_sample_id": 1, "frame_number": 1})
    sample_id = "_sample_id" if opened.gold.on_frames else "_id"
    places = {row["_id"]: (row[sample_id], row.get("frame_number")) for row in rows}
    samples = {"_id": {"$in": [sample for sample, _ in places.values()]}}
    found = sample_collection(opened.labels.dataset).find(samples, {"filepath": 1})
    paths = {row["_id"]: row.get("filepath") for row in found}
    return {each: (sample, frame, paths.get(sample)) for each, (sample, frame) in places.items()}


def file_of(opened: ObjectsToDecide, document_id: str) -> tuple[int | None, str | None]:
    """Number of the frame, and file, of a sample or frame; None where there is none."""
    document = ObjectId(document_id)
    return files_of(opened, [document]).get(document, (document, None, None))[1:]


def shown_object(labels: RunLabels, gold: str, document_id: str, unit_id: str) -> ShownObject | None:
    """An object with all its versions; None if it is gone.

    Args:
        labels: the labels of the run
        gold: the field of decisions
        document_id: id of its sample, or frame
        unit_id: its match id
    """
    opened, objects = objects_of(labels, gold, [ObjectId(document_id)])
    members = objects.members
    if unit_id not in members.unit_ids:
        return None
    unit = members.unit_ids.index(unit_id)
    stored = stored_labels(opened.gold.collection, objects.document_ids, opened.fields)[ObjectId(document_id)]
    versions = [
        Version(
            labels.annotators[int(members.annotator[row])],
            opened.units.shown(members.labels[row]),
            None if np.isnan(members.iou[row]) else float(members.iou[row]),
            stored[objects.member_key(row)][0],
        )
        for row in objects.rows(unit)
        if objects.member_key(row) in stored
    ]
    drew = {version.annotator for version in versions}
    assigned = objects.assigned[int(members.sample[unit])].tolist()
    (consensus,) = opened.units.consensus(members.only(np.arange(members.n_units) == unit))
    decisions = objects.found[unit]
    sample_id = ObjectId(document_id)
    sample_id, frame_number, filepath = files_of(opened, [sample_id]).get(sample_id, (sample_id, None, None))
    return ShownObject(
        str(sample_id),
        document_id,
        frame_number,
        unit_id,
        objects.verdict(unit),
        versions,
        [name for name, asked in zip(labels.annotators, assigned, strict=True) if asked and name not in drew],
        None if consensus is None else opened.units.shown(opened.units.value(consensus)),
        objects.state(unit),
        decisions[0] if decisions else None,
        filepath,
    )
