"""Disputed objects are decided in the panel."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.app.app_page import AppPage, page_with_panel, wait_until
from tests.app.counted import address_of
from tests.datasets import join_fields
from tools.dev.browser import still_picture

from annotator_agreement.dataset_io import (
    apply_decisions,
    compute_agreement,
    decide,
    decided_against,
    list_decisions,
    load_agreement,
)
from annotator_agreement.dataset_io.units import DISPUTED

pytestmark = pytest.mark.browser

#: the buttons of the tab, without those of annotators who drew nothing
_BUTTONS = {
    "version": re.compile("^(alice|bob|carol): (?!nothing)"),
    "consensus": re.compile("^Consensus: (?!no majority)"),
    "none": re.compile("^No object$"),
    "skip": re.compile("^Skip$"),
}


def _boxes(samples: Any, field: str) -> list[tuple[Any, ...]]:
    """Class and box of all labels in a field."""
    labels = itertools.chain(*(found or () for found in samples.values(f"{field}.detections")))
    return sorted((label.label, *(round(number, 4) for number in label.bounding_box)) for label in labels)


def _show_filters(app: AppPage) -> None:
    if not app.choice("verdict").count():
        app.panel.get_by_role("button", name="Filters").click()


def _choose(app: AppPage, verdict: str, says: str | re.Pattern[str]) -> None:
    """Choose a verdict, and wait until the tab shows its objects."""
    _show_filters(app)
    app.choose("verdict", verdict)
    _expect(app, says)


def _press(app: AppPage, name: str | re.Pattern[str], says: str | re.Pattern[str]) -> None:
    """Press a button of the tab, and wait until it says how far it is."""
    app.panel.get_by_role("button", name=name).first.click()
    _expect(app, says)


def _expect(app: AppPage, says: str | re.Pattern[str]) -> None:
    """Wait until the panel says something: a text anywhere, or a line that a pattern describes."""
    if isinstance(says, str):
        expect(app.panel).to_contain_text(says)
    else:
        expect(app.panel.get_by_text(says).first).to_be_visible()


def _until_answered(page: Page, act: Callable[[], object], told: Locator) -> None:
    """Press, again where the tab refuses what comes before its last answer, until it tells what is waited for."""
    refused = page.get_by_text("Not answered yet")
    while not told.count():
        act()
        expect(told.or_(refused).first).to_be_visible()
        expect(refused).to_have_count(0)  # it says to press again


class _Deciding:
    """What was decided so far in the tab, one after the other: ``made``, of ``n`` disputed objects."""

    def __init__(self, app: AppPage, n: int) -> None:
        self._app = app
        self.n = n
        self.made: list[str] = []

    @property
    def counts(self) -> re.Pattern[str]:
        """How far the tab says that it is."""
        n_skipped = self.made.count("skip")
        skipped = f", {n_skipped} skipped" if n_skipped else "(?!, )"
        return re.compile(f"^{len(self.made) - n_skipped} of {self.n:,} decided{skipped}")

    def decide(self, *kinds: str) -> None:
        """Decide an object in each of some ways; the consensus where there is one."""
        left = list(kinds)
        while left:
            kind = next(kind for kind in left if self._button(kind).count())
            left.remove(kind)
            self.press(kind)

    def press(self, kind: str, n: int = 1) -> None:
        """Decide on the object that is shown, with the key that the button names; it decides once if held down."""
        self.made.append(kind)
        button, keyboard = self._button(kind), self._app.page.keyboard
        expect(button).to_be_visible()
        key = str(button.get_attribute("aria-keyshortcuts"))

        def act() -> None:
            for _ in range(n):
                keyboard.down(key)
            keyboard.up(key)

        _until_answered(self._app.page, act, self._app.panel.get_by_text(self.counts))

    def press_beside(self, kind: str, panel: Locator) -> None:
        """Decide with the button of the panel beside the image."""
        self.made.append(kind)
        button = panel.get_by_role("button", name=_BUTTONS[kind])
        _until_answered(self._app.page, button.click, panel.get_by_text(self.counts))

    def undo(self) -> None:
        """Take back the last decision."""
        self.made.pop()
        undo = self._app.panel.get_by_role("button", name="Undo").first
        _until_answered(self._app.page, undo.click, self._app.panel.get_by_text(self.counts))

    def edit(self, field: str, label: str) -> None:
        """Change the class of the label in FiftyOne's own form."""
        app = self._app
        app.panel.get_by_role("button", name="Edit", exact=True).click()
        app.expect_shown(1, "patch")
        expect(app.page.locator(f"[data-cy='checkbox-{field}'] input").first).to_be_checked()
        app.page.locator("[data-cy='fo-grid'] [data-cy='looker']").first.click()
        expect(app.modal).to_contain_text("Edit Detection")
        app.modal.locator("[data-cy='root_label_container'] input").click()
        with app.page.expect_response(lambda response: response.request.method == "PATCH") as saved:
            app.page.locator("[role=option]").get_by_text(label, exact=True).first.click()
        assert saved.value.ok
        app.close_modal()
        expect(app.panel).to_contain_text("decided: own label")
        self.made.append("own")
        _press(self._app, "Done", self.counts)
        expect(self._app.panel.get_by_role("button", name="Done")).to_have_count(0)  # the next object is shown

    def expect(self) -> None:
        """Wait until the tab says how far it is."""
        _expect(self._app, self.counts)

    def _button(self, kind: str) -> Locator:
        return self._app.panel.get_by_role("button", name=_BUTTONS[kind], disabled=False).first


