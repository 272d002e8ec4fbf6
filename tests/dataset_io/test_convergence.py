"""The convergence of runs in the database: edge cases, views, a model, and where there is none."""

from __future__ import annotations

import io

import fiftyone as fo
import numpy as np
import pytest

from tests.dataset_io.quick_runs import compute_quickly, refused
from tests.datasets import detections, random_annotators

import annotator_agreement as aa

CAT, DOG, BIRD = (("cat", (0.1, 0.1, 0.2, 0.4)), ("dog", (0.5, 0.5, 0.3, 0.2)), ("bird", (0.05, 0.6, 0.2, 0.2)))
#: (id, alice, bob, mAP of alice as reference, of bob as reference)
CASES = [
    ("alike", [[CAT, DOG]], [[CAT, DOG]], 1.0, 1.0),
    ("a class that only one used", [[CAT, DOG]], [[CAT]], 0.5, 1.0),
    ("an image that one left empty", [[CAT], [CAT]], [[CAT], []], 51 / 101, 1.0),
    ("the first image that one left empty", [[CAT], [CAT]], [[], [CAT]], 51 / 101, 0.5),
    ("an image that one was not asked about", [[CAT], [CAT]], [[CAT], None], 1.0, 1.0),
    ("one drew nothing at all", [[CAT]], [[]], 0.0, None),
    ("another class", [[CAT]], [[("dog", CAT[1])]], 0.0, 0.0),
]


@pytest.fixture
def run_of(make_dataset):
    def make(labels, **options):
        annotators = sorted(labels.keys() - {options.get("reference"), *options.get("models", ())})
        return aa.compute(make_dataset(labels), annotators, **{"resamples": 0, **options})

    return make


@pytest.mark.long
def test_cases_and_reasons_why_there_is_none(run_of) -> None:
    for name, alice, bob, of_alice, of_bob in CASES:
        found = run_of({"alice": alice, "bob": bob}).convergence()
        by_reference = {pair.reference: pair.map for pair in found.pairs}
        assert by_reference.get("alice") == pytest.approx(of_alice), name
        assert by_reference.get("bob") == (None if of_bob is None else pytest.approx(of_bob)), name
        assert found.map == pytest.approx(np.mean([value for value in (of_alice, of_bob) if value is not None])), name
        assert (found.no_areas, found.areas) == (True, []), "the sizes of images are not known"
    for labels, reason, said in (
        ({"alice": [[], []], "bob": [[], []]}, "no_objects", "nobody drew an object"),
        ({"alice": [[CAT], None], "bob": [None, [CAT]]}, "one_annotator", "no image has labels of two annotators"),
    ):
        found = run_of(labels).convergence()
        assert (found.map, found.undefined) == (None, reason)
        assert said in found.sentence
        assert said in repr(found)


def _many(n_annotators: int, n_images: int):
    """Every image by three of many annotators."""
    rng = np.random.default_rng(4)
    labels = {f"p{k:03}": [None] * n_images for k in range(n_annotators)}
    for image in range(n_images):
        for k in rng.choice(n_annotators, 3, replace=False):
            box = np.array([0.2, 0.3, 0.3, 0.2]) + rng.normal(0, 0.01, 4)
            labels[f"p{k:03}"][image] = [("cat", box.tolist()), *([DOG] if rng.random() < 0.7 else [])]
    return labels


