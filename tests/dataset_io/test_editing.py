"""The label of an object is made ready to be edited in the App; what the user had set up there is put back."""

from __future__ import annotations

import pytest

from tests.dataset_io.quick_runs import compute_quickly, run_on
from tests.datasets import EXAMPLE

from annotator_agreement.dataset_io import decide, delete_decisions, list_decisions, record_own_labels, undo_decisions
from annotator_agreement.dataset_io.app import end_editing
from annotator_agreement.dataset_io.decide import close_unedited, edit_object
from annotator_agreement.dataset_io.record import open_run_labels
from annotator_agreement.names import GOLD_ATTRIBUTES

GOLD = "agreement_gold"
OF_USER = {
    "alice": {"type": "detections", "component": "radio", "classes": ["cat", "hen"], "attributes": []},
    "filepath": {"type": "str", "component": "text"},
}


@pytest.fixture
def dataset(lend):
    return lend(run_on())


def unit_of(dataset, verdict):
    drawn = ((sample.id, label) for sample in dataset if sample["bob"] for label in sample["bob"].detections)
    return next((sample_id, label.agreement_id) for sample_id, label in drawn if label.agreement == verdict)


def edit(dataset, **options):
    options = {"by": "mia", "class_names": ["dog", "cat"], **options}
    return edit_object(open_run_labels(dataset, "agreement"), GOLD, *unit_of(dataset, "class_conflict"), **options)


def set_up(dataset):
    dataset.set_label_schemas(OF_USER)
    dataset.activate_label_schemas(["filepath", "alice"])


def app_state(dataset):
    dataset.reload()
    return dataset.label_schemas, dataset.active_label_schemas, dict(dataset.app_config.plugins)


@pytest.mark.long
def test_the_field_of_decisions_can_be_edited_the_annotators_fields_are_shown_and_all_is_put_back(dataset):
    set_up(dataset)
    before = app_state(dataset)
    found = edit(dataset)
    schemas, active, _ = app_state(dataset)
    dataset.set_label_schemas(schemas)  # FiftyOne checks them
    assert active == [GOLD, "alice", "bob", "carol", "filepath"]
    assert (schemas[GOLD]["classes"], schemas[GOLD]["read_only"]) == (["cat", "dog", "hen"], False)
    assert not {each["name"] for each in schemas[GOLD]["attributes"]} & GOLD_ATTRIBUTES.keys()
    assert schemas["alice"] == {**OF_USER["alice"], "read_only": True}
    assert schemas["bob"]["read_only"] is schemas["carol"]["read_only"] is True
    assert schemas["filepath"] == OF_USER["filepath"]
    edit(dataset)  # somebody else
    end_editing(dataset)
    assert app_state(dataset) == before
    (patch,) = found.view
    assert (patch.id, patch.sample_id) == (found.shown_id, found.sample_id)
    assert not patch.has_field("alice")  # the App would not offer the label of the patch beside others


def test_what_the_user_changes_meanwhile_stays_also_when_decisions_are_deleted(dataset):
    set_up(dataset)
    edit(dataset)
    dataset.reload()
    changed = {**dataset.label_schemas["bob"], "component": "dropdown", "classes": ["cow", "hen"], "read_only": False}
    dataset.update_label_schema("bob", changed)
    dataset.active_label_schemas = ["bob", GOLD, "alice"]
    delete_decisions(dataset)
    schemas, active, plugins = app_state(dataset)
    assert schemas == {**OF_USER, "bob": changed}
    assert active == ["alice"]
    assert not [name for name in plugins if "gold" in name]


@pytest.mark.long
def test_a_label_that_was_edited_is_as_it_was_written_after_undo(dataset):
    sample_id, unit = unit_of(dataset, "class_conflict")
    decide(dataset, min_votes=2, verdict="agreed")
    decide(dataset, objects=unit, by="mia")
    found = edit(dataset)
    assert found.step is None
    sample = dataset[sample_id]
    (label,) = (each for each in sample[GOLD].detections if each.id == found.shown_id)
    before, order = (label.label, label.bounding_box), [each.id for each in sample[GOLD].detections]
    (written,) = (each for each in list_decisions(dataset) if each.unit == unit)
    for change in ({"label": "cow"}, {"bounding_box": [0.1, 0.1, 0.2, 0.2]}, None):
        label = sample[GOLD].detections[order.index(found.shown_id)]
        if change is None:
            sample[GOLD].detections.remove(label)
        else:
            for name, value in change.items():
                label[name] = value
        sample.save()
        assert record_own_labels(dataset, by="mia").n_decided == 1
        if change is not None:
            assert [each.id for each in sample[GOLD].detections] == order  # the App edits labels by their places
        (own,) = (each for each in list_decisions(dataset) if each.unit == unit)
        assert own.choice == ("none" if change is None else "own")
        assert undo_decisions(dataset) == 1
        (again,) = (each for each in list_decisions(dataset) if each.unit == unit)
        assert (again, again.edited) == (written, False)
        sample.reload()
        order = [each.id for each in sample[GOLD].detections]
        label = sample[GOLD].detections[order.index(found.shown_id)]
        assert (label.label, label.bounding_box) == before


@pytest.fixture
def of_two(make_dataset):
    dataset = make_dataset({name: EXAMPLE[name][1:2] for name in ("alice", "bob")})
    compute_quickly(dataset, ["alice", "bob"])
    return dataset


def test_without_a_consensus_the_best_version_is_edited_and_a_form_decides_nothing(of_two):
    found = edit(of_two)
    (label,) = of_two.first()[GOLD].detections
    assert (label.id, label.basis) == (found.shown_id, "alice")
    (opened,) = list_decisions(of_two)
    assert (opened.choice, opened.annotator, opened.decided_by) == ("skip", None, "mia")
    assert edit(of_two, by="noa").shown_id == found.shown_id
    assert list_decisions(of_two) == [opened]
    decide(of_two, objects=opened.unit, choice="none", by="noa", overwrite=True)
    assert edit(of_two) is None
    again = edit(of_two, again=True)
    close_unedited(of_two, GOLD, again.step)
    assert [each.choice for each in list_decisions(of_two)] == ["none"]
    assert undo_decisions(of_two) == 1
    assert list_decisions(of_two) == []
    assert of_two.first()[GOLD] is None


@pytest.mark.long
def test_a_form_that_is_left_takes_away_what_nobody_edited_and_nothing_else(of_two):
    for is_edited in (False, True):
        found = edit(of_two)
        sample = of_two.first()
        if is_edited:
            sample[GOLD].detections[0].label = "owl"
            sample.save()
        close_unedited(of_two, GOLD, found.step)
        sample.reload()
        assert (sample[GOLD] is not None) == is_edited
    assert record_own_labels(of_two, by="the next to look at the sample").n_decided == 1
    close_unedited(of_two, GOLD, found.step)
    assert [(each.choice, each.decided_by) for each in list_decisions(of_two)] == [("own", "mia")]
    assert undo_decisions(of_two) == 1  # what was there before the form was opened
    assert list_decisions(of_two) == []
