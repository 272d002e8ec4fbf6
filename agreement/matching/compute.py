"""Agreement on a batch of samples: units of matched objects, ratings for alpha, verdicts and scores.

Objects are matched in :mod:`...metrics.matching`; :func:`matching_of` is the only call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...metrics.alpha.nominal import alpha_by_group, ratings_by_group
from ...metrics.geometry.objects import Geometry, Objects, Overlaps, dice_from_iou, iou_from_areas
from ...metrics.matching import Matching, match_objects
from ...metrics.matching.merging import TIE
from ...metrics.matching.pairs import panoptic_quality
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, pairs_within, sums_by
from ..settings.config import AgreementConfig, Empty, Missing
from ..statistics.codes import MISSING
from .batch import Batch, SamplePairs
from .verdicts import AGREED, object_verdicts, unit_verdicts

#: an object lies mostly within a crowd region if they share at least this part of the smaller one
MOSTLY_INSIDE = 0.5

#: why the alpha of a sample is undefined; entry 0 where it is defined
ALPHA_REASONS = ("", "one_annotator", "no_objects", "single_category", "no_pairable_values")


@dataclass(frozen=True, slots=True)
class MatchedPairs:
    """The pairs of objects of one unit; ``i < j``."""

    i: IntArray  #: shape ``(P,)``, row of the object whose annotator comes first
    j: IntArray  #: shape ``(P,)``
    iou: FloatArray  #: shape ``(P,)``
    same_class: BoolArray  #: shape ``(P,)``


@dataclass(frozen=True, slots=True)
class Units:
    """Columns over the ``U`` units of a batch."""

    sample: IntArray  #: shape ``(U,)``
    votes: IntArray  #: shape ``(U,)``, members
    assigned: IntArray  #: shape ``(U,)``, annotators assigned to the sample
    verdict: IntArray  #: shape ``(U,)``, index into ``VERDICTS``; ``NO_VERDICT`` where the sample is not rated


@dataclass(frozen=True, slots=True)
class Ratings:
    """Sparse ratings of units for alpha; rated samples only."""

    unit: IntArray  #: shape ``(T,)``; additional unit numbers stand for images that everybody left empty
    category: IntArray  #: shape ``(T,)``, class code or ``MISSING``
    count: IntArray  #: shape ``(T,)``, annotators
    sample: IntArray  #: shape ``(U',)``, sample of every unit


@dataclass(frozen=True, slots=True)
class Counting:
    """The rules for the ratings that alpha counts, on rated images; they stand only here.

    Every annotator who drew an object rates it with the class. If ``missing`` is a category, every other assigned
    annotator rates it as missing.
    """

    missing: Missing
    empty: Empty

    @classmethod
    def of(cls, config: AgreementConfig) -> Counting:
        """The rules of a run."""
        return cls(config.missing, config.empty)

    @property
    def rates_missing(self) -> bool:
        """True if not drawing an object counts as a rating."""
        return self.missing == "category"

    @property
    def rates_empty(self) -> bool:
        """True if an image that everybody left empty counts as a unit that everybody rated as missing."""
        return self.rates_missing and self.empty == "agree"

    def n_ratings(self, votes: IntArray, assigned: IntArray) -> IntArray:
        """Number of ratings of units, from their members and the annotators who were assigned; any one shape."""
        return assigned if self.rates_missing else votes


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """The agreement on some samples: everything that a report needs, without the labels.

    A run keeps it for every batch, as compact columns (:class:`~..objects.records.ObjectRecords`).
    """

    config: AgreementConfig  #: the options of the run
    objects: Objects  #: ``N`` objects that count, sorted by sample and annotator; crowd is left out
    assigned: BoolArray  #: shape ``(S, R)``
    otherwise: BoolArray  #: shape ``(S, R)``, who would be assigned if a null label list had the other meaning
    unit: IntArray  #: shape ``(N,)``, unit of every object
    units: Units  #: columns over the ``U`` units
    pairs: MatchedPairs  #: pairs of objects of one unit
    sample_pairs: SamplePairs  #: ``Q`` pairs of annotators on samples
    object_verdict: IntArray  #: shape ``(N,)``, index into ``VERDICTS``; ``NO_VERDICT`` where the sample is not rated
    area: FloatArray  #: shape ``(N,)``, in the unit of the geometry
    boxes_xyxy: FloatArray | None  #: shape ``(N, 4)``, bounding boxes in that unit; None if objects have none
    size_px: FloatArray  #: shape ``(S, 2)``, width and height of the images; nan where unknown
    #: for every compared attribute the codes of its values, shape ``(N,)``; 0 where not given
    attributes: tuple[IntArray, ...]
    #: shape ``(P,)``, share of points that both labelled, for every pair of matched keypoints; None for other labels
    visibility: FloatArray | None
    #: shape ``(Q, 2)``, mean over the first annotator's objects of the best IoU with an object of the second, and the
    #: other direction; nan without objects
    best_iou: FloatArray
    #: shape ``(Q, 3)``, mutual best pairs: their number, sum of recall, sum of precision; None for other methods
    aligned: FloatArray | None
    n_crowd: IntArray  #: shape ``(S, R)``, objects of every annotator that do not count
    score: FloatArray  #: shape ``(S,)``, nan where not scored
    cost: FloatArray  #: shape ``(S,)``, what the scores of the sample lose (:func:`sample_costs`)
    alpha: FloatArray  #: shape ``(S,)``, nan where undefined
    alpha_reason: IntArray  #: shape ``(S,)``, index into ``ALPHA_REASONS``

    @property
    def n_samples(self) -> int:
        """Number of samples ``S``."""
        return len(self.assigned)

    @property
    def n_annotators(self) -> int:
        """Number of annotators ``R``."""
        return int(self.assigned.shape[1])

    @cached_property
    def n_assigned(self) -> IntArray:
        """Annotators assigned to every sample, shape ``(S,)``."""
        n: IntArray = self.assigned.sum(axis=1)
        return n

    @property
    def rated(self) -> BoolArray:
        """Samples with at least two assigned annotators, shape ``(S,)``."""
        return self.n_assigned >= 2

    @cached_property
    def n_objects(self) -> IntArray:
        """Objects of every sample, shape ``(S,)``."""
        return np.bincount(self.objects.sample, minlength=self.n_samples)

    @cached_property
    def n_units(self) -> IntArray:
        """Units of every sample, shape ``(S,)``."""
        return np.bincount(self.units.sample, minlength=self.n_samples)

    @property
    def n_disputed(self) -> IntArray:
        """Units of every sample without full agreement, shape ``(S,)``."""
        return np.bincount(self.units.sample[self.units.verdict > AGREED], minlength=self.n_samples)

    @cached_property
    def pair_score(self) -> FloatArray:
        """Panoptic quality of every sample pair, shape ``(Q,)``; nan where not scored."""
        return pair_scores(self.objects, self.pairs, self.sample_pairs, self.n_objects, empty=self.config.empty)

    @cached_property
    def ratings(self) -> Ratings:
        """Ratings that alpha counts."""
        return self._ratings(self.n_assigned)

    def _ratings(self, n_assigned: IntArray) -> Ratings:
        rules = Counting.of(self.config)
        return ratings_of(self.objects, self.unit, self.units.sample, n_assigned, rules)

    def read_otherwise(self) -> Agreement:
        """The same units if a null label list had the other meaning, as far as the headline numbers need it."""
        n_assigned = self.otherwise.sum(axis=1)
        alpha, reason = sample_alpha(self._ratings(n_assigned), n_assigned, self.n_objects, self.config)
        return replace(
            self,
            assigned=self.otherwise,
            units=replace(self.units, assigned=n_assigned[self.units.sample]),
            sample_pairs=SamplePairs.of(self.objects, self.otherwise),
            alpha=alpha,
            alpha_reason=reason,
        )

    @property
    def object_iou(self) -> FloatArray:
        """Mean IoU of every object with the other members of its unit, shape ``(N,)``; nan without others."""
        ends, n = np.concatenate([self.pairs.i, self.pairs.j]), len(self.objects)
        return _mean(sums_by(ends, np.tile(self.pairs.iou, 2), n), np.bincount(ends, minlength=n))

    @property
    def iou(self) -> FloatArray:
        """Mean IoU of the matched objects of every sample, shape ``(S,)``; nan without matches."""
        return self._pair_mean(self.pairs.iou)

    @property
    def dice(self) -> FloatArray:
        """Mean Dice of the matched objects of every sample, shape ``(S,)``; nan without matches."""
        return self._pair_mean(dice_from_iou(self.pairs.iou))

    def _pair_mean(self, values: FloatArray) -> FloatArray:
        sample = self.objects.sample[self.pairs.i]
        return _mean(sums_by(sample, values, self.n_samples), np.bincount(sample, minlength=self.n_samples))


@dataclass(frozen=True, kw_only=True)
class MatchedBatch(Agreement):
    """The agreement on a batch, together with its labels and matching."""

    batch: Batch  #: the objects that count
    counted: BoolArray  #: shape ``(N',)``, whether an object of the original batch counts; the others are crowd
    matching: Matching  #: unit of every object
    overlaps: Overlaps  #: overlapping pairs of objects


def compute_agreement_of(batch: Batch, config: AgreementConfig) -> MatchedBatch:
    """Match the objects of a batch and score its samples."""
    read = batch.objects
    batch, overlaps, counted = without_crowd(batch)
    matching = matching_of(batch.objects, overlaps, config)
    crowd = (read.sample * batch.assigned.shape[1] + read.annotator)[~counted]
    objects, n_samples = batch.objects, batch.n_samples
    n_assigned = batch.assigned.sum(axis=1)
    units = _units(batch, matching, n_assigned, config.tolerance)
    pairs = matched_pairs(objects, batch.geometry, overlaps, matching)
    sample_pairs = SamplePairs.of(objects, batch.assigned)
    n_objects = np.bincount(objects.sample, minlength=n_samples)
    pair_score = pair_scores(objects, pairs, sample_pairs, n_objects, empty=config.empty)
    ratings = ratings_of(objects, matching.unit, units.sample, n_assigned, Counting.of(config))
    alpha, alpha_reason = sample_alpha(ratings, n_assigned, n_objects, config)
    verdict = object_verdicts(objects, units.verdict[matching.unit], overlaps, batch.geometry, threshold=config.iou)
    return MatchedBatch(
        config=config,
        objects=objects,
        assigned=batch.assigned,
        otherwise=batch.assigned if batch.otherwise is None else batch.otherwise,
        unit=matching.unit,
        units=units,
        pairs=pairs,
        sample_pairs=sample_pairs,
        object_verdict=verdict,
        area=overlaps.area,
        boxes_xyxy=batch.geometry.boxes_xyxy(),
        size_px=np.full((n_samples, 2), np.nan) if batch.size_px is None else batch.size_px,
        attributes=batch.attributes,
        visibility=batch.geometry.visibility(pairs.i, pairs.j),
        best_iou=_best_iou(objects, overlaps, sample_pairs, batch.assigned),
        aligned=None if matching.aligned is None else _aligned(objects, overlaps, sample_pairs, matching.aligned),
        n_crowd=np.bincount(crowd, minlength=batch.assigned.size).reshape(batch.assigned.shape),
        score=sample_scores(pair_score, sample_pairs, n_samples),
        cost=sample_costs(pair_score, sample_pairs, n_samples),
        alpha=alpha,
        alpha_reason=alpha_reason,
        batch=batch,
        counted=counted,
        matching=matching,
        overlaps=overlaps,
    )


def without_crowd(batch: Batch) -> tuple[Batch, Overlaps, BoolArray]:
    """Leave out crowd regions, and objects that lie mostly within one of another annotator, as COCO ignores them.

    Returns:
        the objects that count, their overlaps, and a mask that tells which objects of the batch they are
    """
    overlaps = batch.geometry.overlaps(batch.objects)
    if batch.crowd is None or not batch.crowd.any():
        return batch, overlaps, np.ones(len(batch.objects), np.bool_)
    counted = ~(batch.crowd | in_crowd(batch.objects, batch.crowd, overlaps))
    return batch.among(counted), overlaps.among(counted), counted


def in_crowd(objects: Objects, crowd: BoolArray, overlaps: Overlaps) -> BoolArray:
    """Objects that lie mostly within a crowd region of another annotator, shape ``(N,)``.

    Args:
        crowd: shape ``(N,)``, whether an object is a crowd region
    """
    inside, (i, j) = np.zeros(len(objects), np.bool_), (overlaps.i, overlaps.j)
    mostly = (overlaps.inclusion() >= MOSTLY_INSIDE - TIE) & (objects.annotator[i] != objects.annotator[j])
    inside[i[mostly & crowd[j]]] = True
    inside[j[mostly & crowd[i]]] = True
    return inside


def matching_of(
    objects: Objects, overlaps: Overlaps, config: AgreementConfig, threshold: float | None = None
) -> Matching:
    """Match objects as the options say, by default at the threshold of the run."""
    return match_objects(
        objects,
        overlaps,
        threshold=config.iou if threshold is None else threshold,
        similarity=config.similarity,
        method=config.method,
        classes=config.classes,
    )


def _mean(total: FloatArray, count: IntArray) -> FloatArray:
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _units(batch: Batch, matching: Matching, n_assigned: IntArray, tolerance: float) -> Units:
    sample = np.zeros(matching.n_units, np.int64)
    sample[matching.unit] = batch.objects.sample
    votes = np.bincount(matching.unit, minlength=matching.n_units)
    assigned = n_assigned[sample]
    attributes = zip(batch.attributes, batch.attribute_numbers, strict=True)
    verdict = unit_verdicts(batch.objects.category, attributes, matching.unit, votes, assigned, tolerance)
    return Units(sample, votes, assigned, verdict)


def matched_pairs(objects: Objects, geometry: Geometry, overlaps: Overlaps, matching: Matching) -> MatchedPairs:
    """The pairs of objects of one unit."""
    order = np.argsort(matching.unit, kind="stable")
    first, second = pairs_within(matching.unit[order])
    i, j = order[first], order[second]
    iou = overlaps.values_at(overlaps.iou, i, j)
    if overlaps.crowded is not None:  # not all overlapping pairs are there
        left_out = np.flatnonzero(overlaps.crowded[i] & (iou == 0.0))
        a, b = i[left_out], j[left_out]
        iou[left_out] = iou_from_areas(geometry.intersection_of(a, b), overlaps.area[a], overlaps.area[b])
    return MatchedPairs(i, j, iou, objects.category[i] == objects.category[j])


def pair_scores(
    objects: Objects, pairs: MatchedPairs, sample_pairs: SamplePairs, n_objects: IntArray, *, empty: Empty
) -> FloatArray:
    """Panoptic quality of every sample pair, shape ``(Q,)``; nan where not scored.

    Args:
        pairs: pairs of objects of one unit
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
    """Mean over the scored pairs of every sample, shape ``(S,)``; nan without scored pairs."""
    scored = ~np.isnan(pair_score)
    of_sample = sample_pairs.sample[scored]
    return _mean(sums_by(of_sample, pair_score[scored], n_samples), np.bincount(of_sample, minlength=n_samples))


