"""Links between the labels of one object, through FiftyOne's ``instance``: hovering one highlights the others.

The ids of our instances begin with a hash of the run key, so that they can be found and removed even if the rest of the
run is gone.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
from collections.abc import Collection, Iterator
from typing import Any

import fiftyone as fo
from bson import ObjectId
from pymongo import UpdateOne

from ...agreement.settings.errors import AgreementInputError
from ..database.fiftyone_private import list_name
from ..labels.paths import Place, all_fields, places
from ..labels.stored import StoredSample, as_read, label_ids
from ..record.run_labels import RunLabels
from ..run.work_through import MAX_ATTEMPTS

logger = logging.getLogger(__name__)

#: the label types with instances, several in a field or one
_LISTS = (fo.Detections, fo.Polylines, fo.Keypoints)
_SINGLE = (fo.Detection, fo.Polyline, fo.Keypoint)

_BATCH = 1_000
_PREFIX_BYTES = 8


def check_linkable(labels: RunLabels) -> None:
    """Refuse label types without ``instance``, and datasets with labels that have one."""
    for name, kind in zip(labels.config.fields, labels.kinds, strict=True):
        if kind.stored not in _LISTS:
            raise AgreementInputError(
                f"`link_instances` must be False for labels without `instance`, got {name!r} ({kind.title})"
            )
    dataset = labels.dataset
    low, high = _range(labels.run_key)
    others = {"instance._id": {"$type": "objectId", "$not": {"$gte": low, "$lte": high}}}
    for place in _label_places(dataset):
        for path, in_list in zip(place.paths, _are_lists(dataset, place), strict=True):
            has_other = {path: {"$elemMatch": others}} if in_list else {f"{path}.{k}": v for k, v in others.items()}
            if place.collection.find_one(has_other, {"_id": True}) is not None:
                raise AgreementInputError(
                    f"`link_instances` needs labels without an `instance`, got labels of `{place.prefix}{path}` that "
                    "are linked already"
                )


def link_units(labels: RunLabels) -> int:
    """Give all labels of a unit with two or more members the same instance; edited samples are read again.

    Returns:
        number of samples, or frames, left out because somebody kept on editing them
    """
    prefix = _prefix(labels.run_key)
    dataset = labels.dataset
    (place,) = places(dataset, labels.label_paths)
    number, refused = 0, None
    for _ in range(MAX_ATTEMPTS):
        wanted = refused
        refused = []
        for batch in _batches(labels, place, wanted):
            operations, ids = [], []
            for row in batch:
                values, number = _values(labels, place, row, prefix, number)
                if values:
                    ids_read = tuple(row[f"id{k}"] for k in range(len(place.paths)))
                    stored = StoredSample(row["_id"], row.get("last_modified_at"), ids_read)
                    operations.append(UpdateOne(as_read(stored, labels.kinds, place.paths), {"$set": values}))
                    ids.append(row["_id"])
            if operations and place.collection.bulk_write(operations, ordered=False).matched_count < len(operations):
                low, high = _range(labels.run_key)
                linked = [{path: {"$elemMatch": {"instance._id": {"$gte": low, "$lte": high}}}} for path in place.paths]
                found = place.collection.find({"_id": {"$in": ids}, "$or": linked}, {"_id": True})
                refused += sorted(set(ids) - {row["_id"] for row in found})
        if not refused:
            return 0
    logger.warning("%d samples were edited while their labels were linked, and are left out", len(refused))
    return len(refused)


def unlink_units(dataset: fo.Dataset, run_keys: Collection[str]) -> None:
    """Remove the instances that some runs gave to labels, in all fields."""
    for run_key in sorted(run_keys):
        low, high = _range(run_key)
        ours = {"$gte": low, "$lte": high}
        for place in _label_places(dataset):
            for path, in_list in zip(place.paths, _are_lists(dataset, place), strict=True):
                if not in_list:
                    continue
                place.collection.update_many(
                    {path: {"$elemMatch": {"instance._id": ours}}},
                    {"$unset": {f"{path}.$[label].instance": ""}},
                    array_filters=[{"label.instance._id": ours}],
                )


def _prefix(run_key: str) -> bytes:
    return hashlib.sha256(f"annotator agreement, run {run_key}".encode()).digest()[:_PREFIX_BYTES]


def _range(run_key: str) -> tuple[ObjectId, ObjectId]:
    """The lowest and the highest id of the instances of a run."""
    rest = 12 - _PREFIX_BYTES
    return ObjectId(_prefix(run_key) + b"\x00" * rest), ObjectId(_prefix(run_key) + b"\xff" * rest)


def _label_places(dataset: fo.Dataset) -> Iterator[Place]:
    """Paths of all labels, and lists of labels, that can have instances."""
    found = []
    for path, field in all_fields(dataset).items():
        document = getattr(field, "document_type", None)
        if document in _LISTS:
            found.append(f"{path}.{list_name(document)}")
        elif document in _SINGLE and isinstance(field, fo.EmbeddedDocumentField):
            found.append(path)
    return places(dataset, found)


def _are_lists(dataset: fo.Dataset, place: Place) -> list[bool]:
    return [isinstance(dataset.get_field(place.prefix + path), fo.ListField) for path in place.paths]


def _batches(labels: RunLabels, place: Place, wanted: list[ObjectId] | None) -> Iterator[list[dict[str, Any]]]:
    """Label ids and units of all documents, or of some."""
    projection: dict[str, Any] = {"last_modified_at": True}
    for k, (kind, path) in enumerate(zip(labels.kinds, place.paths, strict=True)):
        projection[f"id{k}"] = label_ids(kind, path)
        unit = {"$cond": [{"$gte": [f"$$this.{labels.field_key}_votes", 2]}, f"$$this.{labels.field_key}_id", None]}
        projection[f"unit{k}"] = {"$map": {"input": f"${path}", "in": unit}}
    stages: list[dict[str, Any]] = [{"$project": projection}]
    if wanted is not None:
        stages.insert(0, {"$match": {"_id": {"$in": wanted}}})
    rows = iter(place.collection.aggregate(stages))
    while batch := list(itertools.islice(rows, _BATCH)):
        yield batch


def _values(
    labels: RunLabels, place: Place, row: dict[str, Any], prefix: bytes, number: int
) -> tuple[dict[str, Any], int]:
    """The instances of the labels of a document by path, and the next number for an instance."""
    values: dict[str, Any] = {}
    instances: dict[str, dict[str, Any]] = {}
    for k, path in enumerate(place.paths):
        for position, unit in enumerate(row[f"unit{k}"] or ()):
            if unit is None:
                continue
            if unit not in instances:
                instances[unit] = {
                    "_cls": "Instance",
                    "_id": ObjectId(prefix + number.to_bytes(12 - len(prefix), "big")),
                }
                number += 1
            values[f"{path}.{position}.instance"] = instances[unit]
    return values, number
