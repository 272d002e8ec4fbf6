"""Match objects at many thresholds at once, with the method ``optimal`` of :func:`~..matching.match_objects`.

Most components do not change between thresholds, and a component whose pairs all reach the threshold is one unit. The
other components of all thresholds are solved together, as copies with their own threshold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..geometry.objects import Objects, Overlaps, Similarity
from ..numeric.arrays import BoolArray, FloatArray, IntArray, components, sums_by
from .match import Matching
from .merging import TIE, Nodes, average_linkage_of, contracted, improved, places_of
from .optimal import ClassHandling, annotator_bits, are_large, match_optimal

#: the thresholds of a report
THRESHOLDS = tuple(round(0.05 * k, 2) for k in range(2, 20))

#: objects of undecided components, over all thresholds, that are solved at once
_MAX_OBJECTS_AT_ONCE = 500_000
#: pairs of these objects that are solved at once
_MAX_PAIRS_AT_ONCE = 250_000

#: pairs that are looked up together: few enough for the cache of a processor
_BLOCK = 1 << 14


def sweep_thresholds(
    objects: Objects,
    overlaps: Overlaps,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    similarity: Similarity = "iou",
    classes: ClassHandling = "prefer",
) -> list[Matching]:
    """The units at each of several thresholds, with the method ``optimal`` of :func:`~..matching.match_objects`.

    Components of at most 9 objects, and larger ones with a fast proof, are solved exactly; the others by greedy merges
    and local moves (without the search for a proof of ``match_objects``).

    Args:
        objects: ``N`` objects of any number of samples
        overlaps: the overlapping pairs among them
        thresholds: in (0, 1], ascending
        similarity: IoU or Dice
        classes: as in :func:`~..matching.match_objects`

    Raises:
        ValueError: if the thresholds are not in (0, 1] and ascending
    """
    levels = np.array(thresholds, np.float64)
    if levels.ndim != 1 or not ((levels > 0.0) & (levels <= 1.0)).all() or (np.diff(levels) <= 0.0).any():
        raise ValueError(f"`thresholds` must be in (0, 1] and ascending, got {thresholds!r}")
    i, j, values = overlaps.i, overlaps.j, overlaps.similarity(similarity)
    if classes == "require":  # every class is a separate layer
        same_class = np.flatnonzero(objects.category[i] == objects.category[j])
        i, j, values, classes = i[same_class], j[same_class], values[same_class], "ignore"
    reached = np.zeros(len(i), np.int8)  # how many thresholds a pair reaches
    for level in levels.tolist():
        reached += values >= level - TIE
    connected = _Connected.of(objects.annotator, i, j, reached, len(levels))
    first = connected.root.copy()
    hard, inexact = [connected.large], [connected.large]  # threshold, and row of an object, of every component
    waiting: list[_Copies] = []
    # last threshold at which both objects of a pair are in the same component that is solved by average linkage
    until = np.full(len(i), -1, np.int8)  # -1: at none
    for copies in _copies_to_solve(connected, i, j, values, until):
        waiting.append(copies)
        full = sum(len(each.row) for each in waiting) > _MAX_OBJECTS_AT_ONCE
        full |= sum(len(each.i) for each in waiting) > _MAX_PAIRS_AT_ONCE
        if full or copies.at == len(levels) - 1:
            solved = _solve(objects, waiting, levels, classes, first)
            hard.append(solved[0])
            inexact.append(solved[1])
            waiting = []
    if connected.linked.any():
        _link(objects, connected.linked, until, (i, j, values), levels, classes, first)
    found = []
    for at, first_of in enumerate(first):
        is_first = first_of == np.arange(len(objects))
        decided = (objects.sample[row[level == at]] for level, row in map(np.hstack, (hard, inexact)))
        found.append(Matching((np.cumsum(is_first) - 1)[first_of], int(is_first.sum()), *decided))
    return found


@dataclass(frozen=True, slots=True)
class _Copies:
    """The objects of components that need a decision at one threshold, and all pairs within the components."""

    at: int  # index of the threshold
    row: IntArray  # (V,) ascending
    i: IntArray  # (P,) index into ``row``
    j: IntArray
    similarity: FloatArray


@dataclass(frozen=True, slots=True)
class _Connected:
    """Components of the pairs that reach each of ``T`` thresholds, ready to be partitioned."""

    root: IntArray  # (T, N) row of the first object of every object's component
    undecided: BoolArray  # (T, N) whether an object is in a component that needs a decision
    linked: BoolArray  # (T, N) whether it is in one that is solved by average linkage
    large: IntArray  # (2, C) threshold and row of the first object of every one of the latter

    @classmethod
    def of(cls, annotator: IntArray, i: IntArray, j: IntArray, reached: NDArray[np.int8], n_levels: int) -> _Connected:
        """The components, from the highest threshold down: every pair is added once, as components only grow."""
        n = len(annotator)
        shape = n_levels, n
        root, undecided, linked = np.empty(shape, np.int64), np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        firsts: list[IntArray] = []
        bits = annotator_bits(annotator)
        node_of = np.arange(n)
        inside = np.zeros(n, np.int64)  # pairs within the component whose first object is in this row
        for at in reversed(range(n_levels)):
            new = np.flatnonzero(reached == at + 1)
            u, v = node_of[i[new]], node_of[j[new]]
            apart = np.flatnonzero(u != v)
            if len(apart):
                n_components, component = components(u[apart], v[apart], n)
                first = np.empty(n_components, np.int64)
                first[component[::-1]] = np.arange(n)[::-1]
                node_of = first[component[node_of]]
                inside = sums_by(first[component], inside, n).astype(np.int64)
            inside += np.bincount(node_of[u], minlength=n)
            root[at] = node_of
            size = np.bincount(node_of, minlength=n)
            whole = inside == size * (size - 1) // 2
            large = are_large(node_of, size, bits) & ~whole
            undecided[at] = ~(whole | large)[node_of]
            linked[at] = large[node_of]
            rows = np.flatnonzero(large)
            firsts.append(np.stack([np.full(len(rows), at), rows]))
        return cls(root, undecided, linked, np.hstack(firsts))

    def n_together(self, i: IntArray, j: IntArray) -> NDArray[np.int8]:
        """At how many of the lowest thresholds two objects are in one component, shape ``(P,)``."""
        n_levels, n = self.root.shape
        root = np.append(self.root, [np.arange(n)], axis=0).astype(np.int32).ravel()  # at last all are alone
        together = np.zeros(len(i), np.int8)
        for start in range(0, len(i), _BLOCK):
            block = slice(start, start + _BLOCK)
            u, v, low = i[block], j[block], np.zeros(len(i[block]), np.int64)  # together below ``low``
            for step in (1 << k for k in reversed(range(n_levels.bit_length()))):
                at = np.minimum(low + step - 1, n_levels) * n
                low += step * (root[at + u] == root[at + v])
            together[block] = low
        return together


def _copies_to_solve(
    connected: _Connected, i: IntArray, j: IntArray, similarity: FloatArray, until: NDArray[np.int8]
) -> Iterator[_Copies]:
    """The components that need a decision, threshold by threshold; writes ``until`` of the pairs that are linked."""
    number = np.empty(connected.root.shape[1], np.int64)
    undecided_once = np.logical_or.reduce(connected.undecided)
    looked_at = np.flatnonzero((undecided_once | np.logical_or.reduce(connected.linked))[i])
    n_together = connected.n_together(i[looked_at], j[looked_at])
    if connected.linked.any():
        last = np.full((len(connected.linked) + 1, len(number)), -1, np.int8)
        for at, linked in enumerate(connected.linked):
            last[at + 1] = np.where(linked, at, last[at])
        until[looked_at] = last[n_together, i[looked_at]]
    some = np.flatnonzero(undecided_once[i[looked_at]])
    looked_at, n_together = looked_at[some], n_together[some]
    for at, undecided in enumerate(connected.undecided):
        row = np.flatnonzero(undecided)
        number[row] = np.arange(len(row))
        below = np.flatnonzero(n_together > at)
        looked_at, n_together = looked_at[below], n_together[below]
        kept = looked_at[np.flatnonzero(undecided[i[looked_at]])]
        yield _Copies(at, row, number[i[kept]], number[j[kept]], similarity[kept])


def _solve(
    objects: Objects, copies: list[_Copies], levels: FloatArray, classes: ClassHandling, first: IntArray
) -> tuple[IntArray, IntArray]:
    """Fill in the units of the components that need a decision.

    Returns threshold and row of an object, ``(2, H)``, of such components, and of those that were solved inexactly.
    """
    sizes = np.array([len(each.row) for each in copies])
    at = np.repeat([each.at for each in copies], sizes)
    row = np.concatenate([each.row for each in copies])
    offset = np.repeat(np.cumsum(sizes) - sizes, [len(each.i) for each in copies])
    found = match_optimal(
        objects.annotator[row],
        objects.category[row],
        np.concatenate([each.i for each in copies]) + offset,
        np.concatenate([each.j for each in copies]) + offset,
        np.concatenate([each.similarity for each in copies]),
        levels[at],
        classes,
        prove=False,
    )
    start = np.empty(found.n_units, np.int64)
    start[found.unit[::-1]] = row[::-1]
    first[at, row] = start[found.unit]
    hard, inexact = (np.stack([at[rows], row[rows]]) for rows in (found.hard, found.inexact))
    return hard, inexact


def _link(
    objects: Objects,
    linked: BoolArray,
    until: NDArray[np.int8],
    pairs: tuple[IntArray, IntArray, FloatArray],
    levels: FloatArray,
    classes: ClassHandling,
    first: IntArray,
) -> None:
    """Fill in the units of large components, which are solved at all thresholds by one average linkage.

    If classes are preferred, there are two: one within classes, and at every threshold one of the units that result. As
    units only grow towards lower thresholds, the second goes from the highest one down, with fewer nodes each time. The
    units of a single threshold are also improved by local moves, which takes too long for many.
    """
    row = np.flatnonzero(linked.any(axis=0))
    number = np.empty(len(objects), np.int64)
    number[row] = np.arange(len(row))
    used = np.flatnonzero(until >= 0)
    until, i, j, similarity = until[used], pairs[0][used], pairs[1][used], pairs[2][used]
    u, v = number[i], number[j]
    annotator = objects.annotator[row]
    _, sample = np.unique(objects.sample[row], return_inverse=True)
    alone = Nodes(
        sample, places_of(sample, annotator), np.ones(len(row), np.int64), annotator_bits(annotator), u, v, similarity
    )
    if classes == "ignore":
        joins = average_linkage_of(alone, float(levels[0]))
        for at, level in enumerate(levels.tolist()):
            group = joins.groups(level)
            if len(levels) == 1:
                group = improved(alone, group, level)
            _write_groups(group, linked[at], row, first[at])
        return
    same = np.flatnonzero(objects.category[i] == objects.category[j])
    within_class = replace(alone, u=u[same], v=v[same], similarity=similarity[same])
    joins = average_linkage_of(within_class, float(levels[0]))
    node_of_row = np.arange(len(row))  # node of every object
    nodes = replace(alone, u=u[:0], v=v[:0], similarity=similarity[:0])
    for at in reversed(range(len(levels))):
        if not linked[at].any():
            continue
        level = float(levels[at])
        new = np.flatnonzero(until == at)
        nodes = replace(
            nodes,
            u=np.concatenate([nodes.u, node_of_row[u[new]]]),
            v=np.concatenate([nodes.v, node_of_row[v[new]]]),
            similarity=np.concatenate([nodes.similarity, similarity[new]]),
        )
        group = joins.groups(level)
        if len(levels) == 1:
            group = improved(within_class, group, level)
        group_of_node = np.empty(len(nodes.size), np.int64)
        group_of_node[node_of_row] = group
        nodes, node_of_row = contracted(nodes, group_of_node), group
        second = average_linkage_of(nodes, level).groups(level)
        if len(levels) == 1:
            second = improved(nodes, second, level)
        _write_groups(second[group], linked[at], row, first[at])


def _write_groups(group: IntArray, chosen: BoolArray, row: IntArray, first: IntArray) -> None:
    """Write the row of the first object of their group for the chosen objects; ``group`` is of the rows ``row``."""
    start = np.empty(int(group.max(initial=-1)) + 1, np.int64)
    start[group[::-1]] = row[::-1]
    first[row] = np.where(chosen[row], start[group], first[row])
