"""Labels edited during a run are never overwritten, and never get the values of other labels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import bson
import fiftyone as fo
import pymongo
import pytest

from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused, run_on
from tests.datasets import detections, random_annotators, stored

from annotator_agreement.dataset_io import delete_agreement, list_agreements, load_agreement
from annotator_agreement.dataset_io.jobs import compute
from annotator_agreement.dataset_io.run import read, settle


def _assert_consistent(dataset, run_key):
    """Every value on a label follows from the current labels of its sample."""
    for document in dataset._sample_collection.find({}):
        units: dict[str, list[tuple[str, dict]]] = {}
        n_assigned = sum(document.get(name) is not None for name in ANNOTATORS)
        assert document[f"{run_key}_n_annotators"] == n_assigned
        for name in ANNOTATORS:
            for label in (document.get(name) or {}).get("detections") or []:
                assert {"_id", "_cls", "label", "bounding_box"} <= set(label), "an index past the end of the list"
                units.setdefault(label[f"{run_key}_id"], []).append((name, label))
        assert document[f"{run_key}_n_units"] == len(units)
        for unit_id, members in units.items():
            assert unit_id.split("-")[0] == str(members[0][1]["_id"])
            assert {label[f"{run_key}_votes"] for _, label in members} == {len(members)}
            assert len({name for name, _ in members}) == len(members)
            if n_assigned >= 2 and len({label["label"] for _, label in members}) > 1:
                assert {label[run_key] for _, label in members} == {"class_conflict"}
            elif n_assigned >= 2 and len(members) == n_assigned:
                assert {label[run_key] for _, label in members} == {"agreed"}


@pytest.fixture
def before_the_first_write(before_each_write):
    """Call a function once, before anything is written."""

    def install(action):
        done = []
        before_each_write(lambda batch: done or (done.append(True), action()))
        return done

    return install


def _edit(dataset, sample_id, kind):
    """What an editor does to one sample, in another process as far as this one's objects are concerned."""
    sample = dataset[str(sample_id)]
    sample.reload()
    labels = sample.alice.detections
    if kind == "add":
        labels.insert(0, fo.Detection(label="new", bounding_box=[0.9, 0.9, 0.05, 0.05]))
    elif kind == "delete":
        sample.alice.detections = labels[1:]
    elif kind == "empty":
        sample.alice.detections = []
    elif kind == "unassign":
        sample.alice = None
    elif kind == "change":
        labels[0].label, labels[0].bounding_box = "changed", [0.0, 0.0, 0.03, 0.04]
    sample.save()


#: labels of alice after an edit of the first sample
EDITS = {"add": ["new", "cat", "dog"], "delete": ["dog"], "empty": [], "unassign": None, "change": ["changed", "dog"]}


@pytest.mark.parametrize("kind", EDITS)
@pytest.mark.few(2)
def test_an_edit_between_reading_and_writing_is_seen(make_dataset, before_the_first_write, kind):
    dataset = make_dataset()
    edited, gone = dataset.first().id, dataset.last().id

    def edit():
        _edit(dataset, edited, kind)
        dataset.delete_samples([gone])

    done = before_the_first_write(edit)
    view = dataset.filter_labels("bob", fo.ViewField("label") != "owl", only_matches=False)
    report = compute_quickly(view if kind == "delete" else dataset)
    assert done
    assert (report.run.n_changed, report.n_samples) == (1, 4)
    _assert_consistent(dataset, "agreement")
    sample = dataset[edited]
    sample.reload()
    assert ([label.label for label in sample.alice.detections] if sample.alice else None) == EDITS[kind]


def test_an_edit_that_leaves_no_time_stamp_cannot_shift_values(make_dataset, before_the_first_write):
    dataset = make_dataset()
    sample_id = dataset.values("_id")[1]
    labels = dataset._sample_collection.find_one({"_id": sample_id})["alice"]["detections"]
    change = {"$set": {"alice.detections": labels[::-1]}}
    before_the_first_write(lambda: dataset._sample_collection.update_one({"_id": sample_id}, change))
    compute_quickly(dataset, ANNOTATORS)
    _assert_consistent(dataset, "agreement")
    assert dataset.values("alice.detections.agreement")[1] == ["missed", "class_conflict"]


