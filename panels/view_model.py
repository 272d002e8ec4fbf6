"""The view model: everything that the panel shows of a run in one tab, as JSON values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import fiftyone as fo

from ..agreement.families.family import FAMILIES
from ..charts.reports.families import family_of
from ..charts.text.headline import alpha_level, leading_alpha
from ..charts.text.words import documents, ends_of, percent, shown_number
from .items import Choices, Item, Link, link
from .tab_annotators import annotator_items
from .tab_classes import class_items
from .tab_decide import decide_items
from .tab_images import image_items
from .tab_objects import object_items
from .tab_run import overview_items, rule_items

if TYPE_CHECKING:
    from .model_cache import Shown
    from .panel_state import PanelState

ViewModel = dict[str, Any]

#: the largest score of masks that differ
_NOT_EQUAL = 1.0 - 1e-12
#: the tabs, by the name that the state of the panel keeps
TABS = {
    "overview": "Overview",
    "annotators": "Annotators",
    "classes": "Classes",
    "images": "Images",
    "objects": "Objects",
    "decide": "Decide",
    "rules": "How it was computed",
}
FIRST_TAB, DECIDE_TAB = "overview", "decide"


def view_model(
    shown: Shown, state: PanelState, tab: str = FIRST_TAB, choices: Choices | None = None, dataset: Any = None
) -> ViewModel:
    """The view model of a run.

    Args:
        shown: the report and the samples behind it
        state: the runs of the dataset
        tab: the tab that is open
        choices: how its tables are sorted, and the pages of its lists
        dataset: the dataset, for the files of the work list; None without
    """
    tabs = _tabs(shown)
    tab = tab if tab in tabs else FIRST_TAB
    return {
        "version": shown.version,
        "warnings": [*shown.report.warnings, *shown.notes],
        "cards": _cards(shown),
        "cause": " ".join(shown.findings[0]),
        "tabs": tabs,
        "tab": tab,
        "items": list(_CONTENT[tab](shown, state, choices or Choices(), dataset)),
    }


_CONTENT: dict[str, Callable[[Shown, PanelState, Choices, fo.Dataset | None], Iterator[Item]]] = {
    "overview": lambda shown, state, choices, dataset: overview_items(shown, dataset, state),
    "annotators": lambda shown, state, choices, dataset: annotator_items(shown.report, choices),
    "classes": lambda shown, state, choices, dataset: class_items(shown, choices),
    "images": lambda shown, state, choices, dataset: image_items(shown, dataset, choices),
    "objects": lambda shown, state, choices, dataset: object_items(shown, choices),
    "decide": decide_items,
    "rules": lambda shown, state, choices, dataset: rule_items(shown, state),
}


def _tabs(shown: Shown) -> dict[str, str]:
    """The tabs for which the report has numbers."""
    report: Any = shown.report
    without = set() if hasattr(report, "existence") else {"objects"}
    classes = family_of(report).classes
    parts: dict[str, Any] = type(report).parts
    if classes is None and not hasattr(parts["pairs"], "confusion"):
        without.add("classes")
    tags = {"classes": "Tags"} if classes is not None and classes.kind == "tag" else {}
    return {name: tags.get(name, title) for name, title in TABS.items() if name not in without}


def _cards(shown: Shown) -> list[dict[str, Any]]:
    """The main numbers: title, value, a line below, and the labels behind it."""
    report: Any = shown.report
    what = documents(report).replace("samples", "images")
    (_, alpha, interval), (level, word) = leading_alpha(report), alpha_level(report)
    cards = [
        _card("Score", shown_number(report.score.mean, 2), ends_of(report.intervals.get("score.mean"), _two)),
        _card(
            "α" if report.image_alpha is None else "α of images",
            shown_number(alpha, 2),
            ends_of(interval, _two),
            word=word,
            level=level,
        ),
    ]
    if hasattr(report, "existence"):
        of_f1 = ends_of(report.intervals.get("existence.f1"), _two)
        cards.insert(1, _card("F1", shown_number(report.existence.f1, 2), of_f1))
    elif report.share_full_agreement is not None:
        share = percent(report.share_full_agreement, 1.0)
        cards.append(_card("Nothing disputed", share, f"of {report.n_rated:,} {what}"))
    cards.append(_disputed(shown))
    title = f"{what.capitalize()} rated by two"
    leads = link(f"{what.capitalize()} rated by two or more", n_annotators={"$gte": 2})
    cards.append(_card(title, f"{report.n_rated:,}", f"of {report.n_samples:,}", leads))
    return cards


def _two(value: float | None) -> str:
    return shown_number(value, 2)


def _card(
    title: str, value: str, below: str = "", leads: Link | None = None, *, word: str = "", level: str = ""
) -> dict[str, Any]:
    return {"title": title, "value": value, "below": below, "link": leads, "word": word, "level": level}


def _disputed(shown: Shown) -> dict[str, Any]:
    """Objects, tags or samples on which somebody disagrees."""
    report: Any = shown.report
    disputed = family_of(report).disputed or f"disputed {documents(report).replace('samples', 'images')}"
    title = disputed.capitalize()
    leads = None
    verdicts = FAMILIES[report.family].disputed
    if verdicts and shown.n_disputed:
        leads = link(f"All {disputed}", verdict=list(verdicts))
    elif shown.n_disputed:  # of masks, which have no verdict: the images on which they differ
        leads = link(f"Images with {disputed}, the lowest scores first", max_score=_NOT_EQUAL)
    of = f"of {report.n_units:,}" if report.n_units else ""
    return _card(title, f"{shown.n_disputed:,}", of, leads)
