"""Confidence intervals from resamples of samples (percentile, BCa, jackknife), and by the delta method.

A statistic is a function of sums of additive columns over the samples. A resample therefore costs one row of a matrix
product; nothing is measured or matched again. Units of one sample are correlated (one image, one scene): resampling
them one by one would give intervals that are too narrow.

Delta method: to first order a sample moves a statistic by the derivatives of the statistic, times its own columns (the
infinitesimal jackknife). Their squares add up from products of columns, so that no sample has to be kept.

Axes: ``S`` samples, ``C`` columns, ``B`` resamples, ``V`` values of a statistic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr, ndtri, stdtrit

from ..numeric.arrays import FloatArray, IntArray
from .draws import (
    ColumnMoments,
    Columns,
    Draws,
    Part,
    Statistic,
    checked_columns,
    column_sums,
    left_out_power_sums,
    resampled,
    values_of,
)

#: fewer samples give no interval of a number that uses only some samples
MIN_SAMPLES = 10
#: differences up to this share of the estimate (at least of 1) are rounding
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class ConfidenceIntervals:
    """Estimates with their uncertainty, each of shape ``(V,)``.

    Attributes:
        estimate: the statistic of the original samples
        percentile_low: lower end of the percentile interval
        percentile_high: its upper end
        bca_low: lower end of the bias-corrected and accelerated (BCa) interval
        bca_high: its upper end
        standard_error: standard deviation of the resamples
        jackknife_error: standard error from leaving out each sample once
        n_undefined: resamples in which the statistic is undefined; the interval comes from the others
        n_samples: number of samples, or of clusters if clusters are resampled
    """

    estimate: FloatArray
    percentile_low: FloatArray
    percentile_high: FloatArray
    bca_low: FloatArray
    bca_high: FloatArray
    standard_error: FloatArray
    jackknife_error: FloatArray
    n_undefined: IntArray
    n_samples: int

    @classmethod
    def undefined(cls, n_values: int, resamples: int, n_samples: int) -> ConfidenceIntervals:
        """Intervals that are nan throughout."""
        nan = np.full(n_values, np.nan)
        return cls(nan, nan, nan, nan, nan, nan, nan, np.full(n_values, resamples), n_samples)


def confidence_intervals(
    estimate: FloatArray,
    values: FloatArray,
    power_sums: FloatArray,
    *,
    n_samples: int,
    level: float,
    n_used: IntArray | None = None,
) -> ConfidenceIntervals:
    """Intervals from the values of the resamples and the leave-one-out values.

    BCa takes the quantiles at ``Φ(z₀ + (z₀ + z) / (1 - a (z₀ + z)))``. ``z₀`` is the normal quantile of the share of
    resamples below the estimate, where ties count half; ``a`` is the skewness of the leave-one-out values. The
    percentile interval replaces BCa where all resamples are on one side of the estimate, all leave-one-out values
    equal the estimate, or ``1 - a (z₀ + z)`` is not positive.

    Args:
        estimate: shape ``(V,)``
        values: shape ``(B, V)``, values of the resamples, nan where undefined
        power_sums: shape ``(3, V)``, sums of ``t - estimate``, its square and its cube over the leave-one-out values
            ``t``
        n_samples: number of leave-one-out values, ``>= 2``
        level: confidence level, in (0, 1)
        n_used: shape ``(V,)``, samples that every value uses: the quantiles are those of :func:`expanded_tails`. None:
            those of the level

    Undefined:
        nan where the estimate is undefined. All but the estimate are nan where more than half of the resamples, or a
        leave-one-out value, are undefined (the estimate then depends on a single sample)

    References:
        B. Efron, "Better bootstrap confidence intervals", 1987, equations 2.3 and 6.6; B. Efron, R. J. Tibshirani, "An
        Introduction to the Bootstrap", 1993, sections 11.2, 13.3 and 14.3; J. Hughes, "Toward improved inference for
        Krippendorff's Alpha agreement coefficient", 2022 (the jackknife)
    """
    n_undefined = np.isnan(values).sum(axis=0).astype(np.int64)
    n_defined = len(values) - n_undefined
    # sums of squares and cubes of the leave-one-out values about their mean, from those about the estimate
    first, second, third = power_sums
    mean = first / n_samples
    spread = np.maximum(second - n_samples * mean**2, 0.0)
    skew = third - 3 * mean * second + 2 * n_samples * mean**3
    defined = ~np.isnan(estimate) & ~np.isnan(spread) & (2 * n_undefined <= len(values))

    ordered = np.sort(values, axis=0)
    plain = np.repeat([[0.5 - level / 2], [0.5 + level / 2]], len(estimate), axis=1)
    tails = plain if n_used is None else expanded_tails(level, n_used)
    percentile = _quantiles(ordered, n_defined, tails)
    # differences from the estimate up to this size are rounding
    rounding, difference = ROUNDING * np.maximum(1.0, np.abs(estimate)), values - estimate
    below, ties = (difference < -rounding).sum(axis=0), (np.abs(difference) <= rounding).sum(axis=0)
    bias = ndtri((below + ties / 2) / np.maximum(n_defined, 1))  # infinite: all resamples are on one side
    moving = spread > n_samples * rounding**2  # not all leave-one-out values equal the estimate
    # leaving a value out moves the estimate the other way: hence the sign
    acceleration = np.where(moving, -skew / (6 * np.where(moving, spread, 1.0) ** 1.5), np.nan)
    bca = _quantiles(ordered, n_defined, _bca_tails(tails, bias, acceleration))

    error = np.sqrt(spread * (n_samples - 1) / n_samples)
    present = ~np.isnan(values)
    mean_of_resamples = np.where(present, values, 0.0).sum(axis=0) / np.maximum(n_defined, 1)
    squares = np.where(present, values - mean_of_resamples, 0.0) ** 2
    deviation = np.sqrt(squares.sum(axis=0) / np.maximum(n_defined - 1, 1))

    def known(column: FloatArray) -> FloatArray:
        return np.where(defined, column, np.nan)

    return ConfidenceIntervals(
        estimate=estimate,
        percentile_low=known(percentile[0]),
        percentile_high=known(percentile[1]),
        bca_low=known(bca[0]),
        bca_high=known(bca[1]),
        standard_error=known(np.where(n_defined >= 2, deviation, np.nan)),
        jackknife_error=known(error),
        n_undefined=n_undefined,
        n_samples=n_samples,
    )


def expanded_tails(level: float, n_used: IntArray) -> FloatArray:
    """Quantile levels of the two ends of intervals, shape ``(2, V)``.

    Resampling few samples gives intervals that are too narrow, because it has the variance with the divisor ``n`` and
    normal tails. Quantiles further out make up for that: ``Φ(±√(n / (n - 1)) t)``, with the quantile ``t`` of Student's
    distribution with ``n - 1`` degrees of freedom. From many samples they are those of the level.

    Args:
        level: confidence level, in (0, 1)
        n_used: shape ``(V,)``, samples that every value uses; fewer than 3 count as 3

    References:
        T. C. Hesterberg, "What teachers should know about the bootstrap", 2015, section 4.3 (expanded percentiles)

    Undefined:
        never
    """
    n = np.maximum(n_used, 3)
    expanded = ndtr(np.sqrt(n / (n - 1)) * stdtrit(n - 1, 0.5 - level / 2))
    return np.stack([expanded, 1.0 - expanded])


def wilson_interval(share: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's confidence interval of a share: the values that a score test of the share does not reject.

    Args:
        share: share of the draws, in [0, 1]
        n: number of independent draws, ``> 0``; a fraction if draws count less because they depend on each other
        level: confidence level, in (0, 1)

    Undefined:
        never

    Example:
        >>> [round(end, 4) for end in wilson_interval(0.0, 60)]
        [0.0, 0.0602]

    References:
        E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927; L. D. Brown, T. T.
        Cai, A. DasGupta, "Interval estimation for a binomial proportion", 2001; N. Dean, M. Pagano, "Evaluating
        confidence interval methods for binomial proportions in clustered surveys", 2015 (``n`` of clusters)
    """
    square = float(ndtri(0.5 + level / 2)) ** 2 / n
    centre = (share + square / 2) / (1 + square)
    reach = math.sqrt(square * (share * (1 - share) + square / 4)) / (1 + square)
    return (0.0 if share == 0 else centre - reach, 1.0 if share == 1 else centre + reach)


