"""Compared attributes of objects, and their classes, against a reference and models."""

from __future__ import annotations

from collections import Counter
from io import StringIO
from typing import Any

import fiftyone as fo
import numpy as np
import pytest
from sklearn.metrics import accuracy_score, cohen_kappa_score, mean_absolute_error

from tests.datasets import random_annotators

import annotator_agreement as aa
from annotator_agreement import dataset_io
from annotator_agreement.agreement import AgreementInputError

FIELDS = ["alice", "bob", "carol"]
NAMES = (*FIELDS, "gold", "yolo")
OPTIONS: dict[str, Any] = {"attributes": ["colour", "score"], "tolerance": 1.0, "classes": "ignore"}
COLOURS = ("red", "green", True, None)


@pytest.fixture
def labelled(make_dataset: Any) -> fo.Dataset:
    """Boxes with a colour (or none) and a number; those of the model have a colour alone."""
    return make_dataset(random_annotators(40, NAMES, seed=5), _add_attributes)


def _add_attributes(dataset: fo.Dataset) -> None:
    rng = np.random.default_rng(11)
    for sample in dataset:
        for name in NAMES:
            for label in sample[name].detections if sample[name] is not None else ():
                label["colour"] = COLOURS[int(rng.choice(4, p=[0.6, 0.2, 0.1, 0.1]))]
                if name != "yolo":
                    label["score"] = int(rng.integers(0, 5))
        sample.save()


def _pairs(dataset: fo.Dataset, name: str, of: str = "gold") -> list[tuple[Any, Any]]:
    """The matched labels of an annotator and of a role, found by running the two alone."""
    dataset_io.compute_agreement(dataset, [name, of], run_key="two", classes="ignore", overwrite=True)
    dataset.reload()
    found = []
    for own, true in zip(dataset.values(name), dataset.values(of), strict=True):
        if own is not None and true is not None:
            by_unit = {label["two_id"]: label for label in own.detections}
            found += [(by_unit[b["two_id"]], b) for b in true.detections if b["two_id"] in by_unit]
    dataset_io.delete_agreement(dataset, "two")
    return found


def _colour(label: Any) -> Any:
    return getattr(label, "colour", None)


@pytest.mark.long
def test_attributes_and_classes_are_those_of_scikit_learn(labelled: fo.Dataset) -> None:
    pairs = {name: _pairs(labelled, name) for name in FIELDS}
    report = dataset_io.compute_agreement(labelled, FIELDS, reference="gold", **OPTIONS)
    assert report.reference is not None
    for entry in report.reference.annotators:
        of_one = pairs[entry.name]
        assert len(of_one) == entry.n_matched > 30
        own, true = zip(*((a.label, b.label) for a, b in of_one), strict=True)
        assert entry.kappa == pytest.approx(cohen_kappa_score(own, true))
        assert entry.class_accuracy == pytest.approx(accuracy_score(true, own))
        colour, score = entry.attributes
        colours = [(_colour(a), _colour(b)) for a, b in of_one]
        given = [(repr(a), repr(b)) for a, b in colours if a is not None and b is not None]
        own, true = zip(*given, strict=True)
        assert (colour.name, colour.n_labels) == ("colour", len(given))
        assert colour.accuracy == pytest.approx(accuracy_score(true, own))
        assert colour.kappa == pytest.approx(cohen_kappa_score(own, true))
        assert colour.mean_error is colour.mean_absolute_error is None
        assert colour.intervals["accuracy"].low < colour.accuracy < colour.intervals["accuracy"].high
        wrong = Counter((b, a) for a, b in given if a != b)
        assert {(repr(e["reference"]), repr(e["annotator"])): e["n"] for e in colour.confusion} == wrong
        own, true = (np.array(side) for side in zip(*((a.score, b.score) for a, b in of_one), strict=True))
        assert score.accuracy == pytest.approx(np.mean(np.abs(own - true) <= 1))
        assert score.mean_error == pytest.approx(np.mean(own - true))
        assert score.mean_absolute_error == pytest.approx(mean_absolute_error(true, own))
        assert score.kappa is None
        assert all(abs(e["reference"] - e["annotator"]) > 1 for e in score.confusion)


