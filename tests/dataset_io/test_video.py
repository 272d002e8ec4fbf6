"""Labels on the frames of videos: compared frame by frame, with means on the videos."""

from __future__ import annotations

import fiftyone as fo
import numpy as np
import pytest
from bson import ObjectId
from fiftyone import ViewField as F

from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused, refused_run
from tests.datasets import detections, frames_of, random_annotators, stored

from annotator_agreement.dataset_io import delete_agreement, list_agreements, rename_agreement
from annotator_agreement.dataset_io.families import frames as frames_module
from annotator_agreement.dataset_io.run import read

FIELDS = [f"frames.{name}" for name in ANNOTATORS]
FLOATS, COUNTS = ("score", "alpha", "iou", "dice"), ("n_units", "n_disputed", "cost")
NUMBERS = (*FLOATS, *COUNTS, "n_annotators")

CAT, DOG = ("cat", (0.1, 0.1, 0.2, 0.4)), ("dog", (0.5, 0.5, 0.3, 0.2))


def _random_videos(n_videos=4, n_frames=9, seed=3):
    """Videos of random labels, every annotator with a list on every frame or on none."""
    rng, videos = np.random.default_rng(seed), []
    for k in range(n_videos):
        labels = random_annotators(n_frames, ANNOTATORS, seed=seed + k)
        videos.append({name: [detections((entry or []) if rng.random() < 0.9 else []) for entry in labels[name]]
                       for name in ANNOTATORS})  # fmt: skip
        if k % 4 < 3:
            videos[k][ANNOTATORS[k % 4]] = [None] * n_frames
    return videos


def _as_images(make_dataset, videos):
    """The frames as samples of a dataset of images."""
    dataset = make_dataset({})
    for k, video in enumerate(videos):
        for number in range(len(video["alice"])):
            labels = {name: video[name][number] for name in ANNOTATORS}
            copies = {name: None if entry is None else entry.copy() for name, entry in labels.items()}
            dataset.add_sample(fo.Sample(filepath=f"/{k}-{number}.jpg", **copies))
    return dataset


def _by_frame(dataset, path):
    return [value for of_video in dataset.values(f"frames.{path}") for value in of_video]


@pytest.mark.long
def test_frames_are_compared_like_images_and_videos_get_means_sums_and_the_most_annotators(make_videos, make_dataset):
    videos = _random_videos()
    images = _as_images(make_dataset, videos)
    images.set_values("metadata", [fo.ImageMetadata(width=200, height=100)] * len(images))
    dataset = make_videos(videos, (200, 100))
    # the frames of a video are resampled together, images one by one
    expected, report = (compute_quickly(images, ANNOTATORS), compute_quickly(dataset, FIELDS))
    for name in NUMBERS:
        assert _by_frame(dataset, f"agreement_{name}") == images.values(f"agreement_{name}"), name
    for field in ANNOTATORS:
        for suffix in ("", "_iou", "_votes", "_of"):
            path = f"{field}.detections.agreement{suffix}"
            assert _by_frame(dataset, path) == images.values(path)
    for name in ("alpha", "score", "annotators"):
        assert getattr(report, name) == getattr(expected, name)
    assert (report.n_samples, report.run.n_videos) == (36, 4)
    assert [entry.name for entry in report.annotators] == ANNOTATORS
    for name in FLOATS:
        of_videos = [[v for v in of if v is not None] for of in dataset.values(f"frames.agreement_{name}")]
        means = [np.mean(values) if values else None for values in of_videos]
        assert dataset.values(f"agreement_{name}") == pytest.approx(means, abs=1e-12)
    for name in COUNTS:
        sums = [sum(value or 0 for value in values) for values in dataset.values(f"frames.agreement_{name}")]
        assert dataset.values(f"agreement_{name}") == sums
    most = [max(values) for values in dataset.values("frames.agreement_n_annotators")]
    assert dataset.values("agreement_n_annotators") == most == [2, 2, 2, 3]


