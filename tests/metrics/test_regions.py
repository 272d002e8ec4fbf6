"""Overlaps between boxes, polygons, masks and lines, and of coarse outlines: counted pixels, shapely, closed forms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.chance import examples, seeds

from annotator_agreement.metrics import (
    MaskCrops,
    Objects,
    Polygons,
    Regions,
    box_overlaps,
    lines_from_points,
    polygons_from_rings,
)
from annotator_agreement.metrics.geometry import BOX, MASK, OUTLINE_BYTES, POLYGON, Boxes, Outlines, as_regions
from annotator_agreement.metrics.geometry import objects as objects_module

HEIGHT, WIDTH = 13, 29

Ring = Sequence[Sequence[float]]


def box(x_min: float, y_min: float, x_max: float, y_max: float) -> Regions:
    return Regions.of_boxes(np.array([[x_min, y_min, x_max, y_max]], np.float64))


def polygon(*rings: Ring) -> Regions:
    points = np.array([point for ring in rings for point in ring], np.float64).reshape(-1, 2)
    ring = np.repeat(np.arange(len(rings)), [len(ring) for ring in rings])
    return Regions.of_polygons(polygons_from_rings(points, ring, np.zeros(len(rings), np.int64), 1))


def mask(image: np.ndarray) -> Regions:
    """The pixels of an image, cut out."""
    y, x = np.nonzero(image)
    if not len(y):
        return Regions.of_masks(MaskCrops.from_crops([(np.zeros((0, 0), np.bool_), 0, 0)]))
    top, left = int(y.min()), int(x.min())
    crop = np.ascontiguousarray(image[top : y.max() + 1, left : x.max() + 1])
    return Regions.of_masks(MaskCrops.from_crops([(crop, left, top)]))


def line(*points: Sequence[float], tolerance: float = 2.0) -> Regions:
    n = len(points)
    return Regions.of_lines(
        lines_from_points(np.array(points, np.float64), np.zeros(n, np.int64), np.array([0]), 1, tolerance_px=tolerance)
    )


def rectangle(x: float, y: float, width: float, height: float) -> Ring:
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


def outline(image: np.ndarray) -> Regions:
    """The polygon around the pixels of an image, as shapely draws it."""
    squares = shapely.union_all([shapely.box(x, y, x + 1, y + 1) for y, x in zip(*np.nonzero(image), strict=True)])
    rings = [
        list(ring.coords)[:-1]
        for part in shapely.get_parts(squares)
        if not part.is_empty
        for ring in (part.exterior, *part.interiors)
    ]
    return polygon(*rings)


def painted(x_min: int, y_min: int, x_max: int, y_max: int) -> np.ndarray:
    image = np.zeros((HEIGHT, WIDTH), np.bool_)
    image[y_min:y_max, x_min:x_max] = True
    return image


# ---- the same pixels, whatever the kind ----


def _forms(image: np.ndarray) -> list[Regions]:
    """A set of pixels in every kind that can hold it."""
    forms = [mask(image), outline(image)]
    y, x = np.nonzero(image)
    if len(y) and len(y) == (np.ptp(y) + 1) * (np.ptp(x) + 1):
        forms.append(box(x.min(), y.min(), x.max() + 1, y.max() + 1))
    return forms


def _images(seed: int, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    images = []
    for k in range(n):
        x, y = np.sort(rng.integers(0, WIDTH + 1, 2)), np.sort(rng.integers(0, HEIGHT + 1, 2))
        image = painted(x[0], y[0], x[1], y[1])
        images.append(image if k % 3 == 0 else image & (rng.random(image.shape) < (0.5 if k % 3 == 1 else 0.9)))
    return images


@pytest.mark.parametrize("seed", seeds(6))
def test_all_kinds_share_the_pixels_counted(seed: int) -> None:
    images = _images(seed, 9)
    forms = [(number, form) for number, image in enumerate(images) for form in _forms(image)]
    assert {int(form.kind[0]) for _, form in forms} == {BOX, POLYGON, MASK}
    every = forms[0][1].joined([form for _, form in forms[1:]])
    i, j = np.divmod(np.arange(len(forms) ** 2), len(forms))
    expected = [float((images[forms[p][0]] & images[forms[q][0]]).sum()) for p, q in zip(i, j, strict=True)]
    # an edge list sums areas of opposite sign, so that of counted pixels the last digits may be lost
    assert_allclose(every.intersection_of(i, j), expected, rtol=1e-12, atol=1e-12)
    assert_allclose(every.area, [images[number].sum() for number, _ in forms], rtol=1e-12, atol=0)


def test_shapes_agree_exactly_with_themselves_and_a_box_with_the_polygon_of_its_corners() -> None:
    rng = np.random.default_rng(4)
    shapes = [
        box(0.1, 1 / 3, 7.7, 2.1),
        polygon(rng.uniform(0, [29, 13], (17, 2)).tolist()),
        polygon(rectangle(0.1, 0.2, 5.5, 4.4), rectangle(1.1, 1.2, 1.5, 1.4)),
        mask(rng.random((HEIGHT, WIDTH)) < 0.4),
        line((0, 0), (7.3, 1.1), (9, 4)),
    ]
    every = shapes[0].joined(shapes[1:])
    rows = np.arange(len(every))
    assert_array_equal(every.intersection_of(rows, rows), every.area)
    for x_min, y_min, x_max, y_max in ((3, 2, 20, 7), (0.1, 0.2, 0.4, 0.9), (1 / 3, 0.7, 98765.4321, 7.1)):
        corners = [(x_max, y_max), (x_min, y_max), (x_min, y_min), (x_max, y_min)]
        both = box(x_min, y_min, x_max, y_max).joined([polygon(corners)])
        shared = both.intersection_of(np.array([0, 1]), np.array([1, 0]))
        assert_allclose(shared / (both.area.sum() - shared), 1.0, rtol=0, atol=1e-15)


# ---- many at once ----


def _mixed(seed: int, n: int, n_samples: int, n_annotators: int) -> tuple[Regions, list[shapely.Geometry], Objects]:
    """Regions of all kinds that do not keep to pixels, as shapely geometries too."""
    rng = np.random.default_rng(seed)
    regions, geometry = [], []
    for _ in range(n):
        kind = rng.integers(0, 3)
        x, y = rng.uniform(0, (WIDTH - 8, HEIGHT - 5))
        if kind == BOX:
            width, height = rng.uniform((1, 1), (8, 5))
            regions.append(box(x, y, x + width, y + height))
            geometry.append(shapely.box(x, y, x + width, y + height))
        elif kind == POLYGON:
            angle = np.sort(rng.uniform(0, 2 * np.pi, 9))
            radius = rng.uniform(0.5, 4, 9)
            ring = np.stack([x + 4 + 1.5 * radius * np.cos(angle), y + 3 + radius * np.sin(angle)], axis=1)
            regions.append(polygon(ring.tolist()))
            geometry.append(shapely.make_valid(shapely.Polygon(ring)))
        else:
            image = painted(int(x), int(y), int(x) + 7, int(y) + 4) & (rng.random((HEIGHT, WIDTH)) < 0.8)
            regions.append(mask(image))
            geometry.append(
                shapely.union_all([shapely.box(c, r, c + 1, r + 1) for r, c in zip(*np.nonzero(image), strict=True)])
            )
    sample, annotator = np.sort(rng.integers(0, n_samples, n)), rng.integers(0, n_annotators, n)
    order = np.lexsort((annotator, sample))
    objects = Objects(sample[order], annotator[order], np.ones(n, np.int64))
    return regions[0].joined(regions[1:]), geometry, objects


@pytest.mark.parametrize("seed", seeds(3))
def test_mixed_overlaps_are_those_that_shapely_finds_one_by_one(seed: int) -> None:
    regions, geometry, objects = _mixed(seed, 120, n_samples=4, n_annotators=3)
    overlaps = regions.overlaps(objects)
    found = dict(zip(zip(overlaps.i.tolist(), overlaps.j.tolist(), strict=True), overlaps.intersection, strict=True))
    for i in range(len(objects)):
        for j in range(i + 1, len(objects)):
            compared = objects.sample[i] == objects.sample[j] and objects.annotator[i] != objects.annotator[j]
            expected = geometry[i].intersection(geometry[j]).area if compared else 0.0
            assert found.get((i, j), 0.0) == pytest.approx(expected, rel=1e-9, abs=1e-9), (i, j)
    assert len(found) > 100


@pytest.mark.parametrize("many", [objects_module._MANY_PAIRS, 0])
def test_lines_side_by_side_overlap_up_to_their_tolerance(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects_module, "_MANY_PAIRS", many)  # of more pairs only those whose boxes meet are compared
    two = np.arange(2)
    for apart, n in ((1.0, 1), (2.5, 0)):
        lines = line((0, 0), (9, 0)).joined([line((0, apart), (9, apart))])
        assert len(lines.overlaps(Objects(0 * two, two, 0 * two)).i) == n


def test_boxes_alone_overlap_as_boxes_do() -> None:
    rng = np.random.default_rng(2)
    low = rng.uniform(0, (20, 9), (50, 2))
    boxes = np.hstack([low, low + rng.uniform(1, (9, 4), (50, 2))])
    objects = Objects(np.zeros(50, np.int64), np.repeat([0, 1], 25), np.ones(50, np.int64))
    expected = box_overlaps(objects, boxes)
    for regions in (Regions.of_boxes(boxes), as_regions(Boxes(boxes))):
        overlaps = regions.overlaps(objects)
        for name in ("i", "j", "intersection", "area"):
            assert_array_equal(getattr(overlaps, name), getattr(expected, name))


def test_rows_are_taken_by_index_and_mask_and_joined_again() -> None:
    regions, _, _ = _mixed(5, 40, n_samples=1, n_annotators=1)
    regions = regions.joined([line((0, 0), (9, 1)), line((0, 1), (9, 2))])
    odd = np.arange(42) % 2 == 1
    joined = regions.take(odd).joined([regions.take(np.flatnonzero(~odd))])
    back = joined.take(np.argsort(np.r_[np.flatnonzero(odd), np.flatnonzero(~odd)]))
    for name in ("kind", "bounds", "area"):
        assert_array_equal(getattr(back, name), getattr(regions, name))
    i, j = np.divmod(np.arange(42 * 42), 42)
    assert_array_equal(back.intersection_of(i, j), regions.intersection_of(i, j))


def test_only_the_polygons_that_are_left_count_as_repaired_and_no_regions_are_empty_columns() -> None:
    bow_tie = polygon([(0, 0), (4, 4), (4, 0), (0, 4)])
    regions = bow_tie.joined([polygon(rectangle(0, 0, 2, 2)), box(0, 0, 1, 1), bow_tie])
    assert regions.repaired.sum() == 2
    assert regions.take(np.array([1, 2, 3])).repaired.sum() == 1
    assert regions.take(np.array([1, 2])).repaired.sum() == 0
    none = Regions.of_boxes(np.empty((0, 4)))
    assert len(none.joined([none])) == 0
    assert len(none.intersection_of(np.empty(0, np.int64), np.empty(0, np.int64))) == 0


_coordinate = st.one_of(
    st.integers(-2, 9).map(float), st.floats(-3, 12), st.sampled_from([1e9, -1e9, 5e-324, 1e-9, 1 / 3, 3 + 1e-12])
)
_messy_ring = st.lists(st.tuples(_coordinate, _coordinate), max_size=7)


@examples(150)
@given(st.lists(_messy_ring, max_size=3), st.lists(_messy_ring, max_size=3), st.integers(0, 99))
def test_messy_shapes_never_fail_and_share_at_most_the_smaller(a: list[Ring], b: list[Ring], seed: int) -> None:
    sides = [point for ring in (*a, (0, 0)) if len(ring) for point in ring if isinstance(point, tuple)] or [(0.0, 0.0)]
    low, high = np.min(sides, axis=0), np.max(sides, axis=0)
    shapes = [polygon(*a), polygon(*b), box(*low, *high), mask(np.random.default_rng(seed).random((5, 8)) < 0.5)]
    every = shapes[0].joined(shapes[1:])
    i, j = np.divmod(np.arange(16), 4)
    both = every.intersection_of(i, j).reshape(4, 4)
    assert np.isfinite(every.area).all()
    extent = (every.bounds[:, 2:] - every.bounds[:, :2]).max(initial=1.0) ** 2
    assert_allclose(both, both.T, rtol=1e-12, atol=1e-15 * extent)
    assert (both >= 0).all()
    assert (both <= np.minimum.outer(every.area, every.area)).all()
    assert_array_equal(np.diag(both), every.area)


def _outlines(regions: Regions) -> Outlines:
    return Outlines.of(regions.bounds, regions.places()["outline"])


def _polygons(geometry: list[shapely.Geometry]) -> Regions:
    return Regions.of_polygons(Polygons.from_geometry(np.array(geometry, np.object_)))


def _star(rng: np.random.Generator, kind: str) -> shapely.Geometry:
    """A shape around the middle of an image of 640 x 480."""
    angle, radius = np.linspace(0, 2 * np.pi, 40, endpoint=False), rng.uniform(90, 180) * rng.normal(1, 0.08, 40)
    ring = np.stack([1.3 * radius * np.cos(angle), 0.8 * radius * np.sin(angle)], 1) + rng.normal([320, 240], 25)
    blob = shapely.make_valid(shapely.Polygon(ring)).buffer(0)
    if kind == "ring":
        return blob.difference(shapely.affinity.scale(blob, 0.6, 0.6))
    if kind == "two":
        return blob.difference(shapely.box(300, 0, 330, 480))
    if kind == "bar":
        ends = shapely.LineString(rng.normal([[120, 80], [520, 400]], 12))
        return ends.buffer(20)
    return blob


@pytest.mark.parametrize(
    ("kind", "bias", "spread"), [("blob", 3e-3, 8e-3), ("ring", 6e-3, 0.02), ("two", 6e-3, 0.02), ("bar", 4e-3, 0.01)]
)
@pytest.mark.few(1)
def test_the_iou_of_shapes_is_close_to_that_of_exact_areas(kind: str, bias: float, spread: float) -> None:
    rng = np.random.default_rng(3)
    shapes = [_star(rng, kind) for _ in range(60)]
    i, j = np.triu_indices(len(shapes), 1)
    a, b = (np.array(shapes, np.object_)[rows] for rows in (i, j))
    exact = shapely.area(shapely.intersection(a, b)) / shapely.area(shapely.union(a, b))
    found = _outlines(_polygons(shapes))
    shared = found.intersection_of(i, j)
    error = shared / (found.area[i] + found.area[j] - shared) - exact
    assert exact.mean() > 0.2
    assert abs(error.mean()) < bias
    assert error.std() < spread
    assert_allclose(found.intersection_of(j, i), shared, rtol=1e-12)


def test_rectangles_and_triangles_are_exact_up_to_the_255th_part_of_their_width_and_equal_shapes_exactly() -> None:
    triangle = shapely.Polygon([(10, 20), (90, 20), (10, 100)])
    found = _outlines(_polygons([shapely.box(10, 20, 50, 100), shapely.box(30, 60, 90, 90), triangle]))
    assert_allclose(found.area, [3200, 1800, 3200], rtol=0.002)
    assert_allclose(found.intersection_of(np.array([0, 0, 1]), np.array([1, 2, 2])), [600, 2400, 200], rtol=0.01)
    rng = np.random.default_rng(4)
    shapes = [_star(rng, kind) for kind in ("blob", "ring", "bar")]
    found = _outlines(_polygons([*shapes, *shapes, shapely.box(900, 0, 950, 50)]))
    assert_array_equal(found.intersection_of(np.arange(3), np.arange(3, 6)), found.area[:3])
    assert_array_equal(found.intersection_of(np.arange(3), np.full(3, 6)), 0.0)


def test_a_mask_has_the_outline_of_a_polygon_of_its_shape() -> None:
    rng = np.random.default_rng(5)
    shapes = [_star(rng, kind) for kind in ("blob", "ring", "two") for _ in range(5)]
    x, y = np.meshgrid(np.arange(640) + 0.5, np.arange(480) + 0.5)
    crops = []
    for shape in shapes:
        image = shapely.contains_xy(shape, x, y)
        (rows,), (columns,) = (np.nonzero(image.any(axis=axis)) for axis in (1, 0))
        crops.append((image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1], int(columns[0]), int(rows[0])))
    masks, polygons = _outlines(Regions.of_masks(MaskCrops.from_crops(crops))), _outlines(_polygons(shapes))
    both = masks.joined([polygons])
    i, j = np.arange(15), np.arange(15, 30)
    shared = both.intersection_of(i, j)
    assert_allclose(masks.area, polygons.area, rtol=0.03)
    assert (shared / (both.area[i] + both.area[j] - shared) > 0.94).all()


def test_boxes_lines_and_shapes_without_area_have_the_outline_of_a_box() -> None:
    boxes = Regions.of_boxes(np.array([[0, 0, 4, 2.0]]))
    empty = Regions.of_masks(
        MaskCrops.from_crops([(np.zeros((2, 3), np.bool_), 1, 1), (np.zeros((0, 0), np.bool_), 0, 0)])
    )
    nothing = _polygons([shapely.Polygon()])
    for regions, area in ((boxes, [8.0]), (empty, [6.0, 0.0]), (nothing, [0.0])):
        assert_array_equal(_outlines(regions).area, area)
    assert _polygons([]).places()["outline"].shape == (0, OUTLINE_BYTES)


def test_the_overlapping_pairs_are_those_of_different_annotators() -> None:
    shapes = [shapely.box(0, 0, 2, 2), shapely.box(1, 0, 3, 2), shapely.box(1, 1, 3, 3)]
    found = _outlines(_polygons(shapes))
    overlaps = found.take(np.array([0, 1, 2])).overlaps(Objects(np.zeros(3, int), np.array([0, 1, 1]), np.ones(3, int)))
    assert_array_equal([overlaps.i, overlaps.j], [[0, 0], [1, 2]])
    assert_allclose(overlaps.intersection, [2, 1], rtol=0.01)
    assert np.isnan(found.union_area(np.array([0, 1]), np.array([0, 0]), 1)).all()
