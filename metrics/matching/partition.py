"""Partition the nodes of small weighted graphs into groups of the greatest total weight.

The core of the method ``optimal``: nodes are objects (or units of one class, formed before with ``classes="prefer"``),
a weight is what two nodes gain by sharing a group, and pairs with a common annotator are forbidden. Components of many
samples are solved together.

Search: the nodes are placed one after another, into an existing group, or alone. Of all partitions of the nodes
placed so far, those are kept that may still become better than the best one known. What the other nodes can add is at
most

- for each of them, its weight with the best group, and
- for every pair of them on different sides, half of what each gains with its best partner on the other's side.

A side is a set of nodes that exclude each other (the objects of one annotator). The nodes of a side are placed one
after another. Sides for which the known partition is farthest below its bound come first: there decisions are needed,
and they are taken while there are few partial partitions. For the other nodes the bound is close.
Graphs are searched together, but each as if it were alone.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp
from scipy.sparse import coo_array

from ..numeric.arrays import BoolArray, FloatArray, IntArray, number_by_first
from .merging import FORBIDDEN, TIE, are_certainly_best, merge_and_move, numbered

#: most partial partitions of a graph that are kept: few in a first search (enough for most graphs), then more
_WIDTHS = (24, 1_500)
#: most weights (group, node) in memory; also those of one graph, so that large graphs keep fewer partitions
_MAX_ENTRIES = 2_000_000


def search(weights: FloatArray, start: IntArray) -> tuple[IntArray, BoolArray]:
    """The partitions with the greatest total, where the search comes to an end.

    Of totals equal within ``TIE``, fewer groups win, then the first partition as a restricted growth string (groups
    numbered by their first node, compared as a list).

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
    # weight within the groups that are known
    most = np.where(start[:, :, None] == start[:, None, :], weights, 0.0).sum(axis=(1, 2)) / 2.0
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
            of, group, total, cut = _branch(ordered[rows], rest[rows], most[rows], width)
            proven[rows] = ~cut
            group_of_node = np.empty_like(group)
            np.put_along_axis(group_of_node, order[rows[of]], group, axis=1)
            # take the best one where a better partition was found, or all that are best
            greatest = most[rows]
            np.maximum.at(greatest, of, total)
            improved = greatest > most[rows] + TIE
            equal = np.flatnonzero((total >= greatest[of] - TIE) & (improved | ~cut)[of])
            better, partition = of[equal], numbered(group_of_node[equal])
            by_string = np.lexsort((*partition.T[::-1], partition.max(axis=1), better))
            better, place = np.unique(better[by_string], return_index=True)
            groups[rows[better]] = partition[by_string[place]]
            most[rows] = greatest
    return groups, proven


def _sides(weights: FloatArray) -> IntArray:
    """Sides of nodes, shape ``(C, N)``: each node joins the first side all of whose nodes exclude it."""
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
    """The order in which nodes are placed, shape ``(C, N)``; see the docstring of the module."""
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


def _branch(
    weights: FloatArray, rest: FloatArray, most: FloatArray, width: int
) -> tuple[IntArray, IntArray, FloatArray, BoolArray]:
    """Place the nodes of every graph, with at most ``width`` partial partitions of a graph at a time.

    Returns:
        partitions that may be the best: their graph, ascending, shape ``(F,)``; the group of the node at each place of
        the order, ``(F, N)``; their total, ``(F,)``; and whether partitions of a graph were left out that might be
        better, ``(C,)``
    """
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
        # the greatest gain (at least 0) of every other node with the groups but the chosen one
        later = gains[:, :, 1:].copy()
        best = later.argmax(axis=1)
        first = np.maximum(np.take_along_axis(later, best[:, None], axis=1)[:, 0], 0.0)
        np.put_along_axis(later, best[:, None], 0.0, axis=1)
        second = np.maximum(later.max(axis=1), 0.0)
        others = np.where(best[row] == chosen[:, None], second[row], first[row])
        found = total[row] + gains[row, chosen, 0]
        bound = found + np.maximum(own, others).sum(axis=1) + rest[graph_of_row, place + 1]
        kept = np.flatnonzero(bound >= most[graph_of_row] - 2.0 * TIE)
        if len(kept) > width:
            # those with the greatest bounds of every graph; one that is left out might have led to the best one
            of = graph_of_row[kept]
            by_bound, rank = np.lexsort((-bound[kept], of)), np.empty(len(kept), np.int64)
            rank[by_bound] = np.arange(len(kept)) - np.searchsorted(of, of)
            cut[of[rank >= width]] = True
            kept = kept[rank < width]
        row, chosen, own, graph, total = row[kept], chosen[kept], own[kept], graph_of_row[kept], found[kept]
        group = np.column_stack([group[row], chosen])
        n_groups = np.maximum(n_groups[row], chosen + 1)
        gains = gains[row, :, 1:]
        gains[np.arange(len(row)), chosen] = own
        if n_groups.max(initial=0) == gains.shape[1]:  # the empty group has a node now
            gains = np.concatenate([gains, np.zeros((len(row), 1, n - place - 1))], axis=1)
    return graph, group, total, cut


