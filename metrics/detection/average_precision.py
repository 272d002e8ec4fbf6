"""Average precision of one annotator's objects as detections of another's, matched and counted as COCO does.

``M`` detections of a class hit an object (TP), ``F`` do not (FP), ``G`` objects are there. In a given order the
precision at recall ``r`` is the highest that is reached from the first place on at which ``r`` of the objects are hit:
with ``k = max(1, ⌈r G⌉)`` and ``F_j`` false detections before the ``j``-th hit, ``max over j ≥ k of j / (j + F_j)``;
0 if ``k > M``. Average precision is the mean over ``r = 0, 0.01, …, 1``.

COCO goes through the detections by their score; each takes the free object that it overlaps most. Without scores the
pair that overlaps most comes first, whichever detections are in it: no order of the detections is preferred.

Axes: ``P`` pairs of a detection and an object, ``T`` thresholds.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import comb

from ..matching.merging import TIE
from ..numeric.arrays import BoolArray, FloatArray, IntArray

#: the recall points
RECALLS: FloatArray = np.linspace(0.0, 1.0, 101)
RECALLS.setflags(write=False)

#: up to so many detections the expectation is exact
MOST_EXACT = 48

#: precisions that are summed at once
_AT_ONCE = 64

#: the remainder of many detections, by how it changed from half as many as are exact (found by simulation)
_FURTHER = 0.6


def average_precision(is_hit: BoolArray, n_gt: int, counts: BoolArray | None = None) -> FloatArray:
    """Average precision of detections in the order of their scores, the surest first.

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


def expected_average_precision(
    n_hits: IntArray | FloatArray, n_detections: IntArray | FloatArray, n_gt: IntArray | FloatArray
) -> FloatArray:
    """Average precision of detections without scores: its mean over all orders, each equally likely.

    Up to ``MOST_EXACT`` detections it is exact: the probability that the precision at recall ``r`` is at most ``x`` is
    the share of lattice paths from (0, 0) to (M, F) of which no point ``(j, F_j)``, ``j ≥ k``, has ``j / (j + F_j) >
    x``; paths are counted for all fractions ``x``. Beyond, the mean precision is a running, from the last detection
    backwards, with the variance ``p (1 - p) (1 / n - 1 / N)`` of a mean of ``n`` of ``N`` draws (``p = M / N``). The
    expected maximum of a Brownian motion, ``√(2 / π)`` times its standard deviation, and the exact remainder at the
    same variance among ``MOST_EXACT`` detections, which falls as ``1 / n``, are added to ``p``; that is right to 0.0005
    where at least a fifth of the detections hit.

    Args:
        n_hits: detections that hit an object, any shape
        n_detections: all detections, same shape; at least ``n_hits``
        n_gt: objects, same shape; at least ``n_hits``

    Returns:
        same shape, in [0, 1]; at least ``n_hits / n_detections`` at all recalls that are reached, the value of the
        least favourable order, which it nears with more detections

    Undefined:
        nan without objects; 0 with objects and without detections

    Example:
        >>> expected_average_precision(np.array([1, 2]), np.array([2, 2]), np.array([1, 4]))
        array([0.75     , 0.5049505])

    References:
        W. Feller, "An Introduction to Probability Theory and Its Applications" I, 1968, chapter III (lattice paths)
    """
    hits, detections, objects = (np.asarray(each, np.float64) for each in (n_hits, n_detections, n_gt))
    triples = np.stack(np.broadcast_arrays(hits, detections, objects), axis=-1).reshape(-1, 3).astype(np.int64)
    size = triples.max(axis=0, initial=0) + 1
    found, place = np.unique((triples[:, 0] * size[1] + triples[:, 1]) * size[2] + triples[:, 2], return_inverse=True)
    m, n, g = found // (size[1] * size[2]), found // size[2] % size[1], found % size[2]
    values = np.zeros(len(found))
    few = n <= MOST_EXACT
    values[few] = _exact(m[few], n[few], g[few])
    values[~few] = _approximate(m[~few], n[~few], g[~few])
    values[g == 0] = np.nan
    return values[place].reshape(np.broadcast_shapes(hits.shape, detections.shape, objects.shape))


def average_precision_near(
    n_hits: FloatArray, n_detections: FloatArray, n_gt: FloatArray, at: tuple[FloatArray, FloatArray, FloatArray]
) -> FloatArray:
    """As :func:`expected_average_precision`, quickly, of very many numbers that are near those of some columns.

    Exact where the column and the value have at most ``MOST_EXACT`` detections. Else what is above the value of the
    least favourable order is that of the column, in proportion to the standard deviation of a mean of the detections.

    Args:
        n_hits: shape ``(..., V)``
        n_detections: shape ``(..., V)``
        n_gt: shape ``(..., V)``
        at: numbers of the columns, ``(V,)`` each

    Undefined:
        nan without objects
    """
    m, n, g = (np.rint(each) for each in (n_hits, n_detections, n_gt))
    least = least_average_precision(m, n, g)
    above = expected_average_precision(*at) - least_average_precision(*at)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(m * (n - m) / n**3) * (m / g)
        of_columns = np.sqrt(at[0] * (at[1] - at[0]) / at[1] ** 3) * (at[0] / at[2])
        ratio = np.where(of_columns > 0, spread / of_columns, 0.0)
    values = least + np.where((n > 0) & (above > 0), above * ratio, 0.0)
    few = (n <= MOST_EXACT) & (at[1] <= MOST_EXACT)
    values[few] = expected_average_precision(m[few], n[few], g[few])
    return np.where(g > 0, np.minimum(values, 1.0), np.nan)


