"""Krippendorff's alpha for ratings with an order or a distance: ordinal, interval, ratio.

No matrix of the values is needed, so that the ratings may be real numbers that are all different.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..arrays import FloatArray, IntArray, sums_by
from . import alpha_of
from .ratings import category_positions, check_ratings, count_ratings

#: values whose phases are turned at once, so that they stay in the processor's cache
_BLOCK = 8_192


def pairable(ratings: FloatArray) -> FloatArray:
    """The rows of a table of ratings that at least two annotators rated, as a copy."""
    table = check_ratings(ratings)
    kept: FloatArray = table[(~np.isnan(table)).sum(axis=1) >= 2]
    return kept


def interval_alpha(ratings: FloatArray) -> float:
    """Krippendorff's alpha with the difference ``(c - k)²``; arguments as in :func:`~.alpha.krippendorff_alpha`.

    The sums over pairs are those of the deviations from means: ``Σ_jk (x_j - x_k)² = 2 m Σ_j (x_j - x̄)²``.

    Undefined:
        nan without two ratings of one unit, and where all ratings are equal
    """
    shifted = pairable(ratings)
    if not len(shifted):
        return math.nan
    # from the smallest value, as a share of the range: neither a large mean nor large numbers cost digits
    shifted -= np.nanmin(shifted)
    widest = float(np.nanmax(shifted))
    if widest == 0:
        return math.nan
    shifted /= widest
    m = (~np.isnan(shifted)).sum(axis=1)
    within = np.nansum((shifted - np.nanmean(shifted, axis=1, keepdims=True)) ** 2, axis=1)
    n = int(m.sum())
    total = float(np.nansum((shifted - np.nanmean(shifted)) ** 2))
    return float(alpha_of((2 * m * within / (m - 1)).sum(), 2 * n * total, n))


def ordinal_alpha(ratings: FloatArray, domain: Sequence[float] | FloatArray | None = None) -> float:
    """Krippendorff's alpha for ranks; arguments as in :func:`~.alpha.krippendorff_alpha`.

    The difference of two categories, ``Σ_{g=c..k} n_g - (n_c + n_k) / 2``, is that of their middle ranks among all
    ratings, ``Σ_{g<=c} n_g - n_c / 2``: alpha for intervals of the ranks.

    Undefined:
        nan without two ratings of one unit, and where all ratings are of one category
    """
    table = check_ratings(ratings)
    rated = ~np.isnan(table)
    position = np.zeros(table.shape, np.int64)
    position[rated], n_categories = category_positions(table[rated], domain, "domain")
    counted = rated & (rated.sum(axis=1, keepdims=True) >= 2)
    counts = np.bincount(position[counted], minlength=n_categories)
    ranks = np.cumsum(counts) - counts / 2
    of_ratings = np.full(table.shape, np.nan)
    of_ratings[counted] = ranks[position[counted]]
    return interval_alpha(of_ratings)


def ratio_alpha(ratings: FloatArray) -> float:
    """Krippendorff's alpha with the difference ``((c - k) / (c + k))²``, 0 for two zeros.

    Arguments as in :func:`~.alpha.krippendorff_alpha`. The time is that of the pairs of different values within
    units, and of the number ``V`` of different values times about ``100 + 2.4 ln(largest / smallest value)``.

    Undefined:
        nan without two ratings of one unit, and where all ratings are equal

    Raises:
        ValueError: if a rating is negative
    """
    table = pairable(ratings)
    if (table < 0).any():
        raise ValueError(f"`ratings` must be >= 0 at the level 'ratio', got {float(table[table < 0][0])!r}")
    values = np.unique(table[~np.isnan(table)])
    counts = count_ratings(table, values)
    if len(values) < 2:
        return math.nan

    def difference(i: IntArray, j: IntArray) -> FloatArray:
        squared: FloatArray = ((values[i] - values[j]) / (values[i] + values[j])) ** 2
        return squared

    m = counts.per_unit()
    of_value = sums_by(counts.category, counts.count, len(values))
    observed = float((counts.disagreement(difference) / (m - 1)).sum())
    return float(alpha_of(observed, _sum_of_ratio_differences(values, of_value), m.sum()))


def _sum_of_ratio_differences(values: FloatArray, count: FloatArray) -> float:
    """``Σ_ck n_c n_k ((c - k) / (c + k))²`` of ``V`` ascending values, without their ``V × V`` pairs.

    With ``x = ln c`` the difference is ``tanh²((x_c - x_k) / 2)``, a sum of waves:
    ``tanh²(d / 2) = ∫_0^∞ 4 ω / sinh(π ω) (1 - cos ω d) dω``. One wave over all pairs is
    ``Σ_ck n_c n_k (1 - cos ω (x_c - x_k)) = n² - (Σ n_c cos ω x_c)² - (Σ n_c sin ω x_c)²``. The integrand is smooth
    and vanishes like ``exp(-π ω)``: the trapezoidal rule is exact to rounding.
    """
    with_zero = 0.0
    if values[0] == 0:  # no logarithm; differs by 1 from every other value
        with_zero = 2.0 * float(count[0] * count[1:].sum())
        values, count = values[1:], count[1:]
    n = float(count.sum())
    # 1 - cos is computed from small angles about the mean: values that hardly differ lose no digits
    middle = values[len(values) // 2]
    near = np.abs(values - middle) < middle / 2
    x = np.log(values) - math.log(middle)
    x[near] = np.log1p((values[near] - middle) / middle)
    x -= float((count * x).sum()) / n
    step = 2 * math.pi / (float(np.ptp(x)) + 40)
    frequency = step * np.arange(1, math.ceil(15 / step) + 1)
    sine_squared, sine_cosine = np.zeros(len(frequency)), np.zeros(len(frequency))
    for start in range(0, len(x), _BLOCK):
        block, weight = x[start : start + _BLOCK], count[start : start + _BLOCK]
        turn = np.exp(0.5j * step * block)
        phase = np.ones_like(turn)
        for k in range(len(frequency)):
            phase *= turn
            weighted = weight * phase.imag
            sine_squared[k] += weighted @ phase.imag
            sine_cosine[k] += weighted @ phase.real
    waves = 4 * (sine_squared * (n - sine_squared) - sine_cosine**2)
    # 4 ω / sinh(π ω), with the exponential taken out so that it cannot overflow
    share = 8 * frequency * np.exp(-math.pi * frequency) / -np.expm1(-2 * math.pi * frequency)
    return with_zero + float(step * (share * waves).sum())
