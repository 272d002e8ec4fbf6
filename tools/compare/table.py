"""Comparisons as Markdown, and as the page ``docs/method/compare.md``."""

from __future__ import annotations

import importlib.metadata
import math
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


def _cells(row: Row) -> list[str]:
    found = [row.theirs, row.ours]
    for theirs, ours in row.values:
        found += ["–" if value is None else f"{value:.6f}" for value in (theirs, ours)]
        difference = math.nan if theirs is None or ours is None else theirs - ours
        is_known = not math.isnan(difference)
        found.append(("0" if abs(difference) < EQUAL else f"{difference:+.6f}") if is_known else "–")
    return found


def as_markdown(section: Section) -> str:
    """The section for the documentation."""
    columns = [f"{measure}{part}" for measure in section.measures for part in ("", ", ours", ", difference")]
    heads = ["other program", "ours", *columns, "why"]
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
