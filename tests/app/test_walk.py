"""The whole walk of a user: compute, read, open the worst image, go back, and on to every next step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.app.app_page import AppPage, page_with_panel
from tests.app.counted import ANNOTATORS, address_of, copy_of_the_demo
from tests.datasets import join_fields

from annotator_agreement.dataset_io import compute_agreement, list_agreements, load_agreement

pytestmark = pytest.mark.browser


@pytest.fixture
def walk(browser: Browser, demo_address: str) -> Iterator[tuple[Any, AppPage]]:
    """A dataset of two annotators in one field, with a run from before, and its page."""
    for dataset in copy_of_the_demo(demo_address):
        join_fields(dataset, ["alice", "bob"], "drawn")
        dataset.delete_sample_fields(list(ANNOTATORS))
        options = {"annotator_attribute": "annotator", "assigned_field": "drawn_assigned", "run_key": "before"}
        compute_agreement(dataset, "drawn", **options, progress=False)
        with page_with_panel(browser, address_of(dataset, demo_address)) as app:
            yield dataset, app


def test_the_whole_walk(walk: tuple[Any, AppPage]) -> None:
    dataset, app = walk
    panel = app.panel
    # compute: the form is filled
    panel.get_by_role("button", name="Compute again").click()
    app.submit("Compute")
    app.expect_message("Computed the run")
    dataset.reload()
    (new,) = set(list_agreements(dataset)) - {"before"}
    report = load_agreement(dataset, new)
    # read: the panel shows the run just computed
    expect(app.choice("Run")).to_have_value(new)
    app.expect_score(report)
    expect(panel).to_contain_text("Two annotators cannot tell who of them is right")
    # the worst image, and back
    panel.get_by_role("button", name="1. ", exact=False).first.click()
    expect(app.modal).to_be_visible()
    app.close_modal()
    app.open_tab("Annotators", "Pairs of annotators")
    assert "Missed" not in app.table("Annotator").get_by_role("columnheader").all_inner_texts()
    name = app.cells("Annotator")[0][0]
    app.drill_down(lambda: app.click_cell("Annotator", name, "Lone"), name)
    expect(app.counts).not_to_have_text(f"{len(dataset)} samples")
    app.back()
    app.expect_shown(len(dataset))
    # the next steps have the run of the panel
    app.open_tab("Objects", "Labels by verdict")
    panel.get_by_role("button", name="Make a consensus").click()
    expect(app.form).to_contain_text(new)
    app.submit("Make")
    expect(app.messages.last).to_contain_text(f"into {new}_consensus")
    app.open_tab("Overview", "Next steps")
    panel.get_by_role("button", name="Compare with before").click()
    expect(app.form).to_contain_text("before")
    app.submit("Compare")
    expect(app.result).to_contain_text(f"run '{new}' compared with 'before'")
    app.close_result()
    panel.get_by_role("button", name="Export the report").click()
    expect(app.form).to_contain_text(new)
    with app.page.expect_download() as download:
        app.submit("Export")
    assert download.value.suggested_filename == f"{dataset.name}-{new}.html"
    assert report.score.mean is not None
    assert f"{report.score.mean:.3f}" in download.value.path().read_text("utf-8")
    app.close_result()
    # a label is edited: the panel says so, and brings the run up to date
    sample = dataset.first()
    sample[report.config["fields"][0]].detections[0].label = "other"
    sample.save()
    app.refresh_panel()
    expect(panel).to_contain_text("1 sample was saved or deleted since this run")
    panel.get_by_role("button", name="Update", exact=True).click()
    app.submit("Update")
    expect(app.messages.last).to_contain_text(f"Updated the run '{new}'")
    expect(panel).not_to_contain_text("since this run")
    panel.get_by_role("button", name="Show disputed objects").click()
    expect(app.counts).to_contain_text("patches")
    expect(panel).to_contain_text("Disputed objects, the worst first")
    app.back()
    expect(app.counts).to_contain_text("sample")
    # delete: it says what it removes, and asks
    panel.get_by_role("button", name="Delete this run").click()
    expect(app.form).to_contain_text(f"{new}_score")
    delete = app.form.get_by_role("button", name="Delete", exact=True)
    expect(delete).to_be_disabled()
    app.form.get_by_role("checkbox").last.click()
    expect(delete).to_be_enabled()
    delete.click()
    expect(app.messages.last).to_contain_text(f"Deleted the run '{new}'")
    dataset.reload()
    assert list_agreements(dataset) == ["before"]
    expect(app.errors).to_have_count(0)
