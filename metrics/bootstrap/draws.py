"""Draw resamples, and sum additive columns over the drawn samples, in chunks of bounded memory.

Axes: ``S`` samples, ``T`` samples of a part, ``C`` columns, ``B`` resamples, ``V`` values of a statistic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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
        """Chunks of ``b`` resamples: ``b``, and block by block how often each draws every sample, ``(b, S)``."""
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
            yield counts


def resampled(parts: Sequence[Part], draws: Draws) -> Iterator[list[FloatArray]]:
    """Sums of the columns of every part for chunks of ``b`` resamples, ``(b, C)`` each.

    The draws do not depend on the size of the chunks, nor on the parts.
    """
    rows: list[_Rows] = []
    places: list[list[tuple[int, int, int]]] = []
    for number, group in enumerate(_stacked(parts)):
        rows += _Rows.of(group, number, draws.n_samples)
        places.append(group.places)
    n_columns = sum(part.columns.shape[1] for part in parts)
    at_once = max(1, 4 * CHUNK_BYTES // (8 * (min(draws.n_samples, BLOCK) + n_columns + 1)))
    for n, blocks in draws.chunks(at_once):
        sums = [np.zeros((n, parts_of_group[-1][2])) for parts_of_group in places]
        for number, drawn in enumerate(blocks):
            # products of few whole numbers are exact in half of the time
            weights, single = drawn.astype(np.float64), drawn.astype(np.float32)
            exact = drawn.sum(axis=1, dtype=np.int64).max(initial=0) < _MOST_EXACT / _LARGEST_EXACT
            for piece in rows:
                piece.add(sums[piece.group], number, single if exact and piece.whole else weights)
        found: list[FloatArray] = [np.empty(0)] * len(parts)
        for parts_of_group, total in zip(places, sums, strict=True):
            for part, start, end in parts_of_group:
                found[part] = np.ascontiguousarray(total[:, start:end])
        yield found


@dataclass(frozen=True, slots=True)
class _Group:
    """Columns of parts of the same samples, side by side."""

    columns: Columns  #: shape ``(T, C)``
    samples: IntArray | None  #: as in :class:`Part`
    dense: bool  #: whether products of dense rows are faster
    places: list[tuple[int, int, int]]  #: number of every part, its first column, and the column after its last one


def _stacked(parts: Sequence[Part]) -> Iterator[_Group]:
    """The columns of parts, side by side where they are of the same samples: one product is faster than several."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for number, part in enumerate(parts):
        if isinstance(part.columns, np.ndarray):
            found[number,] = [number]
            continue
        n_rows, n_columns = part.columns.shape
        dense = part.columns.nnz * DENSE_FROM > n_rows * n_columns
        found.setdefault((id(part.samples), n_rows, dense), []).append(number)
    for key, numbers in found.items():
        columns = [parts[number].columns for number in numbers]
        ends = np.cumsum([each.shape[1] for each in columns]).tolist()
        places = list(zip(numbers, [0, *ends[:-1]], ends, strict=True))
        whole = columns[0] if len(columns) == 1 else hstack(columns)
        yield _Group(whole, parts[numbers[0]].samples, key[-1] is not False, places)


#: whole numbers up to this are exact in float32, and so are sums of so many resampled columns of small whole numbers
_MOST_EXACT, _LARGEST_EXACT = 2.0**24, 1024.0


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a group by blocks of samples: its columns of small whole numbers, or its others."""

    group: int  #: number of the group
    columns: Columns  #: shape ``(T, C)``, in the order of their samples
    samples: IntArray | None  #: shape ``(T,)``, ascending; None means all samples
    ends: IntArray  #: shape ``(n_blocks + 1,)``, where the rows of every block begin and end
    dense: bool  #: whether products of dense rows are faster
    into: IntArray | None  #: shape ``(C,)``, columns of the group; None: all
    whole: bool  #: whether they are small whole numbers, in float32

    @classmethod
    def of(cls, group: _Group, number: int, n_samples: int) -> Iterator[_Rows]:
        """The rows of a group."""
        columns, samples, edges = group.columns, group.samples, np.append(np.arange(0, n_samples, BLOCK), n_samples)
        if samples is not None:
            order = np.argsort(samples, kind="stable")
            columns, samples = columns[order], samples[order]
            edges = np.searchsorted(samples, edges)
            samples = None if len(samples) == n_samples else samples
        if not group.dense or isinstance(columns, np.ndarray):
            yield cls(number, columns, samples, edges, group.dense, None, False)
            return
        fraction = (columns.data != np.rint(columns.data)) | (np.abs(columns.data) > _LARGEST_EXACT)
        whole = np.bincount(columns.indices[fraction], minlength=columns.shape[1]) == 0
        for chosen in (whole, ~whole):
            if chosen.any():
                into = None if chosen.all() else np.flatnonzero(chosen)
                own = columns if into is None else columns[:, into]
                own = own.astype(np.float32, copy=False) if chosen is whole else own
                yield cls(number, own, samples, edges, True, into, chosen is whole)

    def add(self, total: FloatArray, block: int, weights: NDArray[Any]) -> None:
        """Add the sums of the samples drawn from a block."""
        start, end = int(self.ends[block]), int(self.ends[block + 1])
        n_columns = self.columns.shape[1]
        # sparse rows are small, however many columns they have, and every product with them fills a row of all columns
        at_once = max(1, CHUNK_BYTES // (16 * (n_columns + 1))) if self.dense else max(1, end - start)
        # place the rows into a full block, unless they are few: then pick their weights
        placed = self.samples is not None and weights.shape[1] <= min(at_once, 4 * (end - start))
        into = slice(None) if self.into is None else self.into
        for first in range(start, end, at_once):
            last = min(first + at_once, end)
            rows = self.columns[first:last]
            if self.dense:
                rows = _as_array(rows)
            if self.samples is None:
                total[:, into] += weights[:, first - start : last - start] @ rows
                continue
            place = self.samples[first:last] - block * BLOCK
            if placed and isinstance(rows, np.ndarray):
                block_rows = np.zeros((weights.shape[1], n_columns), rows.dtype)
                block_rows[place] = rows
                total[:, into] += weights @ block_rows
            else:
                total[:, into] += weights[:, place] @ rows


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


def vstack(chunks: list[SparseColumns]) -> SparseColumns:
    """Stack the chunks and clear the list, which frees their memory."""
    rows = chunks[0] if len(chunks) == 1 else csr_array(scipy.sparse.vstack(chunks, format="csr"))
    chunks.clear()
    return rows


def hstack(blocks: Sequence[FloatArray | SparseColumns]) -> SparseColumns:
    """Stack the columns of all blocks horizontally."""
    parts = [csr_array(block) for block in blocks]
    return parts[0] if len(parts) == 1 else csr_array(scipy.sparse.hstack(parts, format="csr"))
