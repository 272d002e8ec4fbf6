"""One label for every unit, while labels, runs and samples change or processes are killed: never wrong or left over."""

from __future__ import annotations

import itertools
from datetime import datetime

import fiftyone as fo
import pytest
from bson import ObjectId

from tests.dataset_io.quick_runs import ANNOTATORS, LISTS, compute_quickly
from tests.dataset_io.shaped import polygon, rectangle, shapes_dataset
from tests.dataset_io.unit_oracle import documents_of, units_in, units_of
from tests.datasets import random_annotators, stored, user_values

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import (
    add_units,
    compute_agreement,
    delete_agreement,
    list_agreements,
    load_agreement,
    rename_agreement,
)
from annotator_agreement.dataset_io.record import run, sample_index
from annotator_agreement.dataset_io.run import read
from annotator_agreement.dataset_io.units import changing, units_field


def _set(dataset, update, **options):
    sample_id = dataset.first()._id
    dataset._sample_collection.update_one({"_id": sample_id}, update, **options)


CHANGES = {
    "deleted": {"$pull": {"alice.detections": {"label": "cat"}}},
    "copied": {"$push": {"alice.detections": None}},
    "unusable": {"$set": {"alice.detections.0.bounding_box": [0.1, 0.2, -1, 0.3]}},
    "without a vote": {"$set": {"alice.detections.0.agreement_votes": "three"}},
    "with another verdict": {"$set": {f"{name}.detections.0.agreement": "fine" for name in ANNOTATORS}},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.few(2)
def test_a_unit_whose_labels_changed_is_left_out_and_counted(make_dataset, change):
    dataset = make_dataset()
    compute_quickly(dataset)
    update = CHANGES[change]
    if change == "copied":
        label = next(documents_of(dataset))["alice"]["detections"][0]
        update = {"$push": {"alice.detections": {**label, "_id": ObjectId()}}}
    _set(dataset, update)
    made = add_units(dataset)
    assert (made.n_left_out, made.n_labels) == (1, 5)
    assert dataset.values("agreement_units.detections.label")[0] == ["dog"]


def test_a_label_given_to_somebody_else_leaves_its_unit(make_dataset):
    dataset = make_dataset({})
    labels = [fo.Detection(label="cat", bounding_box=[0.1, 0.1, 0.4, 0.3], rater=name) for name in ANNOTATORS]
    dataset.add_samples([fo.Sample("1.jpg", labels=fo.Detections(detections=labels))], dynamic=True)
    compute_agreement(dataset, "labels", annotator_attribute="rater", resamples=0)
    _set(dataset, {"$set": {"labels.detections.0.rater": "dave"}})
    assert add_units(dataset).n_left_out == 1
    _set(dataset, {"$set": {"labels.detections.0.rater": "bob"}})
    assert add_units(dataset, overwrite=True).n_left_out == 1
    _set(dataset, {"$set": {"labels.detections.0.rater": "alice"}})
    assert add_units(dataset, overwrite=True).n_left_out == 0


def test_class_and_extent_are_those_of_now_and_the_rest_is_what_the_run_found(make_dataset):
    dataset = make_dataset()
    compute_quickly(dataset)
    sample = dataset.first()
    for name in ("alice", "bob"):
        sample[name].detections[0].label = "lynx"
        sample[name].detections[0].bounding_box = [0.2, 0.1, 0.2, 0.4]
    sample.carol.detections.append(fo.Detection(label="new", bounding_box=[0.8, 0.8, 0.1, 0.1]))
    sample.save()
    made = add_units(dataset)
    unit = dataset.first().agreement_units.detections[0]
    assert made.n_left_out == 0
    assert (unit.label, unit.verdict, unit.mean_iou) == ("lynx", "agreed", pytest.approx(1.0))
    assert unit.bounding_box == pytest.approx([0.2, 0.1, 0.2, 0.4])


# ---- life ----


def test_units_are_renamed_with_the_run(make_dataset):
    dataset = make_dataset()
    before = stored(dataset)
    compute_quickly(dataset)
    add_units(dataset)
    units = [units_in(document) for document in documents_of(dataset)]
    rename_agreement(dataset, "agreement", "first")
    assert [units_in(document, "first_units") for document in documents_of(dataset)] == units
    assert dataset.get_field("first_units").info == {"annotator_agreement": "first"}
    assert dataset.first().first_units.detections[0].votes == 3
    with pytest.raises(AgreementInputError, match="`first_units` must be new, but it exists already"):
        add_units(dataset, "first")
    add_units(dataset, "first", overwrite=True)
    delete_agreement(dataset, "first")
    assert stored(dataset) == before


def test_a_view_of_units_cannot_be_the_view_of_a_run_that_replaces_them(make_dataset):
    dataset = make_dataset()
    compute_quickly(dataset)
    add_units(dataset)
    view = dataset.match(fo.ViewField("agreement_units.detections").length() > 0)
    with pytest.raises(AgreementInputError, match="a view that uses `agreement_units`"):
        compute_quickly(view, overwrite=True)


def test_units_are_made_anew_only_on_request(make_dataset):
    dataset = make_dataset()
    compute_quickly(dataset)
    add_units(dataset)
    sample = dataset.first()
    sample.agreement_units.detections[0].tags.append("mine")
    sample.save()
    with pytest.raises(AgreementInputError, match="must be new, but it exists already; replace it with overwrite=True"):
        add_units(dataset)
    assert dataset.count_label_tags("agreement_units") == {"mine": 1}
    add_units(dataset, overwrite=True)
    assert dataset.count_label_tags("agreement_units") == {}


def test_units_cannot_be_an_annotator(make_dataset):
    dataset = make_dataset()
    compute_quickly(dataset)
    add_units(dataset)
    with pytest.raises(AgreementInputError, match="'agreement_units', which the run 'agreement' wrote"):
        compute_agreement(dataset, ["alice", "agreement_units"], run_key="other")


@pytest.mark.parametrize("state", ["declared", "undeclared"])
def test_a_field_of_that_name_that_is_somebody_elses_is_left_alone(make_dataset, state):
    dataset = make_dataset()
    compute_quickly(dataset)
    if state == "declared":
        dataset.add_sample_field("agreement_units", fo.StringField)
    else:
        dataset._sample_collection.update_one({"_id": dataset.first()._id}, {"$set": {"agreement_units": "mine"}})
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match="`agreement_units` must be free"):
        add_units(dataset)
    assert stored(dataset) == before


