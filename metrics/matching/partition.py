"""Partition the nodes of small weighted graphs into groups of the greatest total weight.

The core of the method ``optimal``: nodes are objects (or units of the first stage), a weight is what two nodes gain by
sharing a group, and pairs with a common annotator are forbidden. Components of many samples are solved together.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp
from scipy.sparse import coo_array

from ..numeric.arrays import BoolArray, FloatArray, IntArray, number_by_first
from .branching import search
from .merging import FORBIDDEN, are_certainly_best, merge_and_move
from .merging import TIE as TIE

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
#: the solver stops within 1e-6 of the best objective; scaled, that is less than ``TIE``
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
        two_sides = _two_sides(weights[c])
        if two_sides is None:
            merged.append(c)
        else:
            groups[c] = _assign(weights[c], *two_sides)
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


@dataclass(frozen=True, slots=True)
class _Partitions:
    """All ``B`` partitions of ``n`` nodes."""

    strings: IntArray  # (B, n) group of every node, as restricted growth strings in ascending order
    together: FloatArray  # (n(n-1)/2, B) whether the two nodes of a pair share a group
    n_groups: IntArray  # (B,)
    code: IntArray  # (B,) the pairs that share a group as bits


@lru_cache(maxsize=MAX_NODES_ENUMERATED)
def _partitions(n: int) -> _Partitions:
    strings = np.zeros((1, 1), np.int64)
    for _ in range(1, n):
        choices = strings.max(axis=1) + 2
        last = np.concatenate([np.arange(k) for k in choices.tolist()])
        strings = np.column_stack([np.repeat(strings, choices, axis=0), last])
    i, j = np.triu_indices(n, 1)
    together = strings[:, i] == strings[:, j]
    return _Partitions(strings, together.T.astype(np.float64), strings.max(axis=1) + 1, together @ _bits(len(i)))


def _bits(n: int) -> IntArray:
    return np.int64(1) << np.arange(n)


def _enumerate(weights: FloatArray) -> IntArray:
    n = weights.shape[1]
    partitions = _partitions(n)
    i, j = np.triu_indices(n, 1)
    pair_weights = weights[:, i, j]
    # most partitions have a forbidden pair (18,176 of 21,147 with three objects of each of three annotators), and most
    # graphs forbid the same pairs
    forbids = (pair_weights <= FORBIDDEN / 2) @ _bits(len(i))
    chosen = np.empty(len(weights), np.int64)
    for forbidden in np.unique(forbids).tolist():
        graphs = np.flatnonzero(forbids == forbidden)
        allowed = np.flatnonzero((partitions.code & forbidden) == 0)
        together, n_groups = partitions.together[:, allowed], partitions.n_groups[allowed]
        step = max(1, _MAX_TOTALS_AT_ONCE // len(allowed))
        for start in range(0, len(graphs), step):
            rows = graphs[start : start + step]
            totals = pair_weights[rows] @ together
            equal_to_best = totals >= totals.max(axis=1, keepdims=True) - TIE
            chosen[rows] = allowed[np.where(equal_to_best, n_groups, n + 1).argmin(axis=1)]
    return partitions.strings[chosen]


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


def _two_sides(weights: FloatArray) -> tuple[IntArray, IntArray] | None:
    """The nodes of both sides if exactly the pairs within two sides are forbidden, else None."""
    forbidden = weights <= FORBIDDEN / 2
    np.fill_diagonal(forbidden, True)
    side = forbidden[0]
    if (forbidden[side] == side).all() and (forbidden[~side] == ~side).all():
        return np.flatnonzero(side), np.flatnonzero(~side)
    return None


def _assign(weights: FloatArray, side_a: IntArray, side_b: IntArray) -> IntArray:
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
    result = milp(
        c=_OBJECTIVE_SCALE * np.concatenate([-np.where(allowed, gain, 0.0), np.full(n, TIE)]),
        integrality=np.concatenate([np.ones(len(i)), np.zeros(n)]),
        bounds=Bounds(0.0, np.concatenate([allowed.astype(np.float64), np.ones(n)])),
        constraints=[
            LinearConstraint(_transitivity(number), -np.inf, 1.0),
            # a node without an earlier partner is the first of its group
            LinearConstraint(
                coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, len(i) + n)).tocsr(), 1.0, np.inf
            ),
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


def _transitivity(number: IntArray) -> coo_array:
    """Rows ``x_pq + x_qr - x_pr`` for the three pairs of every triple; ``number[p, q]`` is the column of a pair."""
    n = len(number)
    p, q, r = np.array(list(itertools.combinations(range(n), 3))).T
    sides = [number[p, q], number[q, r], number[p, r]]
    n_rows = 3 * len(p)
    rows = np.tile(np.arange(n_rows), 3)
    columns = np.concatenate([np.concatenate([sides[(k + shift) % 3] for k in range(3)]) for shift in range(3)])
    values = np.repeat([1.0, 1.0, -1.0], n_rows)
    return coo_array((values, (rows, columns)), shape=(n_rows, n * (n - 1) // 2 + n)).tocsr()
