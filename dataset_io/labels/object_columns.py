"""Columns of object labels while they are being read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from bson import ObjectId

from ...metrics.geometry.objects import Geometry
from ...metrics.geometry.regions import joined
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, concatenated
from .stored import id_bytes

_COLUMNS = (
    *("sample", "annotator", "category", "field", "position"),
    *("usable", "crowd", "track", "confidence", "attributes"),
)


@dataclass(frozen=True, slots=True)
class ObjectColumns:
    """Labels as columns; ``origin`` is the index of a row in ``label_ids``, which is never reordered.

    ``confidence`` is nan for labels without one, and of all but models. ``attributes`` has the shape ``(N, A)``: codes
    of the values of every compared attribute.
    """

    sample: IntArray
    annotator: IntArray
    category: IntArray
    field: IntArray
    position: IntArray
    geometry: Geometry
    usable: BoolArray
    crowd: BoolArray
    track: IntArray
    confidence: FloatArray
    attributes: IntArray
    label_ids: list[ObjectId]
    origin: IntArray

    def rows(self, chosen: IntArray | BoolArray) -> ObjectColumns:
        """The chosen rows."""
        columns: dict[str, Any] = {name: getattr(self, name)[chosen] for name in (*_COLUMNS, "origin")}
        return replace(self, geometry=self.geometry.take(chosen), **columns)

    @classmethod
    def concatenate(cls, parts: Sequence[ObjectColumns]) -> ObjectColumns:
        """The rows of all parts."""
        offsets = np.cumsum([0, *(len(part.label_ids) for part in parts)])
        return cls(
            geometry=joined([part.geometry for part in parts]),
            label_ids=list(chain.from_iterable(part.label_ids for part in parts)),
            origin=np.concatenate([part.origin + offset for part, offset in zip(parts, offsets, strict=False)]),
            **concatenated(parts, *_COLUMNS),
        )

    def sorted(self) -> ObjectColumns:
        """The usable rows sorted by sample, annotator and label id (the order that breaks ties)."""
        usable = self if self.usable.all() else self.rows(self.usable)
        ids = id_bytes(self.label_ids).view(">u4").astype(np.int64)[usable.origin]
        high, low = (ids[:, 0] << 32) | ids[:, 1], ids[:, 2]
        block = usable.sample * (int(usable.annotator.max(initial=0)) + 1) + usable.annotator
        order = np.argsort(block, kind="stable")
        before, after = order[:-1], order[1:]
        ascending = (high[before] < high[after]) | ((high[before] == high[after]) & (low[before] <= low[after]))
        if not (ascending | (block[before] != block[after])).all():
            order = np.lexsort((usable.position, usable.field, low, high, block))
        return usable.rows(order)


def label_positions(shown: Sequence[Sequence[ObjectId]], stored: Sequence[Sequence[ObjectId] | None]) -> IntArray:
    """Index of every shown label in the stored label list of its sample, concatenated over samples.

    Args:
        shown: ids of the labels that a view shows, for every sample
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
        # repeated ids are matched in order
        positions.extend(
            places[label_id].pop() if len(places[label_id]) > 1 else places[label_id][0] for label_id in ids
        )
    return np.array(positions, np.int64)
