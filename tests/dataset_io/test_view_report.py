"""The report of a run on a part of its samples, against a run on that part, for every family of label types."""

from __future__ import annotations

import fiftyone as fo
import pytest
from fiftyone import ViewField as F

from tests.dataset_io.kinds import KINDS, dataset_of
from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused, run_on
from tests.datasets import detections, grouped_dataset, random_annotators, random_videos

from annotator_agreement.dataset_io import (
    agreement_on,
    compute_agreement,
    delete_agreement,
    load_agreement,
    rename_agreement,
)

FRAMES = [f"frames.{name}" for name in ANNOTATORS]


def comparable(report):
    """The numbers of a report by path, without facts of the run."""

    def flat(value, path):
        if isinstance(value, dict):
            for name, entry in value.items():
                yield from flat(entry, (*path, name))
        elif isinstance(value, list):
            for place, entry in enumerate(value):
                yield from flat(entry, (*path, place))
        else:
            yield path, value

    values = {name: value for name, value in report.to_dict().items() if name not in ("run", "run_key")}
    return {path: value for path, value in flat(values, ()) if path != ("config", "run_key")}


def assert_same(found, expected):
    """Equal reports; floats to 1e-12."""
    found, expected = comparable(found), comparable(expected)
    assert list(found) == list(expected)
    for path, value in expected.items():
        if isinstance(value, float):
            assert found[path] == pytest.approx(value, rel=1e-12, abs=1e-12), path
        else:
            assert found[path] == value, path


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_the_report_on_a_view_is_that_of_a_run_on_the_view(make_dataset, kind):
    dataset, fields, options = dataset_of(make_dataset, kind, 24)
    options = {**options, "resamples": 50}
    report = compute_agreement(dataset, fields, **options)
    view = dataset.select(dataset.values("id")[3:-4:2])
    found = agreement_on(view)
    expected = compute_agreement(view, fields, run_key="of_the_view", **options)
    assert_same(found, expected)
    for name in ("lists", "n_invalid", "n_unknown", "n_added_assignments"):
        assert getattr(found.run, name) == getattr(expected.run, name)
    assert (found.run_key, found.run.n_of, found.n_samples) == ("agreement", len(dataset), len(view))
    assert found.score.n > 3
    assert_same(agreement_on(dataset), report)
    assert_same(agreement_on(dataset.shuffle(seed=3)), report)
    for name in fields:  # labels that are edited or deleted change nothing
        dataset.clear_sample_field(name)
    assert agreement_on(view) == found


@pytest.mark.long
def test_of_videos_whole_videos_are_reported_or_the_frames_that_a_view_matches(make_videos):
    dataset = make_videos(random_videos([4, 2, 6, 3, 5, 2, 4, 6]))
    compute_agreement(dataset, FRAMES, resamples=50)
    view = dataset.select(dataset.values("id")[1:7])
    found = agreement_on(view)
    expected = compute_agreement(view, FRAMES, run_key="other", resamples=50)
    assert_same(found, expected)
    assert (found.run.n_videos, expected.run.n_videos) == (6, 6)
    assert found.worst_samples[0]["frame_number"] >= 1
    view = dataset.match_frames(F("frame_number") <= 2, omit_empty=True)
    found = agreement_on(view)
    assert_same(found, compute_agreement(view, FRAMES, run_key="first", resamples=50))
    assert found.n_samples == 16


@pytest.mark.long
def test_patches_and_clips_are_the_samples_that_they_are_of(lend, make_videos):
    dataset = lend(run_on(20))
    drawn = dataset.match(F("alice.detections").length() > 0)
    assert 5 < len(drawn) < 20
    assert agreement_on(dataset.to_patches("alice")) == agreement_on(drawn)
    videos = make_videos([{}] * 3)  # without labels on frames
    for name, last in (("alice", 4), ("bob", 5)):
        labels = [fo.TemporalDetection(label="walk", support=[1, last]) for _ in range(3)]
        videos.set_values(name, [fo.TemporalDetections(detections=[label]) for label in labels])
    compute_quickly(videos, ["alice", "bob"])
    assert agreement_on(videos.limit(2).to_clips("alice")) == agreement_on(videos.limit(2))


@pytest.mark.long
def test_of_groups_the_samples_of_all_slices_are_reported(make_dataset):
    rows = random_annotators(24)
    samples = [fo.Sample(f"/images/{k}.jpg", **{name: detections(rows[name][k]) for name in ANNOTATORS})
               for k in range(24)]  # fmt: skip
    dataset = grouped_dataset(make_dataset, {"left": samples[:12], "right": samples[12:]})
    compute_agreement(dataset, ANNOTATORS, resamples=50)
    for key, view, n in (("seven", dataset.limit(7), 14), ("left", dataset.select_group_slices("left"), 12)):
        assert_same(agreement_on(view), compute_agreement(view, ANNOTATORS, run_key=key, resamples=50))
        assert agreement_on(view).n_samples == n


@pytest.mark.long
def test_a_run_knows_its_own_samples_only_without_those_deleted_or_added(lend):
    dataset = lend(run_on(20))
    compute_quickly(dataset.limit(8), run_key="eight")
    assert [agreement_on(of, "eight").n_samples for of in (dataset, dataset.skip(5))] == [8, 3]
    message = "`view` must have samples of the run 'eight', got none among 12"
    refused(message, agreement_on, dataset.skip(8), "eight")
    expected = agreement_on(dataset.skip(6))
    dataset.delete_samples(dataset.limit(6))
    dataset.add_sample(fo.Sample(filepath="/images/new.jpg"))
    assert agreement_on(dataset) == expected


@pytest.mark.long
def test_intervals_are_made_as_often_as_asked_for(lend):
    view = lend(run_on(20, resamples=50)).limit(15)
    assert agreement_on(view, resamples=50) == agreement_on(view)
    assert agreement_on(view, resamples=0).intervals == {}
    assert agreement_on(view, resamples=60).intervals != agreement_on(view).intervals
    refused("`resamples` must be a whole number", agreement_on, view, resamples=-1)


@pytest.mark.long
def test_a_renamed_run_and_a_cloned_dataset_keep_what_was_found(lend):
    dataset = lend(run_on(20))
    expected = agreement_on(dataset.skip(6))
    clone = dataset.clone()
    try:
        assert_same(agreement_on(clone.skip(6)), expected)
        rename_agreement(dataset, "agreement", "renamed")
        renamed = agreement_on(dataset.skip(6), "renamed")
        assert_same(renamed, expected)
        assert renamed.run_key == "renamed"
        delete_agreement(dataset, "renamed")
        assert_same(agreement_on(clone.skip(6)), expected)
    finally:
        clone.delete()


def test_the_worst_samples_do_not_depend_on_the_order_of_samples(lend):
    dataset = lend(run_on(20))
    listed = load_agreement(dataset).worst_samples
    rows = [
        row for row in zip(*dataset.values(["agreement_score", "id", "filepath"]), strict=True) if row[0] is not None
    ]
    expected = sorted(row for row in rows if row[0] < 1)[:10]
    assert [(entry["score"], entry["id"], entry["filepath"]) for entry in listed] == expected
    assert all(entry["n_disputed"] > 0 for entry in listed)
    assert len(listed) == 10
