"""Confidence intervals by the delta method: variance of sums between samples, and derivatives of a statistic.

To first order a sample moves a statistic by the derivatives of the statistic, times its own columns (the infinitesimal
jackknife). Their squares add up from products of columns, so that no sample has to be kept.

Axes: ``C`` columns, ``V`` values of a statistic.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from ..numeric.arrays import FloatArray, IntArray
from .confidence import ConfidenceIntervals, expanded_tails
from .draws import Statistic, values_of
from .moments import ColumnMoments, column_sums

#: more samples (videos, groups) are not resampled: numbers of reports then have intervals by the delta method
MOST_RESAMPLED = 50_000
#: how far sums are moved, of their size, to see how a statistic changes
_STEP = 1e-5
#: sums that are moved at once, times their columns
_MOST_MOVED = 2**20
#: a spread of less than this share of what cancels out in it is rounding
_CANCELLED = 1e-12


def gradient(statistic: Statistic, sums: FloatArray) -> FloatArray:
    """Derivatives of a statistic by the columns at some sums ``(C,)``, shape ``(C, V)``; 0 for a column that sums to 0.

    Undefined:
        nan where the statistic is undefined beside the sums
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
        moments: of the samples; samples whose columns are all 0 may be left out
        statistic: function of their sums
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
