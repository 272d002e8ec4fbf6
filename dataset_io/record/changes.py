"""Which samples somebody changed since a run, found by their time stamps: an indexed question.

FiftyOne gives a sample a new time stamp when it is saved. What we write gets one too, so every pass of ours has a stamp
of its own, which all runs of the dataset know before it is used; a stamp that no run knows is a change. Before samples
that somebody changed get a stamp of ours, their ids are noted in the runs for which they had changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import fiftyone as fo
from bson import ObjectId
from pymongo.collection import Collection as Documents

from ... import names
from ..database.fiftyone_private import database, dataset_id, frame_collection, has_frame_fields, sample_collection
from ..labels.paths import is_of_frames

#: entry of a run's config: stamps and noted changes
RECORD = "changes"
#: how far the clocks of the machines that write may differ
_CLOCKS_DIFFER = timedelta(seconds=10)
_EPOCH = datetime(1970, 1, 1)
_MILLISECOND = timedelta(milliseconds=1)
#: more changed samples are not noted one by one: the document of a run would grow too large
_MOST_NOTES = 100_000


def _milliseconds(stamp: datetime) -> int:
    return (stamp - _EPOCH) // _MILLISECOND


def _stamp(milliseconds: int) -> datetime:
    return _EPOCH + milliseconds * _MILLISECOND


def now() -> datetime:
    """The current time as the database stores it."""
    current = datetime.now(timezone.utc).replace(tzinfo=None)
    return current.replace(microsecond=current.microsecond // 1000 * 1000)


def stamps_of(dataset: fo.Dataset, sample_ids: Sequence[str]) -> dict[str, str]:
    """When some samples were changed last, by id; those that are gone are left out."""
    wanted = {"_id": {"$in": [ObjectId(each) for each in sample_ids]}}
    rows = sample_collection(dataset).find(wanted, {"last_modified_at": True}) if sample_ids else ()
    return {str(row["_id"]): str(row.get("last_modified_at")) for row in rows}


@dataclass(frozen=True, slots=True)
class OwnStamps:
    """The time stamps of one pass of ours over the samples."""

    stamp: datetime  #: the stamp that all runs know
    known: frozenset[datetime]  #: stamps of earlier passes
    #: stamps of samples that somebody changed just before or during the pass, which only the run of the pass knows
    fresh: set[datetime] = field(default_factory=set)

    @property
    def changed_from(self) -> datetime:
        """Samples with a stamp from this time on may have been changed after the changes were noted."""
        return self.stamp - _CLOCKS_DIFFER

    @property
    def _ours(self) -> list[datetime]:
        return sorted({*self.known, self.stamp})

    def hides_nothing(self, read: datetime | None) -> bool:
        """Whether a sample with a time stamp may get the stamp of the pass."""
        return read is None or read < self.changed_from or read in self.known

    def after(self, read: datetime | None) -> datetime:
        """The new time stamp of a sample with a time stamp."""
        return self.stamp if self.hides_nothing(read) else now()

    def by_condition(self) -> list[tuple[dict[str, Any], datetime]]:
        """The new time stamps, each with the filter of the samples that get it."""
        late = {"last_modified_at": {"$gte": self.changed_from, "$nin": self._ours}}
        return [({"$nor": [late]}, self.stamp), (late, now())]

    def expression(self, fresh: datetime | None = None) -> dict[str, Any]:
        """The new time stamp of a document in an update.

        Args:
            fresh: what documents get that were changed just before the pass; None: the time of the update
        """
        old = "$last_modified_at"
        is_late = {"$and": [{"$gte": [old, self.changed_from]}, {"$not": {"$in": [old, self._ours]}}]}
        late = "$$NOW" if fresh is None else {"$cond": [{"$gte": [old, self.stamp]}, "$$NOW", fresh]}
        return {"$cond": [is_late, late, self.stamp]}


def own_stamps(dataset: fo.Dataset) -> OwnStamps:
    """Begin a pass of ours: note in all runs what was changed since, then tell them the stamp of the pass."""
    stamp = now()
    collections = _compared(dataset, has_frame_fields(dataset))
    while any(documents.find_one({"last_modified_at": stamp}, {"_id": True}) for documents in collections):
        stamp += _MILLISECOND
    runs = {
        "_dataset_id": dataset_id(dataset),
        "config.method": names.RUN_METHOD,
        f"config.{RECORD}.own": {"$type": "array"},
    }
    known: set[int] = set()
    for document in list(database().runs.find(runs, {f"config.{RECORD}": True, "config.fields_written": True})):
        record = readable_record(document["config"][RECORD])
        if record is None:
            continue
        fields = document["config"].get("fields_written")
        named = fields if isinstance(fields, list) else []
        on_frames = any(isinstance(path, str) and is_of_frames(path) for path in named)
        changed = [row for each in _compared(dataset, on_frames) for row in _foreign(each, record)]
        notes = {f"{_sample_id(row)} {_milliseconds(row['last_modified_at'])}" for row in changed}
        update: dict[str, Any] = {"$push": {f"config.{RECORD}.own": _milliseconds(stamp)}}
        if len(notes | record.noted) > _MOST_NOTES:
            update["$set"] = {f"config.{RECORD}.all": True}
        elif notes - record.noted:
            update["$push"][f"config.{RECORD}.noted"] = {"$each": sorted(notes - record.noted)}
        database().runs.update_one({"_id": document["_id"]}, update)
        known.update(record.own)
    return OwnStamps(stamp, frozenset(map(_stamp, known)))


@dataclass(frozen=True, slots=True)
class _Record:
    """What the :data:`RECORD` of a run says."""

    since: int  #: when the run began to read
    own: tuple[int, ...]  #: stamps of ours since then
    noted: frozenset[str]  #: samples that were changed before they got such a stamp, with the stamp of the change
    everything: bool  #: whether too many samples were changed to note them
    at: int | None  #: when the samples were counted, before the run began to read
    n_samples: int | None  #: number of samples in the dataset then


def readable_record(stored: Any) -> _Record | None:
    """The record of a run; None if there is none, as in older versions, or if it is damaged."""
    try:
        since, own, noted = int(stored["since"]), tuple(map(int, stored["own"])), frozenset(stored["noted"])
        at, n_samples = stored.get("at"), stored.get("n_samples")
        for milliseconds in (since, *own, *([] if at is None else [at])):
            _stamp(milliseconds)
        if all(ObjectId.is_valid(note[:24]) for note in noted):
            return _Record(since, own, noted, bool(stored.get("all")), at, n_samples)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
        pass
    return None


def new_record(dataset: fo.Dataset, stamps: OwnStamps, *, of_view: bool) -> dict[str, Any]:
    """What a run that begins records.

    Args:
        dataset: the dataset
        stamps: the time stamps of its pass
        of_view: whether it leaves samples out, whose former changes do not matter
    """
    since = stamps.stamp if of_view else stamps.changed_from
    return {"since": _milliseconds(since), "own": [_milliseconds(stamps.stamp)], "noted": [], **extent(dataset)}


def extent(dataset: fo.Dataset) -> dict[str, int]:
    """How many samples there are, and when they were counted, for the record of a run."""
    return {"at": _milliseconds(now()), "n_samples": _n_documents(sample_collection(dataset))}


def fresh_stamps(stamps: OwnStamps) -> dict[str, Any]:
    """What a pass adds to the record of its run when it is done, as an ``$push`` to its document."""
    return {f"config.{RECORD}.own": {"$each": sorted(map(_milliseconds, stamps.fresh))}}


@dataclass(frozen=True, slots=True)
class Changes:
    """What was changed in a dataset since a run."""

    samples: frozenset[ObjectId]  #: samples that were edited or added; for runs on frames, or whose frames were
    notes: frozenset[str]  #: what the run's record says of them
    n_deleted: int  #: samples that were deleted, whether or not the run compared them


def changes_since(dataset: fo.Dataset, stored: Any, *, on_frames: bool) -> Changes | None:
    """What was changed since a completed run, from the :data:`RECORD` in its config; None if that does not tell."""
    record = readable_record(stored)
    if record is None or record.at is None or record.n_samples is None:
        return None
    if dataset.created_at > _stamp(record.at):  # all samples of a clone have the time stamp of the cloning
        return None
    samples = sample_collection(dataset)
    if record.everything:
        changed = {row["_id"] for row in samples.find({}, {"_id": True})}
    else:
        rows = (row for documents in _compared(dataset, on_frames) for row in _foreign(documents, record))
        changed = {*map(_sample_id, rows), *(ObjectId(note[:24]) for note in record.noted)}
    added = samples.count_documents({"created_at": {"$gt": _stamp(record.at)}})
    n_deleted = record.n_samples + added - _n_documents(samples)
    return Changes(frozenset(changed), record.noted, max(0, n_deleted))


def _compared(dataset: fo.Dataset, on_frames: bool) -> list[Documents[dict[str, Any]]]:
    """The collections in which changes matter to a run."""
    return [sample_collection(dataset), *([frame_collection(dataset)] if on_frames else [])]


def _n_documents(documents: Documents[dict[str, Any]]) -> int:
    # counted, as the statistics of a collection are wrong after a crash of the database
    return int(documents.count_documents({}, hint="_id_"))


def _foreign(documents: Documents[dict[str, Any]], record: _Record) -> list[dict[str, Any]]:
    """The documents with a stamp that a run does not know."""
    condition = {"$gte": _stamp(record.since), "$nin": list(map(_stamp, record.own))}
    return list(documents.find({"last_modified_at": condition}, {"last_modified_at": True, "_sample_id": True}))


def _sample_id(row: Mapping[str, Any]) -> ObjectId:
    """The sample of a sample or frame."""
    found: ObjectId = row.get("_sample_id", row["_id"])
    return found
