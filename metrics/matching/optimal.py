"""The matching method ``optimal``: the partition of every component into units with the greatest surplus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..numeric.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    components,
    distinct,
    number_by_first,
    sums_by,
    sums_of_keys,
)
from .merging import TIE, Nodes, average_linkage_of, improved, places_of, sharing, sides_of
from .partition import best_partitions

ClassHandling = Literal["prefer", "ignore", "require"]

#: components of more nodes (of two annotators: of more than the second number) are solved by average linkage
MAX_NODES_MERGED = 200
MAX_NODES_ASSIGNED = 2_000
#: entries of weight matrices of hard components that are solved at once
_MAX_WEIGHTS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class OptimalMatching:
    """Units, and which components needed a decision."""

    unit: IntArray  #: shape ``(N,)``, unit of every object, numbered from 0 in the order of the units' first objects
    n_units: int  #: number of units
    #: shape ``(H,)``, row of the first object of every hard component (with a decision between several partitions)
    hard: IntArray
    inexact: IntArray  #: shape ``(X,)``, the same of the hard components whose solution is not proven to be optimal
    #: shape ``(X, 2)``, their surplus as it was found, and a bound that no partition exceeds
    inexact_surplus: FloatArray


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The nodes that a stage joins: objects, or units of the previous stage."""

    group: IntArray  # (N,) node of every object
    size: IntArray  # (V,) objects of every node
    annotators: IntArray  # (V, W) annotators of every node as a bit set of W words
    threshold: FloatArray  # (V,)


def match_optimal(
    annotator: IntArray,
    category: IntArray,
    i: IntArray,
    j: IntArray,
    similarity: FloatArray,
    threshold: FloatArray,
    classes: ClassHandling,
    *,
    prove: bool = True,
) -> OptimalMatching:
    """Maximise the sum over within-unit pairs of (similarity - threshold).

    Args:
        annotator: shape ``(N,)``, annotator of every object
        category: shape ``(N,)``, class code
        i: shape ``(P,)``, with ``j`` the overlapping pairs, each once
        j: shape ``(P,)``
        similarity: shape ``(P,)``
        threshold: shape ``(N,)``, equal for all objects of a connected component
        classes: ``prefer``, ``ignore`` or ``require``
        prove: as :func:`~.partition.best_partitions`
    """
    n = len(annotator)
    alone = _Nodes(np.arange(n), np.ones(n, np.int64), annotator_bits(annotator), threshold)
    if classes == "ignore":
        return _stage(alone, i, j, similarity, prove)
    same_class = np.flatnonzero(category[i] == category[j])
    first = _stage(alone, i[same_class], j[same_class], similarity[same_class], prove)
    if classes == "require":
        return first
    size = np.bincount(first.unit, minlength=first.n_units)
    annotators = np.zeros((first.n_units, alone.annotators.shape[1]), np.int64)
    np.bitwise_or.at(annotators, first.unit, alone.annotators)
    node_threshold = np.empty(first.n_units)
    node_threshold[first.unit] = threshold
    second = _stage(_Nodes(first.unit, size, annotators, node_threshold), i, j, similarity, prove)
    return OptimalMatching(
        second.unit,
        second.n_units,
        np.concatenate([first.hard, second.hard]),
        np.concatenate([first.inexact, second.inexact]),
        np.concatenate([first.inexact_surplus, second.inexact_surplus]),
    )