@pytest.mark.long
def test_fields_are_declared_on_frames_labels_and_videos_renamed_and_deleted(make_videos):
    dataset = make_videos([{"alice": frames_of([CAT]), "bob": frames_of([CAT])}])
    before, paths = stored(dataset), {*dataset.get_field_schema(flat=True), *dataset.get_frame_field_schema(flat=True)}
    sample = dataset.first()
    frame = sample.frames[1]
    compute_quickly(dataset, FIELDS[:2])
    assert (sample.agreement_score, frame.agreement_score) == (1.0, 1.0), "those in memory show what was written"
    on_samples, on_frames = dataset.get_field_schema(flat=True), dataset.get_frame_field_schema(flat=True)
    suffixes = ("", "_id", "_iou", "_votes", "_of", "_missed_by", "_differs_from")
    of_labels = {f"{name}.detections.agreement{suffix}" for name in ("alice", "bob") for suffix in suffixes}
    of_documents = {f"agreement_{name}" for name in NUMBERS}
    assert (set(on_frames) - paths, set(on_samples) - paths) == (of_documents | of_labels, of_documents)
    for schema in (on_samples, on_frames):
        for path in set(schema) - paths:
            assert schema[path].info == {"annotator_agreement": "agreement"}
    assert on_samples["agreement_score"].description.endswith("; mean over the frames of the video")
    assert on_samples["agreement_n_units"].description.endswith("; sum over the frames of the video")
    written = ("agreement_score", "frames.agreement_score", "frames.bob.detections.agreement_id")
    values = [dataset.values(path) for path in written]
    rename_agreement(dataset, "agreement", "renamed")
    assert [dataset.values(path.replace("agreement", "renamed")) for path in written] == values
    assert "agreement" not in str([*dataset.get_field_schema(flat=True), *dataset.get_frame_field_schema(flat=True)])
    delete_agreement(dataset, "renamed")
    assert stored(dataset) == before


def test_who_labelled_any_frame_of_a_video_is_assigned_to_all_frames_that_anybody_labelled(make_videos):
    first = {"alice": frames_of([CAT], [CAT], None), "bob": frames_of([CAT], None, None)}
    dataset = make_videos([first, {"alice": frames_of([CAT], [], None), "bob": frames_of(None, None, None)}])
    report = compute_quickly(dataset, FIELDS[:2])
    assert dataset.values("frames.agreement_n_annotators") == [[2, 2, 0], [1, 1, 0]]
    assert dataset.values("frames.alice.detections.agreement") == [[["agreed"], ["lone"], None], [[None], [], None]]
    assert dataset.values("frames.agreement_score") == [[1.0, 0.0, None], [None, None, None]]
    assert (dataset.values("agreement_score"), dataset.values("agreement_n_annotators")) == ([0.5, None], [2, 1])
    coverage = {entry.name: (entry.n_assigned, entry.n_drew_nothing) for entry in report.annotators}
    assert (coverage, report.run.coverage) == ({"alice": (4, 1), "bob": (2, 1)}, "videos")


def test_the_worst_videos_are_listed_with_their_worst_frame(make_videos, capsys):
    videos = [([[CAT], [CAT]], [[CAT], [CAT]]), ([[CAT], [CAT], [CAT], [DOG]], [[CAT], [CAT, DOG], [], []]),
              ([[CAT], [CAT, DOG]], [[CAT], [CAT]])]  # fmt: skip
    dataset = make_videos([{"alice": frames_of(*alice), "bob": frames_of(*bob)} for alice, bob in videos])
    report = compute_quickly(dataset, FIELDS[:2])
    ids = dataset.values("id")
    assert [(entry["id"], entry["frame_number"]) for entry in report.worst_samples] == [(ids[1], 3), (ids[2], 2)]
    assert [entry["score"] for entry in report.worst_samples] == pytest.approx([(1 + 2 / 3) / 4, (1 + 2 / 3) / 2])
    assert [(entry["n_disputed"], entry["n_units"]) for entry in report.worst_samples] == [(3, 5), (1, 3)]
    assert [entry["filepath"] for entry in report.worst_samples] == ["/videos/1.mp4", "/videos/2.mp4"]
    report.print_report()
    text = capsys.readouterr().out
    assert "3 videos with 8 frames, compared frame by frame" in text
    assert "worst frame" in text


