"""Confidence intervals in the report on ratings: units, variation, and memory; see ``test_every_family``."""

from __future__ import annotations

import numpy as np
import pytest

from tests.agreement.families import KINDS, Sample
from tests.agreement.interval_oracle import proportion_of_none

NUMBERS = KINDS["numbers"]
#: numbers that have an interval where alpha has none
OF_SAMPLES = {"score.mean", "share_full_agreement"}


def _samples(table: np.ndarray) -> list[Sample]:
    return [dict(enumerate(row)) for row in table.tolist()]


def test_an_interval_does_not_depend_on_the_unit_of_numbers() -> None:
    samples = NUMBERS.samples(7, 70)
    report = NUMBERS.report(samples, resamples=300)
    for scale, shift in ((1e-6, 0.0), (1e9, 1e12), (-3.0, 0.0)):
        scaled = [{r: scale * value + shift for r, value in sample.items()} for sample in samples]
        other = NUMBERS.report(scaled, resamples=300)
        assert other.alpha.pooled == pytest.approx(report.alpha.pooled, abs=1e-6)
        # the order of resampling is one of values, so that only the width is alike
        error = report.intervals["alpha.pooled"].error
        assert other.intervals["alpha.pooled"].error == pytest.approx(error, rel=0.35)


@pytest.mark.parametrize("undefined", ["none", "one"])
def test_ratings_without_variation_have_no_interval_of_alpha_and_a_binomial_one_of_shares(undefined: str) -> None:
    for kind in ("classes", "numbers"):
        intervals = KINDS[kind].report(_samples(np.ones((60, 3))), undefined=undefined).intervals
        assert set(intervals) == OF_SAMPLES
        for interval in intervals.values():
            assert interval.low == pytest.approx(1 - proportion_of_none(60), abs=1e-12)
            assert (interval.high, interval.error, interval.n) == (1, 0, 60)


def test_the_alpha_of_very_many_different_ratios_has_no_interval() -> None:
    samples = _samples(np.random.default_rng(0).gamma(2.0, size=(400, 3)))
    assert set(NUMBERS.report(samples, level="ratio").intervals) == OF_SAMPLES
    assert "alpha.pooled" in NUMBERS.report(samples, level="interval").intervals
