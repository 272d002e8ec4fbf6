"""Frames are edited, and videos added or deleted, while a run is in progress."""

from __future__ import annotations

import fiftyone as fo
import numpy as np
import pytest
from bson import ObjectId

from tests.datasets import detections, frames_of

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import compute_agreement
from annotator_agreement.dataset_io.families import frames as frames_module
from annotator_agreement.dataset_io.run import read

ANNOTATORS = ["alice", "bob", "carol"]
FIELDS = [f"frames.{name}" for name in ANNOTATORS]

CAT, DOG = ("cat", (0.1, 0.1, 0.2, 0.4)), ("dog", (0.5, 0.5, 0.3, 0.2))


def test_an_edit_of_a_frame_between_reading_and_writing_is_seen(make_videos, before_each_write):
    dataset = make_videos([{"alice": frames_of([CAT, DOG], [CAT]), "bob": frames_of([CAT, DOG], [CAT])}])
    edits = []

    def edit_once(batch):
        if not edits:
            edits.append(True)
            sample = fo.load_dataset(dataset.name).first()
            frame = sample.frames[1]
            del frame.alice.detections[0]
            sample.save()

    before_each_write(edit_once)
    report = compute_agreement(dataset, FIELDS[:2])
    assert (report.run.n_changed, report.n_samples) == (0, 2)
    assert dataset.values("frames.bob.detections.agreement") == [[["lone", "agreed"], ["agreed"]]]
    assert dataset.values("frames.agreement_score") == [[pytest.approx(2 / 3), 1.0]]
    assert dataset.values("agreement_score") == [pytest.approx(5 / 6)]


@pytest.mark.long
def test_a_video_that_is_deleted_meanwhile_is_not_made_again(make_videos, monkeypatch):
    dataset = make_videos([{"alice": frames_of([CAT]), "bob": frames_of([CAT])} for _ in range(3)])
    gone = dataset.skip(1).first().id
    original = frames_module.VideoScores.write

    def write(self):
        fo.load_dataset(dataset.name).delete_samples([gone])
        return original(self)

    monkeypatch.setattr(frames_module.VideoScores, "write", write)
    compute_agreement(dataset, FIELDS[:2])
    assert dataset._sample_collection.count_documents({}) == 2
    assert dataset.values("agreement_score") == [1.0, 1.0]


@pytest.fixture
def while_it_begins(monkeypatch):
    """Do something just after a run has looked at the videos."""

    def install(action):
        class Videos(frames_module.Videos):
            def __init__(self, source):
                super().__init__(source)
                action(fo.load_dataset(source.dataset.name))

        monkeypatch.setattr(read, "Videos", Videos)

    return install


@pytest.mark.long
def test_a_video_that_is_added_meanwhile_is_compared_too(make_videos, while_it_begins):
    dataset = make_videos([{"alice": frames_of([CAT]), "bob": frames_of([CAT])}])

    def add(other):
        sample = fo.Sample(filepath="/videos/new.mp4")
        sample.frames[1] = fo.Frame(alice=detections([CAT]), bob=detections([CAT]))
        sample.frames[2] = fo.Frame(alice=detections([CAT]))
        other.add_sample(sample)

    while_it_begins(add)
    report = compute_agreement(dataset, FIELDS[:2])
    assert (report.n_samples, report.run.n_videos) == (3, 2)
    # bob has a label list on the first frame, so that he is assigned to the second as well
    assert dataset.values("frames.agreement_n_annotators") == [[2], [2, 2]]
    assert dataset.values("agreement_score") == [1.0, 0.5]


@pytest.mark.parametrize("size", [(200, 100), None])
@pytest.mark.long
def test_a_video_that_is_added_meanwhile_has_its_own_size(make_videos, while_it_begins, size):
    points = [[0.1, 0.2], [0.2, 0.6]]
    moved = [[0.11, 0.2], [0.21, 0.6]]  # 2 pixels; the box around the points has 20 x 40

    def objects(points):
        return fo.Keypoints(keypoints=[fo.Keypoint(label="person", points=points)])

    def add(other):
        metadata = None if size is None else fo.VideoMetadata(frame_width=size[0], frame_height=size[1])
        sample = fo.Sample(filepath="/videos/new.mp4", metadata=metadata)
        sample.frames[1] = fo.Frame(alice=objects(points), bob=objects(moved))
        other.add_sample(sample)

    dataset = make_videos([{"alice": [objects(points)], "bob": [objects(points)]}])
    while_it_begins(add)
    if size is None:
        with pytest.raises(AgreementInputError, match=r"must have an image size .*, got 1 without"):
            compute_agreement(dataset, FIELDS[:2], iou=0.1)
    else:
        compute_agreement(dataset, FIELDS[:2], iou=0.1)
        assert dataset.values("agreement_iou")[1] == pytest.approx(np.exp(-4 / (2 * 800 * 0.1**2)), abs=1e-9)


@pytest.mark.long
def test_frames_whose_video_is_gone_are_left_out(make_videos):
    videos = [{"alice": frames_of([CAT]), "bob": frames_of([CAT])} for _ in range(2)]
    dataset = make_videos(videos)
    orphan = {**dataset._frame_collection.find_one(), "_id": ObjectId(), "_sample_id": ObjectId()}
    dataset._frame_collection.insert_one(orphan)
    report = compute_agreement(dataset, FIELDS[:2])
    assert (report.n_samples, report.run.n_videos) == (2, 2)
    assert dataset._frame_collection.find_one({"_id": orphan["_id"]}) == orphan
