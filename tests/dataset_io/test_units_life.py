"""One label for every unit, while labels, runs and samples change: never wrong or left over."""

from __future__ import annotations

from datetime import datetime

import fiftyone as fo
import pytest
from bson import ObjectId

from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, run_on
from tests.dataset_io.unit_oracle import documents_of, units_in
from tests.datasets import random_annotators, stored

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import (
    add_units,
    agreement_patches,
    delete_agreement,
    rename_agreement,
    resolve_units,
)
from annotator_agreement.dataset_io.record import run, sample_index
from annotator_agreement.dataset_io.run import read
from annotator_agreement.dataset_io.units import changing, units_field


def _made_with_units(make_dataset):
    dataset = run_on()(make_dataset)
    add_units(dataset)
    return dataset


@pytest.fixture
def computed(lend):
    """The example with a run."""
    return lend(run_on())


@pytest.fixture
def with_units(lend):
    """The example with a run and its units."""
    return lend(_made_with_units)


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


def test_a_unit_whose_labels_changed_is_left_out_and_counted(lend):
    for change, update in CHANGES.items():
        dataset = lend(run_on())
        if change == "copied":
            label = next(documents_of(dataset))["alice"]["detections"][0]
            update = {"$push": {"alice.detections": {**label, "_id": ObjectId()}}}
        _set(dataset, update)
        made = add_units(dataset)
        assert (made.n_left_out, made.n_labels) == (1, 5), change
        assert dataset.values("agreement_units.detections.label")[0] == ["dog"], change


def test_a_label_given_to_somebody_else_leaves_its_unit(make_dataset):
    dataset = make_dataset({})
    labels = [fo.Detection(label="cat", bounding_box=[0.1, 0.1, 0.4, 0.3], rater=name) for name in ANNOTATORS]
    dataset.add_samples([fo.Sample("1.jpg", labels=fo.Detections(detections=labels))], dynamic=True)
    compute_quickly(dataset, "labels", annotator_attribute="rater")
    for name, n_left_out in (("dave", 1), ("bob", 1), ("alice", 0)):
        _set(dataset, {"$set": {"labels.detections.0.rater": name}})
        assert add_units(dataset, overwrite=name != "dave").n_left_out == n_left_out


def test_class_and_extent_are_those_of_now_and_the_rest_is_what_the_run_found(computed):
    sample = computed.first()
    for name in ("alice", "bob"):
        sample[name].detections[0].label = "lynx"
        sample[name].detections[0].bounding_box = [0.2, 0.1, 0.2, 0.4]
    sample.carol.detections.append(fo.Detection(label="new", bounding_box=[0.8, 0.8, 0.1, 0.1]))
    sample.save()
    made = add_units(computed)
    unit = computed.first().agreement_units.detections[0]
    assert made.n_left_out == 0
    assert (unit.label, unit.verdict, unit.mean_iou) == ("lynx", "agreed", pytest.approx(1.0))
    assert unit.bounding_box == pytest.approx([0.2, 0.1, 0.2, 0.4])


# ---- life ----


def test_units_are_renamed_and_removed_with_the_run(make_dataset):
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


def test_units_are_made_anew_only_on_request_and_are_neither_an_annotator_nor_a_view_for_the_run(with_units):
    view = with_units.match(fo.ViewField("agreement_units.detections").length() > 0)
    with pytest.raises(AgreementInputError, match="a view that uses `agreement_units`"):
        compute_quickly(view, overwrite=True)
    with pytest.raises(AgreementInputError, match="'agreement_units', which the run 'agreement' wrote"):
        compute_quickly(with_units, ["alice", "agreement_units"], run_key="other")
    sample = with_units.first()
    sample.agreement_units.detections[0].tags.append("mine")
    sample.save()
    with pytest.raises(AgreementInputError, match="must be new, but it exists already; replace it with overwrite=True"):
        add_units(with_units)
    assert with_units.count_label_tags("agreement_units") == {"mine": 1}
    add_units(with_units, overwrite=True)
    assert with_units.count_label_tags("agreement_units") == {}


def test_arguments_are_checked_and_a_field_of_that_name_that_is_somebody_elses_is_left_alone(lend):
    for is_declared in (True, False):
        dataset = lend(run_on())
        if is_declared:
            dataset.add_sample_field("agreement_units", fo.StringField)
        else:
            _set(dataset, {"$set": {"agreement_units": "mine"}})
        before = stored(dataset)
        for options, message in (
            ({}, "`agreement_units` must be free"),
            ({"run_key": "nobody"}, "`run_key` must be an agreement run"),
            ({"shapes": "mean"}, "`shapes` must be one of medoid, vote, got 'mean'"),
            ({"overwrite": 1}, "`overwrite` must be True or False, got 1"),
        ):
            with pytest.raises(AgreementInputError, match=message):
                add_units(dataset, **options)
        assert stored(dataset) == before


def test_labels_that_are_no_objects_have_no_units_no_consensus_and_no_patches(make_dataset):
    dataset = make_dataset({})
    dataset.add_samples([fo.Sample("1.jpg", a=fo.Classification(label="x"), b=fo.Classification(label="y"))])
    compute_quickly(dataset, ["a", "b"])
    for call, message in (
        (add_units, r"run.objects.write\(\) needs a run on objects, got the run 'agreement' on Class"),
        (resolve_units, r"run.objects.consensus\(\) needs a run on objects, got the run 'agreement'"),
        (agreement_patches, "The run must be on objects to show them one by one, got 'agreement' on Class"),
    ):
        with pytest.raises(AgreementInputError, match=message):
            call(dataset)


# ---- while somebody works on the dataset ----


@pytest.mark.parametrize("at_once", [False, True], ids=["later", "in the millisecond of our own write"])
def test_a_sample_edited_meanwhile_is_read_again(computed, before_each_write, monkeypatch, at_once):
    stamp, batches = datetime(2030, 1, 1), []
    if at_once:
        monkeypatch.setattr(sample_index, "now", lambda: stamp)

    def edit_once(batch):
        if not batches:
            lynx = {f"{name}.detections.0.label": "lynx" for name in ("alice", "bob")}
            when = {"$set": {**lynx, "last_modified_at": stamp}}
            _set(computed, when if at_once else {"$set": lynx, "$currentDate": {"last_modified_at": True}})
        batches.append(batch)

    before_each_write(edit_once)
    assert add_units(computed).n_changed == 0
    assert len(batches) == 2
    assert computed.values("agreement_units.detections.label")[0] == ["lynx", "dog"]
    assert computed.values("alice.detections.label")[0][0] == "lynx"


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


def test_units_that_were_not_finished_are_made_again_without_being_asked(computed):
    def fail(*arguments):
        raise RuntimeError("no more")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changing, "swap", fail)
        with pytest.raises(RuntimeError, match="no more"):
            add_units(computed)
    assert units_field.derived_record(run.Run(computed, "agreement"), "_units")["status"] == "failed"
    assert add_units(computed).n_labels == 6
    assert units_field.derived_record(run.Run(computed, "agreement"), "_units")["status"] == "completed"
