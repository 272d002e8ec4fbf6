"""Polygons, masks, lines and boxes of real datasets, compared with each other."""

from __future__ import annotations

import math
import os
import random

import cv2
import fiftyone as fo
import fiftyone.utils.iou as foui
import numpy as np
import pytest
from bson import Decimal128, Int64, ObjectId
from fiftyone import ViewField as F
from fiftyone.core.utils import serialize_numpy_array

from tests.dataset_io.shaped import SIZE, box, cut_out, polygon, rectangle, shapes_dataset
from tests.datasets import stored
from tests.metrics.golden_cases import GOLDEN, fraction

from annotator_agreement import (
    AgreementInputError,
    compute_agreement,
    delete_agreement,
    load_agreement,
    rename_agreement,
)
from annotator_agreement.agreement.config import make_config
from annotator_agreement.dataset_io import read
from annotator_agreement.dataset_io.families import FAMILIES
from annotator_agreement.dataset_io.geometry_readers import BoxReader
from annotator_agreement.dataset_io.shape_readers import PolylineReader
from annotator_agreement.dataset_io.source import open_source

WIDTH, HEIGHT = SIZE
PAIR = ["alice", "bob"]
TRIO = ["alice", "bob", "carol"]


def _iou(dataset, fields=PAIR, **options):
    """IoU of the only object, as it is written on both labels."""
    options = {"iou": 1e-6, "overwrite": True, **options}
    report = compute_agreement(dataset, fields, **options)
    value = report.localisation.mean_iou
    for field in fields:
        of_labels = dataset.first()[field]
        assert [label["agreement_iou"] for label in of_labels[of_labels._LABEL_LIST_FIELD]] == [value]
    return value


def _refused(dataset, match, *arguments, **options):
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match=match):
        compute_agreement(dataset, *arguments, **options)
    assert stored(dataset) == before


def _image(x, y, width, height):
    image = np.zeros((HEIGHT, WIDTH), np.bool_)
    image[y : y + height, x : x + width] = True
    return image


# ---- which geometry ----


def test_the_shape_is_compared_where_there_is_one_and_the_box_where_it_is_asked_for(make_dataset):
    left_half = box(0, 0, 20, 10, mask=np.repeat([[True, False]], 10, axis=1).repeat(10, axis=0))
    dataset = shapes_dataset(make_dataset, {"alice": [left_half], "bob": [polygon(rectangle(0, 0, 20, 5))]})
    # 10 x 10 pixels against 20 x 5: half of each is shared; boxes of 20 x 10 and 20 x 5
    assert _iou(dataset) == pytest.approx(50 / 150, rel=1e-12)
    assert _iou(dataset, geometry="shape") == pytest.approx(50 / 150, rel=1e-12)
    assert _iou(dataset, geometry="box") == pytest.approx(1 / 2, rel=1e-12)


def test_a_label_without_a_shape_is_a_box_or_unusable(make_dataset):
    dataset = shapes_dataset(
        make_dataset,
        {"alice": [cut_out(_image(2, 2, 10, 8)), box(20, 10, 10, 8)], "bob": [polygon(rectangle(20, 10, 10, 8))]},
    )
    report = compute_agreement(dataset, PAIR)
    assert dataset.values("alice.detections.agreement") == [["lone", "agreed"]]
    assert report.n_objects == 3
    _refused(
        dataset, r'masks \(needed with geometry="shape"\).* got 1 that are not', PAIR, geometry="shape", run_key="s"
    )
    assert compute_agreement(dataset, PAIR, geometry="shape", run_key="s", invalid="skip").run.n_invalid == 1


KINDS = {
    "box": lambda x: box(x, 2, 10, 8),
    "mask": lambda x: cut_out(_image(x, 2, 10, 8)),
    "polygon": lambda x: polygon(rectangle(x, 2, 10, 8)),
}


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_labels_of_any_kind_are_compared_with_labels_of_any_other(make_dataset, first, second):
    dataset = shapes_dataset(make_dataset, {"alice": [KINDS[first](3)], "bob": [KINDS[second](5)]})
    assert _iou(dataset) == pytest.approx(8 / 12, rel=1e-12)
    dataset = shapes_dataset(make_dataset, {"alice": [KINDS[first](3)], "bob": [KINDS[second](3)]})
    assert _iou(dataset) == pytest.approx(1.0, rel=0, abs=1e-12)


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


