"""Bar charts and histograms: classes, models beside annotators, similarity of labels, scores of samples."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from ...agreement.evidence.ranking import ends_of_ranking, least_first
from ...agreement.settings.arguments import count_of, without_numpy
from ...agreement.settings.errors import AgreementInputError
from ..reports.families import ClassValues, family_of
from ..reports.role_sections import measure_of, person_sentence
from ..text.words import documents, shown_interval, shown_number, signed
from .theme import (
    BLUE,
    LINE,
    LINE_HEIGHT,
    ORANGE,
    TEXT,
    error_bars,
    figure,
    names_axis,
    require,
    require_objects,
    safe,
    shortened,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...agreement.statistics.report import AgreementReport
    from ...agreement.statistics.role_reports import SideBySide


_CLASS_ROW = 26


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
    drawn = figure([dots], finding, height=60 + _CLASS_ROW * max(3, len(classes)))
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


#: classes that are drawn, the most frequent ones
_MOST = 20
_MODEL_ROW = 34


def plot_models(report: AgreementReport, model: str | None = None) -> go.Figure:
    """F1 of a model with the annotators, and of annotators left out with the others, by size and class."""
    roles = {one.name: (one, one.person) for one in report.models if one.person is not None}
    require(report.models, "the run has no model; compute it with models=")
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
    drawn = figure(bars, person_sentence(role), height=80 + _MODEL_ROW * max(3, len(rows)), above=LINE_HEIGHT)
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


#: number of bins of the histogram of scores
_SCORE_BINS = 20
#: a higher score is 1, but for rounding
_FULL = 1.0 - 1e-9
#: maximum number of bars with shares as text
_ROOMY = 10


def plot_votes(report: AgreementReport) -> go.Figure:
    """Number of objects by the number of annotators who drew them."""
    objects = require_objects(report, "Votes on objects")
    votes = sorted(
        (entry for entry in objects.existence.votes if entry["assigned"] >= 2 and entry["votes"] >= 1),
        key=lambda entry: (entry["assigned"], entry["votes"]),
    )
    n = sum(entry["units"] for entry in votes)
    require(n, "there is no object that two annotators could have drawn")
    full = [entry["votes"] == entry["assigned"] for entry in votes]
    n_full = sum(entry["units"] for entry, is_full in zip(votes, full, strict=True) if is_full)
    bars = go.Bar(
        x=[f"{entry['votes']} of {entry['assigned']}" for entry in votes],
        y=[entry["units"] for entry in votes],
        customdata=[[entry["votes"], entry["assigned"]] for entry in votes],
        marker={"color": [BLUE if is_full else ORANGE for is_full in full], "line": {"width": 0}},
        text=[f"{100.0 * entry['units'] / n:.0f} %" for entry in votes],
        textposition="outside" if len(votes) <= _ROOMY else "none",
        cliponaxis=False,
        hovertemplate="drawn by %{x}<br>%{y:,} objects (%{text})<extra></extra>",
    )
    drawn = figure(
        [bars], f"{100.0 * n_full / n:.0f} % of {n:,} objects were drawn by everybody who was assigned", above=10
    )
    drawn.update_xaxes(type="category", title_text="annotators who drew the object, of those assigned", showgrid=False)
    drawn.update_yaxes(title_text="objects", tickformat=",d", rangemode="tozero")
    return drawn


def plot_iou(report: AgreementReport) -> go.Figure:
    """Histogram of the similarity of two labels of one object."""
    objects = require_objects(report, "The overlap of labels")
    local = objects.localisation
    n = sum(local.iou_histogram)
    require(n, "no object was drawn by two annotators")
    width = 1.0 / len(local.iou_histogram)
    centres = [(k + 0.5) * width for k in range(len(local.iou_histogram))]
    bars = go.Bar(
        x=centres,
        y=local.iou_histogram,
        width=width * 0.94,
        marker={"color": BLUE, "line": {"width": 0}},
        customdata=[[k * width, (k + 1) * width, count / n] for k, count in enumerate(local.iou_histogram)],
        hovertemplate=f"{local.measure} %{{customdata[0]:.2f}} – %{{customdata[1]:.2f}}<br>"
        "%{y:,} pairs of labels (%{customdata[2]:.1%})<extra></extra>",
    )
    finding = f"{local.measure} of two labels of one object, {n:,} pairs"
    if local.median_iou is not None:
        finding = f"{local.measure} is {local.median_iou:.2f} or more for half of the {n:,} pairs of labels"
    drawn = figure([bars], finding, above=20)
    drawn.update_xaxes(title_text=f"{local.measure} of two labels of one object (1: identical)", range=[0, 1])
    drawn.update_yaxes(title_text="pairs of labels", tickformat=",d", rangemode="tozero")
    _mark(drawn, local.mean_iou, "mean")
    return drawn


def _mark(drawn: go.Figure, value: float | None, name: str) -> None:
    """A vertical line at a value."""
    if value is not None:
        drawn.add_vline(x=value, line={"color": TEXT, "dash": "dot", "width": 1.5})
        drawn.add_annotation(x=value, y=1, yref="paper", yanchor="bottom", text=f"{name} {value:.2f}", showarrow=False)


def plot_scores(report: AgreementReport, scores: NDArray[np.float64]) -> go.Figure:
    """Histogram of the scores of samples; samples without a score are left out."""
    values = np.asarray(scores, np.float64)
    values = values[~np.isnan(values)]
    what = documents(report)
    require(len(values), f"no {what[:-1]} has a score")
    # round first: a score on the edge of two bins may be slightly below it
    counts, edges = np.histogram(np.round(values, 9), bins=np.round(np.linspace(0.0, 1.0, _SCORE_BINS + 1), 9))
    bins = [(round(low, 9), round(high, 9)) for low, high in itertools.pairwise(edges.tolist())]
    bars = go.Bar(
        x=((edges[:-1] + edges[1:]) / 2).tolist(),
        y=counts.tolist(),
        width=0.94 / _SCORE_BINS,
        marker={"color": BLUE, "line": {"width": 0}},
        customdata=[[*ends, count / len(values)] for ends, count in zip(bins, counts.tolist(), strict=True)],
        hovertemplate="score %{customdata[0]:.2f} – %{customdata[1]:.2f}<br>"
        f"%{{y:,}} {what} (%{{customdata[2]:.1%}})<extra></extra>",
    )
    drawn = figure([bars], _scores_finding(values, what), above=20)
    drawn.update_xaxes(title_text="score (0: nothing in common, 1: identical)", range=[0, 1])
    drawn.update_yaxes(title_text=what, tickformat=",d", rangemode="tozero")
    _mark(drawn, report.score.mean, "mean")
    return drawn


def _scores_finding(values: NDArray[np.float64], what: str) -> str:
    """The median of the scores; how many are 1 where that is most of them."""
    median, n_full = float(np.median(values)), int((values > _FULL).sum())
    if median > _FULL:
        return f"{n_full:,} of {len(values):,} {what} have full agreement (score 1)"
    return f"Half of {len(values):,} {what} score {median:.2f} or more"
