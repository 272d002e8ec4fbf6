"""Attributes that are compared among the labels of one object, and against a reference and models."""

from __future__ import annotations

import datetime
from collections import Counter
from io import StringIO

import fiftyone as fo
import numpy as np
import pytest
from sklearn.metrics import accuracy_score, cohen_kappa_score, mean_absolute_error

from tests.dataset_io.quick_runs import compute_quickly, refused, refused_run
from tests.dataset_io.shaped import box, shapes_dataset
from tests.datasets import random_annotators

import annotator_agreement as aa
from annotator_agreement import dataset_io
from annotator_agreement.dataset_io.families import objects

TRIO = ["alice", "bob", "carol"]
NAN = float("nan")
AGREED, CONFLICT = "agreed", "attribute_conflict"

#: values of the three annotators (... for no value), the tolerance, and the verdict
VALUES = [
    (("front", "front", "front"), 0, AGREED),
    (("front", "front", "Front"), 0, CONFLICT),
    (("front", "front ", "front"), 0, CONFLICT),
    ((True, True, True), 0, AGREED),
    ((True, True, False), 0, CONFLICT),
    ((False, None, ...), 0, AGREED),
    ((None, ..., None), 0, AGREED),
    ((1, 1.0, 1), 0, AGREED),
    ((1, True, 1), 0, CONFLICT),
    ((0, False, 0), 0, CONFLICT),
    ((1, "1", 1), 0, CONFLICT),
    ((1, 2, 1), 0, CONFLICT),
    ((NAN, 5, 5.0), 0, AGREED),
    ((2**62, 2**62, 2.0**62), 0, AGREED),
    ((1, 2, 1), 1, AGREED),
    ((1, 2, 3), 1, CONFLICT),
    ((0.3, 0.4, 0.35), 0.1, AGREED),
    ((0.3, 0.41, 0.35), 0.1, CONFLICT),
    ((2, "two", NAN), 100, CONFLICT),
]


@pytest.mark.long
def test_values_that_were_given_must_be_equal(make_dataset):
    samples = [{name: [box(4, 3, 20, 10), box(30, 1, 5, 5)] for name in TRIO} for _ in VALUES]
    dataset = shapes_dataset(make_dataset, *samples)
    ids = dataset.values("id")
    for sample_id, (values, *_) in zip(dataset.values("_id"), VALUES, strict=True):
        stored_as = {f"{name}.detections.1.state": "x" for name in TRIO}
        given = zip(TRIO, values, strict=True)
        stored_as |= {f"{name}.detections.0.state": value for name, value in given if value is not ...}
        dataset._sample_collection.update_one({"_id": sample_id}, {"$set": stored_as})
    dataset.reload()
    for tolerance in (0, 0.1, 1, 100):
        chosen = [k for k, (_, of_case, _) in enumerate(VALUES) if of_case == tolerance]
        view, options = dataset.select([ids[k] for k in chosen]), {"tolerance": tolerance} if tolerance else {}
        compute_quickly(view, TRIO, attributes=["state"], overwrite=True, **options)
        for k in chosen:
            for name in TRIO:
                found = [label.agreement for label in dataset[ids[k]][name].detections]
                assert found == [VALUES[k][-1], AGREED], VALUES[k]


@pytest.mark.long
def test_an_attribute_conflict_comes_after_a_class_conflict_and_before_a_miss(make_dataset):
    def labels(state, label="cat"):
        places = [(4, 3, 10, 10), (20, 3, 6, 5), (30, 1, 5, 5)]
        return [box(*place, label=label if k == 0 else "cat", state=state) for k, place in enumerate(places)]

    dataset = shapes_dataset(make_dataset, {"alice": labels("a"), "bob": labels("b", "dog"), "carol": labels("a")[:2]})
    report = compute_quickly(dataset, TRIO, attributes=["state"])
    assert [label.agreement for label in dataset.first().alice.detections] == ["class_conflict", CONFLICT, CONFLICT]
    assert dataset.first().agreement_n_disputed == 3
    assert [entry.verdicts[CONFLICT] for entry in report.annotators] == [2, 2, 1]
    assert report.alpha.pooled == compute_quickly(dataset, TRIO, run_key="without").alpha.pooled