#: components up to this many nodes are solved by comparing all their partitions (21,147 for 9 nodes)
MAX_NODES_ENUMERATED = 9
#: components up to this many nodes are first tested, with all bipartitions, for being one group
MAX_NODES_CERTIFIED = 14
#: components up to this many nodes are searched for a better partition than that of greedy merges and local moves
MAX_NODES_SEARCHED = 64
#: components up to this many nodes, whose search did not come to an end, are solved by an integer programme
MAX_NODES_EXACT = 24
#: the integer programme gives up after this many branch-and-bound nodes (a count, so that the result is the same
#: on every machine)
MAX_BRANCHES = 2_000
#: the solver stops within 1e-6 of the best objective; of weights times this scale, that is less than ``TIE``
_OBJECTIVE_SCALE = 1e4
_MAX_TOTALS_AT_ONCE = 2_000_000


def best_partitions(weights: FloatArray, forbidden: BoolArray, *, prove: bool = True) -> tuple[IntArray, BoolArray]:
    """Partition the nodes of several graphs of equal size into groups with the greatest total weight.

    The total is the sum of the weights of all pairs within a group. Of totals equal within ``TIE``, fewer groups win;
    then the first partition as a restricted growth string, except where greedy merges and moves, or the solver, prove
    another one to be as good.

    Args:
        weights: shape ``(C, N, N)``, symmetric; the diagonal is not used
        forbidden: shape ``(C, N, N)``, pairs that must not share a group
        prove: whether to search for better partitions, and for a proof, where greedy merges and moves give none

    Returns:
        groups ``(C, N)``, numbered from 0 in the order of their first node, and whether each solution is proven to be
        optimal ``(C,)``
    """
    n = weights.shape[1]
    weights = np.where(forbidden, FORBIDDEN, weights)
    if n <= MAX_NODES_ENUMERATED:
        return _enumerate(weights), np.ones(len(weights), np.bool_)
    groups = np.zeros((len(weights), n), np.int64)
    exact = np.ones(len(weights), np.bool_)
    undecided = np.arange(len(weights))
    if n <= MAX_NODES_CERTIFIED:
        undecided = undecided[~_is_one_group(weights)]
    merged = []
    for c in undecided.tolist():
        assigned = _assigned(weights[c])
        if assigned is None:
            merged.append(c)
        else:
            groups[c] = assigned
    if merged:
        groups[merged] = merge_and_move(weights[merged])
        exact[merged] = are_certainly_best(weights[merged], groups[merged])
    if prove:
        uncertain = np.flatnonzero(~exact)
        if len(uncertain) and n <= MAX_NODES_SEARCHED:
            groups[uncertain], exact[uncertain] = search(weights[uncertain], groups[uncertain])
        for c in np.flatnonzero(~exact).tolist() if n <= MAX_NODES_EXACT else ():
            solved = _integer_programme(weights[c])
            if solved is not None:
                groups[c], exact[c] = solved, True
    return groups, exact


# ---- all partitions ----


@lru_cache(maxsize=MAX_NODES_ENUMERATED)
def _partitions(n: int) -> tuple[IntArray, FloatArray, IntArray, IntArray]:
    """All ``B`` partitions of ``n`` nodes.

    Returns:
        the group of every node as restricted growth strings in ascending order, shape ``(B, n)``; whether the two nodes
        of a pair share a group, ``(n(n-1)/2, B)``; the number of groups, ``(B,)``; and the pairs that share a group as
        bits, ``(B,)``
    """
    strings = np.zeros((1, 1), np.int64)
    for _ in range(1, n):
        choices = strings.max(axis=1) + 2
        last = np.concatenate([np.arange(k) for k in choices.tolist()])
        strings = np.column_stack([np.repeat(strings, choices, axis=0), last])
    i, j = np.triu_indices(n, 1)
    together = strings[:, i] == strings[:, j]
    return strings, together.T.astype(np.float64), strings.max(axis=1) + 1, together @ _bits(len(i))


def _bits(n: int) -> IntArray:
    return np.int64(1) << np.arange(n)


