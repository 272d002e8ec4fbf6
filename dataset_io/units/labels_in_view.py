"""The labels of a run that a view shows, and tagging them or their samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import fiftyone as fo
from bson import ObjectId
from bson.errors import InvalidId
from fiftyone.core.collections import SampleCollection
from pymongo import UpdateOne
from pymongo.collection import Collection

from ... import names
from ...agreement.settings.arguments import one_of, takes_arrays, true_or_false
from ...agreement.settings.errors import AgreementInputError
from ..database.fiftyone_private import is_generated, pipeline_of, sample_collection, view_kind
from ..labels.kinds import LabelKind
from ..labels.paths import places
from ..labels.source import flattened, refuse_read_only
from ..record.run import Run, refresh
from ..record.run_labels import RunLabels, open_run_labels
from ..views.view_request import stored_as

#: selected labels: their ids, or ids by field (labels of cloned fields share ids)
Selected = Sequence[str] | Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class DocumentLabels:
    """The labels of a run that one document of a view shows."""

    view_id: ObjectId  #: id of the document of the view: a sample, patch, frame or clip
    document_id: ObjectId  #: id of the sample, or frame, that holds the labels
    sample_id: ObjectId  #: id of that sample, or of the video of the frame
    label_ids: dict[str, list[ObjectId]]  #: the labels by field of the run


def labels_in_view(
    samples: SampleCollection,
    labels: RunLabels,
    annotators: Sequence[str] = (),
    selected: Selected | None = None,
    also: Sequence[dict[str, Any]] = (),
) -> list[DocumentLabels]:
    """The labels of a run that a view shows; labels that the run did not compare are left out.

    Args:
        samples: the dataset of the run, or a view of any kind
        labels: the labels of the run in the dataset
        annotators: only labels of these annotators; all if empty
        selected: only these labels
        also: expressions of a label ``$$this`` that must be true

    Raises:
        AgreementInputError: if the view has no field of the run, or ``selected`` are not labels of the run
    """
    view = _flat(samples, labels)
    prefix = names.FRAMES_PREFIX if labels.on_frames and not is_generated(view) else ""
    wanted = annotators or labels.annotators
    ids_of = None if selected is None else _ids_by_field(selected, labels)
    fields = [
        (name, kind, name.removeprefix(names.FRAMES_PREFIX))
        for name, kind in zip(labels.config.fields, labels.kinds, strict=True)
        if kind.is_label and name in {labels.field_of(annotator) for annotator in wanted}
    ]
    fields = [(name, kind, place) for name, kind, place in fields if view.get_field(prefix + place) is not None]
    if not fields or (labels.on_frames and view_kind(view) == "clips"):
        raise AgreementInputError(
            f"The view must show labels that the run {labels.run_key!r} compared, got one with none of "
            f"{', '.join(labels.config.fields)}"
        )
    document_id, sample_id = _id_fields(view, labels)
    projection: dict[str, Any] = {"document": f"${document_id}", "sample": f"${sample_id}"}
    conditions: list[dict[str, Any]] = [
        {"$gt": [f"$$this.{labels.field_key}_of", None]},
        {"$eq": [{"$type": "$$this._id"}, "objectId"]},
        *also,
    ]
    attribute = labels.config.annotator_attribute
    if annotators and attribute is not None:
        values = [value for name in annotators for value in stored_as(labels.value_of(name))]
        conditions.append({"$in": [{"$ifNull": [f"$$this.{attribute}", None]}, {"$literal": values}]})
    for number, (field, kind, place) in enumerate(fields):
        chosen = [] if ids_of is None else [{"$in": ["$$this._id", ids_of.get(field, [])]}]
        shown_path, in_list = path_in_view(view, prefix + place, kind)
        path = f"${shown_path.removeprefix(prefix)}"
        # a single label becomes a list
        found = {"$cond": [{"$isArray": path}, path, []]} if in_list else {"$ifNull": [[path], []]}
        filtered = {"$filter": {"input": found, "cond": {"$and": [*conditions, *chosen]}}}
        projection[f"ids{number}"] = {"$map": {"input": filtered, "in": "$$this._id"}}
    frames_only = labels.on_frames and not is_generated(view)
    pipeline = [*pipeline_of(view, frames_only=frames_only), {"$project": projection}]
    rows = sample_collection(view).aggregate(pipeline, allowDiskUse=True)
    shown = [
        DocumentLabels(
            row["_id"],
            row["document"],
            row["sample"],
            {name: row[f"ids{number}"] for number, (name, _, _) in enumerate(fields) if row[f"ids{number}"]},
        )
        for row in rows
    ]
    return [entry for entry in shown if entry.label_ids]


def path_in_view(view: SampleCollection, field: str, kind: LabelKind) -> tuple[str, bool]:
    """Path of the labels of a field in a view, and whether they are a list: FiftyOne's patches hold one label each."""
    in_list = kind.list_name is not None and view.get_field(field).document_type is kind.stored
    return (kind.label_path(field) if in_list else field), in_list


