"""Match the labels of several annotators: which of them are the same physical object.

Columns of objects in, a unit number per object out, for many samples at once. The methods:

- ``optimal``: the partition into units with the greatest surplus of similarity over the threshold (this file and
  :mod:`.partition`)
- ``recursive``: sequential assignment, annotator by annotator (:mod:`.recursive`)
- ``mutual_best``: objects that are each other's best match (:mod:`.mutual_best`)

``optimal`` depends on nothing but the objects; the other two may depend on the order of the annotators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray, components, number_by_first
from .mutual_best import match_mutual_best
from .objects import Objects, Overlaps
from .overlaps import Similarity
from .partition import TIE, best_partitions
from .recursive import match_recursive

Method = Literal["optimal", "recursive", "mutual_best"]
ClassHandling = Literal["prefer", "ignore", "require"]


#: entries of weight matrices of hard components that are solved at once
_MAX_WEIGHTS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Matching:
    """Which objects are one physical object.

    Attributes:
        unit: shape ``(N,)``, unit of every object, numbered from 0 in the order of the units' first objects
        n_units: number of units
        n_hard: components that needed a decision between several partitions
        n_inexact: those of them that are too large for an exact solution
        aligned: shape ``(2, A)``, pairs of objects that are each other's best match (method ``mutual_best`` only)
    """

    unit: IntArray
    n_units: int
    n_hard: int = 0
    n_inexact: int = 0
    aligned: IntArray | None = None


def match_objects(
    objects: Objects,
    overlaps: Overlaps,
    *,
    threshold: float = 0.5,
    similarity: Similarity = "iou",
    method: Method = "optimal",
    classes: ClassHandling = "prefer",
) -> Matching:
    """Match objects across annotators, sample by sample.

    Every object is in exactly one unit, and a unit has at most one object of each annotator.

    Args:
        objects: ``N`` objects of any number of samples
        overlaps: the overlapping pairs among them
        threshold: least similarity of a match, in (0, 1]; not used by ``mutual_best``
        similarity: IoU or Dice; ``mutual_best`` always uses Dice
        method: ``optimal`` maximises the sum over within-unit pairs of (similarity - threshold); pairs at the
            threshold, give or take 1e-9, match. ``recursive`` is the sequential assignment of Tschirschwitz et al.,
            in which pairs at the threshold do not match. ``mutual_best`` is the alignment of Hajič jr. et al., in which
            only pairs of one class are aligned (unless ``classes`` is ``ignore``)
        classes: ``ignore`` matches by geometry alone; ``require`` only objects of one class; ``prefer`` objects of
            one class first, then what can be added to those units whatever its class

    Raises:
        ValueError: if the threshold is outside (0, 1] or an option is unknown

    References:
        D. Tschirschwitz et al., "A Dataset for Analysing Complex Document Layouts in the Digital Humanities and Its
        Evaluation with Krippendorff's Alpha", GCPR 2022 (``recursive``);
        J. Hajič jr. and P. Pecina, "The MUSCIMA++ dataset", ICDAR 2017 (``mutual_best``)
    """
    if not 0.0 < threshold <= 1.0:
        raise ValueError(f"`threshold` must be in (0, 1], got {threshold!r}")
    for name, value, allowed in (
        ("similarity", similarity, ("iou", "dice")),
        ("method", method, ("optimal", "recursive", "mutual_best")),
        ("classes", classes, ("prefer", "ignore", "require")),
    ):
        if value not in allowed:
            raise ValueError(f"`{name}` must be one of {allowed}, got {value!r}")
    if method == "mutual_best":
        unit, n_units, aligned = match_mutual_best(objects, overlaps, classes)
        return Matching(unit, n_units, aligned=aligned)
    values = overlaps.similarity(similarity)
    if method == "recursive":
        unit = match_recursive(objects, overlaps.i, overlaps.j, values, threshold, classes)
        return Matching(unit, int(unit.max(initial=-1)) + 1)
    return _match_optimal(objects, overlaps, values, threshold, classes)


def without_units_of(matching: Matching, objects: BoolArray) -> Matching:
    """The matching of the other objects, where a mask ``(N,)`` marks all objects of some of the units."""
    unit, n_units = number_by_first(matching.unit[~objects])
    aligned = matching.aligned
    if aligned is not None:
        aligned = (np.cumsum(~objects) - 1)[aligned[:, ~objects[aligned].any(axis=0)]]
    return Matching(unit, n_units, matching.n_hard, matching.n_inexact, aligned)


@dataclass(frozen=True, slots=True)
class _Nodes:
    """What one stage joins: objects, or units of the stage before."""

    group: IntArray  # (N,) node of every object
    size: IntArray  # (V,) objects of every node
    annotators: IntArray  # (V, W) annotators of every node as bits of W words


def _match_optimal(
    objects: Objects, overlaps: Overlaps, values: FloatArray, threshold: float, classes: ClassHandling
) -> Matching:
    n = len(objects)
    alone = _Nodes(np.arange(n), np.ones(n, np.int64), _annotator_bits(objects.annotator))
    if classes == "ignore":
        return _stage(alone, overlaps.i, overlaps.j, values, threshold)
    same_class = objects.category[overlaps.i] == objects.category[overlaps.j]
    first = _stage(alone, overlaps.i[same_class], overlaps.j[same_class], values[same_class], threshold)
    if classes == "require":
        return first
    size = np.bincount(first.unit, minlength=first.n_units)
    annotators = np.zeros((first.n_units, alone.annotators.shape[1]), np.int64)
    np.bitwise_or.at(annotators, first.unit, alone.annotators)
    second = _stage(_Nodes(first.unit, size, annotators), overlaps.i, overlaps.j, values, threshold)
    return Matching(second.unit, second.n_units, first.n_hard + second.n_hard, first.n_inexact + second.n_inexact)


def _annotator_bits(annotator: IntArray) -> IntArray:
    """One bit for the annotator of every object, shape ``(N, W)``; 63 annotators a word."""
    words = int(annotator.max(initial=0)) // 63 + 1
    bits = np.zeros((len(annotator), words), np.int64)
    bits[np.arange(len(annotator)), annotator // 63] = np.int64(1) << (annotator % 63)
    return bits


def _stage(nodes: _Nodes, i: IntArray, j: IntArray, similarity: FloatArray, threshold: float) -> Matching:
    """Join nodes so that the sum of (similarity - threshold) over the cross pairs of joined nodes is greatest."""
    u, v, gain = _node_pairs(nodes, i, j, similarity, threshold)
    share = (nodes.annotators[u] & nodes.annotators[v]).any(axis=1)
    gainful = ~share & (gain >= -TIE)
    n_nodes = len(nodes.size)
    # nodes of different components lose by being joined, whatever else is joined
    n_components, component = components(u[gainful], v[gainful], n_nodes)
    n_members = np.bincount(component, minlength=n_components)
    n_edges = np.bincount(component[u[gainful]], minlength=n_components)
    hard = n_edges < n_members * (n_members - 1) // 2
    group = component
    n_inexact = 0
    if hard.any():
        within = hard[component[u]] & (component[u] == component[v])
        pairs = (u[within], v[within], gain[within])
        group, n_inexact = _split_hard(nodes, component, n_members, hard, pairs, threshold)
    unit = group[nodes.group]
    numbers, n_units = number_by_first(unit)
    return Matching(numbers, n_units, int(hard.sum()), n_inexact)


def _node_pairs(
    nodes: _Nodes, i: IntArray, j: IntArray, similarity: FloatArray, threshold: float
) -> tuple[IntArray, IntArray, FloatArray]:
    """The overlapping pairs of nodes and what joining each of them gains."""
    u, v = nodes.group[i], nodes.group[j]
    n = len(nodes.size)
    if len(nodes.group) == n:  # nodes are objects, pairs are distinct
        return u, v, similarity - threshold
    cross = u != v
    keys, inverse = np.unique(np.minimum(u, v)[cross] * n + np.maximum(u, v)[cross], return_inverse=True)
    total = np.bincount(inverse, weights=similarity[cross], minlength=len(keys))
    u, v = keys // n, keys % n
    return u, v, total - threshold * (nodes.size[u] * nodes.size[v])


def _split_hard(
    nodes: _Nodes,
    component: IntArray,
    n_members: IntArray,
    hard: BoolArray,
    pairs: tuple[IntArray, IntArray, FloatArray],
    threshold: float,
) -> tuple[IntArray, int]:
    """Give the groups of hard components numbers of their own; returns the group of every node, and how many
    components were solved inexactly."""
    u, v, gain = pairs
    group = component.copy()
    next_group = len(n_members)
    n_inexact = 0
    in_hard = np.flatnonzero(hard[component])
    in_hard = in_hard[np.argsort(component[in_hard], kind="stable")]
    n_of_node = n_members[component[in_hard]]
    place = np.zeros(len(component), np.int64)  # of a node within its component
    for n in np.unique(n_of_node).tolist():
        of_size = in_hard[n_of_node == n].reshape(-1, n)
        place[of_size] = np.arange(n)
        step = max(1, _MAX_WEIGHTS_AT_ONCE // (n * n))
        for start in range(0, len(of_size), step):
            members = of_size[start : start + step]
            slot = np.full(len(n_members), -1)  # of a component among the members
            slot[component[members[:, 0]]] = np.arange(len(members))
            size = nodes.size[members]
            weights = -threshold * (size[:, :, None] * size[:, None, :]).astype(np.float64)
            here = slot[component[u]] >= 0
            c, p, q = slot[component[u[here]]], place[u[here]], place[v[here]]
            weights[c, p, q] = weights[c, q, p] = gain[here]
            groups, exact = best_partitions(weights, _sharing(nodes.annotators[members]))
            group[members] = next_group + np.arange(len(members))[:, None] * n + groups
            next_group += members.size
            n_inexact += int((~exact).sum())
    return group, n_inexact


def _sharing(bits: IntArray) -> BoolArray:
    """Which nodes of every component share an annotator, shape ``(C, N, N)``, from their bits ``(C, N, W)``."""
    shared = np.zeros((*bits.shape[:2], bits.shape[1]), np.bool_)
    for word in range(bits.shape[2]):
        shared |= (bits[:, :, None, word] & bits[:, None, :, word]) != 0
    return shared
