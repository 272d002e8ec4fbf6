"""Overlaps of boxes, lines and intervals of frames: published and edge cases, pixels, shapely, sets of frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.chance import examples
from tests.metrics.published import GOLDEN, corners, fraction

from annotator_agreement import metrics
from annotator_agreement.metrics import Intervals, Lines, Objects, line_overlap, lines_from_points
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


def test_no_boxes_have_no_overlaps_and_lines_do_not_mix() -> None:
    for n, m in ((0, 0), (0, 3), (2, 0)):
        assert metrics.box_iou(np.tile([0, 0, 1, 2.0], (n, 1)), np.tile([0, 0, 1, 2.0], (m, 1))).shape == (n, m)
    assert metrics.box_iou(np.array([]), np.array([[0, 0, 1, 2.0]])).shape == (0, 1)  # an empty list is no boxes
    lines = lines_of([shape for _, shape, _ in SHAPES])
    assert_allclose(lines.length, [length for _, _, length in SHAPES], rtol=1e-15)
    assert len(lines_of([])) == 0
    assert line_overlap(lines.geometry[:0], lines.geometry[:0], 2.0).shape == (0,)


GOOD = np.array([[0, 0, 1, 2.0]])


def test_unusable_boxes_are_an_error_that_names_the_argument() -> None:
    for boxes, message in (
        (np.zeros((2, 3)), r"`boxes_a` must have the shape \(N, 4\), got \(2, 3\)"),
        (np.zeros(4), r"`boxes_a` must have the shape \(N, 4\), got \(4,\)"),
        (np.array([[0, 0, 1, 1], [0, NAN, 1, 1]]), r"`boxes_a` must be finite, got \[0.0, nan, 1.0, 1.0\]"),
        (np.array([[0, 0, np.inf, 1]]), r"`boxes_a` must be finite, got \[0.0, 0.0, inf, 1.0\]"),
        (np.array([[3, 0, 1, 1.0]]), r"`boxes_a` must have max >= min, got \[3.0, 0.0, 1.0, 1.0\]"),
        (np.array([[0, 2, 1, 1.0]]), r"`boxes_a` must have max >= min, got \[0.0, 2.0, 1.0, 1.0\]"),
    ):
        with pytest.raises(ValueError, match=message):
            metrics.box_iou(boxes, GOOD)
        with pytest.raises(ValueError, match=message.replace("boxes_a", "boxes_b")):
            metrics.box_iou(GOOD, boxes)
        with pytest.raises(ValueError, match=message.replace("boxes_a", "boxes")):
            check_boxes(boxes)


@st.composite
def grid_boxes(draw: st.DrawFn) -> tuple[int, int, int, int]:
    """A box on a grid 14 wide and 7 high, sides may be 0."""
    x = sorted(draw(st.tuples(st.integers(-3, 11), st.integers(-3, 11))))
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
    assert_allclose(metrics.dice_from_iou(results["iou"]), results["dice"], rtol=0, atol=1e-12)
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


Line = Sequence[Sequence[float]]


def lines_of(shapes: Sequence[Sequence[Line]], tolerance_px: float = 2.0) -> Lines:
    """Lines from nested lists, as FiftyOne's ``Polyline.points`` has them."""
    lines = [(number, line) for number, shape in enumerate(shapes) for line in shape]
    points = np.array([point for _, line in lines for point in line], dtype=float).reshape(-1, 2)
    line_of = np.repeat(np.arange(len(lines)), [len(line) for _, line in lines])
    shape_of = np.array([number for number, _ in lines], dtype=np.int64)
    return lines_from_points(points, line_of, shape_of, len(shapes), tolerance_px=tolerance_px)


def shared(a: Sequence[Line], b: Sequence[Line], tolerance_px: float) -> float:
    """Length shared by two shapes."""
    lines = lines_of([a, b])
    return float(line_overlap(lines.geometry[:1], lines.geometry[1:], tolerance_px)[0])


