"""Moments of additive columns: sums over samples of columns and of products of two, for the delta method.

Axes: ``S`` samples, ``C`` columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from ..numeric.arrays import FloatArray, IntArray
from .draws import SparseColumns

#: digits of an exact sum, and the size of one
_N_DIGITS, _DIGIT = 4, 2.0**26


@dataclass(frozen=True, slots=True)
class ColumnMoments:
    """Sums over any number of samples; ``+`` joins the moments of different samples, ``[:, chosen]`` takes columns."""

    digits: FloatArray  #: shape ``(4, C)``, exact sums, see :func:`column_sums`
    products: SparseColumns  #: shape ``(C, C)``, sums of the products of two columns
    n_given: IntArray  #: shape ``(C,)``, samples in which a column is not 0

    @classmethod
    def of(cls, columns: SparseColumns) -> ColumnMoments:
        """The moments of some samples, from their columns ``(S, C)``."""
        n_given = np.bincount(columns.indices[columns.data != 0], minlength=columns.shape[1])
        return cls(_digit_sums(columns), csr_array(columns.T @ columns), n_given)

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        return ColumnMoments(self.digits + other.digits, self.products + other.products, self.n_given + other.n_given)

    def __getitem__(self, key: tuple[slice, Any]) -> ColumnMoments:
        _, chosen = key
        return ColumnMoments(self.digits[:, chosen], self.products[chosen][:, chosen], self.n_given[chosen])

    @property
    def shape(self) -> tuple[int, int]:
        """As of columns of a single sample."""
        return 1, len(self.n_given)


#: columns of every sample, or what is summed up of them
Summable: TypeAlias = SparseColumns | ColumnMoments


def column_sums(columns: Summable) -> FloatArray:
    """Sum of every column, shape ``(C,)``, exactly independent of the order of the rows.

    Values are split into an integer and three "digits" of 26 bits, whose float sums are exact up to 2^27 rows; the
    rest below 2^-78 is dropped.
    """
    digits = columns.digits if isinstance(columns, ColumnMoments) else _digit_sums(columns)
    result = np.zeros(digits.shape[1])
    for digit in reversed(digits):
        result = result / _DIGIT + digit
    return result


def _digit_sums(columns: SparseColumns) -> FloatArray:
    found, rest = np.zeros((_N_DIGITS, columns.shape[1])), columns.data
    for digit in found:
        whole = np.trunc(rest)
        digit += np.bincount(columns.indices, weights=whole, minlength=len(digit))
        rest = (rest - whole) * _DIGIT
        if not rest.any():
            break
    return found


def n_given(columns: Summable) -> IntArray:
    """Number of samples in which every column is not 0, shape ``(C,)``."""
    if isinstance(columns, ColumnMoments):
        return columns.n_given
    return np.bincount(columns.indices[columns.data != 0], minlength=columns.shape[1])
