"""The labels of a run that a view shows: a view of samples, patches, frames or clips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import fiftyone as fo
from bson import ObjectId
from bson.errors import InvalidId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.settings.errors import AgreementInputError
from ..database.fiftyone_private import is_generated, pipeline_of, sample_collection, view_kind
from ..labels.kinds import LabelKind
from ..labels.source import flattened
from ..record.run_labels import RunLabels
from ..views.class_values import stored_as

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
