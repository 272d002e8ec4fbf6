"""Lines within a tolerance of each other: closed forms, points along the lines, shapely one line at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.chance import examples

from annotator_agreement.metrics import Lines, Objects, Regions, line_overlap, lines_from_points

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


def test_shapes_do_not_mix() -> None:
    lines = lines_of([shape for _, shape, _ in SHAPES])
    assert_allclose(lines.length, [length for _, _, length in SHAPES], rtol=1e-15)
    assert len(lines_of([])) == 0
    assert line_overlap(lines.geometry[:0], lines.geometry[:0], 2.0).shape == (0,)


def _walks(n: int, seed: int) -> list[list[Line]]:
    """Bent lines near each other, wider than high, that do not cross themselves."""
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.uniform(1, 6, (n, 12)), axis=1)
    y = np.cumsum(rng.normal(0, 1.5, (n, 12)), axis=1)
    return [[line] for line in np.stack([x, y], axis=-1).tolist()]


def _within(a: Line, b: Line, tolerance_px: float) -> float:
    """Length of ``a`` near ``b``, from points along ``a``."""
    line, other = shapely.LineString(a), shapely.LineString(b)
    n = 4000
    points = shapely.line_interpolate_point(line, (np.arange(n) + 0.5) * line.length / n)
    return float((shapely.distance(points, other) <= tolerance_px).mean() * line.length)


def test_lines_share_what_points_along_them_find() -> None:
    a, b = _walks(40, 1), _walks(40, 2)
    lines = lines_of([*a, *b])
    expected = [
        min(
            0.5 * (_within(p[0], q[0], 3.0) + _within(q[0], p[0], 3.0)),
            *(shapely.LineString(r[0]).length for r in (p, q)),
        )
        for p, q in zip(a, b, strict=True)
    ]
    assert_allclose(line_overlap(lines.geometry[:40], lines.geometry[40:], 3.0), expected, rtol=3e-3, atol=0.05)


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


def test_overlaps_are_those_of_annotators_on_one_sample() -> None:
    beside = [[(0, 1), (10, 1)]]
    lines = lines_of([[BAR], beside, [[(0, 50), (9, 50)]], [BAR], beside], tolerance_px=1.5)
    objects = Objects(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 1, 0, 1]), np.zeros(5, np.int64))
    found = Regions.of_lines(lines).overlaps(objects)
    assert_array_equal(np.column_stack([found.i, found.j]), [[0, 1], [3, 4]])
    assert_allclose(found.similarity("dice"), [1, 1], rtol=1e-12)
    assert_allclose(found.similarity("iou"), [1, 1], rtol=1e-12)


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
