"""Estimate the matching threshold from the data: agreement of annotators against overlap by chance.

The best similarity of an object with the objects of another annotator is taken on the same image (observed) and on
another image (expected by chance). Where the two densities cross, a match is as likely chance as agreement.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ..geometry.objects import Geometry, Objects, Overlaps, Similarity
from ..numeric.arrays import BoolArray, FloatArray, IntArray, ranges

G = TypeVar("G", bound=Geometry)

#: most pairs of objects of different samples that are compared (more if one other sample for each needs more)
MAX_PAIRS = 1_000_000
#: pairs of objects of different samples, or values of objects and annotators, that are compared together
_PAIRS_AT_ONCE = 5_000_000
#: bins of the histograms, of equal width from 0 to 1
N_BINS = 20

_GRID = 1000

TOO_FEW, NO_VARIATION, NO_CROSSING = "too_few_values", "no_variation", "no_crossing"


@dataclass(frozen=True, slots=True)
class ThresholdFromData:
    """The threshold, and how well any threshold can separate agreement from chance.

    Attributes:
        threshold: similarity at which the densities cross
        ks: largest difference of the two cumulative distributions, in [0, 1]; 1 if a threshold separates them fully
        n_observed: number of observed best similarities
        n_expected: number of expected best similarities
        observed: shape ``(20,)``, histogram with bins of 0.05 from 0 to 1; the last bin includes 1
        expected: shape ``(20,)``, likewise
        reason: why there is no threshold, or an empty string: ``too_few_values``; ``no_variation`` (all observed or all
            expected values are equal, so that there is no density); ``no_crossing`` (agreement is nowhere more likely
            than chance, or is so even for objects that do not overlap)

    Undefined:
        ``threshold`` is nan if there is a ``reason``; ``ks`` is nan without values
    """

    threshold: float
    ks: float
    n_observed: int
    n_expected: int
    observed: IntArray
    expected: IntArray
    reason: str


def best_similarities(
    objects: Objects, overlaps: Overlaps, assigned: BoolArray, *, similarity: Similarity = "iou"
) -> FloatArray:
    """The best similarity of every object with the objects of every other annotator assigned to its sample.

    Args:
        objects: ``N`` objects
        overlaps: the overlapping pairs among them
        assigned: shape ``(S, R)``, whether an annotator was assigned to a sample
        similarity: IoU or Dice

    Returns:
        one value for every object and other annotator, 0 where nothing overlaps
    """
    n_annotators = assigned.shape[1]
    best = _best(overlaps, objects.annotator, n_annotators, similarity)
    compared = assigned[objects.sample]
    compared[np.arange(len(objects)), objects.annotator] = False
    similarities: FloatArray = best[compared]
    return similarities


def _best(overlaps: Overlaps, annotator: IntArray, n_annotators: int, similarity: Similarity) -> FloatArray:
    """The best similarity of every object with every annotator, shape ``(N, R)``; 0 where nothing overlaps."""
    best = np.zeros(len(annotator) * n_annotators)
    values = overlaps.similarity(similarity)
    for own, other in ((overlaps.i, overlaps.j), (overlaps.j, overlaps.i)):
        np.maximum.at(best, own * n_annotators + annotator[other], values)
    return best.reshape(-1, n_annotators)


def similarities_between_samples(
    objects: Objects,
    geometry: G,
    assigned: BoolArray,
    *,
    similarity: Similarity = "iou",
    rng: np.random.Generator,
    max_pairs: int = MAX_PAIRS,
) -> FloatArray:
    """The best similarity of every object with the objects of every annotator of other samples, drawn at random.

    All samples share one canvas: boxes and keypoints in relative coordinates, other geometry in pixels. The samples
    are placed in a circle in random order. Each is compared with its neighbours on either side, then with the second
    next and so on, until ``max_pairs`` is reached or all are compared.

    Args:
        objects: ``N`` objects
        geometry: geometry of the objects
        assigned: shape ``(S, R)``, whether an annotator was assigned to a sample
        similarity: IoU or Dice
        rng: random generator for the order of the samples
        max_pairs: most pairs of objects compared (more if the neighbours alone need more)

    Returns:
        one value for every object, other sample and annotator assigned to that sample, 0 where nothing overlaps

    Undefined:
        no values with fewer than two samples
    """
    n_samples = len(assigned)
    n_objects = np.bincount(objects.sample, minlength=n_samples)
    first_object = np.cumsum(n_objects) - n_objects
    circle = rng.permutation(n_samples)
    parts = []
    n_pairs = 0
    for shift in range(1, n_samples // 2 + 1):
        opposite = 2 * shift == n_samples  # half of the circle meets the other half
        own = circle[:shift] if opposite else circle
        other = np.roll(circle, -shift)[: len(own)]
        n_pairs += int((n_objects[own] * n_objects[other]).sum())
        if shift > 1 and n_pairs > max_pairs:
            break
        size = np.maximum(n_objects[own] * n_objects[other], (n_objects[own] + n_objects[other]) * assigned.shape[1])
        piece = np.cumsum(size) // _PAIRS_AT_ONCE
        for start, end in itertools.pairwise([*np.flatnonzero(np.diff(piece, prepend=-1)).tolist(), len(own)]):
            # an artificial sample for every pair of samples; the objects of each sample belong to one annotator
            first, second = own[start:end], other[start:end]
            two = np.stack([first, second], axis=1).ravel()
            rows = ranges(first_object[two], n_objects[two])
            side = np.repeat(np.tile([0, 1], len(first)), n_objects[two])
            pair = np.repeat(np.arange(len(first)), n_objects[first] + n_objects[second])
            overlaps = geometry.take(rows).overlaps(Objects(pair, side, np.zeros(len(rows), np.int64)))
            best = _best(overlaps, objects.annotator[rows], assigned.shape[1], similarity)
            parts.append(best[assigned[np.stack([second, first], axis=1)[pair, side]]])
    return np.concatenate([np.empty(0), *parts])


def threshold_from_data(observed: FloatArray, expected: FloatArray, n_objects: int) -> ThresholdFromData:
    """The threshold where the densities of observed and expected best similarities cross.

    The densities are Gaussian kernel estimates (bandwidth by Scott's rule) over the distance, 1 - similarity, as in
    kalos. The threshold is the first crossing beyond the mode of the observed distances. The mode is taken where
    agreement is more likely than chance (kalos: anywhere, so it finds no threshold if many objects are missed). If both
    densities vanish between the two, the threshold is the middle of that gap.

    Args:
        observed: best similarities on the same sample, in [0, 1]
        expected: best similarities on other samples
        n_objects: number of objects behind ``expected``, used for its bandwidth: several values of one object are not
            independent

    Undefined:
        as :class:`ThresholdFromData`

    References:
        D. Tschirschwitz and V. Rodehorst, "KALOS finds Consensus", CVPR 2026, and the program kalos 0.8.0
    """
    histograms = [np.histogram(values, bins=N_BINS, range=(0.0, 1.0))[0] for values in (observed, expected)]
    distance, reason = _crossing(1.0 - observed, 1.0 - expected, n_objects)
    ks = np.nan  # Kolmogorov-Smirnov distance in the direction in which observed similarities are greater
    if len(observed) and len(expected):
        at = np.unique(np.concatenate([observed, expected]))
        below = (np.searchsorted(np.sort(values), at, side="left") / len(values) for values in (expected, observed))
        ks = max(0.0, float(np.subtract(*below).max()))
    return ThresholdFromData(
        threshold=1.0 - distance,
        ks=ks,
        n_observed=len(observed),
        n_expected=len(expected),
        observed=histograms[0],
        expected=histograms[1],
        reason=reason,
    )


def _crossing(observed: FloatArray, expected: FloatArray, n_objects: int) -> tuple[float, str]:
    """The distance from which chance is more likely than agreement; nan and the reason if there is none."""
    if min(len(observed), len(expected), n_objects) < 2:
        return np.nan, TOO_FEW
    if np.ptp(observed) == 0.0 or np.ptp(expected) == 0.0:
        return np.nan, NO_VARIATION
    density = _density(observed, len(observed))
    excess = density - _density(expected, n_objects)
    peak = int(np.where(excess > 0.0, density, 0.0).argmax())
    chance = np.flatnonzero(excess[peak:] < 0.0)
    if not excess[peak] > 0.0 or not len(chance):
        return np.nan, NO_CROSSING
    first = peak + int(chance[0])
    last = int(np.flatnonzero(excess[:first] > 0.0)[-1])  # both densities vanish between ``last`` and ``first``
    return (last + first) / (2 * _GRID), ""


def _density(distances: FloatArray, n: int) -> FloatArray:
    """Gaussian kernel density at 0, 0.001 … 1, up to a factor; the bandwidth is that for ``n`` values."""
    bandwidth = n**-0.2 * float(distances.std(ddof=1))
    position = np.clip(distances, 0.0, 1.0) * _GRID
    below = np.minimum(position.astype(np.int64), _GRID - 1)
    upper = position - below  # a value is split between the two nearest points of the grid
    weight = np.bincount(below, 1.0 - upper, _GRID + 1) + np.bincount(below + 1, upper, _GRID + 1)
    offset = np.arange(-_GRID, _GRID + 1) / (_GRID * bandwidth)
    kernel = np.exp(-0.5 * offset**2)
    density: FloatArray = np.convolve(weight, kernel)[_GRID : 2 * _GRID + 1] / (len(distances) * bandwidth)
    return density
