"""Match objects at many thresholds at once, with the method ``optimal`` of :func:`~.matching.match_objects`.

Most components do not change between thresholds, and a component whose pairs all reach the threshold is one unit. The
other components of all thresholds are solved together, as copies with their own threshold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray, IntArray, components
from ..geometry.objects import Objects, Overlaps, Similarity
from . import Matching
from .optimal import ClassHandling, match_optimal
from .partition import TIE

#: the thresholds of a report
THRESHOLDS = tuple(round(0.05 * k, 2) for k in range(2, 20))

#: objects of undecided components, over all thresholds, that are solved at once
_MAX_OBJECTS_AT_ONCE = 500_000


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
    for copies in _copies_to_solve(i, j, values, levels, first):
        waiting.append(copies)
        if copies.at == len(levels) - 1 or sum(len(each.row) for each in waiting) > _MAX_OBJECTS_AT_ONCE:
            counts += _solve(objects, waiting, levels, classes, first)
            waiting = []
    return Sweep(tuple(levels.tolist()), first, *counts)


@dataclass(frozen=True, slots=True)
class _Copies:
    """The objects of components that need a decision at one threshold, and all pairs within the components."""

    at: int  # index of the threshold
    row: IntArray  # (V,) ascending
    i: IntArray  # (P,) index into ``row``
    j: IntArray
    similarity: FloatArray


def _copies_to_solve(
    i: IntArray, j: IntArray, similarity: FloatArray, levels: FloatArray, first: IntArray
) -> Iterator[_Copies]:
    """Fill in the units of the components that need no decision; yield the others, threshold by threshold."""
    n, n_levels = first.shape[1], len(levels)
    reached = np.searchsorted(levels - TIE, similarity, side="right")  # how many thresholds a pair reaches
    stands = np.zeros(n, np.int64)  # index of the threshold up to which the component of an object is one unit
    unit = np.arange(n)
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
        undecided = ~whole[component]
        place = np.cumsum(undecided) - 1
        kept = within & undecided[u]
        yield _Copies(at, row[undecided], place[u[kept]], place[v[kept]], similarity[looked_at[kept]])
        # objects of different components stay apart at all higher thresholds
        compared = np.ones(len(i), np.bool_)
        compared[looked_at[~within]] = False
        i, j, similarity, reached = i[compared], j[compared], similarity[compared], reached[compared]


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
