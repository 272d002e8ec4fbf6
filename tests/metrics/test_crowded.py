"""Which objects of a crowded sample are compared: all that overlap, or of too many the most similar."""

from __future__ import annotations

import numpy as np
import pytest

from annotator_agreement.metrics.geometry import objects as compared
from annotator_agreement.metrics.geometry.boxes import Boxes, box_area, box_intersection
from annotator_agreement.metrics.geometry.objects import Objects, iou_from_areas, near_pairs


def _boxes(n: int, seed: int, size: tuple[float, float]) -> np.ndarray:
    rng = np.random.default_rng(seed)
    sides = rng.uniform(*size, (n, 2))
    corner = rng.uniform(0.0, 1.0 - sides)
    return np.hstack([corner, corner + sides])


def _iou_by_brute_force(boxes: np.ndarray, annotator: np.ndarray) -> np.ndarray:
    area = box_area(boxes)
    iou = iou_from_areas(box_intersection(boxes[:, None], boxes), area[:, None], area)
    iou[annotator[:, None] == annotator] = 0.0
    return iou


@pytest.mark.parametrize(
    ("n", "n_annotators", "size"), [(300, 3, (0.01, 0.3)), (40, 25, (0.1, 0.9)), (500, 2, (0, 0.02))]
)
def test_near_pairs_are_all_whose_boxes_overlap(n: int, n_annotators: int, size: tuple[float, float]) -> None:
    boxes, annotator = _boxes(n * n_annotators, 3, size), np.repeat(np.arange(n_annotators), n)
    near = near_pairs(boxes, annotator, max_pairs=10**9)
    i, j = np.nonzero(np.triu(_iou_by_brute_force(boxes, annotator) > 0.0))
    assert near.complete
    assert near.i.tolist() == i.tolist()
    assert near.j.tolist() == j.tolist()


def test_of_too_many_pairs_every_object_keeps_the_most_similar_of_every_other_annotator() -> None:
    n, n_annotators, n_kept = 120, 4, 5
    boxes, annotator = _boxes(n * n_annotators, 5, (0.4, 0.6)), np.repeat(np.arange(n_annotators), n)
    near = near_pairs(boxes, annotator, max_pairs=n_kept * n * n_annotators * (n_annotators - 1))
    iou = _iou_by_brute_force(boxes, annotator)
    expected = set()
    for row in range(len(boxes)):
        for other in set(range(n_annotators)) - {int(annotator[row])}:
            columns = np.flatnonzero((annotator == other) & (iou[row] > 0.0))
            best = columns[np.argsort(-iou[row, columns])[:n_kept]]
            expected |= {(min(row, column), max(row, column)) for column in best.tolist()}
    assert not near.complete
    assert set(zip(near.i.tolist(), near.j.tolist(), strict=True)) == expected


def test_of_equal_boxes_those_at_the_same_place_in_their_lists_are_kept() -> None:
    n, annotator = 50, np.repeat(np.arange(3), 50)
    near = near_pairs(np.tile([[0.0, 0, 1, 1]], (150, 1)), annotator, max_pairs=2 * 150)
    assert len(near.i) == 3 * n
    assert (near.i % n == near.j % n).all()


def test_where_one_object_of_every_annotator_is_too_many_the_most_similar_of_all_are_kept() -> None:
    boxes, annotator = _boxes(300, 8, (0.4, 0.6)), np.repeat(np.arange(60), 5)
    near = near_pairs(boxes, annotator, max_pairs=600)
    iou = _iou_by_brute_force(boxes, annotator)
    assert len(near.i) <= 600
    best = iou.argmax(axis=1)
    kept = set(zip(near.i.tolist(), near.j.tolist(), strict=True))
    assert all((min(row, other), max(row, other)) in kept for row, other in enumerate(best.tolist()))
    assert (annotator[near.i] != annotator[near.j]).all()


def test_a_large_sample_between_others_has_the_same_overlaps_as_compared_pair_by_pair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = [(2, 7), (3, 40), (1, 5), (3, 30), (2, 9)]
    sample = np.concatenate([np.full(n_annotators * n, k) for k, (n_annotators, n) in enumerate(counts)])
    annotator = np.concatenate([np.repeat(np.arange(n_annotators), n) for n_annotators, n in counts])
    boxes = Boxes(_boxes(len(sample), 13, (0.05, 0.4)))
    of = Objects(sample, annotator, np.ones(len(sample), np.int64))
    one_by_one = boxes.overlaps(of)
    monkeypatch.setattr(compared, "_MANY_PAIRS", 1_000)
    by_position = boxes.overlaps(of)
    for name in ("i", "j", "intersection"):
        assert getattr(by_position, name).tolist() == getattr(one_by_one, name).tolist()
    assert by_position.crowded is None
    monkeypatch.setattr(compared, "MAX_PAIRS_OF_SAMPLE", 800)
    crowded = boxes.overlaps(of).crowded
    assert crowded is not None
    assert set(sample[crowded].tolist()) == {1}