def _ids_by_field(selected: Selected, labels: RunLabels) -> dict[str, list[ObjectId]]:
    """Ids of labels as stored in the database, by field.

    Raises:
        AgreementInputError: if a value is not an id, or a field is not a field of the run
    """
    by_field = selected if isinstance(selected, Mapping) else dict.fromkeys(labels.config.fields, selected)
    unknown = [name for name in by_field if name not in labels.config.fields]
    if unknown:
        raise AgreementInputError(
            f"`selected` must be labels of {', '.join(labels.config.fields)}, got labels of {unknown[0]!r}"
        )
    try:
        # without an argument, ObjectId() would create a new id
        return {name: [ObjectId(label_id or "") for label_id in ids] for name, ids in by_field.items()}
    except (TypeError, ValueError, InvalidId) as error:
        raise AgreementInputError(f"`selected` must be ids of labels, got {selected!r}") from error


def _flat(samples: SampleCollection, labels: RunLabels) -> SampleCollection:
    """The samples of all slices of groups; other samples, and patches, frames and clips, unchanged."""
    if is_generated(samples):
        return samples
    return labels.samples if isinstance(samples, fo.Dataset) else flattened(samples, on_frames=labels.on_frames)


def samples_in_view(samples: SampleCollection, labels: RunLabels) -> list[tuple[ObjectId, ObjectId]]:
    """Id of every document of a view, and of its sample."""
    view = _flat(samples, labels)
    sample_id = "_sample_id" if is_generated(view) else "_id"
    pipeline = [*pipeline_of(view), {"$project": {"sample": f"${sample_id}"}}]
    return [(row["_id"], row["sample"]) for row in sample_collection(view).aggregate(pipeline)]


def _id_fields(view: SampleCollection, labels: RunLabels) -> tuple[str, str]:
    """Fields of the documents of a view that hold the id of the document with the labels, and of its sample."""
    if labels.on_frames:
        return ("_frame_id" if view_kind(view) == "patches" else "_id"), "_sample_id"
    return ("_sample_id",) * 2 if is_generated(view) else ("_id",) * 2


#: tag labels, or their samples
TagTarget = Literal["labels", "samples"]

DEFAULT_TAG = "needs_review"

_BATCH = 1_000


@takes_arrays
def tag_agreement_labels(
    samples: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    tag: str = DEFAULT_TAG,
    *,
    annotators: str | Sequence[str] | None = None,
    on: TagTarget = "labels",
    selected: Selected | None = None,
    remove: bool = False,
) -> int:
    """Tag the labels, or the samples, that a view of a run shows.

    In a patches view, FiftyOne writes tags only to the field that the patches were made from. This function finds the
    annotators' own labels by field and id, and tags them in the dataset and in FiftyOne's copy for the view. Labels
    that were deleted meanwhile are skipped, and so are those whose ``tags`` are no list. Deleting the run does not
    remove tags.

    Args:
        samples: a view of the objects of a run (:func:`agreement_patches`), of its labels (:func:`view_agreement`), any
            other view of its dataset, or the dataset; labels that the view shows and the run compared are tagged
        run_key: key of the run
        tag: the tag
        annotators: only labels of this annotator, or of several, or only samples with such labels
        on: ``"labels"``, or ``"samples"``: the samples that the view shows completely or in part
        selected: ids of labels: tag only these, or their samples; give a mapping of fields to ids for cloned fields,
            whose labels share ids
        remove: remove the tag instead

    Returns:
        number of labels, or samples, that were found

    Raises:
        AgreementInputError: if there is no such completed run, or an argument is not usable
    """
    labels = open_run_labels(Run(samples, run_key).dataset, run_key)
    if not isinstance(tag, str) or not tag.strip():
        raise AgreementInputError(f"`tag` must be a text, got {tag!r}")
    one_of("on", on, get_args(TagTarget))
    true_or_false("remove", remove)
    asked, change = labels.annotators_asked(annotators), _Change(tag, remove)
    if on == "samples":
        refuse_read_only(labels.dataset, ["tags"])
        if selected is None and not asked:
            ids = samples_in_view(samples, labels)
        else:
            ids = [(each.view_id, each.sample_id) for each in labels_in_view(samples, labels, asked, selected)]
        found = change.tag_documents(sample_collection(labels.samples), {sample_id for _, sample_id in ids})
        if is_generated(samples):
            change.tag_documents(sample_collection(samples), {view_id for view_id, _ in ids})
    else:
        shown = labels_in_view(samples, labels, asked, selected, [_can_be_tagged("$$this.tags")])
        refuse_read_only(labels.dataset, sorted({name for entry in shown for name in entry.label_ids}))
        found = _tag_labels(samples, labels, change, shown)
    refresh(labels.dataset)
    return found


