"""Every chart and table of the panel in the App draws the numbers of the report."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.app import expected_charts as expected
from tests.app.app_page import AppPage
from tests.app.counted import scores as scores_of
from tests.app.plots import chart, drawn, matrix

pytestmark = pytest.mark.browser

BIAS = {"size": "size", "left edge": "left", "upper edge": "top", "right edge": "right", "lower edge": "bottom"}


def _bars(trace: dict[str, Any]) -> dict[str, float]:
    return dict(zip(trace["x"], trace["y"], strict=True))


def _cells(trace: dict[str, Any]) -> dict[tuple[str, str], float]:
    """The cells of a matrix that are not empty."""
    rows = zip(trace["y"], trace["z"], strict=True)
    cells = {(row, column): z for row, values in rows for column, z in zip(trace["x"], values, strict=True)}
    return {names: z for names, z in cells.items() if z is not None}


def _table(panel: Locator, column: str) -> list[list[str]]:
    """The rows of the table that has a column, as they are shown."""
    table = panel.get_by_role("table").filter(has=panel.page.get_by_role("columnheader", name=column, exact=True))
    return [row.get_by_role("cell").all_inner_texts() for row in table.locator("tbody tr").all()]


def test_every_chart_and_table_has_the_numbers_of_the_report(report: Any, app: AppPage, dataset: Any) -> None:
    panel = app.open_panel()
    expect(panel).to_contain_text(f"Score {report.score.mean:.3f}")
    expect(panel).to_contain_text(f"Krippendorff's alpha {report.alpha.pooled:.3f}")
    expect(panel).to_contain_text(f"{report.n_units} objects")

    (pairs,) = drawn(matrix(panel, "annotators"))
    assert _cells(pairs) == pytest.approx(expected.pair_alphas(report))
    (confusion,) = drawn(matrix(panel, "classes"))
    assert _cells(confusion) == expected.confusions(report)
    (scores,) = drawn(chart(panel, "scores"))
    assert scores["y"] == expected.histogram(scores_of(dataset))
    assert scores["x"] == pytest.approx([k / 20 + 0.025 for k in range(20)])
    (verdicts,) = drawn(chart(panel, "verdicts"))
    assert _bars(verdicts) == expected.verdicts(report)
    (votes,) = drawn(chart(panel, "votes"))
    assert _bars(votes) == expected.votes(report)

    bars = {
        trace["name"]: dict(zip(trace["y"], trace["x"], strict=True)) for trace in drawn(chart(panel, "annotators"))
    }
    assert bars.pop("missed") == pytest.approx({entry.name: entry.miss_rate for entry in report.annotators})
    judged = {"only theirs": "lone", "class conflict": "class_conflict", "split": "split", "duplicate": "duplicate"}
    found = {title: expected.shares(report, verdict) for title, verdict in judged.items()}
    found = {title: shares for title, shares in found.items() if any(shares.values())}
    assert set(bars) == set(found)
    for title, shares in found.items():
        assert bars[title] == pytest.approx(shares)

    (classes,) = drawn(chart(panel, "classes"))
    ends = classes["error_x"]
    rows = zip(classes["y"], classes["x"], ends["arrayminus"], ends["array"], strict=True)
    shown = {name: numbers for name, *numbers in rows}
    alphas = expected.class_alphas(report)
    assert list(shown) == sorted(alphas, key=lambda name: (alphas[name][0], name))
    for name, numbers in alphas.items():
        assert shown[name] == pytest.approx(list(numbers))

    (iou,) = drawn(chart(panel, "iou"))
    assert iou["y"] == report.localisation.iou_histogram
    bias = {
        trace["name"]: dict(zip(trace["customdata"], trace["x"], strict=True)) for trace in drawn(chart(panel, "bias"))
    }
    assert set(bias) == set(BIAS)
    for title, side in BIAS.items():
        assert bias[title] == pytest.approx({entry.name: entry.bias.mean[side] for entry in report.annotators})
    thresholds = {trace["name"]: trace for trace in drawn(chart(panel, "thresholds"))}
    assert {tuple(trace["x"]) for trace in thresholds.values()} == {tuple(e.threshold for e in report.thresholds)}
    for title, number in (("alpha", "alpha"), ("score", "score"), ("F1", "f1"), ("objects", "n_units")):
        assert thresholds[title]["y"] == pytest.approx([getattr(entry, number) for entry in report.thresholds])

    worst = [
        [f"{entry['score']:.3f}", f"{entry['n_disputed']} of {entry['n_units']}", entry["filepath"].rsplit("/", 1)[1]]
        for entry in report.worst_samples
    ]
    assert [[*row[:2], row[2].rsplit("/", 1)[-1]] for row in _table(panel, "File")] == worst
    table = {row[0]: row[1:3] for row in _table(panel, "Class")}
    assert table == {e.name: [f"{e.n_objects:,}", f"{e.n_units:,}"] for e in report.classes[:20]}
