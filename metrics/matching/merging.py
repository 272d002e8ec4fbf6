"""Partition graphs by merging groups: greedy merges and local moves in many small ones, average linkage in large ones.

Deterministic: of equal gains, the first group in the order of the nodes wins.

Average linkage: the two groups with the greatest mean similarity are joined, again and again, never two groups of one
annotator. A pair that does not overlap has the similarity 0. Joining two groups gains if their mean similarity exceeds
the threshold, and means never grow by joining, so the groups at a threshold are what was joined at that mean similarity
or above.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from ..numeric.arrays import BoolArray, FloatArray, IntArray, components, number_by_first, sums_of_keys

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
        # every node in turn moves to the group (or to a new one) with the largest gain
        own, graphs, moved = weights[live], np.arange(len(live)), np.zeros(len(live), np.bool_)
        for node in range(n):
            gain = to_group[:, node] - to_group[graphs, node, merged[:, node]][:, None]
            best = gain.max(axis=1)
            gains = np.flatnonzero(best > TIE)
            if not len(gains):
                continue
            target = (gain[gains] >= best[gains, None] - TIE).argmax(axis=1)
            to_group[gains, :, merged[gains, node]] -= own[gains, :, node]
            to_group[gains, :, target] += own[gains, :, node]
            merged[gains, node] = target
            moved[gains] = True
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


#: similarities are compared after rounding to so many decimals
_DECIMALS = 10


@dataclass(frozen=True, slots=True)
class Joins:
    """The joins of ``V`` nodes in groups, in any order."""

    a: IntArray  #: shape ``(J,)``, a node of one group
    b: IntArray  #: shape ``(J,)``, a node of the other
    height: FloatArray  #: shape ``(J,)``, mean similarity of the two groups
    n: int  #: number ``V`` of nodes

    def groups(self, threshold: float) -> IntArray:
        """The groups at a threshold, shape ``(V,)``, numbered from 0 by their first node."""
        kept = self.height >= threshold - TIE
        return number_by_first(components(self.a[kept], self.b[kept], self.n)[1])[0]


@dataclass(frozen=True, slots=True)
class Nodes:
    """Nodes of graphs, and the pairs of nodes with any similarity."""

    component: IntArray  #: shape ``(V,)``, graph of every node; pairs are within one
    place: IntArray  #: shape ``(V,)``, of equally similar pairs that with the nearest places is joined first
    size: IntArray  #: shape ``(V,)``, objects of every node
    annotators: IntArray  #: shape ``(V, W)``, bits of the annotators of every node
    u: IntArray  #: shape ``(P,)``
    v: IntArray  #: shape ``(P,)``; every pair once, in any order
    similarity: FloatArray  #: shape ``(P,)``, sum over the pairs of objects of the two nodes


def sharing(annotators: IntArray, u: IntArray, v: IntArray, annotators_v: IntArray | None = None) -> BoolArray:
    """Mask of pairs of nodes with a common annotator, from bit sets ``(V, W)``; ``annotators_v``: of ``v`` alone."""
    annotators_v = annotators if annotators_v is None else annotators_v
    shared = np.zeros(len(u), np.bool_)
    for own, other in zip(annotators.T, annotators_v.T, strict=True):
        shared |= (own[u] & other[v]) != 0
    return shared


def sides_of(annotators: IntArray) -> IntArray:
    """The lowest annotator of every node, shape ``(V,)``, from bit sets ``(V, W)`` of 63 annotators a word."""
    side = np.zeros(len(annotators), np.int64)
    for word in reversed(range(annotators.shape[1])):
        bits = annotators[:, word]
        lowest = np.log2(np.maximum(bits & -bits, 1)).astype(np.int64)
        side = np.where(bits != 0, 63 * word + lowest, side)
    return side


def places_of(component: IntArray, side: IntArray) -> IntArray:
    """Number of nodes of the same side and component before every node, shape ``(V,)``."""
    order = np.lexsort((side, component))
    block = component[order] * (int(side.max(initial=0)) + 1) + side[order]
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - np.searchsorted(block, block)
    return place


def contracted(nodes: Nodes, group: IntArray) -> Nodes:
    """The groups of nodes, numbered from 0, as nodes."""
    n = int(group.max(initial=-1)) + 1
    first = np.empty(n, np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    size = np.bincount(group, weights=nodes.size, minlength=n).astype(np.int64)
    annotators = np.zeros((n, nodes.annotators.shape[1]), np.int64)
    np.bitwise_or.at(annotators, group, nodes.annotators)
    u, v = group[nodes.u], group[nodes.v]
    apart = np.flatnonzero(u != v)
    u, v = np.minimum(u, v)[apart], np.maximum(u, v)[apart]
    component = nodes.component[first]
    pairs = _summed(component, u, v, nodes.similarity[apart])
    return Nodes(component, nodes.place[first], size, annotators, *pairs)


def _summed(
    component: IntArray, u: IntArray, v: IntArray, similarity: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Every pair of nodes once, with the sum of its similarities."""
    n = len(component)
    if (component == component[:1]).all():
        key, total = sums_of_keys(u * n + v, similarity, n * n)
        return *np.divmod(key, n), total
    order = np.argsort(component, kind="stable")
    n_nodes = np.bincount(component[order]) if n else np.zeros(1, np.int64)
    local = np.empty(n, np.int64)
    local[order] = np.arange(n) - np.repeat(np.cumsum(n_nodes) - n_nodes, n_nodes)
    cells = n_nodes * n_nodes
    start = np.cumsum(cells) - cells
    width = n_nodes[component]
    key = (start[component] + local * width)[u] + local[v]
    key, total = sums_of_keys(key, similarity, int(cells.sum()))
    graph = np.searchsorted(np.cumsum(cells), key, side="right")
    row, column = np.divmod(key - start[graph], np.maximum(n_nodes[graph], 1))
    graph_start = (np.cumsum(n_nodes) - n_nodes)[graph]
    first: IntArray = order[graph_start + row]
    second: IntArray = order[graph_start + column]
    return first, second, total


