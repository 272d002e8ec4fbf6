"""The view model: everything that the panel shows of a report, as JSON values."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..agreement.errors import AgreementInputError
from ..agreement.report import AgreementReport
from ..charts.document import panel_markdown
from ..charts.families import ClassValues, family_of
from ..charts.figures import FIGURES, plot_scores
from ..charts.tables import Cell, Column
from ..charts.words import end_of_path, shown_number, shown_share

#: a chart or a table, and all items of the panel; both are JSON values
Item = dict[str, Any]
ViewModel = dict[str, Any]

#: hints for charts that react to clicks
_HINTS = {
    "pairs": "Click a cell: the disagreements of these two.",
    "scores": "Click a bar: these samples, the worst first.",
    "annotators": "Click a bar: these labels.",
    "confusion": "Click a cell: the labels with this conflict.",
    "verdicts": "Click a bar: the labels with this verdict.",
    "votes": "Click a bar: the labels of these objects.",
    "classes": "Click a point: the labels of this class.",
}
#: rows of the table of classes
_MOST_CLASSES = 20


def view_model(report: AgreementReport, scores: Any, version: str, notes: Sequence[str] = ()) -> ViewModel:
    """The view model of a report.

    Args:
        report: report of any family
        scores: array of the scores of all samples, nan where undefined
        version: identifies this content
        notes: additional notes on the numbers
    """
    return {"version": version, "headline": panel_markdown(report, notes), "items": list(_items(report, scores))}


def _items(report: AgreementReport, scores: Any) -> Iterator[Item]:
    classes = family_of(report).classes
    # a semantic mask holds all classes: no label has a single class
    leads_to_classes = classes is not None and classes.has_labels
    # the chart is about frames, but only samples can be opened
    without = {"classes": not leads_to_classes, "scores": report.run.n_videos is not None}
    first, *others = FIGURES
    for name in (first, "scores", *others):
        draw = functools.partial(plot_scores, scores=scores) if name == "scores" else FIGURES[name]
        yield from _chart(name, functools.partial(draw, report), "" if without.get(name) else _HINTS.get(name, ""))
    if report.worst_samples:
        yield _worst_table(report)
    if classes is not None and getattr(report, classes.entries):
        yield _class_table(getattr(report, classes.entries), classes)


def _chart(name: str, draw: Callable[[], Any], hint: str) -> Iterator[Item]:
    """A chart; nothing if the report has no numbers for it."""
    figure = None
    with contextlib.suppress(AgreementInputError):
        figure = draw()
    if figure is None:
        return
    drawn = json.loads(figure.to_json())
    layout = drawn["layout"]
    # the App's defaults have no margins and no legend, and are opaque
    layout["margin"] = {"l": 20, "r": 20, "b": 55, **layout.get("margin", {})}
    layout["showlegend"] = len(drawn["data"]) > 1
    layout |= {"paper_bgcolor": "rgba(0, 0, 0, 0)", "plot_bgcolor": "rgba(0, 0, 0, 0)", "dragmode": False}
    legend = {"xanchor": "left", "bgcolor": "rgba(0, 0, 0, 0)", **layout["template"]["layout"]["legend"]}
    layout["legend"] = {**legend, **layout.get("legend", {})}
    layout["font"] = layout["template"]["layout"]["font"]
    for axis in [key for key in layout if key.startswith(("xaxis", "yaxis"))]:
        layout[axis] = {**layout["template"]["layout"][axis[:5]], **layout[axis]}
    yield {"name": name, "kind": "chart", "data": drawn["data"], "layout": layout, "hint": hint}


def _table(
    name: str, title: str, columns: Mapping[str, Column], entries: Sequence[Any], keys: Sequence[str], action: str
) -> Item:
    """A table.

    Args:
        name: name of the item
        title: title of the table
        columns: columns by the name of their values in a row
        entries: entries of the rows
        keys: key of every row, for clicks
        action: text of the button of a row; empty without a button
    """
    rows = [
        {"id": str(row), **{key: column.cell(entry).text for key, column in columns.items()}}
        for row, entry in enumerate(entries)
    ]
    titles = [(key, column.title) for key, column in columns.items()]
    return {
        "name": name,
        "kind": "table",
        "title": title,
        "columns": titles,
        "rows": rows,
        "keys": list(keys),
        "action": action,
    }


def _class_table(entries: Sequence[Any], classes: ClassValues) -> Item:
    """The classes, or tags, of the report, the most frequent first."""
    two_digits = functools.partial(shown_number, digits=2)
    columns = {
        "name": Column(classes.kind.capitalize(), classes.name),
        "labels": Column("Labels", "n_objects", "{:,}".format),
        "samples": Column("Samples", "n_samples", "{:,}".format),
        "objects": Column("Objects", "n_units", "{:,}".format),
        "alpha": Column("Alpha", "alpha", two_digits, interval=True),
        "same": Column("Same class if matched", "agreement_given_match", shown_share),
        "missed": Column("Missed", "miss_rate", shown_share),
        "iou": Column("Mean IoU", "mean_iou", two_digits),
    }
    columns = {key: column for key, column in columns.items() if hasattr(entries[0], str(column.get))}
    shown = entries[:_MOST_CLASSES]
    title = "Tags" if classes.kind == "tag" else "Classes"
    if len(entries) > len(shown):
        title = f"{title}: the {len(shown)} most frequent of {len(entries):,}"
    names = [getattr(entry, classes.name) for entry in shown]
    return _table("class_table", title, columns, shown, names, "Show" if classes.has_labels else "")


def _worst_table(report: AgreementReport) -> Item:
    """The samples with the lowest scores."""
    columns = {
        "score": Column("Score", "score", shown_number),
        "disputed": Column("Disputed", _disputed),
        "file": Column("File", _file),
    }
    entries = report.worst_samples
    return _table("worst", "Where to look first", columns, entries, [entry["id"] for entry in entries], "Open")


def _disputed(entry: Mapping[str, Any]) -> Cell:
    return Cell(entry["n_disputed"], f"{entry['n_disputed']} of {entry['n_units']}")


def _file(entry: Mapping[str, Any]) -> str:
    frame = f", frame {entry['frame_number']}" if "frame_number" in entry else ""
    return end_of_path(entry["filepath"], 40) + frame
