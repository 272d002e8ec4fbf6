"""The headline numbers: score and alpha, and how many of everything there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.alpha.nominal import NominalCounts
from ...metrics.arrays import IntArray
from ..config import AgreementConfig
from ..report import AlphaSummary, ScoreSummary, mean_defined, number
from .additive import Additive, Gathered
from .chunk import Chunk
from .coefficients import alpha_of
from .compute import ALPHA_REASONS


@dataclass(frozen=True, slots=True)
class OverallSums(Additive):
    """Sums over samples.

    Attributes:
        joint: ratings of units as alpha counts them
        score: score of every sample ``(S,)``; nan where not scored
        alpha: alpha of every sample ``(S,)``; nan where undefined
        alpha_reasons: shape ``(5,)``, samples whose alpha is undefined for each of ``ALPHA_REASONS``
        n_rated: samples with at least two assigned annotators
        n_empty: rated samples in which nobody drew anything
        n_units: units of rated samples
        n_objects: objects of rated samples
    """

    joint: NominalCounts
    score: Gathered
    alpha: Gathered
    alpha_reasons: IntArray
    n_rated: int
    n_empty: int
    n_units: int
    n_objects: int


def overall_sums(chunk: Chunk) -> OverallSums:
    """The sums of some samples."""
    findings, ratings = chunk.findings, chunk.ratings
    rated, n_objects = findings.rated, findings.n_objects
    return OverallSums(
        joint=chunk.counts(ratings.unit, ratings.category, ratings.count),
        score=Gathered.of(findings.score),
        alpha=Gathered.of(findings.alpha),
        alpha_reasons=np.bincount(findings.alpha_reason, minlength=len(ALPHA_REASONS)),
        n_rated=int(rated.sum()),
        n_empty=int((rated & (n_objects == 0)).sum()),
        n_units=int(findings.n_units[rated].sum()),
        n_objects=int(n_objects[rated].sum()),
    )


def score_summary(sums: OverallSums) -> ScoreSummary:
    """The mean of the samples' scores."""
    return ScoreSummary(*mean_defined(sums.score.values()))


def alpha_summary(sums: OverallSums, config: AgreementConfig) -> AlphaSummary:
    """Alpha of all samples together, and the mean of theirs."""
    tally = sums.joint.tally()
    mean, n_defined = mean_defined(sums.alpha.values())
    reasons = zip(ALPHA_REASONS, sums.alpha_reasons.tolist(), strict=True)
    return AlphaSummary(
        pooled=number(alpha_of(tally, config)),
        mean=mean,
        n_defined=n_defined,
        undefined={reason: count for reason, count in reasons if reason},
        percent_agreement=number(tally.percent_agreement()),
        n_units=tally.n_units,
    )
