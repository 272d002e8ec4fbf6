"""What is only known of a run as a whole, and adds up over its batches."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from ...metrics.geometry.keypoints import Keypoints, object_scale
from ...metrics.geometry.objects import Geometry
from ...metrics.geometry.regions import Regions
from ..config import AgreementConfig
from .compute import Agreement
from .rematching import Rematched, rematched
from .rules import RuleStatistics, rules_of
from .sweep import SweepStatistics, sweep_batch
from .threshold_sample import ThresholdSample
from .tracks import TrackCounts, count_tracks


@dataclass(frozen=True, slots=True)
class RunTotals:
    """Totals of any number of batches.

    Attributes:
        n_hard: components of objects that needed a decision
        n_inexact: those too large for an exact solution
        n_repaired: polygons that had to be repaired
        n_points: keypoints without an extent, which have a single labelled point, or several in one place
        tracks: how often the tracks of annotators met on frames
        sweep: the main numbers at other thresholds
        rules: alpha under other rules
        threshold_sample: samples from which the threshold is found that the data suggest
        rematched: alpha without each of the annotators, the others matched again
    """

    n_hard: int = 0
    n_inexact: int = 0
    n_repaired: int = 0
    n_points: int = 0
    tracks: TrackCounts = dataclasses.field(default_factory=TrackCounts)
    sweep: SweepStatistics = dataclasses.field(default_factory=SweepStatistics)
    rules: RuleStatistics = dataclasses.field(default_factory=RuleStatistics)
    threshold_sample: ThresholdSample = dataclasses.field(default_factory=ThresholdSample)
    rematched: Rematched = dataclasses.field(default_factory=Rematched)

    def __add__(self, other: RunTotals) -> RunTotals:
        return RunTotals(
            **{field.name: getattr(self, field.name) + getattr(other, field.name) for field in dataclasses.fields(self)}
        )


def totals_of(agreement: Agreement, config: AgreementConfig) -> RunTotals:
    """The totals of a batch."""
    geometry = agreement.batch.geometry
    totals = RunTotals(
        n_hard=agreement.matching.n_hard,
        n_inexact=agreement.matching.n_inexact,
        n_repaired=geometry.n_repaired if isinstance(geometry, Regions) else 0,
        n_points=_without_extent(geometry),
        tracks=_track_counts(agreement),
        rematched=rematched(agreement, config) if config.rematch else Rematched(),
    )
    if config.sensitivity or config.iou_from_data:
        sample = ThresholdSample.of(agreement.batch, agreement.overlaps, config.similarity)
        totals = dataclasses.replace(totals, threshold_sample=sample)
    if config.sensitivity:
        totals = dataclasses.replace(totals, sweep=sweep_batch(agreement, config), rules=rules_of(agreement, config))
    return totals


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