def _enumerate(weights: FloatArray) -> IntArray:
    n = weights.shape[1]
    strings, every_pair, every_number, bits = _partitions(n)
    i, j = np.triu_indices(n, 1)
    pair_weights = weights[:, i, j]
    # most partitions have a forbidden pair (18,176 of 21,147 with three objects of each of three annotators), and most
    # graphs forbid the same pairs
    forbids = (pair_weights <= FORBIDDEN / 2) @ _bits(len(i))
    chosen = np.empty(len(weights), np.int64)
    for forbidden in np.unique(forbids).tolist():
        graphs = np.flatnonzero(forbids == forbidden)
        allowed = np.flatnonzero((bits & forbidden) == 0)
        together, n_groups = every_pair[:, allowed], every_number[allowed]
        step = max(1, _MAX_TOTALS_AT_ONCE // len(allowed))
        for start in range(0, len(graphs), step):
            rows = graphs[start : start + step]
            totals = pair_weights[rows] @ together
            equal_to_best = totals >= totals.max(axis=1, keepdims=True) - TIE
            chosen[rows] = allowed[np.where(equal_to_best, n_groups, n + 1).argmin(axis=1)]
    return strings[chosen]


# ---- certificate: no bipartition has a negative cut ----


@lru_cache(maxsize=MAX_NODES_CERTIFIED)
def _bipartitions(n: int) -> FloatArray:
    """Cut pairs of all bipartitions, shape ``(n(n-1)/2, 2^(n-1) - 1)``."""
    codes = np.arange(1, 2 ** (n - 1))
    side = (codes[:, None] >> np.arange(n)) & 1
    i, j = np.triu_indices(n, 1)
    cuts: FloatArray = (side[:, i] != side[:, j]).T.astype(np.float64)
    return cuts


def _is_one_group(weights: FloatArray) -> BoolArray:
    """Mask of graphs without a bipartition of negative cut, shape ``(C,)``; there one group is the best partition.

    A split into groups loses half the sum of the cuts of each group against the rest. Every such cut is a bipartition,
    so it is not negative, and no split gains.
    """
    i, j = np.triu_indices(weights.shape[1], 1)
    pair_weights = weights[:, i, j]
    candidates = np.flatnonzero((pair_weights > FORBIDDEN / 2).all(axis=1))
    certified = np.zeros(len(weights), np.bool_)
    cuts = _bipartitions(weights.shape[1])
    step = max(1, _MAX_TOTALS_AT_ONCE // cuts.shape[1])
    for start in range(0, len(candidates), step):
        rows = candidates[start : start + step]
        certified[rows] = (pair_weights[rows] @ cuts).min(axis=1) >= -TIE
    return certified


# ---- two annotators: the assignment problem ----


def _assigned(weights: FloatArray) -> IntArray | None:
    """The best groups if exactly the pairs within two sides are forbidden, else None."""
    forbidden = weights <= FORBIDDEN / 2
    np.fill_diagonal(forbidden, True)
    side = forbidden[0]
    if not ((forbidden[side] == side).all() and (forbidden[~side] == ~side).all()):
        return None
    side_a, side_b = np.flatnonzero(side), np.flatnonzero(~side)
    gain = weights[np.ix_(side_a, side_b)]
    # a pair at the threshold gains 0 up to rounding; the bonus makes it a match (fewer groups win)
    bonus = TIE
    rows, columns = linear_sum_assignment(np.where(gain >= -TIE, gain + bonus, 0.0), maximize=True)
    matched = gain[rows, columns] >= -TIE
    groups = np.arange(len(weights))
    groups[side_b[columns[matched]]] = side_a[rows[matched]]
    return number_by_first(groups)[0]


# ---- integer programme ----


def _integer_programme(weights: FloatArray) -> IntArray | None:
    """Clique partitioning as an integer programme; None if the solver gives up.

    A 0/1 variable per pair (same group), constrained to be transitive, and a variable per node (first of its group).

    References:
        M. Grötschel and Y. Wakabayashi, "A cutting plane algorithm for a clustering problem", 1989
    """
    n = len(weights)
    i, j = np.triu_indices(n, 1)
    number = np.zeros((n, n), np.int64)
    number[i, j] = number[j, i] = np.arange(len(i))
    gain = weights[i, j]
    allowed = gain > FORBIDDEN / 2
    rows = np.concatenate([j, np.arange(n)])
    columns = np.concatenate([np.arange(len(i)), len(i) + np.arange(n)])
    first_of_group = coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, len(i) + n)).tocsr()
    # rows x_pq + x_qr - x_pr for the three pairs of every triple
    p, q, r = np.array(list(itertools.combinations(range(n), 3))).T
    sides, n_rows = [number[p, q], number[q, r], number[p, r]], 3 * len(p)
    columns = np.concatenate([np.concatenate([sides[(k + shift) % 3] for k in range(3)]) for shift in range(3)])
    places = np.tile(np.arange(n_rows), 3), columns
    transitivity = coo_array((np.repeat([1.0, 1.0, -1.0], n_rows), places), shape=(n_rows, len(i) + n)).tocsr()
    result = milp(
        c=_OBJECTIVE_SCALE * np.concatenate([-np.where(allowed, gain, 0.0), np.full(n, TIE)]),
        integrality=np.concatenate([np.ones(len(i)), np.zeros(n)]),
        bounds=Bounds(0.0, np.concatenate([allowed.astype(np.float64), np.ones(n)])),
        constraints=[
            LinearConstraint(transitivity, -np.inf, 1.0),
            LinearConstraint(first_of_group, 1.0, np.inf),  # a node without an earlier partner is the first
        ],
        options={"mip_rel_gap": 0.0, "node_limit": MAX_BRANCHES},
    )
    if result.status != 0 or result.x is None:
        return None
    together = np.zeros((n, n), np.bool_)
    together[i, j] = together[j, i] = result.x[: len(i)] > 0.5
    np.fill_diagonal(together, True)
    # ``together`` is an equivalence relation: the first member identifies the group
    return number_by_first(together.argmax(axis=1))[0]
