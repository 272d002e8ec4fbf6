"""How often the values of semantic masks meet, in any number of samples: what most numbers follow from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...metrics.arrays import BoolArray, FloatArray, IntArray
from ...metrics.pixel_classes import JointCounts

#: numbers of the boundaries of a pair of masks
BOUNDARY_NUMBERS = ("boundary_iou", "surface_dice", "hd95")

#: entries of a table of samples, pairs of annotators and values
_ENTRIES_AT_ONCE = 500_000


@dataclass(frozen=True, slots=True)
class SampleMasks:
    """The masks of one sample with at least two annotators, counted.

    Attributes:
        annotators: ``M`` indices, ascending: whose masks were compared
        joint: combinations of their values
        values: shape ``(K,)``, values that anybody used, ascending
        code: shape ``(T, M)``, position in these of the values of every combination
        boundaries: shape ``(P, 3)``, the boundary numbers of every pair of them, in the order (0, 1), (0, 2) …
            (M - 2, M - 1), nan where undefined; None if they were not asked for
    """

    annotators: tuple[int, ...]
    joint: JointCounts
    values: IntArray
    code: IntArray
    boundaries: FloatArray | None


@dataclass(frozen=True, slots=True)
class MaskCounts:
    """The masks of ``S`` samples, counted; all columns in the order of the samples, which are rated if two have a mask.

    Attributes:
        assigned: shape ``(S, R)``, who has a mask that was compared
        n_values: shape ``(S,)``, different values of every sample
        n_combinations: shape ``(S,)``, different combinations of values
        n_ignored: shape ``(S,)``, pixels left out because somebody gave them an ignored value
        values: shape ``(V,)``, the values, ascending in every sample
        count: shape ``(T,)``, pixels with every combination
        code: shape ``(C,)``, combination by combination the positions of its values in those of the sample
        boundaries: shape ``(Q, 3)``, boundary numbers of the pairs of annotators of every sample; else None
    """

    assigned: BoolArray
    n_values: IntArray
    n_combinations: IntArray
    n_ignored: IntArray
    values: IntArray
    count: IntArray
    code: IntArray
    boundaries: FloatArray | None

    @classmethod
    def of(cls, samples: Sequence[SampleMasks | None], assigned: BoolArray) -> MaskCounts:
        """The counts of samples; None where fewer than two have a mask."""
        rated = [sample for sample in samples if sample is not None]
        n_values, n_combinations, n_ignored = np.zeros((3, len(samples)), np.int64)
        rows = [k for k, sample in enumerate(samples) if sample is not None]
        n_values[rows] = [len(sample.values) for sample in rated]
        n_combinations[rows] = [len(sample.joint.count) for sample in rated]
        n_ignored[rows] = [sample.joint.n_ignored for sample in rated]
        boundaries = [sample.boundaries for sample in rated if sample.boundaries is not None]
        none = np.empty(0, np.int64)
        return cls(
            assigned=assigned,
            n_values=n_values,
            n_combinations=n_combinations,
            n_ignored=n_ignored,
            values=np.concatenate([none, *(sample.values for sample in rated)]),
            count=np.concatenate([none, *(sample.joint.count for sample in rated)]),
            code=np.concatenate([none, *(sample.code.ravel() for sample in rated)]),
            boundaries=np.concatenate(boundaries) if boundaries else None,
        )

    @property
    def n_masks(self) -> IntArray:
        """Masks that were compared in every sample, shape ``(S,)``."""
        n = self.assigned.sum(axis=1)
        return np.where(n >= 2, n, 0)

    @property
    def n_pairs(self) -> IntArray:
        """Pairs of annotators of every sample, shape ``(S,)``."""
        n = self.n_masks
        pairs: IntArray = n * (n - 1) // 2
        return pairs

    def tables(self) -> Iterator[MaskTable]:
        """The rated samples, some of equally many masks at a time."""
        n_masks, n_pairs = self.n_masks, self.n_pairs
        of_combination = np.repeat(np.arange(len(n_masks)), self.n_combinations)
        of_code = np.repeat(np.arange(len(n_masks)), self.n_combinations * n_masks)
        of_value = np.repeat(np.arange(len(n_masks)), self.n_values)
        for m in np.unique(n_masks[n_masks > 0]).tolist():
            samples = np.flatnonzero(n_masks == m)
            width = max(1, int(self.n_values[samples].max()))
            at_once = max(1, _ENTRIES_AT_ONCE // (width * m * (m - 1) // 2))
            for start in range(0, len(samples), at_once):
                chosen = samples[start : start + at_once]
                place = np.full(len(n_masks), -1)
                place[chosen] = np.arange(len(chosen))
                rows = place[of_combination] >= 0
                yield MaskTable(
                    samples=chosen,
                    members=np.nonzero(self.assigned[chosen])[1].reshape(-1, m),
                    n_values=self.n_values[chosen],
                    values=self.values[place[of_value] >= 0],
                    sample=place[of_combination[rows]],
                    code=self.code[place[of_code] >= 0].reshape(-1, m),
                    count=self.count[rows],
                    sample_pair=(np.cumsum(n_pairs) - n_pairs)[chosen],
                )


@dataclass(frozen=True, slots=True)
class MaskTable:
    """``B`` samples with masks of ``M`` annotators each, as tables over their ``K`` values (``K``: of most).

    Attributes:
        samples: shape ``(B,)``, the samples
        members: shape ``(B, M)``, their annotators, ascending
        n_values: shape ``(B,)``
        values: shape ``(V,)``, the values of all of them
        sample: shape ``(T,)``, row of the sample of every combination
        code: shape ``(T, M)``, position of every value in those of the sample
        count: shape ``(T,)``, pixels
        sample_pair: shape ``(B,)``, first of the rows of the sample among those of all pairs of annotators on samples
    """

    samples: IntArray
    members: IntArray
    n_values: IntArray
    values: IntArray
    sample: IntArray
    code: IntArray
    count: IntArray
    sample_pair: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """``(B, K)``."""
        return len(self.samples), int(self.n_values.max(initial=0))

    @property
    def is_value(self) -> BoolArray:
        """The entries of a table that stand for a value, shape ``(B, K)``."""
        present: BoolArray = np.arange(self.shape[1]) < self.n_values[:, None]
        return present

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """What is known of every value, shape ``(V,)``, as a table ``(B, K)``; elsewhere 0."""
        table = np.zeros(self.shape, values.dtype)
        table[self.is_value] = values
        return table

    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of members, in the order of the rows of a sample."""
        return list(combinations(range(self.members.shape[1]), 2))

    def areas(self) -> IntArray:
        """Pixels of every value in every mask, shape ``(M, B, K)``."""
        return np.stack([self._pixels(column, self.count, self.sample) for column in self.code.T])

    def shared(self) -> IntArray:
        """Pixels of every value in both masks of every pair, shape ``(P, B, K)``."""
        same = [self.code[:, a] == self.code[:, b] for a, b in self.pairs()]
        return np.stack(
            [
                self._pixels(self.code[rows, a], self.count[rows], self.sample[rows])
                for rows, (a, _) in zip(same, self.pairs(), strict=True)
            ]
        )

    def _pixels(self, code: IntArray, count: IntArray, sample: IntArray) -> IntArray:
        n_samples, n_values = self.shape
        pixels = np.bincount(sample * n_values + code, weights=count, minlength=n_samples * n_values)
        return pixels.astype(np.int64).reshape(self.shape)
