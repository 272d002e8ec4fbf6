"""The main numbers of parts of a run from columns that are computed once, and tests of each part against the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...metrics.bootstrap.draws import Draws, column_sums, resampled, scatter_rows, values_of
from ...metrics.bootstrap.draws import Part as Summed
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ...metrics.numeric.rate_tests import RateMoments, false_discoveries, rate_tests
from ..evidence.hypotheses import FALSE_DISCOVERY_RATE, MARGIN
from ..evidence.ranking import MIN_IMAGES, MIN_LABELS
from ..families.family import FAMILIES
from ..statistics.content_order import Hashes, content_ranks
from ..statistics.numbers import Estimate, Key, Numbers, estimates, rated_only
from ..statistics.records import Records
from ..statistics.report import ReportContext, number
from .groups import Groups
from .result import Part, PartNumber


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
        is_rated = records.assigned.sum(axis=1) >= 2
        keys = frozenset(each.key for each in family.report.main_numbers)
        found = [each for each in family.headline(rated, of_rated) if any(key[-1] in keys for key in each.keys)]
        return cls(
            found,
            family.contents(rated, of_rated),
            of_rated.clusters,
            np.where(is_rated, np.cumsum(is_rated) - 1, -1),
            records.sample_values().n_objects,
            keys,
        )

    def part(self, name: str, rows: IntArray, *, resamples: int, seed: int) -> Part:
        """The numbers of some samples, with the same intervals as in the report on these samples."""
        rated = self.place[rows][self.place[rows] >= 0]
        hashes, values = self.contents
        clusters = None if self.clusters is None else self.clusters[rated]
        ranks = content_ranks(hashes[rated], values[rated], clusters)
        numbers = [replace(each, columns=each.columns[rated]) for each in self.numbers]
        found = self._main(estimates(numbers, ranks, resamples=resamples, seed=seed))
        return Part(
            name,
            n_samples=len(rows),
            n_rated=len(rated),
            n_objects=int(self.n_objects[rows[self.place[rows] >= 0]].sum()),
            numbers={key: PartNumber(number(each.value), each.interval) for key, each in found.items()},
        )

    def _main(self, found: Mapping[Key, Estimate]) -> dict[str, Estimate]:
        return {key: each for (key,), each in found.items() if key in self.keys}

    def ranks(self) -> IntArray:
        """Rank of every rated sample (video, group) among all."""
        return content_ranks(*self.contents, self.clusters)


def parts_of(
    columns: PartColumns, groups: Groups, whole: Part, *, resamples: int, seed: int
) -> tuple[list[Part], int]:
    """The numbers of every part, each tested against all samples that are not in the part.

    The difference of two groups of samples is resampled together: samples (videos, groups) are drawn from all. A part
    in which nothing varies, as is common with few images, has no smaller error than it would have if its samples varied
    as all do.

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
        columns.part(name, each, resamples=resamples, seed=seed)
        for name, each in zip(groups.names, rows, strict=True)
    ]
    if not resamples or not len(columns.contents[0]):
        return parts, 0
    return _tested(parts, whole, _Differences.of(columns, rows, resamples, seed))


@dataclass(frozen=True, slots=True)
class _Differences:
    """Every number of every part and of its rest; shapes ``(P, V)``."""

    keys: list[str]
    rest: FloatArray
    error: FloatArray  #: standard error of the difference
    n: IntArray  #: samples (videos, groups) that the smaller side has for the number

    @classmethod
    def of(cls, columns: PartColumns, rows: list[IntArray], resamples: int, seed: int) -> _Differences:
        """Resample all parts together."""
        ranks = columns.ranks()
        n_drawn = int(ranks.max(initial=-1)) + 1
        rated = [columns.place[each][columns.place[each] >= 0] for each in rows]
        found = [
            _of_numbers(each, ranks, n_drawn, rated, Draws(n_drawn, resamples, seed)) for each in columns.numbers
        ]
        keys = [key for each in columns.numbers for (key,) in each.keys]
        kept = [k for k, key in enumerate(keys) if key in columns.keys]
        rest, error, n = (np.concatenate([each[k] for each in found], axis=1)[:, kept] for k in range(3))
        return cls([keys[k] for k in kept], rest, error, n.astype(np.int64))


