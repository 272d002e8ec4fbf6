"""Every number of the panel is a door: clicked in the App, it leads to the samples counted one by one."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from dev.browser import show_dataset
from tests.app.app_page import AppPage
from tests.app.counted import Unit, n_samples_with, rated_units, scores
from tests.app.expected_charts import histogram
from tests.app.plots import chart, click_cell, click_point, drawn, matrix

pytestmark = pytest.mark.browser


def _open(app: AppPage, click: Callable[[], object], title: str) -> None:
    """Click until the door is open: a click on a chart that is just drawn anew is lost."""
    for _ in range(3):
        click()
        with contextlib.suppress(AssertionError):
            expect(app.panel).to_contain_text(title, timeout=30_000)
            return
    raise AssertionError(f"Nothing happens: {title}")


def _through_and_back(app: AppPage, click: Callable[[], object], n: int, title: str, n_all: int) -> None:
    """Whether a click shows so many samples, and Back shows all again."""
    _open(app, click, title)
    app.expect_shown(n)
    assert 0 < n < n_all
    app.back()
    app.expect_shown(n_all)


def test_cells_of_the_matrices_are_doors(report: Any, app: AppPage, dataset: Any) -> None:
    panel = app.open_panel()
    n_all = len(dataset)
    said: list[str] = []
    n = n_samples_with(dataset, lambda unit: unit.disputed_between("bob", "carol"))
    _through_and_back(
        app,
        lambda: said.append(click_cell(app.page, matrix(panel, "annotators"), "carol", "bob")),
        n,
        "What carol and bob disagree on",
        n_all,
    )
    assert "shared samples" in said[0]

    (confusion,) = drawn(matrix(panel, "classes"))
    row, column = confusion["y"][0], confusion["y"][1]
    n = n_samples_with(dataset, lambda unit: {row, column} <= unit.classes)
    click = functools.partial(click_cell, app.page, matrix(panel, "classes"), row, column)
    _through_and_back(app, click, n, f"Labels on which '{row}' met '{column}'", n_all)


def test_bars_of_scores_verdicts_and_votes_are_doors(report: Any, app: AppPage, dataset: Any) -> None:
    panel = app.open_panel()
    n_all = len(dataset)
    plot = chart(panel, "scores")
    (bars,) = drawn(plot)
    number = max(range(20), key=lambda k: bars["y"][k])
    low, high = number / 20, (number + 1) / 20
    n = histogram(scores(dataset))[number]
    click = functools.partial(click_point, app.page, plot, 0, number)
    _through_and_back(app, click, n, f"Samples that score {low:.2f} – {high:.2f}", n_all)

    plot = chart(panel, "verdicts")
    (bars,) = drawn(plot)
    n = n_samples_with(dataset, lambda unit: "class_conflict" in unit.verdicts)
    click = functools.partial(click_point, app.page, plot, 0, bars["x"].index("class_conflict"))
    _through_and_back(app, click, n, "Labels with the verdict class_conflict", n_all)

    plot = chart(panel, "votes")
    (bars,) = drawn(plot)
    n = n_samples_with(dataset, lambda unit: len(unit.members) == 2 and len(unit.assigned) == 3)
    click = functools.partial(click_point, app.page, plot, 0, bars["x"].index("2 of 3"))
    _through_and_back(app, click, n, "Objects drawn by 2 of 3", n_all)


def test_bars_of_annotators_and_points_of_classes_are_doors(report: Any, app: AppPage, dataset: Any) -> None:
    panel = app.open_panel()
    n_all = len(dataset)
    plot = chart(panel, "annotators")
    bars = {trace["name"]: (number, trace) for number, trace in enumerate(drawn(plot))}
    number, trace = bars["missed"]
    click = functools.partial(click_point, app.page, plot, number, trace["y"].index("bob"))
    missed = [unit for unit in rated_units(dataset) if unit.missed_by("bob")]
    assert len(missed) == next(entry.n_missed for entry in report.annotators if entry.name == "bob")
    _through_and_back(app, click, len({unit.sample_id for unit in missed}), "What bob missed", n_all)

    number, trace = bars["only theirs"]
    click = functools.partial(click_point, app.page, plot, number, trace["y"].index("carol"))
    n = n_samples_with(dataset, lambda unit: unit.verdicts == {"lone"} and set(unit.members) == {"carol"})
    _through_and_back(app, click, n, "Labels of carol: only theirs", n_all)

    plot = chart(panel, "classes")
    (points,) = drawn(plot)
    name = points["y"][0]
    click = functools.partial(click_point, app.page, plot, 0, 0)
    n = n_samples_with(dataset, lambda unit: name in unit.classes)
    _through_and_back(app, click, n, f"Objects that somebody called '{name}'", n_all)


def test_rows_of_the_tables_are_doors(report: Any, app: AppPage, dataset: Any) -> None:
    panel = app.open_panel()
    name = report.classes[1].name
    button = panel.get_by_role("row").filter(has_text=name).get_by_role("button", name="Show")
    n = n_samples_with(dataset, lambda unit: name in unit.classes)
    _through_and_back(app, button.click, n, f"Objects that somebody called '{name}'", len(dataset))

    worst = report.worst_samples[1]
    panel.get_by_role("row").filter(has_text=worst["filepath"].rsplit("/", 1)[1]).get_by_role("button").click()
    expect(app.modal).to_be_visible()
    expect(app.modal).to_contain_text(worst["id"])
    app.close_modal()
    app.expect_shown(len(dataset))


def test_back_returns_to_the_view_that_the_user_had(report: Any, page: Page, demo_address: str, dataset: Any) -> None:
    """Also after several doors, one from behind the other."""
    mine = dataset.match({"agreement_n_units": {"$lt": 12}}).sort_by("filepath")
    dataset.save_view("mine", mine)
    ids = set(mine.values("id"))
    show_dataset(page, f"{demo_address.rsplit('/', 1)[0]}/{dataset.name}?view=mine")
    app = AppPage(page)
    app.expect_shown(len(ids))
    panel = app.open_panel()
    plot = chart(panel, "verdicts")
    (bars,) = drawn(plot)
    for verdict in ("missed", "lone"):

        def of_verdict(unit: Unit, verdict: str = verdict) -> bool:
            return verdict in unit.verdicts

        click = functools.partial(click_point, page, plot, 0, bars["x"].index(verdict))
        _open(app, click, f"Labels with the verdict {verdict}")
        n = n_samples_with(dataset, of_verdict)
        assert n != len(ids)
        app.expect_shown(n)
    app.back()
    app.expect_shown(len(ids))
