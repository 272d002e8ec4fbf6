"""Where labels that a view shows stand in the database."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from bson import ObjectId

from ...metrics.arrays import IntArray


def label_positions(shown: Sequence[Sequence[ObjectId]], stored: Sequence[Sequence[ObjectId] | None]) -> IntArray:
    """Index of every label that is shown in the list of its sample in the database, one sample after the other.

    Args:
        shown: ids of the labels that a view shows of every sample
        stored: ids of all labels of every sample
    """
    positions: list[int] = []
    for ids, all_ids in zip(shown, stored, strict=True):
        known = list(all_ids or ())
        if list(ids) == known:
            positions.extend(range(len(known)))
            continue
        places: dict[ObjectId, list[int]] = {}
        for k in reversed(range(len(known))):
            places.setdefault(known[k], []).append(k)
        # an id that stands twice in a list is taken in its order
        positions.extend(
            places[label_id].pop() if len(places[label_id]) > 1 else places[label_id][0] for label_id in ids
        )
    return np.array(positions, np.int64)
