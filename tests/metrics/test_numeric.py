"""Tests of rates and of an alternative annotator, and connected components: loops, scipy, published p-values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tests.chance import examples

from annotator_agreement.metrics import alternative_annotator_test
from annotator_agreement.metrics.numeric import RateMoments, components, false_discoveries, rate_tests


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
        assert (found.rate[k], found.others[k]) == (pytest.approx(a / m), pytest.approx(b / o))
        assert found.p_greater[k] == pytest.approx(stats.t.sf((difference - margin) / error, n - 1))
        two = min(1.0, 2 * stats.t.sf((abs(difference) - margin) / error, n - 1))
        assert found.p_different[k] == pytest.approx(two)
        ends = stats.t.interval(0.95, n - 1, difference, error)
        assert (found.low[k], found.high[k]) == pytest.approx(ends)


def test_batches_add_up_and_a_known_rate_takes_the_place_of_the_others() -> None:
    group, rows = _rows(1)
    whole, order = RateMoments.of(group, rows.T), np.random.default_rng(0).permutation(len(group))
    parts = RateMoments.added([RateMoments.of(group[some], rows[some].T) for some in np.split(order, 8)])
    for name in ("group", "n", "sums", "products"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-12)
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


@pytest.mark.parametrize(
    ("row", "expected"), [((2, 2, 0, 3), 0.0), ((0, 2, 0, 3), 1.0), ((0, 0, 1, 3), np.nan), ((1, 2, 0, 0), np.nan)]
)
def test_what_does_not_vary_is_certain_or_undefined(row: tuple, expected: float) -> None:
    moments = RateMoments.of(np.zeros(12, np.int64), np.tile(np.array(row, float), (12, 1)).T)
    assert rate_tests.rate_tests(moments).p_greater[0] == pytest.approx(expected, nan_ok=True)


def test_false_discoveries_are_those_of_the_published_example() -> None:
    """Benjamini and Hochberg (1995), section 3.2: 4 of 15 hypotheses are rejected."""
    p_values = np.array([0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
                         0.6528, 0.7590, 1.0])  # fmt: skip
    order = np.random.default_rng(0).permutation(15)
    assert false_discoveries(p_values[order]).tolist() == (order < 4).tolist()
    assert false_discoveries(np.r_[p_values, np.nan]).sum() == 4  # what was not tested does not count
    assert not false_discoveries(np.array([np.nan])).any()


few = examples(25)


def _answers(seed: int, n_items: int = 70, n_annotators: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the model and of the annotators left out, with ties; not everybody saw everything."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, n_items)
    wrong = rng.random((n_items, n_annotators + 1)) < rng.uniform(0.1, 0.5, n_annotators + 1)
    answers = np.where(wrong, rng.integers(0, 4, wrong.shape), truth[:, None]).astype(float)
    answers[rng.random(answers.shape) < 0.25] = np.nan
    answers[29:, 0] = np.nan  # too few items
    people, model = answers[:, :-1], answers[:, -1]
    scores = np.full((2, *people.shape), np.nan)
    for i, k in np.argwhere(~np.isnan(people)):
        others = np.delete(people[i], k)
        others = others[~np.isnan(others)]
        if len(others) and not np.isnan(model[i]):
            scores[:, i, k] = (others == model[i]).mean(), (others == people[i, k]).mean()
    return scores[0], scores[1]


@few
@given(st.integers(0, 10_000))
def test_it_is_the_test_of_the_paper_by_scipy_and_annotators_with_few_items_are_left_out(seed: int) -> None:
    model, people = _answers(seed, n_items=120)
    n = (~np.isnan(model)).sum(axis=0)
    for epsilon in (0.0, 0.1, 0.2, 0.35):
        found = alternative_annotator_test(model, people, epsilon=epsilon)
        assert found.n.tolist() == n.tolist()
        assert found.tested.tolist() == (n >= 30).tolist() == [False, True, True, True, True]
        assert (np.isnan(found.p_value[0]), found.won[0]) == (True, False)
        p_values = []
        for k in range(1, 5):
            f, h = (each[~np.isnan(model[:, k]), k] for each in (model, people))
            difference = (h >= f).astype(float) - (f >= h)
            p_values.append(stats.ttest_1samp(difference, epsilon, alternative="less").pvalue)
            assert found.p_value[k] == pytest.approx(p_values[-1], rel=1e-9)
            assert found.advantage[k] == pytest.approx((f >= h).mean())
            assert found.advantage_of_annotator[k] == pytest.approx((h >= f).mean())
        won = stats.false_discovery_control(p_values, method="by") <= 0.05
        assert found.won[1:].tolist() == won.tolist()
        expected = won.mean(), found.advantage[1:].mean()
        assert (found.winning_rate, found.advantage_probability) == pytest.approx(expected, abs=1e-12)
        assert found.passed == (found.winning_rate >= 0.5)


def test_ties_win_by_any_epsilon_and_three_annotators_with_thirty_items_are_needed() -> None:
    """All items are ties: nothing varies, so there is no t statistic."""
    people = np.random.default_rng(0).random((40, 3))
    same = alternative_annotator_test(people + 1e-12, people, epsilon=0.01)
    assert (same.winning_rate, same.advantage_probability, same.passed) == (1.0, 1.0, True)
    assert alternative_annotator_test(people, people, epsilon=0.0).p_value.tolist() == [1.0, 1.0, 1.0]
    assert alternative_annotator_test(people - 1, people, epsilon=0.4).winning_rate == 0.0
    for n_items, n_annotators, defined in (
        (29, 5, False),
        (30, 3, True),
        (300, 2, False),
        (0, 4, False),
        (40, 0, False),
    ):
        people = np.random.default_rng(1).random((n_items, n_annotators))
        found = alternative_annotator_test(people, people, epsilon=0.1)
        assert np.isnan(found.winning_rate) == np.isnan(found.advantage_probability) == (not defined)
        assert found.passed is (True if defined else None)
        assert found.tested.tolist() == [defined] * n_annotators


def test_unusable_arguments_are_refused() -> None:
    for model, epsilon, message in (
        (np.zeros((40, 3)), 0.1, r"must have one shape \(S, R\), got \(40, 3\) and \(40, 4\)"),
        (np.zeros(40), 0.1, r"must have one shape \(S, R\), got \(40,\)"),
        (np.zeros((40, 4)), 1.0, r"`epsilon` must be in \[0, 1\), got 1.0"),
        (np.zeros((40, 4)), -0.1, r"`epsilon` must be in \[0, 1\), got -0.1"),
    ):
        with pytest.raises(ValueError, match=message):
            alternative_annotator_test(model, np.zeros((40, 4)), epsilon=epsilon)


def test_items_of_a_cluster_count_as_one() -> None:
    """Forty images, each five times over, say as much as forty; the plain test would take them for two hundred."""
    model, people = (np.nan_to_num(each) for each in _answers(2, n_items=40))
    once = alternative_annotator_test(model, people, epsilon=0.1)
    five = alternative_annotator_test(
        np.repeat(model, 5, axis=0), np.repeat(people, 5, axis=0), epsilon=0.1, clusters=np.repeat(np.arange(40), 5)
    )
    assert (five.p_value, five.n.tolist()) == (pytest.approx(once.p_value, rel=1e-9), [40] * 5)
    assert five.advantage == pytest.approx(once.advantage)
    loose = alternative_annotator_test(np.repeat(model, 5, axis=0), np.repeat(people, 5, axis=0), epsilon=0.1)
    assert loose.p_value[1:] != pytest.approx(once.p_value[1:], rel=0.1)


_RNG = np.random.default_rng(4)
_PATH = _RNG.permutation(3000)


def _random(n: int, n_edges: int, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges between nodes that are at most ``reach`` apart, some of them twice, some of a node to itself."""
    u = _RNG.integers(0, n, n_edges)
    return u, np.clip(u + _RNG.integers(-reach, reach + 1, n_edges), 0, n - 1)


GRAPHS = {
    "no nodes": (0, *_random(1, 0, 1)),
    "no edges": (7, *_random(7, 0, 1)),
    "an edge to itself": (1, np.zeros(1, int), np.zeros(1, int)),
    "in a row": (3000, np.arange(2999), np.arange(1, 3000)),
    "a shuffled path": (3000, _PATH[1:], _PATH[:-1]),
    "a star of the last node": (500, np.arange(499), np.full(499, 499)),
    "all pairs": (60, *np.triu_indices(60, 1)),
    **{
        f"{n} nodes, {e} edges, {reach}": (n, *_random(n, e, reach))
        for n, e, reach in ((40, 25, 3), (2000, 1500, 2000))
    },
    "few components": (2000, *_random(2000, 2600, 30)),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_components_are_those_of_scipy_in_the_order_of_their_first_nodes(name: str) -> None:
    n, u, v = GRAPHS[name]
    n_components, component = components(u, v, n)
    n_expected, expected = connected_components(coo_array((np.ones(len(u)), (u, v)), shape=(n, n)), directed=False)
    assert (n_components, component.dtype, component.tolist()) == (n_expected, np.int64, expected.tolist())


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


def test_at_the_boundary_the_model_passes_no_more_often_than_it_may() -> None:
    """Every annotator is better on exactly epsilon more of the items: each win is an error."""
    rng, n_passed, n_won, n = np.random.default_rng(7), 0, 0, 500
    for _ in range(n):
        outcome = rng.choice([-1.0, 0.0, 1.0], p=[0.35, 0.5, 0.15], size=(100, 4))  # mean -0.2
        found = alternative_annotator_test(outcome, np.zeros((100, 4)), epsilon=0.2)
        n_passed += bool(found.passed)
        n_won += bool(found.won.any())
    assert n_won / n <= 0.05 + 3 * (0.05 * 0.95 / n) ** 0.5
    assert n_passed <= n_won
    assert n_won > 0
