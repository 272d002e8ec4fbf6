"""Annotation files in the App: imported through the form, compared, and seen in the panel."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fiftyone as fo
import pytest
from PIL import Image
from playwright.sync_api import Page, Request, Route, expect

from tests.app.app_page import AppPage
from tests.app.demo_copies import address_of
from tests.conftest import SHARED_DATA
from tests.dataset_io.annotation_samples import coco, written
from tools.dev.browser import show_dataset

from annotator_agreement.dataset_io import load_agreement

pytestmark = pytest.mark.browser

IMPORT = "Import annotations of several annotators"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short name, which is typed."""
    with tempfile.TemporaryDirectory(prefix="i") as name:
        yield Path(name)


@pytest.fixture
def images(demo_address: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A dataset with samples of images of these names; nobody has labels yet."""
    for name in request.param:
        Image.new("RGB", (64, 48), "gray").save(tmp_path / name)
    dataset = fo.Dataset(f"import-{os.getpid()}", persistent=True)
    dataset.add_samples([fo.Sample(str(tmp_path / name)) for name in request.param])
    yield dataset
    dataset.delete()


@pytest.mark.journey
@pytest.mark.parametrize("images", [[]], indirect=True)
def test_two_files_are_typed_into_an_empty_dataset_imported_and_compared(
    page: Page, demo_address: str, images: Any, folder: Path
) -> None:
    for name in ("a.json", "b.json"):
        labels = [{"image_id": n, "bbox": [4, 5, 10, 10], "category_id": n + 1} for n in range(2)]
        written(folder / name, coco([{"file_name": f"{n}.png"} for n in range(2)], labels))
    (folder / "m").mkdir()
    for n in range(2):
        Image.new("RGB", (64, 48), "gray").save(folder / "m" / f"{n}.png")
    page.goto(address_of(images, demo_address), wait_until="domcontentloaded")
    expect(page.get_by_text("No samples yet")).to_be_visible()
    app = AppPage(page)
    form = app.find_operator(IMPORT)
    button = form.get_by_role("button", name="Import", exact=True)
    form.get_by_text("A file for each annotator", exact=True).click()
    boxes = form.get_by_role("textbox")
    expect(form).to_contain_text("Annotator 2")
    for place, text in enumerate(["alice", f"{folder}/a.json", "bob", f"{folder}/b.jso"]):
        boxes.nth(place).press_sequentially(text, delay=90)
    expect(form).to_contain_text(f"There is no file '{folder}/b.jso'")
    expect(button).to_be_disabled()
    boxes.nth(3).press_sequentially("n", delay=90)
    expect(form).to_contain_text("Choose the folder with the images")
    boxes.nth(6).press_sequentially(f"{folder}/m", delay=90)  # after the empty row of a third annotator
    expect(form).to_contain_text("2 annotators, 2 images, 2 of them new samples")
    expect(form).not_to_contain_text("Required property")
    expect(button).to_be_enabled()
    button.dblclick()
    app.expect_message("Imported the labels of 2 annotators on 2 images, 2 of them new samples")

    # the form does not come back; that of the next step opens
    expect(form).to_contain_text("What the fields hold")
    expect(form).not_to_contain_text("What do you have?")
    app.expect_shown(2)
    expect(form).to_contain_text("What the fields hold")
    app.submit("Compute")
    app.expect_message("Computed the run 'agreement'")
    images.reload()
    app.expect_score(load_agreement(images))
    expect(app.errors).to_have_count(0)


@pytest.mark.parametrize("images", [["a.png"]], indirect=True)
def test_an_answer_that_comes_late_does_not_win(page: Page, demo_address: str, images: Any, folder: Path) -> None:
    wrong, right = folder / "no such.json", folder / "a 'quoted' name.json"
    written(right, coco([{"file_name": "a.png"}], [{"image_id": 0, "bbox": [4, 5, 10, 10], "rater_id": "ann"}]))
    show_dataset(page, address_of(images, demo_address))
    app = AppPage(page)
    form = app.find_operator(IMPORT)
    expect(form).to_contain_text("Choose the file with the annotations")
    held: list[Route] = []

    def asks(request: Request) -> bool:
        return "resolve-type" in request.url and str(wrong) in (request.post_data or "")

    page.route(
        "**/operators/resolve-type",
        lambda route: held.append(route) if asks(route.request) else route.continue_(),
    )
    path = form.get_by_role("textbox").first
    for _ in range(2):
        with page.expect_request(asks):
            path.fill(str(wrong))
        path.fill(str(right))
        expect(form).to_contain_text("To be imported into")
        with page.expect_response(lambda answer: asks(answer.request)):
            held.pop().continue_()
        page.wait_for_timeout(500)
        expect(form).to_contain_text("To be imported into")
        expect(form).not_to_contain_text("There is no file")
        expect(form.get_by_role("button", name="Import", exact=True)).to_be_enabled()
        path.fill("")
        expect(form).to_contain_text("Choose the file with the annotations")


_TASKS = SHARED_DATA / "label_studio" / "boxes_5x3.json"
_NAMES = [task["file_upload"] for task in json.loads(_TASKS.read_text())] if _TASKS.is_file() else []


@pytest.mark.skipif(not _NAMES, reason=f"needs {_TASKS}, which is not part of the repository")
@pytest.mark.parametrize("images", [[*_NAMES, "another.png"]], indirect=True)
def test_a_file_is_imported_compared_and_seen_in_the_panel(page: Page, demo_address: str, images: Any) -> None:
    show_dataset(page, address_of(images, demo_address))
    app = AppPage(page)
    app.expect_shown(6)
    form = app.find_operator(IMPORT)
    form.get_by_role("textbox").first.fill(str(_TASKS))
    expect(form).to_contain_text("To be imported into")
    expect(form).to_contain_text("rater3@example.com")
    expect(form).to_contain_text("31 detections")
    app.submit("Import")
    app.expect_message("Imported the labels of 3 annotators on 5 images")
    expect(form).to_contain_text("What the fields hold")
    expect(app.sidebar_field("rater2_example_com")).to_be_visible()
    for number in (1, 2, 3):  # a row: labels, images with labels, with an empty list, without a list
        expect(form).to_contain_text(re.compile(rf"rater{number}_example_com\d\d501"))
    form.get_by_text("looked and drew nothing").click()
    app.submit("Compute")
    app.expect_message("Computed the run")

    images.reload()
    report = load_agreement(images)
    assert (report.n_objects, report.n_rated, report.config["no_labels"]) == (91, 6, "drew_nothing")
    app.expect_score(report)
