"""COCO files of several annotators, in the three common layouts."""

from __future__ import annotations

import json
import math

import fiftyone as fo
import numpy as np
import pytest
import shapely
from pycocotools import mask as coco_masks

from tests.dataset_io.annotation_samples import coco, dataset_of, images_in, run_of, written

from annotator_agreement.dataset_io import compute_agreement, export_annotations, import_annotations
from annotator_agreement.dataset_io.annotation_files import coco_mask

pytestmark = pytest.mark.usefixtures("delete_imports")


def _images_of(path):
    return {image["file_name"] for image in json.loads(path.read_text())["images"]}


@pytest.mark.parametrize(("file", "alpha"), [
    ("fruits", 1 / 45), ("smile_fruits", 41 / 83), ("landscape_annotations", 353 / 722)])  # fmt: skip
@pytest.mark.few(2)
def test_the_tables_of_document_000_from_the_original_files(shared_data, imported, file, alpha):
    path = shared_data / "coco_raters" / f"{file}.json"
    report = run_of(*imported(path, _images_of(path)), method="recursive", classes="ignore")
    assert report.alpha.pooled == pytest.approx(alpha, abs=1e-9)


@pytest.mark.parametrize("into", ["fields", "attribute"])
@pytest.mark.long
def test_lvis_gives_the_numbers_of_the_design(shared_data, imported, into):
    path = shared_data / "lvis_double" / "lvis_v1.0_val_doubly_annos_subset200.json"
    dataset, summary = imported(path, _images_of(path), into=into)
    assert [(entry.n_images, entry.n_empty) for entry in summary.annotators] == [(200, 14), (200, 16)]
    report = run_of(dataset, summary)
    assert (report.n_rated, report.n_units, report.alpha.n_defined) == (200, 2121, 149)
    assert report.alpha.mean == pytest.approx(0.582387, abs=1e-6)
    assert report.alpha.pooled == pytest.approx(0.646623, abs=1e-6)


def test_an_image_on_which_somebody_drew_nothing_is_one_that_they_looked_at(tmp_path):
    """FiftyOne's own importer says null there, which reads as not assigned."""
    rng = np.random.default_rng(51)
    names = [f"{k}.png" for k in range(12)]
    folder = images_in(tmp_path / "images", names)
    objects = [[(int(rng.integers(0, 30)), int(rng.integers(0, 10)))] if rng.random() < 0.6 else [] for _ in names]
    paths, drawn = {}, {}
    for annotator in ("alice", "bob"):
        drawn[annotator] = [[box for box in found if rng.random() < 0.7] for found in objects]
        boxes = [{"image_id": k, "bbox": [x, y, 10, 8]} for k, found in enumerate(drawn[annotator]) for x, y in found]
        paths[annotator] = written(tmp_path / f"{annotator}.json", coco(names, boxes))
    n_drawn = np.array([list(map(len, found)) for found in drawn.values()]).sum(axis=0)
    both, anybody = (n_drawn == 2).sum(), (n_drawn > 0).sum()
    for options in ({}, {"format": fo.types.COCODetectionDataset, "media_dir": folder}):
        ours = dataset_of(names, str(folder))
        summary = import_annotations(ours, paths, **options)
        assert [entry.n_images for entry in summary.annotators] == [12, 12]
        report = compute_agreement(ours, ["alice", "bob"], resamples=0)
        assert report.n_rated == 12
        assert report.score.mean == pytest.approx(both / anybody)  # an object that only one drew gives 0
        # Krippendorff's formula: one object at most on an image, drawn by both or missed by one
        n_missed = anybody - both
        expected = 2 * (both + anybody) * n_missed / (2 * anybody * (2 * anybody - 1))
        assert report.alpha.pooled == pytest.approx(1 - n_missed / anybody / expected)


BOX = [0, 0, 10, 10]


