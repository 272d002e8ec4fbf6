"""The numbers of parts of the samples (or of several runs) as text, Markdown and DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..text.headline import FORMS
from ..text.sections import Part as Shown
from ..text.sections import Section
from ..text.tables import Cell, Column, table
from ..text.words import counted, listed, shown_interval, signed
from .dataframes import frame_of

if TYPE_CHECKING:
    from ...agreement.parts.result import AgreementParts, DataPart, PartNumber
    from ...agreement.statistics.main_numbers import MainNumber

#: numbers in a table, and parts that sentences name
_MOST_NUMBERS, _MOST_NAMED = 4, 5
#: what the number of a part that stands out is marked with
LOWER, HIGHER = "↓", "↑"


def parts_sections(parts: AgreementParts, figure: str | None = None) -> list[Section]:
    """The parts in one section: which of them stand out, and all in a table."""
    of_run = "" if parts.run_key is None else f" of run '{parts.run_key}'"
    columns = [
        Column(parts.by, "name"),
        Column(parts.what, "n_rated"),
        *([Column("labels", "n_objects")] if parts.run_key is not None else []),
        *(_column(number, parts.measure) for number in parts.shown[:_MOST_NUMBERS]),
    ]
    rows = [*parts.parts, *([parts.whole] if parts.run_key is not None else [])]
    shown: list[Shown] = [*finding_sentences(parts), table(columns, rows), *_notes(parts)]
    figures = () if figure is None else (figure,)
    return [Section(f"Agreement{of_run} by {parts.by}", shown, figures=figures)]


def finding_sentences(parts: AgreementParts) -> Iterator[str]:
    """Sentences on the parts that differ from the others by test: the greatest difference of each."""
    if not parts.n_tested:
        return
    said: dict[str, str] = {}
    for part, number, found in parts.findings:
        if part.name not in said:
            said[part.name] = f"{part.name}: {difference_text(number, found, parts)}."
    if not said:
        yield "No part differs from the others by test: the differences may be chance."
        return
    yield " ".join([*said.values()][:_MOST_NAMED])
    if len(said) > _MOST_NAMED:
        yield f"{len(said) - _MOST_NAMED:,} more parts differ."


def difference_text(number: MainNumber, found: PartNumber, parts: AgreementParts) -> str:
    """A number of a part against all other samples."""
    show = FORMS[number.form]
    ends = "" if found.low is None else f" [{_signed(number, found.low)}, {_signed(number, found.high)}]"
    others = f"{show(found.rest)} on all other {parts.what}"
    return (
        f"{number.name(parts.measure)} {show(found.value)} against {others} ({_signed(number, found.difference)}{ends})"
    )


def _signed(number: MainNumber, value: float | None) -> str:
    if value is None or number.form == "number":
        return signed(value)
    return f"{signed(100.0 * value, 1)} %"


def arrow_of(found: PartNumber) -> str:
    """An arrow where a number stands out."""
    return "" if not found.stands_out else f" {HIGHER if (found.difference or 0.0) > 0 else LOWER}"


def _column(number: MainNumber, measure: str) -> Column:
    show = FORMS[number.form]

    def cell(part: DataPart) -> Cell:
        found = part.numbers.get(number.key)
        if found is None:
            return Cell(None, show(None))
        return Cell(found.value, shown_interval(found.value, found.interval, show) + arrow_of(found))

    return Column(number.name(measure), cell)


def _notes(parts: AgreementParts) -> Iterator[str]:
    if parts.n_tested:
        yield (
            f"{LOWER} {HIGHER}: differs from all other {parts.what} by more than 0.02 by one of "
            f"{counted(parts.n_tested, 'test')}, at a false discovery rate of 5 %. […] are 95 % intervals."
        )
    left = [part.name for part in parts.parts if part.n_samples > part.n_rated]
    if left and parts.run_key is not None:
        n = sum(part.n_samples - part.n_rated for part in parts.parts)
        yield f"{n:,} {parts.what} have fewer than two annotators and no numbers ({listed(left[:_MOST_NAMED])})."
    if parts.n_merged:
        yield f"(others): {parts.n_merged:,} values that fewer {parts.what} have."


def parts_frame(parts: AgreementParts) -> pd.DataFrame:
    """One row for every part and number."""
    rows: list[dict[str, Any]] = []
    for part in parts.parts:
        counts = {"part": part.name, "n_samples": part.n_samples, "n_rated": part.n_rated, "n_objects": part.n_objects}
        for number in parts.numbers:
            found = part.numbers.get(number.key)
            if found is None:
                continue
            ends = {end: getattr(found.interval, end, None) for end in ("low", "high")}
            test = {"rest": found.rest, "difference": found.difference, "difference_low": found.low}
            test |= {"difference_high": found.high, "p_value": found.p_value, "stands_out": found.stands_out}
            rows.append({**counts, "number": number.key, "value": found.value, **ends, **test})
    return frame_of(rows)
