"""Polygons, lines and boxes of real datasets, compared with each other."""

from __future__ import annotations

import math
import os
import random

import cv2
import fiftyone as fo
import numpy as np
import pytest
from bson import Decimal128, Int64, ObjectId

from tests.dataset_io.quick_runs import compute_quickly, refused, refused_run
from tests.dataset_io.shaped import HEIGHT, SIZE, WIDTH, box, cut_out, polygon, rectangle, shapes_dataset

from annotator_agreement.agreement.settings import make_config
from annotator_agreement.dataset_io.families import open_family
from annotator_agreement.dataset_io.labels import BoxReader, PolylineReader, open_source
from annotator_agreement.dataset_io.run import read

PAIR = ["alice", "bob"]


def test_the_shape_is_compared_where_there_is_one_and_the_box_where_it_is_asked_for(make_dataset):
    left_half = box(0, 0, 20, 10, mask=np.repeat([[True, False]], 10, axis=1).repeat(10, axis=0))
    dataset = shapes_dataset(make_dataset, {"alice": [left_half], "bob": [polygon(rectangle(0, 0, 20, 5))]})
    # 10 x 10 pixels against 20 x 5: half of each is shared; boxes of 20 x 10 and 20 x 5
    assert iou_of_the_only_object(dataset) == pytest.approx(50 / 150, rel=1e-12)
    assert iou_of_the_only_object(dataset, geometry="shape") == pytest.approx(50 / 150, rel=1e-12)
    assert iou_of_the_only_object(dataset, geometry="box") == pytest.approx(1 / 2, rel=1e-12)


def test_a_label_without_a_shape_is_a_box_or_unusable(make_dataset):
    alice = [cut_out(image_with(2, 2, 10, 8)), box(20, 10, 10, 8)]
    dataset = shapes_dataset(make_dataset, {"alice": alice, "bob": [polygon(rectangle(20, 10, 10, 8))]})
    report = compute_quickly(dataset, PAIR)
    assert (dataset.values("alice.detections.agreement"), report.n_objects) == ([["lone", "agreed"]], 3)
    message = r'masks \(needed with geometry="shape"\).* got 1 that are not'
    refused_run(message, dataset, PAIR, geometry="shape", run_key="s")
    assert compute_quickly(dataset, PAIR, geometry="shape", run_key="s", invalid="skip").run.n_invalid == 1


def test_the_parts_of_a_polygon_are_one_object_and_rings_that_cross_themselves_are_repaired_and_counted(make_dataset):
    parts = [rectangle(2, 2, 6, 4), rectangle(20, 10, 8, 3)]
    bow_tie = [(0, 0), (8, 12), (8, 0), (0, 12)]
    drawn = [([polygon(*parts)], [polygon(parts[1])]), ([polygon(bow_tie)], [polygon(rectangle(0, 0, 8, 12))]),
             ([polygon(bow_tie), polygon(rectangle(20, 0, 4, 4))], [])]  # fmt: skip
    dataset = shapes_dataset(make_dataset, *({"alice": alice, "bob": bob} for alice, bob in drawn))
    report = compute_quickly(dataset, PAIR, iou=0.3)
    assert dataset.values("agreement_iou") == [pytest.approx(24 / 48, rel=1e-12), pytest.approx(48 / 96), None]
    assert report.n_repaired == 2


def test_polygons_need_no_image_size_unless_pixels_are_counted(make_dataset):
    labels = {"alice": [polygon(rectangle(2, 2, 10, 8))], "bob": [polygon(rectangle(2, 2, 10, 4))]}
    dataset = shapes_dataset(make_dataset, labels, labels, size=None)
    assert compute_quickly(dataset, PAIR).localisation.mean_iou == pytest.approx(1 / 2, rel=1e-12)
    ids = dataset.values("id")
    message = rf"image size .* got 2 without \(ids {ids[0]}, {ids[1]}\); run dataset.compute_metadata\(\) first"
    for options in ({"rasterize": "pillow"}, {"line_tolerance": 2}):
        refused_run(message, dataset, PAIR, run_key="other", **options)


