"""Exact polygons, and as the pixels that Pillow fills: published cases, closed forms, shapely, messy rings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image, ImageDraw
from shapely import Polygon

from tests.chance import examples
from tests.metrics.published import GOLDEN

from annotator_agreement import metrics
from annotator_agreement.metrics import boxes_as_polygons, pillow_mask, polygon_intersection, polygons_from_rings
from annotator_agreement.metrics.geometry import intersection_measure, iou_from_areas, overlay
from annotator_agreement.metrics.geometry import polygons as polygons_module

Ring = Sequence[Sequence[float]]


def polygons_of(shapes: Sequence[Sequence[Ring]]) -> metrics.Polygons:
    """Polygons from nested lists, as FiftyOne's ``Polyline.points`` has them."""
    rings = [(number, ring) for number, shape in enumerate(shapes) for ring in shape]
    points = np.array([point for _, ring in rings for point in ring], dtype=float).reshape(-1, 2)
    ring_of = np.repeat(np.arange(len(rings)), [len(ring) for _, ring in rings])
    return polygons_from_rings(points, ring_of, np.array([n for n, _ in rings], dtype=np.int64), len(shapes))


def shared(a: Sequence[Ring], b: Sequence[Ring]) -> float:
    """Area shared by two shapes."""
    polygons = polygons_of([a, b])
    return float(polygon_intersection(polygons.geometry[:1], polygons.geometry[1:])[0])


def rectangle(x: float, y: float, width: float, height: float) -> Ring:
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


@pytest.mark.parametrize("case", GOLDEN["polygons"], ids=lambda case: case["name"])
def test_polygons_of_the_source_documents_have_their_exact_areas(case: dict) -> None:
    polygons = polygons_of([[np.reshape(case[side], (-1, 2)).tolist()] for side in "ab"])
    exact = case["exact"]
    assert_allclose(polygons.area, [exact["area_a"], exact["area_b"]], rtol=1e-14)
    intersection = polygon_intersection(polygons.geometry[:1], polygons.geometry[1:])
    assert_allclose(intersection, [exact["intersection"]], rtol=1e-12, atol=0)
    assert_allclose(iou_from_areas(intersection, *polygons.area[:, None]), [exact["iou"]], rtol=1e-12, atol=0)


# (id, rings, area, repaired), by hand
SHAPES = [
    ("rectangle", [rectangle(1, 2, 5, 3)], 15, False),
    ("first point at the end again", [[*rectangle(1, 2, 5, 3), (1, 2)]], 15, False),
    ("every point three times", [np.repeat(rectangle(1, 2, 5, 3), 3, axis=0).tolist()], 15, False),
    ("outside the image", [rectangle(-7, -2, 5, 3)], 15, False),
    ("a hole", [rectangle(0, 0, 6, 4), rectangle(1, 1, 2, 2)], 20, False),
    ("two parts that share a side", [rectangle(0, 0, 6, 4), rectangle(6, 0, 2, 4)], 32, False),
    ("a hole that touches the border", [rectangle(0, 0, 6, 4), rectangle(0, 1, 2, 2)], 20, False),
    ("three rings over each other", [rectangle(0, 0, 6, 4)] * 3, 24, False),
    ("twice the same ring", [rectangle(0, 0, 6, 4)] * 2, 0, False),
    ("bow-tie", [[(0, 0), (4, 6), (4, 0), (0, 6)]], 12, True),
    ("a spike", [[(0, 0), (6, 0), (6, 4), (6, 9), (6, 4), (0, 4)]], 24, True),
    ("a bow-tie with a spike", [[(0, 0), (4, 6), (4, 0), (4, -5), (4, 0), (0, 6)]], 12, True),
    ("a bow-tie and a rectangle", [[(0, 0), (4, 6), (4, 0), (0, 6)], rectangle(9, 9, 1, 2)], 14, True),
    ("no ring", [], 0, False),
    ("an empty ring", [[], rectangle(0, 0, 6, 4)], 24, True),
    ("one point", [[(3, 4)]], 0, True),
    ("two points", [[(3, 4), (5, 9)]], 0, True),
    ("two points and back", [[(3, 4), (5, 9), (3, 4)]], 0, True),
    ("one point many times", [[(3, 4)] * 7], 0, True),
    ("all points on a line", [[(0, 0), (2, 1), (4, 2), (6, 3)]], 0, True),
    ("to and fro", [[(0, 0), (4, 1), (0, 0), (4, 1)]], 0, True),
]


