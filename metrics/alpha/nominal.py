"""Krippendorff's alpha, percent agreement and other coefficients of nominal ratings, from additive counts.

The counts are integers, so any split of the units into batches gives exactly the same coefficients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..numeric.arrays import FloatArray, IntArray, sums_by

#: alpha of ratings without variation: undefined, or 1
Undefined: TypeAlias = Literal["none", "one"]


def chance_corrected(observed: ArrayLike, expected: ArrayLike, rounding: ArrayLike = 0.0) -> FloatArray:
    """Chance-corrected agreement, ``1 - D_o / D_e``, in (-∞, 1].

    Args:
        observed: observed disagreement ``D_o``, of any shape
        expected: disagreement expected by chance, ``D_e``; the shapes must broadcast
        rounding: an expected disagreement up to this counts as 0

    Undefined:
        nan where the expected disagreement is 0
    """
    chance = np.asarray(expected, dtype=np.float64)
    varies = chance > np.asarray(rounding, dtype=np.float64)
    ratio = np.asarray(observed, dtype=np.float64) / np.where(varies, chance, 1.0)
    return np.where(varies, 1.0 - ratio, np.nan)


def alpha_of(
    observed: ArrayLike, expected: ArrayLike, n: ArrayLike, *, undefined: Undefined = "none", rounding: ArrayLike = 0.0
) -> FloatArray:
    """Krippendorff's alpha from its sums, ``1 - (n - 1) observed / expected``, in (-∞, 1].

    All sums are over the units with at least two ratings. ``δ²(c, k)`` is the difference of two categories, ``n_uc``
    the number of ratings of category ``c`` in unit ``u``, ``m_u`` the ratings of the unit, ``n_c`` of the category.

    Args:
        observed: ``Σ_u 1 / (m_u - 1) Σ_ck n_uc n_uk δ²(c, k)``, of any shape
        expected: ``Σ_ck n_c n_k δ²(c, k)``; the shapes must broadcast
        n: number of ratings, ``Σ_c n_c``
        undefined: ``"one"``: alpha is 1 for ratings without variation
        rounding: as in :func:`chance_corrected`

    Undefined:
        nan without ratings; without variation (``expected`` is 0) nan, or 1 if ``undefined`` says so

    Example:
        >>> alpha_of([2.0, 0.0, 0.0], [18.0, 0.0, 0.0], [6, 4, 0], undefined="one").round(6)
        array([0.444444, 1.      ,      nan])

    References:
        K. Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011
    """
    total = np.asarray(n, dtype=np.float64)
    alpha = chance_corrected((total - 1.0) * np.asarray(observed, dtype=np.float64), expected, rounding)
    return np.where(np.isnan(alpha) & (total > 0), 1.0, alpha) if undefined == "one" else alpha


def nominal_alpha_of_sums(observed: FloatArray, counts: FloatArray, undefined: Undefined = "none") -> FloatArray:
    """Krippendorff's alpha, ``1 - D_o / D_e``, from sums over units; for many sets of units at once.

    Both sums are over the units with at least two ratings, and are additive.

    Args:
        observed: shape ``(...,)``, sum over the units of ``(m² - Σ_c n_uc²) / (m - 1)``, where a unit has ``m``
            ratings, ``n_uc`` of them of category ``c``
        counts: shape ``(..., K)``, ratings of every category
        undefined: as in :func:`alpha_of`

    Returns:
        shape ``(...,)`` in (-∞, 1]

    Undefined:
        nan without two ratings of one unit; without variation as :func:`alpha_of`

    Example:
        >>> nominal_alpha_of_sums(np.array([2.0, 0.0]), np.array([[3, 3], [0, 4.0]])).round(6)
        array([0.444444,      nan])

    References:
        K. Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011
    """
    ratings = np.asarray(counts, dtype=np.float64)
    return nominal_alpha_of_squares(observed, ratings.sum(axis=-1), (ratings * ratings).sum(axis=-1), undefined)


def nominal_alpha_of_squares(
    observed: FloatArray, n: FloatArray, squares: FloatArray, undefined: Undefined = "none"
) -> FloatArray:
    """As :func:`nominal_alpha_of_sums`, without the count of every category; all of shape ``(...,)``.

    Args:
        observed: as in :func:`nominal_alpha_of_sums`
        n: number of ratings
        squares: sum over the categories of the squared number of ratings
        undefined: as in :func:`alpha_of`

    Undefined:
        as :func:`nominal_alpha_of_sums`
    """
    return alpha_of(observed, n * n - squares, n, undefined=undefined)


#: what the ratings mean: names, ranks, differences, or values with a true zero
Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]


@dataclass(frozen=True, slots=True)
class NominalTally:
    """Sufficient statistics of nominal ratings; units with fewer than two ratings are left out.

    Attributes:
        category_counts: shape ``(K,)``, ratings of every category
        disagreement: shape ``(M + 1,)``, entry ``m``: ordered pairs of ratings that differ, ``m² - Σ_c n_uc²``, summed
            over the units with ``m`` ratings
        units: shape ``(M + 1,)``, entry ``m``: number of units with ``m`` ratings
    """

    category_counts: IntArray
    disagreement: IntArray
    units: IntArray

    @classmethod
    def empty(cls) -> NominalTally:
        """No ratings at all."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))

    @classmethod
    def from_counts(cls, unit: IntArray, category: IntArray, count: IntArray) -> NominalTally:
        """Count sparse ratings.

        Args:
            unit: shape ``(T,)``, unit numbers ``>= 0``; each (unit, category) at most once
            category: shape ``(T,)``, category codes ``>= 0``
            count: shape ``(T,)``, how many annotators gave this unit this category, ``>= 0``
        """
        ratings, differing = unit_disagreement(unit, count)
        pairable = ratings[unit] >= 2
        counts = np.bincount(category[pairable], weights=count[pairable])
        kept = ratings >= 2
        return cls(
            counts.astype(np.int64),
            np.bincount(ratings[kept], weights=differing[kept]).astype(np.int64),
            np.bincount(ratings[kept]),
        )

    def __add__(self, other: NominalTally) -> NominalTally:
        return NominalTally(
            add_padded(self.category_counts, other.category_counts),
            add_padded(self.disagreement, other.disagreement),
            add_padded(self.units, other.units),
        )

    @property
    def n_ratings(self) -> int:
        """Ratings in units with at least two."""
        return int(self.category_counts.sum())

    @property
    def n_units(self) -> int:
        """Units with at least two ratings."""
        return int(self.units.sum())

    def alpha(self, undefined: Undefined = "none") -> float:
        """Krippendorff's alpha, ``1 - D_o / D_e``, in (-∞, 1].

        Undefined:
            nan without two ratings of one unit; without variation as :func:`alpha_of`

        References:
            K. Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011
        """
        n = self.n_ratings
        counts = self.category_counts.tolist()  # Python integers do not overflow
        expected = n * n - sum(count * count for count in counts)
        observed = math.fsum(value / (m - 1) for m, value in enumerate(self.disagreement.tolist()) if value)
        return float(alpha_of(observed, float(expected), n, undefined=undefined))

    def percent_agreement(self) -> float:
        """Mean over units of the share of pairs of ratings that agree, in [0, 1].

        Undefined:
            nan without a unit with two ratings

        References:
            J. L. Fleiss, "Measuring nominal scale agreement among many raters", 1971 (the observed part)
        """
        if not self.n_units:
            return math.nan
        differing = math.fsum(value / (m * (m - 1)) for m, value in enumerate(self.disagreement.tolist()) if value)
        return 1.0 - differing / self.n_units


