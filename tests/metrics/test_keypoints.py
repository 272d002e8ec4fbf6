"""Keypoint similarity: closed forms and plain loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.chance import examples
from tests.metrics.matching_oracle import compared_pairs

from annotator_agreement import metrics
from annotator_agreement.metrics import Keypoints, Objects, oks, visibility_agreement
from annotator_agreement.metrics.geometry import keypoints
from annotator_agreement.metrics.geometry import objects as objects_module

NAN = float("nan")
NO = (NAN, NAN)


def _rows(*objects: list) -> np.ndarray:
    return np.array(objects, dtype=float)


def test_points_at_the_end_of_all_numbers_half_ones_and_none_have_a_value_or_none() -> None:
    half, whole = _rows([(0, 0), (NAN, 9), (20, 10)]), _rows([(0, 0), (5, 9), (20, 10)])
    assert (oks(half, whole).tolist(), visibility_agreement(half, whole).tolist()) == ([1.0], [2 / 3])
    assert_array_equal(oks(_rows([(5, 7)]), _rows([(5, 7.001)])), [0.0])  # of one point only the same is similar
    far = _rows([(0, 0), (1e200, 1e200), (-1e308, 1e308)])
    assert_array_equal(oks(far, far), [1.0])
    assert_array_equal(keypoints.object_scale(far), [np.inf])
    assert_array_equal(oks(far, far / 2), [NAN])
    objects = Objects(np.array([0, 0]), np.array([0, 1]), np.array([1, 1]))
    assert not len(keypoints.Keypoints(np.concatenate([far, far / 2])).overlaps(objects).i)
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


@examples(100)
@given(objects_of(4), objects_of(4))
def test_similarity_is_that_of_a_plain_loop(a: np.ndarray, b: np.ndarray) -> None:
    expected = _oks_by_loop(a[0].tolist(), b[0].tolist(), SIGMAS.tolist())
    labelled = [~np.isnan(points[0]).any(axis=1) for points in (a, b)]
    both, either = np.logical_and(*labelled).sum(), np.logical_or(*labelled).sum()
    for first, second in ((a, b), (b, a)):
        assert_allclose(oks(first, second, SIGMAS), [expected], rtol=0, atol=1e-13)
        assert_allclose(visibility_agreement(first, second), [both / either if either else NAN], rtol=0, atol=1e-15)


GOOD = np.zeros((1, 2, 2))


def test_unusable_points_and_sigmas_are_an_error_that_names_the_argument() -> None:
    for function in (oks, visibility_agreement):
        for points, message in (
            (np.zeros((4, 2)), r"`points_a` must have the shape \(N, L, 2\), got \(4, 2\)"),
            (np.zeros((1, 2, 3)), r"`points_a` must have the shape \(N, L, 2\), got \(1, 2, 3\)"),
            (_rows([(0, 0), (NAN, np.inf)]), r"`points_a` must be finite or nan, got \[nan, inf\]"),
        ):
            with pytest.raises(ValueError, match=message):
                function(points, GOOD)
            with pytest.raises(ValueError, match=message.replace("points_a", "points_b")):
                function(GOOD, points)
            with pytest.raises(ValueError, match=message.replace("points_a", "points_xy")):
                Keypoints(points)
        message = r"`points_a` and `points_b` must have the same shape, got \(1, 2, 2\) and \(1, 3, 2\)"
        with pytest.raises(ValueError, match=message):
            function(GOOD, np.zeros((1, 3, 2)))
    for sigmas, message in (
        (np.full(3, 0.1), r"`sigmas` must be one number or have the shape \(2,\), got \(3,\)"),
        (np.array([0.1, 0.0]), r"`sigmas` must be finite and > 0, got 0.0"),
        (-0.5, r"`sigmas` must be finite and > 0, got -0.5"),
        (NAN, r"`sigmas` must be finite and > 0, got nan"),
    ):
        with pytest.raises(ValueError, match=message):
            oks(GOOD, GOOD, sigmas)
        with pytest.raises(ValueError, match=message):
            Keypoints(GOOD, sigmas)
    with pytest.raises(ValueError, match=r"`objects` must have the length 1, got 2"):
        Keypoints(GOOD).overlaps(Objects(*np.zeros((3, 2), np.int64)))
    with pytest.raises(ValueError, match=r"Joined keypoints must have the same `sigmas`, got 0.05 and 0.1"):
        Keypoints(GOOD).joined([Keypoints(GOOD, 0.1)])


def _crowd(n: int, annotators: int, samples: int, seed: int) -> tuple[Objects, np.ndarray]:
    """Noisy copies of persons by each annotator: objects and points."""
    rng = np.random.default_rng(seed)
    persons = rng.uniform(0, [600, 150], (samples, 1, n, 1, 2)) + rng.uniform(0, [60, 180], (samples, 1, n, 17, 2))
    points = persons + rng.normal(0, [1.0, 4.0], (samples, annotators, n, 17, 2))
    points[rng.random(points.shape[:-1]) < 0.2] = NAN
    sample, annotator, _ = np.indices((samples, annotators, n)).reshape(3, -1)
    return Objects(sample, annotator, np.ones_like(sample)), points.reshape(-1, 17, 2)


def test_overlaps_carry_the_similarity_of_all_pairs_whatever_the_size_of_a_chunk(monkeypatch) -> None:
    objects, points = _crowd(n=3, annotators=3, samples=2, seed=8)
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


def test_similarities_below_the_least_are_no_overlap_and_shorter_ones_are_padded_when_joined() -> None:
    objects = Objects(np.zeros(2, np.int64), np.array([0, 1]), np.ones(2, np.int64))
    # s² = 400 and k = 0.1: exp(-d² / 8) falls below 1e-12 at d = 14.87
    for distance, n_pairs in ((14.8, 1), (14.9, 0)):
        points = _rows([(0, 0), (40, 10)], [(0, distance), (40, 10 + distance)])
        assert len(Keypoints(points).overlaps(objects).i) == n_pairs
    joined = Keypoints(_rows([(1, 2)], [(3, 4)])).joined([Keypoints(_rows([(5, 6), (7, 8)])), Keypoints(GOOD[:0])])
    assert_array_equal(joined.points_xy, _rows([(1, 2), NO], [(3, 4), NO], [(5, 6), (7, 8)]))
    assert_array_equal(Keypoints(GOOD).joined([]).points_xy, GOOD)


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
