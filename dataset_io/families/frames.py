"""Frames of videos: facts about their videos for reading, and aggregated values written on the videos."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from bson import ObjectId
from pymongo import UpdateOne

from ... import names
from ...metrics.numeric.arrays import FloatArray
from ..database.fiftyone_private import sample_collection
from ..labels.geometry_readers import pixels_or_0
from ..labels.source import Source
from ..labels.stored import StoredSample, label_ids

#: number of videos written at once
_WRITE_BATCH = 1_000


class Videos:
    """Video facts that their frames lack (size, assignments, time stamp); about 400 bytes per video.

    Attributes:
        number: position of every video, by sample id, in the order in which they were found
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.number: dict[ObjectId, int] = {}
        self._facts: list[dict[str, Any]] = []
        self._same: dict[Any, Any] = {}  # equal values are kept once
        self._gone: set[ObjectId] = set()
        self._adding = threading.Lock()  # one thread reads ahead, another one reads edited samples again
        self._add()

    def complete(self, row: dict[str, Any]) -> bool:
        """Add facts of its video to the query result of a frame: ``video``, ``size``, ``assigned``, ``labelled``,
        ``video_stamp``.

        Returns:
            False if the video does not exist (any more)
        """
        video_id = row["_sample_id"]
        with self._adding:
            if video_id not in self.number and video_id not in self._gone:  # it was added during the run
                self._add(video_id)
            if video_id not in self.number:
                self._gone.add(video_id)
                return False
        row |= self._facts[self.number[video_id]]
        return True

    def _add(self, video_id: ObjectId | None = None) -> None:
        """Read the facts of a video; None: of all."""
        source = self._source
        wanted: dict[str, Any] = {"size": ["$metadata.frame_width", "$metadata.frame_height"], "last_modified_at": True}
        if source.config.assigned_field is not None:
            wanted["listed"] = f"${source.config.assigned_field}"
        videos = [] if video_id is None else [{"$match": {"_id": video_id}}]
        nothing = np.zeros(len(source.everybody.kinds), np.bool_)
        for row in source.aggregate_samples([*videos, {"$project": wanted}]):
            if row["_id"] in self.number:
                continue
            size = (pixels_or_0(row["size"][0]), pixels_or_0(row["size"][1]))
            facts = {"video": len(self._facts), "size": self._same.setdefault(size, size), "labelled": nothing}
            facts["video_stamp"] = row.get("last_modified_at")
            if source.config.assigned_field is not None:
                facts["assigned"] = row.get("listed")
            self._facts.append(facts)
            self.number[row["_id"]] = facts["video"]
        has_list = {
            f"field{field}": {"$max": {"$ne": [label_ids(kind, path), None]}}
            for field, (kind, path) in enumerate(zip(source.everybody.kinds, source.everybody.label_paths, strict=True))
        }
        # from the dataset, not the view: filtering labels does not change assignments
        frames = [] if video_id is None else [{"$match": {"_sample_id": video_id}}]
        for row in source.aggregate_stored([*frames, {"$group": {"_id": "$_sample_id", **has_list}}]):
            if row["_id"] in self.number:
                labelled = bytes(row[name] for name in has_list)
                self._facts[self.number[row["_id"]]]["labelled"] = self._same.setdefault(
                    labelled, np.frombuffer(labelled, np.bool_)
                )


class VideoScores:
    """Means, sums or maxima over the frames of every video; about 150 bytes per video."""

    def __init__(self, source: Source, videos: Videos) -> None:
        key = source.config.run_key
        self._source = source
        self._number = videos.number
        self._fields = {path: spec for path, spec in source.fields_written(key).items() if "." not in path}
        self._over = [names.over_frames(path.removeprefix(key), spec) for path, spec in self._fields.items()]
        self._totals = np.zeros((len(self._number), len(self._fields)))
        self._counts = np.zeros(self._totals.shape, np.int32)

    def values_of(self, updates: Sequence[dict[str, Any]]) -> FloatArray:
        """The frame values to add to the videos once the frames have been written; nan where undefined."""
        rows = [[update.get(path, np.nan) for path in self._fields] for update in updates]
        return np.array(rows, np.float64).reshape(-1, len(self._fields))

    def add(self, frames: Sequence[StoredSample], values: FloatArray) -> None:
        """Add the values of frames that were written."""
        self._make_room()
        video = np.array([self._number[frame.video_id] for frame in frames if frame.video_id is not None], np.int64)
        defined = ~np.isnan(values)
        for column, over in enumerate(self._over):
            rows = np.flatnonzero(defined[:, column])
            total = np.maximum if over == "max" else np.add
            total.at(self._totals[:, column], video[rows], values[rows, column])
            np.add.at(self._counts[:, column], video[rows], 1)

    def _make_room(self) -> None:
        """Make room for videos that were added during the run."""
        n = len(self._number) - len(self._totals)
        if n:
            self._totals = np.pad(self._totals, ((0, n), (0, 0)))
            self._counts = np.pad(self._counts, ((0, n), (0, 0)))

    def write(self, check: Callable[[], None], *, again: bool) -> None:
        """Write the values of all videos that still exist.

        Args:
            check: raises an error when they may no longer be written
            again: whether videos may have values from an earlier computation
        """
        self._make_room()
        ids, videos = list(self._number), sample_collection(self._source.dataset)
        is_mean = np.array([over == "mean" for over in self._over], np.bool_)
        for start in range(0, len(ids), _WRITE_BATCH):
            rows = slice(start, start + _WRITE_BATCH)
            n = self._counts[rows]
            values = np.where(n > 0, self._totals[rows] / np.where(is_mean, np.maximum(n, 1), 1), np.nan).tolist()
            operations = []
            for video_id, row in zip(ids[rows], values, strict=True):
                found = {
                    path: int(value) if spec.type == "int" else value
                    for (path, spec), value in zip(self._fields.items(), row, strict=True)
                    if value == value  # nan is not equal to itself
                }
                update: dict[str, Any] = {"$set": found or {"_id": video_id}}
                left_out = [path for path in self._fields if again and path not in found]
                if left_out:
                    update["$unset"] = dict.fromkeys(left_out, "")
                operations.append(UpdateOne({"_id": video_id}, update))
            check()
            videos.bulk_write(operations, ordered=False)
        check()
