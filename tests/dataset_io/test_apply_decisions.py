"""Decisions that are applied to the annotators' own labels: against loops over the documents of the database."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import bson
import fiftyone as fo
import numpy as np
import pytest

from tests.chance import few
from tests.dataset_io.quick_runs import ANNOTATORS, LISTS, compute_quickly, refused
from tests.dataset_io.said import said_dataset
from tests.dataset_io.unit_oracle import current_decisions, documents_of, units_of
from tests.datasets import detections, frames_of, random_annotators, stored, user_values

from annotator_agreement import dataset_io
from annotator_agreement.dataset_io.units import changing

KEYS = ["agreement", "agreement_gold"]
EVERYTHING = ["class", "geometry", "attributes", "delete", "add"]


def applied_by_hand(document):
    """Class and box of all labels of a sample by annotator, after its decisions; and what was done to them."""
    gold = {label["_id"]: label for label in (document.get("agreement_gold") or {}).get("detections", [])}
    found, done = dict.fromkeys(ANNOTATORS), Counter()
    decisions = {each["unit"]: each for each in current_decisions(document)}
    for name in (each for each in ANNOTATORS if document.get(each) is not None):
        found[name] = []
        for label in document[name]["detections"]:
            says = label["label"], label["bounding_box"]
            decision = decisions.get(label["agreement_id"])
            if decision is not None and decision["choice"] != "skip":
                if decision["gold_id"] is None:
                    done[name, "n_deleted"] += 1
                    continue
                right = gold[decision["gold_id"]]
                done[name, "n_class"] += right["label"] != says[0]
                done[name, "n_geometry"] += right["bounding_box"] != says[1]
                says = right["label"], right["bounding_box"]
            found[name].append((label["_id"], *says))
        for unit, members in units_of(document, LISTS).items():
            right = gold.get(decisions.get(unit, {}).get("gold_id"))
            if right is not None and name not in members:
                done[name, "n_added"] += 1
                found[name].append(("new", right["label"], right["bounding_box"]))
    return found, done


def labels_of(document, before):
    """The same of a sample as it is; ids of labels that were not there before are said to be new."""
    known = {entry[0] for entries in before.values() for entry in entries or ()}
    return {name: document.get(name) and [
                (label["_id"] if label["_id"] in known else "new", label["label"], label["bounding_box"])
                for label in document[name]["detections"]]
            for name in ANNOTATORS}  # fmt: skip


def of_bob(document):
    return (document.get("bob") or {}).get("detections", [])


def _decided(make_dataset):
    """Alice is right on half of the samples, the consensus on others; lone objects are none; some are skipped."""
    dataset = make_dataset(random_annotators(16, seed=5))
    compute_quickly(dataset)
    dataset_io.decide(dataset.limit(8), choice="version", annotator="alice", min_votes=2)
    dataset_io.decide(dataset.skip(8).limit(6), choice="consensus", min_votes=2)
    dataset_io.decide(dataset.limit(14), choice="none", verdict="lone")
    dataset_io.decide(dataset.skip(14), choice="skip", all=True)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_decided)


def test_labels_become_what_was_decided_as_a_loop_over_them_says_and_are_again_what_they_were(dataset):
    expected, done = {}, Counter()
    for document in documents_of(dataset):
        expected[document["_id"]], of_document = applied_by_hand(document)
        done += of_document
    before = stored(dataset)
    preview = dataset_io.apply_decisions(dataset, changes=EVERYTHING, preview=True)
    assert stored(dataset) == before
    assert preview.step is None
    made = dataset_io.apply_decisions(dataset, changes=EVERYTHING, by="mia")
    assert (made.annotators, made.n_applied, made.n_right) == (preview.annotators, preview.n_applied, preview.n_right)
    assert made.n_changed == made.n_edited == made.n_unfit == made.n_meanwhile == 0
    kinds = ("n_class", "n_geometry", "n_deleted", "n_added")
    found = {(each.name, kind): getattr(each, kind) for each in made.annotators for kind in kinds}
    assert found == {(name, kind): done[name, kind] for name in ANNOTATORS for kind in kinds}
    assert min(sum(done[name, kind] for name in ANNOTATORS) for kind in kinds) > 2
    for document in documents_of(dataset):
        assert labels_of(document, expected[document["_id"]]) == expected[document["_id"]]
    assert made.n_applied + made.n_right == sum(each.choice != "skip" for each in dataset_io.list_decisions(dataset))
    assert {each.applied for each in dataset_io.list_decisions(dataset) if not each.changed} == {True, False}
    again = dataset_io.apply_decisions(dataset)
    assert (again.step, again.n_applied, again.n_changed) == (None, 0, 0)
    step = next(each.step for each in dataset_io.list_decisions(dataset) if each.choice == "none")
    refused("must not be applied to annotators' labels", dataset_io.undo_decisions, dataset, step)
    undone = dataset_io.undo_applied(dataset)
    assert (undone.step, undone.n_objects, undone.n_changed, undone.n_meanwhile) == (made.step, made.n_applied, 0, 0)
    assert stored(dataset) == before
    assert dataset_io.undo_applied(dataset).step is None


def test_labels_are_again_what_they_were_where_somebody_decided_again_since(dataset):
    labels, before = user_values(dataset, KEYS), dataset_io.list_decisions(dataset)
    made = dataset_io.apply_decisions(dataset, changes=EVERYTHING, by="mia")
    again = dataset_io.decide(dataset, choice="version", annotator="bob", all=True, overwrite=True)
    assert again.n_decided > 10
    held = {each.unit for each in dataset_io.list_decisions(dataset) if each.step == again.step and not each.changed}
    assert user_values(dataset, KEYS) != labels
    undone = dataset_io.undo_applied(dataset)
    assert (undone.step, undone.n_objects, undone.n_changed) == (made.step, made.n_applied, 0)
    assert user_values(dataset, KEYS) == labels
    # what was decided since is about the labels as they are now
    assert {
        each.unit for each in dataset_io.list_decisions(dataset) if each.step == again.step and not each.changed
    } == held
    assert dataset_io.undo_applied(dataset).step is None
    dataset_io.undo_decisions(dataset, again.step)
    assert dataset_io.list_decisions(dataset) == before


@pytest.mark.long
def test_a_run_sees_what_was_applied_and_labels_edited_since_stay(dataset):
    before = user_values(dataset, KEYS)
    report = dataset_io.report_decisions(dataset, resamples=0)
    assert dataset_io.changed_since(dataset) == 0
    made = dataset_io.apply_decisions(dataset, changes=EVERYTHING)
    assert dataset_io.changed_since(dataset) > 5
    alpha = compute_quickly(dataset, run_key="other").alpha
    updated = dataset_io.update_agreement(dataset)
    assert updated.alpha == pytest.approx(alpha)
    assert dataset_io.apply_decisions(dataset).n_applied == 0
    after = dataset_io.report_decisions(dataset, resamples=0)
    assert after.n_changed == report.n_changed == 0
    assert after.n_applied > 5
    assert report.by_rule.n_wrong_class > 0 < report.by_rule.n_missed
    assert after.by_rule.n_wrong_class == after.by_rule.n_missed == 0
    boxes = {str(label["_id"]): label["bounding_box"] for entry in before for label in of_bob(entry)}
    changed = [
        (sample, label) for sample in dataset.exists("bob.detections") for label in sample["bob"].detections
        if boxes.get(label.id, label.bounding_box) != label.bounding_box
    ]  # fmt: skip
    (sample, edited), (_, tagged) = next(pair for pair in pairwise(changed) if pair[0][0] is pair[1][0])
    edited.label, tagged.tags = "emu", ["seen"]
    sample.save()
    undone = dataset_io.undo_applied(dataset)
    assert (undone.n_changed, undone.n_objects) == (1, made.n_applied - 1)
    dataset_io.delete_agreement(dataset, "other")
    found = user_values(dataset, KEYS)
    changed = [one["_id"] for one, other in zip(before, found, strict=True) if one != other]
    assert [str(each) for each in changed] == [sample.id]
    assert any(label["label"] == "emu" for entry in found for label in of_bob(entry))
    of_sample = dataset._sample_collection.find_one({"_id": bson.ObjectId(sample.id)})
    kept = next(label for label in of_bob(of_sample) if str(label["_id"]) == tagged.id)
    assert (kept["tags"], kept["bounding_box"]) == (["seen"], boxes[tagged.id])


def test_one_annotator_some_changes_and_the_samples_of_a_view(dataset):
    by_default = dataset_io.apply_decisions(dataset, preview=True).annotators
    assert sum(each.n_geometry for each in by_default) == 0 < sum(each.n_class for each in by_default)
    before = {document["_id"]: document for document in documents_of(dataset)}
    made = dataset_io.apply_decisions(dataset.limit(8), annotators="bob", changes=["class", "add"])
    (bob,) = made.annotators
    assert (bob.name, bob.n_geometry, bob.n_deleted) == ("bob", 0, 0)
    assert bob.n_class > 0 < bob.n_added
    found = {document["_id"]: document for document in documents_of(dataset)}
    of_view = {bson.ObjectId(each) for each in dataset.limit(8).values("id")}
    assert {each for each in found if of_bob(found[each]) != of_bob(before[each])} <= of_view
    assert all(found[each].get(name) == before[each].get(name) for each in found for name in ("alice", "carol"))
    boxes, now = (
        {label["_id"]: label["bounding_box"] for each in documents.values() for label in of_bob(each)}
        for documents in (before, found)
    )
    assert len(now) == len(boxes) + bob.n_added
    assert {each: now[each] for each in boxes} == boxes
    second = dataset_io.apply_decisions(dataset, annotators="bob", changes="geometry")
    assert second.annotators[0].n_geometry > 3
    assert dataset_io.undo_applied(dataset, made.step).n_changed > 0  # the later step comes first
    assert dataset_io.undo_applied(dataset).step == second.step
    dataset_io.undo_applied(dataset)
    now = {each["_id"]: each.get("bob") for each in documents_of(dataset)}
    assert now == {each: before[each].get("bob") for each in before}


def test_labels_of_several_annotators_in_one_field_keep_the_type_of_the_attribute(make_dataset):
    dataset = make_dataset({"labels": [None] * 3})
    place, other = [0.1, 0.2, 0.4, 0.3], [0.6, 0.6, 0.2, 0.2]
    drawn = [[(1, "car", place), (2, "bus", place), (2, "cat", other)], [(1, "car", place)], []]
    asked = [["1", "2", "3"], ["1", "2"], ["3"]]
    for sample, of_sample, sample["asked"] in zip(dataset.iter_samples(autosave=True), drawn, asked, strict=True):
        sample["labels"] = fo.Detections(
            detections=[fo.Detection(label=label, bounding_box=box, rater=rater, occluded=rater == 2)
                        for rater, label, box in of_sample]
        )  # fmt: skip
    dataset.add_dynamic_sample_fields()
    before = user_values(dataset, KEYS)
    options = {"annotator_attribute": "rater", "assigned_field": "asked", "attributes": ["occluded"]}
    compute_quickly(dataset, "labels", **options)
    dataset_io.decide(dataset, choice="version", annotator="2", verdict="class_conflict")
    dataset_io.decide(dataset, choice="none", classes="cat")
    dataset_io.decide(dataset, choice="version", annotator="1", classes="car")
    made = dataset_io.apply_decisions(dataset, changes=EVERYTHING)
    counts = {each.name: (each.n_class, each.n_attributes, each.n_deleted, each.n_added) for each in made.annotators}
    assert counts == {"1": (1, 1, 0, 0), "2": (0, 0, 1, 1), "3": (0, 0, 0, 1)}
    first, second, _ = dataset.values("labels.detections")
    assert [(label.rater, label.label, getattr(label, "occluded", None)) for label in first] == [
        (1, "bus", True), (2, "bus", True), (3, "bus", None),
    ]  # fmt: skip
    assert [(label.rater, label.label) for label in second] == [(1, "car"), (2, "car")]
    dataset_io.undo_applied(dataset)
    assert user_values(dataset, KEYS) == before


@pytest.mark.long
@pytest.mark.parametrize("kind", few(["labels", "numbers", "tags", "masks", "texts", "integers"], 4))
def test_what_was_said_of_whole_samples(make_dataset, kind):
    options = {"tolerance": 1} if kind == "numbers" else {}
    dataset = said_dataset(make_dataset, kind, 16, **options)
    first, units = dataset.limit(12), dataset.values("id")
    if kind == "tags":
        units = [f"{each} {tag}" for each in units for tag in ("sun", "rain", "snow")]
    if kind == "masks":
        dataset_io.decide(first, choice="version", annotator="carol", objects=units)
    else:
        dataset_io.decide(first, choice="consensus", objects=units)
    dataset_io.decide(dataset, choice="none", verdict="lone" if kind == "tags" else None, objects=units)
    if kind == "integers":
        half = fo.Regression(value=2.5)
        dataset_io.decide(dataset, choice="own", label=half, objects=dataset.first().id, overwrite=True)
    before = stored(dataset)
    wrong = {each.name: each for each in dataset_io.report_decisions(dataset, resamples=0).annotators}
    made = dataset_io.apply_decisions(dataset)
    assert made.n_unfit == (sum(dataset.first()[name] is not None for name in ANNOTATORS) if kind == "integers" else 0)
    n_changed = 0
    for each in made.annotators:
        n_changed += each.n_class + each.n_geometry
        assert (each.n_deleted, each.n_added) == (wrong[each.name].n_too_many, wrong[each.name].n_missed)
        assert not (each.n_class if kind in ("numbers", "integers", "masks") else each.n_geometry)
    assert n_changed + made.n_unfit == sum(each.n_wrong_class for each in wrong.values())
    assert n_changed > 4 or kind == "tags"
    if kind == "integers":
        assert {type(value) for name in ANNOTATORS for value in dataset.values(name)} == {int, type(None)}
    else:
        dataset_io.update_agreement(dataset)
        assert len(dataset_io.decided_against(dataset, "bob")) == 0
    undone = dataset_io.undo_applied(dataset)
    assert (undone.n_objects, undone.n_changed) == (made.n_applied, 0)
    assert undone.n_objects > 5
    if kind == "integers":
        assert stored(dataset) == before


@pytest.mark.long
def test_frames_of_videos(make_videos):
    labels = random_annotators(6, seed=5)
    videos = make_videos([{name: frames_of(*labels[name]) for name in ANNOTATORS}] * 2)
    compute_quickly(videos, [f"frames.{name}" for name in ANNOTATORS])
    undecided, made = stored(videos), dataset_io.decide(videos, min_votes=2)
    assert made.field == "frames.agreement_gold"
    assert made.n_decided == videos.count("frames.agreement_gold.detections") > 10
    dataset_io.decide(videos, choice="none", verdict="lone")
    found = {(each.frame_number, each.changed) for each in dataset_io.list_decisions(videos)}
    assert found <= {(k, False) for k in range(1, 7)}
    before = stored(videos)
    made = dataset_io.apply_decisions(videos.limit(1), changes=EVERYTHING)
    assert (made.n_applied > 5, dataset_io.changed_since(videos)) == (True, 1)
    assert all(each.n_geometry > 3 for each in made.annotators)
    assert dataset_io.undo_applied(videos).n_objects == made.n_applied
    assert stored(videos) == before
    dataset_io.delete_decisions(videos)
    assert stored(videos) == undecided


@pytest.mark.long
def test_what_nobody_drew_is_added_for_all_who_were_assigned(make_dataset):
    dataset = make_dataset({"alice": [[]], "bob": [[]], "carol": [None]})
    compute_quickly(dataset)
    dataset_io.decide(dataset, all=True)
    dataset.set_values("agreement_gold", [detections([("cow", (0.1, 0.1, 0.2, 0.2))])])
    assert dataset_io.record_own_labels(dataset).n_decided == 1
    before = stored(dataset)
    made = dataset_io.apply_decisions(dataset)
    assert {each.name: each.n_added for each in made.annotators} == {"alice": 1, "bob": 1, "carol": 0}
    assert dataset.first()["bob"].detections[0].label == "cow"
    assert dataset_io.apply_decisions(dataset).n_applied == 0
    dataset_io.update_agreement(dataset)
    assert [each.changed for each in dataset_io.list_decisions(dataset)] == [False]
    assert dataset_io.apply_decisions(dataset).n_right == 1
    dataset_io.undo_applied(dataset)
    dataset_io.update_agreement(dataset)
    assert stored(dataset)["samples"] == before["samples"]


def _bob_is_right(make_dataset, n, carol=None):
    place = (0.1, 0.2, 0.4, 0.3)
    dataset = make_dataset({"alice": [[("car", place)]] * n, "bob": [[("bus", place)]] * n, "carol": [carol] * n})
    compute_quickly(dataset)
    dataset_io.decide(dataset, choice="version", annotator="bob", all=True)
    return dataset


def test_objects_whose_labels_or_decisions_were_edited_are_left_out(make_dataset):
    dataset = _bob_is_right(make_dataset, 3, carol=[])
    first, second, third = dataset
    first["alice"].detections[0].label = "van"
    second["agreement_gold"].detections[0].label = "van"
    for sample in (first, second):
        sample.save()
    made = dataset_io.apply_decisions(dataset)
    assert (made.n_applied, made.n_changed, made.n_edited) == (1, 1, 1)
    assert [sample["alice"].detections[0].label for sample in dataset] == ["van", "car", "bus"]
    assert len(third["carol"].detections) == 1


@pytest.mark.long
def test_labels_edited_just_before_the_write_are_not_overwritten(make_dataset, before_each_write):
    dataset = _bob_is_right(make_dataset, 2)
    ids, edits = dataset.values("_id"), [(0, "label", "van")]

    def edit_first(writes):
        for k, name, value in [edits.pop()] if edits else ():
            change = {"$set": {f"alice.detections.0.{name}": value}}
            dataset._sample_collection.update_one({"_id": ids[k]}, change)

    before_each_write(edit_first)
    made = dataset_io.apply_decisions(dataset)
    assert (made.n_applied, made.n_changed, made.n_meanwhile) == (1, 1, 0)
    dataset.reload()
    assert [sample["alice"].detections[0].label for sample in dataset] == ["van", "bus"]
    edits += [(1, "index", k) for k in range(9)]
    assert dataset_io.undo_applied(dataset).n_meanwhile == 1
    edits.clear()
    assert dataset_io.undo_applied(dataset).n_objects == 1
    dataset.reload()
    assert [sample["alice"].detections[0].label for sample in dataset] == ["van", "car"]


@pytest.mark.long
def test_a_decision_that_is_applied_while_another_one_takes_its_place_is_read_again(make_dataset, monkeypatch):
    dataset = _bob_is_right(make_dataset, 1)
    before, written = user_values(dataset, KEYS), changing.swap
    meanwhile = [lambda: dataset_io.undo_applied(dataset), lambda: dataset_io.apply_decisions(dataset)]

    def apply_first(*arguments):
        if meanwhile:
            with monkeypatch.context() as patch:
                patch.setattr(changing, "swap", written)
                meanwhile.pop()()
        return written(*arguments)

    monkeypatch.setattr(changing, "swap", apply_first)
    for choice in ("none", "skip"):
        assert dataset_io.decide(dataset, choice=choice, all=True, overwrite=True).n_decided == 1
        assert [(each.choice, each.changed) for each in dataset_io.list_decisions(dataset)] == [(choice, False)]
        dataset_io.undo_decisions(dataset)
    assert meanwhile == []
    assert user_values(dataset, KEYS) == before


@pytest.mark.long
def test_a_box_is_not_given_to_a_mask_and_16_mb_are_the_most(make_dataset):
    dataset = make_dataset({name: [None] * 2 for name in ("alice", "bob")})
    rng = np.random.default_rng(1)
    for size, sample in zip((4, 2_900), dataset, strict=True):
        for name, label in (("alice", "cat"), ("bob", "dog")):
            mask = rng.integers(0, 256, (size, size), np.uint8) if name == "alice" else None
            sample[name] = detections([(label, (0.1, 0.1, 0.5, 0.5))], mask=mask)
        sample.metadata = fo.ImageMetadata(width=5_000, height=5_000)
        sample.save()
    compute_quickly(dataset, ["alice", "bob"], geometry="box")
    dataset_io.decide(dataset.limit(1), choice="version", annotator="bob", all=True)
    dataset_io.decide(dataset.skip(1), choice="none", all=True)
    made = dataset_io.apply_decisions(dataset.limit(1), changes=EVERYTHING)
    assert ([each.n_class for each in made.annotators], made.n_unfit) == ([1, 0], 1)
    assert dataset.first()["alice"].detections[0].mask.shape == (4, 4)
    refused("the database holds 16 MB of each, got 1 samples without", dataset_io.apply_decisions, dataset.skip(1))


def test_what_cannot_be_applied_is_refused(make_dataset):
    dataset = make_dataset({name: [[("car", (0.1, 0.2, 0.4, 0.3))]] for name in ANNOTATORS})
    compute_quickly(dataset)
    dataset_io.decide(dataset, all=True)
    field = dataset.get_field("alice")
    field.read_only = True
    field.save()
    for options, message in (
        ({"changes": "box"}, "`changes` must be one of class, geometry, attributes, delete, add, got 'box'"),
        ({"annotators": "bop"}, "did you mean 'bob'"),
        ({"gold": "alice"}, "`gold` must be a field of decisions"),
        ({"by": ""}, "`by` must be"),
        ({"run_key": "nothing"}, "must be an agreement run"),
        ({}, "must not be read-only, got alice"),
    ):
        refused(message, dataset_io.apply_decisions, dataset, **options)
