"""The panel of a run in the App: charts and tables draw the numbers of the report.

A click on a number leads to the samples counted one by one.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.app import expected_charts as expected
from tests.app.app_page import AppPage, page_with_panel
from tests.app.counted import n_samples_with, rated_units, scores
from tests.app.demo_copies import address_of
from tests.app.plots import chart, click_cell, click_point, drawn, matrix

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


@pytest.fixture(scope="module")
def app(browser: Browser, demo_address: str, shared_dataset: Any, shared_report: Any) -> Iterator[AppPage]:
    """One page for all tests here: each goes back to where it came from."""
    with page_with_panel(browser, address_of(shared_dataset, demo_address)) as app:
        yield app


def test_every_chart_and_table_has_the_numbers_of_the_report(
    shared_report: Any, app: AppPage, shared_dataset: Any
) -> None:
    panel = app.panel
    expect(panel).to_contain_text(f"Score {shared_report.score.mean:.3f}")
    expect(panel).to_contain_text(f"Krippendorff's alpha {shared_report.alpha.pooled:.3f}")
    expect(panel).to_contain_text(f"{shared_report.n_units} objects")

    (pairs,) = drawn(matrix(panel, "annotators"))
    assert _cells(pairs) == pytest.approx(expected.pair_alphas(shared_report))
    (confusion,) = drawn(matrix(panel, "classes"))
    assert _cells(confusion) == expected.confusions(shared_report)
    (bins,) = drawn(chart(panel, "scores"))
    assert bins["y"] == expected.histogram(scores(shared_dataset))
    assert bins["x"] == pytest.approx([k / 20 + 0.025 for k in range(20)])
    (verdicts,) = drawn(chart(panel, "verdicts"))
    assert _bars(verdicts) == expected.verdicts(shared_report)
    (votes,) = drawn(chart(panel, "votes"))
    assert _bars(votes) == expected.votes(shared_report)

    bars = {
        trace["name"]: dict(zip(trace["y"], trace["x"], strict=True)) for trace in drawn(chart(panel, "annotators"))
    }
    assert bars.pop("missed") == pytest.approx({entry.name: entry.miss_rate for entry in shared_report.annotators})
    judged = {"only theirs": "lone", "class conflict": "class_conflict", "split": "split", "duplicate": "duplicate"}
    found = {title: expected.shares(shared_report, verdict) for title, verdict in judged.items()}
    found = {title: shares for title, shares in found.items() if any(shares.values())}
    assert set(bars) == set(found)
    for title, shares in found.items():
        assert bars[title] == pytest.approx(shares)

    (classes,) = drawn(chart(panel, "classes"))
    ends = classes["error_x"]
    rows = zip(classes["y"], classes["x"], ends["arrayminus"], ends["array"], strict=True)
    shown = {name: numbers for name, *numbers in rows}
    alphas = expected.class_alphas(shared_report)
    assert list(shown) == sorted(alphas, key=lambda name: (alphas[name][0], name))
    for name, numbers in alphas.items():
        assert shown[name] == pytest.approx(list(numbers))

    (iou,) = drawn(chart(panel, "iou"))
    assert iou["y"] == shared_report.localisation.iou_histogram
    bias = {
        trace["name"]: dict(zip(trace["customdata"], trace["x"], strict=True)) for trace in drawn(chart(panel, "bias"))
    }
    assert set(bias) == set(BIAS)
    for title, side in BIAS.items():
        assert bias[title] == pytest.approx({entry.name: entry.bias.mean[side] for entry in shared_report.annotators})
    thresholds = {trace["name"]: trace for trace in drawn(chart(panel, "thresholds"))}
    assert {tuple(trace["x"]) for trace in thresholds.values()} == {
        tuple(e.threshold for e in shared_report.thresholds)
    }
    for title, number in (("alpha", "alpha"), ("score", "score"), ("F1", "f1"), ("objects", "n_units")):
        assert thresholds[title]["y"] == pytest.approx([getattr(entry, number) for entry in shared_report.thresholds])

    worst = [
        [f"{entry['score']:.3f}", f"{entry['n_disputed']} of {entry['n_units']}", entry["filepath"].rsplit("/", 1)[1]]
        for entry in shared_report.worst_samples
    ]
    assert [[*row[:2], row[2].rsplit("/", 1)[-1]] for row in _table(panel, "File")] == worst
    table = {row[0]: row[1:3] for row in _table(panel, "Class")}
    assert table == {e.name: [f"{e.n_objects:,}", f"{e.n_units:,}"] for e in shared_report.classes[:20]}


@contextlib.contextmanager
def _drill_downs(app: AppPage, dataset: Any) -> Iterator[Callable[[Callable[[], object], str, int], None]]:
    """Go through drill-downs, from each to the next, and check what they show; then Back to all samples."""
    shown = [len(dataset)]

    def through(click: Callable[[], object], title: str, n: int) -> None:
        assert n not in (0, shown[-1]), "the number of samples would not tell whether the click leads anywhere"
        app.drill_down(click, title)
        app.expect_shown(n)
        shown.append(n)

    yield through
    app.back()
    app.expect_shown(len(dataset))


def test_cells_of_the_matrices_are_drill_downs(app: AppPage, shared_dataset: Any) -> None:
    panel = app.panel
    (confusion,) = drawn(matrix(panel, "classes"))
    row, column = confusion["y"][0], confusion["y"][1]
    said: list[str] = []
    with _drill_downs(app, shared_dataset) as through:
        n = n_samples_with(shared_dataset, lambda unit: unit.disputed_between("bob", "carol"))
        plot = matrix(panel, "annotators")
        click = functools.partial(click_cell, app.page, plot, "carol", "bob")
        through(lambda: said.append(click()), "What carol and bob disagree on", n)
        assert "shared samples" in said[0]
        n = n_samples_with(shared_dataset, lambda unit: {row, column} <= unit.classes)
        click = functools.partial(click_cell, app.page, matrix(panel, "classes"), row, column)
        through(click, f"Labels on which '{row}' met '{column}'", n)


def test_bars_of_scores_verdicts_and_votes_are_drill_downs(app: AppPage, shared_dataset: Any) -> None:
    panel = app.panel
    with _drill_downs(app, shared_dataset) as through:
        plot = chart(panel, "scores")
        (bars,) = drawn(plot)
        number = max(range(20), key=lambda k: bars["y"][k])
        n = expected.histogram(scores(shared_dataset))[number]
        click = functools.partial(click_point, app.page, plot, 0, number)
        through(click, f"Samples that score {number / 20:.2f} – {(number + 1) / 20:.2f}", n)

        plot = chart(panel, "verdicts")
        (bars,) = drawn(plot)
        n = n_samples_with(shared_dataset, lambda unit: "class_conflict" in unit.verdicts)
        click = functools.partial(click_point, app.page, plot, 0, bars["x"].index("class_conflict"))
        through(click, "Labels with the verdict class_conflict", n)

        plot = chart(panel, "votes")
        (bars,) = drawn(plot)
        n = n_samples_with(shared_dataset, lambda unit: len(unit.members) == 2 and len(unit.assigned) == 3)
        click = functools.partial(click_point, app.page, plot, 0, bars["x"].index("2 of 3"))
        through(click, "Objects drawn by 2 of 3", n)


def test_bars_of_annotators_and_points_of_classes_are_drill_downs(
    shared_report: Any, app: AppPage, shared_dataset: Any
) -> None:
    panel = app.panel
    with _drill_downs(app, shared_dataset) as through:
        plot = chart(panel, "annotators")
        bars = {trace["name"]: (number, trace) for number, trace in enumerate(drawn(plot))}
        number, trace = bars["missed"]
        click = functools.partial(click_point, app.page, plot, number, trace["y"].index("bob"))
        missed = [unit for unit in rated_units(shared_dataset) if unit.missed_by("bob")]
        assert len(missed) == next(entry.n_missed for entry in shared_report.annotators if entry.name == "bob")
        through(click, "What bob missed", len({unit.sample_id for unit in missed}))

        number, trace = bars["only theirs"]
        click = functools.partial(click_point, app.page, plot, number, trace["y"].index("carol"))
        n = n_samples_with(shared_dataset, lambda unit: unit.verdicts == {"lone"} and set(unit.members) == {"carol"})
        through(click, "Labels of carol: only theirs", n)

        plot = chart(panel, "classes")
        (points,) = drawn(plot)
        n = n_samples_with(shared_dataset, lambda unit: points["y"][0] in unit.classes)
        click = functools.partial(click_point, app.page, plot, 0, 0)
        through(click, f"Objects that somebody called '{points['y'][0]}'", n)


def test_rows_of_the_tables_are_drill_downs(shared_report: Any, app: AppPage, shared_dataset: Any) -> None:
    panel = app.panel
    name = shared_report.classes[1].name
    button = panel.get_by_role("row").filter(has_text=name).get_by_role("button", name="Show")
    with _drill_downs(app, shared_dataset) as through:
        n = n_samples_with(shared_dataset, lambda unit: name in unit.classes)
        through(button.click, f"Objects that somebody called '{name}'", n)

    worst = shared_report.worst_samples[1]
    panel.get_by_role("row").filter(has_text=worst["filepath"].rsplit("/", 1)[1]).get_by_role("button").click()
    expect(app.modal).to_be_visible()
    expect(app.modal).to_contain_text(worst["id"])
    app.close_modal()
    app.expect_shown(len(shared_dataset))
