"""What a report says, in sections of sentences, facts and tables; text and HTML show them in their own ways."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from .tables import INDENT, table

_WIDTH = 118
_NAME_WIDTH = 20
_QUESTION_WIDTH = 36


@dataclass(frozen=True, slots=True)
class Facts:
    """Names, each with a text."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header, in words as they are shown."""

    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A question, the numbers that answer it, and what these mean."""

    question: str
    numbers: str
    meaning: str = ""


#: a plain text is a sentence, or some
Part = str | Facts | Answer | Table


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report.

    Attributes:
        title: heading
        parts: what it says, in this order
        figures: names of the figures that show the same (``votes`` for ``plot_votes``)
    """

    title: str
    parts: Sequence[Part]
    figures: tuple[str, ...] = ()


def section_lines(section: Section) -> list[str]:
    """A section as lines of text."""
    lines = textwrap.wrap(section.title, _WIDTH, subsequent_indent=INDENT, break_long_words=False)
    for place, part in enumerate(section.parts):
        # a title or a text right below a table would look like one of its rows
        if place and (isinstance(section.parts[place - 1], Table) or (isinstance(part, Table) and part.title)):
            lines.append("")
        lines += part_lines(part)
    return lines


def part_lines(part: Part) -> list[str]:
    """A part of a section as lines of text."""
    if isinstance(part, Table):
        title = textwrap.wrap(part.title, _WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)
        return [*title, *table(part.header, part.rows)]
    if isinstance(part, Facts):
        return [line for name, text in part.rows for line in _fact_lines(name, text)]
    if isinstance(part, Answer):
        head = f"{INDENT}{part.question:<{_QUESTION_WIDTH}} "
        meaning = _wrapped(part.meaning, 2 * INDENT, 2 * INDENT)
        return [*_wrapped(part.numbers, head, " " * len(head)), *meaning]
    return _wrapped(part, INDENT, INDENT)


def _fact_lines(name: str, text: str) -> list[str]:
    head = f"{INDENT}{name:<{_NAME_WIDTH}} "
    return _wrapped(text, head, " " * (len(INDENT) + _NAME_WIDTH + 1))


def _wrapped(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )
