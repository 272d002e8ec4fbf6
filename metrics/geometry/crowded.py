"""Choose the pairs of objects to compare on a crowded sample: overlapping bounding boxes, at most a fixed number.

A sample of 60,000 objects has a billion pairs. They are looked at in blocks, sorted by their left edge, so that only
the pairs that are kept are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..numeric.arrays import BoolArray, FloatArray, IntArray

#: pairs of one sample that are kept at most; of more, every object keeps the most similar objects of every annotator
MAX_PAIRS_OF_SAMPLE = 3_000_000

#: pairs that are looked at together: few enough for the cache of a processor
_BLOCK = 1 << 16
#: how much each place in the list of an annotator counts where objects are equally similar; far less than a tie
_PER_PLACE = 1e-14


@dataclass(frozen=True, slots=True)
class NearPairs:
    """Pairs of objects of different annotators on one sample whose bounding boxes overlap, ordered by ``(i, j)``."""

    i: IntArray  #: shape ``(P,)``
    j: IntArray  #: shape ``(P,)``, greater than ``i``
    complete: bool  #: whether these are all


def near_pairs(bounds: FloatArray, annotator: IntArray, max_pairs: int) -> NearPairs:
    """The pairs of objects of different annotators whose bounding boxes overlap.

    If these are more than ``max_pairs``, only the most similar ones: for every object the objects of every other
    annotator with the greatest IoU of the bounding boxes, as many as fit. Of equally similar ones those come first that
    stand at the same place, or next after it, in the list of their annotator. Where even one of every annotator is too
    many, the most similar of all annotators together.

    Args:
        bounds: shape ``(N, 4)``, ``(x_min, y_min, x_max, y_max)``
        annotator: shape ``(N,)``, ascending
        max_pairs: pairs to keep
    """
    n = len(bounds)
    found: list[IntArray] = []
    n_found = 0
    for keys in overlapping_boxes(bounds, annotator):
        found.append(keys)
        n_found += len(keys)
        if n_found > max_pairs:
            found = list(_most_similar(bounds, annotator, max_pairs))
            break
    complete = n_found <= max_pairs
    keys = np.concatenate([np.empty(0, np.int64), *found])
    keys = np.sort(keys) if complete else np.unique(keys)
    return NearPairs(*np.divmod(keys, max(n, 1)), complete)


def overlapping_boxes(bounds: FloatArray, annotator: IntArray) -> Iterator[IntArray]:
    """All pairs of boxes ``(N, 4)`` of different annotators that overlap, as numbers ``i * N + j``, block by block."""
    n = len(bounds)
    order = np.argsort(bounds[:, 0], kind="stable")
    left, top, right, bottom = np.ascontiguousarray(bounds[order].T)
    who = annotator[order].astype(np.int32)
    end = np.searchsorted(left, right)  # where the boxes begin that lie to the right
    start = 0
    while start < n:
        stop = min(n, start + max(1, _BLOCK // max(1, int(end[start]) - start)))
        last = int(end[start:stop].max())
        for first in range(start + 1, last, _BLOCK):
            rows, columns = slice(start, stop), slice(first, min(first + _BLOCK, last))
            meets = left[columns] < right[rows, None]
            meets &= top[columns] < bottom[rows, None]
            meets &= bottom[columns] > top[rows, None]
            meets &= who[columns] != who[rows, None]
            row, column = np.nonzero(meets)
            row, column = row + start, column + first
            later = column > row
            a, b = order[row[later]], order[column[later]]
            yield np.minimum(a, b) * n + np.maximum(a, b)
        start = stop


@dataclass(frozen=True, slots=True)
class _Side:
    """The objects of one annotator (or of all), sorted by their left edge."""

    rows: IntArray
    place: IntArray  # in the list of the annotator
    edges: FloatArray  # (4, M)
    area: FloatArray
    rightmost: FloatArray  # greatest right edge up to here

    @classmethod
    def of(cls, rows: IntArray, bounds: FloatArray, area: FloatArray, place: IntArray) -> _Side:
        rows = rows[np.argsort(bounds[rows, 0], kind="stable")]
        edges = np.ascontiguousarray(bounds[rows].T)
        return cls(rows, place[rows], edges, area[rows], np.maximum.accumulate(edges[2]))

    def meeting(self, left: float, right: float) -> slice:
        """The objects that may overlap an interval of abscissas."""
        return slice(int(np.searchsorted(self.rightmost, left, "right")), int(np.searchsorted(self.edges[0], right)))


def _most_similar(bounds: FloatArray, annotator: IntArray, max_pairs: int) -> Iterator[IntArray]:
    """For every object the most similar ones of the others, as numbers ``i * N + j``; pairs may occur twice."""
    n = len(bounds)
    area = (bounds[:, 2] - bounds[:, 0]) * (bounds[:, 3] - bounds[:, 1])
    place = np.arange(n) - np.searchsorted(annotator, annotator)
    different = np.unique(annotator)
    sides = {who: _Side.of(np.flatnonzero(annotator == who), bounds, area, place) for who in different.tolist()}
    n_kept = max_pairs // max(1, n * (len(different) - 1))
    every = None
    if not n_kept:
        n_kept, every = max(1, max_pairs // n), _Side.of(np.arange(n), bounds, area, place)
    for who, own in sides.items():
        for other in [every] if every is not None else [side for name, side in sides.items() if name != who]:
            start = 0
            while start < len(own.rows):
                columns = other.meeting(own.edges[0, start], own.edges[2, start])
                stop = min(len(own.rows), start + max(1, _BLOCK // max(1, columns.stop - columns.start)))
                columns = other.meeting(own.edges[0, start], float(own.edges[2, start:stop].max()))
                row, column = _best(own, slice(start, stop), other, columns, n_kept, annotator if every else None)
                a, b = own.rows[start + row], other.rows[columns.start + column]
                yield np.minimum(a, b) * n + np.maximum(a, b)
                start = stop


def _best(
    own: _Side, rows: slice, other: _Side, columns: slice, n_kept: int, annotator: IntArray | None
) -> tuple[IntArray, IntArray]:
    """Of every row the columns with the greatest IoU above 0; with ``annotator`` only those of other annotators."""
    left, top, right, bottom = own.edges[:, rows, None]
    shared = np.minimum(other.edges[2, columns], right)
    shared -= np.maximum(other.edges[0, columns], left)
    height = np.minimum(other.edges[3, columns], bottom)
    height -= np.maximum(other.edges[1, columns], top)
    np.maximum(shared, 0.0, out=shared)
    shared *= np.maximum(height, 0.0, out=height)
    if annotator is not None:
        shared[annotator[other.rows[columns]] == annotator[own.rows[rows], None]] = 0.0
    if shared.shape[1] > n_kept:
        union = own.area[rows, None] + other.area[columns]
        union -= shared
        score = np.divide(shared, union, out=np.zeros_like(shared), where=shared > 0.0)
        score -= _PER_PLACE * ((other.place[columns] - own.place[rows, None]) % len(other.rows))
        chosen = np.argpartition(score, -n_kept, axis=1)[:, -n_kept:]
        row = np.repeat(np.arange(len(chosen)), n_kept)
        column = chosen.ravel()
    else:
        row, column = (index.ravel() for index in np.indices(shared.shape))
    kept: BoolArray = shared[row, column] > 0.0
    return row[kept], column[kept]
