"""Partition many graphs of equal size by greedy merges and local moves, and prove that a result is optimal.

Deterministic: of equal gains, the first group in the order of the nodes wins.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ..numeric.arrays import BoolArray, FloatArray, IntArray

#: totals and similarities that differ by at most this are equal
TIE = 1e-9
#: weight of a pair that must not share a group
FORBIDDEN = -1e6

#: most rounds of greedy merges and local moves
MAX_SWEEPS = 20

#: up to this many nodes, a matrix product is the fastest sum
_MAX_NODES_MULTIPLIED = 64


def merge_and_move(weights: FloatArray) -> IntArray:
    """Start with every node alone; merge groups, then move single nodes, as long as the total grows.

    Args:
        weights: shape ``(C, N, N)``, symmetric; the diagonal is not used

    Returns:
        groups of shape ``(C, N)``, numbered from 0 in the order of their first node
    """
    n_graphs, n = weights.shape[:2]
    weights = weights.copy()
    weights[:, np.arange(n), np.arange(n)] = 0.0
    group = np.tile(np.arange(n), (n_graphs, 1))
    to_group = weights.copy()  # total weight of every node with every group
    live = np.arange(n_graphs)
    for _ in range(MAX_SWEEPS):
        between = _sums_of_groups(to_group, group[live])
        exists = np.zeros(group[live].shape, np.bool_)
        np.put_along_axis(exists, group[live], True, axis=1)
        merged = np.take_along_axis(_merge(between, exists), group[live], axis=1)
        to_group = _sums_of_groups(weights[live], merged).transpose(0, 2, 1).copy()
        moved = _move(weights[live], merged, to_group)
        group[live] = merged
        live, to_group = live[moved], to_group[moved]
        if not len(live):
            break
    return numbered(group)


def numbered(groups: IntArray) -> IntArray:
    """Number groups ``(C, N)`` from 0 in the order of their first node."""
    return _rank_of_first((groups[:, :, None] == groups[:, None, :]).argmax(axis=2))


def _rank_of_first(first: IntArray) -> IntArray:
    """Number sets of nodes from 0 by their first node; both of shape ``(C, N)``."""
    return np.take_along_axis(np.cumsum(first == np.arange(first.shape[1]), axis=1) - 1, first, axis=1)


def _sums_of_groups(values: FloatArray, group: IntArray) -> FloatArray:
    """Sum of the rows ``(C, N, N)`` of the nodes of every group ``(C, N)``; row ``g`` of the result is group ``g``."""
    n = group.shape[1]
    if n <= _MAX_NODES_MULTIPLIED:
        members: FloatArray = (group[:, None, :] == np.arange(n)[:, None]).astype(np.float64)
        return members @ values
    nodes, ones = np.arange(n), np.ones(n)
    return np.stack([csr_array((ones, (group[c], nodes)), shape=(n, n)) @ values[c] for c in range(len(group))])


def _merge(between: FloatArray, exists: BoolArray) -> IntArray:
    """Merge the two groups with the largest gain until all gains are negative (a gain of 0 still merges).

    Args:
        between: shape ``(C, N, N)``, gain of merging two groups; overwritten
        exists: shape ``(C, N)``, whether a group has members

    Returns:
        shape ``(C, N)``, the group into which every group was merged
    """
    n = between.shape[1]
    place = np.arange(n)
    into = np.tile(place, (len(between), 1))
    between[:, place, place] = FORBIDDEN
    between[~(exists[:, :, None] & exists[:, None, :])] = FORBIDDEN
    best, partner = between.max(axis=2), between.argmax(axis=2)
    while len(live := np.flatnonzero(best.max(axis=1) >= -TIE)):
        gain = best[live]
        first = (gain >= gain.max(axis=1, keepdims=True) - TIE).argmax(axis=1)
        second = partner[live, first]
        p, q = np.minimum(first, second), np.maximum(first, second)
        into[live] = np.where(into[live] == q[:, None], p[:, None], into[live])
        between[live, p] += between[live, q]
        between[live, :, p] = between[live, p]
        between[live, q] = between[live, :, q] = FORBIDDEN
        between[live, p, p] = best[live, q] = FORBIDDEN
        known = partner[live]
        stale = (known == p[:, None]) | (known == q[:, None]) | (place == p[:, None])
        graph, node = np.nonzero(stale)
        lines = between[live[graph], node]
        best[live[graph], node], partner[live[graph], node] = lines.max(axis=1), lines.argmax(axis=1)
        graph, node = np.nonzero(between[live, :, p] > best[live])
        best[live[graph], node] = between[live[graph], node, p[graph]]
        partner[live[graph], node] = p[graph]
    return into


def _move(weights: FloatArray, group: IntArray, to_group: FloatArray) -> BoolArray:
    """Move every node in turn to the group (or to a new one) with the largest gain; returns the graphs that changed.

    ``group`` and ``to_group`` are overwritten.
    """
    graphs = np.arange(len(weights))
    moved = np.zeros(len(weights), np.bool_)
    for node in range(weights.shape[1]):
        gain = to_group[:, node] - to_group[graphs, node, group[:, node]][:, None]
        best = gain.max(axis=1)
        gains = np.flatnonzero(best > TIE)
        if not len(gains):
            continue
        target = (gain[gains] >= best[gains, None] - TIE).argmax(axis=1)
        to_group[gains, :, group[gains, node]] -= weights[gains, :, node]
        to_group[gains, :, target] += weights[gains, :, node]
        group[gains, node] = target
        moved[gains] = True
    return moved


def are_certainly_best(weights: FloatArray, group: IntArray) -> BoolArray:
    """Mask of partitions that reach the upper bound "every node with its best partner of each side" and fewest groups.

    True proves that the partition is optimal; False proves nothing. A side is a set of nodes that exclude each other
    (the objects of one annotator); False without sides.

    Args:
        weights: shape ``(C, N, N)``
        group: shape ``(C, N)``, numbered from 0

    Returns:
        shape ``(C,)``
    """
    n_graphs, n = group.shape
    place = np.arange(n)
    forbidden = weights <= FORBIDDEN / 2
    forbidden[:, place, place] = True
    first = forbidden.argmax(axis=2)
    has_sides = (forbidden == (first[:, :, None] == first[:, None, :])).all(axis=(1, 2))
    side = _rank_of_first(first)
    most = np.zeros(n_graphs)
    largest = np.zeros(n_graphs, np.int64)
    for number in range(int(side.max()) + 1):
        members = side == number
        with_members = np.where(members[:, None, :], weights, FORBIDDEN).max(axis=2)
        most += np.where(members, 0.0, np.maximum(with_members, 0.0)).sum(axis=1) / 2.0
        largest = np.maximum(largest, members.sum(axis=1))
    together = group[:, :, None] == group[:, None, :]
    together[:, place, place] = False
    total = np.where(together, weights, 0.0).sum(axis=(1, 2)) / 2.0
    certain: BoolArray = has_sides & (total >= most - TIE) & (group.max(axis=1) + 1 == largest)
    return certain
