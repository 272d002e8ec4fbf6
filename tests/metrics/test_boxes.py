"""Overlaps of boxes: published cases, edge cases, pixel counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.chance import examples
from tests.metrics.golden_cases import GOLDEN, corners, fraction

from annotator_agreement import metrics
from annotator_agreement.metrics.geometry import (
    box_area,
    box_intersection,
    check_boxes,
    dice_from_areas,
    iom_from_areas,
    iou_from_areas,
)

RATIOS = {"iou": iou_from_areas, "dice": dice_from_areas, "iom": iom_from_areas}
NAN = float("nan")


def _all_pairs(kind: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The overlaps of all pairs as computed by the geometry of boxes."""
    return RATIOS[kind](box_intersection(a[:, None], b[None]), box_area(a)[:, None], box_area(b)[None])


@pytest.mark.parametrize("case", GOLDEN["boxes"], ids=lambda case: case["name"])
def test_boxes_of_the_source_documents_have_their_exact_iou(case: dict) -> None:
    a = np.array([corners(case["a"], case["format"])], dtype=float)
    b = np.array([corners(case["b"], case["format"])], dtype=float)
    expected = fraction(case["iou_exact"]) if "iou_exact" in case else case["iou"]
    assert_allclose(metrics.box_iou(a, b), [[expected]], rtol=0, atol=1e-15)
    assert_allclose(metrics.box_iou(b, a), [[expected]], rtol=0, atol=1e-15)
    assert_allclose(_all_pairs("dice", a, b), [[case.get("dice", 2 * expected / (1 + expected))]], rtol=0, atol=1e-15)


# (id, a, b, iou, dice, iom); boxes (x_min, y_min, x_max, y_max), by hand
EDGE_CASES = [
    ("nested", (0, 0, 4, 8), (1, 2, 3, 3), 2 / 32, 4 / 34, 1.0),
    ("nested touching two edges", (0, 0, 4, 8), (0, 6, 1, 8), 2 / 32, 4 / 34, 1.0),
    ("quarter overlap", (0, 0, 4, 2), (2, 1, 6, 3), 2 / 14, 4 / 16, 2 / 8),
    ("wide against tall", (0, 2, 10, 3), (4, 0, 5, 9), 1 / 18, 2 / 19, 1 / 9),
    ("touching edge", (0, 0, 2, 3), (2, 0, 5, 3), 0.0, 0.0, 0.0),
    ("touching corner", (0, 0, 2, 3), (2, 3, 5, 4), 0.0, 0.0, 0.0),
    ("disjoint in x", (0, 0, 2, 3), (4, 1, 5, 2), 0.0, 0.0, 0.0),
    ("disjoint in y", (0, 0, 2, 3), (1, 5, 2, 7), 0.0, 0.0, 0.0),
    ("disjoint in both axes", (0, 0, 1, 1), (2, 2, 3, 3), 0.0, 0.0, 0.0),
    ("no width against a box that contains it", (1, 0, 1, 3), (0, 0, 2, 3), 0.0, 0.0, 0.0),
    ("a point on the border of a box", (0, 0, 2, 3), (2, 1, 2, 1), 0.0, 0.0, 0.0),
    ("both without area, the same", (1, 1, 1, 4), (1, 1, 1, 4), NAN, NAN, NAN),
    ("both without area, apart", (0, 0, 0, 0), (5, 1, 9, 1), NAN, NAN, NAN),
    ("fractional", (0.1, 0.2, 0.35, 0.3), (0.2, 0.25, 0.35, 0.45), 0.0075 / 0.0475, 0.015 / 0.055, 0.0075 / 0.025),
    ("negative coordinates", (-5, -3, -1, -1), (-3, -2, 1, 0), 2 / 14, 4 / 16, 2 / 8),
    ("identical fractional", (0.1, 0.7, 0.4, 0.9), (0.1, 0.7, 0.4, 0.9), 1.0, 1.0, 1.0),
]


