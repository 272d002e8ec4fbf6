"""Alpha and its relatives on categories as functions of sums over samples.

The columns are those of units with at least two ratings: the disagreement that alpha counts, the share of pairs of
ratings that differ, the number of units; then for every category its ratings, and its share of the ratings of a unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....metrics.alpha.nominal import nominal_alpha_of_sums, nominal_coefficients_of_sums, unit_disagreement
from ....metrics.arrays import FloatArray
from ....metrics.bootstrap.draws import SparseColumns, sparse
from ...config import Undefined
from ..compute import Ratings

#: columns before those of the categories
_HEAD = 3


def tally_columns(ratings: Ratings, n_samples: int, n_categories: int) -> SparseColumns:
    """The columns of every sample, shape ``(S, 3 + 2 K)``."""
    m, differing = unit_disagreement(ratings.unit, ratings.count, len(ratings.sample))
    unit = np.flatnonzero(m >= 2)
    share = differing[unit] / (m[unit] * (m[unit] - 1))
    rated = m[ratings.unit] >= 2
    of_unit, category, count = ratings.unit[rated], ratings.category[rated], ratings.count[rated]
    sample = ratings.sample[of_unit]
    of_units = [(k, values) for k, values in enumerate((share * m[unit], share, np.ones(len(unit))))]
    return sparse(
        np.concatenate([np.tile(ratings.sample[unit], _HEAD), sample, sample]),
        np.concatenate(
            [*(np.full(len(unit), k) for k, _ in of_units), _HEAD + category, _HEAD + n_categories + category]
        ),
        np.concatenate([*(values for _, values in of_units), count, count / m[of_unit]]),
        (n_samples, _HEAD + 2 * n_categories),
    )


def alpha_columns(ratings: Ratings, n_samples: int, n_categories: int) -> SparseColumns:
    """Of the columns those that alpha needs: the disagreement, and the ratings of every category, ``(S, 1 + K)``."""
    columns = tally_columns(ratings, n_samples, n_categories)
    return columns[:, np.concatenate([[0], _HEAD + np.arange(n_categories)])]


def of_used_categories(columns: SparseColumns) -> SparseColumns:
    """The columns without those of categories that nobody gave."""
    n_categories = (columns.shape[1] - _HEAD) // 2
    used = np.flatnonzero(columns.sum(axis=0)[_HEAD : _HEAD + n_categories])
    return columns[:, np.concatenate([np.arange(_HEAD), _HEAD + used, _HEAD + n_categories + used])]


@dataclass(frozen=True, slots=True)
class TallySums:
    """Sums ``(..., 3 + 2 K)`` of the columns, over the same samples for every leading axis."""

    sums: FloatArray

    @property
    def _n_categories(self) -> int:
        n_columns: int = self.sums.shape[-1]
        return (n_columns - _HEAD) // 2

    @property
    def _counts(self) -> FloatArray:
        return self.sums[..., _HEAD : _HEAD + self._n_categories]

    def alpha(self, undefined: Undefined) -> FloatArray:
        """Krippendorff's alpha; nan, or 1 if asked for, where all ratings are of one category."""
        alpha = nominal_alpha_of_sums(self.sums[..., 0], self._counts)
        if undefined == "one":
            alpha = np.where(np.isnan(alpha) & (self.sums[..., 2] > 0), 1.0, alpha)
        return alpha

    def coefficients(self, undefined: Undefined, n_categories: int | None = None) -> dict[str, FloatArray]:
        """Alpha, percent agreement, AC1, Brennan-Prediger and Fleiss' kappa.

        Args:
            undefined: what alpha is where all ratings are of one category
            n_categories: how many there could be; by default all that were given
        """
        # what rounding leaves of the shares of categories that are not there
        shares = np.where(self._counts > 0, self.sums[..., _HEAD + self._n_categories :], 0.0)
        n_categories = self._n_categories if n_categories is None else n_categories
        found = nominal_coefficients_of_sums(self.sums[..., 1], shares, n_categories)
        return {"alpha": self.alpha(undefined), **found._asdict()}
