"""The panel and the user's own view: its numbers follow the view on request, and Back returns to that view."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.app import counted as expected
from tests.app.app_page import AppPage, page_with_panel
from tests.app.counted import address_of, rated_units

from annotator_agreement.charts.text import VERDICTS

pytestmark = pytest.mark.browser


@pytest.fixture
def view(shared_dataset: Any, shared_report: Any) -> Any:
    """A saved view of the user."""
    view = shared_dataset.match({"agreement_n_units": {"$lt": 12}}).sort_by("filepath")
    shared_dataset.save_view("mine", view, overwrite=True)
    return view


@pytest.fixture
def app(browser: Browser, demo_address: str, shared_dataset: Any, view: Any) -> Iterator[AppPage]:
    """A page that shows the view."""
    with page_with_panel(browser, f"{address_of(shared_dataset, demo_address)}?view=mine") as app:
        app.expect_shown(len(view))
        yield app


def _verdicts(app: AppPage) -> dict[str, int]:
    return {row[0]: int(row[2]) for row in app.cells("Verdict")}


@pytest.mark.journey
def test_the_numbers_follow_the_view_if_asked_to_and_back_returns_to_it(
    shared_report: Any, app: AppPage, shared_dataset: Any, view: Any
) -> None:
    panel = app.panel
    ids = set(view.values("id"))
    app.open_tab("Objects", "Labels by verdict")
    assert sum(_verdicts(app).values()) == sum(expected.verdicts(shared_report).values())
    app.choose("Samples", "Current view")
    of_view = [unit for unit in rated_units(shared_dataset) if unit.sample_id in ids]
    labels = [label["agreement"] for unit in of_view for label in unit.members.values()]
    expect(panel).to_contain_text(re.compile(f"of {len(ids)}\\D"))
    assert _verdicts(app) == {VERDICTS[name]: labels.count(name) for name in set(labels)}
    # a drill-down leads to samples of the view, and the numbers stay those of the view
    verdict = next(name for name in sorted(set(labels)) if name != "agreed")
    app.drill_down(lambda: app.click_cell("Verdict", VERDICTS[verdict], "Labels"), f"Labels: {VERDICTS[verdict]}")
    app.expect_shown(len({unit.sample_id for unit in of_view if verdict in unit.verdicts}))
    assert _verdicts(app) == {VERDICTS[name]: labels.count(name) for name in set(labels)}
    app.back()
    app.expect_shown(len(ids))
    n_of = {"Whole run": len(shared_dataset), "Current view": len(ids)}
    for name, n in [*n_of.items(), ("Whole run", len(shared_dataset))]:
        app.choose("Samples", name)
        expect(panel).to_contain_text(re.compile(f"of {n}\\D"))
        app.expect_at_rest()
        expect(app.choice("Samples").locator("option:checked")).to_have_text(name)
    # Back returns to the view that the user had, also after several drill-downs, one from behind the other
    for verdict in ("missed", "lone"):
        click = functools.partial(app.click_cell, "Verdict", VERDICTS[verdict], "Labels")
        app.drill_down(click, f"Labels: {VERDICTS[verdict]}")
        n = len({unit.sample_id for unit in rated_units(shared_dataset) if verdict in unit.verdicts})
        assert n != len(view)
        app.expect_shown(n)
    app.back()
    app.expect_shown(len(view))
