"""One label for every unit of boxes: against loops over the documents of the database."""

from __future__ import annotations

import fiftyone as fo
import pytest

from tests.dataset_io.quick_runs import ANNOTATORS, LISTS, compute_quickly
from tests.dataset_io.unit_oracle import assert_facts, documents_of, facts_of, median_box, units_in, units_of
from tests.datasets import detections, random_annotators

from annotator_agreement.dataset_io import add_units, compute_agreement
from annotator_agreement.dataset_io.record import run
from annotator_agreement.dataset_io.units import units_field


def test_every_unit_of_boxes_has_one_label_with_the_median_box(make_dataset):
    dataset = make_dataset(random_annotators(40, seed=3))
    report = compute_quickly(dataset)
    made = add_units(dataset)
    n_units = 0
    for document in documents_of(dataset):
        expected = units_of(document, LISTS)
        n_assigned = sum(document.get(name) is not None for name in ANNOTATORS)
        found = units_in(document)
        assert list(found) == sorted(expected)
        n_units += len(found)
        for unit_id, unit in found.items():
            assert_facts(unit, facts_of(expected[unit_id], n_assigned))
            assert unit["bounding_box"] == pytest.approx(median_box(expected[unit_id]), abs=1e-12)
    assert made == units_field.DerivedLabels("agreement_units", n_units, 0, 0, 0, 0)
    assert n_units >= report.n_units > 60
    verdicts = dataset.count_values("agreement_units.detections.verdict")
    assert {"agreed", "class_conflict", "missed", "lone", None} <= set(verdicts)
    assert {True, False} == set(dataset.distinct("agreement_units.detections.tie"))


def test_labels_read_with_fiftyone_are_ordinary_labels(make_dataset):
    dataset = make_dataset()
    compute_quickly(dataset)
    add_units(dataset)
    units = dataset.first().agreement_units.detections
    assert [(unit.label, unit.verdict, unit.votes, unit.annotators) for unit in units] == [
        ("cat", "agreed", 3, ANNOTATORS),
        ("dog", "agreed", 3, ANNOTATORS),
    ]
    assert units[0].tags == []
    assert dataset.values("agreement_units.detections.votes") == [[3, 3], [3, 2], [], [1], [1]]
    field = dataset.get_field("agreement_units")
    assert field.document_type is fo.Detections
    assert field.info == {"annotator_agreement": "agreement"}
    assert isinstance(dataset.get_field("agreement_units.detections.mean_iou"), fo.FloatField)
    assert dataset.get_field("agreement_units.detections.verdict").description
    assert "agreement_units" in run.Run(dataset, "agreement").config["fields_written"]


def test_units_of_one_field_with_several_annotators(make_dataset):
    dataset = make_dataset(random_annotators(15, seed=2))
    for sample in dataset.iter_samples(autosave=True):
        every = []
        for name in ANNOTATORS:
            for label in sample[name].detections if sample[name] else []:
                copied = label.copy()
                copied["rater"] = name
                every.append(copied)
        sample["labels"] = fo.Detections(detections=every)
    compute_agreement(dataset, "labels", annotator_attribute="rater", resamples=0)
    add_units(dataset)
    for document in documents_of(dataset):
        members = {}
        for label in document["labels"]["detections"]:
            members.setdefault(label["agreement_id"], {})[label["rater"]] = label
        found = units_in(document)
        assert set(found) == set(members)
        for unit_id, unit in found.items():
            assert_facts(unit, facts_of(dict(sorted(members[unit_id].items())), 3))
            assert unit["bounding_box"] == pytest.approx(median_box(members[unit_id]), abs=1e-12)


def test_names_that_stand_for_others_count_as_one_class(make_dataset):
    place = (0.1, 0.2, 0.4, 0.3)
    dataset = make_dataset({"alice": [[("Car ", place)]], "bob": [[("car", place)]], "carol": [[("bus", place)]]})
    compute_quickly(dataset, aliases={"Car ": "car"})
    add_units(dataset)
    (unit,) = dataset.first().agreement_units.detections
    assert (unit.label, unit.classes, unit.tie, unit.verdict) == ("car", ["car", "car", "bus"], False, "class_conflict")


def test_a_label_without_a_class_has_a_vote_like_any_other(make_dataset):
    place = (0.1, 0.2, 0.4, 0.3)
    dataset = make_dataset({"alice": [[(None, place)]], "bob": [[(None, place)]], "carol": [[("bus", place)]]})
    compute_quickly(dataset)
    add_units(dataset)
    (unit,) = dataset.first().agreement_units.detections
    assert (unit.label, unit.classes, unit.tie) == (None, ["(no label)", "(no label)", "bus"], False)


def test_crowd_regions_are_no_units(make_dataset):
    crowd = fo.Detections(detections=[fo.Detection(label="cat", bounding_box=[0.1, 0.1, 0.5, 0.5], iscrowd=True)])
    dataset = make_dataset({})
    one = detections([("cat", (0.7, 0.7, 0.2, 0.1))])
    dataset.add_samples([fo.Sample("1.jpg", alice=crowd, bob=one)], dynamic=True)
    compute_quickly(dataset, ["alice", "bob"])
    add_units(dataset)
    assert dataset.values("agreement_units.detections.annotators") == [[["bob"]]]


def test_samples_that_the_run_did_not_compare_have_no_units(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset.limit(2), ANNOTATORS, resamples=0)
    before = dataset.values("last_modified_at")
    add_units(dataset)
    assert dataset.values("agreement_units.detections.votes") == [[3, 3], [3, 2], None, None, None]
    assert dataset.values("last_modified_at")[2:] == before[2:]
