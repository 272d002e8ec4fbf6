"""Expected intervals of a report, computed from one full report for each resample of the samples."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.agreement.report_numbers import interval_of, number_of

from annotator_agreement.agreement.content_order import content_ranks
from annotator_agreement.agreement.report import AgreementReport, Interval, ReportContext


def interval_keys(report: AgreementReport) -> Iterator[tuple[str, ...]]:
    """Keys of all numbers of a report that have an interval."""
    yield from ((name,) for name in report.intervals)
    for part in ("pairs", "annotators", "classes", "tags"):
        for entry in getattr(report, part, []):
            names = (entry.a, entry.b) if part == "pairs" else (_name(entry),)
            yield from ((part, *names, name) for name in entry.intervals)
            for own in ("bias", "consensus"):
                found = getattr(getattr(entry, own, None), "intervals", {})
                yield from ((part, *names, own, name) for name in found)
    yield from (("sessions", name) for name in getattr(getattr(report, "sessions", None), "intervals", {}))


def _name(entry: Any) -> str:
    for field in ("tag", "value", "name"):
        if hasattr(entry, field):
            return str(getattr(entry, field))
    raise AssertionError(entry)


def check_interval(
    key: tuple[str, ...], interval: Interval, estimate: float, resampled: np.ndarray, left_out: np.ndarray
) -> None:
    """Compare an interval with that of Efron and Tibshirani (1993), equations 14.9 to 14.15.

    From fewer than 20 samples, it is expanded as by Hesterberg (2015); intervals of all samples are not.

    Args:
        key: of the number
        interval: the interval
        estimate: the number
        resampled: the number in every resample, nan where undefined
        left_out: the number without each of the samples
    """
    defined = resampled[~np.isnan(resampled)]
    normal = NormalDist()
    below, ties = (defined < estimate - 1e-11).mean(), (np.abs(defined - estimate) <= 1e-11).mean()
    tails, n = [0.025, 0.975], interval.n
    if n < 20 and (len(key) > 1 or key == ("counts.icc",)):
        reach = stats.t.ppf(0.975, n - 1) * (n / (n - 1)) ** 0.5
        tails = [normal.cdf(-reach), normal.cdf(reach)]
    deviation = left_out.mean() - left_out
    if 0 < below + ties / 2 < 1 and np.abs(deviation).max() > 1e-11:
        bias = normal.inv_cdf(below + ties / 2)
        acceleration = (deviation**3).sum() / (6 * (deviation**2).sum() ** 1.5)
        shifted = [bias + normal.inv_cdf(tail) for tail in tails]
        if all(acceleration * each < 1 for each in shifted):
            tails = [normal.cdf(bias + each / (1 - acceleration * each)) for each in shifted]
    expected = np.quantile(defined, tails)
    assert (interval.low, interval.high) == pytest.approx(tuple(expected), rel=0, abs=1e-9)
    assert interval.error == pytest.approx(defined.std(ddof=1), rel=0, abs=1e-9)


def check_intervals(
    records: Any, context: ReportContext, build: Callable, contents: Callable, prefix: str = ""
) -> list[tuple[str, ...]]:
    """Compare all intervals of a report with those of reports on resampled samples.

    Args:
        records: of the samples
        context: with a small number of resamples
        build: the report from records and context
        contents: what tells samples apart
        prefix: only numbers whose key begins so

    Returns:
        keys of the numbers with an interval
    """
    report = build(records, context)
    config = context.config
    without = dataclasses.replace(context, config=dataclasses.replace(config, resamples=0))
    rated = records.select(records.assigned.sum(axis=1) >= 2)
    n = rated.n_samples
    alone = [rated.select(np.arange(n) == k).parts[-1] for k in range(n)]
    by_rank = np.argsort(content_ranks(*contents(rated, context)))

    def report_on(rows: list[int]) -> Any:
        columns = {name: np.concatenate([alone[row][name] for row in rows]) for name in alone[0]}
        return build(dataclasses.replace(rated, parts=(columns,)), without)

    rng = np.random.Generator(np.random.PCG64(config.seed))
    values = [report_on(by_rank[rng.integers(0, n, n)].tolist()) for _ in range(config.resamples)]
    left_out = [report_on([other for other in range(n) if other != k]) for k in range(n)]
    keys = [key for key in interval_keys(report) if key[0].startswith(prefix)]
    for key in keys:
        interval = interval_of(report, key)
        assert interval is not None
        resampled, others = (np.array([number_of(each, key) for each in found]) for found in (values, left_out))
        check_interval(key, interval, number_of(report, key), resampled, others)
    return keys
