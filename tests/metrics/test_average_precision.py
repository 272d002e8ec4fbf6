"""Average precision: all orders of few detections, random orders of many, COCO's own program, matching one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.chance import seeds

from annotator_agreement.metrics import average_precision, expected_average_precision, match_detections
from annotator_agreement.metrics.detection.average_precision import (
    MOST_EXACT,
    average_precision_near,
    least_average_precision,
)


def _of_order(hits: tuple[int, ...] | np.ndarray, n_gt: int) -> float:
    """Average precision of one order, as it is defined: the highest precision from every recall on."""
    found = np.cumsum(hits)
    points = [
        max((found[n] / (n + 1) for n in range(len(hits)) if found[n] / n_gt >= recall), default=0.0)
        for recall in np.linspace(0.0, 1.0, 101)
    ]
    return float(np.mean(points))


# (hits, others, objects)
FEW = [(1, 0, 1), (1, 1, 1), (2, 2, 3), (3, 0, 4), (4, 3, 5), (3, 5, 3), (1, 6, 9), (2, 3, 200), (5, 4, 5), (0, 3, 4)]


@pytest.mark.parametrize(("hits", "others", "n_gt"), FEW)
def test_the_expectation_is_the_mean_over_all_orders(hits: int, others: int, n_gt: int) -> None:
    orders = itertools.combinations(range(hits + others), hits)
    every = [_of_order(np.isin(np.arange(hits + others), order).astype(int), n_gt) for order in orders]
    assert expected_average_precision(hits, hits + others, n_gt) == pytest.approx(np.mean(every), abs=1e-12)
    assert least_average_precision(hits, hits + others, n_gt) == pytest.approx(min(every), abs=1e-12)


@pytest.mark.parametrize(
    ("hits", "n", "n_gt", "tolerance"),
    [(30, 48, 40, 1e-3), (40, 80, 40, 1e-3), (76, 80, 100, 1e-3), (60, 300, 90, 1.2e-3), (240, 300, 300, 1e-3)],
)
def test_many_detections_have_the_mean_of_random_orders(hits: int, n: int, n_gt: int, tolerance: float) -> None:
    rng = np.random.default_rng(hits)
    is_hit = hits > np.argsort(rng.random((4000, n)), axis=1).T  # (N, T): an order in every column
    means = average_precision(is_hit, n_gt)
    error = means.std() / np.sqrt(len(means))
    assert expected_average_precision(hits, n, n_gt) == pytest.approx(means.mean(), abs=tolerance / 2 + 3 * error)


def test_the_exact_and_the_other_formula_meet() -> None:
    n = MOST_EXACT + np.array([0, 1])
    exact, approximate = expected_average_precision(np.array([30, 30]), n, np.array([40, 40]))
    slope = np.diff(expected_average_precision(np.array([30, 30]), n - 1, np.array([40, 40])))[0]
    assert approximate - exact == pytest.approx(slope, abs=5e-4)


# (hits, detections, objects, expected)
EDGES = [
    ("no objects", 0, 3, 0, np.nan),
    ("nothing at all", 0, 0, 0, np.nan),
    ("no detections", 0, 0, 5, 0.0),
    ("no hits", 0, 5, 5, 0.0),
    ("all right", 5, 5, 5, 1.0),
    ("all right, many", 500, 500, 500, 1.0),
    ("half found, none wrong", 1, 1, 2, 51 / 101),
    ("no hits, many", 0, 500, 20, 0.0),
]


@pytest.mark.parametrize(("hits", "n", "n_gt", "expected"), [case[1:] for case in EDGES], ids=[c[0] for c in EDGES])
def test_edge_cases(hits: int, n: int, n_gt: int, expected: float) -> None:
    assert expected_average_precision(hits, n, n_gt) == pytest.approx(expected, nan_ok=True)
    assert least_average_precision(hits, n, n_gt) == pytest.approx(expected, nan_ok=True)
    order = np.r_[np.ones(hits, bool), np.zeros(n - hits, bool)][:, None]
    assert average_precision(order, n_gt)[0] == pytest.approx(expected, nan_ok=True)


def test_values_near_those_of_columns_are_theirs_at_the_columns_and_near_them_elsewhere() -> None:
    columns = tuple(np.array(each, float) for each in ([3, 400, 40, 0], [7, 500, 41, 600], [6, 450, 40, 9]))
    assert_allclose(average_precision_near(*columns, columns), expected_average_precision(*columns), atol=1e-12)
    moved = tuple(each + shift for each, shift in zip(columns, (1, 3, 2), strict=True))
    found = average_precision_near(*moved, columns)
    assert_allclose(found[:3], expected_average_precision(*moved)[:3], atol=1e-3)  # a column without hits stays so
    assert np.isnan(average_precision_near(*np.zeros((3, 4)), columns)).all()


def _one_by_one(detection, gt, overlap, ignored, threshold) -> set[tuple[int, int]]:
    """COCO's rule in plain loops: detections in order; objects that are left out only where no other is free."""
    taken, found = set(), set()
    for each in sorted(set(detection.tolist())):
        rows = [k for k in np.flatnonzero(detection == each) if overlap[k] >= threshold and gt[k] not in taken]
        rows.sort(key=lambda k: (ignored[k], -overlap[k]))
        if rows:
            taken.add(gt[rows[0]])
            found.add((each, int(gt[rows[0]])))
    return found


@pytest.mark.parametrize("seed", seeds(20))
def test_detections_by_score_choose_as_one_after_the_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    detection, gt = (each.ravel() for each in np.meshgrid(np.arange(9), np.arange(7), indexing="ij"))
    kept = rng.random(len(gt)) < 0.5
    detection, gt = detection[kept], gt[kept]
    overlap, ignored = rng.uniform(0.4, 1.0, len(gt)), rng.random(7)[gt] < 0.3
    matched = match_detections(detection, gt, overlap, ignored, thresholds=np.array([0.5, 0.7]), by_score=True)
    for place, threshold in enumerate((0.5, 0.7)):
        pairs = set(zip(detection[matched[place]].tolist(), gt[matched[place]].tolist(), strict=True))
        assert pairs == _one_by_one(detection, gt, overlap, ignored, threshold)


@pytest.mark.parametrize("seed", seeds(20))
def test_without_scores_the_best_pairs_come_first_and_no_order_matters(seed: int) -> None:
    rng = np.random.default_rng(seed)
    detection, gt = (each.ravel() for each in np.meshgrid(np.arange(8), np.arange(8), indexing="ij"))
    overlap, nothing = rng.uniform(0.4, 1.0, 64), np.zeros(64, np.bool_)
    matched = match_detections(detection, gt, overlap, nothing)
    order = rng.permutation(64)
    shuffled = match_detections(detection[order], gt[order], overlap[order], nothing)
    assert_array_equal(shuffled, matched[:, order])
    assert_array_equal(match_detections(gt, detection, overlap, nothing), matched)
    taken: tuple[set[int], set[int]] = (set(), set())
    for k in np.argsort(-overlap):
        free = detection[k] not in taken[0] and gt[k] not in taken[1]
        assert matched[0, k] == (free and overlap[k] >= 0.5)
        if matched[0, k]:
            taken[0].add(int(detection[k]))
            taken[1].add(int(gt[k]))
