"""Sensitivity: the main numbers at other matching thresholds, and alpha under other rules, as sums over batches.

Published numbers of other programs, which match and count by other rules, can be reproduced with them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, get_args

import numpy as np

from ...metrics.alpha import alpha_of
from ...metrics.alpha.nominal import NominalTally
from ...metrics.arrays import BoolArray, FloatArray, IntArray, pairs_within, sums_by
from ...metrics.geometry.objects import Objects, Overlaps
from ...metrics.matching import ClassHandling, Method, match_objects
from ...metrics.matching.partition import TIE
from ...metrics.matching.sweep import THRESHOLDS, Sweep, sweep_thresholds
from ...metrics.pairs import f1_score
from ..codes import MISSING
from ..config import AgreementConfig, Empty, Missing, Undefined
from ..report import number
from .compute import MatchedBatch, MatchedPairs, pair_scores, sample_scores
from .report import RuleAlpha, ThresholdPoint
from .sums import Additive


@dataclass(frozen=True, slots=True)
class Grouping:
    """The units of the objects of rated samples."""

    first: IntArray  #: shape ``(N,)``, row of the first object of every object's unit
    votes: IntArray  #: shape ``(N,)``, size of the unit at its first object; 0 at other objects
    together: BoolArray  #: shape ``(P,)``, whether an overlapping pair is in one unit
    same_class: IntArray  #: shape ``(Q,)``, for every pair of objects of one unit and class: first object of the unit

    @property
    def n_units(self) -> int:
        """Number of units."""
        return int(np.count_nonzero(self.votes))

    @property
    def n_pairs(self) -> int:
        """Number of pairs of objects in the same unit."""
        return int((self.votes * (self.votes - 1) // 2).sum())


@dataclass(frozen=True, slots=True)
class UnitCounter:
    """The objects of rated samples, ready to be grouped into units in different ways."""

    rows: IntArray  #: shape ``(N,)``, row of every object in the batch of ``N'`` objects
    number: IntArray  #: shape ``(N',)``, inverse of ``rows``
    sample: IntArray  #: shape ``(N,)``
    category: IntArray  #: shape ``(N,)``
    assigned: IntArray  #: shape ``(S,)``, assigned annotators
    i: IntArray  #: shape ``(P,)``, first object of every overlapping pair; ``j``: second one
    j: IntArray  #: shape ``(P,)``
    one_class: BoolArray  #: shape ``(P,)``, whether both have the same class
    class_of: IntArray  #: shape ``(N,)``, number of the (sample, class) of every object
    class_sample: IntArray  #: shape ``(C,)``, sample of every (sample, class)

    @classmethod
    def of(cls, objects: Objects, overlaps: Overlaps, n_assigned: IntArray) -> UnitCounter:
        """Select the rated samples of a batch."""
        rated = n_assigned[objects.sample] >= 2
        number = np.cumsum(rated) - 1
        pairs = rated[overlaps.i]
        sample, category = objects.sample[rated], objects.category[rated]
        n_categories = int(category.max(initial=0)) + 1
        keys, class_of = np.unique(sample * n_categories + category, return_inverse=True)
        i, j = number[overlaps.i[pairs]], number[overlaps.j[pairs]]
        one_class = category[i] == category[j]
        return cls(
            np.flatnonzero(rated), number, sample, category, n_assigned, i, j, one_class, class_of, keys // n_categories
        )

    def group(self, first: IntArray) -> Grouping:
        """The units, from the row of the unit's first object for every object of the batch ``(N',)``."""
        if len(self.rows) < len(first):
            first = self.number[first[self.rows]]
        n = len(first)
        votes = np.bincount(first, minlength=n)
        unit = first[self.i]
        together = unit == first[self.j]
        same_class = unit[together & self.one_class]
        n_overlapping = np.bincount(unit[together], minlength=n)
        apart = n_overlapping < votes * (votes - 1) // 2
        if apart.any():  # units with members that do not overlap
            members = np.flatnonzero(apart[first])
            members = members[np.argsort(first[members], kind="stable")]
            p, q = (members[side] for side in pairs_within(first[members]))
            same = self.category[p] == self.category[q]
            same_class = np.concatenate([same_class[~apart[same_class]], first[p[same]]])
        return Grouping(first, votes, together, same_class)

    def tally(self, units: Grouping, missing: Missing) -> NominalTally:
        """The ratings of all units."""
        start = np.flatnonzero(units.votes)
        votes = units.votes[start]
        n_categories = int(self.category.max(initial=MISSING)) + 1
        if missing == "ignore":
            matched = units.votes[units.first] >= 2
            n_units = np.bincount(votes[votes >= 2])
            m = np.arange(len(n_units))
            n_same = np.bincount(units.votes[units.same_class], minlength=len(m))
            counts = np.bincount(self.category[matched], minlength=n_categories)
            return NominalTally(counts, n_units * m * (m - 1) - 2 * n_same, n_units)
        ratings = self.assigned[self.sample[start]]
        n_units = np.bincount(ratings)
        m = np.arange(len(n_units))
        n_objects = np.bincount(self.assigned[self.sample], minlength=len(m))
        n_pairs = np.bincount(ratings, weights=votes * (votes - 1) // 2, minlength=len(m)).astype(np.int64)
        n_same = np.bincount(self.assigned[self.sample[units.same_class]], minlength=len(m))
        counts = np.bincount(self.category, minlength=n_categories)
        counts[MISSING] = int((m * n_units).sum()) - len(self.sample)
        # of m ratings v are objects: m² - Σ n_c² = 2 (m - 1) v - v (v - 1) - 2 (pairs of one class)
        return NominalTally(counts, 2 * ((m - 1) * n_objects - n_pairs - n_same), n_units)

    def all_empty(self, n_objects: IntArray, missing: Missing, empty: Empty) -> NominalTally:
        """The ratings of images without any object, from the number of objects of every sample ``(S,)``."""
        if missing == "ignore" or empty == "skip":
            return NominalTally.empty()
        ratings = self.assigned[(self.assigned >= 2) & (n_objects == 0)]
        counts = np.zeros(MISSING + 1, np.int64)
        counts[MISSING] = ratings.sum()
        n_units = np.bincount(ratings)
        return NominalTally(counts, np.zeros_like(n_units), n_units)

    def alphas(self, units: Grouping, missing: Missing) -> tuple[FloatArray, BoolArray]:
        """Alpha of every sample ``(S,)``, nan where undefined; and whether this is because only one category occurs."""
        n_samples = len(self.assigned)
        start = np.flatnonzero(units.votes)
        same_sample = self.sample[units.same_class]
        if missing == "ignore":
            matched = units.votes[units.first] >= 2
            of_class = np.bincount(self.class_of[matched], minlength=len(self.class_sample))
            ratings = np.bincount(self.sample[matched], minlength=n_samples)
            alike = sums_by(same_sample, 2.0 / (units.votes[units.same_class] - 1), n_samples)
            observed = ratings - alike
            absent = np.zeros(n_samples)
        else:
            of_class = np.bincount(self.class_of, minlength=len(self.class_sample))
            n_objects = np.bincount(self.sample, minlength=n_samples)
            ratings = self.assigned * np.bincount(self.sample[start], minlength=n_samples)
            n_pairs = sums_by(self.sample[start], units.votes[start] * (units.votes[start] - 1) // 2, n_samples)
            n_same = np.bincount(same_sample, minlength=n_samples)
            observed = 2.0 * (n_objects - (n_pairs + n_same) / np.maximum(self.assigned - 1, 1))
            absent = (ratings - n_objects).astype(np.float64)
        equal = sums_by(self.class_sample, of_class * of_class, n_samples) + absent * absent
        expected = ratings.astype(np.float64) ** 2 - equal
        return alpha_of(observed, expected, ratings), (expected <= 0) & (ratings > 0)


@dataclass(frozen=True, slots=True)
class SweepPoint(Additive):
    """Sums over rated samples at one threshold."""

    threshold: float  #: matching threshold
    joint: NominalTally  #: ratings of units as alpha counts them
    score: float  #: sum of the samples' scores
    n_scored: int  #: samples with a score
    n_matched: int  #: pairs of objects in the same unit
    n_drawn: int  #: objects of both annotators, summed over the pairs of annotators of every sample
    n_units: int  #: units
    n_hard: int  #: components of objects that needed a decision
    n_inexact: int  #: hard components without an exact solution

    fixed: ClassVar[tuple[str, ...]] = ("threshold",)

    @property
    def mean_score(self) -> float:
        """Mean score; nan without a scored sample."""
        return self.score / self.n_scored if self.n_scored else np.nan

    @property
    def f1(self) -> float:
        """F1 of existence over all pairs of annotators; nan where nobody drew anything."""
        return float(f1_score(self.n_matched, self.n_drawn, 0))


@dataclass(frozen=True, slots=True)
class SweepStatistics:
    """The points of a sweep, by threshold; none for a method without a threshold."""

    points: tuple[SweepPoint, ...] = ()

    def __add__(self, other: SweepStatistics) -> SweepStatistics:
        if not self.points or not other.points:
            return self if self.points else other
        return SweepStatistics(tuple(a + b for a, b in zip(self.points, other.points, strict=True)))


def sweep_batch(agreement: MatchedBatch, thresholds: tuple[float, ...] = THRESHOLDS) -> SweepStatistics:
    """The main numbers of a batch at several thresholds, under the rules of the run.

    At the threshold of the run, its own units are used. Objects that the run left out because of crowd regions are left
    out at all thresholds. The method ``mutual_best`` has no threshold and therefore no sweep.
    """
    config = agreement.config
    if config.method == "mutual_best":
        return SweepStatistics()
    objects, overlaps = agreement.batch.objects, agreement.overlaps
    sweep = _sweep(agreement, thresholds)
    counter = UnitCounter.of(objects, overlaps, agreement.n_assigned)
    of_pair, without_matches = _pair_shares(agreement, counter)
    scored = ~np.isnan(without_matches)
    n_drawn = int((agreement.sample_pairs.n_a + agreement.sample_pairs.n_b).sum())
    empty = counter.all_empty(agreement.n_objects, config.missing, config.empty)
    points = []
    for at, threshold in enumerate(sweep.thresholds):
        units = counter.group(sweep.first[at])
        points.append(
            SweepPoint(
                threshold=threshold,
                joint=counter.tally(units, config.missing) + empty,
                score=float(without_matches[scored].sum() + of_pair[units.together].sum()),
                n_scored=int(scored.sum()),
                n_matched=units.n_pairs,
                n_drawn=n_drawn,
                n_units=units.n_units,
                n_hard=int(sweep.n_hard[at]),
                n_inexact=int(sweep.n_inexact[at]),
            )
        )
    return SweepStatistics(tuple(points))


def _sweep(agreement: MatchedBatch, thresholds: tuple[float, ...]) -> Sweep:
    """The units at all thresholds; at the run's threshold, the units of the run."""
    config, objects, overlaps = agreement.config, agreement.batch.objects, agreement.overlaps
    if config.method == "optimal":
        sweep = sweep_thresholds(
            objects, overlaps, thresholds=thresholds, similarity=config.similarity, classes=config.classes
        )
    else:
        none = np.zeros(len(thresholds), np.int64)
        sweep = Sweep(thresholds, np.empty((len(thresholds), len(objects)), np.int64), none, none.copy())
    for at, threshold in enumerate(thresholds):
        matching = agreement.matching
        if abs(threshold - config.iou) > TIE:
            if config.method == "optimal":
                continue
            matching = match_objects(
                objects,
                overlaps,
                threshold=threshold,
                similarity=config.similarity,
                method=config.method,
                classes=config.classes,
            )
        sweep.first[at] = first_of_units(matching.unit, matching.n_units)
        sweep.n_hard[at], sweep.n_inexact[at] = matching.n_hard, matching.n_inexact
    return sweep


