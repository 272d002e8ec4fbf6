"""Base classes of the parts of reports: intervals, one annotator, a pair; their JSON values; means without nan."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from ...metrics.numeric.arrays import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class Each:
    """In :func:`part_types`: a field that is a dictionary of parts of this class."""

    part: type


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % confidence interval of a number for the population of samples, with these annotators.

    It is bootstrapped over samples (whole videos or groups) with fixed matching: ``low`` and ``high`` are the
    bias-corrected and accelerated (BCa) limits, which handle skewness, expanded as by Hesterberg; percentiles of the
    resampled values if BCa is undefined. Shares close to 0 or 1, and shares that are the same on all samples, have
    Wilson's interval; other numbers that are the same on all samples have none. ``error`` is the standard error
    (standard deviation of the resampled values). Above 20,000 samples all of this comes from the delta method, and
    shares have Wilson's interval. The number rests on ``n`` samples (videos, groups). Numbers that use only
    some samples have an interval from 10 samples on.
    """

    low: float
    high: float
    error: float | None
    n: int


@dataclass(frozen=True, slots=True)
class WithIntervals:
    """A part of a report, with the intervals of its numbers by their names."""

    intervals: dict[str, Interval] = dataclasses.field(default_factory=dict, kw_only=True)


class OfOne(WithIntervals):
    """Base of parts with one name: an annotator, or a class."""

    __slots__ = ()
    name: str
    n_objects: int

    @property
    def names(self) -> tuple[str, ...]:
        """The annotator, or class."""
        return (self.name,)

    @property
    def n_labels(self) -> int:
        """Number of labels behind the agreement."""
        return self.n_objects


class OfPair(WithIntervals):
    """Agreement of two annotators, ``a`` and ``b``."""

    __slots__ = ()
    a: str
    b: str
    n_samples: int

    @property
    def names(self) -> tuple[str, ...]:
        """The two annotators."""
        return (self.a, self.b)

    @property
    def n_labels(self) -> int:
        """Number of labels behind the agreement: one of each on a sample."""
        return 2 * self.n_samples


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


@functools.cache
def part_types(kind: type[Any]) -> dict[str, Any]:
    """For every field of a dataclass that holds other dataclasses, their class; of a dictionary in an ``Each``."""
    hints = get_type_hints(kind)
    found = {field.name: _part_type(hints[field.name]) for field in dataclasses.fields(kind)}
    return {name: part for name, part in found.items() if part is not None}


def _part_type(hint: Any) -> Any:
    """The dataclass in an annotation; None without one."""
    if dataclasses.is_dataclass(hint):
        return hint
    part = next(filter(None, map(_part_type, get_args(hint))), None)
    return Each(part) if part is not None and get_origin(hint) is dict else part


def read(part: Any, value: Any) -> Any:
    """Rebuild a part of a report, including nested parts, from JSON values."""
    if value is None:
        return None
    if isinstance(value, list):
        return [read(part, entry) for entry in value]
    if isinstance(part, Each):
        return {name: read(part.part, entry) for name, entry in value.items()}
    nested = part_types(part)
    return part(**{name: read(nested[name], entry) if name in nested else entry for name, entry in value.items()})


def at_path(owner: Any, path: str) -> Any:
    """The entry at a path of fields and keys, such as ``kappa.linear``; None where a part of the path is None."""
    for name in path.split("."):
        if owner is None:
            return None
        owner = owner.get(name) if isinstance(owner, Mapping) else getattr(owner, name)
    return owner


def interval_at(owner: Any, path: str) -> Interval | None:
    """The interval of the number at a path: the innermost part on the path that has intervals holds it."""
    part, within = owner, path
    for place, name in enumerate(names := path.split(".")):
        if hasattr(owner, "intervals"):
            part, within = owner, ".".join(names[place:])
        owner = at_path(owner, name)
    found: Interval | None = part.intervals.get(within)
    return found


def number(value: float | np.floating[Any]) -> float | None:
    """A float for JSON and MongoDB: None where it is undefined (nan)."""
    return None if math.isnan(value) else float(value)


def numbers_for_json(values: FloatArray) -> list[float | None]:
    """The values of a column as numbers for JSON; None where undefined (nan)."""
    return [None if math.isnan(value) else value for value in values.tolist()]


def masked_means(values: FloatArray, counted: BoolArray) -> FloatArray:
    """Means of the counted values along the last axis, shape ``(...,)``; nan without counted values."""
    n = counted.sum(axis=-1)
    means: FloatArray = np.where(counted, values, 0.0).sum(axis=-1) / np.where(n > 0, n, np.nan)
    return means


def mean_defined(values: FloatArray | Sequence[float]) -> tuple[float | None, int]:
    """Mean of the values that are not nan (None if all are), and their number."""
    values = np.asarray(values, np.float64)
    defined = values[~np.isnan(values)]
    # fsum is exact, so the order of samples does not matter
    return (math.fsum(defined.tolist()) / len(defined) if len(defined) else None), len(defined)
