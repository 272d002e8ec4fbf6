"""Keypoint similarity: closed forms, COCO's own program, plain loops, and matching by keypoints."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.chance import examples, seeds
from tests.metrics.matching_oracle import compared_pairs

from annotator_agreement import metrics
from annotator_agreement.metrics import Keypoints, Objects, oks, visibility_agreement
from annotator_agreement.metrics.geometry import circle_iou, keypoints
from annotator_agreement.metrics.geometry import objects as objects_module

NAN = float("nan")
NO = (NAN, NAN)

few = examples(100)


def _rows(*objects: list) -> np.ndarray:
    return np.array(objects, dtype=float)


# (id, a, b, σ, oks, labelled by both / either), by hand
CASES = [
    # boxes 40 x 10 and 40 x 10 (moved by (0, 2)): s² = 400, k = 0.1, d² = 4
    ("moved", [(0, 0), (40, 10)], [(0, 2), (40, 12)], 0.05, math.exp(-4 / (2 * 400 * 0.01)), 1.0),
    # areas 40 x 10 and 40 x 12: s² = 440; distances 0 and 2
    ("one moved", [(0, 0), (40, 10)], [(0, 0), (40, 12)], 0.05, (1 + math.exp(-4 / 8.8)) / 2, 1.0),
    # the second point has k = 0.2
    (
        "a sigma per point",
        [(0, 0), (40, 10)],
        [(0, 2), (40, 12)],
        [0.05, 0.1],
        (math.exp(-4 / 8) + math.exp(-4 / 32)) / 2,
        1.0,
    ),
    # areas 40 x 10 and 30 x 20 (of its own points): s² = 500; one common point, d = 5, size (40 + 30) / 2
    ("one common point of three", [(0, 0), (40, 10), NO], [(3, 4), NO, (33, 24)], 0.05, math.exp(-25 / 10), 1 / 3),
    ("no common point", [(0, 0), NO], [NO, (3, 3)], 0.05, NAN, 0.0),
    ("nothing labelled by one", [(0, 0), (4, 3)], [NO, NO], 0.05, NAN, 0.0),
    ("nothing labelled", [NO, NO], [NO, NO], 0.05, NAN, NAN),
    ("half a point is none", [(0, 0), (NAN, 9), (20, 10)], [(0, 0), (5, 9), (20, 10)], 0.05, 1.0, 2 / 3),
    ("equal single points", [(5, 7)], [(5, 7)], 0.05, 1.0, 1.0),
    ("single points a hair apart", [(5, 7)], [(5, 7.001)], 0.05, 0.0, 1.0),
    ("all points in one place", [(5, 7), (5, 7)], [(5, 7), (5, 7)], 0.05, 1.0, 1.0),
    # area 40 x 4, a tenth of the longer side in place of 0
    ("on a line", [(0, 3), (40, 3)], [(0, 4), (40, 4)], 0.05, math.exp(-1 / (2 * 160 * 0.01)), 1.0),
    # areas 0 and 40 x 10: s² = 200, size 20
    ("a point and an object", [(0, 0), NO], [(0, 1), (40, 11)], 0.05, math.exp(-1 / (2 * 200 * 0.01)), 0.5),
]


def test_cases_have_the_values_computed_by_hand() -> None:
    for name, a, b, sigmas, similarity, visible in CASES:
        a, b, sigmas = _rows(a), _rows(b), np.array(sigmas)
        for first, second in ((a, b), (b, a)):
            assert_allclose(oks(first, second, sigmas), [similarity], rtol=0, atol=1e-14, err_msg=name)
            assert_allclose(visibility_agreement(first, second), [visible], rtol=0, atol=1e-14, err_msg=name)


def test_points_at_the_end_of_all_numbers_have_a_value_or_none() -> None:
    far = _rows([(0, 0), (1e200, 1e200), (-1e308, 1e308)])
    assert_array_equal(oks(far, far), [1.0])
    assert_array_equal(keypoints.object_scale(far), [np.inf])
    assert_array_equal(oks(far, far / 2), [NAN])
    objects = Objects(np.array([0, 0]), np.array([0, 1]), np.array([1, 1]))
    assert not len(keypoints.Keypoints(np.concatenate([far, far / 2])).overlaps(objects).i)


def test_no_rows_and_no_points_give_empty_and_undefined_values() -> None:
    for function in (oks, visibility_agreement):
        assert function(np.empty((0, 3, 2)), np.empty((0, 3, 2))).shape == (0,)
        assert np.isnan(function(np.empty((2, 0, 2)), np.empty((2, 0, 2)))).all()
    assert np.isnan(keypoints.object_scale(np.empty((2, 0, 2)))).all()
    overlaps = Keypoints(np.empty((0, 17, 2))).overlaps(Objects(*np.zeros((3, 0), np.int64)))
    assert (len(overlaps.i), len(overlaps.similarity("iou")), len(overlaps.area)) == (0, 0, 0)


def test_cocos_sigmas_are_the_published_ones() -> None:
    # https://cocodataset.org/#keypoints-eval, left and right alike
    published = {"nose": 0.026, "eyes": 0.025, "ears": 0.035, "shoulders": 0.079, "elbows": 0.072}
    published |= {"wrists": 0.062, "hips": 0.107, "knees": 0.087, "ankles": 0.089}
    expected = [value for name, value in published.items() for _ in range(1 if name == "nose" else 2)]
    assert_array_equal(metrics.COCO_SIGMAS, expected)
    with pytest.raises(ValueError, match="read-only"):
        metrics.COCO_SIGMAS[0] = 1.0


def coco_oks(a: list, b: list, area: float) -> float:
    """Similarity of two persons by pycocotools, with the given area of the object."""
    cocoeval = pytest.importorskip("pycocotools.cocoeval")
    evaluation = cocoeval.COCOeval(iouType="keypoints")

    def flat(points: list) -> list[float]:
        return [value for x, y in points for value in ((0, 0, 0) if math.isnan(x) else (x, y, 2))]

    truth = {"keypoints": flat(a), "area": area, "bbox": [0, 0, 1, 1]}
    evaluation._gts = {(1, 1): [truth]}
    evaluation._dts = {(1, 1): [{"keypoints": flat(b), "score": 1.0}]}
    return float(evaluation.computeOks(1, 1)[0, 0])


def _box_area(points: list) -> float:
    x, y = zip(*(point for point in points if not math.isnan(point[0])), strict=True)
    return (max(x) - min(x)) * (max(y) - min(y))


@pytest.mark.parametrize("seed", seeds(20))
def test_persons_have_the_similarity_that_cocos_program_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.uniform(0, [60, 180], (17, 2))
    b = a + rng.normal(0, [2.0, 9.0], (17, 2))
    a[rng.random(17) < 0.3] = NAN  # COCO's program takes the points that the ground truth labels
    area = (_box_area(a.tolist()) + _box_area(b.tolist())) / 2
    expected = coco_oks(a.tolist(), b.tolist(), area)
    assert 0.01 < expected < 0.99
    assert_allclose(oks(a[None], b[None], metrics.COCO_SIGMAS), [expected], rtol=0, atol=1e-12)


def _oks_by_loop(a: list, b: list, sigmas: list) -> float:
    """Similarity of two objects from its definition."""
    areas = []
    for points in (a, b):
        present = [point for point in points if not math.isnan(point[0])]
        sides = [max(axis) - min(axis) for axis in zip(*present, strict=True)] if present else [0.0, 0.0]
        areas.append(max(sides) * max(min(sides), max(sides) / 10))
    terms = []
    for (xa, ya), (xb, yb), sigma in zip(a, b, sigmas, strict=True):
        if math.isnan(xa) or math.isnan(xb):
            continue
        squared = (xa - xb) ** 2 + (ya - yb) ** 2
        spread = 2 * (sum(areas) / 2) * (2 * sigma) ** 2
        terms.append((1.0 if squared == 0 else 0.0) if spread == 0 else math.exp(-squared / spread))
    return sum(terms) / len(terms) if terms else NAN


@st.composite
def objects_of(draw: st.DrawFn, n_points: int) -> np.ndarray:
    """One object ``(1, L, 2)`` on a grid of half pixels 20 wide and 9 high, any point may be missing."""
    point = st.one_of(
        st.just(NO), st.tuples(st.integers(0, 40).map(lambda x: x / 2), st.integers(0, 18).map(lambda y: y / 2))
    )
    return _rows(draw(st.lists(point, min_size=n_points, max_size=n_points)))


SIGMAS = np.array([0.05, 0.2, 0.11, 0.4])
pairs = given(objects_of(4), objects_of(4))


@few
@pairs
def test_similarity_is_that_of_a_plain_loop(a: np.ndarray, b: np.ndarray) -> None:
    expected = _oks_by_loop(a[0].tolist(), b[0].tolist(), SIGMAS.tolist())
    labelled = [~np.isnan(points[0]).any(axis=1) for points in (a, b)]
    both, either = np.logical_and(*labelled).sum(), np.logical_or(*labelled).sum()
    for first, second in ((a, b), (b, a)):
        assert_allclose(oks(first, second, SIGMAS), [expected], rtol=0, atol=1e-13)
        assert_allclose(visibility_agreement(first, second), [both / either if either else NAN], rtol=0, atol=1e-15)


GOOD = np.zeros((1, 2, 2))
POINT_ERRORS = [
    (np.zeros((4, 2)), r"`points_a` must have the shape \(N, L, 2\), got \(4, 2\)"),
    (np.zeros((1, 2, 3)), r"`points_a` must have the shape \(N, L, 2\), got \(1, 2, 3\)"),
    (_rows([(0, 0), (NAN, np.inf)]), r"`points_a` must be finite or nan, got \[nan, inf\]"),
]
SIGMA_ERRORS = [
    (np.full(3, 0.1), r"`sigmas` must be one number or have the shape \(2,\), got \(3,\)"),
    (np.array([0.1, 0.0]), r"`sigmas` must be finite and > 0, got 0.0"),
    (-0.5, r"`sigmas` must be finite and > 0, got -0.5"),
    (NAN, r"`sigmas` must be finite and > 0, got nan"),
]


def test_unusable_points_and_sigmas_are_an_error_that_names_the_argument() -> None:
    for function in (oks, visibility_agreement):
        for points, message in POINT_ERRORS:
            with pytest.raises(ValueError, match=message):
                function(points, GOOD)
            with pytest.raises(ValueError, match=message.replace("points_a", "points_b")):
                function(GOOD, points)
            with pytest.raises(ValueError, match=message.replace("points_a", "points_xy")):
                Keypoints(points)
        message = r"`points_a` and `points_b` must have the same shape, got \(1, 2, 2\) and \(1, 3, 2\)"
        with pytest.raises(ValueError, match=message):
            function(GOOD, np.zeros((1, 3, 2)))
    for sigmas, message in SIGMA_ERRORS:
        with pytest.raises(ValueError, match=message):
            oks(GOOD, GOOD, sigmas)
        with pytest.raises(ValueError, match=message):
            Keypoints(GOOD, sigmas)
    with pytest.raises(ValueError, match=r"`objects` must have the length 1, got 2"):
        Keypoints(GOOD).overlaps(Objects(*np.zeros((3, 2), np.int64)))
    with pytest.raises(ValueError, match=r"Joined keypoints must have the same `sigmas`, got 0.05 and 0.1"):
        Keypoints(GOOD).joined([Keypoints(GOOD, 0.1)])


def _crowd(n: int, annotators: int, samples: int, seed: int) -> tuple[Objects, np.ndarray, np.ndarray]:
    """Noisy copies of persons, in a different order for each annotator: objects, points, and the person of each."""
    rng = np.random.default_rng(seed)
    rows = []
    for sample in range(samples):
        persons = rng.uniform(0, [600, 150], (n, 1, 2)) + rng.uniform(0, [60, 180], (n, 17, 2))
        for annotator in range(annotators):
            points = persons + rng.normal(0, [1.0, 4.0], persons.shape)
            points[rng.random((n, 17)) < 0.2] = NAN
            order = rng.permutation(n)
            rows += [(sample, annotator, sample * n + person, points[person]) for person in order]
    sample, annotator, person = (np.array(column) for column in list(zip(*rows, strict=True))[:3])
    return Objects(sample, annotator, np.ones_like(sample)), np.array([row[3] for row in rows]), person


def test_noisy_copies_are_matched_with_their_originals() -> None:
    objects, points, person = _crowd(n=8, annotators=3, samples=4, seed=5)
    overlaps = Keypoints(points, metrics.COCO_SIGMAS).overlaps(objects)
    assert len(overlaps.i) > 3 * 8 * 4  # persons stand in each other's way
    for method, similarity in itertools.product(("optimal", "recursive", "mutual_best"), ("iou", "dice")):
        unit = metrics.match_objects(objects, overlaps, method=method, similarity=similarity).unit
        assert_array_equal(unit[:, None] == unit, person[:, None] == person)


def test_overlaps_carry_the_similarity_of_all_pairs_whatever_the_size_of_a_chunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    objects, points, _ = _crowd(n=3, annotators=3, samples=2, seed=8)
    points[4] = NAN
    rows, sigmas = points.tolist(), metrics.COCO_SIGMAS * 2
    found = {(i, j): _oks_by_loop(rows[i], rows[j], sigmas.tolist()) for i, j in compared_pairs(objects)}
    expected = {pair: value for pair, value in found.items() if value >= 1e-12}
    iou = np.array([*expected.values()])
    for max_pairs, max_points in itertools.product((1, 7, 500_000), (1, 50, 50_000)):
        monkeypatch.setattr(objects_module, "MAX_PAIRS_AT_ONCE", max_pairs)
        monkeypatch.setattr(keypoints, "_MAX_POINTS_AT_ONCE", max_points)
        overlaps = Keypoints(points, sigmas).overlaps(objects)
        assert list(zip(overlaps.i.tolist(), overlaps.j.tolist(), strict=True)) == list(expected)
        assert_allclose(overlaps.similarity("iou"), iou, rtol=0, atol=1e-12)
        assert_allclose(overlaps.similarity("dice"), 2 * iou / (1 + iou), rtol=0, atol=1e-12)
        assert_array_equal(overlaps.area, np.ones(len(points)))


def test_similarities_below_the_least_are_no_overlap() -> None:
    objects = Objects(np.zeros(2, np.int64), np.array([0, 1]), np.ones(2, np.int64))
    # s² = 400 and k = 0.1: exp(-d² / 8) falls below 1e-12 at d = 14.87
    for distance, n_pairs in ((14.8, 1), (14.9, 0)):
        points = _rows([(0, 0), (40, 10)], [(0, distance), (40, 10 + distance)])
        assert len(Keypoints(points).overlaps(objects).i) == n_pairs


def test_joined_keypoints_follow_each_other_and_the_shorter_ones_are_padded() -> None:
    joined = Keypoints(_rows([(1, 2)], [(3, 4)])).joined([Keypoints(_rows([(5, 6), (7, 8)])), Keypoints(GOOD[:0])])
    assert_array_equal(joined.points_xy, _rows([(1, 2), NO], [(3, 4), NO], [(5, 6), (7, 8)]))
    assert_array_equal(Keypoints(GOOD).joined([]).points_xy, GOOD)


@pytest.mark.parametrize("seed", seeds(6))
def test_circles_of_one_radius_share_what_polygons_of_many_corners_share(seed: int) -> None:
    rng = np.random.default_rng(seed)
    radius = float(rng.uniform(0.5, 40))
    centres = rng.uniform(0, 3 * radius, (6, 2))
    circles = shapely.buffer(shapely.points(centres), radius, quad_segs=2_000)
    for k, other in itertools.product(range(6), repeat=2):
        expected = circles[k].intersection(circles[other]).area / circles[k].union(circles[other]).area
        apart = np.hypot(*(centres[k] - centres[other]))
        assert circle_iou(np.array([apart]), radius)[0] == pytest.approx(expected, rel=0, abs=1e-5)


def test_keypoints_with_a_radius_are_compared_by_the_circles_around_points_that_both_labelled() -> None:
    points = np.array([[[5.0, 5], [20, 5]], [[5, 8], [20, 5]], [[5, 25], [NAN, NAN]], [[5, 8], [NAN, NAN]]])
    geometry = Keypoints(points, radius=np.full(4, 10.0))
    first = np.array([0, 0, 0])
    shared = geometry.intersection_of(first, np.array([1, 2, 3]))
    three = shapely.Point(5, 5).buffer(10, 4_000), shapely.Point(5, 8).buffer(10, 4_000)
    near = three[0].intersection(three[1]).area / three[0].union(three[1]).area
    iou = np.array([(near + 1) / 2, 0.0, near])
    np.testing.assert_allclose(shared, 2 * iou / (1 + iou), rtol=0, atol=1e-6)
    np.testing.assert_allclose(geometry.area, np.pi * 100 * np.array([2, 2, 1, 1]))
    assert not geometry.without_extent.any()
    objects = Objects(np.zeros(4, np.int64), np.array([0, 1, 2, 3]), np.ones(4, np.int64))
    overlaps = geometry.overlaps(objects)
    np.testing.assert_allclose(overlaps.values_at(overlaps.iou, first, np.array([1, 2, 3])), iou, rtol=0, atol=1e-6)
    assert np.array_equal(geometry.take(np.array([1])).joined([geometry]).radius, np.full(5, 10.0))
