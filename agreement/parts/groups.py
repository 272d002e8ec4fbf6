"""Group samples into parts by a value, a number between two limits, or a time; a sample may be in several."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeAlias

import numpy as np

from ...metrics.bootstrap.draws import SparseColumns, sparse
from ...metrics.numeric.arrays import FloatArray, IntArray
from ..evidence.ranking import natural_key

#: parts with names of their own, at most; the samples with other values are ``OTHERS``
MOST_PARTS = 50
OTHERS, NONE = "(others)", "(none)"
#: whole numbers with so many values at most are parts by value, if no bins are asked for
_FEW_NUMBERS = 10
#: whole numbers up to this one are what they are as floats, and no larger than the database can hold
_MOST_EXACT = 2.0**53
#: parts into which numbers are divided
DEFAULT_BINS = 5
#: the units of dates by name, as numpy calls them; the automatic one is the finest with at most so many parts
UNITS_OF_TIME = {"day": "D", "week": "W", "month": "M", "year": "Y"}
_MOST_TIMES = 31
#: numpy's weeks begin on a Thursday, as did 1970
_TO_MONDAY = 3


@dataclass(frozen=True, slots=True)
class Span:
    """From ``low`` on, and less than ``high``; None: no limit."""

    low: Any
    high: Any


#: what the samples of a part hold: one of these values, or a span; without values: nothing (None)
Held: TypeAlias = tuple[Any, ...] | Span | None


@dataclass(frozen=True, slots=True)
class Groups:
    """Parts of ``S`` samples."""

    names: tuple[str, ...]
    members: SparseColumns  #: shape ``(P, S)``, 1 where a sample is in a part
    held: tuple[Held, ...]  #: what the samples of every part hold
    ordered: bool = False  #: whether the parts have an order, as numbers and dates do
    n_merged: int = 0  #: values without a part of their own

    def rows(self, part: int) -> IntArray:
        """The samples of a part."""
        found: IntArray = np.sort(self.members.indices[slice(*self.members.indptr[part : part + 2])]).astype(np.int64)
        return found


def groups_of_sets(names: Sequence[str], rows: Sequence[IntArray], n_samples: int) -> Groups:
    """Parts with given samples."""
    part = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
    members = _members(part, np.concatenate([np.empty(0, np.int64), *rows]), len(rows), n_samples)
    return Groups(tuple(names), members, (None,) * len(names))


def groups_of_values(row: IntArray, values: Sequence[Any], n_samples: int) -> Groups:
    """A part for every value: the most frequent ones, and the others together.

    Args:
        row: shape ``(T,)``, sample of every value; a sample may have several values, or none
        values: shape ``(T,)``, texts, switches, whole numbers …
        n_samples: number of samples
    """
    different = list(dict.fromkeys(values))
    code_of = {value: code for code, value in enumerate(different)}
    code = np.array([code_of[value] for value in values], np.int64)
    own = np.unique(np.stack([code, row]), axis=1) if len(code) else np.empty((2, 0), np.int64)
    count = np.bincount(own[0], minlength=len(different))
    # ties by name, so that the order of the samples decides nothing
    frequent = sorted(range(len(different)), key=lambda k: (-count[k], natural_key(different[k])))
    kept = sorted(frequent[:MOST_PARTS], key=lambda k: natural_key(different[k]))
    rest = frequent[MOST_PARTS:]
    place = np.full(len(different), len(kept))
    place[kept] = np.arange(len(kept))
    names = [str(different[k]) for k in kept]
    held: list[Held] = [(different[k],) for k in kept]
    if rest:
        names.append(OTHERS)
        held.append(tuple(different[k] for k in rest))
    return _with_none(place[own[0]], own[1], names, held, n_samples, n_merged=len(rest))


def groups_of_numbers(
    row: IntArray, values: FloatArray, n_samples: int, bins: int | Sequence[float] | None, *, equal: bool = False
) -> Groups:
    """Numbers in bins with equally many samples each, or equally wide ones (``equal``), or between given limits.

    Whole numbers with few values are parts by value, if no bins are asked for.
    """
    different = np.unique(values)
    is_whole = (different == np.rint(different)).all() and (np.abs(different) <= _MOST_EXACT).all()
    if bins is None and not equal and len(different) <= _FEW_NUMBERS and is_whole:
        found = groups_of_values(row, [int(value) for value in values.tolist()], n_samples)
        return Groups(found.names, found.members, found.held, ordered=True)
    if bins is None or isinstance(bins, int):
        inner = np.linspace(0.0, 1.0, (bins or DEFAULT_BINS) + 1)[1:-1]
        low, high = (different[0], different[-1]) if len(different) else (0.0, 0.0)
        limits = low * (1 - inner) + high * inner if equal else np.quantile(values, inner) if len(values) else inner[:0]
        # a limit that no value is below would make an empty part
        limits = np.unique([_short(limit, different) for limit in limits.tolist() if limit > low])
    else:
        limits = np.unique(np.asarray(bins, np.float64))
    ends = [None, *limits.tolist(), None]
    place = np.searchsorted(limits, values, side="right")
    names = [_span_name(low, high) for low, high in itertools.pairwise(ends)]
    held: list[Held] = [Span(low, high) for low, high in itertools.pairwise(ends)]
    return _with_none(place, row, names, held, n_samples, ordered=True)


def _short(limit: float, values: FloatArray) -> float:
    """A limit with as few digits as separate the same values."""
    place = np.searchsorted(values, limit)
    for digits in range(1, 17):
        short = float(f"{limit:.{digits}g}")
        if np.searchsorted(values, short) == place:
            return short
    return limit


def _span_name(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "all" if low is high else f"< {high:g}" if low is None else f"≥ {low:g}"
    return f"{low:g} – {high:g}"


def groups_of_dates(row: IntArray, values: Sequence[date], n_samples: int, unit: str | None) -> Groups:
    """Dates by day, week (from Monday), month or year; None: the finest of them with a readable number of parts."""
    days = np.array([value.date() if isinstance(value, datetime) else value for value in values], "datetime64[D]")
    units = [*UNITS_OF_TIME] if unit is None else [unit]
    period, different = days, days
    for name in units:
        shift = _TO_MONDAY if name == "week" else 0
        period = (days + shift).astype(f"datetime64[{UNITS_OF_TIME[name]}]")
        different = np.unique(period)
        unit = name
        if len(different) <= _MOST_TIMES:
            break
    shift = _TO_MONDAY if unit == "week" else 0
    starts, ends = ((each.astype("datetime64[D]") - shift).astype(object) for each in (different, different + 1))
    names = [_time_name(start, str(unit)) for start in starts.tolist()]
    held: list[Held] = [Span(start, end) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return _with_none(np.searchsorted(different, period), row, names, held, n_samples, ordered=True)


def _time_name(start: date, unit: str) -> str:
    if unit == "week":
        year, week, _ = start.isocalendar()
        return f"{year}-W{week:02}"
    return start.isoformat()[: {"day": 10, "month": 7, "year": 4}[unit]]


def _with_none(
    part: IntArray,
    row: IntArray,
    names: list[str],
    held: list[Held],
    n_samples: int,
    *,
    ordered: bool = False,
    n_merged: int = 0,
) -> Groups:
    """The parts, those without samples left out, and one of the samples that are in none of them."""
    nothing = np.setdiff1d(np.arange(n_samples), row)
    part, row = np.concatenate([part, np.full(len(nothing), len(names))]), np.concatenate([row, nothing])
    used = np.unique(part)
    members = _members(np.searchsorted(used, part), row, len(used), n_samples)
    names, held = [*names, NONE], [*held, None]
    chosen = used.tolist()
    return Groups(tuple(names[k] for k in chosen), members, tuple(held[k] for k in chosen), ordered, n_merged)


def _members(part: IntArray, row: IntArray, n_parts: int, n_samples: int) -> SparseColumns:
    # parts with many values: a sample may have several of them
    cells = np.unique(part * max(n_samples, 1) + row)
    part, row = cells // max(n_samples, 1), cells % max(n_samples, 1)
    return sparse(part, row, np.ones(len(row)), (max(n_parts, 2), n_samples))  # of one row it has another form
