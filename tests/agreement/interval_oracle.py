"""What the intervals of a report must be: those of reports on resampled samples, one after the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.agreement.report_numbers import interval_of, number_of

from annotator_agreement.agreement.content_order import content_ranks
from annotator_agreement.agreement.report import ReportContext


def check_intervals(
    records: Any, context: ReportContext, build: Callable, estimates_of: Callable, contents: Callable
) -> list[tuple[str, ...]]:
    """Compare all intervals of a report with those of reports on resampled samples.

    Args:
        records: of the samples
        context: with a small number of resamples
        build: the report from records and context
        estimates_of: all numbers that have intervals, with these
        contents: what tells samples apart

    Returns:
        keys of the numbers with an interval
    """
    report, found = build(records, context), estimates_of(records, context)
    for key, estimate in found.items():
        assert estimate.value == pytest.approx(number_of(report, key), rel=0, abs=1e-9, nan_ok=True), key
        assert interval_of(report, key) == estimate.interval, key

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
    keys = [key for key, each in found.items() if each.interval is not None]
    for key in keys:
        interval = interval_of(report, key)
        assert interval is not None
        resampled = np.array([number_of(value, key) for value in values])
        expected = np.nanquantile(resampled, [0.025, 0.975])
        assert (interval.low, interval.high) == pytest.approx(tuple(expected), rel=0, abs=1e-9), key
        others = np.array([number_of(value, key) for value in left_out])
        error = np.sqrt((n - 1) / n * ((others - others.mean()) ** 2).sum())
        assert interval.jackknife_error == pytest.approx(error, rel=0, abs=1e-9), key
    return keys
