"""Every number of the panel is a door: clicked in the App, it leads to the samples counted one by one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from dev.browser import new_page, show_dataset
from tests.app.app_page import AppPage
from tests.app.counted import n_samples_with, rated_units, scores
from tests.app.demo_copies import address_of, computed, copy_of_the_demo
from tests.app.expected_charts import histogram
from tests.app.plots import chart, click_cell, click_point, drawn, matrix

pytestmark = pytest.mark.browser


# one page for all tests here, as each of them goes back to where it came from


@pytest.fixture(scope="module")
def dataset(demo_address: str) -> Iterator[Any]:
    """A copy of the demo dataset."""
    yield from copy_of_the_demo(demo_address)


@pytest.fixture(scope="module")
def report(dataset: Any) -> Any:
    """The report of a run on its boxes."""
    return computed(dataset)


@pytest.fixture(scope="module")
def app(browser: Browser, demo_address: str, dataset: Any, report: Any) -> Iterator[AppPage]:
    """The App with the dataset and the panel."""
    with new_page(browser) as page:
        show_dataset(page, address_of(dataset, demo_address))
        app = AppPage(page)
        app.open_panel()
        yield app


def _through_and_back(app: AppPage, click: Callable[[], object], n: int, title: str, n_all: int) -> None:
    """Whether a click shows so many samples, and Back shows all again."""
    app.open_door(click, title)
    app.expect_shown(n)
    assert 0 < n < n_all
    app.back()
    app.expect_shown(n_all)


def test_cells_of_the_matrices_are_doors(report: Any, app: AppPage, dataset: Any) -> None:
    panel = app.panel
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
    panel = app.panel
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
    panel = app.panel
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
    panel = app.panel
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
