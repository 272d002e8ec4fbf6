"""Style of all figures, readable on white and on black: colours, layout, titles, error bars, escaped names."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import plotly.graph_objects as go

from ...agreement.settings.errors import AgreementInputError
from ..text.words import shortened as shortened

if TYPE_CHECKING:
    from ...agreement.objects.report import ObjectReport
    from ...agreement.statistics.report import AgreementReport, Interval

#: readable on white and on black
TEXT = "#7d7d7d"
GRID = "rgba(128, 128, 128, 0.25)"
LINE = "rgba(128, 128, 128, 0.7)"
#: colour-blind safe colours (Okabe and Ito), first the ones that are visible on both backgrounds
BLUE, ORANGE, GREEN, RED, PURPLE, SKY = "#2b83ba", "#e69f00", "#1a9e77", "#d55e00", "#b86fa0", "#56b4e9"
#: colour scale from low to high; both ends are visible on both backgrounds, and text is readable on most colours
SCALE = [[0.0, "#e8f0f7"], [0.65, "#93bfdd"], [0.7, "#2f79ad"], [1.0, "#0b3d66"]]
FONT = "Palanquin, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

#: characters per line of a title; fits a figure of 440 pixels
_TITLE_WIDTH = 54
#: height of a line of a title, in pixels
LINE_HEIGHT = 22
_AXIS = {
    "gridcolor": GRID,
    "linecolor": LINE,
    "zeroline": False,
    "showline": True,
    "ticks": "",
    "automargin": True,
    "title": {"standoff": 10, "font": {"size": 13}},
}

TEMPLATE = go.layout.Template(
    layout={
        "paper_bgcolor": "rgba(0, 0, 0, 0)",
        "plot_bgcolor": "rgba(0, 0, 0, 0)",
        "font": {"color": TEXT, "family": FONT, "size": 13},
        "title": {"x": 0, "xref": "container", "xanchor": "left", "font": {"size": 15}, "y": 1, "yref": "container"},
        "colorway": [BLUE, ORANGE, GREEN, RED, PURPLE, SKY],
        "margin": {"l": 20, "r": 20, "b": 50},
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "legend": {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "title": {"text": ""}},
        "hoverlabel": {"font": {"family": FONT}, "align": "left"},
        "bargap": 0.15,
    }
)


def figure(
    traces: Sequence[go.BaseTraceType], finding: str, *, height: int = 320, above: int = 0, **layout: object
) -> go.Figure:
    """A figure in the common style.

    Args:
        finding: the finding of the figure, as its title and in ``layout.meta``
        height: height below the title, in pixels
        above: pixels between the title and the axes, for a legend or marks
        layout: further properties of Plotly's layout
    """
    lines = [safe(line) for line in textwrap.wrap(finding, _TITLE_WIDTH, break_long_words=False)]
    title_height = LINE_HEIGHT * len(lines)
    top = 30 + title_height + above
    # a figure with a layout does not load Plotly's default template
    common = {
        "template": TEMPLATE,
        "title": {"text": "<br>".join(lines), "pad": {"t": 18, "l": 8}, "yanchor": "top"},
        "height": height + top,
        "margin": {"t": top},
        "meta": {"finding": finding, "title_height": title_height},
    }
    drawn = go.Figure(list(traces), layout=common)
    drawn.update_layout(**layout)
    return drawn


def take_title(drawn: go.Figure) -> str:
    """Remove the title of a figure and the space for it; returns the title as plain text."""
    finding, title_height = drawn.layout.meta["finding"], drawn.layout.meta["title_height"]
    top = drawn.layout.margin.t - title_height
    drawn.update_layout(title=None, height=drawn.layout.height - title_height, margin={"t": top})
    return str(finding)


def safe(text: object) -> str:
    """A name with its markup escaped, so that Plotly shows it unchanged."""
    return html.escape(" ".join(str(text).splitlines()), quote=False)


def error_bars(
    values: Sequence[float | None], intervals: Sequence[Interval | None], **style: object
) -> dict[str, object]:
    """Lines from values to the ends of their intervals; no line without an interval."""
    reach = [
        (0.0, 0.0) if value is None or ends is None else (value - ends.low, ends.high - value)
        for value, ends in zip(values, intervals, strict=True)
    ]
    down, up = ([each[side] for each in reach] for side in (0, 1))
    return {"array": up, "arrayminus": down, "symmetric": False, "thickness": 1.5, "width": 0, **style}


def names_axis(names: Sequence[str], **layout: object) -> dict[str, object]:
    """An axis of names; long names are shortened on the axis and complete in hover texts."""
    return {
        "type": "category",
        "tickmode": "array",
        "tickvals": [safe(name) for name in names],
        "ticktext": [safe(shortened(name)) for name in names],
        "showgrid": False,
        **layout,
    }


def require(found: object, what: str) -> None:
    """Refuse to draw numbers that a report does not have."""
    if not found:
        raise AgreementInputError(f"There is nothing to draw: {what}")


def require_objects(report: AgreementReport, what: str) -> ObjectReport:
    """The report, if it is on objects.

    Raises:
        AgreementInputError: if the report is on something else
    """
    if not report.has_objects:
        raise AgreementInputError(f"{what} can be drawn only for a report on objects, got one on {report.family}")
    return cast("ObjectReport", report)