def annotator_bits(annotator: IntArray) -> IntArray:
    """One bit for the annotator of every object, shape ``(N, W)``; 63 annotators per word."""
    words = int(annotator.max(initial=0)) // 63 + 1
    bits = np.zeros((len(annotator), words), np.int64)
    bits[np.arange(len(annotator)), annotator // 63] = np.int64(1) << (annotator % 63)
    return bits


def _stage(nodes: _Nodes, i: IntArray, j: IntArray, similarity: FloatArray, prove: bool) -> OptimalMatching:
    """Join nodes to maximise the sum of (similarity - threshold) over the cross pairs of joined nodes."""
    # the overlapping pairs of nodes, and the gain of joining each pair
    u, v, n_nodes = nodes.group[i], nodes.group[j], len(nodes.size)
    if len(nodes.group) == n_nodes:  # nodes are objects: pairs are distinct
        gain = similarity - nodes.threshold[u]
    else:
        cross = np.flatnonzero(u != v)
        key = np.minimum(u, v)[cross] * n_nodes + np.maximum(u, v)[cross]
        key, gain = sums_of_keys(key, similarity[cross], n_nodes * n_nodes)
        u, v = np.divmod(key, n_nodes)
        gain -= nodes.threshold[u] * (nodes.size[u] * nodes.size[v])
    gainful = np.flatnonzero(~sharing(nodes.annotators, u, v) & (gain >= -TIE))
    # joining nodes of different components always lowers the sum
    n_components, component = components(u[gainful], v[gainful], n_nodes)
    n_members = np.bincount(component, minlength=n_components)
    n_edges = np.bincount(component[u[gainful]], minlength=n_components)
    hard = n_edges < n_members * (n_members - 1) // 2
    group = component
    object_component = component[nodes.group]
    first = np.empty(n_components, np.int64)  # row of the first object of every component
    first[object_component[::-1]] = np.arange(len(object_component))[::-1]
    inexact = np.zeros(n_components, np.bool_)
    surplus = np.empty((0, 2))
    if hard.any():
        within = np.flatnonzero(hard[component[u]] & (component[u] == component[v]))
        pairs = (u[within], v[within], gain[within])
        group, inexact = _split_hard(nodes, component, n_members, hard, pairs, prove)
        surplus = _surplus(nodes, component, inexact, group, pairs)
    numbers, n_units = number_by_first(group[nodes.group])
    return OptimalMatching(numbers, n_units, first[hard], first[inexact], surplus)


def _split_hard(
    nodes: _Nodes,
    component: IntArray,
    n_members: IntArray,
    hard: BoolArray,
    pairs: tuple[IntArray, IntArray, FloatArray],
    prove: bool,
) -> tuple[IntArray, BoolArray]:
    """Solve the hard components; returns the group of every node, and whether a component was solved inexactly."""
    u, v, gain = pairs
    group = component.copy()
    next_group = len(n_members)
    inexact = are_large(component, n_members, nodes.annotators) & hard
    if inexact.any():
        linked = _link(nodes, component, inexact, pairs)
        group[inexact[component]] = next_group + linked
        next_group += len(linked)
    in_hard = np.flatnonzero((hard & ~inexact)[component])
    in_hard = in_hard[np.argsort(component[in_hard], kind="stable")]
    n_of_node = n_members[component[in_hard]]
    place = np.zeros(len(component), np.int64)  # position of a node within its component
    for n in np.unique(n_of_node).tolist():
        same_size = in_hard[n_of_node == n].reshape(-1, n)
        place[same_size] = np.arange(n)
        step = max(1, _MAX_WEIGHTS_AT_ONCE // (n * n))
        for start in range(0, len(same_size), step):
            members = same_size[start : start + step]
            slot = np.full(len(n_members), -1)  # position of a component among the members
            slot[component[members[:, 0]]] = np.arange(len(members))
            size, threshold = nodes.size[members], nodes.threshold[members[:, 0]]
            weights = -threshold[:, None, None] * (size[:, :, None] * size[:, None, :])
            here = slot[component[u]] >= 0
            c, p, q = slot[component[u[here]]], place[u[here]], place[v[here]]
            weights[c, p, q] = weights[c, q, p] = gain[here]
            bits = nodes.annotators[members]
            excluded = np.zeros((len(members), n, n), np.bool_)  # two nodes that share an annotator
            for word in range(bits.shape[2]):
                excluded |= (bits[:, :, None, word] & bits[:, None, :, word]) != 0
            groups, exact = best_partitions(weights, excluded, prove=prove)
            group[members] = next_group + np.arange(len(members))[:, None] * n + groups
            next_group += members.size
            inexact[component[members[:, 0]]] = ~exact
    return group, inexact


def are_large(component: IntArray, n_members: IntArray, annotators: IntArray) -> BoolArray:
    """Mask of the components ``(C,)`` that average linkage solves; ``annotators`` are bit sets ``(V, W)``."""
    large: BoolArray = n_members > MAX_NODES_MERGED
    assignable = large & (n_members <= MAX_NODES_ASSIGNED)
    if assignable.any():
        rows = np.flatnonzero(assignable[component])
        one = _first_rows(component, rows, len(n_members))
        others = rows[(annotators[rows] != annotators[one[component[rows]]]).any(axis=1)]
        two = _first_rows(component, others, len(n_members))
        more = others[(annotators[others] != annotators[two[component[others]]]).any(axis=1)]
        assignable[component[more]] = False
        large &= ~assignable
    return large


def _first_rows(component: IntArray, rows: IntArray, n_components: int) -> IntArray:
    """The first of some ascending rows in every component, shape ``(C,)``; undefined in the others."""
    first = np.zeros(n_components, np.int64)
    first[component[rows[::-1]]] = rows[::-1]
    return first


def _link(
    nodes: _Nodes,
    component: IntArray,
    chosen: BoolArray,
    pairs: tuple[IntArray, IntArray, FloatArray],
) -> IntArray:
    """Groups of the nodes of some components by average linkage."""
    rows = np.flatnonzero(chosen[component])
    number = np.full(len(component), -1)
    number[rows] = np.arange(len(rows))
    u, v, gain = pairs
    here = np.flatnonzero(number[u] >= 0)
    u, v, gain = u[here], v[here], gain[here]
    threshold = nodes.threshold[rows]
    pair_threshold = threshold[number[u]]
    annotators, node_component = nodes.annotators[rows], component[rows]
    linked = Nodes(
        node_component,
        places_of(node_component, sides_of(annotators)),
        nodes.size[rows],
        annotators,
        number[u],
        number[v],
        gain + pair_threshold * (nodes.size[u] * nodes.size[v]),
    )
    joins = average_linkage_of(linked, float(threshold.min()))
    group = np.empty(len(rows), np.int64)
    for level in np.unique(threshold).tolist():
        group[threshold == level] = improved(linked, joins.groups(level), level)[threshold == level]
    return group


def _surplus(
    nodes: _Nodes,
    component: IntArray,
    inexact: BoolArray,
    group: IntArray,
    pairs: tuple[IntArray, IntArray, FloatArray],
) -> FloatArray:
    """Surplus of inexact components, and an upper bound of it, ``(X, 2)``: half of what each node gains with its best
    partner of every side. A side is all nodes with the same lowest annotator."""
    place = np.cumsum(inexact)[component] - 1  # of a component among these
    rows, n_inexact = np.flatnonzero(inexact[component]), int(inexact.sum())
    if not len(rows):
        return np.empty((0, 2))
    here = np.flatnonzero(inexact[component[pairs[0]]])
    u, v, gain = pairs[0][here], pairs[1][here], pairs[2][here]
    number, n_groups = number_by_first(group[rows])
    n_of, squares = np.bincount(number, nodes.size[rows]), np.bincount(number, nodes.size[rows] ** 2)
    together = group[u] == group[v]
    # pairs that do not overlap lose the threshold
    lost = nodes.threshold[u] * (nodes.size[u] * nodes.size[v]) + gain
    threshold, group_place = np.zeros(n_groups), np.zeros(n_groups, np.int64)
    threshold[number], group_place[number] = nodes.threshold[rows], place[rows]
    apart = sums_by(group_place, threshold * (n_of**2 - squares), n_inexact) / 2.0
    total = sums_by(place[u[together]], lost[together], n_inexact) - apart
    side = sides_of(nodes.annotators)
    gains = np.flatnonzero((gain > 0.0) & ~sharing(nodes.annotators, u, v))
    u, v, gain = u[gains], v[gains], gain[gains]
    node, other = np.concatenate([u, v]), np.concatenate([v, u])
    n_sides = int(side.max(initial=0)) + 1
    key, at = distinct(node * n_sides + side[other], len(side) * n_sides)
    most = np.zeros(len(key))
    np.maximum.at(most, at, np.tile(gain, 2))
    bound = sums_by(place[key // n_sides], most, n_inexact) / 2.0
    return np.column_stack([total, np.maximum(total, bound)])