def _start(app: AppPage, dataset: Any) -> _Deciding:
    """Open the tab, and say a name."""
    app.open_tab("Decide", "Your name")
    name = app.panel.get_by_role("textbox")
    expect(name).to_have_value("")  # not the account of the server
    name.fill("mia")
    app.panel.get_by_role("button", name="Start").click()
    deciding = _Deciding(app, sum(value or 0 for value in dataset.values("agreement_n_disputed")))
    deciding.expect()
    expect(app.panel.get_by_role("img").last).to_be_visible()
    return deciding


@pytest.fixture
def own_app(browser: Browser, demo_address: str, dataset: Any) -> Iterator[AppPage]:
    """A page of its own with the labels of two annotators in one field, and a run on them."""
    join_fields(dataset, ["alice", "bob"], "boxes")
    options = {"annotator_attribute": "annotator", "assigned_field": "boxes_assigned"}
    compute_agreement(dataset, "boxes", resamples=0, progress=False, **options)
    with page_with_panel(browser, address_of(dataset, demo_address)) as app:
        yield app


# first: pages share what a browser keeps, such as a name, and this one is closed before the next is opened
def test_objects_of_two_annotators_in_one_field_are_decided_applied_and_counted_again(
    own_app: AppPage, dataset: Any
) -> None:
    app, before = own_app, load_agreement(dataset)
    deciding = _start(app, dataset)
    deciding.decide("version", "none")
    app.panel.get_by_role("button", name="Open", exact=True).click()
    app.modal.locator("[data-cy='panel-tab-decide_panel']").click()
    beside = app.page.locator("[data-cy='panel-content-decide_panel']")
    expect(beside.get_by_text(deciding.counts).first).to_be_visible()
    deciding.press_beside("none", beside)
    app.close_modal()
    deciding.expect()
    dataset.reload()
    assert Counter(each.choice for each in list_decisions(dataset)) == Counter(deciding.made)
    to_change = apply_decisions(dataset, preview=True).n_applied

    # the list to send, then the annotators' labels follow the decisions
    labels = _boxes(dataset, "boxes")
    _press(app, "How right everybody was", "disputed objects were decided")
    app.panel.get_by_role("button", name="List to send").click()
    expect(app.form).to_contain_text("Annotator")
    with app.page.expect_download() as download:
        app.submit("Export")
    assert download.value.suggested_filename == f"{dataset.name}-alice.html"
    app.close_result()
    app.panel.get_by_role("button", name="Apply to labels").click()
    expect(app.form).to_contain_text("Nothing is changed yet")
    app.form.get_by_role("checkbox").last.click()
    app.submit("Change labels")
    expect(app.messages.last).to_contain_text(f"Changed the labels of {to_change} objects")
    assert _boxes(dataset, "boxes") != labels
    app.panel.get_by_role("button", name="Update", exact=True).click()
    app.submit("Update")
    expect(app.messages.last).to_contain_text("Updated the run 'agreement'")
    after = load_agreement(dataset)
    assert after.alpha.pooled > before.alpha.pooled
    app.open_tab("Overview", "Next steps")
    app.expect_score(after)
    app.open_tab("Decide", "Count again")
    app.panel.get_by_role("button", name="Take back from labels").click()
    app.submit("Take back")
    expect(app.messages.last).to_contain_text(f"Took back what was applied to {to_change} objects")
    dataset.reload()
    assert _boxes(dataset, "boxes") == labels
    assert len(list_decisions(dataset)) == len(deciding.made)
    expect(app.errors).to_have_count(0)


