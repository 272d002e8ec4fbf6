"""Uncertainty of statistics of samples: the samples are resampled, never their units.

A statistic is a function of sums over the samples of additive columns, so that a resample costs one row of a matrix
product and nothing is measured or matched again. Units of one sample are alike (one image, one light, one crowd):
resampled one by one they would give intervals that are too narrow.

Axes: ``S`` samples, ``C`` columns, ``B`` resamples, ``V`` values of a statistic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from .arrays import FloatArray, IntArray
from .confidence import ConfidenceIntervals, confidence_intervals

#: additive columns of every sample, shape ``(S, C)``: an array, or a sparse array of any format
Columns: TypeAlias = FloatArray | csr_array

#: sums ``(..., C)`` to values ``(..., V)``, for any leading axes, nan where undefined, without a warning
Statistic: TypeAlias = Callable[[FloatArray], FloatArray]

#: size of the arrays of one chunk of resamples, or of samples left out; with copies about twice this
CHUNK_BYTES = 2**24


def _check_draws(resamples: int, seed: int) -> None:
    if resamples < 1:
        raise ValueError(f"`resamples` must be at least 1, got {resamples!r}")
    if seed < 0:
        raise ValueError(f"`seed` must be at least 0, got {seed!r}")


@dataclass(frozen=True, slots=True)
class Resampling:
    """How samples are resampled.

    Attributes:
        resamples: number of resamples, ``>= 1``
        seed: of the random numbers, ``>= 0``
        level: of the intervals, in (0, 1)
        clusters: shape ``(S,)``, number of the video or group of every sample: then these are resampled, each with all
            of its samples
    """

    resamples: int = 1000
    seed: int = 51
    level: float = 0.95
    clusters: IntArray | None = None

    def __post_init__(self) -> None:
        _check_draws(self.resamples, self.seed)
        if not 0 < self.level < 1:
            raise ValueError(f"`level` must be in (0, 1), got {self.level!r}")


DEFAULT = Resampling()


def resampled_sums(columns: Columns, *, resamples: int = 1000, seed: int = 51) -> FloatArray:
    """Sums over the samples of every resample.

    A resample draws ``S`` samples with replacement. The draws depend on the seed, ``S`` and the number of the resample
    alone: all columns of the same samples are resampled alike, and more resamples begin with the fewer ones. Bring the
    samples into an order of their own (by id), so that the order of a database does not matter.

    Args:
        columns: shape ``(S, C)``
        resamples: number of resamples
        seed: of the random numbers

    Returns:
        shape ``(B, C)``

    Undefined:
        never; zeros without a sample

    Raises:
        ValueError: if the columns do not have two dimensions or are not finite, there is no resample, or the seed is
            negative

    Example:
        >>> resampled_sums(np.eye(3), resamples=2)  # how often each of three samples was drawn
        array([[0., 1., 2.],
               [2., 1., 0.]])
    """
    _check_draws(resamples, seed)
    return np.concatenate(list(_sums_in_chunks(_checked(columns, "columns"), resamples, seed)))


def sums_of_clusters(columns: Columns, clusters: IntArray) -> Columns:
    """Add up the rows of every cluster, in ascending order of the clusters' numbers.

    Args:
        columns: shape ``(S, C)``
        clusters: shape ``(S,)``, cluster of every row

    Returns:
        shape ``(G, C)`` for ``G`` clusters; sparse if ``columns`` are

    Undefined:
        never

    Raises:
        ValueError: if there is not one cluster for every row, or the columns are not as in :func:`resampled_sums`
    """
    rows = _checked(columns, "columns")
    if np.shape(clusters) != rows.shape[:1]:
        raise ValueError(f"`clusters` must have shape ({rows.shape[0]},), one for every row, got {np.shape(clusters)}")
    found, number = np.unique(clusters, return_inverse=True)
    n_rows = len(number)
    members = csr_array((np.ones(n_rows), (number, np.arange(n_rows))), shape=(len(found), n_rows))
    return members @ rows


def bootstrap(columns: Columns, statistic: Statistic, resampling: Resampling = DEFAULT) -> ConfidenceIntervals:
    """Confidence intervals of a statistic by resampling samples, or clusters of them.

    Args:
        columns: shape ``(S, C)``, additive columns of every sample; their order as in :func:`resampled_sums`
        statistic: function of their sums
        resampling: how often, with which seed, at which level, and what is resampled

    Returns:
        percentile and BCa intervals, and the jackknife beside them; see
        :func:`~.confidence.confidence_intervals`. Where the standard error of the resamples and that of the jackknife
        differ much, trust neither

    Undefined:
        nan throughout with fewer than two samples (clusters), and for a value that is undefined. All but the estimate
        nan where more than half of the resamples are undefined, or leaving out one sample makes the value undefined.
        Other undefined resamples are left out and counted

    Raises:
        ValueError: if the columns are not as in :func:`resampled_sums`, there is not one cluster for every sample, or
            the statistic does not keep leading axes

    Example:
        >>> lengths = np.array([[1, 48], [1, 36], [1, 20], [1, 29], [1, 42]], dtype=float)
        >>> mean = bootstrap(lengths, lambda sums: sums[..., 1:] / sums[..., :1])
        >>> mean.estimate, mean.jackknife_error.round(4)
        (array([35.]), array([4.899]))

    References:
        B. Efron, R. J. Tibshirani, "An Introduction to the Bootstrap", 1993; A. C. Davison, D. V. Hinkley, "Bootstrap
        Methods and their Application", 1997, section 3.8, and A. C. Cameron, J. B. Gelbach, D. L. Miller,
        "Bootstrap-based improvements for inference with clustered errors", 2008 (resampling clusters)
    """
    rows = _checked(columns, "columns")
    if resampling.clusters is not None:
        rows = sums_of_clusters(rows, resampling.clusters)
    total = np.asarray(rows.sum(axis=0), dtype=np.float64)
    estimate = _values(statistic, total)
    n_samples = int(rows.shape[0])
    if n_samples < 2:
        return ConfidenceIntervals.undefined(len(estimate), resampling.resamples, n_samples)
    values = [_values(statistic, sums) for sums in _sums_in_chunks(rows, resampling.resamples, resampling.seed)]
    power_sums = np.zeros((3, len(estimate)))
    for left_out in _dense_chunks(rows):
        difference = _values(statistic, total - left_out) - estimate
        squares = difference * difference
        power_sums += [difference.sum(axis=0), squares.sum(axis=0), (squares * difference).sum(axis=0)]
    return confidence_intervals(
        estimate, np.concatenate(values), power_sums, n_samples=n_samples, level=resampling.level
    )


def paired_difference(
    columns_a: Columns, columns_b: Columns, statistic: Statistic, resampling: Resampling = DEFAULT
) -> ConfidenceIntervals:
    """Confidence intervals of ``statistic(b) - statistic(a)`` of two measurements of the same samples.

    Every resample draws the same samples for both, so that what makes a sample hard in both cancels out.

    Args:
        columns_a: shape ``(S, C)``, columns of the first measurement
        columns_b: shape ``(S, C)``, those of the second; row ``i`` is the same sample
        statistic: function of the sums of either
        resampling: as for :func:`bootstrap`

    Undefined:
        as for :func:`bootstrap`; a difference is undefined where one of its two values is

    Raises:
        ValueError: as for :func:`bootstrap`, and if the shapes differ
    """
    a, b = _checked(columns_a, "columns_a"), _checked(columns_b, "columns_b")
    if a.shape != b.shape:
        raise ValueError(f"`columns_a` and `columns_b` must have the same shape (S, C), got {a.shape} and {b.shape}")
    n_columns = a.shape[1]

    def difference(sums: FloatArray) -> FloatArray:
        return _values(statistic, sums[..., n_columns:]) - _values(statistic, sums[..., :n_columns])

    sparse = issparse(a) or issparse(b)
    both = hstack([csr_array(a), csr_array(b)], format="csr") if sparse else np.hstack([a, b])
    return bootstrap(both, difference, resampling)


def _checked(columns: Columns, name: str) -> Columns:
    """Columns as float64, sparse ones by rows."""
    rows = csr_array(columns, dtype=np.float64) if issparse(columns) else np.asarray(columns, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"`{name}` must have shape (S, C), got {rows.shape}")
    if not np.isfinite(rows.data if issparse(rows) else rows).all():
        raise ValueError(f"`{name}` must be finite, got nan or an infinite value")
    return rows


def _sums_in_chunks(rows: Columns, resamples: int, seed: int) -> Iterator[FloatArray]:
    """Sums of consecutive resamples; the weights do not depend on the size of a chunk."""
    n_samples, n_columns = rows.shape
    rng = np.random.Generator(np.random.PCG64(seed))
    at_once = max(1, CHUNK_BYTES // (16 * (n_samples + n_columns + 1)))
    for start in range(0, resamples, at_once):
        weights = np.zeros((min(at_once, resamples - start), n_samples))
        for weight in weights if n_samples else ():
            weight[:] = np.bincount(rng.integers(0, n_samples, n_samples), minlength=n_samples)
        yield np.asarray(weights @ rows)


def _dense_chunks(rows: Columns) -> Iterator[FloatArray]:
    n_samples, n_columns = rows.shape
    at_once = max(1, CHUNK_BYTES // (32 * (n_columns + 1)))
    for start in range(0, n_samples, at_once):
        chunk = rows[start : start + at_once]
        yield chunk if isinstance(chunk, np.ndarray) else chunk.toarray()


def _values(statistic: Statistic, sums: FloatArray) -> FloatArray:
    """Values of the statistic, nan where it is not finite."""
    values = np.asarray(statistic(sums), dtype=np.float64)
    if values.shape[:-1] != sums.shape[:-1] or values.ndim != sums.ndim:
        raise ValueError(
            f"`statistic` must give values (..., V) for sums (..., C), got {values.shape} for {sums.shape}"
        )
    return np.where(np.isfinite(values), values, np.nan)
