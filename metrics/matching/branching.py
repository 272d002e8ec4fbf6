"""Find the best partitions of many graphs of equal size, with a proof, by branching on arrays.

The nodes are placed one after another: into a group that there is, or alone. Of all partitions of the nodes placed so
far, those are kept that may still become better than the best one known. What the other nodes can add is at most

- for each of them, its weight with the best group, and
- for every pair of them on different sides, half of what each gains with its best partner on the other's side.

A side is a set of nodes that exclude each other (the objects of one annotator). The nodes of a side are placed one
after another; those sides come first whose nodes have less in the known partition than with their best partners: there
decisions are needed, and they are taken while there are few partial partitions. For the other nodes the bound is close.
Graphs are searched together, but each as if it were alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numeric.arrays import BoolArray, FloatArray, IntArray
from .merging import FORBIDDEN, TIE, numbered

#: partial partitions of a graph that are kept: first few, as most graphs need no more, and the best of these is often
#: the best of all, with which a second search ends soon
_WIDTHS = (24, 1_500)
#: weights of groups with nodes that are looked at together; also of one graph, so that large ones keep fewer partitions
_MAX_ENTRIES = 2_000_000


def search(weights: FloatArray, start: IntArray) -> tuple[IntArray, BoolArray]:
    """The partitions with the greatest total, where the search comes to an end.

    Of totals equal within ``TIE``, fewer groups win, then the first partition as a restricted growth string.

    Args:
        weights: shape ``(C, N, N)``, symmetric, ``FORBIDDEN`` for pairs that must not share a group
        start: shape ``(C, N)``, partitions to begin with, numbered from 0 in the order of their first node

    Returns:
        the best groups found ``(C, N)``, and whether each is proven to be optimal ``(C,)``
    """
    n_graphs, n = start.shape
    weights = weights.copy()
    weights[:, np.arange(n), np.arange(n)] = 0.0
    groups, proven = start.copy(), np.zeros(n_graphs, np.bool_)
    most = _totals(weights, start)
    side = _sides(weights)
    order = _order(weights, start, side)
    graph = np.arange(n_graphs)[:, None]
    ordered = weights[graph[:, :, None], order[:, :, None], order[:, None, :]]
    rest = _bounds_of_rest(ordered, side[graph, order])
    for width in _WIDTHS:
        width = min(width, _MAX_ENTRIES // (n * n))
        todo = np.flatnonzero(~proven)
        step = _MAX_ENTRIES // (width * n * n)
        for first in range(0, len(todo), step):
            rows = todo[first : first + step]
            found = _branch(ordered[rows], rest[rows], most[rows], width)
            proven[rows] = ~found.cut
            group_of_node = np.empty_like(found.group)
            np.put_along_axis(group_of_node, order[rows[found.graph]], found.group, axis=1)
            _keep_best(rows, found, group_of_node, groups, most)
    return groups, proven


def _totals(weights: FloatArray, groups: IntArray) -> FloatArray:
    """Weight within the groups ``(C, N)`` of every graph, shape ``(C,)``."""
    total: FloatArray = np.where(groups[:, :, None] == groups[:, None, :], weights, 0.0).sum(axis=(1, 2)) / 2.0
    return total


def _sides(weights: FloatArray) -> IntArray:
    """Sides of nodes, shape ``(C, N)``: each node joins the first side that it is excluded from by all of its nodes."""
    n_graphs, n = weights.shape[:2]
    graph = np.arange(n_graphs)
    excluded = weights <= FORBIDDEN / 2
    side = np.empty((n_graphs, n), np.int64)
    size, n_excluding = np.zeros((n_graphs, n), np.int64), np.zeros((n_graphs, n, n), np.int64)
    for node in range(n):
        fits = n_excluding[:, :, node] == size  # also the first side without nodes
        side[:, node] = chosen = fits.argmax(axis=1)
        size[graph, chosen] += 1
        n_excluding[graph, chosen] += excluded[:, node]
    return side


def _order(weights: FloatArray, groups: IntArray, side: IntArray) -> IntArray:
    """The order in which nodes are placed, shape ``(C, N)``: see the module."""
    n_graphs, n = side.shape
    together = groups[:, :, None] == groups[:, None, :]
    short = np.zeros((n_graphs, n))
    for number in range(int(side.max()) + 1):
        members = np.where((side == number)[:, None, :], weights, 0.0)
        short += np.maximum(members, 0.0).max(axis=2) - np.where(together, members, 0.0).sum(axis=2)
    side_shortfall = np.zeros((n_graphs, n))
    np.add.at(side_shortfall, (np.arange(n_graphs)[:, None], side), short)
    return np.lexsort((-short, side, -np.take_along_axis(side_shortfall, side, axis=1)), axis=1)


def _bounds_of_rest(weights: FloatArray, side: IntArray) -> FloatArray:
    """Upper bounds of the gain among the nodes from each place on, shape ``(C, N + 1)``."""
    n_graphs, n = side.shape
    graph = np.arange(n_graphs)
    best = np.zeros((n_graphs, n, n))  # of every node with every side
    bounds = np.zeros((n_graphs, n + 1))
    for place in reversed(range(n)):
        gain = np.maximum(weights[:, place], 0.0)
        gain[:, :place] = 0.0
        own = best[graph, :, side[:, place]]
        best[graph, :, side[:, place]] = np.maximum(own, gain)
        np.maximum.at(best[:, place], (graph[:, None], side), gain)
        bounds[:, place] = best.sum(axis=(1, 2)) / 2.0
    return bounds


@dataclass(frozen=True, slots=True)
class _Found:
    """Partitions of graphs that may be the best."""

    graph: IntArray  # (F,) ascending
    group: IntArray  # (F, N) group of the node at each place of the order
    total: FloatArray  # (F,)
    cut: BoolArray  # (C,) whether partitions of a graph were left out that might be better


def _branch(weights: FloatArray, rest: FloatArray, most: FloatArray, width: int) -> _Found:
    """Place the nodes of every graph, with at most so many partial partitions of a graph at a time."""
    n_graphs, n = weights.shape[:2]
    graph, total = np.arange(n_graphs), np.zeros(n_graphs)
    group, n_groups = np.zeros((n_graphs, 0), np.int64), np.zeros(n_graphs, np.int64)
    cut = np.zeros(n_graphs, np.bool_)
    # of every partial partition, the weights of its groups, and of an empty one, with the nodes that are not placed
    gains = np.zeros((n_graphs, 1, n))
    for place in range(n):
        choices = (gains[:, :, 0] > FORBIDDEN / 2) & (np.arange(gains.shape[1]) <= n_groups[:, None])
        row, chosen = np.nonzero(choices)
        graph_of_row = graph[row]
        own = gains[row, chosen, 1:] + weights[graph_of_row, place, place + 1 :]
        others = _best_of_others(gains[:, :, 1:], row, chosen)
        found = total[row] + gains[row, chosen, 0]
        bound = found + np.maximum(own, others).sum(axis=1) + rest[graph_of_row, place + 1]
        kept = np.flatnonzero(bound >= most[graph_of_row] - 2.0 * TIE)
        if len(kept) > width:
            kept = _greatest(kept, graph_of_row[kept], bound[kept], width, cut)
        row, chosen, own, graph, total = row[kept], chosen[kept], own[kept], graph_of_row[kept], found[kept]
        group = np.column_stack([group[row], chosen])
        n_groups = np.maximum(n_groups[row], chosen + 1)
        gains = gains[row, :, 1:]
        gains[np.arange(len(row)), chosen] = own
        if n_groups.max(initial=0) == gains.shape[1]:  # the empty group has a node now
            gains = np.concatenate([gains, np.zeros((len(row), 1, n - place - 1))], axis=1)
    return _Found(graph, group, total, cut)


def _best_of_others(gains: FloatArray, row: IntArray, chosen: IntArray) -> FloatArray:
    """The greatest gain (at least 0) of every node with the groups ``(F, G)`` but the chosen one, shape ``(T, M)``."""
    best = gains.argmax(axis=1)
    first = np.take_along_axis(gains, best[:, None], axis=1)[:, 0]
    others = gains.copy()
    np.put_along_axis(others, best[:, None], 0.0, axis=1)
    second = np.maximum(others.max(axis=1), 0.0)
    return np.where(best[row] == chosen[:, None], second[row], np.maximum(first, 0.0)[row])


def _greatest(kept: IntArray, graph: IntArray, bound: FloatArray, width: int, cut: BoolArray) -> IntArray:
    """The ``width`` partial partitions of every graph with the greatest bounds, as a part of ``kept`` in its order.

    Sets ``cut`` to true for graphs that had more, because a partition that is left out might have led to the best one.
    """
    order = np.lexsort((-bound, graph))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - np.searchsorted(graph, graph)
    cut[graph[place >= width]] = True
    return kept[place < width]


def _keep_best(rows: IntArray, found: _Found, groups_found: IntArray, groups: IntArray, most: FloatArray) -> None:
    """Overwrite the groups, and totals, of graphs for which a better partition was found, or all that are best."""
    greatest = most[rows]
    np.maximum.at(greatest, found.graph, found.total)
    improved = greatest > most[rows] + TIE
    equal = np.flatnonzero((found.total >= greatest[found.graph] - TIE) & (improved | ~found.cut)[found.graph])
    graph, partition = found.graph[equal], numbered(groups_found[equal])
    order = np.lexsort((*partition.T[::-1], partition.max(axis=1), graph))
    graph, first = np.unique(graph[order], return_index=True)
    groups[rows[graph]] = partition[order[first]]
    most[rows] = greatest