def test_a_list_and_null_are_told_apart_without_a_time_stamp(make_dataset, before_each_write):
    boxes = [("cat", (0.1, 0.1, 0.2, 0.4))]
    dataset = make_dataset({"alice": [boxes] * 3, "bob": [boxes, [], None], "carol": [boxes] * 3})
    dataset.set_values("rated", [fo.Classification(label="a")] * 3)
    dataset.clone_sample_field("rated", "rated_too")
    _, second, third = dataset.values("_id")
    changes, done = {second: None, third: {"_cls": "Detections", "detections": []}}, []

    def change(batch):
        for sample_id, bob in changes.items() if not done else ():
            dataset._sample_collection.update_one({"_id": sample_id}, {"$set": {"bob": bob, "rated_too": None}})
        done.append(batch)

    before_each_write(change)
    compute_quickly(dataset, ANNOTATORS)
    assert dataset.values("agreement_n_annotators") == [3, 2, 3]
    assert dataset.values("alice.detections.agreement") == [["agreed"], ["agreed"], ["missed"]]
    dataset.set_values("rated_too", [fo.Classification(label="a")] * 3)
    done.clear()
    compute_quickly(dataset, ["rated", "rated_too"], run_key="single")
    assert dataset.values("single_n_annotators") == [2, 1, 1]


def test_a_second_writing_unsets_what_it_leaves_out(make_dataset, monkeypatch):
    boxes = [("cat", (0.1, 0.1, 0.2, 0.4)), ("dog", (0.5, 0.5, 0.3, 0.2))]
    dataset = make_dataset({name: [boxes] * 4 for name in ANNOTATORS})
    first, second = dataset.values("_id")[:2]
    original, done = settle.stored_samples, []

    def edited_at_once(source, ids):
        """The first sample was written, and is edited before anybody looks which ones were not."""
        if not done:
            done.append(True)
            change = {"bob": None, "carol": None, "alice.detections.1.bounding_box": None}
            now = {"last_modified_at": True}
            dataset._sample_collection.update_one({"_id": first}, {"$set": change, "$currentDate": now})
        return original(source, ids)

    def refuse_once(source, batch, updates, **options):
        if not done:
            dataset._sample_collection.update_one({"_id": second}, {"$currentDate": {"last_modified_at": True}})
        return written(source, batch, updates, **options)

    written = settle.write
    monkeypatch.setattr(settle, "stored_samples", edited_at_once)
    monkeypatch.setattr(settle, "write", refuse_once)
    compute_quickly(dataset, ANNOTATORS, invalid="skip")
    found = dataset._sample_collection.find_one({"_id": first})
    of_run = {name: value for name, value in found.items() if name.startswith("agreement")}
    assert of_run == {"agreement_n_annotators": 1, "agreement_n_units": 1}
    assert "agreement" not in str(found["alice"]["detections"][1].keys()), "left out, as it has no box"
    assert dataset.values("agreement_score")[1:] == [1.0, 1.0, 1.0]


def test_nothing_is_counted_by_statistics_which_are_wrong_after_a_crash(make_videos, monkeypatch):
    one = [("a", (0.1, 0.1, 0.2, 0.2))]
    dataset = make_videos([{name: [detections(one)] * 3 for name in ANNOTATORS}] * 2)
    # what a collection of frames says after a crash; MongoDB's fast count is that of the last checkpoint
    monkeypatch.setattr(pymongo.collection.Collection, "estimated_document_count", lambda *_, **__: 0)
    assert dataset.count("frames") == 0
    report = compute_quickly(dataset, [f"frames.{name}" for name in ANNOTATORS])
    assert (report.n_samples, report.run.n_videos) == (6, 2)


def _large_dataset(make_dataset, free):
    """A dataset of two samples; the second has this many bytes left."""
    boxes = [("cat", (0.1, 0.1, 0.2, 0.4))]
    dataset = make_dataset({name: [boxes, boxes] for name in ANNOTATORS})
    collection, sample_id = dataset._sample_collection, dataset.values("_id")[1]
    dataset.add_sample_field("notes", fo.StringField)
    size = len(bson.encode(collection.find_one({"_id": sample_id})))
    collection.update_one({"_id": sample_id}, {"$set": {"notes": "x" * ((16 << 20) - size - 20 - free)}})
    return dataset, str(sample_id)


@pytest.mark.long
def test_a_sample_without_room_is_found_before_anything_is_written_or_leaves_nothing(make_dataset, monkeypatch):
    dataset, sample_id = _large_dataset(make_dataset, 500)
    before = stored(dataset)
    message = rf"(?s)^.{{0,300}}must have room for what is written.*1 samples without \(ids {sample_id}\).{{0,1000}}$"
    refused(message, compute_quickly, dataset)
    assert stored(dataset) == before
    with monkeypatch.context() as patch:
        patch.setattr(compute, "check_room", lambda *_: None)  # a user made the sample larger meanwhile
        patch.setattr(read, "BATCH_SAMPLES", 1)
        refused(rf"must have room for what is written.*\(ids {sample_id}\)", compute_quickly, dataset)
    assert list_agreements(dataset) == []
    assert stored(dataset) == before
    assert compute_quickly(dataset.limit(1)).n_samples == 1
    delete_agreement(dataset)
    dataset, _ = _large_dataset(make_dataset, 1_500)
    assert compute_quickly(dataset).n_samples == 2


