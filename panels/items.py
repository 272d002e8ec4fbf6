"""Items of a tab as JSON values: tables whose numbers lead to labels, charts, texts, images and buttons."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..agreement.settings.errors import AgreementInputError
from ..charts.figures.theme import shortened
from ..charts.text.sections import Cell, Column
from ..charts.text.words import shown_number

#: a part of a tab: kind, and content in the order and on the page that the user chose, as JSON values
Item = dict[str, Any]
#: what a click shows: a ``title``, and ``options`` of ``view_agreement``; or what was decided ``against`` an annotator;
#: or a ``part`` of the samples; or a model and a size of objects (``sized``); or filters of the tab Decide (``seek``)
Link = dict[str, Any]
#: a label, an icon, a handler and its parameters
Button = tuple[str, str, str, dict[str, Any]]

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
#: a column of names, or of sentences
named = functools.partial(Column, is_number=False, first_down=False)


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices of the user in a tab."""

    sort: Mapping[str, Any] = field(default_factory=dict)  #: column of a table by its name, negative: the reverse order
    page: Mapping[str, int] = field(default_factory=dict)  #: page of a list by its name
    decide: Mapping[str, Any] = field(default_factory=dict)  #: who decides, filters, and the object shown
    by: str | None = None  #: what divides the images


def link(title: str, **options: Any) -> Link:
    """A link to the labels behind a number; ``n_annotators`` limits samples by number of annotators."""
    return {"title": title, "options": options}


def table_item(
    name: str,
    columns: Sequence[Column],
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
        entries: entries of the rows, in the order before a header is clicked
        choices: what the user chose
        note: an explanation below the title
        per_page: rows on a page; None for all
        slanted: whether the headers are vertical, for matrices with many names
    """
    chosen, ordered = choices.sort.get(name), list(entries)
    if chosen is not None and abs(chosen) <= len(columns):
        column = columns[abs(chosen) - 1]
        values = [(column.cell(entry).value, entry) for entry in entries]
        known = [each for each in values if each[0] is not None]
        known.sort(key=lambda each: each[0], reverse=(chosen > 0) == column.first_down)
        ordered = [entry for _, entry in known] + [entry for value, entry in values if value is None]
    pages = -(-len(ordered) // per_page) if per_page else 1
    page = min(choices.page.get(name, 0), pages - 1) if pages else 0
    shown = ordered[page * per_page : (page + 1) * per_page] if per_page else ordered
    titles = [
        (shortened(column.title, _LONGEST_SLANTED) if slanted else column.title)
        + (("  ▾" if chosen > 0 else "  ▴") if chosen is not None and abs(chosen) == k + 1 else "")
        for k, column in enumerate(columns)
    ]
    return {
        "name": name,
        "kind": "table",
        "title": title,
        "note": note,
        "columns": [[f"c{k}", text] for k, text in enumerate(titles)],
        "rows": [
            {"id": str(k), **{f"c{n}": column.cell(entry, in_panel=True).text for n, column in enumerate(columns)}}
            for k, entry in enumerate(shown)
        ],
        "links": [[column.link(entry) if column.link else None for column in columns] for entry in shown],
        "colours": [
            [k, n, colour]
            for k, entry in enumerate(shown)
            for n, column in enumerate(columns)
            if (colour := _colour(column, entry)) is not None
        ],
        "numbers": [k for k, column in enumerate(columns) if column.is_number],
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
    behind: Callable[[str, str], Link | None] | None = None,
    *,
    corner: str = "Class",
    whole: float | None = None,
    **options: Any,
) -> Item:
    """A table with a number for some rows and columns, the darker the greater.

    Args:
        cells: the numbers by row and column
        show: text of a number
        behind: labels behind the number of a row and a column
        corner: header of the names of the rows
        whole: the number with the darkest shade; None: the largest
    """
    most = whole or max(cells.values(), default=0) or 1

    def column_of(name: str) -> Column:
        def cell(row: str) -> Cell:
            value = cells.get((row, name))
            return Cell(value, show(value) if (row, name) in cells else "")

        return Column(
            name,
            cell,
            link=lambda row: behind(row, name) if behind is not None and cells.get((row, name)) is not None else None,
            shade=lambda row: (cells.get((row, name)) or 0) / most,
        )

    shown = [named(corner, str), *map(column_of, columns)]
    return table_item(name, shown, rows, choices, slanted=len(columns) > _ROOMY, **options)


def _colour(column: Column, entry: Any) -> str | None:
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


def button_item(name: str, title: str, buttons: Iterable[Button]) -> Item:
    """Buttons with a title above them."""
    told = [dict(zip(("label", "icon", "handler", "params"), each, strict=True)) for each in buttons]
    return {"name": name, "kind": "buttons", "title": title, "buttons": told}


def form_button(label: str, icon: str, operator: str, **params: str) -> Button:
    """A button that opens the form of an operator, with some of its values."""
    return label, icon, "run_operator", {"operator": operator, **params}


def chart_item(
    name: str, draw: Callable[[], Any], hint: str = "", behind: Callable[[Any], Link | None] | None = None
) -> list[Item]:
    """A chart; nothing if the report has no numbers for it.

    Args:
        hint: what a click shows, if anything
        behind: the labels behind a point of the first trace, from its ``customdata``
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
    points = [] if behind is None or not hint else list(map(behind, drawn["data"][0]["customdata"]))
    return [{"name": name, "kind": "chart", "data": drawn["data"], "layout": layout, "hint": hint, "points": points}]