def test_shapes_do_not_mix_and_none_are_an_empty_column() -> None:
    one_by_one = [polygons_of([rings]) for _, rings, _, _ in SHAPES]
    together = polygons_of([rings for _, rings, _, _ in SHAPES])
    assert len(together) == len(SHAPES)
    assert shapely.equals(together.geometry, [polygons.geometry[0] for polygons in one_by_one]).all()
    assert_array_equal(together.area, [area for _, _, area, _ in SHAPES])
    assert together.repaired.tolist() == [repaired for *_, repaired in SHAPES]
    none = polygons_of([])
    assert (len(none), none.bounds.shape) == (0, (0, 4))
    assert polygon_intersection(none.geometry, none.geometry).shape == (0,)


def blobs(n: int, n_vertices: int, seed: int) -> list[list[Ring]]:
    """Shapes round a point near (50, 30), wider than high."""
    rng = np.random.default_rng(seed)
    angle = np.sort(rng.uniform(0, 2 * np.pi, (n, n_vertices)), axis=1)
    radius = rng.uniform(5, 15, (n, n_vertices))
    x = 50 + rng.normal(0, 6, (n, 1)) + 2 * radius * np.cos(angle)
    y = 30 + rng.normal(0, 6, (n, 1)) + radius * np.sin(angle)
    return [[ring] for ring in np.stack([x, y], axis=-1).tolist()]


def test_many_pairs_and_large_polygons_share_what_shapely_finds_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    # as many pairs as several blocks of pairs and of polygons
    for n, n_vertices, most in ((1100, 3, None), (1100, 8, None), (1100, 40, None), (30, 60, 1000)):
        if most is not None:
            monkeypatch.setattr(polygons_module, "MAX_EDGE_PAIRS", most)
        a, b = polygons_of(blobs(n, n_vertices, 1)), polygons_of(blobs(n, n_vertices, 2))
        expected = [p.intersection(q).area for p, q in zip(a.geometry, b.geometry, strict=True)]
        assert_allclose(polygon_intersection(a.geometry, b.geometry), expected, rtol=1e-10, atol=1e-10)
        assert_allclose(polygon_intersection(b.geometry, a.geometry), expected, rtol=1e-10, atol=1e-10)


def test_boxes_become_polygons_and_almost_vertical_edges_do_no_harm() -> None:
    boxes = np.array([[1, 2, 6, 5], [0, 0, 0, 4], [3, 3, 3, 3], [-4, -2, -1, 2.0]])
    geometry = boxes_as_polygons(boxes)
    assert_array_equal(shapely.area(geometry), [15, 0, 0, 12])
    assert shapely.is_empty(geometry).tolist() == [False, True, True, False]
    assert_array_equal(shapely.bounds(geometry)[[0, 3]], boxes[[0, 3]])
    triangle = polygons_of([[[(1, 2), (6, 2), (1, 5)]]] * 4)
    assert_allclose(polygon_intersection(geometry, triangle.geometry), [7.5, 0, 0, 0], rtol=1e-14)
    assert boxes_as_polygons(np.zeros((0, 4))).shape == (0,)
    steep = [[(0, 0), (5e-324, 4), (-6, 4), (-6, 0)]]
    assert shared(steep, [rectangle(-3, 1, 9, 1)]) == pytest.approx(3, rel=1e-12)