def least_average_precision(n_hits: FloatArray, n_detections: FloatArray, n_gt: FloatArray) -> FloatArray:
    """Average precision in the least favourable order, all hits last: also what detections of one score have.

    Args:
        n_hits: any shape
        n_detections: same shape
        n_gt: same shape

    Undefined:
        nan without objects
    """
    n_hits, n_detections, n_gt = (np.asarray(each, np.float64) for each in (n_hits, n_detections, n_gt))
    with np.errstate(divide="ignore", invalid="ignore"):
        reached = (np.floor(n_hits / n_gt * (len(RECALLS) - 1) + 1e-9) + 1.0) / len(RECALLS)
        value = np.where(n_hits > 0, n_hits / n_detections * reached, 0.0)
    return np.where(n_gt > 0, value, np.nan)


def _exact(m: IntArray, n: IntArray, g: IntArray) -> FloatArray:
    """The expectation from the table, ``n ≤ MOST_EXACT``."""
    total, table = np.zeros(len(m)), expected_precisions()
    before = np.zeros(len(m), np.int64)
    for k in range(1, int(m.max(initial=0)) + 1):
        rows = np.flatnonzero(m >= k)  # next: the recall points for which k hits are enough
        reached = np.searchsorted(RECALLS, k / np.maximum(g[rows], 1), side="right")
        total[rows] += (reached - before[rows]) * table[m[rows], n[rows] - m[rows], k]
        before[rows] = reached
    return total / len(RECALLS)


@functools.cache
def expected_precisions(most: int = MOST_EXACT) -> FloatArray:
    """Expected precision from the ``k``-th hit on, of ``M`` hits and ``F`` others in random order.

    Returns:
        shape ``(most + 1, most + 1, most + 1)``, entry ``[M, F, k]``; 0 where ``M + F > most`` or not ``1 ≤ k ≤ M``

    Undefined:
        never
    """
    whole = np.arange(most + 1)
    above, below = np.meshgrid(whole[1:], whole[1:], indexing="ij")
    coprime = (np.gcd(above, below) == 1) & (above <= below)
    above, below = above[coprime], below[coprime]  # every fraction x up to 1 once
    order = np.argsort(above / below)
    above, below = above[order], below[order]
    width = np.diff(above / below)
    # fewest others before the j-th hit that keep j / (j + F_j) at x or below: ⌈j (1 - x) / x⌉
    fewest = -(-whole * (below - above)[:-1, None] // above[:-1, None])
    table = np.zeros((most + 1,) * 3)
    orders = comb(whole[:, None] + whole, whole)
    for first in range(0, len(width), _AT_ONCE):
        rows = slice(first, first + _AT_ONCE)
        ends = np.zeros((len(width[rows]), 0, most))  # [x, k, F]: paths to the end after the last hit
        for m in range(1, most + 1):
            here = whole[: most + 1 - m]
            of_m = np.broadcast_to(comb(m - 1 + here, m - 1), (len(ends), 1, len(here)))
            paths = np.concatenate([ends[:, :, : len(here)], of_m], axis=1)  # up to the m-th hit, low enough from k on
            paths *= here >= fewest[rows, m, None, None]
            ends = np.cumsum(paths, axis=2)
            table[m, : len(here), 1 : m + 1] += (np.tensordot(width[rows], ends, 1) / orders[m, : len(here)]).T
    hit, other, k = np.ogrid[: most + 1, : most + 1, : most + 1]
    return np.where((k >= 1) & (k <= hit) & (hit + other <= most), 1.0 - table, 0.0)


def _approximate(m: IntArray, n: IntArray, g: IntArray) -> FloatArray:
    """The expectation of many detections."""
    k = np.maximum(np.ceil(RECALLS * g[:, None] - 1e-9), 1.0)
    m, n = m[:, None].astype(np.float64), n[:, None].astype(np.float64)
    reached = k <= m
    m, k = np.maximum(m, 1.0), np.minimum(k, np.maximum(m, 1.0))
    p = m / n
    rest, of_half = (_remainder(p, 1.0 / k - 1.0 / m, among) for among in (MOST_EXACT, MOST_EXACT // 2))
    highest = p + _brownian(p, 1.0 / k - 1.0 / m) + (rest + _FURTHER * (rest - of_half)) / k
    value: FloatArray = np.where(reached, np.clip(highest, p, 1.0), 0.0).mean(axis=1)
    return value


def _brownian(p: FloatArray, inverse: FloatArray) -> FloatArray:
    """Expected maximum of a Brownian motion with the variance of the mean precision at hit ``k``, ``1/k - 1/M``."""
    return np.sqrt(2.0 / np.pi * p * (1.0 - p) * p * np.maximum(inverse, 0.0))


def _remainder(p: FloatArray, inverse: FloatArray, among: int) -> FloatArray:
    """``k`` times what the exact precision of ``among`` detections is above that of the motion with the same variance.

    Between the numbers of hits that have this share of hits, and between their places, it is interpolated.
    """
    table, share = expected_precisions(), p * among
    total = np.zeros(inverse.shape)
    low = np.clip(np.floor(share), 1, among - 1)
    part = np.clip(share - low, 0.0, 1.0)
    for m, weight in ((low, 1.0 - part), (low + 1, part)):
        rows = m.astype(np.int64)
        place = np.clip(m / share / (inverse + 1.0 / share), 1.0, m)
        for hit in (np.floor(place), np.minimum(np.floor(place) + 1, m)):
            exact = table[rows, among - rows, hit.astype(np.int64)]
            above = hit * (exact - m / among - _brownian(m / among, 1.0 / hit - 1.0 / m))
            total += weight * np.maximum(1.0 - np.abs(place - hit), 0.0) * above
    return total


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
