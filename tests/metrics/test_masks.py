"""Instance masks: published cases, painted images, closed forms, pixels as shapely squares."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.chance import examples, seeds
from tests.metrics.published import GOLDEN, fraction

from annotator_agreement import metrics
from annotator_agreement.metrics import MaskCrops, mask_box_intersection, mask_intersection, mask_polygon_intersection
from annotator_agreement.metrics.geometry import find_overlaps, iou_from_areas
from annotator_agreement.metrics.geometry import masks as masks_module

Crop = tuple[np.ndarray, int, int]
HEIGHT, WIDTH = 41, 67


def cut_out(image: np.ndarray, margin: int = 0) -> Crop:
    """The rectangle around the pixels of an image, with a margin, and its place."""
    y, x = np.nonzero(image)
    if not len(y):
        return np.zeros((0, 0), np.bool_), 0, 0
    top, left = max(y.min() - margin, 0), max(x.min() - margin, 0)
    return image[top : y.max() + 1 + margin, left : x.max() + 1 + margin], int(left), int(top)


def random_images(n: int, seed: int, height: int = HEIGHT, width: int = WIDTH) -> np.ndarray:
    """Images of a few blots and some noise each, shape ``(n, height, width)``."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    images = np.zeros((n, height, width), np.bool_)
    for image in images:
        for _ in range(int(rng.integers(1, 4))):
            cy, cx = rng.uniform((0, 0), (height, width))
            ry, rx = rng.uniform((1, 2), (height / 3, width / 3))
            image |= ((y - cy) / ry) ** 2 + ((x - cx) / rx) ** 2 <= 1
        image ^= (rng.random(image.shape) < 0.1) & (rng.random() < 0.5)
    return images


def every_pair(n: int) -> tuple[np.ndarray, np.ndarray]:
    i, j = np.divmod(np.arange(n * n), max(n, 1))
    return i, j


@pytest.mark.parametrize("margin", [0, 2, 9])
@pytest.mark.parametrize("case", GOLDEN["sparse"], ids=lambda case: f"{case['scenario']} {case['mask_name']}")
def test_masks_against_boxes_of_the_source_document_have_their_exact_iou(case: dict, margin: int) -> None:
    image = np.array(case["mask_rows"], dtype=bool)
    assert image.shape == (case["height"], case["width"])
    masks = MaskCrops.from_crops([cut_out(image, margin)])
    size = [case["width"], case["height"]] * 2
    for box, tolerance in (
        (np.array([case["bbox_pixels_xyxy"]], float), 0.0),
        (np.array([case["bbox_normalised_xyxy"]]) * size, 1e-12),
    ):
        shared = mask_box_intersection(masks, np.array([0]), box)
        assert_allclose(shared, [case["count_inside"]], rtol=0, atol=tolerance)
        assert_allclose(
            mask_polygon_intersection(masks, np.array([0]), metrics.boxes_as_polygons(box)), shared, atol=1e-12
        )
        assert masks.area.tolist() == [case["count_total"]]
        iou = iou_from_areas(shared, masks.area, np.array([float(case["count_bbox"])]))
        assert_allclose(iou, [fraction(case["iou_exact"])], rtol=0, atol=1e-12)


MUNG = GOLDEN["mung"]["synthetic"]


def _symbols() -> tuple[metrics.Objects, list[Crop]]:
    """The symbols of both annotators of the music-notation document."""
    nodes = [*MUNG["truth"], *MUNG["prediction"]]
    names = sorted({node["cls"] for node in nodes})
    crops = [(np.array([[c == "1" for c in row] for row in node["mask"]]), node["left"], node["top"]) for node in nodes]
    annotator = np.repeat([0, 1], [len(MUNG["truth"]), len(MUNG["prediction"])])
    category = np.array([names.index(node["cls"]) for node in nodes])
    return metrics.Objects(np.zeros(len(nodes), np.int64), annotator, category), crops


def test_symbols_of_the_source_document_are_aligned_as_published() -> None:
    objects, crops = _symbols()
    masks = MaskCrops.from_crops(crops)
    overlaps = find_overlaps(objects, masks.area, lambda i, j: mask_intersection(masks, i, j))
    for classes in ("require", "prefer"):
        aligned = metrics.match_objects(objects, overlaps, method="mutual_best", classes=classes).aligned
        shared, n_a = overlaps.values_at(overlaps.intersection, *aligned), len(MUNG["truth"])
        sums = [math.fsum(shared / masks.area[k]) for k in aligned]
        alignment = metrics.Alignment(n_a, len(objects) - n_a, aligned.shape[1], *sums)
        assert (aligned.T - [0, n_a]).tolist() == MUNG["aligned"]
        assert alignment.n_a + alignment.n_b - 2 * alignment.n_aligned == MUNG["n_not_aligned"]
        found = [alignment.recall, alignment.precision, alignment.f_score]
        assert_allclose(found, [MUNG["total"][name] for name in ("recall", "precision", "fscore")], rtol=0, atol=1e-12)


@st.composite
def crops(draw: st.DrawFn) -> Crop:
    """Any pixels of at most 5 x 7, anywhere near the origin."""
    height, width = draw(st.integers(0, 5)), draw(st.integers(0, 7))
    inside = draw(st.lists(st.booleans(), min_size=height * width, max_size=height * width))
    place = draw(st.tuples(st.integers(-6, 6), st.integers(-4, 4)))
    return np.array(inside, np.bool_).reshape(height, width), *place


@examples(150)
@given(st.lists(crops(), min_size=1, max_size=5))
def test_what_masks_share_is_symmetric_and_at_most_the_smaller_mask(drawn: list[Crop]) -> None:
    masks = MaskCrops.from_crops(drawn)
    i, j = every_pair(len(drawn))
    shared = mask_intersection(masks, i, j)
    assert_array_equal(shared, mask_intersection(masks, j, i))
    assert (shared >= 0).all()
    assert (shared <= np.minimum(masks.area[i], masks.area[j])).all()
    assert_array_equal(shared[i == j], masks.area)
    shifted = np.zeros((len(drawn), 20, 30), np.bool_)
    for image, (crop, left, top) in zip(shifted, drawn, strict=True):
        image[top + 4 : top + 4 + len(crop), left + 6 : left + 6 + crop.shape[1]] = crop
    assert shared.tolist() == [np.count_nonzero(shifted[a] & shifted[b]) for a, b in zip(i, j, strict=True)]


def test_some_of_the_masks_are_those_masks_and_none_are_empty_columns() -> None:
    images = random_images(8, 11)
    masks = MaskCrops.from_crops([cut_out(image) for image in images])
    for chosen in ([5, 0, 3, 3], [7], [], np.arange(8) % 3 == 1):
        chosen = np.asarray(chosen, dtype=np.bool_ if isinstance(chosen, np.ndarray) else np.int64)
        taken, flat = masks.take(chosen), images[chosen].reshape(-1, HEIGHT * WIDTH).astype(float)
        i, j = every_pair(len(flat))
        assert_array_equal(taken.area, flat.sum(axis=1))
        assert_array_equal(mask_intersection(taken, i, j).reshape(len(flat), len(flat)), flat @ flat.T)
        assert np.shares_memory(taken.pixels, masks.pixels)
    empty, none = MaskCrops.from_crops([]), np.empty(0, np.int64)
    assert (len(empty), empty.area.shape, empty.bounds.shape) == (0, (0,), (0, 4))
    assert len(empty.take(none)) == len(empty.joined([empty])) == 0
    assert mask_intersection(empty, none, none).shape == (0,)
    assert mask_box_intersection(empty, none, np.empty((0, 4))).shape == (0,)
    assert mask_polygon_intersection(empty, none, np.empty(0, np.object_)).shape == (0,)