def test_sessions_are_annotators_of_one_person(imported):
    images = [{"file_name": "1.jpg", "rater_list": {"ann": [1, 2], "bob": [1]}},
              {"file_name": "2.jpg", "rater_list": {}}]  # fmt: skip
    drawn = ((0, "ann", 2), (0, "bob", 1), (1, "bob", 1))
    entries = [{"image_id": k, "bbox": BOX, "rater_id": who, "session_id": session} for k, who, session in drawn]
    dataset, summary = imported(coco(images, entries), ["1.jpg", "2.jpg"])
    counts = {"ann_1": [0, None], "ann_2": [1, None], "bob_1": [1, 1]}  # bob is not listed on the second, but drew
    for field, expected in counts.items():
        assert [label and len(label.detections) for label in dataset.values(field)] == expected, field
    assert any("1 times somebody drew" in note for note in summary.notes)
    assert "annotators={'ann_1': 'ann', 'ann_2': 'ann', 'bob_1': 'bob'}" in summary.calls[0]
    assert run_of(dataset, summary).n_rated == 1


def test_without_a_list_everybody_looked_at_every_image(imported):
    entries = [{"image_id": k, "bbox": BOX, "rater_id": name} for k, name in enumerate(("ann", "bob"))]
    names = ["1.jpg", "2.jpg"]
    dataset, summary = imported(coco(names, entries), names, into="attribute")
    assert dataset.values("annotations_assigned") == [["ann", "bob"]] * 2
    assert dataset.values("annotations.detections.annotator") == [["ann"], ["bob"]]
    assert dataset.get_field("annotations.detections.annotator") is not None
    assert any("everybody is taken to have looked" in note for note in summary.notes)


def test_entries_of_one_file_with_different_sizes_have_their_own(imported):
    images = [{"file_name": "1.jpg", "annotator": "ann"}, {"file_name": "1.jpg", "annotator": "bob", "width": 80}]
    dataset, _ = imported(coco(images, [{"image_id": k, "bbox": [20, 5, 10, 10]} for k in range(2)]))
    assert dataset.first().ann.detections[0].bounding_box == [0.5, 0.25, 0.25, 0.5]
    assert dataset.first().bob.detections[0].bounding_box == [0.25, 0.25, 0.125, 0.5]


def test_shapes_masks_key_points_crowds_and_attributes(imported):
    ring, hole = [4, 4, 20, 4, 20, 16, 4, 16], [8, 8, 12, 8, 12, 12, 8, 12]
    region = np.zeros((20, 40), np.uint8)
    region[3:9, 11:30] = 1
    region[5, 12] = 0
    crowd = {"size": [20, 40], "counts": coco_masks.encode(np.asfortranarray(region))["counts"].decode()}
    plain = {"size": [20, 40], "counts": [0, 800 - 20, 20]}  # everything but the last column
    attributes = {"occluded": True, "id": "no"}
    entries = [
        {"segmentation": [ring, hole], "bbox": [4, 4, 16, 12], "attributes": attributes, "note": "x"},
        {"segmentation": crowd, "bbox": [11, 3, 19, 6], "iscrowd": 1, "score": 0.5},
        {"segmentation": plain, "bbox": [0, 0, 39, 20]},
        {"keypoints": [4, 10, 2, 0, 0, 0, 40, 20, 1], "bbox": [0, 0, 40, 20], "category_id": 2},
        {"segmentation": {"size": [20, 40], "counts": [5]}, "bbox": [1, 1, 2, 2]},
    ]
    types = ["detections", "segmentations", "polylines", "keypoints"]
    content = coco(["1.jpg"], [{"rater_id": "ann", **entry} for entry in entries])
    dataset, summary = imported(content, label_types=types)
    sample = dataset.first()
    boxes = sample.ann_detections.detections
    assert [box.label for box in boxes] == ["cat", "cat", "cat", "dog"]
    assert (boxes[0].occluded, boxes[0].note, boxes[1].iscrowd, boxes[1].confidence) == (True, "x", 1, 0.5)
    holed, packed_mask, rest, boxed = sample.ann_segmentations.detections
    assert holed.mask.sum() == 16 * 12 - 4 * 4  # a pixel is in where its centre is
    assert np.array_equal(packed_mask.mask, region[3:9, 11:30].astype(bool))
    assert (rest.mask.all(), rest.mask.shape, boxed.has_mask) == (True, (20, 39), False)
    points = [[[x / 40, y / 20] for x, y in zip(ends[::2], ends[1::2], strict=True)] for ends in (ring, hole)]
    assert sample.ann_polylines.polylines[0].points == points
    (pose,) = sample.ann_keypoints.keypoints
    assert (pose.label, pose.points[0], pose.points[2]) == ("dog", [0.1, 0.5], [1.0, 1.0])
    assert math.isnan(pose.points[1][0])
    assert any("Run lengths must add up" in line for line in summary.left_out)
    assert dataset.get_field("ann_detections.detections.iscrowd") is not None


