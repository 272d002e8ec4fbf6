"""The samples, or frames, of a run's records with their time stamps, and which were changed since.

FiftyOne gives a sample a new time stamp when it is saved. What we write leaves the time stamp as it is: other runs see
no change, and the App can still save an edit in a form that was open meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import fiftyone as fo
import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView
from numpy.typing import NDArray

from ...agreement.settings.no_labels import AnnotatorLists
from ...agreement.statistics.records import SAMPLE_COLUMNS, Records, compact
from ...metrics.numeric.arrays import BoolArray, IntArray
from ..database.fiftyone_private import frame_collection, is_generated, pipeline_of, sample_collection
from ..labels.assignment import LIST_STATES
from ..labels.source import Source, flattened
from ..labels.stored import StoredSample, milliseconds

#: bytes of an id, and of an id with a frame number
_ID, _FRAME = 12, 16
#: used as the group id of a sample that has no group
_NO_GROUP = ObjectId(bytes(_ID))
#: columns with what was counted when a sample was read
COUNTS = ("n_invalid", "n_unknown", "n_added", "lists")


@dataclass(frozen=True, slots=True, eq=False)
class SampleIndex:
    """The sample of every row of the records, and what was noticed when it was read; for frames, the video and number.

    About 20 bytes per sample, 32 per frame, 32 per sample of a group, and the counts.
    """

    #: columns of the records: ``sample_id`` (for frames of the video), ``frame_number``, and ``group_id`` of grouped
    #: datasets, zeros where a sample has none; ``stamp`` and ``video_stamp``: when the sample, or frame, and its video
    #: were changed last, in milliseconds; ``n_invalid`` and ``n_unknown``: labels left out because they cannot be
    #: compared, or because their annotator appeared during the run; ``n_added``: annotators counted as assigned only
    #: because they labelled; ``lists``, shape ``(S, R)``: whether every annotator has labels, an empty list or none
    columns: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, source: Source, samples: Sequence[StoredSample], **counts: IntArray) -> SampleIndex:
        """The samples of a batch, with what was counted when they were read."""
        stamps = [milliseconds(sample.last_modified_at) for sample in samples]
        columns: dict[str, NDArray[Any]] = {
            "sample_id": sample_keys(sample.video_id or sample.sample_id for sample in samples),
            "stamp": np.array(stamps, np.int64),
            **{name: compact(column) for name, column in counts.items()},
        }
        if source.dataset.group_field is not None:
            columns["group_id"] = sample_keys(sample.group_id or _NO_GROUP for sample in samples)
        if source.on_frames:
            columns["frame_number"] = np.array([sample.frame_number for sample in samples], np.int32)
            columns["video_stamp"] = np.array([milliseconds(sample.video_modified_at) for sample in samples], np.int64)
        return cls(columns)

    @classmethod
    def of_columns(cls, columns: Mapping[str, NDArray[Any]]) -> SampleIndex:
        """The samples of records, from these columns."""
        found = {name: columns[name] for name in SAMPLE_COLUMNS if name in columns}
        return cls({name: each if name.endswith("_id") else each.astype(np.int64) for name, each in found.items()})

    @classmethod
    def of_records(cls, records: Records) -> SampleIndex:
        """The samples of records."""
        return cls.of_columns({name: records.column(name) for name in SAMPLE_COLUMNS if name in records.parts[0]})

    def __len__(self) -> int:
        return len(self.columns["sample_id"])

    def select(self, samples: BoolArray | IntArray) -> SampleIndex:
        """The samples that a mask ``(S,)`` keeps, or at the given rows."""
        return SampleIndex({name: column[samples] for name, column in self.columns.items()})

    def numbers(self, rows: IntArray | None = None) -> IntArray:
        """Rank of every sample's id among all ids (for frames: of the video's id).

        Args:
            rows: rows of the samples to rank among each other; None for all
        """
        ids = self.columns["sample_id"]
        return np.unique(ids if rows is None else ids[rows], return_inverse=True)[1].ravel()

    def clusters(self) -> IntArray | None:
        """Number of the video or group of every sample, shape ``(S,)``; None without videos and groups."""
        if self.frame_numbers() is not None:
            return self.numbers()
        groups = self._groups()
        return None if groups is None else np.unique(groups, return_inverse=True)[1].ravel()

    def _groups(self) -> NDArray[np.bytes_] | None:
        """Key of the group of every sample, shape ``(S,)``; None unless all have one."""
        found = self.columns.get("group_id")
        return found if found is not None and len(found) and (found != b"").all() else None

    def order(self) -> IntArray | None:
        """Row numbers sorted by group, sample and frame, shape ``(S,)``; None if the rows are in that order."""
        keys = (self.columns.get("frame_number"), self.columns["sample_id"], self._groups())
        order: IntArray = np.lexsort([key for key in keys if key is not None])
        return None if (order == np.arange(len(order))).all() else order

    def frame_numbers(self) -> IntArray | None:
        """Number of every frame, shape ``(S,)``; None if rows are not frames."""
        found = self.columns.get("frame_number")
        return found if found is not None and len(found) else None

    def ids(self) -> list[str]:
        """Id of every sample; for frames the id of the video."""
        text = self.columns["sample_id"].tobytes().hex()
        return [text[k : k + 2 * _ID] for k in range(0, len(text), 2 * _ID)]

    def keys(self) -> NDArray[np.bytes_]:
        """A unique key of every sample, or frame; see :func:`sample_keys` and :func:`frame_keys`."""
        ids, frames = self.columns["sample_id"], self.frame_numbers()
        if frames is None:
            return ids
        keys = np.empty((len(self), _FRAME), np.uint8)
        keys[:, :_ID] = np.frombuffer(ids.tobytes(), np.uint8).reshape(-1, _ID)
        keys[:, _ID:] = frames.astype(">u4").view(np.uint8).reshape(-1, _FRAME - _ID)
        return np.frombuffer(keys.tobytes(), f"S{_FRAME}")

    def sample_keys(self) -> NDArray[np.bytes_]:
        """The keys of the samples, for frames of the videos, each once and in ascending order."""
        return np.unique(self.columns["sample_id"])

    def among(self, view: SampleCollection) -> BoolArray:
        """True for samples, or frames, that are in a view, shape ``(S,)``."""
        return np.isin(self.keys(), keys_of(view, on_frames=self.frame_numbers() is not None))

    def changed(
        self, samples: Sequence[Mapping[str, Any]], frames: Sequence[Mapping[str, Any]], since: datetime
    ) -> set[ObjectId]:
        """Ids of the samples (for frames: of the videos) that have another time stamp than when they were read.

        Args:
            samples: documents of samples with their ``last_modified_at``
            frames: documents of frames with the same, if rows are frames
            since: documents that were not read count as changed if their time stamp is not earlier
        """
        stamps, keys = self.columns["stamp"], self.keys()
        ids = [row["_id"] for row in samples]
        if self.frame_numbers() is None:
            return set(_changed(ids, sample_keys(ids), samples, keys, stamps, since))
        videos, first = np.unique(self.columns["sample_id"], return_index=True)
        of_videos = self.columns["video_stamp"][first]
        found = set(_changed(ids, sample_keys(ids), samples, videos, of_videos, since))
        ids = [row["_sample_id"] for row in frames]
        of_frames = frame_keys(zip(ids, (row["frame_number"] for row in frames), strict=True))
        return found | set(_changed(ids, of_frames, frames, keys, stamps, since))

    def list_samples(self, dataset: fo.Dataset, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Id, file and frame number of the samples in some rows."""
        ids, frames = ids_of(self.columns["sample_id"][list(rows)]), self.frame_numbers()
        found = sample_collection(dataset).find({"_id": {"$in": ids}}, {"filepath": True})
        filepaths = {row["_id"]: row.get("filepath") for row in found}
        described = [{"id": str(sample_id), "filepath": filepaths.get(sample_id)} for sample_id in ids]
        if frames is not None:
            numbers = frames[list(rows)].tolist()
            return [{**entry, "frame_number": number} for entry, number in zip(described, numbers, strict=True)]
        return described

    def totals(self, annotators: Sequence[str]) -> dict[str, Any]:
        """The counts of all samples as entries of :class:`RunFacts`."""
        n_invalid, n_unknown, n_added, lists = (self.columns[name] for name in COUNTS)
        states = zip(annotators, *((lists == state).sum(axis=0).tolist() for state in LIST_STATES), strict=True)
        return {
            "n_invalid": int(n_invalid.sum()),
            "n_unknown": int(n_unknown.sum()),
            "n_added_assignments": int(n_added.sum()),
            "lists": [AnnotatorLists(name, *reversed(counts)) for name, *counts in states],
        }


def sample_keys(sample_ids: Iterable[ObjectId]) -> NDArray[np.bytes_]:
    """The keys of samples."""
    return np.frombuffer(b"".join(sample_id.binary for sample_id in sample_ids), f"S{_ID}")


def ids_of(keys: NDArray[np.bytes_]) -> list[ObjectId]:
    """The ids of samples from their keys."""
    # numpy leaves out zeros at the end of a key
    return [ObjectId(key.ljust(_ID, b"\0")) for key in keys.tolist()]


def frame_keys(frames: Iterable[tuple[ObjectId, int]]) -> NDArray[np.bytes_]:
    """The keys of frames, each a video and a number."""
    keys = (video_id.binary + number.to_bytes(_FRAME - _ID, "big") for video_id, number in frames)
    return np.frombuffer(b"".join(keys), f"S{_FRAME}")


def _changed(
    ids: Sequence[ObjectId],
    keys: NDArray[np.bytes_],
    documents: Sequence[Mapping[str, Any]],
    read: NDArray[np.bytes_],
    read_stamps: IntArray,
    since: datetime,
) -> list[ObjectId]:
    """The ids of documents with another time stamp than was read, or that were not read and are not older."""
    stamps = np.array([milliseconds(row["last_modified_at"]) for row in documents], np.int64)
    order = np.argsort(read, kind="stable")
    place = np.minimum(np.searchsorted(read, keys, sorter=order), max(len(order) - 1, 0))
    known = order[place] if len(order) else np.zeros(len(keys), np.int64)
    was_read = read[known] == keys if len(order) else np.zeros(len(keys), np.bool_)
    differs = np.where(was_read, read_stamps[known] != stamps, stamps >= milliseconds(since))
    return [ids[k] for k in np.flatnonzero(differs).tolist()]


