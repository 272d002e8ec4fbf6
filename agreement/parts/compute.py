"""Group samples into parts, and compute the main numbers of each; tests of each part against the rest."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, TypeAlias

import numpy as np

from ...metrics.bootstrap.confidence import gradient
from ...metrics.bootstrap.draws import SparseColumns, column_sums, sparse, values_of
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ...metrics.numeric.rate_tests import RateMoments, false_discoveries, rate_tests
from ..evidence.hypotheses import FALSE_DISCOVERY_RATE, MARGIN
from ..evidence.ranking import MIN_IMAGES, MIN_LABELS, natural_key
from ..families.family import FAMILIES
from ..statistics.content_order import Hashes, content_ranks
from ..statistics.estimates import Estimate, estimates, rated_only
from ..statistics.numbers import Key, Numbers
from ..statistics.records import Records
from ..statistics.report import ReportContext, number
from .result import DataPart, PartNumber

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


@dataclass(frozen=True, slots=True)
class PartColumns:
    """The main numbers of rated samples as additive columns, for any number of divisions of the samples."""

    numbers: list[Numbers]  #: with a row for every rated sample
    contents: tuple[Hashes, FloatArray]  #: of the rated samples, for the order in which they are drawn
    clusters: IntArray | None  #: video or group of every rated sample
    place: IntArray  #: shape ``(S,)``, row of every sample among the rated ones; -1 of the others
    n_objects: IntArray  #: shape ``(S,)``
    keys: frozenset[str]  #: the main numbers of the report

    @classmethod
    def of(cls, records: Records, context: ReportContext) -> PartColumns:
        """The columns of a run."""
        family = FAMILIES[records.family]
        rated, of_rated = rated_only(records, context)
        keys = frozenset(each.key for each in family.report.main_numbers)
        found = [each for each in family.headline(rated, of_rated) if any(key[-1] in keys for key in each.keys)]
        return cls(
            found,
            family.contents(rated, of_rated),
            of_rated.clusters,
            np.where(records.rated, np.cumsum(records.rated) - 1, -1),
            records.sample_values().n_objects,
            keys,
        )

    def part(self, name: str, rows: IntArray, *, resamples: int, seed: int) -> DataPart:
        """The numbers of some samples, with the same intervals as in the report on these samples."""
        rated = self.place[rows][self.place[rows] >= 0]
        hashes, values = self.contents
        clusters = None if self.clusters is None else self.clusters[rated]
        ranks = content_ranks(hashes[rated], values[rated], clusters)
        numbers = [replace(each, columns=each.rows[rated]) for each in self.numbers]
        found = self._main(estimates(numbers, ranks, resamples=resamples, seed=seed))
        return DataPart(
            name,
            n_samples=len(rows),
            n_rated=len(rated),
            n_objects=int(self.n_objects[rows[self.place[rows] >= 0]].sum()),
            numbers={key: PartNumber(number(each.value), each.interval) for key, each in found.items()},
        )

    def _main(self, found: Mapping[Key, Estimate]) -> dict[str, Estimate]:
        return {key: each for (key,), each in found.items() if key in self.keys}


def parts_of(
    columns: PartColumns, groups: Groups, whole: DataPart, *, resamples: int, seed: int
) -> tuple[list[DataPart], int]:
    """The numbers of every part, each tested against all samples that are not in the part.

    The error of the difference is that of linearised numbers (the infinitesimal jackknife), as of findings. A part in
    which hardly anything varies, as is common with few images, has no smaller error than it would have if its samples
    varied as all do.

    Args:
        columns: the columns of all samples
        groups: the parts
        whole: the numbers of all samples
        resamples: number of resamples; 0 for no intervals and no tests
        seed: seed of the random numbers

    Returns:
        the parts, and how many differences were tested
    """
    rows = [groups.rows(k) for k in range(len(groups.names))]
    parts = [
        columns.part(name, each, resamples=resamples, seed=seed) for name, each in zip(groups.names, rows, strict=True)
    ]
    if not resamples or not len(columns.contents[0]):
        return parts, 0
    rated = [columns.place[each][columns.place[each] >= 0] for each in rows]
    return _tested(parts, whole, _Differences.of(columns, rated))


@dataclass(frozen=True, slots=True)
class _Differences:
    """Every number of every part and of its rest; shapes ``(P, V)``."""

    keys: list[str]
    rest: FloatArray
    error: FloatArray  #: standard error of the difference
    n: IntArray  #: samples (videos, groups) that the smaller side has for the number

    @classmethod
    def of(cls, columns: PartColumns, rows: list[IntArray]) -> _Differences:
        """Differences of parts, from the rated samples of each."""
        n_samples = len(columns.contents[0])
        drawn = (
            np.arange(n_samples) if columns.clusters is None else np.unique(columns.clusters, return_inverse=True)[1]
        )
        found = [_of_numbers(each, rows, drawn.ravel()) for each in columns.numbers]
        keys = [key for each in columns.numbers for (key,) in each.keys]
        kept = [k for k, key in enumerate(keys) if key in columns.keys]
        rest, error, n = (np.concatenate([each[k] for each in found], axis=1)[:, kept] for k in range(3))
        return cls([keys[k] for k in kept], rest, error, n.astype(np.int64))


def _of_numbers(numbers: Numbers, rows: list[IntArray], drawn: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The numbers of the rest of every part, the error of the difference, and on how many samples it rests.

    Args:
        numbers: of all samples
        rows: the samples of every part
        drawn: shape ``(S,)``, what is an independent draw: the sample itself, or its video or group
    """
    columns, n_drawn = numbers.rows, int(drawn.max()) + 1
    total = column_sums(columns)
    given = np.ones((len(drawn), len(numbers.keys)), np.bool_)
    if numbers.compared is not None:
        given = columns[:, numbers.compared].toarray() != 0
    n_all = _n_drawn(drawn, given, n_drawn)
    variance = _squares(drawn, columns @ gradient(numbers.formula, total), n_drawn) * n_all  # of one draw
    found: list[tuple[FloatArray, FloatArray, IntArray]] = []
    for each in rows:
        own = column_sums(columns[each])
        rest = total - own
        inside = np.zeros((len(drawn), 1), np.bool_)
        inside[each] = True
        n_own, n_rest = (_n_drawn(drawn, given & side, n_drawn) for side in (inside, ~inside))
        influence = np.where(
            inside, columns @ gradient(numbers.formula, own), -(columns @ gradient(numbers.formula, rest))
        )
        # at least what the difference would vary if both sides varied as all samples do
        pooled = variance / np.maximum(n_own, 1) + variance / np.maximum(n_rest, 1)
        error = np.sqrt(np.maximum(_squares(drawn, influence, n_drawn), pooled))
        found.append((values_of(numbers.formula, rest), error, np.minimum(n_own, n_rest)))
    stacked = [np.stack([each[k] for each in found]).astype(np.float64) for k in range(3)]
    return stacked[0], stacked[1], stacked[2]


