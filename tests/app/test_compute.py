"""Computing agreement in the App: button, operator browser, form, messages and written fields."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.app.app_page import AppPage, wait_until
from tests.app.counted import ANNOTATORS, scores
from tools.dev.browser import still_picture

from annotator_agreement.dataset_io import load_agreement

pytestmark = pytest.mark.browser


def _remove_fields(form: Locator, n_left: int) -> None:
    """Remove the fields that are chosen, the last one first; a form that is just drawn anew loses a key."""
    chosen = form.locator(".MuiChip-root")
    for _ in range(10):
        count = chosen.count()
        if count <= n_left:
            return
        form.get_by_role("combobox").first.press("Backspace")
        with contextlib.suppress(AssertionError):
            expect(chosen).to_have_count(count - 1, timeout=20_000)


def _add_field(app: AppPage, form: Locator, name: str, n_chosen: int) -> None:
    """Choose one more field."""
    form.get_by_role("combobox").first.fill(name)
    app.page.get_by_role("option", name=re.compile(rf"^{name}\b")).click()
    expect(form.locator(".MuiChip-root")).to_have_count(n_chosen + 1)


def _still_picture(app: AppPage) -> bytes:
    """The first sample of the grid, once it does not change any more."""
    return still_picture(app.page, app.page.locator("[data-cy='fo-grid'] [data-cy='looker']").first)


@pytest.mark.journey
def test_the_button_computes_says_that_it_works_and_shows_result_fields_and_panel(app: AppPage, dataset: Any) -> None:
    form = app.press_compute()
    for name in ANNOTATORS:
        expect(form).to_contain_text(name)
    held: list[Route] = []
    app.page.route("**/operators/execute", lambda route: held.append(route), times=1)
    with app.page.expect_request("**/operators/execute"):
        app.submit("Compute")
    expect(app.page.get_by_text("Executing...")).to_be_visible()
    held[0].continue_()

    app.expect_message("Computed the run 'agreement'. Two annotators draw the same object in ")
    expect(app.result).to_have_count(0)
    dataset.reload()
    report = load_agreement(dataset)
    expect(app.sidebar_field("agreement_score")).to_be_visible()
    app.expect_score(report)
    assert report.n_samples == len(dataset)
    assert report.score.n == len(scores(dataset))
    assert report.score.mean == pytest.approx(sum(scores(dataset)) / report.score.n)


def test_the_operator_browser_opens_the_same_form_which_shows_invalid_input(app: AppPage, dataset: Any) -> None:
    form = app.find_operator("Compute annotator agreement")
    compute = form.get_by_role("button", name="Compute", exact=True)
    app.unfold()
    key = form.locator("input[value='agreement']").first
    key.fill("label")
    expect(form).to_contain_text("label is a field of Detection")
    expect(compute).to_be_disabled()
    key.fill("second_look")
    expect(form).not_to_contain_text("label is a field of Detection")
    expect(compute).to_be_enabled()
    _remove_fields(form, 1)
    expect(form).to_contain_text("Choose a second field, or the attribute of the labels that names their annotator")
    expect(compute).to_be_disabled()
    dataset.reload()
    assert dataset.list_runs() == []
    _add_field(app, form, "carol", 1)
    expect(compute).to_be_enabled()
    app.submit("Compute")
    app.expect_message("Computed the run")
    expect(app.sidebar_field("second_look_score")).to_be_visible()
    dataset.reload()
    assert dataset.list_runs() == ["second_look"]
    assert [pair.a + pair.b for pair in load_agreement(dataset, "second_look").pairs] == ["alicecarol"]


@pytest.mark.parametrize("dataset", ["segmentation"], indirect=True)
def test_semantic_masks_are_compared_and_the_map_of_disagreement_is_drawn(app: AppPage, dataset: Any) -> None:
    form = app.press_compute()
    app.unfold()
    expect(form).to_contain_text("Matching method")
    _remove_fields(form, 0)
    for number, name in enumerate(ANNOTATORS):
        _add_field(app, form, f"{name}_segmentation", number)
    expect(form).to_contain_text("Compare boundaries")
    expect(form).not_to_contain_text("Matching method")
    form.locator("input[type='checkbox']").nth(-2).click()  # above the one that continues a run
    expect(form).to_contain_text("Folder for the maps")
    app.submit("Compute")
    app.expect_message("Computed the run")
    for name in ANNOTATORS:
        app.page.locator(f"[data-cy='checkbox-{name}']").click()
    without = _still_picture(app)
    checkbox = app.page.locator("[data-cy='checkbox-agreement_map']")
    checkbox.click()
    wait_until(app.page, lambda: _still_picture(app) != without)  # the map of disagreement shows
    checkbox.click()
    wait_until(app.page, lambda: _still_picture(app) == without)  # and goes
