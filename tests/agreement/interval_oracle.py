"""What the intervals of a report must be: those of reports on resampled samples, one after the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.agreement.report_numbers import interval_of, number_of

from annotator_agreement.agreement.content_order import content_ranks
from annotator_agreement.agreement.report import AgreementReport, ReportContext


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
        resampled = np.array([number_of(value, key) for value in values])
        expected = np.nanquantile(resampled, [0.025, 0.975])
        assert (interval.low, interval.high) == pytest.approx(tuple(expected), rel=0, abs=1e-9), key
        others = np.array([number_of(value, key) for value in left_out])
        error = np.sqrt((n - 1) / n * ((others - others.mean()) ** 2).sum())
        assert interval.jackknife_error == pytest.approx(error, rel=0, abs=1e-9), key
    return keys
