"""The panel and the user's own view: its numbers follow the view on request, and Back returns to that view."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.app import counted as expected
from tests.app.app_page import AppPage, page_with_panel
from tests.app.counted import Unit, address_of, n_samples_with, rated_units

from annotator_agreement.charts.text import VERDICTS

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def view(shared_dataset: Any, shared_report: Any) -> Any:
    """A saved view of the user."""
    view = shared_dataset.match({"agreement_n_units": {"$lt": 12}}).sort_by("filepath")
    shared_dataset.save_view("mine", view)
    return view


@pytest.fixture(scope="module")
def app(browser: Browser, demo_address: str, shared_dataset: Any, view: Any) -> Iterator[AppPage]:
    """One page for all tests here, which shows the view: each goes back to it."""
    with page_with_panel(browser, f"{address_of(shared_dataset, demo_address)}?view=mine") as app:
        app.expect_shown(len(view))
        yield app


def _verdicts(app: AppPage) -> dict[str, int]:
    return {row[0]: int(row[2]) for row in app.cells("Verdict")}


def test_the_numbers_follow_the_view_if_asked_to(
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
    app.choose("Samples", "Whole run")
    expect(panel).to_contain_text(re.compile(f"of {len(shared_dataset)}\\D"))
    for name, n in (("Current view", len(ids)), ("Whole run", len(shared_dataset))):
        app.choose("Samples", name)
        expect(panel).to_contain_text(re.compile(f"of {n}\\D"))
        app.expect_at_rest()
        expect(app.choice("Samples").locator("option:checked")).to_have_text(name)


@pytest.mark.journey
def test_back_returns_to_the_view_that_the_user_had(app: AppPage, shared_dataset: Any, view: Any) -> None:
    """Also after several drill-downs, one from behind the other."""
    app.open_tab("Objects", "Labels by verdict")
    for verdict in ("missed", "lone"):

        def of_verdict(unit: Unit, verdict: str = verdict) -> bool:
            return verdict in unit.verdicts

        def click(title: str = VERDICTS[verdict]) -> None:
            app.click_cell("Verdict", title, "Labels")

        app.drill_down(click, f"Labels: {VERDICTS[verdict]}")
        n = n_samples_with(shared_dataset, of_verdict)
        assert n != len(view)
        app.expect_shown(n)
    app.back()
    app.expect_shown(len(view))