def _squares(drawn: IntArray, influence: FloatArray, n_drawn: int) -> FloatArray:
    """Sums of squares over draws ``(V,)`` of what their samples ``(S, V)`` add up to."""
    if n_drawn < len(drawn):
        influence = np.stack([sums_by(drawn, column, n_drawn) for column in influence.T], axis=1)
    squares: FloatArray = (influence**2).sum(axis=0)
    return squares


def _n_drawn(drawn: IntArray, given: BoolArray, n_drawn: int) -> IntArray:
    """On how many draws numbers have samples, shape ``(V,)``."""
    if n_drawn < len(drawn):
        given = np.stack([sums_by(drawn, column, n_drawn) > 0 for column in given.T], axis=1)
    n: IntArray = given.sum(axis=0)
    return n


def _tested(parts: list[DataPart], whole: DataPart, found: _Differences) -> tuple[list[DataPart], int]:
    """The parts with their differences; those that stand out are found as findings are."""
    known = [[part.numbers[key].value for key in found.keys] for part in parts]
    values = np.array(known, np.float64)  # nan where undefined
    n, error = np.maximum(found.n, 2), np.where(np.isnan(found.error), 0.0, found.error)
    moments = _moments(values, found.rest, error, n)
    tests = rate_tests(moments, margin=MARGIN)
    enough = (found.n >= MIN_IMAGES) & ~np.isnan(found.error) & ~np.isnan(values - found.rest)
    n_labels = np.array([part.n_objects for part in parts])
    enough &= ((n_labels >= MIN_LABELS) & (whole.n_objects - n_labels >= MIN_LABELS))[:, None]
    p_values = np.where(enough.ravel(), tests.p_different, np.nan)
    rejected = false_discoveries(p_values, FALSE_DISCOVERY_RATE)
    n_tested = int(np.sum(~np.isnan(p_values)))
    level = 1.0 - FALSE_DISCOVERY_RATE * max(int(rejected.sum()), 1) / max(n_tested, 1)
    selected = rate_tests(moments, margin=MARGIN, level=level)
    ends = [np.where(rejected, getattr(selected, end), getattr(tests, end)) for end in ("low", "high")]
    shape = values.shape
    tables = [each.reshape(shape) for each in (*ends, p_values, rejected)]
    return list(_with_tests(parts, values, found, enough, tables)), n_tested


def _with_tests(
    parts: list[DataPart], values: FloatArray, found: _Differences, enough: BoolArray, tables: list[FloatArray]
) -> Iterator[DataPart]:
    low, high, p_values, rejected = tables
    for k, part in enumerate(parts):
        numbers = dict(part.numbers)
        for v, key in enumerate(found.keys):
            rest, has_ends = float(found.rest[k, v]), bool(enough[k, v])
            numbers[key] = replace(
                numbers[key],
                rest=number(rest),
                difference=number(float(values[k, v]) - rest),
                low=number(float(low[k, v])) if has_ends else None,
                high=number(float(high[k, v])) if has_ends else None,
                p_value=number(float(p_values[k, v])),
                stands_out=bool(rejected[k, v]),
            )
        yield replace(part, numbers=numbers)


def _moments(values: FloatArray, rest: FloatArray, error: FloatArray, n: IntArray) -> RateMoments:
    """Input of :func:`rate_tests` for differences whose standard errors are known."""
    one = np.ones(values.size)
    products = np.zeros((values.size, 10))
    products[:, 0] = (error**2 * (n - 1) / n).ravel()
    sums = np.stack([values.ravel(), one, rest.ravel(), one], axis=1)
    return RateMoments(np.arange(values.size), n.ravel(), sums, products)
