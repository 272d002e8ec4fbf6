"""Bar charts and histograms: classes, models beside annotators, similarity of labels, scores of samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from ...agreement.evidence.ranking import ends_of_ranking, least_first, supported
from ...agreement.settings.arguments import count_of, without_numpy
from ...agreement.settings.errors import AgreementInputError
from ..objects.questions import drawn_by
from ..reports.families import ClassValues, family_of
from ..reports.role_sections import measure_of, person_sentence
from ..text.words import capitalised, counted, documents, percent, shown_at_least, shown_interval, shown_number, signed
from . import theme

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
    theme.require(classes, "no class has a defined agreement")
    classes = least_first(classes, number)
    names = [getattr(entry, name_of) for entry in classes]
    values = [getattr(entry, number) for entry in classes]
    ends = [getattr(entry, "intervals", {}).get(number) for entry in classes]
    dots = go.Scatter(
        x=values,
        y=[theme.safe(name) for name in names],
        mode="markers",
        marker={"color": theme.BLUE, "size": 9},
        error_x=theme.error_bars(values, ends),
        customdata=names,
        hovertext=[_count(entry, drawn_of) for entry in classes],
        hovertemplate="%{y}<br>%{x:.3f}, %{hovertext}<extra></extra>",
    )
    # the class that agrees least, if there is evidence that it agrees less than all classes together
    ends_of = ends_of_ranking(classes, 1, report.alpha.pooled if number == "alpha" else None, number)
    finding = capitalised(drawn_of.title)
    lowest = min((getattr(entry, number) for entry in classes if supported(entry, number)), default=None)
    if ends_of.least and getattr(entry := ends_of.least[0], number) == lowest:
        among = f" of the {ends_of.n_supported:,} with enough labels" if ends_of.n_supported < len(entries) else ""
        least = f"{shown_number(getattr(entry, number), 2)} on {_count(entry, drawn_of)}"
        finding = f"{getattr(entry, name_of)} is the hardest {drawn_of.kind}{among}: {least}"
    if len(entries) > len(entries[:top]):
        finding += f"; the {top} most frequent of {len(entries):,}"
    drawn = theme.figure([dots], finding, height=60 + _CLASS_ROW * max(3, len(classes)))
    drawn.add_vline(x=0, line={"color": theme.LINE, "width": 1})
    drawn.update_xaxes(title_text=drawn_of.title, range=[min(-0.02, *values, *(end.low for end in ends if end)), 1.02])
    drawn.update_yaxes(theme.names_axis(names, autorange="reversed", showgrid=True))
    return drawn


def _count(entry: Any, drawn_of: ClassValues) -> str:
    return f"{getattr(entry, drawn_of.counted):,} {drawn_of.things}"


#: number of classes that are drawn at most, the most frequent ones
_MOST = 20
_MODEL_ROW = 34


def plot_models(report: AgreementReport, model: str | None = None) -> go.Figure:
    """F1 (of ratings accuracy) of a model with annotators, and of annotators with the others; by size and class."""
    roles = {one.name: (one, one.person) for one in report.models if one.person is not None}
    theme.require(report.models, "the run has no model; compute it with models=")
    theme.require(roles, "no model shares images with two annotators")
    name = next(iter(roles)) if model is None else model
    theme.require(name in roles, f"there is no model {name!r}")
    role, person = roles[name]
    measure = measure_of(role)
    parts = (("total", [person.total]), ("size", person.sizes), ("class", person.classes[:_MOST]))
    rows = [(part, entry) for part, entries in parts for entry in entries if entry.difference is not None]
    theme.require(rows, "there are no labels to compare")
    keys = [(part, entry.name) for part, entry in rows]
    bars = [
        _bars("annotators", "annotators", rows, measure, theme.ORANGE),
        _bars(name, "model", rows, measure, theme.BLUE),
    ]
    drawn = theme.figure(
        bars, person_sentence(role), height=80 + _MODEL_ROW * max(3, len(rows)), above=theme.LINE_HEIGHT
    )
    drawn.update_layout(barmode="group", showlegend=True)
    drawn.update_xaxes(title_text=f"{capitalised(measure)} with the other annotators", range=[0, 1.02])
    # bars are placed by number and named by tick texts, because a class may have the name of a size
    texts = [theme.safe(theme.shortened(_title(*key))) for key in keys]
    drawn.update_yaxes(tickmode="array", tickvals=list(range(len(rows))), ticktext=texts, autorange="reversed")
    return drawn


def _title(part: str, name: str) -> str:
    return {"total": "all", "size": f"{name} (size)"}.get(part, name)


def _bars(who: str, side: str, rows: Sequence[tuple[str, SideBySide]], measure: str, color: str) -> go.Bar:
    """The bars of the model, or of the annotators, with their intervals as lines."""
    values = [getattr(entry, side) for _, entry in rows]
    hover = [
        f"{theme.safe(_title(part, entry.name))}, {theme.safe(who)}<br>{measure} "
        f"{shown_interval(value, entry.intervals.get(side))}<br>difference "
        f"{shown_interval(entry.difference, entry.intervals.get('difference'), signed)}"
        for (part, entry), value in zip(rows, values, strict=True)
    ]
    return go.Bar(
        name=theme.safe(who),
        orientation="h",
        x=values,
        y=list(range(len(rows))),
        marker={"color": color},
        error_x=theme.error_bars(values, [entry.intervals.get(side) for _, entry in rows]),
        customdata=[[part, entry.name] for part, entry in rows],
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
    )


#: number of bins of the histogram of scores
_SCORE_BINS = 20
#: a score above this is 1, apart from rounding
_FULL = 1.0 - 1e-9
#: maximum number of bars with shares as text
_ROOMY = 10


def plot_votes(report: AgreementReport) -> go.Figure:
    """Number of objects by the number of annotators who drew them."""
    votes = drawn_by(theme.require_objects(report, "Votes on objects"))[::-1]
    n = sum(entry["units"] for entry in votes)
    theme.require(n, "there is no object that two annotators could have drawn")
    n_full = sum(entry["units"] for entry in votes if entry["votes"] == entry["assigned"])
    finding = f"{n_full:,} of {counted(n, 'object')} ({percent(n_full, n)}) drawn by everybody who was assigned"
    bars = go.Bar(
        x=[f"{entry['votes']} of {entry['assigned']}" for entry in votes],
        y=[entry["units"] for entry in votes],
        customdata=[[entry["votes"], entry["assigned"]] for entry in votes],
        marker={
            "color": [theme.BLUE if entry["votes"] == entry["assigned"] else theme.ORANGE for entry in votes],
            "line": {"width": 0},
        },
        text=[f"{100.0 * entry['units'] / n:.0f} %" for entry in votes],
        textposition="outside" if len(votes) <= _ROOMY else "none",
        cliponaxis=False,
        hovertemplate="drawn by %{x}<br>%{y:,} objects (%{text})<extra></extra>",
    )
    drawn = theme.figure([bars], finding, above=10)
    drawn.update_xaxes(type="category", title_text="annotators who drew the object, of those assigned", showgrid=False)
    drawn.update_yaxes(title_text="objects", tickformat=",d", rangemode="tozero")
    return drawn


def plot_iou(report: AgreementReport) -> go.Figure:
    """Histogram of the similarity of two labels of one object."""
    local = theme.require_objects(report, "The overlap of labels").localisation
    n = sum(local.iou_histogram)
    theme.require(n, "no object was drawn by two annotators")
    finding = f"{local.measure} of two labels of one object, {n:,} pairs"
    if local.median_iou is not None:
        least = shown_at_least(local.median_iou, 2)
        finding = f"{local.measure} is {least} or more for half of the {n:,} pairs of labels"
    title = f"{local.measure} of two labels of one object (1: identical)"
    return _histogram(local.iou_histogram, finding, local.mean_iou, local.measure, "pairs of labels", title)


def plot_scores(report: AgreementReport, scores: NDArray[np.float64]) -> go.Figure:
    """Histogram of the scores of samples; samples without a score are left out."""
    values = np.asarray(scores, np.float64)
    values = values[~np.isnan(values)]
    what = documents(report)
    theme.require(len(values), f"no {what[:-1]} has a score")
    # round first: a score on the edge of two bins may be slightly below it
    edges = np.round(np.linspace(0.0, 1.0, _SCORE_BINS + 1), 9)
    counts, _ = np.histogram(np.round(values, 9), bins=edges)
    median, n_full = float(np.median(values)), int((values > _FULL).sum())
    finding = f"Half of {len(values):,} {what} score {shown_at_least(median, 2)} or more"
    if median > _FULL:
        finding = f"{n_full:,} of {len(values):,} {what} have full agreement (score 1)"
    title = "score (0: nothing in common, 1: identical)"
    return _histogram(counts.tolist(), finding, report.score.mean, "score", what, title)


def _histogram(
    counts: Sequence[int], finding: str, mean: float | None, value: str, things: str, title: str
) -> go.Figure:
    """Counts of values from 0 to 1 in bins of equal width; ``customdata`` has the ends of a bin and its share."""
    n, width = len(counts), 1.0 / len(counts)
    bars = go.Bar(
        x=[(k + 0.5) * width for k in range(n)],
        y=counts,
        width=width * 0.94,
        marker={"color": theme.BLUE, "line": {"width": 0}},
        customdata=[[round(k / n, 9), round((k + 1) / n, 9), count / sum(counts)] for k, count in enumerate(counts)],
        hovertemplate=f"{value} %{{customdata[0]:.2f}} – %{{customdata[1]:.2f}}<br>"
        f"%{{y:,}} {things} (%{{customdata[2]:.1%}})<extra></extra>",
    )
    drawn = theme.figure([bars], finding, above=20)
    drawn.update_xaxes(title_text=title, range=[0, 1])
    drawn.update_yaxes(title_text=things, tickformat=",d", rangemode="tozero")
    if mean is not None:
        drawn.add_vline(x=mean, line={"color": theme.TEXT, "dash": "dot", "width": 1.5})
        drawn.add_annotation(x=mean, y=1, yref="paper", yanchor="bottom", text=f"mean {mean:.2f}", showarrow=False)
    return drawn
