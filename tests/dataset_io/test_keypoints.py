"""Keypoints: positions are compared by OKS in pixels; whether points are labelled is counted separately."""

from __future__ import annotations

import math

import fiftyone as fo
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from tests.chance import examples
from tests.dataset_io.quick_runs import compute_quickly, refused_run

import annotator_agreement as aa
from annotator_agreement.dataset_io import load_agreement
from annotator_agreement.dataset_io.labels import are_usable_keypoints, read_keypoints

PAIR = ["alice", "bob"]
WIDTH, HEIGHT = 400, 100
NAN = math.nan
NO = [NAN, NAN]

#: three points of an object, and the same moved by 4 pixels to the right
POINTS = [[0.1, 0.2], [0.2, 0.2], [0.2, 0.6]]
MOVED = [[x + 4 / WIDTH, y] for x, y in POINTS]


def _keypoints(*objects, label="person"):
    return fo.Keypoints(keypoints=[fo.Keypoint(label=label, points=points) for points in objects])


def _dataset(make_dataset, *samples, size=(WIDTH, HEIGHT)):
    dataset, metadata = make_dataset({}), size and fo.ImageMetadata(width=size[0], height=size[1])
    dataset.add_samples([fo.Sample(f"/images/{k}.jpg", metadata=metadata, **of) for k, of in enumerate(samples)])
    return dataset


def test_objects_are_matched_and_scored_by_their_oks_in_pixels(make_dataset):
    dataset = _dataset(make_dataset, {"alice": _keypoints(POINTS), "bob": _keypoints(MOVED)})
    for sigmas, of_points in ((None, [0.05] * 3), (0.1, [0.1] * 3), ([0.02, 0.1, 0.3], [0.02, 0.1, 0.3])):
        report = compute_quickly(dataset, PAIR, iou=0.1, sigmas=sigmas, overwrite=True)
        # 4 pixels apart, in boxes of 40 x 40 pixels
        expected = sum(math.exp(-(4**2) / (2 * 40 * 40 * (2 * sigma) ** 2)) for sigma in of_points) / 3
        assert 0.1 < expected < 0.9
        sample = dataset.first()
        assert sample.alice.keypoints[0].agreement == "agreed"
        found = sample.bob.keypoints[0].agreement_iou, sample.agreement_score, report.pairs[0].mean_iou
        assert found == pytest.approx((expected,) * 3, abs=1e-9)
        assert report.localisation.mean_iou == pytest.approx(expected, abs=1e-9)
        assert report.localisation.measure == "OKS"


def test_options_that_do_not_fit_and_images_without_a_size_are_refused(make_dataset):
    drawn = {"alice": _keypoints(POINTS), "bob": _keypoints(POINTS)}
    of_three, without = _dataset(make_dataset, drawn), _dataset(make_dataset, drawn, size=None)
    cells, unsized = _cells(make_dataset), _cells(make_dataset, size=None)
    number = "as many points as constants, got 2 "
    size = r"must have an image size .*, got 1 without .*compute_metadata"
    for dataset, options, message in (
        (of_three, {"sigmas": "coco"}, number + "that are not, on samples"),
        (of_three, {"sigmas": [0.05, 0.05]}, number),
        (without, {}, size),
        (unsized, {"point_radius": 0.02}, size),
        (unsized, {"point_radius": 8}, size),
        (cells, {"point_radius": 5, "sigmas": 0.1}, "`sigmas` has no effect with `point_radius`.* leave one of the"),
        (cells, {"point_radius": 0}, "`point_radius` must be a number above 0, or None, got 0"),
        (cells, {"fields": ["alice", "bob", "carol"]}, "points or more unless `point_radius` gives .*, got 7 that"),
    ):
        refused_run(message, dataset, **{"fields": PAIR, **options})
    report = compute_quickly(cells, PAIR, invalid="skip")
    assert (report.run.n_invalid, report.n_objects) == (4, 0)
    # one labelled point of several is not refused, and matches only where it is equal
    alice, bob = _keypoints([[0.5, 0.5], NO], [[0.1, 0.1], NO]), _keypoints([[0.5, 0.5], NO], [[0.1001, 0.1], NO])
    seen = _dataset(make_dataset, {"alice": alice, "bob": bob})
    assert compute_quickly(seen, PAIR).n_points == 4
    assert seen.values("alice.keypoints.agreement") == [["agreed", "lone"]]


