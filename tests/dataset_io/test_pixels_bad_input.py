"""Masks that cannot be compared are refused before anything is written, or left out and counted."""

from __future__ import annotations

import os

import cv2
import fiftyone as fo
import numpy as np
import pytest
from PIL import Image

from tests.dataset_io.masked import masked_dataset, segmentation
from tests.datasets import stored

from annotator_agreement import AgreementInputError, load
from annotator_agreement.agreement.pixels import compute
from annotator_agreement.dataset_io import agreement_on, compute_agreement
from annotator_agreement.dataset_io.database import stored_arrays
from annotator_agreement.dataset_io.labels import mask_reading
from annotator_agreement.metrics.pixels import boundaries

FIELDS = ["alice", "bob"]
GOOD = np.array([[0, 1, 1, 2], [0, 0, 2, 2], [3, 3, 0, 0]], np.uint8)


def _refused(dataset, match, fields=FIELDS, **options):
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match=match):
        compute_agreement(dataset, fields, **options)
    assert stored(dataset) == before


def _with(make_dataset, bad, at=1):
    """Three samples; one mask of bob's is replaced."""
    dataset = masked_dataset(make_dataset, {"alice": [GOOD] * 3, "bob": [GOOD] * 3})
    sample = dataset.skip(at).first()
    sample["bob"] = bad
    sample.save()
    return dataset, sample.id


def _broken(folder, how):
    """A label with a file that cannot be read."""
    path = folder / "broken.png"
    cv2.imwrite(str(path), GOOD)
    content = path.read_bytes()
    if how == "cut off":
        path.write_bytes(content[:-20])
    elif how == "text":
        path.write_text("no image")
    elif how == "empty":
        path.write_bytes(b"")
    return fo.Segmentation(mask_path=str(path))


@pytest.mark.parametrize("how", ["cut off", "text", "empty"])
@pytest.mark.few(2)
def test_files_that_are_no_images_are_refused(make_dataset, tmp_path, how):
    dataset, sample_id = _with(make_dataset, _broken(tmp_path, how))
    _refused(dataset, rf"must have a mask .*, got 1 that do not \(first: '.*broken.png' cannot be read.* {sample_id};")
    report = compute_agreement(dataset, FIELDS, invalid="skip")
    assert dataset.values("agreement_n_annotators") == [2, 1, 2]
    assert dataset.values("bob.agreement_of") == [2, None, 2]
    assert (report.run.n_invalid, report.n_rated) == (1, 2)
    assert [agreement_on(dataset.skip(k).limit(1)).run.n_invalid for k in range(3)] == [0, 1, 0]
    run = load(dataset)
    assert (run.labels()["label_id"].nunique(), run.changed()) == (4, 0)
    of_both = [run.decisions.decide("version", annotator=name, all=True, preview=True) for name in FIELDS]
    assert [(each.n_decided, each.n_without, each.n_left_out) for each in of_both] == [(3, 0, 0), (2, 1, 0)]
    dataset.set_values("bob", {sample_id: fo.Segmentation(mask=GOOD)}, key_field="id")  # added since
    assert run.decisions.decide("version", annotator="alice", all=True, preview=True).n_left_out == 1


def test_a_file_that_must_not_be_read_is_refused(make_dataset, tmp_path, monkeypatch):
    dataset, sample_id = _with(make_dataset, segmentation(GOOD, tmp_path, "locked"))

    def locked(path, *_, **options):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(mask_reading, "open", locked, raising=False)
    monkeypatch.setattr(stored_arrays, "read_image", locked)
    _refused(dataset, rf"got 1 that do not \(first: '.*locked.png' cannot be read .* {sample_id};")


def test_missing_files_are_named_with_their_samples(make_dataset, tmp_path):
    dataset = masked_dataset(make_dataset, {"alice": [GOOD] * 3, "bob": [GOOD] * 3}, tmp_path)
    for k in (0, 2):
        os.remove(tmp_path / f"{k}-bob.png")
    ids = dataset.values("id")
    _refused(
        dataset,
        rf"Files of masks must exist, got 2 that do not \(first: '.*0-bob.png'\), on samples {ids[0]}, {ids[2]}; "
        r'correct them, or leave these masks out with invalid="skip"',
    )
    assert compute_agreement(dataset, FIELDS, invalid="skip").n_rated == 1


