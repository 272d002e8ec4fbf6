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
from annotator_agreement.dataset_io import load_agreement

pytestmark = pytest.mark.browser


@pytest.fixture
def app(page: Page, demo_address: str, dataset: Any) -> AppPage:
    """The App with a reference on two images of three, predictions, and two cameras."""
    dataset.clone_sample_field("alice", "gold")
    dataset.set_values("gold", [None if k % 3 == 0 else found for k, found in enumerate(dataset.values("gold"))])
    dataset.clone_sample_field("bob", "yolo")
    confidence = [[0.4 + k % 6 / 10 for k in range(len(of or ()))] for of in dataset.values("yolo.detections")]
    dataset.set_values("yolo.detections.confidence", confidence)
    dataset.set_values("camera", [("left", "right")[k % 2] for k in range(len(dataset))])
    show_dataset(page, address_of(dataset, demo_address))
    return AppPage(page)


def test_roles_are_guessed_compared_and_lead_to_labels_and_parts_to_images(app: AppPage, dataset: Any) -> None:
    form = app.press_compute()
    expect(form.locator(".MuiChip-root").filter(has_text="yolo")).to_have_count(1)  # as a model, not an annotator
    app.submit("Compute")
    app.expect_message("Computed the run")
    report = load_agreement(dataset)
    assert [entry.name for entry in report.annotators] == ["alice", "bob", "carol"]
    assert report.reference is not None
    assert (report.reference.name, [model.name for model in report.models]) == ("gold", ["yolo"])

    app.open_tab("Annotators", "Against the reference gold")
    expect(app.panel).to_contain_text("The model yolo")
    worst = min(report.reference.annotators, key=lambda entry: entry.f1)
    assert app.cells("Extra")[0][0] == worst.name
    app.drill_down(lambda: app.click_cell("Extra", "carol", "Missed"), "What carol missed")
    app.expect_shown(len(dataset.filter_labels("gold", F("agreement_missed_by").contains("carol"))))
    alone = load(dataset).view(model="yolo", annotators="carol", verdict="extra")
    app.drill_down(lambda: app.click_cell("yolo alone", "carol", "yolo alone"), "carol and yolo: yolo alone")
    app.expect_shown(len(alone))
    app.back()

    app.open_tab("By", "A click shows the images")
    app.choose("By", "camera")
    app.expect_at_rest()
    left = dataset.match(F("camera") == "left")
    assert [row[0] for row in app.cells("camera")] == ["left", "right"]
    app.drill_down(lambda: app.click_cell("camera", "left", "camera"), "left")
    app.expect_shown(len(left))
    app.back()
    expect(app.errors).to_have_count(0)


def test_values_of_the_attribute_are_roles_in_the_form_and_follow_it(
    page: Page, demo_address: str, dataset: Any
) -> None:
    names, lists = ("alice", "bob", "carol", "gold", "yolo"), []
    dataset.clone_sample_field("alice", "gold")
    dataset.clone_sample_field("bob", "yolo")
    for sample in dataset:
        copies = [(each.copy(), name) for name in names if sample[name] for each in sample[name].detections]
        for n, (each, name) in enumerate(copies):
            each["rater"], each["shift"] = name, ("day", "night")[n % 2]
            each.confidence = 0.5 if name == "yolo" else None
        lists.append(Detections(detections=[each for each, _ in copies]))
    for name in names:
        dataset.delete_sample_field(name)
    dataset.set_values("labels", lists)
    show_dataset(page, address_of(dataset, demo_address))
    app = AppPage(page)
    form = app.press_compute()
    models = form.locator(".MuiChip-root").filter(has_text="yolo")
    expect(models).to_have_count(1)
    attribute, reference = (form.get_by_role("combobox", name="Type or select a value").nth(k) for k in (0, 1))
    expect(reference).to_have_value("gold")
    attribute.click()
    page.get_by_role("option", name="shift").click()
    left_out = form.get_by_text(re.compile("^gold(, yolo)?: left out"))  # the App may take the model out itself
    expect(left_out).to_be_visible()
    attribute.click()
    page.get_by_role("option", name="rater").click()
    expect(left_out).to_have_count(0)
    expect(models).to_have_count(1)
    expect(reference).to_have_value("gold")
    app.submit("Compute")
    app.expect_message("Computed the run")
    report = load_agreement(dataset)
    assert [entry.name for entry in report.annotators] == ["alice", "bob", "carol"]
    assert report.reference is not None
    assert (report.reference.name, [model.name for model in report.models]) == ("gold", ["yolo"])
    expect(app.errors).to_have_count(0)