def _of_numbers(
    numbers: Numbers, ranks: IntArray, n_drawn: int, rows: list[IntArray], draws: Draws
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The numbers of the rest of every part, the error of the difference, and on how many samples it rests."""
    sides = [_summed(numbers, np.arange(len(ranks)), ranks), *(_summed(numbers, each, ranks[each]) for each in rows)]
    totals = [column_sums(side.columns) for side in sides]
    n_used = np.array([_n_used(numbers, side) for side in sides])
    rest = np.stack([values_of(numbers.formula, totals[0] - total) for total in totals[1:]])
    if numbers.by_sample:
        values = _resampled(numbers, sides, draws)
    else:  # it would take too long
        values = [np.full((2, len(numbers.keys)), np.nan)] * (2 * len(rows) + 1)
    spread = np.stack([_variance(each) for each in values])
    own, others = n_used[1:], np.maximum(n_used[0] - n_used[1:], 0)
    # what the difference would vary if both sides varied as all samples do
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = spread[0] * n_used[0] * (1.0 / own + 1.0 / others)
    error = np.sqrt(np.maximum(spread[1 : len(rows) + 1], pooled))
    return rest, error, np.minimum(own, others).astype(np.float64)


def _resampled(numbers: Numbers, sides: list[Summed], draws: Draws) -> list[FloatArray]:
    """Values of resamples ``(B, V)``: of all samples, then the difference of every part to its rest."""
    chunks: list[list[FloatArray]] = []
    for whole, *parts in resampled(sides, draws):
        of_whole = values_of(numbers.formula, whole)
        differences = [
            values_of(numbers.formula, sums) - values_of(numbers.formula, whole - sums) for sums in parts
        ]
        chunks.append([of_whole, *differences])
    return [np.concatenate(each) for each in zip(*chunks, strict=True)]


def _summed(numbers: Numbers, rows: IntArray, ranks: IntArray) -> Summed:
    """The columns of some samples, added up by what is drawn."""
    drawn, place = np.unique(ranks, return_inverse=True)
    return Summed(scatter_rows(numbers.columns[rows], place.ravel(), len(drawn)), numbers.formula, drawn)


def _n_used(numbers: Numbers, side: Summed) -> IntArray:
    """Samples (videos, groups) that say anything about each number."""
    if numbers.compared is None:
        return np.full(len(numbers.keys), side.columns.shape[0])
    given = side.columns.data != 0
    count: IntArray = np.bincount(side.columns.indices[given], minlength=side.columns.shape[1])
    return count[numbers.compared]


def _variance(values: FloatArray) -> FloatArray:
    """Variance of every column; nan where half of the values are undefined."""
    defined = ~np.isnan(values)
    n = defined.sum(axis=0)
    mean = np.where(defined, values, 0.0).sum(axis=0) / np.maximum(n, 1)
    squares = (np.where(defined, values - mean, 0.0) ** 2).sum(axis=0)
    return np.where(2 * n > len(values), squares / np.maximum(n - 1, 1), np.nan)


def _tested(parts: list[Part], whole: Part, found: _Differences) -> tuple[list[Part], int]:
    """The parts with their differences; those that stand out are found as findings are."""
    values = np.array([[_known(part.numbers[key].value) for key in found.keys] for part in parts])
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
    parts: list[Part], values: FloatArray, found: _Differences, enough: BoolArray, tables: list[FloatArray]
) -> Iterator[Part]:
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
    """What :func:`rate_tests` needs for differences of which the errors are known."""
    one = np.ones(values.size)
    products = np.zeros((values.size, 10))
    products[:, 0] = (error**2 * (n - 1) / n).ravel()
    sums = np.stack([values.ravel(), one, rest.ravel(), one], axis=1)
    return RateMoments(np.arange(values.size), n.ravel(), sums, products)


def _known(value: float | None) -> float:
    return np.nan if value is None else value