@pytest.mark.parametrize(
    ("mask", "match"),
    [
        pytest.param(GOOD + 0.5, "one has values that are not integers", id="fractions"),
        pytest.param(np.full((3, 4), np.nan), "one has values that are not integers", id="nan"),
        pytest.param(np.full((3, 4), 1e30), "one has values that are not integers", id="large"),
        pytest.param(np.full((3, 4), 2**63, np.uint64), "one has values that are not integers", id="64 bits"),
        pytest.param(np.zeros((3, 4, 2), np.uint8), r"one has the shape \(3, 4, 2\)", id="two channels"),
        pytest.param(np.zeros(12, np.uint8), r"one has the shape \(12,\)", id="one dimension"),
        pytest.param(np.zeros((0, 4), np.uint8), "one has no pixels", id="no pixels"),
        pytest.param(np.full((3, 4, 3), 300, np.uint16), "one has more bits", id="deep colours"),
        pytest.param(np.full((3, 4, 3), -1, np.int16), "one has more bits", id="negative colours"),
    ],
)
@pytest.mark.few(2)
def test_arrays_that_are_no_masks_are_refused(make_dataset, mask, match):
    dataset, sample_id = _with(make_dataset, fo.Segmentation(mask=mask))
    _refused(dataset, rf"must have a mask with an integer .* \(first: {match}\), on samples {sample_id}")
    assert compute_agreement(dataset, FIELDS, invalid="skip").run.n_invalid == 1


def test_a_label_without_a_mask_is_refused(make_dataset):
    dataset, _ = _with(make_dataset, fo.Segmentation())
    _refused(dataset, "one has neither an array nor a path")


def test_bytes_that_are_no_array_are_refused(make_dataset):
    dataset, _ = _with(make_dataset, segmentation(GOOD))
    dataset._sample_collection.update_one({}, {"$set": {"bob.mask": b"no array"}})
    _refused(dataset, "one is not stored as FiftyOne stores arrays")


@pytest.mark.parametrize("in_files", [True, False], ids=["files", "database"])
def test_masks_of_different_sizes_are_refused(make_dataset, tmp_path, in_files):
    masks = {"alice": [GOOD] * 3, "bob": [GOOD, GOOD.T, np.pad(GOOD, 1)]}
    dataset = masked_dataset(make_dataset, masks, tmp_path if in_files else None)
    ids = dataset.values("id")
    _refused(
        dataset,
        r"The masks of a sample must have one size, got 2 that do not \(first: alice 4 x 3, bob 3 x 4\), on samples "
        f"{ids[1]}, {ids[2]};",
    )
    report = compute_agreement(dataset, FIELDS, invalid="skip")
    assert dataset.values("agreement_n_annotators") == [2, 0, 0]
    assert (report.run.n_invalid, report.n_rated) == (4, 1)


def test_colours_and_numbers_cannot_be_compared(make_dataset, tmp_path):
    coloured = np.dstack([GOOD] * 3)
    dataset, sample_id = _with(make_dataset, segmentation(coloured, tmp_path))
    _refused(dataset, rf"all in colour .*, got 1 that do not \(first: alice not, bob\), on samples {sample_id}")
    assert compute_agreement(dataset, FIELDS, invalid="skip").n_rated == 2


def test_colours_on_some_samples_and_numbers_on_others_cannot_be_compared(make_dataset):
    coloured = np.dstack([GOOD] * 3)
    dataset = masked_dataset(make_dataset, {"alice": [GOOD, coloured], "bob": [GOOD, coloured]})
    first, second = dataset.values("id")
    message = f"got colours in 'alice' on sample {second} and none in 'alice' on sample {first}; convert them"
    _refused(dataset, message)
    _refused(dataset, message, invalid="skip")


