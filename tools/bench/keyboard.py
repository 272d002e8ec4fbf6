"""Deciding by keyboard in the real App, on the demo dataset: seconds from a key until the next object is shown."""

from __future__ import annotations

import itertools
import statistics
import time
from typing import TYPE_CHECKING

from tools.dev.browser import find_chromium, open_page, running_app
from tools.dev.demo_app import compute_run
from tools.dev.private_fiftyone import ROOT

from .output import Row, at_most, say

if TYPE_CHECKING:
    from playwright.sync_api import Page

_DATASET = "bench-keyboard"
_N = 42
_PANEL = "agreement_panel"


def measure() -> list[Row]:
    """The median of 42 decisions; nothing without Chromium."""
    import fiftyone as fo

    if find_chromium() is None:
        say("keyboard: there is no Chromium")
        return []
    with running_app(_DATASET, ROOT / ".dev" / "bench" / "app") as address:
        dataset = fo.load_dataset(_DATASET)
        compute_run(dataset, "boxes")
        with open_page(address) as page:
            seconds = _decide(page)
        dataset.delete()
    say(f"keyboard: {_N} decisions: {sum(seconds):.0f} s")
    return [Row("App, a decision by keyboard, median (s)", statistics.median(seconds), at_most(1))]


def _decide(page: Page) -> list[float]:
    """Open the panel, and press a key for every object."""
    page.locator("[data-cy='new-panel-btn']").first.click()
    page.locator(f"[data-cy='new-panel-option-{_PANEL}']").click()
    panel = page.locator(f"[data-cy='panel-content-{_PANEL}']")
    panel.get_by_role("tab", name="Decide", exact=True).click()
    panel.get_by_role("textbox").fill("bench")
    panel.get_by_role("button", name="Start").click()
    button = panel.locator("button[aria-keyshortcuts='S']:enabled")
    button.wait_for()
    seconds = []
    for key in itertools.islice(itertools.cycle("123s0"), _N):
        shown, began = button.element_handle(), time.perf_counter()
        page.keyboard.press(key)
        page.wait_for_function("button => !button.isConnected", arg=shown)
        seconds.append(time.perf_counter() - began)
    return seconds
