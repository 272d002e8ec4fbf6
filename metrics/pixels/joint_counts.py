"""Count how often each combination of the annotators' classes occurs in the pixels of semantic masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..numeric.arrays import BoolArray, IntArray

#: a semantic mask: integers that fit int64; RGB colours packed into integers
ClassMask: TypeAlias = NDArray[Any]

#: up to this many combinations are counted without sorting: codes and their number fit 16 bits
MAX_CODES = 2**16 - 1

#: masks are counted by runs of equal pixels, unless runs are more than this share of the pixels
MAX_RUN_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class JointCounts:
    """Number of pixels of one image with each combination of the values of ``R`` annotators.

    Attributes:
        values: shape ``(T, R)``, the combinations, ascending, each once
        count: shape ``(T,)``, pixels with the combination, ``> 0``
        n_ignored: pixels left out because an annotator gave them an ignored value
    """

    values: IntArray
    count: IntArray
    n_ignored: int


def joint_counts(masks: Sequence[ClassMask], ignore: Sequence[int] = ()) -> JointCounts:
    """Count the combinations of values in one pass over the pixels of all annotators.

    All numbers of semantic masks except boundary agreement follow from these counts.

    Args:
        masks: ``R`` semantic masks of one image, ``(H, W)``, of any integers
        ignore: values that mean "do not judge"; a pixel is left out if any annotator gave it such a value

    Raises:
        ValueError: if there is no mask, or masks are not integers of one shape ``(H, W)``

    Example:
        >>> joint = joint_counts([np.array([[0, 0, 7, 7]]), np.array([[0, 7, 7, 255]])], ignore=[255])
        >>> joint.values.tolist(), joint.count.tolist(), joint.n_ignored
        ([[0, 0], [0, 7], [7, 7]], [1, 1, 1], 1)
    """
    columns, length = _runs([mask.ravel() for mask in _checked(masks)])
    values, count = _count_combinations(columns, length)
    ignored = np.isin(values, np.asarray(ignore, np.int64)).any(axis=1)
    return JointCounts(values[~ignored], count[~ignored], int(count[ignored].sum()))


def ignored_pixels(masks: Sequence[ClassMask], ignore: Sequence[int]) -> BoolArray:
    """Pixels to which any annotator gave an ignored value, shape ``(H, W)``; arguments as in :func:`joint_counts`."""
    masks = _checked(masks)
    ignored = np.zeros(masks[0].shape, np.bool_)
    for mask in masks:
        for value in ignore:
            ignored |= mask == value
    return ignored


def disagreement_map(masks: Sequence[ClassMask], ignore: Sequence[int] = ()) -> NDArray[np.uint8]:
    """Number of annotators who disagree with the majority, for every pixel.

    The majority is the value with the most votes; in a tie, one of the tied values.

    Args:
        masks: ``R`` semantic masks of one image, ``(H, W)``, of any integers; at most 255
        ignore: values that mean "do not judge"

    Returns:
        shape ``(H, W)``, from 0 to ``R - 1``; 0 where any annotator gave an ignored value

    Raises:
        ValueError: as :func:`joint_counts`, and for more than 255 masks

    Example:
        >>> disagreement_map([np.array([[1, 1, 1]]), np.array([[1, 1, 2]]), np.array([[1, 2, 3]])])
        array([[0, 1, 2]], dtype=uint8)
    """
    masks = _checked(masks)
    if len(masks) > 255:
        raise ValueError(f"`masks` must be at most 255, got {len(masks)}")
    votes = np.ones((len(masks), *masks[0].shape), np.uint8)
    for r, mask in enumerate(masks):
        for s in range(r):
            same = mask == masks[s]
            votes[r] += same
            votes[s] += same
    disagreeing: NDArray[np.uint8] = np.uint8(len(masks)) - votes.max(axis=0)
    disagreeing[ignored_pixels(masks, ignore)] = 0
    return disagreeing


def _checked(masks: Sequence[ClassMask]) -> list[ClassMask]:
    arrays = [np.asarray(mask) for mask in masks]
    if not arrays:
        raise ValueError("`masks` must be at least one, got none")
    shapes = {mask.shape: None for mask in arrays}  # in the order of the masks
    if len(shapes) > 1 or arrays[0].ndim != 2:
        raise ValueError(f"`masks` must have one shape (H, W), got {', '.join(map(str, list(shapes)[:5]))}")
    for mask in arrays:
        if not np.can_cast(mask.dtype, np.int64):
            raise ValueError(f"`masks` must be integers that fit int64, got {mask.dtype}")
    return arrays


def _runs(columns: list[ClassMask]) -> tuple[list[ClassMask], IntArray | None]:
    """Merge consecutive pixels that are equal in every column into one row (a run).

    Annotated masks have few runs, which saves nearly all of the counting. Noisy masks are left unchanged.

    Returns:
        the columns, and the number of pixels of every row; None if every row is one pixel
    """
    n = len(columns[0])
    starts = np.ones(n, np.bool_)
    np.not_equal(columns[0][1:], columns[0][:-1], out=starts[1:])
    for column in columns[1:]:
        starts[1:] |= column[1:] != column[:-1]
    if np.count_nonzero(starts) > MAX_RUN_SHARE * n:
        return columns, None
    first = np.flatnonzero(starts)
    return [column[first] for column in columns], np.diff(first, append=n)


def _count_combinations(columns: list[ClassMask], length: IntArray | None) -> tuple[IntArray, IntArray]:
    """Count equal rows.

    Args:
        columns: ``R`` columns ``(N,)``
        length: shape ``(N,)``, pixels of every row; None for one each

    Returns:
        the different rows ``(T, R)``, ascending, and their counts ``(T,)``
    """
    code = np.zeros(len(columns[0]), np.uint16)
    n_codes = 1
    steps: list[tuple[IntArray, IntArray | None]] = []
    for column in columns:
        digit, values = _digits(column, len(columns))
        n_codes *= max(len(values), 1)
        kept = None
        if n_codes <= MAX_CODES:
            code *= np.uint16(len(values))
            np.add(code, digit, out=code, casting="unsafe")
        else:  # only the combinations that occur get a code
            kept, wide = np.unique(code.astype(np.int64) * len(values) + digit, return_inverse=True)
            n_codes = len(kept)
            code = wide.astype(np.uint16 if n_codes <= MAX_CODES else np.int64)
        steps.append((values, kept))
    count = np.bincount(code, weights=length).astype(np.int64)
    row = np.flatnonzero(count)
    count = count[row]
    table = np.empty((len(row), len(columns)), np.int64)
    for r in reversed(range(len(columns))):
        values, kept = steps[r]
        if kept is not None:
            row = kept[row]
        table[:, r] = values[row % max(len(values), 1)]
        row = row // max(len(values), 1)
    return table, count


def _digits(column: ClassMask, n_annotators: int) -> tuple[ClassMask, IntArray]:
    """The values of a column as small codes from 0, and the value of every code, ascending."""
    if not len(column):
        return column, np.zeros(0, np.int64)
    lowest, highest = int(column.min()), int(column.max())
    if lowest < 0 or highest >= MAX_CODES:
        values, digit = np.unique(column, return_inverse=True)
        return digit, values.astype(np.int64)
    if (highest + 1) ** n_annotators <= MAX_CODES:
        return column, np.arange(highest + 1)
    # a table is many times faster than sorting
    used = np.bincount(column) > 0
    digit_of = (np.cumsum(used) - 1).astype(np.uint16)
    return np.take(digit_of, column), np.flatnonzero(used)