def unit_disagreement(unit: IntArray, count: IntArray, n_units: int = 0) -> tuple[IntArray, IntArray]:
    """Number of ratings ``m`` of every unit, and of its ordered pairs of ratings that differ, ``m² - Σ_c n_uc²``.

    Args:
        unit: shape ``(T,)``, unit numbers from 0; each (unit, category) at most once
        count: shape ``(T,)``, ratings of the unit in one category
        n_units: number of units; needed if the last units have no rating
    """
    ratings = np.bincount(unit, weights=count, minlength=n_units).astype(np.int64)
    agreeing = np.bincount(unit, weights=count * count, minlength=n_units).astype(np.int64)
    return ratings, ratings * ratings - agreeing


def alpha_by_group(
    unit: IntArray,
    category: IntArray,
    count: IntArray,
    group: IntArray,
    n_groups: int,
    undefined: Undefined = "none",
) -> FloatArray:
    """Krippendorff's alpha of many small groups of units (the samples of a batch) at once, shape ``(n_groups,)``.

    Args:
        unit: shape ``(T,)``, unit numbers from 0; each (unit, category) at most once
        category: shape ``(T,)``, category codes ``>= 0``
        count: shape ``(T,)``, ratings of the unit in the category, ``>= 0``
        group: shape ``(U,)``, group of every unit
        n_groups: number of groups
        undefined: as in :func:`alpha_of`

    Undefined:
        nan where :meth:`NominalTally.alpha` is nan; :func:`ratings_by_group` tells the reason
    """
    ratings, differing = unit_disagreement(unit, count, len(group))
    pairable = ratings >= 2
    observed = sums_by(group[pairable], differing[pairable] / (ratings[pairable] - 1), n_groups)
    rows = pairable[unit]
    n_categories = int(category.max(initial=0)) + 1
    keys, inverse = np.unique(group[unit[rows]] * n_categories + category[rows], return_inverse=True)
    category_sums = sums_by(inverse, count[rows], len(keys))
    in_group = keys // n_categories
    n = sums_by(in_group, category_sums, n_groups)
    return nominal_alpha_of_squares(observed, n, sums_by(in_group, category_sums**2, n_groups), undefined)


