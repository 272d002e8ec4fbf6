"""Resampling of samples and the delta method: published tables, closed forms, parts and blocks, degenerate data."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from scipy.sparse import csr_array

from tests.chance import seeds

from annotator_agreement import metrics
from annotator_agreement.metrics import ConfidenceIntervals, Resampling, bootstrap, sums_of_clusters
from annotator_agreement.metrics.bootstrap import (
    ColumnMoments,
    Part,
    bootstrap_parts,
    column_sums,
    delta_intervals,
    draws,
    n_given,
)

ENDS = ("percentile_low", "percentile_high", "bca_low", "bca_high")
ERRORS = ("standard_error", "jackknife_error")
ALL = ("estimate", *ENDS, *ERRORS, "n_undefined")
both_forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])


def _means(sums: np.ndarray) -> np.ndarray:
    """All columns but the first, over the first; nan over 0."""
    weight = sums[..., :1]
    return np.where(weight == 0, np.nan, sums[..., 1:] / np.where(weight == 0, 1, weight))


def _assert_same(found: ConfidenceIntervals, expected: ConfidenceIntervals, *names: str) -> None:
    for name in names:
        a, b = getattr(found, name), getattr(expected, name)
        assert_allclose(a, b, rtol=1e-10, atol=1e-13, err_msg=name)


def resampled_sums(columns: Any, *, resamples: int = 1000, seed: int = 51) -> np.ndarray:
    """Sums over the samples of every resample."""
    part = Part(draws.checked_columns(columns, "columns"), lambda sums: sums)
    return np.concatenate([sums for (sums,) in draws.resampled([part], draws.Draws(columns.shape[0], resamples, seed))])


def _drawn(n_samples: int, resamples: int, seed: int = 51) -> list[np.ndarray]:
    """The samples of every resample, as documented by numpy."""
    rng = np.random.Generator(np.random.PCG64(seed))
    return [rng.integers(0, n_samples, n_samples) for _ in range(resamples)]


def _columns(seed: int, n_samples: int = 23) -> np.ndarray:
    """A weight and three skewed columns that depend on it; mostly zeros in the last."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 9, n_samples).astype(float)
    skewed = weight[:, None] * rng.gamma(1.5, 1.0, (n_samples, 2))
    return np.column_stack([weight, skewed, rng.integers(0, 9, n_samples) * (rng.random(n_samples) < 0.3)])


def test_every_resample_adds_up_the_samples_it_drew() -> None:
    columns = _columns(0)
    expected = [sum(columns[i] for i in rows) for rows in _drawn(23, 40, seed=7)]
    for form in (np.asarray, sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix):
        sums = resampled_sums(form(columns), resamples=40, seed=7)
        assert type(sums) is np.ndarray
        assert_allclose(sums, expected, rtol=1e-13)
    assert_allclose(resampled_sums(columns, resamples=9, seed=7), sums[:9], rtol=1e-13)  # more begin with the fewer
    assert (resampled_sums(columns, resamples=9, seed=1) != resampled_sums(columns, resamples=9, seed=2)).any()
    wide = sparse.csr_array((np.ones(2_000), (np.arange(2_000), np.arange(2_000) * 50)), shape=(2_000, 100_000))
    assert_array_equal(resampled_sums(wide, resamples=50).sum(axis=1), np.full(50, 2_000.0))


