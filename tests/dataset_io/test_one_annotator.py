"""One annotator beside a reference or model: nothing is said of agreement; a model beside annotators left out."""

from __future__ import annotations

from io import StringIO
from typing import Any

import fiftyone as fo
import numpy as np
import pytest

from tests.agreement.habits import CLASSES, Habits, simulate
from tests.dataset_io.quick_runs import ANNOTATORS, refused
from tests.datasets import random_annotators

import annotator_agreement as aa
from annotator_agreement import dataset_io
from annotator_agreement.agreement.objects import SIZES
from annotator_agreement.charts.page import report_page
from annotator_agreement.dataset_io.views import labels_of_size

KINDS = ("boxes", "class", "number", "tags", "mask")


@pytest.fixture
def labelled(make_dataset: Any) -> fo.Dataset:
    """Boxes, classes, numbers, tags and masks of two annotators and a reference."""
    names, rng = ("alice", "bob", "gold"), np.random.default_rng(2)
    dataset = make_dataset({f"{name}_boxes": of for name, of in random_annotators(40, names, seed=3).items()})
    dataset.set_values("metadata", [fo.ImageMetadata(width=640, height=480)] * len(dataset))
    for sample in dataset:
        for name in names:
            if rng.random() < 0.1:
                continue
            said, mask = str(rng.choice(["a", "b"])), np.zeros((12, 15), np.uint8)
            mask[2:9, 3 : 6 + int(rng.integers(5))] = 1
            sample[f"{name}_class"] = fo.Classification(label=said)
            sample[f"{name}_number"] = fo.Regression(value=float(rng.normal()))
            tags = [fo.Classification(label=tag) for tag in "abc" if rng.random() < 0.5]
            sample[f"{name}_tags"] = fo.Classifications(classifications=tags)
            sample[f"{name}_mask"] = fo.Segmentation(mask=mask)
        sample.save()
    return dataset


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.few(1)
def test_the_numbers_are_those_of_a_run_with_others(labelled: fo.Dataset, kind: str) -> None:
    alice, bob, gold = (f"{name}_{kind}" for name in ("alice", "bob", "gold"))
    options = {"reference": gold, "models": bob, "resamples": 0}
    run = aa.compute(labelled, alice, **options, run_key="alone")
    both = aa.compute(labelled, [alice, bob], reference=gold, resamples=0, run_key="both").report
    report = run.report
    assert (report.reference.annotators, len(report.models[0].annotators)) == (both.reference.annotators[:1], 1)
    assert (report.models[0].person, report.n_rated, report.score.mean, len(report.pairs)) == (None, 0, None, 0)
    text = StringIO()
    report.print_report(file=text, full=True)
    said = f"{alice} is the only annotator, and compared with {gold} and {bob}"
    assert said in " ".join(text.getvalue().split())
    assert said in report_page(report)
    n_gold = report.reference.n_samples
    assert f"{n_gold} of 40 samples compared with {gold}" in text.getvalue()
    assert f"{alice} alone, {n_gold} of 40 samples compared with {gold} and " in repr(run)
    for about_two in ("Pairs of annotators", "(none)", " 0 labels", " 0 objects", "rated by two", "Score "):
        assert about_two not in text.getvalue()
    assert report.warnings == []
    assert "reference" in run.labels() or kind == "mask"
    assert run.update().report.reference == report.reference


