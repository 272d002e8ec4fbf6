"""Frames that cannot be compared get one clear sentence."""

from __future__ import annotations

import fiftyone as fo
import numpy as np
import pytest

from tests.datasets import frames_of, stored

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import compute_agreement

ANNOTATORS = ["alice", "bob", "carol"]
FIELDS = [f"frames.{name}" for name in ANNOTATORS]

CAT = ("cat", (0.1, 0.1, 0.2, 0.4))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (["frames.alice", "alice"], r"must all be fields of samples, or all of frames \(frames.…\), got frames.alice"),
        (["frames.alice", "frames.nobody"], r"got 'frames.nobody', which does not exist; .*frames.alice"),
        (["frames.alice", "frames.frame_number"], r"got 'frames.frame_number' with|must hold labels that can be comp"),
    ],
)
@pytest.mark.few(2)
def test_fields_that_cannot_be_compared_are_refused(make_videos, fields, message):
    dataset = make_videos([{"alice": frames_of([CAT]), "bob": frames_of([CAT])}])
    dataset.add_sample_field("alice", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    with pytest.raises(AgreementInputError, match=message):
        compute_agreement(dataset, fields)


def test_names_that_belong_to_a_run_must_be_free_on_frames_too(make_videos):
    dataset = make_videos([{"alice": frames_of([CAT]), "bob": frames_of([CAT])}])
    dataset.add_frame_field("agreement_units", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match=r"`frames\.agreement_units` is a field of the dataset"):
        compute_agreement(dataset, FIELDS[:2])
    assert stored(dataset) == before


def test_frames_of_a_dataset_of_images_do_not_exist(make_dataset):
    with pytest.raises(AgreementInputError, match=r"got 'frames\.alice', which does not exist"):
        compute_agreement(make_dataset(), FIELDS)


def test_unusable_labels_are_refused_with_their_frame(make_videos):
    dataset = make_videos([{"alice": frames_of([CAT], [CAT]), "bob": frames_of([CAT], [CAT])}])
    video = dataset.first().id
    dataset._frame_collection.update_one(
        {"frame_number": 2}, {"$set": {"bob.detections.0.bounding_box": [0.1, 0.1, -1.0, 0.2]}}
    )
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match=rf"got 1 that are not, on samples {video} \(frame 2\)"):
        compute_agreement(dataset, FIELDS[:2])
    assert stored(dataset) == before
    report = compute_agreement(dataset, FIELDS[:2], invalid="skip")
    assert report.run.n_invalid == 1
    assert dataset.values("frames.alice.detections.agreement") == [[["agreed"], ["lone"]]]


def test_pixels_need_the_size_of_the_frames(make_videos):
    points = fo.Keypoints(keypoints=[fo.Keypoint(label="person", points=[[0.1, 0.2], [0.2, 0.6]])])
    moved = fo.Keypoints(keypoints=[fo.Keypoint(label="person", points=[[0.11, 0.2], [0.21, 0.6]])])
    videos = [{"alice": [points], "bob": [moved]}, {"alice": [None], "bob": [None]}]
    without = make_videos(videos, size=None)
    with pytest.raises(AgreementInputError, match=f"got 1 without .ids {without.first().id}."):
        compute_agreement(without, FIELDS[:2])
    # 2 pixels apart; the box around the points has 20 x 40 pixels
    report = compute_agreement(make_videos(videos, size=(200, 100)), FIELDS[:2], iou=0.1)
    assert report.localisation.mean_iou == pytest.approx(np.exp(-4 / (2 * 800 * 0.1**2)), abs=1e-9)


def test_read_only_frame_fields_are_refused(make_videos):
    dataset = make_videos([{"alice": frames_of([CAT]), "bob": frames_of([CAT])}])
    field = dataset.get_field("frames.bob")
    field.read_only = True
    field.save()
    with pytest.raises(AgreementInputError, match=r"must not be read-only, got frames\.bob"):
        compute_agreement(dataset, FIELDS[:2])