def _line(*points, **attributes):
    return polygon(points, closed=False, filled=False, **attributes)


def test_open_lines_are_refused_or_compared_within_a_tolerance(make_dataset):
    dataset = shapes_dataset(
        make_dataset, {"alice": [_line((0, 5), (30, 5))], "bob": [_line((0, 6), (15, 6), (15, 20))]}
    )
    refused_run("be closed or filled unless `line_tolerance` is given, got 2 that are not", dataset, PAIR)
    skipped = compute_quickly(dataset, PAIR, invalid="skip", run_key="skipped")
    assert (skipped.run.n_invalid, skipped.n_objects) == (2, 0)
    # of 30 px some 15 run along the other, of 29 px likewise 15 and the first of those that turn away; the ends of a
    # line reach past those of its neighbour
    assert iou_of_the_only_object(dataset, line_tolerance=2.0) == pytest.approx(16 / (30 + 29 - 16), abs=0.03)
    # boxes of 30 x 0 and 15 x 14
    compute_quickly(dataset, PAIR, geometry="box", overwrite=True)
    assert dataset.values("alice.polylines.agreement") == [["lone"]]


@pytest.mark.long
def test_masks_need_image_sizes(make_dataset):
    mask = cut_out(image_with(2, 2, 10, 8))
    labels = [{"alice": [mask], "bob": [mask.copy()]}, {"alice": [box(1, 1, 5, 5)], "bob": []}]
    dataset = shapes_dataset(make_dataset, *labels, size=[SIZE, None])
    second = dataset.values("id")[1]
    refused_run(rf"got 1 without \(ids {second}\); run dataset.compute_metadata\(\) first", dataset, PAIR)
    assert compute_quickly(dataset, PAIR, geometry="box").n_objects == 3
    dataset._sample_collection.update_one({"_id": ObjectId(second)}, {"$set": {"metadata": {"width": 0, "height": 9}}})
    refused_run("got 1 without", dataset, PAIR, run_key="zero")


@pytest.mark.long
def test_files_of_masks_that_do_not_exist_are_named_with_their_samples(make_dataset, tmp_path):
    mask = np.ones((4, 4), bool)
    there, gone = str(tmp_path / "there.png"), str(tmp_path / "gone.png")
    cv2.imwrite(there, mask.astype(np.uint8) * 255)
    of_bob = [{"mask": mask, "mask_path": gone}, {"mask_path": gone}, {"mask_path": ""}]
    rows = [{"alice": [box(1, 1, 4, 4, mask_path=there)], "bob": [box(1, 1, 4, 4, **masks)]} for masks in of_bob]
    dataset = shapes_dataset(make_dataset, *rows)
    second, third = dataset.values("id")[1:]
    dataset._sample_collection.update_one({"_id": ObjectId(third)}, {"$set": {"bob.detections.0.mask": None}})
    message = f"Files of masks must exist, got 2 that do not .*gone.png.* on samples {second}, {third}"
    refused_run(message, dataset, PAIR)
    report = compute_quickly(dataset, PAIR, invalid="skip")
    assert (report.run.n_invalid, report.n_objects, report.localisation.mean_iou) == (2, 4, 1.0)


@pytest.mark.long
def test_batches_of_large_masks_and_large_painted_polygons_are_cut(make_dataset, monkeypatch):
    monkeypatch.setattr(read, "BATCH_LABELS", 1000)
    size = (1000, 500)
    large = box(0, 0, 1000, 500, size=size, mask=np.ones((4, 4), bool))
    ring = polygon(rectangle(0, 0, 1000, 500), size=size)
    samples = [{"alice": [large.copy()], "bob": [ring.copy()], "carol": [ring.copy()]} for _ in range(12)]
    dataset = shapes_dataset(make_dataset, *samples, size=size)
    # 500,000 pixels count as 200 labels more
    for fields, options, sizes in (
        (PAIR, {}, [5, 5, 2]),
        (["bob", "carol"], {}, [12]),
        (["bob", "carol"], {"rasterize": "pillow"}, [3, 3, 3, 3]),
        (PAIR, {"geometry": "box"}, [12]),
    ):
        family = open_family(open_source(dataset, make_config(fields, **options)))
        assert [len(rows) for rows in read.Reader(family).batches()] == sizes


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
    odd = [None, "ab", "", 5, {"a": [0.1, 0.2]}, [0.1, 0.2], [[]], True]
    return [[_odd_point(rng) for _ in range(rng.choice(range(6)))] if rng.random() < 0.9 else rng.choice(odd)
            for _ in range(rng.choice([0, 1, 1, 1, 2]))]  # fmt: skip


