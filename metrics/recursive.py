"""The matching method ``recursive``: assignment of one annotator after the other to the units found so far."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from .arrays import BoolArray, FloatArray, IntArray, number_by_first
from .objects import Objects
from .partition import TIE


def match_recursive(
    objects: Objects, i: IntArray, j: IntArray, similarity: FloatArray, threshold: float, classes: str
) -> IntArray:
    """Match sample by sample; the result depends on the order of the annotators.

    The units are the objects of the first annotator. The objects of every further annotator are assigned to the
    objects of the first annotator, those left over to the second's, and so on; each takes the unit of the object it
    was assigned to, if that unit has none of this annotator yet; what is left opens new units. An assignment has the
    least total of (1 - similarity) over the objects that have a candidate, and only pairs above the threshold count.

    With classes ``require`` only pairs of one class are candidates; with ``prefer`` each assignment is made among
    those first, then among all that is left; ``ignore`` is the published method.

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
    unit = np.empty(len(objects), np.int64)
    if not len(objects):
        return unit
    n_units = 0
    starts = np.flatnonzero(np.r_[True, np.diff(objects.sample) != 0])
    stops = np.r_[starts[1:], len(objects)]
    pair_starts, pair_stops = np.searchsorted(i, starts), np.searchsorted(i, stops)
    bounds = np.stack([starts, stops, pair_starts, pair_stops], axis=1)
    for start, stop, first, last in bounds.tolist():
        n = stop - start
        matrix = np.zeros((n, n))
        p, q = i[first:last] - start, j[first:last] - start
        matrix[p, q] = matrix[q, p] = similarity[first:last]
        same_class = objects.category[start:stop, None] == objects.category[None, start:stop]
        passes = {
            "ignore": [np.ones((n, n), np.bool_)],
            "require": [same_class],
            "prefer": [same_class, np.ones((n, n), np.bool_)],
        }[classes]
        found = _match_sample(objects.annotator[start:stop], matrix, passes, threshold)
        unit[start:stop] = n_units + found
        n_units += int(found.max()) + 1
    return unit


def _match_sample(annotator: IntArray, similarity: FloatArray, passes: list[BoolArray], threshold: float) -> IntArray:
    unit = np.full(len(annotator), -1)
    n_units = 0
    present = np.unique(annotator).tolist()
    for k, current in enumerate(present):
        unmatched = np.flatnonzero(annotator == current)
        for earlier in present[:k]:
            for allowed in passes:
                taken = unit[annotator == current]
                available = np.flatnonzero((annotator == earlier) & ~np.isin(unit, taken[taken >= 0]))
                candidates = np.where(allowed, similarity, 0.0)[np.ix_(available, unmatched)]
                rows, columns = _assign(candidates, threshold)
                unit[unmatched[columns]] = unit[available[rows]]
                unmatched = np.delete(unmatched, columns)
        unit[unmatched] = n_units + np.arange(len(unmatched))
        n_units += len(unmatched)
    return number_by_first(unit)[0]


def _assign(similarity: FloatArray, threshold: float) -> tuple[IntArray, IntArray]:
    """The pairs above the threshold in the assignment of the rows and columns that have a candidate."""
    above = similarity > threshold + TIE
    rows, columns = np.flatnonzero(above.any(axis=1)), np.flatnonzero(above.any(axis=0))
    p, q = linear_sum_assignment(similarity[np.ix_(rows, columns)], maximize=True)
    kept = above[rows[p], columns[q]]
    return rows[p[kept]], columns[q[kept]]
