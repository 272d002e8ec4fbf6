"""Statistics that add up over batches: everything a report needs, of any number of samples."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...metrics.alpha import NominalTally
from ...metrics.arrays import BoolArray, FloatArray, IntArray, ranges, sums_by
from ...metrics.geometry import Geometry
from ...metrics.keypoints import Keypoints, object_scale, visibility_agreement
from ...metrics.overlaps import dice_from_iou
from ...metrics.regions import Regions
from ..classes import MISSING
from ..config import AgreementConfig
from .compute import ALPHA_REASONS, NO_VERDICT, VERDICTS, Agreement, MatchedPairs, Ratings
from .tracks import TrackCounts, count_tracks

_SHIFT = 1 << 31  # category codes stay below


@dataclass(frozen=True, slots=True)
class SparseCounts:
    """How often each (row, category) occurs, for many rows and categories of which most pairs never occur."""

    keys: IntArray
    counts: IntArray

    @classmethod
    def of(cls, row: IntArray, category: IntArray) -> SparseCounts:
        """Count the pairs of two columns."""
        return cls(*np.unique(row * _SHIFT + category, return_counts=True))

    def __add__(self, other: SparseCounts) -> SparseCounts:
        keys, inverse = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        counts = np.zeros(len(keys), np.int64)
        np.add.at(counts, inverse, np.concatenate([self.counts, other.counts]))
        return SparseCounts(keys, counts)

    def rows(self) -> IntArray:
        """Row of every entry."""
        rows: IntArray = self.keys // _SHIFT
        return rows

    def categories(self) -> IntArray:
        """Category of every entry."""
        categories: IntArray = self.keys % _SHIFT
        return categories


@dataclass(frozen=True, slots=True)
class Moments:
    """Number, mean and sum of squared deviations of the values of every row; added without loss of precision.

    References:
        T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample
        variances", 1979
    """

    n: IntArray
    mean: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, row: IntArray, values: FloatArray, n_rows: int) -> Moments:
        """The moments of the values of every row; rows without a value have the mean 0."""
        n = np.bincount(row, minlength=n_rows)
        mean = sums_by(row, values, n_rows) / np.maximum(n, 1)
        return cls(n, mean, sums_by(row, (values - mean[row]) ** 2, n_rows))

    def __add__(self, other: Moments) -> Moments:
        n = self.n + other.n
        share = other.n / np.maximum(n, 1)
        distance = other.mean - self.mean
        return Moments(n, self.mean + distance * share, self.squares + other.squares + distance**2 * self.n * share)


@dataclass(frozen=True, slots=True)
class PairStatistics:
    """Sums over the samples that both annotators of a pair were assigned to; every column has the shape ``(P,)``.

    ``P`` counts the pairs of ``R`` annotators in the order (0, 1), (0, 2) … (R - 2, R - 1).

    Attributes:
        n_samples: shared samples
        n_scored: those with a score
        score: sum of the pair's scores
        n_a: objects of the first annotator
        n_b: objects of the second
        n_matched: units with both
        n_same_class: those in which they agree on the class
        iou: sum of IoU over units with both
        dice: sum of Dice over units with both
        iou_same_class: sum of IoU over units with both and one class
        n_empty: shared samples that count as agreement on nothing
        a_to_b: over samples, mean over ``a``'s objects of the best IoU with ``b``'s
        b_to_a: the other direction
        symmetric: over samples, mean of the two directions
        n_aligned: mutual best pairs (method ``mutual_best``)
        recall: sum over them of shared area / area of ``a``'s object
        precision: sum over them of shared area / area of ``b``'s object
        visibility: sum over pairs of matched keypoints of the share of points that both labelled; 0 of other labels
    """

    n_samples: IntArray
    n_scored: IntArray
    score: FloatArray
    n_a: IntArray
    n_b: IntArray
    n_matched: IntArray
    n_same_class: IntArray
    iou: FloatArray
    dice: FloatArray
    iou_same_class: FloatArray
    n_empty: IntArray
    a_to_b: Moments
    b_to_a: Moments
    symmetric: Moments
    n_aligned: IntArray
    recall: FloatArray
    precision: FloatArray
    visibility: FloatArray

    def __add__(self, other: PairStatistics) -> PairStatistics:
        return PairStatistics(
            *(getattr(self, field.name) + getattr(other, field.name) for field in dataclasses.fields(self))
        )


@dataclass(frozen=True, slots=True)
class AgreementStatistics:
    """Sufficient statistics of any number of samples.

    Attributes:
        joint: ratings of units as alpha counts them
        given_match: ratings of units with at least two members, missing left out
        votes: shape ``(R + 1, R + 1)``, entry ``[n, k]``: units on samples with ``n`` assigned that ``k`` drew
        verdicts: shape ``(R, 4)``, objects of every annotator with every verdict
        pairs: sums for every pair of annotators
        pair_classes: classes of the objects that the alpha of a pair counts, rows are pairs
        annotator_classes: classes of every annotator's objects, rows are annotators
        n_assigned: shape ``(R,)``, samples each annotator was assigned to
        n_drew_nothing: shape ``(R,)``, those in which they drew nothing
        n_missed: shape ``(R,)``, units of two or more others that an assigned annotator did not draw
        alpha_reasons: shape ``(5,)``, samples whose alpha is undefined for each of ``ALPHA_REASONS``
        score: shape ``(S,)``, score of every sample; nan where not scored
        alpha: shape ``(S,)``, alpha of every sample; nan where undefined
        n_rated: samples with at least two assigned annotators
        n_empty: rated samples in which nobody drew anything
        n_units: units of rated samples
        n_objects: objects of rated samples
        n_hard: components of objects that needed a decision
        n_inexact: those too large for an exact solution
        n_repaired: polygons that had to be repaired
        n_crowd: shape ``(R,)``, labels of every annotator that are crowd, or explained by one of somebody else
        iou: sum of IoU over all pairs of matched objects
        dice: sum of Dice
        n_matched_pairs: number of those pairs
        n_points: keypoints without an extent, which have a single labelled point, or several in one place
        tracks: how often the tracks of annotators met on frames
    """

    joint: NominalTally
    given_match: NominalTally
    votes: IntArray
    verdicts: IntArray
    pairs: PairStatistics
    pair_classes: SparseCounts
    annotator_classes: SparseCounts
    n_assigned: IntArray
    n_drew_nothing: IntArray
    n_missed: IntArray
    alpha_reasons: IntArray
    score: FloatArray
    alpha: FloatArray
    n_rated: int
    n_empty: int
    n_units: int
    n_objects: int
    n_hard: int
    n_inexact: int
    n_repaired: int
    n_crowd: IntArray
    iou: float
    dice: float
    n_matched_pairs: int
    n_points: int
    tracks: TrackCounts

    def __add__(self, other: AgreementStatistics) -> AgreementStatistics:
        per_sample = {"score", "alpha"}
        total: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            own, others = getattr(self, field.name), getattr(other, field.name)
            total[field.name] = np.concatenate([own, others]) if field.name in per_sample else own + others
        return AgreementStatistics(**total)


def pair_names(n_annotators: int) -> tuple[IntArray, IntArray]:
    """Annotators ``(a, b)`` of every pair, in the order of :class:`PairStatistics`."""
    a, b = np.triu_indices(n_annotators, 1)
    return a, b


def _pair_number(a: IntArray, b: IntArray, n_annotators: int) -> IntArray:
    number: IntArray = a * n_annotators - a * (a + 1) // 2 + (b - a - 1)
    return number


def summarise(agreement: Agreement, config: AgreementConfig) -> AgreementStatistics:
    """The statistics of a batch."""
    batch, units = agreement.batch, agreement.units
    objects = batch.objects
    n_annotators = batch.assigned.shape[1]
    rated, n_objects = agreement.rated, agreement.n_objects
    verdict = units.verdict[agreement.matching.unit]
    has_verdict = verdict != NO_VERDICT
    votes = np.zeros((n_annotators + 1, n_annotators + 1), np.int64)
    counted = units.verdict != NO_VERDICT
    np.add.at(votes, (units.assigned[counted], units.votes[counted]), 1)
    verdicts = np.bincount(
        objects.annotator[has_verdict] * len(VERDICTS) + verdict[has_verdict],
        minlength=n_annotators * len(VERDICTS),
    ).reshape(n_annotators, len(VERDICTS))
    drew = np.zeros(batch.assigned.shape, np.bool_)
    drew[objects.sample, objects.annotator] = True
    ratings = agreement.ratings
    return AgreementStatistics(
        joint=_tally(ratings),
        given_match=_tally(_without_missing(ratings)),
        votes=votes,
        verdicts=verdicts,
        pairs=_pair_statistics(agreement, config),
        pair_classes=_pair_classes(agreement, config),
        annotator_classes=SparseCounts.of(objects.annotator, objects.category),
        n_assigned=batch.assigned.sum(axis=0),
        n_drew_nothing=(batch.assigned & ~drew).sum(axis=0),
        n_missed=_missed(agreement),
        alpha_reasons=np.bincount(agreement.alpha_reason, minlength=len(ALPHA_REASONS)),
        score=agreement.score,
        alpha=agreement.alpha,
        n_rated=int(rated.sum()),
        n_empty=int((rated & (n_objects == 0)).sum()),
        n_units=int(agreement.n_units[rated].sum()),
        n_objects=int(n_objects[rated].sum()),
        n_hard=agreement.matching.n_hard,
        n_inexact=agreement.matching.n_inexact,
        n_repaired=batch.geometry.n_repaired if isinstance(batch.geometry, Regions) else 0,
        n_crowd=agreement.n_crowd,
        iou=float(agreement.pairs.iou.sum()),
        dice=float(dice_from_iou(agreement.pairs.iou).sum()),
        n_matched_pairs=len(agreement.pairs.i),
        n_points=_without_extent(batch.geometry),
        tracks=_track_counts(agreement),
    )


def _without_extent(geometry: Geometry) -> int:
    if not isinstance(geometry, Keypoints):
        return 0
    return int((object_scale(geometry.points_xy) == 0.0).sum())


def _track_counts(agreement: Agreement) -> TrackCounts:
    batch, pairs = agreement.batch, agreement.pairs
    if batch.tracks is None:
        return TrackCounts()
    objects = batch.objects
    return count_tracks(batch.tracks, objects.sample, objects.annotator, batch.assigned, (pairs.i, pairs.j))


def _visibility(geometry: Geometry, pairs: MatchedPairs) -> FloatArray:
    """Share of points that both labelled, of every pair of matched keypoints; 0 of other labels."""
    if not isinstance(geometry, Keypoints):
        return np.zeros(len(pairs.i))
    points = geometry.points_xy
    return visibility_agreement(points[pairs.i], points[pairs.j])


def _tally(ratings: Ratings) -> NominalTally:
    return NominalTally.from_counts(ratings.unit, ratings.category, ratings.count)


def _without_missing(ratings: Ratings) -> Ratings:
    kept = ratings.category != MISSING
    return dataclasses.replace(
        ratings, unit=ratings.unit[kept], category=ratings.category[kept], count=ratings.count[kept]
    )


def _missed(agreement: Agreement) -> IntArray:
    """Units of two or more members that an annotator assigned to the sample did not draw, shape ``(R,)``."""
    batch, units = agreement.batch, agreement.units
    shared = (units.verdict != NO_VERDICT) & (units.votes >= 2)
    of_sample = np.bincount(units.sample[shared], minlength=batch.n_samples)
    could_draw = of_sample @ batch.assigned
    drew = np.bincount(batch.objects.annotator[shared[agreement.matching.unit]], minlength=batch.assigned.shape[1])
    missed: IntArray = could_draw - drew
    return missed


def _pair_statistics(agreement: Agreement, config: AgreementConfig) -> PairStatistics:
    batch, pairs, shared = agreement.batch, agreement.pairs, agreement.sample_pairs
    objects = batch.objects
    n_annotators = batch.assigned.shape[1]
    n_pairs = n_annotators * (n_annotators - 1) // 2
    of_sample = _pair_number(shared.a, shared.b, n_annotators)
    of_match = _pair_number(objects.annotator[pairs.i], objects.annotator[pairs.j], n_annotators)
    count = functools.partial(np.bincount, minlength=n_pairs)
    add = functools.partial(sums_by, n=n_pairs)

    scored = ~np.isnan(agreement.pair_score)
    all_empty = np.zeros(len(of_sample), np.bool_)
    if config.empty == "agree":
        all_empty = agreement.n_objects[shared.sample] == 0
    return PairStatistics(
        n_samples=count(of_sample),
        n_scored=count(of_sample[scored]),
        score=add(of_sample[scored], agreement.pair_score[scored]),
        n_a=add(of_sample, shared.n_a).astype(np.int64),
        n_b=add(of_sample, shared.n_b).astype(np.int64),
        n_matched=count(of_match),
        n_same_class=count(of_match[pairs.same_class]),
        iou=add(of_match, pairs.iou),
        dice=add(of_match, dice_from_iou(pairs.iou)),
        iou_same_class=add(of_match[pairs.same_class], pairs.iou[pairs.same_class]),
        n_empty=count(of_sample[all_empty]),
        visibility=add(of_match, _visibility(batch.geometry, pairs)),
        **_best_overlaps(agreement, of_sample, n_pairs),
        **_alignment_sums(agreement, objects.annotator, n_annotators, n_pairs),
    )


def _best_overlaps(agreement: Agreement, of_sample: IntArray, n_pairs: int) -> dict[str, Any]:
    """Sums and sums of squares over samples of the mean of the best IoU, for every pair in both directions."""
    batch, shared, overlaps = agreement.batch, agreement.sample_pairs, agreement.overlaps
    objects = batch.objects
    iou = overlaps.similarity("iou")
    width = int(agreement.n_assigned.max(initial=0))
    best = np.zeros(len(objects) * width)  # of every object with each annotator assigned to its sample
    for own, other in ((overlaps.i, overlaps.j), (overlaps.j, overlaps.i)):
        np.maximum.at(best, own * width + shared.rank(objects.sample[other], objects.annotator[other]), iou)
    n_annotators = batch.assigned.shape[1]
    block = objects.sample * n_annotators + objects.annotator
    starts = np.flatnonzero(np.r_[True, np.diff(block) != 0]) if len(block) else np.empty(0, np.int64)
    sums = np.zeros((batch.n_samples * width, width))
    if len(starts):
        rank = shared.rank(objects.sample[starts], objects.annotator[starts])
        sums[objects.sample[starts] * width + rank] = np.add.reduceat(best.reshape(-1, width), starts, axis=0)
    rank_a, rank_b = shared.rank(shared.sample, shared.a), shared.rank(shared.sample, shared.b)
    a_to_b = sums[shared.sample * width + rank_a, rank_b] / np.maximum(shared.n_a, 1)
    b_to_a = sums[shared.sample * width + rank_b, rank_a] / np.maximum(shared.n_b, 1)
    drew_a, drew_b = shared.n_a > 0, shared.n_b > 0

    def moments(values: FloatArray, defined: BoolArray) -> Moments:
        return Moments.of(of_sample[defined], values[defined], n_pairs)

    return {
        "a_to_b": moments(a_to_b, drew_a),
        "b_to_a": moments(b_to_a, drew_b),
        "symmetric": moments((a_to_b + b_to_a) / 2.0, drew_a | drew_b),
    }


def _alignment_sums(agreement: Agreement, annotator: IntArray, n_annotators: int, n_pairs: int) -> dict[str, Any]:
    aligned = agreement.matching.aligned
    if aligned is None:
        return {"n_aligned": np.zeros(n_pairs, np.int64), "recall": np.zeros(n_pairs), "precision": np.zeros(n_pairs)}
    i, j = aligned
    overlaps = agreement.overlaps
    shared_area = overlaps.values_at(overlaps.intersection, i, j)
    rows = _pair_number(annotator[i], annotator[j], n_annotators)
    return {
        "n_aligned": np.bincount(rows, minlength=n_pairs),
        "recall": sums_by(rows, shared_area / overlaps.area[i], n_pairs),
        "precision": sums_by(rows, shared_area / overlaps.area[j], n_pairs),
    }


def _pair_classes(agreement: Agreement, config: AgreementConfig) -> SparseCounts:
    """Classes of both annotators' objects for every pair: all on shared samples, or the matched ones only."""
    batch, pairs = agreement.batch, agreement.pairs
    objects = batch.objects
    n_annotators = batch.assigned.shape[1]
    if config.missing == "ignore":
        rows = _pair_number(objects.annotator[pairs.i], objects.annotator[pairs.j], n_annotators)
        return SparseCounts.of(np.r_[rows, rows], np.r_[objects.category[pairs.i], objects.category[pairs.j]])
    shared = agreement.sample_pairs
    parts = []
    # rows of the objects of one annotator on one sample stand together
    block = objects.sample * n_annotators + objects.annotator
    of_pair = _pair_number(shared.a, shared.b, n_annotators)
    for annotator, n in ((shared.a, shared.n_a), (shared.b, shared.n_b)):
        first = np.searchsorted(block, shared.sample * n_annotators + annotator)
        rows = np.repeat(of_pair, n)
        parts.append((rows, objects.category[ranges(first, n)]))
    return SparseCounts.of(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def pair_tally(statistics: AgreementStatistics, config: AgreementConfig, pair: int) -> NominalTally:
    """The ratings that the alpha of one pair counts: units on shared samples with an object of at least one."""
    pairs, classes = statistics.pairs, statistics.pair_classes
    first, last = np.searchsorted(classes.keys, [pair * _SHIFT, (pair + 1) * _SHIFT])
    category = classes.categories()[first:last]
    counts = np.zeros(int(category.max(initial=MISSING)) + 1, np.int64)
    counts[category] = classes.counts[first:last]
    matched = int(pairs.n_matched[pair])
    conflicts = matched - int(pairs.n_same_class[pair])
    n_units = matched
    if config.missing == "category":
        alone = int(pairs.n_a[pair] + pairs.n_b[pair]) - 2 * matched
        counts[MISSING] = alone + 2 * int(pairs.n_empty[pair])
        conflicts += alone
        n_units += alone + int(pairs.n_empty[pair])
    return NominalTally(counts, np.array([0, 0, 2 * conflicts]), np.array([0, 0, n_units]))
