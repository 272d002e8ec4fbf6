"""The panel while runs are computed and deleted, including the run that it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.app import expected_charts as expected
from tests.app.app_page import AppPage, page_with_panel
from tests.app.counted import ANNOTATORS
from tests.app.demo_copies import address_of, computed

from annotator_agreement.charts.text.words import VERDICTS
from annotator_agreement.dataset_io import compute_agreement, delete_agreement, list_agreements, load_agreement

pytestmark = pytest.mark.browser

#: the first where the App has told the panel which run it showed last
_WITHOUT_RUN = re.compile("The run '.*' is gone|No agreement was computed on this dataset yet")


@pytest.fixture(scope="module")
def app(browser: Browser, demo_address: str, shared_dataset: Any) -> Iterator[AppPage]:
    """One page for all tests here; the runs of each are its own."""
    with page_with_panel(browser, address_of(shared_dataset, demo_address)) as app:
        yield app


@pytest.fixture
def dataset(app: AppPage, shared_dataset: Any) -> Any:
    """The dataset in the page, after another process deleted its runs."""
    for run_key in list_agreements(shared_dataset):
        delete_agreement(shared_dataset, run_key)
    app.refresh_panel()
    expect(app.panel).to_contain_text(_WITHOUT_RUN)
    return shared_dataset


@pytest.fixture
def report(app: AppPage, dataset: Any) -> Any:
    """A run that another process computed, in the panel."""
    report = computed(dataset)
    app.refresh_panel()
    app.expect_score(report)
    return report


def _expect_votes(app: AppPage, report: Any) -> None:
    """Wait until the panel counts the objects of a report by their votes."""
    votes = sorted(report.existence.votes, key=lambda entry: (-entry["assigned"], -entry["votes"]))
    rows = [f"{entry['votes']} of {entry['assigned']}{entry['units']}" for entry in votes if entry["assigned"] > 1]
    expect(app.table("Drawn by").locator("tbody tr")).to_contain_text(rows)


def test_a_run_computed_while_the_panel_is_open_is_shown_in_it(app: AppPage, dataset: Any) -> None:
    panel = app.panel
    panel.get_by_role("button", name="Compute annotator agreement").click()
    app.submit("Compute")
    app.expect_message("Computed the run")
    dataset.reload()
    report = load_agreement(dataset)
    app.expect_score(report)
    app.open_tab("Objects", "Labels by verdict")
    shown = {row[0]: int(row[2]) for row in app.cells("Verdict")}
    assert shown == {VERDICTS[name]: n for name, n in expected.verdicts(report).items() if n}
    # it was open already, and there is only one
    expect(app.panel_tab).to_have_count(1)
    app.page.locator("[data-cy='new-panel-btn']").first.click()
    expect(app.page.locator("[data-cy='new-panel-option-Histograms']")).to_be_visible()
    expect(app.page.locator("[data-cy='new-panel-option-agreement_panel']")).to_have_count(0)
    app.counts.click()
    expect(app.page.locator("[data-cy='new-panel-option-Histograms']")).to_have_count(0)


def test_the_panel_shows_the_run_that_is_chosen(report: Any, app: AppPage, dataset: Any) -> None:
    # by somebody else, while the panel is open
    compute_agreement(dataset, list(ANNOTATORS), run_key="strict", iou=0.8, progress=False)
    strict = load_agreement(dataset, "strict")
    app.refresh_panel()
    app.open_tab("Objects", "Labels by verdict")
    for shown in (strict, report) * 5:
        app.choose("Run", shown.run_key)
        app.expect_score(shown)
        _expect_votes(app, shown)
        app.expect_at_rest()
        expect(app.choice("Run")).to_have_value(shown.run_key)
    # without waiting for what is shown
    for shown in (strict, report) * 5:
        app.choose("Run", shown.run_key)
    app.expect_at_rest()
    app.expect_score(report)
    expect(app.choice("Run")).to_have_value("agreement")
    app.open_tab("Run", "This run: agreement")
    app.panel.get_by_role("button", name="Delete", exact=True).click()
    expect(app.form).to_contain_text("agreement")
    expect(app.form).not_to_contain_text("strict")
    app.page.keyboard.press("Escape")


def test_a_choice_is_seen_to_be_worked_on_at_once(report: Any, app: AppPage, dataset: Any) -> None:
    compute_agreement(dataset, list(ANNOTATORS), run_key="strict", iou=0.8, progress=False)
    app.refresh_panel()
    expect(app.choice("Run").locator("option")).to_have_count(2)
    app.expect_at_rest()
    app.open_tab("Overview", "Score")
    # on a busy machine the choice is there before the numbers
    expect(app.panel.get_by_text("Score", exact=True).first).to_be_visible()
    # in the same task as the choice, before the browser draws anything: the new name, what is below it pale
    for run_key in ("strict", "agreement", "strict"):
        name, pale = app.choice("Run").evaluate(
            """(list, wanted) => new Promise(done => {
                const panel = list.closest("[data-cy^='panel-content-']");
                const below = () => document.evaluate(".//*[text()='Score']", panel).iterateNext();
                const opacity = node => node ? getComputedStyle(node).opacity * opacity(node.parentElement) : 1;
                const works = new MutationObserver(() => {
                    works.disconnect();
                    done([list.value, opacity(below())]);
                });
                works.observe(panel, {subtree: true, attributes: true, attributeFilter: ["data-works"]});
                const set = Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, "value").set;
                set.call(list, wanted);
                list.dispatchEvent(new Event("change", {bubbles: true}));
            })""",
            run_key,
        )
        assert (name, pale < 0.5) == (run_key, True)
        app.expect_at_rest()
        app.expect_score(load_agreement(dataset, run_key))