def first_of_units(unit: IntArray, n_units: int) -> IntArray:
    """Row of the first object of every object's unit, shape ``(N,)``."""
    first = np.empty(n_units, np.int64)
    first[unit[::-1]] = np.arange(len(unit))[::-1]
    return first[unit]


def _pair_shares(agreement: MatchedBatch, counter: UnitCounter) -> tuple[FloatArray, FloatArray]:
    """What each overlapping pair adds to the score of its sample if it is matched, and the scores without any match.

    A score is the mean over pairs of annotators of 2 Σ IoU / (n_a + n_b), so matches contribute independently.
    """
    objects, shared = agreement.batch.objects, agreement.sample_pairs
    nothing = np.empty(0, np.int64)
    matches = MatchedPairs(nothing, nothing, np.empty(0), np.empty(0, np.bool_))
    pair_score = pair_scores(objects, matches, shared, agreement.n_objects, empty=agreement.config.empty)
    n_scored = np.bincount(shared.sample[~np.isnan(pair_score)], minlength=agreement.batch.n_samples)
    i, j = counter.rows[counter.i], counter.rows[counter.j]
    row = shared.row(objects.sample[i], objects.annotator[i], objects.annotator[j])
    iou = agreement.overlaps.values_at(agreement.overlaps.similarity("iou"), i, j)
    share = 2.0 * iou / ((shared.n_a[row] + shared.n_b[row]) * n_scored[objects.sample[i]])
    return np.where(counter.one_class, share, 0.0), sample_scores(pair_score, shared, agreement.batch.n_samples)


