"""Samples that somebody changed since a run: their time stamp is not the one that the run read.

FiftyOne gives a sample a new time stamp when it is saved. What we write leaves the time stamp as it is: other runs see
no change, and an edit in a form of the App that is open meanwhile is saved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import fiftyone as fo
from bson import ObjectId

from ..database.fiftyone_private import frame_collection, sample_collection
from ..labels.stored import milliseconds, time_of
from .sample_index import SampleIndex

#: entry of a run's config: when its samples were read, and how many there were
RECORD = "changes"
#: how far the clocks of the machines that write may differ
_CLOCKS_DIFFER = timedelta(seconds=10)
#: milliseconds until the year 9999, the last that Python knows
_LATEST = 253_000_000_000_000


def now() -> datetime:
    """The current time as the database stores it."""
    current = datetime.now(timezone.utc).replace(tzinfo=None)
    return current.replace(microsecond=current.microsecond // 1000 * 1000)


def stamps_of(dataset: fo.Dataset, sample_ids: Sequence[str]) -> dict[str, str]:
    """Time of the last change of some samples, by id; deleted ones are left out."""
    wanted = {"_id": {"$in": [ObjectId(each) for each in sample_ids]}}
    rows = sample_collection(dataset).find(wanted, {"last_modified_at": True}) if sample_ids else ()
    return {str(row["_id"]): str(row.get("last_modified_at")) for row in rows}


def new_record(dataset: fo.Dataset) -> dict[str, Any]:
    """The record of a run that begins to read."""
    return {"at": milliseconds(now()), "n_samples": _n_samples(dataset)}


@dataclass(frozen=True, slots=True)
class Changes:
    """Samples changed in a dataset since a run."""

    samples: frozenset[ObjectId]  #: samples that were edited or added; for runs on frames, or whose frames were
    n_deleted: int  #: samples that were deleted, whether or not the run compared them


def changes_since(
    dataset: fo.Dataset, record: Any, index: Callable[[], SampleIndex], *, on_frames: bool
) -> Changes | None:
    """Find the samples changed since a completed run; None if they are not known.

    Args:
        record: the :data:`RECORD` in the config of the run
        index: gives the samples of the run with their time stamps; called if any sample has a recent one
        on_frames: whether the run compares frames
    """
    read, n_samples = (record.get(name) if isinstance(record, Mapping) else None for name in ("at", "n_samples"))
    if not isinstance(read, int) or not isinstance(n_samples, int) or not 0 <= read < _LATEST:
        return None  # of an older version, or damaged
    at = time_of(read)
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
    return Changes(changed, max(0, n_samples + n_added - _n_samples(dataset)))


def _n_samples(dataset: fo.Dataset) -> int:
    # counted, as the statistics of a collection are wrong after a crash of the database
    return int(sample_collection(dataset).count_documents({}, hint="_id_"))