@pytest.mark.long
def test_batches_that_cut_videos_change_nothing(make_videos, monkeypatch):
    videos = _random_videos(3, 7)
    for frame in (frame for video in videos for frames in video.values() for frame in frames if frame is not None):
        for k, label in enumerate(frame.detections):
            label.index = k
    dataset = make_videos(videos)
    whole = compute_quickly(dataset, FIELDS, run_key="whole")
    worst = [entry["frame_number"] for entry in whole.worst_samples]
    for batch_frames, batch_labels in ((1, 10_000), (4, 10_000), (1000, 5)):
        monkeypatch.setattr(read, "BATCH_SAMPLES", batch_frames)
        monkeypatch.setattr(read, "BATCH_LABELS", batch_labels)
        parts = compute_quickly(dataset, FIELDS, run_key="parts", overwrite=True)
        for name in NUMBERS:
            assert dataset.values(f"whole_{name}") == pytest.approx(dataset.values(f"parts_{name}"), abs=1e-12)
            assert _by_frame(dataset, f"whole_{name}") == pytest.approx(_by_frame(dataset, f"parts_{name}"), abs=1e-12)
        assert _by_frame(dataset, "bob.detections.whole_id") == _by_frame(dataset, "bob.detections.parts_id")
        assert [entry["frame_number"] for entry in parts.worst_samples] == worst
        consistency = [pair.track_consistency for pair in whole.pairs]
        assert [pair.track_consistency for pair in parts.pairs] == pytest.approx(consistency, abs=1e-12)
    assert whole.track_consistency is not None


def test_a_view_of_some_frames_leaves_the_others_alone_and_one_of_none_is_refused(make_videos):
    labels = {"alice": frames_of([CAT], [CAT], [CAT]), "bob": frames_of([CAT], [], [CAT])}
    dataset = make_videos([labels, labels])
    report = compute_quickly(dataset.limit(1).match_frames(F("frame_number") > 1), FIELDS[:2])
    none = dataset.match_frames(F("frame_number") > 5, omit_empty=False)
    refused("Agreement needs frames, got videos without any", compute_quickly, none, FIELDS[:2], run_key="none")
    assert list_agreements(dataset) == ["agreement"]
    assert (report.n_samples, report.run.n_videos) == (2, 1)
    assert dataset.values("frames.agreement_score") == [[None, 0.0, 1.0], [None, None, None]]
    assert dataset.values("agreement_score") == [0.5, None]
    assert dataset.values("agreement_n_annotators") == [2, None]


def test_a_filtered_view_is_about_the_labels_it_contains_and_the_assignments_of_the_dataset(make_videos):
    dataset = make_videos([{"alice": frames_of([CAT, DOG], [CAT]), "bob": frames_of([DOG], None)}])
    view = dataset
    for field in FIELDS[:2]:
        view = view.filter_labels(field, F("label") == "dog", only_matches=False)
    compute_quickly(view, FIELDS[:2])
    assert dataset.values("frames.alice.detections.agreement") == [[[None, "agreed"], [None]]]
    assert dataset.values("frames.bob.detections.agreement_votes") == [[[2], None]]
    assert dataset.values("frames.agreement_n_annotators") == [[2, 2]]


def _rated(*names):
    return fo.Detections(
        detections=[fo.Detection(label=CAT[0], bounding_box=list(CAT[1]), rater=name) for name in names]
    )


@pytest.mark.long
def test_assigned_annotators_are_listed_on_the_video_or_everybody_is_assigned_to_frames_with_labels(make_videos):
    dataset = make_videos([{"labels": [_rated("ann", "bea"), _rated("ann"), None]}, {"labels": [_rated("ann", "cid")]}])
    dataset.set_values("raters", [["ann", "bea"], ["ann"]])
    report = compute_quickly(dataset, "frames.labels", annotator_attribute="rater", assigned_field="raters")
    assert [entry.name for entry in report.annotators] == ["ann", "bea", "cid"]
    assert dataset.values("frames.agreement_n_annotators") == [[2, 2, 2], [2]]
    assert dataset.values("frames.labels.detections.agreement") == [[["agreed"] * 2, ["lone"], None], [["agreed"] * 2]]
    assert (report.run.coverage, report.run.n_added_assignments) == ("given", 1)
    report = compute_quickly(dataset, "frames.labels", annotator_attribute="rater", run_key="assumed")
    assert (dataset.values("frames.assumed_n_annotators"), report.run.coverage) == ([[3, 3, 0], [3]], "assumed")


