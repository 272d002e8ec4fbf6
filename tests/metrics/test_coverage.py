"""Coverage of intervals: 95 of 100 contain the true value, in simulations whose true value has a closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from annotator_agreement.metrics import Resampling, bootstrap, wilson_interval
from annotator_agreement.metrics.bootstrap import Part, bootstrap_parts

pytestmark = pytest.mark.long

#: so many that the share covered is known to half a per cent
DATA_SETS = 1500
OPTIONS = Resampling(resamples=400)
N_SAMPLES = 150


def test_intervals_of_a_skewed_mean_cover_it() -> None:
    """Ratios of two sums: skewed totals of 150 samples over their numbers of objects; the truth is 2."""
    rng, covered = np.random.default_rng(1), np.zeros(3)
    for _ in range(DATA_SETS):
        n_objects = rng.integers(1, 8, N_SAMPLES)
        total = rng.gamma(2.0 * n_objects / 3, 3.0)  # skewness 2 / √shape: 1.6 at 3 objects
        found = bootstrap(np.column_stack([n_objects, total]), lambda s: s[..., 1:] / s[..., :1], OPTIONS)
        reach = 1.959963984540054 * found.jackknife_error  # from a normal distribution
        low = np.concatenate([found.percentile_low, found.bca_low, found.estimate - reach])
        high = np.concatenate([found.percentile_high, found.bca_high, found.estimate + reach])
        covered += (low <= 2.0) & (high >= 2.0)
    assert ((covered >= 0.92 * DATA_SETS) & (covered <= 0.98 * DATA_SETS)).all()


@pytest.mark.parametrize(("n", "share"), [(12, 0.05), (12, 0.1), (12, 0.2), (40, 0.05)])
def test_binomial_intervals_cover_a_share_of_few_images_that_resampling_does_not(n: int, share: float) -> None:
    """Exactly, over all numbers of images that can agree; resampling alone covers 46, 72, 93 and 87 of 100."""
    weight = stats.binom.pmf(np.arange(n + 1), n, share)
    ends = [wilson_interval(k / n, n) for k in range(n + 1)]
    assert weight @ [low <= share <= high for low, high in ends] > 0.92
    for k, found in enumerate(ends):
        expected = stats.binomtest(k, n).proportion_ci(method="wilson")
        assert found == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize(("n", "n_samples", "n_used"), [(10, 10, 10), (8, 200, 8), (8, 200, 200)])
def test_intervals_of_a_rate_that_few_samples_carry_cover_it_if_these_are_counted(n, n_samples, n_used) -> None:
    """So many samples have objects. Intervals of 10 without an expansion cover 89 of 100, of 8 with one for 200, 91."""
    rng, n_sets, covered = np.random.default_rng(5), 500, 0
    for _ in range(n_sets):
        columns = np.zeros((n_samples, 2))
        n_objects = rng.integers(2, 8, n)
        columns[:n] = np.column_stack([n_objects, rng.binomial(n_objects, rng.beta(2, 6, n))])
        part = Part(columns, lambda sums: sums[..., 1:] / sums[..., :1], n_used=np.array([n_used]))
        (found,) = bootstrap_parts([part], n_samples, OPTIONS)
        covered += bool(found.bca_low[0] <= 0.25 <= found.bca_high[0])
    assert (92 <= 100 * covered / n_sets <= 98) == (n_used == n)
