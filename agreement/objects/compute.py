"""From the columns of a batch to units, verdicts and scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.alpha.nominal import alpha_by_group, ratings_by_group
from ...metrics.arrays import BoolArray, FloatArray, IntArray, pairs_within, sums_by
from ...metrics.detection import panoptic_quality
from ...metrics.geometry.objects import Objects, Overlaps, dice_from_iou
from ...metrics.matching import Matching, match_objects, without_units_of
from ...metrics.matching.partition import TIE
from ..classes import MISSING
from ..config import AgreementConfig, Empty, Missing
from .attribute_conflicts import attribute_conflicts
from .columns import Batch, SamplePairs
from .verdicts import AGREED, ATTRIBUTE_CONFLICT, CLASS_CONFLICT, LONE, MISSED, NO_VERDICT, object_verdicts

#: share of an object that lies in a crowd region if this explains it
MOSTLY_INSIDE = 0.5

#: why the alpha of a sample is undefined; entry 0 where it is defined
ALPHA_REASONS = ("", "one_annotator", "no_objects", "single_category", "no_pairable_values")


@dataclass(frozen=True, slots=True)
class MatchedPairs:
    """The pairs of objects of one unit; ``i < j``.

    Attributes:
        i: shape ``(P,)``, row of the object whose annotator comes first
        j: shape ``(P,)``
        iou: shape ``(P,)``
        same_class: shape ``(P,)``
    """

    i: IntArray
    j: IntArray
    iou: FloatArray
    same_class: BoolArray


@dataclass(frozen=True, slots=True)
class Units:
    """Columns over the ``U`` units of a batch.

    Attributes:
        sample: shape ``(U,)``
        votes: shape ``(U,)``, members
        assigned: shape ``(U,)``, annotators assigned to the sample
        verdict: shape ``(U,)``, index into ``UNIT_VERDICTS``; ``NO_VERDICT`` where the sample is not rated
    """

    sample: IntArray
    votes: IntArray
    assigned: IntArray
    verdict: IntArray


@dataclass(frozen=True, slots=True)
class Ratings:
    """Sparse ratings of units in categories, as alpha counts them; rated samples only.

    Attributes:
        unit: shape ``(T,)``; units past the objects' own stand for images that everybody left empty
        category: shape ``(T,)``, class code or ``MISSING``
        count: shape ``(T,)``, annotators
        sample: shape ``(U',)``, sample of every unit
    """

    unit: IntArray
    category: IntArray
    count: IntArray
    sample: IntArray


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement on a batch.

    Attributes:
        batch: the objects that count
        counted: shape ``(N',)``, which objects of the batch as it was read these are; the others are crowd
        n_crowd: shape ``(S, R)``, objects of every annotator that are crowd
        matching: unit of every object
        overlaps: overlapping pairs of objects
        pairs: pairs of objects of one unit
        units: columns over units
        sample_pairs: pairs of annotators on samples
        pair_score: shape ``(Q,)``, panoptic quality of every sample pair; nan where not scored
        object_verdict: shape ``(N,)``, index into ``VERDICTS``; ``NO_VERDICT`` where the sample is not rated
        object_iou: shape ``(N,)``, mean IoU with the other members; nan without any
        n_assigned: shape ``(S,)``
        n_objects: shape ``(S,)``
        n_units: shape ``(S,)``
        n_disputed: shape ``(S,)``
        score: shape ``(S,)``, nan where not scored
        alpha: shape ``(S,)``, nan where undefined
        alpha_reason: shape ``(S,)``, index into ``ALPHA_REASONS``
        iou: shape ``(S,)``, nan without matched objects
        dice: shape ``(S,)``
        ratings: what the alpha of the batch counts
    """

    batch: Batch
    counted: BoolArray
    n_crowd: IntArray
    matching: Matching
    overlaps: Overlaps
    pairs: MatchedPairs
    units: Units
    sample_pairs: SamplePairs
    pair_score: FloatArray
    object_verdict: IntArray
    object_iou: FloatArray
    n_assigned: IntArray
    n_objects: IntArray
    n_units: IntArray
    n_disputed: IntArray
    score: FloatArray
    alpha: FloatArray
    alpha_reason: IntArray
    iou: FloatArray
    dice: FloatArray
    ratings: Ratings

    @property
    def rated(self) -> BoolArray:
        """Samples with at least two assigned annotators, shape ``(S,)``."""
        return self.n_assigned >= 2


def compute_agreement_of(batch: Batch, config: AgreementConfig) -> Agreement:
    """Match the objects of a batch and score its samples."""
    read = batch.objects
    batch, overlaps, matching, counted = _matched(batch, config)
    crowd = (read.sample * batch.assigned.shape[1] + read.annotator)[~counted]
    n_crowd = np.bincount(crowd, minlength=batch.assigned.size).reshape(batch.assigned.shape)
    objects, n_samples = batch.objects, batch.n_samples
    n_assigned = batch.assigned.sum(axis=1)
    units = _units(batch, matching, n_assigned, config.tolerance)
    pairs = _matched_pairs(batch, overlaps, matching)
    sample_pairs = SamplePairs.of(objects, batch.assigned)
    n_objects = np.bincount(objects.sample, minlength=n_samples)
    pair_score = pair_scores(objects, pairs, sample_pairs, n_objects, empty=config.empty)
    pair_sample = objects.sample[pairs.i]
    n_pairs = np.bincount(pair_sample, minlength=n_samples)
    ratings = ratings_of(
        objects, matching.unit, units, n_assigned, n_objects, missing=config.missing, empty=config.empty
    )
    alpha, alpha_reason = _sample_alpha(ratings, n_assigned, n_objects, config)
    return Agreement(
        batch=batch,
        counted=counted,
        n_crowd=n_crowd,
        matching=matching,
        overlaps=overlaps,
        pairs=pairs,
        units=units,
        sample_pairs=sample_pairs,
        pair_score=pair_score,
        object_verdict=object_verdicts(
            objects, units.verdict[matching.unit], overlaps, batch.geometry, threshold=config.iou
        ),
        object_iou=_mean_iou_of_objects(pairs, len(objects)),
        n_assigned=n_assigned,
        n_objects=n_objects,
        n_units=np.bincount(units.sample, minlength=n_samples),
        n_disputed=np.bincount(units.sample[units.verdict > AGREED], minlength=n_samples),
        score=sample_scores(pair_score, sample_pairs, n_samples),
        alpha=alpha,
        alpha_reason=alpha_reason,
        iou=_mean(sums_by(pair_sample, pairs.iou, n_samples), n_pairs),
        dice=_mean(sums_by(pair_sample, dice_from_iou(pairs.iou), n_samples), n_pairs),
        ratings=ratings,
    )


def _matched(batch: Batch, config: AgreementConfig) -> tuple[Batch, Overlaps, Matching, BoolArray]:
    """Match the objects of a batch; without those that are crowd, which are marked by the mask that comes last."""
    overlaps = batch.geometry.overlaps(batch.objects)
    counted = np.ones(len(batch.objects), np.bool_)
    if batch.crowd is None or not batch.crowd.any():
        return batch, overlaps, _matching_of(batch, overlaps, config), counted
    counted = ~batch.crowd
    matching = _matching_of(batch.among(counted), overlaps.among(counted), config)
    explained = _explained_by_crowd(batch, counted, overlaps, matching.unit)
    counted[counted] = ~explained
    return batch.among(counted), overlaps.among(counted), without_units_of(matching, explained), counted


def _matching_of(batch: Batch, overlaps: Overlaps, config: AgreementConfig) -> Matching:
    return match_objects(
        batch.objects,
        overlaps,
        threshold=config.iou,
        similarity=config.similarity,
        method=config.method,
        classes=config.classes,
    )


def _explained_by_crowd(batch: Batch, single: BoolArray, overlaps: Overlaps, unit: IntArray) -> BoolArray:
    """Which of the objects that are no crowd ``(M,)`` are neither lone nor missed, since a crowd region explains that.

    They are of units that would be lone or missed, in which an object lies mostly in a crowd region of an annotator who
    has no object there.

    Args:
        batch: the ``N`` objects
        single: shape ``(N,)``, those that are no crowd
        overlaps: overlaps of all
        unit: shape ``(M,)``, units of those that are no crowd
    """
    objects = batch.objects
    annotator, category = objects.annotator[single], objects.category[single]
    n_units, n_annotators = int(unit.max(initial=-1)) + 1, batch.assigned.shape[1]
    first = np.zeros(n_units, np.int64)
    first[unit] = np.arange(len(unit))
    one_class = np.bincount(unit, weights=category != category[first[unit]], minlength=n_units) == 0

    member = unit * n_annotators + annotator
    number = np.cumsum(single) - 1
    explained = np.zeros(n_units, np.bool_)
    mostly = overlaps.inclusion() >= MOSTLY_INSIDE - TIE
    for own, other in ((overlaps.i, overlaps.j), (overlaps.j, overlaps.i)):
        inside = mostly & single[own] & ~single[other]
        of_unit = unit[number[own[inside]]]
        draws_it = np.isin(of_unit * n_annotators + objects.annotator[other[inside]], member)
        explained[of_unit[~draws_it]] = True
    of_objects: BoolArray = (explained & one_class)[unit]
    return of_objects


def _mean(total: FloatArray, count: IntArray) -> FloatArray:
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _units(batch: Batch, matching: Matching, n_assigned: IntArray, tolerance: float) -> Units:
    objects, n = batch.objects, matching.n_units
    sample = np.zeros(n, np.int64)
    sample[matching.unit] = objects.sample
    votes = np.bincount(matching.unit, minlength=n)
    lowest = np.full(n, np.iinfo(np.int64).max)
    highest = np.zeros(n, np.int64)
    np.minimum.at(lowest, matching.unit, objects.category)
    np.maximum.at(highest, matching.unit, objects.category)
    assigned = n_assigned[sample]
    attribute_conflict = attribute_conflicts(batch, matching, tolerance)
    verdict = np.select(
        [assigned < 2, lowest != highest, attribute_conflict, votes == assigned, votes == 1],
        [NO_VERDICT, CLASS_CONFLICT, ATTRIBUTE_CONFLICT, AGREED, LONE],
        MISSED,
    )
    return Units(sample, votes, assigned, verdict)


def _matched_pairs(batch: Batch, overlaps: Overlaps, matching: Matching) -> MatchedPairs:
    order = np.argsort(matching.unit, kind="stable")
    first, second = pairs_within(matching.unit[order])
    i, j = order[first], order[second]
    category = batch.objects.category
    iou = overlaps.values_at(overlaps.similarity("iou"), i, j)
    return MatchedPairs(i, j, iou, category[i] == category[j])


def _mean_iou_of_objects(pairs: MatchedPairs, n: int) -> FloatArray:
    ends = np.concatenate([pairs.i, pairs.j])
    total = sums_by(ends, np.concatenate([pairs.iou, pairs.iou]), n)
    return _mean(total, np.bincount(ends, minlength=n))


def pair_scores(
    objects: Objects, pairs: MatchedPairs, sample_pairs: SamplePairs, n_objects: IntArray, *, empty: Empty
) -> FloatArray:
    """Panoptic quality of every sample pair, shape ``(Q,)``; nan where not scored.

    Args:
        objects: ``N`` objects
        pairs: pairs of them of one unit
        sample_pairs: ``Q`` pairs of annotators on samples
        n_objects: shape ``(S,)``
        empty: whether an image that everybody left empty counts as agreement
    """
    i, j = pairs.i[pairs.same_class], pairs.j[pairs.same_class]
    rows = sample_pairs.row(objects.sample[i], objects.annotator[i], objects.annotator[j])
    pair_iou = sums_by(rows, pairs.iou[pairs.same_class], len(sample_pairs.sample))
    score = panoptic_quality(pair_iou, sample_pairs.n_a, sample_pairs.n_b)
    both_empty = sample_pairs.n_a + sample_pairs.n_b == 0
    somebody_drew = n_objects[sample_pairs.sample] > 0
    score[both_empty & (somebody_drew | (empty == "agree"))] = 1.0
    return score


def sample_scores(pair_score: FloatArray, sample_pairs: SamplePairs, n_samples: int) -> FloatArray:
    """Of every sample the mean over its pairs that are scored, shape ``(S,)``; nan without any."""
    scored = ~np.isnan(pair_score)
    of_sample = sample_pairs.sample[scored]
    return _mean(sums_by(of_sample, pair_score[scored], n_samples), np.bincount(of_sample, minlength=n_samples))


def ratings_of(
    objects: Objects,
    unit: IntArray,
    units: Units,
    n_assigned: IntArray,
    n_objects: IntArray,
    *,
    missing: Missing,
    empty: Empty,
) -> Ratings:
    """What alpha counts.

    Args:
        objects: ``N`` objects
        unit: shape ``(N,)``, unit of every object
        units: columns over these units
        n_assigned: shape ``(S,)``
        n_objects: shape ``(S,)``
        missing: whether a missed object is a category
        empty: whether an image that everybody left empty is a unit
    """
    rated = n_assigned[objects.sample] >= 2
    n_categories = int(objects.category.max(initial=0)) + 1
    keys, count = np.unique(unit[rated] * n_categories + objects.category[rated], return_counts=True)
    of_unit, category = keys // n_categories, keys % n_categories
    if missing == "ignore":
        return Ratings(of_unit, category, count, units.sample)
    incomplete = np.flatnonzero((units.verdict != NO_VERDICT) & (units.votes < units.assigned))
    absent = units.assigned[incomplete] - units.votes[incomplete]
    all_empty = np.empty(0, np.int64)
    if empty == "agree":
        all_empty = np.flatnonzero((n_assigned >= 2) & (n_objects == 0))
    n_missing = len(incomplete) + len(all_empty)
    return Ratings(
        np.concatenate([of_unit, incomplete, len(units.sample) + np.arange(len(all_empty))]),
        np.concatenate([category, np.full(n_missing, MISSING)]),
        np.concatenate([count, absent, n_assigned[all_empty]]),
        np.concatenate([units.sample, all_empty]),
    )


def _sample_alpha(
    ratings: Ratings, n_assigned: IntArray, n_objects: IntArray, config: AgreementConfig
) -> tuple[FloatArray, IntArray]:
    n_samples = len(n_assigned)
    alpha = alpha_by_group(ratings.unit, ratings.category, ratings.count, ratings.sample, n_samples)
    n_ratings = ratings_by_group(ratings.unit, ratings.count, ratings.sample, n_samples)
    empty = n_objects == 0
    reason = np.select(
        [n_assigned < 2, empty, n_ratings == 0, np.isnan(alpha)],
        [
            ALPHA_REASONS.index(name)
            for name in ("one_annotator", "no_objects", "no_pairable_values", "single_category")
        ],
        0,
    )
    agreed = np.zeros(n_samples, np.bool_)
    if config.undefined == "one":
        agreed |= reason == ALPHA_REASONS.index("single_category")
    if config.empty == "agree":
        agreed |= reason == ALPHA_REASONS.index("no_objects")
    alpha[agreed] = 1.0
    reason[agreed] = 0
    return alpha, reason
