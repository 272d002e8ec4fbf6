"""Buttons and keys of FiftyOne itself work as they do without the plugin."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fiftyone as fo
import pytest
from playwright.sync_api import Page, expect

from tests.app.app_page import AppPage
from tests.app.counted import address_of
from tools.dev.private_fiftyone import ROOT

from annotator_agreement.dataset_io import compute_agreement, list_decisions

pytestmark = pytest.mark.browser

_TIMES = 20
#: two seconds of a laser scanner (300 random points) and a camera (a picture of one colour), in the encoding of ROS 2
_RECORDING = ROOT / "tests" / "data" / "recording.mcap"
#: counts from now on clicks on FiftyOne's buttons for the camera, and keys that reach the page
_COUNT = """() => {
    const counts = Boolean(window.arrived);
    window.arrived = {clicks: [], keys: []};
    if (counts) return;
    const keyOf = (part) => part.closest("button[title*='camera target']")?.getAttribute("aria-keyshortcuts");
    document.addEventListener("click", ({target}) => window.arrived.clicks.push(keyOf(target)));
    document.addEventListener("keydown", ({key}) => window.arrived.keys.push(key));
}"""


@pytest.fixture
def recordings(private_fiftyone: Any, tmp_path: Path) -> Iterator[fo.Dataset]:
    """Two recordings of a laser scanner and a camera, with a class by two annotators."""
    dataset = fo.Dataset(f"recordings-{os.getpid()}", persistent=True)
    for k, classes in enumerate((("city", "road"), ("road", "city"))):
        alice, bob = (fo.Classification(label=name) for name in classes)
        dataset.add_sample(fo.Sample(shutil.copy(_RECORDING, tmp_path / f"{k}.mcap"), alice=alice, bob=bob))
    yield dataset
    dataset.delete()


def _expect_all_to_arrive(app: AppPage) -> None:
    """Press FiftyOne's two buttons for the camera, and their keys, and count what arrives there."""
    page, expected = app.page, ["T", "E"] * (_TIMES // 2)
    page.evaluate(_COUNT)
    buttons = {"T": page.get_by_role("button", name="Top view"), "E": page.get_by_role("button", name="Ego view")}
    for key in expected:
        buttons[key].click(force=True)  # without waiting until the picture, which turns, is at rest
    for key in expected:
        page.keyboard.press(key.lower())
    assert page.evaluate("window.arrived.clicks") == expected
    assert page.evaluate("window.arrived.keys") == [key.lower() for key in expected]
    expect(page.get_by_text("Not answered yet")).to_have_count(0)


def test_buttons_and_keys_of_the_camera_arrive_without_a_run_and_beside_the_panel_whose_own_work_inside(
    page: Page, demo_address: str, recordings: fo.Dataset
) -> None:
    app, errors = AppPage(page), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_viewport_size({"width": 1000, "height": 700})  # the picture is drawn without a graphics card
    page.goto(address_of(recordings, demo_address), wait_until="domcontentloaded")
    tile = page.locator("[data-cy='grid-custom-renderer']").first
    expect(tile.locator("canvas")).to_be_visible()
    tile.click()
    expect(page.get_by_role("button", name="Top view")).to_be_visible()
    _expect_all_to_arrive(app)

    compute_agreement(recordings, ["alice", "bob"], resamples=0, progress=False)
    app.modal.locator("[data-cy='panel-tab-decide_panel']").click()
    beside = page.locator("[data-cy='panel-content-decide_panel']")
    app.modal.locator("[title='Split horizontally']").first.click()
    beside.get_by_role("textbox").fill("mia")
    page.keyboard.press("Enter")
    expect(beside).to_contain_text("0 of 2 decided")
    _expect_all_to_arrive(app)
    assert not list_decisions(recordings)

    page.keyboard.press("1")  # the last click was on the camera
    beside.get_by_text("0 of 2 decided").click()
    page.keyboard.press("1")
    expect(beside).to_contain_text("1 of 2 decided")
    assert [(each.choice, each.annotator) for each in list_decisions(recordings)] == [("version", "alice")]
    assert not errors
