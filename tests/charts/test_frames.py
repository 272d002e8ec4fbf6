"""Tables of reports as DataFrames: the numbers of the report, in flat columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.charts.filled import (
    ALPHA_OF_CLASSES,
    ANNOTATORS,
    BIAS,
    CLASSES,
    CONFUSION,
    IOU_HISTOGRAM,
    PAIR_NUMBERS,
    THRESHOLDS,
    filled_report,
    filled_sensitivity,
    unfilled_report,
)
from tests.charts.other_families import OTHERS

from annotator_agreement.agreement.settings.errors import AgreementInputError
from annotator_agreement.charts.reports.dataframes import report_frame, sensitivity_frame, table_names


def test_pairs_stand_with_the_ends_of_their_intervals() -> None:
    frame = filled_report().to_dataframe("pairs")
    numbers = np.array(list(PAIR_NUMBERS.values()))
    assert frame[["score", "alpha", "f1", "mean_iou", "kappa"]].to_numpy() == pytest.approx(numbers)
    assert frame["alpha_low"].to_numpy() == pytest.approx(numbers[:, 1] - 0.05)
    assert frame["alpha_high"].to_numpy() == pytest.approx(numbers[:, 1] + 0.05)
    assert list(frame["a"]) == [ANNOTATORS[a] for a, _ in PAIR_NUMBERS]
    assert list(frame["mean_max_iou.symmetric.mean"]) == [0.7] * 5
    assert not {"confusion", "intervals"} & set(frame.columns)


def test_annotators_have_verdicts_bias_and_consensus_in_columns_of_their_own() -> None:
    frame = filled_report().to_dataframe("annotators")
    assert list(frame["name"]) == ANNOTATORS
    assert list(frame["verdicts.lone"]) == [30, 40, 50, 60]
    for side in ("size", "left", "top", "right", "bottom"):
        expected = np.array([BIAS[name][side] for name in ANNOTATORS])
        assert frame[f"bias.mean.{side}"].to_numpy() == pytest.approx(expected)
        assert frame[f"bias.mean.{side}_low"].to_numpy() == pytest.approx(expected - 0.6)
    assert list(frame["consensus.f1_high"]) == pytest.approx([0.91] * 4)
    assert not [name for name in frame.columns if name.startswith("classes.")]


def test_classes_of_annotators_are_rows() -> None:
    frame = filled_report().to_dataframe("annotator_classes")
    assert len(frame) == 4 * 3
    counts = frame.pivot(index="annotator", columns="class", values="n")
    assert counts.loc["dan|d", "coach"] == 250


def test_what_is_undefined_is_nan() -> None:
    frame = filled_report().to_dataframe("classes")
    assert list(frame["name"]) == CLASSES
    assert np.isnan(frame["alpha"][CLASSES.index("Car ")])
    defined = [value for value in ALPHA_OF_CLASSES if value is not None]
    assert list(frame["alpha"].dropna()) == defined
    assert unfilled_report().to_dataframe("pairs")["alpha"].dtype == np.float64


RULES = ("method", "classes", "missing", "empty", "undefined")


@pytest.mark.parametrize(
    ("table", "columns", "n"),
    [
        ("confusion", ["a", "b", "n"], len(CONFUSION)),
        ("iou", ["from", "to", "n_iou"], 20),
        ("votes", ["assigned", "votes", "units"], 5),
        ("pair_confusion", ["annotator_a", "annotator_b", "a", "b", "n"], 2 * len(PAIR_NUMBERS)),
        ("clusters", ["join", "annotator", "similarity"], 2 + 3 + 4),
        ("similar_names", ["group", "name"], 2),
        ("merges", ["class_a", "class_b", "n_confused", "alpha_before", "alpha_after"], 2),
        ("confused_classes", ["name", "class", "n"], 2),
        ("attribute_conflicts", ["name", "a", "b", "n"], 1),
        ("worst_samples", ["id", "filepath", "score", "n_units", "n_disputed"], 2),
    ],
)
def test_tables_have_the_rows_of_the_report(table: str, columns: list[str], n: int) -> None:
    frame = filled_report().to_dataframe(table)
    assert list(frame.columns) == columns
    assert len(frame) == n


def test_histograms_have_the_counts_and_the_ends_of_their_bins() -> None:
    frame = filled_report().to_dataframe("iou")
    assert list(frame["n_iou"]) == IOU_HISTOGRAM
    assert list(frame["from"]) == [round(0.05 * k, 2) for k in range(20)]
    assert list(frame["to"]) == [round(0.05 * k, 2) for k in range(1, 21)]


def test_the_summary_has_the_main_numbers_with_their_intervals() -> None:
    frame = filled_report().to_dataframe("summary").set_index("number")
    assert tuple(frame.loc["alpha.pooled"]) == (0.6466, 0.603, 0.691)
    assert tuple(frame.loc["existence.f1"]) == (0.812, 0.79, 0.83)
    assert frame.loc["n_samples", "value"] == 214


def test_all_intervals_are_in_one_table() -> None:
    frame = filled_report().to_dataframe("intervals")
    # 7 of the report; alpha and score of 5 pairs; 5 sides, 2 numbers and the consensus of 4 annotators; 5 classes
    assert len(frame) == 7 + 2 * 5 + (5 + 2 + 1) * 4 + 5
    (row,) = frame[(frame["of"] == "pairs: alice / bob & co") & (frame["number"] == "score")].to_dict("records")
    assert (row["low"], row["high"], row["n"]) == (pytest.approx(0.77), pytest.approx(0.85), 200)


@pytest.mark.parametrize("make", [filled_report, unfilled_report, *OTHERS.values()])
def test_every_table_of_every_family_is_a_frame(make) -> None:
    report = make()
    for table in table_names(report):
        frame = report_frame(report, table)
        assert isinstance(frame, pd.DataFrame)
        assert frame.columns.is_unique


@pytest.mark.parametrize(
    ("table", "columns", "n"),
    [
        ("thresholds", ["threshold", "alpha", "score", "f1", "n_units", "n_hard", "n_inexact"], len(THRESHOLDS)),
        ("best_matches", ["from", "to", "n_observed", "n_expected"], 20),
        ("rules", [*RULES, "pooled", "mean", "n_defined", "no_labels"], 3),
    ],
)
def test_what_is_computed_on_demand_has_tables_too(table: str, columns: list[str], n: int) -> None:
    frame = sensitivity_frame(filled_sensitivity(), table)
    assert (list(frame.columns), len(frame)) == (columns, n)
    if table != "best_matches":  # of a method without a threshold there are none
        assert list(sensitivity_frame(filled_sensitivity(**{table: []}), table).columns) == columns
        with pytest.raises(AgreementInputError, match="the labels are gone"):
            sensitivity_frame(filled_sensitivity(**{table: []}, note="the labels are gone"), table)
    with pytest.raises(AgreementInputError, match=f"table of {table} needs a report that was loaded"):
        filled_report().to_dataframe(table)


def test_an_empty_table_of_parts_has_its_columns() -> None:
    frame = unfilled_report().to_dataframe("classes")
    assert len(frame) == 0
    assert list(frame["alpha"]) == []


def test_tables_of_ratings_tags_and_masks() -> None:
    ratings, tags, pixels = (make() for make in OTHERS.values())
    assert list(ratings.to_dataframe("pairs")["kappa.identity"]) == [0.81, 0.55, 0.6]
    assert list(ratings.to_dataframe("coefficients")["value"]) == [0.7, 0.69]
    assert list(tags.to_dataframe("tags")["alpha"])[:2] == [0.5, 0.9]
    assert list(pixels.to_dataframe("classes")["mean_iou"]) == [0.95, 0.82, 0.31]
    assert list(pixels.to_dataframe("annotator_classes")["share"]) == [0.5, 0.5]


def test_a_wrong_table_name_gets_the_list() -> None:
    with pytest.raises(
        AgreementInputError,
        match=r"`table` must be one of summary, .*, labels, units, thresholds, rules, best_matches, got 'pear'",
    ):
        filled_report().to_dataframe("pear")
    with pytest.raises(AgreementInputError, match=r"tags, findings, .*, labels, units, got 'thresholds'"):
        OTHERS["tags"]().to_dataframe("thresholds")
    with pytest.raises(AgreementInputError, match=r"table of samples needs a report that was loaded"):
        filled_report().to_dataframe("samples")
