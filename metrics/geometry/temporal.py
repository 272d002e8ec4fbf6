"""Overlap of intervals of frames, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray, sums_by
from .objects import Objects, Overlaps, find_overlaps
from .overlaps import iou_from_areas


def check_intervals(first: IntArray, last: IntArray, suffix: str = "") -> tuple[IntArray, IntArray]:
    """Return the first and last frames as int64; ``suffix`` ends the names of the arguments.

    Raises:
        ValueError: if the arrays are not two columns of integers of one length, or an interval ends before its start
    """
    columns = []
    for name, values in (("first", first), ("last", last)):
        column = np.asarray(values)
        if column.ndim != 1:
            raise ValueError(f"`{name}{suffix}` must have the shape (N,), got {column.shape}")
        if len(column) and column.dtype.kind not in "iu":
            raise ValueError(f"`{name}{suffix}` must be integers, got {column.dtype}")
        columns.append(column.astype(np.int64, copy=False))
    start, end = columns
    if len(start) != len(end):
        raise ValueError(
            f"`first{suffix}` and `last{suffix}` must have the same length, got {len(start)} and {len(end)}"
        )
    reversed_rows = np.flatnonzero(end < start)
    if len(reversed_rows):
        row = reversed_rows[0]
        raise ValueError(f"`last{suffix}` must be >= `first{suffix}`, got [{start[row]}, {end[row]}]")
    return start, end


def interval_length(first: IntArray, last: IntArray) -> FloatArray:
    """Frames in the closed intervals ``[first, last]``, at least 1; never undefined.

    Raises:
        ValueError: as :func:`interval_iou`
    """
    return _length(*check_intervals(first, last))


def _length(start: IntArray, end: IntArray) -> FloatArray:
    # unsigned, in which the difference of any two numbers has room
    return (end.astype(np.uint64) - start.astype(np.uint64)).astype(np.float64) + 1.0


def _shared(start_a: IntArray, end_a: IntArray, start_b: IntArray, end_b: IntArray) -> FloatArray:
    start, end = np.maximum(start_a, start_b), np.minimum(end_a, end_b)
    return np.where(start <= end, _length(start, end), 0.0)


def _check_pairs(
    first_a: IntArray, last_a: IntArray, first_b: IntArray, last_b: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    a, b = check_intervals(first_a, last_a, "_a"), check_intervals(first_b, last_b, "_b")
    if len(a[0]) != len(b[0]):
        raise ValueError(f"`first_a` and `first_b` must have the same length, got {len(a[0])} and {len(b[0])}")
    return *a, *b


def interval_intersection(first_a: IntArray, last_a: IntArray, first_b: IntArray, last_b: IntArray) -> FloatArray:
    """Frames that row ``p`` of one annotator's intervals shares with row ``p`` of the other's, shape ``(P,)``.

    Arguments as in :func:`interval_iou`; 0 where the intervals do not meet; never undefined.
    """
    return _shared(*_check_pairs(first_a, last_a, first_b, last_b))


def interval_iou(first_a: IntArray, last_a: IntArray, first_b: IntArray, last_b: IntArray) -> FloatArray:
    """Intersection over union of closed intervals of frames, row by row.

    Both ends belong to an interval, as in FiftyOne's ``TemporalDetection.support``: ``[3, 3]`` is one frame long, and
    ``[1, 3]`` and ``[3, 5]`` share one frame of five. Symmetric.

    Args:
        first_a: shape ``(P,)``, first frames of one annotator's intervals, integers
        last_a: shape ``(P,)``, last frames, at least ``first_a``
        first_b: shape ``(P,)``, first frames of the other annotator's intervals
        last_b: shape ``(P,)``, last frames, at least ``first_b``

    Returns:
        shape ``(P,)``, in [0, 1]

    Undefined:
        never: no interval is empty

    Raises:
        ValueError: if lengths differ, values are no integers, or an interval ends before its start

    Example:
        >>> interval_iou(np.array([1]), np.array([3]), np.array([3]), np.array([5]))
        array([0.2])
    """
    frames = _check_pairs(first_a, last_a, first_b, last_b)
    return iou_from_areas(_shared(*frames), _length(*frames[:2]), _length(*frames[2:]))


@dataclass(frozen=True, slots=True)
class Intervals:
    """Closed intervals of frames, as a geometry that can be matched: the area of an object is its number of frames.

    Attributes:
        first: shape ``(N,)``, first frame of every object
        last: shape ``(N,)``, last frame, which belongs to the object; at least ``first``
    """

    first: IntArray
    last: IntArray

    def __post_init__(self) -> None:
        check_intervals(self.first, self.last)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def area(self) -> FloatArray:
        """Number of frames of every interval."""
        return _length(self.first, self.last)

    def boxes_xyxy(self) -> None:
        """None: an interval has no place in an image."""

    def take(self, rows: IntArray | BoolArray) -> Intervals:
        """Some of the intervals, by index or mask."""
        return Intervals(self.first[rows], self.last[rows])

    def joined(self, others: Sequence[Intervals]) -> Intervals:
        """These intervals, followed by others."""
        parts = [self, *others]
        return Intervals(np.concatenate([part.first for part in parts]), np.concatenate([part.last for part in parts]))

    def overlaps(self, objects: Objects) -> Overlaps:
        """The pairs of intervals of different annotators on the same sample that share a frame.

        Raises:
            ValueError: if there are not as many objects as intervals
        """
        if len(objects) != len(self):
            raise ValueError(f"`objects` must have the length {len(self)}, got {len(objects)}")
        return find_overlaps(objects, self.area, self.intersection_of)

    def intersection_of(self, i: IntArray, j: IntArray) -> FloatArray:
        """Frames shared by the intervals of two index columns."""
        return _shared(self.first[i], self.last[i], self.first[j], self.last[j])

    def union_area(self, rows: IntArray, group: IntArray, n_groups: int) -> FloatArray:
        """Frames that the intervals of every group cover together."""
        if not len(rows):
            return np.zeros(n_groups)
        order = np.lexsort((self.first[rows], group))
        group, first, last = group[order], self.first[rows][order], self.last[rows][order]
        frames, rank = np.unique(last, return_inverse=True)
        # the greatest last frame of the group so far, which belongs to the rows above
        covered = frames[np.maximum.accumulate(group * len(frames) + rank.reshape(-1)) % len(frames)]
        same_group = group[1:] == group[:-1]
        start = np.r_[first[:1], np.where(same_group & (covered[:-1] >= first[1:]), covered[:-1] + 1, first[1:])]
        new = np.r_[True, ~same_group | (last[1:] > covered[:-1])]
        return sums_by(group[new], _length(start[new], last[new]), n_groups)