def test_a_square_with_a_square_hole_has_the_ratio_of_areas_with_the_full_square(make_dataset):
    outer, hole = rectangle(4, 2, 20, 12), rectangle(8, 4, 10, 6)
    for rings in ((outer, hole), (hole, outer)):
        dataset = shapes_dataset(make_dataset, {"alice": [polygon(*rings)], "bob": [polygon(outer)]})
        assert _iou(dataset) == pytest.approx((240 - 60) / 240, rel=1e-12)


def test_the_parts_of_a_polygon_are_one_object(make_dataset):
    parts = [rectangle(2, 2, 6, 4), rectangle(20, 10, 8, 3)]
    dataset = shapes_dataset(make_dataset, {"alice": [polygon(*parts)], "bob": [polygon(parts[1])]})
    assert _iou(dataset) == pytest.approx(24 / 48, rel=1e-12)


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


@pytest.mark.parametrize("case", GOLDEN["polygons"], ids=lambda case: case["name"])
def test_polygons_of_the_source_documents_have_their_exact_areas_and_their_pixels(make_dataset, case):
    size = (1997, 1701)  # not a power of two, so that relative coordinates are rounded
    a, b = (np.reshape(case[name], (-1, 2)).tolist() for name in "ab")
    dataset = shapes_dataset(
        make_dataset, {"alice": [polygon(a, size=size)], "bob": [polygon(b, size=size)]}, size=size
    )
    exact, pixels = case["exact"], case["pixels"]
    if pixels["intersection"]:
        assert _iou(dataset) == pytest.approx(exact["intersection"] / exact["union"], rel=1e-9)
        assert _iou(dataset, rasterize="pillow") == pixels["intersection"] / pixels["union"]
    else:
        for options in ({}, {"rasterize": "pillow"}):
            compute_agreement(dataset, PAIR, iou=1e-6, overwrite=True, **options)
            assert dataset.values("bob.polylines.agreement") == [["lone"]]


def test_turned_boxes_are_polygons(make_dataset):
    # a square and itself turned by 45 degrees share a regular octagon
    upright, turned = (
        fo.Polyline.from_rotated_box(20, 10, 12, 12, angle, frame_size=SIZE, label="cat")
        for angle in (0.0, math.pi / 4)
    )
    octagon = 2 * (math.sqrt(2) - 1)
    dataset = shapes_dataset(make_dataset, {"alice": [upright], "bob": [turned]})
    assert _iou(dataset) == pytest.approx(octagon / (2 - octagon), rel=1e-12)
    dataset = shapes_dataset(make_dataset, {"alice": [turned], "bob": [box(14, 4, 12, 12)]})
    assert _iou(dataset) == pytest.approx(octagon / (2 - octagon), rel=1e-12)


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
        _refused(dataset, message, PAIR, run_key="other", **options)


# ---- open lines ----


def _line(*points, **attributes):
    return polygon(points, closed=False, filled=False, **attributes)


def test_open_lines_are_refused_or_compared_within_a_tolerance(make_dataset):
    dataset = shapes_dataset(
        make_dataset,
        {"alice": [_line((0, 5), (30, 5))], "bob": [_line((0, 6), (15, 6), (15, 20))]},
    )
    _refused(dataset, "be closed or filled unless `line_tolerance` is given, got 2 that are not", PAIR)
    skipped = compute_agreement(dataset, PAIR, invalid="skip", run_key="skipped")
    assert (skipped.run.n_invalid, skipped.n_objects) == (2, 0)
    # of 30 px some 15 run along the other, of 29 px likewise 15 and the first of those that turn away; the ends of a
    # line reach past those of its neighbour
    assert _iou(dataset, line_tolerance=2.0) == pytest.approx(16 / (30 + 29 - 16), abs=0.03)
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


# ---- masks ----


