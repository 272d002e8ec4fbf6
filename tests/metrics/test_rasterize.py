"""Polygons as the pixels that Pillow fills: the source documents' counts, and one large canvas."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from PIL import Image, ImageDraw

from tests.chance import examples
from tests.metrics.golden_cases import GOLDEN

from annotator_agreement.metrics import pillow_mask

#: intersection and union as the source documents print them
PRINTED = {
    "hi_small": (13, 19),
    "hi_medium": (856, 1201),
    "hi_large": (60330, 93623),
    "lo_small": (8, 24),
    "lo_medium": (99, 1390),
    "lo_large": (4365, 72902),
    "perfect_small": (19, 19),
    "perfect_medium": (666, 666),
    "perfect_large": (109648, 109648),
    "none_small": (0, 38),
    "none_medium": (0, 1332),
    "none_large": (0, 519298),
}


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


def test_several_rings_fill_what_an_odd_number_of_them_fills() -> None:
    outer, hole, part = (_ring(seed, False) for seed in (3, 4, 5))
    size = np.concatenate([outer, hole, part]).max(axis=0).astype(int) + 1
    expected = drawn(outer, *size) ^ drawn(hole, *size) ^ drawn(part, *size)
    assert_array_equal(painted([outer, hole, part], *size), expected)
    square, inner = np.array([[0, 0], [5, 0], [5, 4], [0, 4]]), np.array([[1, 1], [3, 1], [3, 3], [1, 3]])
    assert painted([square, inner], 6, 5).sum() == 6 * 5 - 3 * 3


def test_negative_coordinates_are_pixels_too_and_all_are_truncated_unless_they_almost_are_integers() -> None:
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
