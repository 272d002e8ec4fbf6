"""Tests of rates against loops, published p-values, and simulations with images as clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from annotator_agreement.metrics.numeric import RateMoments, false_discoveries, rate_tests


def _rows(seed: int, n_groups: int = 5, n_images: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups) * 7, n_images)
    whole, of_others = rng.integers(0, 6, (2, len(group)))
    return group, np.column_stack([rng.binomial(whole, 0.3), whole, rng.binomial(of_others, 0.2), of_others]) * 1.0


@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_the_test_is_that_of_the_linearised_ratios_over_images(margin: float) -> None:
    group, rows = _rows(0)
    found = rate_tests.rate_tests(RateMoments.of(group, rows.T), margin=margin)
    for k, number in enumerate(np.unique(group)):
        own = rows[group == number]
        a, m, b, o = own.sum(axis=0)
        residual = [(x - a / m * y) / m - (z - b / o * w) / o for x, y, z, w in own]
        n = np.count_nonzero(own[:, 1])
        error = (sum(each**2 for each in residual) * n / (n - 1)) ** 0.5
        difference = a / m - b / o
        assert found.rate[k] == pytest.approx(a / m)
        assert found.others[k] == pytest.approx(b / o)
        assert found.p_greater[k] == pytest.approx(stats.t.sf((difference - margin) / error, n - 1))
        two = min(1.0, 2 * stats.t.sf((abs(difference) - margin) / error, n - 1))
        assert found.p_different[k] == pytest.approx(two)
        ends = stats.t.interval(0.95, n - 1, difference, error)
        assert (found.low[k], found.high[k]) == pytest.approx(ends)


def test_batches_of_any_size_and_order_give_the_same_moments() -> None:
    group, rows = _rows(1)
    whole, order = RateMoments.of(group, rows.T), np.random.default_rng(0).permutation(len(group))
    parts = RateMoments.added([RateMoments.of(group[some], rows[some].T) for some in np.split(order, 8)])
    for name in ("group", "n", "sums", "products"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-12)


def test_a_known_rate_takes_the_place_of_the_others() -> None:
    group, rows = _rows(2, 1)
    found = rate_tests.rate_tests(RateMoments.of(group, (rows * [1, 1, 0, 0]).T), np.array([0.25]))
    a, m = rows[:, :2].sum(axis=0)
    n = np.count_nonzero(rows[:, 1])
    error = (((rows[:, 0] - a / m * rows[:, 1]) / m) ** 2).sum() ** 0.5 * (n / (n - 1)) ** 0.5
    assert found.p_greater[0] == pytest.approx(stats.t.sf((a / m - 0.25) / error, n - 1))
    # the rate is an estimate itself: the variances add up
    found = rate_tests.rate_tests(
        RateMoments.of(group, (rows * [1, 1, 0, 0]).T), np.array([0.25]), error_of_expected=2 * error
    )
    assert found.error[0] == pytest.approx(5**0.5 * error)
    assert found.p_greater[0] == pytest.approx(stats.t.sf((a / m - 0.25) / (5**0.5 * error), n - 1))


def test_intervals_end_where_no_difference_is_possible() -> None:
    """The annotator missed 10 of 11 objects, the others 1 of 11: without limits the interval goes beyond 1."""
    rows = np.array([[k > 0, 1, k < 1, 1] for k in range(11)]) * 1.0
    moments = RateMoments.of(np.zeros(11, np.int64), rows.T)
    free, found = rate_tests.rate_tests(moments), rate_tests.rate_tests(moments, limits=(-1.0, 1.0))
    assert free.high[0] > 1.0
    assert (found.low[0], found.high[0]) == (free.low[0], 1.0)
    assert found.p_greater[0] == free.p_greater[0]


@pytest.mark.parametrize(
    ("row", "expected"), [((2, 2, 0, 3), 0.0), ((0, 2, 0, 3), 1.0), ((0, 0, 1, 3), np.nan), ((1, 2, 0, 0), np.nan)]
)
def test_what_does_not_vary_is_certain_or_undefined(row: tuple, expected: float) -> None:
    moments = RateMoments.of(np.zeros(12, np.int64), np.tile(np.array(row, float), (12, 1)).T)
    assert rate_tests.rate_tests(moments).p_greater[0] == pytest.approx(expected, nan_ok=True)


def test_of_equal_rates_five_of_a_hundred_tests_are_below_a_twentieth_where_labels_of_an_image_are_alike() -> None:
    """Labels of an image depend on each other; a test of single labels would reject more than twice as often."""
    rng = np.random.default_rng(5)
    n_groups, n_images = 3_000, 40
    group = np.repeat(np.arange(n_groups), n_images)
    whole, of_others = rng.integers(2, 9, (2, len(group)))
    rates = rng.beta(1.5, 3.5, (2, len(group)))
    rows = np.column_stack([rng.binomial(whole, rates[0]), whole, rng.binomial(of_others, rates[1]), of_others]) * 1.0
    found = rate_tests.rate_tests(RateMoments.of(group, rows.T))
    assert (found.p_different < 0.05).mean() == pytest.approx(0.05, abs=0.015)
    assert (found.p_greater < 0.05).mean() == pytest.approx(0.05, abs=0.015)
    a, m, b, o = RateMoments.of(group, rows.T).sums.T
    pooled = (a + b) / (m + o)
    naive = (a / m - b / o) / np.sqrt(pooled * (1 - pooled) * (1 / m + 1 / o))
    assert (2 * stats.norm.sf(np.abs(naive)) < 0.05).mean() > 0.12


def test_false_discoveries_are_those_of_the_published_example() -> None:
    """Benjamini and Hochberg (1995), section 3.2: 4 of 15 hypotheses are rejected."""
    p_values = np.array([0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
                         0.6528, 0.7590, 1.0])  # fmt: skip
    order = np.random.default_rng(0).permutation(15)
    assert false_discoveries(p_values[order]).tolist() == (order < 4).tolist()
    assert false_discoveries(np.r_[p_values, np.nan]).sum() == 4  # what was not tested does not count
    assert not false_discoveries(np.array([np.nan])).any()
