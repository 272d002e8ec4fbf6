"""Boundary numbers: distances computed by brute force, other programs, closed forms, the rule for empty masks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import ndimage

from tests.chance import examples, seeds

from annotator_agreement.metrics import boundary_agreement, ignored_pixels

NAN = float("nan")
SHAPE = (11, 17)


def boundary_iou(a: np.ndarray, b: np.ndarray, width_px: int | None = None) -> float:
    """Boundary IoU of two regions, given as masks of one class."""
    return float(boundary_agreement(a, b, [1], width_px=width_px, tolerance_px=0).boundary_iou[0])


def surface_dice(a: np.ndarray, b: np.ndarray, tolerance_px: float) -> float:
    """Surface Dice of two regions."""
    return float(boundary_agreement(a, b, [1], tolerance_px=tolerance_px).surface_dice[0])


def hd95(a: np.ndarray, b: np.ndarray) -> float:
    """95 % Hausdorff distance of two regions."""
    return float(boundary_agreement(a, b, [1], tolerance_px=0).hd95[0])


def _mask(seed: int, share: float, shape: tuple[int, int] = SHAPE) -> np.ndarray:
    """Random pixels, smoothed into regions with holes that may reach the border of the image."""
    rng = np.random.default_rng(seed)
    return ndimage.uniform_filter(rng.random(shape), rng.integers(1, 6, 2)) < share


def _boundary_pixels(mask: np.ndarray) -> list[tuple[int, int]]:
    inside = set(zip(*(axis.tolist() for axis in np.nonzero(mask)), strict=True))
    neighbours = ((0, 1), (0, -1), (1, 0), (-1, 0))
    return sorted((y, x) for y, x in inside if any((y + dy, x + dx) not in inside for dy, dx in neighbours))


def _nearest(start: list[tuple[int, int]], end: list[tuple[int, int]]) -> list[float]:
    return [min(math.dist(p, q) for q in end) for p in start]


def _percentile_95(values: list[float]) -> float:
    """Linear between the two nearest ranks."""
    ordered = sorted(values)
    rank = 0.95 * (len(ordered) - 1)
    low = math.floor(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (rank - low) * (ordered[high] - ordered[low])


def _band(mask: np.ndarray, width: int) -> set[tuple[int, int]]:
    """Pixels of the mask with a pixel outside it, or outside the image, at most ``width`` rows and columns away."""
    inside = set(zip(*(axis.tolist() for axis in np.nonzero(mask)), strict=True))
    near = range(-width, width + 1)
    return {(y, x) for y, x in inside if any((y + dy, x + dx) not in inside for dy in near for dx in near)}


@pytest.mark.parametrize("seed", seeds(40))
def test_numbers_are_those_of_brute_force(seed: int) -> None:
    a, b = _mask(seed, 0.5), _mask(seed + 1000, 0.55)
    p, q = _boundary_pixels(a), _boundary_pixels(b)
    assert p, "the masks of the test must not be empty"
    assert q, "the masks of the test must not be empty"
    there, back = _nearest(p, q), _nearest(q, p)
    assert_allclose(hd95(a, b), max(_percentile_95(there), _percentile_95(back)), rtol=0, atol=1e-12)
    for tolerance in (0, 1, 1.5, 2, 4):
        expected = sum(d <= tolerance for d in there + back) / len(there + back)
        assert_allclose(surface_dice(a, b, tolerance), expected, rtol=0, atol=1e-12)
    for width in (1, 2, 3, 20):
        bands = _band(a, width), _band(b, width)
        expected = len(bands[0] & bands[1]) / len(bands[0] | bands[1])
        assert_allclose(boundary_iou(a, b, width), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", seeds(6))
def test_large_masks_have_the_distances_of_the_distance_transform(seed: int) -> None:
    a, b = (ndimage.binary_opening(_mask(seed + k, 0.5, (130, 210)), iterations=2) for k in (0, 500))
    cross = ndimage.generate_binary_structure(2, 1)
    edge_a, edge_b = (mask & ~ndimage.binary_erosion(mask, cross, border_value=0) for mask in (a, b))
    there = ndimage.distance_transform_edt(~edge_b)[edge_a]
    back = ndimage.distance_transform_edt(~edge_a)[edge_b]
    assert_allclose(hd95(a, b), max(np.percentile(there, 95), np.percentile(back, 95)), rtol=0, atol=1e-9)
    within = (there <= 3).sum() + (back <= 3).sum()
    assert_allclose(surface_dice(a, b, 3), within / (len(there) + len(back)), rtol=0, atol=1e-12)


def test_the_default_width_is_two_percent_of_the_diagonal() -> None:
    for shape, width in (((480, 640), 16), ((48, 64), 2), ((30, 40), 1), ((10, 12), 1), ((60, 80), 2)):
        a, b = np.zeros((2, *shape), bool)
        a[: shape[0] // 2 + 2] = b[3 : shape[0] // 2 + 4] = True
        assert boundary_iou(a, b) == boundary_iou(a, b, width)
        assert boundary_iou(a, b) != boundary_iou(a, b, width + 1)


EMPTY, FULL = np.zeros((30, 40), bool), np.ones((30, 40), bool)
ONE = EMPTY.copy()
ONE[7, 9] = True

# (id, a, b, boundary IoU, surface Dice, HD95)
EMPTY_CASES = [
    ("both empty", EMPTY, EMPTY, NAN, NAN, NAN),
    ("one empty", EMPTY, ONE, 0.0, 0.0, 50.0),
    ("one empty, the other full", EMPTY, FULL, 0.0, 0.0, 50.0),
    ("one pixel each", ONE, ONE, 1.0, 1.0, 0.0),
    ("both full", FULL, FULL, 1.0, 1.0, 0.0),
]


@pytest.mark.parametrize("case", EMPTY_CASES, ids=lambda case: case[0])
def test_both_empty_is_undefined_and_one_empty_is_worst(case: tuple) -> None:
    for a, b in ((case[1], case[2]), (case[2], case[1])):
        assert_array_equal([boundary_iou(a, b), surface_dice(a, b, 2), hd95(a, b)], case[3:])
        assert_array_equal(surface_dice(a, b, math.inf), case[4])


def test_masks_without_pixels_are_empty() -> None:
    none = np.zeros((0, 5), bool)
    assert_array_equal([boundary_iou(none, none), surface_dice(none, none, 1), hd95(none, none)], NAN)


few = examples(40)
each_seed = given(st.integers(0, 10_000))


@few
@each_seed
def test_classes_have_the_numbers_of_their_masks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    masks = [np.where(_mask(seed + k, 0.5), 0, _mask(seed + k + 7, 0.5) * 70_000 + 3).astype(np.int64) for k in (0, 1)]
    masks[1][rng.random(SHAPE) < 0.1] = 255
    values = [70_003, 3, 9]
    for excluded in (None, ignored_pixels(masks, [255])):
        result = boundary_agreement(*masks, values, width_px=2, tolerance_px=1, excluded=excluded)
        assert_array_equal(result.values, values)
        for k, value in enumerate(values):
            kept = True if excluded is None else ~excluded
            a, b = ((mask == value) & kept for mask in masks)
            expected = boundary_iou(a, b, 2), surface_dice(a, b, 1), hd95(a, b)
            assert_array_equal((result.boundary_iou[k], result.surface_dice[k], result.hd95[k]), expected)
        assert np.isnan([result.boundary_iou[2], result.surface_dice[2], result.hd95[2]]).all()


MASK = np.zeros((2, 3), np.uint8)
ERRORS = [
    ((MASK, MASK.astype(float)), {}, "`mask_b` must be integers, got float64"),
    ((MASK, MASK.T), {}, r"`mask_a` and `mask_b` must have one shape \(H, W\), got \(2, 3\) and \(3, 2\)"),
    ((MASK.ravel(), MASK.ravel()), {}, r"must have one shape \(H, W\), got \(6,\) and \(6,\)"),
    ((MASK, MASK), {"excluded": np.zeros((3, 2), bool)}, r"`mask_a` and `excluded` must have one shape \(H, W\)"),
    ((MASK, MASK), {"tolerance_px": -1}, "`tolerance_px` must be at least 0, got -1"),
    ((MASK, MASK), {"tolerance_px": NAN}, "`tolerance_px` must be at least 0, got nan"),
    ((MASK, MASK), {"width_px": 0}, "`width_px` must be at least 1, got 0"),
]


def test_unusable_class_masks_are_an_error() -> None:
    for masks, options, message in ERRORS:
        with pytest.raises(ValueError, match=message):
            boundary_agreement(*masks, [1], **{"tolerance_px": 1, **options})