@dataclass(frozen=True, slots=True)
class _Change:
    """A tag to add, or to remove."""

    tag: str
    remove: bool

    @property
    def missing(self) -> Any:
        """A query for tags that must be changed."""
        return self.tag if self.remove else {"$ne": self.tag}

    def of(self, path: str) -> dict[str, Any]:
        """An expression for the changed tags."""
        present = {"$ifNull": [path, []]}
        without = {"$filter": {"input": present, "as": "tag", "cond": {"$ne": ["$$tag", {"$literal": self.tag}]}}}
        changed = without if self.remove else {"$concatArrays": [without, [{"$literal": self.tag}]]}
        return {"$cond": [_can_be_tagged(path), changed, path]}

    def tag_documents(self, collection: Collection[dict[str, Any]], ids: Iterable[ObjectId]) -> int:
        """Change the tags of samples; returns how many of them have none, or a list of them."""
        wanted = sorted(ids)
        n_found = len(wanted)
        update = [{"$set": {"tags": self.of("$tags")}}]
        for start in range(0, len(wanted), _BATCH):
            chosen = {"_id": {"$in": wanted[start : start + _BATCH]}}
            collection.update_many({**chosen, "tags": self.missing}, update)
            n_found -= collection.count_documents({**chosen, "$expr": {"$not": [_can_be_tagged("$tags")]}})
        return n_found

    def label_update(self, document_id: ObjectId, path: str, in_list: bool, ids: list[ObjectId]) -> UpdateOne:
        """Change the tags of the labels in one field of a document that still exist."""
        if not in_list:
            query = {"_id": document_id, f"{path}._id": {"$in": ids}, f"{path}.tags": self.missing}
            return UpdateOne(query, [{"$set": {f"{path}.tags": self.of(f"${path}.tags")}}])
        query = {"_id": document_id, path: {"$elemMatch": {"_id": {"$in": ids}, "tags": self.missing}}}
        tagged = {"$mergeObjects": ["$$label", {"tags": self.of("$$label.tags")}]}
        every = {"$cond": [{"$in": ["$$label._id", ids]}, tagged, "$$label"]}
        return UpdateOne(query, [{"$set": {path: {"$map": {"input": f"${path}", "as": "label", "in": every}}}}])


def _can_be_tagged(path: str) -> dict[str, Any]:
    """Expression: true if tags are a list, or absent; anything else is not ours to replace."""
    return {"$or": [{"$isArray": [path]}, {"$lte": [path, None]}]}


def _tag_labels(samples: SampleCollection, labels: RunLabels, change: _Change, shown: Sequence[DocumentLabels]) -> int:
    (place,) = places(labels.dataset, labels.label_paths[:1])
    inner = {name: name.removeprefix(names.FRAMES_PREFIX) for name in labels.config.fields}
    operations: list[UpdateOne] = []
    of_view: list[UpdateOne] = []
    found: set[tuple[str, ObjectId, ObjectId]] = set()
    kinds = dict(zip(labels.config.fields, labels.kinds, strict=True))
    for entry in shown:
        for name, ids in entry.label_ids.items():
            kind = kinds[name]
            path, in_list = kind.label_path(inner[name]), kind.list_name is not None
            operations.append(change.label_update(entry.document_id, path, in_list, ids))
            # FiftyOne keeps copies of the labels of patches, frames and clips
            if is_generated(samples):
                of_view.append(change.label_update(entry.view_id, *path_in_view(samples, inner[name], kind), ids))
            found.update((name, entry.document_id, label_id) for label_id in ids)
    for collection, updates in ((place.collection, operations), (sample_collection(samples), of_view)):
        for start in range(0, len(updates), _BATCH):
            collection.bulk_write(updates[start : start + _BATCH], ordered=False)
    return len(found)
