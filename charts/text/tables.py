"""Tables whose cells have a value and its text."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...agreement.statistics.values import at_path, interval_at
from .words import UNDEFINED, end_of_path, file_name, percent, shown_interval


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of a table, and its text."""

    value: Any
    text: str

    @property
    def is_number(self) -> bool:
        """True for a cell that is right-aligned, as numbers are, including undefined ones."""
        return self.value is None or self.text == "" or isinstance(self.value, int | float)


def plain(value: object) -> str:
    """A value as text, counts as ``1,234``; ``-`` for None."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return UNDEFINED if value is None else str(value)


def part_of(n: int, whole: int) -> Cell:
    """A count and its share of a whole: ``30 (4.3 %)``."""
    return Cell(n, f"{n:,} ({percent(n, whole)})")


def share_of(n: int, whole: int) -> Cell:
    """A count, what it is a part of, and the share: ``30 of 700 (4.3 %)``."""
    return Cell(n, f"{n:,} of {whole:,} ({percent(n, whole)})" if whole else plain(n or None))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str  #: the header
    #: key of an entry, or path of its attributes and keys, or a function of it that returns a value or a cell
    get: str | Callable[[Any], Any]
    show: Callable[[Any], str] = plain  #: the text of a value
    interval: bool = False  #: whether the interval follows the value

    def cell(self, entry: Any) -> Cell:
        """The cell of an entry."""
        if callable(self.get):
            value = self.get(entry)
        elif isinstance(entry, Mapping):
            value = entry.get(self.get)
        else:
            value = at_path(entry, self.get)
        if isinstance(value, Cell):
            return value
        if self.interval:
            return Cell(value, shown_interval(value, interval_at(entry, str(self.get)), self.show))
        return Cell(value, self.show(value))


def verdict_column(verdict: str, title: str) -> Column:
    """Labels of an annotator with a verdict, and their share of the labels with any verdict."""
    return Column(title, lambda entry: part_of(entry.verdicts.get(verdict, 0), sum(entry.verdicts.values())))


def other_class_column(title: str = "other class") -> Column:
    """Column with the share of labels of another class than the majority's."""
    return Column(title, lambda entry: share_of(entry.n_other_class, entry.n_majority))


@dataclass(frozen=True)
class Table:
    """Rows under a header."""

    header: Sequence[str]  #: titles of the columns
    rows: Sequence[Sequence[Cell]]  #: the cells
    title: str = ""  #: title, if the section has several tables
    keys: Sequence[str] = ()  #: key of each row, for clicks

    @functools.cached_property
    def numeric(self) -> list[bool]:
        """True for columns that hold numbers only."""
        return [all(row[k].is_number for row in self.rows) for k in range(len(self.header))]


def table(columns: Sequence[Column], entries: Iterable[Any], title: str = "", keys: Sequence[str] = ()) -> Table:
    """A table with a row for every entry."""
    rows = [[column.cell(entry) for column in columns] for entry in entries]
    return Table([column.title for column in columns], rows, title, keys)


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
        ids: whether to show the ids of samples and the ends of paths; else the names of their files, or their ids if
            two of these are alike
        more: the last columns
    """
    names = [file_name(entry.get("filepath")) for entry in entries]
    of_sample = [Column("sample id", "id"), Column("file", lambda entry: end_of_path(entry.get("filepath")))]
    if not ids and None not in names and len(set(names)) == len(names):
        of_sample = [Column("file", lambda entry: file_name(entry.get("filepath")))]
    if any("frame_number" in entry for entry in entries):
        of_sample.append(Column(frame, "frame_number"))
    return table([*columns, *of_sample, *more], entries, title, [entry["id"] for entry in entries])
