"""Chart of a number over parts of the samples, or over several runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from ...agreement.settings.arguments import one_of, without_numpy
from ..reports.parts import finding_sentences
from ..text.headline import FORMS
from ..text.words import counted
from .theme import BLUE, GREEN, LINE, ORANGE, error_bars, figure, names_axis, require, safe

if TYPE_CHECKING:
    from ...agreement.parts.result import AgreementParts

_ROW = 26


def plot_parts(parts: AgreementParts, number: str | None = None) -> go.Figure:
    """A number of every part with 95 % intervals; parts in order (dates, numbers, runs) from left to right.

    Parts that stand out are orange where the number is lower, green where it is higher; the line is all samples.

    Args:
        parts: the parts
        number: key of the number; None: the first
    """
    keys = [each.key for each in parts.numbers]
    require(keys, "no number of the parts is defined")
    key = keys[0] if number is None else one_of("number", without_numpy(number), keys)
    chosen = next(each for each in parts.numbers if each.key == key)
    shown = [(part, part.numbers[key]) for part in parts.parts if part.numbers.get(key) is not None]
    shown = [(part, found) for part, found in shown if found.value is not None]
    names = [part.name for part, _ in shown]
    values = [float(found.value or 0.0) for _, found in shown]
    bars = error_bars(values, [found.interval for _, found in shown], color=LINE)
    colours = [
        BLUE if not found.stands_out else GREEN if (found.difference or 0.0) > 0 else ORANGE for _, found in shown
    ]
    axis, across = ("x", "y") if parts.ordered else ("y", "x")
    places: dict[str, Any] = {axis: [safe(name) for name in names], across: values, f"error_{across}": bars}
    dots = go.Scatter(
        **places,
        mode="lines+markers" if parts.ordered else "markers",
        line={"color": LINE, "width": 1},
        marker={"color": colours, "size": 9},
        customdata=names,
        hovertext=[
            f"{FORMS[chosen.form](value)}, {counted(part.n_rated, parts.what[:-1])}"
            for (part, _), value in zip(shown, values, strict=True)
        ],
        hovertemplate=f"%{{{axis}}}<br>%{{hovertext}}<extra></extra>",
    )
    title = f"{chosen.name(parts.measure)} by {parts.by}"
    said = next(finding_sentences(parts), "") if parts.findings else ""
    height = 260 if parts.ordered else 60 + _ROW * max(3, len(shown))
    drawn = figure([dots], f"{title}: {said}" if said else title, height=height)
    whole = parts.whole.numbers.get(key)
    if whole is not None and whole.value is not None:
        line = {"color": LINE, "width": 1, "dash": "dot"}
        (drawn.add_hline if parts.ordered else drawn.add_vline)(**{across: whole.value}, line=line)
    if parts.ordered:
        drawn.update_yaxes(title_text=chosen.name(parts.measure))
        drawn.update_xaxes(names_axis(names))
    else:
        drawn.update_xaxes(title_text=chosen.name(parts.measure))
        drawn.update_yaxes(names_axis(names, autorange="reversed", showgrid=True))
    return drawn