@pytest.fixture(scope="module")
def app(browser: Browser, demo_address: str, shared_dataset: Any, shared_report: Any) -> Iterator[AppPage]:
    """One page for the tests here: each goes on with what is not decided yet."""
    with page_with_panel(browser, address_of(shared_dataset, demo_address)) as app:
        yield app


@pytest.fixture(scope="module")
def deciding(app: AppPage, shared_dataset: Any) -> _Deciding:
    """What was decided so far on the shared page."""
    return _start(app, shared_dataset)


def _expect_fitting(app: AppPage, width: int, height: int) -> None:
    """Check that picture, versions and keys are seen without scrolling."""
    app.page.set_viewport_size({"width": width, "height": height})
    still_picture(app.page, app.page)  # the App places its panels anew
    panel = app.panel.bounding_box()
    assert panel is not None
    parts = [app.panel.get_by_role("img").last, *app.panel.locator("button[aria-keyshortcuts]").all()]
    assert len(parts) >= 8
    for part in parts:
        inside = part.bounding_box()
        assert inside is not None
        where = f"{part} at {width} x {height}: {inside} in {panel}"
        assert inside["x"] >= panel["x"], where
        assert inside["x"] + inside["width"] <= min(panel["x"] + panel["width"], width), where
        assert inside["y"] >= panel["y"], where
        assert inside["y"] + inside["height"] <= min(panel["y"] + panel["height"], height), where
    picture = parts[0].bounding_box()
    assert picture is not None
    assert min(picture["width"], picture["height"]) >= 120


def _expect_filtered(app: AppPage, name: str) -> dict[str, str]:
    """Go through the choices of a filter, to and fro; how far the tab says that it is, by choice."""
    progress, found = app.panel.get_by_text(re.compile("^[0-9,]+ of [0-9,]+ decided")), dict[str, str]()
    expect(app.choice(name)).to_be_visible()
    every, first, second = app.choice(name).locator("option").all_inner_texts()[:3]
    for title in (first, every):
        app.choose(name, title)
        app.expect_at_rest()
        expect(app.choice(name).locator("option:checked")).to_have_text(title)
        expect(progress).to_have_text(found.setdefault(title, progress.inner_text()))
    for title in (first, second, first, every):  # without waiting for what is shown
        app.choose(name, title)
    app.expect_at_rest()
    expect(app.choice(name).locator("option:checked")).to_have_text(every)
    expect(progress).to_have_text(found[every])
    return found


