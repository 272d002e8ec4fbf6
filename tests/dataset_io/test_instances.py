"""Labels of one unit are linked by an instance if no label has one yet; deleting the run removes the links."""

from __future__ import annotations

import fiftyone as fo
import pytest
from bson import ObjectId

from tests.dataset_io.app_state import EVERYTHING, instances, sidebar_groups
from tests.dataset_io.quick_runs import ANNOTATORS
from tests.datasets import detections, random_annotators, stored

from annotator_agreement import AgreementInputError, compute_agreement, configure_agreement_app, delete_agreement


@pytest.fixture
def dataset(make_dataset):
    return make_dataset(random_annotators(15))


def test_the_labels_of_a_unit_are_linked_and_no_others(dataset):
    compute_agreement(dataset, ANNOTATORS)
    configure_agreement_app(dataset, link_instances=True)
    units, instances = {}, {}
    for sample in dataset.iter_samples():
        for name in ANNOTATORS:
            for label in sample[name].detections if sample[name] is not None else []:
                units.setdefault((sample.id, label.agreement_id), []).append(label.instance_id)
                if label.instance_id is not None:
                    instances.setdefault(label.instance_id, set()).add((sample.id, label.agreement_id))
    shared = [ids for ids in units.values() if len(ids) >= 2]
    assert len(shared) > 10
    assert all(len(set(ids)) == 1 and ids[0] is not None for ids in shared)
    assert all(ids == [None] for ids in units.values() if len(ids) == 1)
    assert all(len(of) == 1 for of in instances.values())


def test_labels_on_frames_are_linked_frame_by_frame(make_videos):
    labels = random_annotators(8, seed=3)
    dataset = make_videos([{name: [detections(entry) for entry in labels[name]] for name in ANNOTATORS}])
    before = stored(dataset)
    compute_agreement(dataset, [f"frames.{name}" for name in ANNOTATORS])
    configure_agreement_app(dataset, **EVERYTHING)
    units = {}
    for number, frame in dataset.first().frames.items():
        for name in ANNOTATORS:
            held = frame[name] if frame.has_field(name) else None
            for label in held.detections if held is not None else []:
                units.setdefault((number, label.agreement_id), []).append(label.instance_id)
    assert all(len(set(ids)) == 1 for ids in units.values())
    found = [ids[0] for ids in units.values() if len(ids) > 1]
    assert len(set(found)) == len(found) > 5
    assert sidebar_groups(dataset)["agreement"][:2] == ["agreement_score", "agreement_alpha"]
    assert "frames.agreement_score" in sidebar_groups(dataset)["agreement"]
    delete_agreement(dataset)
    assert stored(dataset) == before


def test_labels_that_are_linked_already_are_left_alone(dataset):
    compute_agreement(dataset, ANNOTATORS)
    sample = dataset.match({"bob.detections.0": {"$exists": True}}).first()
    sample.bob.detections[0].instance = fo.Instance()
    sample.save()
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match=r"needs labels without an `instance`, got .* of `bob\.detections`"):
        configure_agreement_app(dataset, **EVERYTHING)
    assert stored(dataset) == before


def test_links_of_another_run_are_not_taken_for_ones_own(dataset):
    compute_agreement(dataset, ANNOTATORS)
    compute_agreement(dataset, ANNOTATORS, run_key="other")
    configure_agreement_app(dataset, "other", link_instances=True)
    with pytest.raises(AgreementInputError, match="that are linked already"):
        configure_agreement_app(dataset, link_instances=True)
    delete_agreement(dataset)
    assert any(instances(dataset, "alice"))
    delete_agreement(dataset, "other")
    assert not any(instances(dataset, "alice"))


def test_links_go_with_a_label_field_that_was_renamed(dataset):
    compute_agreement(dataset, ANNOTATORS)
    configure_agreement_app(dataset, link_instances=True)
    dataset.rename_sample_field("alice", "alicia")
    delete_agreement(dataset)
    assert not any(instances(dataset, "alicia"))


def test_a_label_that_is_deleted_meanwhile_shifts_no_link(dataset, monkeypatch):
    from annotator_agreement.dataset_io.app import instances

    compute_agreement(dataset, ANNOTATORS)
    full = {f"{name}.detections.2": {"$exists": True} for name in ANNOTATORS}
    sample_id = dataset.match({**full, "agreement_iou": {"$gt": 0}}).first().id
    original = instances._values
    edited = []

    def edit_once(labels, place, row, prefix, number):
        if str(row["_id"]) == sample_id and not edited:
            edited.append(True)
            collection = dataset._sample_collection
            collection.update_one({"_id": ObjectId(sample_id)}, {"$pop": {"alice.detections": -1}})
        return original(labels, place, row, prefix, number)

    monkeypatch.setattr(instances, "_values", edit_once)
    configure_agreement_app(dataset, link_instances=True)
    assert edited
    dataset.reload()
    sample = dataset[sample_id]
    units = {}
    for name in ANNOTATORS:
        for label in sample[name].detections if sample[name] is not None else []:
            units.setdefault(label.agreement_id, set()).add(label.instance_id if label.agreement_votes >= 2 else "lone")
    assert len(units) > 1
    assert all(len(ids) == 1 for ids in units.values())
    assert None not in {ids for unit in units.values() for ids in unit}
