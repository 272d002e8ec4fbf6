"""The charts and tables of a report, as plain values that the App draws."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..agreement.errors import AgreementInputError
from ..agreement.report import AgreementReport
from ..charts.figures import (
    plot_annotators,
    plot_bias,
    plot_classes,
    plot_confusion,
    plot_iou,
    plot_pairs,
    plot_scores,
    plot_thresholds,
    plot_votes,
)
from ..charts.figures.verdicts import plot_verdicts
from ..charts.tables import end_of_path, shown_interval, shown_number, shown_share

Section = dict[str, Any]

#: charts of every report that has them, in this order, and what a click on them does
_FIGURES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "pairs": (plot_pairs, "Click a cell: what these two disagree on."),
    "annotators": (plot_annotators, "Click a bar: these labels."),
    "confusion": (plot_confusion, "Click a cell: the labels with this conflict."),
    "verdicts": (plot_verdicts, "Click a bar: the labels with this verdict."),
    "votes": (plot_votes, "Click a bar: the labels of these objects."),
    "classes": (plot_classes, "Click a point: the labels of this class."),
    "iou": (plot_iou, ""),
    "bias": (plot_bias, ""),
    "thresholds": (plot_thresholds, ""),
}
_SCORES = "Click a bar: these samples, the worst first."
#: rows of the table of classes
_MOST_CLASSES = 20


def sections_of(report: AgreementReport, scores: Any) -> list[Section]:
    """All that a report of this family has to show, below the headline."""
    on_frames = report.run.n_videos is not None
    sections = []
    for name, (plot, hint) in _FIGURES.items():
        # labels of masks are the masks themselves: there are none of a class
        door = hint if (name, report.family) != ("classes", "pixels") else ""
        sections += _chart(name, lambda plot=plot: plot(report), door)
    # a sample of a video has the mean of its frames, which are what is drawn here
    scored = _chart("scores", lambda: plot_scores(report, scores), "" if on_frames else _SCORES)
    return [*sections[:1], *scored, *sections[1:], *_worst_table(report), *_class_table(report)]


def _chart(name: str, draw: Callable[[], Any], hint: str) -> list[Section]:
    """A chart; nothing where the report has nothing to draw."""
    try:
        figure = draw()
    except AgreementInputError:
        return []
    drawn = json.loads(figure.to_json())
    layout = drawn["layout"]
    # the App's own defaults are without margins and legend, and opaque
    layout["margin"] = {"l": 20, "r": 20, "b": 55, **layout.get("margin", {})}
    layout["showlegend"] = len(drawn["data"]) > 1
    layout |= {"paper_bgcolor": "rgba(0, 0, 0, 0)", "plot_bgcolor": "rgba(0, 0, 0, 0)", "dragmode": False}
    legend = {"xanchor": "left", "bgcolor": "rgba(0, 0, 0, 0)", **layout["template"]["layout"]["legend"]}
    layout["legend"] = {**legend, **layout.get("legend", {})}
    layout["font"] = layout["template"]["layout"]["font"]
    for axis in [key for key in layout if key.startswith(("xaxis", "yaxis"))]:
        layout[axis] = {**layout["template"]["layout"][axis[:5]], **layout[axis]}
    return [{"name": name, "kind": "chart", "data": drawn["data"], "layout": layout, "hint": hint}]


def _table(name: str, title: str, columns: list[tuple[str, str]], rows: list[dict[str, Any]], action: str) -> Section:
    return {"name": name, "kind": "table", "title": title, "columns": columns, "rows": rows, "action": action}


def _class_table(report: AgreementReport) -> list[Section]:
    """The classes, or tags, of the report, the most frequent first."""
    entries: list[Any] = list(getattr(report, "tags", []) or getattr(report, "classes", []))
    if not entries:
        return []
    rows = [{"id": str(k), **_class_row(entry)} for k, entry in enumerate(entries[:_MOST_CLASSES])]
    titles = {
        "name": "Class" if report.family != "tags" else "Tag",
        "labels": "Labels",
        "samples": "Samples",
        "objects": "Objects",
        "alpha": "Alpha",
        "same": "Same class if matched",
        "missed": "Missed",
        "iou": "Mean IoU",
    }
    columns = [(key, title) for key, title in titles.items() if key in rows[0]]
    title = "Classes" if report.family != "tags" else "Tags"
    if len(entries) > len(rows):
        title = f"{title}: the {len(rows)} most frequent of {len(entries):,}"
    return [_table("class_table", title, columns, rows, "" if report.family == "pixels" else "Show")]


def _class_row(entry: Any) -> dict[str, str]:
    """What is told of a class: of objects, tags or masks."""
    row = {"name": getattr(entry, "tag", None) or entry.name}
    if hasattr(entry, "n_units"):
        row |= {"labels": f"{entry.n_objects:,}", "objects": f"{entry.n_units:,}"}
    else:
        row["samples"] = f"{entry.n_samples:,}"
    if hasattr(entry, "alpha"):
        row["alpha"] = shown_interval(entry.alpha, getattr(entry, "intervals", {}).get("alpha"), 2)
    if hasattr(entry, "miss_rate"):
        row |= {"same": shown_share(entry.agreement_given_match), "missed": shown_share(entry.miss_rate)}
    if hasattr(entry, "mean_iou"):
        row["iou"] = shown_number(entry.mean_iou, 2)
    return row


def _worst_table(report: AgreementReport) -> list[Section]:
    """The samples with the lowest scores."""
    rows = []
    for entry in report.worst_samples:
        frame = f", frame {entry['frame_number']}" if "frame_number" in entry else ""
        rows.append(
            {
                "id": entry["id"],
                "file": end_of_path(entry["filepath"], 40) + frame,
                "score": shown_number(entry["score"]),
                "disputed": f"{entry['n_disputed']} of {entry['n_units']}",
            }
        )
    columns = [("score", "Score"), ("disputed", "Disputed"), ("file", "File")]
    return [_table("worst", "Where to look first", columns, rows, "Open")] if rows else []
