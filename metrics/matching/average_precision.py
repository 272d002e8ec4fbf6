"""Average precision of one annotator's objects as detections of another's, matched and counted as COCO does.

``M`` detections of a class hit an object (TP), ``F`` do not (FP), of ``G`` objects. The detections are taken in
a given order; the precision at recall ``r`` is the best share of hits among the first ones, over all places in this
order where at least ``r`` of the objects are hit: with ``k = max(1, ⌈r G⌉)`` and ``F_j`` false detections before the
``j``-th hit, ``max over j ≥ k of j / (j + F_j)``; 0 if ``k > M``. Average precision is the mean over ``r = 0, 0.01, …,
1``.

COCO goes through the detections by their score; each takes the free object that it overlaps most.

Axes: ``N`` detections, ``P`` pairs of a detection and an object, ``T`` thresholds.
"""

from __future__ import annotations

import numpy as np

from ..numeric.arrays import BoolArray, FloatArray, IntArray
from .merging import TIE

#: the recall points
RECALLS: FloatArray = np.linspace(0.0, 1.0, 101)
RECALLS.setflags(write=False)


def average_precision(is_hit: BoolArray, n_gt: int, counts: BoolArray | None = None) -> FloatArray:
    """Average precision of detections, sorted by descending score.

    Args:
        is_hit: shape ``(N, T)``, whether a detection hits an object, under each of ``T`` thresholds
        n_gt: number of objects
        counts: shape ``(N, T)``, detections that are not left out; None: all

    Returns:
        shape ``(T,)``, in [0, 1]

    Undefined:
        nan without objects

    Example:
        >>> average_precision(np.array([[True], [False], [True]]), 2).round(4)
        array([0.835])

    References:
        T.-Y. Lin et al., "Microsoft COCO", 2014; pycocotools, ``COCOeval.accumulate``
    """
    if n_gt == 0:
        return np.full(is_hit.shape[1], np.nan)
    seen = np.ones_like(is_hit) if counts is None else counts
    hits = np.cumsum(is_hit & seen, axis=0)
    precision = hits / np.maximum(np.cumsum(seen, axis=0), 1)
    precision = np.maximum.accumulate(precision[::-1], axis=0)[::-1]
    found = [
        np.append(highest, 0.0)[np.searchsorted(recall, RECALLS, side="left")].mean()
        for highest, recall in zip(precision.T, hits.T / n_gt, strict=True)
    ]
    return np.array(found, np.float64)


#: the thresholds over which COCO averages
COCO_THRESHOLDS: FloatArray = np.linspace(0.5, 0.95, 10)
COCO_THRESHOLDS.setflags(write=False)


def match_detections(
    detection: IntArray,
    gt: IntArray,
    overlap: FloatArray,
    ignored: BoolArray,
    *,
    thresholds: FloatArray = COCO_THRESHOLDS,
) -> BoolArray:
    """Matched pairs at every threshold.

    A detection is matched to an object that is left out (of another size, a crowd region) only where no other is free;
    it then counts neither as right nor as wrong.

    Args:
        detection: shape ``(P,)``, detection of every pair, unique over images and classes, numbered by score
        gt: shape ``(P,)``, object of every pair; a crowd region, which can be matched more than once, has a new
            number in each of its pairs
        overlap: shape ``(P,)``, IoU (of crowd regions: the share of the detection) of every pair
        ignored: shape ``(P,)``, whether the object is left out
        thresholds: shape ``(T,)``, ascending; a pair that falls short by rounding reaches it

    Returns:
        shape ``(T, P)``

    Undefined:
        never

    References:
        pycocotools, ``COCOeval.evaluateImg``
    """
    order = np.lexsort((-gt, -overlap, detection))
    rivals = (np.unique(detection[order], return_inverse=True)[1], np.unique(gt[order], return_inverse=True)[1])
    overlap, ignored = overlap[order], ignored[order]
    matched = np.zeros((len(thresholds), len(order)), np.bool_)
    for place, threshold in enumerate(thresholds.tolist()):
        near = overlap >= threshold - TIE
        counted = _first_come(rivals, near & ~ignored)
        taken = np.zeros(len(order), np.bool_)
        taken[rivals[0][counted]] = True
        matched[place, order] = counted | _first_come(rivals, near & ignored & ~taken[rivals[0]])
    return matched


def _first_come(rivals: tuple[IntArray, IntArray], wanted: BoolArray) -> BoolArray:
    """The wanted pairs that get both their detection and their object, if they come one after the other, ``(P,)``.

    In each round every pair takes its detection and its object if it is the first that wants either.
    """
    got = np.zeros(len(wanted), np.bool_)
    left = np.flatnonzero(wanted)
    while len(left):
        first = np.ones(len(left), np.bool_)
        for of_side in rivals:
            earliest = np.empty(len(wanted), np.int64)
            earliest[of_side[left][::-1]] = left[::-1]  # the last that is written stays
            first &= earliest[of_side[left]] == left
        got[left[first]] = True
        free = np.ones(len(left), np.bool_)
        for of_side in rivals:
            taken = np.zeros(len(wanted), np.bool_)
            taken[of_side[left[first]]] = True
            free &= ~taken[of_side[left]]
        left = left[free]
    return got
