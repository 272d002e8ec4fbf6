"""The samples with the lowest scores."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import fiftyone as fo
import numpy as np
from bson import ObjectId

from ..agreement.compute import Agreement

_N = 10


class WorstSamples:
    """Keeps the few samples with the lowest scores of all batches; equal scores by sample id."""

    def __init__(self) -> None:
        self._worst: list[tuple[float, ObjectId, int, int]] = []

    def add(self, sample_ids: Sequence[ObjectId], agreement: Agreement) -> None:
        """Consider the samples of a batch."""
        scored = np.flatnonzero(agreement.score < 1.0)  # nan is not; a score of 1 leaves nothing to look at
        if len(scored) > _N:
            limit = np.partition(agreement.score[scored], _N - 1)[_N - 1]
            scored = scored[agreement.score[scored] <= limit]
        candidates = [
            (float(agreement.score[k]), sample_ids[k], int(agreement.n_units[k]), int(agreement.n_disputed[k]))
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
