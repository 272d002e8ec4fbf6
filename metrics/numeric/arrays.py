"""Array types; index arithmetic on rows in groups: ranges, pairs, distinct keys, sums, connected components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

#: keys are counted in a table rather than sorted if it has at most so many cells for every key, or so many in all
_CELLS_A_KEY = 8
_FEW_CELLS = 1 << 20


def ranges(starts: IntArray, counts: IntArray) -> IntArray:
    """Concatenate the ranges ``starts[k] … starts[k] + counts[k] - 1`` of all ``k``."""
    total = int(counts.sum())
    ends = np.cumsum(counts)
    integers: IntArray = np.arange(total) + np.repeat(starts - (ends - counts), counts)
    return integers


def group_ends(groups: IntArray) -> IntArray:
    """For every row of an ascending column, the index one past the last row of its group; shape ``(N,)``."""
    ends = np.append(np.flatnonzero(np.diff(groups)) + 1, [len(groups)] * (len(groups) > 0)).astype(np.int64)
    return np.repeat(ends, np.diff(ends, prepend=0))


def pairs_between(first: IntArray, end: IntArray, max_pairs: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Pair every row ``i`` with the rows ``first[i] … end[i] - 1``, in chunks of bounded memory.

    Args:
        first: shape ``(N,)``, first partner of every row
        end: shape ``(N,)``, one past the last partner; at least ``first``
        max_pairs: most pairs in a chunk; one row with more pairs is a chunk by itself

    Yields:
        two index columns ``(i, j)``, ordered by ``i``, then ``j``
    """
    counts = end - first
    total = np.cumsum(counts)
    start = 0
    while start < len(counts):
        done = int(total[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(total, done + max_pairs, side="right")))
        rows = slice(start, stop)
        yield np.repeat(np.arange(start, stop), counts[rows]), ranges(first[rows], counts[rows])
        start = stop


def pairs_within(groups: IntArray) -> tuple[IntArray, IntArray]:
    """All pairs of rows within a group: index columns ``(i, j)`` with ``i < j``, ordered by ``i``, then ``j``.

    Args:
        groups: shape ``(N,)``, ascending
    """
    n = len(groups)
    parts = list(pairs_between(np.arange(1, n + 1), group_ends(groups), max_pairs=n * n + 1))
    return parts[0] if parts else (np.empty(0, np.int64), np.empty(0, np.int64))


def columns_together(mask: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Pairs of columns ``i < j`` that are true in the same row, ordered by ``i``, then ``j``, and in how many rows.

    Takes no memory for pairs of columns that never are.
    """
    rows = csr_array(mask, dtype=np.int32)
    together = triu(rows.T @ rows, 1).tocoo()
    order = np.lexsort((together.col, together.row))
    i, j, n = (column[order].astype(np.int64) for column in (together.row, together.col, together.data))
    return i, j, n


def number_by_first(labels: IntArray) -> tuple[IntArray, int]:
    """Number labels from 0 in the order in which they first occur.

    Returns:
        number of every row ``(N,)``, and the count of different labels
    """
    lowest = labels.min(initial=0)
    found, place = distinct(labels - lowest, int(labels.max(initial=lowest) - lowest) + 1)
    first = np.empty(len(found), np.int64)
    first[place[::-1]] = np.arange(len(labels))[::-1]
    number = np.empty(len(found), np.int64)
    number[np.argsort(first)] = np.arange(len(found))
    return number[place], len(found)


def distinct(keys: IntArray, n_cells: int) -> tuple[IntArray, IntArray]:
    """The different keys, of ``0 … n_cells - 1``, ascending, and the place of every key among these.

    Marks keys in a table of all cells, if these are few for the number of keys: faster than sorting.
    """
    if n_cells > max(_FEW_CELLS, _CELLS_A_KEY * len(keys)):
        found, place = np.unique(keys, return_inverse=True)
        return found, place
    occurs = np.zeros(n_cells, np.bool_)
    occurs[keys] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[keys]


def sums_of_keys(keys: IntArray, values: FloatArray | None, n_cells: int) -> tuple[IntArray, FloatArray]:
    """The different keys, of ``0 … n_cells - 1``, ascending, and the sum of the values of each; None: its count.

    Counts in a table of all cells, if these are few for the number of keys: faster than sorting.
    """
    if n_cells <= max(_FEW_CELLS, _CELLS_A_KEY * len(keys)):
        occurs = np.zeros(n_cells, np.bool_)
        occurs[keys] = True
        found = np.flatnonzero(occurs)
        return found, np.bincount(keys, weights=values, minlength=n_cells)[found].astype(np.float64, copy=False)
    if values is None:
        found, counts = np.unique(keys, return_counts=True)
        return found, counts.astype(np.float64)
    found, place = np.unique(keys, return_inverse=True)
    return found, sums_by(place, values, len(found))


def concatenated(parts: Sequence[Any], *names: str) -> dict[str, NDArray[Any]]:
    """Some columns of several objects, each of which has them as attributes, one part after another."""
    return {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}


def sums_by(index: IntArray, values: FloatArray | IntArray, n: int) -> FloatArray:
    """Sum of the values at every index ``0 … n - 1``, shape ``(n,)``."""
    return np.bincount(index, weights=values, minlength=n).astype(np.float64, copy=False)


def components(u: IntArray, v: IntArray, n: int) -> tuple[int, IntArray]:
    """Connected components of a graph with ``n`` nodes and edges ``(u, v)``: their count, and the label of every node.

    Labels follow the order of the first nodes. Much faster than ``scipy.sparse.csgraph`` on small graphs.
    """
    root = np.arange(n)
    while True:
        a, b = root[u], root[v]
        apart = a != b
        if not apart.any():
            break
        u, v, a, b = u[apart], v[apart], a[apart], b[apart]
        np.minimum.at(root, np.maximum(a, b), np.minimum(a, b))
        above = root[root]
        while (above != root).any():
            root, above = above, above[above]
    is_root = root == np.arange(n)
    return int(is_root.sum()), (np.cumsum(is_root) - 1)[root]
