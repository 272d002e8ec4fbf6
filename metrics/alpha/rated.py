"""Krippendorff's alpha of tables of ratings at every level of measurement: nominal, ordinal, interval, ratio.

:func:`alpha_sums` gives additive columns and a formula, which reports resample; :func:`krippendorff_alpha` applies the
formula to the sums of all units. Ratings may be real numbers, all of them different.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from ..bootstrap.draws import SparseColumns, Statistic, hstack, sparse, vstack
from ..numeric.arrays import FloatArray, IntArray, group_ends, pairs_between, pairs_within, sums_by
from .nominal import Level, NominalTally, Undefined, alpha_of, nominal_alpha_of_sums

#: pairs of values of one unit that are compared at once (about 100 bytes each)
MAX_PAIRS_AT_ONCE = 200_000

#: ratings that are counted at once (about 60 bytes each)
_RATINGS_AT_ONCE = 100_000

#: distances of the categories (or sets) of two index columns, shape ``(P,)``
Distance = Callable[[IntArray, IntArray], FloatArray]

#: with more different values, alpha is not resampled; no limit at the level interval
MAX_VALUES: dict[Level, int] = {"nominal": 5_000, "ordinal": 200, "ratio": 200}

#: an expected disagreement is a difference of squares; below this share of them it is rounding
_ROUNDING = 1e-12
#: units that are counted at once
_UNITS_AT_ONCE = 4_096

#: values whose waves are computed at once, so that they fit in the processor's cache
_BLOCK = 8_192


def check_ratings(ratings: FloatArray) -> FloatArray:
    """Return a table of ratings, shape ``(U, R)``, as float64.

    Raises:
        ValueError: if it does not have two dimensions, or has an infinite value
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"`ratings` must have the shape (U, R), got {table.shape}")
    if np.isinf(table).any():
        raise ValueError(f"`ratings` must be finite or nan, got {table[np.isinf(table)][0]!s}")
    return table


def check_categories(categories: Sequence[float] | FloatArray, name: str = "categories") -> FloatArray:
    """Return a list of categories as float64, in the same order.

    Raises:
        ValueError: if a category is not finite, or occurs twice
    """
    listed = np.asarray(categories, dtype=np.float64)
    if listed.ndim != 1 or not np.isfinite(listed).all():
        raise ValueError(f"`{name}` must be a list of finite numbers, got {categories!r}")
    values, count = np.unique(listed, return_counts=True)
    if (count > 1).any():
        raise ValueError(f"`{name}` must be different, got {values[count > 1][:5].tolist()} more than once")
    return listed


def category_positions(
    values: FloatArray, categories: Sequence[float] | FloatArray | None = None, name: str = "categories"
) -> tuple[IntArray, int]:
    """Position of every value in the list of categories, and the number of categories ``K``.

    Args:
        values: shape ``(T,)``, without nan
        categories: all categories in their order; by default the different values, ascending
        name: name of the argument, for messages

    Raises:
        ValueError: if a value is not among the categories, or as :func:`check_categories`
    """
    if categories is None:
        used = np.unique(values)
        return np.searchsorted(used, values).astype(np.int64, copy=False), len(used)
    listed = check_categories(categories, name)
    order = np.argsort(listed)
    place = np.minimum(np.searchsorted(listed[order], values), max(len(listed) - 1, 0))
    unknown = listed[order[place]] != values if len(listed) else np.ones(len(values), np.bool_)
    if unknown.any():
        missing = np.unique(values[unknown])
        raise ValueError(f"`{name}` must contain every rating, got none of {missing[:5].tolist()} ({len(missing)})")
    return order[place].astype(np.int64, copy=False), len(listed)


