"""Best partitions of graphs of any size: all partitions, dynamic programming and an integer programme as oracles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tests.chance import seeds, some_seeds
from tests.metrics.matching_oracle import best_by_enumeration, best_by_subsets, partition_of, total_of

from annotator_agreement.metrics.matching import (
    FORBIDDEN,
    MAX_NODES_SEARCHED,
    best_partitions,
    merge_and_move,
    partition,
    search,
)


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


@pytest.mark.random
@pytest.mark.parametrize("n", [1, 2, 5, 7, 8, 9, 10, 11, 12])
def test_up_to_twelve_nodes_have_the_total_and_number_of_groups_of_the_oracle(n: int) -> None:
    graphs = [_graph(n, n_annotators, 1000 * n + 10 * n_annotators + seed) for n_annotators in (2, 3, 4, 12)
              for seed in some_seeds(4)]  # fmt: skip
    graphs += [_graph(n, 3, seed=seed, step=1 / 4) for seed in some_seeds(6)]  # most totals occur many times
    together, exact = best_partitions(*(np.array(part) for part in zip(*graphs, strict=True)))
    assert exact.all()
    for (weights, forbidden), groups in zip(graphs, together, strict=True):
        total, n_groups = best_by_subsets(weights, forbidden)
        assert _total(weights, forbidden, groups) == pytest.approx(total, rel=0, abs=1e-9)
        assert len(np.unique(groups)) == n_groups
        np.testing.assert_array_equal(groups, best_partitions(weights[None], forbidden[None])[0][0])  # independently
        first = [int(np.flatnonzero(groups == g)[0]) for g in range(int(groups.max()) + 1)]
        assert first == sorted(first)


def test_pairs_exactly_at_the_threshold_are_joined() -> None:
    for n in (4, 10, 16):
        annotator, place = np.arange(n) % 2, np.arange(n) // 2
        forbidden = annotator[:, None] == annotator[None, :]
        weights = np.where(place[:, None] == place[None, :], -3e-10, -0.5)  # as relative boxes make it of 0
        groups, _ = best_partitions(weights[None], forbidden[None])
        assert groups[0].tolist() == place.tolist()


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


def test_two_annotators_are_solved_exactly_whatever_the_size() -> None:
    for n in (16, 40):
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


Graph = tuple[np.ndarray, np.ndarray]


def _crowd(n: int, seed: int, n_annotators: int = 7, step: float = 1 / 1024) -> Graph:
    """Weights, and pairs of one annotator, of boxes round three places close together; sums of weights are exact."""
    rng = np.random.default_rng(seed)
    at = rng.choice([0.0, 0.35, 0.7], n) + rng.normal(0, 0.12, n)
    likeness = np.clip(1.0 - np.abs(at[:, None] - at), 0, 1) - 0.6 + rng.uniform(-0.1, 0.1, (n, n))
    weights = np.round(np.triu(likeness, 1) / step) * step
    annotator = rng.integers(0, n_annotators, n)
    return weights + weights.T, annotator[:, None] == annotator


def _units(n: int, seed: int) -> Graph:
    """The same where nodes stand for one or two annotators, so that who excludes whom is no division into sides."""
    weights, _ = _crowd(n, seed)
    drew = np.random.default_rng(seed).random((n, 6)) < 0.25
    return weights, (drew @ drew.T) | np.eye(n, dtype=bool)


def _search(graphs: list[Graph]) -> tuple[np.ndarray, np.ndarray]:
    weights = np.array([np.where(forbidden, FORBIDDEN, weights) for weights, forbidden in graphs])
    return search(weights, merge_and_move(weights))


def _listed(graph: Graph) -> list[list[float | None]]:
    weights, forbidden = graph
    return np.where(forbidden, None, weights.astype(object)).tolist()


@pytest.mark.random
@pytest.mark.parametrize("graph_of", [_crowd, _units])
def test_the_total_and_the_number_of_groups_of_a_search_are_those_of_the_oracle(graph_of) -> None:
    for n in (3, 7, 10, 12):
        graphs = [graph_of(n, seed) for seed in some_seeds(8)]
        groups, proven = _search(graphs)
        assert proven.all()
        for graph, found in zip(graphs, groups, strict=True):
            total, n_groups = best_by_subsets(*graph)
            assert total_of(_listed(graph), partition_of(found)) == pytest.approx(total, rel=0, abs=1e-9)
            assert len(np.unique(found)) == n_groups


@pytest.mark.parametrize("seed", seeds(12))
def test_of_equally_good_partitions_the_one_that_is_written_first_is_taken(seed: int) -> None:
    graph = _crowd(7, seed, n_annotators=3, step=1 / 4)  # most totals occur many times
    best = best_by_enumeration(_listed(graph))
    written = []
    for groups in best.partitions:
        by_first = sorted(groups, key=min)
        written.append([next(k for k, group in enumerate(by_first) if node in group) for node in range(7)])
    found, proven = _search([graph])
    assert proven.tolist() == [True]
    assert found[0].tolist() == min(written)


@pytest.mark.random
@pytest.mark.parametrize("n", [15, 20])
def test_it_finds_what_an_integer_programme_finds(n: int) -> None:
    graphs = [_crowd(n, seed, n_annotators=9, step=1e-12) for seed in some_seeds(4)]
    groups, proven = _search(graphs)
    assert proven.all()
    for (weights, forbidden), found in zip(graphs, groups, strict=True):
        solved = partition._integer_programme(np.where(forbidden, FORBIDDEN, weights))
        assert solved is not None
        assert found.tolist() == solved.tolist()


def test_a_node_leaves_the_group_that_was_merged_round_it() -> None:
    # 0 and 3 gain most, 1 joins them, then 2, which costs nothing; without 0 the others have 7 in place of 6
    weights = np.array([[0, -1, -4, 4], [-1, 0, 1, 3], [-4, 1, 0, 3], [4, 3, 3, 0.0]])
    assert merge_and_move(weights[None]).tolist() == [[0, 1, 1, 1]]


def test_every_graph_is_searched_as_if_it_were_alone(monkeypatch) -> None:
    monkeypatch.setattr(partition, "_WIDTHS", (3, 9))
    graphs = [_crowd(14, seed) for seed in range(12)]
    groups, proven = _search(graphs)
    assert 0 < proven.sum() < len(graphs)
    for order in (range(11, -1, -1), range(3, 8)):
        again, proven_again = _search([graphs[k] for k in order])
        np.testing.assert_array_equal(again, groups[list(order)])
        np.testing.assert_array_equal(proven_again, proven[list(order)])
    monkeypatch.setattr(partition, "_MAX_ENTRIES", 9 * 14 * 14)  # one or two graphs at a time
    again, proven_again = _search(graphs)
    np.testing.assert_array_equal(again, groups)
    np.testing.assert_array_equal(proven_again, proven)


def test_a_search_that_is_cut_short_claims_no_proof_and_is_not_worse_than_its_start(monkeypatch) -> None:
    monkeypatch.setattr(partition, "_WIDTHS", (1,))
    graphs = [_crowd(16, seed, n_annotators=8) for seed in range(20)]
    weights = np.array([np.where(forbidden, FORBIDDEN, weights) for weights, forbidden in graphs])
    start = merge_and_move(weights)
    groups, proven = search(weights, start)
    assert (~proven).sum() > 0
    best, exact = partition.best_partitions(*(np.array(part) for part in zip(*graphs, strict=True)))
    assert exact.all()  # the integer programme solves the rest
    for k, graph in enumerate(graphs):
        totals = [total_of(_listed(graph), partition_of(found[k])) for found in (start, groups, best)]
        assert totals[0] <= totals[1] + 1e-9
        assert totals[1] <= totals[2] + 1e-9
        if proven[k]:
            assert totals[1] == pytest.approx(totals[2], rel=0, abs=1e-9)
