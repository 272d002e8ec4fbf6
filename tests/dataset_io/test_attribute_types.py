"""Decisions copy attributes only so that FiftyOne can read the samples afterwards, whatever types fields declare."""

from __future__ import annotations

import fiftyone as fo
import pytest

from tests.dataset_io.quick_runs import compute_quickly, refused

from annotator_agreement.dataset_io import apply_decisions, decide, delete_decisions, undo_decisions


def _box(label, **attributes):
    return fo.Detection(label=label, bounding_box=[0.1, 0.1, 0.2, 0.2], **attributes)


@pytest.fixture
def computed(make_dataset):
    """Make a dataset with a run in which two annotators give their labels some attributes."""

    def make(first, second, *, dynamic=True, **options):
        dataset = make_dataset({})
        for k in range(2):
            drawn = {"ann": _box("cat", **first), "bob": _box("dog", **second)}
            labels = {name: fo.Detections(detections=[label]) for name, label in drawn.items()}
            dataset.add_sample(fo.Sample(f"/images/{k}.jpg", **labels), dynamic=dynamic)
        compute_quickly(dataset, ["ann", "bob"], **options)
        return dataset

    return make


def _read(dataset, field, name="q"):
    """The values of an attribute, as FiftyOne reads the samples from the database."""
    dataset.reload()
    found = (sample[field] for sample in dataset.view())
    return [label.get_attribute_value(name, None) for held in found if held is not None for label in held.detections]


PAIRS = [(True, "no"), (1, "high"), (True, 3), ([1, 2], "x"), (1, 2.5), ("a", "b")]


@pytest.mark.long
def test_a_copied_label_keeps_its_attributes_and_samples_stay_readable_whatever_the_types(computed):
    ann, bob = ({f"q{k}": values[side] for k, values in enumerate(PAIRS)} for side in (0, 1))
    dataset = computed(ann, bob)
    for annotator, given in (("ann", ann), ("bob", bob)):
        decide(dataset, choice="version", annotator=annotator, all=True, overwrite=True)
        assert [_read(dataset, "agreement_gold", name) for name in given] == [[value] * 2 for value in given.values()]
    undo_decisions(dataset)
    assert _read(dataset, "agreement_gold", "q0") == [PAIRS[0][0]] * 2


@pytest.mark.long
def test_an_attribute_that_was_declared_when_only_one_had_it_is_no_longer_declared(computed):
    dataset = computed({"q": True}, {})
    decide(dataset, choice="version", annotator="ann", all=True)
    assert isinstance(dataset.get_field("agreement_gold.detections.q"), fo.BooleanField)
    for sample in dataset:
        sample["bob"].detections[0]["q"] = "partly"
        sample.save()
    dataset.add_sample_field("bob.detections.q", fo.StringField)
    decide(dataset, choice="version", annotator="bob", all=True, overwrite=True)
    assert dataset.get_field("agreement_gold.detections.q") is None
    assert _read(dataset, "agreement_gold") == ["partly"] * 2


@pytest.mark.long
def test_a_value_that_is_declared_nowhere_is_left_out_where_it_could_not_be_read(computed):
    dataset = computed({"q": True}, {"q": "no"}, dynamic=False)
    dataset.add_sample_field("ann.detections.q", fo.BooleanField)
    decide(dataset, choice="version", annotator="bob", all=True)
    assert _read(dataset, "agreement_gold") == [None] * 2
    assert _read(dataset, "bob") == ["no"] * 2


def test_a_label_of_ones_own_with_a_value_of_another_type_is_refused_before_anything_is_written(computed):
    dataset = computed({"q": 1}, {"q": 2})
    unit = dataset.first()["ann"].detections[0].agreement_id
    message, own = r"got q = 'text', where IntField is declared", {"choice": "own", "objects": unit}
    refused(message, decide, dataset, label=_box("x", q="text"), **own)
    assert dataset.get_field("agreement_gold") is None
    decide(dataset, label=_box("x", q=7), **own)
    assert _read(dataset, "agreement_gold") == [7]


def test_applying_does_not_give_a_label_a_value_that_its_field_cannot_hold(computed):
    dataset = computed({"q": 3}, {"q": "high"}, attributes=["q"])
    decide(dataset, choice="version", annotator="bob", all=True)
    applied = apply_decisions(dataset, changes=["class", "attributes"])
    assert applied.n_unfit == 2
    delete_decisions(dataset)
    assert (_read(dataset, "ann"), _read(dataset, "bob")) == ([3] * 2, ["high"] * 2)
    assert dataset.values("ann.detections.label") == [["dog"]] * 2