def test_any_of_several_attributes_is_enough_also_as_older_datasets_keep_them_but_none_may_be_unknown(make_dataset):
    old_a, old_b = ({"attributes": {"old": fo.CategoricalAttribute(value=value)}} for value in "ab")
    drawn = [{"alice": {"a": 1, "b": 1, "c": 1, **old_a}, "bob": {"a": 1, "b": 2, "c": 1, **bob}} for bob in
             (old_b, {"old": "a"})]  # fmt: skip
    samples = [{name: [box(4, 3, 10, 10, **given)] for name, given in of.items()} for of in drawn]
    dataset = shapes_dataset(make_dataset, *samples)
    for key, attributes, verdicts in (("k1", ["a", "c"], [AGREED] * 2), ("k2", ["c", "b"], [CONFLICT] * 2),
                                      ("k3", "b", [CONFLICT] * 2), ("k4", ["old"], [CONFLICT, AGREED])):  # fmt: skip
        compute_quickly(dataset, ["alice", "bob"], run_key=key, attributes=attributes)
        assert [sample.bob.detections[0][key] for sample in dataset] == verdicts
    message = "must be found on labels, got 'stat', which no label of alice, bob"
    refused_run(message, dataset, ["alice", "bob"], attributes=["a", "stat"])


@pytest.mark.parametrize("method", ["optimal", "recursive", "mutual_best"])
@pytest.mark.few(2)
def test_attributes_of_the_labels_that_count_are_compared(make_dataset, method):
    """Crowd regions, labels without an area, and samples that changed are left out of every column."""
    labels = [box(20, 1, 5, 5, state="a", iscrowd=1), box(30, 1, 5, NAN, state="b"), box(4, 3, 10, 10, state="c")]
    other = [box(4, 3, 10, 10, state="c"), box(1, 15, 2, 2, state="d")]
    dataset = shapes_dataset(make_dataset, {"alice": labels, "bob": other}, {"alice": other, "bob": labels[1:]})
    compute_quickly(dataset, ["alice", "bob"], attributes=["state"], invalid="skip", method=method)
    found = {name: [[getattr(label, "agreement", None) for label in sample[name].detections] for sample in dataset]
             for name in ("alice", "bob")}  # fmt: skip
    assert found == {"alice": [["crowd", None, AGREED], [AGREED, "lone"]], "bob": [[AGREED, "lone"], [None, AGREED]]}


def test_attributes_of_an_annotator_who_is_not_compared_are_left_out(make_dataset):
    labels = [box(4, 3, 10, 10, rater=rater, state=state) for rater, state in (("a", 1), ("b", 2), ("c", 1))]
    dataset = shapes_dataset(make_dataset, {"labels": labels})
    options = {"annotator_attribute": "rater", "attributes": ["state"]}
    compute_quickly(dataset, "labels", annotators=["a", "c"], **options)
    assert [getattr(label, "agreement", None) for label in dataset.first().labels.detections] == [AGREED, None, AGREED]


def test_values_that_cannot_be_compared_are_an_error_that_names_the_attribute_also_later(make_dataset, monkeypatch):
    dataset = shapes_dataset(make_dataset, {name: [box(4, 3, 10, 10, state="a")] for name in ("alice", "bob")})
    path = "bob.detections.0.state"
    for is_later in (False, True):
        if is_later:  # changed after the check
            monkeypatch.setattr(objects, "check_attributes", lambda *_, **more: None)
        for value in (["a"], {"a": 1}, datetime.datetime(2020, 1, 1), float("inf")):
            dataset._sample_collection.update_one({}, {"$set": {path: value}})
            message = "got other values in 'state'; leave it out of `attributes`"
            refused(message, compute_quickly, dataset, ["alice", "bob"], attributes=["state"], overwrite=True)


def test_attributes_of_labels_on_frames_are_compared(make_videos):
    labels = {name: fo.Detections(detections=[box(4, 3, 10, 10, state=state)])
              for name, state in (("alice", 1), ("bob", 2))}  # fmt: skip
    dataset = make_videos([{name: [found] for name, found in labels.items()}])
    compute_quickly(dataset, ["frames.alice", "frames.bob"], attributes=["state"])
    assert dataset.first().frames[1].alice.detections[0].agreement == CONFLICT


NAMES = (*TRIO, "gold", "yolo")
OPTIONS = {"attributes": ["colour", "score"], "tolerance": 1.0, "classes": "ignore"}


