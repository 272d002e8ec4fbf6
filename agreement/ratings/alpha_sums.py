"""Krippendorff's alpha of ratings as a function of sums over units, at every level of measurement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.alpha import Undefined, alpha_of
from ...metrics.alpha.nominal import Level, nominal_alpha_of_sums
from ...metrics.alpha.rated import RatingCounts, _sum_of_ratio_differences, count_ratings
from ...metrics.arrays import FloatArray, IntArray, pairs_within, sums_by
from ...metrics.bootstrap.draws import SparseColumns, Statistic, hstack, sparse, vstack

#: alpha has no interval where there are more different values; at the level interval there may be any number
MAX_VALUES: dict[Level, int] = {"nominal": 5_000, "ordinal": 200, "ratio": 200}

#: an expected disagreement below this share of the squares that it is the difference of is rounding
_ROUNDING = 1e-12
#: units that are counted at once
_UNITS_AT_ONCE = 4_096


@dataclass(frozen=True, slots=True)
class AlphaSums:
    """Alpha of a table of ratings.

    Attributes:
        columns: shape ``(U, C)``, additive columns of the units
        formula: sums ``(..., C)`` to alpha ``(...,)``
        few_values: whether there are few enough different values to resample; else the formula takes a single row of
            sums, ``(C,)``
    """

    columns: SparseColumns
    formula: Statistic
    few_values: bool = True


def alpha_sums(table: FloatArray, level: Level, undefined: Undefined) -> AlphaSums:
    """The columns of alpha, and alpha as a function of their sums.

    Args:
        table: shape ``(U, R)``, ratings that stand for themselves, or positions of categories that are in order; nan
            where one did not rate
        level: level of measurement
        undefined: what alpha is without variation
    """
    pairable = (~np.isnan(table)).sum(axis=1, keepdims=True) >= 2
    if not pairable.all():
        table = np.where(pairable, table, np.nan)
    if level == "interval":
        return _interval(table, undefined)
    values = np.unique(table[~np.isnan(table)])
    blocks = [table[start : start + _UNITS_AT_ONCE] for start in range(0, max(len(table), 1), _UNITS_AT_ONCE)]
    if level == "nominal":
        columns = vstack([_nominal_columns(count_ratings(block, values)) for block in blocks])
        formula: Statistic = lambda sums: nominal_alpha_of_sums(sums[..., 0], sums[..., 1:], undefined)  # noqa: E731
    elif level == "ratio":
        columns = vstack([_ratio_columns(count_ratings(block, values), values) for block in blocks])
        formula = _ratio_formula(values, undefined)
    else:
        columns, formula = _ordinal(count_ratings(table, values), undefined)
    return AlphaSums(columns, formula, len(values) <= MAX_VALUES[level])


def _of_values(counts: RatingCounts) -> SparseColumns:
    """Ratings of every value, shape ``(U, V)``."""
    return sparse(counts.unit, counts.category, counts.count, (counts.n_units, counts.n_categories))


def _nominal_columns(counts: RatingCounts) -> SparseColumns:
    m = counts.per_unit()
    agreeing = sums_by(counts.unit, counts.count**2, counts.n_units)
    observed = (m * m - agreeing) / np.maximum(m - 1, 1)
    return hstack([observed[:, None], _of_values(counts)])


def _interval(table: FloatArray, undefined: Undefined) -> AlphaSums:
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
    return AlphaSums(hstack([columns]), lambda sums: interval_alpha_of_sums(sums, undefined))


def interval_alpha_of_sums(sums: FloatArray, undefined: Undefined) -> FloatArray:
    """Alpha of numbers, shape ``(...,)``.

    Args:
        sums: shape ``(..., 4)``, over units with at least two numbers: how many these are, their sum, that of their
            squares, and ``2 m Σ_j (x_j - x̄)² / (m - 1)`` of ``m`` numbers ``x`` of a unit
        undefined: what alpha is without variation
    """
    n, total, squares, observed = np.moveaxis(sums, -1, 0)
    squared = 2 * n * squares
    return alpha_of(observed, squared - 2 * total**2, n, undefined=undefined, rounding=_ROUNDING * squared)


def _ordinal(counts: RatingCounts, undefined: Undefined) -> tuple[SparseColumns, Statistic]:
    """Alpha for intervals of the middle ranks, which change with the numbers of ratings."""
    n_values = counts.n_categories
    unit, first, second, both = _differing_pairs(counts)
    met, pair = np.unique(first * n_values + second, return_inverse=True)
    low, high = met // max(n_values, 1), met % max(n_values, 1)

    def formula(sums: FloatArray) -> FloatArray:
        of_value = sums[..., :n_values]
        n = of_value.sum(axis=-1)
        rank = np.cumsum(of_value, axis=-1) - of_value / 2
        rank -= (n / 2)[..., None]  # the mean of all ranks
        observed = (sums[..., n_values:] * (rank[..., high] - rank[..., low]) ** 2).sum(axis=-1)
        expected = 2 * n * (of_value * rank**2).sum(axis=-1)
        return alpha_of(observed, expected, n, undefined=undefined, rounding=_ROUNDING * n**4)

    return hstack([_of_values(counts), sparse(unit, pair, both, (counts.n_units, len(met)))]), formula


def _ratio_columns(counts: RatingCounts, values: FloatArray) -> SparseColumns:
    unit, first, second, both = _differing_pairs(counts)
    observed = sums_by(unit, both * _ratio_difference(values[first], values[second]), counts.n_units)
    return hstack([observed[:, None], _of_values(counts)])


def _ratio_formula(values: FloatArray, undefined: Undefined) -> Statistic:
    squared = _ratio_difference(values[:, None], values) if len(values) <= MAX_VALUES["ratio"] else None

    def formula(sums: FloatArray) -> FloatArray:
        of_value = sums[..., 1:]
        if squared is not None:  # with one value left it is exactly 0
            expected = ((of_value @ squared) * of_value).sum(axis=-1)
        else:
            expected = np.asarray(_sum_of_ratio_differences(values, of_value))
        return alpha_of(sums[..., 0], expected, of_value.sum(axis=-1), undefined=undefined)

    return formula


def _ratio_difference(a: FloatArray, b: FloatArray) -> FloatArray:
    """``((a - b) / (a + b))²``, 0 for two zeros."""
    total = a + b
    squared: FloatArray = ((a - b) / np.where(total > 0, total, 1.0)) ** 2
    return squared


def _differing_pairs(counts: RatingCounts) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Pairs of different values that met in a unit: the unit, the two, and ``2 n_uc n_uk / (m - 1)``."""
    i, j = pairs_within(counts.unit)
    unit = counts.unit[i]
    m = counts.per_unit()[unit]
    return unit, counts.category[i], counts.category[j], 2.0 * counts.count[i] * counts.count[j] / (m - 1)
