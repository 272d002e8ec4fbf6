"""The real App in a real browser: the buttons that users press."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dev.browser import find_chromium, open_page, running_app

pytestmark = pytest.mark.browser

#: five seconds are short on a busy machine
expect.set_options(timeout=30_000)

NAME = f"app-test-{os.getpid()}"
COMPUTE = "[data-item-id='@annotator/agreement/compute_agreement']"
FORM = "[data-cy='operators-prompt-modal']"
RESULT = "[data-cy^='operators-prompt']"


@pytest.fixture(scope="module")
def address(private_fiftyone, tmp_path_factory) -> Iterator[str]:
    if find_chromium() is None:
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail("REQUIRE_BROWSER is set, but there is no Chromium (Debian: apt-get install chromium)")
        pytest.skip("there is no Chromium (Debian: apt-get install chromium)")
    with running_app(NAME, Path(tmp_path_factory.mktemp("app"))) as address:
        yield address


@pytest.fixture
def dataset(address):
    import fiftyone as fo

    dataset = fo.load_dataset(NAME)
    yield dataset
    dataset.reload()
    from annotator_agreement import delete_agreement, list_agreements

    for key in list_agreements(dataset):
        delete_agreement(dataset, key)


@pytest.fixture
def page(address, dataset):
    with open_page(address) as page:
        _close_panel(page)
        yield page


def _close_panel(page):
    """Close the panel that a run of an earlier test opened: the App remembers, and the grid is narrow beside it."""
    tab = page.locator("[data-cy='panel-tab-agreement_panel']")
    if tab.count():
        tab.first.locator("button, svg").last.click()
        expect(tab).to_have_count(0)


def _open_from_browser(page, label):
    page.keyboard.press("Backquote")
    search = "[data-cy='operators-browser-search'] input, input[data-cy='operators-browser-search']"
    page.locator(search).first.fill(label)
    page.locator("[data-cy='operators-browser']").get_by_text(re.compile(f"^{label}")).first.click()
    return page.locator(FORM)


def _submit(form, name):
    form.get_by_role("button", name=name, exact=True).click()


def _choose(page, form, label_type):
    """Remove the fields that are chosen, one by one, and choose those of another label type."""
    chosen = form.locator(".MuiChip-root")
    field = form.get_by_role("combobox").first
    while count := chosen.count():
        field.press("Backspace")
        expect(chosen).to_have_count(count - 1)
    for number, name in enumerate(("alice", "bob", "carol")):
        field.fill(f"{name}_{label_type}")
        page.get_by_role("option", name=f"{name}_{label_type}").click()
        expect(chosen).to_have_count(number + 1)


def _still_picture(page):
    """The first sample of the grid, once it does not change any more."""
    sample = page.locator("[data-cy='fo-grid'] [data-cy='looker']").first
    before, picture = None, sample.screenshot()
    while picture != before:
        page.wait_for_timeout(500)
        before, picture = picture, sample.screenshot()
    return picture


def test_pressing_the_button_and_compute_gives_scores_verdicts_and_a_result(page, dataset):
    page.locator(COMPUTE).first.click()
    form = page.locator(FORM)
    for name in ("alice", "bob", "carol"):
        expect(form).to_contain_text(name)
    _submit(form, "Compute")
    result = page.locator(RESULT)
    expect(result).to_contain_text("Krippendorff")
    dataset.reload()
    from annotator_agreement import load_agreement

    report = load_agreement(dataset)
    expect(result).to_contain_text(f"score {report.score.mean:.3f}")
    expect(result).to_contain_text(f"{report.alpha.pooled:.3f}")
    expect(result).to_contain_text(report.worst_samples[0]["id"])
    result.get_by_role("button", name="Close").last.click()
    expect(page.locator("[data-cy='sidebar-field-agreement_score']")).to_be_visible()
    assert report.n_samples == len(dataset)


def test_invalid_input_is_shown_in_the_form_before_execution(page, dataset):
    page.locator(COMPUTE).first.click()
    form = page.locator(FORM)
    key = form.locator("input[value='agreement']").first
    key.fill("label")
    expect(form).to_contain_text("label is a field of Detection")
    expect(form.get_by_role("button", name="Compute", exact=True)).to_be_disabled()
    form.get_by_role("button", name="Cancel").click()
    dataset.reload()
    assert dataset.list_runs() == []


def test_show_rename_and_delete_from_the_operator_browser(page, dataset):
    from annotator_agreement import compute_agreement

    report = compute_agreement(dataset, ["alice", "bob"])
    form = _open_from_browser(page, "Show annotator agreement")
    _submit(form, "Show")
    result = page.locator(RESULT)
    expect(result).to_contain_text(f"score {report.score.mean:.3f}")
    result.get_by_role("button", name="Close").last.click()
    form = _open_from_browser(page, "Delete annotator agreement")
    expect(form).to_contain_text("Your own labels and fields are not touched")
    _submit(form, "Delete")
    expect(page.locator("[role=alert]").last).to_contain_text("Deleted the run 'agreement'")
    expect(page.locator("[data-cy='sidebar-field-agreement_score']")).to_have_count(0)
    dataset.reload()
    assert dataset.list_runs() == []


def test_other_label_types_are_chosen_by_removing_the_fields(page, dataset):
    page.locator(COMPUTE).first.click()
    form = page.locator(FORM)
    expect(form).to_contain_text("Matching method")
    _choose(page, form, "polygons")
    expect(form).to_contain_text("Area of polygons")
    expect(form).to_contain_text("Tolerance of open lines (pixels)")
    _submit(form, "Compute")
    result = page.locator(RESULT)
    expect(result).to_contain_text("alice_polygons – bob_polygons")
    result.get_by_role("button", name="Close").last.click()
    expect(page.locator("[data-cy='sidebar-field-agreement_score']")).to_be_visible()
    dataset.reload()
    assert set(dataset.distinct("carol_polygons.polylines.agreement")) >= {"agreed", "class_conflict", "missed"}
    assert not dataset.has_sample_field("carol.detections.agreement")


def test_semantic_masks_are_compared_and_the_map_of_disagreement_is_drawn(page, dataset):
    page.locator(COMPUTE).first.click()
    form = page.locator(FORM)
    expect(form).to_contain_text("Matching method")
    _choose(page, form, "segmentation")
    expect(form).to_contain_text("Compare boundaries")
    expect(form).not_to_contain_text("Matching method")
    background = form.locator("input[value='auto']")
    background.fill("sky")
    expect(form).to_contain_text("must be a mask value")
    expect(form.get_by_role("button", name="Compute", exact=True)).to_be_disabled()
    background.fill("auto")
    expect(form).not_to_contain_text("must be a mask value")
    form.locator("input[type='checkbox']").last.click()
    expect(form).to_contain_text("Folder for the maps")
    _submit(form, "Compute")
    result = page.locator(RESULT)
    expect(result).to_contain_text("How far do classes overlap?")
    expect(result).to_contain_text("Disputed classes")
    result.get_by_role("button", name="Close").last.click()
    for name in ("alice", "bob", "carol"):
        page.locator(f"[data-cy='checkbox-{name}']").click()
    without = _still_picture(page)
    page.locator("[data-cy='checkbox-agreement_map']").click()
    for _ in range(20):
        if _still_picture(page) != without:
            return
    pytest.fail("the map of disagreement does not show")
