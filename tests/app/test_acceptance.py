"""Is the delivery accepted, and is the model as good as annotators can be: in the App, as a person asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fiftyone as fo
import pytest
from playwright.sync_api import expect

from tests.app.app_page import AppPage

from annotator_agreement import check_agreement

pytestmark = pytest.mark.browser

_REQUIREMENTS = """
requirements:
  base:
    metric: score
    at_least: 0.1
  all alike:
    inherits: base
    at_least: 0.999
  too few:
    inherits: base
    least_objects: 1000000
"""


def test_a_delivery_is_checked_and_each_failure_leads_to_its_labels(
    report: Any, app: AppPage, dataset: Any, tmp_path: Path
) -> None:
    rules = tmp_path / "requirements.yaml"
    app.open_panel()
    for text, said in ((_REQUIREMENTS.replace("score", "skore"), "line 4"), (_REQUIREMENTS, "")):
        rules.write_text(text)
        form = app.find_operator("Check requirements")
        form.get_by_role("textbox").first.press_sequentially(str(rules), delay=90)
        if said:  # a mistake in the file is told with its line before anything is executed
            expect(form).to_contain_text(f"requirements.yaml, {said}")
            app.page.keyboard.press("Escape")
            expect(form).to_have_count(0)
    app.submit("Check")
    app.expect_message("of 3 requirements 1 failed, 1 has not enough data and 1 passed")
    app.close_result()

    app.refresh_panel()
    app.open_tab("Overview", "Not accepted by requirements.yaml")
    assert [row[:2] for row in app.cells("requirement")] == [
        ["base", "✓ passed"],
        ["all alike", "✗ failed"],
        ["too few", "? not enough data"],
    ]
    failed = next(
        each for each in check_agreement(dataset, requirements=str(rules)).results if each.outcome == "failed"
    )
    assert failed.view
    for _ in range(2):
        app.drill_down(lambda: app.click_cell("requirement", "all alike", "outcome"), "all alike: ✗ failed")
        expect(app.counts).not_to_have_text(f"{len(dataset)} samples")
        app.back()
        app.expect_shown(len(dataset))
    expect(app.errors).to_have_count(0)


def test_the_human_ceiling_stands_in_the_panel_of_model_evaluation(report: Any, app: AppPage, dataset: Any) -> None:
    metric = "@annotator/agreement/human_ceiling"
    found = fo.load_dataset(dataset.name).evaluate_detections(
        "bob", gt_field="alice", eval_key="yolo", custom_metrics={metric: {"run_key": report.run_key}}
    )
    share, people = (found.metrics()[name] for name in ("human_ceiling", "human_f1"))
    assert 0 < share < 2
    app.page.reload()
    app.page.locator("[data-cy='new-panel-btn']").first.click()
    app.page.get_by_text("Model Evaluation", exact=True).first.click()
    app.page.get_by_text("yolo", exact=True).first.click()
    for title, value in (("Share of the human ceiling", share), ("F1 of annotators among each other", people)):
        row = app.page.get_by_role("row").filter(has_text=title).first
        expect(row).to_contain_text(f"{value:.3f}"[:4])