def test_labels_that_are_no_objects_have_no_units(make_dataset):
    dataset = make_dataset({})
    dataset.add_samples([fo.Sample("1.jpg", a=fo.Classification(label="x"), b=fo.Classification(label="y"))])
    compute_agreement(dataset, ["a", "b"])
    with pytest.raises(
        AgreementInputError, match=r"run.objects.write\(\) needs a run on objects, got the run 'agreement' on Class"
    ):
        add_units(dataset)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"run_key": "nobody"}, "`run_key` must be an agreement run"),
        ({"shapes": "mean"}, "`shapes` must be one of medoid, vote, got 'mean'"),
        ({"overwrite": 1}, "`overwrite` must be True or False, got 1"),
    ],
)
@pytest.mark.few(2)
def test_unusable_arguments_are_refused_before_anything_is_written(make_dataset, options, message):
    dataset = make_dataset()
    compute_quickly(dataset)
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match=message):
        add_units(dataset, **options)
    assert stored(dataset) == before


def test_pixels_need_the_sizes_of_images(make_dataset):
    labels = {name: [polygon(rectangle(3, 2, 12, 9))] for name in ("alice", "bob")}
    dataset = shapes_dataset(make_dataset, labels, size=None)
    compute_quickly(dataset, ["alice", "bob"])
    with pytest.raises(AgreementInputError, match="must have an image size"):
        add_units(dataset, shapes="vote")


