"""``make screenshots``: take the pictures of README and docs in both themes, from the demo dataset in the real App."""

from __future__ import annotations

import io
import os
import sys
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


def form(address: str, theme: str) -> None:
    """The form that computes agreement."""
    with open_page(address, width=WIDTH, height=HEIGHT, theme=theme) as page:
        page.locator("[data-item-id='@annotator/agreement/compute_agreement']").first.click()
        page.locator("[data-cy='operators-prompt-modal']").get_by_text("What the fields hold").wait_for()
        _save(page, "form", theme)


def disputed(address: str, theme: str) -> None:
    """Disputed objects, each with the labels of all annotators."""
    with open_page(f"{address}?view=agreement-disputed-objects", width=WIDTH, height=HEIGHT, theme=theme) as page:
        _save(page, "disputed", theme)


def panel(address: str, theme: str) -> None:
    """The panel beside the grid; the last picture, because the App keeps the panel open, also for the second theme."""
    with open_page(f"{address}?view=agreement-lowest-score", width=WIDE, height=TALL, theme=theme) as page:
        if theme == THEMES[0]:
            page.locator("[data-cy='new-panel-btn']").first.click()
            page.locator("[data-cy='new-panel-option-agreement_panel']").click()
        page.wait_for_selector(f"{_PANEL} img")
        _save(page, "panel", theme)


PICTURES = {picture.__name__: picture for picture in (form, disputed, panel)}


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

        from tools.dev.demo_app import compute_run, set_up_app

        dataset = fo.load_dataset(DATASET_NAME)
        compute_run(dataset, "boxes")
        set_up_app(dataset)
        for name in asked:
            for theme in THEMES:
                PICTURES[name](address, theme)


if __name__ == "__main__":
    main()
