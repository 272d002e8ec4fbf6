"""The panel of a run in the App: its tabs show the numbers of the report.

A click on a number leads to the samples counted one by one.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.app import expected_charts as expected
from tests.app.app_page import AppPage, page_with_panel
from tests.app.counted import n_samples_with, rated_units, scores
from tests.app.demo_copies import address_of
from tests.app.plots import chart, click_point, drawn

from annotator_agreement.charts.text.words import VERDICTS

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
    shown = {
        (row[0], name): text
        for row in [row.get_by_role("cell").all_inner_texts() for row in pairs.locator("tbody tr").all()]
        for name, text in zip(names[1:], row[1:], strict=True)
        if text
    }
    both = [(pair, ends) for pair in shared_report.pairs for ends in ((pair.a, pair.b), (pair.b, pair.a))]
    assert shown == {ends: f"{pair.score:.2f}" for pair, ends in both}

    app.open_tab("Classes", "What costs most first")
    cost = sorted(shared_report.classes, key=lambda entry: (-entry.share_of_disagreement, entry.name))[:10]
    assert [(row[0], _first(row[2])) for row in app.cells("Of what the score loses")] == [
        (e.name, e.n_units) for e in cost
    ]

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


@pytest.mark.journey
def test_numbers_of_annotators_and_classes_are_drill_downs(app: AppPage, shared_dataset: Any) -> None:
    with _drill_downs(app, shared_dataset) as through:
        app.open_tab("Annotators", "Pairs of annotators")
        missed = functools.partial(app.click_cell, "Missed", "bob", "Missed")
        through(missed, "What bob missed", n_samples_with(shared_dataset, lambda unit: unit.missed_by("bob")))
        alone = functools.partial(app.click_cell, "Missed", "carol", "Lone")
        n = n_samples_with(shared_dataset, lambda unit: unit.verdicts == {"lone"} and set(unit.members) == {"carol"})
        through(alone, "Labels of carol: lone", n)
        app.open_tab("Classes", "What costs most first")
        name = app.cells("Of what the score loses")[0][0]
        of_class = functools.partial(app.click_cell, "Of what the score loses", name, "Objects")
        n = n_samples_with(shared_dataset, lambda unit: name in unit.classes)
        through(of_class, f"Objects that somebody called '{name}'", n)


def test_bars_of_scores_and_numbers_of_objects_are_drill_downs(app: AppPage, shared_dataset: Any) -> None:
    with _drill_downs(app, shared_dataset) as through:
        app.open_tab("Images", "images with differences hold")
        plot = chart(app.panel, "scores")
        (bars,) = drawn(plot)
        number = max(range(20), key=lambda k: bars["y"][k])
        n = expected.histogram(scores(shared_dataset))[number]
        click = functools.partial(click_point, app.page, plot, 0, number)
        through(click, f"Samples that score {number / 20:.2f} – {(number + 1) / 20:.2f}", n)
        app.open_tab("Objects", "Labels by verdict")
        conflict = functools.partial(app.click_cell, "Verdict", VERDICTS["class_conflict"], "Labels")
        n = n_samples_with(shared_dataset, lambda unit: "class_conflict" in unit.verdicts)
        through(conflict, "Labels: class conflict", n)
        votes = functools.partial(app.click_cell, "Drawn by", "2 of 3", "Objects")
        n = n_samples_with(shared_dataset, lambda unit: len(unit.members) == 2 and len(unit.assigned) == 3)
        through(votes, "Objects drawn by 2 of 3", n)


def test_the_image_that_needs_most_work_is_two_clicks_away(app: AppPage, shared_dataset: Any) -> None:
    disputed: dict[str, int] = {}
    for unit in rated_units(shared_dataset):
        disputed[unit.sample_id] = disputed.get(unit.sample_id, 0) + (unit.verdicts != {"agreed"})
    app.open_tab("Images", "images with differences hold")
    row = app.panel.get_by_role("button", name="1. ", exact=False).first
    said = row.inner_text()
    row.click()
    expect(app.modal).to_contain_text(re.compile("|".join(disputed)))  # the id comes after the picture
    opened = [sample_id for sample_id in disputed if sample_id in app.modal.inner_text()]
    assert len(opened) == 1
    assert f"{disputed[opened[0]]} of " in said
    assert disputed[opened[0]] >= sorted(disputed.values())[-3]
    app.close_modal()
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
    for name, text in (
        ("Overview", "Next steps"),
        ("Annotators", "Pairs"),
        ("Classes", "What costs"),
        ("Objects", "by"),
    ):
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
    wide = plot.bounding_box()
    # the App draws a chart once: it must follow its place by itself
    app.panel.evaluate(f"panel => {{ panel.style.width = '{NARROW - 150}px'; }}")
    narrow = plot.bounding_box()
    assert wide is not None
    assert narrow is not None
    assert narrow["width"] < min(wide["width"], NARROW - 150)
    assert narrow["width"] / wide["width"] == pytest.approx(narrow["height"] / wide["height"], rel=0.01)
    app.panel.evaluate("panel => { panel.style.width = ''; }")
    app.page.set_viewport_size({"width": 1700, "height": 1100})