@pytest.mark.long
def test_one_value_of_the_attribute_is_enough(labelled: fo.Dataset) -> None:
    labelled.add_sample_field("all", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    for sample in labelled:
        found = [(name, sample[f"{name}_boxes"]) for name in ("alice", "gold")]
        labels = [fo.Detection(label=each.label, bounding_box=each.bounding_box, who=name)
                  for name, labels in found if labels is not None for each in labels.detections]  # fmt: skip
        sample["all"] = fo.Detections(detections=labels)
        sample.save()
    (alice,) = aa.compute(labelled, "all", annotator_attribute="who", reference="gold").report.reference.annotators
    assert alice.name == "alice"
    assert alice.n_matched > 0
    for message, fields, options in (
        (r"at least 2 annotators, got 1 \(alice\)", "all", {"annotator_attribute": "who", "annotators": ["alice"]}),
        ("at least 2 annotators, got 1 .*one is enough beside a `ref", ["alice_boxes"], {}),
    ):
        refused(message, aa.compute, labelled, fields, run_key="other", **options)


@pytest.fixture
def simulated(make_dataset: Any) -> fo.Dataset:
    """Three careful annotators, a model that draws as they do, and one that misses a fifth more."""
    habits = [*(Habits(name, miss=0.04) for name in (*ANNOTATORS, "copy")), Habits("hasty", miss=0.24)]
    drawn = simulate(habits, 45, np.random.default_rng(12), jitter=0.03)
    labels: dict[str, list[list[Any]]] = {name: [[] for _ in range(45)] for name in drawn.names}
    boxes = drawn.xyxy_rel.copy()
    boxes[:, 2:] -= boxes[:, :2]
    for row, (sample, annotator) in enumerate(zip(drawn.sample.tolist(), drawn.annotator.tolist(), strict=True)):
        labels[drawn.names[annotator]][sample].append((CLASSES[drawn.category[row]], boxes[row].tolist()))
    return make_dataset(labels)


@pytest.mark.long
def test_it_stands_in_the_report_its_text_its_page_and_its_tables(simulated: fo.Dataset) -> None:
    report = dataset_io.compute_agreement(simulated, ANNOTATORS, models=["copy", "hasty"])
    copy, hasty = (model.person for model in report.models)
    assert (copy.verdict, hasty.verdict) == ("as_well", "worse")
    assert copy.tests[-1].winning_rate > hasty.tests[-1].winning_rate == 0.0
    text = StringIO()
    report.print_report(file=text)
    said = " ".join(text.getvalue().split())
    assert "copy agrees with the annotators as well as they agree with each other" in said
    assert f"(F1 with equal classes {copy.total.model:.2f} against {copy.total.annotators:.2f}" in said
    assert "Is hasty as good as a person?" in report_page(report)
    frame = report.to_dataframe("persons")
    total = frame[(frame["role"] == "copy") & (frame["part"] == "total")].iloc[0]
    assert (total["model"], total["difference_low"]) == (copy.total.model, copy.total.intervals["difference"].low)
    bob = frame[(frame["role"] == "hasty") & (frame["part"] == "annotators") & (frame["name"] == "bob")].iloc[0]
    assert bob["p_value"] == hasty.left_out[1].p_value
    assert dataset_io.load_agreement(simulated).models == report.models
    without = dataset_io.compute_agreement(simulated, ANNOTATORS, reference="hasty", run_key="without", resamples=0)
    assert without.reference.person is None
    assert without.to_dataframe("persons").empty


def test_labels_of_a_size_are_those_that_its_numbers_count(simulated: fo.Dataset) -> None:
    simulated.set_values("metadata", [fo.ImageMetadata(width=320, height=240)] * len(simulated))
    person = aa.compute(simulated, ANNOTATORS, models=["copy"], resamples=0).report.models[0].person
    shown = {size: labels_of_size(simulated, "agreement", "copy", size) for size in SIZES}
    ids = {size: view.values("copy.detections.id", unwind=True) for size, view in shown.items()}
    counts = {size: len(of) for size, of in ids.items() if of}
    assert {entry.name: entry.n_labels for entry in person.sizes} == counts
    assert sum(counts.values()) == simulated.count("copy.detections")
    areas = {size: [box[2] * 320 * box[3] * 240 for of in view.values("copy.detections.bounding_box") for box in of]
             for size, view in shown.items()}  # fmt: skip
    assert max(areas["small"]) <= 32**2 < min(areas["medium"])
    for name in ANNOTATORS:
        assert sum(view.count(f"{name}.detections") for view in shown.values()) == simulated.count(f"{name}.detections")