def _inside(rings: Sequence[Ring], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Even-odd rule at some points, by counting the edges above them."""
    odd = np.zeros(x.shape, np.bool_)
    for ring in rings:
        for (x0, y0), (x1, y1) in zip(ring, [*ring[1:], ring[0]], strict=True):
            if x0 != x1:
                odd ^= ((x0 <= x) != (x1 <= x)) & (y < y0 + (x - x0) * (y1 - y0) / (x1 - x0))
    return odd


@examples(30)
@given(st.integers(0, 10_000))
def test_rings_of_any_kind_enclose_the_points_that_an_odd_number_of_edges_lies_above(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # no edges that run on top of each other: what those enclose, make_valid decides otherwise
    rings = [rng.uniform(0, [12, 8], (rng.integers(3, 9), 2)).tolist() for _ in range(rng.integers(1, 4))]
    x, y = rng.uniform(0, [[12], [8]], (2, 400))
    geometry = polygons_of([rings]).geometry[0]
    border = shapely.union_all([shapely.LineString([*ring, ring[0]]) for ring in rings])
    clear = shapely.distance(border, shapely.points(x, y)) > 1e-6
    found = shapely.contains_xy(geometry, x, y)
    assert_array_equal(found[clear], _inside(rings, x, y)[clear])


def test_a_pair_on_which_geos_gives_up_is_computed_on_a_grid() -> None:
    # a bow-tie that nobody repaired
    bad = Polygon([(0, 0), (4, 6), (4, 0), (0, 6)])
    good = Polygon(rectangle(0, 0, 2, 6))
    with pytest.raises(shapely.GEOSException):
        bad.intersection(Polygon([(1, -1), (3, -1), (3, 7), (1, 7), (2, 3)]))
    knot = Polygon([(1, -1), (3, -1), (3, 7), (1, 7), (2, 3)])
    a, b = np.array([good, bad, good, good, bad]), np.array([good, knot, bad, good, knot])
    expected = [p.intersection(q).area for p, q in zip(shapely.make_valid(a), shapely.make_valid(b), strict=True)]
    assert_allclose(intersection_measure(shapely.area, a, b), expected, rtol=1e-8)
    differences = overlay(shapely.symmetric_difference, a, b)
    expected = [p.symmetric_difference(q).area for p, q in zip(*map(shapely.make_valid, (a, b)), strict=True)]
    assert_allclose(shapely.area(differences), expected, rtol=1e-8, atol=1e-12)


POINTS = np.array(rectangle(0, 0, 6, 4), dtype=float)
ZEROS = np.zeros(4, np.int64)


def test_unusable_columns_are_an_error_that_names_the_argument() -> None:
    for arguments, message in (
        ((np.zeros((4, 3)), ZEROS, ZEROS[:1], 1), r"`points_xy` must have the shape \(V, 2\)"),
        ((POINTS * [1, np.nan], ZEROS, ZEROS[:1], 1), r"`points_xy` must be finite, got \[0.0, nan\]"),
        ((np.add(POINTS, (np.inf, 0)), ZEROS, ZEROS[:1], 1), r"`points_xy` must be finite, got \[inf, 0.0\]"),
        ((POINTS, ZEROS[:3], ZEROS[:1], 1), r"`ring` must have the shape \(4,\), got \(3,\)"),
        ((POINTS, np.array([1, 1, 0, 0]), ZEROS[:2], 1), "`ring` must be ascending integers from 0 to 1"),
        ((POINTS, ZEROS + 1, ZEROS[:1], 1), "`ring` must be ascending integers from 0 to 0, got"),
        ((POINTS, ZEROS, ZEROS[:1] + 2, 2), "`shape` must be ascending integers from 0 to 1"),
        ((POINTS, ZEROS + 0.5, ZEROS[:1], 1), "`ring` must be ascending integers from 0 to 0, got float64"),
    ):
        with pytest.raises(ValueError, match=message):
            polygons_from_rings(*arguments)
    geometry = polygons_of([[rectangle(0, 0, 1, 1)]] * 3).geometry
    with pytest.raises(ValueError, match="`a` and `b` must have the same length, got 1 and 2"):
        polygon_intersection(geometry[:1], geometry[1:])


#: intersection and union as the source documents print them
PRINTED = {
    "hi_small": (13, 19), "hi_medium": (856, 1201), "hi_large": (60330, 93623), "lo_small": (8, 24),
    "lo_medium": (99, 1390), "lo_large": (4365, 72902), "perfect_small": (19, 19), "perfect_medium": (666, 666),
    "perfect_large": (109648, 109648), "none_small": (0, 38), "none_medium": (0, 1332), "none_large": (0, 519298),
}  # fmt: skip


def painted(rings: list[np.ndarray], width: int, height: int) -> np.ndarray:
    """The pixels on a canvas of the whole image; all coordinates must be on it."""
    canvas = np.zeros((height, width), np.bool_)
    mask, left, top = pillow_mask(rings)
    canvas[top : top + mask.shape[0], left : left + mask.shape[1]] = mask
    return canvas


def drawn(ring: np.ndarray, width: int, height: int) -> np.ndarray:
    """The pixels that Pillow fills on a canvas of the whole image."""
    image = Image.new("L", (width, height))
    ImageDraw.Draw(image).polygon([(float(x), float(y)) for x, y in ring], outline=1, fill=1)
    return np.asarray(image) > 0


def test_polygons_of_the_source_documents_have_the_printed_numbers_of_pixels() -> None:
    assert {case["name"] for case in GOLDEN["polygons"]} == set(PRINTED)
    for case, error in product(GOLDEN["polygons"], (0, -3e-10, 3e-10)):  # also a bit less, and a bit more
        rings = [np.reshape(case[side], (-1, 2)) + error for side in "ab"]
        width, height = np.rint(np.concatenate(rings).max(axis=0)).astype(int) + 1
        a, b = (painted([ring], width, height) for ring in rings)
        assert ((a & b).sum(), (a | b).sum()) == PRINTED[case["name"]]
        assert (a.sum(), b.sum()) == (case["pixels"]["area_a"], case["pixels"]["area_b"])


def _ring(seed: int, fractions: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    origin = rng.integers(0, [1500, 300])
    ring = origin + rng.uniform(0, rng.integers(2, [150, 90]), (rng.integers(3, 12), 2))
    return ring if fractions else np.floor(ring)


@examples(200)
@given(st.integers(0, 100_000), st.booleans())
def test_the_own_extent_has_the_pixels_of_one_large_canvas(seed: int, fractions: bool) -> None:
    ring = _ring(seed, fractions)
    assert_array_equal(painted([ring], 1700, 400), drawn(ring, 1700, 400))
    # rounding is that of the place in the image: moved to column 0, some would fill other pixels
    rng = np.random.default_rng(seed)
    for _ in range(6):
        ring = np.add(rng.integers(0, 200, (rng.integers(3, 12), 2)), (2900, 40))
        assert_array_equal(painted([ring], 3100, 240), drawn(ring, 3100, 240))


def test_rings_fill_what_an_odd_number_of_them_fills_and_negative_coordinates_are_truncated() -> None:
    outer, hole, part = (_ring(seed, False) for seed in (3, 4, 5))
    size = np.concatenate([outer, hole, part]).max(axis=0).astype(int) + 1
    expected = drawn(outer, *size) ^ drawn(hole, *size) ^ drawn(part, *size)
    assert_array_equal(painted([outer, hole, part], *size), expected)
    square, inner = np.array([[0, 0], [5, 0], [5, 4], [0, 4]]), np.array([[1, 1], [3, 1], [3, 3], [1, 3]])
    assert painted([square, inner], 6, 5).sum() == 6 * 5 - 3 * 3
    ring = np.array([[0, 0], [8, 2], [6, 9], [1, 7]])
    mask, left, top = pillow_mask([ring])
    for shift in ((-7, -3), (-200, 10), (11, -60)):
        moved, moved_left, moved_top = pillow_mask([np.add(ring, shift)])
        assert (moved_left - left, moved_top - top) == shift
        assert_array_equal(moved, mask)
    mask, left, top = pillow_mask([np.array([[-1.5, 0.9], [2.9999999996, 0.9], [2.9999999996, 4.99], [-1.5, 4.99]])])
    assert (mask.shape, left, top) == ((5, 5), -1, 0)
    assert mask.all()


def test_rings_without_three_vertices_fill_nothing_those_without_area_their_border_and_others_are_an_error() -> None:
    for rings in ([], [np.zeros((0, 2))], [np.array([])], [np.ones((1, 2))], [np.eye(2)]):
        mask, left, top = pillow_mask(rings)
        assert (mask.shape, left, top, mask.dtype) == ((0, 0), 0, 0, np.bool_)
    mask, left, top = pillow_mask([np.array([[4, 2], [9, 2], [6, 2]])])
    assert (mask.tolist(), left, top) == ([[True] * 6], 4, 2)
    with pytest.raises(ValueError, match=r"A ring of `rings` must have the shape \(V, 2\), got \(4, 3\)"):
        pillow_mask([np.zeros((4, 3))])
    with pytest.raises(ValueError, match=r"`rings` must be finite, got \[1.0, nan\]"):
        pillow_mask([np.array([[0, 0], [1, np.nan], [2, 2]])])
