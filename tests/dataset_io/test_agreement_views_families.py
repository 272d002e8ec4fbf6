"""Views behind the numbers of reports on classes, numbers, tags and masks."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dataset_io.rated import rated_dataset

from annotator_agreement.dataset_io import compute_agreement, view_agreement

NAMES = ["alice", "bob", "carol"]
CLASSES = ["night", "dusk", "day"]


def _classes(seed=3, n_samples=40):
    rng = np.random.default_rng(seed)
    table = {name: [] for name in NAMES}
    for _ in range(n_samples):
        truth = rng.integers(0, 3)
        for name in NAMES:
            given = truth if rng.random() < 0.75 else rng.integers(0, 3)
            table[name].append(None if rng.random() < 0.15 else CLASSES[given])
    return table


def _numbers(seed=4, n_samples=40):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 20, n_samples) / 10
    return {
        name: [None if rng.random() < 0.15 else round(float(value + rng.integers(-3, 4) / 10), 1) for value in truth]
        for name in NAMES
    }


def _rows(table):
    """For every sample what the annotators gave, by name."""
    return [{name: table[name][k] for name in NAMES if table[name][k] is not None} for k in range(len(table[NAMES[0]]))]


def _found(dataset, view):
    order = dataset.values("id")
    return sorted(order.index(sample_id) for sample_id in view.values("id"))


def _where(table, condition):
    return [k for k, row in enumerate(_rows(table)) if condition(row)]


@pytest.fixture(params=["Classification", "StringField", "mixed"])
def rated(request, make_dataset):
    table = _classes()
    stored = {"alice": "Classification", "bob": "StringField", "carol": "Classification"}
    dataset = rated_dataset(make_dataset, table, stored if request.param == "mixed" else request.param)
    return dataset, table, compute_agreement(dataset, NAMES), request.param


@pytest.mark.few(2)
def test_verdicts_of_classes_show_as_many_samples_as_the_report_counts(rated):
    dataset, table, report, _ = rated
    conflict = _where(table, lambda row: len(set(row.values())) > 1)
    agreed = _where(table, lambda row: len(row) > 1 and len(set(row.values())) == 1)
    assert _found(dataset, view_agreement(dataset, verdict="class_conflict")) == conflict
    assert _found(dataset, view_agreement(dataset, verdict="agreed")) == agreed
    assert _found(dataset, view_agreement(dataset, verdict=["agreed", "class_conflict"])) == sorted(conflict + agreed)
    assert len(conflict) == report.n_disputed > 5
    for annotator in report.annotators:
        for verdict, n in annotator.verdicts.items():
            assert len(view_agreement(dataset, verdict=verdict, annotators=annotator.name)) == n


@pytest.mark.parametrize("stored", ["Regression", "FloatField"])
@pytest.mark.parametrize("tolerance", [0.0, 0.2])
@pytest.mark.long
def test_numbers_disagree_by_the_tolerance_of_the_run(make_dataset, stored, tolerance):
    table = _numbers()
    dataset = rated_dataset(make_dataset, table, stored)
    report = compute_agreement(dataset, NAMES, tolerance=tolerance)
    for pair in report.pairs:
        n = pair.n_samples - round(pair.score * pair.n_samples)
        expected = _where(
            table, lambda row, p=pair: p.a in row and p.b in row and round(abs(row[p.a] - row[p.b]), 6) > tolerance
        )
        assert _found(dataset, view_agreement(dataset, annotators=[pair.a, pair.b])) == expected
        assert len(expected) == n > 0
    assert len(view_agreement(dataset, verdict="class_conflict")) == report.n_disputed
    value = next(row["bob"] for row in _rows(table) if "bob" in row)
    assert _found(dataset, view_agreement(dataset, classes=f"{value:g}")) == _where(
        table, lambda row: value in row.values()
    )
