"""One App for all tests here; every test has a dataset, and a page, of its own.

The App forgets its view, its panels and what was selected when another dataset is opened, so that no test sees what an
earlier one did.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from dev.browser import chromium, find_chromium, new_page, running_app, show_dataset
from dev.private_fiftyone import ROOT
from tests.app.app_page import AppPage
from tests.app.counted import ANNOTATORS

#: five seconds are short on a busy machine, and what passes does not wait
expect.set_options(timeout=120_000)

#: pictures of the pages of tests that failed
PICTURES = ROOT / ".dev" / "browser-failures"
_FAILED = pytest.StashKey[bool]()
_numbers = itertools.count()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remember for the fixtures of a test whether it failed."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
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


@pytest.fixture(scope="module")
def browser(demo_address: str) -> Iterator[Browser]:
    """The Chromium of the tests of a file: Playwright wants to be alone, and other tests have one too."""
    with chromium() as browser:
        yield browser


@pytest.fixture
def dataset(demo_address: str) -> Iterator[Any]:
    """A copy of the demo dataset, without a run."""
    import fiftyone as fo

    demo = fo.load_dataset(demo_address.rsplit("/", 1)[1])
    dataset = demo.clone(f"{demo.name}-{next(_numbers)}", persistent=True)
    yield dataset
    if fo.dataset_exists(dataset.name):
        fo.delete_dataset(dataset.name)


@pytest.fixture
def report(dataset: Any) -> Any:
    """The report of a run on the boxes of the dataset, as another process would read it."""
    from annotator_agreement import compute_agreement, load_agreement

    compute_agreement(dataset, list(ANNOTATORS), progress=False)
    return load_agreement(dataset)


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """An empty page; a picture of it is kept where the test fails."""
    with new_page(browser) as page:
        yield page
        if request.node.stash.get(_FAILED, False):
            PICTURES.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=PICTURES / (re.sub(r"\W+", "-", request.node.name)[:80] + ".png"))


@pytest.fixture
def app(page: Page, demo_address: str, dataset: Any) -> AppPage:
    """The App with the dataset; where a test wants a run, it must ask for it first."""
    show_dataset(page, f"{demo_address.rsplit('/', 1)[0]}/{dataset.name}")
    return AppPage(page)
