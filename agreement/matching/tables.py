"""``Batch``: the objects of samples; ``Tables``: the agreement on them as tables of labels, units, pairs, meetings.

A row of *labels* (``objects``), *units*, *pairs* of labels of one unit, *seats* (a sample and an annotator who was
asked), *meetings* (``sample_pairs``: a sample and two annotators who were asked) and *opinions* (a label, and a class
that other annotators gave its object): nearly every number is a count over one of these tables.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...metrics.consensus.consensus import medians_by_group
from ...metrics.geometry.boxes import box_area
from ...metrics.geometry.objects import Geometry, Objects, dice_from_iou
from ...metrics.matching.pairs import panoptic_quality
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, pairs_within, ranges, sums_by
from ..settings.annotators import AnnotatorPairs
from ..settings.config import AgreementConfig, Empty, Missing
from ..statistics.codes import MISSING
from ..statistics.numbers import ratio
from ..statistics.records import AnyColumns, unpacked
from .verdicts import AGREED, NO_VERDICT

#: track of an object without a track
NO_TRACK = int(np.iinfo(np.int64).min)


@dataclass(frozen=True, slots=True)
class Batch:
    """The objects of a batch of samples, and the assigned annotators."""

    objects: Objects  #: ``N`` objects, sorted by sample, annotator, label id; categories from 1
    geometry: Geometry  #: geometry of every object
    assigned: BoolArray  #: shape ``(S, R)``, whether an annotator was assigned to a sample
    crowd: BoolArray | None = None  #: shape ``(N,)``, objects that are crowd regions; None if there are none
    #: shape ``(N,)``, number of the track of every object, within the video and annotator; ``NO_TRACK`` if it has none;
    #: None if the samples are no frames
    track: IntArray | None = None
    #: for every compared attribute the codes of its values, shape ``(N,)``; 0 where not given
    attributes: tuple[IntArray, ...] = ()
    #: for every compared attribute the number of each code; nan where the value is not a number
    attribute_numbers: tuple[FloatArray, ...] = ()
    #: shape ``(S, 2)``, width and height of the images, nan where unknown; None if not needed
    size_px: FloatArray | None = None
    #: shape ``(S, R)``, who would be assigned if null label lists meant the opposite; None: as ``assigned``
    otherwise: BoolArray | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.assigned)

    def take(self, samples: IntArray) -> Batch:
        """The batch of the samples at some rows, in that order."""
        n_objects = np.bincount(self.objects.sample, minlength=self.n_samples)
        rows = ranges((np.cumsum(n_objects) - n_objects)[samples], n_objects[samples])
        known = {name: getattr(self, name) for name in ("assigned", "otherwise", "size_px")}
        kept: dict[str, Any] = {name: None if column is None else column[samples] for name, column in known.items()}
        return dataclasses.replace(self._with(rows, np.repeat(np.arange(len(samples)), n_objects[samples])), **kept)

    def of_first(self, n: int) -> Batch:
        """The batch of the first ``n`` annotators alone; those with higher numbers are the roles of a run."""
        return dataclasses.replace(self.among(self.objects.annotator < n), assigned=self.assigned[:, :n])

    def among(self, rows: BoolArray) -> Batch:
        """The batch with all samples, but only the objects in a mask ``(N,)``."""
        return self._with(rows, self.objects.sample[rows])

    def _with(self, rows: IntArray | BoolArray, sample: IntArray) -> Batch:
        """The batch with some of the objects, and the sample of each of them."""
        return dataclasses.replace(
            self,
            objects=Objects(sample, self.objects.annotator[rows], self.objects.category[rows]),
            geometry=self.geometry.take(rows),
            crowd=None if self.crowd is None else self.crowd[rows],
            track=None if self.track is None else self.track[rows],
            attributes=tuple(codes[rows] for codes in self.attributes),
        )


#: measures of the bias of boxes, in this order
MEASURES = ("size", "left", "top", "right", "bottom")
#: a consensus of the other annotators needs at least so many of them
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
    count: IntArray  #: shape ``(T,)``, number of annotators who gave it
    sample: IntArray  #: shape ``(U',)``, sample of every unit


@dataclass(frozen=True, slots=True)
class Seats:
    """The ``V`` seats of some samples: a sample and an annotator who was asked."""

    sample: IntArray  #: shape ``(V,)``
    annotator: IntArray  #: shape ``(V,)``
    at: IntArray  #: shape ``(S, R)``, seat of every sample and annotator
    own: IntArray  #: shape ``(N,)``, seat of every label


@dataclass(frozen=True, slots=True)
class SamplePairs:
    """The meetings: pairs of annotators assigned to the same sample, ordered by (sample, a, b)."""

    sample: IntArray  #: shape ``(Q,)``
    a: IntArray  #: shape ``(Q,)``, first annotator
    b: IntArray  #: shape ``(Q,)``
    n_a: IntArray  #: shape ``(Q,)``, objects of ``a`` on the sample
    n_b: IntArray  #: shape ``(Q,)``
    rank: IntArray  #: shape ``(S, R)``, position of an annotator among those assigned to the sample
    _first: IntArray  #: shape ``(S, R)``, the row of a pair is ``_first[sample, a] + rank[sample, b]``

    @classmethod
    def of(cls, objects: Objects, assigned: BoolArray) -> SamplePairs:
        """All pairs of annotators assigned to a sample, from the assignment ``(S, R)``."""
        n, rank = assigned.sum(axis=1, keepdims=True), np.cumsum(assigned, axis=1) - 1
        sample, annotator = np.nonzero(assigned)
        first, second = pairs_within(sample)
        a, b, of = annotator[first], annotator[second], sample[first]
        cells = objects.sample * assigned.shape[1] + objects.annotator
        n_objects = np.bincount(cells, minlength=assigned.size).reshape(assigned.shape)
        n_pairs = n * (n - 1) // 2
        start = np.cumsum(n_pairs)[:, None] - n_pairs
        return cls(of, a, b, n_objects[of, a], n_objects[of, b], rank, start + rank * n - rank * (rank + 3) // 2 - 1)

    def row(self, sample: IntArray, a: IntArray, b: IntArray) -> IntArray:
        """Row of the pair ``a`` before ``b`` of a sample."""
        row: IntArray = self._first[sample, a] + self.rank[sample, b]
        return row


class Tables:
    """The agreement on some samples: ``N`` labels in ``U`` units, ``P`` pairs of labels, ``V`` seats, ``Q`` meetings.

    Args:
        part: columns of the samples as a run stores them (:class:`~..objects.records.ObjectRecords`)
        n_annotators: number ``R`` of annotators
        config: the options of the run
        n_categories: number ``K`` of category codes, including *missing*
        pairs_met: the pairs of annotators of the report; None: those of these samples
        sizes: gives the index into ``SIZES`` of all units; None if sizes are not needed
    """

    def __init__(
        self,
        part: AnyColumns,
        n_annotators: int,
        config: AgreementConfig,
        *,
        n_categories: int = 0,
        pairs_met: AnnotatorPairs | None = None,
        sizes: Callable[[Tables], IntArray] | None = None,
    ) -> None:
        self.part, self.config, self.n_annotators, self.n_categories = part, config, n_annotators, n_categories
        self._pairs_met, self._sizes = pairs_met, sizes
        #: whether not drawing an object is a rating; next line: whether an image that everybody left empty is a unit
        self.rates_missing = config.missing == "category"
        self.rates_empty = self.rates_missing and config.empty == "agree"

        # samples
        self.n_objects = part["n_objects"].astype(np.int64)  #: shape ``(S,)``
        self.n_units = part["n_units"].astype(np.int64)  #: shape ``(S,)``
        self.n_samples = len(self.n_objects)  #: number of samples ``S``
        self.assigned = unpacked(part["assigned"], n_annotators)  #: who was asked, shape ``(S, R)``
        self.n_assigned: IntArray = self.assigned.sum(axis=1)  #: shape ``(S,)``
        self.rated = self.n_assigned >= 2  #: samples with at least two assigned annotators, shape ``(S,)``

        # labels; crowd is left out
        sample = np.repeat(np.arange(self.n_samples), self.n_objects)
        category = part["category"].astype(np.int64)
        #: the objects that count, sorted by sample and annotator
        self.objects = Objects(sample, part["annotator"].astype(np.int64), category)
        first = np.cumsum(self.n_units) - self.n_units
        #: the unit of every label, shape ``(N,)``; units are numbered across samples
        self.unit = part["unit"].astype(np.int64) + first[sample]
        #: index into ``VERDICTS``, shape ``(N,)``; ``NO_VERDICT`` where the sample is not rated
        self.object_verdict = part["verdict"].astype(np.int64)
        #: area in the unit of the geometry, shape ``(N,)``, in seven digits: further ones carry no information
        self.area = part["area"].astype(np.float32).astype(np.float64)

        # units
        of_unit = np.repeat(np.arange(self.n_samples), self.n_units)
        votes, verdict = np.bincount(self.unit, minlength=len(of_unit)), part["unit_verdict"].astype(np.int64)
        self.units = Units(of_unit, votes, self.n_assigned[of_unit], verdict)
        self.rated_unit = (
            self.units.verdict != NO_VERDICT
        )  #: units of samples that the run took as rated, shape ``(U,)``

        # pairs of labels of one unit
        i, j = pairs_of_units(self.unit)
        self.pairs = MatchedPairs(i, j, part["iou"], category[i] == category[j])
        self.pair_sample = sample[i]  #: shape ``(P,)``
        self.pair_ends = np.concatenate([i, j])  #: first, then second labels of the pairs, shape ``(2 P,)``
        self.n_matched = np.bincount(self.pair_sample, minlength=self.n_samples)  #: pairs of every sample, ``(S,)``

    # ---- samples ----

    @property
    def score(self) -> FloatArray:
        """Score of every sample, shape ``(S,)``; nan where not scored."""
        return self.part["score"]

    @property
    def alpha(self) -> FloatArray:
        """Alpha of every sample, shape ``(S,)``; nan where undefined."""
        return self.part["alpha"]

    @property
    def cost(self) -> FloatArray:
        """The disagreement that fixing a sample would remove, shape ``(S,)``; see :func:`~.compute.sample_costs`."""
        return self.part["cost"]

    @property
    def n_disputed(self) -> IntArray:
        """Units of every sample without full agreement, shape ``(S,)``."""
        return np.bincount(self.units.sample[self.units.verdict > AGREED], minlength=self.n_samples)

    @property
    def iou(self) -> FloatArray:
        """Mean IoU of the matched objects of every sample, shape ``(S,)``; nan without matches."""
        return ratio(sums_by(self.pair_sample, self.pairs.iou, self.n_samples), self.n_matched)

    @property
    def dice(self) -> FloatArray:
        """Mean Dice of the matched objects of every sample, shape ``(S,)``; nan without matches."""
        return ratio(sums_by(self.pair_sample, dice_from_iou(self.pairs.iou), self.n_samples), self.n_matched)

    # ---- labels ----

    @property
    def boxes_xyxy(self) -> FloatArray | None:
        """Bounding boxes in the unit of the geometry, shape ``(N, 4)``; None if objects have none."""
        return self.part["boxes_xyxy"].astype(np.float64) if "boxes_xyxy" in self.part else None

    @cached_property
    def attributes(self) -> tuple[IntArray, ...]:
        """For every compared attribute the codes of its values, shape ``(N,)``; 0 where not given."""
        return tuple(self.part["attributes"].astype(np.int64).T) if "attributes" in self.part else ()

    @property
    def object_iou(self) -> FloatArray:
        """Mean IoU of every object with the other members of its unit, shape ``(N,)``; nan without others."""
        n = len(self.objects)
        return ratio(sums_by(self.pair_ends, np.tile(self.pairs.iou, 2), n), np.bincount(self.pair_ends, minlength=n))

    @cached_property
    def opinions(self) -> tuple[IntArray, IntArray, IntArray]:
        """Classes that the other members of its unit have, for every label of a rated sample: label, class, how many.

        Shapes ``(O,)``, ascending by label, then class.
        """
        ratings = self.ratings
        drawn = ratings.category != MISSING
        unit, category, count = ratings.unit[drawn], ratings.category[drawn], ratings.count[drawn]
        n = np.bincount(unit, minlength=len(self.units.votes))
        n, first = n[self.unit], (np.cumsum(n) - n)[self.unit]
        label, row = np.repeat(np.arange(len(n)), n), ranges(first, n)
        others = count[row] - (category[row] == self.objects.category[label])
        kept = others > 0
        return label[kept], category[row[kept]], others[kept]

    @cached_property
    def others_class(self) -> IntArray:
        """The class that more than half of the others who drew an object gave it, shape ``(N,)``; -1 without.

        At least two of them must have given it: of one against one nobody can tell who is right. With two annotators in
        all it is the class that the other one gave.
        """
        label, category, n = self.opinions
        at_least = MIN_OTHERS if self.n_annotators > MIN_OTHERS else 1
        most = (2 * n > self.units.votes[self.unit[label]] - 1) & (n >= at_least)
        found = np.full(len(self.unit), -1)
        found[label[most]] = category[most]
        return found

    @cached_property
    def offsets(self) -> tuple[IntArray, FloatArray]:
        """Offsets of boxes from the median box of their unit, over units with at least two members.

        Returns:
            rows of the labels ``(M,)`` in units whose median box has a width and height, and their offsets in per cent,
            shape ``(M, 5)``, in the order of ``MEASURES``
        """
        boxes = self.boxes_xyxy
        if boxes is None:
            return np.empty(0, np.int64), np.empty((0, len(MEASURES)))
        rows = np.flatnonzero(self.units.votes[self.unit] >= 2)
        own, unit = boxes[rows], self.unit[rows]
        return _offsets(rows, own, medians_by_group(unit, own, len(self.units.votes))[unit])

    @cached_property
    def offsets_from_others(self) -> tuple[IntArray, FloatArray]:
        """As :attr:`offsets`, from the mean box of the others who drew the object, which has the mean of every edge."""
        boxes = self.boxes_xyxy
        if boxes is None:
            return np.empty(0, np.int64), np.empty((0, len(MEASURES)))
        votes = self.units.votes
        rows = np.flatnonzero(votes[self.unit] >= 2)
        own, unit = boxes[rows], self.unit[rows]
        sums = np.column_stack([sums_by(unit, edge, len(votes)) for edge in own.T])
        return _offsets(rows, own, (sums[unit] - own) / (votes[unit] - 1)[:, None])

    # ---- units ----

    @cached_property
    def size(self) -> IntArray:
        """Index into ``SIZES`` of every unit, shape ``(U,)``; -1 where unknown."""
        return np.full(len(self.units.sample), -1) if self._sizes is None else self._sizes(self)

    @cached_property
    def ratings(self) -> Ratings:
        """The ratings of units that alpha counts."""
        rules = self.config.missing, self.config.empty
        return ratings_of(self.objects, self.unit, self.units.sample, self.n_assigned, *rules)

    @cached_property
    def lead(self) -> IntArray:
        """Class of more than half of the labels of every unit of a rated sample, shape ``(U,)``; -1 without."""
        ratings = self.ratings
        drawn = (
            ratings.category != MISSING
        )  # the other ratings are *missing*, also of images without labels, which are no units here
        unit, category, count = ratings.unit[drawn], ratings.category[drawn], ratings.count[drawn]
        leads = 2 * count > self.units.votes[unit]
        lead = np.full(len(self.units.votes), -1)
        lead[unit[leads]] = category[leads]
        return lead

    # ---- seats and meetings ----

    @cached_property
    def seats(self) -> Seats:
        """The seats of these samples."""
        at = (np.cumsum(self.assigned) - 1).reshape(self.assigned.shape)
        sample, annotator = np.nonzero(self.assigned)
        return Seats(sample, annotator, at, at[self.objects.sample, self.objects.annotator])

    @cached_property
    def sample_pairs(self) -> SamplePairs:
        """The meetings on these samples."""
        return SamplePairs.of(self.objects, self.assigned)

    @cached_property
    def pair_meeting(self) -> IntArray:
        """Meeting of every pair of labels, shape ``(P,)``."""
        annotator = self.objects.annotator
        return self.sample_pairs.row(self.pair_sample, annotator[self.pairs.i], annotator[self.pairs.j])

    @cached_property
    def pair_score(self) -> FloatArray:
        """Panoptic quality of every meeting, shape ``(Q,)``; nan where not scored."""
        return pair_scores(self.objects, self.pairs, self.sample_pairs, self.n_objects, empty=self.config.empty)

    @cached_property
    def pairs_met(self) -> AnnotatorPairs:
        """The pairs of annotators of the report."""
        return AnnotatorPairs.of(self.assigned) if self._pairs_met is None else self._pairs_met

    @cached_property
    def meeting_pair(self) -> IntArray:
        """Pair of annotators of every meeting, shape ``(Q,)``."""
        return self.pairs_met.rows(self.sample_pairs.a, self.sample_pairs.b)


def _offsets(rows: IntArray, own: FloatArray, reference: FloatArray) -> tuple[IntArray, FloatArray]:
    """The rows ``(M,)`` whose reference box has a width and height, and offsets from it in per cent, ``(M, 5)``."""
    sides = reference[:, [2, 3, 2, 3]] - reference[:, [0, 1, 0, 1]]
    kept = (sides > 0).all(axis=1)  # False for nan
    own, reference, sides = own[kept], reference[kept], sides[kept]
    size = np.sqrt(box_area(own) / box_area(reference)) - 1.0
    return rows[kept], 100.0 * np.column_stack([size, (own - reference) / sides])


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
    score[both_empty & ((n_objects[sample_pairs.sample] > 0) | (empty == "agree"))] = 1.0
    return score


def ratings_of(
    objects: Objects, unit: IntArray, sample: IntArray, n_assigned: IntArray, missing: Missing, empty: Empty
) -> Ratings:
    """Ratings that alpha counts on rated images: classes of the members of units, and *missing*.

    Every annotator who drew an object rates it with the class. If ``missing`` is a category, every other assigned
    annotator rates it as missing; and if ``empty`` agrees, an image that everybody left empty is a unit that everybody
    rated as missing.

    Args:
        unit: shape ``(N,)``, unit of every object
        sample: shape ``(U,)``, sample of every unit; units without an object are left out
        n_assigned: shape ``(S,)``, annotators assigned to every sample
        missing: as the option of a run
        empty: likewise
    """
    rated = n_assigned[objects.sample] >= 2
    n_categories = int(objects.category.max(initial=0)) + 1
    keys, count = np.unique(unit[rated] * n_categories + objects.category[rated], return_counts=True)
    incomplete = all_empty = absent = np.empty(0, np.int64)
    if missing == "category":
        votes = np.bincount(unit, minlength=len(sample))
        absent = n_assigned[sample] - votes
        incomplete = np.flatnonzero((absent > 0) & (votes > 0) & (n_assigned[sample] >= 2))
        if empty == "agree":
            n_objects = np.bincount(objects.sample, minlength=len(n_assigned))
            all_empty = np.flatnonzero((n_assigned >= 2) & (n_objects == 0))
    return Ratings(
        np.concatenate([keys // n_categories, incomplete, len(sample) + np.arange(len(all_empty))]),
        np.concatenate([keys % n_categories, np.full(len(incomplete) + len(all_empty), MISSING)]),
        np.concatenate([count, absent[incomplete], n_assigned[all_empty]]),
        np.concatenate([sample, all_empty]),
    )
