"""Intervals of reports on many samples, by the delta method: as those of resampling, from moments as from rows."""

from __future__ import annotations

import dataclasses
import io
import re

import numpy as np
import pytest
from scipy import sparse

from tests.agreement.agreement_oracle import CLASS_NAMES, NAMES, batch_of, random_samples

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.matching.compute import compute_agreement_of
from annotator_agreement.agreement.objects import build
from annotator_agreement.agreement.objects.build import build_object_report, sample_contents
from annotator_agreement.agreement.objects.records import record
from annotator_agreement.agreement.statistics import estimates as estimation
from annotator_agreement.agreement.statistics.estimates import estimates, rated_only, report_estimates
from annotator_agreement.agreement.statistics.numbers import Numbers
from annotator_agreement.agreement.statistics.report import ReportContext, RunFacts

N = 1_200
#: shares of the width by which ends may differ: 4,000 resamples place them within 3 x 1.1 %, and shares of few draws
#: are not normally distributed
LARGEST, USUAL = 0.1, 0.02


@pytest.fixture(scope="module")
def of_many():
    """Records of many samples, of which some are not rated, and the context of their report."""
    config = make_config(NAMES[:3], resamples=4_000)
    records = record(compute_agreement_of(batch_of(random_samples(5, N), 3), config))
    return records, ReportContext(config, config.annotators, CLASS_NAMES, ["Detections"], RunFacts())


def _found(records, context):
    rated, of_rated = rated_only(records, context)
    collection = build.Blocks(rated, of_rated, by_sample=estimation.kept_by_sample(rated, of_rated))
    return report_estimates(collection.numbers(), lambda: sample_contents(rated, of_rated), rated, of_rated)


def _ends(found):
    return {key: (each.interval.low, each.interval.high) for key, each in found.items() if each.interval}


def test_both_methods_agree(of_many, monkeypatch):
    resampled = _found(*of_many)
    monkeypatch.setattr(estimation, "MOST_RESAMPLED", 100)
    delta = _found(*of_many)
    assert {key: each.value for key, each in delta.items()} == pytest.approx(
        {key: each.value for key, each in resampled.items()}, rel=0, abs=0, nan_ok=True
    )
    assert _ends(delta).keys() == _ends(resampled).keys()
    assert len(_ends(delta)) > 100
    apart = {}
    for key, ends in _ends(resampled).items():
        assert delta[key].interval.n == resampled[key].interval.n, key
        apart[key] = np.abs(np.subtract(_ends(delta)[key], ends)).max() / max(np.ptp(ends), 1e-12)
    assert {key: each for key, each in apart.items() if each > LARGEST} == {}
    assert np.median(list(apart.values())) < USUAL


@pytest.mark.long
def test_a_report_says_which_method_it_used(of_many, monkeypatch):
    records, context = of_many
    context = dataclasses.replace(context, config=make_config(NAMES[:3], resamples=20))
    assert "by the delta method" not in text_of(build_object_report(records, context))
    monkeypatch.setattr(estimation, "MOST_RESAMPLED", 100)
    text = text_of(build_object_report(records, context))
    assert re.search(r"confidence intervals for .* with these annotators \(1,\d+ by the delta method\)", text)
    assert "95 % intervals, by the delta method" in text


def text_of(report):
    out = io.StringIO()
    report.print_report(file=out, full=True)
    return out.getvalue()


@pytest.mark.long
@pytest.mark.parametrize("name", ["existence.presence.brennan_prediger", "coefficients.ac1"])
def test_limits_see_that_the_sum_of_rare_disagreement_is_skewed(monkeypatch, name):
    rng = np.random.default_rng(3)
    disagreed = np.where(rng.random(20_000) < 0.002, rng.exponential(size=20_000), 0.0)
    columns = sparse.csr_array(np.column_stack([np.ones(len(disagreed)), disagreed]))
    numbers = Numbers(((name,),), columns, lambda sums: 1.0 - 2.0 * sums[..., 1:] / sums[..., :1])

    def ends():
        (found,) = estimates([numbers], np.arange(len(disagreed)), resamples=4_000, seed=5).values()
        assert found.value == pytest.approx(1.0 - 2.0 * disagreed.mean())
        return np.array([found.interval.low, found.interval.high]) - found.value

    resampled = ends()
    monkeypatch.setattr(estimation, "MOST_RESAMPLED", 100)
    delta, width = ends(), np.ptp(resampled)
    assert np.abs(delta - resampled).max() < 0.04 * width
    # limits at equal distances are farther apart
    assert np.abs(np.array([-0.5, 0.5]) * np.ptp(delta) - resampled).max() > 0.05 * width
