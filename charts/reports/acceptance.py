"""The check of a run against requirements as text, Markdown, table and section of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..text.sections import Part, Section
from ..text.tables import Cell, Column, table
from ..text.words import counted, listed, shown_number

if TYPE_CHECKING:
    from ...agreement.acceptance.outcome import AcceptanceCheck, Checked

#: how outcomes are marked, so that they are told apart without colours
MARKS = {"passed": "✓ passed", "failed": "✗ failed", "not enough data": "? not enough data"}


def shown_value(result: Checked) -> str:
    """The value with its interval."""
    ends = "" if result.low is None else f" [{shown_number(result.low)}, {shown_number(result.high)}]"
    return f"{shown_number(result.value)}{ends}"


_COLUMNS = (
    Column("requirement", "title"),
    Column("outcome", "outcome", lambda outcome: MARKS[outcome]),
    Column("must be", "condition"),
    Column("value", lambda each: Cell(each.value, shown_value(each))),
    Column("objects", "n_objects"),
    Column("images", "n_images"),
)


def acceptance_sentence(check: AcceptanceCheck) -> str:
    """The outcome of all requirements in a sentence."""
    n = [(len(check.of(outcome)), outcome) for outcome in ("failed", "not enough data", "passed")]
    has = {"not enough data": "has" if n[1][0] == 1 else "have"}
    said = listed([" ".join(filter(None, (str(count), has.get(outcome), outcome))) for count, outcome in n if count])
    verdict = {"passed": "Accepted", "failed": "Not accepted"}.get(check.outcome, "Cannot be judged")
    return f"{verdict} by {check.source}: of {counted(len(check.results), 'requirement')} {said}."


def acceptance_section(check: AcceptanceCheck) -> Section:
    """The check as a section of a report."""
    parts: list[Part] = [acceptance_sentence(check), table(_COLUMNS, check.results)]
    parts += [f"{each.title}: {each.reason}." for each in check.results if each.reason][:_MOST_REASONS]
    if check.n_unlisted:
        parts.append(f"{check.n_unlisted:,} more results are not listed.")
    if check.left_out:
        names = listed([*check.left_out[:_MOST_REASONS]]) + ", …" * (len(check.left_out) > _MOST_REASONS)
        parts.append(f"Left out, as they are for labels of other types: {names}.")
    return Section("Acceptance", parts, key="acceptance")


_MOST_REASONS = 20


def acceptance_sections(check: AcceptanceCheck) -> list[Section]:
    """The check alone."""
    return [Section(f"Acceptance of run '{check.run_key}'", acceptance_section(check).parts, is_first=True)]


def acceptance_frame(check: AcceptanceCheck) -> pd.DataFrame:
    """The results as a table."""
    names = ("name", "annotator", "outcome", "condition", "value", "low", "high", "n_objects", "n_images", "reason")
    rows = [{name: getattr(each, name) for name in names} for each in check.results]
    frame = pd.DataFrame(rows, columns=list(names))
    return frame.astype(dict.fromkeys(("value", "low", "high"), float))
