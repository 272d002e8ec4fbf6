"""Ways to solve a component: best partitions of graphs of any size, and average linkage of large ones, with oracles."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import squareform

from tests.chance import seeds, some_seeds
from tests.metrics.matching_oracle import best_by_enumeration, best_by_subsets, partition_of, total_of

from annotator_agreement.metrics import THRESHOLDS, Objects, match_objects, sweep_thresholds
from annotator_agreement.metrics import matching as matchings
from annotator_agreement.metrics.geometry import Boxes
from annotator_agreement.metrics.geometry import objects as compared
from annotator_agreement.metrics.matching import average_linkage, best_partitions, merge_and_move, optimal, partition

Graph = tuple[np.ndarray, np.ndarray]


def _crowd(n: int, seed: int, n_annotators: int = 7, step: float = 1 / 1024) -> Graph:
    """Weights, and pairs of one annotator, of boxes round three places close together; sums of weights are exact."""
    rng = np.random.default_rng(seed)
    at = rng.choice([0.0, 0.35, 0.7], n) + rng.normal(0, 0.12, n)
    likeness = np.clip(1.0 - np.abs(at[:, None] - at), 0, 1) - 0.6 + rng.uniform(-0.1, 0.1, (n, n))
    weights = np.round(np.triu(likeness, 1) / step) * step
    annotator = rng.integers(0, n_annotators, n) if n_annotators < n else np.arange(n)
    return weights + weights.T, annotator[:, None] == annotator


def _units(n: int, seed: int) -> Graph:
    """The same where nodes stand for one or two annotators, so that who excludes whom is no division into sides."""
    weights, _ = _crowd(n, seed)
    drew = np.random.default_rng(seed).random((n, 6)) < 0.25
    return weights, (drew @ drew.T) | np.eye(n, dtype=bool)


def _search(graphs: list[Graph]) -> tuple[np.ndarray, np.ndarray]:
    weights = np.array([np.where(forbidden, matchings.FORBIDDEN, weights) for weights, forbidden in graphs])
    return matchings.search(weights, merge_and_move(weights))


def _listed(graph: Graph) -> list[list[float | None]]:
    weights, forbidden = graph
    return np.where(forbidden, None, weights.astype(object)).tolist()


def _total(graph: Graph, groups: np.ndarray) -> float:
    """Total of a partition, minus infinity where it joins a forbidden pair."""
    return total_of(_listed(graph), partition_of(groups))


@pytest.mark.random
@pytest.mark.parametrize("n", [1, 2, 5, 7, 8, 9, 10, 11, 12])
def test_up_to_twelve_nodes_have_the_total_and_number_of_groups_of_the_oracle_also_if_they_are_searched(n: int) -> None:
    graphs = [_crowd(n, 1000 * n + 10 * n_annotators + seed, n_annotators) for n_annotators in (2, 3, 4, 12)
              for seed in some_seeds(4)]  # fmt: skip
    graphs += [_crowd(n, seed, 3, step=1 / 4) for seed in some_seeds(6)]  # most totals occur many times
    graphs += [_units(n, seed) for seed in some_seeds(8)]
    together, exact = best_partitions(*(np.array(part) for part in zip(*graphs, strict=True)))
    searched, proven = _search(graphs)
    assert exact.all()
    assert proven.all()
    for graph, *found in zip(graphs, together, searched, strict=True):
        total, n_groups = best_by_subsets(*graph)
        for groups in found:
            assert (_total(graph, groups), len(np.unique(groups))) == (pytest.approx(total, rel=0, abs=1e-9), n_groups)
        groups = found[0]
        np.testing.assert_array_equal(groups, best_partitions(*(part[None] for part in graph))[0][0])  # independently
        first = [int(np.flatnonzero(groups == g)[0]) for g in range(int(groups.max()) + 1)]
        assert first == sorted(first)


def test_pairs_at_the_threshold_are_joined_and_a_node_leaves_the_group_that_was_merged_round_it() -> None:
    for n in (4, 10, 16):
        annotator, place = np.arange(n) % 2, np.arange(n) // 2
        forbidden = annotator[:, None] == annotator[None, :]
        weights = np.where(place[:, None] == place[None, :], -3e-10, -0.5)  # as relative boxes make it of 0
        groups, _ = best_partitions(weights[None], forbidden[None])
        assert groups[0].tolist() == place.tolist()
    # 0 and 3 gain most, 1 joins them, then 2, which costs nothing; without 0 the others have 7 in place of 6
    weights = np.array([[0, -1, -4, 4], [-1, 0, 1, 3], [-4, 1, 0, 3], [4, 3, 3, 0.0]])
    assert merge_and_move(weights[None]).tolist() == [[0, 1, 1, 1]]


@pytest.mark.parametrize(
    ("n", "n_annotators"),
    [(45, 4), (45, 9), (matchings.MAX_NODES_SEARCHED + 1, 4), (matchings.MAX_NODES_SEARCHED + 1, 9)],
)
@pytest.mark.few(1)
def test_beyond_the_limits_of_the_search_the_solution_is_valid_and_says_that_it_is_inexact(n, n_annotators) -> None:
    weights, forbidden = _crowd(n, n, n_annotators)
    groups, exact = best_partitions(weights[None], forbidden[None])
    assert exact.tolist() == [False]
    assert _total((weights, forbidden), groups[0]) >= 0.0  # minus infinity where a forbidden pair was joined
    again, _ = best_partitions(weights[None], forbidden[None])
    np.testing.assert_array_equal(groups, again)
    graph, found = (weights, forbidden), groups[0]
    for group in range(int(found.max()) + 2):  # neither moving a node nor joining two groups is better
        others = [np.where(np.arange(n) == node, group, found) for node in range(n)]
        others += [np.where(found == group, other, found) for other in range(group)]
        assert max(_total(graph, other) for other in others) <= _total(graph, found) + 1e-8


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
        assert _total((weights, forbidden), groups[0]) == pytest.approx(expected, rel=0, abs=1e-9)


@pytest.mark.parametrize("seed", seeds(12))
def test_of_equally_good_partitions_the_one_that_is_written_first_is_taken(seed: int) -> None:
    graph = _crowd(7, seed, n_annotators=3, step=1 / 4)  # most totals occur many times
    best = best_by_enumeration(_listed(graph))
    written = []
    for groups in best.partitions:
        by_first = sorted(groups, key=min)
        written.append([next(k for k, group in enumerate(by_first) if node in group) for node in range(7)])
    found, proven = _search([graph])
    assert (proven.tolist(), found[0].tolist()) == ([True], min(written))


@pytest.mark.random
@pytest.mark.parametrize("n", [15, 20])
def test_it_finds_what_an_integer_programme_finds(n: int) -> None:
    graphs = [_crowd(n, seed, n_annotators=9, step=1e-12) for seed in some_seeds(4)]
    groups, proven = _search(graphs)
    assert proven.all()
    for (weights, forbidden), found in zip(graphs, groups, strict=True):
        solved = partition._integer_programme(np.where(forbidden, matchings.FORBIDDEN, weights))
        assert solved is not None
        assert found.tolist() == solved.tolist()


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
    weights = np.array([np.where(forbidden, matchings.FORBIDDEN, weights) for weights, forbidden in graphs])
    start = merge_and_move(weights)
    groups, proven = matchings.search(weights, start)
    monkeypatch.setattr(matchings.merging, "_MAX_NODES_MULTIPLIED", 0)
    np.testing.assert_array_equal(start, merge_and_move(weights))  # sums of few and many nodes
    assert (~proven).sum() > 0
    best, exact = partition.best_partitions(*(np.array(part) for part in zip(*graphs, strict=True)))
    assert exact.all()  # the integer programme solves the rest
    for k, graph in enumerate(graphs):
        totals = [_total(graph, found[k]) for found in (start, groups, best)]
        assert totals[0] <= totals[1] + 1e-9
        assert totals[1] <= totals[2] + 1e-9
        if proven[k]:
            assert totals[1] == pytest.approx(totals[2], rel=0, abs=1e-9)


NAN = float("nan")


def matrix_of(n: int, entries: dict[tuple[int, int], float]) -> np.ndarray:
    """A symmetric matrix of some known entries."""
    matrix = np.full((n, n), NAN)
    for (a, b), value in entries.items():
        matrix[a, b] = matrix[b, a] = value
    return matrix


def test_unknown_similarities_are_left_out_of_the_average_and_of_equal_ones_the_first_are_joined_first() -> None:
    # carol and dave are unknown to each other: the others decide how similar the groups are
    matrix = matrix_of(4, {(0, 1): 0.9, (0, 2): 0.8, (1, 2): 0.6, (0, 3): 0.3, (1, 3): 0.5})
    joins = average_linkage(matrix)
    assert [members for members, _ in joins] == [(0, 1), (0, 1, 2), (0, 1, 2, 3)]
    assert [value for _, value in joins] == pytest.approx([0.9, 0.7, 0.4], abs=1e-12)
    assert average_linkage(matrix_of(4, {(0, 1): 0.2, (2, 3): 0.9})) == [((2, 3), 0.9), ((0, 1), 0.2)]
    assert (average_linkage(np.full((3, 3), NAN)), average_linkage(np.empty((0, 0)))) == ([], [])
    assert average_linkage(np.array([[1.0]])) == []
    matrix = matrix_of(4, {pair: 0.5 + 1e-12 * place for place, pair in enumerate(((0, 1), (0, 2), (1, 2), (0, 3)))})
    assert [members for members, _ in average_linkage(matrix)] == [(0, 1), (0, 1, 2), (0, 1, 2, 3)]
    with pytest.raises(ValueError, match=r"`similarity` must have the shape \(N, N\), got \(2, 3\)"):
        average_linkage(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="`similarity` must be symmetric"):
        average_linkage(np.array([[1.0, 0.2], [0.3, 1.0]]))


FLOOR = 0.1


def _nodes(similarity: np.ndarray, annotator: np.ndarray) -> matchings.Nodes:
    u, v = np.nonzero(np.triu(similarity, 1))
    of_one = np.zeros(len(annotator), np.int64)
    ones = np.ones(len(annotator), np.int64)
    return matchings.Nodes(
        of_one, matchings.places_of(of_one, annotator), ones, matchings.annotator_bits(annotator), u, v,
        similarity[u, v],
    )  # fmt: skip


def _partition(group: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(group == number).tolist()) for number in np.unique(group)}


@pytest.mark.parametrize("seed", range(5))
def test_groups_at_all_thresholds_are_those_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity = rng.random((70, 70)) * (rng.random((70, 70)) < 0.7)
    similarity = np.triu(similarity, 1) + np.triu(similarity, 1).T
    joins = matchings.average_linkage_of(_nodes(similarity, np.arange(70)), FLOOR)
    tree = linkage(squareform(1.0 - similarity - np.eye(70), checks=False), "average")
    for threshold in (0.15, 0.3, 0.35, 0.4, 0.5, 0.8):
        assert _partition(joins.groups(threshold)) == _partition(fcluster(tree, 1.0 - threshold, "distance"))


def test_no_group_has_two_nodes_of_an_annotator_of_whom_the_lowest_is_the_side() -> None:
    rng = np.random.default_rng(3)
    annotator = np.sort(rng.integers(0, 130, 200))
    similarity = np.triu(rng.random((200, 200)) ** 0.2, 1)
    similarity[annotator[:, None] == annotator] = 0.0
    group = matchings.average_linkage_of(_nodes(similarity, annotator), FLOOR).groups(FLOOR)
    assert len(np.unique(group * 130 + annotator)) == 200
    assert len(np.unique(group)) < 30
    bits = matchings.annotator_bits(np.array([0, 5, 62, 63, 64, 130]))
    assert matchings.sides_of(bits).tolist() == [0, 5, 62, 63, 64, 130]
    assert matchings.sides_of(bits | bits[3]).tolist() == [0, 5, 62, 63, 63, 63]


def _on_one_spot(n_annotators: int, n: int, spread: float, seed: int = 1) -> tuple[Objects, Boxes]:
    """Objects of several annotators on one spot, all of which overlap each other."""
    rng = np.random.default_rng(seed)
    corner = rng.normal(0.0, spread, (n_annotators * n, 2))
    boxes = np.hstack([corner, corner + 1.0 + rng.normal(0.0, spread, (n_annotators * n, 2))])
    annotator = np.repeat(np.arange(n_annotators), n)
    return Objects(np.zeros(len(boxes), np.int64), annotator, rng.integers(1, 4, len(boxes))), Boxes(boxes)


def test_equal_boxes_on_one_spot_are_matched_by_their_place() -> None:
    objects, boxes = _on_one_spot(5, 60, 0.0)
    matching = match_objects(objects, boxes.overlaps(objects), classes="ignore")
    assert matching.n_units == 60
    assert (matching.unit == np.tile(np.arange(60), 5)).all()
    assert matching.n_inexact == 1
    assert matching.inexact_surplus == pytest.approx(np.array([[60 * 10 * 0.5, 60 * 10 * 0.5]]))


@pytest.mark.parametrize("classes", ["ignore", "require", "prefer"])
def test_large_components_are_solved_nearly_as_well_as_by_merges_and_moves(classes, monkeypatch) -> None:
    objects, boxes = _on_one_spot(6, 60, 0.15)
    overlaps = boxes.overlaps(objects)
    linked = match_objects(objects, overlaps, classes=classes)
    monkeypatch.setattr(optimal, "MAX_NODES_MERGED", 1_000)
    merged = match_objects(objects, overlaps, classes=classes)
    found, bound = linked.inexact_surplus.sum(axis=0)
    assert merged.inexact_surplus.sum(axis=0)[0] <= bound
    assert found <= bound
    similarity = overlaps.similarity("iou") - 0.5
    totals = []
    for matching in (linked, merged):
        assert len(np.unique(matching.unit * 6 + objects.annotator)) == len(objects)
        together = matching.unit[overlaps.i] == matching.unit[overlaps.j]
        totals.append(similarity[together].sum())
    assert totals[0] > 0.9 * totals[1]


@pytest.mark.parametrize("classes", ["ignore", "require", "prefer"])
@pytest.mark.few(1)
def test_a_large_component_has_the_same_units_whatever_other_thresholds_there_are(classes) -> None:
    objects, boxes = _on_one_spot(5, 60, 0.1)
    overlaps = boxes.overlaps(objects)
    sweep = sweep_thresholds(objects, overlaps, classes=classes)
    assert any(found.n_inexact for found in sweep)
    for found, threshold in zip(sweep[:-1], THRESHOLDS[:-1], strict=True):
        few = sweep_thresholds(objects, overlaps, thresholds=[threshold, 0.99], classes=classes)
        assert (found.unit == few[0].unit).all()


@pytest.mark.parametrize("classes", ["ignore", "require", "prefer"])
def test_a_component_has_the_units_that_it_has_alone_whatever_stands_beside_it(classes: optimal.ClassHandling) -> None:
    """Components of every way to solve them on one sample: two large ones, small ones that are hard, single objects."""
    sizes, spreads = [(5, 60), (1, 1), (5, 2), (2, 40), (5, 55), (1, 2), (5, 2), (3, 1)], [0.1, 0.0, 0.2, 0.1] * 2
    alone = []
    for k, (size, spread) in enumerate(zip(sizes, spreads, strict=True)):
        objects, boxes = _on_one_spot(*size, spread, seed=k)
        alone.append((objects, Boxes(boxes.xyxy + 100.0 * k)))
    place = np.concatenate([np.full(len(objects.annotator), k) for k, (objects, _) in enumerate(alone)])
    annotator, category = (
        np.concatenate([getattr(objects, name) for objects, _ in alone]) for name in ("annotator", "category")
    )
    corners = np.concatenate([boxes.xyxy for _, boxes in alone])
    order = np.argsort(annotator, kind="stable")
    together, boxes = Objects(np.zeros_like(order), annotator[order], category[order]), Boxes(corners[order])
    matching = match_objects(together, boxes.overlaps(together), classes=classes)
    expected: set[frozenset[int]] = set()
    n_inexact = n_hard = 0
    for k, (objects, boxes) in enumerate(alone):
        found = match_objects(objects, boxes.overlaps(objects), classes=classes)
        n_inexact, n_hard = n_inexact + found.n_inexact, n_hard + found.n_hard
        rows = np.flatnonzero(place == k)
        expected |= {frozenset(rows[list(unit)].tolist()) for unit in _partition(found.unit)}
    assert {frozenset(order[list(unit)].tolist()) for unit in _partition(matching.unit)} == expected
    assert (matching.n_inexact, matching.n_hard) == (n_inexact, n_hard)
    assert n_hard > n_inexact >= 2


def test_assignments_of_few_candidates_are_as_good_as_those_of_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    objects, boxes = _on_one_spot(2, 60, 0.4)
    overlaps = boxes.overlaps(objects)
    similarity = overlaps.similarity("iou")
    totals = []
    for cells in (10**9, 0):
        monkeypatch.setattr(matchings.sequential, "_MAX_CELLS", cells)
        unit = match_objects(objects, overlaps, method="recursive", classes="ignore").unit
        totals.append(similarity[unit[overlaps.i] == unit[overlaps.j]].sum())
    assert totals[0] == pytest.approx(totals[1], abs=1e-9)


def _peak_mib(call: Callable[[], object]) -> float:
    tracemalloc.start()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 2**20


def test_overlaps_of_objects_on_one_spot_need_no_more_memory_than_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    objects, boxes = _on_one_spot(3, 800, 0.1)
    monkeypatch.setattr(compared, "MAX_PAIRS_OF_SAMPLE", 100_000)
    assert _peak_mib(lambda: boxes.overlaps(objects)) < 20.0  # 46 MiB for 1.9 million pairs


def test_matching_very_many_annotators_at_all_thresholds_needs_little_memory() -> None:
    true = np.array([[0, 0, 4, 4], [3, 3, 8, 7], [1, 5, 5, 9.0]])
    boxes = np.tile(true, (220, 1)) + np.random.default_rng(2).normal(0.0, 0.3, (660, 4))
    ones = np.ones(660, np.int64)
    objects = Objects(np.zeros(660, np.int64), np.repeat(np.arange(220), 3), ones)
    overlaps = Boxes(boxes).overlaps(objects)
    assert _peak_mib(lambda: sweep_thresholds(objects, overlaps)) < 80.0


def test_assigning_thousands_of_objects_in_turn_needs_no_table_of_all_of_them() -> None:
    n = 2_000
    left = np.tile(np.arange(n, dtype=np.float64), 2) + np.repeat([0.0, 0.1], n)
    boxes = np.column_stack([left, np.zeros(2 * n), left + 1.5, np.ones(2 * n)])
    objects = Objects(np.zeros(2 * n, np.int64), np.repeat([0, 1], n), np.ones(2 * n, np.int64))
    overlaps = Boxes(boxes).overlaps(objects)

    def match() -> None:
        matching = match_objects(objects, overlaps, threshold=0.2, method="recursive")
        assert (matching.unit == np.tile(np.arange(n), 2)).all()

    assert _peak_mib(match) < 20.0  # a table of 2,000 x 2,000 takes 64 MiB
