"""Numbers of reports: each is a key, additive columns of samples and a formula of the sums of these columns.

Everything else follows from these three: the value of a number, its confidence interval, and its place in the report
(all in ``estimates.py``), and its difference between two runs (:func:`differences`). A family of label types defines
its numbers in one function that yields :class:`Numbers`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

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
from ...metrics.numeric.arrays import FloatArray, IntArray, sums_by

#: place of a number in a report: ``("alpha.pooled",)``, ``("pairs", "alice", "bob", "f1")``
Key: TypeAlias = tuple[str, ...]
#: what is kept of samples: their rows; moments of the columns, for intervals by the delta method; False: only sums
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
    #: shape ``(V,)``, the same of numbers that have an interval from 2 samples on; the others are resampled as well
    compared: IntArray | None = None
    #: whether there is one row per sample, or moments; if not, only the sum is meaningful and there is no interval
    by_sample: BySample = True
    is_difference: bool = False  #: whether they are differences of numbers with these keys
    least: int = 2  #: minimum number of samples for an interval of numbers without a basis
    table: str = ""  #: name of the columns, by which :class:`Joined` gives their sums
    #: columns before those of the categories, of which the formula needs those that occur; None: there are none
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


class Joined:
    """The numbers of consecutive blocks of samples together: all rows, their moments, or only their sums.

    Args:
        by_sample: what is kept of numbers with intervals
    """

    def __init__(self, by_sample: BySample) -> None:
        self._by_sample = by_sample
        #: by subject and place
        self._rows: dict[tuple[int, int], tuple[Numbers, Rows]] = {}
        self._groups: dict[tuple[int, int], tuple[GroupNumbers, GroupRows]] = {}
        self._of_groups: dict[str, dict[str, FloatArray]] = defaultdict(dict)
        #: sums of all columns of a table ``(C,)``, known once its numbers were given
        self.sums: dict[str, FloatArray] = {}

    def add(self, subject: int, block: Iterable[Numbers | GroupNumbers], n_samples: int) -> None:
        """Add the numbers of the next samples of a subject, always the same in the same order."""
        for number, each in enumerate(block):
            place = subject, number
            if isinstance(each, Numbers):
                if place not in self._rows:
                    self._rows[place] = each, Rows(by_sample=each.by_sample and self._by_sample)
                self._rows[place][1].add(each.rows)
                continue
            if place not in self._groups:
                self._groups[place] = each, GroupRows(each.n_groups, each.resampled, by_sample=self._by_sample)
            plain = np.column_stack(list(each.columns.values())).astype(np.float64)
            columns = plain if each.categories is None else hstack([plain, each.categories])
            self._groups[place][1].add(each.group, each.sample, columns, n_samples)
            sums = self._of_groups[each.table]
            for name, column in (*each.columns.items(), *each.also.items()):
                sums[name] = sums.get(name, 0.0) + sums_by(each.group, column, each.n_groups)

    def of_groups(self, table: str) -> dict[str, FloatArray]:
        """Sums of the columns of groups by name, shape ``(G,)``."""
        return self._of_groups[table]

    def numbers(self, leave_out: Collection[str] = ()) -> Iterator[Numbers]:
        """The numbers, without some tables; their columns are no longer kept here."""
        for place in sorted([*self._rows, *self._groups]):
            if place in self._groups:
                found, of_groups = self._groups.pop(place)
                of_numbers = found.keys, found.names, found.formula, found.basis
                yield from of_groups.numbers(*of_numbers, len(found.columns), found.n_blocks)
                continue
            each, rows = self._rows.pop(place)
            if each.table in leave_out:
                continue
            columns = rows.columns()
            self.sums[each.table] = column_sums(columns)
            if each.n_fixed is not None:
                columns = _used(columns, each.n_fixed, each.n_blocks)
            yield replace(each, columns=columns, by_sample=rows.by_sample)


def quotients(
    table: str, ratios: Mapping[str, tuple[str, str]], columns: Mapping[str, FloatArray | IntArray]
) -> Numbers:
    """Numbers of all samples that are quotients of two columns each, by the last part of their key."""
    names, formula, below = ratio_formula(ratios)
    rows = np.column_stack([columns[name] for name in names]).astype(np.float64)
    return Numbers(tuple((name,) for name in ratios), hstack([rows]), formula, compared=below, table=table)


def ratio_formula(ratios: Mapping[str, tuple[str, str]]) -> tuple[tuple[str, ...], Statistic, IntArray]:
    """Names of the columns of numbers that are quotients of two columns, their formula, and their divisors."""
    names = tuple(dict.fromkeys(name for both in ratios.values() for name in both))
    above, below = (np.array([names.index(both[k]) for both in ratios.values()]) for k in (0, 1))
    return names, lambda sums: ratio(sums[..., above], sums[..., below]), below


def summed(columns: Summable) -> SparseColumns:
    """The sum of all rows, as a single row."""
    return hstack([column_sums(columns)[None, :]])


class Rows:
    """Additive columns of consecutive chunks of samples: all rows, or their moments."""

    def __init__(self, *, by_sample: BySample) -> None:
        self.by_sample = by_sample
        self._chunks: list[SparseColumns] = []
        self._moments: ColumnMoments | None = None

    def add(self, columns: SparseColumns) -> None:
        """Add the rows of the next samples."""
        if self.by_sample == "moments":
            found = ColumnMoments.of(columns)
            self._moments = found if self._moments is None else self._moments + found
        elif self.by_sample:
            self._chunks.append(columns)
        else:
            self._chunks = [summed(vstack([*self._chunks, columns]))]

    def columns(self) -> Summable:
        """The columns of all chunks, which are no longer kept here; or their moments."""
        return vstack(self._chunks) if self._moments is None else self._moments

    def numbers(self, keys: tuple[Key, ...], formula: Statistic, basis: IntArray | None = None) -> Numbers:
        """Numbers with a formula of all these columns."""
        return Numbers(keys, self.columns(), formula, basis=basis, by_sample=self.by_sample)


class GroupRows:
    """Additive columns of (group, sample), for the same numbers of many groups, such as pairs of annotators.

    GroupNumbers with intervals keep all rows, or their moments; other groups keep only the sums.

    Args:
        resampled: the groups with intervals
        by_sample: what these keep
    """

    def __init__(self, n_groups: int, resampled: IntArray, *, by_sample: BySample = True) -> None:
        self._resampled = np.zeros(n_groups, np.bool_)
        self._resampled[resampled] = True
        self._n_samples = 0
        self._group: list[IntArray] = []
        self._sample: list[IntArray] = []
        self._chunks: list[SparseColumns] = []
        self._sums: SparseColumns | None = None
        # the columns of the groups with intervals, side by side
        self._moments = Rows(by_sample="moments") if by_sample == "moments" and len(resampled) else None
        self._place = np.cumsum(self._resampled) - 1

    def add(self, group: IntArray, sample: IntArray, columns: FloatArray | SparseColumns, n_samples: int) -> None:
        """Add the rows of the next samples.

        Args:
            group: shape ``(T,)``, group of every row
            sample: shape ``(T,)``, index of the new sample of every row; each (group, sample) at most once
            columns: shape ``(T, C)``
            n_samples: number of new samples
        """
        kept = self._resampled[group]
        if not kept.all():
            sums = _group_sums(columns[~kept], group[~kept], len(self._resampled))
            self._sums = sums if self._sums is None else self._sums + sums
        if self._moments is not None:
            entries = hstack([columns[kept]]).tocoo()
            place = self._place[group[kept]][entries.row] * columns.shape[1] + entries.col
            shape = entries.shape[0], int(self._resampled.sum()) * columns.shape[1]
            self._moments.add(sparse(entries.row, place, entries.data, shape))
            kept = np.zeros_like(kept)
        if kept.any() or not self._chunks:
            self._chunks.append(hstack([columns if kept.all() else columns[kept]]))
        self._group.append(group[kept])
        self._sample.append(self._n_samples + sample[kept])
        self._n_samples += n_samples

    def rows(self) -> tuple[IntArray, IntArray, SparseColumns]:
        """Group, sample and columns of every row that was kept."""
        self._chunks = [vstack(self._chunks)]
        return np.concatenate(self._group), np.concatenate(self._sample), self._chunks[0]

    def numbers(
        self,
        groups: Mapping[int, Key],
        names: Sequence[str],
        formula: Statistic,
        basis: IntArray,
        n_fixed: int,
        n_blocks: int = 1,
    ) -> Iterator[Numbers]:
        """The numbers of some groups.

        Args:
            groups: keys of the groups
            names: shape ``(V,)``, names of the numbers, the last part of their keys
            formula: maps sums ``(..., C)`` to values ``(..., V)``; columns after the first ``n_fixed`` that are all 0
                may be left out
            basis: shape ``(V,)``, see :class:`Numbers`
            n_fixed: columns that the formula always needs; the others are categories
            n_blocks: columns of every category
        """
        group_of_row, sample, columns = self.rows()
        order = np.argsort(group_of_row, kind="stable")
        ends = np.searchsorted(group_of_row[order], np.arange(len(self._resampled) + 1))
        only_sums = [group for group in groups if not self._resampled[group]]
        sums = self._sums
        if sums is None:  # no row of a group without intervals
            sums = scatter_rows(columns[:0], group_of_row[:0], len(self._resampled))
        at_once = max(1, SUMS_AT_ONCE // sums.shape[1])
        for start in range(0, len(only_sums), at_once):
            some = only_sums[start : start + at_once]
            owners = [groups[group] for group in some]
            yield _group_numbers(owners, names, _used(sums[some], n_fixed, n_blocks), formula)
        for group, owner in groups.items():
            if not self._resampled[group]:
                continue
            keys = tuple((*owner, name) for name in names)
            if self._moments is not None:
                start = int(self._place[group]) * columns.shape[1]
                own = self._moments.columns()[:, start : start + columns.shape[1]]
                yield Numbers(keys, _used(own, n_fixed, n_blocks), formula, None, basis, by_sample="moments")
            else:
                rows = order[ends[group] : ends[group + 1]]
                yield Numbers(keys, _used(columns[rows], n_fixed, n_blocks), formula, sample[rows], basis)


def _group_sums(columns: FloatArray | SparseColumns, group: IntArray, n_groups: int) -> SparseColumns:
    """The sums of the rows of every group, shape ``(G, C)``."""
    if isinstance(columns, np.ndarray):
        return hstack([np.column_stack([sums_by(group, column, n_groups) for column in columns.T])])
    return scatter_rows(columns, group, n_groups)


def _used(columns: Summable, n_fixed: int, n_blocks: int = 1) -> Summable:
    """The columns that the formula always needs, and those of the categories that occur, in so many blocks."""
    n_categories = (columns.shape[1] - n_fixed) // n_blocks
    if not n_categories:
        return columns
    used = np.flatnonzero(n_given(columns)[-n_categories:])
    return columns[
        :, np.concatenate([np.arange(n_fixed), *(n_fixed + k * n_categories + used for k in range(n_blocks))])
    ]


def _group_numbers(groups: Sequence[Key], names: Sequence[str], sums: SparseColumns, formula: Statistic) -> Numbers:
    """The numbers of ``G`` groups from their sums ``(G, C)``, without intervals."""
    n_groups, n_columns = sums.shape

    def flat_formula(flat: FloatArray) -> FloatArray:
        values = formula(flat.reshape(*flat.shape[:-1], n_groups, n_columns))
        return values.reshape(*flat.shape[:-1], n_groups * len(names))

    keys = tuple((*key, name) for key in groups for name in names)
    return Numbers(keys, hstack([sums.toarray().reshape(1, -1)]), flat_formula, by_sample=False)


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


def ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Quotients; nan where the divisor is 0 or less."""
    defined = below > 0
    return np.where(defined, above / np.where(defined, below, 1.0), np.nan)
