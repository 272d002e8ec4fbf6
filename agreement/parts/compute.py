"""Group samples into parts, and compute the main numbers of each; test each part against all other samples."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np

from ...metrics.bootstrap.confidence import gradient
from ...metrics.bootstrap.draws import SparseColumns, column_sums, sparse, values_of
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ...metrics.numeric.rate_tests import RateMoments, false_discoveries, rate_tests
from ..evidence.hypotheses import FALSE_DISCOVERY_RATE, MARGIN
from ..evidence.ranking import MIN_IMAGES, MIN_LABELS, natural_key
from ..families.family import FAMILIES
from ..statistics.estimates import estimates, rated_only
from ..statistics.numbers import Numbers
from ..statistics.records import Hashes, Records, content_ranks
from ..statistics.report import ReportContext, number
from .result import DataPart, PartNumber

#: most parts with names of their own; samples with other values are in the part ``OTHERS``
MOST_PARTS = 50
OTHERS, NONE = "(others)", "(none)"
#: up to so many different numbers are a part each; more are divided into quartiles
MOST_NUMBERS = 10


@dataclass(frozen=True, slots=True)
class Groups:
    """Parts of ``S`` samples."""

    names: tuple[str, ...]
    members: SparseColumns  #: shape ``(P, S)``, 1 where a sample is in a part
    ordered: bool = False  #: whether the parts have an order, as numbers and dates do
    n_merged: int = 0  #: values without a part of their own

    def rows(self, part: int) -> IntArray:
        """The samples of a part."""
        found: IntArray = np.sort(self.members.indices[slice(*self.members.indptr[part : part + 2])]).astype(np.int64)
        return found


def groups_of_sets(names: Sequence[str], rows: Sequence[IntArray], n_samples: int) -> Groups:
    """Parts with these names and samples."""
    part = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
    members = _members(part, np.concatenate([np.empty(0, np.int64), *rows]), len(rows), n_samples)
    return Groups(tuple(names), members)


def groups_of_values(row: IntArray, values: Sequence[Any], n_samples: int) -> Groups:
    """A part for every value: the most frequent ones, the others together, and the samples without any.

    Dates are divided by month, more than ``MOST_NUMBERS`` different numbers into quartiles; values of several types
    count as texts. Values with the same name are one part, so no two parts have the same name.

    Args:
        row: shape ``(T,)``, sample of every value; a sample may have several values, or none
        values: shape ``(T,)``, texts, switches, numbers or dates; nan is not among them
        n_samples: number of samples
    """
    titles, order, ordered = _titled(values)
    place_of = {title: k for k, title in enumerate(order)}
    code = np.array([place_of[title] for title in titles], np.int64)
    own = np.unique(np.stack([code, row]), axis=1) if len(code) else np.empty((2, 0), np.int64)
    count = np.bincount(own[0], minlength=len(order))
    # ties in the order of the values, so that the order of the samples decides nothing
    frequent = np.argsort(-count, kind="stable")[:MOST_PARTS]
    kept, n_merged = np.sort(frequent), len(order) - len(frequent)
    place = np.full(len(order), len(kept))
    place[kept] = np.arange(len(kept))
    names = [*(order[k] for k in kept.tolist()), *([OTHERS] if n_merged else []), NONE]
    nothing = np.setdiff1d(np.arange(n_samples), row)
    part = np.concatenate([place[own[0]], np.full(len(nothing), len(names) - 1)])
    used = np.unique(part)
    members = _members(np.searchsorted(used, part), np.concatenate([own[1], nothing]), len(used), n_samples)
    return Groups(tuple(names[k] for k in used.tolist()), members, ordered, n_merged)


def _titled(values: Sequence[Any]) -> tuple[list[str], list[str], bool]:
    """The name of the part of every value, the different names in order, and whether the values have an order."""
    if values and all(isinstance(value, date) for value in values):
        titles = [f"{value.year:04}-{value.month:02}" for value in values]
        return titles, sorted(set(titles)), True
    if values and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        numbers = np.array([float(value) for value in values])
        different = np.unique(numbers)
        if len(different) <= MOST_NUMBERS:
            names, place = [_number(value) for value in different.tolist()], np.searchsorted(different, numbers)
        else:
            limits = np.unique(np.sort(numbers)[np.ceil(np.array([0.25, 0.5, 0.75]) * len(numbers)).astype(int) - 1])
            ends = []
            for limit in limits.tolist():  # with as few digits as separate the same values
                shorter = np.array([float(f"{limit:.{digits}g}") for digits in range(1, 17)] + [limit])
                same = np.searchsorted(different, shorter, "right") == np.searchsorted(different, limit, "right")
                ends.append(_number(shorter[same][0].item()))
            names = [f"≤ {ends[0]}", *(f"> {low}, ≤ {high}" for low, high in itertools.pairwise(ends)), f"> {ends[-1]}"]
            place = np.searchsorted(limits, numbers)
        return [names[k] for k in place.tolist()], list(dict.fromkeys(names)), True
    texts = [_number(value) if isinstance(value, float) else str(value) for value in values]
    # in quotes if a text is blank, or is the name of another part
    titles = [repr(text) if not text.strip() or text in (OTHERS, NONE) else text for text in texts]
    return titles, sorted(set(titles), key=natural_key), False


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _members(part: IntArray, row: IntArray, n_parts: int, n_samples: int) -> SparseColumns:
    # parts with many values: a sample may have several of them
    cells = np.unique(part * max(n_samples, 1) + row)
    part, row = cells // max(n_samples, 1), cells % max(n_samples, 1)
    return sparse(part, row, np.ones(len(row)), (max(n_parts, 2), n_samples))  # with one row it has another form


@dataclass(frozen=True, slots=True)
class PartColumns:
    """The main numbers of rated samples as additive columns, for any number of divisions of the samples."""

    records: Records  #: of the rated samples
    context: ReportContext  #: of the rated samples
    numbers: list[Numbers]  #: with a row for every rated sample
    contents: tuple[Hashes, FloatArray]  #: of the rated samples, to sort them for resampling
    place: IntArray  #: shape ``(S,)``, row of every sample among the rated ones; -1 of the others
    n_objects: IntArray  #: shape ``(S,)``
    keys: frozenset[str]  #: keys of the main numbers of the report

    @classmethod
    def of(cls, records: Records, context: ReportContext) -> PartColumns:
        """The columns of a run."""
        rated, of_rated = rated_only(records, context)
        return cls(
            rated,
            of_rated,
            _headline(rated, of_rated),
            FAMILIES[records.family].contents(rated, of_rated),
            np.where(records.rated, np.cumsum(records.rated) - 1, -1),
            records.sample_values().n_objects,
            _keys(records),
        )

    def part(self, name: str, rows: IntArray, *, resamples: int, seed: int) -> DataPart:
        """The numbers of some samples, with the same intervals as in the report on these samples.

        They are computed from the records of these samples: how many values alpha meets, and how large they are,
        decides how exact it is, and whether it has an interval.
        """
        rated = self.place[rows][self.place[rows] >= 0]
        (hashes, values), clusters = self.contents, self.context.clusters
        context = replace(self.context, clusters=None if clusters is None else clusters[rated])
        ranks = content_ranks(hashes[rated], values[rated], context.clusters)
        found = estimates(_headline(self.records.take(rated), context), ranks, resamples=resamples, seed=seed)
        return DataPart(
            name,
            n_samples=len(rows),
            n_rated=len(rated),
            n_objects=int(self.n_objects[rows[self.place[rows] >= 0]].sum()),
            numbers={
                key: PartNumber(number(each.value), each.interval) for (key,), each in found.items() if key in self.keys
            },
        )


def _keys(records: Records) -> frozenset[str]:
    """Keys of the main numbers of a report."""
    return frozenset(each.key for each in FAMILIES[records.family].report.main_numbers)


def _headline(records: Records, context: ReportContext) -> list[Numbers]:
    """The main numbers of rated samples."""
    keys, found = _keys(records), FAMILIES[records.family].headline(records, context)
    return [each for each in found if any(key[-1] in keys for key in each.keys)]


def parts_of(
    columns: PartColumns, groups: Groups, whole: DataPart, *, resamples: int, seed: int
) -> tuple[list[DataPart], int]:
    """The numbers of every part, each tested against all samples that are not in the part.

    The error of the difference is that of linearised numbers (the infinitesimal jackknife), as for findings. A part
    whose samples hardly vary, as is common with few images, gets at least the error that it would have if its samples
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
    return _tested(parts, whole, *_differences(columns, rated))


