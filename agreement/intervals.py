"""Confidence intervals of the numbers of a report: samples are resampled, and what was found in them stays.

A number is a function of sums over samples of columns that add up (see :mod:`..metrics.resampling`). Every resample
draws whole samples of those that at least two annotators were assigned to, or whole videos or groups of these; all
numbers of a report are resampled alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..metrics.arrays import IntArray
from ..metrics.bootstrap.confidence import FEW_SAMPLES, ConfidenceIntervals
from ..metrics.bootstrap.draws import Part, values_of
from ..metrics.bootstrap.resampling import Resampling, bootstrap_parts
from .report import Interval, number
from .sample_sums import Key, SampleSums

#: numbers are resampled together as long as their columns take less than this; the draws are the same
BYTES_AT_ONCE = 2**25


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval, None where it has none."""

    value: float
    interval: Interval | None


def estimates(sums: Iterable[SampleSums], ranks: IntArray, *, resamples: int, seed: int) -> dict[Key, Estimate]:
    """All numbers with their intervals.

    Numbers that are about some of the samples only have an interval if these are at least ``FEW_SAMPLES``. Resamples in
    which a number is undefined are left out; it has no interval where that is most of them, or where leaving out a
    single sample makes it undefined.

    Args:
        sums: the numbers
        ranks: shape ``(S,)``, number of every sample, or of its video or group; what has one number is resampled as
            a whole. See :func:`~.content_order.content_ranks`
        resamples: how many; 0 for no intervals
        seed: of the random numbers
    """
    total: dict[Key, Estimate] = {}
    waiting: list[SampleSums] = []
    n_bytes = 0
    for each in sums:
        waiting.append(each)
        n_bytes += each.columns.data.nbytes + each.columns.indices.nbytes
        if n_bytes > BYTES_AT_ONCE:
            total |= _estimates(waiting, ranks, resamples, seed)
            waiting, n_bytes = [], 0
    return total | _estimates(waiting, ranks, resamples, seed)


def _estimates(sums: Sequence[SampleSums], ranks: IntArray, resamples: int, seed: int) -> dict[Key, Estimate]:
    n_drawn = int(ranks.max(initial=-1)) + 1
    alone = n_drawn == len(ranks)
    total: dict[Key, Estimate] = {}
    resampled: list[tuple[SampleSums, IntArray]] = []
    for each in sums:
        n = _samples_about(each, ranks, n_drawn)
        values = values_of(each.statistic, np.asarray(each.columns.sum(axis=0), np.float64))
        total |= {key: Estimate(value, None) for key, value in zip(each.keys, values.tolist(), strict=True)}
        if resamples and (n >= _least(each)).any():
            resampled.append((each, n))
    parts = [
        Part(each.columns, each.statistic, _of_rows(ranks, each.samples) if alone else each.samples)
        for each, _ in resampled
    ]
    resampling = Resampling(max(resamples, 1), seed, clusters=None if alone else ranks)
    for (each, n), intervals in zip(resampled, bootstrap_parts(parts, len(ranks), resampling), strict=True):
        for place, key in enumerate(each.keys):
            if n[place] >= _least(each):
                total[key] = replace(total[key], interval=_interval(intervals, place, int(n[place])))
    return total


def _least(sums: SampleSums) -> int:
    """Fewest samples that give an interval."""
    return 2 if sums.basis is None else FEW_SAMPLES


def _of_rows(ranks: IntArray, samples: IntArray | None) -> IntArray:
    return ranks if samples is None else ranks[samples]


def _samples_about(sums: SampleSums, ranks: IntArray, n_drawn: int) -> IntArray:
    """How many samples (videos, groups) every number is about, shape ``(V,)``."""
    if sums.basis is None:
        return np.full(len(sums.keys), n_drawn)
    if n_drawn == len(ranks):
        given = sums.columns.data != 0
        n_given: IntArray = np.bincount(sums.columns.indices[given], minlength=sums.columns.shape[1])[sums.basis]
        return n_given
    columns = sums.columns[:, sums.basis].tocoo()
    given = columns.data != 0
    n_values = len(sums.keys)
    drawn = _of_rows(ranks, sums.samples)[columns.row[given]]
    once = np.unique(drawn * n_values + columns.col[given])
    return np.bincount(once % n_values, minlength=n_values)


def _interval(intervals: ConfidenceIntervals, place: int, n: int) -> Interval | None:
    """The interval of one value; None where it is undefined."""
    if np.isnan(intervals.percentile_low[place]):
        return None
    return Interval(
        low=number(intervals.percentile_low[place]),
        high=number(intervals.percentile_high[place]),
        bca_low=number(intervals.bca_low[place]),
        bca_high=number(intervals.bca_high[place]),
        error=number(intervals.standard_error[place]),
        jackknife_error=number(intervals.jackknife_error[place]),
        n=n,
    )


def by_owner(found: Mapping[Key, Estimate]) -> dict[Key, dict[str, Interval]]:
    """The intervals of everything that has any, by name; those of the report itself under the empty key."""
    intervals: dict[Key, dict[str, Interval]] = defaultdict(dict)
    for key, each in found.items():
        if each.interval is not None:
            intervals[key[:-1]][key[-1]] = each.interval
    return intervals
