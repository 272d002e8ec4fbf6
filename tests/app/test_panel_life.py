"""The panel while things change: runs come and go, views are chosen, somebody deletes what it shows."""

from __future__ import annotations

import functools
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from dev.browser import show_dataset
from tests.app import expected_charts as expected
from tests.app.app_page import AppPage
from tests.app.counted import ANNOTATORS, Unit, n_samples_with, rated_units
from tests.app.plots import chart, click_point, drawn

from annotator_agreement import compute_agreement, delete_agreement, load_agreement

pytestmark = pytest.mark.browser


def test_a_run_computed_while_the_panel_is_open_is_shown_in_it(app: AppPage, dataset: Any) -> None:
    panel = app.open_panel()
    expect(panel).to_contain_text("No agreement was computed on this dataset yet")
    panel.get_by_role("button", name="Compute annotator agreement").click()
    app.submit("Compute")
    expect(app.result).to_contain_text("Krippendorff")
    app.close_result()
    dataset.reload()
    report = load_agreement(dataset)
    expect(panel).to_contain_text(f"Score {report.score.mean:.3f}")
    (verdicts,) = drawn(chart(panel, "verdicts"))
    assert dict(zip(verdicts["x"], verdicts["y"], strict=True)) == expected.verdicts(report)
    # it was open already, and there is only one
    expect(app.panel_tab).to_have_count(1)
    app.page.locator("[data-cy='new-panel-btn']").first.click()
    expect(app.page.locator("[data-cy='new-panel-option-Histograms']")).to_be_visible()
    expect(app.page.locator("[data-cy='new-panel-option-agreement_panel']")).to_have_count(0)


def test_the_panel_shows_the_run_that_is_chosen(report: Any, app: AppPage, dataset: Any) -> None:
    panel = app.open_panel()
    expect(panel).to_contain_text(f"Score {report.score.mean:.3f}")
    # by somebody else, while the panel is open
    compute_agreement(dataset, list(ANNOTATORS), run_key="strict", iou=0.8, progress=False)
    strict = load_agreement(dataset, "strict")
    app.refresh_panel()
    app.choose_run("strict")
    expect(panel).to_contain_text(f"Score {strict.score.mean:.3f}")
    (votes,) = drawn(chart(panel, "votes"))
    assert dict(zip(votes["x"], votes["y"], strict=True)) == expected.votes(strict)
    app.choose_run("agreement")
    expect(panel).to_contain_text(f"Score {report.score.mean:.3f}")
    (votes,) = drawn(chart(panel, "votes"))
    assert dict(zip(votes["x"], votes["y"], strict=True)) == expected.votes(report)


def test_the_numbers_follow_the_view_if_asked_to(report: Any, page: Page, demo_address: str, dataset: Any) -> None:
    view = dataset.match({"agreement_n_units": {"$lt": 12}})
    dataset.save_view("few", view)
    ids = set(view.values("id"))
    show_dataset(page, f"{demo_address.rsplit('/', 1)[0]}/{dataset.name}?view=few")
    app = AppPage(page)
    app.expect_shown(len(ids))
    panel = app.open_panel()
    (bars,) = drawn(chart(panel, "verdicts"))
    assert sum(bars["y"]) == sum(expected.verdicts(report).values())
    panel.get_by_role("checkbox").first.click()
    expect(panel).to_contain_text(f"part of the run: {len(ids)} of its {len(dataset)} samples")
    of_view = [unit for unit in rated_units(dataset) if unit.sample_id in ids]
    labels = [label["agreement"] for unit in of_view for label in unit.members.values()]
    (bars,) = drawn(chart(panel, "verdicts"))
    assert dict(zip(bars["x"], bars["y"], strict=True)) == {name: labels.count(name) for name in set(labels)}
    # a door leads to samples of the view, and the numbers stay those of the view
    number, verdict = next((k, name) for k, name in enumerate(bars["x"]) if name != "agreed")
    click = functools.partial(click_point, page, chart(panel, "verdicts"), 0, number)
    app.open_door(click, f"Labels with the verdict {verdict}")
    app.expect_shown(len({unit.sample_id for unit in of_view if verdict in unit.verdicts}))
    expect(panel).to_contain_text(f"part of the run: {len(ids)} of its {len(dataset)} samples")
    app.back()
    app.expect_shown(len(ids))


def test_a_run_that_somebody_deletes_leaves_a_sentence(report: Any, app: AppPage, dataset: Any) -> None:
    panel = app.open_panel()
    expect(panel).to_contain_text(f"Score {report.score.mean:.3f}")
    delete_agreement(dataset, "agreement")
    app.refresh_panel()
    # the first where the App has already told the panel which run its list shows
    expect(panel).to_contain_text(re.compile("The run 'agreement' is gone|No agreement was computed"))
    expect(panel.get_by_role("button", name="Compute annotator agreement")).to_be_visible()
    expect(panel.locator(".js-plotly-plot")).to_have_count(0)
    expect(app.errors).to_have_count(0)
    app.expect_shown(len(dataset))


def test_a_field_that_somebody_deletes_leaves_numbers_and_a_warning(report: Any, app: AppPage, dataset: Any) -> None:
    panel = app.open_panel()
    expect(panel).to_contain_text(f"Score {report.score.mean:.3f}")
    dataset.delete_sample_field("agreement_score")
    app.refresh_panel()
    expect(panel).to_contain_text("Fields of this run were deleted: agreement_score.")
    expect(panel).to_contain_text(f"Score {report.score.mean:.3f}")
    expect(app.errors).to_have_count(0)


def test_back_returns_to_the_view_that_the_user_had(report: Any, page: Page, demo_address: str, dataset: Any) -> None:
    """Also after several doors, one from behind the other."""
    mine = dataset.match({"agreement_n_units": {"$lt": 12}}).sort_by("filepath")
    dataset.save_view("mine", mine)
    ids = set(mine.values("id"))
    show_dataset(page, f"{demo_address.rsplit('/', 1)[0]}/{dataset.name}?view=mine")
    app = AppPage(page)
    app.expect_shown(len(ids))
    panel = app.open_panel()
    plot = chart(panel, "verdicts")
    (bars,) = drawn(plot)
    for verdict in ("missed", "lone"):

        def of_verdict(unit: Unit, verdict: str = verdict) -> bool:
            return verdict in unit.verdicts

        click = functools.partial(click_point, page, plot, 0, bars["x"].index(verdict))
        app.open_door(click, f"Labels with the verdict {verdict}")
        n = n_samples_with(dataset, of_verdict)
        assert n != len(ids)
        app.expect_shown(n)
    app.back()
    app.expect_shown(len(ids))
