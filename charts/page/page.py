"""The page: what stands where."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from datetime import datetime
from html import escape, unescape
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from ... import names
from ...agreement.errors import AgreementInputError
from .. import figures as drawing
from ..figures.theme import LINE_HEIGHT
from ..headline import SCORES, alpha_sentence, interval_notes, undefined_alphas
from ..sections import Section
from ..tables import counted, documents, shown_number, shown_share
from ..text import report_details, report_sections
from .parts import anchor, heading, section_html
from .style import SCRIPT, STYLE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...agreement.report import AgreementReport, Interval

#: figures by the name that sections know them by
_FIGURES: dict[str, Callable[[Any], go.Figure]] = {
    "votes": drawing.plot_votes,
    "iou": drawing.plot_iou,
    "annotators": drawing.plot_annotators,
    "bias": drawing.plot_bias,
    # by score, as the table beside it and who sides with whom: by alpha another pair may be the best
    "pairs": functools.partial(drawing.plot_pairs, value="score"),
    "confusion": drawing.plot_confusion,
    "classes": drawing.plot_classes,
    "thresholds": drawing.plot_thresholds,
}


def report_page(
    report: AgreementReport,
    *,
    dataset_name: str = "",
    computed_at: datetime | None = None,
    scores: NDArray[np.float64] | None = None,
) -> str:
    """The report as the text of an HTML file.

    Args:
        report: of any family
        dataset_name: what it is about, for the reader
        computed_at: when the run was made
        scores: of all samples, nan where they have none
    """
    short, details = report_sections(report), report_details(report)
    plots = dict(_FIGURES)
    if scores is not None:
        plots["scores"] = functools.partial(drawing.plot_scores, scores=scores)
    drawn = _drawn(report, plots, {name for section in [*short, *details] for name in section.figures})
    findings = {name: _taken_title(figure) for name, figure in drawn.items()}
    body = [
        _header(report, dataset_name, computed_at),
        "<main>",
        _cards(report),
        _findings(report),
        _navigation(short, details),
        *(section_html(section, findings) for section in short),
        '<h2 class="part" id="in-detail">In detail</h2>' if details else "",
        *(section_html(section, findings) for section in details),
        "</main>",
        _footer(report, computed_at),
    ]
    title = f"Annotator agreement: {dataset_name or report.run_key}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n<script>{get_plotlyjs()}</script>\n</head>\n<body>\n"
        + "".join(body)
        + f'<script type="application/json" id="figures">{_json(drawn)}</script>\n<script>{SCRIPT}</script>\n'
        "</body>\n</html>\n"
    )


def _drawn(
    report: AgreementReport, plots: dict[str, Callable[[Any], go.Figure]], wanted: set[str]
) -> dict[str, go.Figure]:
    """The figures for which the report has numbers."""
    drawn = {}
    for name, plot in plots.items():
        if name in wanted:
            try:
                drawn[name] = plot(report)
            except AgreementInputError:
                continue  # nothing to draw: the table, or its absence, says so
    return drawn


def _json(drawn: dict[str, go.Figure]) -> str:
    """Figures as JSON within a script element, which no name in them can end."""
    text = json.dumps({name: json.loads(figure.to_json()) for name, figure in drawn.items()}, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _taken_title(figure: go.Figure) -> str:
    """The title of a figure as plain text; the figure is left without."""
    title = figure.layout.title.text
    lines = title.count("<br>") + 1
    figure.update_layout(title=None, height=figure.layout.height - LINE_HEIGHT * lines)
    figure.update_layout(margin={"t": figure.layout.margin.t - LINE_HEIGHT * lines})
    return unescape(title.replace("<br>", " "))


def _header(report: AgreementReport, dataset_name: str, computed_at: datetime | None) -> str:
    facts = [
        f"Run {report.run_key}",
        ", ".join(report.label_types),
        (f"{report.n_samples:,} of {report.run.n_of:,}" if report.run.n_of is not None else f"{report.n_samples:,}")
        + f" {documents(report)}",
        counted(len(getattr(report, "annotators", [])), "annotator"),
    ]
    if computed_at is not None:
        facts.append(f"computed on {_date(computed_at)}")
    name = f": {dataset_name}" if dataset_name else ""
    return (
        f'<header><h1>Annotator agreement{escape(name)}</h1><p class="about">{escape(" · ".join(facts))}</p></header>\n'
    )


def _date(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"


def _cards(report: AgreementReport) -> str:
    """The numbers that everybody looks for first."""
    what = documents(report)
    cards = [
        ("Krippendorff's α", report.alpha.pooled, "alpha.pooled", "beyond chance; 0: as by chance, 1: perfect"),
        ("Score", report.score.mean, "score.mean", f"{SCORES[report.family]}, {report.score.n:,} {what}"),
    ]
    existence = getattr(report, "existence", None)
    if existence is not None:
        given, local = report.class_given_match, report.localisation  # type: ignore[attr-defined]
        cards += [
            ("See the same: F1", existence.f1, "existence.f1", "objects that both of a pair drew"),
            ("Name alike: α", given.alpha, "class_given_match.alpha", f"{shown_share(given.percent_agreement)} agree"),
            (f"Draw alike: mean {local.measure}", local.mean_iou, "localisation.mean_iou", "of matched labels"),
        ]
    shown = "".join(_card(name, value, report.intervals.get(path), text) for name, value, path, text in cards)
    return f'<div class="cards">{shown}</div>\n'


def _card(name: str, value: float | None, interval: Interval | None, what: str) -> str:
    ends = ""
    if value is not None and interval is not None and interval.low is not None and interval.high is not None:
        ends = f'<div class="interval">[{shown_number(interval.low)}, {shown_number(interval.high)}]</div>'
    return (
        f'<div class="card"><div class="name">{escape(name)}</div><div class="number">{shown_number(value)}</div>'
        f'{ends}<div class="what">{escape(what)}</div></div>'
    )


def _findings(report: AgreementReport) -> str:
    lines = [f'<p class="finding">{escape(alpha_sentence(report))}</p>']
    for note in interval_notes(report):
        kind = "warning" if note.startswith("Warning") else "note"
        lines.append(f'<p class="{kind}">{escape(note)}</p>')
    undefined = undefined_alphas(report)
    if undefined:
        what = documents(report)
        lines.append(f'<p class="note">α of single {what} is undefined on {escape(", ".join(undefined))}.</p>')
    return "".join(lines) + "\n"


def _navigation(short: list[Section], details: list[Section]) -> str:
    links = [(anchor(section.title), heading(section.title)[0]) for section in short]
    if details:
        links.append(("in-detail", "In detail"))
    return "<nav>" + " ".join(f'<a href="#{place}">{escape(name)}</a>' for place, name in links) + "</nav>\n"


def _footer(report: AgreementReport, computed_at: datetime | None) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in report.run.versions.items())
    when = f" on {_date(computed_at)}" if computed_at is not None else ""
    text = f"Computed{when} by {names.PLUGIN_NAME}" + (f" with {versions}" if versions else "")
    return f"<footer><p>{escape(text)}. An undefined number is shown as “-”.</p></footer>\n"
