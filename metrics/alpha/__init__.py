"""Krippendorff's alpha and the other chance-corrected coefficients.

:func:`alpha_of` is the final formula of every alpha, and :func:`chance_corrected` the final formula of every other
coefficient. Alpha is a function of three sums over units; modules and reports differ in how they compute these sums.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..numeric.arrays import FloatArray

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
