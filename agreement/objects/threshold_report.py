"""The parts of a report on the matching threshold and on other rules, from their statistics."""

from __future__ import annotations

import math

from ..config import AgreementConfig
from ..report import number
from .rules import RuleStatistics
from .summaries import DataThreshold, RuleAlpha, ThresholdPoint
from .sweep import SweepStatistics
from .threshold_sample import ThresholdSample


def threshold_points(sweep: SweepStatistics, config: AgreementConfig) -> list[ThresholdPoint]:
    """The main numbers at all thresholds of a sweep."""
    points = []
    for point in sweep.points:
        alpha = point.joint.alpha()
        if math.isnan(alpha) and point.joint.n_ratings and config.undefined == "one":
            alpha = 1.0
        points.append(
            ThresholdPoint(
                threshold=point.threshold,
                alpha=number(alpha),
                score=number(point.mean_score),
                f1=number(point.f1),
                n_units=point.n_units,
                n_hard=point.n_hard,
                n_inexact=point.n_inexact,
            )
        )
    return points


def rule_alphas(rules: RuleStatistics) -> list[RuleAlpha]:
    """Alpha under all rules."""
    return [
        RuleAlpha(
            method=rule.method,
            classes=rule.classes,
            missing=rule.missing,
            empty=rule.empty,
            undefined=rule.undefined,
            pooled=number(rule.pooled),
            mean=number(rule.mean),
            n_defined=rule.n_defined,
        )
        for rule in rules.alphas()
    ]


def data_threshold(sample: ThresholdSample, config: AgreementConfig) -> DataThreshold | None:
    """The threshold that the data suggest; None where no samples were kept."""
    if not sample.n_samples:
        return None
    found = sample.threshold(config.similarity, config.seed)
    return DataThreshold(
        threshold=number(found.threshold),
        ks=number(found.ks),
        n_samples=sample.n_samples,
        n_observed=found.n_observed,
        n_expected=found.n_expected,
        observed=found.observed.tolist(),
        expected=found.expected.tolist(),
        reason=found.reason or None,
    )