def average_linkage_of(nodes: Nodes, threshold: float) -> Joins:
    """Join nodes down to a mean similarity; several joins at a time, each of two groups that are each other's best.

    Of equal means (rounded to 10 decimals) that of the nodes with the nearest places comes first, then that of the
    first nodes.
    """
    n = len(nodes.size)
    representative = np.arange(n)
    a, b, heights = [], [], []
    while True:
        mean = nodes.similarity / (nodes.size[nodes.u] * nodes.size[nodes.v])
        candidates = np.flatnonzero(mean >= threshold - TIE)
        u, v, mean = nodes.u[candidates], nodes.v[candidates], mean[candidates]
        allowed = np.flatnonzero(~sharing(nodes.annotators, u, v))
        u, v, mean = u[allowed], v[allowed], mean[allowed]
        if not len(u):
            break
        # pairs that are the best of both their nodes; at least one is
        best, rounded = np.zeros(len(nodes.size)), mean.round(_DECIMALS)
        for node in (u, v):
            np.maximum.at(best, node, rounded)
        leading = np.flatnonzero((rounded == best[u]) | (rounded == best[v]))
        p, q = u[leading], v[leading]
        order = np.lexsort((q, p, np.abs(nodes.place[p] - nodes.place[q]), -rounded[leading]))
        chosen = leading[_first_end(p, q, order, len(nodes.size))]
        u, v = u[chosen], v[chosen]
        a.append(representative[u])
        b.append(representative[v])
        heights.append(mean[chosen])
        group = np.arange(len(nodes.size))
        group[v] = u
        kept = np.ones(len(group), np.bool_)
        kept[v] = False
        group = (np.cumsum(kept) - 1)[group]
        representative = representative[kept]
        nodes = contracted(nodes, group)
    empty = np.empty(0, np.int64)
    return Joins(np.concatenate([empty, *a]), np.concatenate([empty, *b]), np.concatenate([np.empty(0), *heights]), n)


def improved(nodes: Nodes, group: IntArray, threshold: float) -> IntArray:
    """Move single nodes between groups, and join groups, while that gains; at most :data:`MAX_SWEEPS` times.

    Of the moves that gain, those are made at once that gain more than every other one from or to their two groups.

    Args:
        nodes: the nodes
        group: shape ``(V,)``, numbered from 0
        threshold: mean similarity above which joining gains

    Returns:
        shape ``(V,)``, numbered from 0 by the first node
    """
    ends, others = np.concatenate([nodes.u, nodes.v]), np.concatenate([nodes.v, nodes.u])
    values = np.tile(nodes.similarity, 2)
    for _ in range(MAX_SWEEPS):
        groups = contracted(nodes, group)
        n = len(groups.size)
        key, total = sums_of_keys(ends * n + group[others], values, len(group) * n)
        node, target = np.divmod(key, n)
        gain = total - threshold * (nodes.size[node] * groups.size[target])
        at_home = target == group[node]
        # without a similar node in its group, a node only loses the threshold there
        own = -threshold * nodes.size * (groups.size[group] - nodes.size)
        own[node[at_home]] = gain[at_home] + threshold * nodes.size[node[at_home]] ** 2
        free = ~at_home & ~sharing(nodes.annotators, node, target, groups.annotators)
        alone = np.arange(len(group))  # or to a new group of its own, with a number past the others
        node = np.concatenate([node[free], alone])
        target = np.concatenate([target[free], n + alone])
        gain = np.concatenate([gain[free], np.zeros(len(alone))]) - own[node]
        gains = np.flatnonzero(gain > TIE)
        if not len(gains):
            break
        order = np.lexsort((target[gains], node[gains], -gain[gains].round(_DECIMALS)))
        chosen = gains[_first_end(group[node[gains]], target[gains], order, n + len(group))]
        group = group.copy()
        group[node[chosen]] = target[chosen]
        group, _ = number_by_first(group)
        joined = average_linkage_of(contracted(nodes, group), threshold).groups(threshold)
        group, _ = number_by_first(joined[group])
    return group


def _first_end(p: IntArray, q: IntArray, order: IntArray, n: int) -> BoolArray:
    """Mask of pairs that come first, in an order, of all pairs of both their nodes ``0 … n - 1``."""
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    first = np.full(n, len(order))
    for node in (p, q):
        np.minimum.at(first, node, rank)
    chosen: BoolArray = (first[p] == rank) & (first[q] == rank)
    return chosen