def test_photographs_are_no_masks(make_dataset, tmp_path):
    noise = np.random.default_rng(1).integers(0, 256, (80, 90, 3)).astype(np.uint8)
    Image.fromarray(noise).save(tmp_path / "photo.jpg")
    label = fo.Segmentation(mask_path=str(tmp_path / "photo.jpg"))
    dataset = make_dataset({})
    dataset.add_sample(fo.Sample("1.jpg", alice=label, bob=label.copy()))
    message = r"Masks must hold at most 4096 values on a sample .* got 1 that do not \(first: \d+\), on samples .*skip"
    with pytest.raises(AgreementInputError, match=message):
        compute_agreement(dataset, FIELDS)


def test_photographs_are_left_out_before_their_boundaries_are_compared(make_dataset, monkeypatch):
    noise = np.random.default_rng(1).integers(0, 256, (80, 90, 3)).astype(np.uint8)
    regions = np.repeat(GOOD[:, :, None], 3, axis=2)
    dataset = masked_dataset(make_dataset, {"alice": [noise, regions], "bob": [noise, regions]})
    compared = []

    def boundary_agreement(a, b, values, **options):
        compared.append(len(values))
        return boundaries.boundary_agreement(a, b, values, **options)

    monkeypatch.setattr(compute, "boundary_agreement", boundary_agreement)
    report = compute_agreement(dataset, FIELDS, invalid="skip", boundaries=True)
    assert compared == [3]
    assert dataset.values("agreement_n_annotators") == [0, 2]
    assert (report.run.n_invalid, report.n_rated) == (2, 1)


def test_mask_targets_that_contradict_each_other_are_refused(make_dataset):
    dataset = masked_dataset(make_dataset, {"alice": [GOOD], "bob": [GOOD]})
    dataset.mask_targets = {"alice": {1: "cat", 2: "dog"}, "bob": {1: "dog"}}
    _refused(dataset, "must not contradict each other, got for the value 1: 'cat' in 'alice', 'dog' in 'bob'; give")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            {"boundaries": True, "boundary_width": 2.5},
            "`boundary_width` must be a whole number of pixels, at least 1, got 2.5",
        ),
        (
            {"boundaries": True, "boundary_width": 0.5},
            "`boundary_width` must be a whole number of pixels, at least 1, got 0.5",
        ),
        ({"boundary_width": 2}, "`boundary_width` has no effect without `boundaries`; give that too, or leave `bound"),
        ({"iou": 0.9}, "`iou` concerns objects that are matched, but 'alice' holds Segmentation; leave it out"),
        ({"background": "sky"}, "`background` must be a mask value"),
        ({"ignore_values": ["sky"]}, "`ignore_values` must be mask values"),
        ({"background": 2**63}, "`background` must be a mask value.* got 9223372036854775808"),
        ({"ignore_values": [2**63]}, "`ignore_values` must be mask values.* got .9223372036854775808."),
        ({"annotator_attribute": "rater"}, "got 'alice' .Segmentation.; give every annotator a field"),
    ],
)
@pytest.mark.few(2)
def test_options_that_cannot_be_used_are_refused(make_dataset, options, match):
    dataset = masked_dataset(make_dataset, {"alice": [GOOD], "bob": [GOOD]})
    _refused(dataset, match, ["alice"] if "annotator_attribute" in options else FIELDS, **options)


def test_masks_are_not_compared_with_boxes(make_dataset):
    dataset = masked_dataset(make_dataset, {"alice": [GOOD]})
    dataset.add_sample_field("boxes", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    _refused(dataset, r"can be compared with each other, got alice \(Segmentation\), boxes", ["alice", "boxes"])


def test_a_folder_that_cannot_be_used_is_refused(make_dataset, tmp_path):
    dataset = masked_dataset(make_dataset, {"alice": [GOOD], "bob": [GOOD]})
    file = tmp_path / "file"
    file.write_text("mine")
    for folder in (file, file / "below"):
        _refused(dataset, "`map_folder` must be a folder, got '.*file' is a file", map_folder=folder)
    assert file.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_writable_is_refused(make_dataset, tmp_path):
    dataset = masked_dataset(make_dataset, {"alice": [GOOD], "bob": [GOOD]})
    tmp_path.chmod(0o500)
    _refused(dataset, "in which files can be made", map_folder=tmp_path / "maps")
