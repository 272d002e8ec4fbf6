"""The main numbers of a run at many matching thresholds, as statistics that add up over batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.alpha.nominal import NominalTally
from ...metrics.arrays import FloatArray, IntArray
from ...metrics.detection import f1_score
from ...metrics.matching import match_objects
from ...metrics.matching.partition import TIE
from ...metrics.matching.sweep import THRESHOLDS, Sweep, sweep_thresholds
from ..config import AgreementConfig
from .compute import Agreement, MatchedPairs, pair_scores, sample_scores
from .unit_counts import UnitCounter


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """Sums over rated samples at one threshold.

    Attributes:
        threshold: least similarity of a match
        joint: ratings of units as alpha counts them
        score: sum of the samples' scores
        n_scored: samples with a score
        n_matched: pairs of objects of one unit
        n_drawn: objects of both annotators, over all pairs of annotators on samples
        n_units: units
        n_hard: components of objects that needed a decision
        n_inexact: those whose solution is not proven to be the best
    """

    threshold: float
    joint: NominalTally
    score: float
    n_scored: int
    n_matched: int
    n_drawn: int
    n_units: int
    n_hard: int
    n_inexact: int

    def __add__(self, other: SweepPoint) -> SweepPoint:
        return SweepPoint(
            self.threshold,
            self.joint + other.joint,
            self.score + other.score,
            self.n_scored + other.n_scored,
            self.n_matched + other.n_matched,
            self.n_drawn + other.n_drawn,
            self.n_units + other.n_units,
            self.n_hard + other.n_hard,
            self.n_inexact + other.n_inexact,
        )

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


def sweep_batch(
    agreement: Agreement, config: AgreementConfig, thresholds: tuple[float, ...] = THRESHOLDS
) -> SweepStatistics:
    """The sweep of a batch, by the rules of the run; at the threshold of the run its own units.

    What counts is what counted in the run: objects that a crowd region explains there are left out at all thresholds.
    The method ``mutual_best`` has no threshold, and no sweep.
    """
    if config.method == "mutual_best":
        return SweepStatistics()
    objects, overlaps = agreement.batch.objects, agreement.overlaps
    sweep = _sweep(agreement, config, thresholds)
    counter = UnitCounter.of(objects, overlaps, agreement.n_assigned)
    of_pair, without_matches = _pair_shares(agreement, config, counter)
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


def _sweep(agreement: Agreement, config: AgreementConfig, thresholds: tuple[float, ...]) -> Sweep:
    """The units at all thresholds; at that of the run its own."""
    objects, overlaps = agreement.batch.objects, agreement.overlaps
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
    """Row of the first object of every object's unit; both of shape ``(N,)``."""
    first = np.empty(n_units, np.int64)
    first[unit[::-1]] = np.arange(len(unit))[::-1]
    return first[unit]


def _pair_shares(agreement: Agreement, config: AgreementConfig, counter: UnitCounter) -> tuple[FloatArray, FloatArray]:
    """What an overlapping pair of objects adds to the score of its sample if it is matched, and the scores without
    any match.

    A score is a mean over pairs of annotators of 2 Σ IoU / (n_a + n_b), so every match adds a share of its own.
    """
    objects, shared = agreement.batch.objects, agreement.sample_pairs
    nothing = np.empty(0, np.int64)
    matches = MatchedPairs(nothing, nothing, np.empty(0), np.empty(0, np.bool_))
    pair_score = pair_scores(objects, matches, shared, agreement.n_objects, empty=config.empty)
    n_scored = np.bincount(shared.sample[~np.isnan(pair_score)], minlength=agreement.batch.n_samples)
    i, j = counter.rows[counter.i], counter.rows[counter.j]
    row = shared.row(objects.sample[i], objects.annotator[i], objects.annotator[j])
    iou = agreement.overlaps.values_at(agreement.overlaps.similarity("iou"), i, j)
    share = 2.0 * iou / ((shared.n_a[row] + shared.n_b[row]) * n_scored[objects.sample[i]])
    return np.where(counter.one_class, share, 0.0), sample_scores(pair_score, shared, agreement.batch.n_samples)
