"""The main numbers of parts of a run from columns that are computed once, and tests of each part against the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...metrics.bootstrap.delta import gradient
from ...metrics.bootstrap.draws import values_of
from ...metrics.bootstrap.moments import column_sums
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ...metrics.numeric.rate_tests import RateMoments, false_discoveries, rate_tests
from ..evidence.hypotheses import FALSE_DISCOVERY_RATE, MARGIN
from ..evidence.ranking import MIN_IMAGES, MIN_LABELS
from ..families.family import FAMILIES
from ..statistics.content_order import Hashes, content_ranks
from ..statistics.estimates import Estimate, estimates, rated_only
from ..statistics.numbers import Key, Numbers
from ..statistics.records import Records
from ..statistics.report import ReportContext, number
from .groups import Groups
from .result import DataPart, PartNumber


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
