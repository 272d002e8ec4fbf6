"""Write the values of a batch: one guarded update per sample, so that edited labels never get wrong values.

The values of a sample and its labels come from ``values()`` of its family (``objects.py``, ``ratings.py``, ``tags.py``
and ``pixels.py`` in ``families/``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from bson import ObjectId
from pymongo import UpdateOne

from ...metrics.arrays import FloatArray
from ..labels.source import Source
from .read import ReadBatch
from .stored import StoredSample, as_read


@dataclass(frozen=True, slots=True)
class Written:
    """Result of writing a batch."""

    n_written: int  #: samples that were written
    refused: list[ObjectId]  #: ids of the samples that changed after they were read
    #: values of every frame to add to its video, including refused frames; None without videos
    of_videos: FloatArray | None = None


class Writer:
    """Writes the values of a run."""

    def __init__(self, source: Source, run_key: str) -> None:
        self._source = source
        self._mark = f"{run_key}_n_annotators"

    def write(self, read: ReadBatch[Any], updates: list[dict[str, Any]]) -> Written:
        """Write the values of a batch by path, except to samples that changed since they were read."""
        if not read.samples:
            return Written(0, list(read.changed))
        stamp = _unused_stamp(read.samples)
        operations = [
            UpdateOne(
                as_read(sample, self._source.kinds, self._source.label_paths),
                {"$set": {**values, "last_modified_at": stamp}},
            )
            for sample, values in zip(read.samples, updates, strict=True)
        ]
        matched = self._source.collection.bulk_write(operations, ordered=False).matched_count
        refused = list(read.changed)
        if matched < len(operations):
            refused += self._not_written([sample.sample_id for sample in read.samples], stamp, matched)
        return Written(len(read.samples) + len(read.changed) - len(refused), refused)

    def _not_written(self, sample_ids: list[ObjectId], stamp: datetime, n_written: int) -> list[ObjectId]:
        """The samples without the stamp; all samples if somebody else wrote in the same millisecond."""
        ours = {"_id": {"$in": sample_ids}, "last_modified_at": stamp, self._mark: {"$exists": True}}
        stamped = {row["_id"] for row in self._source.collection.find(ours, {"_id": True})}
        if len(stamped) > n_written:
            return sample_ids
        return [sample_id for sample_id in sample_ids if sample_id not in stamped]


def _unused_stamp(samples: Sequence[StoredSample]) -> datetime:
    """The current time in milliseconds, increased until no sample has this time stamp."""
    taken = {sample.last_modified_at for sample in samples}
    now = datetime.now(timezone.utc).replace(tzinfo=None)
    stamp = now.replace(microsecond=now.microsecond // 1000 * 1000)
    while stamp in taken:
        stamp += timedelta(milliseconds=1)
    return stamp