BAR = [(0, 0), (10, 0)]
# (id, lines, length), by hand
SHAPES = [
    ("straight", [BAR], 10),
    ("bent", [[(0, 0), (3, 4), (3, 10)]], 11),
    ("closed", [[(0, 0), (3, 0), (3, 4), (0, 0)]], 12),
    ("two parts", [BAR, [(0, 5), (0, 8)]], 13),
    ("two crossing parts", [BAR, [(5, -3), (5, 8)]], 21),
    ("to and fro", [[(0, 0), (10, 0), (0, 0)]], 10),
    ("half of it twice", [BAR, [(5, 0), (10, 0)]], 10),
    ("repeated points", [[(0, 0), (0, 0), (4, 0), (4, 0), (10, 0), (10, 0)]], 10),
    ("a point besides", [[(7, 7)], BAR], 10),
    ("one point", [[(7, 7)]], 0),
    ("one point many times", [[(7, 7)] * 4], 0),
    ("no points", [[]], 0),
    ("nothing", [], 0),
]


def _walks(n: int, seed: int) -> list[list[Line]]:
    """Bent lines near each other, wider than high, that do not cross themselves."""
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.uniform(1, 6, (n, 12)), axis=1)
    y = np.cumsum(rng.normal(0, 1.5, (n, 12)), axis=1)
    return [[line] for line in np.stack([x, y], axis=-1).tolist()]


def test_many_pairs_share_what_they_share_one_by_one() -> None:
    # as many as several blocks of rows
    a, b = lines_of(_walks(50, 3)), lines_of(_walks(50, 4))
    i, j = (rows.ravel() for rows in np.mgrid[:50, :50])
    expected = np.array(
        [
            [
                min(0.5 * (p.intersection(q.buffer(2)).length + q.intersection(p.buffer(2)).length), p.length, q.length)
                for q in b.geometry
            ]
            for p in a.geometry
        ]
    )
    assert_allclose(line_overlap(a.geometry[i], b.geometry[j], 2.0), expected.ravel(), rtol=1e-12, atol=1e-12)


coordinates = st.one_of(st.integers(-2, 4).map(float), st.floats(-3.0, 5.0, width=32))


@st.composite
def messy_lines(draw: st.DrawFn) -> list[Line]:
    """Lines with repeated points, that turn back, cross themselves or have no length."""
    points = draw(st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=5))
    return draw(st.lists(st.lists(st.sampled_from(points), max_size=7), max_size=3))


@examples(200)
@given(messy_lines(), messy_lines(), st.sampled_from([0.1, 1.0, 4.0]))
def test_messy_lines_never_fail_and_share_at_most_the_shorter(a: list[Line], b: list[Line], tolerance: float) -> None:
    lines = lines_of([a, b])
    overlap = line_overlap(lines.geometry[:1], lines.geometry[1:], tolerance)
    assert 0 <= overlap[0] <= lines.length.min()
    assert_allclose(line_overlap(lines.geometry[1:], lines.geometry[:1], tolerance), overlap, rtol=1e-9, atol=1e-9)
    assert_array_equal(line_overlap(lines.geometry, lines.geometry, tolerance), lines.length)


def test_unusable_columns_and_tolerances_are_an_error_that_names_the_argument() -> None:
    points, zeros = np.array(BAR, dtype=float), np.zeros(2, np.int64)
    with pytest.raises(ValueError, match=r"`points_xy` must be finite, got \[0.0, nan\]"):
        lines_from_points(points * [1, np.nan], zeros, zeros[:1], 1, tolerance_px=1)
    with pytest.raises(ValueError, match="`line` must be ascending integers from 0 to 0, got int64 from 3 to 3"):
        lines_from_points(points, zeros + 3, zeros[:1], 1, tolerance_px=1)
    geometry = lines_of([[BAR]] * 3).geometry
    with pytest.raises(ValueError, match="`a` and `b` must have the same length, got 1 and 2"):
        line_overlap(geometry[:1], geometry[1:], 2)
    for tolerance in (0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="`tolerance_px` must be positive, got"):
            line_overlap(geometry, geometry, tolerance)
        with pytest.raises(ValueError, match="`tolerance_px` must be positive, got"):
            lines_of([[BAR]], tolerance_px=tolerance)


