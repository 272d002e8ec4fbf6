"""Bar chart of models beside annotators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from ..reports.person_section import measure_of, person_sentence
from ..text.words import shown_interval, signed
from .theme import BLUE, LINE_HEIGHT, ORANGE, error_bars, figure, require, safe, shortened

if TYPE_CHECKING:
    from ...agreement.statistics.report import AgreementReport
    from ...agreement.statistics.role_reports import SideBySide

#: classes that are drawn, the most frequent ones
_MOST = 20
_ROW = 34


def plot_models(report: AgreementReport, model: str | None = None) -> go.Figure:
    """F1 of a model with the annotators, and of annotators left out with the others, by size and class."""
    roles = {one.name: (one, one.person) for one in report.models if one.person is not None}
    require(roles, "no model shares images with two annotators")
    name = next(iter(roles)) if model is None else model
    require(name in roles, f"there is no model {name!r}")
    role, person = roles[name]
    measure = measure_of(role)
    parts = (("total", [person.total]), ("size", person.sizes), ("class", person.classes[:_MOST]))
    rows = [(part, entry) for part, entries in parts for entry in entries if entry.difference is not None]
    require(rows, "there are no labels to compare")
    keys = [(part, entry.name) for part, entry in rows]
    bars = [_bars("annotators", "annotators", rows, measure, ORANGE), _bars(name, "model", rows, measure, BLUE)]
    drawn = figure(bars, person_sentence(role), height=80 + _ROW * max(3, len(rows)), above=LINE_HEIGHT)
    drawn.update_layout(barmode="group", showlegend=True)
    drawn.update_xaxes(title_text=f"{measure[0].upper()}{measure[1:]} with the other annotators", range=[0, 1.02])
    # a class may have the name of a size: bars have numbers, and names are written beside them
    texts = [safe(shortened(_title(*key))) for key in keys]
    drawn.update_yaxes(tickmode="array", tickvals=list(range(len(rows))), ticktext=texts, autorange="reversed")
    return drawn


def _title(part: str, name: str) -> str:
    return {"total": "all", "size": f"{name} (size)"}.get(part, name)


def _bars(who: str, side: str, rows: Sequence[tuple[str, SideBySide]], measure: str, color: str) -> go.Bar:
    """The bars of one side, whose intervals are lines."""
    values = [getattr(entry, side) for _, entry in rows]
    hover = [
        f"{safe(_title(part, entry.name))}, {safe(who)}<br>{measure} "
        f"{shown_interval(value, entry.intervals.get(side))}<br>difference "
        f"{shown_interval(entry.difference, entry.intervals.get('difference'), signed)}"
        for (part, entry), value in zip(rows, values, strict=True)
    ]
    return go.Bar(
        name=safe(who),
        orientation="h",
        x=values,
        y=list(range(len(rows))),
        marker={"color": color},
        error_x=error_bars(values, [entry.intervals.get(side) for _, entry in rows]),
        customdata=[[part, entry.name] for part, entry in rows],
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
    )
