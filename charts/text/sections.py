"""Sections of reports (sentences, numbers, tables), and their rendering as text and Markdown."""

from __future__ import annotations

import dataclasses
import functools
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tabulate import tabulate

from ...agreement.settings.errors import printable
from ...agreement.statistics.values import at_path, interval_at
from .words import UNDEFINED, end_of_path, ends_of, file_name, one_line, percent, singular


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of a table, and its text."""

    value: Any
    text: str
    below: str = ""  #: what follows the text: an interval, or a share in brackets; in the panel it stands below


def plain(value: object) -> str:
    """A value as text, counts as ``1,234``; ``-`` for None."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return UNDEFINED if value is None else str(value)


def part_of(n: int, whole: int) -> Cell:
    """A count and its share of a whole: ``30 (4.3 %)``."""
    return Cell(n, f"{n:,}", f"({percent(n, whole)})")


def share_of(n: int, whole: int) -> Cell:
    """A count, what it is a part of, and the share: ``30 of 700 (4.3 %)``."""
    return Cell(n / whole, f"{n:,} of {whole:,}", f"({percent(n, whole)})") if whole else Cell(n, plain(n or None))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table in text, page and panel: its title, the cell of an entry, and what a click on it shows."""

    title: str  #: the header
    #: key of an entry, or path of its attributes and keys, or a function of it that returns a value or a cell
    get: str | Callable[[Any], Any]
    show: Callable[[Any], str] = plain  #: the text of a value
    interval: bool = False  #: whether the interval follows the value
    link: Callable[[Any], dict[str, Any] | None] | None = None  #: the labels behind a value, in the panel
    bar: Callable[[Any], float | None] | None = None  #: length of a bar behind the text, from 0 to 1, in the panel
    shade: Callable[[Any], float | None] | None = None  #: darkness of the cell, from 0 to 1, in the panel
    is_number: bool = True  #: whether it is right-aligned in the panel; elsewhere its values decide
    first_down: bool = True  #: whether the first click on the header puts the largest value first

    def cell(self, entry: Any, *, in_panel: bool = False) -> Cell:
        """The cell of an entry, with the interval or share as a part of its text."""
        if callable(self.get):
            value = self.get(entry)
        elif isinstance(entry, Mapping):
            value = entry.get(self.get)
        else:
            value = at_path(entry, self.get)
        if not isinstance(value, Cell):
            interval = interval_at(entry, str(self.get)) if self.interval and value is not None else None
            value = Cell(value, self.show(value), ends_of(interval, self.show))
        texts = (value.text, re.sub("[()]", "", value.below)) if in_panel else (value.text, value.below)
        return Cell(value.value, ("\n" if in_panel else " ").join(texts) if value.below else value.text)


def verdict_column(verdict: str, title: str) -> Column:
    """Column with the labels of an annotator that have a verdict, and their share of those with any verdict."""
    return Column(title, lambda entry: part_of(entry.verdicts.get(verdict, 0), sum(entry.verdicts.values())))


def other_class_column(title: str = "other class") -> Column:
    """Column with the labels whose class is not that of the majority, and their share."""
    return Column(title, lambda entry: share_of(entry.n_other_class, entry.n_majority))


@dataclass(frozen=True)
class Table:
    """Rows under a header."""

    header: Sequence[str]  #: titles of the columns
    rows: Sequence[Sequence[Cell]]  #: the cells
    title: str = ""  #: title, if the section has several tables

    @functools.cached_property
    def numeric(self) -> list[bool]:
        """True for columns that are right-aligned, as they hold numbers only, including undefined ones."""
        return [
            all(row[k].value is None or row[k].text == "" or isinstance(row[k].value, int | float) for row in self.rows)
            for k in range(len(self.header))
        ]


def table(columns: Sequence[Column], entries: Iterable[Any], title: str = "") -> Table:
    """A table with a row for every entry."""
    rows = [[column.cell(entry) for column in columns] for entry in entries]
    return Table([column.title for column in columns], rows, title)


def sample_table(
    columns: Sequence[Column],
    entries: Sequence[Mapping[str, Any]],
    title: str = "",
    frame: str = "frame",
    *,
    ids: bool = True,
    more: Sequence[Column] = (),
) -> Table:
    """A table of samples; for videos with a column ``frame``.

    Args:
        columns: the first columns
        frame: title of the column with the frames
        ids: whether to show the ids of samples and the ends of paths; else only the names of files, if all differ
        more: the last columns
    """
    names = [file_name(entry.get("filepath")) for entry in entries]
    of_sample = [Column("sample id", "id"), Column("file", lambda entry: end_of_path(entry.get("filepath")))]
    if not ids and None not in names and len(set(names)) == len(names):
        of_sample = [Column("file", lambda entry: file_name(entry.get("filepath")))]
    if any("frame_number" in entry for entry in entries):
        of_sample.append(Column(frame, "frame_number"))
    return table([*columns, *of_sample, *more], entries, title)


#: lines of a short text, at most
MOST_LINES = 60
INDENT = "  "
_WIDTH = 120
_NAME_WIDTH = 20
_QUESTION_WIDTH = 36
#: characters that make code, emphasis, HTML, a table, a link or a picture (a closing bracket before a round one) …
_MARKUP = re.compile(r"[\\`*_<|~]|\](?=[(\[:])|&(?=#?\w+;)|:(?=//)|(?<=www)\.|@(?=\w)")
#: … and at the beginning of a line a heading, a list or a quotation
_BLOCK = re.compile(r"\A(\s*\d*)([#>+.)-])(?=[\s#])")


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on numbers, or a warning."""

    text: str
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """A list of names, each with a text."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ShownNumber:
    """A formatted main number: name, value, interval and meaning."""

    title: str
    value: str
    interval: str
    meaning: str = ""

    @property
    def text(self) -> str:
        """The value with its interval."""
        return f"{self.value} {self.interval}".rstrip()


@dataclass(frozen=True, slots=True)
class NumberRow:
    """The main numbers."""

    entries: Sequence[ShownNumber]


@dataclass(frozen=True, slots=True)
class Answer:
    """A question, the numbers that answer it, and their meaning."""

    question: str
    numbers: Sequence[ShownNumber]
    meaning: str = ""

    @property
    def shown_numbers(self) -> str:
        """The numbers in one line."""
        shown = [(entry.title, "undefined" if entry.value == UNDEFINED else entry.text) for entry in self.numbers]
        return ", ".join(f"{title} {text}" for title, text in shown)


#: a string is one or more sentences
Part = str | Note | Facts | NumberRow | Answer | Table


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report."""

    title: str  #: heading
    parts: Sequence[Part]  #: its content, in order
    note: str = ""  #: addition to the heading in text
    figures: tuple[str, ...] = ()  #: names of its figures (``votes`` for ``plot_votes``)
    is_first: bool = False  #: whether it is the headline of the whole report
    key: str = ""  #: its name in code, whatever its title; empty if no code looks for it

    def __post_init__(self) -> None:
        # ``1 samples`` becomes ``1 sample`` in text, page and panel
        parts = [singular(part) if isinstance(part, str) else part for part in self.parts]
        for name, value in (("title", singular(self.title)), ("note", singular(self.note)), ("parts", parts)):
            object.__setattr__(self, name, value)


