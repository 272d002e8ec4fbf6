"""Tables of reports as DataFrames: the numbers of the report, in flat columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.charts import filled
from tests.charts.filled import ANNOTATORS, CLASSES, PAIR_NUMBERS, filled_report, filled_sensitivity, unfilled_report
from tests.charts.other_families import OTHERS

from annotator_agreement.agreement import AgreementInputError
from annotator_agreement.charts.reports import report_frame, sensitivity_frame, table_names


def test_tables_have_the_numbers_of_the_report_with_their_intervals_and_nan_where_undefined() -> None:
    frame = filled_report().to_dataframe("pairs")
    numbers = np.array(list(PAIR_NUMBERS.values()))
    assert frame[["score", "alpha", "f1", "mean_iou", "kappa"]].to_numpy() == pytest.approx(numbers)
    assert frame["alpha_low"].to_numpy() == pytest.approx(numbers[:, 1] - 0.05)
    assert frame["alpha_high"].to_numpy() == pytest.approx(numbers[:, 1] + 0.05)
    assert list(frame["a"]) == [ANNOTATORS[a] for a, _ in PAIR_NUMBERS]
    assert list(frame["mean_max_iou.symmetric.mean"]) == [0.7] * 5
    assert not {"confusion", "intervals"} & set(frame.columns)
    frame = filled_report().to_dataframe("annotators")
    assert (list(frame["name"]), list(frame["verdicts.lone"])) == (ANNOTATORS, [30, 40, 50, 60])
    for side in ("size", "left", "top", "right", "bottom"):
        expected = np.array([filled.BIAS[name][side] for name in ANNOTATORS])
        assert frame[f"bias.mean.{side}"].to_numpy() == pytest.approx(expected)
        assert frame[f"bias.mean.{side}_low"].to_numpy() == pytest.approx(expected - 0.6)
    assert list(frame["consensus.f1_high"]) == pytest.approx([0.91] * 4)
    assert not [name for name in frame.columns if name.startswith("classes.")]
    report = filled_report()
    counts = report.to_dataframe("annotator_classes").pivot(index="annotator", columns="class", values="n")
    assert (counts.shape, counts.loc["dan|d", "coach"]) == ((4, 3), 250)
    classes = report.to_dataframe("classes")
    assert list(classes["name"]) == CLASSES
    assert np.isnan(classes["alpha"][CLASSES.index("Car ")])
    assert list(classes["alpha"].dropna()) == [value for value in filled.ALPHA_OF_CLASSES if value is not None]
    assert unfilled_report().to_dataframe("pairs")["alpha"].dtype == np.float64
    empty = unfilled_report().to_dataframe("classes")
    assert (len(empty), list(empty["alpha"])) == (0, [])
    histogram = report.to_dataframe("iou")
    assert list(histogram["n_iou"]) == filled.IOU_HISTOGRAM
    assert list(histogram["from"]) == [round(0.05 * k, 2) for k in range(20)]
    assert list(histogram["to"]) == [round(0.05 * k, 2) for k in range(1, 21)]
    summary = report.to_dataframe("summary").set_index("number")
    assert tuple(summary.loc["alpha.pooled"]) == (0.6466, 0.603, 0.691)
    assert tuple(summary.loc["existence.f1"]) == (0.812, 0.79, 0.83)
    assert summary.loc["n_samples", "value"] == 214
    intervals = report.to_dataframe("intervals")
    # 7 of the report; alpha and score of 5 pairs; 5 sides, 2 numbers and the consensus of 4 annotators; 5 classes
    assert len(intervals) == 7 + 2 * 5 + (5 + 2 + 1) * 4 + 5
    of_score = (intervals["of"] == "pairs: alice / bob & co") & (intervals["number"] == "score")
    (row,) = intervals[of_score].to_dict("records")
    assert (row["low"], row["high"], row["n"]) == (pytest.approx(0.77), pytest.approx(0.85), 200)


RULES = ("method", "classes", "missing", "empty", "undefined")


def test_tables_have_the_rows_of_the_report() -> None:
    # a table, its columns and the number of its rows
    for name, columns, n in (
        ("confusion", ["a", "b", "n"], len(filled.CONFUSION)),
        ("iou", ["from", "to", "n_iou"], 20),
        ("votes", ["assigned", "votes", "units"], 5),
        ("pair_confusion", ["annotator_a", "annotator_b", "a", "b", "n"], 2 * len(PAIR_NUMBERS)),
        ("clusters", ["join", "annotator", "similarity"], 2 + 3 + 4),
        ("similar_names", ["group", "name"], 2),
        ("merges", ["class_a", "class_b", "n_confused", "alpha_before", "alpha_after"], 2),
        ("confused_classes", ["name", "class", "n"], 2),
        ("attribute_conflicts", ["name", "a", "b", "n"], 1),
        ("worst_samples", ["id", "filepath", "score", "n_units", "n_disputed"], 2),
    ):
        frame = filled_report().to_dataframe(name)
        assert (list(frame.columns), len(frame)) == (columns, n)
    # those that are computed on demand
    for name, columns, n in (
        ("thresholds", ["threshold", "alpha", "score", "f1", "n_units", "n_hard", "n_inexact"], len(filled.THRESHOLDS)),
        ("best_matches", ["from", "to", "n_observed", "n_expected"], 20),
        ("rules", [*RULES, "pooled", "mean", "n_defined", "no_labels"], 3),
    ):
        frame = sensitivity_frame(filled_sensitivity(), name)
        assert (list(frame.columns), len(frame)) == (columns, n)
        if name != "best_matches":  # of a method without a threshold there are none
            assert list(sensitivity_frame(filled_sensitivity(**{name: []}), name).columns) == columns
            with pytest.raises(AgreementInputError, match="the labels are gone"):
                sensitivity_frame(filled_sensitivity(**{name: []}, note="the labels are gone"), name)
        with pytest.raises(AgreementInputError, match=f"table of {name} needs a report that was loaded"):
            filled_report().to_dataframe(name)


def test_every_table_of_every_family_is_a_frame_and_a_wrong_name_gets_the_list() -> None:
    ratings, tags, pixels = others = [make() for make in OTHERS.values()]
    for report in (filled_report(), unfilled_report(), *others):
        for name in table_names(report):
            frame = report_frame(report, name)
            assert isinstance(frame, pd.DataFrame)
            assert frame.columns.is_unique
    assert list(ratings.to_dataframe("pairs")["kappa.identity"]) == [0.81, 0.55, 0.6]
    assert list(ratings.to_dataframe("coefficients")["value"]) == [0.7, 0.69]
    assert list(tags.to_dataframe("tags")["alpha"])[:2] == [0.5, 0.9]
    assert list(pixels.to_dataframe("classes")["mean_iou"]) == [0.95, 0.82, 0.31]
    assert list(pixels.to_dataframe("annotator_classes")["share"]) == [0.5, 0.5]
    with pytest.raises(
        AgreementInputError,
        match=r"`table` must be one of summary, .*, labels, units, thresholds, rules, best_matches, got 'pear'",
    ):
        filled_report().to_dataframe("pear")
    with pytest.raises(AgreementInputError, match=r"tags, findings, .*, labels, units, got 'thresholds'"):
        OTHERS["tags"]().to_dataframe("thresholds")
    with pytest.raises(AgreementInputError, match=r"table of samples needs a report that was loaded"):
        filled_report().to_dataframe("samples")
