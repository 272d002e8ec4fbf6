"""Tables of ratings, and Krippendorff's alpha for ratings with an order or a distance: ordinal, interval, ratio.

No matrix of the values is needed, so the ratings may be real numbers that are all different.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray, IntArray, group_ends, pairs_between, sums_by
from . import alpha_of

#: pairs of values of one unit that are compared at once (about 100 bytes each)
MAX_PAIRS_AT_ONCE = 200_000

#: ratings that are counted at once (about 60 bytes each)
_RATINGS_AT_ONCE = 100_000

#: distances of the categories (or sets) of two index columns, shape ``(P,)``
Distance = Callable[[IntArray, IntArray], FloatArray]

#: values whose phases are turned at once, so that they stay in the processor's cache
_BLOCK = 8_192


def check_ratings(ratings: FloatArray) -> FloatArray:
    """Return a table of ratings, shape ``(U, R)``, as float64.

    Raises:
        ValueError: if it has not two dimensions, or an infinite value
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"`ratings` must have the shape (U, R), got {table.shape}")
    if np.isinf(table).any():
        raise ValueError(f"`ratings` must be finite or nan, got {table[np.isinf(table)][0]!s}")
    return table


def check_categories(categories: Sequence[float] | FloatArray, name: str = "categories") -> FloatArray:
    """Return a list of categories as float64, in its order.

    Raises:
        ValueError: if a category is not finite, or stands there twice
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
        values: shape ``(T,)``, none is nan
        categories: all categories in their order; by default those of ``values``, ascending
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
    """How many annotators gave a unit a category, ordered by unit, then category; each pair at most once.

    Attributes:
        unit: shape ``(T,)``, unit numbers ``0 … n_units - 1``
        category: shape ``(T,)``, positions ``0 … n_categories - 1``
        count: shape ``(T,)``, ``>= 1``
        n_units: number of units, those without ratings included
        n_categories: number of categories, those without ratings included
    """

    unit: IntArray
    category: IntArray
    count: IntArray
    n_units: int
    n_categories: int

    def per_unit(self) -> IntArray:
        """Number of ratings of every unit, shape ``(U,)``."""
        return sums_by(self.unit, self.count, self.n_units).astype(np.int64)

    def of_pairable_units(self) -> RatingCounts:
        """Without the ratings of units that have only one."""
        kept = self.per_unit()[self.unit] >= 2
        return RatingCounts(self.unit[kept], self.category[kept], self.count[kept], self.n_units, self.n_categories)

    def disagreement(self, distance: Distance) -> FloatArray:
        """Sum of the distances of the ordered pairs of ratings of every unit, ``Σ_ck n_uc n_uk δ(c, k)``.

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
        ratings: shape ``(U, R)``, nan where one did not rate
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
