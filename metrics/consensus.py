"""What the members of a unit say together: its class, its place, and how far they agree on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray
from .group_medians import medians_by_group
from .matching.partition import TIE

#: a class that nobody leads with
NO_CLASS = 0


@dataclass(frozen=True, slots=True)
class ClassVotes:
    """The class of every unit by vote.

    Attributes:
        category: shape ``(U,)``, the class that most members gave; ``NO_CLASS`` where several lead
        votes: shape ``(U,)``, members who gave it, or each of the leading ones
        tie: shape ``(U,)``, whether several classes lead
    """

    category: IntArray
    votes: IntArray
    tie: BoolArray


def vote_classes(unit: IntArray, category: IntArray, n_units: int) -> ClassVotes:
    """The class that most members of every unit gave; where several lead, none.

    Args:
        unit: shape ``(N,)``, unit ``0 … U - 1`` of every member
        category: shape ``(N,)``, class code of every member, ``> NO_CLASS``
        n_units: number ``U`` of units

    Undefined:
        never; a unit without members has no class, no votes and no tie

    Example:
        >>> votes = vote_classes(np.array([0, 0, 0, 1, 1]), np.array([2, 7, 7, 2, 7]), 2)
        >>> votes.category, votes.votes, votes.tie
        (array([7, 0]), array([2, 1]), array([False,  True]))
    """
    n_codes = int(category.max(initial=NO_CLASS)) + 1
    keys, counts = np.unique(unit * n_codes + category, return_counts=True)
    of_unit, code = np.divmod(keys, n_codes)
    most = np.zeros(n_units, np.int64)
    np.maximum.at(most, of_unit, counts)
    leads = counts == most[of_unit]
    tie = np.bincount(of_unit[leads], minlength=n_units) > 1
    winner = np.full(n_units, NO_CLASS, np.int64)
    winner[of_unit[leads]] = code[leads]
    return ClassVotes(np.where(tie, NO_CLASS, winner), most, tie)


def medoids(unit: IntArray, similarity: FloatArray, n_units: int) -> IntArray:
    """The row of the member of every unit that is nearest to the rest.

    Args:
        unit: shape ``(N,)``, unit ``0 … U - 1`` of every member, each unit at least once
        similarity: shape ``(N,)``, mean similarity of every member to the others of its unit; nan without any, which
            is less than any number
        n_units: number ``U`` of units

    Returns:
        shape ``(U,)``; of members whose similarities differ by at most 1e-9 the first row

    Undefined:
        never

    Raises:
        ValueError: if a unit has no member

    Example:
        >>> medoids(np.array([0, 0, 0, 1]), np.array([0.6, 0.8, 0.8, np.nan]), 2)
        array([1, 3])
    """
    known = np.where(np.isnan(similarity), -1.0, similarity)
    best = np.full(n_units, -np.inf)
    np.maximum.at(best, unit, known)
    if np.isneginf(best).any():
        raise ValueError(f"`unit` must name every unit, got none of {np.flatnonzero(np.isneginf(best))[:5].tolist()}")
    rows = np.flatnonzero(known >= best[unit] - TIE)
    first = np.full(n_units, len(unit))
    np.minimum.at(first, unit[rows], rows)
    return first


def keypoint_medians(unit: IntArray, points_xy: FloatArray, n_units: int) -> FloatArray:
    """Every keypoint of every unit: the median of x and of y over the members who labelled it.

    Args:
        unit: shape ``(N,)``, unit ``0 … U - 1`` of every member
        points_xy: shape ``(N, L, 2)``, nan where a point is not labelled
        n_units: number ``U`` of units

    Returns:
        shape ``(U, L, 2)``

    Undefined:
        nan where less than half of the members labelled the point

    Example:
        >>> points = np.array([[[1, 1], [5, 5.0]], [[3, 1], [np.nan, np.nan]], [[4, 9], [np.nan, np.nan]]])
        >>> keypoint_medians(np.array([0, 0, 0]), points, 1)
        array([[[ 3.,  1.],
                [nan, nan]]])
    """
    n_points = points_xy.shape[1]
    labelled = ~np.isnan(points_xy).any(axis=2)
    member, point = np.nonzero(labelled)
    group = unit[member] * n_points + point
    medians = medians_by_group(group, points_xy[member, point], n_units * n_points).reshape(n_units, n_points, 2)
    n_labelled = np.bincount(group, minlength=n_units * n_points).reshape(n_units, n_points)
    n_members = np.bincount(unit, minlength=n_units)
    return np.where((2 * n_labelled >= n_members[:, None])[..., None], medians, np.nan)


def interval_medians(unit: IntArray, frames: IntArray, n_units: int) -> IntArray:
    """The median of every column of frame numbers over the members of every unit; halves are rounded down.

    Args:
        unit: shape ``(N,)``, unit ``0 … U - 1`` of every member, each unit at least once
        frames: shape ``(N, C)``, such as first and last frames; if one column is never greater than another, its
            medians are not either
        n_units: number ``U`` of units

    Returns:
        shape ``(U, C)``

    Undefined:
        never

    Example:
        >>> interval_medians(np.array([0, 0, 1]), np.array([[1, 4], [4, 8], [7, 7]]), 2)
        array([[2, 6],
               [7, 7]])
    """
    size = np.bincount(unit, minlength=n_units)
    start = np.cumsum(size) - size
    medians = np.empty((n_units, frames.shape[1]), np.int64)
    for column, values in enumerate(frames.T):
        ordered = values[np.lexsort((values, unit))]
        low, high = ordered[start + (size - 1) // 2], ordered[start + size // 2]
        # the mean of two integers without their sum, which may have no room
        medians[:, column] = (low & high) + ((low ^ high) >> 1)
    return medians


def quorum_votes(assigned: IntArray, quorum: float) -> IntArray:
    """The votes that a unit needs: the smallest whole number that is at least the quorum of those assigned, and 1.

    Args:
        assigned: annotators assigned, any shape
        quorum: share of them, in (0, 1]

    Undefined:
        never

    Raises:
        ValueError: if ``quorum`` is not in (0, 1]

    Example:
        >>> quorum_votes(np.array([1, 2, 3, 4, 5]), 0.5)
        array([1, 1, 2, 2, 3])
    """
    if not 0.0 < quorum <= 1.0:
        raise ValueError(f"`quorum` must be in (0, 1], got {quorum!r}")
    # 0.6 times 5 is a bit more than 3
    needed: IntArray = np.maximum(np.ceil(quorum * assigned - TIE).astype(np.int64), 1)
    return needed


def consensus_score(votes: IntArray, assigned: IntArray, mean_iou: FloatArray) -> FloatArray:
    """How much can be said for a unit: share of the assigned annotators who drew it, times their mean IoU.

    Args:
        votes: shape ``(U,)``, members
        assigned: shape ``(U,)``, annotators assigned, at least as many
        mean_iou: shape ``(U,)``, mean IoU of the pairs of members

    Returns:
        shape ``(U,)``, in [0, 1]

    Undefined:
        nan where there is one vote: nobody confirms where the object is

    Example:
        >>> consensus_score(np.array([2, 1]), np.array([4, 4]), np.array([0.8, np.nan]))
        array([0.4, nan])
    """
    return np.where(votes > 1, votes / np.maximum(assigned, 1) * mean_iou, np.nan)