def test_fields_that_cannot_be_compared_are_refused(make_videos, make_dataset):
    dataset = make_videos([{"alice": frames_of([CAT]), "bob": frames_of([CAT])}])
    dataset.add_sample_field("alice", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    absent = r"got 'frames.nobody', which does not exist; .*frames.alice"
    for samples, fields, message in (
        (dataset, ["frames.alice", "alice"], r"must all be fields of samples, or all of frames \(frames.…\), got f"),
        (dataset, ["frames.alice", "frames.nobody"], absent),
        (dataset, ["frames.alice", "frames.frame_number"], r"got 'frames.frame_number' with|must hold labels that can"),
        (make_dataset(), FIELDS, r"got 'frames\.alice', which does not exist"),
    ):
        refused(message, compute_quickly, samples, fields)
    dataset.add_frame_field("agreement_units", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    refused_run(r"`frames\.agreement_units` is a field of the dataset", dataset, FIELDS[:2])


def test_unusable_labels_are_refused_with_their_frame(make_videos):
    dataset = make_videos([{"alice": frames_of([CAT], [CAT]), "bob": frames_of([CAT], [CAT])}])
    video = dataset.first().id
    dataset._frame_collection.update_one(
        {"frame_number": 2}, {"$set": {"bob.detections.0.bounding_box": [0.1, 0.1, -1.0, 0.2]}}
    )
    refused_run(rf"got 1 that are not, on samples {video} \(frame 2\)", dataset, FIELDS[:2])
    report = compute_quickly(dataset, FIELDS[:2], invalid="skip")
    assert report.run.n_invalid == 1
    assert dataset.values("frames.alice.detections.agreement") == [[["agreed"], ["lone"]]]


def _points(x=0.1):
    """Two points 20 and 40 pixels apart on frames of 200 x 100."""
    return fo.Keypoints(keypoints=[fo.Keypoint(label="person", points=[[x, 0.2], [x + 0.1, 0.6]])])


#: their similarity to those 2 pixels beside them
OKS = np.exp(-4 / (2 * 800 * 0.1**2))


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
    report = compute_quickly(dataset, FIELDS[:2])
    assert (report.run.n_changed, report.n_samples) == (0, 2)
    assert dataset.values("frames.bob.detections.agreement") == [[["lone", "agreed"], ["agreed"]]]
    assert dataset.values("frames.agreement_score") == [[pytest.approx(2 / 3), 1.0]]
    assert dataset.values("agreement_score") == [pytest.approx(5 / 6)]


@pytest.mark.long
def test_a_video_deleted_meanwhile_is_not_made_again_and_frames_without_one_left_out(make_videos, monkeypatch):
    dataset = make_videos([{"alice": frames_of([CAT]), "bob": frames_of([CAT])} for _ in range(3)])
    orphan = {**dataset._frame_collection.find_one(), "_id": ObjectId(), "_sample_id": ObjectId()}
    dataset._frame_collection.insert_one(orphan)
    gone = dataset.skip(1).first().id
    original = frames_module.VideoScores.write

    def write(self, *arguments, **options):
        fo.load_dataset(dataset.name).delete_samples([gone])
        return original(self, *arguments, **options)

    monkeypatch.setattr(frames_module.VideoScores, "write", write)
    report = compute_quickly(dataset, FIELDS[:2])
    assert (report.n_samples, report.run.n_videos) == (3, 3)
    assert dataset._frame_collection.find_one({"_id": orphan["_id"]}) == orphan
    assert (dataset._sample_collection.count_documents({}), dataset.values("agreement_score")) == (2, [1.0, 1.0])


@pytest.mark.parametrize("size", [(200, 100), None])
def test_a_video_that_is_added_meanwhile_is_compared_too_and_has_its_own_size(make_videos, monkeypatch, size):
    dataset = make_videos([{"alice": [_points()], "bob": [_points()]}])

    class Videos(frames_module.Videos):
        def __init__(self, source):
            super().__init__(source)
            metadata = None if size is None else fo.VideoMetadata(frame_width=size[0], frame_height=size[1])
            sample = fo.Sample(filepath="/videos/new.mp4", metadata=metadata)
            sample.frames[1] = fo.Frame(alice=_points(), bob=_points(0.11))
            sample.frames[2] = fo.Frame(alice=_points())
            fo.load_dataset(source.dataset.name).add_sample(sample)

    monkeypatch.setattr(read, "Videos", Videos)
    if size is None:
        message = r"must have an image size .*, got 1 without"
        refused(message, compute_quickly, dataset, FIELDS[:2], iou=0.1)
        return
    report = compute_quickly(dataset, FIELDS[:2], iou=0.1)
    assert (report.n_samples, report.run.n_videos) == (3, 2)
    # bob has a label list on the first frame, so that he is assigned to the second as well
    assert dataset.values("frames.agreement_n_annotators") == [[2], [2, 2]]
    assert dataset.values("frames.agreement_iou")[1] == [pytest.approx(OKS, abs=1e-9), None]
