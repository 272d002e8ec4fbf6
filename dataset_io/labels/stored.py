"""Schema paths and collections of labels; the state of a sample when it was read, and filters that check it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import fiftyone as fo
import numpy as np
from bson import ObjectId
from mongoengine.errors import ValidationError
from numpy.typing import NDArray
from pymongo.collection import Collection

from ... import names
from ...agreement.settings.errors import AgreementInputError, shown
from ...metrics.numeric.arrays import IntArray
from ..database.fiftyone_private import frame_collection, has_frame_fields, list_of, sample_collection
from .kinds import LabelKind

#: types, in the database, of texts, switches, numbers and dates
VALUE_TYPES = ["string", "bool", "number", "date"]


@dataclass(frozen=True, slots=True)
class Place:
    """Documents of one collection, and paths within them."""

    collection: Collection[dict[str, Any]]  #: the samples or the frames of a dataset
    prefix: str  #: prefix of the paths in the schema of the dataset
    paths: list[str]  #: paths within a document


def places(dataset: fo.Dataset, paths: Iterable[str]) -> Iterator[Place]:
    """Group paths by the collection that stores them."""
    paths = list(paths)
    of_frames = [path.removeprefix(names.FRAMES_PREFIX) for path in paths if is_of_frames(path)]
    of_samples = [path for path in paths if not is_of_frames(path)]
    if of_samples:
        yield Place(sample_collection(dataset), "", of_samples)
    if of_frames:
        yield Place(frame_collection(dataset), names.FRAMES_PREFIX, of_frames)


def is_of_frames(path: str) -> bool:
    """True if a schema path is on frames."""
    return path.startswith(names.FRAMES_PREFIX)


def where_labels_are(schema: Mapping[str, fo.Field], path: str) -> str:
    """Path of the labels of a field: its list, if it has one; of other fields the path itself."""
    kind = getattr(schema.get(path), "document_type", None)
    inner = list_of(kind) if isinstance(kind, type) and issubclass(kind, fo.Label) else None
    return path if inner is None else f"{path}.{inner[0]}"


def labels_have(dataset: fo.Dataset, paths: Iterable[str], *, first: int | None = None) -> bool:
    """True if labels of samples have an attribute with a text, switch, number or date; it need not be declared.

    Args:
        paths: where the attribute would be, in a document
        first: how many samples with labels are looked at; None: as many as it takes
    """
    paths = [path for path in paths if path.isprintable()]  # the database cannot look for a null character
    labelled: dict[str, Any] = {"$or": [{path.rpartition(".")[0]: {"$nin": [None, []]}} for path in paths]}
    found = {"$or": [{path: {"$type": VALUE_TYPES}} for path in paths]}
    looked_at: list[dict[str, Any]] = [] if first is None else [{"$match": labelled}, {"$limit": first}]
    stages = [*looked_at, {"$match": found}, {"$limit": 1}, {"$project": {"_id": True}}]
    return bool(paths) and any(True for _ in sample_collection(dataset).aggregate(stages))


def all_fields(dataset: fo.Dataset) -> dict[str, fo.Field]:
    """Every declared field by path, including fields of labels and frames."""
    fields = dict(dataset.get_field_schema(flat=True))
    if has_frame_fields(dataset):
        of_frames = dataset.get_frame_field_schema(flat=True) or {}
        fields.update({names.FRAMES_PREFIX + path: field for path, field in of_frames.items()})
    return fields


def can_hold(declared: fo.Field | None, value: Any) -> bool:
    """True if FiftyOne can read a stored value of a field; embedded documents and arrays are not looked into."""
    inner = declared
    while isinstance(inner, fo.ListField):
        inner = inner.field
    if (
        declared is None
        or value is None
        or isinstance(inner, fo.EmbeddedDocumentField | fo.VectorField | fo.ArrayField)
    ):
        return True
    try:
        declared.validate(value)
    except ValidationError:
        return False
    return True


def outermost(paths: Iterable[str]) -> list[str]:
    """The paths that are not within another one."""
    wanted = set(paths)
    return sorted(path for path in wanted if not any(path.startswith(f"{other}.") for other in wanted))


def mark_of(field: fo.Field | None) -> str | None:
    """Key of the run that declared a field; None if no agreement run did."""
    info: dict[str, Any] = getattr(field, "info", None) or {}
    return info.get(names.RUN_METHOD)


def gold_of(field: fo.Field | None) -> str | None:
    """Name of the field of decisions in the mark of a field; None if the field has no such mark."""
    info: dict[str, Any] = getattr(field, "info", None) or {}
    return info.get(names.GOLD_MARK)


def is_marked(field: fo.Field | None) -> bool:
    """True if the plugin wrote a field: it belongs to a run, or holds decisions."""
    return mark_of(field) is not None or gold_of(field) is not None


def run_of(path: str, field: fo.Field) -> str | None:
    """Key of the run that wrote a field, read from its mark; None for renamed copies, which belong to the user."""
    run_key = mark_of(field)
    return run_key if run_key is not None and path.rpartition(".")[2] in names.own_names(run_key) else None


def attributes_of_runs(dataset: fo.Dataset) -> set[str]:
    """Names of the attributes that runs wrote on labels."""
    return {path.rpartition(".")[2] for path, field in all_fields(dataset).items() if run_of(path, field) is not None}


@dataclass(frozen=True, slots=True)
class StoredSample:
    """A sample, or a frame, as it was when it was read."""

    sample_id: ObjectId  #: id of the document
    last_modified_at: datetime | None  #: its time stamp, None if it has none
    #: for every field the ids of all stored labels (None for a label without id; plain fields: the value); None if
    #: there is no label list, label or value
    label_ids: tuple[list[Any] | None, ...]
    video_id: ObjectId | None = None  #: id of the sample that a frame belongs to
    frame_number: int = 0  #: its number in that video
    group_id: ObjectId | None = None  #: id of the group that a sample belongs to
    video_modified_at: datetime | None = None  #: time stamp of the sample that a frame belongs to

    @property
    def title(self) -> str:
        """Name of the sample or frame in messages."""
        return str(self.sample_id) if self.video_id is None else frame_title(self.video_id, self.frame_number)


_EPOCH, _MILLISECOND = datetime(1970, 1, 1), timedelta(milliseconds=1)


def milliseconds(stamp: datetime | None) -> int:
    """A time stamp as the database stores it, in milliseconds since 1970; -1 for none."""
    return -1 if stamp is None else (stamp - _EPOCH) // _MILLISECOND


def frame_title(video_id: object, frame_number: object) -> str:
    """Name of a frame in messages."""
    return f"{video_id} (frame {frame_number})"


def label_ids(kind: LabelKind, path: str) -> dict[str, Any]:
    """An expression for the ids of the labels at a path; None where the annotator was not assigned."""
    if not kind.is_label:
        return {"$cond": [{"$gt": [f"${path}", None]}, [f"${path}"], None]}
    if kind.list_name is None:
        return {"$cond": [{"$eq": [{"$type": f"${path}._cls"}, "string"]}, [f"${path}._id"], None]}
    is_id = {"$eq": [{"$type": "$$this._id"}, "objectId"]}
    ids = of_each_label(path, {"$cond": [is_id, "$$this._id", None]})
    return {"$ifNull": [ids, {"$cond": [_is_emptied(path), [], None]}]}


#: stands for the id of a label that has none
_NO_ID = bytes(12)


def id_bytes(label_ids: Iterable[Any]) -> NDArray[np.uint8]:
    """The bytes of ids, shape ``(N, 12)``; zeros for what is no id."""
    ids = (label_id.binary if isinstance(label_id, ObjectId) else _NO_ID for label_id in label_ids)
    return np.frombuffer(b"".join(ids), np.uint8).reshape(-1, len(_NO_ID))


def label_count(kind: LabelKind, path: str) -> dict[str, Any]:
    """An expression for the number of labels at a path; None where the annotator was not assigned."""
    if kind.list_name is None:
        return {"$cond": [{"$eq": [label_ids(kind, path), None]}, None, 1]}
    without_list = {"$cond": [_is_emptied(path), 0, None]}
    return {"$cond": [{"$isArray": f"${path}"}, {"$size": f"${path}"}, without_list]}


def _is_emptied(path: str) -> dict[str, Any]:
    """Condition for a label without list: FiftyOne does not store emptied lists, so it is empty, not unassigned."""
    return {
        "$and": [
            {"$eq": [{"$type": f"${path}"}, "missing"]},
            {"$eq": [{"$type": f"${path.rsplit('.', 1)[0]}._cls"}, "string"]},
        ]
    }


def of_each_label(path: str, value: Any) -> dict[str, Any]:
    """An expression for a value of every label ``$$this`` of a list; None where there is no list."""
    # a plain "$path.attribute" would skip labels without the attribute and shift the others
    return {"$map": {"input": {"$cond": [{"$isArray": f"${path}"}, f"${path}", None]}, "in": value}}


def as_read(sample: StoredSample, kinds: Sequence[LabelKind], paths: Sequence[str]) -> dict[str, Any]:
    """A filter that matches a sample only while its time stamp and labels are unchanged."""
    condition: dict[str, Any] = {"_id": sample.sample_id, "last_modified_at": sample.last_modified_at}
    unchanged: list[dict[str, list[Any]]] = []
    for kind, path, ids in zip(kinds, paths, sample.label_ids, strict=True):
        if not kind.is_label:
            condition[path] = ids[0] if ids else None
        elif ids and kind.list_name is None:
            condition[f"{path}._id"] = ids[0]
        elif ids:
            # the short form skips labels without an id
            unchanged.append({"$eq": [label_ids(kind, path) if None in ids else f"${path}._id", ids]})
        else:  # an empty list says that the annotator looked and found nothing, null that nobody looked
            unchanged.append({"$eq": [label_ids(kind, path), ids]})
    if unchanged:
        condition["$expr"] = {"$and": unchanged}
    return condition


#: bytes of a document that MongoDB can hold
MOST_BYTES = 16 << 20


class NoRoomError(AgreementInputError):
    """A sample would be larger than MongoDB can hold."""

    def __init__(self, titles: Sequence[str]) -> None:
        of_samples = f"{len(titles)} samples without (ids {shown(titles)})" if titles else "some without"
        super().__init__(
            "Samples must have room for what is written, as the database holds 16 MB of each, got "
            f"{of_samples}: they have too many or too large labels. Store masks in files "
            "(fiftyone.utils.labels.export_segmentations()), take a run_key of one letter if they have tens of "
            "thousands of labels, or leave these samples out"
        )


def half_of(samples: Iterable[StoredSample]) -> IntArray:
    """The half of the images that samples belong to, 0 or 1; frames as their videos."""
    half: IntArray = subsample_keys(sample.video_id or sample.sample_id for sample in samples) % 2
    return half


def subsample_keys(sample_ids: Iterable[ObjectId]) -> IntArray:
    """Deterministic pseudo-random keys (hash of the sample id) for picking a subsample."""
    words = (hashlib.blake2b(sample_id.binary, digest_size=8).digest() for sample_id in sample_ids)
    keys: IntArray = (np.frombuffer(b"".join(words), "<u8") >> np.uint64(1)).astype(np.int64)
    return keys


def label_positions(shown: Sequence[Sequence[ObjectId]], stored: Sequence[Sequence[ObjectId] | None]) -> IntArray:
    """Index of every shown label in the stored label list of its sample, concatenated over samples.

    Args:
        shown: ids of the labels that a view shows, for every sample
        stored: ids of all labels of every sample
    """
    positions: list[int] = []
    for ids, all_ids in zip(shown, stored, strict=True):
        known = list(all_ids or ())
        if list(ids) == known:
            positions.extend(range(len(known)))
            continue
        places: dict[ObjectId, list[int]] = {}
        for k in reversed(range(len(known))):
            places.setdefault(known[k], []).append(k)
        # repeated ids are matched in order
        positions.extend(
            places[label_id].pop() if len(places[label_id]) > 1 else places[label_id][0] for label_id in ids
        )
    return np.array(positions, np.int64)