@pytest.mark.parametrize("case", GOLDEN["sparse"], ids=lambda case: f"{case['scenario']} {case['mask_name']}")
def test_masks_against_boxes_of_the_source_document_have_their_exact_iou(make_dataset, case):
    size = (case["width"], case["height"])
    pixels = np.array(case["mask_rows"], np.bool_)
    x_min, y_min, x_max, y_max = case["bbox_normalised_xyxy"]
    labels = {
        "alice": [fo.Detection(label="cat", bounding_box=[0, 0, 1, 1], mask=pixels)],
        "bob": [fo.Detection(label="cat", bounding_box=[x_min, y_min, x_max - x_min, y_max - y_min])],
    }
    dataset = shapes_dataset(make_dataset, labels, size=size)
    expected = fraction(case["iou_exact"])
    if expected:
        assert _iou(dataset) == pytest.approx(expected, rel=1e-12)
    else:
        compute_agreement(dataset, PAIR, iou=1e-6)
        assert dataset.values("alice.detections.agreement") == [["lone"]]


def test_masks_of_different_resolutions_are_compared_on_the_pixels_of_the_image(make_dataset):
    coarse = np.array([[1, 0], [1, 1]], np.bool_)
    fine = coarse.repeat(6, axis=0).repeat(12, axis=1)
    labels = {"alice": [box(4, 2, 24, 12, mask=coarse)], "bob": [box(4, 2, 24, 12, mask=fine)]}
    painted = cv2.resize(coarse.astype(np.uint8), (24, 12)).astype(bool)  # as FiftyOne scales
    shared = (painted & fine).sum()
    assert _iou(shapes_dataset(make_dataset, labels)) == shared / (painted.sum() + fine.sum() - shared)


def test_a_mask_on_disk_is_the_mask_in_the_database(make_dataset, tmp_path):
    image = np.random.default_rng(1).random((HEIGHT, WIDTH)) < 0.6
    in_database, on_disk = cut_out(image), cut_out(image)
    on_disk.export_mask(str(tmp_path / "mask.png"), update=True)
    assert on_disk.mask is None
    assert _iou(shapes_dataset(make_dataset, {"alice": [in_database], "bob": [on_disk]})) == 1.0


def test_a_mask_agrees_with_itself_where_its_box_keeps_to_no_pixels(make_dataset):
    labels = [box(3.4, 2.7, 11.3, 8.9, mask=np.random.default_rng(2).random((9, 13)) < 0.5)]
    labels += [box(0.5, 15.2, 30.1, 4.9, mask=np.eye(7, dtype=bool))]
    dataset = shapes_dataset(make_dataset, {name: [label.copy() for label in labels] for name in TRIO})
    report = compute_agreement(dataset, TRIO)
    assert (report.localisation.mean_iou, report.score.mean, report.n_units) == (1.0, 1.0, 2)


def test_an_object_is_matched_to_its_mask_not_to_its_box(make_dataset):
    rows, columns = np.mgrid[:10, :20]
    upper, lower = columns / 20 > rows / 10, columns / 20 < rows / 10
    dataset = shapes_dataset(
        make_dataset, {"alice": [box(0, 0, 20, 10, mask=upper)], "bob": [box(0, 0, 20, 10, mask=lower)]}
    )
    compute_agreement(dataset, PAIR, iou=0.01)
    assert dataset.values("alice.detections.agreement") == [["lone"]]
    compute_agreement(dataset, PAIR, iou=0.01, geometry="box", overwrite=True)
    assert dataset.values("alice.detections.agreement") == [["agreed"]]


def test_masks_need_image_sizes(make_dataset):
    mask = cut_out(_image(2, 2, 10, 8))
    dataset = shapes_dataset(
        make_dataset, {"alice": [mask], "bob": [mask.copy()]}, {"alice": [box(1, 1, 5, 5)], "bob": []},
        {"alice": [], "bob": []}, size=[SIZE, None, None],
    )  # fmt: skip
    second = dataset.values("id")[1]
    _refused(dataset, rf"got 1 without \(ids {second}\); run dataset.compute_metadata\(\) first", PAIR)
    assert compute_agreement(dataset, PAIR, geometry="box").n_objects == 3
    dataset._sample_collection.update_one({"_id": ObjectId(second)}, {"$set": {"metadata": {"width": 0, "height": 9}}})
    _refused(dataset, "got 1 without", PAIR, run_key="zero")


