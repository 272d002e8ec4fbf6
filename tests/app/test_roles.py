"""A reference, a model and parts of the data in the App: guessed by the form, in the panel, with ways to labels."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fiftyone import Detections
from fiftyone import ViewField as F
from playwright.sync_api import Page, expect

from tests.app.app_page import AppPage
from tests.app.counted import address_of
from tools.dev.browser import show_dataset

from annotator_agreement import load

pytestmark = pytest.mark.browser


@pytest.fixture
def app(page: Page, demo_address: str, dataset: Any) -> AppPage:
    """The App with all labels in one field, also those of a reference and a model, and two cameras."""
    names = ("alice", "bob", "carol", "gold", "yolo")
    dataset.clone_sample_field("alice", "gold")
    dataset.clone_sample_field("bob", "yolo")
    for sample in dataset.iter_samples(autosave=True):
        copies = [(each.copy(), name) for name in names if sample[name] for each in sample[name].detections]
        for n, (each, name) in enumerate(copies):
            each["rater"], each["shift"] = name, ("day", "night")[n % 2]
            each.confidence = 0.5 if name == "yolo" else None
        sample["labels"] = Detections(detections=[each for each, _ in copies])
    dataset.delete_sample_fields(list(names))
    dataset.set_values("camera", [("left", "right")[k % 2] for k in range(len(dataset))])
    show_dataset(page, address_of(dataset, demo_address))
    return AppPage(page)


def test_roles_are_guessed_follow_the_attribute_and_lead_to_labels_and_parts_to_images(
    app: AppPage, dataset: Any
) -> None:
    form = app.press_compute()
    models = form.locator(".MuiChip-root").filter(has_text="yolo")
    expect(models).to_have_count(1)  # as a model, not an annotator
    attribute, reference = (form.get_by_role("combobox", name="Type or select a value").nth(k) for k in (0, 1))
    expect(reference).to_have_value("gold")
    attribute.click()
    app.page.get_by_role("option", name="shift").click()
    left_out = form.get_by_text(re.compile("^gold(, yolo)?: left out"))  # the App may take the model out itself
    expect(left_out).to_be_visible()
    attribute.click()
    app.page.get_by_role("option", name="rater").click()
    expect(left_out).to_have_count(0)
    expect(models).to_have_count(1)
    expect(reference).to_have_value("gold")
    app.submit("Compute")
    app.expect_message("Computed the run")
    dataset.reload()
    run = load(dataset)
    assert [entry.name for entry in run.annotators] == ["alice", "bob", "carol"]
    assert (run.reference.name, [model.name for model in run.models]) == ("gold", ["yolo"])

    app.open_tab("Annotators", "Against the reference gold")
    expect(app.panel).to_contain_text("The model yolo")
    worst = min(run.reference.annotators, key=lambda entry: entry.f1)
    assert app.cells("Extra")[0][0] == worst.name
    app.drill_down(lambda: app.click_cell("Extra", "carol", "Missed"), "What carol missed")
    missed = (F("rater") == "gold") & F("agreement_missed_by").contains("carol")
    app.expect_shown(len(dataset.filter_labels("labels", missed)))
    alone = run.view(model="yolo", annotators="carol", verdict="extra")
    app.drill_down(lambda: app.click_cell("yolo alone", "carol", "yolo alone"), "carol and yolo: yolo alone")
    app.expect_shown(len(alone))
    app.back()

    app.open_tab("By", "A click shows the images")
    app.choose("By", "camera")
    app.expect_at_rest()
    assert [row[0] for row in app.cells("camera")] == ["left", "right"]
    app.drill_down(lambda: app.click_cell("camera", "left", "camera"), "left")
    app.expect_shown(len(dataset.match(F("camera") == "left")))
    app.back()
    expect(app.errors).to_have_count(0)
