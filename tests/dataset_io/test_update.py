"""An updated run is what a new run would be: its report, its records, its fields; also after an interruption."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import logging

import fiftyone as fo
import numpy as np
import pytest
from fiftyone import ViewField as F

from tests.dataset_io.kinds import KINDS, boxes, dataset_of, fields_of, random_labels, random_sample
from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused
from tests.dataset_io.same_values import assert_same
from tests.datasets import Kept, random_annotators, stored

from annotator_agreement import dataset_io
from annotator_agreement.dataset_io.jobs import compute

_assert_same = functools.partial(assert_same, relative=1e-9, absolute=1e-12)


def _numbers(report):
    """Everything in a report but when and how long it ran."""
    values = report.to_dict()
    values["run"].pop("seconds")
    return json.loads(json.dumps(values))


def _fields(dataset):
    """All documents of a dataset, without time stamps."""
    collections = [dataset._sample_collection, *([dataset._frame_collection] if dataset._has_frame_fields() else [])]
    documents = [document for each in collections for document in each.find({}).sort("_id")]
    for document in documents:
        document.pop("last_modified_at")
        (document.get("agreement_map") or {}).pop("_id", None)  # made by chance
    return json.loads(fo.core.odm.utils.json_util.dumps(documents))


def assert_like_a_new_run(dataset, updated, samples, fields, **options):
    """The updated run against a new one with the same options."""
    assert (dataset_io.changed_since(dataset), dataset_io.load_agreement(dataset)) == (0, updated)
    found = _fields(dataset)
    expected = dataset_io.compute_agreement(samples, fields, overwrite=True, **options)
    _assert_same(_numbers(updated), _numbers(expected))
    _assert_same(found, _fields(dataset))


def random_edits(rng, dataset, kind):
    """What an editor does: edits, deletes and adds labels, lists and samples."""
    ids = dataset.values("id")
    for sample_id in rng.choice(ids, 3, replace=False).tolist():
        sample, labels = dataset[sample_id], {}
        while not labels:  # a sample may have none
            labels = random_labels(rng, kind)
        name = str(rng.choice(list(labels)))
        sample[name] = None if rng.random() < 0.2 and name != "asked" else labels[name]
        sample.save()
    sample = dataset[str(rng.choice(ids))]
    for name in fields_of(kind):  # one label of a list
        if isinstance(sample[name], fo.Detections) and sample[name].detections:
            sample[name].detections = sample[name].detections[1:]
            break
    sample.save()
    if rng.random() < 0.6:
        dataset.delete_samples(rng.choice(ids, 2, replace=False).tolist())
    if rng.random() < 0.6:
        dataset.add_samples([random_sample(rng, kind)])


@pytest.fixture
def no_whole_run(monkeypatch):
    """Let only the changed samples be compared again."""

    def refuse(*_):
        raise AssertionError("everything is compared again")

    monkeypatch.setattr(compute, "_all_again", refuse)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_updated_runs_are_like_new_ones_after_random_edits(make_dataset, no_whole_run, monkeypatch, kind):
    if kind == "crowd":  # of some samples the records do not tell what they had added
        monkeypatch.undo()
    rng = np.random.default_rng(len(kind))
    dataset, fields, options = dataset_of(make_dataset, kind, seed=len(kind))
    dataset_io.compute_agreement(dataset, fields, **options)
    for _ in range(2):
        random_edits(rng, dataset, kind)
        assert dataset_io.changed_since(dataset) > 0
        updated = dataset_io.update_agreement(dataset)
    assert_like_a_new_run(dataset, updated, dataset, fields, **options)


def test_runs_on_views_follow_what_is_in_the_view(make_dataset, no_whole_run):
    rng = np.random.default_rng(1)
    dataset = make_dataset({})
    dataset.add_samples([random_sample(rng, "boxes") for _ in range(20)], dynamic=True)
    dataset.limit(14).tag_samples("ready")
    view = dataset.match_tags("ready").filter_labels("bob", F("label") != "owl", only_matches=False)
    compute_quickly(view)
    ids = dataset.values("id")
    for position, tags in ((1, []), (15, ["ready"]), (3, ["ready"])):
        sample = dataset[ids[position]]
        sample.tags, sample["alice"] = tags, boxes(rng)
        sample.save()
    dataset.delete_samples(ids[7:9])
    updated = dataset_io.update_agreement(dataset)
    assert updated.n_samples == 12
    assert_like_a_new_run(dataset, updated, view, ANNOTATORS, resamples=0)


def test_a_run_without_samples_says_why(make_dataset):
    dataset = make_dataset(random_annotators(4))
    dataset.add_sample_field("checked", fo.BooleanField)
    dataset.set_values("checked", [True] * 4)
    compute_quickly(dataset.exists("checked"), ANNOTATORS)
    dataset.delete_sample_field("checked")
    refused("but the view of the run shows none any more; compute it again on", dataset_io.update_agreement, dataset)
    compute_quickly(dataset, ANNOTATORS, run_key="all")
    dataset.delete_samples(dataset.values("id"))
    refused(
        "but all of them were deleted; compute it again on others, or del", dataset_io.update_agreement, dataset, "all"
    )


@pytest.mark.long
def test_runs_on_frames_compare_whole_videos_again(make_videos, no_whole_run):
    rng = np.random.default_rng(2)
    videos = [{name: [boxes(rng) for _ in range(4)] for name in ANNOTATORS} for _ in range(6)]
    dataset = make_videos(videos)
    fields = [f"frames.{name}" for name in ANNOTATORS]
    compute_quickly(dataset, fields)
    for seed in range(2):
        sample = dataset[dataset.values("id")[seed]]
        sample.frames[2]["bob"] = boxes(rng)
        sample.frames[3]["alice"] = None
        sample.save()
    sample = fo.Sample("/videos/new.mp4", metadata=fo.VideoMetadata(frame_width=200, frame_height=100))
    sample.frames[1] = fo.Frame(**{name: boxes(rng) for name in ANNOTATORS})
    dataset.add_sample(sample)
    dataset.delete_samples(dataset.values("id")[4:5])
    assert dataset_io.changed_since(dataset) == 4
    updated = dataset_io.update_agreement(dataset)
    assert updated.run.n_videos == 6
    assert_like_a_new_run(dataset, updated, dataset, fields, resamples=0)


@pytest.fixture
def dataset(make_dataset):
    return make_dataset(random_annotators(12, seed=5))


def _edit(dataset, **values):
    sample = dataset.first()
    for name, value in values.items():
        sample[name] = value
    sample.save()


CROWD = fo.Detection(label="cat", bounding_box=[0.1, 0.1, 0.2, 0.2], iscrowd=1)


WHOLE = [({}, fo.Detections(detections=[CROWD]), "there are masks or crowd regions now"),
         ({"iou": "auto"}, None, "the labels suggest another threshold")]  # fmt: skip


@pytest.mark.parametrize(("options", "bob", "reason"), WHOLE)
@pytest.mark.long
def test_what_concerns_all_samples_is_computed_again_as_a_whole(dataset, caplog, monkeypatch, options, bob, reason):
    dataset_io.compute_agreement(dataset, ANNOTATORS, resamples=0, **options)
    if "iou" in options:
        found, replace = compute.source_with_iou_from_data, dataclasses.replace

        def with_another(source):
            source = found(source)
            return replace(source, config=replace(source.config, iou=0.37))

        monkeypatch.setattr(compute, "source_with_iou_from_data", with_another)
    _edit(dataset, bob=bob)
    with caplog.at_level(logging.WARNING):
        updated = dataset_io.update_agreement(dataset)
    assert f"All samples of the run 'agreement' are compared again: {reason}" in caplog.text
    assert_like_a_new_run(dataset, updated, dataset, ANNOTATORS, resamples=0, **options)


@pytest.mark.long
def test_a_new_annotator_concerns_all_samples(make_dataset, caplog):
    dataset = make_dataset({})
    labels = [fo.Detection(label="cat", bounding_box=[0.1, 0.1, 0.2, 0.2], rater=name) for name in "abc"]
    two = fo.Detections(detections=labels[:2])
    dataset.add_samples([fo.Sample(f"/{k}.jpg", labels=two.copy()) for k in range(4)], dynamic=True)
    compute_quickly(dataset, "labels", annotator_attribute="rater")
    sample = dataset.first()
    for found, n, message in (
        (labels, 3, "there are annotators now who were not there"),
        (labels[:2], 2, "annotators of the run who are no longer there"),
    ):
        sample.labels.detections = [label.copy() for label in found]
        sample.save()
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert len(dataset_io.update_agreement(dataset).annotators) == n
        assert message in caplog.text


def test_the_state_before_is_kept_for_a_comparison_and_goes_with_the_run(dataset):
    before = stored(dataset)
    first = compute_quickly(dataset)
    refused("must have been updated to have an earlier state", dataset_io.compare_agreement, dataset)
    second = dataset_io.update_agreement(dataset)
    assert second == first, "nothing was changed"
    bob, n_rated = dataset.values("bob"), first.n_rated
    for sample_id in dataset.match(F("agreement_n_annotators") == 3).values("id")[:2]:
        sample = dataset[sample_id]
        sample["bob"] = fo.Detections(detections=[])
        sample.save()
        earlier, second = second, dataset_io.update_agreement(dataset)
    found = dataset_io.compare_agreement(dataset, resamples=0)
    assert (found.a, found.b) == ("agreement, before", "agreement")
    change = found.numbers["score.mean"]
    assert (found.n_samples, change.a, change.b) == (n_rated, earlier.score.mean, second.score.mean)
    assert change.a != change.b
    dataset_io.rename_agreement(dataset, "agreement", "renamed")
    assert dataset_io.compare_agreement(dataset, "renamed", resamples=0).numbers["score.mean"].b == second.score.mean
    dataset_io.delete_agreement(dataset, "renamed")
    dataset.set_values("bob", bob)
    assert {**stored(dataset), "samples": None} == {**before, "samples": None}


@pytest.mark.long
def test_samples_that_somebody_keeps_on_changing_are_left_out_and_stay_changed(dataset, before_each_write):
    compute_quickly(dataset)
    _edit(dataset, bob=None)
    ticks = itertools.count()

    def touch(batch):
        change = {"$set": {"note": next(ticks)}, "$currentDate": {"last_modified_at": True}}
        dataset._sample_collection.update_one({}, change)

    before_each_write(touch)
    assert (dataset_io.update_agreement(dataset).run.n_changed, dataset_io.changed_since(dataset)) == (1, 1)
    before_each_write(lambda batch: None)


@pytest.mark.long
def test_a_field_that_somebody_deletes_meanwhile_leaves_no_values(dataset, before_each_write):
    compute_quickly(dataset)
    _edit(dataset, bob=fo.Detections())
    before_each_write(lambda batch: dataset.delete_sample_field("agreement_score", error_level=2))
    dataset_io.update_agreement(dataset)
    assert not dataset._sample_collection.count_documents({"agreement_score": {"$exists": True}})


@pytest.mark.long
def test_an_update_killed_before_every_sixth_of_its_writes(killable, make_dataset):
    dataset = make_dataset(random_annotators(9, seed=5))
    report, bob = compute_quickly(dataset), dataset.values("bob")
    dataset.set_values("bob", [None, *bob[1:8], bob[0]])
    edited = Kept(dataset)
    for n in itertools.count(1, 6):
        edited.put_back()
        killed = killable(dataset, "update_agreement", kill_before=n)
        dataset.reload()
        found = _numbers(dataset_io.load_agreement(dataset))["score"]
        updated = dataset_io.update_agreement(dataset)
        assert found in (_numbers(report)["score"], _numbers(updated)["score"])
        assert_like_a_new_run(dataset, updated, dataset, ANNOTATORS, resamples=0)
        if not killed:
            assert n > 7
            return
