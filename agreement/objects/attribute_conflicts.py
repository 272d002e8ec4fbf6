"""Units whose members have different values of an attribute."""

from __future__ import annotations

import numpy as np

from ...metrics.arrays import BoolArray, FloatArray, IntArray
from ...metrics.matching import Matching
from ..attribute_values import NOT_GIVEN
from ..ratings.compute import agreeing
from .columns import Batch


def attribute_conflicts(batch: Batch, matching: Matching, tolerance: float) -> BoolArray:
    """The units in which two values of any compared attribute differ, shape ``(U,)``.

    What a member was not given is left out. Two numbers differ by more than the tolerance; a number differs from what
    is no number.

    Args:
        batch: the objects, with the codes of their attributes
        matching: their units
        tolerance: numbers that differ by at most this agree
    """
    conflict = np.zeros(matching.n_units, np.bool_)
    for codes, numbers in zip(batch.attributes, batch.attribute_numbers, strict=True):
        conflict |= _differ(codes, numbers, matching.unit, matching.n_units, tolerance)
    return conflict


def _differ(codes: IntArray, numbers: FloatArray, unit: IntArray, n_units: int, tolerance: float) -> BoolArray:
    given = codes != NOT_GIVEN
    unit, codes = unit[given], codes[given]
    number = numbers[codes]
    of_number = ~np.isnan(number)
    least, greatest = _range(unit[of_number], number[of_number], n_units)
    # all numbers count as one value here
    first, last = _range(unit, np.where(of_number, 0, codes).astype(np.float64), n_units)
    both: BoolArray = (np.isfinite(least) & ~agreeing(least, greatest, tolerance)) | (first < last)
    return both


def _range(unit: IntArray, values: FloatArray, n_units: int) -> tuple[FloatArray, FloatArray]:
    """Least and greatest value of every unit, infinite without any."""
    least, greatest = np.full(n_units, np.inf), np.full(n_units, -np.inf)
    np.minimum.at(least, unit, values)
    np.maximum.at(greatest, unit, values)
    return least, greatest
