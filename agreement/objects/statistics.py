"""Statistics that add up over batches: everything a report needs, of any number of samples."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...metrics.alpha import NominalTally
from ...metrics.arrays import FloatArray, IntArray, ranges, sums_by
from ...metrics.overlaps import dice_from_iou
from ..classes import MISSING
from ..config import AgreementConfig
from .compute import ALPHA_REASONS, Ratings
from .findings import Findings, pair_rows
from .verdicts import NO_VERDICT, VERDICTS

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
        n_crowd: shape ``(R,)``, labels of every annotator that are crowd, or explained by one of somebody else
        iou: sum of IoU over all pairs of matched objects
        dice: sum of Dice
        n_matched_pairs: number of those pairs
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
    n_crowd: IntArray
    iou: float
    dice: float
    n_matched_pairs: int

    def __add__(self, other: AgreementStatistics) -> AgreementStatistics:
        per_sample = {"score", "alpha"}
        total: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            own, others = getattr(self, field.name), getattr(other, field.name)
            total[field.name] = np.concatenate([own, others]) if field.name in per_sample else own + others
        return AgreementStatistics(**total)


def summarise(findings: Findings) -> AgreementStatistics:
    """The statistics of some samples."""
    objects, units, verdict = findings.objects, findings.units, findings.object_verdict
    n_annotators, n_objects = findings.n_annotators, findings.n_objects
    rated = findings.rated
    has_verdict = verdict != NO_VERDICT
    votes = np.zeros((n_annotators + 1, n_annotators + 1), np.int64)
    counted = units.verdict != NO_VERDICT
    np.add.at(votes, (units.assigned[counted], units.votes[counted]), 1)
    verdicts = np.bincount(
        objects.annotator[has_verdict] * len(VERDICTS) + verdict[has_verdict],
        minlength=n_annotators * len(VERDICTS),
    ).reshape(n_annotators, len(VERDICTS))
    drew = np.zeros(findings.assigned.shape, np.bool_)
    drew[objects.sample, objects.annotator] = True
    ratings = findings.ratings()
    return AgreementStatistics(
        joint=_tally(ratings),
        given_match=_tally(_without_missing(ratings)),
        votes=votes,
        verdicts=verdicts,
        pairs=_pair_statistics(findings),
        pair_classes=_pair_classes(findings),
        annotator_classes=SparseCounts.of(objects.annotator, objects.category),
        n_assigned=findings.assigned.sum(axis=0),
        n_drew_nothing=(findings.assigned & ~drew).sum(axis=0),
        n_missed=_missed(findings),
        alpha_reasons=np.bincount(findings.alpha_reason, minlength=len(ALPHA_REASONS)),
        score=findings.score,
        alpha=findings.alpha,
        n_rated=int(rated.sum()),
        n_empty=int((rated & (n_objects == 0)).sum()),
        n_units=int(findings.n_units[rated].sum()),
        n_objects=int(n_objects[rated].sum()),
        n_crowd=findings.n_crowd.sum(axis=0),
        iou=float(findings.pairs.iou.sum()),
        dice=float(dice_from_iou(findings.pairs.iou).sum()),
        n_matched_pairs=len(findings.pairs.i),
    )


def _tally(ratings: Ratings) -> NominalTally:
    return NominalTally.from_counts(ratings.unit, ratings.category, ratings.count)


def _without_missing(ratings: Ratings) -> Ratings:
    kept = ratings.category != MISSING
    return dataclasses.replace(
        ratings, unit=ratings.unit[kept], category=ratings.category[kept], count=ratings.count[kept]
    )


def _missed(findings: Findings) -> IntArray:
    """Units of two or more members that an annotator assigned to the sample did not draw, shape ``(R,)``."""
    units, objects = findings.units, findings.objects
    shared = (units.verdict != NO_VERDICT) & (units.votes >= 2)
    of_sample = np.bincount(units.sample[shared], minlength=findings.n_samples)
    could_draw = of_sample @ findings.assigned
    drew = np.bincount(objects.annotator[shared[findings.unit]], minlength=findings.n_annotators)
    missed: IntArray = could_draw - drew
    return missed


def _pair_statistics(findings: Findings) -> PairStatistics:
    objects, pairs, shared = findings.objects, findings.pairs, findings.sample_pairs
    n_annotators = findings.n_annotators
    n_pairs = n_annotators * (n_annotators - 1) // 2
    of_sample = pair_rows(shared.a, shared.b, n_annotators)
    of_match = pair_rows(objects.annotator[pairs.i], objects.annotator[pairs.j], n_annotators)
    count = functools.partial(np.bincount, minlength=n_pairs)
    add = functools.partial(sums_by, n=n_pairs)

    pair_score = findings.pair_score()
    scored = ~np.isnan(pair_score)
    all_empty = np.zeros(len(of_sample), np.bool_)
    if findings.config.empty == "agree":
        all_empty = findings.n_objects[shared.sample] == 0
    visibility = np.zeros(len(pairs.i)) if findings.visibility is None else findings.visibility
    return PairStatistics(
        n_samples=count(of_sample),
        n_scored=count(of_sample[scored]),
        score=add(of_sample[scored], pair_score[scored]),
        n_a=add(of_sample, shared.n_a).astype(np.int64),
        n_b=add(of_sample, shared.n_b).astype(np.int64),
        n_matched=count(of_match),
        n_same_class=count(of_match[pairs.same_class]),
        iou=add(of_match, pairs.iou),
        dice=add(of_match, dice_from_iou(pairs.iou)),
        iou_same_class=add(of_match[pairs.same_class], pairs.iou[pairs.same_class]),
        n_empty=count(of_sample[all_empty]),
        visibility=add(of_match, visibility),
        **_best_overlaps(findings, of_sample, n_pairs),
        **_alignment_sums(findings, of_sample, n_pairs),
    )


def _best_overlaps(findings: Findings, of_sample: IntArray, n_pairs: int) -> dict[str, Any]:
    """Over samples, the mean of the best IoU, for every pair of annotators in both directions."""
    a_to_b, b_to_a = findings.best_iou.T

    def moments(values: FloatArray) -> Moments:
        defined = ~np.isnan(values)
        return Moments.of(of_sample[defined], values[defined], n_pairs)

    one_drew = ~(np.isnan(a_to_b) & np.isnan(b_to_a))
    both = np.where(one_drew, (np.nan_to_num(a_to_b) + np.nan_to_num(b_to_a)) / 2.0, np.nan)
    return {"a_to_b": moments(a_to_b), "b_to_a": moments(b_to_a), "symmetric": moments(both)}


def _alignment_sums(findings: Findings, of_sample: IntArray, n_pairs: int) -> dict[str, Any]:
    columns = np.zeros((len(of_sample), 3)) if findings.aligned is None else findings.aligned
    n_aligned, recall, precision = (sums_by(of_sample, column, n_pairs) for column in columns.T)
    return {"n_aligned": n_aligned.astype(np.int64), "recall": recall, "precision": precision}


def _pair_classes(findings: Findings) -> SparseCounts:
    """Classes of both annotators' objects for every pair: all on shared samples, or the matched ones only."""
    objects, pairs, n_annotators = findings.objects, findings.pairs, findings.n_annotators
    if findings.config.missing == "ignore":
        rows = pair_rows(objects.annotator[pairs.i], objects.annotator[pairs.j], n_annotators)
        return SparseCounts.of(np.r_[rows, rows], np.r_[objects.category[pairs.i], objects.category[pairs.j]])
    shared = findings.sample_pairs
    parts = []
    # rows of the objects of one annotator on one sample stand together
    block = objects.sample * n_annotators + objects.annotator
    of_pair = pair_rows(shared.a, shared.b, n_annotators)
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
