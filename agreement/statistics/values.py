"""Building blocks of reports: numbers as JSON values, their intervals, and parts rebuilt from JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...metrics.numeric.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Each:
    """In ``parts``: a dictionary with values of this class."""

    part: type


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % confidence interval of a number for the population of samples, with these annotators.

    It is bootstrapped over samples (whole videos or groups) with fixed matching: ``low`` and ``high`` are the
    bias-corrected and accelerated (BCa) limits, which handle skewness, expanded as by Hesterberg; percentiles of the
    resampled values if BCa is undefined. Shares close to 0 or 1, and shares that are the same on all samples, have
    Wilson's interval; other numbers that are the same on all samples have none. ``error`` is the standard error
    (standard deviation of the resampled values). Above 50,000 samples all of this comes from the delta method, and
    shares have Wilson's interval. ``n`` samples (videos, groups) say anything about the number. None if undefined;
    numbers that use only some samples have an interval from 10 samples on.
    """

    low: float | None
    high: float | None
    error: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Chance-corrected agreement on categories, with several definitions of chance; None where undefined.

    Over ``n_units`` units with at least two ratings, and the categories that occur, unless stated otherwise. AC1 and
    Brennan-Prediger do not fall if one category prevails (AC1 rises); alpha and Fleiss' kappa do.
    """

    n_units: int
    percent_agreement: float | None
    alpha: float | None
    ac1: float | None
    brennan_prediger: float | None
    fleiss_kappa: float | None


def read(part: Any, value: Any) -> Any:
    """Rebuild a part of a report, including nested parts, from JSON values."""
    if value is None:
        return None
    if isinstance(value, list):
        return [read(part, entry) for entry in value]
    if isinstance(part, Each):
        return {name: read(part.part, entry) for name, entry in value.items()}
    nested = getattr(part, "parts", {})
    return part(**{name: read(nested[name], entry) if name in nested else entry for name, entry in value.items()})


def number(value: float | np.floating[Any]) -> float | None:
    """A float for JSON and MongoDB: None where it is undefined (nan)."""
    return None if math.isnan(value) else float(value)


def numbers_for_json(values: FloatArray) -> list[float | None]:
    """As :func:`number`, of every value of a column."""
    return [None if math.isnan(value) else value for value in values.tolist()]


def mean_defined(values: FloatArray | Sequence[float]) -> tuple[float | None, int]:
    """Mean of the values that are not nan (None if all are), and their number."""
    values = np.asarray(values, np.float64)
    defined = values[~np.isnan(values)]
    # fsum is exact, so the order of samples does not matter
    return (math.fsum(defined.tolist()) / len(defined) if len(defined) else None), len(defined)