def _bca_tails(tails: FloatArray, bias: FloatArray, acceleration: FloatArray) -> FloatArray:
    """Quantile levels of BCa; shapes ``(2, V)``, ``(V,)``, ``(V,)`` to ``(2, V)``."""
    known = np.isfinite(bias) & np.isfinite(acceleration)
    bias, acceleration = np.where(known, bias, 0.0), np.where(known, acceleration, 0.0)
    shifted = bias + ndtri(tails)
    divisor = 1.0 - acceleration * shifted
    known &= (divisor > 0).all(axis=0)
    shares: FloatArray = np.where(known, ndtr(bias + shifted / np.where(known, divisor, 1.0)), tails)
    return shares


def _quantiles(ordered: FloatArray, n_defined: IntArray, shares: FloatArray) -> FloatArray:
    """Quantiles of every column by linear interpolation, shape ``(2, V)``; nan for a column without values.

    Args:
        ordered: shape ``(B, V)``, ascending, nan last
        n_defined: shape ``(V,)``, values of every column that are not nan
        shares: shape ``(2, V)``
    """
    last = np.maximum(n_defined - 1, 0)
    position = shares * last
    lower = np.floor(position).astype(np.int64)
    column = np.arange(ordered.shape[1])
    low, high = ordered[lower, column], ordered[np.minimum(lower + 1, last), column]
    quantiles: FloatArray = low + (position - lower) * (high - low)
    return quantiles