def sample_costs(pair_score: FloatArray, sample_pairs: SamplePairs, n_samples: int) -> FloatArray:
    """What fixing every sample would change, shape ``(S,)``; 0 where everybody drew the same, or nothing.

    ``(n_a + n_b) (1 - score)`` of every pair of annotators: an object that one of the two drew costs 1, one that they
    named differently 2, one that they drew differently ``2 (1 - IoU)``. Rounded, so that equal samples stay equal.
    """
    costs = (sample_pairs.n_a + sample_pairs.n_b) * (1.0 - np.nan_to_num(pair_score, nan=1.0))
    return sums_by(sample_pairs.sample, costs, n_samples).round(9) + 0.0  # no negative zero


def ratings_of(
    objects: Objects,
    unit: IntArray,
    sample: IntArray,
    n_assigned: IntArray,
    rules: Counting,
) -> Ratings:
    """Ratings that alpha counts: classes of the members of units, and *missing*.

    Args:
        unit: shape ``(N,)``, unit of every object
        sample: shape ``(U,)``, sample of every unit; units without an object are left out
        n_assigned: shape ``(S,)``, annotators assigned to every sample
        rules: what counts
    """
    rated = n_assigned[objects.sample] >= 2
    n_categories = int(objects.category.max(initial=0)) + 1
    keys, count = np.unique(unit[rated] * n_categories + objects.category[rated], return_counts=True)
    of_unit, category = keys // n_categories, keys % n_categories
    votes, assigned = np.bincount(unit, minlength=len(sample)), n_assigned[sample]
    absent = rules.n_ratings(votes, assigned) - votes
    incomplete = np.flatnonzero((absent > 0) & (votes > 0) & (assigned >= 2))
    all_empty = np.empty(0, np.int64)
    if rules.rates_empty:
        n_objects = np.bincount(objects.sample, minlength=len(n_assigned))
        all_empty = np.flatnonzero((n_assigned >= 2) & (n_objects == 0))
    return Ratings(
        np.concatenate([of_unit, incomplete, len(sample) + np.arange(len(all_empty))]),
        np.concatenate([category, np.full(len(incomplete) + len(all_empty), MISSING)]),
        np.concatenate([count, absent[incomplete], n_assigned[all_empty]]),
        np.concatenate([sample, all_empty]),
    )