def _of_three(make_dataset):
    """Three annotators on twenty images of known size; yolo copies the first."""
    dataset = make_dataset(_many(3, 20))
    compute_quickly(dataset, ["p000", "p001", "p002"])
    dataset.set_values("metadata", [fo.ImageMetadata(width=640, height=480)] * len(dataset))
    labels = dataset.values("p000")
    copies = [detections([(each.label, each.bounding_box) for each in found.detections]) for found in labels]
    for found in copies:
        for k, each in enumerate(found.detections):
            each.confidence = 0.9 - 0.1 * k
    dataset.add_sample_field("yolo", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    dataset.set_values("yolo", copies)
    return dataset


@pytest.fixture
def run(lend):
    return aa.load(lend(_of_three))


def test_it_shows_itself_in_a_sentence_with_its_interval_as_text_as_html_and_as_tables(run) -> None:
    found, text = run.convergence(resamples=60), io.StringIO()
    interval = found.intervals["map"]
    assert interval.low < found.map < interval.high
    shown = f"reach mAP {found.map:.2f} [{interval.low:.2f}, {interval.high:.2f}] against each other"
    assert shown in found.sentence
    found.print_report(text)
    assert shown in " ".join(text.getvalue().split())
    assert "p001" in found._repr_html_()
    assert list(found.to_dataframe()["name"]) == ["cat", "dog"]
    assert set(found.to_dataframe("areas")["name"]) == {"small", "medium", "large"}
    assert len(found.to_dataframe("pairs")) == 6
    assert found.to_dataframe("summary")["map"][0] == found.map
    assert found.to_dict()["map"] == found.map
    refused("`table` must be", found.to_dataframe, "votes")


def test_a_model_is_measured_against_every_annotator_and_changes_nothing_else(run) -> None:
    alone, found = run.convergence(), run.convergence(model="yolo")
    assert (found.map, found.f1, found.pairs) == (alone.map, alone.f1, alone.pairs)
    by_annotator = {pair.reference: pair.map for pair in found.model.pairs}
    assert by_annotator["p000"] == 1.0  # a copy
    assert found.model.map == pytest.approx(np.mean(list(by_annotator.values())))
    said = f"Annotators reach mAP {found.map:.2f} against each other, yolo {found.model.map:.2f} against them; a model "
    assert found.sentence == f"{said}near their mean can be above what they reach."


NAMES = ("alice", "bob", "carol", "gold", "yolo")


def _in_one_field(dataset) -> None:
    """Predictions with a confidence; all labels in one field, too, with who was asked."""
    rng = np.random.default_rng(3)
    for sample in dataset.iter_samples(autosave=True):
        sample["asked"] = asked = [name for name in NAMES if sample[name] is not None]
        for each in sample.yolo.detections if "yolo" in asked else ():
            each.confidence = float(rng.random())
        copies = [(each.copy(), name) for name in asked for each in sample[name].detections]
        for each, name in copies:
            each["rater"] = name
        sample["labels"] = fo.Detections(detections=[each for each, _ in copies])
        sample["metadata"] = fo.ImageMetadata(width=640, height=480)


OF_VALUES = {"annotator_attribute": "rater", "run_key": "other", "resamples": 0}


ROLES = [{"reference": "gold", "models": ["yolo"]}, {"annotators": ["alice", "bob", "carol"]}]


@pytest.mark.parametrize("roles", ROLES)
@pytest.mark.long
def test_a_model_that_is_a_value_of_the_attribute_has_the_numbers_of_a_field(run_of, roles) -> None:
    of_fields = run_of(random_annotators(20, NAMES), reference="gold", models=["yolo"], resamples=20)
    _in_one_field(of_fields.dataset)
    options = {**OF_VALUES, "assigned_field": "asked", "resamples": 20, **roles}
    of_values = aa.compute(of_fields.dataset, "labels", **options)
    expected, found = (each.convergence(model="yolo").to_dict() for each in (of_fields, of_values))
    assert expected.pop("run_key") != found.pop("run_key")
    assert found == expected
    assert 0 < found["model"]["map"] < 1
    assert of_values.convergence(model="gold").model.map == pytest.approx(of_fields.convergence(model="gold").model.map)
    view = of_fields.dataset[4:20]
    assert of_values.on(view).convergence(model="yolo").model == of_fields.on(view).convergence(model="yolo").model


@pytest.mark.long
def test_without_a_list_of_who_was_asked_a_model_is_where_it_has_a_label_and_others_are_refused(run_of) -> None:
    labels = {"alice": [[CAT], [CAT]], "bob": [[CAT], [CAT]], "carol": [[CAT], []]}
    run = run_of({**labels, "gold": [[], []], "yolo": [[CAT], []]}, reference="gold", models=["yolo"])
    _in_one_field(run.dataset)
    of_values = aa.compute(run.dataset, "labels", **OF_VALUES, models=["yolo"])
    pairs = of_values.convergence(model="yolo").model.pairs
    assert {pair.reference: pair.map for pair in pairs} == {"alice": 1.0, "bob": 1.0, "carol": 1.0}
    said = "or a value of 'rater', got 'yola'; did you mean 'yolo'.*; such values are yolo$"
    refused(said, of_values.convergence, model="yola")
    run.dataset.set_values("yolo", [detections([CAT]), None])
    run.dataset.set_values("yolo.detections.confidence", [[0.5], None])
    assert [pair.map for pair in run.convergence(model="yolo").model.pairs] == [1.0] * 3
    run.dataset.delete_sample_field("alice")  # a value, but of an annotator
    refused("got 'alice'", of_values.convergence, model="alice")


@pytest.mark.long
def test_of_a_view_it_is_that_of_its_images_alone(run, run_of) -> None:
    of_part = run_of({name: labels[5:12] for name, labels in _many(3, 20).items()}).convergence()
    view = run.dataset[5:12].filter_labels("p000", fo.ViewField("label") == "cat", only_matches=False)
    assert run.on(view).convergence().map == pytest.approx(of_part.map, abs=1e-12)
    assert run.on(view).convergence().n_samples == 7


def test_labels_that_the_view_of_the_run_hides_do_not_count(run_of) -> None:
    run = run_of({"alice": [[CAT, DOG], [CAT]], "bob": [[CAT, DOG], [DOG]], "yolo": [[CAT], [CAT]]})
    view = run.dataset.filter_labels("bob", fo.ViewField("label") == "cat", only_matches=False)
    hidden = aa.compute(view.select_fields(["alice", "bob"]), ["alice", "bob"], run_key="hidden", resamples=0)
    alone = run_of({"alice": [[CAT, DOG], [CAT]], "bob": [[CAT], []]})
    assert hidden.convergence().map == alone.convergence().map != run.convergence().map
    refused("got 'yolo'", hidden.convergence, model="yolo")
    of_bob = run.dataset.match(fo.ViewField("bob.detections").length() > 0)
    cats = aa.compute(of_bob, ["alice", "bob"], run_key="cats", resamples=0)
    for sample in run.dataset.iter_samples(autosave=True):
        sample["bob"] = detections([])
    refused("must still have its samples, got none of 2", cats.convergence)


def test_what_cannot_be_measured_is_refused(run) -> None:
    dataset = run.dataset
    refused(r"`model` must be a field with predictions .* got 'yola'.*yolo", run.convergence, model="yola")
    for name in ("r1", "r2"):
        dataset.set_values(name, [fo.Classification(label="a")] * len(dataset))
    classes = aa.compute(dataset, ["r1", "r2"], run_key="classes", resamples=0)
    refused("Label convergence needs labels of objects, such as boxes, got Cl", classes.convergence)
    dataset.set_values("yolo", [None] * len(dataset))
    refused("`model` must have labels, or empty lists, on images that an anno", run.convergence, model="yolo")
    dataset.set_values("yolo", [detections([])] * len(dataset))
    assert run.convergence(model="yolo").model.map == 0.0
