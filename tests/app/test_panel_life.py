"""The panel while its runs are computed and deleted by others, and which run it shows."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.app.app_page import AppPage
from tests.app.counted import ANNOTATORS

from annotator_agreement.dataset_io import compute_agreement, delete_agreement, list_agreements, load_agreement

pytestmark = pytest.mark.browser

#: the first where the App has told the panel which run it showed last
_WITHOUT_RUN = re.compile("The run '.*' is gone|No agreement was computed on this dataset yet")


def _expect_votes(app: AppPage, report: Any) -> None:
    """Wait until the panel counts the objects of a report by their votes."""
    votes = sorted(report.existence.votes, key=lambda entry: (-entry["assigned"], -entry["votes"]))
    rows = [f"{entry['votes']} of {entry['assigned']}{entry['units']}" for entry in votes if entry["assigned"] > 1]
    expect(app.table("Drawn by").locator("tbody tr")).to_contain_text(rows)


def test_the_panel_shows_the_run_that_is_chosen_and_says_at_once_that_it_works(
    report: Any, app: AppPage, dataset: Any
) -> None:
    app.open_panel()
    # by somebody else, while the panel is open
    compute_agreement(dataset, list(ANNOTATORS), run_key="strict", iou=0.8, progress=False)
    strict = load_agreement(dataset, "strict")
    app.refresh_panel()
    expect(app.choice("Run").locator("option")).to_have_count(2)
    app.expect_at_rest()
    app.open_tab("Objects", "Labels by verdict")
    for shown in (strict, report):
        app.choose("Run", shown.run_key)
        app.expect_score(shown)
        _expect_votes(app, shown)
        app.expect_at_rest()
        expect(app.choice("Run")).to_have_value(shown.run_key)
    # without waiting for what is shown, and the first request arrives late: it must not win over the last
    held: list[Route] = []
    app.page.route("**/operators/execute", lambda route: held.append(route), times=1)
    for shown in (strict, report) * 3:
        app.choose("Run", shown.run_key)
    app.page.wait_for_timeout(2000)  # others would be answered meanwhile
    held[0].continue_()
    app.expect_at_rest()
    app.expect_score(report)
    expect(app.choice("Run")).to_have_value("agreement")
    app.open_tab("Overview", "Score")
    # on a busy machine the choice is there before the numbers
    expect(app.panel.get_by_text("Score", exact=True).first).to_be_visible()
    # in the same task as the choice, before the browser draws anything: the new name, what is below it pale
    for run_key in ("strict", "agreement"):
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

    # the form concerns this run alone
    app.open_tab("Run", "This run: agreement")
    app.panel.get_by_role("button", name="Delete", exact=True).click()
    expect(app.form).to_contain_text("agreement_score")
    expect(app.form).not_to_contain_text("strict")
    app.page.keyboard.press("Escape")
    for run_key in list_agreements(dataset):
        delete_agreement(dataset, run_key)
    app.refresh_panel()
    expect(app.panel).to_contain_text(_WITHOUT_RUN)
    expect(app.errors).to_have_count(0)
