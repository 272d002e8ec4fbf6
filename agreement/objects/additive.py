"""Sums over samples that add up with ``+``, whatever the samples were divided into."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...metrics.arrays import FloatArray, IntArray, sums_by

A = TypeVar("A", bound="Additive")

#: samples of a list of the worst ones
N_WORST = 5
#: cells that are counted one by one, where there may be more cells than rows
_MAX_CELLS = 1 << 16


class Additive:
    """Base of dataclasses of which every entry is added."""

    __slots__ = ()

    def __add__(self: A, other: A) -> A:
        # the entries of every class that inherits are those of its own dataclass
        names = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        return type(self)(**{name: getattr(self, name) + getattr(other, name) for name in names})


def total(parts: Iterable[A]) -> A:
    """The sum of at least one part."""
    return functools.reduce(operator.add, parts)


@dataclass(frozen=True, slots=True)
class SparseCounts:
    """How often each row of some columns of codes occurs, of which most combinations never do.

    Attributes:
        keys: shape ``(T,)``, every combination in one number; ascending
        counts: shape ``(T,)``
        widths: bits of the codes of every column, by default equally many; at most 62 together
    """

    keys: IntArray
    counts: IntArray
    widths: tuple[int, ...]

    @classmethod
    def of(cls, *columns: IntArray, widths: tuple[int, ...] | None = None) -> SparseCounts:
        """Count the rows of columns of codes ``>= 0``.

        Raises:
            ValueError: if a code has more bits than its column
        """
        widths = widths or _equal_widths(len(columns))
        shape = [int(column.max(initial=0)) + 1 for column in columns]
        if any(n > 1 << width for n, width in zip(shape, widths, strict=True)):
            raise ValueError(f"codes must have at most {widths} bits, got as many as {shape}")
        n_cells = int(np.prod(shape, dtype=np.float64))
        if n_cells > max(_MAX_CELLS, 2 * len(columns[0])):
            return cls(*np.unique(_keys(columns, widths), return_counts=True), widths)
        counts = np.bincount(np.ravel_multi_index(columns, shape), minlength=n_cells)
        cells = np.flatnonzero(counts)
        return cls(_keys(np.unravel_index(cells, shape), widths), counts[cells], widths)

    def __add__(self, other: SparseCounts) -> SparseCounts:
        return self._summed(np.r_[self.keys, other.keys], np.r_[self.counts, other.counts], self.widths)

    @classmethod
    def _summed(cls, keys: IntArray, counts: IntArray, widths: tuple[int, ...]) -> SparseCounts:
        different, place = np.unique(keys, return_inverse=True)
        return cls(different, sums_by(place, counts, len(different)).astype(np.int64), widths)

    def column(self, k: int) -> IntArray:
        """Codes of one of the columns, of every entry."""
        return (self.keys >> sum(self.widths[k + 1 :])) & ((1 << self.widths[k]) - 1)

    def columns(self) -> list[IntArray]:
        """Codes of all columns."""
        return [self.column(k) for k in range(len(self.widths))]

    def regrouped(self, *columns: IntArray) -> SparseCounts:
        """The same counts by other columns, one code for every entry."""
        widths = _equal_widths(len(columns))
        return self._summed(_keys(columns, widths), self.counts, widths)


def _equal_widths(n_columns: int) -> tuple[int, ...]:
    return (62 // n_columns,) * n_columns


def _keys(columns: Iterable[IntArray], widths: tuple[int, ...]) -> IntArray:
    every = [np.asarray(column, np.int64) for column in columns]
    keys = every[0]
    for column, width in zip(every[1:], widths[1:], strict=True):
        keys = (keys << width) | column
    return keys


@dataclass(frozen=True, slots=True)
class Moments:
    """Number, mean and sum of squared deviations of the values of every row; added without loss of precision.

    References:
        T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample
        variances", 1979
    """

    n: IntArray
    mean: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, row: IntArray, values: FloatArray, n_rows: int) -> Moments:
        """The moments of the values of every row; rows without a value have the mean 0."""
        n = np.bincount(row, minlength=n_rows)
        mean = sums_by(row, values, n_rows) / np.maximum(n, 1)
        return cls(n, mean, sums_by(row, (values - mean[row]) ** 2, n_rows))

    def __add__(self, other: Moments) -> Moments:
        n = self.n + other.n
        share = other.n / np.maximum(n, 1)
        distance = other.mean - self.mean
        return Moments(n, self.mean + distance * share, self.squares + other.squares + distance**2 * self.n * share)


@dataclass(frozen=True, slots=True)
class Gathered:
    """Values that no sum can stand for, such as those whose median is asked for."""

    parts: tuple[NDArray[Any], ...]

    @classmethod
    def of(cls, values: NDArray[Any]) -> Gathered:
        """The values of some samples."""
        return cls((values,))

    def __add__(self, other: Gathered) -> Gathered:
        return Gathered(self.parts + other.parts)

    def values(self) -> NDArray[Any]:
        """All of them, in the order of the samples."""
        return np.concatenate(self.parts)


@dataclass(frozen=True, slots=True)
class Worst:
    """The few samples with the lowest values; of equal ones those with more to it, then with the larger labels.

    Attributes:
        row: shape ``(N,)``, of the samples
        value: shape ``(N,)``
        weight: shape ``(N,)``, how much the value stands for
        area: shape ``(N,)``, of the labels together
        n_samples: how many samples were looked at
    """

    row: IntArray
    value: FloatArray
    weight: FloatArray
    area: FloatArray
    n_samples: int

    @classmethod
    def of(cls, value: FloatArray, weight: FloatArray | IntArray, area: FloatArray) -> Worst:
        """The worst of some samples, columns of shape ``(S,)``; those whose value is nan are left out."""
        row = np.flatnonzero(~np.isnan(value))
        return cls(row, value[row], weight[row].astype(np.float64), area[row], len(value))._lowest()

    def __add__(self, other: Worst) -> Worst:
        return Worst(
            np.r_[self.row, other.row + self.n_samples],
            np.r_[self.value, other.value],
            np.r_[self.weight, other.weight],
            np.r_[self.area, other.area],
            self.n_samples + other.n_samples,
        )._lowest()

    def _lowest(self) -> Worst:
        kept = np.arange(len(self.row))
        if len(kept) > N_WORST:
            kept = np.flatnonzero(self.value <= np.partition(self.value, N_WORST - 1)[N_WORST - 1])
        order = np.lexsort((self.row[kept], -self.area[kept], -self.weight[kept], self.value[kept]))
        kept = kept[order[:N_WORST]]
        return Worst(self.row[kept], self.value[kept], self.weight[kept], self.area[kept], self.n_samples)
