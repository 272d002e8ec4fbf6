"""HTML of reports: the page with figures, sections for notebooks, and the list of an annotator's overruled labels."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from jinja2 import Environment
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from ... import names
from ...agreement.settings.errors import AgreementInputError
from ..figures import FIGURES, plot_parts, plot_scores
from ..figures.theme import take_title
from ..reports.comparison import comparison_sections
from ..reports.document import report_details, report_head, report_sections
from ..reports.other_results import acceptance_section, parts_sections
from ..text.sections import Table
from ..text.words import counted
from .template import NOTEBOOK, NOTEBOOK_STYLE, SCRIPT, STYLE, TEMPLATE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pandas import DataFrame

    from ...agreement.acceptance.evaluate import AcceptanceCheck
    from ...agreement.families.compare import AgreementComparison
    from ...agreement.parts.result import AgreementParts
    from ...agreement.statistics.report import AgreementReport
    from ..text.sections import Part, Section


#: rows of a table on the page, at most
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
    # drawn by score, which orders the table of pairs: by alpha another pair may be the best
    plots["pairs"] = functools.partial(FIGURES["pairs"], value="score")
    if scores is not None:
        plots["scores"] = functools.partial(plot_scores, scores=scores)
    wanted = {name for section in [*short, *details] for name in section.figures}
    drawn = {}
    for name, plot in plots.items():
        # a figure that has nothing to draw is left out
        with contextlib.suppress(AgreementInputError):
            if name in wanted:
                drawn[name] = plot(report)
    findings = {name: take_title(figure) for name, figure in drawn.items()}
    as_json = {name: json.loads(figure.to_json()) for name, figure in drawn.items()}
    # escaped, so that no name can end the script element
    text = json.dumps(as_json, allow_nan=False).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    page: str = _template(TEMPLATE).render(
        run_key=report.run_key,
        dataset_name=dataset_name,
        date=f"{computed_at.day} {computed_at:%B %Y}" if computed_at is not None else "",
        first=report_head(report),
        short=short,
        details=details,
        findings=findings,
        figures=Markup(text),
        plugin=names.PLUGIN_NAME,
        versions=", ".join(f"{name} {version}" for name, version in report.run.versions.items()),
        style=Markup(STYLE),
        script=Markup(SCRIPT),
        plotly=Markup(get_plotlyjs()),
    )
    return page


def _readable(section: Section) -> Section:
    """The section, with tables of at most ``_MOST_ROWS`` rows."""
    parts: list[Part] = []
    for part in section.parts:
        if isinstance(part, Table) and len(part.rows) > _MOST_ROWS:
            more = len(part.rows) - _MOST_ROWS
            parts.append(replace(part, rows=part.rows[:_MOST_ROWS]))
            parts.append(f"{more:,} more rows: report.print_report(full=True).")
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
    return re.sub(r"\W+", "-", section.title.lower()).strip("-") or "section"


@dataclass(frozen=True, slots=True)
class ListedError:
    """An overruled label in the list of an annotator."""

    image: str  #: name of the file
    sample_id: str
    frame: int | None  #: number of the frame; None on images
    given: str | None  #: class or value of the annotator; None if the annotator left it out
    right: str | None  #: the right class or value; None if nothing is right
    decided_by: str  #: who decided, or the reference
    decided_at: datetime | None  #: None if the reference overrules
    remark: str | None
    label_id: str | None  #: id of the annotator's label, if there is one
    picture: str | None  #: the labels drawn on the image, as a data URI

    @property
    def order(self) -> tuple[str, int, str, str]:
        """Key to sort by: image, then frame."""
        return self.image, self.frame or 0, self.sample_id, self.label_id or ""


def errors_table(listed: Sequence[ListedError]) -> DataFrame:
    """The overruled labels as a DataFrame, without pictures."""
    import pandas as pd  # imported here, because a run does not need it

    columns = [field.name for field in dataclasses.fields(ListedError) if field.name != "picture"]
    rows = [[getattr(each, name) for name in columns] for each in listed]
    return pd.DataFrame(rows, columns=columns).astype({"frame": "Int64"})


def errors_page(
    annotator: str,
    dataset_name: str,
    unit: str,
    listed: Sequence[ListedError],
    *,
    n_by_rule: int = 0,
    reference: str | None = None,
) -> str:
    """The overruled labels of an annotator as the text of an HTML file, which needs no other file and no network.

    Args:
        annotator: name of the annotator
        dataset_name: name of the dataset
        unit: what was decided on: ``object``, ``tag`` or ``image``
        listed: the overruled labels
        n_by_rule: decisions of a rule against the annotator, which are not listed
        reference: name of the reference that overrules; None if decisions do
    """
    title = f"Decided against {annotator}" if reference is None else f"{annotator} against the reference {reference}"
    nothing = "on which nothing is right" if unit == "image" else "that there is not"
    counts = [
        (sum(each.given is None for each in listed), "left out"),
        (sum(each.right is None for each in listed), nothing),
        (sum(None not in (each.given, each.right) for each in listed), "of which something else is right"),
    ]
    told = "; ".join(f"{counted(n, unit)} {text}" for n, text in counts if n) or (
        "Nothing was decided against them" if reference is None else "They have all that the reference has"
    )
    if n_by_rule:
        told += f"; {counted(n_by_rule, 'decision')} of a rule, which say nothing of who was right, are not listed"
    rows = ""
    for each in listed:
        picture = "" if each.picture is None else f"<img src='{each.picture}' alt='' width='230'>"
        frame = "" if each.frame is None else f", frame {each.frame}"
        given = "–" if each.given is None else escape(each.given)
        right = "nothing" if each.right is None else escape(each.right)
        by = escape(each.decided_by) + ("" if each.decided_at is None else f", {each.decided_at:%Y-%m-%d}")
        cells = (picture, escape(each.image) + frame, given, right, by, escape(each.remark or ""))
        rows += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    head = "<tr><th>Picture</th><th>Image</th><th>You said</th><th>Right is</th><th>Decided by</th><th>Why</th></tr>"
    legend = "In pictures your label is orange, what is right green."
    body = (
        f"<header><h1>{escape(title)}</h1><p class='about'>Dataset {escape(dataset_name)}</p></header><main>"
        f"<p>{escape(told)}. {legend}</p><table>{head}{rows}</table></main>"
    )
    style = f"<meta charset='utf-8'><title>{escape(title)}</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{style}</head><body>{body}</body></html>"
