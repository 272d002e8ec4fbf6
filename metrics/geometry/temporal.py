"""Temporal intervals (closed, in frames) as objects that can be matched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..numeric.arrays import BoolArray, FloatArray, IntArray, concatenated, sums_by
from .objects import Geometry, Objects, Overlaps, find_overlaps


def _length(start: IntArray, end: IntArray) -> FloatArray:
    # unsigned: the difference of two int64 numbers may overflow int64
    return (end.astype(np.uint64) - start.astype(np.uint64)).astype(np.float64) + 1.0


@dataclass(frozen=True, slots=True)
class Intervals(Geometry):
    """Closed intervals of frames, as a geometry that can be matched; the area is the number of frames.

    Both ends belong to an interval, as in FiftyOne's ``TemporalDetection.support``: ``[3, 3]`` is one frame long, and
    ``[1, 3]`` and ``[3, 5]`` share one frame of five.

    Attributes:
        first: shape ``(N,)``, first frame of every object
        last: shape ``(N,)``, last frame (included), ``>= first``

    Raises:
        ValueError: if the columns are not integers of one length, or an interval ends before its start

    Example:
        >>> spans = Intervals(np.array([1, 3]), np.array([3, 5]))
        >>> spans.area, spans.intersection_of(np.array([0]), np.array([1]))
        (array([3., 3.]), array([1.]))
    """

    is_quick: ClassVar[bool] = True

    first: IntArray
    last: IntArray

    def __post_init__(self) -> None:
        for name, column in (("first", self.first), ("last", self.last)):
            if column.ndim != 1:
                raise ValueError(f"`{name}` must have the shape (N,), got {column.shape}")
            if len(column) and column.dtype.kind not in "iu":
                raise ValueError(f"`{name}` must be integers, got {column.dtype}")
        if len(self.first) != len(self.last):
            raise ValueError(
                f"`first` and `last` must have the same length, got {len(self.first)} and {len(self.last)}"
            )
        backwards = np.flatnonzero(self.last < self.first)
        if len(backwards):
            row = backwards[0]
            raise ValueError(f"`last` must be >= `first`, got [{self.first[row]}, {self.last[row]}]")

    def __len__(self) -> int:
        return len(self.first)

    @property
    def area(self) -> FloatArray:
        return _length(self.first, self.last)

    def places(self) -> dict[str, FloatArray]:
        """The first frames; last frames follow from the areas, which are numbers of frames."""
        return {"first": self.first.astype(np.float64)}

    def boxes_xyxy(self) -> None:
        """None: an interval has no place in an image."""

    def take(self, rows: IntArray | BoolArray) -> Intervals:
        return Intervals(self.first[rows], self.last[rows])

    def joined(self, others: Sequence[Intervals]) -> Intervals:
        return Intervals(**concatenated([self, *others], "first", "last"))

    def overlaps(self, objects: Objects) -> Overlaps:
        """The pairs of intervals of different annotators on the same sample that share a frame.

        Raises:
            ValueError: if there are not as many objects as intervals
        """
        if len(objects) != len(self):
            raise ValueError(f"`objects` must have the length {len(self)}, got {len(objects)}")
        start = np.nextafter(self.first.astype(np.float64), -np.inf)
        end = np.nextafter(self.last + 1.0, np.inf)
        bounds = np.column_stack([start, np.zeros(len(self)), end, np.ones(len(self))])
        return find_overlaps(objects, self.area, self.intersection_of, bounds)

    def intersection_of(self, i: IntArray, j: IntArray) -> FloatArray:
        start, end = np.maximum(self.first[i], self.first[j]), np.minimum(self.last[i], self.last[j])
        return np.where(start <= end, _length(start, end), 0.0)

    def union_area(self, rows: IntArray, group: IntArray, n_groups: int) -> FloatArray:
        if not len(rows):
            return np.zeros(n_groups)
        order = np.lexsort((self.first[rows], group))
        group, first, last = group[order], self.first[rows][order], self.last[rows][order]
        frames, rank = np.unique(last, return_inverse=True)
        # the greatest last frame of the rows above in the group
        covered = frames[np.maximum.accumulate(group * len(frames) + rank.reshape(-1)) % len(frames)]
        same_group = group[1:] == group[:-1]
        start = np.r_[first[:1], np.where(same_group & (covered[:-1] >= first[1:]), covered[:-1] + 1, first[1:])]
        new = np.r_[True, ~same_group | (last[1:] > covered[:-1])]
        return sums_by(group[new], _length(start[new], last[new]), n_groups)
