"""Average linkage of large components: against scipy, and its use in the matching."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from annotator_agreement.metrics import THRESHOLDS, Objects, match_objects, sweep_thresholds
from annotator_agreement.metrics.geometry import Boxes
from annotator_agreement.metrics.geometry import objects as compared
from annotator_agreement.metrics.matching import (
    Nodes,
    annotator_bits,
    average_linkage_of,
    optimal,
    places_of,
    sequential,
    sides_of,
)

FLOOR = 0.1


def _nodes(similarity: np.ndarray, annotator: np.ndarray) -> Nodes:
    u, v = np.nonzero(np.triu(similarity, 1))
    of_one = np.zeros(len(annotator), np.int64)
    ones = np.ones(len(annotator), np.int64)
    return Nodes(of_one, places_of(of_one, annotator), ones, annotator_bits(annotator), u, v, similarity[u, v])


def _partition(group: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(group == number).tolist()) for number in np.unique(group)}


@pytest.mark.parametrize("seed", range(5))
def test_groups_at_all_thresholds_are_those_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity = rng.random((70, 70)) * (rng.random((70, 70)) < 0.7)
    similarity = np.triu(similarity, 1) + np.triu(similarity, 1).T
    joins = average_linkage_of(_nodes(similarity, np.arange(70)), FLOOR)
    tree = linkage(squareform(1.0 - similarity - np.eye(70), checks=False), "average")
    for threshold in (0.15, 0.3, 0.35, 0.4, 0.5, 0.8):
        assert _partition(joins.groups(threshold)) == _partition(fcluster(tree, 1.0 - threshold, "distance"))


def test_no_group_has_two_nodes_of_an_annotator() -> None:
    rng = np.random.default_rng(3)
    annotator = np.sort(rng.integers(0, 130, 200))
    similarity = np.triu(rng.random((200, 200)) ** 0.2, 1)
    similarity[annotator[:, None] == annotator] = 0.0
    group = average_linkage_of(_nodes(similarity, annotator), FLOOR).groups(FLOOR)
    assert len(np.unique(group * 130 + annotator)) == 200
    assert len(np.unique(group)) < 30


def test_side_is_the_lowest_annotator() -> None:
    bits = annotator_bits(np.array([0, 5, 62, 63, 64, 130]))
    assert sides_of(bits).tolist() == [0, 5, 62, 63, 64, 130]
    assert sides_of(bits | bits[3]).tolist() == [0, 5, 62, 63, 63, 63]


def _crowd(n_annotators: int, n: int, spread: float, seed: int = 1) -> tuple[Objects, Boxes]:
    """Objects of several annotators on one spot, all of which overlap each other."""
    rng = np.random.default_rng(seed)
    corner = rng.normal(0.0, spread, (n_annotators * n, 2))
    boxes = np.hstack([corner, corner + 1.0 + rng.normal(0.0, spread, (n_annotators * n, 2))])
    annotator = np.repeat(np.arange(n_annotators), n)
    return Objects(np.zeros(len(boxes), np.int64), annotator, rng.integers(1, 4, len(boxes))), Boxes(boxes)


def test_equal_boxes_on_one_spot_are_matched_by_their_place() -> None:
    objects, boxes = _crowd(5, 60, 0.0)
    matching = match_objects(objects, boxes.overlaps(objects), classes="ignore")
    assert matching.n_units == 60
    assert (matching.unit == np.tile(np.arange(60), 5)).all()
    assert matching.n_inexact == 1
    assert matching.inexact_surplus == pytest.approx(np.array([[60 * 10 * 0.5, 60 * 10 * 0.5]]))


@pytest.mark.parametrize("classes", ["ignore", "require", "prefer"])
def test_large_components_are_solved_nearly_as_well_as_by_merges_and_moves(
    classes: optimal.ClassHandling, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects, boxes = _crowd(6, 60, 0.15)
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
def test_a_large_component_has_the_same_units_whatever_other_thresholds_there_are(
    classes: optimal.ClassHandling,
) -> None:
    objects, boxes = _crowd(5, 60, 0.1)
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
        objects, boxes = _crowd(*size, spread, seed=k)
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
    objects, boxes = _crowd(2, 60, 0.4)
    overlaps = boxes.overlaps(objects)
    similarity = overlaps.similarity("iou")
    totals = []
    for cells in (10**9, 0):
        monkeypatch.setattr(sequential, "_MAX_CELLS", cells)
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
    objects, boxes = _crowd(3, 800, 0.1)
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
