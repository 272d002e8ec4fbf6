"""What a run writes, in the sidebar of the App: fields to filter by."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.app.app_page import AppPage
from tests.app.counted import scores

pytestmark = pytest.mark.browser


def test_the_slider_of_the_score_leaves_the_samples_with_such_scores(report: Any, app: AppPage, dataset: Any) -> None:
    # FiftyOne has sliders for fields with an index only
    form = app.find_operator("Configure annotator agreement in the App")
    form.get_by_role("checkbox").nth(1).click()
    app.submit("Apply")
    expect(app.messages.last).to_contain_text("The App is set up")
    assert "agreement_score" in dataset.list_indexes()
    app.page.reload(wait_until="domcontentloaded")
    app.page.locator("[data-cy='sidebar-field-arrow-enabled-agreement_score']").click()
    filters = app.page.locator("[data-cy='numeric-slider-container-agreement_score']")
    handles = filters.locator(".MuiSlider-thumb")
    values = filters.locator("input[type='range']")
    expect(handles).to_have_count(2)
    full = values.last.get_attribute("aria-valuenow") or ""
    assert float(full) == pytest.approx(max(scores(dataset)))
    left, right = handles.first.bounding_box(), handles.last.bounding_box()
    assert left is not None
    assert right is not None
    handles.last.hover()
    app.page.mouse.down()
    app.page.mouse.move((left["x"] + right["x"]) / 2, right["y"] + right["height"] / 2, steps=5)
    app.page.mouse.up()
    expect(values.last).not_to_have_attribute("aria-valuenow", full)
    before, now = full, values.last.get_attribute("aria-valuenow") or "nan"
    while before != now:
        app.page.wait_for_timeout(500)
        before, now = now, values.last.get_attribute("aria-valuenow") or "nan"
    limit = float(now)
    n = sum(score <= limit for score in scores(dataset))
    assert 0 < n < len(scores(dataset))
    app.expect_shown(n)