def _labelled(make_dataset):
    """Boxes with a colour (or none) and a number; those of the model have a colour alone."""
    dataset, rng = make_dataset(random_annotators(40, NAMES, seed=5)), np.random.default_rng(11)
    for sample in dataset.iter_samples(autosave=True):
        for name in NAMES:
            for label in sample[name].detections if sample[name] is not None else ():
                label["colour"] = ("red", "green", True, None)[int(rng.choice(4, p=[0.6, 0.2, 0.1, 0.1]))]
                if name != "yolo":
                    label["score"] = int(rng.integers(0, 5))
    dataset_io.compute_agreement(dataset, TRIO, reference="gold", models=["yolo"], resamples=40, **OPTIONS)
    return dataset
    return dataset


@pytest.fixture
def labelled(lend):
    return lend(_labelled)


def _colour(label):
    return getattr(label, "colour", None)


@pytest.mark.long
def test_attributes_and_classes_are_those_of_scikit_learn_and_labels_say_what_is_wrong(labelled):
    report = aa.load(labelled).report
    table = aa.load(labelled).labels()
    listed = table[table["reference"] == "wrong_attribute"]["annotator"].value_counts().to_dict()
    for entry in report.reference.annotators:
        # the matched labels of the annotator and the reference, found by running the two alone
        compute_quickly(labelled, [entry.name, "gold"], run_key="two", classes="ignore", overwrite=True)
        labelled.reload()
        of_one = []
        for own, true in zip(labelled.values(entry.name), labelled.values("gold"), strict=True):
            if own is not None and true is not None:
                by_unit = {label["two_id"]: label for label in own.detections}
                of_one += [(by_unit[b["two_id"]], b) for b in true.detections if b["two_id"] in by_unit]
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
        # what labels, views and tables say of the same
        wrong = {a.id for a, b in of_one if a.label == b.label and (
                 abs(a.score - b.score) > 1 or len({repr(_colour(a)), repr(_colour(b))} - {"None"}) > 1)}  # fmt: skip
        assert entry.n_wrong_attribute == len(wrong) == listed[entry.name] > 0
        view = dataset_io.view_agreement(labelled, annotators=entry.name, reference="wrong_attribute")
        assert {*view.values(f"{entry.name}.detections.id", unwind=True)} == wrong
        said = labelled.count_values(f"{entry.name}.detections.agreement_reference")
        assert said["right"] == entry.n_right - entry.n_wrong_attribute


@pytest.mark.long
def test_a_role_need_not_have_the_attribute_but_values_that_can_be_compared_and_tables_show_them(labelled):
    report, file = aa.load(labelled).report, StringIO()
    colour, score = report.models[0].annotators[0].attributes
    assert colour.n_labels > 30
    assert (score.n_labels, score.accuracy) == (0, None)
    rows = report.to_dataframe("reference_attributes")[["annotator", "attribute"]].to_numpy().tolist()
    assert rows == [[name, attribute] for name in TRIO for attribute in ("colour", "score")]
    assert len(report.to_dataframe("models_attributes")) == 6
    conflicts = report.to_dataframe("reference_attribute_conflicts").groupby("attribute")["n"].sum().to_dict()
    entries = [each for one in report.reference.annotators for each in one.attributes]
    assert conflicts == {name: sum(each.n_labels - each.n_right for each in entries if each.name == name)
                         for name in ("colour", "score")}  # fmt: skip
    report.print_report(file=file, full=True)
    assert all(said in file.getvalue() for said in ("By attribute", "wrong attribute"))
    sample = labelled.exists("gold.detections.0").first()
    sample.gold.detections[0]["colour"] = ["red"]
    sample.save()
    refused_run("got other values in 'colour'", labelled, TRIO, run_key="other", reference="gold", **OPTIONS)


@pytest.mark.long
def test_attributes_need_not_be_declared_or_compared_to_divide_the_images(labelled):
    run = aa.compute(labelled, TRIO, run_key="without", resamples=0)
    found = {name: run.by(name) for name in ("colour", "score", "alice.detections.colour")}
    for parts in found.values():
        assert len(parts.parts) > 2
        assert all(len(parts.view(part.name)) == part.n_samples for part in parts.parts)
    assert found["colour"].parts != found["alice.detections.colour"].parts
    for name in ("colours", "", "$score", "score.", "no\0", "_id"):
        refused(r"`field` must be a (text|field of samples, or an attribute)", run.by, name)
    for path in TRIO:  # declared for one annotator, as by an import, then for all
        labelled.add_sample_field(f"{path}.detections.score", fo.IntField)
        assert run.by("score").parts == found["score"].parts
