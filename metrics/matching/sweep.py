"""Match objects at many thresholds at once, with the method ``optimal`` of :func:`~.matching.match_objects`.

Most components do not change between thresholds, and a component whose pairs all reach the threshold is one unit. The
other components of all thresholds are solved together, as copies with their own threshold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..arrays import BoolArray, FloatArray, IntArray, components
from ..geometry.objects import Objects, Overlaps, Similarity
from . import Matching
from .linkage import Nodes, average_linkage_of, contracted, improved, places_of
from .optimal import ClassHandling, annotator_bits, are_large, match_optimal
from .partition import TIE

#: the thresholds of a report
THRESHOLDS = tuple(round(0.05 * k, 2) for k in range(2, 20))

#: objects of undecided components, over all thresholds, that are solved at once
_MAX_OBJECTS_AT_ONCE = 500_000
#: their pairs that are solved at once
_MAX_PAIRS_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class Sweep:
    """Units at ``T`` thresholds.

    Attributes:
        thresholds: ascending
        first: shape ``(T, N)``, row of the first object of every object's unit
        n_hard: shape ``(T,)``, components that needed a decision between several partitions
        n_inexact: shape ``(T,)``, hard components whose solution is not proven to be optimal
    """

    thresholds: tuple[float, ...]
    first: IntArray
    n_hard: IntArray
    n_inexact: IntArray

    def matching(self, at: int) -> Matching:
        """The matching at the threshold with index ``at``."""
        first = self.first[at]
        is_first = first == np.arange(len(first))
        return Matching(
            (np.cumsum(is_first) - 1)[first], int(is_first.sum()), int(self.n_hard[at]), int(self.n_inexact[at])
        )


def sweep_thresholds(
    objects: Objects,
    overlaps: Overlaps,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    similarity: Similarity = "iou",
    classes: ClassHandling = "prefer",
) -> Sweep:
    """Match objects at several thresholds, with the method ``optimal`` of :func:`~.matching.match_objects`.

    Components of at most 9 objects, and larger ones with a fast proof, are solved exactly; the others by greedy merges
    and local moves (not by the integer programme of ``match_objects``, which takes milliseconds for each).

    Args:
        objects: ``N`` objects of any number of samples
        overlaps: the overlapping pairs among them
        thresholds: in (0, 1], ascending
        similarity: IoU or Dice
        classes: as in :func:`~.matching.match_objects`

    Raises:
        ValueError: if the thresholds are not in (0, 1] and ascending
    """
    levels = np.array(thresholds, np.float64)
    if levels.ndim != 1 or not ((levels > 0.0) & (levels <= 1.0)).all() or (np.diff(levels) <= 0.0).any():
        raise ValueError(f"`thresholds` must be in (0, 1] and ascending, got {thresholds!r}")
    i, j, values = overlaps.i, overlaps.j, overlaps.similarity(similarity)
    if classes == "require":  # every class is a separate layer
        same_class = objects.category[i] == objects.category[j]
        i, j, values, classes = i[same_class], j[same_class], values[same_class], "ignore"
    first = np.empty((len(levels), len(objects)), np.int64)
    counts = np.zeros((2, len(levels)), np.int64)
    waiting: list[_Copies] = []
    large = _Large(np.zeros(first.shape, np.bool_), np.full(len(i), -1, np.int8), counts)
    for copies in _copies_to_solve(objects, i, j, values, levels, first, large):
        waiting.append(copies)
        full = sum(len(each.row) for each in waiting) > _MAX_OBJECTS_AT_ONCE
        full |= sum(len(each.i) for each in waiting) > _MAX_PAIRS_AT_ONCE
        if full or copies.at == len(levels) - 1:
            counts += _solve(objects, waiting, levels, classes, first)
            waiting = []
    if large.objects.any():
        _link(objects, large, (i, j, values), levels, classes, first)
    return Sweep(tuple(levels.tolist()), first, *counts)


@dataclass(frozen=True, slots=True)
class _Copies:
    """The objects of components that need a decision at one threshold, and all pairs within the components."""

    at: int  # index of the threshold
    row: IntArray  # (V,) ascending
    i: IntArray  # (P,) index into ``row``
    j: IntArray
    similarity: FloatArray


@dataclass(frozen=True, slots=True)
class _Large:
    """The components that are solved by average linkage."""

    objects: BoolArray  # (T, N) whether an object is in one
    until: NDArray[np.int8]  # (P,) last threshold at which both objects of a pair are in the same one; -1: at none
    counts: IntArray  # (2, T) how many there are, in both rows


def _copies_to_solve(
    objects: Objects,
    i: IntArray,
    j: IntArray,
    similarity: FloatArray,
    levels: FloatArray,
    first: IntArray,
    large: _Large,
) -> Iterator[_Copies]:
    """Fill in the units of the components that need no decision; yield the others, threshold by threshold."""
    n, n_levels = first.shape[1], len(levels)
    reached = np.searchsorted(levels - TIE, similarity, side="right")  # how many thresholds a pair reaches
    stands = np.zeros(n, np.int64)  # index of the threshold up to which the component of an object is one unit
    unit = np.arange(n)
    annotators = annotator_bits(objects.annotator)
    pair = np.arange(len(i))
    for at in range(n_levels):
        row = np.flatnonzero(stands == at)
        number = np.empty(n, np.int64)
        number[row] = np.arange(len(row))
        looked_at = np.flatnonzero(stands[i] == at)
        u, v, reach = number[i[looked_at]], number[j[looked_at]], reached[looked_at]
        admissible = reach > at
        n_components, component = components(u[admissible], v[admissible], len(row))
        within = component[u] == component[v]
        size = np.bincount(component, minlength=n_components)
        in_component = component[u[admissible]]
        whole = np.bincount(in_component, minlength=n_components) == size * (size - 1) // 2
        until = np.full(n_components, n_levels)
        np.minimum.at(until, in_component, reach[admissible])
        until[~whole] = at + 1
        stands[row] = until[component]
        start = np.empty(n_components, np.int64)
        start[component[::-1]] = row[::-1]
        unit[row] = start[component]
        first[at] = unit
        linked = are_large(component, size, annotators[row]) & ~whole
        large.objects[at, row] = linked[component]
        large.until[pair[looked_at[within & linked[component[u]]]]] = at
        large.counts[:, at] += linked.sum()
        undecided = ~(whole | linked)[component]
        place = np.cumsum(undecided) - 1
        kept = within & undecided[u]
        yield _Copies(at, row[undecided], place[u[kept]], place[v[kept]], similarity[looked_at[kept]])
        # objects of different components stay apart at all higher thresholds
        compared = np.ones(len(i), np.bool_)
        compared[looked_at[~within]] = False
        i, j, similarity, reached = i[compared], j[compared], similarity[compared], reached[compared]
        pair = pair[compared]


def _solve(
    objects: Objects, copies: list[_Copies], levels: FloatArray, classes: ClassHandling, first: IntArray
) -> IntArray:
    """Fill in the units of the components that need a decision.

    Returns the number of such components, and of inexact solutions among them, at every threshold; shape ``(2, T)``.
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
        programme=False,
    )
    start = np.empty(found.n_units, np.int64)
    start[found.unit[::-1]] = row[::-1]
    first[at, row] = start[found.unit]
    hard, inexact = (np.searchsorted(levels, thresholds) for thresholds in (found.hard_at, found.inexact_at))
    return np.stack([np.bincount(hard, minlength=len(levels)), np.bincount(inexact, minlength=len(levels))])