#: points of alice and bob at the same places; the share that both labelled of the points that anybody labelled
SEEN = [
    ([*POINTS, NO], [*POINTS[:2], NO, [0.9, 0.9]], 2 / 4),  # points that are not labelled do not move an object
    (POINTS, [*POINTS, [0.3, 0.9]], 3 / 4),  # of other lengths, those that both have count
    ([POINTS[0], [None, None], POINTS[2]], [*POINTS, [0.3, 0.9]], 2 / 4),  # None is not labelled either
]


@pytest.mark.long
def test_points_that_only_one_labelled_do_not_move_an_object_and_are_counted(make_dataset):
    dataset = _dataset(make_dataset, {"alice": _keypoints(POINTS), "bob": _keypoints(POINTS)})
    for alice, bob, visibility in SEEN:
        change = {"alice.keypoints.0.points": alice, "bob.keypoints.0.points": bob}
        dataset._sample_collection.update_one({}, {"$set": change})
        report = compute_quickly(dataset, PAIR, overwrite=True)
        assert dataset.first().agreement_iou == pytest.approx(1.0)
        assert report.localisation.visibility == report.pairs[0].visibility == pytest.approx(visibility)
    assert load_agreement(dataset) == report


def test_visibility_is_a_mean_over_matched_pairs_of_labels(make_dataset):
    half = [POINTS[0], POINTS[1], NO]
    first = {"alice": _keypoints(POINTS), "bob": _keypoints(POINTS), "carol": _keypoints(half)}
    far = _keypoints([[x + 0.5, y] for x, y in POINTS])
    dataset = _dataset(make_dataset, first, {"alice": _keypoints(POINTS), "bob": far, "carol": None})
    report = compute_quickly(dataset, ["alice", "bob", "carol"])
    of_pairs = {(pair.a, pair.b): pair.visibility for pair in report.pairs}
    assert of_pairs == pytest.approx({("alice", "bob"): 1.0, ("alice", "carol"): 2 / 3, ("bob", "carol"): 2 / 3})
    assert report.localisation.visibility == pytest.approx((1 + 2 / 3 + 2 / 3) / 3, rel=0, abs=1e-15)


UNUSABLE = [[], [NO], [[0.1, NAN]], [[0.1, math.inf]], [[0.1]], [[0.1, 0.2, 0.3]], [["a", 0.2]], [[True, 0.1]], None,
            [[1.01e9, 0.1]], [[0.1, -1.7e308]]]  # fmt: skip


def test_unusable_points_are_refused_before_anything_is_written_or_left_out(make_dataset):
    drawn = {"alice": _keypoints(POINTS, POINTS), "bob": _keypoints(POINTS)}
    dataset = _dataset(make_dataset, *({name: of.copy() for name, of in drawn.items()} for _ in UNUSABLE))
    for sample_id, points in zip(dataset.values("_id"), UNUSABLE, strict=True):
        dataset._sample_collection.update_one({"_id": sample_id}, {"$set": {"alice.keypoints.1.points": points}})
    n = len(UNUSABLE)
    refused_run(rf"Keypoints must have points .*, got {n} that are not, on samples", dataset, PAIR)
    report = compute_quickly(dataset, PAIR, invalid="skip")
    assert (report.run.n_invalid, report.n_objects, report.score.mean) == (n, 2 * n, 1.0)
    assert dataset.values("agreement_n_units") == [1] * n


def _cells(make_dataset, size=(WIDTH, HEIGHT)):
    """Two cells, of which bob puts the first 6 pixels beside alice, and the second 2; carol begins with a third one."""
    alice, bob = [[[0.1, 0.5]], [[0.5, 0.5]]], [[[0.1 + 6 / WIDTH, 0.5]], [[0.5, 0.5 + 2 / HEIGHT]]]
    fields = {"alice": _keypoints(*alice), "bob": _keypoints(*bob), "carol": _keypoints([[0.9, 0.5]], *alice)}
    return _dataset(make_dataset, fields, size=size)


