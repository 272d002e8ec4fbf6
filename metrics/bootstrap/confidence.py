"""Confidence intervals from resampled values and leave-one-out values: percentile, BCa and jackknife.

Axes: ``B`` resamples, ``V`` values of a statistic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from ..numeric.arrays import BoolArray, FloatArray, IntArray

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
        """Nan throughout."""
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
    spread, skew = _central(power_sums, n_samples)
    defined = ~np.isnan(estimate) & ~np.isnan(spread) & (2 * n_undefined <= len(values))

    ordered = np.sort(values, axis=0)
    plain = np.repeat([[0.5 - level / 2], [0.5 + level / 2]], len(estimate), axis=1)
    tails = plain if n_used is None else expanded_tails(level, n_used)
    percentile = _quantiles(ordered, n_defined, tails)
    bias = _bias_correction(estimate, values, n_defined)
    bca = _quantiles(ordered, n_defined, _bca_tails(tails, bias, _acceleration(estimate, spread, skew, n_samples)))

    error = np.sqrt(spread * (n_samples - 1) / n_samples)

    def known(column: FloatArray) -> FloatArray:
        return np.where(defined, column, np.nan)

    return ConfidenceIntervals(
        estimate=estimate,
        percentile_low=known(percentile[0]),
        percentile_high=known(percentile[1]),
        bca_low=known(bca[0]),
        bca_high=known(bca[1]),
        standard_error=known(_standard_deviation(values, n_defined)),
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
    """The interval of a share that a test of the share against its ends does not reject.

    Args:
        share: share of the draws, in [0, 1]
        n: number of independent draws, ``> 0``; not whole for draws that count less because they depend on each other
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


def _central(power_sums: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Sums of squares and cubes of ``n`` values about their mean, from the sums about the estimate."""
    first, second, third = power_sums
    mean = first / n
    return np.maximum(second - n * mean**2, 0.0), third - 3 * mean * second + 2 * n * mean**3


def _rounding(estimate: FloatArray) -> FloatArray:
    """Differences from the estimate up to this size are rounding."""
    size: FloatArray = ROUNDING * np.maximum(1.0, np.abs(estimate))
    return size


def _bias_correction(estimate: FloatArray, values: FloatArray, n_defined: IntArray) -> FloatArray:
    """``z₀``; infinite where all resamples are on one side of the estimate."""
    difference = values - estimate
    rounding = _rounding(estimate)
    below = (difference < -rounding).sum(axis=0)
    ties = (np.abs(difference) <= rounding).sum(axis=0)
    correction: FloatArray = ndtri((below + ties / 2) / np.maximum(n_defined, 1))
    return correction


def _acceleration(estimate: FloatArray, spread: FloatArray, skew: FloatArray, n: int) -> FloatArray:
    """``a``; nan where all leave-one-out values equal the estimate."""
    moving: BoolArray = spread > n * _rounding(estimate) ** 2
    # leaving a value out moves the estimate the other way: hence the sign
    return np.where(moving, -skew / (6 * np.where(moving, spread, 1.0) ** 1.5), np.nan)


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


def _standard_deviation(values: FloatArray, n_defined: IntArray) -> FloatArray:
    """Standard deviation of every column over its values that are not nan; nan for fewer than two."""
    present = ~np.isnan(values)
    mean = np.where(present, values, 0.0).sum(axis=0) / np.maximum(n_defined, 1)
    squares = np.where(present, values - mean, 0.0) ** 2
    deviation = np.sqrt(squares.sum(axis=0) / np.maximum(n_defined - 1, 1))
    return np.where(n_defined >= 2, deviation, np.nan)
