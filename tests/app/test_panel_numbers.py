"""The panel of a run in the App: its tabs show the numbers of the report.

A click on a number leads to the samples counted one by one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect
from playwright.sync_api import TimeoutError as NotYet

from tests.app import counted as expected
from tests.app.app_page import AppPage, page_with_panel, wait_until
from tests.app.counted import Unit, address_of, n_samples_with, scores

from annotator_agreement.charts.text import VERDICTS

pytestmark = pytest.mark.browser

#: less wide panels cut something off
NARROW = 530


@pytest.fixture(scope="module")
def app(browser: Browser, demo_address: str, shared_dataset: Any, shared_report: Any) -> Iterator[AppPage]:
    """One page for all tests here: each goes back to where it came from."""
    with page_with_panel(browser, address_of(shared_dataset, demo_address)) as app:
        yield app


def _first(text: str) -> int:
    """The first number of a cell."""
    return int(text.split()[0].replace(",", ""))


@pytest.mark.journey
def test_every_tab_has_the_numbers_of_the_report(shared_report: Any, app: AppPage, shared_dataset: Any) -> None:
    panel = app.panel
    app.expect_score(shared_report)
    expect(panel).to_contain_text(f"of {shared_report.n_units}")

    app.open_tab("Annotators", "Pairs of annotators")
    columns = app.table("Missed").get_by_role("columnheader").all_inner_texts()
    of_name = {entry.name: entry for entry in shared_report.annotators}
    for name, *cells in app.cells("Missed"):
        entry, cells_of = of_name.pop(name), dict(zip(columns[1:], cells, strict=True))
        assert cells_of["Score"].split()[0] == f"{entry.score:.2f}"
        assert _first(cells_of["Missed"]) == entry.n_missed
        assert _first(cells_of["Lone"]) == entry.verdicts["lone"]
        assert _first(cells_of["Other class"].splitlines()[1]) == entry.verdicts["class_conflict"]
    assert not of_name
    pairs = app.table(shared_report.annotators[0].name)
    names = pairs.get_by_role("columnheader").all_inner_texts()
    rows = [row.get_by_role("cell").all_inner_texts() for row in pairs.locator("tbody tr").all()]
    shown = {(row[0], name): text for row in rows for name, text in zip(names[1:], row[1:], strict=True) if text}
    both = [(pair, ends) for pair in shared_report.pairs for ends in ((pair.a, pair.b), (pair.b, pair.a))]
    assert shown == {ends: f"{pair.score:.2f}" for pair, ends in both}

    app.open_tab("Classes", "What costs most first")
    cost = sorted(shared_report.classes, key=lambda entry: (-entry.share_of_disagreement, entry.name))[:10]
    rows = [(row[0], _first(row[2])) for row in app.cells("Of what the score loses")]
    assert rows == [(entry.name, entry.n_units) for entry in cost]

    app.open_tab("Images", "images with differences hold")
    (bins,) = drawn(chart(panel, "scores"))
    assert bins["y"] == expected.histogram(scores(shared_dataset))
    assert bins["x"] == pytest.approx([k / 20 + 0.025 for k in range(20)])

    app.open_tab("Objects", "Labels by verdict")
    labels = {row[0]: _first(row[2]) for row in app.cells("Verdict")}
    assert labels == {VERDICTS[name]: n for name, n in expected.verdicts(shared_report).items() if n}
    assert {row[0]: _first(row[1]) for row in app.cells("Drawn by")} == expected.votes(shared_report)
    (iou,) = drawn(chart(panel, "iou"))
    assert iou["y"] == shared_report.localisation.iou_histogram

    app.open_tab("Run", "This run: agreement")
    thresholds = {trace["name"]: trace for trace in drawn(chart(panel, "thresholds"))}
    found = shared_report.to_dataframe("thresholds")
    for title, number in (("alpha of objects", "alpha"), ("score", "score"), ("F1", "f1"), ("objects", "n_units")):
        assert thresholds[title]["y"] == pytest.approx(found[number].tolist())


@pytest.mark.journey
def test_numbers_and_bars_are_drill_downs_and_back_shows_all_samples(app: AppPage, shared_dataset: Any) -> None:
    shown = [len(shared_dataset)]

    def through(click: Callable[[], object], title: str, is_shown: Callable[[Unit], bool] | int) -> None:
        n = is_shown if isinstance(is_shown, int) else n_samples_with(shared_dataset, is_shown)
        assert n not in (0, shown[-1]), "the number of samples would not tell whether the click leads anywhere"
        app.drill_down(click, title)
        app.expect_shown(n)
        shown.append(n)

    app.open_tab("Annotators", "Pairs of annotators")
    missed = functools.partial(app.click_cell, "Missed", "bob", "Missed")
    through(missed, "What bob missed", lambda unit: unit.missed_by("bob"))
    alone = functools.partial(app.click_cell, "Missed", "carol", "Lone")
    through(alone, "Labels of carol: lone", lambda unit: unit.verdicts == {"lone"} and set(unit.members) == {"carol"})
    app.open_tab("Classes", "What costs most first")
    name = app.cells("Of what the score loses")[0][0]
    of_class = functools.partial(app.click_cell, "Of what the score loses", name, "Objects")
    through(of_class, f"Objects that somebody called '{name}'", lambda unit: name in unit.classes)
    app.open_tab("Images", "images with differences hold")
    plot = chart(app.panel, "scores")
    bars = drawn(plot)[0]["y"]
    number = max(range(20), key=lambda k: bars[k])
    title = f"Samples that score {number / 20:.2f} – {(number + 1) / 20:.2f}"
    n = expected.histogram(scores(shared_dataset))[number]
    through(functools.partial(click_bar, plot, number), title, n)
    app.open_tab("Objects", "Labels by verdict")
    votes = functools.partial(app.click_cell, "Drawn by", "2 of 3", "Objects")
    through(votes, "Objects drawn by 2 of 3", lambda unit: len(unit.members) == 2 and len(unit.assigned) == 3)
    app.back()
    app.expect_shown(len(shared_dataset))


@pytest.mark.journey
def test_a_page_that_is_loaded_again_shows_the_panel_as_it_was(app: AppPage, shared_report: Any) -> None:
    app.open_tab("Annotators", "Pairs of annotators")
    app.page.reload()
    expect(app.panel).to_contain_text("Pairs of annotators")
    app.expect_score(shared_report)
    app.drill_down(lambda: app.click_cell("Missed", "carol", "Lone"), "Labels of carol: lone")
    app.back()


def test_nothing_is_cut_off_in_a_narrow_panel(app: AppPage) -> None:
    app.page.set_viewport_size({"width": 1400, "height": 900})
    tabs = {"Overview": "Next steps", "Annotators": "Pairs", "Classes": "What costs", "Objects": "by"}
    for name, text in tabs.items():
        app.open_tab(name, text)
        app.panel.evaluate(f"panel => {{ panel.style.width = '{NARROW}px'; }}")
        cut = app.panel.evaluate(
            """panel => [...panel.querySelectorAll('td, th, button, p')].filter(part => {
                const inner = part.getBoundingClientRect(), outer = panel.getBoundingClientRect();
                return inner.width && (inner.right > outer.right + 1 || inner.left < outer.left - 1);
            }).map(part => part.innerText)"""
        )
        assert cut == []
        app.panel.evaluate("panel => { panel.style.width = ''; }")
    app.open_tab("Images", "images with differences hold")
    plot = chart(app.panel, "scores")
    assert drawn(plot)
    wide = plot.bounding_box() or {}
    # the App draws a chart once: it must follow its place by itself
    app.panel.evaluate(f"panel => {{ panel.style.width = '{NARROW - 150}px'; }}")
    narrow = plot.bounding_box() or {}
    assert narrow["width"] < min(wide["width"], NARROW - 150)
    assert narrow["width"] / wide["width"] == pytest.approx(narrow["height"] / wide["height"], rel=0.01)
    app.panel.evaluate("panel => { panel.style.width = ''; }")
    app.page.set_viewport_size({"width": 1700, "height": 1100})


#: part of a title of an axis that only this chart has
CHARTS = {"iou": "of two labels of one object", "thresholds": "of a match", "scores": "score (0"}
_DATA = "plot => plot.data"
#: how often a pointer is moved to a chart that is being drawn anew, and how long it waits there, in milliseconds
_TRIES, _SECOND = 240, 1_000
#: where a bar is, seen from the upper left corner of what takes the clicks
_PLACE_OF_BAR = """(plot, bar) => {
    const drag = plot.querySelector('.nsewdrag').getBoundingClientRect();
    const box = plot.querySelectorAll('.trace.bars')[0].querySelectorAll('.point path')[bar].getBoundingClientRect();
    return {x: box.x + box.width / 2 - drag.x, y: box.y + box.height / 2 - drag.y};
}"""


def chart(panel: Locator, name: str) -> Locator:
    """A chart of the panel."""
    return panel.locator(".js-plotly-plot").filter(has_text=CHARTS[name])


def drawn(plot: Locator) -> list[dict[str, Any]]:
    """The traces that a chart has drawn; one that takes the place of another has none for a moment."""
    expect(plot.locator(".main-svg").first).to_be_attached()
    wait_until(plot.page, lambda: plot.evaluate(_DATA))
    return plot.evaluate(_DATA)


def click_bar(plot: Locator, bar: int) -> None:
    """Click a bar as soon as the chart shows what is under the pointer; it ignores earlier clicks."""
    surface = plot.locator(".nsewdrag").first
    expect(surface).to_be_attached()
    for _ in range(_TRIES):
        position = plot.evaluate(_PLACE_OF_BAR, bar)
        surface.hover(position={"x": max(0, position["x"] - 3), "y": position["y"]})
        surface.hover(position=position)
        try:
            plot.locator(".hoverlayer .hovertext").first.wait_for(timeout=_SECOND)
        except NotYet:
            plot.page.mouse.move(0, 0)
            continue
        plot.page.mouse.down()
        plot.page.mouse.up()
        return
    raise AssertionError("The chart does not say what the pointer is on")
