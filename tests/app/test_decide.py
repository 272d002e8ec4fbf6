"""Disputed objects are decided in the panel."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.app.app_page import AppPage

from annotator_agreement import list_decisions

pytestmark = pytest.mark.browser


def _open_tab(app: AppPage, n_decided: int) -> None:
    """Open the tab, and say a name."""
    app.open_tab("Decide", "Your name is stored with every decision")
    app.panel.get_by_role("button", name="Start").click()
    expect(app.panel).to_contain_text(f"{n_decided} of ")


def _press(app: AppPage, name: str | re.Pattern[str], says: str) -> None:
    """Press a button of the tab, and wait until it says how far it is."""
    app.panel.get_by_role("button", name=name).first.click()
    expect(app.panel).to_contain_text(says)


def test_objects_are_decided_skipped_and_undone(app: AppPage, dataset: Any, report: Any) -> None:
    app.open_panel()
    n = sum(value or 0 for value in dataset.values("agreement_n_disputed"))
    _open_tab(app, 0)
    expect(app.panel.get_by_role("img").last).to_be_visible()
    _press(app, re.compile("^(alice|bob|carol): (?!–)"), f"1 of {n} decided")
    _press(app, "No object", f"2 of {n} decided")
    _press(app, "Skip", f"2 of {n} decided, 1 skipped")
    _press(app, "No object", f"3 of {n} decided, 1 skipped")
    _press(app, "Undo", f"2 of {n} decided, 1 skipped")
    dataset.reload()
    assert [each.choice for each in list_decisions(dataset)] == ["version", "none", "skip"]
    assert dataset.count("agreement_gold.detections") == 1

    app.panel.get_by_role("combobox").nth(2).click()
    app.page.get_by_role("option", name="only theirs", exact=True).click()
    expect(app.panel).to_contain_text(re.compile("only theirs · "))
    expect(app.errors).to_have_count(0)