@dataclass(frozen=True, slots=True)
class RatingCounts:
    """Number of annotators who gave a unit a category, ordered by unit, then category; each pair at most once."""

    unit: IntArray  #: shape ``(T,)``, unit numbers ``0 … n_units - 1``
    category: IntArray  #: shape ``(T,)``, positions ``0 … n_categories - 1``
    count: IntArray  #: shape ``(T,)``, ``>= 1``
    n_units: int  #: number of units, also without ratings
    n_categories: int  #: number of categories, also without ratings

    def per_unit(self) -> IntArray:
        """Number of ratings of every unit, shape ``(U,)``."""
        return sums_by(self.unit, self.count, self.n_units).astype(np.int64)

    def pairable_units(self) -> RatingCounts:
        """The ratings of units with at least two ratings."""
        kept = self.per_unit()[self.unit] >= 2
        return RatingCounts(self.unit[kept], self.category[kept], self.count[kept], self.n_units, self.n_categories)

    def disagreement(self, distance: Distance) -> FloatArray:
        """Sum of the distances of all ordered pairs of ratings of every unit, ``Σ_ck n_uc n_uk δ(c, k)``.

        Args:
            distance: symmetric, 0 for a category and itself

        Returns:
            shape ``(U,)``
        """
        total = np.zeros(self.n_units)
        following = np.arange(1, len(self.unit) + 1)
        for i, j in pairs_between(following, group_ends(self.unit), MAX_PAIRS_AT_ONCE):
            both = 2.0 * self.count[i] * self.count[j]
            total += sums_by(self.unit[i], both * distance(self.category[i], self.category[j]), self.n_units)
        return total


