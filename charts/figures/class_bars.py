"""Bar chart of the agreement on every class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from ...agreement.evidence.ranking import ends_of_ranking, least_first
from ...agreement.settings.arguments import count_of, without_numpy
from ...agreement.settings.errors import AgreementInputError
from ..reports.families import ClassValues, family_of
from ..text.words import shown_number
from .theme import BLUE, LINE, error_bars, figure, names_axis, require, safe

if TYPE_CHECKING:
    from ...agreement.statistics.report import AgreementReport

_ROW = 26


def plot_classes(report: AgreementReport, top: int = 30) -> go.Figure:
    """Agreement on each class with 95 % intervals, the worst first; at most the ``top`` most frequent classes."""
    drawn_of = family_of(report).classes
    if drawn_of is None:
        raise AgreementInputError(f"A report on {report.family} has no agreement of classes to draw")
    top = count_of("top", without_numpy(top))
    name_of, number = drawn_of.name, drawn_of.number
    listed = getattr(report, drawn_of.entries)
    entries: list[Any] = [entry for entry in listed if not getattr(entry, "is_background", False)]
    classes = [entry for entry in entries[:top] if getattr(entry, number) is not None]
    require(classes, "no class has a defined agreement")
    classes = least_first(classes, number)
    names = [getattr(entry, name_of) for entry in classes]
    values = [getattr(entry, number) for entry in classes]
    ends = [getattr(entry, "intervals", {}).get(number) for entry in classes]
    dots = go.Scatter(
        x=values,
        y=[safe(name) for name in names],
        mode="markers",
        marker={"color": BLUE, "size": 9},
        error_x=error_bars(values, ends),
        customdata=names,
        hovertext=[_count(entry, drawn_of) for entry in classes],
        hovertemplate="%{y}<br>%{x:.3f}, %{hovertext}<extra></extra>",
    )
    finding = _finding(classes, entries, drawn_of, report)
    if len(entries) > len(entries[:top]):
        finding += f"; the {top} most frequent of {len(entries):,}"
    drawn = figure([dots], finding, height=60 + _ROW * max(3, len(classes)))
    drawn.add_vline(x=0, line={"color": LINE, "width": 1})
    drawn.update_xaxes(title_text=drawn_of.title, range=[min(-0.02, *values, *(end.low for end in ends if end)), 1.02])
    drawn.update_yaxes(names_axis(names, autorange="reversed", showgrid=True))
    return drawn


def _finding(classes: list[Any], entries: list[Any], drawn_of: ClassValues, report: AgreementReport) -> str:
    """The class that agrees least, if there is evidence that it agrees less than all classes together."""
    title, whole = drawn_of.title[:1].upper() + drawn_of.title[1:], report.alpha.pooled
    ends = ends_of_ranking(classes, 1, whole if drawn_of.number == "alpha" else None, drawn_of.number)
    if not ends.least:
        return title
    (entry,) = ends.least
    name, value = getattr(entry, drawn_of.name), getattr(entry, drawn_of.number)
    among = f" of the {ends.n_supported:,} with enough labels" if ends.n_supported < len(entries) else ""
    return f"{name} is the hardest {drawn_of.kind}{among}: {shown_number(value, 2)} on {_count(entry, drawn_of)}"


def _count(entry: Any, drawn_of: ClassValues) -> str:
    return f"{getattr(entry, drawn_of.counted):,} {drawn_of.things}"
