"""The agreement on some samples as tables, with the columns that several parts of the report need.

A row of *labels* (``objects``), *units*, *pairs* of labels of one unit, *seats* (a sample and an annotator who was
asked) and *meetings* (``sample_pairs``: a sample and two of them): nearly every number is a count over one of them.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...metrics.consensus.consensus import majority_of_others, medians_by_group
from ...metrics.geometry.boxes import box_area
from ...metrics.matching.merging import TIE
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..matching.compute import Agreement
from ..matching.verdicts import NO_VERDICT
from ..settings.annotators import AnnotatorPairs
from ..statistics.codes import MISSING
from ..statistics.report import Describe
from .report import Sample

#: length of lists of worst samples
N_WORST = 5
#: measures of the bias of boxes, in this order
MEASURES = ("size", "left", "top", "right", "bottom")
#: bins of the histograms, from 0 to 1
N_BINS = 20
#: values that are counted together
_VALUES_AT_ONCE = 1 << 20
#: minimum number of other annotators who were asked for a consensus of the others
MIN_OTHERS = 2


@dataclass(frozen=True, slots=True)
class Seats:
    """The ``V`` (sample, annotator who was asked) of some samples."""

    sample: IntArray  #: shape ``(V,)``
    annotator: IntArray  #: shape ``(V,)``
    at: IntArray  #: shape ``(S, R)``, row of every (sample, annotator) among these
    own: IntArray  #: shape ``(N,)``, row of every label

    def count(self, labels: BoolArray) -> IntArray:
        """Number of labels in a mask ``(N,)``, shape ``(V,)``."""
        return np.bincount(self.own[labels], minlength=len(self.sample))

    def count_kinds(self, labels: BoolArray, kind: IntArray, n_kinds: int) -> IntArray:
        """Number of labels in a mask ``(N,)``, by kind, shape ``(n_kinds, V)``."""
        cells = kind[labels] * len(self.sample) + self.own[labels]
        return np.bincount(cells, minlength=n_kinds * len(self.sample)).reshape(n_kinds, -1)

    def sums(self, row: IntArray, values: FloatArray) -> FloatArray:
        """Sums of values by row, shape ``(V,)``."""
        return sums_by(row, values, len(self.sample))


@dataclass(frozen=True, kw_only=True)
class Tables(Agreement):
    """Some samples: ``N`` labels in ``U`` units, ``P`` pairs of labels, ``V`` seats, ``Q`` meetings."""

    n_categories: int  #: number ``K`` of category codes, including *missing*
    size: IntArray  #: shape ``(U,)``, index into ``SIZES``, -1 where unknown
    met: AnnotatorPairs  #: the pairs of annotators of the report

    @classmethod
    def of(cls, agreement: Agreement, n_categories: int, size: IntArray | None, met: AnnotatorPairs | None) -> Tables:
        """The tables of some samples; without sizes, or pairs of annotators, what needs them cannot be asked."""
        no_size = np.full(len(agreement.units.sample), -1) if size is None else size
        known = {name: value for name, value in vars(agreement).items() if name in Agreement.__dataclass_fields__}
        pairs = AnnotatorPairs.of(agreement.assigned) if met is None else met
        return cls(**known, n_categories=n_categories, size=no_size, met=pairs)

    @cached_property
    def seats(self) -> Seats:
        at = (np.cumsum(self.assigned) - 1).reshape(self.assigned.shape)
        sample, annotator = np.nonzero(self.assigned)
        return Seats(sample, annotator, at, at[self.objects.sample, self.objects.annotator])

    @cached_property
    def rated_unit(self) -> BoolArray:
        """Units of samples that are rated, shape ``(U,)``."""
        rated: BoolArray = self.units.verdict != NO_VERDICT
        return rated

    @cached_property
    def n_same(self) -> IntArray:
        """Members of the label's unit with its class, itself included, shape ``(N,)``."""
        same = self.pairs.same_class
        ends = np.concatenate([self.pairs.i[same], self.pairs.j[same]])
        return 1 + np.bincount(ends, minlength=len(self.objects))

    @cached_property
    def pair_sample(self) -> IntArray:
        """Sample of every pair of labels, shape ``(P,)``."""
        return self.objects.sample[self.pairs.i]

    @cached_property
    def pair_met(self) -> IntArray:
        """Pair of annotators of every pair of labels, shape ``(P,)``."""
        return self.met.rows(self.objects.annotator[self.pairs.i], self.objects.annotator[self.pairs.j])

    @cached_property
    def pair_ends(self) -> IntArray:
        """First, then second labels of the pairs, shape ``(2 P,)``."""
        return np.concatenate([self.pairs.i, self.pairs.j])

    @cached_property
    def meeting_met(self) -> IntArray:
        """Pair of annotators of every meeting, shape ``(Q,)``."""
        return self.met.rows(self.sample_pairs.a, self.sample_pairs.b)

    @cached_property
    def label_area(self) -> FloatArray:
        """Total area of the labels of every sample, shape ``(S,)``, for ties."""
        return sums_by(self.objects.sample, self.area, self.n_samples)

    @cached_property
    def lead(self) -> IntArray:
        """Class of more than half of the labels of every unit of a rated sample, shape ``(U,)``; -1 without."""
        ratings = self.ratings
        drawn = ratings.category != MISSING  # the others may be of images without any label
        unit, category, count = ratings.unit[drawn], ratings.category[drawn], ratings.count[drawn]
        leads = self.rated_unit[unit] & (2 * count > self.units.votes[unit])
        lead = np.full(len(self.units.votes), -1)
        lead[unit[leads]] = category[leads]
        return lead

    @cached_property
    def others_class(self) -> FloatArray:
        """The class that more than half of the others who drew an object gave it, shape ``(N,)``; nan without.

        At least two of them: otherwise nobody can tell who of two is right. With two annotators in all, that of the
        other.
        """
        at_least = MIN_OTHERS if self.n_annotators > MIN_OTHERS else 1
        return majority_of_others(self.unit, self.objects.category, self.n_same, len(self.units.votes), at_least)

    @cached_property
    def offsets(self) -> tuple[IntArray, FloatArray]:
        """Offsets of boxes from the median box of their unit, over units with at least two members.

        Returns:
            rows of the labels ``(M,)`` in units whose median box has a width and height, and their offsets in per cent,
            shape ``(M, 5)``, in the order of ``MEASURES``
        """
        if self.boxes_xyxy is None:
            return np.empty(0, np.int64), np.empty((0, len(MEASURES)))
        rows = np.flatnonzero(self.units.votes[self.unit] >= 2)
        own, unit = self.boxes_xyxy[rows], self.unit[rows]
        median = medians_by_group(unit, own, len(self.units.votes))[unit]
        sides = median[:, [2, 3, 2, 3]] - median[:, [0, 1, 0, 1]]
        kept = (sides > 0).all(axis=1)  # False for nan
        own, median, sides = own[kept], median[kept], sides[kept]
        size = np.sqrt(box_area(own) / box_area(median)) - 1.0
        return rows[kept], 100.0 * np.column_stack([size, (own - median) / sides])