def _link(
    objects: Objects,
    large: _Large,
    pairs: tuple[IntArray, IntArray, FloatArray],
    levels: FloatArray,
    classes: ClassHandling,
    first: IntArray,
) -> None:
    """Fill in the units of large components, which are solved at all thresholds by one average linkage.

    Classes that are preferred need two: one within the classes, and at every threshold one of its units. As units only
    grow towards lower thresholds, that is found from the highest threshold on, with fewer nodes and pairs at each. The
    units of a single threshold are also improved by local moves, which takes too long for many.
    """
    row = np.flatnonzero(large.objects.any(axis=0))
    number = np.empty(len(objects), np.int64)
    number[row] = np.arange(len(row))
    used = large.until >= 0
    until = large.until[used]
    i, j, similarity = pairs[0][used], pairs[1][used], pairs[2][used]
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
            _write_groups(group, large.objects[at], row, first[at])
        return
    same = objects.category[i] == objects.category[j]
    of_class = replace(alone, u=u[same], v=v[same], similarity=similarity[same])
    joins = average_linkage_of(of_class, float(levels[0]))
    of_row = np.arange(len(row))  # node of every object
    nodes = replace(alone, u=u[:0], v=v[:0], similarity=similarity[:0])
    for at in reversed(range(len(levels))):
        if not large.objects[at].any():
            continue
        level = float(levels[at])
        new = until == at
        nodes = replace(
            nodes,
            u=np.concatenate([nodes.u, of_row[u[new]]]),
            v=np.concatenate([nodes.v, of_row[v[new]]]),
            similarity=np.concatenate([nodes.similarity, similarity[new]]),
        )
        group = joins.groups(level)
        if len(levels) == 1:
            group = improved(of_class, group, level)
        of_node = np.empty(len(nodes.size), np.int64)
        of_node[of_row] = group
        nodes, of_row = contracted(nodes, of_node), group
        second = average_linkage_of(nodes, level).groups(level)
        if len(levels) == 1:
            second = improved(nodes, second, level)
        _write_groups(second[group], large.objects[at], row, first[at])


def _write_groups(group: IntArray, chosen: BoolArray, row: IntArray, first: IntArray) -> None:
    """Write the row of the first object of their group for the chosen objects; ``group`` is of the rows ``row``."""
    start = np.empty(int(group.max(initial=-1)) + 1, np.int64)
    start[group[::-1]] = row[::-1]
    first[row] = np.where(chosen[row], start[group], first[row])