def count_ratings(ratings: FloatArray, categories: Sequence[float] | FloatArray | None = None) -> RatingCounts:
    """Count the ratings of every unit and category.

    Args:
        ratings: shape ``(U, R)``, nan where an annotator did not rate a unit
        categories: as in :func:`category_positions`

    Raises:
        ValueError: as :func:`check_ratings` and :func:`category_positions`
    """
    table = check_ratings(ratings)
    listed = np.unique(table[~np.isnan(table)]) if categories is None else categories
    rows = max(1, _RATINGS_AT_ONCE // max(table.shape[1], 1))
    parts = []
    for start in range(0, max(len(table), 1), rows):
        block = table[start : start + rows]
        unit, annotator = np.nonzero(~np.isnan(block))
        category, n_categories = category_positions(block[unit, annotator], listed)
        parts.append(np.unique((unit + start) * max(n_categories, 1) + category, return_counts=True))
    keys, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    return RatingCounts(
        keys // max(n_categories, 1), keys % max(n_categories, 1), count.astype(np.int64), len(table), n_categories
    )


def krippendorff_alpha(
    ratings: FloatArray, *, level: Level = "nominal", domain: Sequence[float] | FloatArray | None = None
) -> float:
    """Krippendorff's alpha, ``1 - D_o / D_e``, in (-∞, 1].

    Args:
        ratings: shape ``(U, R)``, category codes or values, nan where an annotator did not rate a unit
        level: level of measurement: ``"nominal"`` (names), ``"ordinal"`` (ranks), ``"interval"`` (differences) or
            ``"ratio"`` (values ``>= 0`` with a true zero)
        domain: for ``"ordinal"``: all category codes in their order; by default the codes that occur, ascending.
            Unused categories do not change alpha, the order does

    Undefined:
        nan without two ratings of one unit, and where all of these ratings are equal (no variation)

    Raises:
        ValueError: if the table does not have two dimensions or has an infinite value, a rating is not in the
            domain, or is negative at the level ``"ratio"``

    Example:
        >>> round(krippendorff_alpha(np.array([[1, 1], [1, 2], [2, 2.]])), 6)
        0.444444
        >>> round(krippendorff_alpha(np.array([[1, 1], [1, 2], [9, 9.]]), level="interval"), 6)
        0.989691

    At the level ``"ratio"`` the time grows with the pairs of different values within units, and with the number of
    different values times about ``100 + 2.4 ln(largest / smallest value)``.

    References:
        K. Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011
    """
    if level not in get_args(Level):
        raise ValueError(f"`level` must be one of {', '.join(get_args(Level))}, got {level!r}")
    table = check_ratings(ratings)
    if domain is not None:
        if level != "ordinal":
            raise ValueError(f"`domain` must be None unless `level` is 'ordinal', got the level {level!r}")
        given = ~np.isnan(table)
        positions = np.full(table.shape, np.nan)
        positions[given], _ = category_positions(table[given], domain, "domain")
        table = positions
    if level == "ratio" and (table < 0).any():
        raise ValueError(f"`ratings` must be >= 0 at the level 'ratio', got {float(table[table < 0][0])!r}")
    found = alpha_sums(table, level)
    return float(found.formula(np.asarray(found.columns.sum(axis=0), dtype=np.float64)))


def percent_agreement(ratings: FloatArray) -> float:
    """Mean over units of the share of pairs of annotators who agree; arguments as in :func:`krippendorff_alpha`.

    Undefined:
        nan without a unit that two annotators rated

    Example:
        >>> round(percent_agreement(np.array([[1, 1], [1, 2], [2, 2.]])), 6)
        0.666667
    """
    counts = count_ratings(ratings)
    return NominalTally.from_counts(counts.unit, counts.category, counts.count).percent_agreement()


@dataclass(frozen=True, slots=True)
class AlphaSums:
    """Alpha of a table of ratings, as additive columns and a formula of their sums."""

    columns: SparseColumns  #: shape ``(U, C)``, additive columns of the units
    formula: Statistic  #: sums ``(..., C)`` to alpha ``(...,)``
    #: whether alpha can be resampled; if not (too many different values), the formula of the level ratio gives nan for
    #: several rows of sums
    few_values: bool = True


def alpha_sums(table: FloatArray, level: Level, undefined: Undefined = "none") -> AlphaSums:
    """The additive columns of alpha, and alpha as a function of their sums.

    Args:
        table: shape ``(U, R)``, values, or positions of ordered categories; nan where an annotator did not rate a unit
        level: level of measurement
        undefined: as in :func:`alpha_of`
    """
    pairable = (~np.isnan(table)).sum(axis=1, keepdims=True) >= 2
    if not pairable.all():
        table = np.where(pairable, table, np.nan)
    if level == "interval":
        # the squared differences of all pairs of ratings follow from their number, sum and sum of squares
        given = ~np.isnan(table)
        m = given.sum(axis=1)
        # centred and scaled: neither a large mean nor large numbers cost digits
        centred = np.where(given, table - (np.nanmin(table) if given.any() else 0.0), 0.0)
        centred /= max(float(centred.max(initial=0.0)), np.finfo(np.float64).tiny)
        centred = np.where(given, centred - centred.sum() / max(int(m.sum()), 1), 0.0)
        mean = centred.sum(axis=1) / np.maximum(m, 1)
        within = np.where(given, (centred - mean[:, None]) ** 2, 0.0).sum(axis=1)
        observed = 2 * m * within / np.maximum(m - 1, 1)
        sums = np.column_stack([m, centred.sum(axis=1), (centred**2).sum(axis=1), observed]).astype(np.float64)
        return AlphaSums(hstack([sums]), lambda sums: interval_alpha_of_sums(sums, undefined))
    values = np.unique(table[~np.isnan(table)])
    blocks = [table[start : start + _UNITS_AT_ONCE] for start in range(0, max(len(table), 1), _UNITS_AT_ONCE)]
    if level == "ordinal":
        columns, formula = _ordinal(count_ratings(table, values), undefined)
        return AlphaSums(columns, formula, len(values) <= MAX_VALUES[level])
    # scaled, so that sums keep the digits of small differences of large values
    largest = float(_ratio_difference(values[:1], values[-1:]).sum()) if level == "ratio" else 0.0
    scale, parts = 2.0 ** -math.floor(math.log2(largest)) if largest else 1.0, []
    for counts in (count_ratings(block, values) for block in blocks):
        if level == "nominal":
            m, agreeing = counts.per_unit(), sums_by(counts.unit, counts.count**2, counts.n_units)
            observed = (m * m - agreeing) / np.maximum(m - 1, 1)
        else:
            unit, first, second, both = _differing_pairs(counts)
            observed = sums_by(unit, scale * both * _ratio_difference(values[first], values[second]), counts.n_units)
        parts.append(hstack([observed[:, None], _value_counts(counts)]))
    if level == "nominal":
        formula = lambda sums: nominal_alpha_of_sums(sums[..., 0], sums[..., 1:], undefined)  # noqa: E731
    else:
        formula = _ratio_formula(values, scale, undefined)
    return AlphaSums(vstack(parts), formula, len(values) <= MAX_VALUES[level])


def _value_counts(counts: RatingCounts) -> SparseColumns:
    """Number of ratings of every value, shape ``(U, V)``."""
    return sparse(counts.unit, counts.category, counts.count, (counts.n_units, counts.n_categories))


def interval_alpha_of_sums(sums: FloatArray, undefined: Undefined) -> FloatArray:
    """Interval alpha, shape ``(...,)``.

    Args:
        sums: shape ``(..., 4)``, over the numbers ``x`` of units with at least two: their count, their sum, the sum of
            their squares, and the sum over units of ``2 m Σ_j (x_j - x̄)² / (m - 1)`` for ``m`` numbers in a unit
        undefined: as in :func:`alpha_of`
    """
    n, total, squares, observed = np.moveaxis(sums, -1, 0)
    squared = 2 * n * squares
    return alpha_of(observed, squared - 2 * total**2, n, undefined=undefined, rounding=_ROUNDING * squared)


def _ordinal(counts: RatingCounts, undefined: Undefined) -> tuple[SparseColumns, Statistic]:
    """Ordinal alpha is interval alpha of the mid-ranks, which depend on the counts."""
    n_values = counts.n_categories
    unit, first, second, both = _differing_pairs(counts)
    met, pair = np.unique(first * n_values + second, return_inverse=True)
    low, high = met // max(n_values, 1), met % max(n_values, 1)

    def formula(sums: FloatArray) -> FloatArray:
        value_sums = sums[..., :n_values]
        n = value_sums.sum(axis=-1)
        rank = np.cumsum(value_sums, axis=-1) - value_sums / 2
        rank -= (n / 2)[..., None]  # the mean of all ranks
        observed = (sums[..., n_values:] * (rank[..., high] - rank[..., low]) ** 2).sum(axis=-1)
        expected = 2 * n * (value_sums * rank**2).sum(axis=-1)
        return alpha_of(observed, expected, n, undefined=undefined, rounding=_ROUNDING * n**4)

    return hstack([_value_counts(counts), sparse(unit, pair, both, (counts.n_units, len(met)))]), formula


def _ratio_formula(values: FloatArray, scale: float, undefined: Undefined) -> Statistic:
    squared = scale * _ratio_difference(values[:, None], values) if len(values) <= MAX_VALUES["ratio"] else None

    def formula(sums: FloatArray) -> FloatArray:
        value_sums = sums[..., 1:]
        if squared is not None:  # exactly 0 if one value is left
            expected = ((value_sums @ squared) * value_sums).sum(axis=-1)
        elif value_sums.ndim > 1:  # would take too long
            expected = np.full(value_sums.shape[:-1], np.nan)
        else:
            expected = np.asarray(scale * _sum_of_ratio_differences(values, value_sums))
        return alpha_of(sums[..., 0], expected, value_sums.sum(axis=-1), undefined=undefined)

    return formula


def _ratio_difference(a: FloatArray, b: FloatArray) -> FloatArray:
    """``((a - b) / (a + b))²``, 0 for two zeros."""
    total = a + b
    squared: FloatArray = ((a - b) / np.where(total > 0, total, 1.0)) ** 2
    return squared


def _differing_pairs(counts: RatingCounts) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Pairs of different values in one unit: the unit, the two values, and ``2 n_uc n_uk / (m - 1)``."""
    i, j = pairs_within(counts.unit)
    unit = counts.unit[i]
    m = counts.per_unit()[unit]
    return unit, counts.category[i], counts.category[j], 2.0 * counts.count[i] * counts.count[j] / (m - 1)


def _sum_of_ratio_differences(values: FloatArray, count: FloatArray) -> float:
    """``Σ_ck n_c n_k ((c - k) / (c + k))²`` of ``V`` ascending values, without the ``V × V`` pairs.

    With ``x = ln c`` the difference is ``tanh²((x_c - x_k) / 2)``, an integral of waves:
    ``tanh²(d / 2) = ∫_0^∞ 4 ω / sinh(π ω) (1 - cos ω d) dω``. The sum of one wave over all pairs is
    ``Σ_ck n_c n_k (1 - cos ω (x_c - x_k)) = n² - (Σ n_c cos ω x_c)² - (Σ n_c sin ω x_c)²``. The integrand is smooth
    and decays like ``exp(-π ω)``, so the trapezoidal rule is exact up to rounding.
    """
    with_zero = 0.0
    if values[0] == 0:  # 0 has no logarithm; its difference from every other value is 1
        with_zero = 2.0 * float(count[0] * count[1:].sum())
        values, count = values[1:], count[1:]
    n = float(count.sum())
    # angles about the mean keep the digits of 1 - cos where values hardly differ
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
    # 4 ω / sinh(π ω), written with exp(-π ω), which cannot overflow
    share = 8 * frequency * np.exp(-math.pi * frequency) / -np.expm1(-2 * math.pi * frequency)
    return with_zero + float(step * (share * waves).sum())
