"""The agreement on some samples as tables, with the columns that several parts of a report need.

A row of *labels* (``objects``), *units*, *pairs* of labels of one unit, *seats* (a sample and an annotator who was
asked) and *meetings* (``sample_pairs``: a sample and two of them): nearly every number is a count over one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...metrics.consensus.consensus import majority_of_others, medians_by_group
from ...metrics.geometry.boxes import box_area
from ...metrics.geometry.objects import Objects, dice_from_iou
from ...metrics.matching.pairs import panoptic_quality
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, pairs_within, sums_by
from ..settings.annotators import AnnotatorPairs
from ..settings.config import AgreementConfig, Empty, Missing
from ..statistics.codes import MISSING
from ..statistics.records import AnyColumns, unpacked
from .batch import SamplePairs
from .verdicts import AGREED, NO_VERDICT

#: measures of the bias of boxes, in this order
MEASURES = ("size", "left", "top", "right", "bottom")
#: minimum number of other annotators who were asked for a consensus of the others
MIN_OTHERS = 2


@dataclass(frozen=True, slots=True)
class MatchedPairs:
    """The pairs of objects of one unit; ``i < j``."""

    i: IntArray  #: shape ``(P,)``, row of the object whose annotator comes first
    j: IntArray  #: shape ``(P,)``
    iou: FloatArray  #: shape ``(P,)``
    same_class: BoolArray  #: shape ``(P,)``


@dataclass(frozen=True, slots=True)
class Units:
    """Columns over the ``U`` units of some samples."""

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


@dataclass(frozen=True, slots=True)
class Seats:
    """The ``V`` (sample, annotator who was asked) of some samples."""

    sample: IntArray  #: shape ``(V,)``
    annotator: IntArray  #: shape ``(V,)``
    at: IntArray  #: shape ``(S, R)``, row of every (sample, annotator) among these
    own: IntArray  #: shape ``(N,)``, row of every label

    def count(self, labels: BoolArray) -> IntArray:
        """Number of labels in a mask ``(N,)``, shape ``(V,)``."""
        return np.bincount(self.own[labels], minlength=len(self.sample))

    def count_kinds(self, labels: BoolArray, kind: IntArray, n_kinds: int) -> IntArray:
        """Number of labels in a mask ``(N,)``, by kind, shape ``(n_kinds, V)``."""
        cells = kind[labels] * len(self.sample) + self.own[labels]
        return np.bincount(cells, minlength=n_kinds * len(self.sample)).reshape(n_kinds, -1)

    def sums(self, row: IntArray, values: FloatArray) -> FloatArray:
        """Sums of values by row, shape ``(V,)``."""
        return sums_by(row, values, len(self.sample))


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Some samples: ``N`` labels in ``U`` units, ``P`` pairs of labels, ``V`` seats, ``Q`` meetings.

    ``part`` are their columns as a run keeps them (:class:`~..objects.records.ObjectRecords`); a table is unpacked when
    it is asked for.
    """

    part: AnyColumns
    n_annotators: int  #: number ``R`` of annotators
    config: AgreementConfig  #: the options of the run
    n_categories: int = 0  #: number ``K`` of category codes, including *missing*
    met_in_report: AnnotatorPairs | None = None  #: the pairs of annotators of the report; None: those of these samples
    sizes: Callable[[Tables], IntArray] | None = None  #: index into ``SIZES`` of all units; None if nobody asks

    # ---- samples ----

    @property
    def n_samples(self) -> int:
        """Number of samples ``S``."""
        return len(self.part["n_objects"])

    @cached_property
    def assigned(self) -> BoolArray:
        """Who was asked, shape ``(S, R)``."""
        return unpacked(self.part["assigned"], self.n_annotators)

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
        return self.part["n_objects"].astype(np.int64)

    @cached_property
    def n_units(self) -> IntArray:
        """Units of every sample, shape ``(S,)``."""
        return self.part["n_units"].astype(np.int64)

    @property
    def n_disputed(self) -> IntArray:
        """Units of every sample without full agreement, shape ``(S,)``."""
        return np.bincount(self.units.sample[self.units.verdict > AGREED], minlength=self.n_samples)

    @property
    def score(self) -> FloatArray:
        """Shape ``(S,)``, nan where not scored."""
        return self.part["score"]

    @property
    def alpha(self) -> FloatArray:
        """Shape ``(S,)``, nan where undefined."""
        return self.part["alpha"]

    @property
    def cost(self) -> FloatArray:
        """What the scores of the sample lose, shape ``(S,)``; see :func:`~.compute.sample_costs`."""
        return self.part["cost"]

    @property
    def size_px(self) -> FloatArray:
        """Width and height of the images, shape ``(S, 2)``; nan where unknown."""
        known = self.part.get("size_px")
        return np.full((self.n_samples, 2), np.nan) if known is None else known.astype(np.float64)

    @property
    def iou(self) -> FloatArray:
        """Mean IoU of the matched objects of every sample, shape ``(S,)``; nan without matches."""
        return self._mean_of_pairs(self.pairs.iou)

    @property
    def dice(self) -> FloatArray:
        """Mean Dice of the matched objects of every sample, shape ``(S,)``; nan without matches."""
        return self._mean_of_pairs(dice_from_iou(self.pairs.iou))

    def _mean_of_pairs(self, values: FloatArray) -> FloatArray:
        n = np.bincount(self.pair_sample, minlength=self.n_samples)
        return means(sums_by(self.pair_sample, values, self.n_samples), n)

    @cached_property
    def label_area(self) -> FloatArray:
        """Total area of the labels of every sample, shape ``(S,)``, for ties."""
        return sums_by(self.objects.sample, self.area, self.n_samples)

    # ---- labels ----

    @cached_property
    def objects(self) -> Objects:
        """The objects that count, sorted by sample and annotator; crowd is left out."""
        sample = np.repeat(np.arange(self.n_samples), self.n_objects)
        return Objects(sample, self.part["annotator"].astype(np.int64), self.part["category"].astype(np.int64))

    @cached_property
    def unit(self) -> IntArray:
        """The unit of every label, shape ``(N,)``; units are numbered across samples."""
        first = np.cumsum(self.n_units) - self.n_units
        return self.part["unit"].astype(np.int64) + np.repeat(first, self.n_objects)

    @cached_property
    def object_verdict(self) -> IntArray:
        """Index into ``VERDICTS``, shape ``(N,)``; ``NO_VERDICT`` where the sample is not rated."""
        return self.part["verdict"].astype(np.int64)

    @cached_property
    def area(self) -> FloatArray:
        """Area of every label in the unit of the geometry, shape ``(N,)``, in seven digits: more would mean nothing."""
        return self.part["area"].astype(np.float32).astype(np.float64)

    @cached_property
    def boxes_xyxy(self) -> FloatArray | None:
        """Bounding boxes in that unit, shape ``(N, 4)``; None if objects have none."""
        return self.part["boxes_xyxy"].astype(np.float64) if "boxes_xyxy" in self.part else None

    @cached_property
    def attributes(self) -> tuple[IntArray, ...]:
        """For every compared attribute the codes of its values, shape ``(N,)``; 0 where not given."""
        return tuple(self.part["attributes"].astype(np.int64).T) if "attributes" in self.part else ()

    @property
    def object_iou(self) -> FloatArray:
        """Mean IoU of every object with the other members of its unit, shape ``(N,)``; nan without others."""
        n = len(self.objects)
        return means(sums_by(self.pair_ends, np.tile(self.pairs.iou, 2), n), np.bincount(self.pair_ends, minlength=n))

    @cached_property
    def n_same(self) -> IntArray:
        """Members of the label's unit with its class, itself included, shape ``(N,)``."""
        same = self.pairs.same_class
        ends = np.concatenate([self.pairs.i[same], self.pairs.j[same]])
        return 1 + np.bincount(ends, minlength=len(self.objects))

    @cached_property
    def others_class(self) -> FloatArray:
        """The class that more than half of the others who drew an object gave it, shape ``(N,)``; nan without.

        At least two of them: otherwise nobody can tell who of two is right. With two annotators in all, that of the
        other.
        """
        at_least = MIN_OTHERS if self.n_annotators > MIN_OTHERS else 1
        return majority_of_others(self.unit, self.objects.category, self.n_same, len(self.units.votes), at_least)

    @cached_property
    def offsets(self) -> tuple[IntArray, FloatArray]:
        """Offsets of boxes from the median box of their unit, over units with at least two members.

        Returns:
            rows of the labels ``(M,)`` in units whose median box has a width and height, and their offsets in per cent,
            shape ``(M, 5)``, in the order of ``MEASURES``
        """
        if self.boxes_xyxy is None:
            return np.empty(0, np.int64), np.empty((0, len(MEASURES)))
        rows = np.flatnonzero(self.units.votes[self.unit] >= 2)
        own, unit = self.boxes_xyxy[rows], self.unit[rows]
        median = medians_by_group(unit, own, len(self.units.votes))[unit]
        sides = median[:, [2, 3, 2, 3]] - median[:, [0, 1, 0, 1]]
        kept = (sides > 0).all(axis=1)  # False for nan
        own, median, sides = own[kept], median[kept], sides[kept]
        size = np.sqrt(box_area(own) / box_area(median)) - 1.0
        return rows[kept], 100.0 * np.column_stack([size, (own - median) / sides])

    # ---- units ----

    @cached_property
    def units(self) -> Units:
        """The units."""
        sample = np.repeat(np.arange(self.n_samples), self.n_units)
        votes = np.bincount(self.unit, minlength=len(sample))
        return Units(sample, votes, self.n_assigned[sample], self.part["unit_verdict"].astype(np.int64))

    @cached_property
    def size(self) -> IntArray:
        """Index into ``SIZES`` of every unit, shape ``(U,)``; -1 where unknown."""
        return np.full(len(self.units.sample), -1) if self.sizes is None else self.sizes(self)

    @cached_property
    def rated_unit(self) -> BoolArray:
        """Units of samples that are rated, shape ``(U,)``."""
        rated: BoolArray = self.units.verdict != NO_VERDICT
        return rated

    @cached_property
    def ratings(self) -> Ratings:
        """Ratings that alpha counts."""
        return ratings_of(self.objects, self.unit, self.units.sample, self.n_assigned, Counting.of(self.config))

    @cached_property
    def lead(self) -> IntArray:
        """Class of more than half of the labels of every unit of a rated sample, shape ``(U,)``; -1 without."""
        ratings = self.ratings
        drawn = ratings.category != MISSING  # the others may be of images without any label
        unit, category, count = ratings.unit[drawn], ratings.category[drawn], ratings.count[drawn]
        leads = self.rated_unit[unit] & (2 * count > self.units.votes[unit])
        lead = np.full(len(self.units.votes), -1)
        lead[unit[leads]] = category[leads]
        return lead

    # ---- pairs of labels ----

    @cached_property
    def pairs(self) -> MatchedPairs:
        """Pairs of labels of one unit."""
        i, j = pairs_of_units(self.unit)
        category = self.objects.category
        return MatchedPairs(i, j, self.part["iou"], category[i] == category[j])

    @cached_property
    def visibility(self) -> FloatArray | None:
        """Share of points that both labelled, shape ``(P,)``, of matched keypoints; None for other labels."""
        return self.part["visibility"].astype(np.float64) if "visibility" in self.part else None

    @cached_property
    def pair_sample(self) -> IntArray:
        """Sample of every pair of labels, shape ``(P,)``."""
        return self.objects.sample[self.pairs.i]

    @cached_property
    def pair_meeting(self) -> IntArray:
        """Meeting of every pair of labels, shape ``(P,)``."""
        annotator = self.objects.annotator
        return self.sample_pairs.row(self.pair_sample, annotator[self.pairs.i], annotator[self.pairs.j])

    @cached_property
    def pair_ends(self) -> IntArray:
        """First, then second labels of the pairs, shape ``(2 P,)``."""
        return np.concatenate([self.pairs.i, self.pairs.j])

    # ---- seats and meetings ----

    @cached_property
    def seats(self) -> Seats:
        """The seats."""
        at = (np.cumsum(self.assigned) - 1).reshape(self.assigned.shape)
        sample, annotator = np.nonzero(self.assigned)
        return Seats(sample, annotator, at, at[self.objects.sample, self.objects.annotator])

    @cached_property
    def sample_pairs(self) -> SamplePairs:
        """The meetings: pairs of annotators on samples."""
        return SamplePairs.of(self.objects, self.assigned)

    @cached_property
    def pair_score(self) -> FloatArray:
        """Panoptic quality of every meeting, shape ``(Q,)``; nan where not scored."""
        return pair_scores(self.objects, self.pairs, self.sample_pairs, self.n_objects, empty=self.config.empty)

    @cached_property
    def met(self) -> AnnotatorPairs:
        """The pairs of annotators."""
        return AnnotatorPairs.of(self.assigned) if self.met_in_report is None else self.met_in_report

    @cached_property
    def meeting_met(self) -> IntArray:
        """Pair of annotators of every meeting, shape ``(Q,)``."""
        return self.met.rows(self.sample_pairs.a, self.sample_pairs.b)

    def with_columns(self, **columns: FloatArray | IntArray | BoolArray) -> Tables:
        """The same samples with other columns."""
        return replace(self, part={**self.part, **columns})


def means(total: FloatArray, count: IntArray) -> FloatArray:
    """Sums by counts; nan where nothing was counted."""
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def pairs_of_units(unit: IntArray) -> tuple[IntArray, IntArray]:
    """The pairs ``i < j`` of labels of one unit, from the unit of every label ``(N,)``."""
    order = np.argsort(unit, kind="stable")
    first, second = pairs_within(unit[order])
    return order[first], order[second]


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
