"""Semantic masks: scikit-learn, the krippendorff package and counting pixel by pixel, against the joint counts."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.metrics.golden_cases import GOLDEN

from annotator_agreement.metrics import (
    JointCounts,
    NominalTally,
    PixelConfusion,
    PixelTally,
    disagreement_map,
    ignored_pixels,
    joint_counts,
    krippendorff_alpha,
    pair_confusion,
    percent_agreement,
)

NAN = float("nan")


def _noise(seed: int, n_annotators: int = 3, n_classes: int = 5, shape: tuple[int, int] = (13, 29)) -> list[np.ndarray]:
    """Masks whose pixels mostly agree and do not depend on their neighbours."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, shape)
    wrong = rng.random((n_annotators, *shape)) < 0.3
    return list(np.where(wrong, rng.integers(0, n_classes, wrong.shape), truth).astype(np.uint8))


def _regions(
    seed: int, n_annotators: int = 3, n_classes: int = 5, shape: tuple[int, int] = (40, 67)
) -> list[np.ndarray]:
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

#: (id, what the values 0 … 4 are in the mask)
VALUES = [
    ("small", np.array([0, 1, 2, 3, 4], np.uint8)),
    ("all of 8 bits", np.array([0, 1, 254, 255, 7], np.uint8)),
    ("all of 16 bits", np.array([0, 65535, 300, 65534, 1], np.uint16)),
    ("packed colours", np.array([0, 0xFF0000, 0xFFFFFF, 0x00FF7F, 0x0000FF], np.uint32)),
    ("64 bits", np.array([0, 2**62, -(2**62), 5, 2**40])),
    ("negative", np.array([-1, 0, 1, -128, 127], np.int8)),
    ("yes and no", np.array([False, True, True, False, True])),
]


@each_kind
@pytest.mark.parametrize("n_annotators", [1, 2, 3, 6])
@pytest.mark.parametrize("case", VALUES, ids=lambda case: case[0])
def test_combinations_are_counted_as_one_by_one(kind: str, n_annotators: int, case: tuple) -> None:
    masks = [case[1][mask] for mask in MASKS[kind](3, n_annotators)]
    joint = joint_counts(masks)
    assert (_as_counter(joint), joint.n_ignored) == _counter(masks)
    assert joint.n_pixels == masks[0].size


@each_kind
@pytest.mark.parametrize("n_annotators", [4, 12, 30])
def test_many_annotators_with_many_classes_are_counted(kind: str, n_annotators: int) -> None:
    masks = MASKS[kind](5, n_annotators, 60)
    assert (_as_counter(joint_counts(masks)), 0) == _counter(masks)


def test_more_combinations_than_fit_16_bits_are_counted() -> None:
    rng = np.random.default_rng(1)
    masks = list(rng.integers(0, 256, (3, 300, 311)).astype(np.uint8))
    joint = joint_counts(masks)
    assert len(joint.count) > 2**16
    assert (_as_counter(joint), 0) == _counter(masks)


@pytest.mark.parametrize("highest", [39, 40, 254, 255, 65533, 65534, 65535, 65536])
@pytest.mark.parametrize("n_annotators", [1, 2, 3])
def test_the_largest_value_is_never_mistaken(highest: int, n_annotators: int) -> None:
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
@pytest.mark.parametrize("ignore", [(255,), (255, 3), (255, 70_000), ()])
def test_a_pixel_that_any_annotator_ignores_is_left_out_for_all(kind: str, ignore: tuple[int, ...]) -> None:
    masks = MASKS[kind](4)
    masks[1][masks[1] == 2] = 255
    joint = joint_counts(masks, ignore)
    counter, n_ignored = _counter(masks, ignore)
    assert (_as_counter(joint), joint.n_ignored) == (counter, n_ignored)
    assert joint.n_pixels + n_ignored == masks[0].size
    assert ignored_pixels(masks, ignore).sum() == n_ignored


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0)])
def test_masks_without_pixels_have_no_combinations(shape: tuple[int, int]) -> None:
    joint = joint_counts([np.zeros(shape, np.uint8)] * 3, [255])
    assert (joint.values.shape, joint.n_pixels, joint.n_ignored) == ((0, 3), 0, 0)
    assert pair_confusion(joint, 0, 2).n_pixels == 0
    assert np.isnan(joint.tally().nominal.alpha())
    assert disagreement_map([np.zeros(shape, np.uint8)] * 3).shape == shape