def _odd_label(rng):
    label = {"bounding_box": [rng.random() for _ in range(4)], "points": _odd_points(rng)}
    label |= {name: rng.choice([True, True, False, None, 1, 0]) for name in ("closed", "filled")}
    if rng.random() < 0.5:
        label["bounding_box"][rng.randrange(4)] = rng.choice(ODD)
    if rng.random() < 0.1:
        label["bounding_box"] = rng.choice([None, "abcd", [0.1] * 3, [0.1] * 5, {}, ["0.1", "0.1", "0.2", "0.2"]])
    if rng.random() < 0.05:
        del label[rng.choice(["bounding_box", "points"])]
    return label


READERS = [(BoxReader(), {}), (PolylineReader(), {}), (PolylineReader(), {"line_tolerance": 2.0}),
           (PolylineReader(), {"geometry": "box"}), (PolylineReader(), {"rasterize": "pillow"})]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("reader", "options"), READERS, ids=str)
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
            assert (document["_id"] not in found, reader.read(values, config, size)[1].tolist()) == (usable, [usable])
            n_usable += usable
        assert 50 < n_usable < 1450
    finally:
        collection.drop()


@pytest.mark.long
def test_the_label_with_the_larger_id_is_the_duplicate_but_none_outside_the_view(make_dataset):
    first, second = box(4, 3, 20, 10, confident=True), box(4, 3, 20, 9.5, confident=False)
    assert first.id < second.id
    dataset = shapes_dataset(make_dataset, {"alice": [second, first], "bob": [box(30, 3, 5, 5, confident=True)]})
    compute_quickly(dataset, PAIR)
    assert dataset.values("alice.detections.agreement") == [["duplicate", "lone"]]
    view = dataset.filter_labels("alice", fo.ViewField("confident") == False)  # noqa: E712
    compute_quickly(view, PAIR, run_key="view")
    assert dataset.values("alice.detections.view") == [["lone", None]]


@pytest.mark.long
def test_scribbled_polygons_are_refused_or_left_out_before_they_take_minutes(make_dataset) -> None:
    rng = np.random.default_rng(3)
    scribble = rng.random((2_000, 2)).tolist()
    square = [(0.1, 0.1), (0.5, 0.1), (0.5, 0.6)]
    dataset = make_dataset({})
    sample = fo.Sample(filepath="/nowhere/scribble.jpg")
    for name in PAIR:
        lines = [fo.Polyline(label="x", points=[points], closed=True) for points in (square, scribble)]
        sample[name] = fo.Polylines(polylines=lines)
    dataset.add_sample(sample)
    refused("cross themselves at most 2,000 times", compute_quickly, dataset, PAIR)
    report = compute_quickly(dataset, PAIR, invalid="skip", overwrite=True)
    assert (report.n_objects, report.n_units) == (2, 1)


def iou_of_the_only_object(dataset, fields=PAIR, **options):
    """IoU of the only object, as it is written on both labels."""
    options = {"iou": 1e-6, "overwrite": True, **options}
    report = compute_quickly(dataset, fields, **options)
    value = report.localisation.mean_iou
    for field in fields:
        of_labels = dataset.first()[field]
        assert [label["agreement_iou"] for label in of_labels[of_labels._LABEL_LIST_FIELD]] == [value]
    return value


def image_with(x, y, width, height):
    """An image in which one box of pixels is inside."""
    image = np.zeros((HEIGHT, WIDTH), np.bool_)
    image[y : y + height, x : x + width] = True
    return image
