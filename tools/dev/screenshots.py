"""``make screenshots``: take the pictures of README and docs in both themes, from the demo dataset in the real App."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from PIL import Image

from .browser import find_chromium, open_page, running_app, still_picture
from .private_fiftyone import ROOT, PrivateFiftyOne

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOLDER = ROOT / ".dev" / "screenshots"
IMAGES = ROOT / "docs" / "images"
#: small enough that text is readable in a README
WIDTH, HEIGHT = 1280, 860
WIDE, TALL = 1600, 1130
QUALITY = 85
THEMES = ("light", "dark")
_PANEL = "[data-cy='panel-content-agreement_panel']"


def _save(page: Page, name: str, theme: str) -> None:
    page.mouse.move(2, 2)
    picture = Image.open(io.BytesIO(still_picture(page, page))).convert("RGB")
    path = IMAGES / f"{name}-{theme}.jpg"
    picture.save(path, quality=QUALITY, optimize=True)
    sys.stdout.write(
        f"{path.relative_to(ROOT)}: {picture.width} x {picture.height}, {path.stat().st_size // 1000} kB\n"
    )


def form(page: Page, is_first: bool) -> None:
    """The form that computes agreement."""
    page.locator("[data-item-id='@annotator/agreement/compute_agreement']").first.click()
    page.locator("[data-cy='operators-prompt-modal']").get_by_text("What the fields hold").wait_for()


def panel(page: Page, is_first: bool) -> None:
    """The panel beside the grid, which the App keeps open, also for the second theme."""
    if is_first:
        page.locator("[data-cy='new-panel-btn']").first.click()
        page.locator("[data-cy='new-panel-option-agreement_panel']").click()
    page.wait_for_selector(f"{_PANEL} img")


#: by name: view, width and height, and what is opened; the panel is last, as it stays open for the second theme
PICTURES: dict[str, tuple[str, int, int, Callable[[Page, bool], None] | None]] = {
    "form": ("", WIDTH, HEIGHT, form),
    "disputed": ("?view=agreement-disputed-objects", WIDTH, HEIGHT, None),
    "panel": ("?view=agreement-lowest-score", WIDE, TALL, panel),
}


def main() -> None:
    """Build the demo in a private FiftyOne and take the requested pictures (default: all)."""
    if find_chromium() is None:
        sys.exit("There is no Chromium (Debian: apt-get install chromium)")
    asked = sys.argv[1:] or list(PICTURES)
    os.environ["FIFTYONE_LOGGING_LEVEL"] = "WARNING"
    PrivateFiftyOne(FOLDER).start()
    from tools.demo.dataset import DATASET_NAME

    with running_app(DATASET_NAME, FOLDER) as address:
        import fiftyone as fo

        from tools.demo.dataset import compute_run, set_up_app

        dataset = fo.load_dataset(DATASET_NAME)
        compute_run(dataset, "boxes")
        set_up_app(dataset)
        for name in asked:
            view, width, height, opened = PICTURES[name]
            for theme in THEMES:
                with open_page(f"{address}{view}", width=width, height=height, theme=theme) as page:
                    if opened is not None:
                        opened(page, theme == THEMES[0])
                    _save(page, name, theme)


if __name__ == "__main__":
    main()
