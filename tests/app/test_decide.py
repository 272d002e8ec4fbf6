"""Disputed objects are decided in the panel."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import fiftyone as fo
import pytest
from playwright.sync_api import expect

from tests.app.app_page import AppPage

from annotator_agreement import (
    compute_agreement,
    decide,
    decided_against,
    join_annotators,
    list_decisions,
    load_agreement,
)

pytestmark = pytest.mark.browser


def _open_tab(app: AppPage, n_decided: int) -> None:
    """Open the tab, and say a name."""
    app.open_tab("Decide", "Your name is stored with every decision")
    app.panel.get_by_role("button", name="Start").click()
    expect(app.panel).to_contain_text(f"{n_decided} of ")


def _boxes(samples: Any, field: str) -> list[tuple[Any, ...]]:
    """Class and box of all labels in a field."""
    labels = itertools.chain(*(found or () for found in samples.values(f"{field}.detections")))
    return sorted((label.label, *(round(number, 4) for number in label.bounding_box)) for label in labels)


def _choose(app: AppPage, verdict: str, says: str | re.Pattern[str]) -> None:
    """Choose a verdict, and wait until the tab shows its objects."""
    app.panel.get_by_role("combobox").nth(2).click()
    app.page.get_by_role("option", name=verdict, exact=True).click()
    expect(app.panel).to_contain_text(says)


def _press(app: AppPage, name: str | re.Pattern[str], says: str | re.Pattern[str]) -> None:
    """Press a button of the tab, and wait until it says how far it is."""
    app.panel.get_by_role("button", name=name).first.click()
    expect(app.panel).to_contain_text(says)


def _edit(app: AppPage, field: str, label: str) -> None:
    """Change the class of the label in hand in FiftyOne's own form, and wait until the tab says so."""
    app.panel.get_by_role("button", name="Edit", exact=True).click()
    app.expect_shown(1, "patch")
    expect(app.page.locator(f"[data-cy='checkbox-{field}'] input").first).to_be_checked()
    app.page.locator("[data-cy='fo-grid'] [data-cy='looker']").first.click()
    expect(app.modal).to_contain_text("Edit Detection")
    app.modal.locator("[data-cy='root_label_container'] input").click()
    with app.page.expect_response(lambda response: response.request.method == "PATCH") as saved:
        app.page.get_by_role("option", name=label, exact=True).click()
    assert saved.value.ok
    app.close_modal()
    expect(app.panel).to_contain_text("decided: own label")


def test_objects_are_decided_undone_after_closing_decided_by_rule_and_exported(
    app: AppPage, dataset: Any, report: Any, tmp_path: Path
) -> None:
    app.open_panel()
    n = sum(value or 0 for value in dataset.values("agreement_n_disputed"))
    _open_tab(app, 0)
    expect(app.panel.get_by_role("img").last).to_be_visible()
    _press(app, re.compile("^(alice|bob|carol): (?!–)"), f"1 of {n} decided")
    _press(app, "No object", f"2 of {n} decided")
    _press(app, "Skip", f"2 of {n} decided, 1 skipped")
    _press(app, "No object", f"3 of {n} decided, 1 skipped")
    _press(app, "Undo", f"2 of {n} decided, 1 skipped")
    dataset.reload()
    assert [each.choice for each in list_decisions(dataset)] == ["version", "none", "skip"]
    assert dataset.count("agreement_gold.detections") == 1

    _choose(app, "only theirs", re.compile("only theirs · "))
    app.page.reload()
    expect(app.panel).to_contain_text(re.compile("only theirs · "))
    _choose(app, "all disputed", f"2 of {n} decided, 1 skipped")
    _edit(app, "agreement_gold", "star")
    _press(app, "Done", f"3 of {n} decided, 1 skipped")
    expect(app.panel.get_by_role("button", name="Done")).to_have_count(0)  # the next object is shown
    assert [each.choice for each in list_decisions(dataset)] == ["version", "none", "skip", "own"]
    assert "star" in dataset.distinct("agreement_gold.detections.label")
    _press(app, "Undo", re.compile("decided: (alice|bob|carol|consensus)"))
    _press(app, "Undo", f"2 of {n} decided, 1 skipped")  # and then what was decided before the page was closed
    _press(app, "Undo", re.compile(f"2 of {n} decided(?!, 1 skipped)"))
    _press(app, "Undo", f"1 of {n} decided")
    dataset.reload()
    assert [each.choice for each in list_decisions(dataset)] == ["version"]

    decide(dataset, choice="none", verdict="lone")
    decide(dataset, min_votes=2)
    decided = [each for each in list_decisions(dataset) if each.verdict != "agreed" and each.choice != "skip"]
    _press(app, "How right everybody was", f"{len(decided)} of {n} disputed objects were decided")
    app.drill_down(lambda: app.click_cell("too many", "alice", "missed"), "Decided against alice")
    app.expect_shown(len(decided_against(dataset, "alice")))

    found = dataset.match(fo.ViewField("agreement_gold.detections").length() > 0)
    found.export(str(tmp_path), fo.types.COCODetectionDataset, label_field="agreement_gold", export_media=False)
    options = {"data_path": str(Path(dataset.first().filepath).parent), "labels_path": str(tmp_path / "labels.json")}
    back = fo.Dataset.from_dir(dataset_type=fo.types.COCODetectionDataset, **options)
    assert _boxes(back, "detections") == _boxes(dataset, "agreement_gold")
    back.delete()
    expect(app.errors).to_have_count(0)


