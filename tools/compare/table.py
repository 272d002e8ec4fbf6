"""Comparisons as an aligned text table, as Markdown, and as the page ``docs/method/compare.md``."""

from __future__ import annotations

import importlib.metadata
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: numbers are compared to six digits
EQUAL = 5e-7

_HEAD = """\
# Other programs and ours on the same annotations

`make compare` writes this page. It installs kalos and kalphacv into environments of their own and runs all three
programs on the same files. The numbers of the other programs come from their own functions; ours come from
`aa.compute` on a FiftyOne dataset with the same boxes. Numbers are compared to six digits.

A *unit* is a set of labels that a program takes for one object. Every difference is explained by a check that is part
of the run: our formula is applied to the units of the other program (if that gives its number, only the units differ),
and every place in which the units differ is examined: how good each of the two solutions is, and whether a pair within
a unit is below the threshold. A difference of no known kind would be marked "not explained" in the tables.

Below a table there is one example for every kind of difference: the image, the IoU of the overlapping pairs of objects
(A, B, C …), the units of both programs, and the *surplus* of each solution. The surplus is the sum of (IoU - threshold)
over all pairs within units; our method `optimal` maximises it, with `prefer` first within the classes.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """Numbers of another program against ours."""

    theirs: str  #: program and options
    ours: str  #: our options, or function
    #: for every measure of the section, the number of the other program and ours; None if there is none
    values: Sequence[tuple[float | None, float | None]]
    why: str  #: explanation in one sentence


@dataclass(frozen=True, slots=True)
class Section:
    """Comparisons on one data set."""

    title: str  #: heading
    intro: str  #: introduction
    measures: Sequence[str]  #: names of the numbers
    rows: Sequence[Row]  #: the comparisons
    notes: list[str] = field(default_factory=list)  #: additional findings


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.6f}"


def _difference(theirs: float | None, ours: float | None) -> str:
    if theirs is None or ours is None:
        return "–"
    return "0" if abs(theirs - ours) < EQUAL else f"{theirs - ours:+.6f}"


def _heads(section: Section) -> list[str]:
    columns = [f"{measure}{part}" for measure in section.measures for part in ("", ", ours", ", difference")]
    return ["other program", "ours", *columns]


def _cells(row: Row) -> list[str]:
    numbers = [text for a, b in row.values for text in (_number(a), _number(b), _difference(a, b))]
    return [row.theirs, row.ours, *numbers]


def as_text(section: Section, width: int = 150) -> str:
    """The section for a terminal: a line of numbers, and below it the explanation."""
    table = [_heads(section), *map(_cells, section.rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]

    def line(cells: Sequence[str]) -> str:
        texts, numbers = cells[:2], cells[2:]
        left = [cell.ljust(size) for cell, size in zip(texts, widths[:2], strict=True)]
        right = [cell.rjust(size) for cell, size in zip(numbers, widths[2:], strict=True)]
        return "  ".join(left + right)

    lines = [section.title, *textwrap.wrap(section.intro, width), "", line(table[0]), "-" * len(line(table[0]))]
    for row, cells in zip(section.rows, table[1:], strict=True):
        lines += [line(cells), *textwrap.wrap(row.why, width, initial_indent="    ", subsequent_indent="    ")]
    for note in section.notes:
        lines += textwrap.wrap(note, width, initial_indent="* ", subsequent_indent="  ")
    return "\n".join(lines) + "\n"


def as_markdown(section: Section) -> str:
    """The section for the documentation."""
    heads = [*_heads(section), "why"]
    align = [":--", ":--", *["--:"] * (len(heads) - 3), ":--"]
    lines = [f"## {section.title}", "", section.intro, "", *map(_markdown_line, (heads, align))]
    lines += [_markdown_line([*_cells(row), row.why]) for row in section.rows]
    if section.notes:
        lines += ["", *(f"- {note}" for note in section.notes)]
    return "\n".join(lines) + "\n"


def _markdown_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def document(sections: Sequence[Section], versions: Mapping[str, str]) -> str:
    """The text of ``docs/method/compare.md``."""
    installed = {name: importlib.metadata.version(name) for name in ("fiftyone", "numpy", "scipy")}
    ours = ", ".join(f"{name} {version}" for name, version in installed.items())
    theirs = ", ".join(f"{name} {versions[name]}" for name in ("kalos", "pylibmgm", "kalphacv", "krippendorff"))
    return "\n".join([_HEAD, f"Versions: {theirs}; ours with {ours}.\n", *map(as_markdown, sections)])
