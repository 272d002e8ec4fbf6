"""Semantic masks: joint counts and maps pixel by pixel, boundaries by distance transforms and erosions."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import ndimage

from tests.chance import examples, seeds

from annotator_agreement.metrics import JointCounts, boundary_agreement, disagreement_map, ignored_pixels, joint_counts


def _noise(seed: int, n_annotators: int = 3, n_classes: int = 5, shape: tuple[int, int] = (13, 29)) -> list[np.ndarray]:
    """Masks whose pixels mostly agree and do not depend on their neighbours."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, shape)
    wrong = rng.random((n_annotators, *shape)) < 0.3
    return list(np.where(wrong, rng.integers(0, n_classes, wrong.shape), truth).astype(np.uint8))


def _regions(seed, n_annotators=3, n_classes=5, shape=(40, 67)) -> list[np.ndarray]:
    """Masks of a few rectangles, which every annotator places a little differently: long runs of equal pixels."""
    rng = np.random.default_rng(seed)
    masks = [np.zeros(shape, np.uint8) for _ in range(n_annotators)]
    for value in range(1, n_classes):
        top, left = rng.integers(3, 25), rng.integers(3, 45)
        for mask in masks:
            y, x = rng.integers((top - 3, left - 3), (top + 4, left + 4))
            mask[y : y + 12, x : x + 19] = value
    return masks


def _counter(masks: list[np.ndarray], ignore: tuple[int, ...] = ()) -> tuple[Counter, int]:
    """Combinations of values, and ignored pixels, counted one pixel after the other."""
    pixels = list(zip(*(mask.ravel().tolist() for mask in masks), strict=True))
    kept = [pixel for pixel in pixels if not set(pixel) & set(ignore)]
    return Counter(kept), len(pixels) - len(kept)


def _as_counter(joint: JointCounts) -> Counter:
    rows = [tuple(row) for row in joint.values.tolist()]
    assert rows == sorted(set(rows))
    assert (joint.count > 0).all()
    return Counter(dict(zip(rows, joint.count.tolist(), strict=True)))


MASKS = {"noise": _noise, "regions": _regions}
each_kind = pytest.mark.parametrize("kind", MASKS)


@each_kind
def test_combinations_are_counted_as_one_by_one(kind: str) -> None:
    for n_annotators in (1, 2, 3, 6):
        # (id, what the values 0 … 4 are in the mask)
        for name, values in (
            ("small", np.array([0, 1, 2, 3, 4], np.uint8)),
            ("all of 8 bits", np.array([0, 1, 254, 255, 7], np.uint8)),
            ("all of 16 bits", np.array([0, 65535, 300, 65534, 1], np.uint16)),
            ("packed colours", np.array([0, 0xFF0000, 0xFFFFFF, 0x00FF7F, 0x0000FF], np.uint32)),
            ("64 bits", np.array([0, 2**62, -(2**62), 5, 2**40])),
            ("negative", np.array([-1, 0, 1, -128, 127], np.int8)),
            ("yes and no", np.array([False, True, True, False, True])),
        ):
            masks = [values[mask] for mask in MASKS[kind](3, n_annotators)]
            joint = joint_counts(masks)
            assert (_as_counter(joint), joint.n_ignored) == _counter(masks), name
            assert joint.count.sum() == masks[0].size
    for n_annotators in (4, 12, 30):
        masks = MASKS[kind](5, n_annotators, 60)
        assert (_as_counter(joint_counts(masks)), 0) == _counter(masks)


def test_large_values_and_more_combinations_than_fit_16_bits_are_never_mistaken() -> None:
    masks = list(np.random.default_rng(1).integers(0, 256, (3, 300, 311)).astype(np.uint8))
    joint = joint_counts(masks)
    assert len(joint.count) > 2**16
    assert (_as_counter(joint), 0) == _counter(masks)
    for highest, n_annotators in product([39, 40, 254, 255, 65533, 65534, 65535, 65536], [1, 2, 3]):
        rng = np.random.default_rng(highest)
        masks = list(rng.integers(0, highest, (n_annotators, 7, 90), endpoint=True))
        masks[0][2, 5] = masks[-1][2, 5] = highest
        assert (_as_counter(joint_counts(masks)), 0) == _counter(masks)


def test_masks_of_different_types_and_memory_layouts_are_compared_by_value() -> None:
    a, b, c = _regions(8)
    masks = [np.asfortranarray(a), b.astype(np.int64), np.repeat(c.astype(np.uint16), 2, axis=1)[:, ::2]]
    assert (_as_counter(joint_counts(masks)), 0) == _counter([a, b, c])
    assert_array_equal(disagreement_map(masks), disagreement_map([a, b, c]))


@each_kind
def test_a_pixel_that_any_annotator_ignores_is_left_out_for_all(kind: str) -> None:
    masks = MASKS[kind](4)
    masks[1][masks[1] == 2] = 255
    for ignore in ((255,), (255, 3), (255, 70_000), ()):
        joint = joint_counts(masks, ignore)
        counter, n_ignored = _counter(masks, ignore)
        assert (_as_counter(joint), joint.n_ignored) == (counter, n_ignored)
        assert (joint.count.sum() + n_ignored, ignored_pixels(masks, ignore).sum()) == (masks[0].size, n_ignored)
    for shape in ((0, 0), (0, 4), (4, 0)):  # without pixels there are no combinations
        joint = joint_counts([np.zeros(shape, np.uint8)] * 3, [255])
        assert (joint.values.shape, joint.count.sum(), joint.n_ignored) == ((0, 3), 0, 0)
        assert disagreement_map([np.zeros(shape, np.uint8)] * 3).shape == shape


