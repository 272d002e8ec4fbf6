"""Average linkage of the nodes of large components: one order of joins for all thresholds.

The two groups with the greatest mean similarity are joined, again and again, never two groups of one annotator. A pair
that does not overlap has the similarity 0. Joining two groups gains if their mean similarity exceeds the threshold, and
means never grow by joining, so the groups at a threshold are what was joined at that mean similarity or above.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numeric.arrays import BoolArray, FloatArray, IntArray, components, number_by_first, sums_of_keys
from .merging import MAX_SWEEPS, TIE

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
    place: IntArray  #: shape ``(V,)``, of equal pairs the one of nodes at the same place is joined first
    size: IntArray  #: shape ``(V,)``, objects of every node
    annotators: IntArray  #: shape ``(V, W)``, bits of the annotators of every node
    u: IntArray  #: shape ``(P,)``
    v: IntArray  #: shape ``(P,)``; every pair once, in any order
    similarity: FloatArray  #: shape ``(P,)``, sum over the pairs of objects of the two nodes


def sharing(annotators: IntArray, u: IntArray, v: IntArray, annotators_v: IntArray | None = None) -> BoolArray:
    """Mask of pairs of nodes with an annotator in common, from bit sets ``(V, W)``; ``v`` may have its own."""
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
        chosen = _better(nodes, u, v, mean.round(_DECIMALS))
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
        threshold: what a pair must have in common on average for joining to gain

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


def _better(nodes: Nodes, u: IntArray, v: IntArray, mean: FloatArray) -> BoolArray:
    """Mask of pairs that are the best of both their nodes; at least one is."""
    n = len(nodes.size)
    best = np.zeros(n)
    for node in (u, v):
        np.maximum.at(best, node, mean)
    leading = np.flatnonzero((mean == best[u]) | (mean == best[v]))
    p, q = u[leading], v[leading]
    order = np.lexsort((q, p, np.abs(nodes.place[p] - nodes.place[q]), -mean[leading]))
    chosen = np.zeros(len(u), np.bool_)
    chosen[leading] = _first_end(p, q, order, n)
    return chosen


def _first_end(p: IntArray, q: IntArray, order: IntArray, n: int) -> BoolArray:
    """Mask of pairs that come first, in an order, of all pairs of both their nodes ``0 … n - 1``."""
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    first = np.full(n, len(order))
    for node in (p, q):
        np.minimum.at(first, node, rank)
    chosen: BoolArray = (first[p] == rank) & (first[q] == rank)
    return chosen
