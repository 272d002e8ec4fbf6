"""Annotation files in the App: imported through the form, compared, and seen in the panel."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fiftyone as fo
import pytest
from PIL import Image
from playwright.sync_api import Page, Request, Route, expect

from tests.app.app_page import AppPage
from tests.app.counted import address_of
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

    def type_into(place: int, text: str) -> None:
        boxes.nth(place).fill(text[:-4])
        boxes.nth(place).press_sequentially(text[-4:], delay=90)

    for place, text in enumerate(["alice", f"{folder}/a.json", "bob", f"{folder}/b.jso"]):
        type_into(place, text)
    expect(form).to_contain_text(f"There is no file '{folder}/b.jso'")
    expect(button).to_be_disabled()
    boxes.nth(3).press_sequentially("n", delay=90)
    expect(form).to_contain_text("Choose the folder with the images")
    type_into(6, f"{folder}/m")  # after the empty row of a third annotator
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
        "**/operators/resolve-type", lambda route: held.append(route) if asks(route.request) else route.continue_()
    )
    path = form.get_by_role("textbox").first
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
