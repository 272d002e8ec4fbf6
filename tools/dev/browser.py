"""The App in a real Chromium: start both, and find the App's parts."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .app_server import start_server, wait_until_it_answers
from .private_fiftyone import PATIENT_SECONDS, free_port

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # only the App may be reached; Playwright's routes would do the same, but disable the cache
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]
#: data that a page of the App leaves behind in the browser
_REMEMBERED = "cookies,indexeddb,local_storage,cache_storage,service_workers"


def find_chromium() -> str | None:
    """The Chromium of this machine, None where there is none."""
    return next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )


@contextlib.contextmanager
def running_app(dataset_name: str, folder: Path) -> Iterator[str]:
    """The App with the demo dataset, built meanwhile; yields the address of the dataset's page."""
    from tools.demo.dataset import build_demo_dataset

    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    process = start_server(port, folder)
    try:
        build_demo_dataset(folder / "images", dataset_name)
        wait_until_it_answers(process, port, folder)
        yield f"http://127.0.0.1:{port}/datasets/{dataset_name}"
    finally:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children; the App's server takes seconds to end by itself."""
    import psutil  # comes with FiftyOne

    children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    for each in (process, *children):
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    process.wait()


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=_ARGUMENTS)
        yield browser
        browser.close()


@contextlib.contextmanager
def new_page(browser: Browser, *, width: int = 1700, height: int = 1100) -> Iterator[Page]:
    """An empty page without data of earlier pages, except the App's code, which takes long to load."""
    context = browser.contexts[0] if browser.contexts else browser.new_context()
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": height})
    # without these a popover with an invisible backdrop takes all clicks
    page.add_init_script(
        "window.IS_PLAYWRIGHT = true; localStorage.setItem('fiftyone-enterprise-tooltip-seen', 'true');"
    )
    page.set_default_timeout(PATIENT_SECONDS * 1_000)
    yield page
    address = urlsplit(page.url)
    origin = {"origin": f"{address.scheme}://{address.netloc}", "storageTypes": _REMEMBERED}
    context.new_cdp_session(page).send("Storage.clearDataForOrigin", origin)
    page.close()


def show_dataset(page: Page, address: str) -> None:
    """Go to a dataset in the App, and wait until its grid shows samples."""
    page.goto(address, wait_until="domcontentloaded")
    page.wait_for_selector("[data-cy='fo-grid'] [data-cy='looker']")
    if urlsplit(page.url).path != urlsplit(address).path:
        raise RuntimeError(f"The App must show {address}, but it shows {page.url}")


def still_picture(page: Page, part: Page | Locator) -> bytes:
    """The picture of a page, or of a part of it, when it has stopped changing."""
    before, picture = b"", part.screenshot()
    deadline = time.monotonic() + PATIENT_SECONDS
    while picture != before:
        if time.monotonic() > deadline:
            raise RuntimeError("The page does not come to rest")
        page.wait_for_timeout(500)
        before, picture = picture, part.screenshot()
    return picture


@contextlib.contextmanager
def open_page(address: str, *, width: int = 1700, height: int = 1100, theme: str = "dark") -> Iterator[Page]:
    """A page of the App in Chromium, with its grid of samples loaded."""
    with chromium() as browser, new_page(browser, width=width, height=height) as page:
        page.add_init_script(f"localStorage.setItem('mui-mode', '{theme}');")
        show_dataset(page, address)
        yield page
