"""Draw resamples, and sum additive columns, and products of two, over samples, in chunks of bounded memory.

Axes: ``S`` samples, ``T`` samples of a part, ``C`` columns, ``B`` resamples, ``V`` values of a statistic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ..numeric.arrays import FloatArray, IntArray

#: additive columns of every sample, shape ``(S, C)``: an array, or a sparse array of any format
Columns: TypeAlias = FloatArray | csr_array

#: additive columns whose entries are mostly 0
SparseColumns: TypeAlias = csr_array

#: maps sums ``(..., C)`` to values ``(..., V)`` for any leading axes; nan where undefined, without a warning
Statistic: TypeAlias = Callable[[FloatArray], FloatArray]

#: size of the arrays of one chunk of resamples or leave-one-out samples; about twice this with copies
CHUNK_BYTES = 2**24

#: samples in a block; with several blocks, a resample first draws how many samples come from each block
BLOCK = 2048

#: draws are kept if they take at most so many bytes
MOST_KEPT = 2**26

#: columns that at least one sample in this many has are multiplied as dense ones, which is faster
DENSE_FROM = 20


@dataclass(frozen=True, slots=True)
class Part:
    """Columns of some samples, and a statistic of their sums."""

    columns: Columns  #: shape ``(T, C)``, additive columns
    statistic: Statistic  #: function of their sums
    #: shape ``(T,)``, sample of every row, each at most once; samples without a row count as zeros. None: all samples
    #: in order
    samples: IntArray | None = None
    #: shape ``(V,)``, samples that every value uses, for intervals from few; None: all
    n_used: IntArray | None = None


def checked_columns(columns: Columns, name: str) -> Columns:
    """Columns as float64; sparse columns as CSR."""
    rows = csr_array(columns, dtype=np.float64) if issparse(columns) else np.asarray(columns, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"`{name}` must have shape (S, C), got {rows.shape}")
    if not np.isfinite(rows.data if issparse(rows) else rows).all():
        raise ValueError(f"`{name}` must be finite, got nan or an infinite value")
    return rows


#: samples that are drawn and counted in one step
_DRAWN_AT_ONCE = 2**15


class Draws:
    """Multiplicity of every sample in every resample.

    The draws do not depend on what is summed, so they are drawn once for any number of :func:`resampled`, and kept if
    they take at most ``MOST_KEPT`` bytes.

    Args:
        n_samples: number of samples
        resamples: number of resamples
        seed: seed of the random numbers
    """

    def __init__(self, n_samples: int, resamples: int, seed: int) -> None:
        self.n_samples = n_samples
        self.resamples = resamples
        self._seed = seed
        self._starts = range(0, n_samples, BLOCK)
        self._keeps = n_samples * resamples <= MOST_KEPT
        self._kept: list[NDArray[np.uint8]] = []  # of every block, when all resamples were drawn

    def chunks(self, at_once: int) -> Iterator[tuple[int, Iterator[NDArray[Any]]]]:
        """Chunks of ``b`` resamples: ``b``, and block by block how often each draws every sample, ``(b, s)``."""
        share = np.diff(np.append(self._starts, self.n_samples)) / max(self.n_samples, 1)
        # a single block uses one generator directly
        seeds = [self._seed] if len(share) == 1 else [[self._seed, number] for number in range(len(share))]
        generators = [np.random.Generator(np.random.PCG64(each)) for each in seeds]
        block_rng = np.random.Generator(np.random.PCG64([self._seed, len(share)]))
        drawn: list[list[NDArray[np.uint8]]] = [[] for _ in share]
        for first in range(0, self.resamples, at_once):
            n = min(at_once, self.resamples - first)
            if self._kept:
                yield n, iter([block[first : first + n] for block in self._kept])
                continue
            n_drawn = block_rng.multinomial(self.n_samples, share, n) if len(share) > 1 else None
            yield n, self._drawn(generators, np.full((n, 1), self.n_samples) if n_drawn is None else n_drawn, drawn)
        if self._keeps and not self._kept:
            self._kept = [chunks[0] if len(chunks) == 1 else np.concatenate(chunks) for chunks in drawn]

    def _drawn(
        self, generators: Sequence[np.random.Generator], n_drawn: IntArray, drawn: list[list[NDArray[np.uint8]]]
    ) -> Iterator[NDArray[Any]]:
        """Draw consecutive resamples, block by block."""
        for number, start in enumerate(self._starts):
            n_samples = min(BLOCK, self.n_samples - start)
            counts = np.empty((len(n_drawn), n_samples), np.int64)
            at_once = max(1, _DRAWN_AT_ONCE // n_samples)
            for first in range(0, len(counts), at_once):
                rows, n = counts[first : first + at_once], n_drawn[first : first + at_once, number]
                cells = np.repeat(np.arange(len(n)) * n_samples, n)
                cells += generators[number].integers(0, n_samples, len(cells))
                rows[:] = np.bincount(cells, minlength=rows.size).reshape(rows.shape)
            self._keeps &= int(counts.max(initial=0)) < 256
            if self._keeps:
                drawn[number].append(counts.astype(np.uint8))
            yield drawn[number][-1] if self._keeps else counts


def resampled(parts: Sequence[Part], draws: Draws) -> Iterator[list[FloatArray]]:
    """Sums of the columns of every part for chunks of ``b`` resamples, ``(b, C)`` each.

    The draws do not depend on the size of the chunks, nor on the parts.
    """
    ends = np.cumsum([0, *(part.columns.shape[1] for part in parts)]).tolist()
    stacks = list(_stacks(parts, draws.n_samples))
    place = np.empty(ends[-1], np.int64)  # of every column among those of all stacks
    place[np.concatenate([np.empty(0, np.int64), *(stack.columns for stack in stacks)])] = np.arange(ends[-1])
    at_once = max(1, 4 * CHUNK_BYTES // (8 * (min(draws.n_samples, BLOCK) + ends[-1] + 1)))
    for n, blocks in draws.chunks(at_once):
        sums = np.zeros((n, ends[-1]))
        for number, drawn in enumerate(blocks):
            # products of few whole numbers are exact in half of the time
            exact = int(drawn.max(initial=0)) * drawn.shape[1] < _MOST_EXACT / _LARGEST_EXACT
            singles = {stack.whole and exact for stack in stacks}
            weights = {single: drawn.astype(np.float32 if single else np.float64) for single in singles}
            start = 0
            for stack in stacks:
                end = start + len(stack.columns)
                stack.add(sums[:, start:end], number, weights[stack.whole and exact])
                start = end
        yield [np.take(sums, place[start:end], axis=1) for start, end in pairwise(ends)]


#: whole numbers up to the first are exact in float32; columns of whole numbers up to the second are summed in it
_MOST_EXACT, _LARGEST_EXACT = 2.0**24, 512.0


@dataclass(frozen=True, slots=True)
class _Stack:
    """Columns of one kind (dense or not, whole or not) of all parts, by blocks of samples, for few large products."""

    columns: IntArray  #: shape ``(C,)``, their numbers among the columns of all parts
    blocks: list[csr_array]  #: for every block the values of all columns, shape ``(s, C)``
    dense: bool  #: whether most samples have a value
    whole: bool  #: whether they are small whole numbers

    def add(self, total: FloatArray, block: int, weights: NDArray[Any]) -> None:
        """Add the sums ``(b, C)`` of the samples drawn from a block, which were drawn so often: ``(b, s)``."""
        values = self.blocks[block].astype(weights.dtype, copy=False)
        if not self.dense:
            given = np.flatnonzero(np.diff(values.indptr))
            total += weights[:, given] @ values[given]
            return
        at_once = max(1, CHUNK_BYTES // (16 * len(weights)))
        for start in range(0, values.shape[1], at_once):
            some = slice(start, start + at_once)
            total[:, some] += weights @ values[:, some].toarray()


def _stacks(parts: Sequence[Part], n_samples: int) -> Iterator[_Stack]:
    """The columns of all parts in up to four stacks: dense or not, small whole numbers or not."""
    if not parts:
        return
    in_order = []  # the columns of every part, with a row for every sample
    for part in parts:
        rows = csr_array(part.columns)
        if part.samples is not None:
            counts = np.zeros(n_samples + 1, rows.indptr.dtype)
            counts[part.samples + 1] = np.diff(rows.indptr)
            starts, shape = np.cumsum(counts, dtype=counts.dtype), (n_samples, rows.shape[1])
            rows = rows[np.argsort(part.samples)]
            rows = csr_array((rows.data, rows.indices, starts), shape=shape)
        in_order.append(rows)
    every = hstack(in_order)
    n_columns = every.shape[1]
    fractions = every.indices[(every.data != np.rint(every.data)) | (np.abs(every.data) > _LARGEST_EXACT)]
    dense = np.bincount(every.indices, minlength=n_columns) * DENSE_FROM > n_samples
    whole = np.bincount(fractions, minlength=n_columns) == 0
    kind = 2 * dense + whole
    order = np.argsort(kind, kind="stable")
    place = np.empty(n_columns, every.indices.dtype)
    place[order] = np.arange(n_columns)
    every = csr_array((every.data, place[every.indices], every.indptr), shape=every.shape)
    ends = np.searchsorted(kind[order], np.arange(5)).tolist()
    for number, (first, end) in enumerate(pairwise(ends)):
        if first < end:
            own = every[:, first:end].astype(np.float32 if number % 2 else np.float64, copy=False)
            blocks = [own[start : start + BLOCK] for start in range(0, n_samples, BLOCK)]
            yield _Stack(order[first:end], blocks, dense=number >= 2, whole=number % 2 == 1)


def left_out_power_sums(part: Part, total: FloatArray, estimate: FloatArray) -> FloatArray:
    """Sums over samples of (leave-one-out value - estimate), its square and its cube, shape ``(3, V)``.

    Samples without a row add 0.
    """
    power_sums = np.zeros((3, len(estimate)))
    n_rows, n_columns = part.columns.shape
    at_once = max(1, CHUNK_BYTES // (32 * (n_columns + 1)))
    for start in range(0, n_rows, at_once):
        rows = part.columns[start : start + at_once]
        own = rows if isinstance(rows, np.ndarray) else rows.toarray()
        difference = values_of(part.statistic, total - own) - estimate
        squares = difference * difference
        power_sums += [difference.sum(axis=0), squares.sum(axis=0), (squares * difference).sum(axis=0)]
    return power_sums


def values_of(statistic: Statistic, sums: FloatArray) -> FloatArray:
    """Values of the statistic, nan where it is not finite."""
    values = np.asarray(statistic(sums), dtype=np.float64)
    if values.shape[:-1] != sums.shape[:-1] or values.ndim != sums.ndim:
        raise ValueError(
            f"`statistic` must give values (..., V) for sums (..., C), got {values.shape} for {sums.shape}"
        )
    return np.where(np.isfinite(values), values, np.nan)


def sparse(row: IntArray, column: IntArray, values: FloatArray | IntArray, shape: tuple[int, int]) -> SparseColumns:
    """Sparse columns from entries; values of the same (row, column) are added."""
    if shape[0] == 1:  # without sorting the entries
        return csr_array(np.bincount(column, weights=values, minlength=shape[1])[None, :])
    # 32-bit indices where they suffice
    return csr_array((values.astype(np.float64), (row.astype(np.int32), column.astype(np.int32))), shape=shape)


def scatter_rows(columns: SparseColumns, rows: IntArray, n_rows: int) -> SparseColumns:
    """Add every row ``k`` to row ``rows[k]`` of a result with ``n_rows`` rows; other rows are zero.

    Args:
        columns: shape ``(T, C)``
        rows: shape ``(T,)``, target row of each
        n_rows: number of rows of the result
    """
    n = len(rows)
    return csr_array((np.ones(n), (rows, np.arange(n))), shape=(n_rows, n)) @ columns


def vstack(chunks: list[SparseColumns]) -> SparseColumns:
    """Stack the chunks and clear the list, which frees their memory."""
    rows = chunks[0] if len(chunks) == 1 else csr_array(scipy.sparse.vstack(chunks, format="csr"))
    chunks.clear()
    return rows


def hstack(blocks: Sequence[FloatArray | SparseColumns]) -> SparseColumns:
    """Stack the columns of all blocks horizontally."""
    parts = [csr_array(block) for block in blocks]
    return parts[0] if len(parts) == 1 else csr_array(scipy.sparse.hstack(parts, format="csr"))


#: digits of an exact sum, and the size of one
_N_DIGITS, _DIGIT = 4, 2.0**26


@dataclass(frozen=True, slots=True)
class ColumnMoments:
    """Sums over any number of samples; ``+`` joins the moments of different samples, ``[:, chosen]`` takes columns."""

    digits: FloatArray  #: shape ``(4, C)``, exact sums, see :func:`column_sums`
    products: SparseColumns  #: shape ``(C, C)``, sums of the products of two columns
    n_given: IntArray  #: shape ``(C,)``, samples in which a column is not 0

    @classmethod
    def of(cls, columns: SparseColumns) -> ColumnMoments:
        """The moments of some samples, from their columns ``(S, C)``."""
        n_given = np.bincount(columns.indices[columns.data != 0], minlength=columns.shape[1])
        return cls(_digit_sums(columns), csr_array(columns.T @ columns), n_given)

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        return ColumnMoments(self.digits + other.digits, self.products + other.products, self.n_given + other.n_given)

    def __getitem__(self, key: tuple[slice, Any]) -> ColumnMoments:
        _, chosen = key
        return ColumnMoments(self.digits[:, chosen], self.products[chosen][:, chosen], self.n_given[chosen])

    @property
    def shape(self) -> tuple[int, int]:
        """Shape ``(1, C)``, as of the columns of one sample."""
        return 1, len(self.n_given)


#: columns of every sample, or their moments
Summable: TypeAlias = SparseColumns | ColumnMoments


def column_sums(columns: Summable) -> FloatArray:
    """Sum of every column, shape ``(C,)``, exactly independent of the order of the rows.

    Values are split into an integer and three "digits" of 26 bits, whose float sums are exact up to 2^27 rows; the
    rest below 2^-78 is dropped.
    """
    digits = columns.digits if isinstance(columns, ColumnMoments) else _digit_sums(columns)
    result = np.zeros(digits.shape[1])
    for digit in reversed(digits):
        result = result / _DIGIT + digit
    return result


def _digit_sums(columns: SparseColumns) -> FloatArray:
    found, rest, column = np.zeros((_N_DIGITS, columns.shape[1])), columns.data, columns.indices
    for digit in found:
        whole = np.trunc(rest)
        digit += np.bincount(column, weights=whole, minlength=len(digit))
        left = np.flatnonzero(rest != whole)
        rest, column = (rest[left] - whole[left]) * _DIGIT, column[left]
    return found


def n_given(columns: Summable) -> IntArray:
    """Number of samples in which every column is not 0, shape ``(C,)``."""
    if isinstance(columns, ColumnMoments):
        return columns.n_given
    return np.bincount(columns.indices[columns.data != 0], minlength=columns.shape[1])
