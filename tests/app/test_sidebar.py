"""What a run writes, in the sidebar of the App: together, at once, to filter and sort by."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.app.app_page import AppPage, at_rest, wait_until
from tests.app.counted import scores

pytestmark = pytest.mark.browser


def _order(app: AppPage) -> list[str]:
    """The groups and fields of the sidebar, from top to bottom."""
    return app.page.evaluate(
        """() => [...document.querySelectorAll("[data-cy^='sidebar-field-'], [data-cy^='sidebar-group-entry-']")]
            .filter(entry => entry.getBoundingClientRect().height && !/arrow|container|add/.test(entry.dataset.cy))
            .sort((a, b) => a.getBoundingClientRect().y - b.getBoundingClientRect().y)
            .map(entry => entry.dataset.cy)"""
    )


@pytest.mark.journey
def test_the_fields_of_a_run_stand_together_at_once_and_stay_where_they_are(app: AppPage, dataset: Any) -> None:
    app.press_compute()
    app.submit("Compute")
    app.expect_message("Computed the run")
    expect(app.sidebar_field("agreement_score")).to_be_visible()
    order = at_rest(app.page, lambda: _order(app))  # the App unfolds the group while the notification is shown
    group = order.index("sidebar-group-entry-AGREEMENT")
    assert order[group + 1] == "sidebar-field-agreement_score"
    assert order.index("sidebar-field-carol") < group < order.index("sidebar-group-entry-PRIMITIVES")
    # a view leaves fields out, of which the App forgets where they were
    app.open_tab("Annotators", "Pairs of annotators")
    app.drill_down(lambda: app.click_cell("Missed", "carol", "Lone"), "Labels of carol: lone")
    expect(app.sidebar_field("alice")).to_have_count(0)
    app.page.locator("[data-cy='btn-clear-view-bar']").click()
    expect(app.panel).not_to_contain_text("Labels of carol: lone")
    expect(app.sidebar_field("alice")).to_be_visible()
    wait_until(app.page, lambda: _order(app) == order)  # the fields come back before their groups do

    app.page.locator("[data-cy='sidebar-field-arrow-enabled-agreement_score']").click()
    filters = app.page.locator("[data-cy='numeric-slider-container-agreement_score']")
    handles = filters.locator(".MuiSlider-thumb")
    values = filters.locator("input[type='range']")
    expect(handles).to_have_count(2)
    full = values.last.get_attribute("aria-valuenow") or ""
    assert float(full) == pytest.approx(max(scores(dataset)))
    left, right = (handle.bounding_box() or {} for handle in (handles.first, handles.last))
    handles.last.hover()
    app.page.mouse.down()
    app.page.mouse.move((left["x"] + right["x"]) / 2, right["y"] + right["height"] / 2, steps=5)
    app.page.mouse.up()
    expect(values.last).not_to_have_attribute("aria-valuenow", full)
    limit = float(at_rest(app.page, lambda: values.last.get_attribute("aria-valuenow") or "nan"))
    n = sum(score <= limit for score in scores(dataset))
    assert 0 < n < len(scores(dataset))
    app.expect_shown(n)
