"""One App and one Chromium for all tests here.

A test has a dataset, and a page, of its own, so that none sees what an earlier one did. To load a page and to open the
panel takes as long as all else that a test does: the tests of the files ``test_panel_*`` share a page with the panel,
and leave it, or take it, in a state that is known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.app_page import AppPage
from tests.app.counted import address_of, computed, copy_of_the_demo
from tools.dev.browser import chromium, find_chromium, new_page, running_app, show_dataset
from tools.dev.private_fiftyone import PATIENT_SECONDS, ROOT

#: five seconds are short on a busy machine, and what passes does not wait
expect.set_options(timeout=PATIENT_SECONDS * 1_000)

#: pictures of the pages of tests that failed
PICTURES = ROOT / ".dev" / "browser-failures"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Keep a picture of the page where a test fails."""
    report = yield
    fixtures = item.funcargs.values() if report.failed and isinstance(item, pytest.Function) else ()
    values = [value for found in fixtures for value in (found if isinstance(found, tuple) else (found,))]
    for page in {getattr(value, "page", value) for value in values if isinstance(value, Page | AppPage)}:
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=PICTURES / (re.sub(r"\W+", "-", item.name)[:80] + ".png"))
    return report


@pytest.fixture(scope="session")
def demo_address(private_fiftyone: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the App shows the demo dataset."""
    if find_chromium() is None:
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail("REQUIRE_BROWSER is set, but there is no Chromium (Debian: apt-get install chromium)")
        pytest.skip("there is no Chromium (Debian: apt-get install chromium)")
    with running_app(f"app-test-{os.getpid()}", Path(tmp_path_factory.mktemp("app"))) as address:
        yield address


@pytest.fixture(scope="package")
def browser(demo_address: str) -> Iterator[Browser]:
    """The Chromium of the tests here: Playwright wants to be alone, and other tests have one too."""
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def shared_dataset(demo_address: str) -> Iterator[Any]:
    """A copy of the demo dataset for all tests of a file."""
    yield from copy_of_the_demo(demo_address)


@pytest.fixture(scope="module")
def shared_report(shared_dataset: Any) -> Any:
    """The report of a run on the boxes of the shared dataset."""
    return computed(shared_dataset)


@pytest.fixture
def dataset(request: pytest.FixtureRequest, demo_address: str) -> Iterator[Any]:
    """A copy of the demo dataset, without a run; tests ask for the labels of a type beside the boxes by its name."""
    yield from copy_of_the_demo(demo_address, *([request.param] if hasattr(request, "param") else []))


@pytest.fixture
def report(dataset: Any) -> Any:
    """The report of a run on the boxes of the dataset, as another process would read it."""
    return computed(dataset)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page."""
    with new_page(browser) as page:
        yield page


@pytest.fixture
def app(page: Page, demo_address: str, dataset: Any) -> AppPage:
    """The App with the dataset; where a test wants a run, it must ask for it first."""
    show_dataset(page, address_of(dataset, demo_address))
    return AppPage(page)
