"""Best partitions of graphs of any size: dynamic programming over subsets as the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from tests.chance import seeds, some_seeds
from tests.metrics.matching_oracle import best_by_subsets, partition_of, total_of

from annotator_agreement.metrics.matching.partition import MAX_NODES_SEARCHED, best_partitions


def _total(weights: np.ndarray, forbidden: np.ndarray, groups: np.ndarray) -> float:
    return total_of(np.where(forbidden, None, weights.astype(object)).tolist(), partition_of(groups))


def _graph(n: int, n_annotators: int, seed: int, step: float = 1 / 256) -> tuple[np.ndarray, np.ndarray]:
    """Weights like IoU minus a threshold in multiples of ``step``, forbidden pairs of one annotator."""
    rng = np.random.default_rng(seed)
    at = rng.uniform(0, 2.0, n)
    likeness = np.clip(1.0 - np.abs(at[:, None] - at[None, :]) + rng.uniform(-0.15, 0.15, (n, n)), 0, 1) - 0.5
    weights = np.round(np.triu(likeness, 1) / step) * step
    annotator = rng.integers(0, n_annotators, n) if n_annotators < n else np.arange(n)
    return weights + weights.T, annotator[:, None] == annotator[None, :]


def _check(weights: np.ndarray, forbidden: np.ndarray) -> None:
    groups, exact = best_partitions(weights[None], forbidden[None])
    total, n_groups = best_by_subsets(weights, forbidden)
    assert exact.tolist() == [True]
    assert _total(weights, forbidden, groups[0]) == pytest.approx(total, rel=0, abs=1e-9)
    assert len(np.unique(groups)) == n_groups


@pytest.mark.random
@pytest.mark.parametrize("n_annotators", [2, 3, 4, 12])
@pytest.mark.parametrize("n", [1, 2, 5, 8, 9, 10, 11])
def test_up_to_eleven_nodes_have_the_total_and_number_of_groups_of_the_oracle(n: int, n_annotators: int) -> None:
    for seed in some_seeds(4):
        _check(*_graph(n, n_annotators, seed=1000 * n + 10 * n_annotators + seed))


@pytest.mark.parametrize("n", [7, 10, 12])
@pytest.mark.parametrize("seed", seeds(6))
def test_among_equal_totals_the_fewest_groups_win(n: int, seed: int) -> None:
    _check(*_graph(n, 3, seed=seed, step=1 / 4))  # most totals occur many times


@pytest.mark.parametrize("n", [4, 10, 16])
def test_pairs_exactly_at_the_threshold_are_joined(n: int) -> None:
    annotator = np.arange(n) % 2
    forbidden = annotator[:, None] == annotator[None, :]
    place = np.arange(n) // 2
    weights = np.where(place[:, None] == place[None, :], -3e-10, -0.5)  # a bit less than 0, as relative boxes make it
    groups, _ = best_partitions(weights[None], forbidden[None])
    assert groups[0].tolist() == place.tolist()


@pytest.mark.random
def test_graphs_of_one_size_are_solved_independently() -> None:
    graphs = [_graph(6, 3, seed) for seed in some_seeds(30)]
    together, _ = best_partitions(np.array([g[0] for g in graphs]), np.array([g[1] for g in graphs]))
    for k, (weights, forbidden) in enumerate(graphs):
        np.testing.assert_array_equal(together[k], best_partitions(weights[None], forbidden[None])[0][0])


def test_groups_are_numbered_in_the_order_of_their_first_node() -> None:
    for n in (6, 11, MAX_NODES_SEARCHED + 2):
        groups = best_partitions(*(part[None] for part in _graph(n, 3, seed=n)))[0][0]
        first = [int(np.flatnonzero(groups == g)[0]) for g in range(int(groups.max()) + 1)]
        assert first == sorted(first)


@pytest.mark.parametrize(
    ("n", "n_annotators"), [(45, 4), (45, 9), (MAX_NODES_SEARCHED + 1, 4), (MAX_NODES_SEARCHED + 1, 9)]
)
@pytest.mark.few(1)
def test_beyond_the_limits_of_the_search_the_solution_is_valid_and_says_that_it_is_inexact(
    n: int, n_annotators: int
) -> None:
    weights, forbidden = _graph(n, n_annotators, seed=n)
    groups, exact = best_partitions(weights[None], forbidden[None])
    assert exact.tolist() == [False]
    total = _total(weights, forbidden, groups[0])  # minus infinity where a forbidden pair was joined
    assert total >= 0.0
    again, _ = best_partitions(weights[None], forbidden[None])
    np.testing.assert_array_equal(groups, again)
    _check_no_single_step_gains(weights, forbidden, groups[0], total)


def _check_no_single_step_gains(weights: np.ndarray, forbidden: np.ndarray, groups: np.ndarray, total: float) -> None:
    for node in range(len(groups)):
        for group in range(int(groups.max()) + 2):
            moved = groups.copy()
            moved[node] = group
            assert _total(weights, forbidden, moved) <= total + 1e-8
    for p in range(int(groups.max()) + 1):
        for q in range(p):
            assert _total(weights, forbidden, np.where(groups == p, q, groups)) <= total + 1e-8


@pytest.mark.parametrize("n", [16, 40])
def test_two_annotators_are_solved_exactly_whatever_the_size(n: int) -> None:
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(n)
    side = rng.permutation(np.arange(n) % 2)
    forbidden = side[:, None] == side[None, :]
    weights = np.triu(rng.uniform(-0.5, 0.5, (n, n)), 1)
    weights = weights + weights.T
    groups, exact = best_partitions(weights[None], forbidden[None])
    gain = np.maximum(weights[np.ix_(side == 0, side == 1)], 0.0)
    expected = gain[linear_sum_assignment(gain, maximize=True)].sum()
    assert exact.tolist() == [True]
    assert _total(weights, forbidden, groups[0]) == pytest.approx(expected, rel=0, abs=1e-9)
