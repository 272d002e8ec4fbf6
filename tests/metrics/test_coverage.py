"""Coverage of intervals: 95 of 100 contain the true value, in simulations whose true value has a closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from annotator_agreement.metrics import ConfidenceIntervals, Resampling, bootstrap, wilson_interval
from annotator_agreement.metrics.bootstrap import Part, bootstrap_parts

pytestmark = pytest.mark.long

#: so many that the share covered is known to half a per cent
DATA_SETS = 1500
METHODS = ("percentile", "bca", "jackknife")
OPTIONS = Resampling(resamples=400)
N_SAMPLES = 150


def _ends(found: ConfidenceIntervals, method: str) -> tuple[float, float]:
    """Both ends of a 95 % interval; for the jackknife, from a normal distribution."""
    if method == "jackknife":
        reach = 1.959963984540054 * found.jackknife_error[0]
        return found.estimate[0] - reach, found.estimate[0] + reach
    return getattr(found, f"{method}_low")[0], getattr(found, f"{method}_high")[0]


def _covered(found: list[ConfidenceIntervals], truth: float, method: str) -> float:
    """Share of the intervals that contain the truth, in per cent."""
    ends = [_ends(f, method) for f in found]
    return 100 * float(np.mean([low <= truth <= high for low, high in ends]))


@pytest.fixture(scope="module")
def means() -> list[ConfidenceIntervals]:
    """Ratios of two sums: skewed totals of 150 samples over their numbers of objects; the truth is 2."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(DATA_SETS):
        n_objects = rng.integers(1, 8, N_SAMPLES)
        total = rng.gamma(2.0 * n_objects / 3, 3.0)  # skewness 2 / √shape: 1.6 at 3 objects
        found.append(bootstrap(np.column_stack([n_objects, total]), lambda s: s[..., 1:] / s[..., :1], OPTIONS))
    return found


@pytest.mark.parametrize("method", METHODS)
def test_intervals_of_a_skewed_mean_cover_it(means: list[ConfidenceIntervals], method: str) -> None:
    assert 92 <= _covered(means, 2.0, method) <= 98


@pytest.mark.parametrize(("n", "share"), [(12, 0.05), (12, 0.1), (12, 0.2), (40, 0.05)])
def test_binomial_intervals_cover_a_share_of_few_images_that_resampling_does_not(n: int, share: float) -> None:
    """Exactly, over all numbers of images that can agree; resampling alone covers 46, 72, 93 and 87 of 100."""
    weight = stats.binom.pmf(np.arange(n + 1), n, share)
    ends = [wilson_interval(k / n, n) for k in range(n + 1)]
    assert weight @ [low <= share <= high for low, high in ends] > 0.92
    for k, found in enumerate(ends):
        expected = stats.binomtest(k, n).proportion_ci(method="wilson")
        assert found == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_expanded_intervals_of_few_samples_cover_a_rate() -> None:
    """Without the expansion they cover 89 of 100."""
    rng, n, n_sets = np.random.default_rng(4), 10, 500
    covered = 0
    for _ in range(n_sets):
        n_objects = rng.integers(2, 8, n)
        columns = np.column_stack([n_objects, rng.binomial(n_objects, rng.beta(2, 6, n))]).astype(float)
        part = Part(columns, lambda sums: sums[..., 1:] / sums[..., :1], n_used=np.array([n]))
        (found,) = bootstrap_parts([part], n, OPTIONS)
        covered += bool(found.bca_low[0] <= 0.25 <= found.bca_high[0])
    assert 92 <= 100 * covered / n_sets <= 98


@pytest.mark.parametrize("n_used", [8, 200])
def test_intervals_of_a_rate_that_few_samples_carry_cover_it_if_these_are_counted(n_used: int) -> None:
    """8 of 200 samples have objects. With an expansion for 200, intervals cover 91 of 100."""
    rng, n, n_sets = np.random.default_rng(5), 8, 500
    covered = 0
    for _ in range(n_sets):
        columns = np.zeros((200, 2))
        n_objects = rng.integers(2, 8, n)
        columns[:n] = np.column_stack([n_objects, rng.binomial(n_objects, rng.beta(2, 6, n))])
        part = Part(columns, lambda sums: sums[..., 1:] / sums[..., :1], n_used=np.array([n_used]))
        (found,) = bootstrap_parts([part], 200, OPTIONS)
        covered += bool(found.bca_low[0] <= 0.25 <= found.bca_high[0])
    assert (100 * covered / n_sets >= 92) == (n_used == n)
