"""One annotator beside a reference or model: compared with it, while nothing is said of agreement among annotators."""

from __future__ import annotations

from io import StringIO
from typing import Any

import fiftyone as fo
import numpy as np
import pytest

from tests.datasets import random_annotators

import annotator_agreement as aa
from annotator_agreement.agreement import AgreementInputError
from annotator_agreement.charts.page import report_page

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
    assert report.reference.annotators == both.reference.annotators[:1]
    assert len(report.models[0].annotators) == 1
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
    with pytest.raises(AgreementInputError, match=r"Agreement needs at least 2 annotators, got 1 \(alice\)"):
        aa.compute(labelled, "all", annotator_attribute="who", annotators=["alice"], run_key="other")


def test_alone_it_says_what_would_do(labelled: fo.Dataset) -> None:
    with pytest.raises(AgreementInputError, match=r"needs at least 2 annotators, got 1 .*one is enough beside a `ref"):
        aa.compute(labelled, ["alice_boxes"])
