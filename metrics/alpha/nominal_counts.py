"""Coefficients of nominal ratings from counts that add up over units: no table, however many units there are.

They are those of :mod:`~.coefficients` on the table of the same units, of which each has at least two ratings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray, sums_by
from .nominal import NominalTally, unit_disagreement


class NominalCoefficients(NamedTuple):
    """Coefficients of one or many sets of units, each of shape ``(...,)``; nan where undefined."""

    percent_agreement: FloatArray
    ac1: FloatArray
    brennan_prediger: FloatArray
    fleiss_kappa: FloatArray


def nominal_coefficients_of_sums(differing: FloatArray, shares: FloatArray, n_categories: int) -> NominalCoefficients:
    """Percent agreement, AC1, Brennan-Prediger and Fleiss' kappa from sums over units; for many sets of units at once.

    All sums are over units with at least two ratings and add up over any groups of units, such as samples.

    Args:
        differing: shape ``(...,)``, sum over the units of ``(m² - Σ_c n_uc²) / (m (m - 1))``, for ``m`` ratings of a
            unit, ``n_uc`` of them of category ``c``
        shares: shape ``(..., K)``, sum over the units of ``n_uc / m``
        n_categories: number of categories that could have been given, at least the number that was

    Undefined:
        all without a unit; AC1 and Brennan-Prediger with one category, Fleiss' kappa where all ratings are of one

    Example:
        >>> found = nominal_coefficients_of_sums(np.array(1.0), np.array([1.5, 2.5]), 2)
        >>> [round(float(value), 6) for value in found]
        [0.75, 0.529412, 0.5, 0.466667]

    References:
        K. L. Gwet, "Handbook of Inter-Rater Reliability", 4th ed., 2014
    """
    totals = np.asarray(shares, dtype=np.float64)
    n_units = totals.sum(axis=-1)
    rated = n_units > 0
    observed = np.where(rated, np.asarray(differing) / np.where(rated, n_units, 1.0), np.nan)
    share = totals / np.where(rated, n_units, 1.0)[..., None]
    # what chance would disagree on
    fleiss = 1.0 - (share * share).sum(axis=-1)
    fleiss = np.where((totals > 0).sum(axis=-1) > 1, fleiss, 0.0)
    hard = (share * (1.0 - share)).sum(axis=-1) / max(n_categories - 1, 1)
    several = n_categories > 1
    return NominalCoefficients(
        1.0 - observed,
        _corrected(observed, (1.0 - hard) if several else np.zeros_like(hard)),
        _corrected(observed, np.full_like(hard, 1.0 - 1.0 / n_categories if several else 0.0)),
        _corrected(observed, fleiss),
    )


def _corrected(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """``1 - D_o / D_e``, nan where chance gives no disagreement."""
    defined = expected > 0
    return np.where(defined, 1.0 - observed / np.where(defined, expected, 1.0), np.nan)


@dataclass(frozen=True, slots=True)
class NominalCounts:
    """Nominal ratings of units, counted; units with fewer than two ratings are left out.

    Integers, so that any split of the units into batches gives the same coefficients to the last bit.

    Attributes:
        counts: shape ``(M + 1, K)``, entry ``[m, c]``: ratings of category ``c`` of units with ``m`` ratings
        differing: shape ``(M + 1,)``, entry ``m``: over the units with ``m`` ratings, the sum of ``m² - Σ_c n_uc²``
    """

    counts: IntArray
    differing: IntArray

    @classmethod
    def of(
        cls, unit: IntArray, category: IntArray, count: IntArray, *, max_ratings: int, n_categories: int
    ) -> NominalCounts:
        """Count sparse ratings.

        Args:
            unit: shape ``(T,)``, unit numbers from 0; each (unit, category) at most once
            category: shape ``(T,)``, codes ``0 … K - 1``
            count: shape ``(T,)``, how many annotators gave this unit this category
            max_ratings: largest number ``M`` of ratings of a unit
            n_categories: number ``K`` of codes
        """
        ratings, differing = unit_disagreement(unit, count)
        pairable = ratings[unit] >= 2
        cell = ratings[unit[pairable]] * n_categories + category[pairable]
        counts = sums_by(cell, count[pairable], (max_ratings + 1) * n_categories)
        several = ratings >= 2
        return cls(
            counts.astype(np.int64).reshape(max_ratings + 1, n_categories),
            sums_by(ratings[several], differing[several], max_ratings + 1).astype(np.int64),
        )

    def __add__(self, other: NominalCounts) -> NominalCounts:
        return NominalCounts(self.counts + other.counts, self.differing + other.differing)

    def tally(self) -> NominalTally:
        """What Krippendorff's alpha needs."""
        m = np.maximum(np.arange(len(self.counts)), 1)
        return NominalTally(self.counts.sum(axis=0), self.differing, self.counts.sum(axis=1) // m)

    def coefficients(self, n_categories: int | None = None) -> NominalCoefficients:
        """The other coefficients.

        Args:
            n_categories: number of categories that could have been given; by default of those that were

        Undefined:
            as :func:`nominal_coefficients_of_sums`

        Raises:
            ValueError: if ``n_categories`` is less than the number of categories that were given
        """
        given = int((self.counts.sum(axis=0) > 0).sum())
        if n_categories is not None and n_categories < given:
            raise ValueError(f"`n_categories` must be at least the {given} that occur, got {n_categories}")
        m = np.arange(len(self.counts))
        differing = (self.differing[2:] / (m * (m - 1))[2:]).sum()
        shares = (self.counts[2:] / m[2:, None]).sum(axis=0)
        return nominal_coefficients_of_sums(differing, shares, given if n_categories is None else n_categories)
