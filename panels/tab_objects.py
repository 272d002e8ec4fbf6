"""The tab on objects: the disputed ones by verdict, votes and size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..agreement.families.family import OBJECTS
from ..charts.figures import plot_iou
from ..charts.text.words import VERDICTS, percent, shown_number
from ..dataset_io.decide.next_object import MEANT
from ..names import ADD_AGREEMENT_UNITS, RESOLVE_UNITS, TAG_AGREEMENT_LABELS, VERDICT_COLORS
from .items import Choices, Field, Item, Link, button_item, chart_item, link, table_item
from .tab_classes import classes_link

if TYPE_CHECKING:
    from .model_cache import Shown

#: rows of the table of classes on a page
CLASSES_PER_PAGE = 6
#: what every verdict says of a label
_MEANINGS = {
    "agreed": "everybody drew it and called it the same",
    "class_conflict": "drawn by two or more, who gave it different classes",
    "attribute_conflict": "the same class, but another value of an attribute",
    "missed": "two or more drew it alike, somebody assigned did not",
    "lone": "only one annotator drew it",
    "split": "one drew a whole, another one its parts",
    "duplicate": "the same annotator drew it twice",
    "crowd": "a crowd region, or inside one: not counted",
}


def object_items(shown: Shown, choices: Choices) -> Iterator[Item]:
    """The tables on objects, and what can be done with them."""
    report: Any = shown.report
    yield button_item("object_steps", "Go through the disputed objects, one after the other", [
        ("Decide who is right", "gavel", "go_to_tab", {"tab": "decide"}),
        ("Show disputed objects", "crop", "show_disputed", {}),
        ("Write one label per object", "edit_note", "run_operator", {"operator": ADD_AGREEMENT_UNITS}),
        ("Make a consensus", "how_to_vote", "run_operator", {"operator": RESOLVE_UNITS}),
        ("Tag labels", "sell", "run_operator", {"operator": TAG_AGREEMENT_LABELS}),
    ])  # fmt: skip
    yield from _verdicts(report, choices)
    yield from _votes(report, choices)
    yield from _classes(shown, choices)
    yield from _sizes(report, choices)
    yield from chart_item("iou", lambda: plot_iou(report))


def _verdicts(report: Any, choices: Choices) -> Iterator[Item]:
    counts: Counter[str] = Counter()
    for entry in report.annotators:
        counts.update(entry.verdicts)
    total = counts.total()
    rows = [(name, counts[name]) for name in VERDICT_COLORS if counts[name]]
    fields = [
        Field("Verdict", lambda row: VERDICTS.get(row[0], row[0]), is_number=False, first_down=False),
        Field("Meaning", lambda row: _MEANINGS.get(row[0], ""), is_number=False, first_down=False),
        Field(
            "Labels",
            lambda row: f"{row[1]:,}",
            lambda row: row[1],
            lambda row: link(f"Labels: {VERDICTS.get(row[0], row[0])}", verdict=row[0]),
        ),
        Field("Share", lambda row: percent(row[1], total), lambda row: row[1], bar=lambda row: row[1] / total),
        _decide_field(lambda row: {"verdict": row[0]} if row[0] in MEANT else None),
    ]
    if rows:
        yield table_item("verdicts", fields, rows, choices, title="Labels by verdict")


def _decide_field(seek: Callable[[Any], dict[str, Any] | None]) -> Field:
    """A column that leads to the tab Decide, with the objects of a row alone."""
    return Field(
        "",
        lambda entry: "decide" if seek(entry) else "",
        link=lambda entry: {**link("Decide"), "seek": seek(entry)} if seek(entry) else None,
        is_number=False,
    )


def _votes(report: Any, choices: Choices) -> Iterator[Item]:
    votes = [entry for entry in report.existence.votes if entry["assigned"] >= 2 and entry["votes"] >= 1]
    votes.sort(key=lambda entry: (-entry["assigned"], -entry["votes"]))
    total = sum(entry["units"] for entry in votes)
    fields = [
        Field("Drawn by", lambda e: f"{e['votes']} of {e['assigned']}", lambda e: e["votes"], is_number=False),
        Field(
            "Objects",
            lambda entry: f"{entry['units']:,}",
            lambda entry: entry["units"],
            lambda entry: votes_link(entry["votes"], entry["assigned"]),
        ),
        Field("Share", lambda e: percent(e["units"], total), lambda e: e["units"], bar=lambda e: e["units"] / total),
        _decide_field(lambda entry: {"votes": entry["votes"]}),
    ]
    if total:
        yield table_item("votes", fields, votes, choices, title="Objects by the annotators who drew them", per_page=12)


def votes_link(votes: int, assigned: int) -> dict[str, Any]:
    """The objects that so many of the assigned annotators drew."""
    return link(f"Objects drawn by {votes} of {assigned}", votes=votes, assigned=(assigned, assigned))


def _classes(shown: Shown, choices: Choices) -> Iterator[Item]:
    """The disputed objects by class; one with two classes counts for both."""
    fields = [
        Field("Class", lambda entry: entry[0], is_number=False, first_down=False),
        Field("Disputed", lambda e: f"{e[2]:,}", lambda e: e[2], lambda e: _disputed_link(e[0])),
        Field("Objects", lambda entry: f"{entry[1]:,}", lambda entry: entry[1], lambda entry: classes_link(entry[0])),
        Field("Share", lambda e: percent(e[2], e[1]), lambda e: e[2] / e[1], bar=lambda e: e[2] / e[1]),
        _decide_field(lambda entry: {"label": entry[0]}),
    ]
    entries = shown.disputed_by_class
    if entries:
        yield table_item(
            "by_class", fields, entries, choices, title="Disputed objects by class", per_page=CLASSES_PER_PAGE
        )


def _disputed_link(label: str) -> Link:
    return link(f"Disputed objects that somebody called {label!r}", verdict=list(OBJECTS.disputed), classes=label)


def _sizes(report: Any, choices: Choices) -> Iterator[Item]:
    several = len(report.annotators) > 2
    fields = [
        Field("Size", lambda entry: entry.size, is_number=False),
        Field("Objects", lambda entry: f"{entry.n_units:,}", lambda entry: entry.n_units),
        Field("Lone", lambda e: f"{e.n_lone:,} ({percent(e.n_lone, e.n_units)})", lambda e: e.n_lone),
        *([Field("Missed", lambda e: percent(e.miss_rate or 0.0, 1.0) if e.miss_rate is not None else "–",
                 lambda e: e.miss_rate)] if several else []),
        Field(f"Mean {report.localisation.measure}", lambda e: shown_number(e.mean_iou, 2), lambda e: e.mean_iou),
    ]  # fmt: skip
    if any(entry.n_units for entry in report.sizes):
        yield table_item("sizes", fields, report.sizes, choices, title="Objects by size")