def test_masks_given_as_polygons_run_along_the_edges_of_their_pixels(imported):
    def cut(x, y, width, height):
        pixels = np.zeros((20, 40), np.uint8)
        pixels[y : y + height, x : x + width] = 1
        return pixels

    disc = (np.hypot(*(np.mgrid[:20, :40] + 0.5 - np.array([10, 20])[:, None, None])) < 7).astype(np.uint8)
    masks = [cut(3, 4, 9, 6), cut(0, 0, 1, 1), cut(5, 5, 20, 1), cut(2, 2, 9, 9) - cut(5, 5, 3, 3),
             cut(1, 1, 4, 4) | cut(20, 10, 5, 5), cut(1, 1, 4, 4) | cut(5, 5, 4, 4), disc]  # fmt: skip
    packed = [coco_masks.encode(np.asfortranarray(mask))["counts"].decode() for mask in masks]
    entries = [{"segmentation": {"size": [20, 40], "counts": each}, "bbox": [0, 0, 40, 20]} for each in packed]
    dataset, _ = imported(coco(["1.jpg"], entries), who="ann", label_types="polylines")
    y, x = np.mgrid[:20, :40] + 0.5
    for mask, label in zip(masks, dataset.first().ann.polylines, strict=True):
        rings = [shapely.linearrings(np.array(ring) * [40, 20]) for ring in label.points]
        inside = sum(shapely.contains_xy(shapely.polygons(ring), x, y) for ring in rings) % 2
        assert np.array_equal(inside, mask)
        areas = [shapely.area(shapely.polygons(ring)) for ring in rings]
        assert max(sum(areas), 2 * max(areas) - sum(areas)) >= mask.sum() - 1e-9
        assert all(np.allclose(np.array(ring) * [40, 20], np.round(np.array(ring) * [40, 20])) for ring in label.points)
    assert [len(dataset.first().ann.polylines[k].points[0]) for k in (0, 1, 2)] == [4, 4, 4]


def test_the_score_of_keypoints_is_that_of_each_point_and_comes_back(imported, tmp_path):
    images = [{"file_name": "1.jpg", "annotator": "ann"}, {"file_name": "2.jpg", "annotator": "bob"}]
    entries = [{"image_id": k, "keypoints": [10, 5, 2, 0, 0, 0], "score": 0.25} for k in range(2)]
    dataset, _ = imported(coco(images, entries), ["1.jpg", "2.jpg"])
    assert dataset.first().ann.keypoints[0].confidence == [0.25, 0.25]
    assert export_annotations(dataset, ["ann", "bob"], tmp_path / "out.json").changed == ()
    content = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert [entry["score"] for entry in content["annotations"]] == [0.25, 0.25]


def test_run_lengths_are_read_as_pycocotools_reads_them():
    rng = np.random.default_rng(51)
    for width, height, share in ((7, 5, 0.5), (300, 200, 0.02), (64, 64, 0.9), (1, 9, 0.5), (5, 1, 0.5), (6, 6, 1.0)):
        mask = rng.random((height, width)) < share
        packed = coco_masks.encode(np.asfortranarray(mask.astype(np.uint8)))
        found = coco_mask(packed["counts"].decode(), width, height)
        placed = np.zeros_like(mask)
        placed[found.top : found.top + found.shape[0], found.left : found.left + found.shape[1]] = found.pixels()
        assert np.array_equal(placed, mask)