def _differences(columns: PartColumns, rows: list[IntArray]) -> tuple[list[str], FloatArray, FloatArray, IntArray]:
    """For every part the numbers of all other samples, and the errors of the differences between both.

    Args:
        columns: of all samples
        rows: the rated samples of every part

    Returns:
        keys of the ``V`` numbers; their values on all other samples; the standard errors of the differences; and how
        many samples (videos, groups) with the number the smaller side has; shapes ``(P, V)``
    """
    n_samples, clusters = columns.records.n_samples, columns.context.clusters
    drawn = np.arange(n_samples) if clusters is None else np.unique(clusters, return_inverse=True)[1].ravel()
    n_drawn = int(drawn.max()) + 1

    def by_draw(table: FloatArray | BoolArray) -> FloatArray:
        """Sums of a table ``(S, V)`` over the samples of every independent draw (sample, video, group)."""
        if n_drawn == n_samples:
            return table.astype(np.float64)
        return np.stack([sums_by(drawn, column, n_drawn) for column in table.T], axis=1)

    found: dict[str, tuple[FloatArray, FloatArray, IntArray]] = {}
    for numbers in columns.numbers:
        of_samples, formula = numbers.rows, numbers.formula
        total = column_sums(of_samples)
        given = np.ones((n_samples, len(numbers.keys)), np.bool_)
        if numbers.compared is not None:
            given = of_samples[:, numbers.compared].toarray() != 0
        influence = of_samples @ gradient(formula, total)
        variance = (by_draw(influence) ** 2).sum(axis=0) * (by_draw(given) > 0).sum(axis=0)  # of one draw
        rest, error, n = np.zeros((3, len(rows), len(numbers.keys)))
        for part, each in enumerate(rows):
            own = column_sums(of_samples[each])
            inside = np.zeros((n_samples, 1), np.bool_)
            inside[each] = True
            n_own, n_rest = ((by_draw(given & side) > 0).sum(axis=0) for side in (inside, ~inside))
            of_own, of_rest = (of_samples @ gradient(formula, sums) for sums in (own, total - own))
            squares = (by_draw(np.where(inside, of_own, -of_rest)) ** 2).sum(axis=0)
            # at least the error if both sides varied as all samples do
            pooled = variance / np.maximum(n_own, 1) + variance / np.maximum(n_rest, 1)
            rest[part], error[part] = values_of(formula, total - own), np.sqrt(np.maximum(squares, pooled))
            n[part] = np.minimum(n_own, n_rest)
        for place, (key,) in enumerate(numbers.keys):
            if key in columns.keys:
                found[key] = rest[:, place], error[:, place], n[:, place].astype(np.int64)
    tables = (np.stack(each, axis=1) for each in zip(*found.values(), strict=True))
    return [*found], *tables  # type: ignore[return-value]


