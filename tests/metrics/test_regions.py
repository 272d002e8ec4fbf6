"""Overlaps between boxes, polygons, masks and lines, of coarse outlines, and areas that several cover together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.chance import examples, seeds

from annotator_agreement import metrics
from annotator_agreement.metrics import Intervals, Keypoints, MaskCrops, Objects, Polygons, Regions, lines_from_points
from annotator_agreement.metrics.geometry import BOX, OUTLINE_BYTES, POLYGON, Boxes, Geometry, Outlines, as_regions
from annotator_agreement.metrics.geometry import boxes as geometry_module
from annotator_agreement.metrics.geometry import objects as objects_module

HEIGHT, WIDTH = 13, 29

Ring = Sequence[Sequence[float]]


def box(x_min: float, y_min: float, x_max: float, y_max: float) -> Regions:
    return Regions.of_boxes(np.array([[x_min, y_min, x_max, y_max]], np.float64))


def polygon(*rings: Ring) -> Regions:
    points = np.array([point for ring in rings for point in ring], np.float64).reshape(-1, 2)
    ring = np.repeat(np.arange(len(rings)), [len(ring) for ring in rings])
    return Regions.of_polygons(metrics.polygons_from_rings(points, ring, np.zeros(len(rings), np.int64), 1))


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
            image = np.zeros((HEIGHT, WIDTH), np.bool_)
            image[int(y) : int(y) + 4, int(x) : int(x) + 7] = rng.random((4, 7)) < 0.8
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
    expected = metrics.box_overlaps(objects, boxes)
    for regions in (Regions.of_boxes(boxes), as_regions(Boxes(boxes))):
        overlaps = regions.overlaps(objects)
        for name in ("i", "j", "intersection", "area"):
            assert_array_equal(getattr(overlaps, name), getattr(expected, name))


def test_rows_are_taken_and_joined_again_with_the_polygons_that_were_repaired() -> None:
    regions, _, _ = _mixed(5, 40, n_samples=1, n_annotators=1)
    regions = regions.joined([line((0, 0), (9, 1)), line((0, 1), (9, 2))])
    odd = np.arange(42) % 2 == 1
    joined = regions.take(odd).joined([regions.take(np.flatnonzero(~odd))])
    back = joined.take(np.argsort(np.r_[np.flatnonzero(odd), np.flatnonzero(~odd)]))
    for name in ("kind", "bounds", "area"):
        assert_array_equal(getattr(back, name), getattr(regions, name))
    i, j = np.divmod(np.arange(42 * 42), 42)
    assert_array_equal(back.intersection_of(i, j), regions.intersection_of(i, j))
    bow_tie = polygon([(0, 0), (4, 4), (4, 0), (0, 4)])
    regions = bow_tie.joined([polygon(rectangle(0, 0, 2, 2)), box(0, 0, 1, 1), bow_tie])
    assert (regions.repaired.sum(), regions.take(np.array([1, 2, 3])).repaired.sum()) == (2, 1)
    assert regions.take(np.array([1, 2])).repaired.sum() == 0
    none = Regions.of_boxes(np.empty((0, 4)))
    assert (len(none.joined([none])), len(none.intersection_of(np.empty(0, np.int64), np.empty(0, np.int64)))) == (0, 0)


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


def test_outlines_are_exact_up_to_the_255th_part_of_their_width_and_of_boxes_those_of_a_box() -> None:
    triangle = shapely.Polygon([(10, 20), (90, 20), (10, 100)])
    found = _outlines(_polygons([shapely.box(10, 20, 50, 100), shapely.box(30, 60, 90, 90), triangle]))
    assert_allclose(found.area, [3200, 1800, 3200], rtol=0.002)
    assert_allclose(found.intersection_of(np.array([0, 0, 1]), np.array([1, 2, 2])), [600, 2400, 200], rtol=0.01)
    bar = shapely.LineString([(0, 0), (70, 40)]).buffer(20)
    shapes = [triangle.buffer(9), triangle.difference(shapely.box(20, 30, 40, 50)), bar]
    found = _outlines(_polygons(shapes)).joined([_outlines(_polygons([*shapes, shapely.box(900, 0, 950, 50)]))])
    assert_array_equal(found.intersection_of(np.arange(3), np.arange(3, 6)), found.area[:3])
    assert_array_equal(found.intersection_of(np.arange(3), np.full(3, 6)), 0.0)
    boxes = Regions.of_boxes(np.array([[0, 0, 4, 2.0]]))
    empty = Regions.of_masks(
        MaskCrops.from_crops([(np.zeros((2, 3), np.bool_), 1, 1), (np.zeros((0, 0), np.bool_), 0, 0)])
    )
    nothing = _polygons([shapely.Polygon()])
    for regions, area in ((boxes, [8.0]), (empty, [6.0, 0.0]), (nothing, [0.0])):
        assert_array_equal(_outlines(regions).area, area)
    assert _polygons([]).places()["outline"].shape == (0, OUTLINE_BYTES)
    shapes = [shapely.box(0, 0, 2, 2), shapely.box(1, 0, 3, 2), shapely.box(1, 1, 3, 3)]
    found = _outlines(_polygons(shapes))
    overlaps = found.take(np.array([0, 1, 2])).overlaps(Objects(np.zeros(3, int), np.array([0, 1, 1]), np.ones(3, int)))
    assert_array_equal([overlaps.i, overlaps.j], [[0, 0], [1, 2]])
    assert_allclose(overlaps.intersection, [2, 1], rtol=0.01)
    assert np.isnan(found.union_area(np.array([0, 1]), np.array([0, 0]), 1)).all()


SETTINGS = examples(100)

corners = st.tuples(st.integers(0, 12), st.integers(0, 7), st.integers(0, 6), st.integers(0, 4))
grouped_boxes = st.lists(st.tuples(st.integers(0, 3), corners), max_size=24)


def _columns(drawn: list) -> tuple[np.ndarray, np.ndarray]:
    """Boxes, and their groups in ascending order."""
    table = np.array([(group, x, y, x + w, y + h) for group, (x, y, w, h) in sorted(drawn)], float).reshape(-1, 5)
    return table[:, 1:], table[:, 0].astype(np.int64)


def _mask(box: np.ndarray) -> tuple[np.ndarray, int, int]:
    x_min, y_min, x_max, y_max = box.astype(int)
    return np.ones((y_max - y_min, x_max - x_min), np.bool_), int(x_min), int(y_min)


def _of_mixed_kinds(boxes: np.ndarray) -> Regions:
    """The boxes as regions: every second one a mask, every third of the others a polygon."""
    regions = []
    for k, box in enumerate(boxes):
        if k % 2:
            regions.append(Regions.of_masks(MaskCrops.from_crops([_mask(box)])))
        elif k % 3:
            regions.append(Regions.of_polygons(Polygons.from_geometry(metrics.boxes_as_polygons(box[None]))))
        else:
            regions.append(Regions.of_boxes(box[None]))
    return Regions.of_boxes(np.empty((0, 4))).joined(regions)


KINDS = {
    "boxes": Boxes,
    "boxes among regions": Regions.of_boxes,
    "polygons": lambda boxes: Regions.of_polygons(Polygons.from_geometry(metrics.boxes_as_polygons(boxes))),
    "masks": lambda boxes: Regions.of_masks(MaskCrops.from_crops([_mask(box) for box in boxes])),
    "mixed": _of_mixed_kinds,
}


@pytest.mark.parametrize("kind", KINDS)
@SETTINGS
@given(grouped_boxes)
def test_rectangles_of_any_kind_cover_as_many_pixels_as_are_counted(kind: str, drawn: list) -> None:
    boxes, group = _columns(drawn)
    geometry: Geometry = KINDS[kind](boxes)
    area = geometry.union_area(np.arange(len(boxes)), group, 4)
    pixels: list[set[tuple[int, int]]] = [set() for _ in range(4)]
    for k, (x_min, y_min, x_max, y_max) in zip(group.tolist(), boxes.astype(int).tolist(), strict=True):
        pixels[k] |= {*product(range(x_min, x_max), range(y_min, y_max))}
    assert_allclose(area, [len(covered) for covered in pixels], rtol=0, atol=1e-9)


def test_grids_and_polygons_give_the_same_areas_of_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    low = rng.uniform(0, 0.6, (60, 2))
    boxes, group = np.hstack([low, low + rng.uniform(0, [0.4, 0.2], (60, 2))]), np.sort(rng.integers(0, 9, 60))
    expected = [shapely.union_all(shapely.box(*boxes[group == k].T)).area for k in range(9)]
    for most in (0, 2, 100):
        monkeypatch.setattr(geometry_module, "MAX_IN_GRID", most)
        assert_allclose(Boxes(boxes).union_area(np.arange(60), group, 9), expected, rtol=1e-12)


def test_masks_and_polygons_with_holes_cover_what_shapely_says() -> None:
    ring = np.ones((3, 5), np.bool_)
    ring[1, 1:4] = False
    masks = Regions.of_masks(MaskCrops.from_crops([(ring, 2, 1)]))
    triangle = Polygons.from_geometry(shapely.polygons([[[2, 1], [7, 1], [2, 4.0]]]))
    squares = [shapely.box(2 + x, 1 + y, 3 + x, 2 + y) for y, x in zip(*np.nonzero(ring), strict=True)]
    frame = shapely.box(0, 0, 10, 6).difference(shapely.box(2, 1, 8, 5))
    polygons = Polygons.from_geometry(np.array([frame, shapely.box(1, 2, 4, 3), shapely.box(3, 2, 5, 4)], object))
    for regions, shapes in (
        (masks.joined([Regions.of_polygons(triangle)]), [*squares, *triangle.geometry]),
        (Regions.of_polygons(polygons), [*polygons.geometry]),
    ):
        area = regions.union_area(np.arange(len(regions)), np.zeros(len(regions), np.int64), 1)
        assert_allclose(area, [shapely.union_all(shapes).area], rtol=1e-12)


intervals = st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 12), st.integers(0, 6)), max_size=20)


@SETTINGS
@given(intervals)
def test_intervals_cover_as_many_frames_as_are_counted(drawn: list) -> None:
    rows = sorted(drawn, key=lambda entry: entry[0])
    table = np.array(rows, np.int64).reshape(-1, 3)
    group, first, last = table[:, 0], table[:, 1], table[:, 1] + table[:, 2]
    area = Intervals(first, last).union_area(np.arange(len(rows)), group, 4)
    frames = [{f for k, a, n in rows if k == g for f in range(a, a + n + 1)} for g in range(4)]
    assert_array_equal(area, [len(covered) for covered in frames])
    # at the ends of all numbers they are added without wrapping
    at_ends = Intervals(np.array([-(2**63), 2**63 - 2, 5]), np.array([-(2**63) + 1, 2**63 - 1, 2**63 - 1]))
    for chosen, covered in (([0, 1], 4.0), ([2, 1], 2.0**63 - 5)):
        assert_allclose(at_ends.union_area(np.array(chosen), np.zeros(2, np.int64), 1), [covered], rtol=1e-15)


def test_lines_and_points_cover_no_area_and_boxes_around_objects_are_those_of_their_outermost_points() -> None:
    lines = lines_from_points(np.array([[0, 0], [5, 1.0]]), np.zeros(2, int), np.zeros(1, int), 1, tolerance_px=2.0)
    points = Keypoints(np.array([[[0, 0], [5, 1.0]]]))
    with_box = Regions.of_boxes(np.array([[0, 0, 3, 4.0]])).joined([Regions.of_lines(lines)])
    zero = np.zeros(1, np.int64)
    assert_array_equal(Regions.of_lines(lines).union_area(zero, zero, 1), [np.nan])
    assert_array_equal(points.union_area(zero, zero, 1), [np.nan])
    assert_array_equal(with_box.union_area(np.array([0, 0, 1]), np.array([0, 1, 1]), 3), [12, np.nan, 0])
    lines = lines_from_points(
        np.array([[4, 1], [0, 3], [7, 2.0]]), np.zeros(3, int), np.zeros(1, int), 2, tolerance_px=2.0
    )
    assert_array_equal(lines.boxes_xyxy(), [[0, 1, 7, 3], [0, 0, 0, 0]])
    nan = np.nan
    points = Keypoints(np.array([[[4, 1], [nan, nan], [2, 8]], [[nan, nan]] * 3, [[5, 6]] + [[nan, nan]] * 2]))
    assert_array_equal(points.boxes_xyxy(), [[2, 1, 4, 8], [nan] * 4, [5, 6, 5, 6]])
    assert Intervals(np.array([1]), np.array([3])).boxes_xyxy() is None
    boxes = np.array([[0, 0, 2, 3], [1, 0, 4, 3.0]])
    for kind in KINDS.values():
        assert_array_equal(kind(boxes).boxes_xyxy(), boxes)
        assert_array_equal(kind(boxes).area, [6, 9])
    assert_array_equal(Intervals(np.array([1, 4]), np.array([3, 4])).area, [3, 1])
    assert_array_equal(lines.length, [np.sqrt(20) + np.sqrt(50), 0])
    assert_array_equal(points.area, [14, nan, 0])


def test_the_iou_of_shapes_is_close_to_that_of_exact_areas() -> None:
    rng, angle = np.random.default_rng(3), np.linspace(0, 2 * np.pi, 40, endpoint=False)
    shapes = []
    for k in range(60):  # around the middle of an image of 640 x 480: whole ones, rings, and ones in two parts
        radius = rng.uniform(90, 180) * rng.normal(1, 0.08, 40)
        ring = np.stack([1.3 * radius * np.cos(angle), 0.8 * radius * np.sin(angle)], 1) + rng.normal([320, 240], 25)
        blob = shapely.make_valid(shapely.Polygon(ring)).buffer(0)
        gone = (shapely.Polygon(), shapely.affinity.scale(blob, 0.6, 0.6), shapely.box(300, 0, 330, 480))
        shapes.append(blob.difference(gone[k % 3]))
    i, j = np.triu_indices(60, 1)
    a, b = (np.array(shapes, np.object_)[rows] for rows in (i, j))
    found = _outlines(_polygons(shapes))
    shared = found.intersection_of(i, j)
    error = shared / (found.area[i] + found.area[j] - shared)
    error -= shapely.area(shapely.intersection(a, b)) / shapely.area(shapely.union(a, b))
    assert abs(error.mean()) < 6e-3
    assert error.std() < 0.02
    assert_allclose(found.intersection_of(j, i), shared, rtol=1e-12)
