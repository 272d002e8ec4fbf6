"""Numbers and tables as text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..agreement.report import AgreementReport

INDENT = "  "


def shown_number(value: float | None, digits: int = 3) -> str:
    """A number for people: ``-`` where it is undefined."""
    return "-" if value is None else f"{value:.{digits}f}"


def percent(part: float, whole: float) -> str:
    """A share for people: ``-`` of nothing."""
    return f"{100.0 * part / whole:.1f} %" if whole else "-"


def wrapped(head: str, entries: Sequence[str], per_line: int = 3) -> list[str]:
    """Entries on lines of a few, the first after a head."""
    lines = []
    for start in range(0, len(entries), per_line):
        first = head if start == 0 else ""
        lines.append(f"{INDENT}{first:<21}{', '.join(entries[start : start + per_line])}")
    return lines


def documents(report: AgreementReport) -> str:
    """What the samples of a report are."""
    return "samples" if report.run.n_videos is None else "frames"


def end_of_path(path: str | None, length: int = 48) -> str:
    """The end of a path that may be long."""
    text = path or "-"
    return text if len(text) <= length else "…" + text[-length + 1 :]


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Lines of a table: text columns to the left, numbers to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    if not cells:
        return [f"{INDENT}(none)"]
    right = [all(_is_numeric(row[k]) for row in cells) for k in range(len(header))]
    widths = [max(len(header[k]), *(len(row[k]) for row in cells)) for k in range(len(header))]
    lines = []
    for row in [list(header), *cells]:
        padded = [
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ]
        lines.append((INDENT + "  ".join(padded)).rstrip())
    return lines


def _is_numeric(text: str) -> bool:
    return text == "-" or text.lstrip("-")[:1].isdigit()


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Lines of a table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return lines + ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
