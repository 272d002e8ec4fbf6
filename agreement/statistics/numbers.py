"""Numbers of reports: each is a key, additive columns of samples and a formula of the sums of these columns.

Everything else follows from these three: the value of a number, its confidence interval, and its place in the report
(all in ``estimates.py``), and its difference between two runs (:func:`differences`). A family of label types defines
its numbers in one function that yields :class:`Numbers`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from ...metrics.bootstrap.confidence import ROUNDING
from ...metrics.bootstrap.draws import (
    ColumnMoments,
    SparseColumns,
    Statistic,
    Summable,
    column_sums,
    hstack,
    n_given,
    scatter_rows,
    sparse,
    values_of,
    vstack,
)
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by

#: place of a number in a report: ``("alpha.pooled",)``, ``("pairs", "alice", "bob", "f1")``
Key: TypeAlias = tuple[str, ...]
#: what is kept of samples: True: their rows; moments of the columns (for the delta method); False: only sums
BySample: TypeAlias = bool | Literal["moments"]
#: number of sums whose values are computed at once, for numbers of many groups
SUMS_AT_ONCE = 2**20


@dataclass(frozen=True, slots=True)
class Numbers:
    """Some numbers of a report as functions of sums over its ``S`` samples."""

    keys: tuple[Key, ...]  #: place of each of the ``V`` numbers
    columns: Summable  #: shape ``(T, C)``, additive columns of some samples; or the moments of these
    formula: Statistic  #: maps sums ``(..., C)`` to values ``(..., V)``, nan where undefined
    #: shape ``(T,)``, sample of every row, each at most once; None: all samples in order
    samples: IntArray | None = None
    #: shape ``(V,)``, for every number the column that is not 0 in the samples that it uses; None: every number uses
    #: all samples
    basis: IntArray | None = None
    #: shape ``(V,)``, the same for numbers with an interval from 2 samples on; other samples are resampled as well
    compared: IntArray | None = None
    #: whether there is one row per sample, or moments; if not, only the sum is meaningful and there is no interval
    by_sample: BySample = True
    is_difference: bool = False  #: whether they are differences of numbers with these keys
    least: int = 2  #: minimum number of samples for an interval of numbers without a basis
    table: str = ""  #: name of the columns, by which :class:`Joined` gives their sums
    #: number of columns before those of categories (the formula needs only categories that occur); None: no categories
    n_fixed: int | None = None
    n_blocks: int = 1  #: columns of every category; the last one is 0 where it does not occur
    scores_are_shares: bool = False  #: whether scores are shares of pairs that agree, and no means of similarities

    @property
    def rows(self) -> SparseColumns:
        """The columns of numbers that have no moments."""
        assert not isinstance(self.columns, ColumnMoments)
        return self.columns

    def values(self) -> FloatArray:
        """The value of every number, shape ``(V,)``; nan where undefined."""
        return values_of(self.formula, column_sums(self.columns))

    def summed(self) -> Numbers:
        """The same numbers without intervals: only the sums are kept."""
        return replace(self, columns=summed(self.columns), samples=None, by_sample=False)

    def of_all(self, n_samples: int) -> Numbers:
        """The same numbers with one row for each of ``n_samples`` samples."""
        if self.samples is None:
            return self
        return replace(self, columns=scatter_rows(self.rows, self.samples, n_samples), samples=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupNumbers:
    """The same numbers of many groups, such as pairs of annotators, on some samples."""

    table: str  #: name of the columns, by which :class:`Joined` gives their sums
    keys: Mapping[int, Key]  #: of the groups that have numbers
    n_groups: int  #: number ``G`` of groups
    names: Sequence[str]  #: of the ``V`` numbers, the last part of their keys
    group: IntArray  #: shape ``(T,)``, group of every row
    sample: IntArray  #: shape ``(T,)``, its sample; each (group, sample) at most once
    columns: Mapping[str, FloatArray | IntArray]  #: shape ``(T,)`` each, the columns of the formula by name
    formula: Statistic  #: maps sums ``(..., C)`` of these columns, and of categories, to values ``(..., V)``
    basis: IntArray  #: shape ``(V,)``, see :class:`Numbers`
    resampled: IntArray  #: the groups with intervals
    categories: SparseColumns | None = None  #: shape ``(T, K)``, further columns, of which the formula needs those used
    n_blocks: int = 1  #: columns of every category; the last one is 0 where it does not occur
    also: Mapping[str, FloatArray | IntArray] = field(default_factory=dict)  #: columns of which only sums are needed

    @property
    def are_resampled(self) -> BoolArray:
        """Which groups have intervals, shape ``(G,)``."""
        found = np.zeros(self.n_groups, np.bool_)
        found[self.resampled] = True
        return found


@dataclass(slots=True)
class _Kept:
    """What is kept of the numbers of consecutive blocks: their rows, moments of these, and sums."""

    first: Numbers | GroupNumbers  #: those of the first block
    rows: list[SparseColumns] = field(default_factory=list)
    group: list[IntArray] = field(default_factory=list)  #: group of every row that is kept; nothing of ``Numbers``
    sample: list[IntArray] = field(default_factory=list)  #: its sample
    moments: ColumnMoments | None = None  #: of groups with intervals side by side
    sums: SparseColumns | None = None  #: of the other groups, shape ``(G, C)``
    n_samples: int = 0

    def add_moments(self, columns: SparseColumns) -> None:
        """Add the moments of rows."""
        found = ColumnMoments.of(columns)
        self.moments = found if self.moments is None else self.moments + found


class Joined:
    """The numbers of consecutive blocks of samples together: all rows, their moments, or only their sums.

    Args:
        by_sample: what is kept of numbers with intervals
    """

    def __init__(self, by_sample: BySample) -> None:
        self._by_sample = by_sample
        self._kept: dict[tuple[int, int], _Kept] = {}  #: by subject and place
        self._of_groups: dict[str, dict[str, FloatArray]] = defaultdict(dict)
        #: sums of all columns of a table ``(C,)``, known once its numbers were given
        self.sums: dict[str, FloatArray] = {}

    def add(self, subject: int, block: Iterable[Numbers | GroupNumbers], n_samples: int) -> None:
        """Add the numbers of the next samples of a subject; every block has the same numbers in the same order."""
        for number, each in enumerate(block):
            kept = self._kept.setdefault((subject, number), _Kept(each))
            if isinstance(each, GroupNumbers):
                self._add_groups(kept, each, n_samples)
            elif not (each.by_sample and self._by_sample):
                kept.rows = [summed(vstack([*kept.rows, each.rows]))]
            elif self._by_sample == "moments":
                kept.add_moments(each.rows)
            else:
                kept.rows.append(each.rows)

    def _add_groups(self, kept: _Kept, each: GroupNumbers, n_samples: int) -> None:
        """Groups with intervals keep all rows, or their moments; other groups keep only the sums."""
        columns: FloatArray | SparseColumns = np.column_stack(list(each.columns.values())).astype(np.float64)
        if each.categories is not None:
            columns = hstack([columns, each.categories])
        resampled = each.are_resampled
        own = resampled[each.group]
        if not own.all():
            rest, group = columns[~own], each.group[~own]
            if isinstance(rest, np.ndarray):
                sums = hstack([np.column_stack([sums_by(group, column, each.n_groups) for column in rest.T])])
            else:
                sums = scatter_rows(rest, group, each.n_groups)
            kept.sums = sums if kept.sums is None else kept.sums + sums
        if self._by_sample == "moments" and len(each.resampled):
            entries, place = hstack([columns[own]]).tocoo(), np.cumsum(resampled) - 1
            place = place[each.group[own]][entries.row] * columns.shape[1] + entries.col
            shape = entries.shape[0], len(each.resampled) * columns.shape[1]
            kept.add_moments(sparse(entries.row, place, entries.data, shape))
            own = np.zeros_like(own)
        if own.any() or not kept.rows:
            kept.rows.append(hstack([columns if own.all() else columns[own]]))
        kept.group.append(each.group[own])
        kept.sample.append(kept.n_samples + each.sample[own])
        kept.n_samples += n_samples
        sums_of = self._of_groups[each.table]
        for name, column in (*each.columns.items(), *each.also.items()):
            sums_of[name] = sums_of.get(name, 0.0) + sums_by(each.group, column, each.n_groups)

    def of_groups(self, table: str) -> dict[str, FloatArray]:
        """Sums of the columns of groups by name, shape ``(G,)``."""
        return self._of_groups[table]

    def numbers(self, leave_out: Collection[str] = ()) -> Iterator[Numbers]:
        """The numbers, without some tables; columns are released when their numbers were given."""
        for place in sorted(self._kept):
            kept = self._kept.pop(place)
            if isinstance(kept.first, GroupNumbers):
                yield from _numbers_of_groups(kept, kept.first)
            elif kept.first.table not in leave_out:
                columns: Summable = vstack(kept.rows) if kept.moments is None else kept.moments
                self.sums[kept.first.table] = column_sums(columns)
                if kept.first.n_fixed is not None:
                    columns = _used(columns, kept.first.n_fixed, kept.first.n_blocks)
                yield replace(kept.first, columns=columns, by_sample=kept.first.by_sample and self._by_sample)


def _numbers_of_groups(kept: _Kept, of: GroupNumbers) -> Iterator[Numbers]:
    """The numbers of groups: first of those without intervals, many at once, then of each of the others."""
    group, sample, columns = np.concatenate(kept.group), np.concatenate(kept.sample), vstack(kept.rows)
    width, n_fixed, resampled = columns.shape[1], len(of.columns), of.are_resampled
    sums = scatter_rows(columns[:0], group[:0], of.n_groups) if kept.sums is None else kept.sums
    only_sums, at_once = [k for k in of.keys if not resampled[k]], max(1, SUMS_AT_ONCE // width)
    for start in range(0, len(only_sums), at_once):
        some = only_sums[start : start + at_once]
        used: Any = _used(sums[some], n_fixed, of.n_blocks)

        def formula(flat: FloatArray, shape: tuple[int, ...] = used.shape) -> FloatArray:
            values = of.formula(flat.reshape(*flat.shape[:-1], *shape))
            return values.reshape(*flat.shape[:-1], shape[0] * len(of.names))

        keys = tuple((*of.keys[k], name) for k in some for name in of.names)
        yield Numbers(keys, hstack([used.toarray().reshape(1, -1)]), formula, by_sample=False)
    order, place = np.argsort(group, kind="stable"), (np.cumsum(resampled) - 1) * width
    ends = np.searchsorted(group[order], np.arange(of.n_groups + 1))
    for k, owner in of.keys.items():
        if not resampled[k]:
            continue
        keys = tuple((*owner, name) for name in of.names)
        if kept.moments is not None:
            own = _used(kept.moments[:, int(place[k]) : int(place[k]) + width], n_fixed, of.n_blocks)
            yield Numbers(keys, own, of.formula, None, of.basis, by_sample="moments")
        else:
            rows = order[ends[k] : ends[k + 1]]
            yield Numbers(keys, _used(columns[rows], n_fixed, of.n_blocks), of.formula, sample[rows], of.basis)


def _used(columns: Summable, n_fixed: int, n_blocks: int) -> Summable:
    """The columns that the formula always needs, and those of categories that occur, in ``n_blocks`` blocks."""
    n_categories = (columns.shape[1] - n_fixed) // n_blocks
    if not n_categories:
        return columns
    used = np.flatnonzero(n_given(columns)[-n_categories:])
    return columns[
        :, np.concatenate([np.arange(n_fixed), *(n_fixed + k * n_categories + used for k in range(n_blocks))])
    ]


def quotients(
    table: str, ratios: Mapping[str, tuple[str, str]], columns: Mapping[str, FloatArray | IntArray]
) -> Numbers:
    """Numbers of all samples that are quotients of two columns each, by the last part of their key."""
    names, formula, below = ratio_formula(ratios)
    rows = np.column_stack([columns[name] for name in names]).astype(np.float64)
    return Numbers(tuple((name,) for name in ratios), hstack([rows]), formula, compared=below, table=table)


def ratio_formula(ratios: Mapping[str, tuple[str, str]]) -> tuple[tuple[str, ...], Statistic, IntArray]:
    """Names of the columns of numbers that are quotients of two columns, their formula, and the divisors."""
    names = tuple(dict.fromkeys(name for both in ratios.values() for name in both))
    above, below = (np.array([names.index(both[k]) for both in ratios.values()]) for k in (0, 1))
    return names, lambda sums: ratio(sums[..., above], sums[..., below]), below


def summed(columns: Summable) -> SparseColumns:
    """The sum of all rows, as a single row."""
    return hstack([column_sums(columns)[None, :]])


def differences(a: Numbers, b: Numbers, n_samples: int) -> Numbers:
    """Each number of ``b`` minus the number of ``a`` with the same key; rows of both are the same samples.

    A difference uses the samples that either of its two numbers uses. It has no interval if one of the two numbers has
    none.
    """
    places = {key: place for place, key in enumerate(b.keys)}
    keys = tuple(key for key in a.keys if key in places)
    in_a = np.array([place for place, key in enumerate(a.keys) if key in places], np.int64)
    in_b = np.array([places[key] for key in keys], np.int64)
    by_sample = a.by_sample and b.by_sample
    a, b = (each.of_all(n_samples) if by_sample else each.summed() for each in (a, b))
    n_a, n_b = a.rows.shape[1], b.rows.shape[1]

    def difference(sums: FloatArray) -> FloatArray:
        first, second = values_of(a.formula, sums[..., :n_a]), values_of(b.formula, sums[..., n_a : n_a + n_b])
        changed = second[..., in_b] - first[..., in_a]
        size = np.maximum(1.0, np.abs(first[..., in_a]))
        return np.where(np.abs(changed) <= ROUNDING * size, 0.0, changed)

    blocks, used = [a.rows, b.rows], {}
    for name in ("basis", "compared"):
        of_a, of_b = getattr(a, name), getattr(b, name)
        if by_sample and of_a is not None and of_b is not None:
            of_either = (a.rows[:, of_a[in_a]] != 0) + (b.rows[:, of_b[in_b]] != 0)
            used[name] = sum(block.shape[1] for block in blocks) + np.arange(len(keys))
            blocks.append(of_either.astype(np.float64))
    return Numbers(keys, hstack(blocks), difference, by_sample=by_sample, is_difference=True, least=a.least, **used)


def ratio(above: FloatArray | IntArray, below: FloatArray | IntArray) -> FloatArray:
    """Quotients; nan where the divisor is 0 or less."""
    defined = below > 0
    return np.where(defined, above / np.where(defined, below, 1.0), np.nan)
