"""Line chart of the main numbers over the matching threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from ..text.words import shown_number
from .theme import BLUE, GREEN, GRID, ORANGE, PURPLE, TEXT, figure, require, require_objects

if TYPE_CHECKING:
    from ...agreement.objects.report import ObjectReport
    from ...agreement.statistics.report import AgreementReport

_SIDE_BY_SIDE = 0.25
_LINES = {"alpha": ("alpha", BLUE, "circle"), "score": ("score", ORANGE, "square"), "f1": ("F1", GREEN, "diamond")}


def plot_thresholds(report: AgreementReport) -> go.Figure:
    """Alpha, score, F1 and the number of objects over the matching threshold."""
    objects = require_objects(report, "Matching thresholds")
    points = objects.thresholds
    require(points, "the run did not compare thresholds")
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
        line={"color": PURPLE, "width": 2, "dash": "dash"},
        yaxis="y2",
        hovertemplate="%{y:,} objects<extra></extra>",
    )
    drawn = figure([*lines, units], _finding(objects), height=330, above=60, hovermode="x unified")
    drawn.update_layout(
        yaxis2={
            "overlaying": "y",
            "side": "right",
            "title": {"text": "objects"},
            "tickformat": ",d",
            "showgrid": False,
            "rangemode": "tozero",
            "gridcolor": GRID,
        },
        legend={"y": 1.07},
    )
    drawn.update_xaxes(title_text=f"least {objects.localisation.measure} of a match", tickformat=".1f", dtick=0.1)
    drawn.update_xaxes(range=[thresholds[0] - 0.03, thresholds[-1] + 0.03])
    drawn.update_yaxes(title_text="agreement", tickformat=".1f", selector={"side": None})
    _mark_thresholds(drawn, objects)
    return drawn


def _mark_thresholds(drawn: go.Figure, report: ObjectReport) -> None:
    """Vertical lines at the threshold of the run and at the suggested one."""
    found = report.data_threshold
    marks = [(float(report.config["iou"]), "this run", "solid")]
    if found is not None and found.threshold is not None:
        marks.append((found.threshold, "from the data", "dot"))
    marks.sort()
    # close marks: their names must not overlap
    is_close = marks[-1][0] - marks[0][0] < _SIDE_BY_SIDE and len(marks) > 1
    for (value, name, dash), anchor in zip(
        marks, ("right", "left") if is_close else ("center", "center"), strict=False
    ):
        drawn.add_vline(x=value, line={"color": TEXT, "dash": dash, "width": 1.5})
        drawn.add_annotation(
            x=value, y=1, yref="paper", yanchor="bottom", xanchor=anchor, text=f"{name}: {value:.2f}", showarrow=False
        )


def _finding(report: ObjectReport) -> str:
    defined = [entry for entry in report.thresholds if entry.alpha is not None]
    if len(defined) < 2:
        return "Alpha is undefined at most thresholds"
    first, last = defined[0], defined[-1]
    return (
        f"Alpha is {shown_number(first.alpha, 2)} at the threshold {first.threshold:g}, "
        f"{shown_number(last.alpha, 2)} at {last.threshold:g}"
    )