@pytest.mark.long
def test_a_sample_that_has_just_enough_room_is_compared(make_dataset):
    boxes = [("cat", (k / 40, j / 40, 0.02, 0.02)) for k in range(40) for j in range(40)]
    dataset = make_dataset({name: [boxes] for name in ANNOTATORS})
    dataset.add_sample_field("notes", fo.StringField)

    def size():
        return len(bson.encode(dataset._sample_collection.find_one({})))

    without = size()
    compute_quickly(dataset)
    with_run = size()
    delete_agreement(dataset)
    notes = "x" * ((16 << 20) - with_run - 12 * 3 * len(boxes))  # "agreed" is shorter than the longest verdict
    dataset._sample_collection.update_one({}, {"$set": {"notes": notes}})
    assert compute_quickly(dataset).n_samples == 1
    assert with_run - without > 100 * 3 * len(boxes)


def test_a_sample_that_never_stands_still_is_left_out_and_counted(make_dataset, before_each_write):
    dataset = make_dataset()
    restless = dataset.first()

    def touch(batch):
        restless.tags.append("again")
        restless.save()

    before_each_write(touch)
    report = compute_quickly(dataset, ANNOTATORS)
    assert (report.run.n_changed, report.n_samples, report.score.n) == (1, 4, 2)
    assert dataset.values("agreement_n_annotators") == [None, 3, 3, 2, 1]
    assert len(restless.tags) == 1 + read.MAX_ATTEMPTS
    report.print_report()


@pytest.mark.long
def test_an_editor_at_work_all_the_time(make_dataset, monkeypatch):
    dataset = make_dataset(random_annotators(60, seed=7))
    monkeypatch.setattr(read, "BATCH_SAMPLES", 5)
    command = [sys.executable, str(Path(__file__).with_name("editor.py")), dataset.name]
    editor = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        while "READY" not in editor.stdout.readline():
            assert editor.poll() is None
        for k in range(3):
            compute_quickly(dataset, ANNOTATORS, run_key=f"run_{k}")
    finally:
        output, _ = editor.communicate("stop")
    assert int(output.split()[-1]) > 10
    compute_quickly(dataset, ANNOTATORS, run_key="last")
    _assert_consistent(dataset, "last")


def test_a_run_deleted_or_replaced_meanwhile_stops_and_leaves_nothing(make_dataset, before_each_write, monkeypatch):
    dataset = make_dataset(random_annotators(16))
    before, batches, replaced = stored(dataset), [], []
    monkeypatch.setattr(read, "BATCH_SAMPLES", 4)

    def delete_at_the_third(batch):
        batches.append(batch)
        if len(batches) == 3:
            delete_agreement(fo.load_dataset(dataset.name), "agreement")

    def replace(bar):
        if not replaced:
            replaced.append(compute_quickly(dataset, ["alice", "bob"], overwrite=True))

    before_each_write(delete_at_the_third)
    message = "'agreement' was deleted or replaced while it was running"
    refused(message, compute_quickly, dataset)
    assert stored(dataset) == before
    refused(message, compute_quickly, dataset, progress=replace)
    assert (load_agreement(dataset), stored(dataset)["n_files"]) == (replaced[0], before["n_files"] + 2)
    for sample in dataset._sample_collection.find({}):
        assert not [label for label in (sample.get("carol") or {}).get("detections") or [] if "agreement" in label]


def test_a_sample_that_is_tried_again_is_counted_once(make_dataset, before_the_first_write):
    dataset = make_dataset()
    for sample in dataset.iter_samples(autosave=True):
        boxes = [fo.Detection(label="cat", bounding_box=[0, 0, size, 0.5], rater="ann") for size in (0.5, -0.5)]
        sample["labels"] = fo.Detections(detections=boxes)
        sample["raters"] = ["bea"]
    touched = {"$push": {"tags": "touched"}, "$currentDate": {"last_modified_at": True}}
    before_the_first_write(lambda: dataset._sample_collection.update_many({}, touched))
    report = compute_quickly(dataset, "labels", annotator_attribute="rater", assigned_field="raters", invalid="skip")
    assert (report.n_samples, report.run.n_invalid, report.run.n_added_assignments) == (5, 5, 5)


def test_unsaved_edits_survive_what_does_not_write(lend):
    dataset = lend(run_on())
    sample = dataset.first()
    sample.tags.append("unsaved")
    load_agreement(dataset)
    refused("must be new", compute_quickly, dataset)
    assert sample.tags == ["unsaved"]
    sample.save()
    assert dataset.count_sample_tags() == {"unsaved": 1}
