"""Sections of a report as HTML; everything that somebody else named is escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from ..sections import Answer, Facts, Part, Section, Table
from ..tables import numeric_columns

#: longer tables scroll on screen
_TALL = 14


def section_html(section: Section, figures: Mapping[str, str]) -> str:
    """A section with the figures that show the same.

    Args:
        section: what it says
        figures: what the figures show that there are, by name
    """
    shown = [name for name in section.figures if name in figures]
    drawn = "".join(figure_html(name, figures[name]) for name in shown)
    plots = f'<div class="plots">{drawn}</div>' if shown else ""
    parts = "".join(part_html(part) for part in section.parts)
    title, note = heading(section.title)
    below = f'<p class="note">{escape(note)}</p>' if note else ""
    return f'<section id="{anchor(section.title)}"><h2>{escape(title)}</h2>{below}{parts}{plots}</section>\n'


def heading(title: str) -> tuple[str, str]:
    """A short heading, and what a line of text adds to it behind a colon or in brackets."""
    colon, bracket = title.find(": "), title.find(" (")
    if colon >= 0 and (bracket < 0 or colon < bracket):
        return title[:colon], _sentence(title[colon + 2 :])
    if bracket >= 0 and title.endswith(")"):
        return title[:bracket], _sentence(title[bracket + 2 : -1])
    return title, ""


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def anchor(title: str) -> str:
    """What links to a section name it by."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"


def figure_html(name: str, finding: str) -> str:
    """The place of a figure, under what it shows: text of the page wraps, the title of a figure does not."""
    text = escape(finding)
    return (
        f'<figure><figcaption>{text}</figcaption><div class="plot" id="figure-{escape(name)}" role="img" '
        f'aria-label="{text}"></div></figure>'
    )


def part_html(part: Part) -> str:
    """A part of a section."""
    if isinstance(part, Table):
        return table_html(part)
    if isinstance(part, Facts):
        rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in part.rows)
        return f"<dl>{rows}</dl>"
    if isinstance(part, Answer):
        meaning = f"<p>{escape(part.meaning)}</p>" if part.meaning else ""
        numbers = f'<p class="numbers">{escape(part.numbers)}</p>'
        return f'<div class="answer"><h3>{escape(part.question)}</h3>{numbers}{meaning}</div>'
    return f"<p>{escape(part)}</p>"


def table_html(table: Table) -> str:
    """A table, numbers to the right."""
    if not table.rows:
        return ""
    cells = [[str(cell) for cell in row] for row in table.rows]
    numeric = [' class="numeric"' if is_numeric else "" for is_numeric in numeric_columns(table.header, cells)]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for name, kind in zip(table.header, numeric, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row, numeric, strict=True)) + "</tr>"
        for row in cells
    )
    title = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    tall = " tall" if len(cells) > _TALL else ""
    return f'<div class="scroll{tall}"><table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
