"""The alternative annotator test against a plain re-computation with scipy, its traits, and its error rate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.chance import examples

from annotator_agreement.metrics import AlternativeAnnotatorTest, alternative_annotator_test

each_seed = given(st.integers(0, 10_000))
few = examples(25)


def _answers(seed: int, n_items: int = 70, n_annotators: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the model and of the annotators left out, with ties; not everybody saw everything."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, n_items)
    wrong = rng.random((n_items, n_annotators + 1)) < rng.uniform(0.1, 0.5, n_annotators + 1)
    answers = np.where(wrong, rng.integers(0, 4, wrong.shape), truth[:, None]).astype(float)
    answers[rng.random(answers.shape) < 0.25] = np.nan
    answers[40:, 0] = np.nan  # too few items
    people, model = answers[:, :-1], answers[:, -1]
    scores = np.full((2, *people.shape), np.nan)
    for i, k in np.argwhere(~np.isnan(people)):
        others = np.delete(people[i], k)
        others = others[~np.isnan(others)]
        if len(others) and not np.isnan(model[i]):
            scores[:, i, k] = (others == model[i]).mean(), (others == people[i, k]).mean()
    return scores[0], scores[1]


def _by_scipy(model: np.ndarray, people: np.ndarray, epsilon: float) -> tuple[float, float]:
    """Winning rate and advantage probability as the paper writes them."""
    p_values, advantages = [], []
    for f, h in zip(model.T, people.T, strict=True):
        f, h = f[~np.isnan(f)], h[~np.isnan(f)]
        if len(f) < 30:
            continue
        model_wins, person_wins = (f >= h).astype(float), (h >= f).astype(float)
        p_values.append(stats.ttest_1samp(person_wins - model_wins, epsilon, alternative="less").pvalue)
        advantages.append(model_wins.mean())
    return float((stats.false_discovery_control(p_values, method="by") <= 0.05).mean()), float(np.mean(advantages))


@few
@each_seed
def test_it_is_the_test_of_the_paper(seed: int) -> None:
    scores = _answers(seed, n_items=120)
    for epsilon in (0.0, 0.1, 0.2, 0.35):
        found = alternative_annotator_test(*scores, epsilon=epsilon)
        expected = _by_scipy(*scores, epsilon)
        assert (found.winning_rate, found.advantage_probability) == pytest.approx(expected, abs=1e-12)
        assert found.passed == (found.winning_rate >= 0.5)


def test_p_values_are_those_of_scipy_and_annotators_with_few_items_are_left_out() -> None:
    model, people = _answers(3, n_items=100)
    found = alternative_annotator_test(model, people, epsilon=0.15)
    n = (~np.isnan(model)).sum(axis=0)
    assert found.n.tolist() == n.tolist()
    assert found.tested.tolist() == (n >= 30).tolist() == [False, True, True, True, True]
    assert np.isnan(found.p_value[0])
    assert not found.won[0]
    for k in range(1, 5):
        f, h = (each[~np.isnan(model[:, k]), k] for each in (model, people))
        difference = (h >= f).astype(float) - (f >= h)
        expected = stats.ttest_1samp(difference, 0.15, alternative="less").pvalue
        assert found.p_value[k] == pytest.approx(expected, rel=1e-9)
        assert found.advantage[k] == pytest.approx((f >= h).mean())
        assert found.advantage_of_annotator[k] == pytest.approx((h >= f).mean())


def test_the_same_answers_win_by_any_epsilon_but_nought() -> None:
    """All items are ties: nothing varies, so there is no t statistic."""
    people = np.random.default_rng(0).random((40, 3))
    same = alternative_annotator_test(people + 1e-12, people, epsilon=0.01)
    assert (same.winning_rate, same.advantage_probability, same.passed) == (1.0, 1.0, True)
    assert alternative_annotator_test(people, people, epsilon=0.0).p_value.tolist() == [1.0, 1.0, 1.0]
    assert alternative_annotator_test(people - 1, people, epsilon=0.4).winning_rate == 0.0


def test_fewer_than_three_annotators_with_thirty_items_are_not_enough() -> None:
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
    assert five.p_value == pytest.approx(once.p_value, rel=1e-9)
    assert five.n.tolist() == [40] * 5
    assert five.advantage == pytest.approx(once.advantage)
    loose = alternative_annotator_test(np.repeat(model, 5, axis=0), np.repeat(people, 5, axis=0), epsilon=0.1)
    assert loose.p_value[1:] != pytest.approx(once.p_value[1:], rel=0.1)


def test_at_the_boundary_the_model_passes_no_more_often_than_it_may() -> None:
    """Every annotator is better on exactly epsilon more of the items: each win is an error."""
    rng, n_passed, n_won, n = np.random.default_rng(7), 0, 0, 500
    for _ in range(n):
        outcome = rng.choice([-1.0, 0.0, 1.0], p=[0.35, 0.5, 0.15], size=(100, 4))  # mean -0.2
        found: AlternativeAnnotatorTest = alternative_annotator_test(outcome, np.zeros((100, 4)), epsilon=0.2)
        n_passed += bool(found.passed)
        n_won += bool(found.won.any())
    assert n_won / n <= 0.05 + 3 * (0.05 * 0.95 / n) ** 0.5
    assert n_passed <= n_won
    assert n_won > 0
