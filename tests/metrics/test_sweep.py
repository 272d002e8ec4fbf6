"""Matching at many thresholds against the matching at each threshold, which has all partitions as its oracle."""

from __future__ import annotations

import numpy as np
import pytest

from tests.metrics.matching_oracle import Row, columns

from annotator_agreement.metrics import THRESHOLDS, Objects, match_objects, sweep_thresholds
from annotator_agreement.metrics.geometry.boxes import box_overlaps
from annotator_agreement.metrics.matching import sweep as sweep_module

each_classes = pytest.mark.parametrize("classes", ["prefer", "ignore", "require"])


def _sweep(rows: list[Row], **options):
    objects, boxes = columns(rows)
    return sweep_thresholds(objects, box_overlaps(objects, boxes), **options)


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


def test_the_thresholds_of_a_report_are_the_eighteen_from_a_tenth() -> None:
    shown = "(0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)"
    assert repr(THRESHOLDS) == shown


@each_classes
@pytest.mark.parametrize("n_annotators", [2, 3])
def test_every_threshold_gives_what_the_matching_at_that_threshold_gives(classes: str, n_annotators: int) -> None:
    objects, boxes = crowded(150, n_annotators, seed=n_annotators, per_sample=3)
    overlaps = box_overlaps(objects, boxes)
    sweep = sweep_thresholds(objects, overlaps, classes=classes)
    assert max(found.n_hard for found in sweep) > 10
    assert not any(found.n_inexact for found in sweep)
    for found, threshold in zip(sweep, THRESHOLDS, strict=True):
        expected = match_objects(objects, overlaps, threshold=threshold, classes=classes)
        np.testing.assert_array_equal(found.unit, expected.unit)
        assert (found.n_units, found.n_hard) == (expected.n_units, expected.n_hard)


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


def test_solving_some_thresholds_at_a_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    objects, boxes = crowded(60, 3, seed=3)
    overlaps = box_overlaps(objects, boxes)
    whole = sweep_thresholds(objects, overlaps)
    monkeypatch.setattr(sweep_module, "_MAX_OBJECTS_AT_ONCE", 200)
    parts = sweep_thresholds(objects, overlaps)
    for found, expected in zip(parts, whole, strict=True):
        np.testing.assert_array_equal(found.unit, expected.unit)
        assert found.n_hard == expected.n_hard


def test_no_objects_have_no_units_at_any_threshold() -> None:
    assert [(len(found.unit), found.n_units, found.n_hard, found.n_inexact) for found in _sweep([])] == [
        (0, 0, 0, 0)
    ] * 18


@pytest.mark.parametrize("thresholds", [(0.0, 0.5), (0.5, 1.5), (0.5, 0.5), (0.6, 0.5), 0.5, (float("nan"),)])
def test_thresholds_must_ascend_between_zero_and_one(thresholds: object) -> None:
    with pytest.raises(ValueError, match="`thresholds` must be in \\(0, 1\\] and ascending, got"):
        _sweep([(0, 0, 1, 0, 0, 2, 1)], thresholds=thresholds)
