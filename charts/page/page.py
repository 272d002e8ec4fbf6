"""A report as an HTML page: sections and figures are filled into the template."""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from jinja2 import Environment
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from ... import names
from ...agreement.settings.errors import AgreementInputError
from ..figures import FIGURES, plot_parts, plot_scores
from ..figures.theme import take_title
from ..reports.acceptance import acceptance_section
from ..reports.comparison import comparison_sections
from ..reports.document import report_details, report_head, report_sections
from ..reports.parts import parts_sections
from ..text.tables import Table
from .template import NOTEBOOK, NOTEBOOK_STYLE, SCRIPT, STYLE, TEMPLATE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...agreement.acceptance.outcome import AcceptanceCheck
    from ...agreement.families.comparison import AgreementComparison
    from ...agreement.parts.result import AgreementParts
    from ...agreement.statistics.report import AgreementReport
    from ..text.sections import Part, Section


#: rows of a table on the page
_MOST_ROWS = 100


def report_page(
    report: AgreementReport,
    *,
    dataset_name: str = "",
    computed_at: datetime | None = None,
    scores: NDArray[np.float64] | None = None,
    parts: Sequence[AgreementParts] = (),
    acceptance: AcceptanceCheck | None = None,
) -> str:
    """The report as the text of an HTML file.

    Args:
        dataset_name: name of the dataset, for the reader
        computed_at: time of the run
        scores: scores of all samples, nan where undefined
        parts: the main numbers by parts of the samples
        acceptance: check of the run against requirements
    """
    checked = [] if acceptance is None else [acceptance_section(acceptance)]
    short, details = (
        [*map(_readable, sections)] for sections in ([*checked, *report_sections(report)], report_details(report))
    )
    plots: dict[str, Callable[[Any], go.Figure]] = dict(FIGURES)
    for k, each in enumerate(parts):
        short += parts_sections(each, figure=f"by_{k}")
        plots[f"by_{k}"] = functools.partial(lambda parts, _: plot_parts(parts), each)
    # by score, like the table of pairs: by alpha, another pair may be the best
    plots["pairs"] = functools.partial(FIGURES["pairs"], value="score")
    if scores is not None:
        plots["scores"] = functools.partial(plot_scores, scores=scores)
    wanted = {name for section in [*short, *details] for name in section.figures}
    drawn = _drawn(report, {name: plot for name, plot in plots.items() if name in wanted})
    page: str = _template(TEMPLATE).render(
        run_key=report.run_key,
        dataset_name=dataset_name,
        date=f"{computed_at.day} {computed_at:%B %Y}" if computed_at is not None else "",
        first=report_head(report),
        short=short,
        details=details,
        findings={name: take_title(figure) for name, figure in drawn.items()},
        figures=Markup(_json(drawn)),
        plugin=names.PLUGIN_NAME,
        versions=", ".join(f"{name} {version}" for name, version in report.run.versions.items()),
        style=Markup(STYLE),
        script=Markup(SCRIPT),
        plotly=Markup(get_plotlyjs()),
    )
    return page


def _readable(section: Section) -> Section:
    """A section whose tables have at most as many rows as a reader looks at."""
    parts: list[Part] = []
    for part in section.parts:
        if isinstance(part, Table) and len(part.rows) > _MOST_ROWS:
            more = len(part.rows) - _MOST_ROWS
            parts += [
                replace(part, rows=part.rows[:_MOST_ROWS], keys=part.keys[:_MOST_ROWS]),
                f"{more:,} more rows: report.print_report(full=True).",
            ]
        else:
            parts.append(part)
    return replace(section, parts=parts)


def report_html(report: AgreementReport) -> str:
    """The beginning of a report as HTML, for notebooks."""
    return sections_html(
        [report_head(report), *report_sections(report)[:1]], note="print_report() prints the whole report."
    )


def comparison_html(comparison: AgreementComparison) -> str:
    """The beginning of a comparison as HTML, for notebooks."""
    return sections_html(comparison_sections(comparison)[:2], note="print_report() prints the whole comparison.")


def result_html(sections: Iterable[Section]) -> str:
    """All sections of a result as HTML, for notebooks."""
    return sections_html(map(_readable, sections))


def sections_html(sections: Iterable[Section], *, code: str = "", note: str = "") -> str:
    """Sections as HTML, for notebooks.

    Args:
        code: lines of Python shown below
        note: a sentence below all
    """
    shown: str = _template(NOTEBOOK).render(
        sections=sections, code=code, note=note, findings={}, style=Markup(NOTEBOOK_STYLE)
    )
    return shown


@functools.cache
def _template(text: str) -> Any:
    environment = Environment(autoescape=True)
    environment.filters["anchor"] = anchor
    environment.filters["kind"] = lambda part: type(part).__name__
    return environment.from_string(text)


def anchor(section: Section) -> str:
    """The id of a section, for links."""
    return re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-") or "section"


def _drawn(report: AgreementReport, plots: dict[str, Callable[[Any], go.Figure]]) -> dict[str, go.Figure]:
    """The figures for which the report has numbers."""
    drawn = {}
    for name, plot in plots.items():
        # without anything to draw, the table (or its absence) says so
        with contextlib.suppress(AgreementInputError):
            drawn[name] = plot(report)
    return drawn


def _json(drawn: dict[str, go.Figure]) -> str:
    """Figures as JSON for a script element; names cannot close that element."""
    text = json.dumps({name: json.loads(figure.to_json()) for name, figure in drawn.items()}, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
