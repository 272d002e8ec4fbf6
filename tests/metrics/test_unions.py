"""Areas that several objects cover together, against counted pixels, counted frames and shapely."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.chance import examples

from annotator_agreement.metrics import (
    Intervals,
    Keypoints,
    MaskCrops,
    Polygons,
    Regions,
    boxes_as_polygons,
    lines_from_points,
)
from annotator_agreement.metrics.geometry import Boxes, Geometry
from annotator_agreement.metrics.geometry import boxes as geometry_module

SETTINGS = examples(100)
HEIGHT, WIDTH = 9, 14

corners = st.tuples(st.integers(0, 12), st.integers(0, 7), st.integers(0, 6), st.integers(0, 4))
grouped_boxes = st.lists(st.tuples(st.integers(0, 3), corners), max_size=24)


def _columns(drawn: list) -> tuple[np.ndarray, np.ndarray]:
    """Boxes, and their groups in ascending order."""
    table = np.array([(group, x, y, x + w, y + h) for group, (x, y, w, h) in sorted(drawn)], float).reshape(-1, 5)
    return table[:, 1:], table[:, 0].astype(np.int64)


def _painted(box: np.ndarray) -> np.ndarray:
    image = np.zeros((HEIGHT + 4, WIDTH + 6), np.bool_)
    x_min, y_min, x_max, y_max = box.astype(int)
    image[y_min:y_max, x_min:x_max] = True
    return image


def _pixels(boxes: np.ndarray, group: np.ndarray) -> list[int]:
    """Pixels that the boxes of four groups cover."""
    images = [_painted(box) for box in boxes]
    return [
        int(np.any([image for image, own in zip(images, group, strict=True) if own == k] or [[False]], axis=0).sum())
        for k in range(4)
    ]


def _mask(box: np.ndarray) -> tuple[np.ndarray, int, int]:
    x_min, y_min, x_max, y_max = box.astype(int)
    return np.ones((y_max - y_min, x_max - x_min), np.bool_), int(x_min), int(y_min)


def _mixed(boxes: np.ndarray) -> Regions:
    """The boxes as regions: every second one a mask, every third of the others a polygon."""
    regions = []
    for k, box in enumerate(boxes):
        if k % 2:
            regions.append(Regions.of_masks(MaskCrops.from_crops([_mask(box)])))
        elif k % 3:
            regions.append(Regions.of_polygons(Polygons.from_geometry(boxes_as_polygons(box[None]))))
        else:
            regions.append(Regions.of_boxes(box[None]))
    return Regions.of_boxes(np.empty((0, 4))).joined(regions)


KINDS = {
    "boxes": Boxes,
    "boxes among regions": Regions.of_boxes,
    "polygons": lambda boxes: Regions.of_polygons(Polygons.from_geometry(boxes_as_polygons(boxes))),
    "masks": lambda boxes: Regions.of_masks(MaskCrops.from_crops([_mask(box) for box in boxes])),
    "mixed": _mixed,
}


@pytest.mark.parametrize("kind", KINDS)
@SETTINGS
@given(grouped_boxes)
def test_rectangles_of_any_kind_cover_as_many_pixels_as_are_counted(kind: str, drawn: list) -> None:
    boxes, group = _columns(drawn)
    geometry: Geometry = KINDS[kind](boxes)
    area = geometry.union_area(np.arange(len(boxes)), group, 4)
    assert_allclose(area, _pixels(boxes, group), rtol=0, atol=1e-9)


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


def test_lines_and_points_cover_no_area() -> None:
    lines = lines_from_points(np.array([[0, 0], [5, 1.0]]), np.zeros(2, int), np.zeros(1, int), 1, tolerance_px=2.0)
    points = Keypoints(np.array([[[0, 0], [5, 1.0]]]))
    with_box = Regions.of_boxes(np.array([[0, 0, 3, 4.0]])).joined([Regions.of_lines(lines)])
    zero = np.zeros(1, np.int64)
    assert_array_equal(Regions.of_lines(lines).union_area(zero, zero, 1), [np.nan])
    assert_array_equal(points.union_area(zero, zero, 1), [np.nan])
    assert_array_equal(with_box.union_area(np.array([0, 0, 1]), np.array([0, 1, 1]), 3), [12, np.nan, 0])


def test_boxes_around_objects_are_those_of_their_outermost_points() -> None:
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
