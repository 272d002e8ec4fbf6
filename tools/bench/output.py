"""Printed output of the benchmarks, and what is asked of each number."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limit:
    """Bounds of the ratio of a row (of its value where it has none), or of how far its value is above its reference."""

    low: float = -math.inf
    high: float = math.inf
    of_difference: bool = False

    def __str__(self) -> str:
        low, high = (f"{bound:,.10g}" for bound in (self.low, self.high))
        known = f"at most {high}" if self.low == -math.inf else f"at least {low}"
        return (known if math.inf in (-self.low, self.high) else f"{low} to {high}") + " more" * self.of_difference


def at_most(high: float) -> Limit:
    """An upper bound."""
    return Limit(high=high)


def at_least(low: float) -> Limit:
    """A lower bound."""
    return Limit(low=low)


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: two measured values and their ratio, or one value against a limit."""

    what: str
    value: float
    reference: float | None
    ratio: float | None
    limit: Limit | None

    @property
    def verdict(self) -> str:
        """Whether the limit is kept: ``ok`` or ``over``; empty if nothing is asked."""
        if self.limit is None:
            return ""
        number = self.value if self.ratio is None else self.ratio
        if self.limit.of_difference:
            number = self.value - (self.reference or 0.0)
        return "ok" if self.limit.low <= number <= self.limit.high else "over"


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def print_rows(rows: list[Row]) -> None:
    """Print all comparisons as a table, and which of them do not keep their limits."""
    width = max((len(row.what) for row in rows), default=0)
    say("")
    say(f"{'':<{width}} {'value':>9} {'against':>9} {'ratio':>8}        asked")
    for row in rows:
        reference = "" if row.reference is None else f"{row.reference:9.4g}"
        ratio = "" if row.ratio is None else f"{row.ratio:8.2f}"
        asked = "" if row.limit is None else str(row.limit)
        say(f"{row.what:<{width}} {row.value:9.4g} {reference:>9} {ratio:>8}  {row.verdict:<4}  {asked}".rstrip())
    over = [row.what for row in rows if row.verdict == "over"]
    say(f"\n{len(over)} of {sum(bool(row.verdict) for row in rows)} over their limits")
    for what in over:
        say(f"  {what}")