def ratings_by_group(unit: IntArray, count: IntArray, group: IntArray, n_groups: int) -> IntArray:
    """Number of ratings in units with at least two ratings, for every group; arguments as in :func:`alpha_by_group`.

    Returns:
        shape ``(n_groups,)``; 0 where alpha is undefined because no unit has two ratings
    """
    ratings, _ = unit_disagreement(unit, count, len(group))
    pairable = ratings >= 2
    return np.bincount(group[pairable], weights=ratings[pairable], minlength=n_groups).astype(np.int64)


def add_padded(a: IntArray, b: IntArray) -> IntArray:
    """Sum of two arrays of counts, the shorter one padded with zeros."""
    if len(a) < len(b):
        a, b = b, a
    total = a.copy()
    total[: len(b)] += b
    return total


class NominalCoefficients(NamedTuple):
    """Coefficients of one or many sets of units, each of shape ``(...,)``; nan where undefined."""

    percent_agreement: FloatArray
    ac1: FloatArray
    brennan_prediger: FloatArray
    fleiss_kappa: FloatArray


def nominal_coefficients_of_sums(
    differing: FloatArray, n_units: FloatArray, shares: FloatArray, n_categories: int
) -> NominalCoefficients:
    """Percent agreement, AC1, Brennan-Prediger and Fleiss' kappa from sums over units; for many sets of units at once.

    Agreement is observed on the units with at least two ratings; the shares of the categories come from all units with
    a rating, as in Gwet (2014). All sums are additive.

    Args:
        differing: shape ``(...,)``, sum of ``(m² - Σ_c n_uc²) / (m (m - 1))`` over the units with at least two ratings,
            where a unit has ``m`` ratings, ``n_uc`` of them of category ``c``
        n_units: shape ``(...,)``, number of these units
        shares: shape ``(..., K)``, sum of ``n_uc / m`` over the units with at least one rating
        n_categories: number of categories that could have been given, at least the number that occurs

    Undefined:
        all without a unit; AC1 and Brennan-Prediger with one category; Fleiss' kappa without variation

    Example:
        >>> found = nominal_coefficients_of_sums(np.array(1.0), np.array(4.0), np.array([1.5, 2.5]), 2)
        >>> [round(float(value), 6) for value in found]
        [0.75, 0.529412, 0.5, 0.466667]

    References:
        K. L. Gwet, "Handbook of Inter-Rater Reliability", 4th ed., 2014
    """
    totals = np.asarray(shares, dtype=np.float64)
    n_rated, several = totals.sum(axis=-1), np.asarray(n_units) > 0
    observed = np.where(several, np.asarray(differing) / np.where(several, n_units, 1.0), np.nan)
    share = totals / np.where(n_rated > 0, n_rated, 1.0)[..., None]
    # expected disagreements
    fleiss = 1.0 - (share * share).sum(axis=-1)
    fleiss = np.where((totals > 0).sum(axis=-1) > 1, fleiss, 0.0)
    hard = (share * (1.0 - share)).sum(axis=-1) / max(n_categories - 1, 1)
    varies = n_categories > 1
    return NominalCoefficients(
        1.0 - observed,
        chance_corrected(observed, (1.0 - hard) if varies else np.zeros_like(hard)),
        chance_corrected(observed, np.full_like(hard, 1.0 - 1.0 / n_categories if varies else 0.0)),
        chance_corrected(observed, fleiss),
    )
