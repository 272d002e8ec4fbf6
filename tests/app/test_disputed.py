"""Disputed objects in the App: shown one by one, tagged, decided, and gone with the run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Response, expect

from tests.app.app_page import AppPage
from tests.app.counted import ANNOTATORS, documents, rated_units, units

pytestmark = pytest.mark.browser

#: sample fields of a run
WRITTEN = ("score", "alpha", "iou", "dice", "n_annotators", "n_units", "n_disputed")


def _show_disputed(app: AppPage) -> list[dict[str, Any]]:
    """Open the disputed objects; returns the first patches as the App gets them, in its order."""
    form = app.find_operator("Show disputed objects")
    expect(form).to_contain_text("Write the objects first")
    with app.page.expect_response(_holds_patches) as answer:
        app.submit("Show")
    expect(app.counts).to_contain_text("patches")
    return _samples(answer.value)


def _holds_patches(answer: Response) -> bool:
    """Whether this is the first page of patches."""
    asked = answer.request.post_data or ""
    if "graphql" not in answer.url or "paginateSamples" not in asked:
        return False
    return not json.loads(asked)["variables"].get("after") and any("_sample_id" in each for each in _samples(answer))


def _samples(answer: Response) -> list[dict[str, Any]]:
    return [edge["node"]["sample"] for edge in answer.json()["data"]["samples"]["edges"]]


def _drawn_by(patch: dict[str, Any]) -> dict[str, list[str]]:
    """The labels of every annotator in a patch."""
    lists = {name: (patch.get(name) or {}).get("detections") or [] for name in ANNOTATORS}
    return {name: [label["_id"] for label in labels] for name, labels in lists.items() if labels}


def _disputed(dataset: Any) -> dict[tuple[str, str], dict[str, list[str]]]:
    """The objects that annotators disagree about: who drew them, with the label of each."""
    return {
        (unit.sample_id, unit.unit_id): {name: [str(label["_id"])] for name, label in unit.members.items()}
        for unit in rated_units(dataset)
        if unit.verdicts != {"agreed"}
    }


def _labels(dataset: Any) -> list[tuple[str, dict[str, Any]]]:
    """Every label of every annotator, as it is in the database."""
    return [
        (name, label)
        for document in documents(dataset)
        for name in ANNOTATORS
        for label in (document.get(name) or {}).get("detections") or []
    ]


def test_a_disputed_object_is_shown_with_the_label_of_everybody_who_drew_it(
    report: Any, app: AppPage, dataset: Any
) -> None:
    disputed = _disputed(dataset)
    patches = _show_disputed(app)
    app.expect_shown(len(disputed), "patch")
    assert patches
    for patch in patches:
        assert _drawn_by(patch) == disputed[patch["_sample_id"], patch["agreement_units"]["unit"]]

    app.page.locator("[data-cy='fo-grid'] [data-cy='looker']").first.click()
    for patch in patches[:2]:
        expect(app.modal.locator("[data-cy='sidebar-entry-id']")).to_contain_text(patch["_id"])
        for name in (*ANNOTATORS, "agreement_units"):
            count = app.modal.locator(f"[data-cy='sidebar-field-container-{name}'] [data-cy='entry-count-all']")
            expect(count).to_have_text("1" if name in _drawn_by(patch) or name not in ANNOTATORS else "0")
        app.modal.locator("[data-cy='nav-right-button']").click()


def test_the_consensus_is_written_beside_the_labels_and_all_that_a_run_wrote_goes_with_it(
    report: Any, app: AppPage, dataset: Any
) -> None:
    before = _labels(dataset)
    form = app.find_operator("Make consensus labels")
    expect(form).to_contain_text("The annotators' own labels are not touched")
    app.submit("Make")
    enough = [unit for unit in units(dataset) if 2 * len(unit.members) > len(unit.assigned) and not unit.is_tie]
    expect(app.messages.last).to_contain_text(f"Wrote {len(enough)} labels into agreement_consensus")
    expect(app.sidebar_field("agreement_consensus")).to_be_visible()
    found = [label for document in documents(dataset) for label in _consensus(document)]
    assert len(found) == len(enough)
    assert _labels(dataset) == before

    for name in WRITTEN:
        expect(app.sidebar_field(f"agreement_{name}")).to_be_visible()
    form = app.find_operator("Delete annotator agreement")
    expect(form).to_contain_text("Your own labels and fields are not touched")
    form.get_by_role("checkbox").last.click()
    app.submit("Delete")
    expect(app.messages.last).to_contain_text("Deleted the run 'agreement'")
    expect(app.page.locator("[data-cy^='sidebar-field-agreement']")).to_have_count(0)
    dataset.reload()
    assert dataset.list_runs() == []
    assert "agreement" not in str(dataset.get_field_schema(flat=True))
    assert not any(_consensus(document) for document in documents(dataset))
    assert "agreement" not in str([document.get(name) for document in documents(dataset) for name in ANNOTATORS])


def _consensus(document: dict[str, Any]) -> list[dict[str, Any]]:
    return (document.get("agreement_consensus") or {}).get("detections") or []
