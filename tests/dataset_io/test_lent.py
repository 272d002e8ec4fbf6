"""Datasets that tests are lent: whatever a test did, the next one has the dataset as it was made."""

from __future__ import annotations

import fiftyone as fo
import pytest

from tests.dataset_io.quick_runs import compute_quickly
from tests.datasets import Lent, random_annotators

from annotator_agreement.dataset_io import decide, delete_agreement


def with_a_run(make_dataset):
    dataset = make_dataset(random_annotators(3))
    compute_quickly(dataset)
    return dataset


def edit(dataset):
    sample = dataset.first()
    sample.alice.detections[0].label = "edited"
    sample.tags.append("edited")
    sample.save()


#: what a test may do, and whether the samples alone are put back then
CHANGES = {
    "an edited label": (edit, True),
    "a deleted sample": (lambda dataset: dataset.delete_samples([dataset.first().id]), False),
    "an added sample": (lambda dataset: dataset.add_sample(fo.Sample("/added.png")), True),
    "a field": (lambda dataset: dataset.add_sample_field("camera", fo.StringField), False),
    "a deleted run": (lambda dataset: delete_agreement(dataset, "agreement"), False),
    "decisions": (lambda dataset: decide(dataset, all=True), False),
    "a view": (lambda dataset: dataset.save_view("few", dataset.limit(1)), False),
    "information": (lambda dataset: dataset.info.update(edited=True) or dataset.save(), False),
    "deletion": (lambda dataset: dataset.delete(), False),
}


@pytest.mark.parametrize(("change", "is_put_back"), CHANGES.values(), ids=CHANGES)
@pytest.mark.few(2)
def test_what_a_test_did_is_gone(make_dataset, change, is_put_back):
    lent = Lent(lambda: with_a_run(make_dataset))
    dataset = lent.lend()
    name = dataset.name
    held = list(dataset._sample_collection.find().sort("_id"))
    change(dataset)
    again = lent.lend()
    assert (again.name == name) == is_put_back
    assert again.get_field_schema().keys() == fo.load_dataset(again.name).get_field_schema().keys()
    assert "camera" not in again.get_field_schema()
    assert "agreement_score" in again.get_field_schema()
    assert not again.list_saved_views()
    assert not again.info
    found = list(again._sample_collection.find().sort("_id"))
    assert [sorted(row) for row in found] == [sorted(row) for row in held]
    if is_put_back:
        assert found == held
        assert again.first().alice.detections[0].label != "edited"