class Rest:
    """What a report says of its samples besides numbers, from consecutive blocks of them.

    Three kinds of arrays by name: rows, which are joined; counts of codes, and moments, which are added.
    """

    def __init__(self) -> None:
        self._rows: dict[str, list[NDArray[Any]]] = defaultdict(list)
        self._counts: dict[str, list[IntArray]] = defaultdict(list)
        self._moments: dict[str, FloatArray] = {}

    def add(self, found: Mapping[str, NDArray[Any]]) -> None:
        """Add rows of the next samples."""
        for name, rows in found.items():
            self._rows[name].append(rows)

    def add_counts(self, found: Mapping[str, IntArray]) -> None:
        """Add counts, see :func:`count_codes`; equally many are counted together, so that each is sorted seldom."""
        for name, counts in found.items():
            parts = self._counts[name]
            parts.append(counts)
            while len(parts) > 1 and parts[-2].shape[1] <= 2 * parts[-1].shape[1]:
                parts[-2:] = [_counts_together(parts[-2:])]

    def add_moments(self, found: Mapping[str, FloatArray]) -> None:
        """Add moments, see :func:`moments`."""
        for name, new in found.items():
            old = self._moments.get(name, np.zeros_like(new))
            n = old[0] + new[0]
            share, distance = new[0] / np.maximum(n, 1), new[1] - old[1]
            spread = old[2] + new[2] + distance**2 * old[0] * share
            self._moments[name] = np.stack([n, old[1] + distance * share, spread])

    def rows(self, name: str) -> NDArray[Any]:
        """Rows of all samples."""
        return np.concatenate(self._rows[name])

    def counts(self, name: str) -> IntArray:
        """Counts over all samples, as :func:`count_codes` gives them."""
        return _counts_together(self._counts[name])

    def moments(self, name: str) -> FloatArray:
        """Moments over all samples, as :func:`moments` gives them."""
        return self._moments[name]


