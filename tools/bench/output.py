"""Printed output of the benchmarks, and what is asked of each number."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


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
    """A measured value, what is asked of it, and what it is compared with."""

    what: str
    value: float
    limit: Limit | None = None
    reference: float | None = None

    @property
    def ratio(self) -> float | None:
        """The value in relation to its reference."""
        return None if self.reference is None else self.value / self.reference

    @property
    def verdict(self) -> str:
        """Whether the limit is kept: ``ok`` or ``over``; empty if nothing is asked."""
        if self.limit is None:
            return ""
        number = self.value if self.ratio is None else self.ratio
        if self.limit.of_difference:
            number = self.value - (self.reference or 0.0)
        return "ok" if self.limit.low <= number <= self.limit.high else "over"


def timed(
    work: Callable[[], T], times: int = 1, typical: Callable[[list[float]], float] = statistics.median
) -> tuple[float, T]:
    """The median, or another typical one, of the seconds that some calls take; and the result of the last."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - started)
    return typical(seconds), result


def in_turns(works: Mapping[str, Callable[[], float]], times: int = 3) -> dict[str, float]:
    """The medians of the seconds that some works measure, which take turns, after one of each to warm up."""
    seconds = [[work() for work in works.values()] for _ in range(times + 1)][1:]
    found = dict(zip(works, map(statistics.median, zip(*seconds, strict=True)), strict=True))
    for what, each in found.items():
        say(f"  {what}: {each:.3f} s")
    return found


def command_of(function: Callable[..., Any], *arguments: Any) -> list[str]:
    """The command that calls a function of a module, and prints what it returns as JSON."""
    module, name = function.__module__, function.__name__
    return [sys.executable, "-c", f"import json, {module} as m\nprint(json.dumps(m.{name}(*{arguments!r})))"]


def in_process(function: Callable[..., T], *arguments: Any) -> T:
    """What a function returns in a process of its own, as far as JSON can hold it."""
    said = subprocess.run(command_of(function, *arguments), check=True, stdout=subprocess.PIPE, text=True).stdout
    found: T = json.loads(said.splitlines()[-1])
    return found


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