def _circles(distance, radius):
    """The IoU of two circles, as of polygons."""
    a, b = shapely.Point(0, 0).buffer(radius, 4_000), shapely.Point(distance, 0).buffer(radius, 4_000)
    return a.intersection(b).area / a.union(b).area


def test_single_points_are_compared_by_circles_in_pixels_or_shares_of_the_longer_side(make_dataset):
    dataset = _cells(make_dataset)
    for point_radius, pixels in ((10, 10.0), (0.025, 10.0), (1, 1.0)):
        report = compute_quickly(dataset, PAIR, iou=0.4, point_radius=point_radius, overwrite=True)
        expected = [_circles(distance, pixels) for distance in (6, 2)]
        sample = dataset.first()
        found = [label.agreement_iou for label in sample.bob.keypoints]
        assert found == [pytest.approx(iou, abs=1e-6) if iou >= 0.4 else None for iou in expected]
        assert sample.agreement_score == pytest.approx(sum(iou for iou in expected if iou >= 0.4) / 2, abs=1e-6)
        assert (report.localisation.measure, report.n_points) == ("IoU of circles", 0)


def test_consensus_a_view_decisions_and_agreement_as_map_know_the_radius(make_dataset):
    dataset = _cells(make_dataset)
    run = aa.compute(dataset, ["alice", "bob", "carol"], keypoints={"point_radius": 10}, iou=0.1)
    assert run.on(dataset.limit(1)).score.mean == run.score.mean
    run.objects.consensus()
    points = [label.points for label in dataset.first().agreement_consensus.keypoints]
    assert [[0.1, 0.5]] in points
    run.decisions.decide("consensus", min_votes=2)
    assert run.decisions.report() is not None
    sample = dataset.first()
    sample.bob.keypoints[0].points = [[0.1, 0.5]]
    sample.save()
    run.update()
    assert dataset.first().bob.keypoints[0].agreement_iou == pytest.approx(1.0)


def test_points_in_another_order_are_noticed(make_dataset):
    turned, far = [POINTS[k] for k in (2, 0, 1)], [[x + 0.5, y] for x, y in POINTS]
    dataset = _dataset(make_dataset, {"alice": _keypoints(POINTS, far), "bob": _keypoints(turned, far)})
    report = compute_quickly(dataset, PAIR)
    assert [label.agreement for label in dataset.first().alice.keypoints] == ["lone", "agreed"]
    assert any("2 labels that match nothing have their points" in warning for warning in report.warnings)
    right = _dataset(make_dataset, {"alice": _keypoints(POINTS, far), "bob": _keypoints(MOVED, turned)})
    report = compute_quickly(right, PAIR, iou=0.3)
    assert not any("in another order" in warning for warning in report.warnings)


COORDINATE = st.sampled_from([0.0, 0.25, 1.5, -1.0, NAN, None, math.inf, 2, "x"])
POINT_LISTS = st.lists(st.one_of(st.lists(COORDINATE, min_size=2, max_size=2), st.lists(COORDINATE, max_size=3)),
                       max_size=4)  # fmt: skip


@examples(100)
@given(st.lists(st.one_of(POINT_LISTS, st.none()), max_size=4), st.sampled_from([None, 2, 3]))
def test_many_objects_are_read_like_one_after_the_other(values, n_points):
    points, usable = read_keypoints(values, n_points)
    assert usable.tolist() == [are_usable_keypoints(value, n_points) for value in values]
    for row, value in enumerate(values):
        expected = [
            (x, y) if None not in (x, y) and x == x and y == y else None for x, y in value
        ] if usable[row] else []  # fmt: skip
        found = [None if np.isnan(point).any() else tuple(point.tolist()) for point in points[row]]
        assert found[: len(expected)] == expected
        assert found[len(expected) :] == [None] * (points.shape[1] - len(expected))
