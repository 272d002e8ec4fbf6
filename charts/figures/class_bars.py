"""Agreement on every class as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from ...agreement.arguments import count_of, without_numpy
from ...agreement.errors import AgreementInputError
from ..families import ClassValues, family_of
from ..words import shown_number
from .theme import BLUE, LINE, figure, names_axis, require, safe

if TYPE_CHECKING:
    from ...agreement.report import AgreementReport

_ROW = 26
#: nothing is said of rarer classes
_FEW = 10


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
    classes.sort(key=lambda entry: (getattr(entry, number), getattr(entry, name_of)))
    names = [getattr(entry, name_of) for entry in classes]
    values = [getattr(entry, number) for entry in classes]
    ends = [getattr(entry, "intervals", {}).get(number) for entry in classes]
    known = [end if end is not None and end.low is not None and end.high is not None else None for end in ends]
    dots = go.Scatter(
        x=values,
        y=[safe(name) for name in names],
        mode="markers",
        marker={"color": BLUE, "size": 9},
        error_x={
            "array": [end.high - value if end else 0.0 for end, value in zip(known, values, strict=True)],
            "arrayminus": [value - end.low if end else 0.0 for end, value in zip(known, values, strict=True)],
            "symmetric": False,
            "thickness": 1.5,
            "width": 0,
        },
        customdata=names,
        hovertext=[_count(entry) for entry in classes],
        hovertemplate="%{y}<br>%{x:.3f}, %{hovertext}<extra></extra>",
    )
    finding = _finding(classes, entries, drawn_of, report)
    if len(entries) > len(entries[:top]):
        finding += f"; the {top} most frequent of {len(entries):,}"
    drawn = figure([dots], finding, height=60 + _ROW * max(3, len(classes)))
    drawn.add_vline(x=0, line={"color": LINE, "width": 1})
    drawn.update_xaxes(title_text=drawn_of.title, range=[min(-0.02, *values, *(end.low for end in known if end)), 1.02])
    drawn.update_yaxes(names_axis(names, autorange="reversed", showgrid=True))
    return drawn


def _finding(classes: list[Any], entries: list[Any], drawn_of: ClassValues, report: AgreementReport) -> str:
    """The class that agrees least, if it is frequent and clearly below the agreement on all classes together."""
    title, whole = drawn_of.title[:1].upper() + drawn_of.title[1:], report.alpha.pooled
    for entry in classes:
        interval = getattr(entry, "intervals", {}).get(drawn_of.number)
        high = interval.high if interval is not None else None
        if _size(entry) < _FEW or high is None or whole is None or high >= whole or drawn_of.number != "alpha":
            continue
        name, value = getattr(entry, drawn_of.name), getattr(entry, drawn_of.number)
        rarer = any(_size(other) < _FEW for other in entries)
        among = f" of those with {_FEW} {_what(entry)} or more" if rarer else ""
        return f"{name} is the hardest {drawn_of.kind}{among}: {shown_number(value, 2)} on {_count(entry)}"
    return title


def _size(entry: Any) -> int:
    n: int = entry.n_units if hasattr(entry, "n_units") else entry.n_samples
    return n


def _what(entry: Any) -> str:
    return "objects" if hasattr(entry, "n_units") else "samples"


def _count(entry: Any) -> str:
    return f"{_size(entry):,} {_what(entry)}"