def test_files_of_masks_that_do_not_exist_are_named_with_their_samples(make_dataset, tmp_path):
    mask = np.ones((4, 4), bool)
    there, gone = str(tmp_path / "there.png"), str(tmp_path / "gone.png")
    cv2.imwrite(there, mask.astype(np.uint8) * 255)
    dataset = shapes_dataset(
        make_dataset,
        {"alice": [box(1, 1, 4, 4, mask_path=there)], "bob": [box(1, 1, 4, 4, mask=mask, mask_path=gone)]},
        {"alice": [box(1, 1, 4, 4, mask_path=there)], "bob": [box(1, 1, 4, 4, mask_path=gone)]},
        {"alice": [box(1, 1, 4, 4, mask_path=there)], "bob": [box(1, 1, 4, 4, mask_path="")]},
    )
    second, third = dataset.values("id")[1:]
    dataset._sample_collection.update_one({"_id": ObjectId(third)}, {"$set": {"bob.detections.0.mask": None}})
    _refused(dataset, f"Files of masks must exist, got 2 that do not .*gone.png.* on samples {second}, {third}", PAIR)
    report = compute_agreement(dataset, PAIR, invalid="skip")
    assert (report.run.n_invalid, report.n_objects, report.localisation.mean_iou) == (2, 4, 1.0)


def test_files_of_annotators_who_were_not_chosen_do_not_matter(make_dataset):
    labels = [box(1, 1, 4, 4, rater="ann"), box(1, 1, 4, 4, rater="bea")]
    labels.append(box(1, 1, 4, 4, rater="zoe", mask_path="/nowhere/gone.png"))
    dataset = shapes_dataset(make_dataset, {"labels": labels})
    options = {"annotator_attribute": "rater"}
    assert compute_agreement(dataset, "labels", annotators=["ann", "bea"], **options).score.mean == 1.0
    _refused(dataset, "Files of masks must exist, got 1", "labels", run_key="all_of_them", **options)


