"""Sensitivity: the main numbers at other matching thresholds, and alpha under other rules, as sums over batches.

They reproduce published numbers of programs with other rules.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, get_args

import numpy as np

from ...metrics.alpha import alpha_of
from ...metrics.alpha.nominal import NominalTally
from ...metrics.matching import ClassHandling, Method
from ...metrics.matching.pairs import f1_score
from ...metrics.matching.partition import TIE
from ...metrics.matching.sweep import THRESHOLDS, Sweep, sweep_thresholds
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by, sums_of_keys
from ..matching.batch import Excuses, SamplePairs
from ..matching.compute import Counting, MatchedBatch, MatchedPairs, matching_of, pair_scores, sample_scores
from ..settings.config import AgreementConfig, Empty, Missing, Undefined
from ..settings.no_labels import NOT_ASSIGNED, OtherReading, reading_name
from ..statistics.codes import MISSING
from ..statistics.report import number
from .report import RuleAlpha, ThresholdPoint
from .sums import Additive


@dataclass(frozen=True, slots=True)
class Grouping:
    """The units of the objects of rated samples."""

    first: IntArray  #: shape ``(N,)``, row of the first object of every object's unit
    votes: IntArray  #: shape ``(N,)``, size of the unit at the row of its first object; 0 in other rows
    together: BoolArray  #: shape ``(P,)``, whether an overlapping pair of one class is in one unit
    n_same_class: IntArray  #: shape ``(N,)``, pairs of objects of one class in the unit, at its first object
    excuses: Excuses  #: who is excused from a unit, which is named by the row of its first object

    @property
    def n_units(self) -> int:
        """Number of units."""
        return int(np.count_nonzero(self.votes))

    @property
    def n_pairs(self) -> int:
        """Number of pairs of objects in the same unit."""
        return int((self.votes * (self.votes - 1) // 2).sum())


@dataclass(frozen=True, slots=True)
class RatedUnits:
    """What alpha counts of units with at least two ratings."""

    sample: IntArray  #: shape ``(U,)``
    n_ratings: IntArray  #: shape ``(U,)``
    absent: IntArray  #: shape ``(U,)``, number of ratings *missing*
    differing: IntArray  #: shape ``(U,)``, ordered pairs of ratings that differ
    objects: IntArray  #: rows of the objects of these units


@dataclass(frozen=True, slots=True)
class UnitCounter:
    """The objects of rated samples, ready to be grouped into units in different ways."""

    rows: IntArray  #: shape ``(N,)``, row of every object in the batch of ``N'`` objects
    number: IntArray  #: shape ``(N',)``, inverse of ``rows``
    sample: IntArray  #: shape ``(N,)``
    category: IntArray  #: shape ``(N,)``
    assigned: IntArray  #: shape ``(S,)``, assigned annotators
    pairs: IntArray  #: shape ``(P,)``, positions of the overlapping pairs of one class
    i: IntArray  #: shape ``(P,)``, first object of every one of these; ``j``: second one
    j: IntArray  #: shape ``(P,)``
    class_of: IntArray  #: shape ``(N,)``, number of the (sample, class) of every object, in the order of samples
    class_sample: IntArray  #: shape ``(C,)``, sample of every (sample, class)
    annotator: IntArray  #: shape ``(N,)``
    #: rows of objects, and the other annotators whose crowd regions cover most of them
    covered: tuple[IntArray, IntArray]

    @classmethod
    def of(cls, agreement: MatchedBatch) -> UnitCounter:
        """Select the rated samples of a batch."""
        objects, overlaps, n_assigned = agreement.batch.objects, agreement.overlaps, agreement.n_assigned
        rated = n_assigned[objects.sample] >= 2
        number = np.cumsum(rated) - 1
        pairs = np.flatnonzero(rated[overlaps.i] & (objects.category[overlaps.i] == objects.category[overlaps.j]))
        sample, category = objects.sample[rated], objects.category[rated]
        n_categories = int(category.max(initial=0)) + 1
        keys, class_of = np.unique(sample * n_categories + category, return_inverse=True)
        covered, other = agreement.covered
        return cls(
            rows=np.flatnonzero(rated),
            number=number,
            sample=sample,
            category=category,
            assigned=n_assigned,
            pairs=pairs,
            i=number[overlaps.i[pairs]],
            j=number[overlaps.j[pairs]],
            class_of=class_of,
            class_sample=keys // n_categories,
            annotator=objects.annotator[rated],
            covered=(number[covered], other),
        )

    def group(self, first: IntArray) -> Grouping:
        """The units, from the row of the first object of every object's unit ``(N',)``."""
        if len(self.rows) < len(first):
            first = self.number[first[self.rows]]
        n = len(first)
        votes = np.bincount(first, minlength=n)
        together = first[self.i] == first[self.j]
        n_same_class = self._pairs_of_one_class(first)
        excuses = Excuses.of(first, self.annotator, self.covered)
        return Grouping(first, votes, together, n_same_class, excuses)

    def _pairs_of_one_class(self, first: IntArray) -> IntArray:
        """Pairs of objects of one class in every unit, at the row of its first object, shape ``(N,)``."""
        n = len(first)
        class_of_sample = self.class_of - np.searchsorted(self.class_sample, self.sample)
        n_classes = int(class_of_sample.max(initial=0)) + 1
        unit, count = sums_of_keys(first * n_classes + class_of_sample, None, n * n_classes)
        several = count > 1
        unit, count = unit[several] // n_classes, count[several]
        return np.bincount(unit, weights=count * (count - 1.0) / 2.0, minlength=n).astype(np.int64)

    def rated(self, units: Grouping, rules: Counting) -> RatedUnits:
        """The units with at least two ratings."""
        first = np.flatnonzero(units.votes)
        votes, sample = units.votes[first], self.sample[first]
        n_excused = units.excuses.n_of_units(len(units.first))[first]
        n_ratings = rules.n_ratings(votes, self.assigned[sample] - n_excused)
        several = n_ratings >= 2
        first, votes, sample, m = first[several], votes[several], sample[several], n_ratings[several]
        is_rated = np.zeros(len(units.first), np.bool_)
        is_rated[first] = True
        absent = m - votes
        # m² - Σ n_c² over the classes (votes + 2 x pairs of objects of one class) and over *missing*
        differing = m * m - votes - 2 * units.n_same_class[first] - absent * absent
        return RatedUnits(sample, m, absent, differing, np.flatnonzero(is_rated[units.first]))

    def tally(self, units: Grouping, rules: Counting) -> NominalTally:
        """The ratings of all units."""
        rated = self.rated(units, rules)
        counts = np.bincount(self.category[rated.objects], minlength=MISSING + 1)
        counts[MISSING] += rated.absent.sum()
        differing = np.bincount(rated.n_ratings, weights=rated.differing).astype(np.int64)
        return NominalTally(counts, differing, np.bincount(rated.n_ratings))

    def all_empty(self, n_objects: IntArray, rules: Counting) -> NominalTally:
        """The ratings of images without any object, from the number of objects of every sample ``(S,)``."""
        if not rules.rates_empty:
            return NominalTally.empty()
        ratings = self.assigned[(self.assigned >= 2) & (n_objects == 0)]
        counts = np.zeros(MISSING + 1, np.int64)
        counts[MISSING] = ratings.sum()
        n_units = np.bincount(ratings)
        return NominalTally(counts, np.zeros_like(n_units), n_units)

    def sums_of_samples(self, units: Grouping, rules: Counting) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The three sums that :func:`~...metrics.alpha.alpha_of` takes, of every sample, each of shape ``(S,)``."""
        rated, n_samples = self.rated(units, rules), len(self.assigned)
        n, absent = (sums_by(rated.sample, values, n_samples) for values in (rated.n_ratings, rated.absent))
        observed = sums_by(rated.sample, rated.differing / (rated.n_ratings - 1), n_samples)
        of_class = np.bincount(self.class_of[rated.objects], minlength=len(self.class_sample))
        equal = sums_by(self.class_sample, of_class * of_class, n_samples) + absent * absent
        return observed, n * n - equal, n


