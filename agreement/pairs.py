"""Pairs of annotators by number, and those of them that have intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..metrics.arrays import BoolArray, IntArray

#: at most so many pairs of annotators have intervals, those that share the most samples
MAX_PAIRS = 200
#: and no more when so many samples are shared, over all of them
MAX_SHARED = 3_000_000


def pair_rows(a: IntArray, b: IntArray, n_annotators: int) -> IntArray:
    """Number of the pair of annotators ``a`` before ``b``, in the order (0, 1), (0, 2) … (R - 2, R - 1)."""
    number: IntArray = a * n_annotators - a * (a + 1) // 2 + (b - a - 1)
    return number


def pair_names(n_annotators: int) -> tuple[IntArray, IntArray]:
    """Annotators ``(a, b)`` of every pair, in the order of :func:`pair_rows`."""
    a, b = np.triu_indices(n_annotators, 1)
    return a, b


def n_shared(assigned: BoolArray) -> IntArray:
    """Samples that both annotators of every pair were assigned to, from who was assigned ``(S, R)``."""
    shared = assigned.T.astype(np.float64) @ assigned
    of_pairs: IntArray = shared[pair_names(assigned.shape[1])].astype(np.int64)
    return of_pairs


def chosen_pairs(assigned: BoolArray, annotators: Sequence[str]) -> IntArray:
    """The pairs of annotators that have intervals, ascending; of pairs that share as many samples, the first by name.

    Args:
        assigned: shape ``(S, R)``
        annotators: their names
    """
    a, b = pair_names(len(annotators))
    place = np.argsort(np.argsort(np.array(annotators, dtype=object), kind="stable"), kind="stable")
    first, second = np.minimum(place[a], place[b]), np.maximum(place[a], place[b])
    shared = n_shared(assigned)
    order = np.lexsort([second, first, -shared])[:MAX_PAIRS]
    order = order[np.cumsum(shared[order]) <= MAX_SHARED]
    chosen: IntArray = np.sort(order[shared[order] > 0])
    return chosen
