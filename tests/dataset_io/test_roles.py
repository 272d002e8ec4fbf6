"""A reference and models beside the annotators."""

from __future__ import annotations

from io import StringIO
from typing import Any

import fiftyone as fo
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tests.datasets import random_annotators

import annotator_agreement as aa
from annotator_agreement.dataset_io.record.run import Run

NAMES = ("alice", "bob", "carol", "gold", "yolo")


@pytest.fixture
def labelled(make_dataset: Any) -> fo.Dataset:
    """Three annotators, a reference and a model, whose labels have a confidence."""
    dataset = make_dataset(random_annotators(40, NAMES, seed=5))
    rng = np.random.default_rng(7)
    for sample in dataset:
        if sample.yolo is not None:
            for label in sample.yolo.detections:
                label.confidence = float(rng.random())
            sample.save()
    return dataset


def test_numbers_fields_and_records_of_annotators_are_those_without_roles(labelled: fo.Dataset) -> None:
    without = aa.compute_agreement(labelled, ["alice", "bob", "carol"], run_key="r")
    before = _written(labelled, "r")
    columns = _columns(labelled, "r")
    with_roles = aa.compute_agreement(
        labelled, ["alice", "bob", "carol"], reference="gold", models=["yolo"], run_key="r", overwrite=True
    )
    assert _without_roles(with_roles) == _without_roles(without)
    after = _written(labelled, "r")
    assert {path: after[path] for path in before} == before
    assert set(after) - set(before) == {
        "r_reference_f1",
        "r_reference_worst",
        "gold.detections.r_id",
        "gold.detections.r_missed_by",
        "yolo.detections.r_id",
        *(f"{name}.detections.r_reference" for name in ("alice", "bob", "carol")),
    }
    found = _columns(labelled, "r")
    for name, values in columns.items():
        np.testing.assert_array_equal(found[name], values)


def _without_roles(report: Any) -> dict[str, Any]:
    found = report.to_dict()
    for name in ("reference", "models"):
        del found[name]
        del found["config"][name]
    del found["run"]["seconds"]
    return found


def _written(dataset: fo.Dataset, key: str) -> dict[str, Any]:
    paths = Run(dataset, key).config["fields_written"]
    return {path: dataset.values(path) for path in paths}


def _columns(dataset: fo.Dataset, key: str) -> dict[str, Any]:
    records = Run(dataset, key).records().records
    return {name: records.column(name) for name in records.parts[0]}


def test_numbers_are_those_of_an_assignment_of_every_image(labelled: fo.Dataset) -> None:
    report = aa.compute_agreement(labelled, ["alice", "bob", "carol"], reference="gold", classes="ignore")
    assert report.reference is not None
    for entry in report.reference.annotators:
        n_matched = n_labels = n_reference = n_samples = n_right = 0
        total = 0.0
        for own, true in zip(labelled.values(entry.name), labelled.values("gold"), strict=True):
            if own is None or true is None:
                continue
            n_samples += 1
            n_labels += len(own.detections)
            n_reference += len(true.detections)
            iou = np.array([[_iou(a.bounding_box, b.bounding_box) for b in true.detections] for a in own.detections])
            iou = iou.reshape(len(own.detections), len(true.detections))
            value = np.where(iou >= 0.5 - 1e-9, iou - 0.5 + 1e-9, 0.0)
            rows, columns = linear_sum_assignment(value, maximize=True)
            for a, b in zip(rows.tolist(), columns.tolist(), strict=True):
                if value[a, b] > 0:
                    n_matched += 1
                    total += iou[a, b]
                    n_right += own.detections[a].label == true.detections[b].label
        assert (entry.n_samples, entry.n_labels, entry.n_reference) == (n_samples, n_labels, n_reference)
        assert (entry.n_matched, entry.n_right) == (n_matched, n_right)
        assert entry.precision == pytest.approx(n_matched / n_labels)
        assert entry.recall == pytest.approx(n_matched / n_reference)
        assert entry.f1 == pytest.approx(2 * n_matched / (n_labels + n_reference))
        assert entry.mean_iou == pytest.approx(total / n_matched)
        assert entry.class_accuracy == pytest.approx(n_right / n_matched)
        assert entry.n_right + entry.n_wrong_class + entry.n_loose + entry.n_extra == n_labels
        said = labelled.count_values(f"{entry.name}.detections.agreement_reference")
        counts = (entry.n_right, entry.n_wrong_class, entry.n_loose, entry.n_extra)
        assert tuple(said.get(name, 0) for name in ("right", "wrong_class", "loose", "extra")) == counts
        missed = labelled.count_values("gold.detections.agreement_missed_by")
        assert missed.get(entry.name, 0) == entry.n_missed
        assert sum(part.n_labels for part in entry.classes) == n_labels
        assert sum(part.n_reference for part in entry.sizes) == n_reference


def _iou(a: Any, b: Any) -> float:
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = max(width, 0.0) * max(height, 0.0)
    return float(shared / (a[2] * a[3] + b[2] * b[3] - shared))


def test_the_text_says_who_is_worst_first(labelled: fo.Dataset) -> None:
    report = aa.compute_agreement(labelled, ["alice", "bob", "carol"], reference="gold", models=["yolo"])
    file = StringIO()
    report.print_report(file=file)
    lines = file.getvalue().splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("Against the reference gold: "))
    listed = [line.split()[0] for line in lines[start + 2 : start + 5]]
    assert report.reference is not None
    worst = sorted(report.reference.annotators, key=lambda one: one.f1)
    assert listed == [one.name for one in worst]