@dataclass(frozen=True, slots=True)
class SweepPoint(Additive):
    """Sums over rated samples at one threshold."""

    threshold: float  #: matching threshold
    joint: NominalTally  #: ratings of units for alpha
    score: float  #: sum of the scores of samples
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
    """The points of a sweep, by threshold; empty for a method without a threshold."""

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
    sweep = _sweep(agreement, thresholds)
    counter = UnitCounter.of(agreement)
    shared = agreement.sample_pairs
    of_pair, without_matches = _pair_shares(agreement, counter, shared)
    rules = Counting.of(config)
    empty = counter.all_empty(agreement.n_objects, rules)
    points = []
    for at, threshold in enumerate(sweep.thresholds):
        units = counter.group(sweep.first[at])
        if len(counter.covered[0]):  # who is excused depends on the units
            rows, others = units.excuses.of_objects(units.first)
            shared = SamplePairs.of(agreement.batch.objects, agreement.assigned, (counter.rows[rows], others))
            of_pair, without_matches = _pair_shares(agreement, counter, shared)
        scored = ~np.isnan(without_matches)
        points.append(
            SweepPoint(
                threshold=threshold,
                joint=counter.tally(units, rules) + empty,
                score=float(without_matches[scored].sum() + of_pair[units.together].sum()),
                n_scored=int(scored.sum()),
                n_matched=units.n_pairs,
                n_drawn=int((shared.n_a + shared.n_b).sum()),
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
            matching = matching_of(objects, overlaps, config, threshold)
        sweep.first[at] = first_of_units(matching.unit, matching.n_units)
        sweep.n_hard[at], sweep.n_inexact[at] = matching.n_hard, matching.n_inexact
    return sweep


def first_of_units(unit: IntArray, n_units: int) -> IntArray:
    """Row of the first object of every object's unit, shape ``(N,)``."""
    first = np.empty(n_units, np.int64)
    first[unit[::-1]] = np.arange(len(unit))[::-1]
    return first[unit]


def _pair_shares(agreement: MatchedBatch, counter: UnitCounter, shared: SamplePairs) -> tuple[FloatArray, FloatArray]:
    """Share of each overlapping pair of one class in the score of its sample if matched; the scores without matches.

    A score is the mean over pairs of annotators of 2 Σ IoU / (n_a + n_b), so matches contribute independently.
    """
    objects = agreement.batch.objects
    nothing = np.empty(0, np.int64)
    matches = MatchedPairs(nothing, nothing, np.empty(0), np.empty(0, np.bool_))
    pair_score = pair_scores(objects, matches, shared, agreement.n_objects, empty=agreement.config.empty)
    n_scored = np.bincount(shared.sample[~np.isnan(pair_score)], minlength=agreement.batch.n_samples)
    i, j = agreement.overlaps.i[counter.pairs], agreement.overlaps.j[counter.pairs]
    row = shared.row(objects.sample[i], objects.annotator[i], objects.annotator[j])
    iou = agreement.overlaps.iou[counter.pairs]
    # objects that do not match may have no object of the other annotator to be compared with
    n_both = np.maximum(shared.n_a[row] + shared.n_b[row], 1)
    share = 2.0 * iou / (n_both * n_scored[objects.sample[i]])
    return share, sample_scores(pair_score, shared, agreement.batch.n_samples)


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
    alpha: FloatArray  #: shape ``(2,)``, sum of the samples' alphas under each rule ``undefined``
    n_defined: IntArray  #: shape ``(2,)``, samples with an alpha

    fixed: ClassVar[tuple[str, ...]] = ("method", "classes", "missing")


@dataclass(frozen=True, slots=True)
class RuleStatistics:
    """Sums under every rule for matching and missing objects, and sums of images without objects."""

    sums: tuple[RuleSums, ...] = ()  #: in the order of the report
    #: ratings of images without objects, for the rules that count them and use missing as a category
    empty: NominalTally = dataclasses.field(default_factory=NominalTally.empty)
    n_empty: int = 0  #: number of these images

    def __add__(self, other: RuleStatistics) -> RuleStatistics:
        sums = self.sums or other.sums
        if self.sums and other.sums:
            sums = tuple(a + b for a, b in zip(self.sums, other.sums, strict=True))
        return RuleStatistics(sums, self.empty + other.empty, self.n_empty + other.n_empty)

    def alphas(self, no_labels: str = NOT_ASSIGNED) -> Iterator[RuleAlpha]:
        """Alpha under every combination of the rules, all with the same meaning of a null label list."""
        for sums in self.sums:
            for empty in get_args(Empty):
                agreed = self.n_empty if empty == "agree" else 0
                joint = sums.joint + self.empty if Counting(sums.missing, empty).rates_empty else sums.joint
                for k, undefined in enumerate(get_args(Undefined)):
                    n = int(sums.n_defined[k]) + agreed
                    yield RuleAlpha(
                        method=sums.method,
                        classes=sums.classes,
                        missing=sums.missing,
                        empty=empty,
                        undefined=undefined,
                        pooled=number(joint.alpha()),
                        mean=(float(sums.alpha[k]) + agreed) / n if n else None,
                        n_defined=n,
                        no_labels=no_labels,
                    )


def rule_alphas(rules: RuleStatistics, config: AgreementConfig, other: OtherReading | None) -> list[RuleAlpha]:
    """Alpha under every combination of the rules, and under the run's with the other meaning of a null label list."""
    found = list(rules.alphas(reading_name(config.no_labels, config.assigned_field)))
    if other is None or not found:
        return found
    own = {name: getattr(config, name) for name in ("method", "classes", "missing", "empty", "undefined")}
    reading = reading_name(other.no_labels, None)
    return [
        *found,
        RuleAlpha(**own, pooled=other.alpha, mean=other.mean_alpha, n_defined=other.n_alpha, no_labels=reading),
    ]


def rules_of(agreement: MatchedBatch) -> RuleStatistics:
    """Alpha of a batch under all class rules of the method ``optimal``, and under ``recursive`` as published.

    All at the run's threshold. The run's own rules use its own units, and come first for other methods. Other units of
    ``optimal`` come from :func:`~...metrics.matching.sweep.sweep_thresholds`, which solves all but very large
    components exactly.
    """
    counter = UnitCounter.of(agreement)
    sums = []
    for method, classes, first in _matchings(agreement):
        units = counter.group(first)
        for missing in get_args(Missing):
            rules = Counting(missing, "skip")
            of_samples = counter.sums_of_samples(units, rules)
            alpha = np.stack([alpha_of(*of_samples, undefined=undefined) for undefined in get_args(Undefined)])
            n_defined = np.count_nonzero(~np.isnan(alpha), axis=1)
            joint = counter.tally(units, rules)
            sums.append(RuleSums(method, classes, missing, joint, np.nansum(alpha, axis=1), n_defined))
    empty = counter.all_empty(agreement.n_objects, Counting("category", "agree"))
    is_empty = agreement.rated & (agreement.n_objects == 0)
    return RuleStatistics(tuple(sums), empty, int(is_empty.sum()))


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
        matching = matching_of(objects, overlaps, dataclasses.replace(config, method="recursive", classes="ignore"))
        yield "recursive", "ignore", first_of_units(matching.unit, matching.n_units)
