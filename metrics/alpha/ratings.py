"""Tables of ratings: checked, and counted for every unit and category."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray, IntArray, group_ends, pairs_between, sums_by

#: pairs of values of one unit that are compared at once (about 100 bytes each)
MAX_PAIRS_AT_ONCE = 200_000

#: ratings that are counted at once (about 60 bytes each)
_RATINGS_AT_ONCE = 100_000

#: distances of the categories (or sets) of two index columns, shape ``(P,)``
Distance = Callable[[IntArray, IntArray], FloatArray]


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
