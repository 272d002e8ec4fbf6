"""The tables of a comparison of two runs as DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..agreement.errors import AgreementInputError

if TYPE_CHECKING:
    from ..agreement.comparison import AgreementComparison, Change

_CHANGE = ("a", "b", "difference", "low", "high")


def comparison_frame(comparison: AgreementComparison, table: str) -> pd.DataFrame:
    """A table of a comparison, one number each row; undefined numbers are nan.

    Raises:
        AgreementInputError: if there is no such table
    """
    names = ["numbers", *comparison.changes, "samples"]
    if table == "numbers":
        rows = [{"number": name, **_row(change)} for name, change in comparison.numbers.items()]
        return pd.DataFrame(rows, columns=["number", *_CHANGE])
    if table == "samples":
        listed = [*comparison.samples.better, *comparison.samples.worse]
        frame_number = ["frame_number"] if comparison.on_frames else []
        return pd.DataFrame(listed, columns=["id", "filepath", *frame_number, "a", "b", "difference"])
    if table not in comparison.changes:
        raise AgreementInputError(f"`table` must be one that the comparison has ({', '.join(names)}), got {table!r}")
    rows = [
        {"name": " – ".join(part.names), "number": name, **_row(change)}
        for part in comparison.changes[table]
        for name, change in part.numbers.items()
    ]
    return pd.DataFrame(rows, columns=["name", "number", *_CHANGE])


def _row(change: Change) -> dict[str, Any]:
    found = change.interval
    ends = {"low": None, "high": None} if found is None else {"low": found.low, "high": found.high}
    values = {"a": change.a, "b": change.b, "difference": change.difference, **ends}
    return {name: float("nan") if value is None else value for name, value in values.items()}
