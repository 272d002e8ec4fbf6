"""The report of a run on a part of its samples, against a run on that part, for every family of label types."""

from __future__ import annotations

import fiftyone as fo
import pytest
from fiftyone import ViewField as F

from tests.dataset_io import same_values
from tests.dataset_io.kinds import KINDS, dataset_of
from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused, run_on
from tests.datasets import random_videos

from annotator_agreement import dataset_io

pytestmark = pytest.mark.long
FRAMES = [f"frames.{name}" for name in ANNOTATORS]


def assert_same(found, expected):
    """Equal reports, but for facts of the run."""
    found, expected = (report.to_dict() for report in (found, expected))
    for values in (found, expected):
        del values["run"], values["run_key"], values["config"]["run_key"]
    same_values.assert_same(found, expected, relative=1e-12, absolute=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_report_on_a_view_is_that_of_a_run_on_the_view(make_dataset, kind):
    dataset, fields, options = dataset_of(make_dataset, kind, 24)
    options = {**options, "resamples": 50}
    report = dataset_io.compute_agreement(dataset, fields, **options)
    view = dataset.select(dataset.values("id")[3:-4:2])
    found = dataset_io.agreement_on(view)
    expected = dataset_io.compute_agreement(view, fields, run_key="of_the_view", **options)
    assert_same(found, expected)
    for name in ("lists", "n_invalid", "n_unknown", "n_added_assignments"):
        assert getattr(found.run, name) == getattr(expected.run, name)
    assert (found.run_key, found.run.n_of, found.n_samples) == ("agreement", len(dataset), len(view))
    assert found.score.n > 3
    assert_same(dataset_io.agreement_on(dataset), report)
    assert_same(dataset_io.agreement_on(dataset.shuffle(seed=3)), report)
    for name in fields:  # labels that are edited or deleted change nothing
        dataset.clear_sample_field(name)
    assert dataset_io.agreement_on(view) == found


def test_of_videos_whole_videos_are_reported_or_the_frames_that_a_view_matches(make_videos):
    dataset = make_videos(random_videos([4, 2, 6, 3, 5, 2, 4, 6]))
    dataset_io.compute_agreement(dataset, FRAMES, resamples=50)
    view = dataset.select(dataset.values("id")[1:7])
    found = dataset_io.agreement_on(view)
    expected = dataset_io.compute_agreement(view, FRAMES, run_key="other", resamples=50)
    assert_same(found, expected)
    assert (found.run.n_videos, expected.run.n_videos) == (6, 6)
    assert found.worst_samples[0]["frame_number"] >= 1
    assert dataset_io.agreement_on(view, resamples=0).intervals == {}
    assert dataset_io.agreement_on(view, resamples=60).intervals != found.intervals
    refused("`resamples` must be a whole number", dataset_io.agreement_on, view, resamples=-1)
    view = dataset.match_frames(F("frame_number") <= 2, omit_empty=True)
    found = dataset_io.agreement_on(view)
    assert_same(found, dataset_io.compute_agreement(view, FRAMES, run_key="first", resamples=50))
    assert found.n_samples == 16


def test_patches_and_clips_are_the_samples_that_they_are_of(lend, make_videos):
    dataset = lend(run_on(20))
    drawn = dataset.match(F("alice.detections").length() > 0)
    assert 5 < len(drawn) < 20
    assert dataset_io.agreement_on(dataset.to_patches("alice")) == dataset_io.agreement_on(drawn)
    videos = make_videos([{}] * 3)  # without labels on frames
    for name, last in (("alice", 4), ("bob", 5)):
        labels = [fo.TemporalDetection(label="walk", support=[1, last]) for _ in range(3)]
        videos.set_values(name, [fo.TemporalDetections(detections=[label]) for label in labels])
    compute_quickly(videos, ["alice", "bob"])
    assert dataset_io.agreement_on(videos.limit(2).to_clips("alice")) == dataset_io.agreement_on(videos.limit(2))


def test_a_run_knows_its_own_samples_only_without_those_deleted_or_added(lend):
    dataset = lend(run_on(20))
    compute_quickly(dataset.limit(8), run_key="eight")
    assert [dataset_io.agreement_on(of, "eight").n_samples for of in (dataset, dataset.skip(5))] == [8, 3]
    message = "`view` must have samples of the run 'eight', got none among 12"
    refused(message, dataset_io.agreement_on, dataset.skip(8), "eight")
    expected = dataset_io.agreement_on(dataset.skip(6))
    dataset.delete_samples(dataset.limit(6))
    dataset.add_sample(fo.Sample(filepath="/images/new.jpg"))
    assert dataset_io.agreement_on(dataset) == expected
