"""Line charts: the main numbers over the matching threshold, and a number by parts of the data or by runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import plotly.graph_objects as go

from ...agreement.settings.arguments import one_of, without_numpy
from ..reports.other_results import finding_sentences
from ..text.headline import FORMS
from ..text.words import capitalised, counted, shown_number
from . import theme

if TYPE_CHECKING:
    from ...agreement.objects.sensitivity import Sensitivity
    from ...agreement.parts.result import AgreementParts
    from ...agreement.statistics.report import AgreementReport, SampleReader


_SIDE_BY_SIDE = 0.25
_LINES = {
    "f1": ("F1", theme.GREEN, "diamond"),
    "score": ("score", theme.ORANGE, "square"),
    "alpha": ("alpha of objects", theme.BLUE, "circle"),
}


def plot_thresholds(report: AgreementReport, found: Sensitivity | None = None) -> go.Figure:
    """F1, score, alpha of objects and the number of objects over the matching threshold.

    Args:
        report: a report on objects
        found: the numbers at other thresholds; by default they are computed, if the report was loaded from a dataset
    """
    objects = theme.require_objects(report, "Matching thresholds")
    if found is None:
        theme.require(report.samples, "thresholds need a report that was loaded from a dataset")
        found = cast("SampleReader", report.samples).sensitivity
    points = found.thresholds
    theme.require(points, found.note or "objects are matched without a threshold")
    thresholds = [entry.threshold for entry in points]
    lines = [
        go.Scatter(
            x=thresholds,
            y=[getattr(entry, name) for entry in points],
            name=title,
            mode="lines+markers",
            line={"color": colour, "width": 2},
            marker={"symbol": symbol, "size": 6},
            hovertemplate=f"{title} %{{y:.3f}}<extra></extra>",
        )
        for name, (title, colour, symbol) in _LINES.items()
    ]
    units = go.Scatter(
        x=thresholds,
        y=[entry.n_units for entry in points],
        name="objects",
        mode="lines",
        line={"color": theme.PURPLE, "width": 2, "dash": "dash"},
        yaxis="y2",
        hovertemplate="%{y:,} objects<extra></extra>",
    )
    defined = [entry for entry in points if entry.f1 is not None]
    finding = "F1 is undefined at most thresholds"
    if len(defined) > 1:
        first, last = (f"{shown_number(each.f1, 2)} at" for each in (defined[0], defined[-1]))
        finding = f"F1 is {first} the threshold {defined[0].threshold:g}, {last} {defined[-1].threshold:g}"
    drawn = theme.figure([*lines, units], finding, height=330, above=60, hovermode="x unified")
    axis: dict[str, Any] = {"overlaying": "y", "side": "right", "title": {"text": "objects"}, "tickformat": ",d"}
    axis |= {"showgrid": False, "rangemode": "tozero", "gridcolor": theme.GRID}
    drawn.update_layout(yaxis2=axis, legend={"y": 1.07})
    drawn.update_xaxes(title_text=f"least {objects.localisation.measure} of a match", tickformat=".1f", dtick=0.1)
    drawn.update_xaxes(range=[thresholds[0] - 0.03, thresholds[-1] + 0.03])
    drawn.update_yaxes(title_text="agreement", tickformat=".1f", selector={"side": None})
    # vertical lines at the threshold of the run and at the suggested one
    marks = [(float(objects.config["iou"]), "this run", "solid")]
    if found.data_threshold is not None and found.data_threshold.threshold is not None:
        marks.append((found.data_threshold.threshold, "from the data", "dot"))
    marks.sort()
    # close marks: their names must not overlap
    is_close = marks[-1][0] - marks[0][0] < _SIDE_BY_SIDE and len(marks) > 1
    anchors = ("right", "left") if is_close else ("center", "center")
    for (value, name, dash), anchor in zip(marks, anchors, strict=False):
        drawn.add_vline(x=value, line={"color": theme.TEXT, "dash": dash, "width": 1.5})
        drawn.add_annotation(
            x=value, y=1, yref="paper", yanchor="bottom", xanchor=anchor, text=f"{name}: {value:.2f}", showarrow=False
        )
    return drawn


_ROW = 26


def plot_parts(parts: AgreementParts, number: str | None = None) -> go.Figure:
    """A number of every part with 95 % intervals; parts in order (dates, numbers, runs) from left to right.

    Parts that stand out are orange where the number is lower, green where it is higher. The dotted line is its value on
    all samples.

    Args:
        parts: the parts
        number: key of the number; None: the one with the greatest difference by test, or else the first
    """
    keys = [each.key for each in parts.numbers]
    theme.require(keys, "no number of the parts is defined")
    standing_out = next((found.key for _, found, _ in parts.findings), keys[0])
    key = standing_out if number is None else one_of("number", without_numpy(number), keys)
    chosen = next(each for each in parts.numbers if each.key == key)
    shown = [(part, part.numbers[key]) for part in parts.parts if part.numbers.get(key) is not None]
    shown = [(part, found) for part, found in shown if found.value is not None]
    names = [part.name for part, _ in shown]
    values = [float(found.value or 0.0) for _, found in shown]
    bars = theme.error_bars(values, [found.interval for _, found in shown], color=theme.LINE)
    colours = [
        theme.BLUE if not found.stands_out else theme.GREEN if (found.difference or 0.0) > 0 else theme.ORANGE
        for _, found in shown
    ]
    axis, across = ("x", "y") if parts.ordered else ("y", "x")
    places: dict[str, Any] = {axis: [theme.safe(name) for name in names], across: values, f"error_{across}": bars}
    dots = go.Scatter(
        **places,
        mode="lines+markers" if parts.ordered else "markers",
        line={"color": theme.LINE, "width": 1},
        marker={"color": colours, "size": 9},
        customdata=names,
        hovertext=[
            f"{FORMS[chosen.form](value)}, {counted(part.n_rated, parts.what[:-1])}"
            for (part, _), value in zip(shown, values, strict=True)
        ],
        hovertemplate=f"%{{{axis}}}<br>%{{hovertext}}<extra></extra>",
    )
    title = f"{chosen.name(parts.measure)} by {parts.by}"
    said = next(finding_sentences(parts), "") if parts.findings and key == standing_out else ""
    height = 260 if parts.ordered else 60 + _ROW * max(3, len(shown))
    drawn = theme.figure([dots], f"{capitalised(title)}: {said}" if said else capitalised(title), height=height)
    whole = parts.whole.numbers.get(key)
    if whole is not None and whole.value is not None:
        line = {"color": theme.LINE, "width": 1, "dash": "dot"}
        (drawn.add_hline if parts.ordered else drawn.add_vline)(**{across: whole.value}, line=line)
    if parts.ordered:
        drawn.update_yaxes(title_text=chosen.name(parts.measure))
        drawn.update_xaxes(theme.names_axis(names))
    else:
        drawn.update_xaxes(title_text=chosen.name(parts.measure))
        drawn.update_yaxes(theme.names_axis(names, autorange="reversed", showgrid=True))
    return drawn
