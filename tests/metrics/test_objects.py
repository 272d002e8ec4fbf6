"""Columns of objects and which of them overlap."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.metrics.matching_oracle import columns, compared_pairs, similarity_of, sorted_rows

from annotator_agreement.metrics import Objects, box_overlaps
from annotator_agreement.metrics.geometry import objects as objects_module

ZERO = np.zeros(2, np.int64)
ERRORS = [
    ((ZERO, ZERO[:1], ZERO), r"`annotator` must have the shape \(2,\), got \(1,\)"),
    ((ZERO, ZERO, np.zeros(3, np.int64)), r"`category` must have the shape \(2,\), got \(3,\)"),
    ((np.zeros((2, 1), np.int64),) * 3, r"`sample` must have the shape"),
    ((ZERO, ZERO, np.zeros(2)), r"`category` must be integers >= 0, got float64 from 0.0"),
    ((ZERO, ZERO - 1, ZERO), r"`annotator` must be integers >= 0, got int64 from -1"),
    ((np.array([1, 0]), ZERO, ZERO), r"Objects must be sorted by sample, then annotator, got rows out of order"),
    ((ZERO, np.array([1, 0]), ZERO), r"Objects must be sorted by sample, then annotator, got rows out of order"),
]


def test_unusable_columns_and_boxes_are_an_error() -> None:
    for arrays, message in ERRORS:
        with pytest.raises(ValueError, match=message):
            Objects(*arrays)
    with pytest.raises(ValueError, match="`boxes` must have max >= min, got"):
        box_overlaps(Objects(ZERO, ZERO, ZERO), np.array([[0, 0, 1, 1], [0, 5, 1, 1.0]]))


def _rows(seed: int) -> list:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(40):
        x, y, w, h = rng.uniform(0, 12), rng.uniform(0, 5), rng.uniform(0, 5), rng.uniform(0, 3)
        rows.append((int(rng.integers(3)), int(rng.integers(3)), 1, x, y, x + w, y + h))
    return sorted_rows(rows)


def test_overlaps_are_those_of_all_pairs_of_two_annotators_whatever_the_size_of_a_chunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = _rows(3)
    objects, boxes = columns(rows)
    for max_pairs in (1, 7, 500_000):
        monkeypatch.setattr(objects_module, "MAX_PAIRS_AT_ONCE", max_pairs)
        overlaps = box_overlaps(objects, boxes)
        for kind in ("iou", "dice"):
            found = {(i, j): similarity_of(rows[i][3:], rows[j][3:], kind) for i, j in compared_pairs(objects)}
            expected = {pair: value for pair, value in found.items() if value > 0}
            assert list(zip(overlaps.i.tolist(), overlaps.j.tolist(), strict=True)) == list(expected)
            assert_allclose(overlaps.similarity(kind), [*expected.values()], rtol=0, atol=1e-12)
    nothing = box_overlaps(*columns([]))
    assert (len(nothing.i), len(nothing.j), len(nothing.similarity("iou"))) == (0, 0, 0)


def test_values_at_pairs_that_do_not_overlap_are_zero() -> None:
    rows = [(0, 0, 1, 0, 0, 4, 2), (0, 1, 1, 2, 0, 6, 2), (0, 1, 1, 8, 0, 9, 2), (0, 2, 1, 2, 1, 6, 2)]
    overlaps = box_overlaps(*columns(rows))
    i, j = np.array([0, 0, 1, 0]), np.array([1, 2, 3, 3])
    assert_allclose(overlaps.values_at(overlaps.similarity("iou"), i, j), [1 / 3, 0, 1 / 2, 1 / 5], rtol=0, atol=1e-15)
    alone = box_overlaps(*columns(rows[:1]))
    assert_array_equal(alone.values_at(alone.intersection, ZERO, ZERO), [0, 0])
    position, found = alone.find(ZERO, ZERO)
    assert (position.tolist(), found.tolist()) == ([0, 0], [False, False])