def count_codes(*columns: IntArray, times: IntArray | None = None) -> IntArray:
    """The different rows of ``k`` columns of codes ``>= 0``, ascending, with how often each occurs: ``(k + 1, T)``.

    Args:
        times: shape ``(N,)``, how many rows every row stands for; None: one
    """
    shape = [int(column.max(initial=0)) + 1 for column in columns]
    if np.prod(shape, dtype=np.float64) >= 2.0**62:  # values of attributes
        different, place = np.unique(np.stack(columns), axis=1, return_inverse=True)
        n = np.bincount(place.ravel(), times, minlength=different.shape[1])
        return np.vstack([different, n.astype(np.int64)])
    key = np.ravel_multi_index(columns, shape)
    if times is None:
        cells, n = np.unique(key, return_counts=True)
    else:
        cells, place = np.unique(key, return_inverse=True)
        n = np.bincount(place, times, minlength=len(cells)).astype(np.int64)
    return np.vstack([*np.unravel_index(cells, shape), n])


def _counts_together(parts: list[IntArray]) -> IntArray:
    if len(parts) == 1:
        return parts[0]
    *columns, times = np.hstack(parts)
    return count_codes(*columns, times=times)


def moments(row: IntArray, values: FloatArray, n_rows: int) -> FloatArray:
    """Number, mean and sum of squared deviations of the values of every row, ``(3, n_rows)``; mean 0 without one.

    References:
        T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample
        variances", 1979 (how :meth:`Rest.add_moments` adds them)
    """
    n = np.bincount(row, minlength=n_rows)
    mean = sums_by(row, values, n_rows) / np.maximum(n, 1)
    return np.stack([n, mean, sums_by(row, (values - mean[row]) ** 2, n_rows)])


def described_worst(
    value: FloatArray, weight: FloatArray, area: FloatArray, describe: Describe, sign: float = 1.0
) -> list[Sample]:
    """The samples with the lowest values, without nan; ties go to the larger weight, then to the larger area.

    Args:
        value: shape ``(S,)``
        weight: shape ``(S,)``, number of labels, or pairs of labels, behind the value
        area: shape ``(S,)``, total area of the labels
        sign: -1 where values have the opposite sign
    """
    order = np.lexsort((np.arange(len(value)), -area, -weight, value))[:N_WORST]  # nan comes last
    rows = order[~np.isnan(value[order])]
    found = zip(describe(rows.tolist()), (sign * value[rows]).tolist(), strict=True)
    return [{**entry, "value": number} for entry, number in found]


def mean(values: FloatArray) -> float | None:
    """The mean; None without a value."""
    return float(values.sum()) / len(values) if len(values) else None


def distribution(iou: FloatArray) -> dict[str, Any]:
    """Median and histogram of IoU, by name; None, and no histogram, without pairs of labels."""
    return {"median_iou": median(iou), "iou_histogram": histogram(iou) if len(iou) else []}


def median(values: FloatArray) -> float | None:
    """The median; None without a value."""
    if not len(values):
        return None
    places = [(len(values) - 1) // 2, len(values) // 2]  # the array may be large
    return float(np.partition(values, places)[places].mean())


def histogram(values: FloatArray) -> list[int]:
    """Number of values in [0, 1] in each bin of 0.05; values on an edge (within ``TIE``) are in the upper bin."""
    counts = np.zeros(N_BINS, np.int64)
    for start in range(0, len(values), _VALUES_AT_ONCE):
        some = values[start : start + _VALUES_AT_ONCE]
        place = np.minimum(((some + TIE) * N_BINS).astype(np.int64), N_BINS - 1)
        counts += np.bincount(place, minlength=N_BINS)
    found: list[int] = counts.tolist()
    return found


def rows_by_code(code: IntArray, n: int) -> Iterator[IntArray]:
    """Rows with every code ``0 … n - 1``, in turn."""
    order = np.argsort(code, kind="stable")
    ends = np.searchsorted(code[order], np.arange(n + 1)).tolist()
    for first, last in itertools.pairwise(ends):
        yield order[first:last]
