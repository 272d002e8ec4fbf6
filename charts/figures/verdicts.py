"""What the labels were judged as, all annotators together."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from ...names import VERDICT_COLORS
from .needs import require
from .theme import figure

if TYPE_CHECKING:
    from ...agreement.report import AgreementReport


def plot_verdicts(report: AgreementReport) -> go.Figure:
    """How many labels got which verdict."""
    counts: Counter[str] = Counter()
    for entry in getattr(report, "annotators", []):
        counts.update(getattr(entry, "verdicts", {}))
    shown = [verdict for verdict in VERDICT_COLORS if counts[verdict]]
    require(shown, "no label was judged")
    n = sum(counts.values())
    bars = go.Bar(
        x=shown,
        y=[counts[verdict] for verdict in shown],
        marker={"color": [VERDICT_COLORS[verdict] for verdict in shown], "line": {"width": 0}},
        text=[f"{100.0 * counts[verdict] / n:.0f} %" for verdict in shown],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{x}<br>%{y:,} labels (%{text})<extra></extra>",
    )
    drawn = figure([bars], f"{100.0 * counts['agreed'] / n:.0f} % of {n:,} labels are agreed on by everybody", above=10)
    drawn.update_xaxes(type="category", title_text="verdict", showgrid=False)
    drawn.update_yaxes(title_text="labels", tickformat=",d", rangemode="tozero")
    return drawn