#: more samples (videos, groups) are not resampled: numbers of reports then have intervals by the delta method
MOST_RESAMPLED = 20_000
#: step of numerical derivatives, as a share of a sum
_STEP = 1e-5
#: most steps that are taken at once, times columns
_MOST_MOVED = 2**20
#: a variance below this share of the terms that cancel in it is rounding
_CANCELLED = 1e-12


def gradient(statistic: Statistic, sums: FloatArray) -> FloatArray:
    """Derivatives of a statistic by the columns at some sums ``(C,)``, shape ``(C, V)``; 0 for a column that sums to 0.

    Undefined:
        nan where the statistic is undefined near the sums
    """
    used = np.flatnonzero(sums)
    n_values = len(values_of(statistic, sums))
    found = np.zeros((len(sums), n_values))
    at_once = max(1, _MOST_MOVED // max(len(sums), 1))
    for start in range(0, len(used), at_once):
        some = used[start : start + at_once]
        size = _STEP * np.abs(sums[some])
        step = np.zeros((len(some), len(sums)))
        step[np.arange(len(some)), some] = size
        change = values_of(statistic, sums + step) - values_of(statistic, sums - step)
        found[some] = change / (2.0 * size)[:, None]
    return found


def delta_intervals(
    moments: ColumnMoments, statistic: Statistic, n_samples: int, n_used: IntArray, level: float = 0.95
) -> ConfidenceIntervals:
    """Intervals of a statistic of sums over many samples: the estimate ± z standard errors.

    ``z`` is the normal quantile of :func:`~.confidence.expanded_tails`; all three standard errors are the same.

    Args:
        moments: of the columns of the samples; samples whose columns are all 0 may be left out
        statistic: function of the sums of the columns
        n_samples: number of samples (or clusters, if the moments are those of the sums of clusters), ``>= 2``
        n_used: shape ``(V,)``, samples that every value uses
        level: confidence level, in (0, 1)

    Undefined:
        all but the estimate are nan where the estimate, or its derivative, is undefined

    References:
        B. Efron, R. J. Tibshirani, "An Introduction to the Bootstrap", 1993, sections 21.4 to 21.8; L. A. Jaeckel, "The
        infinitesimal jackknife", 1972
    """
    sums = column_sums(moments)
    estimate, change = values_of(statistic, sums), gradient(statistic, sums)
    spread = (change * (moments.products @ change)).sum(axis=0) - (sums @ change) ** 2 / n_samples
    size = np.sqrt(moments.products.diagonal()) @ np.abs(change)
    spread = np.where(spread > _CANCELLED * size**2, spread, 0.0 * size)
    error = np.where(np.isnan(estimate), np.nan, np.sqrt(spread * n_samples / (n_samples - 1)))
    low, high = estimate + ndtri(expanded_tails(level, n_used)) * error
    return ConfidenceIntervals(
        estimate, low, high, low, high, error, error, np.zeros(len(estimate), np.int64), n_samples
    )


@dataclass(frozen=True, slots=True)
class Resampling:
    """Scheme by which samples are resampled.

    Attributes:
        resamples: number of resamples, ``>= 1``
        seed: seed of the random numbers, ``>= 0``
        level: confidence level, in (0, 1)
        clusters: shape ``(S,)``, cluster (video or group) of every sample; whole clusters are then resampled
    """

    resamples: int = 1000
    seed: int = 51
    level: float = 0.95
    clusters: IntArray | None = None

    def __post_init__(self) -> None:
        if self.resamples < 1:
            raise ValueError(f"`resamples` must be at least 1, got {self.resamples!r}")
        if self.seed < 0:
            raise ValueError(f"`seed` must be at least 0, got {self.seed!r}")
        if not 0 < self.level < 1:
            raise ValueError(f"`level` must be in (0, 1), got {self.level!r}")


DEFAULT = Resampling()


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
        ValueError: if there is not one cluster for every row, or the columns are unusable as in :func:`bootstrap`
    """
    rows = checked_columns(columns, "columns")
    if np.shape(clusters) != rows.shape[:1]:
        raise ValueError(f"`clusters` must have shape ({rows.shape[0]},), one for every row, got {np.shape(clusters)}")
    found, number = np.unique(clusters, return_inverse=True)
    n_rows = len(number)
    members = csr_array((np.ones(n_rows), (number, np.arange(n_rows))), shape=(len(found), n_rows))
    return members @ rows


def bootstrap(columns: Columns, statistic: Statistic, resampling: Resampling = DEFAULT) -> ConfidenceIntervals:
    """Confidence intervals of a statistic by resampling samples, or clusters of them.

    Args:
        columns: shape ``(S, C)``, additive columns of every sample, in a reproducible order such as by id
        statistic: function of their sums
        resampling: number of resamples, seed, level and clusters

    Returns:
        percentile and BCa intervals and standard errors; see :func:`~.confidence.confidence_intervals`. If the standard
        errors of bootstrap and jackknife differ much, trust neither

    Undefined:
        all nan with fewer than two samples (clusters), and for an undefined value. All but the estimate are nan where
        more than half of the resamples are undefined, or leaving out one sample makes the value undefined. Fewer
        undefined resamples are left out and counted

    Raises:
        ValueError: if the columns do not have two dimensions or are not finite, there is not one cluster for every
            sample, or the statistic does not keep leading axes

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
    rows = checked_columns(columns, "columns")
    return bootstrap_parts([Part(rows, statistic)], int(rows.shape[0]), resampling)[0]


def bootstrap_parts(
    parts: Sequence[Part], n_samples: int, resampling: Resampling = DEFAULT, draws: Draws | None = None
) -> list[ConfidenceIntervals]:
    """Confidence intervals of several statistics of the same samples; each as :func:`bootstrap` gives.

    The samples are drawn once for all parts. A part costs only its own samples and columns, so that many statistics of
    few columns need no table of all columns.

    Args:
        parts: the statistics
        n_samples: number of samples ``S``
        resampling: as for :func:`bootstrap`
        draws: of these samples (or clusters), resamples and seed, if they are used several times; None: new ones

    Undefined:
        as for :func:`bootstrap`

    Raises:
        ValueError: as for :func:`bootstrap`; if a part does not have one row for each of its samples
    """
    if resampling.clusters is not None and np.shape(resampling.clusters) != (n_samples,):
        raise ValueError(
            f"`clusters` must have shape ({n_samples},), one for every row, got {np.shape(resampling.clusters)}"
        )
    parts = [_cluster_sums(part, n_samples, resampling.clusters) for part in parts]
    if resampling.clusters is not None:
        n_samples = len(np.unique(resampling.clusters))
    totals = [np.asarray(part.columns.sum(axis=0), dtype=np.float64) for part in parts]
    estimates = [values_of(part.statistic, total) for part, total in zip(parts, totals, strict=True)]
    if n_samples < 2:
        return [ConfidenceIntervals.undefined(len(each), resampling.resamples, n_samples) for each in estimates]
    values: list[list[FloatArray]] = [[] for _ in parts]
    for chunk in resampled(parts, draws or Draws(n_samples, resampling.resamples, resampling.seed)):
        for part, sums, found in zip(parts, chunk, values, strict=True):
            found.append(values_of(part.statistic, sums))
    return [
        confidence_intervals(
            estimate,
            np.concatenate(found),
            left_out_power_sums(part, total, estimate),
            n_samples=n_samples,
            level=resampling.level,
            n_used=part.n_used,
        )
        for part, total, estimate, found in zip(parts, totals, estimates, values, strict=True)
    ]


def _cluster_sums(part: Part, n_samples: int, clusters: IntArray | None) -> Part:
    """The part with checked columns; with clusters, with the sums of every cluster."""
    rows = checked_columns(part.columns, "columns")
    samples = part.samples
    if rows.shape[0] != (n_samples if samples is None else len(samples)):
        raise ValueError(f"`columns` must have a row for every sample of the part, got {rows.shape[0]} rows")
    if clusters is None:
        return Part(rows, part.statistic, samples, part.n_used)
    number = np.unique(clusters, return_inverse=True)[1].ravel()
    if samples is None:
        return Part(sums_of_clusters(rows, number), part.statistic, n_used=part.n_used)
    return Part(sums_of_clusters(rows, number[samples]), part.statistic, np.unique(number[samples]), part.n_used)
