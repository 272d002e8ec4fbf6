"""A file of Label Studio in the App: imported through the form, compared, and seen in the panel."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fiftyone as fo
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.app.app_page import AppPage
from tests.app.demo_copies import address_of
from tools.dev.browser import show_dataset

from annotator_agreement import load_agreement

pytestmark = pytest.mark.browser


@pytest.fixture
def images(demo_address: str, shared_data: Path, tmp_path: Path) -> Iterator[Any]:
    """The images of the sample, and one more; nobody has labels yet."""
    path = shared_data / "label_studio" / "boxes_5x3.json"
    if not path.is_file():
        pytest.skip(f"needs {path}, which is not part of the repository")
    names = [*(task["file_upload"] for task in json.loads(path.read_text())), "another.png"]
    for name in names:
        Image.new("RGB", (64, 48), "gray").save(tmp_path / name)
    dataset = fo.Dataset(f"import-{os.getpid()}", persistent=True)
    dataset.add_samples([fo.Sample(str(tmp_path / name)) for name in names])
    yield dataset
    dataset.delete()


def test_a_file_is_imported_compared_and_seen_in_the_panel(
    page: Page, demo_address: str, images: Any, shared_data: Path
) -> None:
    show_dataset(page, address_of(images, demo_address))
    app = AppPage(page)
    app.expect_shown(6)
    form = app.find_operator("Import annotations of several annotators")
    form.get_by_role("textbox").first.fill(str(shared_data / "label_studio" / "boxes_5x3.json"))
    expect(form).to_contain_text("To be imported into")
    expect(form).to_contain_text("rater3@example.com")
    expect(form).to_contain_text("31 detections")
    app.submit("Import")
    expect(app.result).to_contain_text("Imported into")
    expect(app.result).to_contain_text("compute_agreement(dataset, ['rater1_example_com'")
    app.close_result()
    expect(app.sidebar_field("rater2_example_com")).to_be_visible()

    form = app.press_compute()
    expect(form).to_contain_text("What the fields hold")
    for number in (1, 2, 3):  # a row: labels, images with labels, with an empty list, without a list
        expect(form).to_contain_text(re.compile(rf"rater{number}_example_com\d\d501"))
    form.get_by_text("looked and drew nothing").click()
    app.submit("Compute")
    expect(app.result).to_contain_text("Krippendorff")
    app.close_result()

    images.reload()
    report = load_agreement(images)
    assert (report.n_objects, report.n_rated, report.config["no_labels"]) == (91, 6, "drew_nothing")
    app.expect_score(report)
