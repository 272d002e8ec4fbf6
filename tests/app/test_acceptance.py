"""A report and the check of a delivery in the App, as a person asks for them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.app.app_page import AppPage

pytestmark = pytest.mark.browser

_REQUIREMENTS = """requirements:
  base: {number: score.mean, at_least: 0.1}
  all alike: {number: score.mean, at_least: 0.999}
  no interval: {number: n_rated, at_least: 1, judge: interval}
"""


def test_a_report_is_shown_then_a_delivery_is_checked_and_each_failure_leads_to_its_labels(
    report: Any, app: AppPage, dataset: Any
) -> None:
    app.find_operator("Show the annotator agreement report")
    app.submit("Show")
    expect(app.result).to_contain_text(f"Score {report.score.mean:.3f}")
    expect(app.result).to_contain_text(re.compile(rf"{report.n_units:,} (units|objects)"))
    app.result.get_by_role("button", name="Show in the panel").click()
    app.expect_score(report)
    app.close_result()

    form = app.find_operator("Check requirements")
    expect(form.get_by_text("At least", exact=True)).to_be_visible()  # one number, with a value that is filled in
    form.get_by_text("Requirements written here").click()
    written = form.get_by_role("textbox").last
    # a mistake is told with its line before anything is executed
    written.fill(_REQUIREMENTS.replace("number: score.mean", "numbar: score.mean", 1))
    expect(form).to_contain_text("requirements, line 2: there is no key 'numbar'")
    written.fill(_REQUIREMENTS)
    expect(form).not_to_contain_text("there is no key")
    app.submit("Check")
    app.expect_message("of 3 requirements 1 failed, 1 has not enough data and 1 passed")
    app.close_result()

    app.refresh_panel()
    app.open_tab("Overview", "Not accepted by requirements")
    assert [row[:2] for row in app.cells("requirement")] == [
        ["base", "✓ passed"],
        ["all alike", "✗ failed"],
        ["no interval", "? not enough data"],
    ]
    app.drill_down(lambda: app.click_cell("requirement", "all alike", "outcome"), "all alike: ✗ failed")
    expect(app.counts).not_to_have_text(f"{len(dataset)} samples")
    app.back()
    app.expect_shown(len(dataset))
    expect(app.errors).to_have_count(0)
