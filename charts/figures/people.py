"""Figures of annotators: missed objects and verdicts, score by number of labels, bias of boxes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from ...agreement.evidence.ranking import ends_of_ranking, most_first, supported
from ...agreement.settings.errors import AgreementInputError
from ..objects.annotators import bias_in_words, has_evidence, told_offsets
from ..reports.families import family_of
from ..text.shortlists import AT_EACH_END, MOST_ANNOTATORS, shortlist_annotators
from ..text.words import percent, shortened, shown_share
from . import theme

if TYPE_CHECKING:
    from ...agreement.objects.report import Bias
    from ...agreement.statistics.report import AgreementReport

#: colours of verdicts, in every family
_COLOURS = {
    "lone": theme.ORANGE,
    "missed": theme.PURPLE,
    "class_conflict": theme.PURPLE,
    "attribute_conflict": theme.SKY,
    "split": theme.GREEN,
    "duplicate": theme.RED,
}
#: in place of a verdict for bars of objects that an annotator missed; the labels of these are of other annotators
MISSED = "missed_by"
_SIDES = {"size": "size", "left": "left edge", "top": "upper edge", "right": "right edge", "bottom": "lower edge"}
_ROW = 26
#: in pixels: width and height of the area with the points, width of a letter, height of a line
_WIDE, _HIGH, _LETTER, _LINE = 380.0, 200.0, 7.0, 14.0


def plot_skill(report: AgreementReport) -> go.Figure:
    """Agreement of every annotator with the others against their number of labels; ``customdata`` has the names.

    Those who most clearly agree less, or more, than all together are named, with an interval. The points of annotators
    without enough evidence are hollow.
    """
    everybody: Sequence[Any] = report.annotators
    annotators = [entry for entry in everybody if entry.score is not None]
    theme.require(annotators, "no annotator has a score")
    ends = ends_of_ranking(annotators, len(annotators), report.score.of_meetings)
    colours = {entry.name: theme.RED for entry in ends.least} | {entry.name: theme.GREEN for entry in ends.most}
    named = {entry.name for entry in (*ends.least[:AT_EACH_END], *ends.most[:AT_EACH_END])}
    points = go.Scatter(
        x=[entry.n_labels for entry in annotators],
        y=[entry.score for entry in annotators],
        mode="markers+text",
        text=[theme.safe(shortened(entry.name, 16)) if entry.name in named else "" for entry in annotators],
        textposition=free_places(annotators, named),
        textfont={"size": 11},
        marker={
            "color": [colours.get(entry.name, theme.BLUE) for entry in annotators],
            "symbol": ["circle" if supported(entry) else "circle-open" for entry in annotators],
            "size": 8,
        },
        error_y=theme.error_bars(
            [entry.score for entry in annotators],
            [entry.intervals["score"] if supported(entry) and entry.name in named else None for entry in annotators],
            thickness=1,
            color=theme.LINE,
        ),
        customdata=[entry.name for entry in annotators],
        hovertext=[theme.safe(entry.name) for entry in annotators],
        hovertemplate="%{hovertext}<br>score %{y:.3f}, %{x:,} labels<extra></extra>",
    )
    finding = (
        f"Of {len(annotators):,} annotators {len(ends.least):,} clearly agree less with the others than all together, "
        f"{len(ends.most):,} more; {len(annotators) - ends.n_supported:,} (hollow) have too few labels to say"
    )
    drawn = theme.figure([points], finding, height=320, above=10)
    drawn.update_xaxes(title_text="labels", rangemode="tozero")
    drawn.update_yaxes(title_text="score with the others")
    if report.score.of_meetings is not None:
        drawn.add_hline(y=report.score.of_meetings, line={"color": theme.LINE, "width": 1})
    return drawn


def free_places(annotators: Sequence[Any], named: Collection[str]) -> list[str]:
    """For every annotator the side of the point with the name; names do not overlap in a figure of usual width."""
    width = max(entry.n_labels for entry in annotators) or 1
    scores = [entry.score for entry in annotators]
    height = max(max(scores) - min(scores), 1e-9)
    taken: list[tuple[float, float, float]] = []
    places = []
    for entry in annotators:
        x, y = entry.n_labels / width * _WIDE, (entry.score - min(scores)) / height * _HIGH
        half = len(shortened(entry.name, 16)) * _LETTER / 2
        sides = {"top center": (x, y + _LINE), "bottom center": (x, y - _LINE),
                 "middle right": (x + half + _LINE, y), "middle left": (x - half - _LINE, y)}  # fmt: skip

        def overlap(place: tuple[float, float], half: float = half) -> float:
            apart = [(half + other - abs(place[0] - x), _LINE - abs(place[1] - y)) for x, y, other in taken]
            return sum(max(across, 0.0) * max(down, 0.0) for across, down in apart)

        side = min(sides, key=lambda name: overlap(sides[name]))
        places.append(side)
        if entry.name in named:
            taken.append((*sides[side], half))
    return places


def plot_annotators(report: AgreementReport) -> go.Figure:
    """Shares of objects that each annotator missed, and of labels with each verdict; of many :func:`plot_skill`."""
    if len(report.annotators) > MOST_ANNOTATORS:
        return plot_skill(report)
    shown = family_of(report).verdicts
    if shown is None:
        raise AgreementInputError(f"A report on {report.family} has no verdicts of annotators to draw")
    annotators: list[Any] = [entry for entry in report.annotators if sum(entry.verdicts.values())]
    theme.require(annotators, "no annotator has labels that were compared")
    names = [entry.name for entry in annotators]
    bars = []
    missed = [getattr(entry, "miss_rate", None) for entry in annotators]
    if any(share is not None for share in missed):
        counts = [(entry.n_missed, entry.n_could_miss) for entry in annotators]
        bars.append(_share_bars(names, counts, "missed", "objects", theme.BLUE, MISSED))
    for verdict, title in shown.titles.items():
        counts = [_counts(entry, verdict) for entry in annotators]
        if any(n for n, _ in counts):
            bars.append(_share_bars(names, counts, title, "labels", _COLOURS[verdict], verdict))
    theme.require(bars, "nobody missed or contradicted anything")
    height = 70 + max(_ROW, 12 * len(bars) + 10) * len(names)
    counts = [_counts(entry, shown.worst) for entry in annotators]
    share = "other_class" if shown.worst == "class_conflict" else f"verdict_shares.{shown.worst}"
    leader = _leader(annotators, counts, share)
    finding = f"{shown.titles[shown.worst].capitalize()}: {_range(counts)} of their {shown.labels}"
    if leader is not None:
        finding = f"{leader.name} {shown.finding.format(percent(*_counts(leader, shown.worst)))}"
    if any(missed) and any(entry.n_could_miss for entry in annotators):
        could_miss = [(entry.n_missed, entry.n_could_miss) for entry in annotators]
        leader = _leader(annotators, could_miss, "miss_rate")
        finding = f"Annotators miss {_range(could_miss)} of what two others drew"
        if leader is not None:
            finding = f"{leader.name} misses most: {shown_share(leader.miss_rate)} of what two others drew"
    # the legend has three names per row
    drawn = theme.figure(bars, finding, height=height, above=26 * ((len(bars) + 2) // 3), barmode="group")
    drawn.update_layout(legend={"traceorder": "normal"})
    drawn.update_xaxes(title_text=shown.title)
    drawn.update_xaxes(tickformat=".0%", rangemode="tozero")
    drawn.update_yaxes(theme.names_axis(names, autorange="reversed"))
    return drawn


def _counts(entry: Any, verdict: str) -> tuple[int, int]:
    """Numbers of labels with a verdict and of all; of class conflicts: labels against a majority, and with one."""
    if verdict == "class_conflict":
        return entry.n_other_class, entry.n_majority
    return entry.verdicts.get(verdict, 0), sum(entry.verdicts.values())


def _share_bars(
    names: list[str], counts: list[tuple[int, int]], title: str, what: str, colour: str, verdict: str
) -> go.Bar:
    """Bars of shares; ``customdata`` has annotator, verdict, count and total."""
    return go.Bar(
        x=[n / whole if whole else None for n, whole in counts],
        y=[theme.safe(name) for name in names],
        name=title,
        orientation="h",
        marker={"color": colour, "line": {"width": 0}},
        customdata=[[name, verdict, n, whole] for name, (n, whole) in zip(names, counts, strict=True)],
        hovertemplate=f"%{{y}}<br>{title}: %{{x:.1%}} (%{{customdata[2]:,}} of %{{customdata[3]:,}} {what})"
        "<extra></extra>",
    )


def _leader(annotators: Sequence[Any], counts: Sequence[tuple[int, int]], share: str) -> Any | None:
    """The annotator whose interval of a share is above those of all others, if no bar is longer; else None."""
    first, *others = most_first(annotators, share)
    shares = {entry.name: n / whole for entry, (n, whole) in zip(annotators, counts, strict=True) if whole}
    if shares.get(first.name) != max(shares.values(), default=None):
        return None
    interval, ends = supported(first, share), [each for entry in others if (each := supported(entry, share))]
    if interval is None or not ends:
        return None
    return first if all(interval.low > each.high for each in ends) else None


def _range(counts: Sequence[tuple[int, int]]) -> str:
    """The smallest and the largest share, as text."""
    shares = [n / whole for n, whole in counts if whole]
    return " to ".join(dict.fromkeys(map(shown_share, (min(shares, default=None), max(shares, default=None)))))


def plot_bias(report: AgreementReport) -> go.Figure:
    """Bias of each annotator's boxes against the median box of the object, with 95 % intervals; of many a shortlist."""
    objects = theme.require_objects(report, "The bias of boxes")
    entries = shortlist_annotators(objects).entries or objects.annotators[:MOST_ANNOTATORS]
    biased: list[tuple[str, Bias]] = [
        (entry.name, entry.bias) for entry in entries if entry.bias is not None and entry.bias.n
    ]
    theme.require(biased, "no annotator has boxes that were compared with those of others")
    colours = (theme.BLUE, theme.ORANGE, theme.GREEN, theme.PURPLE, theme.RED)
    symbols = ("circle", "triangle-left", "triangle-up", "triangle-right", "triangle-down")
    traces = []
    for place, ((side, title), colour, symbol) in enumerate(zip(_SIDES.items(), colours, symbols, strict=True)):
        means = [bias.mean.get(side) for _, bias in biased]
        # one row for each of the five numbers of an annotator
        rows = [k + (place - 2) * 0.14 for k in range(len(biased))]
        traces.append(
            go.Scatter(
                x=means,
                y=rows,
                name=title,
                mode="markers",
                marker={"color": colour, "symbol": symbol, "size": 9},
                error_x=theme.error_bars(means, [bias.intervals.get(side) for _, bias in biased]),
                customdata=[name for name, _ in biased],
                hovertext=[theme.safe(name) for name, _ in biased],
                hovertemplate=f"%{{hovertext}}<br>{title} %{{x:+.1f}} %<extra></extra>",
            )
        )
    offsets = told_offsets(objects.annotators)
    said = {name: bias_in_words(bias, offsets[name], 1) for name, bias in biased}
    told = [(name, bias) for name, bias in biased if any(letter.isdigit() for letter in said[name])]
    finding = "No annotator's boxes clearly differ on average from the median boxes"
    if not any(has_evidence(bias) for _, bias in biased):
        finding = "Too few labels to say whether anybody draws otherwise"
    elif told:
        name, _ = max(told, key=lambda entry: (_largest(entry[1], "size"), _largest(entry[1], *_SIDES), entry[0]))
        finding = f"{name}: {said[name]} than the median box"
    drawn = theme.figure(traces, finding, height=80 + 80 * len(biased), above=52)
    drawn.add_vline(x=0, line={"color": theme.LINE, "width": 1})
    drawn.update_xaxes(title_text="of the median box (positive: larger, right, lower)")
    drawn.update_xaxes(ticksuffix=" %")
    drawn.update_yaxes(
        tickvals=list(range(len(biased))),
        ticktext=[theme.safe(shortened(name)) for name, _ in biased],
        range=[len(biased) - 0.5, -0.5],
        showgrid=False,
    )
    return drawn


def _largest(bias: Bias, *sides: str) -> float:
    """The largest absolute mean difference of the given sides, rounded so that tiny ones are ties."""
    return max(round(abs(bias.mean.get(side) or 0.0), 1) for side in sides)
