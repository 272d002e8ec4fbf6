"""Krippendorff's alpha of ratings as a function of sums over units, at every level of measurement."""

from __future__ import annotations

import numpy as np

from ...metrics.alpha.nominal import Level, nominal_alpha_of_sums
from ...metrics.alpha.ratings import RatingCounts, count_ratings
from ...metrics.arrays import FloatArray, IntArray, pairs_within, sums_by
from ...metrics.bootstrap.draws import Statistic
from ...metrics.bootstrap.sparse import SparseColumns, beside, sparse
from ..config import Undefined

#: alpha has no interval where there are more different values; at the level interval there may be any number
MAX_VALUES: dict[Level, int] = {"nominal": 5_000, "ordinal": 200, "ratio": 200}

#: an expected disagreement below this share of the squares that it is the difference of is rounding
_ROUNDING = 1e-12


def alpha_sums(table: FloatArray, level: Level, undefined: Undefined) -> tuple[SparseColumns, Statistic] | None:
    """The columns of alpha, and alpha as a function of their sums.

    Args:
        table: shape ``(U, R)``, ratings that stand for themselves, or positions of categories that are in order; nan
            where one did not rate
        level: level of measurement
        undefined: what alpha is without variation

    Returns:
        columns ``(U, C)`` and a function of sums ``(..., C)`` to ``(...,)``; None with more than ``MAX_VALUES``
        different values
    """
    pairable = (~np.isnan(table)).sum(axis=1, keepdims=True) >= 2
    table = np.where(pairable, table, np.nan)
    if level == "interval":
        return _interval(table, undefined)
    values = np.unique(table[~np.isnan(table)])
    if len(values) > MAX_VALUES[level]:
        return None
    counts = count_ratings(table, values)
    of_values = sparse(counts.unit, counts.category, counts.count, (len(table), len(values)))
    if level == "ordinal":
        return _ordinal(counts, of_values, undefined)
    return _ratio(counts, of_values, values, undefined) if level == "ratio" else _nominal(counts, of_values, undefined)


def _ruled(alpha: FloatArray, n: FloatArray, undefined: Undefined) -> FloatArray:
    return np.where(np.isnan(alpha) & (n > 0), 1.0, alpha) if undefined == "one" else alpha


def _alpha(observed: FloatArray, expected: FloatArray, squares: FloatArray, n: FloatArray) -> FloatArray:
    """Alpha from the disagreements observed and expected, nan where the latter is rounding of some squares."""
    varies = expected > _ROUNDING * squares
    return np.where(varies, 1.0 - (n - 1) * observed / np.where(varies, expected, 1.0), np.nan)


def _nominal(counts: RatingCounts, of_values: SparseColumns, undefined: Undefined) -> tuple[SparseColumns, Statistic]:
    m = counts.per_unit()
    agreeing = sums_by(counts.unit, counts.count**2, counts.n_units)
    observed = (m * m - agreeing) / np.maximum(m - 1, 1)

    def statistic(sums: FloatArray) -> FloatArray:
        alpha = nominal_alpha_of_sums(sums[..., 0], sums[..., 1:])
        return _ruled(alpha, sums[..., 1:].sum(axis=-1), undefined)

    return beside([observed[:, None], of_values]), statistic


def _interval(table: FloatArray, undefined: Undefined) -> tuple[SparseColumns, Statistic]:
    """The squared differences of all pairs of ratings follow from their number, sum and sum of squares."""
    given = ~np.isnan(table)
    m = given.sum(axis=1)
    # neither a large mean nor large numbers cost digits
    centred = np.where(given, table - (np.nanmin(table) if given.any() else 0.0), 0.0)
    centred /= max(float(centred.max(initial=0.0)), np.finfo(np.float64).tiny)
    centred = np.where(given, centred - centred.sum() / max(int(m.sum()), 1), 0.0)
    mean = centred.sum(axis=1) / np.maximum(m, 1)
    within = np.where(given, (centred - mean[:, None]) ** 2, 0.0).sum(axis=1)
    observed = 2 * m * within / np.maximum(m - 1, 1)
    columns = np.column_stack([m, centred.sum(axis=1), (centred**2).sum(axis=1), observed]).astype(np.float64)
    return beside([columns]), lambda sums: interval_alpha_of_sums(sums, undefined)


def interval_alpha_of_sums(sums: FloatArray, undefined: Undefined) -> FloatArray:
    """Alpha of numbers, shape ``(...,)``.

    Args:
        sums: shape ``(..., 4)``, over units with at least two numbers: how many these are, their sum, that of their
            squares, and ``2 m Σ_j (x_j - x̄)² / (m - 1)`` of ``m`` numbers ``x`` of a unit
        undefined: what alpha is without variation
    """
    n, total, squares, observed = np.moveaxis(sums, -1, 0)
    return _ruled(_alpha(observed, 2 * (n * squares - total**2), 2 * n * squares, n), n, undefined)


def _ordinal(counts: RatingCounts, of_values: SparseColumns, undefined: Undefined) -> tuple[SparseColumns, Statistic]:
    """Alpha for intervals of the middle ranks, which change with the numbers of ratings."""
    n_values = of_values.shape[1]
    unit, first, second, both = _differing_pairs(counts)
    met, pair = np.unique(first * n_values + second, return_inverse=True)
    low, high = met // max(n_values, 1), met % max(n_values, 1)

    def statistic(sums: FloatArray) -> FloatArray:
        of_value = sums[..., :n_values]
        n = of_value.sum(axis=-1)
        rank = np.cumsum(of_value, axis=-1) - of_value / 2
        rank -= (n / 2)[..., None]  # the mean of all ranks
        observed = (sums[..., n_values:] * (rank[..., high] - rank[..., low]) ** 2).sum(axis=-1)
        expected = 2 * n * (of_value * rank**2).sum(axis=-1)
        return _ruled(_alpha(observed, expected, n**4, n), n, undefined)

    return beside([of_values, sparse(unit, pair, both, (counts.n_units, len(met)))]), statistic


def _ratio(
    counts: RatingCounts, of_values: SparseColumns, values: FloatArray, undefined: Undefined
) -> tuple[SparseColumns, Statistic]:
    unit, first, second, both = _differing_pairs(counts)
    total = values[:, None] + values
    squared = ((values[:, None] - values) / np.where(total > 0, total, 1.0)) ** 2
    observed = sums_by(unit, both * squared[first, second], counts.n_units)

    def statistic(sums: FloatArray) -> FloatArray:
        of_value = sums[..., 1:]
        n = of_value.sum(axis=-1)
        expected = ((of_value @ squared) * of_value).sum(axis=-1)
        # with one value left it is exactly 0
        return _ruled(_alpha(sums[..., 0], expected, np.zeros_like(n), n), n, undefined)

    return beside([observed[:, None], of_values]), statistic


def _differing_pairs(counts: RatingCounts) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Pairs of different values that met in a unit: the unit, the two, and ``2 n_uc n_uk / (m - 1)``."""
    i, j = pairs_within(counts.unit)
    unit = counts.unit[i]
    m = counts.per_unit()[unit]
    return unit, counts.category[i], counts.category[j], 2.0 * counts.count[i] * counts.count[j] / (m - 1)