UNUSABLE = [
    ([], "`masks` must be at least one, got none"),
    ([np.zeros((2, 3), int), np.zeros((3, 2), int)], r"one shape \(H, W\), got \(2, 3\), \(3, 2\)"),
    ([np.zeros((2, 3, 3), int)] * 2, r"one shape \(H, W\), got \(2, 3, 3\)"),
    ([np.zeros((2, 3), int), np.zeros((2, 3))], "`masks` must be integers that fit int64, got float64"),
    ([np.zeros((2, 3), np.uint64)], "`masks` must be integers that fit int64, got uint64"),
]


def test_unusable_masks_are_an_error() -> None:
    for function, (masks, message) in product((joint_counts, disagreement_map), UNUSABLE):
        with pytest.raises(ValueError, match=message):
            function(masks)
    for masks, options, message in (
        ((MASK, MASK.astype(float)), {}, "`mask_b` must be integers, got float64"),
        ((MASK, MASK.T), {}, r"`mask_a` and `mask_b` must have one shape \(H, W\), got \(2, 3\) and \(3, 2\)"),
        ((MASK.ravel(), MASK.ravel()), {}, r"must have one shape \(H, W\), got \(6,\) and \(6,\)"),
        ((MASK, MASK), {"excluded": np.zeros((3, 2), bool)}, r"`mask_a` and `excluded` must have one shape \(H, W\)"),
        ((MASK, MASK), {"tolerance_px": -1}, "`tolerance_px` must be at least 0, got -1"),
        ((MASK, MASK), {"tolerance_px": NAN}, "`tolerance_px` must be at least 0, got nan"),
        ((MASK, MASK), {"width_px": 0}, "`width_px` must be at least 1, got 0"),
    ):
        with pytest.raises(ValueError, match=message):
            boundary_agreement(*masks, [1], **{"tolerance_px": 1, **options})


@each_kind
def test_the_map_counts_who_is_not_with_the_majority_of_up_to_255_annotators(kind: str) -> None:
    for n_annotators, ignore in product((1, 2, 3, 4, 7), ((), (255, 2))):
        masks = MASKS[kind](11, n_annotators)
        masks[-1][:, 4] = 255
        pixels = zip(*(mask.ravel().tolist() for mask in masks), strict=True)
        expected = [
            0 if set(pixel) & set(ignore) else n_annotators - Counter(pixel).most_common(1)[0][1] for pixel in pixels
        ]
        result = disagreement_map(masks, ignore)
        assert result.dtype == np.uint8
        assert_array_equal(result.ravel(), expected)
        assert result.shape == masks[0].shape
    masks = [np.array([[0, r]]) for r in range(255)]
    assert disagreement_map(masks).tolist() == [[0, 254]]
    with pytest.raises(ValueError, match="`masks` must be at most 255, got 256"):
        disagreement_map([*masks, masks[0]])


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


def _band(mask: np.ndarray, structure: np.ndarray) -> np.ndarray:
    """Pixels of the mask from which the structure reaches a pixel outside it, or outside the image."""
    return mask & ~ndimage.binary_erosion(mask, structure, border_value=0)


@pytest.mark.parametrize("seed", seeds(40))
def test_numbers_are_those_of_distance_transforms_and_erosions(seed: int) -> None:
    shape = (130, 210) if seed % 4 == 3 else SHAPE
    a, b = _mask(seed, 0.5, shape), _mask(seed + 1000, 0.55, shape)
    edge_a, edge_b = (_band(mask, ndimage.generate_binary_structure(2, 1)) for mask in (a, b))
    there = ndimage.distance_transform_edt(~edge_b)[edge_a]
    back = ndimage.distance_transform_edt(~edge_a)[edge_b]
    assert_allclose(hd95(a, b), max(np.percentile(there, 95), np.percentile(back, 95)), rtol=0, atol=1e-9)
    both = np.r_[there, back]
    for tolerance in (0, 1, 1.5, 2, 4):
        assert_allclose(surface_dice(a, b, tolerance), (both <= tolerance).mean(), rtol=0, atol=1e-12)
    for width in (1, 2, 3, 20):
        bands = [_band(mask, np.ones((2 * width + 1,) * 2)) for mask in (a, b)]
        expected = (bands[0] & bands[1]).sum() / (bands[0] | bands[1]).sum()
        assert_allclose(boundary_iou(a, b, width), expected, rtol=0, atol=1e-12)


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
    ("no pixels", FULL[:0], FULL[:0], NAN, NAN, NAN),
]


@pytest.mark.parametrize("case", EMPTY_CASES, ids=lambda case: case[0])
def test_both_empty_is_undefined_and_one_empty_is_worst(case: tuple) -> None:
    for a, b in ((case[1], case[2]), (case[2], case[1])):
        assert_array_equal([boundary_iou(a, b), surface_dice(a, b, 2), hd95(a, b)], case[3:])
        assert_array_equal(surface_dice(a, b, math.inf), case[4])


few = examples(40)


@few
@given(st.integers(0, 10_000))
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