def _tested(
    parts: list[DataPart], whole: DataPart, keys: list[str], rest: FloatArray, error: FloatArray, n: IntArray
) -> tuple[list[DataPart], int]:
    """The parts with their differences, and the number of tests; differences are tested as findings are."""
    values = np.array([[part.numbers[key].value for key in keys] for part in parts], np.float64)  # nan where undefined
    # input of the tests for differences whose standard errors are known
    one, products, n_draws = np.ones(values.size), np.zeros((values.size, 10)), np.maximum(n, 2)
    products[:, 0] = (np.where(np.isnan(error), 0.0, error) ** 2 * (n_draws - 1) / n_draws).ravel()
    sums = np.stack([values.ravel(), one, rest.ravel(), one], axis=1)
    moments = RateMoments(np.arange(values.size), n_draws.ravel(), sums, products, sums[:, 3])
    tests = rate_tests(moments, margin=MARGIN)
    enough = (n >= MIN_IMAGES) & ~np.isnan(error) & ~np.isnan(values - rest)
    n_labels = np.array([part.n_objects for part in parts])
    enough &= ((n_labels >= MIN_LABELS) & (whole.n_objects - n_labels >= MIN_LABELS))[:, None]
    p_values = np.where(enough.ravel(), tests.p_different, np.nan)
    rejected = false_discoveries(p_values, FALSE_DISCOVERY_RATE)
    n_tested = int(np.sum(~np.isnan(p_values)))
    level = 1.0 - FALSE_DISCOVERY_RATE * max(int(rejected.sum()), 1) / max(n_tested, 1)
    selected = rate_tests(moments, margin=MARGIN, level=level)
    low, high = (
        np.where(enough.ravel(), np.where(rejected, getattr(selected, end), getattr(tests, end)), np.nan)
        for end in ("low", "high")
    )
    tables = {
        "rest": rest.ravel(),
        "difference": (values - rest).ravel(),
        "low": low,
        "high": high,
        "p_value": p_values,
    }
    found = []
    for k, part in enumerate(parts):
        numbers = dict(part.numbers)
        for place, key in enumerate(keys, k * len(keys)):
            differing: dict[str, Any] = {name: number(column[place]) for name, column in tables.items()}
            numbers[key] = replace(numbers[key], **differing, stands_out=bool(rejected[place]))
        found.append(replace(part, numbers=numbers))
    return found, n_tested