def test_objects_of_two_annotators_in_one_field_are_decided_applied_and_counted_again(
    app: AppPage, dataset: Any
) -> None:
    join_annotators(dataset, ["alice", "bob"], "boxes", progress=False)
    options: dict[str, Any] = {"annotator_attribute": "annotator", "assigned_field": "boxes_assigned"}
    before = compute_agreement(dataset, "boxes", resamples=0, sensitivity=False, progress=False, **options)
    app.open_panel()
    n = sum(value or 0 for value in dataset.values("agreement_n_disputed"))
    _open_tab(app, 0)
    _press(app, re.compile("^(alice|bob): (?!–)"), f"1 of {n} decided")
    app.panel.get_by_role("button", name="Open", exact=True).click()
    app.modal.locator("[data-cy='panel-tab-decide_panel']").click()
    beside = app.page.locator("[data-cy='panel-content-decide_panel']")
    beside.get_by_role("button", name="Start").click()
    expect(beside).to_contain_text(f"1 of {n} decided")
    beside.get_by_role("button", name="No object").click()
    expect(beside).to_contain_text(f"2 of {n} decided")
    app.close_modal()
    expect(app.panel).to_contain_text(f"2 of {n} decided")
    dataset.reload()
    version, none = list_decisions(dataset)
    assert (version.choice, none.choice) == ("version", "none")

    # the list to send, then the annotators' labels follow the decisions
    labels = _boxes(dataset, "boxes")
    _press(app, "How right everybody was", "2 of ")
    app.panel.get_by_role("button", name="List to send").click()
    expect(app.form).to_contain_text("Annotator")
    with app.page.expect_download() as download:
        app.submit("Export")
    assert download.value.suggested_filename == f"{dataset.name}-alice.html"
    app.close_result()
    app.panel.get_by_role("button", name="Apply to labels").click()
    expect(app.form).to_contain_text("Nothing is changed yet")
    app.form.get_by_role("checkbox").last.click()
    app.submit("Change labels")
    expect(app.messages.last).to_contain_text("Changed the labels of 2 objects")
    assert _boxes(dataset, "boxes") != labels
    app.panel.get_by_role("button", name="Update", exact=True).click()
    app.submit("Update")
    expect(app.messages.last).to_contain_text("Updated the run 'agreement'")
    app.close_result()
    after = load_agreement(dataset)
    assert after.alpha.pooled > before.alpha.pooled
    app.expect_score(after)
    app.open_tab("Overview", "Next steps")
    app.panel.get_by_role("button", name="Before and after the update").click()
    app.submit("Compare")
    expect(app.result).to_contain_text(f"{after.alpha.pooled:.3f}")
    expect(app.result).to_contain_text(f"{before.alpha.pooled:.3f}")
    app.close_result()
    app.open_tab("Decide", "Count again")
    app.panel.get_by_role("button", name="Take back from labels").click()
    app.submit("Take back")
    expect(app.messages.last).to_contain_text("Took back what was applied to 2 objects")
    dataset.reload()
    assert _boxes(dataset, "boxes") == labels
    assert len(list_decisions(dataset)) == 2
    expect(app.errors).to_have_count(0)
