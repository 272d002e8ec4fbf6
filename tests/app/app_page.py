"""Steps of a user in the App's page: forms, grid, sidebar and panel."""

from __future__ import annotations

import contextlib
import inspect
import re
import time
from typing import TYPE_CHECKING, Any

from playwright.sync_api import TimeoutError as NotYet
from playwright.sync_api import expect

from tools.dev.browser import new_page, show_dataset
from tools.dev.private_fiftyone import PATIENT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Locator, Page

COMPUTE = "[data-item-id='@annotator/agreement/compute_agreement']"
_SEARCH = "[data-cy='operators-browser-search'] input, input[data-cy='operators-browser-search']"
_PANEL = "agreement_panel"
#: how long is waited for a click, and after it for what it does, in seconds
_WAITS = (30, 60, PATIENT_SECONDS)
_LOOK = 250


def _click_until(page: Page, click: Callable[[], object], wait: Callable[[float], object]) -> None:
    """Click until the App does what is waited for: a click on what is being redrawn is lost.

    What comes late may take away what is clicked again, or lie over it: then the click is given up.
    """
    for seconds in _WAITS:
        page.set_default_timeout(seconds * 1_000)
        with contextlib.suppress(NotYet):
            click()
        page.set_default_timeout(PATIENT_SECONDS * 1_000)
        try:
            wait(seconds * 1_000)
        except AssertionError:
            if seconds == _WAITS[-1]:
                raise
        else:
            return


def wait_until(page: Page, is_so: Callable[[], object]) -> None:
    """Look at the page until something is so."""
    deadline = time.monotonic() + PATIENT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, f"{inspect.getsource(is_so).strip()} did not come true"
        page.wait_for_timeout(_LOOK)


def at_rest(page: Page, read: Callable[[], Any]) -> Any:
    """What is read of the page once it stays as it is."""
    seen = [read()]

    def stays() -> bool:
        page.wait_for_timeout(_LOOK)
        seen.append(read())
        return seen[-1] == seen[-2]

    wait_until(page, stays)
    return seen[-1]


def _exactly(text: str) -> re.Pattern[str]:
    return re.compile(f"^{re.escape(text)}$")


