"""Match detections to objects as COCO does: each object once, objects that are left out last.

COCO goes through the detections by their score; each takes the free object that it overlaps most. Without scores the
pair that overlaps most comes first, whichever detections are in it: no order of the detections is preferred.

Axes: ``P`` pairs of a detection and an object, ``T`` thresholds.
"""

from __future__ import annotations

import numpy as np

from ..matching.merging import TIE
from ..numeric.arrays import BoolArray, FloatArray, IntArray

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
    by_score: bool = False,
) -> BoolArray:
    """Matched pairs at every threshold.

    A detection is matched to an object that is left out (of another size, a crowd region) only where no other is free;
    it then counts neither as right nor as wrong.

    Args:
        detection: shape ``(P,)``, detection of every pair, unique over images and classes; ascending by score, the
            surest first, with ``by_score``
        gt: shape ``(P,)``, object of every pair; a crowd region, which can be matched more than once, has a number in
            each of its pairs
        overlap: shape ``(P,)``, IoU (of crowd regions: the share of the detection) of every pair
        ignored: shape ``(P,)``, whether the object is left out
        thresholds: shape ``(T,)``, ascending; a pair that falls short by rounding reaches it
        by_score: whether detections come one after the other; else pairs, by their overlap

    Returns:
        shape ``(T, P)``

    Undefined:
        never

    References:
        pycocotools, ``COCOeval.evaluateImg``
    """
    order = np.lexsort((-gt, -overlap, detection) if by_score else (gt, detection, -overlap))
    rivals = (np.unique(detection[order], return_inverse=True)[1], np.unique(gt[order], return_inverse=True)[1])
    overlap, ignored = overlap[order], ignored[order]
    matched = np.zeros((len(thresholds), len(order)), np.bool_)
    counted = np.zeros(len(order), np.bool_)
    for place, threshold in enumerate(thresholds.tolist()):
        near = overlap >= threshold - TIE
        if by_score or not place:
            counted = _first_come(rivals, near & ~ignored)
        counted = counted & near  # without scores, pairs that overlap less took nothing from those that overlap more
        taken = np.zeros(len(order), np.bool_)
        taken[rivals[0][counted]] = True
        matched[place, order] = counted | _first_come(rivals, near & ignored & ~taken[rivals[0]])
    return matched


def _first_come(rivals: tuple[IntArray, IntArray], wanted: BoolArray) -> BoolArray:
    """The wanted pairs that get both their detection and their object, if they come one after the other, ``(P,)``.

    In a round all pairs that are the first of both of theirs get them.
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
