"""The panel and the user's own view: its numbers follow the view on request, and Back returns to that view."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.app import expected_charts as expected
from tests.app.app_page import AppPage, page_with_panel
from tests.app.counted import Unit, n_samples_with, rated_units
from tests.app.demo_copies import address_of
from tests.app.plots import chart, click_point, drawn

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


def test_the_numbers_follow_the_view_if_asked_to(
    shared_report: Any, app: AppPage, shared_dataset: Any, view: Any
) -> None:
    panel = app.panel
    ids = set(view.values("id"))
    (bars,) = drawn(chart(panel, "verdicts"))
    assert sum(bars["y"]) == sum(expected.verdicts(shared_report).values())
    panel.get_by_role("checkbox").first.click()
    part = f"part of the run: {len(ids)} of its {len(shared_dataset)} samples"
    expect(panel).to_contain_text(part)
    of_view = [unit for unit in rated_units(shared_dataset) if unit.sample_id in ids]
    labels = [label["agreement"] for unit in of_view for label in unit.members.values()]
    (bars,) = drawn(chart(panel, "verdicts"))
    assert dict(zip(bars["x"], bars["y"], strict=True)) == {name: labels.count(name) for name in set(labels)}
    # a drill-down leads to samples of the view, and the numbers stay those of the view
    number, verdict = next((k, name) for k, name in enumerate(bars["x"]) if name != "agreed")
    click = functools.partial(click_point, app.page, chart(panel, "verdicts"), 0, number)
    app.drill_down(click, f"Labels with the verdict {verdict}")
    app.expect_shown(len({unit.sample_id for unit in of_view if verdict in unit.verdicts}))
    expect(panel).to_contain_text(part)
    app.back()
    app.expect_shown(len(ids))
    panel.get_by_role("checkbox").first.click()
    expect(panel).not_to_contain_text(part)


def test_back_returns_to_the_view_that_the_user_had(app: AppPage, shared_dataset: Any, view: Any) -> None:
    """Also after several drill-downs, one from behind the other."""
    plot = chart(app.panel, "verdicts")
    (bars,) = drawn(plot)
    for verdict in ("missed", "lone"):

        def of_verdict(unit: Unit, verdict: str = verdict) -> bool:
            return verdict in unit.verdicts

        click = functools.partial(click_point, app.page, plot, 0, bars["x"].index(verdict))
        app.drill_down(click, f"Labels with the verdict {verdict}")
        n = n_samples_with(shared_dataset, of_verdict)
        assert n != len(view)
        app.expect_shown(n)
    app.back()
    app.expect_shown(len(view))
