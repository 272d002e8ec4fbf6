"""Items of a tab as JSON values: tables whose numbers lead to labels, charts, texts, images and buttons."""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..agreement.settings.errors import AgreementInputError
from ..charts.figures.theme import shortened
from ..charts.text.words import ends_of, shown_number

#: a part of a tab, and what the user chose of it; both are JSON values
Item = dict[str, Any]
#: a title, and the options of ``view_agreement`` behind a number; or whom something was decided ``against``; or what to
#: ``seek`` in the tab Decide
Link = dict[str, Any]

#: the blue of shaded cells and bars, visible on white and on black, with text on it readable
_SHADE = "rgba(43, 131, 186, {:.2f})"
#: the darkest shade
_MOST_SHADE = 0.55
#: characters of a vertical header
_LONGEST_SLANTED = 15
#: with more columns the headers of a matrix are vertical
_ROOMY = 5

#: the text of a number
Show = Callable[[float | None], str]
two_digits: Show = functools.partial(shown_number, digits=2)
#: an attribute of an entry, or a function of it
Get = str | Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices of the user in a tab."""

    sort: Mapping[str, Any] = field(default_factory=dict)  #: column of a table by its name, negative: the reverse order
    page: Mapping[str, int] = field(default_factory=dict)  #: page of a list by its name
    decide: Mapping[str, Any] = field(default_factory=dict)  #: who decides, on which objects, and on which of them now
    by: str | None = None  #: what divides the images


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a table: the text of an entry, and its drill-down."""

    title: str  #: the header
    text: Callable[[Any], str]  #: text of a cell
    value: Callable[[Any], Any] | None = None  #: value to sort by; None: the text
    link: Callable[[Any], Link | None] | None = None  #: labels behind a number
    bar: Callable[[Any], float | None] | None = None  #: length of a bar behind the text, from 0 to 1
    shade: Callable[[Any], float | None] | None = None  #: darkness of the cell, from 0 to 1
    is_number: bool = True  #: whether it is right-aligned
    first_down: bool = True  #: whether the first click on the header puts the largest value first

    @classmethod
    def named(cls, title: str, get: Get, leads: Callable[[Any], Link | None] | None = None) -> Field:
        """A column of names."""
        return cls(title, _getter(get), link=leads, is_number=False, first_down=False)

    @classmethod
    def count(cls, title: str, get: Get, leads: Callable[[Any], Link | None] | None = None) -> Field:
        """A column of counts."""
        count = _getter(get)
        return cls(title, lambda entry: f"{count(entry):,}", count, leads)

    @classmethod
    def number(cls, title: str, name: str, show: Show = two_digits, of: Get = lambda entry: entry) -> Field:
        """A column of numbers with their intervals.

        Args:
            name: attribute of the number, and key of its interval in ``intervals``
            of: what of an entry has them
        """
        whose, value = _getter(of), operator.attrgetter(name)
        return cls(
            title,
            lambda entry: over_ends(show(value(whose(entry))), whose(entry).intervals.get(name), show),
            lambda entry: value(whose(entry)),
        )


def _getter(get: Get) -> Callable[[Any], Any]:
    return operator.attrgetter(get) if isinstance(get, str) else get


def over_ends(shown: str, interval: Any, show: Show) -> str:
    """A number, and below it the ends of its interval if there is one."""
    return f"{shown}\n{ends_of(interval, show)}".rstrip()


def link(title: str, **options: Any) -> Link:
    """A way to the labels behind a number; ``n_annotators`` limits the samples by the annotators assigned to them."""
    return {"title": title, "options": options}


