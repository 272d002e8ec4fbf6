"""Krippendorff's alpha with whole images as units: the distance of two annotations of an image is 1 - their score.

An annotation is everything that one annotator labelled on one image, or nothing. Observed are the distances of
annotations of the same image, expected those of annotations of different images (different videos or groups, if there
are any).

References:
    A. Braylan, O. Alonso, M. Lease, "Measuring annotator agreement generally across complex structured, multi-object,
    and free-text annotation tasks", WWW 2022 (the distances, and the numbers sigma and KS)
    K. Krippendorff, "Content analysis: an introduction to its methodology", 4th edition, 2019, chapter 12
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...metrics.bootstrap.draws import hstack, sparse
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from .numbers import Numbers, ratio
from .records import Hashes, Records, combined, hash_sums, mixed
from .report import ImageAlpha, number

#: most kinds of annotations whose pairs are all compared, and most pairs of their objects
MAX_KINDS, MAX_OBJECT_PAIRS = 141, 1_500_000
#: other pairs that are drawn at first, the greatest multiple of this number, and the standard error of alpha to reach
_FIRST_PAIRS, _MOST_TIMES, _ERROR = 10_000, 16, 0.00125
#: at least so many are drawn, however many objects they have
_FEWEST_PAIRS = 5
#: pairs of annotations that are compared at once, and samples whose sums are formed at once
_PAIRS_AT_ONCE, _SAMPLES_AT_ONCE = 5_000, 10_000
#: expected distances that are smaller are rounding errors
_LEAST_EXPECTED = 1e-9
#: distances that differ by less are the same: boxes of different images are compared in 32 bits
_SAME = 1e-6

#: distances of the pairs of annotations in two index columns, shape ``(P,)``
DistancesOf = Callable[[IntArray, IntArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Annotations:
    """The annotations of all units as columns; none of them depends on the order of images and annotators."""

    sample: IntArray  #: shape ``(A,)``
    content: Hashes  #: shape ``(A,)``, hash of the labels; annotations of one kind have the same
    n_objects: IntArray  #: shape ``(A,)``
    is_empty: BoolArray  #: shape ``(A,)``; one that is empty and one that is not have the distance 1, two empty ones 0
    distances: DistancesOf  #: compares annotations of different images


def image_distances(records: Records) -> tuple[BoolArray, FloatArray]:
    """Which samples are units, and the mean distance of the annotations on each of them, both ``(S,)``.

    Where everybody drew nothing, the annotations are equal, whether the image has a score or not.
    """
    counted = records.rated
    if "n_values" in records.rows:  # masks of which every pixel is ignored do not count
        counted = counted & (records.column("n_values") > 0)
    return counted, np.where(counted, 1.0 - np.nan_to_num(records.column("score"), nan=1.0), 0.0)


@dataclass(frozen=True, slots=True)
class ExpectedDistances:
    """The distances of annotations of different images, each with the number of pairs that it stands for."""

    distance: FloatArray  #: shape ``(P,)``
    n_pairs: FloatArray  #: shape ``(P,)``
    of_samples: FloatArray  #: shape ``(S, 2)``, sum of the distances to annotations of other images, and their number

    @classmethod
    def of(cls, annotations: Annotations, records: Records, clusters: IntArray | None) -> ExpectedDistances:
        """Compare annotations of different images, or of different ``clusters`` ``(S,)`` (videos, groups).

        Equal annotations are of one kind. All pairs with an empty annotation are counted, and all pairs of the most
        frequent kinds (of all kinds, if they are few). Of the other pairs some are drawn at random.
        """
        counted, distance = image_distances(records)
        n = records.assigned.sum(axis=1) * counted
        pairs = _Pairs.of(annotations, records.n_samples, clusters)
        return pairs.distances(float((n * distance).sum()) / max(float(n.sum()), 1.0))

    def __add__(self, other: ExpectedDistances) -> ExpectedDistances:
        distance, n_pairs = (
            np.concatenate(both) for both in ((self.distance, other.distance), (self.n_pairs, other.n_pairs))
        )
        return ExpectedDistances(distance, n_pairs, self.of_samples + other.of_samples)

    @property
    def mean(self) -> float:
        """The expected distance; nan where it is 0, or nothing was compared."""
        total = float(self.n_pairs.sum())
        mean = float((self.distance * self.n_pairs).sum()) / total if total else 0.0
        return mean if mean > _LEAST_EXPECTED else np.nan

    def numbers(self, records: Records) -> Numbers:
        """Alpha as a function of sums over the samples.

        Observed distances of an image of ``m`` annotators weigh ``m / (m (m - 1))`` each, as in Krippendorff's alpha.
        A resample in which image ``i`` occurs ``w_i`` times has the pair ``(i, j)`` ``w_i w_j`` times. To first order
        its mean is ``D ((Σ w_i d_i / Σ w_i n_i) / D)²``: ``d_i`` is the sum of the ``n_i`` distances of image ``i`` to
        others, ``D`` the mean of all.
        """
        (counted, distance), mean = image_distances(records), self.mean
        n_annotators = np.where(counted, records.assigned.sum(axis=1), 0)
        columns = np.column_stack([n_annotators * distance, n_annotators, self.of_samples])

        def formula(sums: FloatArray) -> FloatArray:
            by_chance = ratio(sums[..., 2], sums[..., 3]) ** 2 / mean
            return (1.0 - ratio(ratio(sums[..., 0], sums[..., 1]), by_chance))[..., None]

        return Numbers((("image_alpha.value",),), hstack([columns.astype(np.float64)]), formula, compared=np.array([1]))

    def summary(self, value: float | None, records: Records, pair_scores: FloatArray) -> ImageAlpha:
        """The part of the report; ``pair_scores`` are the scores of all pairs on one image, nan if undefined."""
        counted, distance = image_distances(records)
        n_annotators = records.assigned.sum(axis=1)[counted]
        unscored = n_annotators[np.isnan(records.column("score")[counted])]  # everybody drew nothing
        equal = np.zeros(int((unscored * (unscored - 1) // 2).sum()))
        observed = np.sort(np.concatenate([equal, 1.0 - pair_scores[~np.isnan(pair_scores)]]))
        order = np.argsort(self.distance, kind="stable")
        expected, up_to = self.distance[order], np.cumsum(self.n_pairs[order])
        total = float((n_annotators * distance[counted]).sum())
        # the share of observed distances below the 5 % quantile of the expected ones, and the most by which the share
        # of observed distances up to a value exceeds that of expected ones, 0 if never
        sigma = ks = np.nan
        if len(observed) and up_to.sum():
            place = 0.05 * (up_to[-1] - 1.0)
            low, high = (expected[np.searchsorted(up_to, k + 0.5)] for k in (np.floor(place), np.ceil(place)))
            quantile = low + (place - np.floor(place)) * (high - low)
            sigma = float(np.searchsorted(observed, quantile - _SAME)) / len(observed)
            at = np.concatenate([observed, expected]) + _SAME
            of_observed = np.searchsorted(observed, at, side="right") / len(observed)
            of_expected = np.concatenate([[0.0], up_to])[np.searchsorted(expected, at, side="right")] / up_to[-1]
            ks = max(0.0, float((of_observed - of_expected).max()))
        return ImageAlpha(
            value=value,
            observed=total / float(n_annotators.sum()) if len(n_annotators) else None,
            expected=number(self.mean),
            sigma=number(sigma),
            ks=number(ks),
            n_images=int(counted.sum()),
            n_expected=round(float(self.n_pairs.sum())),
        )


def pair_alpha(distance: FloatArray, expected: float) -> FloatArray:
    """Alpha of pairs of annotators from their mean distances, any shape; ``expected`` is that of the whole report."""
    return 1.0 - distance / expected


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The pairs of ``A`` annotations of different units."""

    annotations: Annotations
    unit: IntArray  #: shape ``(A,)``
    #: shape ``(A,)``, hash of an annotation and of what else is on its image, video or group; 0 of empty ones
    key: Hashes
    n_samples: int
    kind: IntArray  #: shape ``(A,)``, the place of its kind among those whose pairs are all counted; else -1
    example: IntArray  #: shape ``(K,)``, an annotation of each of these kinds

    @classmethod
    def of(cls, annotations: Annotations, n_samples: int, clusters: IntArray | None) -> _Pairs:
        """Choose the kinds: all, or the most frequent ones that occur more than once."""
        drawn = np.flatnonzero(~annotations.is_empty)
        _, first, kind, n = np.unique(
            annotations.content[drawn], return_index=True, return_inverse=True, return_counts=True
        )
        order = np.argsort(-n, kind="stable")
        n_objects = annotations.n_objects[drawn[first[order]]]
        within = np.flatnonzero(np.cumsum(n_objects) ** 2 + np.cumsum(n_objects**2) <= 2 * MAX_OBJECT_PAIRS)
        order = order[: min(MAX_KINDS, len(within))]
        if len(order) < len(n):
            order = order[n[order] > 1]
        place = np.full(len(n), -1)
        place[order] = np.arange(len(order))
        kinds = np.full(len(annotations.sample), -1)
        kinds[drawn] = place[kind]
        unit = annotations.sample if clusters is None else clusters[annotations.sample]
        unit, key = np.unique(unit, return_inverse=True)[1], np.zeros(len(unit), np.uint64)
        own = mixed(annotations.content[drawn])
        for owner in (annotations.sample[drawn], unit[drawn]):
            own = mixed(own + mixed(hash_sums(owner, own, int(owner.max(initial=-1)) + 1))[owner])
        key[drawn] = own
        return cls(annotations, unit, key, n_samples, kinds, drawn[first[order]])

    def distances(self, observed: float) -> ExpectedDistances:
        """The distances; ``observed`` is the mean distance of annotations of one image."""
        # the pairs of an empty annotation with another one, empty or not
        empty, n_of_unit = self.annotations.is_empty, np.bincount(self.unit)
        n_empty = sums_by(self.unit, empty.astype(np.int64), len(n_of_unit))
        others_empty = (n_empty.sum() - n_empty)[self.unit]
        others_drawn = (n_of_unit.sum() - n_of_unit)[self.unit] - others_empty
        apart = np.where(empty, others_drawn, others_empty)
        n_pairs = np.array([_n_pairs(n_empty), others_empty[~empty].sum()])
        columns = (apart, apart + np.where(empty, others_empty, 0.0))
        of_samples = [sums_by(self.annotations.sample, column, self.n_samples) for column in columns]
        with_empty = ExpectedDistances(np.array([0.0, 1.0]), n_pairs, np.column_stack(of_samples))
        # all pairs of the chosen kinds
        n, rows = len(self.example), np.flatnonzero(self.kind >= 0)
        i, j = np.triu_indices(n)
        distance = self._compared(self.example[i], self.example[j])
        table = np.zeros((n, n))
        table[i, j] = table[j, i] = distance
        sample, unit_of = self.annotations.sample, np.zeros(self.n_samples, np.int64)
        unit_of[sample] = self.unit
        by_sample, by_unit = (
            sparse(index[rows], self.kind[rows], np.ones(len(rows)), (int(size), n))
            for index, size in ((sample, self.n_samples), (self.unit, self.unit.max(initial=0) + 1))
        )
        total = np.bincount(self.kind[rows], minlength=n)
        n_pairs = (np.outer(total, total) - (by_unit.T @ by_unit).toarray()) / (1.0 + np.eye(n))
        sums = [np.empty((0, 2))]
        for first in range(0, self.n_samples, _SAMPLES_AT_ONCE):
            some = slice(first, first + _SAMPLES_AT_ONCE)
            others = total - by_unit[unit_of[some]].toarray()
            own = by_sample[some]
            sums.append(np.stack([((own @ table) * others).sum(axis=1), own.sum(axis=1) * others.sum(axis=1)], axis=1))
        counted = with_empty + ExpectedDistances(distance, n_pairs[i, j], np.concatenate(sums))
        n_left = _n_pairs(n_of_unit) - float(counted.n_pairs.sum())
        return counted + self._drawn(counted, n_left, observed) if n_left > 0.5 else counted

    def _drawn(self, counted: ExpectedDistances, n_left: float, observed: float) -> ExpectedDistances:
        """Some of the ``n_left`` pairs that are not counted; each stands for equally many of them.

        More are drawn if the first ones differ so much that the standard error of alpha would be too large.
        """
        i, j = self._circle()
        cost = np.cumsum(self.annotations.n_objects[i] * self.annotations.n_objects[j])
        n_first = min(_FIRST_PAIRS, max(_FEWEST_PAIRS, int(np.searchsorted(cost, MAX_OBJECT_PAIRS, side="right"))))
        distance = self._compared(i[:n_first], j[:n_first])
        n_all = float(counted.n_pairs.sum()) + n_left
        mean = (float((counted.distance * counted.n_pairs).sum()) + n_left * distance.mean()) / n_all
        error = n_left / n_all * distance.std() / np.sqrt(len(distance))
        needed = (observed * error / max(mean, _LEAST_EXPECTED) ** 2 / _ERROR) ** 2
        if needed > 1.0:
            most = n_first * min(_MOST_TIMES, 2 ** int(np.ceil(np.log2(needed))))
            distance = np.concatenate([distance, self._compared(i[n_first:most], j[n_first:most])])
        ends, each = np.concatenate([i[: len(distance)], j[: len(distance)]]), n_left / len(distance)
        columns = each * np.stack([np.tile(distance, 2), np.ones(len(ends))])
        # annotations that nothing but their number tells apart share what was drawn of them
        sample, tie = self.annotations.sample, np.unique(self.key, return_inverse=True)[1]
        sums = np.column_stack([sums_by(tie[ends], column, len(tie)) for column in columns])
        shared = (sums / np.maximum(np.bincount(tie, minlength=len(tie)), 1)[:, None])[tie]
        of_samples = np.column_stack([sums_by(sample, column, self.n_samples) for column in shared.T])
        return ExpectedDistances(distance, np.full(len(distance), each), of_samples)

    def _circle(self) -> tuple[IntArray, IntArray]:
        """Pairs of different units that are not counted: all, or more than are drawn.

        Annotations are put in a circle in the order of a hash, which depends neither on their similarity nor on the
        order of images and annotators. Each is paired with those at the other side of the circle, then with those one
        place nearer and so on, so that all occur equally often.
        """
        drawn = np.flatnonzero(~self.annotations.is_empty)
        order = drawn[np.lexsort((self.annotations.sample[drawn], self.unit[drawn], self.key[drawn]))]
        # annotations of one key are told apart by their number, as exchanging them changes nothing
        key = self.key[order]
        first = np.flatnonzero(np.r_[True, key[1:] != key[:-1]]) if len(key) else order
        number_of_key = np.arange(len(key)) - np.repeat(first, np.diff(np.r_[first, len(key)]))
        circle = order[np.argsort(combined(key, number_of_key), kind="stable")]
        counted, n, n_pairs = self.kind[circle] >= 0, len(circle), 0
        places, parts = np.flatnonzero(~counted), [np.empty((2, 0), np.int64)]
        for shift in range(n // 2, 0, -1):
            after, before = (places + shift) % n, (places - shift) % n
            first, second = np.tile(places, 2), np.concatenate([after, before])
            # a pair of two that are not counted occurs from both ends
            kept = np.concatenate(
                [counted[after] | (2 * shift < n) | (places < after), counted[before] & (2 * shift < n)]
            )
            pairs = circle[np.stack([first[kept], second[kept]])]
            parts.append(pairs[:, self.unit[pairs[0]] != self.unit[pairs[1]]])
            n_pairs += parts[-1].shape[1]
            if n_pairs > _MOST_TIMES * _FIRST_PAIRS:
                break
        i, j = np.concatenate(parts, axis=1)
        return i, j

    def _compared(self, i: IntArray, j: IntArray) -> FloatArray:
        """The distances of pairs of annotations."""
        starts = range(0, len(i), _PAIRS_AT_ONCE)
        parts = (self.annotations.distances(i[k : k + _PAIRS_AT_ONCE], j[k : k + _PAIRS_AT_ONCE]) for k in starts)
        return np.concatenate([np.empty(0), *parts])


def _n_pairs(n: FloatArray | IntArray) -> float:
    """Pairs of different units, from the number of annotations of each."""
    return float((n.sum() ** 2 - (n**2).sum()) / 2)
