"""Write the values of a batch: one guarded update a sample, so that no label edited meanwhile gets a wrong value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
from bson import ObjectId
from pymongo import UpdateOne

from .. import names
from ..agreement.compute import NO_VERDICT, VERDICTS, Agreement
from .read import ReadBatch, StoredSample
from .source import Source


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a batch.

    Attributes:
        n_written: samples that were written
        refused: ids of the samples that changed after they were read
    """

    n_written: int
    refused: list[ObjectId]


class Writer:
    """Writes the values of a run."""

    def __init__(self, source: Source, run_key: str) -> None:
        self._source = source
        self._collection = source.dataset._sample_collection
        self._sample_paths = [run_key + suffix for suffix in names.SAMPLE_FIELDS]
        self._mark = f"{run_key}_n_annotators"
        self._label_suffixes = [run_key + suffix for suffix in names.LABEL_FIELDS]
        self._label_paths: list[list[tuple[str, ...]]] = [[] for _ in source.list_paths]

    def write(self, read: ReadBatch, agreement: Agreement) -> Written:
        """Write a batch, except to samples that are not any more as they were read."""
        if not read.samples:
            return Written(0, list(read.changed))
        stamp = _unused_stamp(read.samples)
        updates = self._updates(read, agreement)
        operations = [
            UpdateOne(self._as_read(sample), {"$set": {**values, "last_modified_at": stamp}})
            for sample, values in zip(read.samples, updates, strict=True)
        ]
        matched = self._collection.bulk_write(operations, ordered=False).matched_count
        refused = list(read.changed)
        if matched < len(operations):
            refused += self._not_written([sample.sample_id for sample in read.samples], stamp)
        return Written(len(read.samples) + len(read.changed) - len(refused), refused)

    def _as_read(self, sample: StoredSample) -> dict[str, Any]:
        """A filter that only matches while the sample has its time stamp and its labels."""
        condition: dict[str, Any] = {"_id": sample.sample_id, "last_modified_at": sample.last_modified_at}
        unchanged = []
        for path, label_ids in zip(self._source.list_paths, sample.label_ids, strict=True):
            if not label_ids:
                condition[f"{path}.0"] = {"$exists": False}
            else:
                unchanged.append({"$eq": [f"${path}._id", label_ids]})
        if unchanged:
            condition["$expr"] = {"$and": unchanged}
        return condition

    def _not_written(self, sample_ids: Sequence[ObjectId], stamp: datetime) -> list[ObjectId]:
        ours = {"_id": {"$in": list(sample_ids)}, "last_modified_at": stamp, self._mark: {"$exists": True}}
        written = {row["_id"] for row in self._collection.find(ours, {"_id": True})}
        return [sample_id for sample_id in sample_ids if sample_id not in written]

    def _updates(self, read: ReadBatch, agreement: Agreement) -> list[dict[str, Any]]:
        """The values of every sample by path; undefined ones are None on labels and left out on samples."""
        updates = self._sample_values(agreement)
        verdict_names = {NO_VERDICT: None, **dict(enumerate(VERDICTS))}
        columns = (
            [verdict_names[code] for code in agreement.units.verdict[agreement.matching.unit].tolist()],
            _ids_of_objects(read, agreement, self._source.annotators),
            agreement.object_iou.tolist(),
            agreement.units.votes[agreement.matching.unit].tolist(),
            agreement.units.assigned[agreement.matching.unit].tolist(),
        )
        rows = zip(
            read.batch.objects.sample.tolist(), read.field.tolist(), read.position.tolist(), *columns, strict=True
        )
        self._extend_paths(read)
        paths = self._label_paths
        for sample, field, position, verdict, unit_id, iou, votes, assigned in rows:
            values = updates[sample]
            of_verdict, of_id, of_iou, of_votes, of_assigned = paths[field][position]
            values[of_verdict] = verdict
            values[of_id] = unit_id
            values[of_iou] = iou if iou == iou else None  # nan is not equal to itself
            values[of_votes] = votes
            values[of_assigned] = assigned
        return updates

    def _sample_values(self, agreement: Agreement) -> list[dict[str, Any]]:
        disputed = np.where(agreement.rated, agreement.n_disputed, np.nan)
        floats = (agreement.score, agreement.alpha, agreement.iou, agreement.dice)
        integers = (agreement.n_assigned, agreement.n_units, disputed)
        rows = zip(*(column.tolist() for column in (*floats, *integers)), strict=True)
        updates = []
        for row in rows:
            values = {path: value for path, value in zip(self._sample_paths, row, strict=True) if value == value}
            if self._sample_paths[-1] in values:
                values[self._sample_paths[-1]] = int(values[self._sample_paths[-1]])
            updates.append(values)
        return updates

    def _extend_paths(self, read: ReadBatch) -> None:
        """Make the paths of labels up to the longest list; the same strings serve every sample."""
        for field, (path, known) in enumerate(zip(self._source.list_paths, self._label_paths, strict=True)):
            longest = int(read.position[read.field == field].max(initial=-1)) + 1
            for position in range(len(known), longest):
                known.append(tuple(f"{path}.{position}.{suffix}" for suffix in self._label_suffixes))


def _unused_stamp(samples: Sequence[StoredSample]) -> datetime:
    """The present time in milliseconds, or a little later: a time stamp that none of the samples has."""
    taken = {sample.last_modified_at for sample in samples}
    now = datetime.now(timezone.utc).replace(tzinfo=None)
    stamp = now.replace(microsecond=now.microsecond // 1000 * 1000)
    while stamp in taken:
        stamp += timedelta(milliseconds=1)
    return stamp


def _ids_of_objects(read: ReadBatch, agreement: Agreement, annotators: Sequence[str]) -> list[str]:
    """The unit id of every object: the label id of its unit's first member.

    Where another unit of the sample already has it (cloned fields share label ids), the annotator of the first member
    is appended.
    """
    unit = agreement.matching.unit
    n_units = agreement.matching.n_units
    first = np.full(n_units, len(unit))
    np.minimum.at(first, unit, np.arange(len(unit)))
    firsts = first.tolist()
    ids = [str(read.label_ids[k]) for k in firsts]
    if len(set(ids)) < n_units:
        taken: set[tuple[int, str]] = set()
        of_sample, of_annotator = read.batch.objects.sample, read.batch.objects.annotator
        for k, row in enumerate(firsts):
            sample, suffixed, repeat = int(of_sample[row]), ids[k], 1
            while (sample, suffixed) in taken:
                suffixed = f"{ids[k]}-{annotators[of_annotator[row]]}" + (f"-{repeat}" if repeat > 1 else "")
                repeat += 1
            taken.add((sample, suffixed))
            ids[k] = suffixed
    return [ids[k] for k in unit.tolist()]
