"""Which samples the records of a run are of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import fiftyone as fo
import numpy as np
from bson import ObjectId
from numpy.typing import NDArray

from ..metrics.arrays import BoolArray, IntArray
from .stored import StoredSample

#: bytes of an id
_ID = 12


class SampleIndex:
    """The samples of records, in their order; of frames, the videos that they are frames of.

    About 12 bytes a sample, 16 a frame, 24 a sample of a group.
    """

    def __init__(self) -> None:
        self._ids = bytearray()
        self._groups = bytearray()
        self._frame_numbers: list[int] = []

    def add(self, samples: Sequence[StoredSample]) -> None:
        """Add the samples of a batch."""
        for sample in samples:
            self._ids += (sample.video_id or sample.sample_id).binary
            if sample.group_id is not None:
                self._groups += sample.group_id.binary
            if sample.video_id is not None:
                self._frame_numbers.append(sample.frame_number)

    def __len__(self) -> int:
        return len(self._ids) // _ID

    def clusters(self) -> IntArray | None:
        """Number of the video or group of every sample, shape ``(S,)``; None where samples stand alone."""
        if self._frame_numbers:
            return _numbers(self._ids)
        return _numbers(self._groups) if len(self._groups) == len(self._ids) and self._ids else None

    def ids(self) -> list[ObjectId]:
        """Id of every sample, of frames that of the video."""
        return [ObjectId(bytes(self._ids[k : k + _ID])) for k in range(0, len(self._ids), _ID)]

    def among(self, chosen: Iterable[str]) -> BoolArray:
        """Which samples, or frames of which videos, have one of some ids, shape ``(S,)``."""
        wanted = frozenset(map(bytes.fromhex, chosen))
        ids = bytes(self._ids)
        return np.array([ids[k : k + _ID] in wanted for k in range(0, len(ids), _ID)], np.bool_)

    def select(self, samples: BoolArray) -> SampleIndex:
        """The samples that a mask ``(S,)`` keeps."""
        selected = SampleIndex()
        selected._ids += _rows(self._ids)[samples].tobytes()
        if self._groups:
            selected._groups += _rows(self._groups)[samples].tobytes()
        if self._frame_numbers:
            selected._frame_numbers = np.array(self._frame_numbers)[samples].tolist()
        return selected

    def described(self, dataset: fo.Dataset, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Some samples, by their rows, with their files."""
        ids = [ObjectId(bytes(self._ids[_ID * row : _ID * (row + 1)])) for row in rows]
        found = dataset._sample_collection.find({"_id": {"$in": ids}}, {"filepath": True})
        filepaths = {row["_id"]: row.get("filepath") for row in found}
        described = [{"id": str(sample_id), "filepath": filepaths.get(sample_id)} for sample_id in ids]
        if self._frame_numbers:
            described = [
                {**entry, "frame_number": self._frame_numbers[row]} for entry, row in zip(described, rows, strict=True)
            ]
        return described

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The index as columns, for storing."""
        arrays: dict[str, NDArray[Any]] = {"sample_id": np.frombuffer(bytes(self._ids), np.uint8)}
        if self._groups:
            arrays["group_id"] = np.frombuffer(bytes(self._groups), np.uint8)
        if self._frame_numbers:
            arrays["frame_number"] = np.array(self._frame_numbers, np.int32)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> SampleIndex:
        """The index that :meth:`to_arrays` gave."""
        index = cls()
        index._ids += arrays["sample_id"].tobytes()
        if "group_id" in arrays:
            index._groups += arrays["group_id"].tobytes()
        if "frame_number" in arrays:
            index._frame_numbers = arrays["frame_number"].tolist()
        return index


def _rows(ids: bytearray) -> NDArray[Any]:
    return np.frombuffer(bytes(ids), f"V{_ID}")


def _numbers(ids: bytearray) -> IntArray:
    words = np.frombuffer(bytes(ids), ">u4").reshape(-1, _ID // 4)
    number: IntArray = np.unique(words, axis=0, return_inverse=True)[1].ravel()
    return number
