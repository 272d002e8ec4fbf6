"""Totals that exist only for a whole run: counts, tracks, other thresholds and rules, matching without an annotator."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from ...metrics.alpha.nominal import NominalTally
from ...metrics.geometry.objects import Objects
from ..config import AgreementConfig
from .batch import TrackCounts, count_tracks
from .compute import Counting, MatchedBatch, matching_of, ratings_of
from .sensitivity import RuleStatistics, SweepStatistics, rules_of, sweep_batch
from .sums import Additive
from .threshold_sample import ThresholdSample

#: minimum number of annotators: without one, two must be left
MIN_ANNOTATORS = 3


@dataclass(frozen=True, slots=True)
class Rematched:
    """Sums for alpha without each of the annotators, matched again; empty if not requested."""

    tallies: tuple[NominalTally, ...] = ()

    def __add__(self, other: Rematched) -> Rematched:
        if not self.tallies or not other.tallies:
            return self if self.tallies else other
        return Rematched(tuple(a + b for a, b in zip(self.tallies, other.tallies, strict=True)))

    def alphas(self, config: AgreementConfig) -> list[float] | None:
        """Alpha without each of the annotators, nan where undefined; None if nothing was matched again."""
        return [tally.alpha(config.undefined) for tally in self.tallies] or None


def rematched(agreement: MatchedBatch) -> Rematched:
    """Match the objects of a batch again without each of the annotators (three or more)."""
    n_annotators = agreement.batch.assigned.shape[1]
    if n_annotators < MIN_ANNOTATORS:
        return Rematched()
    return Rematched(tuple(_tally_without(annotator, agreement) for annotator in range(n_annotators)))


def _tally_without(annotator: int, agreement: MatchedBatch) -> NominalTally:
    """The ratings of the units of the other annotators, matched again without this annotator's objects."""
    batch, config = agreement.batch, agreement.config
    kept = batch.objects.annotator != annotator
    objects = Objects(batch.objects.sample[kept], batch.objects.annotator[kept], batch.objects.category[kept])
    matching = matching_of(objects, agreement.overlaps.among(kept), config)
    n_assigned = agreement.n_assigned - batch.assigned[:, annotator]
    sample = np.zeros(matching.n_units, np.int64)
    sample[matching.unit] = objects.sample
    ratings = ratings_of(objects, matching.unit, sample, n_assigned, Counting.of(config))
    return NominalTally.from_counts(ratings.unit, ratings.category, ratings.count)


@dataclass(frozen=True, slots=True)
class RunTotals(Additive):
    """Totals of any number of batches."""

    n_hard: int = 0  #: components of objects that needed a decision
    n_inexact: int = 0  #: components too large for an exact solution
    n_repaired: int = 0  #: polygons that had to be repaired
    n_points: int = 0  #: keypoint objects with a single labelled point, or several in one place
    #: number of frames in which the tracks of annotators are matched
    tracks: TrackCounts = dataclasses.field(default_factory=TrackCounts)
    sweep: SweepStatistics = dataclasses.field(default_factory=SweepStatistics)  #: the main numbers at other thresholds
    rules: RuleStatistics = dataclasses.field(default_factory=RuleStatistics)  #: alpha under other rules
    #: subsample for the threshold that the data suggest
    threshold_sample: ThresholdSample = dataclasses.field(default_factory=ThresholdSample)
    #: alpha without each of the annotators, with the others matched again
    rematched: Rematched = dataclasses.field(default_factory=Rematched)


def totals_of(agreement: MatchedBatch) -> RunTotals:
    """The totals of a batch."""
    geometry, config = agreement.batch.geometry, agreement.config
    totals = RunTotals(
        n_hard=agreement.matching.n_hard,
        n_inexact=agreement.matching.n_inexact,
        n_repaired=geometry.n_repaired,
        n_points=geometry.n_without_extent,
        tracks=_track_counts(agreement),
        rematched=rematched(agreement) if config.rematch else Rematched(),
    )
    if config.sensitivity or config.iou_from_data:
        sample = ThresholdSample.of(agreement.batch, agreement.overlaps, config.similarity)
        totals = dataclasses.replace(totals, threshold_sample=sample)
    if config.sensitivity:
        totals = dataclasses.replace(totals, sweep=sweep_batch(agreement), rules=rules_of(agreement))
    return totals


def _track_counts(agreement: MatchedBatch) -> TrackCounts:
    batch, pairs = agreement.batch, agreement.pairs
    if batch.tracks is None:
        return TrackCounts()
    objects = batch.objects
    return count_tracks(batch.tracks, objects.sample, objects.annotator, batch.assigned, (pairs.i, pairs.j))
