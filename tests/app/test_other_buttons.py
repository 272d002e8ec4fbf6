"""Buttons and keys of FiftyOne itself work as they do without the plugin."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fiftyone as fo
import pytest
from playwright.sync_api import Page, expect

from tests.app.app_page import AppPage
from tests.app.demo_copies import address_of
from tests.app.recording import write_recording

from annotator_agreement.dataset_io import compute_agreement, list_decisions

pytestmark = pytest.mark.browser

_TIMES = 20
_numbers = itertools.count()
#: counts clicks on FiftyOne's buttons for the camera, and keys that reach the page
_COUNT = """() => {
    window.arrived = {clicks: [], keys: []};
    const keyOf = (part) => part.closest("button[title*='camera target']")?.getAttribute("aria-keyshortcuts");
    document.addEventListener("click", ({target}) => window.arrived.clicks.push(keyOf(target)));
    document.addEventListener("keydown", ({key}) => window.arrived.keys.push(key));
}"""


@pytest.fixture
def recordings(private_fiftyone: Any, tmp_path: Path) -> Iterator[fo.Dataset]:
    """Two recordings of a laser scanner and a camera, with a class by two annotators."""
    dataset = fo.Dataset(f"recordings-{os.getpid()}-{next(_numbers)}", persistent=True)
    samples = []
    for k, classes in enumerate((("city", "road"), ("road", "city"))):
        write_recording(path := tmp_path / f"{k}.mcap")
        labels = [fo.Classification(label=name) for name in classes]
        samples.append(fo.Sample(path, alice=labels[0], bob=labels[1]))
    dataset.add_samples(samples, progress=False)
    yield dataset
    dataset.delete()


def _open_sample(app: AppPage, address: str) -> None:
    app.page.set_viewport_size({"width": 1000, "height": 700})  # the picture is drawn without a graphics card
    app.page.goto(address, wait_until="domcontentloaded")
    tile = app.page.locator("[data-cy='grid-custom-renderer']").first
    expect(tile.locator("canvas")).to_be_visible()
    tile.click()
    expect(app.page.get_by_role("button", name="Top view")).to_be_visible()


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


def test_buttons_and_keys_of_the_camera_arrive_without_a_run(
    page: Page, demo_address: str, recordings: fo.Dataset
) -> None:
    app, errors = AppPage(page), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    _open_sample(app, address_of(recordings, demo_address))
    _expect_all_to_arrive(app)
    assert not errors


def test_buttons_and_keys_of_the_camera_arrive_beside_the_panel_and_its_own_work_inside(
    page: Page, demo_address: str, recordings: fo.Dataset
) -> None:
    compute_agreement(recordings, ["alice", "bob"], progress=False)
    app, errors = AppPage(page), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    _open_sample(app, address_of(recordings, demo_address))
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
    expect(beside).to_contain_text(re.compile("1 of 2 decided"))
    assert [(each.choice, each.annotator) for each in list_decisions(recordings)] == [("version", "alice")]
    assert not errors
