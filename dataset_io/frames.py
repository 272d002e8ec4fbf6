"""Frames of videos: what a run must know of their videos, and what it writes on these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import numpy as np
from bson import ObjectId
from pymongo import UpdateOne

from .. import names
from ..metrics.arrays import BoolArray, FloatArray
from .family import SampleScores
from .source import Source
from .stored import StoredSample, label_ids

#: videos that are written at once
_WRITE_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Videos:
    """The videos of a source, and what their frames do not say themselves; columns over ``V`` videos.

    Attributes:
        number: position of every video, by sample id
        size: width and height of the frames in pixels, None where not known
        listed: the value of the field with the assigned annotators
        labelled: shape ``(V, F)``, whether any frame of the video has a label list in a field
    """

    number: dict[ObjectId, int]
    size: list[tuple[Any, Any]]
    listed: list[Any] | None
    labelled: BoolArray

    def complete(self, row: dict[str, Any]) -> None:
        """Add to a query result on a frame what its video says: ``video``, ``size``, ``assigned`` and ``labelled``."""
        number = self.number.get(row["_sample_id"])
        if number is None:  # a video that was added during the run
            number = self.number[row["_sample_id"]] = len(self.size)
            self.size.append((None, None))
        row["video"] = number
        row["size"] = self.size[number]
        if self.listed is not None:
            row["assigned"] = self.listed[number] if number < len(self.listed) else None
        row["labelled"] = self.labelled[number] if number < len(self.labelled) else None


def videos_of(source: Source) -> Videos:
    """Read what frames do not say themselves, about 250 bytes a video."""
    wanted: dict[str, Any] = {"size": ["$metadata.frame_width", "$metadata.frame_height"]}
    if source.config.assigned_field is not None:
        wanted["listed"] = f"${source.config.assigned_field}"
    number: dict[ObjectId, int] = {}
    sizes: list[tuple[Any, Any]] = []
    listed: list[Any] = []
    same: dict[tuple[Any, Any], tuple[Any, Any]] = {}
    for row in source.aggregate_samples([{"$project": wanted}]):
        if row["_id"] not in number:
            number[row["_id"]] = len(number)
            size = tuple(row["size"])
            sizes.append(same.setdefault(size, size))
            listed.append(row.get("listed"))
    labelled = np.zeros((len(number), len(source.kinds)), np.bool_)
    has_list = {
        f"field{field}": {"$max": {"$ne": [label_ids(kind, path), None]}}
        for field, (kind, path) in enumerate(zip(source.kinds, source.label_paths, strict=True))
    }
    # of the dataset, not of a view: a filter takes labels away, not assignments
    for row in source.collection.aggregate([{"$group": {"_id": "$_sample_id", **has_list}}], allowDiskUse=True):
        if row["_id"] in number:
            labelled[number[row["_id"]]] = [row[name] for name in has_list]
    return Videos(number, sizes, listed if source.config.assigned_field is not None else None, labelled)


class VideoScores:
    """Means and sums over the frames of every video, about 150 bytes a video."""

    def __init__(self, source: Source, number: dict[ObjectId, int]) -> None:
        key = source.config.run_key
        fields = {path: spec for path, spec in source.fields_written(key).items() if "." not in path}
        self._source = source
        self._number = number
        self._paths = list(fields)
        self._over = [names.over_frames(path.removeprefix(key), spec) for path, spec in fields.items()]
        self._totals = np.zeros((len(number), len(self._paths)))
        self._counts = np.zeros((len(number), len(self._paths)), np.int32)
        self._scores = np.zeros((len(number), 4))  # sum of scores, scored frames, units, disputed units
        self._lowest = np.full(len(number), np.inf)
        self._lowest_frame = np.zeros(len(number), np.int64)

    @property
    def n_videos(self) -> int:
        """Number of videos."""
        return len(self._number)

    def values_of(self, updates: Sequence[dict[str, Any]]) -> FloatArray:
        """What is kept of the values of frames until these are known to be written; nan where undefined."""
        rows = [[update.get(path, np.nan) for path in self._paths] for update in updates]
        return np.array(rows, np.float64).reshape(-1, len(self._paths))

    def add(self, frames: Sequence[StoredSample], values: FloatArray, of_frames: SampleScores) -> None:
        """Add the values of frames that were written, and what is known to find the worst."""
        self._extend()
        video = np.array([self._number[frame.video_id] for frame in frames], np.int64)
        frame_number = np.array([frame.frame_number for frame in frames], np.int64)
        scores = of_frames.score
        scored = ~np.isnan(scores)
        columns = (np.where(scored, scores, 0.0), scored, of_frames.n_units, of_frames.n_disputed)
        np.add.at(self._scores, video, np.stack(columns, axis=1).astype(np.float64))
        defined = ~np.isnan(values)
        for column, over in enumerate(self._over):
            rows = np.flatnonzero(defined[:, column])
            total = np.maximum if over == "max" else np.add
            total.at(self._totals[:, column], video[rows], values[rows, column])
            np.add.at(self._counts[:, column], video[rows], 1)
        # of equal scores the first frame, whatever the order in which they come
        order = np.lexsort((frame_number, scores))
        order = order[scored[order]]
        videos, first = np.unique(video[order], return_index=True)
        best = order[first]
        lower = (scores[best] < self._lowest[videos]) | (
            (scores[best] == self._lowest[videos]) & (frame_number[best] < self._lowest_frame[videos])
        )
        self._lowest[videos[lower]] = scores[best[lower]]
        self._lowest_frame[videos[lower]] = frame_number[best[lower]]

    def _extend(self) -> None:
        """Make room for videos that were added during the run."""
        n = len(self._number) - len(self._totals)
        if n:
            self._totals = np.pad(self._totals, ((0, n), (0, 0)))
            self._counts = np.pad(self._counts, ((0, n), (0, 0)))
            self._scores = np.pad(self._scores, ((0, n), (0, 0)))
            self._lowest = np.pad(self._lowest, (0, n), constant_values=np.inf)
            self._lowest_frame = np.pad(self._lowest_frame, (0, n))

    def _column(self, column: int) -> FloatArray:
        total, count = self._totals[:, column], self._counts[:, column]
        divided = total / np.maximum(count, 1) if self._over[column] == "mean" else total
        return np.where(count > 0, divided, np.nan)

    def scores(self) -> tuple[list[ObjectId], SampleScores]:
        """The videos, and their mean scores."""
        self._extend()
        total, n_scored, n_units, n_disputed = self._scores.T
        mean = np.where(n_scored > 0, total / np.maximum(n_scored, 1), np.nan)
        return list(self._number), SampleScores(mean, n_units.astype(np.int64), n_disputed.astype(np.int64))

    def lowest_frame(self, video_id: ObjectId) -> int:
        """Number of the frame with the lowest score of a video that has scored frames."""
        return int(self._lowest_frame[self._number[video_id]])

    def write(self) -> Iterator[int]:
        """Write the values of all videos that still exist; yields how many were written, now and then."""
        self._extend()
        integers = [over != "mean" for over in self._over]
        columns = [self._column(column).tolist() for column in range(len(self._paths))]
        operations: list[UpdateOne] = []
        stamp = datetime.now(timezone.utc)
        for video_id, *row in zip(self._number, *columns, strict=True):
            values = {
                path: int(value) if is_integer else value
                for path, value, is_integer in zip(self._paths, row, integers, strict=True)
                if value == value  # nan is not equal to itself
            }
            operations.append(UpdateOne({"_id": video_id}, {"$set": {**values, "last_modified_at": stamp}}))
            if len(operations) == _WRITE_BATCH:
                yield self._send(operations)
                operations = []
        if operations:
            yield self._send(operations)

    def _send(self, operations: list[UpdateOne]) -> int:
        return int(self._source.dataset._sample_collection.bulk_write(operations, ordered=False).matched_count)
