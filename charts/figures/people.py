"""What annotators do: what they miss and add, and how they draw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from ...agreement.errors import AgreementInputError
from ..objects.bias import bias_in_words
from ..tables import shown_share
from .needs import require, require_objects
from .theme import BLUE, GREEN, LINE, ORANGE, PURPLE, RED, SKY, figure, names_axis, safe, shortened

if TYPE_CHECKING:
    from ...agreement.objects.summaries import Bias
    from ...agreement.report import AgreementReport

#: verdicts that are drawn as shares of an annotator's labels, by family
_SHARES: dict[str, dict[str, tuple[str, str]]] = {
    "objects": {
        "lone": ("only theirs", ORANGE),
        "class_conflict": ("class conflict", PURPLE),
        "attribute_conflict": ("attribute conflict", SKY),
        "split": ("split", GREEN),
        "duplicate": ("duplicate", RED),
    },
    "tags": {"lone": ("only theirs", ORANGE), "missed": ("others missed it", PURPLE)},
    "ratings": {"class_conflict": ("disputed", ORANGE)},
}
#: the verdict that is told of whoever has most of it, by family, and how
_FINDINGS = {
    "objects": ("lone", "adds most: {} of their labels nobody else drew"),
    "tags": ("lone", "adds most: {} of their tags nobody else gave"),
    "ratings": ("class_conflict", "has most disputed ratings: {} of theirs"),
}
#: what the shares are, by family
_PLAIN = {
    "objects": "share of their labels<br>(missed: of what two others drew)",
    "tags": "share of their tags",
    "ratings": "share of their ratings",
}
_SIDES = {"size": "size", "left": "left edge", "top": "upper edge", "right": "right edge", "bottom": "lower edge"}
_ROW = 26


def plot_annotators(report: AgreementReport) -> go.Figure:
    """What everybody missed, and what of their labels others contradict, as shares."""
    if report.family not in _SHARES:
        raise AgreementInputError(f"A report on {report.family} has no verdicts of annotators to draw")
    annotators: list[Any] = [entry for entry in report.annotators if sum(entry.verdicts.values())]  # type: ignore[attr-defined]
    require(annotators, "no annotator has labels that were compared")
    names = [entry.name for entry in annotators]
    bars = []
    missed = [getattr(entry, "miss_rate", None) for entry in annotators]
    if any(share is not None for share in missed):
        counts = [f"{entry.n_missed:,} of {entry.n_could_miss:,} objects" for entry in annotators]
        bars.append(_share_bars(names, missed, counts, "missed", BLUE))
    for verdict, (title, colour) in _SHARES[report.family].items():
        n = [entry.verdicts.get(verdict, 0) for entry in annotators]
        if any(n):
            judged = [sum(entry.verdicts.values()) for entry in annotators]
            shares = [count / whole for count, whole in zip(n, judged, strict=True)]
            counts = [f"{count:,} of {whole:,} labels" for count, whole in zip(n, judged, strict=True)]
            bars.append(_share_bars(names, shares, counts, title, colour))
    require(bars, "nobody missed or contradicted anything")
    height = 70 + max(_ROW, 12 * len(bars) + 10) * len(names)
    finding = _annotators_finding(report, names, missed)
    # the legend has three names a row
    drawn = figure(bars, finding, height=height, above=26 * ((len(bars) + 2) // 3), barmode="group")
    drawn.update_layout(legend={"traceorder": "normal"})
    drawn.update_xaxes(title_text=_PLAIN[report.family])
    drawn.update_xaxes(tickformat=".0%", rangemode="tozero")
    drawn.update_yaxes(names_axis(names, autorange="reversed"))
    return drawn


def _share_bars(names: list[str], shares: list[float | None], counts: list[str], title: str, colour: str) -> go.Bar:
    return go.Bar(
        x=shares,
        y=[safe(name) for name in names],
        name=title,
        orientation="h",
        marker={"color": colour, "line": {"width": 0}},
        customdata=counts,
        hovertemplate=f"%{{y}}<br>{title}: %{{x:.1%}} (%{{customdata}})<extra></extra>",
    )


def _annotators_finding(report: AgreementReport, names: list[str], missed: list[float | None]) -> str:
    known = {name: share for name, share in zip(names, missed, strict=True) if share is not None}
    if known and max(known.values()) > 0:
        leader, share = _leader(known)
        if leader is None:
            return f"Several annotators miss most: {share} of what two others drew"
        return f"{safe(leader)} misses most: {share} of what two others drew"
    verdict, text = _FINDINGS[report.family]
    annotators: list[Any] = [entry for entry in report.annotators if entry.name in names]  # type: ignore[attr-defined]
    shares = {entry.name: entry.verdicts.get(verdict, 0) / sum(entry.verdicts.values()) for entry in annotators}
    leader, share = _leader(shares)
    return f"{safe(leader)} {text.format(share)}" if leader is not None else _PLAIN[report.family].replace("<br>", " ")


def _leader(shares: Mapping[str, float]) -> tuple[str | None, str]:
    """Who has the largest share, as it is shown; nobody where several have it, or nobody has any."""
    largest = max(shares.values())
    shown = shown_share(largest)
    leaders = [name for name, share in shares.items() if shown_share(share) == shown]
    return (leaders[0] if len(leaders) == 1 and largest > 0 else None), shown


def plot_bias(report: AgreementReport) -> go.Figure:
    """How everybody's boxes differ from the median of their objects, with 95 % intervals."""
    objects = require_objects(report, "The bias of boxes")
    biased: list[tuple[str, Bias]] = [
        (entry.name, entry.bias) for entry in objects.annotators if entry.bias is not None and entry.bias.n
    ]
    require(biased, "no annotator has boxes that were compared with those of others")
    colours = (BLUE, ORANGE, GREEN, PURPLE, RED)
    symbols = ("circle", "triangle-left", "triangle-up", "triangle-right", "triangle-down")
    traces = []
    for place, ((side, title), colour, symbol) in enumerate(zip(_SIDES.items(), colours, symbols, strict=True)):
        means = [bias.mean.get(side) for _, bias in biased]
        ends = [_distances(bias, side) for _, bias in biased]
        # the five numbers of an annotator stand one below the other
        rows = [k + (place - 2) * 0.14 for k in range(len(biased))]
        traces.append(
            go.Scatter(
                x=means,
                y=rows,
                name=title,
                mode="markers",
                marker={"color": colour, "symbol": symbol, "size": 9},
                error_x={"array": [up for _, up in ends], "arrayminus": [down for down, _ in ends], "symmetric": False,
                         "thickness": 1.5, "width": 0},
                customdata=[safe(name) for name, _ in biased],
                hovertemplate=f"%{{customdata}}<br>{title} %{{x:+.1f}} %<extra></extra>",
            )
        )  # fmt: skip
    drawn = figure(traces, _bias_finding(biased), height=80 + 80 * len(biased), above=52)
    drawn.add_vline(x=0, line={"color": LINE, "width": 1})
    drawn.update_xaxes(title_text="of the median box (positive: larger, right, lower)")
    drawn.update_xaxes(ticksuffix=" %")
    drawn.update_yaxes(
        tickvals=list(range(len(biased))),
        ticktext=[safe(shortened(name)) for name, _ in biased],
        range=[len(biased) - 0.5, -0.5],
        showgrid=False,
    )
    return drawn


def _distances(bias: Bias, side: str) -> tuple[float, float]:
    """How far the ends of an interval are from its mean, below and above."""
    mean, interval = bias.mean.get(side), bias.intervals.get(side)
    if mean is None or interval is None or interval.low is None or interval.high is None:
        return 0.0, 0.0
    return mean - interval.low, interval.high - mean


def _bias_finding(biased: list[tuple[str, Bias]]) -> str:
    told = [(name, bias) for name, bias in biased if any(letter.isdigit() for letter in bias_in_words(bias, 1))]
    if not told:
        return "Everybody draws about alike: nobody's boxes are off on average"
    name, bias = max(told, key=lambda entry: (_largest(entry[1], "size"), _largest(entry[1], *_SIDES), entry[0]))
    return f"{safe(name)} draws boxes {bias_in_words(bias, 1)}"


def _largest(bias: Bias, *sides: str) -> float:
    """The largest of some mean differences, whatever their signs; those that round to zero are alike."""
    return max(round(abs(bias.mean.get(side) or 0.0), 1) for side in sides)