@pytest.mark.long
def test_labels_say_that_an_attribute_is_wrong(labelled: fo.Dataset) -> None:
    pairs = {name: _pairs(labelled, name) for name in FIELDS}
    report = dataset_io.compute_agreement(labelled, FIELDS, reference="gold", **OPTIONS)
    for entry in report.reference.annotators:
        wrong = {
            a.id
            for a, b in pairs[entry.name]
            if a.label == b.label
            and (abs(a.score - b.score) > 1 or len({repr(_colour(a)), repr(_colour(b))} - {"None"}) > 1)
        }
        assert entry.n_wrong_attribute == len(wrong) > 0
        view = dataset_io.view_agreement(labelled, annotators=entry.name, reference="wrong_attribute")
        ids = [label.id for labels in view.values(f"{entry.name}.detections") for label in labels or ()]
        assert {*ids} == wrong
        said = labelled.count_values(f"{entry.name}.detections.agreement_reference")
        assert said["right"] == entry.n_right - entry.n_wrong_attribute
    table = aa.load(labelled).labels()
    listed = table[table["reference"] == "wrong_attribute"]
    assert listed["annotator"].value_counts().to_dict() == {
        entry.name: entry.n_wrong_attribute for entry in report.reference.annotators
    }


@pytest.mark.long
def test_a_role_need_not_have_the_attribute(labelled: fo.Dataset) -> None:
    report = dataset_io.compute_agreement(labelled, FIELDS, models=["yolo"], **OPTIONS)
    colour, score = report.models[0].annotators[0].attributes
    assert colour.n_labels > 30
    assert (score.n_labels, score.accuracy) == (0, None)


@pytest.mark.long
def test_values_that_cannot_be_compared_are_refused_in_the_reference(labelled: fo.Dataset) -> None:
    sample = labelled.exists("gold.detections.0").first()
    sample.gold.detections[0]["colour"] = ["red"]
    sample.save()
    with pytest.raises(AgreementInputError, match="got other values in 'colour'"):
        dataset_io.compute_agreement(labelled, FIELDS, reference="gold", **OPTIONS)


@pytest.mark.long
def test_text_and_tables_show_attributes(labelled: fo.Dataset) -> None:
    report = dataset_io.compute_agreement(labelled, FIELDS, reference="gold", models="yolo", **OPTIONS)
    table = report.to_dataframe("reference_attributes")
    assert table[["annotator", "attribute"]].to_numpy().tolist() == [
        [name, attribute] for name in FIELDS for attribute in ("colour", "score")
    ]
    assert len(report.to_dataframe("models_attributes")) == 6
    conflicts = report.to_dataframe("reference_attribute_conflicts")
    assert conflicts.groupby("attribute")["n"].sum().to_dict() == {
        name: sum(
            e.n_labels - e.n_right for one in report.reference.annotators for e in one.attributes if e.name == name
        )
        for name in ("colour", "score")
    }
    file = StringIO()
    report.print_report(file=file, full=True)
    assert "By attribute" in file.getvalue()
    assert "wrong attribute" in file.getvalue()


@pytest.mark.long
def test_attributes_need_not_be_declared_or_compared_to_divide_the_images(labelled: fo.Dataset) -> None:
    run = aa.compute(labelled, FIELDS, resamples=0)
    found = {name: run.by(name) for name in ("colour", "score", "alice.detections.colour")}
    for parts in found.values():
        assert len(parts.parts) > 2
        assert all(len(parts.view(part.name)) == part.n_samples for part in parts.parts)
    assert found["colour"].parts != found["alice.detections.colour"].parts
    for name in ("colours", "", "$score", "score.", "no\0", "_id"):
        with pytest.raises(AgreementInputError, match=r"`field` must be a (text|field of samples, or an attribute)"):
            run.by(name)
    for path in ("alice", "bob", "carol"):  # declared for one annotator, as by an import, then for all
        labelled.add_sample_field(f"{path}.detections.score", fo.IntField)
        assert run.by("score").parts == found["score"].parts