def with_texts(shown: Any, change: Callable[[str], str]) -> Any:
    """A section, or a part of one, with other texts: titles, sentences and cells."""
    if isinstance(shown, str):
        return change(shown)
    if isinstance(shown, Cell):
        return Cell(shown.value, change(shown.text))
    if isinstance(shown, list | tuple):
        return type(shown)(with_texts(each, change) for each in shown)
    if not dataclasses.is_dataclass(shown) or isinstance(shown, type):
        return shown
    texts = {field.name: with_texts(getattr(shown, field.name), change) for field in dataclasses.fields(shown)}
    return dataclasses.replace(shown, **texts)


# ---- as text ----


def as_text(sections: Iterable[Section]) -> str:
    """Sections as aligned text."""
    texts = []
    for section in sections:
        lines = _wrapped(f"{section.title}: {section.note}" if section.note else section.title, "", INDENT)
        if section.is_first:
            lines.append("=" * len(section.title))
        for place, part in enumerate(section.parts):
            # an empty line, so that the text does not look like a row of the table
            if place and (isinstance(section.parts[place - 1], Table) or (isinstance(part, Table) and part.title)):
                lines.append("")
            lines += _part_lines(part, "" if section.is_first else INDENT)
        texts.append("\n".join(lines))
    return printable("\n\n".join(texts))