def threshold_points(sweep: SweepStatistics, config: AgreementConfig) -> list[ThresholdPoint]:
    """The main numbers at all thresholds of a sweep."""
    return [
        ThresholdPoint(
            threshold=point.threshold,
            alpha=number(point.joint.alpha(config.undefined)),
            score=number(point.mean_score),
            f1=number(point.f1),
            n_units=point.n_units,
            n_hard=point.n_hard,
            n_inexact=point.n_inexact,
        )
        for point in sweep.points
    ]


@dataclass(frozen=True, slots=True)
class RuleSums(Additive):
    """Sums over rated samples with at least one object."""

    method: Method  #: how objects are matched
    classes: ClassHandling  #: how classes enter the matching
    missing: Missing  #: whether a missed object is a category
    joint: NominalTally  #: ratings of units as alpha counts them
    alpha: float  #: sum of the samples' alphas
    n_defined: int  #: samples with an alpha
    n_single: int  #: samples whose alpha is undefined because only one category occurs

    fixed: ClassVar[tuple[str, ...]] = ("method", "classes", "missing")


@dataclass(frozen=True, slots=True)
class RuleStatistics:
    """Sums under every rule for matching and missing objects, and the sums of images without any object."""

    sums: tuple[RuleSums, ...] = ()  #: in the order of the report
    #: ratings of images without any object, for the rules that count them and have missing as a category
    empty: NominalTally = dataclasses.field(default_factory=NominalTally.empty)
    n_empty: int = 0  #: number of these images

    def __add__(self, other: RuleStatistics) -> RuleStatistics:
        sums = self.sums or other.sums
        if self.sums and other.sums:
            sums = tuple(a + b for a, b in zip(self.sums, other.sums, strict=True))
        return RuleStatistics(sums, self.empty + other.empty, self.n_empty + other.n_empty)

    def alphas(self) -> Iterator[RuleAlpha]:
        """Alpha under every combination of the rules."""
        for sums in self.sums:
            for empty in get_args(Empty):
                agreed = self.n_empty if empty == "agree" else 0
                joint = sums.joint + self.empty if agreed and sums.missing == "category" else sums.joint
                for undefined in get_args(Undefined):
                    ones = agreed + (sums.n_single if undefined == "one" else 0)
                    n = sums.n_defined + ones
                    yield RuleAlpha(
                        method=sums.method,
                        classes=sums.classes,
                        missing=sums.missing,
                        empty=empty,
                        undefined=undefined,
                        pooled=number(joint.alpha()),
                        mean=(sums.alpha + ones) / n if n else None,
                        n_defined=n,
                    )


def rules_of(agreement: MatchedBatch) -> RuleStatistics:
    """Alpha of a batch under all class rules of the method ``optimal``, and under ``recursive`` as published.

    All at the run's threshold. The run's own units are used for its own rules, which come first for other methods.
    Other units of ``optimal`` come from :func:`~...metrics.matching.sweep.sweep_thresholds`, which solves all but very
    large components exactly.
    """
    counter = UnitCounter.of(agreement.batch.objects, agreement.overlaps, agreement.n_assigned)
    sums = []
    for method, classes, first in _matchings(agreement):
        units = counter.group(first)
        for missing in get_args(Missing):
            alpha, single = counter.alphas(units, missing)
            defined = alpha[~np.isnan(alpha)]
            joint = counter.tally(units, missing)
            sums.append(
                RuleSums(method, classes, missing, joint, float(defined.sum()), len(defined), int(single.sum()))
            )
    is_empty = agreement.rated & (agreement.n_objects == 0)
    return RuleStatistics(tuple(sums), counter.all_empty(agreement.n_objects, "category", "agree"), int(is_empty.sum()))


def _matchings(agreement: MatchedBatch) -> Iterator[tuple[Method, ClassHandling, IntArray]]:
    """Method, class rule, and :func:`first_of_units` for every matching that is compared."""
    config, objects, overlaps = agreement.config, agreement.batch.objects, agreement.overlaps
    similarity = config.similarity
    own_rules = (config.method, config.classes)
    own = first_of_units(agreement.matching.unit, agreement.matching.n_units)
    if config.method != "optimal":
        yield *own_rules, own
    for classes in get_args(ClassHandling):
        if own_rules == ("optimal", classes):
            yield "optimal", classes, own
            continue
        sweep = sweep_thresholds(objects, overlaps, thresholds=(config.iou,), similarity=similarity, classes=classes)
        yield "optimal", classes, sweep.first[0]
    if own_rules != ("recursive", "ignore"):
        matching = match_objects(
            objects, overlaps, threshold=config.iou, similarity=similarity, method="recursive", classes="ignore"
        )
        yield "recursive", "ignore", first_of_units(matching.unit, matching.n_units)
