"""The tab "By": the main numbers for each part of the images, by what the user chooses."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import fiftyone as fo

from ..agreement.parts.result import AgreementParts, Part
from ..agreement.settings.errors import AgreementInputError
from ..agreement.statistics.main_numbers import MainNumber
from ..charts.figures import plot_parts
from ..charts.reports.parts import finding_sentences, mark_of
from ..charts.text.headline import CARD_FORMS
from ..charts.text.sections import plain_markdown
from ..charts.text.words import ends_of
from .items import Choices, Field, Item, Link, chart_item, table_item, text_item

if TYPE_CHECKING:
    from .model_cache import Shown

#: numbers in the table, and rows on a page
_MOST_NUMBERS, _PER_PAGE = 4, 12
_NOTHING = "There is nothing to divide the images by: no field of the samples with texts, numbers, dates or tags, no saved view."


def part_items(shown: Shown, dataset: fo.Dataset | None, choices: Choices) -> Iterator[Item]:
    """A list of what divides the images, which parts stand out, a table and a chart."""
    offered = {} if dataset is None else shown.divided(dataset).offered()
    if not offered:
        yield text_item("no_parts", plain_markdown(_NOTHING))
        return
    by = choices.by if choices.by in offered else next(iter(offered))
    yield {"name": "by", "kind": "choice", "titles": offered, "value": by, "handler": "choose_by", "label": "By"}
    try:
        parts = shown.parts_by(dataset, by)
    except AgreementInputError as error:
        yield text_item("no_parts", plain_markdown(str(error)))
        return
    said = " ".join(finding_sentences(parts))
    if said:
        yield text_item("parts_found", plain_markdown(said))
    note = "↓ ↑: differs from all other images by test. […] are 95 % intervals. A click shows the images."
    yield table_item("parts", [*_fields(parts, by)], parts.parts, choices, note=note, per_page=_PER_PAGE)
    hint = "Click a point: these images."
    yield from chart_item("parts_chart", functools.partial(plot_parts, parts), hint, functools.partial(_link, by))


def _fields(parts: AgreementParts, by: str) -> Iterator[Field]:
    def leads(part: Part) -> Link:
        return _link(by, part.name)

    yield Field(parts.by, lambda part: part.name, link=leads, is_number=False, first_down=False)
    yield Field(parts.what.capitalize(), lambda part: f"{part.n_rated:,}", lambda part: part.n_rated, leads)
    for number in parts.shown[:_MOST_NUMBERS]:
        yield _number_field(number, parts.measure)


def _number_field(number: MainNumber, measure: str) -> Field:
    show = CARD_FORMS[number.form]

    def text(part: Part) -> str:
        found = part.numbers[number.key]
        return f"{show(found.value)}{mark_of(found)}\n{ends_of(found.interval, show)}".rstrip()

    def value(part: Part) -> float | None:
        return part.numbers[number.key].value

    return Field(number.name(measure), text, value, bar=value)


def _link(by: str, name: str) -> Link:
    return {"title": f"Images of the part {name}", "part": [by, name]}
