"""The samples with the lowest scores."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import fiftyone as fo
import numpy as np
from bson import ObjectId

from .family import SampleScores

_N = 10


class WorstSamples:
    """Keeps the few samples with the lowest scores of all batches; equal scores by sample id."""

    def __init__(self) -> None:
        self._worst: list[tuple[float, ObjectId, int, int]] = []

    def add(self, sample_ids: Sequence[ObjectId], scores: SampleScores) -> None:
        """Consider the samples of a batch."""
        scored = np.flatnonzero(scores.score < 1.0)  # nan is not; a score of 1 leaves nothing to look at
        if len(scored) > _N:
            limit = np.partition(scores.score[scored], _N - 1)[_N - 1]
            scored = scored[scores.score[scored] <= limit]
        candidates = [
            (float(scores.score[k]), sample_ids[k], int(scores.n_units[k]), int(scores.n_disputed[k]))
            for k in scored.tolist()
        ]
        self._worst = heapq.nsmallest(_N, [*self._worst, *candidates])

    def described(self, dataset: fo.Dataset) -> list[dict[str, Any]]:
        """The samples with their files, worst first."""
        ids = [sample_id for _, sample_id, _, _ in self._worst]
        found = dataset._sample_collection.find({"_id": {"$in": ids}}, {"filepath": True})
        filepaths = {row["_id"]: row.get("filepath") for row in found}
        return [
            {
                "id": str(sample_id),
                "filepath": filepaths.get(sample_id),
                "score": score,
                "n_units": n_units,
                "n_disputed": n_disputed,
            }
            for score, sample_id, n_units, n_disputed in self._worst
        ]