def _part_lines(part: Part, indent: str) -> list[str]:
    if isinstance(part, Table):
        lines = _tabulated(part, "plain", one_line).splitlines() if part.rows else ["(none)"]
        return [*_wrapped(part.title, indent, indent), *((indent + line).rstrip() for line in lines)]
    if isinstance(part, Facts):
        heads = [f"{indent}{name:<{_NAME_WIDTH}} " for name, _ in part.rows]
        return _under_heads(heads, [text for _, text in part.rows], len(indent) + _NAME_WIDTH + 1)
    if isinstance(part, NumberRow):
        name, shown = (max(map(len, texts)) for texts in zip(*((n.title, n.text) for n in part.entries), strict=True))
        heads = [f"{indent}{entry.title:<{name}}   {entry.text:<{shown}}   " for entry in part.entries]
        return _under_heads(heads, [entry.meaning for entry in part.entries], len(heads[0]))
    if isinstance(part, Answer):
        head = f"{indent}{part.question:<{_QUESTION_WIDTH}} "
        return [
            *_under_heads([head], [part.shown_numbers], len(head)),
            *_wrapped(part.meaning, indent + INDENT, indent + INDENT),
        ]
    return _wrapped(part.text if isinstance(part, Note) else part, indent, indent)


def _under_heads(heads: Sequence[str], texts: Sequence[str], indent: int) -> list[str]:
    return [line for head, text in zip(heads, texts, strict=True) for line in _wrapped(text, head, " " * indent)]


def _wrapped(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )


def _tabulated(table: Table, style: str, show: Callable[[str], str]) -> str:
    # tabulate widens columns by their headers, so the header is passed as a row
    cells = [[show(title) for title in table.header], *([show(cell.text) for cell in row] for row in table.rows)]
    lines: str = tabulate(
        cells if style == "plain" else cells[1:],
        headers=[] if style == "plain" else cells[0],
        tablefmt=style,
        colalign=["right" if is_numeric else "left" for is_numeric in table.numeric],
        disable_numparse=True,
    )
    return lines


# ---- as Markdown ----


def as_markdown(sections: Iterable[Section]) -> str:
    """Sections as Markdown, for the App."""
    blocks = []
    for section in sections:
        note = f": {plain_markdown(section.note)}" if section.note else ""
        blocks += [f"**{plain_markdown(section.title)}**{note}", *map(_block, section.parts)]
    return printable("\n\n".join(blocks))


def _block(part: Part) -> str:
    if isinstance(part, Table):
        if not part.rows:
            return "(none)"
        title = f"{plain_markdown(part.title)}\n\n" if part.title else ""
        return title + _tabulated(part, "pipe", plain_markdown)
    if isinstance(part, Facts):
        return "\n".join(f"- {plain_markdown(name)}: {plain_markdown(text)}" for name, text in part.rows)
    if isinstance(part, NumberRow):
        shown = [(f"{entry.title} {entry.text}", entry.meaning) for entry in part.entries]
        return "\n".join(f"- **{plain_markdown(number)}** – {plain_markdown(text)}" for number, text in shown)
    if isinstance(part, Answer):
        sentence = ". ".join(text for text in (part.shown_numbers, part.meaning) if text)
        return f"- **{plain_markdown(part.question)}** {plain_markdown(sentence)}"
    if isinstance(part, Note):
        return f"**{plain_markdown(part.text)}**" if part.is_warning else plain_markdown(part.text)
    return plain_markdown(part)


def plain_markdown(text: object) -> str:
    """Text in one line, escaped so that Markdown shows it unchanged, such as names with markup."""
    return _BLOCK.sub(r"\g<1>\\\g<2>", _MARKUP.sub(r"\\\g<0>", one_line(text)))
