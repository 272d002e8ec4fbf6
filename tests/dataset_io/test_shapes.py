"""Polygons, lines and boxes of real datasets, compared with each other."""

from __future__ import annotations

import math

import fiftyone as fo
import fiftyone.utils.iou as foui
import numpy as np
import pytest

from tests.dataset_io.shape_checks import assert_refused, image_with, iou_of_the_only_object
from tests.dataset_io.shaped import SIZE, box, cut_out, polygon, rectangle, shapes_dataset

from annotator_agreement.dataset_io import compute_agreement

PAIR = ["alice", "bob"]
TRIO = ["alice", "bob", "carol"]


# ---- which geometry ----


def test_the_shape_is_compared_where_there_is_one_and_the_box_where_it_is_asked_for(make_dataset):
    left_half = box(0, 0, 20, 10, mask=np.repeat([[True, False]], 10, axis=1).repeat(10, axis=0))
    dataset = shapes_dataset(make_dataset, {"alice": [left_half], "bob": [polygon(rectangle(0, 0, 20, 5))]})
    # 10 x 10 pixels against 20 x 5: half of each is shared; boxes of 20 x 10 and 20 x 5
    assert iou_of_the_only_object(dataset) == pytest.approx(50 / 150, rel=1e-12)
    assert iou_of_the_only_object(dataset, geometry="shape") == pytest.approx(50 / 150, rel=1e-12)
    assert iou_of_the_only_object(dataset, geometry="box") == pytest.approx(1 / 2, rel=1e-12)


def test_a_label_without_a_shape_is_a_box_or_unusable(make_dataset):
    dataset = shapes_dataset(
        make_dataset,
        {"alice": [cut_out(image_with(2, 2, 10, 8)), box(20, 10, 10, 8)], "bob": [polygon(rectangle(20, 10, 10, 8))]},
    )
    report = compute_agreement(dataset, PAIR)
    assert dataset.values("alice.detections.agreement") == [["lone", "agreed"]]
    assert report.n_objects == 3
    assert_refused(
        dataset, r'masks \(needed with geometry="shape"\).* got 1 that are not', PAIR, geometry="shape", run_key="s"
    )
    assert compute_agreement(dataset, PAIR, geometry="shape", run_key="s", invalid="skip").run.n_invalid == 1


KINDS = {
    "box": lambda x: box(x, 2, 10, 8),
    "mask": lambda x: cut_out(image_with(x, 2, 10, 8)),
    "polygon": lambda x: polygon(rectangle(x, 2, 10, 8)),
}


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
@pytest.mark.few(1)
def test_labels_of_any_kind_are_compared_with_labels_of_any_other(make_dataset, first, second):
    dataset = shapes_dataset(make_dataset, {"alice": [KINDS[first](3)], "bob": [KINDS[second](5)]})
    assert iou_of_the_only_object(dataset) == pytest.approx(8 / 12, rel=1e-12)
    dataset = shapes_dataset(make_dataset, {"alice": [KINDS[first](3)], "bob": [KINDS[second](3)]})
    assert iou_of_the_only_object(dataset) == pytest.approx(1.0, rel=0, abs=1e-12)


def test_a_unit_may_have_members_of_all_kinds(make_dataset):
    labels = {"alice": KINDS["box"](3), "bob": KINDS["mask"](4), "carol": KINDS["polygon"](5)}
    dataset = shapes_dataset(make_dataset, {field: [label] for field, label in labels.items()})
    report = compute_agreement(dataset, TRIO)
    for field in TRIO:
        listed = dataset.first()[field]
        (label,) = listed[listed._LABEL_LIST_FIELD]
        assert (label.agreement, label.agreement_votes) == ("agreed", 3)
    assert report.localisation.mean_iou == pytest.approx((9 / 11 + 9 / 11 + 8 / 12) / 3, rel=1e-12)


# ---- polygons ----


def test_the_parts_of_a_polygon_are_one_object(make_dataset):
    parts = [rectangle(2, 2, 6, 4), rectangle(20, 10, 8, 3)]
    dataset = shapes_dataset(make_dataset, {"alice": [polygon(*parts)], "bob": [polygon(parts[1])]})
    assert iou_of_the_only_object(dataset) == pytest.approx(24 / 48, rel=1e-12)


def test_rings_that_cross_themselves_are_repaired_and_counted(make_dataset):
    bow_tie = [(0, 0), (8, 12), (8, 0), (0, 12)]
    dataset = shapes_dataset(
        make_dataset,
        {"alice": [polygon(bow_tie)], "bob": [polygon(rectangle(0, 0, 8, 12))]},
        {"alice": [polygon(bow_tie), polygon(rectangle(20, 0, 4, 4))], "bob": []},
    )
    report = compute_agreement(dataset, PAIR, iou=0.3)
    assert report.localisation.mean_iou == pytest.approx(48 / 96, rel=1e-12)
    assert report.n_repaired == 2


def test_turned_boxes_are_polygons(make_dataset):
    # a square and itself turned by 45 degrees share a regular octagon
    upright, turned = (
        fo.Polyline.from_rotated_box(20, 10, 12, 12, angle, frame_size=SIZE, label="cat")
        for angle in (0.0, math.pi / 4)
    )
    octagon = 2 * (math.sqrt(2) - 1)
    dataset = shapes_dataset(make_dataset, {"alice": [upright], "bob": [turned]})
    assert iou_of_the_only_object(dataset) == pytest.approx(octagon / (2 - octagon), rel=1e-12)
    dataset = shapes_dataset(make_dataset, {"alice": [turned], "bob": [box(14, 4, 12, 12)]})
    assert iou_of_the_only_object(dataset) == pytest.approx(octagon / (2 - octagon), rel=1e-12)


def test_polygons_overlap_as_fiftyone_finds_them_one_by_one(make_dataset):
    rng = np.random.default_rng(6)
    labels = {}
    for field in PAIR:
        angle = np.sort(rng.uniform(0, 2 * np.pi, (12, 7)), axis=1)
        radius = rng.uniform(3, 8, (12, 7))
        centre = rng.uniform((8, 6), (32, 14), (12, 1, 2))
        rings = centre + np.stack([1.4 * radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
        labels[field] = [polygon(ring.tolist()) for ring in rings]
    expected = foui.compute_ious(labels["alice"], labels["bob"])
    dataset = shapes_dataset(make_dataset, labels)
    report = compute_agreement(dataset, PAIR, iou=0.05)
    sample = dataset.first()
    partner = {label.agreement_id: k for k, label in enumerate(sample.bob.polylines)}
    matched = [(i, partner[a.agreement_id]) for i, a in enumerate(sample.alice.polylines) if a.agreement_votes == 2]
    assert len(matched) >= 8
    for i, j in matched:
        assert sample.alice.polylines[i].agreement_iou == pytest.approx(expected[i, j], rel=1e-9)
    means = report.pairs[0].mean_max_iou
    assert means["a_to_b"].mean == pytest.approx(expected.max(axis=1).mean(), rel=1e-9)
    assert means["b_to_a"].mean == pytest.approx(expected.max(axis=0).mean(), rel=1e-9)


def test_polygons_need_no_image_size_unless_pixels_are_counted(make_dataset):
    labels = {"alice": [polygon(rectangle(2, 2, 10, 8))], "bob": [polygon(rectangle(2, 2, 10, 4))]}
    dataset = shapes_dataset(make_dataset, labels, labels, size=None)
    assert compute_agreement(dataset, PAIR).localisation.mean_iou == pytest.approx(1 / 2, rel=1e-12)
    ids = dataset.values("id")
    message = rf"image size .* got 2 without \(ids {ids[0]}, {ids[1]}\); run dataset.compute_metadata\(\) first"
    for options in ({"rasterize": "pillow"}, {"line_tolerance": 2}):
        assert_refused(dataset, message, PAIR, run_key="other", **options)


# ---- open lines ----


def _line(*points, **attributes):
    return polygon(points, closed=False, filled=False, **attributes)


def test_open_lines_are_refused_or_compared_within_a_tolerance(make_dataset):
    dataset = shapes_dataset(
        make_dataset,
        {"alice": [_line((0, 5), (30, 5))], "bob": [_line((0, 6), (15, 6), (15, 20))]},
    )
    assert_refused(dataset, "be closed or filled unless `line_tolerance` is given, got 2 that are not", PAIR)
    skipped = compute_agreement(dataset, PAIR, invalid="skip", run_key="skipped")
    assert (skipped.run.n_invalid, skipped.n_objects) == (2, 0)
    # of 30 px some 15 run along the other, of 29 px likewise 15 and the first of those that turn away; the ends of a
    # line reach past those of its neighbour
    assert iou_of_the_only_object(dataset, line_tolerance=2.0) == pytest.approx(16 / (30 + 29 - 16), abs=0.03)
    # boxes of 30 x 0 and 15 x 14
    compute_agreement(dataset, PAIR, geometry="box", overwrite=True)
    assert dataset.values("alice.polylines.agreement") == [["lone"]]


def test_equal_lines_agree_exactly_and_share_nothing_with_regions(make_dataset):
    zigzag = [(1, 1), (10, 7.3), (20, 2), (33, 17)]
    dataset = shapes_dataset(
        make_dataset,
        {"alice": [_line(*zigzag)], "bob": [_line(*zigzag[::-1])], "carol": [box(0, 0, 40, 20)]},
    )
    report = compute_agreement(dataset, TRIO, line_tolerance=1.0)
    assert report.localisation.mean_iou == pytest.approx(1.0, rel=0, abs=1e-12)
    assert dataset.values("carol.detections.agreement") == [["lone"]]
