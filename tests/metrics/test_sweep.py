"""Matching at many thresholds against the matching at each threshold, which has all partitions as its oracle."""

from __future__ import annotations

import numpy as np
import pytest

from tests.metrics.matching_oracle import columns

from annotator_agreement.metrics import THRESHOLDS, Objects, box_overlaps, match_objects, sweep_thresholds
from annotator_agreement.metrics.matching import sweep as sweep_module

each_classes = pytest.mark.parametrize("classes", ["prefer", "ignore", "require"])


def crowded(n_samples: int, n_annotators: int, seed: int, per_sample: int = 4) -> tuple[Objects, np.ndarray]:
    """Boxes of several annotators round the same places, close enough together to be entangled."""
    rng = np.random.default_rng(seed)
    n = n_samples * per_sample
    low = rng.uniform(0, [30.0, 9.0], (n, 2))
    boxes = np.hstack([low, low + rng.uniform([8, 3], [16, 6], (n, 2))])
    seen = rng.random((n, n_annotators)) < 0.9
    place, annotator = np.nonzero(seen)
    drawn = boxes[place] + rng.normal(0, [1.2, 0.5, 1.2, 0.5], (len(place), 4))
    category = np.where(rng.random(len(place)) < 0.8, place % 3, rng.integers(0, 3, len(place))) + 1
    order = np.lexsort((annotator, place // per_sample))
    objects = Objects((place // per_sample)[order], annotator[order], category[order])
    drawn = np.sort(drawn.reshape(-1, 2, 2), axis=1).reshape(-1, 4)
    return objects, drawn[order]


def test_thresholds_ascend_between_zero_and_one_and_those_of_a_report_are_the_eighteen_from_a_tenth() -> None:
    assert list(THRESHOLDS) == [round(0.05 * k, 2) for k in range(2, 20)]
    objects, boxes = columns([])
    overlaps = box_overlaps(objects, boxes)
    found = sweep_thresholds(objects, overlaps)
    assert [(len(each.unit), each.n_units, each.n_hard, each.n_inexact) for each in found] == [(0, 0, 0, 0)] * 18
    for thresholds in ((0.0, 0.5), (0.5, 1.5), (0.5, 0.5), (0.6, 0.5), 0.5, (float("nan"),)):
        with pytest.raises(ValueError, match="`thresholds` must be in \\(0, 1\\] and ascending, got"):
            sweep_thresholds(objects, overlaps, thresholds=thresholds)


@pytest.mark.parametrize("classes", ["prefer", "ignore", "require"])
@pytest.mark.parametrize("n_annotators", [2, 3])
def test_every_threshold_gives_what_the_matching_at_that_threshold_gives(
    classes: str, n_annotators: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects, boxes = crowded(150, n_annotators, seed=n_annotators, per_sample=3)
    overlaps = box_overlaps(objects, boxes)
    sweep = sweep_thresholds(objects, overlaps, classes=classes)
    assert max(found.n_hard for found in sweep) > 10
    assert not any(found.n_inexact for found in sweep)
    monkeypatch.setattr(sweep_module, "_MAX_OBJECTS_AT_ONCE", 200)
    parts = sweep_thresholds(objects, overlaps, classes=classes)
    for found, in_parts, threshold in zip(sweep, parts, THRESHOLDS, strict=True):
        expected = match_objects(objects, overlaps, threshold=threshold, classes=classes)
        for each in (found, in_parts):
            np.testing.assert_array_equal(each.unit, expected.unit)
            assert (each.n_units, each.n_hard) == (expected.n_units, expected.n_hard)


def test_large_components_are_counted_where_their_solution_is_not_proven() -> None:
    objects, boxes = crowded(5, 5, seed=5, per_sample=8)
    overlaps = box_overlaps(objects, boxes)
    sweep = sweep_thresholds(objects, overlaps, classes="ignore")
    assert 0 < sum(found.n_inexact for found in sweep) < sum(found.n_hard for found in sweep)
    similarity = overlaps.similarity("iou")
    for found, threshold in zip(sweep, THRESHOLDS, strict=True):
        exact = match_objects(objects, overlaps, threshold=threshold, classes="ignore")
        surplus = [_surplus(unit, overlaps, similarity, threshold) for unit in (exact.unit, found.unit)]
        assert len(np.unique(found.unit * 5 + objects.annotator)) == len(objects)  # one object of an annotator
        if not exact.n_inexact:
            assert surplus[1] <= surplus[0] + 1e-8
        if not found.n_inexact:
            assert surplus[1] >= surplus[0] - 1e-8
        assert surplus[1] >= 0.97 * surplus[0]


def _surplus(unit: np.ndarray, overlaps, similarity: np.ndarray, threshold: float) -> float:
    members = np.bincount(unit)
    together = unit[overlaps.i] == unit[overlaps.j]
    return float(similarity[together].sum() - threshold * (members * (members - 1) // 2).sum())
