"""Published tables of ratings stored in real datasets: a run reproduces every published number."""

from __future__ import annotations

import numpy as np
import pytest

from tests.chance import few
from tests.dataset_io.rated import by_annotator, rated_dataset
from tests.metrics.golden_cases import fraction
from tests.metrics.rating_tables import PUBLISHED, published_ratings

from annotator_agreement.dataset_io import compute_agreement

#: names in the report of the coefficients in the published data
NAMES = {
    "ac1": "gwet_ac1",
    "alpha": "krippendorff_alpha",
    "brennan_prediger": "brennan_prediger",
    "conger": "conger_kappa",
    "fleiss": "fleiss_kappa",
}
#: how the categories 1 … 5 of a table can be stored
KINDS = {
    "FloatField": float,
    "Classification": lambda value: f"grade {value:g}",
    "Regression": float,
    "StringField": lambda value: f"grade {value:g}",
    "IntField": int,
}


def _dataset(make_dataset, name, kind):
    table = [[None if np.isnan(value) else KINDS[kind](value) for value in row] for row in published_ratings(name)]
    fields = [f"rater_{k}" for k in range(len(table[0]))]
    return rated_dataset(make_dataset, by_annotator(table, fields), kind), fields


def _categories(kind):
    return [KINDS[kind](value) for value in (1, 2, 3, 4, 5)]


def _is(value, published):
    """Equal to every digit that is published."""
    decimals = len(repr(published).partition(".")[2])
    assert value == pytest.approx(published, rel=0, abs=0.5 * 10.0**-decimals + 1e-12)


@pytest.mark.parametrize("kind", few(KINDS, 2))
def test_the_table_of_four_raters_with_gaps_has_all_its_published_coefficients(make_dataset, kind):
    case = PUBLISHED["krippendorff_2011"]
    dataset, fields = _dataset(make_dataset, "krippendorff_2011", kind)
    report = compute_agreement(dataset, fields, categories=_categories(kind))
    assert (report.n_samples, report.n_rated, len(report.pairs)) == (12, 11, 6)
    _is(report.alpha.pooled, case["alpha"]["ordinal"])
    coefficients = report.coefficients
    _is(coefficients["krippendorff_alpha"]["identity"], case["alpha"]["nominal"])
    for name in ("ac1", "fleiss", "conger", "brennan_prediger"):
        _is(coefficients[NAMES[name]]["identity"], case["gwet"][name])
    _is(report.alpha.percent_agreement, case["gwet"]["percent"])
    for weights in ("quadratic", "linear", "ordinal"):
        _is(coefficients["krippendorff_alpha"][weights], case["weighted"]["alpha"][weights])
        _is(coefficients["gwet_ac2"][weights], case["weighted"]["ac2"][weights])
    _is(coefficients["krippendorff_alpha"]["quadratic"], case["gwet"]["alpha_quadratic"])
    _is(coefficients["gwet_ac2"]["quadratic"], case["gwet"]["ac2_quadratic"])


@pytest.mark.parametrize("name", ["krippendorff_2011", "wikipedia"])
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.few(2)
def test_alpha_is_the_published_one_at_every_level_of_measurement(make_dataset, name, level):
    dataset, fields = _dataset(make_dataset, name, "IntField")
    report = compute_agreement(dataset, fields, level=level)
    assert report.level == level
    _is(report.alpha.pooled, PUBLISHED[name]["alpha"][level])


def test_two_abstractors_have_their_published_coefficients(make_dataset):
    case = PUBLISHED["cont3x3abstractors"]
    dataset, fields = _dataset(make_dataset, "cont3x3abstractors", "Classification")
    report = compute_agreement(dataset, fields)
    (pair,) = report.pairs
    _is(pair.kappa["identity"], case["cohen"])
    _is(pair.scott_pi, case["scott"])
    _is(report.alpha.pooled, case["alpha"])
    _is(pair.alpha, case["alpha"])
    _is(pair.score, case["percent"])
    for name in ("ac1", "brennan_prediger"):
        _is(report.coefficients[NAMES[name]]["identity"], case[name])
    _is(report.coefficients["conger_kappa"]["identity"], case["cohen"])  # of two who rated everything: Cohen's
    _is(report.coefficients["fleiss_kappa"]["identity"], case["scott"])  # of two: Scott's
    confusion = {(entry["a"], entry["b"]): entry["n"] for entry in pair.confusion}
    grades = [f"grade {k}" for k in range(3)]
    assert [[confusion.get((a, b), 0) for b in grades] for a in grades] == case["contingency"]


def test_six_psychiatrists_have_their_published_coefficients(make_dataset):
    case = PUBLISHED["fleiss_1971_6raters"]
    dataset, fields = _dataset(make_dataset, "fleiss_1971_6raters", "StringField")
    report = compute_agreement(dataset, fields)
    for name in ("ac1", "fleiss", "brennan_prediger", "alpha"):
        _is(report.coefficients[NAMES[name]]["identity"], case[name])
    _is(report.alpha.pooled, case["alpha"])


def _columns(case):
    if "y1" in case:
        return {"one": [bool(value) for value in case["y1"]], "two": [bool(value) for value in case["y2"]]}
    positive = {"one": case["annotator1_positive_indices"], "two": case["annotator2_positive_indices"]}
    return {name: [k in set(indices) for k in range(case["n"])] for name, indices in positive.items()}


@pytest.mark.parametrize("case", PUBLISHED["kappa"], ids=lambda case: case["name"])
@pytest.mark.few(2)
def test_cases_of_the_source_documents_have_their_exact_kappa(make_dataset, case):
    dataset = rated_dataset(make_dataset, _columns(case), "BooleanField")
    report = compute_agreement(dataset, ["one", "two"])
    (pair,) = report.pairs
    if case["kappa"] is None:
        assert pair.kappa == {"identity": None}
    else:
        assert pair.kappa["identity"] == pytest.approx(fraction(case.get("kappa_exact", str(case["kappa"]))), abs=1e-14)
    if "confusion_rows_ann1_cols_ann2" in case:
        confusion = {(entry["a"], entry["b"]): entry["n"] for entry in pair.confusion}
        found = [[confusion.get((a, b), 0) for b in ("False", "True")] for a in ("False", "True")]
        assert found == case["confusion_rows_ann1_cols_ann2"]
        assert report.score.mean == pytest.approx(case["accuracy"], abs=1e-14)