def _columns(*rows: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _shared_and_iou(a: tuple, b: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Frames shared by row ``p`` of the intervals of ``a`` and of ``b``, and their IoU."""
    frames = Intervals(*a).joined([Intervals(*b)])
    i, j = np.arange(len(a[0])), np.arange(len(a[0]), len(frames))
    shared = frames.intersection_of(i, j)
    return shared, iou_from_areas(shared, frames.area[i], frames.area[j])


def test_cases_have_the_value_computed_by_hand_and_narrow_numbers_do_not_wrap_round() -> None:
    # (id, a, b, shared frames, iou); closed intervals (first, last), by hand
    for name, a, b, shared, iou in (
        ("from the least to the greatest number", (-(2**63), 2**63 - 1), (0, 5), 6, 6 / 2**64),
        ("at the two ends of all numbers", (-(2**63), -(2**63) + 1), (2**63 - 3, 2**63 - 1), 0, 0.0),
        ("late in a long video", (2_000_000_001, 2_000_000_004), (2_000_000_003, 2_000_000_004), 2, 0.5),
    ):
        for first, second in ((a, b), (b, a)):
            found = _shared_and_iou(_columns(first), _columns(second))
            assert_array_equal(found[0], [shared], err_msg=name)
            assert_allclose(found[1], [iou], rtol=0, atol=1e-15, err_msg=name)
    for dtype, last, iou in ((np.uint8, 255, 56 / 300), (np.int16, 30_000, 100 / 30_001)):
        narrow = np.array([0], dtype), np.array([last], dtype)
        assert_allclose(_shared_and_iou(narrow, _columns((200, 299)))[1], [iou], rtol=0, atol=1e-15)
        assert_array_equal(Intervals(*narrow).area, [last + 1])


interval = st.tuples(st.integers(-3, 25), st.integers(0, 12)).map(lambda start: (start[0], sum(start)))


@examples(100)
@given(st.lists(st.tuples(interval, interval), min_size=1, max_size=6))
def test_intervals_overlap_as_their_sets_of_frames_do(pairs: list) -> None:
    a, b = ([set(range(row[side][0], row[side][1] + 1)) for row in pairs] for side in (0, 1))
    of_a, of_b = (_columns(*(row[side] for row in pairs)) for side in (0, 1))
    shared = [len(p & q) for p, q in zip(a, b, strict=True)]
    union = [len(p | q) for p, q in zip(a, b, strict=True)]
    assert_array_equal(_shared_and_iou(of_a, of_b)[0], shared)
    assert_array_equal(Intervals(*of_a).area, [len(p) for p in a])
    assert_allclose(_shared_and_iou(of_a, of_b)[1], np.array(shared) / union, rtol=0, atol=1e-15)
    assert_array_equal(_shared_and_iou(of_b, of_a), _shared_and_iou(of_a, of_b))
    assert_array_equal(_shared_and_iou(of_a, of_a)[1], np.ones(len(pairs)))


ONE = np.array([1])


def test_unusable_intervals_are_an_error_that_names_the_argument() -> None:
    for first, last, message in (
        (np.ones((1, 2), int), ONE, r"`first` must have the shape \(N,\), got \(1, 2\)"),
        (np.array([1.5]), ONE * 3, r"`first` must be integers, got float64"),
        (ONE, np.array([1, 2]), r"`first` and `last` must have the same length, got 1 and 2"),
        (np.array([1, 5]), np.array([1, 4]), r"`last` must be >= `first`, got \[5, 4\]"),
    ):
        with pytest.raises(ValueError, match=message):
            Intervals(first, last)
    with pytest.raises(ValueError, match=r"`objects` must have the length 1, got 2"):
        Intervals(ONE, ONE).overlaps(Objects(*np.zeros((3, 2), np.int64)))


def test_some_of_the_intervals_are_taken_by_index_and_by_mask_and_joined_in_order() -> None:
    nothing = Intervals(*_columns()).overlaps(Objects(*np.zeros((3, 0), np.int64)))
    assert (len(nothing.i), len(nothing.similarity("iou")), len(nothing.area)) == (0, 0, 0)
    frames = Intervals(*_columns((1, 2), (3, 5), (6, 6)))
    assert len(frames) == 3
    for rows in (np.array([2, 0]), np.array([True, False, True])):
        taken = frames.take(rows)
        assert (taken.first.tolist(), taken.last.tolist()) == (frames.first[rows].tolist(), frames.last[rows].tolist())
    joined = frames.joined([frames.take(np.array([1])), frames.take(np.empty(0, np.int64))])
    assert (joined.first.tolist(), joined.last.tolist()) == ([1, 3, 6, 3], [2, 5, 6, 5])