# ---- while somebody works on the dataset ----


def test_a_sample_edited_meanwhile_is_read_again(make_dataset, before_each_write):
    dataset = make_dataset()
    compute_quickly(dataset)
    edits = []

    def edit_once(batch):
        if not edits:
            edits.append(True)
            sample = fo.load_dataset(dataset.name).first()
            sample.alice.detections[0].label = sample.bob.detections[0].label = "lynx"
            sample.save()

    before_each_write(edit_once)
    assert add_units(dataset).n_changed == 0
    assert dataset.values("agreement_units.detections.label")[0] == ["lynx", "dog"]
    assert dataset.first().alice.detections[0].label == "lynx"


def test_an_edit_in_the_millisecond_of_our_own_write_is_seen(make_dataset, before_each_write, monkeypatch):
    dataset = make_dataset()
    compute_quickly(dataset)
    stamp = datetime(2030, 1, 1)
    monkeypatch.setattr(sample_index, "now", lambda: stamp)
    batches = []

    def edit_once(batch):
        if not batches:
            lynx = {f"{name}.detections.0.label": "lynx" for name in ("alice", "bob")}
            _set(dataset, {"$set": {**lynx, "last_modified_at": stamp}})
        batches.append(batch)

    before_each_write(edit_once)
    assert add_units(dataset).n_changed == 0
    assert len(batches) == 2
    assert dataset.values("agreement_units.detections.label")[0] == ["lynx", "dog"]


def test_a_run_deleted_meanwhile_takes_its_units_along(make_dataset, before_each_write, monkeypatch):
    dataset = make_dataset(random_annotators(30))
    before = stored(dataset)
    compute_quickly(dataset)
    monkeypatch.setattr(read, "BATCH_SAMPLES", 4)
    batches = []

    def delete_at_the_third(batch):
        batches.append(batch)
        if len(batches) == 3:
            delete_agreement(fo.load_dataset(dataset.name))

    before_each_write(delete_at_the_third)
    with pytest.raises(AgreementInputError, match="'agreement' was deleted or replaced while it was running"):
        add_units(dataset)
    assert stored(dataset) == before


def test_units_that_were_not_finished_are_made_again_without_being_asked(make_dataset):
    dataset = make_dataset()
    compute_quickly(dataset)

    def fail(*arguments):
        raise RuntimeError("no more")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changing, "swap", fail)
        with pytest.raises(RuntimeError, match="no more"):
            add_units(dataset)
    assert units_field.derived_record(run.Run(dataset, "agreement"), "_units")["status"] == "failed"
    assert add_units(dataset).n_labels == 6
    assert units_field.derived_record(run.Run(dataset, "agreement"), "_units")["status"] == "completed"


@pytest.mark.long
def test_making_units_killed_before_any_of_its_writes(killable, make_dataset):
    dataset = make_dataset(random_annotators(9, seed=5))
    before, values = stored(dataset), user_values(dataset, [])
    for n in itertools.count(1):
        compute_quickly(dataset)
        killed = killable(dataset, "add_units", kill_before=n)
        reopened = fo.load_dataset(dataset.name)
        reopened.reload()
        reopened.first()
        assert list_agreements(reopened) == ["agreement"]
        assert load_agreement(reopened).n_samples == 9
        assert user_values(reopened, ["agreement"]) == values
        if n % 2:  # what a dead process began is made anew, or deleted
            record = units_field.derived_record(run.Run(reopened, "agreement"), "_units") or {}
            add_units(reopened, overwrite=record.get("status") == "completed")
            found = [set(units_in(document)) for document in documents_of(reopened)]
            assert found == [set(units_of(document, LISTS)) for document in documents_of(reopened)]
        delete_agreement(reopened)
        assert stored(reopened) == before
        dataset.reload()
        if not killed:
            break
    assert n > 6  # the record, the field, three batches, the record
