"""Numbers and tables as text and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..agreement.report import AgreementReport, Interval

INDENT = "  "
#: a number, perhaps a share, with its interval, or of another; ids and sentences that begin with digits are none
_NUMBER = re.compile(r"[-+]?\d[\d.,]{0,15}($| %$| \[| \(| of | – | / )")


def shown_number(value: float | None, digits: int = 3) -> str:
    """A number for people: ``-`` where it is undefined."""
    if value is None:
        return "-"
    shown = f"{value:.{digits}f}"
    # what rounds to zero is neither above nor below it
    return shown.removeprefix("-") if float(shown) == 0.0 else shown


def shown_interval(value: float | None, interval: Interval | None, digits: int = 3) -> str:
    """A number and its interval for people: ``0.647 [0.603, 0.691]``, without brackets where there is none."""
    shown = shown_number(value, digits)
    if value is None or interval is None or interval.low is None or interval.high is None:
        return shown
    return f"{shown} [{shown_number(interval.low, digits)}, {shown_number(interval.high, digits)}]"


def signed(value: float | None, digits: int = 3) -> str:
    """A difference for people, with its sign."""
    shown = shown_number(value, digits)
    return f"+{shown}" if value is not None and value > 0 and float(shown) else shown


def percent(part: float, whole: float) -> str:
    """A share for people: ``-`` of nothing."""
    return f"{100.0 * part / whole:.1f} %" if whole else "-"


def shown_share(share: float | None) -> str:
    """A share for people: ``-`` where it is undefined."""
    return "-" if share is None else f"{100.0 * share:.1f} %"


def counted(n: int, one: str, many: str | None = None) -> str:
    """A number of things: ``1 sample``, ``2 samples``, ``1,234 samples``."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def documents(report: AgreementReport) -> str:
    """What the samples of a report are."""
    return "samples" if report.run.n_videos is None else "frames"


def end_of_path(path: str | None, length: int = 48) -> str:
    """The end of a path that may be long."""
    text = path or "-"
    return text if len(text) <= length else "…" + text[-length + 1 :]


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Lines of a table: text columns to the left, numbers to the right."""
    cells = [[_one_line(cell) for cell in row] for row in rows]
    if not cells:
        return [f"{INDENT}(none)"]
    right = numeric_columns(header, cells)
    widths = [max(len(header[k]), *(len(row[k]) for row in cells)) for k in range(len(header))]
    lines = []
    for row in [list(header), *cells]:
        padded = [
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ]
        lines.append((INDENT + "  ".join(padded)).rstrip())
    return lines


def numeric_columns(header: Sequence[str], rows: Sequence[Sequence[object]]) -> list[bool]:
    """Which columns of a table have numbers only."""
    return [all(_is_numeric(str(row[k])) for row in rows) for k in range(len(header))]


def _is_numeric(text: str) -> bool:
    return text in ("-", "") or _NUMBER.match(text) is not None


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Lines of a table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return lines + ["| " + " | ".join(map(_markdown_cell, row)) + " |" for row in rows]


def _markdown_cell(cell: object) -> str:
    # a name in angle brackets would be taken for HTML, and vanish
    return _one_line(cell).replace("|", "\\|").replace("<", "&lt;")


def plain_markdown(text: object) -> str:
    """Text in one line that Markdown shows as it is, names with markup in them included."""
    return re.sub(r"([\\`*_\[\]<>&|~])", r"\\\1", _one_line(text))


def _one_line(cell: object) -> str:
    return " ".join(str(cell).splitlines())
