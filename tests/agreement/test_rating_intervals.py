"""Confidence intervals in the report on ratings: against reports on resampled samples."""

from __future__ import annotations

import dataclasses
import tracemalloc
from typing import Any

import numpy as np
import pytest

from tests.agreement.interval_oracle import check_intervals, interval_keys, proportion_of_none
from tests.agreement.rating_oracle import context_of, random_rows

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.ratings.compute import RatingRecords, compute_ratings, record_ratings
from annotator_agreement.agreement.ratings.numbers import sample_contents
from annotator_agreement.agreement.ratings.report import RatingReport, build_rating_report

NAMES = ("alice", "bob", "carol", "dave")
CLASSES = ["ant", "cat", "dog", "owl"]
NUMBERS = [0.0, 1.0, 2.5, 2.6, 40.0]
OPTIONS: list[tuple[bool, dict[str, Any]]] = [
    (False, {}),
    (False, {"categories": ["dog", "owl", "ant", "cat"], "undefined": "one"}),
    (True, {"tolerance": 0.2}),
    (True, {"level": "ratio"}),
    (True, {"level": "ordinal"}),
    (True, {"level": "nominal"}),
]
#: numbers that have an interval where alpha has none
OF_SAMPLES = {"score.mean", "share_full_agreement"}
each_option = pytest.mark.parametrize(("numbers", "options"), OPTIONS, ids=str)


def _config(**options: Any) -> Any:
    return make_config(NAMES, **{"resamples": 30, **options})


def _table(rows: list, numbers: bool) -> np.ndarray:
    code = {name: number for number, name in enumerate(CLASSES, 1)}
    return np.array([[np.nan if v is None else v if numbers else code[v] for v in row] for row in rows], np.float64)


def _records(table: np.ndarray, numbers: bool, tolerance: float = 0.0) -> RatingRecords:
    return record_ratings(compute_ratings(table, tolerance), numbers=numbers)


def _report(table: np.ndarray, numbers: bool, config: Any, clusters: np.ndarray | None = None) -> RatingReport:
    context = dataclasses.replace(context_of(config, ["(missing)", *CLASSES], numbers=numbers), clusters=clusters)
    return build_rating_report(_records(table, numbers, config.tolerance if numbers else 0.0), context)


def _rows(seed: int, numbers: bool, n: int = 70) -> np.ndarray:
    return _table(random_rows(seed, NUMBERS if numbers else CLASSES, n), numbers)


@each_option
def test_intervals_are_those_of_reports_on_resampled_samples(numbers: bool, options: dict) -> None:
    config = _config(**options, resamples=30)
    records = _records(_rows(5, numbers, 45), numbers, config.tolerance)
    context = context_of(config, ["(missing)", *CLASSES], numbers=numbers)
    keys = check_intervals(records, context, build_rating_report, sample_contents)
    assert ("alpha.pooled",) in keys
    assert len(keys) == 23  # three of the whole, two of each of six pairs, two of each annotator


@each_option
def test_the_order_of_samples_and_annotators_does_not_matter_for_intervals(numbers: bool, options: dict) -> None:
    table, config = _rows(6, numbers), _config(**options)
    clusters = np.random.default_rng(0).integers(0, 60, len(table))
    expected = _report(table, numbers, config, clusters)
    order = np.random.default_rng(1).permutation(len(table))
    moved = _report(table[order], numbers, config, 100 - clusters[order])
    permuted = make_config(NAMES[::-1], **{"resamples": 30, **options})
    swapped = _report(table[:, ::-1], numbers, permuted, clusters)
    for found in (moved, swapped):
        assert found.intervals.keys() == expected.intervals.keys() == {*OF_SAMPLES, "alpha.pooled"}
        for name, interval in expected.intervals.items():
            assert dataclasses.astuple(found.intervals[name]) == pytest.approx(dataclasses.astuple(interval), abs=1e-12)
    pair = next(entry for entry in swapped.pairs if {entry.a, entry.b} == {"alice", "bob"})
    assert dataclasses.astuple(pair.intervals["alpha"]) == pytest.approx(
        dataclasses.astuple(expected.pairs[0].intervals["alpha"]), abs=1e-12
    )


def test_an_interval_does_not_depend_on_the_unit_of_numbers() -> None:
    table, config = _rows(7, True), _config()
    interval = _report(table, True, config).intervals["alpha.pooled"]
    for scale, shift in ((1e-6, 0.0), (1e9, 1e12), (-3.0, 0.0)):
        other = _report(table * scale + shift, True, config)
        assert other.alpha.pooled == pytest.approx(_report(table, True, config).alpha.pooled, abs=1e-6)
        # the order of resampling is one of values, so that only the width is alike
        assert other.intervals["alpha.pooled"].error == pytest.approx(interval.error, rel=0.35)


@pytest.mark.parametrize("undefined", ["none", "one"])
def test_ratings_without_variation_have_no_interval_of_alpha_and_a_binomial_one_of_shares(undefined: str) -> None:
    table = np.ones((60, 4))
    for numbers in (False, True):
        intervals = _report(table, numbers, _config(undefined=undefined)).intervals
        assert set(intervals) == OF_SAMPLES
        for interval in intervals.values():
            assert interval.low == pytest.approx(1 - proportion_of_none(60), abs=1e-12)
            assert (interval.high, interval.error, interval.n) == (1, 0, 60)


def test_the_alpha_of_very_many_different_ratios_has_no_interval() -> None:
    numbers = np.random.default_rng(0).gamma(2.0, size=(300, 4))
    assert set(_report(numbers, True, _config(level="ratio", resamples=10)).intervals) == OF_SAMPLES
    assert "alpha.pooled" in _report(numbers, True, _config(level="interval", resamples=10)).intervals


@pytest.mark.slow
def test_the_intervals_of_many_ratings_take_little_memory() -> None:
    rng = np.random.default_rng(3)
    truth, noise = rng.integers(1, 5, (30_000, 1)), rng.integers(1, 5, (30_000, 10))
    table = np.where(rng.random(noise.shape) < 0.7, truth, noise).astype(float)
    records = _records(table, False)
    config = make_config([f"annotator_{k}" for k in range(10)], resamples=40)
    tracemalloc.start()
    report = build_rating_report(records, context_of(config, ["(missing)", *CLASSES], numbers=False))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(list(interval_keys(report))) == 3 + 2 * 45 + 2 * 10
    assert peak < 100e6
