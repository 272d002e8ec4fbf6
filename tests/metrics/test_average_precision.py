"""Average precision: its definition, and matching one by one; F1 and panoptic quality."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tests.chance import examples, seeds

from annotator_agreement.metrics import (
    average_precision,
    f1_score,
    match_detections,
    panoptic_quality,
    segmentation_quality,
)


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


def test_edge_cases() -> None:
    for name, hits, n, n_gt, expected in EDGES:
        order = np.r_[np.ones(hits, bool), np.zeros(n - hits, bool)][:, None]
        assert average_precision(order, n_gt)[0] == pytest.approx(expected, nan_ok=True), name


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


NAN = float("nan")


@examples(150)
@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8), st.integers(0, 5), st.integers(0, 5))
def test_panoptic_quality_is_segmentation_times_recognition(iou: list, alone_a: int, alone_b: int) -> None:
    n_a, n_b = len(iou) + alone_a, len(iou) + alone_b
    quality = panoptic_quality(sum(iou), n_a, n_b)
    product = segmentation_quality(sum(iou), len(iou)) * f1_score(len(iou), n_a, n_b)
    assert_allclose(quality, product, rtol=1e-12)
    # Kirillov et al., equation 1: sum of IoU / (TP + FP / 2 + FN / 2)
    assert_allclose(quality, sum(iou) / (len(iou) + alone_a / 2 + alone_b / 2), rtol=1e-12)
    assert 0.0 <= quality <= 1.0 + 1e-12


def test_counts_of_many_pairs_are_taken_at_once() -> None:
    n_a, n_b = np.array([2, 0, 3, 0]), np.array([4, 0, 0, 2])
    assert_allclose(f1_score(np.array([1, 0, 0, 0]), n_a, n_b), [1 / 3, NAN, 0.0, 0.0], rtol=0, atol=1e-15)
    assert_allclose(panoptic_quality(np.array([0.6, 0, 0, 0]), n_a, n_b), [0.2, NAN, 0, 0], rtol=0, atol=1e-15)
    assert_allclose(segmentation_quality(np.array([1.5, 0.0]), np.array([2, 0])), [0.75, NAN], rtol=0, atol=1e-15)
