"""Intervals by the delta method: closed forms of textbooks, the jackknife, and moments added up in any order."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.sparse import csr_array

from tests.chance import seeds

from annotator_agreement.metrics import bootstrap, nominal_alpha_of_sums
from annotator_agreement.metrics.bootstrap import ColumnMoments, column_sums, delta_intervals, n_given

N = 400


def _ratio(sums: np.ndarray) -> np.ndarray:
    return sums[..., 1:2] / sums[..., :1]


def _alpha(sums: np.ndarray) -> np.ndarray:
    return nominal_alpha_of_sums(sums[..., 0], sums[..., 1:])[..., None]


def _intervals(columns: np.ndarray, statistic, n_used: int | None = None):
    moments = ColumnMoments.of(csr_array(columns))
    return delta_intervals(moments, statistic, len(columns), np.array([n_used or len(columns)]))


def _units(seed: int) -> np.ndarray:
    """Units of two ratings on every sample, as columns of alpha: disagreement, then the ratings of three categories."""
    rng = np.random.default_rng(seed)
    columns = np.zeros((N, 4))
    for row, n in enumerate(rng.poisson(3, N)):
        first = rng.integers(0, 3, n)
        second = np.where(rng.random(n) < 0.25, rng.integers(0, 3, n), first)
        columns[row, 0] = 2.0 * (first != second).sum()
        columns[row, 1:] = np.bincount(np.r_[first, second], minlength=3)
    return columns


@pytest.mark.parametrize("seed", seeds(3))
def test_a_mean_has_the_interval_of_students_t(seed):
    values = np.random.default_rng(seed).gamma(2.0, size=N)
    found = _intervals(np.column_stack([np.ones(N), values]), _ratio)
    expected = stats.t(N - 1, values.mean(), values.std(ddof=1) / np.sqrt(N)).interval(0.95)
    assert_allclose(found.estimate, values.mean())
    # the expansion is that of the bootstrap, whose variance has the divisor n
    assert_allclose([found.bca_low[0], found.bca_high[0]], expected, rtol=0, atol=2e-3 * np.ptp(expected))


@pytest.mark.parametrize("seed", seeds(3))
def test_a_ratio_has_the_error_of_linearised_residuals(seed):
    """W. G. Cochran, "Sampling techniques", 3rd edition, 1977, equation 2.46, without the finite population."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 9, N).astype(float)
    values = weight * rng.random(N)
    ratio = values.sum() / weight.sum()
    expected = np.sqrt(((values - ratio * weight) ** 2).sum() / (N - 1) / N) / weight.mean()
    assert_allclose(_intervals(np.column_stack([weight, values]), _ratio).jackknife_error, expected, rtol=1e-7)


@pytest.mark.parametrize("seed", seeds(3))
def test_alpha_has_the_error_of_leaving_out_each_sample(seed):
    columns = _units(seed)
    sums = columns.sum(axis=0)
    left_out = np.array([_alpha(sums - row)[0] for row in columns])
    jackknife = np.sqrt((N - 1) / N * ((left_out - left_out.mean()) ** 2).sum())
    found = _intervals(columns, _alpha)
    assert_allclose(found.jackknife_error, jackknife, rtol=5 / N)
    resampled = bootstrap(columns, _alpha)
    for end in ("bca_low", "bca_high"):
        width = (resampled.bca_high - resampled.bca_low)[0]
        # 1,000 resamples place an end within 3 x 2.2 % of the width
        assert abs(getattr(found, end) - getattr(resampled, end))[0] < 0.1 * width


def test_few_samples_that_say_anything_widen_the_interval():
    columns = np.zeros((N, 2))
    columns[:12] = np.column_stack([np.ones(12), np.random.default_rng(1).normal(size=12)])
    of_few, of_all = _intervals(columns, _ratio, 12), _intervals(columns, _ratio)
    assert (of_few.bca_high - of_few.bca_low)[0] > 1.1 * (of_all.bca_high - of_all.bca_low)[0]
    assert of_few.jackknife_error == of_all.jackknife_error


def test_what_does_not_vary_has_no_error():
    third = np.column_stack([np.ones(N), np.full(N, 1 / 3)])
    assert _intervals(third, _ratio).jackknife_error == 0.0
    third[7, 1] += 1e-3
    assert _intervals(third, _ratio).jackknife_error[0] == pytest.approx(1e-3 / N, rel=0.01)


def test_undefined_statistics_have_no_interval():
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
