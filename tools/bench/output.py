"""Printed output of the benchmarks."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: two measured values and their ratio, or one value against a limit."""

    what: str
    value: float
    reference: float | None
    ratio: float | None
    asked: str


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def print_rows(rows: list[Row]) -> None:
    """Print all comparisons as a table."""
    say("")
    say(f"{'':<58} {'value':>9} {'against':>9} {'ratio':>8}   asked")
    for row in rows:
        reference = "" if row.reference is None else f"{row.reference:9.4g}"
        ratio = "" if row.ratio is None else f"{row.ratio:8.2f}"
        say(f"{row.what:<58} {row.value:9.4g} {reference:>9} {ratio:>8}   {row.asked}")
