"""Objects that one annotator drew in parts, or twice: cases by hand, sets of pixels, every kind of geometry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tests.chance import examples

from annotator_agreement.metrics import (
    Intervals,
    Keypoints,
    MaskCrops,
    Objects,
    Polygons,
    Regions,
    boxes_as_polygons,
    lines_from_points,
)
from annotator_agreement.metrics.geometry import Boxes, Geometry
from annotator_agreement.metrics.matching import find_duplicates, find_splits, splits

SETTINGS = examples(200)
WHOLE, LEFT, RIGHT, CENTRE = (2, 1, 22, 6), (2, 1, 11, 6), (12, 1, 22, 6), (8, 1, 16, 6)


def _found(geometry: Geometry, annotators: list[int], asked: list[bool] | None = None, threshold: float = 0.5) -> list:
    objects = Objects(np.zeros(len(annotators), int), np.array(annotators, int), np.ones(len(annotators), int))
    candidates = np.ones(len(annotators), np.bool_) if asked is None else np.array(asked, np.bool_)
    return find_splits(objects, candidates, geometry.overlaps(objects), geometry, threshold).tolist()


# (id, boxes, annotators, what is split)
CASES = [
    ("nothing", [], [], []),
    ("a whole and two parts", [WHOLE, LEFT, RIGHT], [0, 1, 1], [True] * 3),
    ("parts first", [LEFT, RIGHT, WHOLE], [0, 0, 1], [True] * 3),
    ("one part", [WHOLE, LEFT], [0, 1], [False] * 2),
    ("parts of two annotators", [WHOLE, LEFT, RIGHT], [0, 1, 2], [False] * 3),
    ("parts of the annotator who drew the whole", [WHOLE, LEFT, RIGHT], [0, 0, 0], [False] * 3),
    ("parts that overlap by less than seven tenths", [WHOLE, LEFT, CENTRE, RIGHT], [0, 1, 1, 1], [True] * 4),
    ("a third object that is no part", [WHOLE, LEFT, RIGHT, (20, 1, 29, 6)], [0, 1, 1, 1], [True, True, True, False]),
    ("seven tenths inside", [WHOLE, LEFT, (15, 1, 25, 6)], [0, 1, 1], [True] * 3),
    ("less than seven tenths inside", [WHOLE, LEFT, (15.1, 1, 25.1, 6)], [0, 1, 1], [False] * 3),
    ("half the whole", [WHOLE, (2, 1, 7, 6), (17, 1, 22, 6)], [0, 1, 1], [True] * 3),
    ("less than half the whole", [WHOLE, (2, 1, 7, 6), (17.1, 1, 22, 6)], [0, 1, 1], [False] * 3),
    ("a part within a part", [WHOLE, (2, 1, 20, 6), (4, 2, 9, 5)], [0, 1, 1], [False] * 3),
    ("a part drawn twice", [WHOLE, LEFT, LEFT], [0, 1, 1], [False] * 3),
    ("a part drawn twice beside another", [WHOLE, LEFT, LEFT, RIGHT], [0, 1, 1, 1], [True, True, False, True]),
    ("equal boxes are no parts of each other", [WHOLE, WHOLE, LEFT], [0, 1, 1], [False] * 3),
    ("two wholes", [WHOLE, LEFT, RIGHT, WHOLE], [0, 1, 1, 2], [True] * 4),
    ("a whole without area", [(2, 1, 2, 6), LEFT, RIGHT], [0, 1, 1], [False] * 3),
]


def test_splits_are_those_found_by_hand() -> None:
    for name, boxes, annotators, expected in CASES:
        assert _found(Boxes(np.array(boxes, float).reshape(-1, 4)), annotators) == expected, name
    boxes = Boxes(np.array([WHOLE, LEFT, RIGHT], float))
    # only candidates are found, whatever the rest of the split is
    for asked in ([True, False, False], [False, True, False], [False, True, True], [False, False, False]):
        assert _found(boxes, [0, 1, 1], asked) == asked
    # the union, 19 of 20 columns, must reach the threshold
    assert _found(boxes, [0, 1, 1], threshold=0.95) == [True] * 3
    assert _found(boxes, [0, 1, 1], threshold=0.951) == [False] * 3


def test_shapes_and_intervals_are_split_like_boxes_but_lines_and_points_never() -> None:
    boxes = np.array([WHOLE, LEFT, RIGHT], float)
    polygons = Polygons.from_geometry(boxes_as_polygons(boxes))
    masks = Regions.of_masks(MaskCrops.from_crops([(np.ones((5, w), np.bool_), x, 1) for x, w in [(12, 10), (2, 20)]]))
    mixed = masks.take(np.array([1])).joined([Regions.of_polygons(polygons.take(np.array([1]))), masks.take([0])])
    frames = Intervals(boxes[:, 0].astype(int), boxes[:, 2].astype(int) - 1)
    for geometry in (Regions.of_polygons(polygons), mixed, frames):
        assert _found(geometry, [0, 1, 1]) == [True] * 3
    ends = np.array([[x, 1] for x_min, _, x_max, _ in boxes for x in (x_min, x_max)])
    lines = lines_from_points(ends, np.repeat(range(3), 2), np.arange(3), 3, tolerance_px=1.0)
    points = Keypoints(np.array([[[x_min, y_min], [x_max, y_max]] for x_min, y_min, x_max, y_max in boxes]))
    for geometry in (Regions.of_lines(lines), points):
        assert _found(geometry, [0, 1, 1]) == [False] * 3


placed = st.tuples(st.integers(0, 2), st.integers(0, 6), st.integers(0, 2), st.integers(1, 8), st.integers(1, 3))


@pytest.mark.parametrize("at_once", [1, 1000])
@SETTINGS
@given(drawn=st.lists(placed, max_size=9), asked=st.lists(st.booleans(), min_size=9, max_size=9))
def test_splits_are_those_of_sets_of_pixels(at_once: int, drawn: list, asked: list) -> None:
    drawn = sorted(drawn, key=lambda entry: entry[0])
    boxes = np.array([(x, y, x + w, y + h) for _, x, y, w, h in drawn], float).reshape(-1, 4)
    expected = _splits_of_pixels(drawn)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splits, "MAX_PAIRS_AT_ONCE", at_once)
        found = _found(Boxes(boxes), [entry[0] for entry in drawn], asked[: len(drawn)])
    assert found == [k in expected and asked[k] for k in range(len(drawn))]


def _splits_of_pixels(drawn: list) -> set[int]:
    """The objects of all splits, in whole numbers of pixels."""
    pixels = [{(i, j) for i in range(x, x + w) for j in range(y, y + h)} for _, x, y, w, h in drawn]

    def lies_in(k: int, n: int) -> bool:
        return 10 * len(pixels[k] & pixels[n]) >= 7 * len(pixels[k])

    found: set[int] = set()
    for whole, (annotator, *_) in enumerate(drawn):
        for other in range(3):
            inside = [
                k
                for k, entry in enumerate(drawn)
                if entry[0] == other != annotator and len(pixels[k]) < len(pixels[whole]) and lies_in(k, whole)
            ]
            # larger ones first, of equal ones the earlier
            size = {k: (-len(pixels[k]), k) for k in inside}
            parts = [k for k in inside if not any(size[n] < size[k] and lies_in(k, n) for n in inside)]
            union = set().union(*(pixels[k] for k in parts))
            if len(parts) >= 2 and 2 * len(union & pixels[whole]) >= len(union | pixels[whole]):
                found |= {whole, *parts}
    return found


TWO_HUNDRED = examples(200)


def _objects(*rows: tuple[int, int, int]) -> Objects:
    """Objects of (sample, annotator, class)."""
    return Objects(*np.array(rows, np.int64).reshape(-1, 3).T)


def _duplicates(geometry: Geometry, lone: list[bool], objects: Objects | None = None) -> list[bool]:
    objects = objects or _objects(*[(0, 0, 1)] * len(lone))
    area = geometry.overlaps(objects).area
    return find_duplicates(objects, np.array(lone, np.bool_), geometry, area).tolist()


LONE, MATCHED = True, False


def test_objects_of_any_geometry_can_be_duplicates() -> None:
    assert _duplicates(Boxes(np.array([(3, 1, 3, 6.0)] * 2)), [MATCHED, LONE]) == [False, False], "without area"
    lone = [LONE, LONE, LONE]
    crop, shorter = np.ones((5, 20), np.bool_), np.ones((5, 18), np.bool_)
    masks = Regions.of_masks(MaskCrops.from_crops([(crop, 4, 2), (shorter, 4, 2), (crop, 7, 2)]))
    assert _duplicates(masks, lone) == [False, True, False]
    assert _duplicates(Intervals(np.array([1, 1, 3]), np.array([20, 18, 22])), lone) == [False, True, False]
    points = np.array([[0, 0], [40, 0], [40, 20.0]])
    assert _duplicates(Keypoints(np.stack([points, points + 0.1, points + 15])), lone) == [False, True, False]
    ends = np.array([[0, 0], [20, 0], [0, 1], [19, 1], [0, 6], [20, 6.0]])
    lines = lines_from_points(ends, np.repeat(range(3), 2), np.arange(3), 3, tolerance_px=1.5)
    assert _duplicates(Regions.of_lines(lines), lone) == [False, True, False]


rows = st.tuples(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(1, 2)),
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(9, 11), st.integers(9, 11)),
    st.booleans(),
)


@pytest.mark.parametrize("at_once", [1, 1000])
@TWO_HUNDRED
@given(drawn=st.lists(rows, max_size=12))
def test_duplicates_are_those_of_sets_of_pixels(at_once: int, drawn: list) -> None:
    drawn = sorted(drawn, key=lambda entry: entry[0][:2])
    pixels = [{(x, y) for x in range(a, a + w) for y in range(b, b + h)} for _, (a, b, w, h), _ in drawn]
    expected = [
        lone
        and any(
            (other == own and n != k and (not other_lone or n < k))
            and len(pixels[k] & pixels[n]) / len(pixels[k] | pixels[n]) >= 0.9
            for n, (other, _, other_lone) in enumerate(drawn)
        )
        for k, (own, _, lone) in enumerate(drawn)
    ]
    boxes = np.array([(a, b, a + w, b + h) for _, (a, b, w, h), _ in drawn], float).reshape(-1, 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splits, "MAX_PAIRS_AT_ONCE", at_once)
        found = _duplicates(Boxes(boxes), [lone for *_, lone in drawn], _objects(*(own for own, *_ in drawn)))
    assert_array_equal(found, expected)
