"""Histograms: annotators who drew an object, similarity of matched labels, scores of samples."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from ..text.words import documents
from .theme import BLUE, ORANGE, TEXT, figure, require, require_objects

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...agreement.statistics.report import AgreementReport

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
