"""A model beside annotators left out, on a dataset: computed, stored, shown and updated."""

from __future__ import annotations

from io import StringIO
from typing import Any

import fiftyone as fo
import numpy as np
import pytest

from tests.agreement.habits import CLASSES, Habits, simulate

import annotator_agreement as aa
from annotator_agreement import dataset_io
from annotator_agreement.agreement.objects import SIZES
from annotator_agreement.charts.page import report_page
from annotator_agreement.dataset_io.views import labels_of_size

PEOPLE = ["alice", "bob", "carol"]


@pytest.fixture
def labelled(make_dataset: Any) -> fo.Dataset:
    """Three careful annotators, a model that draws as they do, and one that misses a fifth more."""
    habits = [*(Habits(name, miss=0.04) for name in (*PEOPLE, "copy")), Habits("hasty", miss=0.24)]
    drawn = simulate(habits, 45, np.random.default_rng(12), jitter=0.03)
    labels: dict[str, list[list[Any]]] = {name: [[] for _ in range(45)] for name in drawn.names}
    boxes = drawn.xyxy_rel.copy()
    boxes[:, 2:] -= boxes[:, :2]
    for row, (sample, annotator) in enumerate(zip(drawn.sample.tolist(), drawn.annotator.tolist(), strict=True)):
        labels[drawn.names[annotator]][sample].append((CLASSES[drawn.category[row]], boxes[row].tolist()))
    return make_dataset(labels)


def test_it_stands_in_the_report_its_text_its_page_and_its_tables(labelled: fo.Dataset) -> None:
    report = dataset_io.compute_agreement(labelled, PEOPLE, models=["copy", "hasty"])
    copy, hasty = (model.person for model in report.models)
    assert copy is not None
    assert hasty is not None
    assert (copy.verdict, hasty.verdict) == ("as_well", "worse")
    assert copy.tests[-1].winning_rate > hasty.tests[-1].winning_rate == 0.0
    text = StringIO()
    report.print_report(file=text)
    said = " ".join(text.getvalue().split())
    for sentence in (
        "copy agrees with the annotators as well as they agree with each other",
        "hasty agrees with the annotators less than they agree with each other",
        f"(F1 with equal classes {copy.total.model:.2f} against {copy.total.annotators:.2f}",
        "Alternative annotator test: of 3 annotators, it wins against",
    ):
        assert sentence in said
    assert "Is hasty as good as a person?" in report_page(report)
    frame = report.to_dataframe("persons")
    total = frame[(frame["role"] == "copy") & (frame["part"] == "total")].iloc[0]
    assert (total["model"], total["difference_low"]) == (copy.total.model, copy.total.intervals["difference"].low)
    bob = frame[(frame["role"] == "hasty") & (frame["part"] == "annotators") & (frame["name"] == "bob")].iloc[0]
    assert bob["p_value"] == hasty.left_out[1].p_value
    assert type(report).from_dict(report.to_dict()) == report
    assert dataset_io.load_agreement(labelled).models == report.models
    without = dataset_io.compute_agreement(labelled, PEOPLE, reference="hasty", run_key="without", resamples=0)
    assert without.reference is not None
    assert without.reference.person is None
    assert without.to_dataframe("persons").empty


def test_labels_of_a_size_are_those_that_its_numbers_count(labelled: fo.Dataset) -> None:
    labelled.set_values("metadata", [fo.ImageMetadata(width=320, height=240)] * len(labelled))
    person = aa.compute(labelled, PEOPLE, models=["copy"], resamples=0).report.models[0].person
    shown = {size: labels_of_size(labelled, "agreement", "copy", size) for size in SIZES}
    ids = {size: view.values("copy.detections.id", unwind=True) for size, view in shown.items()}
    assert {entry.name: entry.n_labels for entry in person.sizes} == {
        size: len(ids[size]) for size in SIZES if ids[size]
    }
    assert sorted(each for of in ids.values() for each in of) == sorted(
        labelled.values("copy.detections.id", unwind=True)
    )
    areas = {size: [box[2] * 320 * box[3] * 240 for of in view.values("copy.detections.bounding_box") for box in of]
             for size, view in shown.items()}  # fmt: skip
    assert max(areas["small"]) <= 32**2 < min(areas["medium"])
    assert sum(view.count(f"{name}.detections") for view in shown.values() for name in PEOPLE) == sum(
        labelled.count(f"{name}.detections") for name in PEOPLE
    )