UNREADABLE = {
    "no array": b"no array",
    "three dimensions": serialize_numpy_array(np.ones((4, 4, 3), np.uint8)),
    "cut off": serialize_numpy_array(np.eye(40, dtype=bool))[:-5],
    "text": "mask",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_masks_that_cannot_be_read_are_refused_or_left_out(make_dataset, name):
    mask = np.ones((4, 4), bool)
    labels = {"alice": [box(1, 1, 4, 4, mask=mask)], "bob": [box(1, 1, 4, 4, mask=mask)]}
    dataset = shapes_dataset(make_dataset, labels, labels)
    second = dataset.values("_id")[1]
    dataset._sample_collection.update_one({"_id": second}, {"$set": {"bob.detections.0.mask": UNREADABLE[name]}})
    with pytest.raises(AgreementInputError, match=f"readable two-dimensional arrays, got 1 .* on samples {second}"):
        compute_agreement(dataset, PAIR)
    report = compute_agreement(dataset, PAIR, invalid="skip", overwrite=True)
    assert (report.run.n_invalid, report.n_objects) == (1, 3)


@pytest.mark.parametrize("mask", [np.zeros((0, 0), bool), np.zeros((3, 0), bool), np.zeros((5, 5), bool)], ids=str)
def test_a_mask_without_pixels_agrees_with_nothing(make_dataset, mask):
    dataset = shapes_dataset(
        make_dataset, {"alice": [box(1, 1, 4, 4, mask=mask)], "bob": [box(1, 1, 4, 4, mask=mask), box(1, 1, 4, 4)]}
    )
    report = compute_agreement(dataset, PAIR)
    assert dataset.values("bob.detections.agreement") == [["lone", "lone"]]
    assert (report.run.n_invalid, report.score.mean, report.localisation.mean_iou) == (0, 0.0, None)


# ---- the alignment of the music-notation document ----


def _symbols(nodes, size):
    labels = []
    for node in nodes:
        mask = np.array([[pixel == "1" for pixel in row] for row in node["mask"]])
        labels.append(box(node["left"], node["top"], *mask.shape[::-1], node["cls"], size, mask=mask))
    return labels


@pytest.mark.parametrize("classes", ["require", "prefer"])
def test_symbols_are_aligned_as_published_and_pooled_over_the_dataset(make_dataset, classes):
    case, size = GOLDEN["mung"]["synthetic"], (100, 90)
    truth, prediction = (_symbols(case[name], size) for name in ("truth", "prediction"))
    alone = {"truth": truth[:2], "prediction": []}
    dataset = shapes_dataset(make_dataset, {"truth": truth, "prediction": prediction}, alone, size=size)
    options = {"method": "mutual_best", "classes": classes}
    (pair,) = compute_agreement(dataset.limit(1), ["prediction", "truth"], **options).pairs
    # annotators are sorted, so that recall, of the first one's objects, is the document's precision
    total = case["total"]
    assert pair.alignment["n_aligned"] == 3
    assert pair.alignment["recall"] == pytest.approx(total["precision"], rel=1e-12)
    assert pair.alignment["precision"] == pytest.approx(total["recall"], rel=1e-12)
    assert pair.alignment["f_score"] == pytest.approx(total["fscore"], rel=1e-12)
    assert [round(total[name], 6) for name in ("recall", "precision", "fscore")] == [0.269444, 0.25463, 0.261828]
    # two more objects that are aligned with nothing: 9 become 11
    (pooled,) = compute_agreement(dataset, ["prediction", "truth"], overwrite=True, **options).pairs
    assert pooled.alignment["recall"] == pytest.approx(total["precision"] * 9 / 11, rel=1e-12)
    assert pooled.alignment["precision"] == pytest.approx(total["recall"] * 9 / 11, rel=1e-12)


# ---- what must not matter ----


def _random_labels(rng, kind):
    labels = []
    for _ in range(int(rng.integers(0, 5))):
        x, y = rng.integers(0, (WIDTH - 12, HEIGHT - 8)).tolist()
        width, height = rng.integers(4, (12, 8)).tolist()
        label = str(rng.choice(["cat", "dog"]))
        if kind == "polygon":
            ring = np.array(rectangle(x, y, width, height)) + rng.normal(0, 0.7, (4, 2))
            labels.append(polygon(ring.tolist(), label=label))
        elif rng.random() < 0.5:
            labels.append(box(x, y, width, height, label, mask=rng.random((5, 6)) < 0.8))
        else:
            labels.append(box(x, y, width, height, label, iscrowd=int(rng.random() < 0.2)))
    return labels


def _random_samples(seed, n=12):
    rng = np.random.default_rng(seed)
    kinds = {"alice": "polygon", "bob": "mask", "carol": "mask"}
    return [
        {name: None if rng.random() < 0.1 else _random_labels(rng, kind) for name, kind in kinds.items()}
        for _ in range(n)
    ]


EACH_OPTION = pytest.mark.parametrize(
    "options",
    [{}, {"rasterize": "pillow"}, {"geometry": "box", "classes": "ignore"}, {"method": "mutual_best"}],
    ids=str,
)


def _values(report):
    values = report.to_dict()
    for name in ("run", "worst_samples", "config"):
        values.pop(name)
    values["label_types"].sort()  # in the order of the fields
    return values


def _assert_same(found, expected, path=""):
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), path
        for key, value in expected.items():
            _assert_same(found[key], value, f"{path}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), path
        for k, value in enumerate(expected):
            _assert_same(found[k], value, f"{path}[{k}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=0, abs=1e-12), path
    else:
        assert found == expected, path


@EACH_OPTION
@pytest.mark.parametrize(("n_samples", "n_labels"), [(1, 10**6), (5, 10**6), (10**6, 1), (10**6, 7)])
def test_batches_of_any_size_give_the_same_report(make_dataset, monkeypatch, options, n_samples, n_labels):
    dataset = shapes_dataset(make_dataset, *_random_samples(3))
    expected = compute_agreement(dataset, TRIO, **options)
    monkeypatch.setattr(read, "BATCH_SAMPLES", n_samples)
    monkeypatch.setattr(read, "BATCH_LABELS", n_labels)
    _assert_same(_values(compute_agreement(dataset, TRIO, overwrite=True, **options)), _values(expected))


@EACH_OPTION
def test_the_order_of_samples_labels_and_fields_does_not_matter(make_dataset, options):
    samples = _random_samples(4)
    dataset = shapes_dataset(make_dataset, *samples)
    expected = compute_agreement(dataset, TRIO, **options)
    written = {s.filepath: s["agreement_score"] for s in dataset}
    order = np.random.default_rng(4).permutation(len(samples)).tolist()
    turned = [{f: labels and list(reversed(labels)) for f, labels in samples[k].items()} for k in order]
    other = shapes_dataset(make_dataset, *turned)
    found = compute_agreement(other, ["carol", "alice", "bob"], **options)
    _assert_same(_values(found), _values(expected))
    _assert_same(other.values("agreement_score"), [written[f"/images/{k}.jpg"] for k in order])


def test_other_names_of_the_annotators_change_nothing_but_the_names(make_dataset):
    samples = _random_samples(5)
    renamed = [{{"alice": "z", "bob": "y", "carol": "x"}[f]: labels for f, labels in s.items()} for s in samples]
    first, second = shapes_dataset(make_dataset, *samples), shapes_dataset(make_dataset, *renamed)
    reports = compute_agreement(first, TRIO), compute_agreement(second, ["x", "y", "z"])
    for name in ("alpha", "score", "existence", "localisation", "class_given_match", "n_units", "n_repaired"):
        _assert_same(reports[1].to_dict()[name], reports[0].to_dict()[name], name)
    for name in ("agreement_score", "agreement_alpha", "agreement_iou", "agreement_n_disputed"):
        _assert_same(second.values(name), first.values(name), name)
    assert second.values("z.polylines.agreement") == first.values("alice.polylines.agreement")


# ---- batches in memory ----


def _n_batches(dataset, fields, **options):
    family = FAMILIES["objects"](open_source(dataset, make_config(fields, **options)))
    return [len(rows) for rows in read.Reader(family).batches()]


def test_batches_of_large_masks_and_large_painted_polygons_are_cut(make_dataset, monkeypatch):
    monkeypatch.setattr(read, "BATCH_LABELS", 1000)
    size = (1000, 500)
    large = box(0, 0, 1000, 500, size=size, mask=np.ones((4, 4), bool))
    ring = polygon(rectangle(0, 0, 1000, 500), size=size)
    samples = [{"alice": [large.copy()], "bob": [ring.copy()], "carol": [ring.copy()]} for _ in range(12)]
    dataset = shapes_dataset(make_dataset, *samples, size=size)
    # 500,000 pixels count as 200 labels more
    assert _n_batches(dataset, PAIR) == [5, 5, 2]
    assert _n_batches(dataset, ["bob", "carol"]) == [12]
    assert _n_batches(dataset, ["bob", "carol"], rasterize="pillow") == [3, 3, 3, 3]
    assert _n_batches(dataset, PAIR, geometry="box") == [12]


# ---- life of a run, views, attribute mode ----


def test_runs_on_shapes_are_replaced_renamed_and_deleted_without_a_trace(make_dataset):
    dataset = shapes_dataset(make_dataset, *_random_samples(7))
    before = stored(dataset)
    compute_agreement(dataset, TRIO)
    written = stored(dataset)["samples"]
    compute_agreement(dataset, TRIO, iou=0.9, overwrite=True)
    compute_agreement(dataset, TRIO, overwrite=True)
    assert stored(dataset)["samples"] == written
    rename_agreement(dataset, "agreement", "shapes")
    assert load_agreement(dataset, "shapes").n_samples == 12
    assert "shapes_votes" in dataset.get_field_schema(flat=True)["alice.polylines"].field.get_field_schema()
    delete_agreement(dataset, "shapes")
    assert stored(dataset) == before


def test_views_of_polylines_are_about_the_labels_that_they_show(make_dataset):
    square = rectangle(2, 2, 8, 8)
    dataset = shapes_dataset(
        make_dataset,
        {"alice": [polygon(square, label="dog"), polygon(square)], "bob": [box(2, 2, 8, 8, "cow"), box(2, 2, 8, 8)]},
    )
    view = dataset
    for field in PAIR:
        view = view.filter_labels(field, F("label") == "cat", only_matches=False)
    report = compute_agreement(view, PAIR)
    assert (report.n_objects, report.score.mean) == (2, 1.0)
    assert dataset.values("alice.polylines.agreement") == [[None, "agreed"]]
    assert dataset.values("bob.detections.agreement") == [[None, "agreed"]]


def test_masks_of_annotators_named_by_an_attribute_are_compared(make_dataset):
    first, second = _image(2, 2, 10, 8), _image(2, 2, 10, 6)
    labels = [cut_out(first, rater="ann"), cut_out(second, rater="bea"), box(20, 2, 6, 6, rater="ann")]
    dataset = shapes_dataset(make_dataset, {"labels": labels})
    report = compute_agreement(dataset, "labels", annotator_attribute="rater")
    assert dataset.values("labels.detections.agreement") == [["agreed", "agreed", "lone"]]
    assert report.localisation.mean_iou == 60 / 80


def test_shapes_are_not_compared_with_other_labels(make_dataset):
    dataset = shapes_dataset(make_dataset, {"alice": [polygon(rectangle(0, 0, 4, 4))]})
    dataset.add_sample_field("scene", fo.EmbeddedDocumentField, embedded_doc_type=fo.Classification)
    dataset.add_sample_field("pose", fo.EmbeddedDocumentField, embedded_doc_type=fo.Keypoints)
    for other in ("scene", "pose"):
        _refused(dataset, f"compared with each other, got alice .Polylines., {other}", ["alice", other])


# ---- anything that may stand in a database ----

ODD = [
    0, 1, 0.5, -0.2, 1.7, 2.5, 1e9, 1.1e9, 1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf, True, False, None,
    "0.5", "a", "", Int64(2**40), [], [0.1], {}, {"a": 1}, Decimal128("0.5"), b"x",
]  # fmt: skip


def _odd_point(rng):
    if rng.random() < 0.8:
        return [rng.uniform(-0.2, 1.2), rng.uniform(-0.2, 1.2)]
    if rng.random() < 0.6:
        return [rng.choice(ODD) for _ in range(rng.choice([2, 2, 2, 1, 3, 0]))]
    return rng.choice(["ab", None, 5, "", {"x": 1, "y": 2}, [[0.1, 0.2], [0.3, 0.4]], b"ab", True])


def _odd_points(rng):
    if rng.random() < 0.1:
        return rng.choice([None, "ab", 5, [], {"a": 1}, [[[]]], [[[0.1, 0.2]]], [0.1, 0.2], [None], ["ab"]])
    return [
        [_odd_point(rng) for _ in range(rng.choice([0, 1, 2, 3, 4, 5]))]
        if rng.random() < 0.9
        else rng.choice([None, "ab", "", 5, {"a": [0.1, 0.2]}, [0.1, 0.2], [[]], True])
        for _ in range(rng.choice([0, 1, 1, 1, 2]))
    ]


def _odd_label(rng):
    label = {
        "bounding_box": [rng.random() for _ in range(4)],
        "points": _odd_points(rng),
        "closed": rng.choice([True, True, False, None, 1, 0]),
        "filled": rng.choice([True, True, False, None, 1, 0]),
    }
    if rng.random() < 0.5:
        label["bounding_box"][rng.randrange(4)] = rng.choice(ODD)
    if rng.random() < 0.1:
        label["bounding_box"] = rng.choice([None, "abcd", [0.1] * 3, [0.1] * 5, {}, ["0.1", "0.1", "0.2", "0.2"]])
    if rng.random() < 0.05:
        del label[rng.choice(["bounding_box", "points"])]
    return label


@pytest.mark.parametrize(
    ("reader", "options"),
    [
        (BoxReader(), {}),
        (PolylineReader(), {}),
        (PolylineReader(), {"line_tolerance": 2.0}),
        (PolylineReader(), {"geometry": "box"}),
        (PolylineReader(), {"rasterize": "pillow"}),
    ],
    ids=str,
)
def test_the_database_the_check_and_the_reader_find_the_same_labels_unusable(private_fiftyone, reader, options):
    from fiftyone.core.odm import get_db_conn

    rng = random.Random(11)
    collection = get_db_conn()[f"odd-{os.getpid()}"]
    config = make_config(PAIR, **options)
    try:
        collection.insert_many([{"_id": k, "labels": [_odd_label(rng)]} for k in range(1500)])
        found = {d["_id"] for d in collection.find({"labels": {"$elemMatch": reader.unusable(config)}}, {"_id": 1})}
        size = np.array([[64.0, 48.0]]) if reader.needs_size(config) else None
        n_usable = 0
        for document in collection.find():
            (label,) = document["labels"]
            usable = reader.is_usable(label, config)
            values = {column: [label.get(attribute)] for column, attribute in reader.columns.items()}
            assert (document["_id"] not in found, reader.read(values, config, size)[1].tolist()) == (
                usable,
                [usable],
            ), label
            n_usable += usable
        assert 50 < n_usable < 1450
    finally:
        collection.drop()


def _messy_number(rng):
    return rng.choice(
        [rng.random(), rng.random(), rng.random(), 0, 1, 0.5, -0.2, 1.7, 1e9, -1e9, 5e-324, -0.0, 3, "0.5"]
    )


def _messy_polyline(rng):
    rings = []
    for _ in range(rng.choice([1, 1, 1, 2, 3, 0])):
        ring = []
        for _ in range(rng.choice([0, 1, 2, 3, 4, 5, 9])):
            ring.append([_messy_number(rng), _messy_number(rng)])
            if rng.random() < 0.3:  # a repeated point, or a spike
                ring.append(ring[-rng.choice([1, 2])] if len(ring) > 1 else ring[-1])
        rings.append(ring)
    return {"_cls": "Polyline", "points": rings, "closed": rng.random() < 0.8, "filled": rng.random() < 0.5}


def _messy_detection(rng, files):
    bounding_box = [_messy_number(rng) for _ in range(4)]
    label = {"_cls": "Detection", "bounding_box": bounding_box, "iscrowd": rng.choice([0, 0, 0, 1, "no", None])}
    if rng.random() < 0.7:
        mask = np.frombuffer(rng.randbytes(35), np.uint8).reshape(5, 7) % 2
        masks = [mask, mask.astype(bool), mask[:0], mask[:, :1], mask * 255, mask[:, :, None], mask[0]]
        label["mask"] = rng.choice([*map(serialize_numpy_array, masks), b"", b"mask", "mask", 5])
    elif rng.random() < 0.5:
        label["mask_path"] = rng.choice(files)
    return label


@pytest.mark.parametrize("seed", range(3))
def test_messy_geometry_has_a_value_is_counted_or_refused(make_dataset, tmp_path, seed):
    rng = random.Random(seed)
    files = [str(tmp_path / name) for name in ("mask.png", "text.png", "gone.png")]
    cv2.imwrite(files[0], np.eye(7, dtype=np.uint8) * 255)
    (tmp_path / "text.png").write_text("no image")
    seeds = {
        "alice": [polygon(rectangle(0, 0, 9, 9))],
        "bob": [box(0, 0, 9, 9)],
        "carol": [polygon(rectangle(0, 0, 9, 9))],
    }
    dataset = shapes_dataset(make_dataset, *[seeds] * 15, size=[(1, 1), (640, 480), (33, 57)] * 5)
    for sample_id in dataset.values("_id"):
        values = {
            f"{field}.{name}": [
                {**make(), "_id": ObjectId(), "label": rng.choice(["cat", "dog"])} for _ in range(rng.randrange(5))
            ]
            for field, name, make in (
                ("alice", "polylines", lambda: _messy_polyline(rng)),
                ("bob", "detections", lambda: _messy_detection(rng, files)),
                ("carol", "polylines", lambda: _messy_polyline(rng)),
            )
        }
        dataset._sample_collection.update_one({"_id": sample_id}, {"$set": values})
    for options in (
        {}, {"geometry": "box"}, {"geometry": "shape"}, {"rasterize": "pillow"}, {"line_tolerance": 3.0},
        {"method": "mutual_best", "similarity": "dice"}, {"rasterize": "pillow", "line_tolerance": 1.0},
    ):  # fmt: skip
        _refused(dataset, "must be .*|must have .*", TRIO, **options)
        report = compute_agreement(dataset, TRIO, invalid="skip", **options)
        assert report.n_objects > 5
        n_labels = sum(
            dataset.count(f"{field}.id") for field in ("alice.polylines", "bob.detections", "carol.polylines")
        )
        assert report.run.n_invalid + report.n_objects + sum(entry.n_crowd for entry in report.annotators) == n_labels
        for name in ("agreement_score", "agreement_iou", "agreement_dice"):
            assert all(value is None or 0 <= value <= 1 + 1e-12 for value in dataset.values(name))
        delete_agreement(dataset, "agreement")
