"""Instance masks of real datasets, compared with each other and with boxes."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from bson import ObjectId

from tests.dataset_io.shape_checks import assert_refused, image_with
from tests.dataset_io.shaped import SIZE, box, cut_out, shapes_dataset

from annotator_agreement.dataset_io import compute_agreement

WIDTH, HEIGHT = SIZE
PAIR = ["alice", "bob"]


# ---- masks ----


@pytest.mark.long
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


@pytest.mark.long
def test_masks_need_image_sizes(make_dataset):
    mask = cut_out(image_with(2, 2, 10, 8))
    dataset = shapes_dataset(
        make_dataset, {"alice": [mask], "bob": [mask.copy()]}, {"alice": [box(1, 1, 5, 5)], "bob": []},
        {"alice": [], "bob": []}, size=[SIZE, None, None],
    )  # fmt: skip
    second = dataset.values("id")[1]
    assert_refused(dataset, rf"got 1 without \(ids {second}\); run dataset.compute_metadata\(\) first", PAIR)
    assert compute_agreement(dataset, PAIR, geometry="box").n_objects == 3
    dataset._sample_collection.update_one({"_id": ObjectId(second)}, {"$set": {"metadata": {"width": 0, "height": 9}}})
    assert_refused(dataset, "got 1 without", PAIR, run_key="zero")


@pytest.mark.long
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
    assert_refused(
        dataset, f"Files of masks must exist, got 2 that do not .*gone.png.* on samples {second}, {third}", PAIR
    )
    report = compute_agreement(dataset, PAIR, invalid="skip")
    assert (report.run.n_invalid, report.n_objects, report.localisation.mean_iou) == (2, 4, 1.0)


@pytest.mark.long
def test_files_of_annotators_who_were_not_chosen_do_not_matter(make_dataset):
    labels = [box(1, 1, 4, 4, rater="ann"), box(1, 1, 4, 4, rater="bea")]
    labels.append(box(1, 1, 4, 4, rater="zoe", mask_path="/nowhere/gone.png"))
    dataset = shapes_dataset(make_dataset, {"labels": labels})
    options = {"annotator_attribute": "rater"}
    assert compute_agreement(dataset, "labels", annotators=["ann", "bea"], **options).score.mean == 1.0
    assert_refused(dataset, "Files of masks must exist, got 1", "labels", run_key="all_of_them", **options)


@pytest.mark.parametrize("mask", [np.zeros((0, 0), bool), np.zeros((3, 0), bool), np.zeros((5, 5), bool)], ids=str)
@pytest.mark.long
def test_a_mask_without_pixels_agrees_with_nothing(make_dataset, mask):
    dataset = shapes_dataset(
        make_dataset, {"alice": [box(1, 1, 4, 4, mask=mask)], "bob": [box(1, 1, 4, 4, mask=mask), box(1, 1, 4, 4)]}
    )
    report = compute_agreement(dataset, PAIR)
    assert dataset.values("bob.detections.agreement") == [["lone", "lone"]]
    assert (report.run.n_invalid, report.score.mean, report.localisation.mean_iou) == (0, 0.0, None)


# ---- the alignment of the music-notation document ----