@both_forms
def test_results_do_not_depend_on_the_size_of_chunks(form: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    columns, options = form(_columns(2)), Resampling(resamples=200)
    weights, whole = resampled_sums(np.eye(23), resamples=200), bootstrap(columns, _means, options)
    for chunk_bytes in (1, 5_000, 20_000):
        monkeypatch.setattr(draws, "CHUNK_BYTES", chunk_bytes)
        assert_array_equal(resampled_sums(np.eye(23), resamples=200), weights)
        _assert_same(bootstrap(columns, _means, options), whole, *ALL)


@pytest.mark.parametrize("method", ["percentile", "BCa"])
@pytest.mark.parametrize("seed", [3, 4])
def test_intervals_are_those_of_scipy_within_their_noise(seed: int, method: str) -> None:
    columns = _columns(seed, 40)
    expected = stats.bootstrap(
        (columns[:, 0], columns[:, 1]),
        lambda weight, value, axis=-1: value.sum(axis=axis) / weight.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        method=method,
        random_state=np.random.default_rng(0),
    )
    found = bootstrap(columns[:, :2], _means, Resampling(resamples=20_000))
    error = expected.standard_error
    assert_allclose(found.standard_error[0], error, rtol=0.03)
    ends = [getattr(found, f"{method.lower()}_{end}")[0] for end in ("low", "high")]
    assert_allclose(ends, expected.confidence_interval, rtol=0, atol=0.12 * error)
    other = {"percentile": "bca", "BCa": "percentile"}[method]
    others = [getattr(found, f"{other}_{end}")[0] for end in ("low", "high")]
    assert np.abs(np.subtract(others, expected.confidence_interval)).max() > 0.12 * error  # the data tell them apart


@both_forms
def test_resampling_clusters_is_resampling_their_sums(form: Callable) -> None:
    columns = _columns(6, 60)
    clusters = np.random.default_rng(6).choice([3, 8, 11, 40, 41, 77, 90, 91, 95], 60)
    sums = np.array([sum(row for row, c in zip(columns, clusters, strict=True) if c == k) for k in sorted({*clusters})])
    assert_allclose(np.asarray(form(sums_of_clusters(columns, clusters)).sum(axis=0)), columns.sum(axis=0))
    found = bootstrap(form(columns), _means, Resampling(clusters=clusters))
    assert found.n_samples == 9
    assert type(found.n_samples) is int  # goes into JSON
    _assert_same(found, bootstrap(sums, _means), "estimate", *ENDS, *ERRORS)


def _is_undefined(found: ConfidenceIntervals, k: int = 0) -> bool:
    return all(np.isnan(getattr(found, name)[k]) for name in (*ENDS, *ERRORS))


def test_too_few_samples_and_infinite_values_have_no_interval_and_equal_ones_one_of_no_width() -> None:
    for n_samples in (0, 1):
        for form in (np.asarray, sparse.csr_array):
            columns = form(np.ones((n_samples, 3)))
            found = bootstrap(columns, _means)
            assert np.isnan(found.estimate).all()
            assert _is_undefined(found, 0)
            assert _is_undefined(found, 1)
            assert (found.n_samples, found.n_undefined.tolist()) == (n_samples, [1000, 1000])
            assert_array_equal(resampled_sums(columns, resamples=4), np.full((4, 3), float(n_samples)))
    of_one_cluster = bootstrap(_columns(0), _means, Resampling(clusters=np.full(23, 4)))
    assert _is_undefined(of_one_cluster)
    assert of_one_cluster.n_samples == 1
    columns = np.zeros((30, 2))
    columns[4] = [2.0, 1.0]
    rests_on_one = bootstrap(columns, _means)
    assert rests_on_one.estimate[0] == 0.5
    assert 300 < rests_on_one.n_undefined[0] < 430  # (1 - 1/30)^30: the others alone would all give 0.5
    assert _is_undefined(rests_on_one)
    for infinite in (np.inf, -np.inf):
        found = bootstrap(_columns(1), lambda sums, value=infinite: np.where(sums[..., 1:] > 0, value, 0.0))
        assert np.isnan(found.estimate).all()
        assert _is_undefined(found)
    equal = bootstrap(np.tile([3.0, 0.3], (40, 1)), _means)
    assert_allclose([getattr(equal, name)[0] for name in ("estimate", *ENDS)], 0.1, rtol=1e-12)
    assert_allclose([getattr(equal, name)[0] for name in ERRORS], 0.0, atol=1e-12)


def test_undefined_resamples_are_left_out_and_leave_other_numbers_alone() -> None:
    drawn = _drawn(30, 400)
    for rated in (2, 3, 8):
        columns = np.zeros((30, 2))
        columns[:rated] = _columns(3)[:rated, :2]
        found = bootstrap(columns, _means, Resampling(resamples=400))
        values = [columns[i, 1].sum() / columns[i, 0].sum() for i in drawn if (i < rated).any()]
        assert (found.n_undefined[0], (found.n_undefined[0] > 0)) == (400 - len(values), (rated < 8))
        assert_allclose(found.percentile_low[0], np.quantile(values, 0.025), rtol=1e-10)
        assert_allclose(found.percentile_high[0], np.quantile(values, 0.975), rtol=1e-10)
        assert_allclose(found.standard_error[0], np.std(values, ddof=1), rtol=1e-10)
    columns = np.column_stack([_columns(1)[:, :2], np.zeros(23)])
    both = lambda sums: np.concatenate([_means(sums[..., :2]), _means(sums[..., [2, 1]])], axis=-1)  # noqa: E731
    found = bootstrap(columns, both, Resampling(resamples=50))
    assert np.isnan(found.estimate[1])
    assert _is_undefined(found, 1)
    assert found.n_undefined.tolist() == [0, 50]
    alone = bootstrap(columns[:, :2], _means, Resampling(resamples=50))
    assert_allclose([getattr(found, name)[0] for name in ENDS], [getattr(alone, name)[0] for name in ENDS], rtol=1e-12)
    found = bootstrap(np.eye(10), lambda s: np.where((s > 0).sum(-1) >= 9, s[..., 0] + s[..., 1], np.nan)[..., None])
    different = np.array([len({*rows}) for rows in _drawn(10, 1000)])
    assert found.n_undefined[0] == (different < 9).sum() > 900
    assert found.estimate[0] == 2.0
    assert _is_undefined(found)


def _bca_is_the_percentile_interval(found: ConfidenceIntervals) -> bool:
    return bool(found.bca_low == found.percentile_low and found.bca_high == found.percentile_high)


def test_bca_is_the_percentile_interval_where_it_is_not_defined() -> None:
    for centres in ([-1, 1, 0, 0, 0, 0], [-1, 1, -1, 1, -1, 1, 0]):  # the acceleration is positive, and negative
        # the statistic is largest in the samples as they are
        values = np.repeat(centres, 6) + np.random.default_rng(2).normal(0, 0.1, 6 * len(centres))
        columns = np.column_stack([np.ones(len(values)), values])
        found = bootstrap(columns, lambda sums, values=values: -((_means(sums) - values.mean()) ** 2))
        assert found.percentile_high[0] < found.estimate[0]
        assert found.jackknife_error[0] > 0
        assert _bca_is_the_percentile_interval(found)
    # no sample moves a share rounded to one decimal: 20 of 41 gives what 20 of 40 and 19 of 40 give
    columns = np.column_stack([np.ones(41), np.arange(41) % 2])
    found = bootstrap(columns, lambda sums: np.round(_means(sums), 1))
    assert found.jackknife_error[0] == 0
    assert found.percentile_low[0] < found.estimate[0] < found.percentile_high[0]
    assert _bca_is_the_percentile_interval(found)
    # one sample of a thousand carries everything: a is nearly 1/6, so that z = 6.5 is behind the pole at 1 / a
    columns = np.column_stack([np.ones(1000), np.arange(1000) == 0])
    found = bootstrap(columns, _means, Resampling(level=1 - 1e-10))
    assert found.percentile_high[0] > found.estimate[0]
    assert _bca_is_the_percentile_interval(found)
    assert not _bca_is_the_percentile_interval(bootstrap(columns, _means, Resampling(level=0.9)))


MISUSE = [
    (lambda: Resampling(resamples=0), r"`resamples` must be at least 1, got 0"),
    (lambda: Resampling(seed=-1), r"`seed` must be at least 0, got -1"),
    (lambda: Resampling(level=1.0), r"`level` must be in \(0, 1\), got 1.0"),
    (lambda: Resampling(level=float("nan")), r"`level` must be in \(0, 1\), got nan"),
    (lambda: bootstrap(np.ones(3), _means), r"`columns` must have shape \(S, C\), got \(3,\)"),
    (lambda: bootstrap(np.array([[1, np.nan]]), _means), "`columns` must be finite"),
    (lambda: bootstrap(sparse.csr_array([[1, np.inf]]), _means), "`columns` must be finite"),
    (lambda: sums_of_clusters(np.eye(3), np.zeros(2)), r"`clusters` must have shape \(3,\), .*, got \(2,\)"),
    (lambda: bootstrap(np.eye(3), lambda s: s.sum(-1)), r"`statistic` must give .*, got \(\) for \(3,\)"),
    (lambda: bootstrap(np.eye(3), lambda s: s.ravel()), r"`statistic` must give .* for \(\d+, 3\)"),
    *((lambda part=part: bootstrap_parts([part], 23), r"`columns` must have a row for every sample of the part, got \d")
      for part in (Part(np.eye(3), _means), Part(np.eye(3), _means, np.arange(2)))),
]  # fmt: skip


def test_misuse_is_an_error_that_names_it_and_very_few_resamples_do_not_warn() -> None:
    for call, message in MISUSE:
        with pytest.raises(ValueError, match=message):
            call()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for resamples in (1, 2):
            found = bootstrap(_columns(0), _means, Resampling(resamples=resamples))
            assert np.isnan(found.standard_error).all() == (resamples == 1)
            assert (found.percentile_low <= found.percentile_high).all()


def _some_rows(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of some of 23 samples, their numbers, and rows of all, those of the others 0."""
    samples = np.flatnonzero(np.random.default_rng(seed).random(23) < 0.6)
    filled = np.zeros_like(_columns(seed))
    filled[samples] = _columns(seed)[samples]
    return filled[samples], samples, filled


@pytest.mark.parametrize("clusters", [None, np.random.default_rng(3).integers(0, 11, 23)], ids=["samples", "clusters"])
@both_forms
def test_parts_have_the_intervals_that_each_has_alone(form: Callable, clusters: np.ndarray | None) -> None:
    options = Resampling(resamples=150, clusters=clusters)
    whole, (rows, samples, filled) = _columns(0), _some_rows(1)
    parts = [Part(form(whole), _means), Part(form(rows), _means, samples), Part(form(whole[:, :2]), _means)]
    for found, columns in zip(bootstrap_parts(parts, 23, options), (whole, filled, whole[:, :2]), strict=True):
        alone = bootstrap(columns, _means, options)
        assert found.n_samples == alone.n_samples
        _assert_same(found, alone, *ALL)


def test_draws_of_several_blocks_of_samples_are_as_frequent_as_those_of_a_multinomial(monkeypatch) -> None:
    monkeypatch.setattr(draws, "BLOCK", 7)
    weights = resampled_sums(np.eye(40), resamples=20_000)
    assert (weights.sum(axis=1) == 40).all()
    p = 1 / 40
    assert_allclose(weights.mean(axis=0), 1, atol=5 * (1 / 20_000) ** 0.5)
    assert_allclose(np.cov(weights.T), 40 * (np.diag(np.full(40, p)) - p * p), atol=0.06)
    assert_array_equal(resampled_sums(np.eye(40), resamples=50), weights[:50])


@pytest.mark.parametrize("kept", [0, 2**26])
def test_parts_of_the_same_samples_are_summed_together_and_whole_numbers_exactly(kept, monkeypatch) -> None:
    monkeypatch.setattr(draws, "BLOCK", 50)
    monkeypatch.setattr(draws, "MOST_KEPT", kept)
    rng = np.random.default_rng(3)
    weights, order = resampled_sums(np.eye(200), resamples=40), rng.permutation(200)
    whole = rng.integers(-1024, 1025, (200, 3)).astype(float)
    large, mixed = whole * 1e9, np.column_stack([whole[:, 0], rng.normal(size=200), whole[:, 1] + 0.5])
    some = rng.choice(200, 120, replace=False)
    parts = [Part(csr_array(columns), _means, order) for columns in (whole, large, mixed)]
    parts.append(Part(csr_array(whole[:120]), _means, some))
    parts.append(Part(csr_array(mixed), _means))
    drawn = draws.Draws(200, 40, 51)
    for _ in range(2):  # the second time as they were kept
        found = [np.concatenate(sums) for sums in zip(*draws.resampled(parts, drawn), strict=True)]
        assert_array_equal(found[0], weights[:, order] @ whole)
        assert_array_equal(found[1], weights[:, order] @ large)
        assert_allclose(found[2], weights[:, order] @ mixed, rtol=1e-12, atol=1e-10)
        assert_array_equal(found[3], weights[:, some] @ whole[:120])
        assert_allclose(found[4], weights @ mixed, rtol=1e-12, atol=1e-10)


def test_sums_of_columns_are_exact_and_do_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(7)
    for exponent in (-3, 0, 4):
        values = rng.normal(size=(300, 4)) * 10.0**exponent
        values[rng.random(values.shape) < 0.5] = 0.0
        sums = column_sums(csr_array(values))
        assert (column_sums(csr_array(values[rng.permutation(300)])) == sums).all()
        assert_allclose(sums, [math.fsum(column) for column in values.T], rtol=1e-13)
    assert column_sums(csr_array([[0.1, 1e-3, -2 / 3, 5.0]])).tolist() == [0.1, 1e-3, -2 / 3, 5.0]
    assert column_sums(csr_array((0, 2))).tolist() == [0.0, 0.0]


N = 400


def _ratio(sums: np.ndarray) -> np.ndarray:
    return sums[..., 1:2] / sums[..., :1]


def _alpha(sums: np.ndarray) -> np.ndarray:
    return metrics.nominal_alpha_of_sums(sums[..., 0], sums[..., 1:])[..., None]


def _intervals(columns: np.ndarray, statistic, n_used: int | None = None):
    moments = ColumnMoments.of(csr_array(columns))
    return delta_intervals(moments, statistic, len(columns), np.array([n_used or len(columns)]))


@pytest.mark.parametrize("seed", seeds(3))
def test_means_have_the_interval_of_students_t_and_ratios_the_error_of_linearised_residuals(seed) -> None:
    values = np.random.default_rng(seed).gamma(2.0, size=N)
    found = _intervals(np.column_stack([np.ones(N), values]), _ratio)
    expected = stats.t(N - 1, values.mean(), values.std(ddof=1) / np.sqrt(N)).interval(0.95)
    assert_allclose(found.estimate, values.mean())
    # the expansion is that of the bootstrap, whose variance has the divisor n
    assert_allclose([found.bca_low[0], found.bca_high[0]], expected, rtol=0, atol=2e-3 * np.ptp(expected))
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 9, N).astype(float)
    values = weight * rng.random(N)
    ratio = values.sum() / weight.sum()
    expected = np.sqrt(((values - ratio * weight) ** 2).sum() / (N - 1) / N) / weight.mean()
    assert_allclose(_intervals(np.column_stack([weight, values]), _ratio).jackknife_error, expected, rtol=1e-7)


def test_what_does_not_vary_has_no_error_and_what_is_undefined_no_interval() -> None:
    third = np.column_stack([np.ones(N), np.full(N, 1 / 3)])
    assert _intervals(third, _ratio).jackknife_error == 0.0
    third[7, 1] += 1e-3
    assert _intervals(third, _ratio).jackknife_error[0] == pytest.approx(1e-3 / N, rel=0.01)
    nothing = np.zeros((N, 4))
    nothing[:, 1] = 2.0  # one category alone
    found = _intervals(nothing, _alpha)
    assert np.isnan([found.estimate, found.bca_low, found.bca_high, found.jackknife_error]).all()


@pytest.mark.parametrize("seed", seeds(3))
def test_moments_add_up_and_columns_can_be_chosen(seed):
    rng = np.random.default_rng(seed)
    columns = csr_array(
        np.where(rng.random((60, 5)) < 0.6, 0.0, rng.normal(size=(60, 5)) * 10.0 ** rng.integers(-6, 6))
    )
    whole, order = ColumnMoments.of(columns), rng.permutation(60)
    parts = ColumnMoments.of(columns[order[:20]]) + ColumnMoments.of(columns[order[20:]])
    assert column_sums(parts).tolist() == column_sums(columns).tolist()  # exactly
    assert_allclose(parts.products.toarray(), columns.toarray().T @ columns.toarray(), rtol=1e-12, atol=1e-300)
    chosen = np.array([3, 0])
    of_chosen = ColumnMoments.of(columns[:, chosen])
    assert_allclose(whole[:, chosen].products.toarray(), of_chosen.products.toarray(), rtol=1e-12)
    assert column_sums(whole[:, chosen]).tolist() == column_sums(of_chosen).tolist()
    assert n_given(whole[:, chosen]).tolist() == n_given(columns[:, chosen]).tolist()


def test_the_published_intervals_of_the_spatial_test_come_out() -> None:
    """Variance of 26 children's scores (Efron, Tibshirani 1993, tables 14.1 and 14.2; theirs have 2,000 resamples)."""
    scores = "48 36 20 29 42 42 20 42 22 41 45 14 6 0 33 28 34 4 32 24 47 41 24 26 30 41"
    score = np.array(scores.split(), dtype=float)

    def variance(sums: np.ndarray) -> np.ndarray:
        n, first, second = np.moveaxis(sums, -1, 0)
        return (second / n - (first / n) ** 2)[..., None]

    columns = np.column_stack([np.ones(26), score, score**2])
    found = bootstrap(columns, variance, Resampling(resamples=20_000, level=0.9))
    assert_allclose(found.estimate, 171.5, atol=0.05)
    noise = 5.0  # of a published end: a tenth of its standard error, from 2,000 resamples
    assert_allclose([found.percentile_low[0], found.percentile_high[0]], [100.8, 233.9], rtol=0, atol=noise)
    assert_allclose([found.bca_low[0], found.bca_high[0]], [115.8, 259.6], rtol=0, atol=noise)
