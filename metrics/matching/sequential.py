"""The matching methods ``recursive`` and ``mutual_best``: annotators, or pairs of them, one after another."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from ..geometry.objects import Objects, Overlaps
from ..numeric.arrays import BoolArray, FloatArray, IntArray, components, number_by_first
from .merging import TIE


def match_mutual_best(objects: Objects, overlaps: Overlaps, classes: str) -> tuple[IntArray, int, IntArray]:
    """Align every pair of annotators, then join the alignments into units.

    Of several best matches (Dice equal within 1e-9) the same class wins, then the first object. Only pairs of one
    class count as aligned, as published, unless ``classes`` is ``ignore``. For two annotators the units are the aligned
    pairs; for more, aligned pairs are joined in descending order of Dice where the joined unit keeps one object per
    annotator. With ``prefer``, mutual best matches of different classes are also joined, so that they become class
    conflicts.

    Args:
        objects: ``N`` objects
        overlaps: the overlapping pairs among them
        classes: ``prefer``, ``ignore`` or ``require``

    Returns:
        unit of every object ``(N,)``, number of units, aligned pairs ``(2, A)``
    """
    dice = overlaps.similarity("dice")
    same_class = objects.category[overlaps.i] == objects.category[overlaps.j]
    forward = _best_partner(objects, overlaps.i, overlaps.j, dice, same_class)
    mutual = forward & _best_partner(objects, overlaps.j, overlaps.i, dice, same_class)
    aligned = mutual if classes == "ignore" else mutual & same_class
    joined = aligned if classes == "require" else mutual
    i, j, likeness, n = overlaps.i[joined], overlaps.j[joined], dice[joined], len(objects)
    _, component = components(i, j, n)
    n_members = np.bincount(component, minlength=1)
    most = int(objects.annotator.max(initial=0)) + 1
    n_annotators = np.bincount(np.unique(component * most + objects.annotator) // most, minlength=len(n_members))
    conflict = n_annotators < n_members
    leader = np.arange(n)
    # without two objects of one annotator every aligned pair can be joined
    first = np.full(len(n_members), n)
    np.minimum.at(first, component, np.arange(n))
    easy = ~conflict[component]
    leader[easy] = first[component[easy]]
    # else the most similar first, as long as no two objects of one annotator meet
    disputed = np.flatnonzero(conflict[component[i]])
    disputed = disputed[np.lexsort((j[disputed], i[disputed], -likeness[disputed]))]
    members = {k: [k] for k in np.flatnonzero(~easy).tolist()}
    annotator = objects.annotator
    for a, b in zip(i[disputed].tolist(), j[disputed].tolist(), strict=True):
        p, q = sorted((int(leader[a]), int(leader[b])))
        if p == q or set(annotator[members[p]]) & set(annotator[members[q]]):
            continue
        leader[members[q]] = p
        members[p] += members.pop(q)
    _, unit = np.unique(leader, return_inverse=True)  # a leader is the first object of its unit
    return unit, int(unit.max(initial=-1)) + 1, np.stack([overlaps.i[aligned], overlaps.j[aligned]])


def _best_partner(
    objects: Objects, own: IntArray, other: IntArray, dice: FloatArray, same_class: BoolArray
) -> BoolArray:
    """Mask of pairs in which ``other`` is the best match of ``own`` among the objects of its annotator."""
    best = np.zeros(len(own), np.bool_)
    if not len(own):
        return best
    n_annotators = int(objects.annotator.max()) + 1
    _, rival = np.unique(own * n_annotators + objects.annotator[other], return_inverse=True)
    greatest = np.zeros(int(rival.max()) + 1)
    np.maximum.at(greatest, rival, dice)
    candidates = np.flatnonzero(dice >= greatest[rival] - TIE)
    order = candidates[np.lexsort((other[candidates], ~same_class[candidates], rival[candidates]))]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = rival[order[1:]] != rival[order[:-1]]
    best[order[is_first]] = True
    return best


#: cells of the table of an assignment; with more only the overlapping pairs are kept
_MAX_CELLS = 1_000_000


def match_recursive(
    objects: Objects, i: IntArray, j: IntArray, similarity: FloatArray, threshold: float, classes: str
) -> IntArray:
    """Match sample by sample; the result depends on the order of the annotators.

    Every object of the first annotator is a unit. The objects of every further annotator are assigned to the objects
    of the first annotator, the remaining ones to the objects of the second, and so on. An assigned object joins the
    unit of its partner if that unit has no object of its annotator yet; remaining objects become new units. An
    assignment minimises (1 - similarity) over the objects with a candidate; only pairs above the threshold match.

    With ``require`` only pairs of one class are candidates. With ``prefer`` such pairs are assigned first, then all
    remaining ones. ``ignore`` is the published method.

    Args:
        objects: ``N`` objects
        i: shape ``(P,)``, with ``j`` the overlapping pairs
        j: shape ``(P,)``
        similarity: shape ``(P,)``
        threshold: a pair matches if its similarity is greater (by more than 1e-9)
        classes: ``prefer``, ``ignore`` or ``require``

    Returns:
        unit of every object, shape ``(N,)``
    """
    n = len(objects)
    unit = np.full(n, -1)  # row of the first object of the unit
    taken = np.zeros(n, np.bool_)  # units with an object of the current annotator
    same_class = objects.category[i] == objects.category[j]
    every = np.ones(len(i), np.bool_)
    passes = {"ignore": [every], "require": [same_class], "prefer": [same_class, every]}[classes]
    above = similarity > threshold + TIE
    short = objects.annotator.astype(np.int16 if objects.annotator.max(initial=0) < 1 << 15 else np.int64)
    order = np.lexsort((short[i], short[j]))  # stable: rows stay in their order
    starts = np.searchsorted(objects.annotator[j[order]], np.arange(int(objects.annotator.max(initial=0)) + 2))
    for current in np.unique(objects.annotator).tolist():
        taken[:] = False
        current_pairs = order[starts[current] : starts[current + 1]]
        earlier = objects.annotator[i[current_pairs]]
        live, last = (
            np.flatnonzero(above[current_pairs]),
            -1,
        )  # pairs that may still match, and the last annotator that was tried
        while True:
            pairs = current_pairs[live]
            live = live[(earlier[live] > last) & (unit[j[pairs]] < 0) & ~taken[unit[i[pairs]]]]
            if not len(live):
                break
            last = int(earlier[live[0]])
            pairs = current_pairs[np.searchsorted(earlier, last) : np.searchsorted(earlier, last, side="right")]
            for allowed in passes:
                free = pairs[np.flatnonzero(allowed[pairs] & (unit[j[pairs]] < 0) & ~taken[unit[i[pairs]]])]
                chosen = free[_assigned(objects.sample[i[free]], i[free], j[free], similarity[free], threshold)]
                unit[j[chosen]] = unit[i[chosen]]
                taken[unit[i[chosen]]] = True
        opens = np.flatnonzero((objects.annotator == current) & (unit < 0))
        unit[opens] = opens
    return number_by_first(unit)[0]


def _assigned(sample: IntArray, p: IntArray, q: IntArray, similarity: FloatArray, threshold: float) -> IntArray:
    """Numbers of the assigned pairs of objects of two annotators, solved sample by sample.

    Args:
        sample: shape ``(P,)``, ascending
        p: shape ``(P,)``, object of one annotator
        q: shape ``(P,)``, object of the other
        similarity: shape ``(P,)``
        threshold: as in :func:`match_recursive`
    """
    above = similarity > threshold + TIE
    where = np.flatnonzero(above)
    if not len(where):
        return where
    # without alternatives, the pairs above the threshold are the best assignment
    contested = (np.bincount(p[where])[p[where]] > 1) | (np.bincount(q[where])[q[where]] > 1)
    hard = np.isin(sample, sample[where[contested]])
    # otherwise all objects with a candidate are assigned together, also through pairs below the threshold
    candidate = np.zeros(int(max(p.max(), q.max())) + 1, np.bool_)
    candidate[p[where]] = candidate[q[where]] = True
    compared = np.flatnonzero(hard & candidate[p] & candidate[q])
    by_sample = np.split(compared, np.flatnonzero(np.diff(sample[compared])) + 1) if len(compared) else []
    assigned = [pairs[_best_assignment(p[pairs], q[pairs], similarity[pairs])] for pairs in by_sample]
    chosen = np.concatenate([where[~hard[where]], *assigned])
    kept: IntArray = chosen[above[chosen]]
    return kept


def _best_assignment(p: IntArray, q: IntArray, similarity: FloatArray) -> IntArray:
    """The pairs of the assignment with the greatest total similarity; other pairs have similarity 0."""
    row_of, row = np.unique(p, return_inverse=True)
    column_of, column = np.unique(q, return_inverse=True)
    n_rows, n_columns = len(row_of), len(column_of)
    found: IntArray
    if n_rows * n_columns > _MAX_CELLS:  # very many objects with few candidates each
        alone = np.arange(n_rows)  # every row has a column of its own too, which stands for no match
        cost = np.concatenate([2.0 - similarity, np.full(n_rows, 2.0)])
        places = np.concatenate([row, alone]), np.concatenate([column, n_columns + alone])
        shape = (n_rows, n_columns + n_rows)
        _, assigned = min_weight_full_bipartite_matching(coo_array((cost, places), shape=shape).tocsr())
        found = np.flatnonzero(assigned[row] == column)
        return found
    matrix = np.zeros((n_rows, n_columns))
    number = np.full(matrix.shape, -1)
    matrix[row, column], number[row, column] = similarity, np.arange(len(p))
    assigned = number[linear_sum_assignment(matrix, maximize=True)]
    found = assigned[assigned >= 0]
    return found
