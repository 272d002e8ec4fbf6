"""Draws of samples, and the sums of additive columns over what was drawn, in chunks of bounded memory.

Axes: ``S`` samples, ``T`` samples of a part, ``C`` columns, ``B`` resamples, ``V`` values of a statistic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from .arrays import FloatArray, IntArray

#: additive columns of every sample, shape ``(S, C)``: an array, or a sparse array of any format
Columns: TypeAlias = FloatArray | csr_array

#: sums ``(..., C)`` to values ``(..., V)``, for any leading axes, nan where undefined, without a warning
Statistic: TypeAlias = Callable[[FloatArray], FloatArray]

#: size of the arrays of one chunk of resamples, or of samples left out; with copies about twice this
CHUNK_BYTES = 2**24

#: sparse columns are multiplied as dense ones where at least one in so many entries is not zero: that is faster
DENSE_FROM = 20


@dataclass(frozen=True, slots=True)
class Part:
    """Columns of some samples, and a statistic of their sums.

    Attributes:
        columns: shape ``(T, C)``, additive columns
        statistic: function of their sums
        samples: shape ``(T,)``, numbers of the samples that the rows are of, each at most once, all other samples being
            zeros; None where there is a row for every sample in their order
    """

    columns: Columns
    statistic: Statistic
    samples: IntArray | None = None


def checked_columns(columns: Columns, name: str) -> Columns:
    """Columns as float64, sparse ones by rows."""
    rows = csr_array(columns, dtype=np.float64) if issparse(columns) else np.asarray(columns, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"`{name}` must have shape (S, C), got {rows.shape}")
    if not np.isfinite(rows.data if issparse(rows) else rows).all():
        raise ValueError(f"`{name}` must be finite, got nan or an infinite value")
    return rows


def drawn_weights(n_samples: int, resamples: int, seed: int, n_columns: int) -> Iterator[NDArray[np.uint16]]:
    """How often consecutive resamples draw every sample, ``(S, b)``; the draws do not depend on the size of a chunk."""
    rng = np.random.Generator(np.random.PCG64(seed))
    at_once = max(1, CHUNK_BYTES // (4 * n_samples + 16 * n_columns + 1))
    for start in range(0, resamples, at_once):
        # no sample is drawn 65,536 times: the weights are 1 on average
        weights = np.zeros((min(at_once, resamples - start), n_samples), np.uint16)
        for weight in weights if n_samples else ():
            weight[:] = np.bincount(rng.integers(0, n_samples, n_samples), minlength=n_samples)
        yield np.ascontiguousarray(weights.T)


def weighted_sums(weights: NDArray[np.uint16], part: Part) -> FloatArray:
    """Sums of the resamples with these weights ``(S, b)`` over the rows of a part, ``(b, C)``."""
    n_rows, n_columns = part.columns.shape
    n_resamples = weights.shape[1]
    sums = np.zeros((n_resamples, n_columns))
    at_once = max(1, CHUNK_BYTES // (16 * (n_resamples + n_columns)))
    dense = isinstance(part.columns, np.ndarray) or part.columns.nnz * DENSE_FROM > n_rows * n_columns
    for start in range(0, n_rows, at_once):
        end = start + at_once
        rows = part.columns[start:end]
        of_rows = weights[start:end] if part.samples is None else weights[part.samples[start:end]]
        sums += of_rows.astype(np.float64).T @ (_as_array(rows) if dense else rows)
    return sums


def left_out_power_sums(part: Part, total: FloatArray, estimate: FloatArray) -> FloatArray:
    """Sums of the differences that leaving out one sample makes, of their squares and cubes, shape ``(3, V)``.

    Samples without a row make no difference.
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