class AppPage:
    """A page of the App, and what can be done in it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.form = page.locator("[data-cy='operators-prompt-modal']")
        self.result = page.locator("[data-cy^='operators-prompt']")
        self.panel = page.locator(f"[data-cy='panel-content-{_PANEL}']")
        self.panel_tab = page.locator(f"[data-cy='panel-tab-{_PANEL}']")
        self.counts = page.locator("[data-cy='entry-counts']")
        self.modal = page.locator("[data-cy='modal']")
        self.messages = page.locator("[role=alert]")
        self.errors = page.get_by_text(re.compile("Error occurred during operator|Traceback \\(most recent"))

    def _click_until(self, click: Callable[[], object], shown: Locator) -> None:
        """Click until something is shown."""
        _click_until(self.page, click, lambda longest: expect(shown).to_be_visible(timeout=longest))

    # ---- operators ----

    def press_compute(self) -> Locator:
        """Open the form with the button above the grid."""
        self._click_until(self.page.locator(COMPUTE).first.click, self.form)
        return self.form

    def find_operator(self, label: str) -> Locator:
        """Open the form of an operator from the operator browser."""
        search = self.page.locator(_SEARCH).first
        self._click_until(lambda: self.page.keyboard.press("Backquote"), search)
        search.fill(label)
        self.page.locator("[data-cy='operators-browser']").get_by_text(re.compile(f"^{label}")).first.click()
        return self.form

    def unfold(self) -> None:
        """Open the folded part of the form."""
        self.form.get_by_text("Advanced", exact=True).click()
        expect(self.form).to_contain_text("Run key")

    def submit(self, name: str) -> None:
        """Press the button that executes the operator of the form, until the form is gone."""
        button = self.form.get_by_role("button", name=name, exact=True)
        _click_until(self.page, button.click, lambda longest: expect(button).to_have_count(0, timeout=longest))

    def close_result(self) -> None:
        """Close the result of an operator."""
        button = self.result.get_by_role("button", name="Close").last
        _click_until(self.page, button.click, lambda longest: expect(self.result).to_have_count(0, timeout=longest))

    def expect_message(self, text: str) -> None:
        """Wait until the App says this in a notification."""
        expect(self.messages.filter(has_text=text).first).to_be_visible()

    # ---- grid and sidebar ----

    def expect_shown(self, n: int, what: str = "sample") -> None:
        """Wait until the grid shows this number of samples or patches."""
        plural = "es" if what.endswith("ch") else "s"
        expect(self.counts).to_have_text(f"{n} {what}{'' if n == 1 else plural}")

    def close_modal(self) -> None:
        """Close the open sample by clicking beside it."""
        self.page.mouse.click(5, 500)
        expect(self.modal).to_have_count(0)

    def sidebar_field(self, path: str) -> Locator:
        """A field in the sidebar of the grid."""
        return self.page.locator(f"[data-cy='sidebar-field-{path}']")

    # ---- panel ----

    def open_panel(self) -> Locator:
        """Open the panel from the menu of panels, and wait until it shows something."""
        option = self.page.locator(f"[data-cy='new-panel-option-{_PANEL}']")
        menu = self.page.locator("[data-cy='new-panel-btn']").first
        self._click_until(menu.click, option)
        option.click()
        expect(self.panel).to_contain_text(re.compile(r"\w"))
        return self.panel

    def drill_down(self, click: Callable[[], object], title: str) -> None:
        """Click until the panel announces what it shows."""
        _click_until(self.page, click, lambda longest: expect(self.panel).to_contain_text(title, timeout=longest))

    def open_tab(self, name: str, text: str) -> None:
        """Open a tab of the panel, and wait until it shows what it holds."""
        self.drill_down(self.panel.get_by_role("tab", name=name, exact=True).click, text)

    def expect_score(self, report: Any) -> None:
        """Wait until the panel shows the score and alpha of a report, and of objects the F1."""
        shown = {"Score": report.score.mean}
        if report.has_objects:
            shown["F1"] = report.existence.f1
        elif report.image_alpha is None:
            shown["α"] = report.alpha.pooled
        for title, number in shown.items():  # on a card of Overview, or in the line of another tab
            expect(self.panel).to_contain_text(re.compile(f"{title} ?{re.escape(f'{number:.2f}')}"))

    def table(self, column: str) -> Locator:
        """The table of the panel that has a column."""
        header = self.page.get_by_role("columnheader", name=column, exact=True)
        return self.panel.get_by_role("table").filter(has=header).first

    def cells(self, column: str) -> list[list[str]]:
        """The texts of the rows of the table that has a column."""
        rows = self.table(column).locator("tbody tr")
        expect(rows.first).to_be_visible()
        return [row.get_by_role("cell").all_inner_texts() for row in rows.all()]

    def click_cell(self, table: str, row: str, column: str) -> None:
        """Click the cell of a row in the table that has a column of the name ``table``."""
        found = self.table(table)
        headers = found.get_by_role("columnheader").all_inner_texts()
        first = (
            found.locator("tbody tr").filter(has=self.page.locator("td:first-of-type", has_text=_exactly(row))).first
        )
        first.get_by_role("cell").nth(headers.index(column)).click()

    def back(self) -> None:
        """Press Back in the panel, and wait until there is no way back any more."""
        self.panel.get_by_role("button", name="Back", exact=True).click()
        expect(self.panel.get_by_role("button", name="Back", exact=True)).to_have_count(0)

    def choice(self, label: str) -> Locator:
        """A list of the panel of which one is chosen."""
        return self.panel.get_by_role("combobox", name=label, exact=True)

    def choose(self, label: str, title: str) -> None:
        """Choose from a list of the panel."""
        self.choice(label).select_option(label=title)

    def expect_at_rest(self) -> None:
        """Wait until the panel works at no choice any more."""
        expect(self.panel.get_by_label("Working")).to_have_count(0)

    def refresh_panel(self) -> None:
        """Press Refresh in the panel."""
        self.panel.get_by_label("Refresh").click()


@contextlib.contextmanager
def page_with_panel(browser: Browser, address: str) -> Iterator[AppPage]:
    """A page of its own with a dataset and the panel."""
    with new_page(browser) as page:
        show_dataset(page, address)
        app = AppPage(page)
        app.open_panel()
        yield app