def _stars(n: int, seed: int) -> np.ndarray:
    """Polygons of up to 25 vertices, some with a hole or in two parts, some of them outside the image."""
    rng = np.random.default_rng(seed)
    stars = []
    for number in range(n):
        angle = np.sort(rng.uniform(0, 2 * np.pi, int(rng.integers(3, 26))))
        around = np.stack([np.cos(angle), np.sin(angle)], axis=1) * rng.uniform((4, 2), (40, 25), (len(angle), 2))
        star = shapely.make_valid(shapely.Polygon(around + rng.uniform(0, (WIDTH, HEIGHT))))
        if number % 3:
            other = shapely.Point(rng.uniform(0, (WIDTH, HEIGHT))).buffer(rng.uniform(1, 12))
            star = star.difference(other) if number % 3 == 1 else star.union(other)
        stars.append(star)
    return np.array(stars, dtype=np.object_)


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.few(1)
def test_masks_and_polygons_share_the_area_that_shapely_finds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    images, stars = random_images(20, seed), _stars(15, seed)
    pixels = [np.nonzero(image)[::-1] for image in images]
    squares = np.array([shapely.union_all(shapely.box(x, y, x + 1, y + 1)) for x, y in pixels], np.object_)
    expected = shapely.area(shapely.intersection(squares[:, None], stars[None, :])).ravel()
    masks = MaskCrops.from_crops([cut_out(image, seed) for image in images])
    i, j = np.repeat(np.arange(20), 15), np.tile(np.arange(15), 20)
    assert np.count_nonzero(expected) > 100
    for band_pixels in (masks_module.BAND_PIXELS, 1, 150):  # whole masks, single rows, bands of rows
        monkeypatch.setattr(masks_module, "BAND_PIXELS", band_pixels)
        shared = mask_polygon_intersection(masks, i, stars[j])
        assert_allclose(shared, expected, rtol=1e-12, atol=1e-9)
        assert (shared <= np.minimum(masks.area[i], shapely.area(stars[j]))).all()
        assert ((shared > 0) == (expected > 1e-9)).all()


def test_unusable_input_is_an_error_that_names_the_argument() -> None:
    masks, zero = MaskCrops.from_crops([(np.ones((2, 3), np.bool_), 0, 0)]), np.array([0])
    square = np.array([shapely.box(0, 0, 1, 1)])
    with pytest.raises(ValueError, match=r"`crops` must have the shape \(H, W\), got \(4,\)"):
        MaskCrops.from_crops([(np.ones(4, np.bool_), 0, 0)])
    for function, other, message in (
        (mask_intersection, np.array([0, 0]), "`i` and `j` must have the same length, got 1 and 2"),
        (mask_box_intersection, np.ones((2, 4)), "`i` and `boxes_xyxy` must have the same length, got 1 and 2"),
        (mask_box_intersection, np.array([[0, np.nan, 1, 1]]), r"`boxes_xyxy` must be finite, got \[0.0, nan, 1.0, 1"),
        (mask_box_intersection, np.array([[3, 0, 1, 1.0]]), r"`boxes_xyxy` must have max >= min, got \[3.0, 0.0, 1.0"),
        (mask_polygon_intersection, np.repeat(square, 2), "`i` and `polygons` must have the same length, got 1 and 2"),
    ):
        with pytest.raises(ValueError, match=message):
            function(masks, zero, other)


def test_symbols_of_the_source_document_overlap_as_printed() -> None:
    masks = MaskCrops.from_crops(_symbols()[1])
    n = len(MUNG["truth"])
    i, j = np.repeat(np.arange(n), len(masks) - n), np.tile(np.arange(n, len(masks)), n)
    shared = mask_intersection(masks, i, j)
    for name, value in (
        ("recall", shared / masks.area[i]),
        ("precision", shared / masks.area[j]),
        ("fscore", 2 * shared / (masks.area[i] + masks.area[j])),
    ):
        assert_allclose(value.reshape(n, -1), MUNG[name], rtol=0, atol=1e-15, err_msg=name)
