"""The view model: everything that the panel shows of a run above its tabs and in one of them, as JSON values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import fiftyone as fo

from ..agreement.families.family import FAMILIES
from ..agreement.settings.errors import AgreementInputError
from ..charts.reports.families import family_of
from ..charts.text.headline import card_numbers, grade_of
from ..charts.text.sections import plain_markdown
from ..charts.text.words import documents
from .items import Choices, Item, Link, link, text_item
from .tab_annotators import annotator_items
from .tab_decide import decide_items
from .tab_objects import class_items, object_items
from .tab_run import image_items, overview_items, part_items, rule_items

if TYPE_CHECKING:
    from .panel_state import PanelState, ShownReport

ViewModel = dict[str, Any]

#: no score of masks that differ is above this
_NOT_EQUAL = 1.0 - 1e-12
#: titles of the tabs, by their names in the state of the panel
TABS = {
    "overview": "Overview",
    "annotators": "Annotators",
    "classes": "Classes",
    "images": "Images",
    "parts": "By",
    "objects": "Objects",
    "decide": "Decide",
    "rules": "Run",
}
FIRST_TAB, DECIDE_TAB = "overview", "decide"


def view_model(
    shown: ShownReport, state: PanelState, tab: str = FIRST_TAB, choices: Choices | None = None, dataset: Any = None
) -> ViewModel:
    """The view model of a run.

    Args:
        shown: the report and the samples behind it
        state: the run and what is known of it
        tab: name of the tab
        choices: how its tables are sorted, and the pages of its lists
        dataset: the dataset, for the files of the work list; None if it is gone
    """
    classes = family_of(shown.report).classes
    titles = TABS | ({"classes": "Tags"} if classes is not None and classes.kind == "tag" else {})
    titles |= {"images": "Videos"} if shown.report.run.n_videos is not None else {}
    tabs = {name: title for name, title in titles.items() if name != "objects" or shown.report.has_objects}
    tab = tab if tab in tabs else FIRST_TAB
    try:
        items = list(_CONTENT[tab](shown, state, choices or Choices(), dataset))
    except AgreementInputError as error:  # the other tabs, and other runs, can still be shown
        items = [text_item("problem", plain_markdown(str(error)))]
    return {
        "version": shown.version,
        "warnings": shown.report.warnings,
        "notes": shown.notes,
        "cards": _cards(shown),
        "cause": " ".join(shown.findings[0]),
        "tabs": tabs,
        "tab": tab,
        "items": items,
    }


_CONTENT: dict[str, Callable[[ShownReport, PanelState, Choices, fo.Dataset | None], Iterator[Item]]] = {
    "overview": lambda shown, state, choices, dataset: overview_items(shown, dataset, state, choices),
    "annotators": lambda shown, state, choices, dataset: annotator_items(shown.report, choices),
    "classes": lambda shown, state, choices, dataset: class_items(shown, choices),
    "images": lambda shown, state, choices, dataset: image_items(shown, dataset, choices),
    "parts": lambda shown, state, choices, dataset: part_items(shown, dataset, choices),
    "objects": lambda shown, state, choices, dataset: object_items(shown, choices),
    "decide": decide_items,
    "rules": lambda shown, state, choices, dataset: rule_items(shown, state, choices, dataset),
}


def _cards(shown: ShownReport) -> list[dict[str, Any]]:
    """The main numbers, each with a line below it and a link to the labels that it counts."""
    report = shown.report
    what = documents(report).replace("samples", "images").capitalize()
    if report.roles_beside_one:
        of = f"of {report.n_samples:,}"
        return [_card(f"{what} with {role.name}", f"{role.n_samples:,}", of) for role in report.roles_beside_one]
    cards = []
    for number, shows in card_numbers(report):
        level, word = grade_of(report, number)
        cards.append(_card(shows.title, shows.value, shows.interval, hint=number.hint, level=level, word=word))
    # objects, tags or samples on which somebody disagrees
    disputed = family_of(report).disputed or f"disputed {what.lower()}"
    behind, verdicts = None, FAMILIES[report.family].disputed
    if verdicts and shown.n_disputed:
        behind = link(f"All {disputed}", verdict=list(verdicts))
    elif shown.n_disputed:  # of masks, which have no verdict: the images on which they differ
        behind = link(f"Images with {disputed}, the lowest scores first", max_score=_NOT_EQUAL)
    of = f"of {shown.n_units:,}" if shown.n_units else ""
    cards.append(_card(disputed.capitalize(), f"{shown.n_disputed:,}", of, behind))
    behind = link(f"{what} rated by two or more", n_annotators={"$gte": 2})
    return [*cards, _card(f"{what} rated by two", f"{report.n_rated:,}", f"of {report.n_samples:,}", behind)]


def _card(title: str, value: str, below: str = "", behind: Link | None = None, **shown: str) -> dict[str, Any]:
    """A number on a card; ``shown`` may be a ``hint``, and the ``level`` and ``word`` of its grade."""
    of_grade = {"hint": "", "word": "", "level": ""} | shown
    return {"title": title, "value": value, "below": below, "link": behind, **of_grade}