def table_item(
    name: str,
    fields: Sequence[Field],
    entries: Sequence[Any],
    choices: Choices,
    *,
    title: str = "",
    note: str = "",
    per_page: int | None = None,
    slanted: bool = False,
) -> Item:
    """A table; a click on a header sorts it, a click on a linked number shows the labels behind it.

    Args:
        entries: entries of the rows, in their first order
        choices: what the user chose
        note: an explanation below the title
        per_page: rows on a page; None for all
        slanted: whether the headers are vertical, for matrices with many names
    """
    ordered = _sorted(entries, fields, choices.sort.get(name))
    pages = -(-len(ordered) // per_page) if per_page else 1
    page = min(choices.page.get(name, 0), pages - 1) if pages else 0
    shown = ordered[page * per_page : (page + 1) * per_page] if per_page else ordered
    chosen = choices.sort.get(name)
    titles = [
        (shortened(column.title, _LONGEST_SLANTED) if slanted else column.title)
        + (("  ▾" if chosen > 0 else "  ▴") if chosen is not None and abs(chosen) == k + 1 else "")
        for k, column in enumerate(fields)
    ]
    return {
        "name": name,
        "kind": "table",
        "title": title,
        "note": note,
        "columns": [[f"c{k}", text] for k, text in enumerate(titles)],
        "rows": [
            {"id": str(k), **{f"c{n}": column.text(entry) for n, column in enumerate(fields)}}
            for k, entry in enumerate(shown)
        ],
        "links": [[column.link(entry) if column.link else None for column in fields] for entry in shown],
        "colours": [
            [k, n, colour]
            for k, entry in enumerate(shown)
            for n, column in enumerate(fields)
            if (colour := _colour(column, entry)) is not None
        ],
        "numbers": [k for k, column in enumerate(fields) if column.is_number],
        "page": page,
        "pages": pages,
        "slanted": slanted,
    }


def matrix_item(
    name: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], Any],
    show: Show,
    choices: Choices,
    leads: Callable[[str, str], Link | None] | None = None,
    *,
    corner: str = "Class",
    whole: float | None = None,
    **options: Any,
) -> Item:
    """A table with a number for some rows and columns, the darker the greater.

    Args:
        cells: the numbers by row and column
        show: text of a number
        leads: labels behind the number of a row and a column
        corner: header of the names of the rows
        whole: the number with the darkest shade; None: the largest
    """
    most = whole or max(cells.values(), default=0) or 1

    def field_of(column: str) -> Field:
        def value(row: str) -> Any:
            return cells.get((row, column))

        return Field(
            column,
            lambda row: show(cells[row, column]) if (row, column) in cells else "",
            value,
            lambda row: leads(row, column) if leads is not None and value(row) is not None else None,
            shade=lambda row: (value(row) or 0) / most,
        )

    fields = [Field.named(corner, str), *map(field_of, columns)]
    return table_item(name, fields, rows, choices, slanted=len(columns) > _ROOMY, **options)


def sort_after_click(column: int, chosen: int | None) -> int:
    """The order of a table after a click on a header: by that column, or the reverse order."""
    return -chosen if chosen is not None and abs(chosen) == column + 1 else column + 1


def _sorted(entries: Sequence[Any], fields: Sequence[Field], chosen: int | None) -> list[Any]:
    """The entries in the chosen order; undefined values last."""
    if chosen is None or abs(chosen) > len(fields):
        return list(entries)
    column = fields[abs(chosen) - 1]
    value = column.value or column.text
    known = [entry for entry in entries if value(entry) is not None]
    unknown = [entry for entry in entries if value(entry) is None]
    down = (chosen > 0) == column.first_down
    return sorted(known, key=value, reverse=down) + unknown


def _colour(column: Field, entry: Any) -> str | None:
    """The background of a cell, as CSS."""
    if column.bar is not None and (share := column.bar(entry)):
        end = f"{100.0 * min(1.0, share):.1f}%"
        return f"linear-gradient(to right, {_SHADE.format(0.4)} {end}, transparent {end})"
    if column.shade is not None and (dark := column.shade(entry)) is not None and dark > 0.02:
        # few shades, so that cells share them
        return _SHADE.format(round(_MOST_SHADE * min(1.0, dark) * 20) / 20)
    return None


def text_item(name: str, markdown: str) -> Item:
    """A text, as Markdown."""
    return {"name": name, "kind": "text", "markdown": markdown}


def button_item(name: str, title: str, buttons: Iterable[tuple[str, str, str, dict[str, Any]]]) -> Item:
    """Buttons with a title above them; each is a label, an icon, a handler and its parameters."""
    return {
        "name": name,
        "kind": "buttons",
        "title": title,
        "buttons": [
            {"label": label, "icon": icon, "handler": handler, "params": params}
            for label, icon, handler, params in buttons
        ],
    }


def chart_item(
    name: str, draw: Callable[[], Any], hint: str = "", leads: Callable[[Any], Link | None] | None = None
) -> list[Item]:
    """A chart; nothing if the report has no numbers for it.

    Args:
        hint: what a click shows, if anything
        leads: the labels behind a point of the first trace, from its ``customdata``
    """
    try:
        figure = draw()
    except AgreementInputError:
        return []
    drawn = json.loads(figure.to_json())
    layout = drawn["layout"]
    # the App's defaults have no margins and no legend, and are opaque
    layout["margin"] = {"l": 20, "r": 20, "b": 55, **layout.get("margin", {})}
    layout["showlegend"] = len(drawn["data"]) > 1
    layout |= {"paper_bgcolor": "rgba(0, 0, 0, 0)", "plot_bgcolor": "rgba(0, 0, 0, 0)", "dragmode": False}
    legend = {"xanchor": "left", "bgcolor": "rgba(0, 0, 0, 0)", **layout["template"]["layout"]["legend"]}
    layout["legend"] = {**legend, **layout.get("legend", {})}
    layout["font"] = layout["template"]["layout"]["font"]
    for axis in [key for key in layout if key.startswith(("xaxis", "yaxis"))]:
        layout[axis] = {**layout["template"]["layout"][axis[:5]], **layout[axis]}
    points = [] if leads is None or not hint else list(map(leads, drawn["data"][0]["customdata"]))
    return [{"name": name, "kind": "chart", "data": drawn["data"], "layout": layout, "hint": hint, "points": points}]