ERRORS = [
    ("none", [], "`masks` must be at least one, got none"),
    ("shapes", [np.zeros((2, 3), int), np.zeros((3, 2), int)], r"one shape \(H, W\), got \(2, 3\), \(3, 2\)"),
    ("colours", [np.zeros((2, 3, 3), int)] * 2, r"one shape \(H, W\), got \(2, 3, 3\)"),
    ("floats", [np.zeros((2, 3), int), np.zeros((2, 3))], "`masks` must be integers that fit int64, got float64"),
    ("too large", [np.zeros((2, 3), np.uint64)], "`masks` must be integers that fit int64, got uint64"),
]


@pytest.mark.parametrize("function", [joint_counts, disagreement_map], ids=lambda f: f.__name__)
@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case[0])
def test_unusable_masks_are_an_error(function, case: tuple) -> None:
    with pytest.raises(ValueError, match=case[2]):
        function(case[1])


@each_kind
@pytest.mark.parametrize("seed", range(20))
def test_pairs_have_the_numbers_of_scikit_learn(kind: str, seed: int) -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    masks = MASKS[kind](seed, n_classes=2 + seed % 7)
    masks[0][masks[0] == 4] = 40  # a class of one annotator only
    joint = joint_counts(masks)
    for i, j in combinations(range(3), 2):
        a, b = masks[i].ravel(), masks[j].ravel()
        confusion = pair_confusion(joint, i, j)
        values, iou, dice = confusion.class_iou()
        assert_array_equal(values, np.union1d(a, b))
        assert_allclose(iou, sklearn.jaccard_score(a, b, average=None), rtol=0, atol=1e-12)
        assert_allclose(dice, sklearn.f1_score(a, b, average=None), rtol=0, atol=1e-12)
        assert_allclose(confusion.mean_iou(), sklearn.jaccard_score(a, b, average="macro"), rtol=0, atol=1e-12)
        assert_allclose(confusion.mean_dice(), sklearn.f1_score(a, b, average="macro"), rtol=0, atol=1e-12)
        assert_allclose(confusion.pixel_accuracy(), sklearn.accuracy_score(a, b), rtol=0, atol=1e-12)
        assert_allclose(confusion.cohen_kappa(), sklearn.cohen_kappa_score(a, b), rtol=0, atol=1e-12)
        others = [value for value in values if value]
        expected = sklearn.jaccard_score(a, b, labels=others, average="macro")
        assert_allclose(confusion.mean_iou(without=[0]), expected, rtol=0, atol=1e-12)
        expected = sklearn.f1_score(a, b, labels=others, average="macro")
        assert_allclose(confusion.mean_dice(without=[0, 99]), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", GOLDEN["mask_classes"], ids=["all classes", "a class that neither has"])
def test_masks_of_the_source_documents_have_their_numbers(case: dict) -> None:
    confusion = pair_confusion(joint_counts([np.array(case["a"]), np.array(case["b"])]), 0, 1)
    values, iou, dice = confusion.class_iou()
    union = "_union_labels" if "iou_macro_union_labels" in case else ""
    assert_allclose(confusion.mean_iou(), case[f"iou_macro{union}"], rtol=0, atol=1e-12)
    assert_allclose(confusion.mean_dice(), case[f"dice_macro{union}"], rtol=0, atol=1e-12)
    if "iou_per_class" in case:
        assert_array_equal(values, case["labels"])
        assert_allclose(iou, case["iou_per_class"], rtol=0, atol=1e-12)
        assert_allclose(dice, case["dice_per_class"], rtol=0, atol=1e-12)


# (id, a, b, mean IoU, mean Dice, the two without class 0, pixel accuracy, kappa), by hand
EDGE_CASES = [
    ("nothing but background", [0, 0, 0], [0, 0, 0], 1.0, 1.0, NAN, NAN, 1.0, NAN),
    ("nothing but one class", [2, 2, 2], [2, 2, 2], 1.0, 1.0, 1.0, 1.0, 1.0, NAN),
    ("one annotator left it empty", [0, 0, 0, 1], [0, 0, 0, 0], 3 / 8, 3 / 7, 0.0, 0.0, 3 / 4, 0.0),
    ("each another class", [1, 1], [2, 2], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    ("the same", [0, 1, 5], [0, 1, 5], 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    ("swapped", [0, 1, 0, 1], [1, 0, 1, 0], 0.0, 0.0, 0.0, 0.0, 0.0, -1.0),
    ("all ignored", [255, 255, 0], [0, 1, 255], NAN, NAN, NAN, NAN, NAN, NAN),
]


@pytest.mark.parametrize("case", EDGE_CASES, ids=lambda case: case[0])
def test_edge_cases_have_the_value_computed_by_hand(case: tuple) -> None:
    joint = joint_counts([np.array([case[1]]), np.array([case[2]])], [255])
    for confusion in (pair_confusion(joint, 0, 1), pair_confusion(joint, 1, 0)):
        numbers = [confusion.mean_iou(), confusion.mean_dice()]
        numbers += [confusion.mean_iou(without=[0]), confusion.mean_dice(without=[0])]
        numbers += [confusion.pixel_accuracy(), confusion.cohen_kappa()]
        assert_allclose(numbers, case[3:], rtol=0, atol=1e-12)


def test_kappa_of_a_data_set_larger_than_64_bits_is_exact() -> None:
    """n² exceeds 2⁶³; the matrix [[3, 1], [2, 4]] by hand: p_o = 7/10, p_e = (4·5 + 6·5)/100, kappa = 2/5."""
    confusion = PixelConfusion.from_counts(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([3, 1, 2, 4]) * 10**12)
    assert_allclose(confusion.cohen_kappa(), 0.4, rtol=0, atol=1e-15)


@each_kind
@pytest.mark.parametrize("seed", range(10))
def test_alpha_is_that_of_the_table_of_all_pixels(kind: str, seed: int) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    masks = MASKS[kind](seed, n_annotators=2 + seed % 3)
    table = np.column_stack([mask.ravel() for mask in masks])
    joint = joint_counts(masks)
    expected = krippendorff.alpha(reliability_data=table.T.astype(float), level_of_measurement="nominal")
    assert_allclose(joint.tally().nominal.alpha(), expected, rtol=0, atol=1e-12)
    assert_allclose(
        joint.tally().nominal.percent_agreement(), percent_agreement(table.astype(float)), rtol=0, atol=1e-12
    )
    pair = krippendorff.alpha(reliability_data=table[:, :2].T.astype(float), level_of_measurement="nominal")
    assert_allclose(pair_confusion(joint, 0, 1).tally().nominal.alpha(), pair, rtol=0, atol=1e-12)


def test_tallies_of_samples_with_other_annotators_and_classes_add_up() -> None:
    """Against the table of all pixels of all samples, nan where an annotator was not assigned."""
    assigned = [[0, 1, 2], [0, 2], [1], [1, 2]]
    tables, tally = [], PixelTally.empty()
    for seed, annotators in enumerate(assigned):
        masks = [mask.astype(np.int64) * 70_000 + seed % 2 for mask in _noise(seed, len(annotators))]
        table = np.full((masks[0].size, 3), NAN)
        table[:, annotators] = np.column_stack([mask.ravel() for mask in masks])
        tables.append(table)
        tally += joint_counts(masks).tally()
    assert_allclose(tally.nominal.alpha(), krippendorff_alpha(np.vstack(tables)), rtol=0, atol=1e-12)
    assert_allclose(tally.nominal.percent_agreement(), percent_agreement(np.vstack(tables)), rtol=0, atol=1e-12)


def test_pixels_of_one_annotator_are_no_units() -> None:
    tally = joint_counts(_noise(1, n_annotators=1)).tally()
    assert tally.nominal.n_units == NominalTally.empty().n_units
    assert np.isnan(tally.nominal.alpha())


@each_kind
def test_alpha_of_one_class_is_undefined(kind: str) -> None:
    masks = [np.full_like(mask, 3) for mask in MASKS[kind](1)]
    assert np.isnan(joint_counts(masks).tally().nominal.alpha())


def _equal(a: PixelConfusion, b: PixelConfusion) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("values_a", "values_b", "count"))


few = settings(max_examples=40, deadline=None, derandomize=True)
each_mask = given(st.integers(0, 10_000), st.sampled_from(sorted(MASKS)))


@few
@each_mask
def test_counts_of_the_parts_add_up_to_those_of_the_whole(seed: int, kind: str) -> None:
    masks = MASKS[kind](seed)
    row = int(np.random.default_rng(seed).integers(0, len(masks[0])))
    whole, top, bottom = (
        joint_counts([m[part] for m in masks]) for part in (slice(None), slice(row), slice(row, None))
    )
    for i, j in combinations(range(3), 2):
        parts = [pair_confusion(joint, i, j) for joint in (bottom, top)]
        assert _equal(sum(parts, start=PixelConfusion.empty()), pair_confusion(whole, i, j))
    tally = bottom.tally() + top.tally()
    assert_array_equal(tally.values, whole.tally().values)
    for name in ("category_counts", "disagreement", "units"):
        assert_array_equal(getattr(tally.nominal, name), getattr(whole.tally().nominal, name))


def _numbers(confusion: PixelConfusion) -> list[float]:
    means = [confusion.mean_iou(), confusion.mean_dice(), confusion.mean_iou([0]), confusion.mean_dice([0])]
    return [*means, confusion.pixel_accuracy(), confusion.cohen_kappa(), confusion.tally().nominal.alpha()]


@few
@each_mask
def test_the_order_of_annotators_does_not_matter(seed: int, kind: str) -> None:
    masks = MASKS[kind](seed)
    order = np.random.default_rng(seed).permutation(3)
    joint, permuted = joint_counts(masks), joint_counts([masks[r] for r in order])
    for i, j in combinations(range(3), 2):
        expected = _numbers(pair_confusion(joint, order[i], order[j]))
        assert_allclose(_numbers(pair_confusion(permuted, i, j)), expected, rtol=0, atol=1e-12)
        assert_allclose(_numbers(pair_confusion(permuted, j, i)), expected, rtol=0, atol=1e-12)
    assert joint.tally().nominal.alpha() == permuted.tally().nominal.alpha()
    assert_array_equal(disagreement_map(masks), disagreement_map([masks[r] for r in order]))


@few
@each_mask
def test_the_values_of_classes_do_not_matter(seed: int, kind: str) -> None:
    masks = MASKS[kind](seed)
    values = np.r_[0, 1 + np.random.default_rng(seed).permutation(70_000)[:4]]
    renamed = [values[mask] for mask in masks]
    joint, other = joint_counts(masks), joint_counts(renamed)
    for i, j in combinations(range(3), 2):
        expected = _numbers(pair_confusion(joint, i, j))
        assert_allclose(_numbers(pair_confusion(other, i, j)), expected, rtol=0, atol=1e-12)
    assert_allclose(joint.tally().nominal.alpha(), other.tally().nominal.alpha(), rtol=0, atol=1e-12)
    assert_array_equal(disagreement_map(masks), disagreement_map(renamed))


@few
@each_mask
def test_an_annotator_agrees_with_himself(seed: int, kind: str) -> None:
    mask = MASKS[kind](seed)[0]
    assert_array_equal(_numbers(pair_confusion(joint_counts([mask, mask]), 0, 1)), 1.0)
    assert not disagreement_map([mask, mask]).any()


@each_kind
@pytest.mark.parametrize("n_annotators", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("ignore", [(), (255, 2)])
def test_the_map_counts_who_is_not_with_the_majority(kind: str, n_annotators: int, ignore: tuple[int, ...]) -> None:
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


def test_the_map_counts_up_to_255_annotators() -> None:
    masks = [np.array([[0, r]]) for r in range(255)]
    assert disagreement_map(masks).tolist() == [[0, 254]]
    with pytest.raises(ValueError, match="`masks` must be at most 255, got 256"):
        disagreement_map([*masks, masks[0]])
