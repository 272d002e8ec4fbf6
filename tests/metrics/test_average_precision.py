"""Average precision: its definition, and matching one by one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.chance import seeds

from annotator_agreement.metrics import average_precision, match_detections


def _of_order(hits: tuple[int, ...] | np.ndarray, n_gt: int) -> float:
    """Average precision of one order, as it is defined: the highest precision from every recall on."""
    found = np.cumsum(hits)
    points = [
        max((found[n] / (n + 1) for n in range(len(hits)) if found[n] / n_gt >= recall), default=0.0)
        for recall in np.linspace(0.0, 1.0, 101)
    ]
    return float(np.mean(points))


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


@pytest.mark.parametrize("seed", seeds(20))
def test_it_is_the_mean_of_the_highest_precision_from_every_recall_on(seed: int) -> None:
    rng = np.random.default_rng(seed)
    is_hit = rng.random((int(rng.integers(1, 60)), 3)) < rng.random(3)
    n_gt = int(is_hit.sum(axis=0).max() + rng.integers(1, 9))
    assert average_precision(is_hit, n_gt) == pytest.approx([_of_order(column, n_gt) for column in is_hit.T], abs=1e-12)


@pytest.mark.parametrize(("hits", "n", "n_gt", "expected"), [case[1:] for case in EDGES], ids=[c[0] for c in EDGES])
def test_edge_cases(hits: int, n: int, n_gt: int, expected: float) -> None:
    order = np.r_[np.ones(hits, bool), np.zeros(n - hits, bool)][:, None]
    assert average_precision(order, n_gt)[0] == pytest.approx(expected, nan_ok=True)


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
    matched = match_detections(detection, gt, overlap, ignored, thresholds=np.array([0.5, 0.7]))
    for place, threshold in enumerate((0.5, 0.7)):
        pairs = set(zip(detection[matched[place]].tolist(), gt[matched[place]].tolist(), strict=True))
        assert pairs == _one_by_one(detection, gt, overlap, ignored, threshold)