def sample_alpha(
    ratings: Ratings, n_assigned: IntArray, n_objects: IntArray, config: AgreementConfig
) -> tuple[FloatArray, IntArray]:
    """Alpha of every sample and why it is undefined, both ``(S,)``."""
    n_samples = len(n_assigned)
    columns = (ratings.unit, ratings.category, ratings.count, ratings.sample)
    alpha = alpha_by_group(*columns, n_samples, config.undefined)
    is_empty = (n_assigned >= 2) & (n_objects == 0)
    if config.empty == "agree":
        alpha[is_empty] = 1.0
    n_ratings = ratings_by_group(ratings.unit, ratings.count, ratings.sample, n_samples)
    names = ("", "one_annotator", "no_objects", "no_pairable_values")
    reason = np.select(
        [~np.isnan(alpha), n_assigned < 2, is_empty, n_ratings == 0],
        [ALPHA_REASONS.index(name) for name in names],
        ALPHA_REASONS.index("single_category"),
    )
    return alpha, reason


def _best_iou(
    objects: Objects,
    overlaps: Overlaps,
    shared: SamplePairs,
    assigned: BoolArray,
) -> FloatArray:
    """Mean best IoU of both annotators of every sample pair with the other, ``(Q, 2)``; nan without objects."""
    n_samples, n_annotators = assigned.shape
    iou = overlaps.iou
    width = int(assigned.sum(axis=1).max(initial=0))
    best = np.zeros(len(objects) * width)  # best IoU of every object with each annotator assigned to its sample
    for own, other in ((overlaps.i, overlaps.j), (overlaps.j, overlaps.i)):
        np.maximum.at(best, own * width + shared.rank(objects.sample[other], objects.annotator[other]), iou)
    block = objects.sample * n_annotators + objects.annotator
    starts = np.flatnonzero(np.r_[True, np.diff(block) != 0]) if len(block) else np.empty(0, np.int64)
    sums = np.zeros((n_samples * width, width))
    if len(starts):
        rank = shared.rank(objects.sample[starts], objects.annotator[starts])
        sums[objects.sample[starts] * width + rank] = np.add.reduceat(best.reshape(-1, width), starts, axis=0)
    rank_a, rank_b = shared.rank(shared.sample, shared.a), shared.rank(shared.sample, shared.b)
    a_to_b = sums[shared.sample * width + rank_a, rank_b]
    b_to_a = sums[shared.sample * width + rank_b, rank_a]
    n_a, n_b = np.where(shared.n_a > 0, shared.n_a, np.nan), np.where(shared.n_b > 0, shared.n_b, np.nan)
    return np.column_stack([a_to_b / n_a, b_to_a / n_b])


def _aligned(objects: Objects, overlaps: Overlaps, shared: SamplePairs, aligned: IntArray) -> FloatArray:
    """Number, recall and precision of the mutual best pairs of every sample pair, ``(Q, 3)``."""
    i, j = aligned
    area = overlaps.values_at(overlaps.intersection, i, j)
    rows = shared.row(objects.sample[i], objects.annotator[i], objects.annotator[j])
    columns = (np.ones(len(i)), area / overlaps.area[i], area / overlaps.area[j])
    return np.column_stack([sums_by(rows, values, len(shared.sample)) for values in columns])