def keys_of(view: SampleCollection, *, on_frames: bool) -> NDArray[np.bytes_]:
    """Keys of the samples, or frames, of a view."""
    if is_generated(view):
        ids = [ObjectId(sample_id) for sample_id in view.values("sample_id")]
        if not on_frames:
            return sample_keys(ids)
        if "frame_number" in view.get_field_schema():
            return frame_keys(zip(ids, view.values("frame_number"), strict=True))
        clips = zip(ids, view.values("support"), strict=True)
        return frame_keys((video_id, number) for video_id, (first, last) in clips for number in range(first, last + 1))
    samples = flattened(view)
    if isinstance(samples, DatasetView):
        collection, stages = sample_collection(view), pipeline_of(samples, frames_only=on_frames)
    else:
        collection, stages = (frame_collection(view) if on_frames else sample_collection(view)), []
    if on_frames:
        wanted = {"_sample_id": True, "frame_number": True}
        found = collection.aggregate([*stages, {"$project": wanted}], allowDiskUse=True)
        return frame_keys((row["_sample_id"], row["frame_number"]) for row in found)
    # batches of documents in BSON that have nothing but their id, so all the same length
    batches = collection.aggregate_raw_batches([*stages, {"$project": {"_id": True}}], allowDiskUse=True)
    documents = np.frombuffer(b"".join(batches), [("before", "S9"), ("key", f"S{_ID}"), ("end", "S1")])
    return np.ascontiguousarray(documents["key"])


#: entry of a run's config: when its samples were read, and how many there were
CHANGES_RECORD = "changes"
#: how far the clocks of the machines that write may differ
_CLOCKS_DIFFER = timedelta(seconds=10)


def now() -> datetime:
    """The current time as the database stores it."""
    current = datetime.now(timezone.utc).replace(tzinfo=None)
    return current.replace(microsecond=current.microsecond // 1000 * 1000)


def stamps_of(dataset: fo.Dataset, sample_ids: Sequence[str]) -> dict[str, str]:
    """Time of the last change of some samples, by id; deleted ones are left out."""
    wanted = {"_id": {"$in": [ObjectId(each) for each in sample_ids]}}
    rows = sample_collection(dataset).find(wanted, {"last_modified_at": True}) if sample_ids else ()
    return {str(row["_id"]): str(row.get("last_modified_at")) for row in rows}


def new_changes_record(dataset: fo.Dataset) -> dict[str, Any]:
    """The record of a run that begins to read."""
    return {"at": milliseconds(now()), "n_samples": _n_samples(dataset)}


def changes_since(
    dataset: fo.Dataset, record: Mapping[str, int], index: Callable[[], SampleIndex], *, on_frames: bool
) -> tuple[frozenset[ObjectId], int] | None:
    """The samples that were edited or added since a completed run, and how many were deleted, compared by it or not.

    None if they are not known. For runs on frames, videos with edited or added frames are among them.

    Args:
        record: the :data:`CHANGES_RECORD` in the config of the run
        index: gives the samples of the run with their time stamps; called if any sample has a recent one
        on_frames: whether the run compares frames
    """
    at = datetime(1970, 1, 1) + timedelta(milliseconds=record["at"])
    if dataset.created_at > at:  # all samples of a clone have the time stamp of the cloning
        return None
    recent, wanted = {"last_modified_at": {"$gte": at - _CLOCKS_DIFFER}}, {"last_modified_at": True}
    samples = sample_collection(dataset)
    rows = list(samples.find(recent, wanted))
    frames = []
    if on_frames:
        frames = list(frame_collection(dataset).find(recent, {**wanted, "_sample_id": True, "frame_number": True}))
    changed: frozenset[ObjectId] = frozenset()
    if rows or frames:
        changed = frozenset(index().changed(rows, frames, at))
    n_added = samples.count_documents({"created_at": {"$gt": at}})
    return changed, max(0, record["n_samples"] + n_added - _n_samples(dataset))


def _n_samples(dataset: fo.Dataset) -> int:
    # counted, as the statistics of a collection are wrong after a crash of the database
    return int(sample_collection(dataset).count_documents({}, hint="_id_"))