def test_the_tab_fits_small_windows_shows_what_it_uses_and_refuses_keys_that_come_too_early(
    app: AppPage, shared_dataset: Any, deciding: _Deciding
) -> None:
    for width, height in ((1440, 900), (1100, 700)):
        _expect_fitting(app, width, height)
    app.page.set_viewport_size({"width": 1700, "height": 1100})

    _show_filters(app)
    of_verdict, n = _expect_filtered(app, "verdict"), len(deciding.made)
    assert of_verdict["all disputed"] == f"{n} of {deciding.n:,} decided"
    conflicts = decide(shared_dataset, verdict="class_conflict", choice="none", preview=True, progress=False)
    assert of_verdict["class conflict"] == f"0 of {conflicts.n_decided:,} decided"

    sign = app.page.get_by_text("Not answered yet: press again when it is")
    held: list[Route] = []
    app.page.route("**/operators/execute", lambda route: held.append(route), times=1)
    for _ in range(5):
        app.page.keyboard.press("0")
    expect(sign).to_be_visible()
    wait_until(app.page, lambda: held)  # the sign may stand before the request is sent
    held.pop().continue_()
    expect(app.panel).to_contain_text(f"{n + 1} of {deciding.n:,} decided")
    expect(sign).to_have_count(0)
    assert len(list_decisions(shared_dataset)) == n + 1  # the others came before anybody could see the next object
    app.page.keyboard.press("0")
    expect(app.panel).to_contain_text(f"{n + 2} of {deciding.n:,} decided")
    assert len(list_decisions(shared_dataset)) == n + 2
    deciding.made += ["none", "none"]
    expect(app.errors).to_have_count(0)


@pytest.mark.journey
def test_objects_are_decided_by_keyboard(app: AppPage, shared_dataset: Any, deciding: _Deciding) -> None:
    deciding.decide("version", "consensus", "none", "skip", "version")
    assert Counter(each.choice for each in list_decisions(shared_dataset)) == Counter(deciding.made)
    # as if the panel were shown in the browser of somebody else
    app.page.evaluate("localStorage.setItem('annotator-agreement-name', 'noa')")
    deciding.press("none")
    expect(app.panel).to_contain_text("as noa")
    assert [each.decided_by for each in list_decisions(shared_dataset)][-6:] == [*["mia"] * 5, "noa"]
    expect(app.errors).to_have_count(0)


def test_objects_are_decided_undone_after_closing_and_decided_by_rule(
    app: AppPage, shared_dataset: Any, deciding: _Deciding
) -> None:
    dataset = shared_dataset
    deciding.decide("version", "skip")
    deciding.press("none", 10)
    app.page.keyboard.press("Backquote")
    app.page.keyboard.type("001")  # in the list of operators
    app.page.keyboard.press("Escape")
    deciding.expect()
    deciding.undo()
    dataset.reload()
    assert Counter(each.choice for each in list_decisions(dataset)) == Counter(deciding.made)

    _choose(app, "lone", re.compile("lone · "))
    app.page.reload()
    expect(app.panel).to_contain_text(re.compile("lone · "))
    _choose(app, "all disputed", deciding.counts)
    deciding.edit("agreement_gold", "star")
    assert Counter(each.choice for each in list_decisions(dataset)) == Counter(deciding.made)
    assert dataset.values("agreement_gold.detections.label", unwind=True).count("star") == 1
    for _ in range(2):  # also what was decided before the page was closed
        deciding.undo()

    decide(dataset, choice="none", verdict="lone")
    app.panel.get_by_role("button", name="Decide many by a rule").click()
    expect(app.form).to_contain_text("This would decide")
    app.submit("Decide")
    expect(app.messages.last).to_contain_text("Decided")
    expect(app.panel.get_by_text(deciding.counts)).to_have_count(0)  # the tab has heard of it
    decided = [each for each in list_decisions(dataset) if each.verdict in DISPUTED and each.choice != "skip"]
    _press(app, "How right everybody was", f"{len(decided)} of {deciding.n} disputed objects were decided")
    app.drill_down(lambda: app.click_cell("too many", "carol", "missed"), "Decided against carol")
    app.expect_shown(len(decided_against(dataset, "carol")))
    expect(app.errors).to_have_count(0)
