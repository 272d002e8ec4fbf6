"""Columns of objects and which of them overlap; objects that one annotator drew in parts, or twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.chance import examples
from tests.metrics.matching_oracle import columns, compared_pairs, similarity_of, sorted_rows

from annotator_agreement import metrics
from annotator_agreement.metrics import Intervals, Keypoints, MaskCrops, Objects, Regions, box_overlaps
from annotator_agreement.metrics.geometry import Boxes, Geometry, box_area, box_intersection, iou_from_areas, near_pairs
from annotator_agreement.metrics.geometry import objects as objects_module
from annotator_agreement.metrics.matching import find_duplicates, find_splits, splits

ZERO = np.zeros(2, np.int64)


def test_unusable_columns_are_an_error_and_annotators_end_where_the_next_begins() -> None:
    for arrays, message in (
        ((ZERO, ZERO[:1], ZERO), r"`annotator` must have the shape \(2,\), got \(1,\)"),
        ((ZERO, ZERO, np.zeros(3, np.int64)), r"`category` must have the shape \(2,\), got \(3,\)"),
        ((np.zeros((2, 1), np.int64),) * 3, r"`sample` must have the shape"),
        ((ZERO, ZERO, np.zeros(2)), r"`category` must be integers >= 0, got float64 from 0.0"),
        ((ZERO, ZERO - 1, ZERO), r"`annotator` must be integers >= 0, got int64 from -1"),
        ((np.array([1, 0]), ZERO, ZERO), r"Objects must be sorted by sample, then annotator, got rows out of order"),
        ((ZERO, np.array([1, 0]), ZERO), r"Objects must be sorted by sample, then annotator, got rows out of order"),
    ):
        with pytest.raises(ValueError, match=message):
            Objects(*arrays)
    with pytest.raises(ValueError, match="`boxes` must have max >= min, got"):
        box_overlaps(Objects(ZERO, ZERO, ZERO), np.array([[0, 0, 1, 1], [0, 5, 1, 1.0]]))
    sample, annotator = np.array([0, 0, 0, 2, 2, 3]), np.array([0, 1, 1, 0, 0, 0])
    assert Objects(sample, annotator, annotator).same_annotator_ends().tolist() == [1, 3, 3, 5, 5, 6]
    rows = [(0, 0, 1, 0, 0, 4, 2), (0, 1, 1, 2, 0, 6, 2), (0, 1, 1, 8, 0, 9, 2), (0, 2, 1, 2, 1, 6, 2)]
    overlaps = box_overlaps(*columns(rows))
    i, j = np.array([0, 0, 1, 0]), np.array([1, 2, 3, 3])
    assert_allclose(overlaps.values_at(overlaps.similarity("iou"), i, j), [1 / 3, 0, 1 / 2, 1 / 5], rtol=0, atol=1e-15)
    alone = box_overlaps(*columns(rows[:1]))
    assert_array_equal(alone.values_at(alone.intersection, ZERO, ZERO), [0, 0])
    position, found = alone.find(ZERO, ZERO)
    assert (position.tolist(), found.tolist()) == ([0, 0], [False, False])


def _rows(seed: int) -> list:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(40):
        x, y, w, h = rng.uniform(0, 12), rng.uniform(0, 5), rng.uniform(0, 5), rng.uniform(0, 3)
        rows.append((int(rng.integers(3)), int(rng.integers(3)), 1, x, y, x + w, y + h))
    return sorted_rows(rows)


def test_overlaps_are_those_of_all_pairs_of_two_annotators_whatever_the_size_of_a_chunk(monkeypatch) -> None:
    rows = _rows(3)
    objects, boxes = columns(rows)
    for max_pairs in (1, 7, 500_000):
        monkeypatch.setattr(objects_module, "MAX_PAIRS_AT_ONCE", max_pairs)
        overlaps = box_overlaps(objects, boxes)
        for kind in ("iou", "dice"):
            found = {(i, j): similarity_of(rows[i][3:], rows[j][3:], kind) for i, j in compared_pairs(objects)}
            expected = {pair: value for pair, value in found.items() if value > 0}
            assert list(zip(overlaps.i.tolist(), overlaps.j.tolist(), strict=True)) == list(expected)
            assert_allclose(overlaps.similarity(kind), [*expected.values()], rtol=0, atol=1e-12)
    nothing = box_overlaps(*columns([]))
    assert (len(nothing.i), len(nothing.j), len(nothing.similarity("iou"))) == (0, 0, 0)


def _boxes(n: int, seed: int, size: tuple[float, float]) -> np.ndarray:
    rng = np.random.default_rng(seed)
    sides = rng.uniform(*size, (n, 2))
    corner = rng.uniform(0.0, 1.0 - sides)
    return np.hstack([corner, corner + sides])


def _iou_by_brute_force(boxes: np.ndarray, annotator: np.ndarray) -> np.ndarray:
    area = box_area(boxes)
    iou = iou_from_areas(box_intersection(boxes[:, None], boxes), area[:, None], area)
    iou[annotator[:, None] == annotator] = 0.0
    return iou


@pytest.mark.parametrize(
    ("n", "n_annotators", "size"), [(300, 3, (0.01, 0.3)), (40, 25, (0.1, 0.9)), (500, 2, (0, 0.02))]
)
def test_near_pairs_are_all_whose_boxes_overlap(n: int, n_annotators: int, size: tuple[float, float]) -> None:
    boxes, annotator = _boxes(n * n_annotators, 3, size), np.repeat(np.arange(n_annotators), n)
    near = near_pairs(boxes, annotator, max_pairs=10**9)
    i, j = np.nonzero(np.triu(_iou_by_brute_force(boxes, annotator) > 0.0))
    assert near.complete
    assert (near.i.tolist(), near.j.tolist()) == (i.tolist(), j.tolist())


def test_of_too_many_pairs_every_object_keeps_the_most_similar_of_every_other_annotator() -> None:
    n, n_annotators, n_kept = 120, 4, 5
    boxes, annotator = _boxes(n * n_annotators, 5, (0.4, 0.6)), np.repeat(np.arange(n_annotators), n)
    near = near_pairs(boxes, annotator, max_pairs=n_kept * n * n_annotators * (n_annotators - 1))
    iou = _iou_by_brute_force(boxes, annotator)
    expected = set()
    for row in range(len(boxes)):
        for other in set(range(n_annotators)) - {int(annotator[row])}:
            columns = np.flatnonzero((annotator == other) & (iou[row] > 0.0))
            best = columns[np.argsort(-iou[row, columns])[:n_kept]]
            expected |= {(min(row, column), max(row, column)) for column in best.tolist()}
    assert not near.complete
    assert set(zip(near.i.tolist(), near.j.tolist(), strict=True)) == expected


def test_of_too_many_pairs_those_at_the_same_place_or_the_most_similar_of_all_are_kept() -> None:
    n, annotator = 50, np.repeat(np.arange(3), 50)
    near = near_pairs(np.tile([[0.0, 0, 1, 1]], (150, 1)), annotator, max_pairs=2 * 150)
    assert len(near.i) == 3 * n
    assert (near.i % n == near.j % n).all()
    boxes, annotator = _boxes(300, 8, (0.4, 0.6)), np.repeat(np.arange(60), 5)
    near = near_pairs(boxes, annotator, max_pairs=600)
    iou = _iou_by_brute_force(boxes, annotator)
    assert len(near.i) <= 600
    best = iou.argmax(axis=1)
    kept = set(zip(near.i.tolist(), near.j.tolist(), strict=True))
    assert all((min(row, other), max(row, other)) in kept for row, other in enumerate(best.tolist()))
    assert (annotator[near.i] != annotator[near.j]).all()


def test_a_large_sample_between_others_has_the_same_overlaps_as_compared_pair_by_pair(monkeypatch) -> None:
    counts = [(2, 7), (3, 40), (1, 5), (3, 30), (2, 9)]
    sample = np.concatenate([np.full(n_annotators * n, k) for k, (n_annotators, n) in enumerate(counts)])
    annotator = np.concatenate([np.repeat(np.arange(n_annotators), n) for n_annotators, n in counts])
    boxes = Boxes(_boxes(len(sample), 13, (0.05, 0.4)))
    of = Objects(sample, annotator, np.ones(len(sample), np.int64))
    one_by_one = boxes.overlaps(of)
    monkeypatch.setattr(objects_module, "_MANY_PAIRS", 1_000)
    by_position = boxes.overlaps(of)
    for name in ("i", "j", "intersection"):
        assert getattr(by_position, name).tolist() == getattr(one_by_one, name).tolist()
    assert by_position.crowded is None
    monkeypatch.setattr(objects_module, "MAX_PAIRS_OF_SAMPLE", 800)
    crowded = boxes.overlaps(of).crowded
    assert crowded is not None
    assert set(sample[crowded].tolist()) == {1}


WHOLE, LEFT, RIGHT = (2, 1, 22, 6), (2, 1, 11, 6), (12, 1, 22, 6)


def _found(geometry: Geometry, annotators: list[int], asked: list[bool] | None = None, threshold: float = 0.5) -> list:
    objects = Objects(np.zeros(len(annotators), int), np.array(annotators, int), np.ones(len(annotators), int))
    candidates = np.ones(len(annotators), np.bool_) if asked is None else np.array(asked, np.bool_)
    return find_splits(objects, candidates, geometry.overlaps(objects), geometry, threshold).tolist()


def test_splits_are_those_found_by_hand() -> None:
    # (id, boxes, annotators, what is split)
    for name, boxes, annotators, expected in (
        ("nothing", [], [], []),
        ("parts of the annotator who drew the whole", [WHOLE, LEFT, RIGHT], [0, 0, 0], [False] * 3),
        ("seven tenths inside", [WHOLE, LEFT, (15, 1, 25, 6)], [0, 1, 1], [True] * 3),
        ("less than seven tenths inside", [WHOLE, LEFT, (15.1, 1, 25.1, 6)], [0, 1, 1], [False] * 3),
        ("half the whole", [WHOLE, (2, 1, 7, 6), (17, 1, 22, 6)], [0, 1, 1], [True] * 3),
        ("less than half the whole", [WHOLE, (2, 1, 7, 6), (17.1, 1, 22, 6)], [0, 1, 1], [False] * 3),
        ("a whole without area", [(2, 1, 2, 6), LEFT, RIGHT], [0, 1, 1], [False] * 3),
    ):
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
    polygons = metrics.Polygons.from_geometry(metrics.boxes_as_polygons(boxes))
    masks = Regions.of_masks(MaskCrops.from_crops([(np.ones((5, w), np.bool_), x, 1) for x, w in [(12, 10), (2, 20)]]))
    mixed = masks.take(np.array([1])).joined([Regions.of_polygons(polygons.take(np.array([1]))), masks.take([0])])
    frames = Intervals(boxes[:, 0].astype(int), boxes[:, 2].astype(int) - 1)
    for geometry in (Regions.of_polygons(polygons), mixed, frames):
        assert _found(geometry, [0, 1, 1]) == [True] * 3
    ends = np.array([[x, 1] for x_min, _, x_max, _ in boxes for x in (x_min, x_max)])
    lines = metrics.lines_from_points(ends, np.repeat(range(3), 2), np.arange(3), 3, tolerance_px=1.0)
    points = Keypoints(np.array([[[x_min, y_min], [x_max, y_max]] for x_min, y_min, x_max, y_max in boxes]))
    for geometry in (Regions.of_lines(lines), points):
        assert _found(geometry, [0, 1, 1]) == [False] * 3


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
    lines = metrics.lines_from_points(ends, np.repeat(range(3), 2), np.arange(3), 3, tolerance_px=1.5)
    assert _duplicates(Regions.of_lines(lines), lone) == [False, True, False]


rows = st.tuples(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(1, 2)),
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(9, 11), st.integers(9, 11)),
    st.booleans(),
)


@pytest.mark.parametrize("at_once", [1, 1000])
@examples(200)
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
