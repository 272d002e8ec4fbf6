"""The report of a run on a part of its samples, against a run on that part, for every family of label types."""

from __future__ import annotations

import itertools

import fiftyone as fo
import numpy as np
import pytest
from fiftyone import ViewField as F

from tests.dataset_io.kinds import KINDS, dataset_of
from tests.datasets import detections, frames_of, random_annotators

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import (
    agreement_on,
    compute_agreement,
    delete_agreement,
    load_agreement,
    rename_agreement,
)

NAMES = ["alice", "bob", "carol"]


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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.few(2)
def test_the_report_on_a_view_is_that_of_a_run_on_the_view(make_dataset, kind):
    dataset, fields, options = dataset_of(make_dataset, kind, 30)
    options = {**options, "resamples": 50}
    report = compute_agreement(dataset, fields, **options)
    view = dataset.select(dataset.values("id")[3:-4:2])
    found = agreement_on(view)
    expected = compute_agreement(view, fields, run_key="of_the_view", **options)
    assert_same(found, expected)
    for name in ("lists", "n_invalid", "n_unknown", "n_added_assignments"):
        assert getattr(found.run, name) == getattr(expected.run, name)
    assert (found.run_key, found.run.n_of, found.n_samples) == ("agreement", len(dataset), len(view))
    assert found.score.n > 5
    assert_same(agreement_on(dataset), report)
    assert_same(agreement_on(dataset.shuffle(seed=3)), report)
    for name in fields:  # labels that are edited or deleted change nothing
        dataset.clear_sample_field(name)
    assert agreement_on(view) == found


def _random_videos():
    rng = np.random.default_rng(8)
    videos = []
    for k in range(8):
        rows = random_annotators(int(rng.integers(2, 7)), seed=k)
        videos.append({name: frames_of(*rows[name]) for name in NAMES})
    return videos


@pytest.mark.long
def test_of_videos_whole_videos_are_reported(make_videos):
    dataset = make_videos(_random_videos())
    fields = [f"frames.{name}" for name in NAMES]
    compute_agreement(dataset, fields, resamples=50)
    view = dataset.select(dataset.values("id")[1:7])
    found = agreement_on(view)
    expected = compute_agreement(view, fields, run_key="other", resamples=50)
    assert_same(found, expected)
    assert (found.run.n_videos, expected.run.n_videos) == (6, 6)
    assert found.worst_samples[0]["frame_number"] >= 1


@pytest.mark.long
def test_of_frames_that_a_view_matches_only_these_are_reported(make_videos):
    dataset = make_videos(_random_videos())
    fields = [f"frames.{name}" for name in NAMES]
    compute_agreement(dataset, fields, resamples=0)
    view = dataset.match_frames(F("frame_number") <= 2, omit_empty=True)
    found = agreement_on(view)
    assert_same(found, compute_agreement(view, fields, run_key="other", resamples=0))
    assert found.n_samples == 16


@pytest.mark.long
def test_patches_are_the_samples_that_they_are_of(make_dataset):
    dataset = make_dataset(random_annotators(20))
    compute_agreement(dataset, NAMES)
    drawn = dataset.match(F("alice.detections").length() > 0)
    assert 5 < len(drawn) < 20
    assert agreement_on(dataset.to_patches("alice")) == agreement_on(drawn)


@pytest.mark.long
def test_clips_of_videos_without_labels_on_frames_are_their_videos(make_videos):
    dataset = make_videos([{}] * 3)
    for name, last in (("alice", 4), ("bob", 5)):
        labels = [fo.TemporalDetection(label="walk", support=[1, last]) for _ in range(3)]
        dataset.set_values(name, [fo.TemporalDetections(detections=[label]) for label in labels])
    compute_agreement(dataset, ["alice", "bob"])
    clips = dataset.limit(2).to_clips("alice")
    assert agreement_on(clips) == agreement_on(dataset.limit(2))


@pytest.mark.long
def test_of_groups_the_samples_of_all_slices_are_reported(make_dataset):
    dataset = make_dataset({})
    dataset.add_group_field("group", default="left")
    rows = random_annotators(24)
    samples = []
    for k in range(12):
        group = fo.Group()
        for side, row in (("left", k), ("right", 12 + k)):
            labels = {name: detections(rows[name][row]) for name in NAMES}
            samples.append(fo.Sample(filepath=f"/images/{side}{k}.jpg", group=group.element(side), **labels))
    dataset.add_samples(samples)
    compute_agreement(dataset, NAMES, resamples=50)
    view = dataset.limit(7)
    assert_same(agreement_on(view), compute_agreement(view, NAMES, run_key="seven", resamples=50))
    assert agreement_on(view).n_samples == 14
    left = dataset.select_group_slices("left")
    assert_same(agreement_on(left), compute_agreement(left, NAMES, run_key="left", resamples=50))
    assert agreement_on(left).n_samples == 12


def test_a_run_on_a_view_knows_its_own_samples_only(make_dataset):
    dataset = make_dataset(random_annotators(20))
    compute_agreement(dataset.limit(8), NAMES)
    assert agreement_on(dataset).n_samples == 8
    assert agreement_on(dataset.skip(5)).n_samples == 3
    with pytest.raises(AgreementInputError, match="`view` must have samples of the run 'agreement', got none among 12"):
        agreement_on(dataset.skip(8))


@pytest.mark.long
def test_intervals_are_made_as_often_as_asked_for(make_dataset):
    dataset = make_dataset(random_annotators(30))
    compute_agreement(dataset, NAMES, resamples=50)
    view = dataset.limit(25)
    assert agreement_on(view, resamples=50) == agreement_on(view)
    assert agreement_on(view, resamples=0).intervals == {}
    assert agreement_on(view, resamples=60).intervals != agreement_on(view).intervals
    with pytest.raises(AgreementInputError, match="`resamples` must be a whole number"):
        agreement_on(view, resamples=-1)


def test_samples_that_were_deleted_or_added_are_left_out(make_dataset):
    dataset = make_dataset(random_annotators(20))
    compute_agreement(dataset, NAMES)
    expected = agreement_on(dataset.skip(6))
    dataset.delete_samples(dataset.limit(6))
    dataset.add_sample(fo.Sample(filepath="/images/new.jpg"))
    assert agreement_on(dataset) == expected


@pytest.mark.long
def test_a_renamed_run_and_a_cloned_dataset_keep_what_was_found(make_dataset):
    dataset = make_dataset(random_annotators(20))
    compute_agreement(dataset, NAMES)
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


def test_the_worst_samples_do_not_depend_on_the_order_of_samples(make_dataset):
    dataset = make_dataset(random_annotators(40))
    compute_agreement(dataset, NAMES)
    listed = load_agreement(dataset).worst_samples
    scores = dict(zip(*dataset.values(["id", "agreement_score"]), strict=True))
    expected = sorted((score, sample_id) for sample_id, score in scores.items() if score is not None and score < 1)
    assert [(entry["score"], entry["id"]) for entry in listed] == expected[:10]
    paths = dict(zip(*dataset.values(["id", "filepath"]), strict=True))
    assert [entry["filepath"] for entry in listed] == [paths[entry["id"]] for entry in listed]
    assert len(list(itertools.takewhile(lambda entry: entry["n_disputed"] > 0, listed))) == 10
