"""Draw resamples, and sum additive columns over the drawn samples, in chunks of bounded memory.

Axes: ``S`` samples, ``T`` samples of a part, ``C`` columns, ``B`` resamples, ``V`` values of a statistic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse
from scipy.sparse import csr_array, issparse

from ..arrays import FloatArray, IntArray

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

#: sparse columns with at least one non-zero entry in this many are multiplied as dense ones, which is faster
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


def resampled(parts: Sequence[Part], n_samples: int, resamples: int, seed: int) -> Iterator[list[FloatArray]]:
    """Sums of the columns of every part for chunks of ``b`` resamples, ``(b, C)`` each.

    The draws do not depend on the size of the chunks, nor on the parts.
    """
    blocks = [_Rows.of(part, n_samples) for part in parts]
    starts = range(0, n_samples, BLOCK)
    share = np.diff(np.append(starts, n_samples)) / max(n_samples, 1)
    # a single block uses one generator directly
    seeds = [seed] if len(starts) == 1 else [[seed, number] for number in range(len(starts))]
    generators = [np.random.Generator(np.random.PCG64(each)) for each in seeds]
    of_blocks = np.random.Generator(np.random.PCG64([seed, len(starts)]))
    n_columns = sum(part.columns.shape[1] for part in parts)
    at_once = max(1, 4 * CHUNK_BYTES // (8 * (min(n_samples, BLOCK) + n_columns + 1)))
    for first in range(0, resamples, at_once):
        n = min(at_once, resamples - first)
        sums = [np.zeros((n, part.columns.shape[1])) for part in parts]
        n_drawn = of_blocks.multinomial(n_samples, share, n) if len(starts) > 1 else np.full((n, 1), n_samples)
        for number, start in enumerate(starts):
            weights = _weights(generators[number], min(BLOCK, n_samples - start), n_drawn[:, number])
            for total, rows in zip(sums, blocks, strict=True):
                rows.add(total, number, weights)
        yield sums


def _weights(rng: np.random.Generator, n_samples: int, n_drawn: IntArray) -> FloatArray:
    """How often consecutive resamples draw every sample of a block, ``(b, S)``."""
    weights = np.empty((len(n_drawn), n_samples))
    for weight, n in zip(weights, n_drawn.tolist(), strict=True):
        weight[:] = np.bincount(rng.integers(0, n_samples, n), minlength=n_samples)
    return weights


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a part by blocks of samples."""

    columns: Columns  #: shape ``(T, C)``
    order: IntArray | None  #: shape ``(T,)``, the rows in the order of their samples; None if already in this order
    samples: IntArray | None  #: shape ``(T,)``, ascending; None means all samples
    ends: IntArray  #: shape ``(n_blocks + 1,)``, where the rows of every block begin and end
    dense: bool  #: whether products of dense rows are faster

    @classmethod
    def of(cls, part: Part, n_samples: int) -> _Rows:
        n_rows, n_columns = part.columns.shape
        dense = isinstance(part.columns, np.ndarray) or part.columns.nnz * DENSE_FROM > n_rows * n_columns
        edges = np.append(np.arange(0, n_samples, BLOCK), n_samples)
        if part.samples is None:
            return cls(part.columns, None, None, edges, dense)
        order = np.argsort(part.samples, kind="stable")
        samples = part.samples[order]
        return cls(part.columns, order, samples, np.searchsorted(samples, edges), dense)

    def add(self, total: FloatArray, block: int, weights: FloatArray) -> None:
        """Add the sums of the samples drawn from a block."""
        start, end = int(self.ends[block]), int(self.ends[block + 1])
        n_columns = total.shape[1]
        # sparse rows are small, however many columns they have, and every product with them fills a row of all columns
        at_once = max(1, CHUNK_BYTES // (16 * (n_columns + 1))) if self.dense else max(1, end - start)
        # place the rows into a full block, unless they are few: then pick their weights
        placed = self.samples is not None and weights.shape[1] <= min(at_once, 4 * (end - start))
        for first in range(start, end, at_once):
            last = min(first + at_once, end)
            rows = self.columns[first:last] if self.order is None else self.columns[self.order[first:last]]
            if self.dense:
                rows = _as_array(rows)
            if self.samples is None:
                total += weights[:, first - start : last - start] @ rows
                continue
            place = self.samples[first:last] - block * BLOCK
            if placed and isinstance(rows, np.ndarray):
                of_block = np.zeros((weights.shape[1], n_columns))
                of_block[place] = rows
                total += weights @ of_block
            else:
                total += weights[:, place] @ rows


def left_out_power_sums(part: Part, total: FloatArray, estimate: FloatArray) -> FloatArray:
    """Sums over samples of (leave-one-out value - estimate), its square and its cube, shape ``(3, V)``.

    Samples without a row add 0.
    """
    power_sums = np.zeros((3, len(estimate)))
    n_rows, n_columns = part.columns.shape
    at_once = max(1, CHUNK_BYTES // (32 * (n_columns + 1)))
    for start in range(0, n_rows, at_once):
        rows = part.columns[start : start + at_once]
        difference = values_of(part.statistic, total - _as_array(rows)) - estimate
        squares = difference * difference
        power_sums += [difference.sum(axis=0), squares.sum(axis=0), (squares * difference).sum(axis=0)]
    return power_sums


def _as_array(rows: Columns) -> FloatArray:
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


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


def column_sums(columns: SparseColumns) -> FloatArray:
    """Sum of every column, shape ``(C,)``, exactly independent of the order of the rows.

    Values are split into an integer and three "digits" of 26 bits, whose float sums are exact up to 2^27 rows; the
    rest below 2^-78 is dropped.
    """
    n_columns, step = columns.shape[1], 2.0**26

    def total(values: FloatArray) -> FloatArray:
        return np.bincount(columns.indices, weights=values, minlength=n_columns).astype(np.float64, copy=False)

    rest, sums = columns.data, []
    for _ in range(4):
        digits = np.trunc(rest)
        sums.append(total(digits))
        rest = (rest - digits) * step
        if not rest.any():
            break
    result = np.zeros(n_columns)
    for of_digits in reversed(sums):
        result = result / step + of_digits
    return result


def vstack(chunks: list[SparseColumns]) -> SparseColumns:
    """Stack the chunks and clear the list, which frees their memory."""
    rows = chunks[0] if len(chunks) == 1 else csr_array(scipy.sparse.vstack(chunks, format="csr"))
    chunks.clear()
    return rows


def hstack(blocks: Sequence[FloatArray | SparseColumns]) -> SparseColumns:
    """Stack the columns of all blocks horizontally."""
    parts = [csr_array(block) for block in blocks]
    return parts[0] if len(parts) == 1 else csr_array(scipy.sparse.hstack(parts, format="csr"))
