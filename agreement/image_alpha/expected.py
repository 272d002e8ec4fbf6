"""Krippendorff's alpha with whole images as units: the distance of two annotations of an image is 1 - their score.

An annotation is everything that one annotator labelled on one image. Observed are the distances of annotations of the
same image, expected those of annotations of different images (different videos or groups, if there are any).

References:
    A. Braylan, O. Alonso, M. Lease, "Measuring annotator agreement generally across complex structured, multi-object,
    and free-text annotation tasks", WWW 2022 (the distances, and the numbers sigma and KS)
    K. Krippendorff, "Content analysis: an introduction to its methodology", 4th edition, 2019, chapter 12
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...metrics.bootstrap.draws import hstack
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ..statistics.content_order import Hashes, hash_sums, mixed
from ..statistics.numbers import Numbers, ratio
from ..statistics.records import Records
from ..statistics.report import ImageAlpha, number

#: pairs of annotations of different images that are compared at most, and pairs of their objects
MAX_PAIRS, MAX_OBJECT_PAIRS = 10_000, 1_500_000
#: pairs of annotations that are compared at once
_PAIRS_AT_ONCE = 5_000
#: expected distances that are smaller are rounding errors
_LEAST_EXPECTED = 1e-9

#: distances of the pairs of annotations in two index columns, shape ``(P,)``
DistancesOf = Callable[[IntArray, IntArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Annotations:
    """The annotations of scored images as columns; none of them depends on the order of images and annotators."""

    sample: IntArray  #: shape ``(A,)``
    content: Hashes  #: shape ``(A,)``, hash of the labels
    n_objects: IntArray  #: shape ``(A,)``
    distances: DistancesOf  #: compares annotations of different images


def are_scored(records: Records) -> BoolArray:
    """Samples with a score, shape ``(S,)``; only they are units."""
    scored: BoolArray = records.rated & ~np.isnan(records.column("score"))
    return scored


@dataclass(frozen=True, slots=True)
class ExpectedDistances:
    """The distances of annotations of different images: of all pairs, or of a sample that content alone chooses."""

    i: IntArray  #: shape ``(P,)``, sample of the first annotation
    j: IntArray  #: shape ``(P,)``, sample of the second
    distance: FloatArray  #: shape ``(P,)``

    @classmethod
    def of(cls, annotations: Annotations, clusters: IntArray | None) -> ExpectedDistances:
        """Compare annotations of different images, or of different ``clusters`` ``(S,)`` (videos, groups)."""
        sample = annotations.sample
        unit = sample if clusters is None else clusters[sample]
        i, j = _pairs(_order(annotations.content, sample, unit), unit, annotations.n_objects)
        parts = [
            annotations.distances(i[start : start + _PAIRS_AT_ONCE], j[start : start + _PAIRS_AT_ONCE])
            for start in range(0, len(i), _PAIRS_AT_ONCE)
        ]
        return cls(sample[i], sample[j], np.concatenate([np.empty(0), *parts]))

    @classmethod
    def none(cls) -> ExpectedDistances:
        """No distances."""
        nothing = np.empty(0, np.int64)
        return cls(nothing, nothing, np.empty(0))

    @property
    def mean(self) -> float:
        """The expected distance; nan where it is 0, or nothing was compared."""
        mean = float(self.distance.mean()) if len(self.distance) else 0.0
        return mean if mean > _LEAST_EXPECTED else np.nan

    def numbers(self, records: Records) -> Numbers:
        """Alpha as a function of sums over the samples.

        Observed distances of an image of ``m`` annotators weigh ``m / (m (m - 1))`` each, as in Krippendorff's alpha.
        A resample in which image ``i`` occurs ``w_i`` times has the pair ``(i, j)`` ``w_i w_j`` times. To first order
        its mean is ``D ((Σ w_i d_i / Σ w_i n_i) / D)²``: ``d_i`` is the sum of the ``n_i`` distances of image ``i`` to
        others, ``D`` the mean of all.
        """
        n_samples, scored, mean = records.n_samples, are_scored(records), self.mean
        n_annotators = np.where(scored, records.assigned.sum(axis=1), 0)
        observed = n_annotators * (1.0 - np.where(scored, records.column("score"), 0.0))
        ends = np.concatenate([self.i, self.j])
        expected = np.bincount(ends, np.tile(self.distance, 2), n_samples)
        columns = np.column_stack([observed, n_annotators, expected, np.bincount(ends, minlength=n_samples)])

        def formula(sums: FloatArray) -> FloatArray:
            by_chance = ratio(sums[..., 2], sums[..., 3]) ** 2 / mean
            return (1.0 - ratio(ratio(sums[..., 0], sums[..., 1]), by_chance))[..., None]

        return Numbers((("image_alpha.value",),), hstack([columns.astype(np.float64)]), formula, compared=np.array([1]))

    def summary(self, value: float | None, records: Records, pair_scores: FloatArray) -> ImageAlpha:
        """The part of the report; ``pair_scores`` are those of all pairs of annotations of one image, nan without."""
        observed = np.sort(1.0 - pair_scores[~np.isnan(pair_scores)])
        expected = np.sort(self.distance)
        scored = are_scored(records)
        n_annotators = records.assigned[scored].sum(axis=1)
        total = float((n_annotators * (1.0 - records.column("score")[scored])).sum())
        return ImageAlpha(
            value=value,
            observed=total / float(n_annotators.sum()) if len(n_annotators) else None,
            expected=number(self.mean),
            sigma=number(_share_below_chance(observed, expected)),
            ks=number(_largest_difference(observed, expected)),
            n_images=int(scored.sum()),
            n_expected=len(expected),
        )


def pair_alpha(score: FloatArray, expected: float) -> FloatArray:
    """Alpha of pairs of annotators from their mean scores, any shape; all have the expected distance of the whole."""
    return 1.0 - (1.0 - score) / expected


def _order(content: Hashes, sample: IntArray, unit: IntArray) -> IntArray:
    """The annotations in a pseudo-random order that their content decides.

    Equal annotations of different images are told apart by what else is on the image, and in the video or group.
    """
    key = mixed(content)
    for owner in (sample, unit):
        key = mixed(key + mixed(hash_sums(owner, key, int(owner.max(initial=-1)) + 1))[owner])
    return np.argsort(key, kind="stable")


def _pairs(order: IntArray, unit: IntArray, n_objects: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs of annotations of different units: all, or as many as can be compared.

    The annotations stand in a circle; each is compared with the next, then with the second next and so on, so that all
    are compared equally often.
    """
    n, n_pairs, n_compared = len(order), 0, 0
    parts: list[IntArray] = [np.empty((2, 0), np.int64)]
    for shift in range(1, n // 2 + 1):
        own = order[:shift] if 2 * shift == n else order
        pairs = np.stack([own, np.roll(order, -shift)[: len(own)]])
        pairs = pairs[:, unit[pairs[0]] != unit[pairs[1]]]
        cost = n_compared + np.cumsum(n_objects[pairs[0]] * n_objects[pairs[1]])
        fits = min(MAX_PAIRS - n_pairs, int(np.searchsorted(cost, MAX_OBJECT_PAIRS, side="right")))
        parts.append(pairs[:, :fits])
        if fits < pairs.shape[1]:
            break
        n_pairs, n_compared = n_pairs + fits, int(cost[-1]) if len(cost) else n_compared
    i, j = np.concatenate(parts, axis=1)
    return i, j


def _share_below_chance(observed: FloatArray, expected: FloatArray) -> float:
    """Share of the observed distances below the 5 % quantile of the expected ones; both sorted."""
    if not len(observed) or not len(expected):
        return np.nan
    return float(np.searchsorted(observed, np.quantile(expected, 0.05) - _LEAST_EXPECTED)) / len(observed)


def _largest_difference(observed: FloatArray, expected: FloatArray) -> float:
    """Largest difference of the shares of observed and expected distances up to a value; both sorted."""
    if not len(observed) or not len(expected):
        return np.nan
    at = np.concatenate([observed, expected])
    below = (np.searchsorted(values, at, side="right") / len(values) for values in (observed, expected))
    return max(0.0, float(np.subtract(*below).max()))
