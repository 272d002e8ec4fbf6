"""Numbers of reports as functions of sums over samples: what their intervals, and comparisons of runs, are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ..metrics.arrays import BoolArray, FloatArray, IntArray
from ..metrics.bootstrap.confidence import ROUNDING
from ..metrics.bootstrap.draws import Statistic, values_of
from ..metrics.bootstrap.sparse import SparseColumns, beside, moved
from .pairs import pair_names

#: where a number stands in a report: ``("alpha.pooled",)``, ``("pairs", "alice", "bob", "f1")``
Key: TypeAlias = tuple[str, ...]

#: at most so many pairs of annotators have intervals, those that share the most samples
MAX_PAIRS = 200
#: and no more when so many samples are shared, over all of them
MAX_SHARED = 3_000_000


@dataclass(frozen=True, slots=True)
class SampleSums:
    """Numbers of a report as functions of sums over its ``S`` samples.

    Attributes:
        keys: where each of the ``V`` numbers stands
        columns: shape ``(T, C)``, additive columns of some samples
        statistic: sums ``(..., C)`` to numbers ``(..., V)``, nan where undefined
        samples: shape ``(T,)``, which samples the rows are of, each at most once; None: of all in their order
        basis: shape ``(V,)``, for every number a column that is not 0 in the samples that it is about; None: it is
            about all
    """

    keys: tuple[Key, ...]
    columns: SparseColumns
    statistic: Statistic
    samples: IntArray | None = None
    basis: IntArray | None = None

    def of_all(self, n_samples: int) -> SampleSums:
        """The same with a row for every one of so many samples."""
        if self.samples is None:
            return self
        return replace(self, columns=moved(self.columns, self.samples, n_samples), samples=None)


def differences(a: SampleSums, b: SampleSums, n_samples: int) -> SampleSums:
    """Each number of ``b`` minus that of ``a`` of the same key; row by row both are of the same samples.

    A difference is about the samples that either of its numbers is about.
    """
    places = {key: place for place, key in enumerate(b.keys)}
    keys = tuple(key for key in a.keys if key in places)
    in_a = np.array([place for place, key in enumerate(a.keys) if key in places], np.int64)
    in_b = np.array([places[key] for key in keys], np.int64)
    a, b = a.of_all(n_samples), b.of_all(n_samples)
    n_a, n_b = a.columns.shape[1], b.columns.shape[1]

    def difference(sums: FloatArray) -> FloatArray:
        first, second = values_of(a.statistic, sums[..., :n_a]), values_of(b.statistic, sums[..., n_a : n_a + n_b])
        changed = second[..., in_b] - first[..., in_a]
        size = np.maximum(1.0, np.abs(first[..., in_a]))
        return np.where(np.abs(changed) <= ROUNDING * size, 0.0, changed)

    blocks, basis = [a.columns, b.columns], None
    if a.basis is not None and b.basis is not None:
        of_either = (a.columns[:, a.basis[in_a]] != 0) + (b.columns[:, b.basis[in_b]] != 0)
        blocks.append(of_either.astype(np.float64))
        basis = n_a + n_b + np.arange(len(keys))
    return SampleSums(keys, beside(blocks), difference, basis=basis)


def all_differences(a: Iterable[SampleSums], b: Iterable[SampleSums], n_samples: int) -> Iterator[SampleSums]:
    """The differences of all numbers that both have, wherever these stand in them; see :func:`differences`."""
    every = list(b)
    owner = {key: place for place, sums in enumerate(every) for key in sums.keys}
    for sums in a:
        for place in dict.fromkeys(owner[key] for key in sums.keys if key in owner):
            yield differences(sums, every[place], n_samples)


def ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Quotients; nan where the divisor is 0 or less."""
    defined = below > 0
    return np.where(defined, above / np.where(defined, below, 1.0), np.nan)


def chosen_pairs(assigned: BoolArray, annotators: Sequence[str]) -> IntArray:
    """The pairs of annotators that have intervals, ascending; of pairs that share as many samples, the first by name.

    Args:
        assigned: shape ``(S, R)``
        annotators: their names
    """
    a, b = pair_names(len(annotators))
    place = np.argsort(np.argsort(np.array(annotators, dtype=object), kind="stable"), kind="stable")
    first, second = np.minimum(place[a], place[b]), np.maximum(place[a], place[b])
    n_shared = (assigned.T.astype(np.float64) @ assigned)[a, b].astype(np.int64)
    order = np.lexsort([second, first, -n_shared])[:MAX_PAIRS]
    order = order[np.cumsum(n_shared[order]) <= MAX_SHARED]
    chosen: IntArray = np.sort(order[n_shared[order] > 0])
    return chosen