def test_edge_cases_have_the_value_computed_by_hand() -> None:
    for name, a, b, *values in EDGE_CASES:
        a, b = np.array([a], dtype=float), np.array([b], dtype=float)
        for kind, expected in zip(RATIOS, (values[0], values[1], values[2]), strict=True):
            assert_allclose(_all_pairs(kind, a, b), [[expected]], rtol=0, atol=1e-12, err_msg=name)
            assert_allclose(_all_pairs(kind, b, a), [[expected]], rtol=0, atol=1e-12, err_msg=name)
        assert_allclose(metrics.box_iou(a, b), [[values[0]]], rtol=0, atol=1e-12, err_msg=name)
        assert_allclose(metrics.dice_from_iou(metrics.box_iou(a, b)), [[values[1]]], rtol=0, atol=1e-12, err_msg=name)
    for n, m in ((0, 0), (0, 3), (2, 0)):
        assert metrics.box_iou(np.tile([0, 0, 1, 2.0], (n, 1)), np.tile([0, 0, 1, 2.0], (m, 1))).shape == (n, m)
    assert metrics.box_iou(np.array([]), np.array([[0, 0, 1, 2.0]])).shape == (0, 1)  # an empty list is no boxes


GOOD = np.array([[0, 0, 1, 2.0]])
ERRORS = [
    (np.zeros((2, 3)), r"`boxes_a` must have the shape \(N, 4\), got \(2, 3\)"),
    (np.zeros(4), r"`boxes_a` must have the shape \(N, 4\), got \(4,\)"),
    (np.array([[0, 0, 1, 1], [0, NAN, 1, 1]]), r"`boxes_a` must be finite, got \[0.0, nan, 1.0, 1.0\]"),
    (np.array([[0, 0, np.inf, 1]]), r"`boxes_a` must be finite, got \[0.0, 0.0, inf, 1.0\]"),
    (np.array([[3, 0, 1, 1.0]]), r"`boxes_a` must have max >= min, got \[3.0, 0.0, 1.0, 1.0\]"),
    (np.array([[0, 2, 1, 1.0]]), r"`boxes_a` must have max >= min, got \[0.0, 2.0, 1.0, 1.0\]"),
]


def test_unusable_boxes_are_an_error_that_names_the_argument() -> None:
    for boxes, message in ERRORS:
        with pytest.raises(ValueError, match=message):
            metrics.box_iou(boxes, GOOD)
        with pytest.raises(ValueError, match=message.replace("boxes_a", "boxes_b")):
            metrics.box_iou(GOOD, boxes)
        with pytest.raises(ValueError, match=message.replace("boxes_a", "boxes")):
            check_boxes(boxes)


@st.composite
def grid_boxes(draw: st.DrawFn) -> tuple[int, int, int, int]:
    """A box on a grid 11 wide and 7 high, sides may be 0."""
    x = sorted(draw(st.tuples(st.integers(0, 11), st.integers(0, 11))))
    y = sorted(draw(st.tuples(st.integers(0, 7), st.integers(0, 7))))
    return x[0], y[0], x[1], y[1]


def _pixels(box: tuple[int, int, int, int]) -> set[tuple[int, int]]:
    return {(x, y) for x in range(box[0], box[2]) for y in range(box[1], box[3])}


@examples(150)
@given(st.lists(grid_boxes(), min_size=1, max_size=4), st.lists(grid_boxes(), min_size=1, max_size=4))
def test_boxes_on_a_grid_overlap_as_their_pixels_do(a: list, b: list) -> None:
    array_a, array_b = np.array(a, dtype=float), np.array(b, dtype=float)
    results = {kind: _all_pairs(kind, array_a, array_b) for kind in RATIOS}
    assert_array_equal(metrics.box_iou(array_a, array_b), results["iou"])
    for i, p in enumerate(map(_pixels, a)):
        for j, q in enumerate(map(_pixels, b)):
            shared, smaller = len(p & q), min(len(p), len(q))
            expected = {
                "iou": shared / len(p | q) if p | q else NAN,
                "dice": 2 * shared / (len(p) + len(q)) if p | q else NAN,
                "iom": shared / smaller if smaller else (0.0 if p | q else NAN),
            }
            for kind, value in expected.items():
                assert_allclose(results[kind][i, j], value, rtol=0, atol=1e-14, err_msg=f"{kind} of {a[i]} and {b[j]}")
