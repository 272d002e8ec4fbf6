"""Consensus of the annotators on every unit: class by vote, median position, majority pixels, score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..alpha.nominal import unit_disagreement
from ..alpha.rated import check_ratings, count_ratings
from ..geometry.masks import MaskCrops
from ..matching.merging import TIE
from ..numeric.arrays import BoolArray, FloatArray, IntArray, sums_by

#: class of a unit where several classes tie for the most votes
NO_CLASS = 0


@dataclass(frozen=True, slots=True)
class Votes:
    """The votes on every unit, as columns.

    Attributes:
        n_ratings: shape ``(U,)``, annotators who rated the unit
        agreement: shape ``(U,)``, share of the pairs of annotators who agree, in [0, 1]
        majority: shape ``(U,)``, code with the most votes
        entropy_bits: shape ``(U,)``, entropy of the distribution of codes, from 0 (all agree) to ``log2 R``

    Undefined:
        ``agreement`` is nan with fewer than two ratings; ``majority`` without ratings, and where codes tie for the
        most votes; ``entropy_bits`` without ratings
    """

    n_ratings: IntArray
    agreement: FloatArray
    majority: FloatArray
    entropy_bits: FloatArray


def unit_votes(ratings: FloatArray) -> Votes:
    """Count the votes on every unit.

    Args:
        ratings: shape ``(U, R)``, category codes, nan where an annotator did not rate a unit

    Undefined:
        as :class:`Votes`

    Raises:
        ValueError: if the table does not have two dimensions, or has an infinite value

    Example:
        >>> unit_votes(np.array([[7, 7, 7], [7, 5, 7], [5, 7, np.nan]])).majority
        array([ 7.,  7., nan])
    """
    table = check_ratings(ratings)
    codes = np.unique(table[~np.isnan(table)])
    counts = count_ratings(table, codes)
    m, differing = unit_disagreement(counts.unit, counts.count, counts.n_units)
    several = m >= 2
    agreement = np.full(counts.n_units, np.nan)
    agreement[several] = 1.0 - differing[several] / (m[several] * (m[several] - 1))

    majority = np.full(counts.n_units, np.nan)
    if len(counts.unit):
        most = np.zeros(counts.n_units, np.int64)
        np.maximum.at(most, counts.unit, counts.count)
        leads = counts.count == most[counts.unit]
        alone = leads & (np.bincount(counts.unit[leads], minlength=counts.n_units) == 1)[counts.unit]
        majority[counts.unit[alone]] = codes[counts.category[alone]]

    share = counts.count / m[counts.unit]
    entropy = sums_by(counts.unit, -share * np.log2(share), counts.n_units)
    return Votes(m, agreement, majority, np.where(m > 0, entropy, np.nan))


@dataclass(frozen=True, slots=True)
class ClassVotes:
    """The class of every unit by vote."""

    category: IntArray  #: shape ``(U,)``, the class with the most votes; ``NO_CLASS`` where several classes tie
    votes: IntArray  #: shape ``(U,)``, votes of that class (of each of them in a tie)
    tie: BoolArray  #: shape ``(U,)``, whether several classes tie


def vote_classes(unit: IntArray, category: IntArray, n_units: int) -> ClassVotes:
    """The class with the most votes in every unit; none in a tie.

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
    key_unit, code = np.divmod(keys, n_codes)
    most = np.zeros(n_units, np.int64)
    np.maximum.at(most, key_unit, counts)
    leads = counts == most[key_unit]
    tie = np.bincount(key_unit[leads], minlength=n_units) > 1
    winner = np.full(n_units, NO_CLASS, np.int64)
    winner[key_unit[leads]] = code[leads]
    return ClassVotes(np.where(tie, NO_CLASS, winner), most, tie)


def majority_of_others(
    unit: IntArray, value: FloatArray | IntArray, n_same: IntArray, n_units: int, at_least: int = 1
) -> FloatArray:
    """Value that more than half of the other members of a unit have, for every member, shape ``(N,)``.

    Args:
        unit: shape ``(N,)``, unit ``0 … U - 1`` of every member
        value: shape ``(N,)``, value of every member
        n_same: shape ``(N,)``, members of the unit with the same value, including this one
        n_units: number ``U`` of units
        at_least: how many others must have this value

    Undefined:
        nan where more than half of the others have no common value, or fewer than ``at_least`` have it

    Example:
        >>> majority_of_others(np.zeros(3, int), np.array([7, 7, 5]), np.array([2, 2, 1]), 1)
        array([nan, nan,  7.])
    """
    votes = np.bincount(unit, minlength=n_units)[unit]
    # a value that more than half of the others have is that of at least half of all; at most two values are
    half = np.flatnonzero(2 * n_same >= votes)
    leads = np.full((2, n_units), np.nan)
    leads[0, unit[half]] = value[half]
    second = half[value[half] != leads[0, unit[half]]]
    leads[1, unit[second]] = value[second]
    found = np.full(len(unit), np.nan)
    for lead in leads:
        own = value == lead[unit]
        n_alike = np.zeros(n_units, np.int64)
        n_alike[unit[own]] = n_same[own]
        n_others = n_alike[unit] - own
        kept = (n_others >= at_least) & (2 * n_others > votes - 1)
        found[kept] = lead[unit[kept]]
    return found


def medoids(unit: IntArray, similarity: FloatArray, n_units: int) -> IntArray:
    """Row of the medoid of every unit: the member that is most similar to the others.

    Args:
        unit: shape ``(N,)``, unit ``0 … U - 1`` of every member, each unit at least once
        similarity: shape ``(N,)``, mean similarity of every member to the other members of its unit; nan (no other
            member) ranks lowest
        n_units: number ``U`` of units

    Returns:
        shape ``(U,)``; among members whose similarities differ by at most 1e-9, the first

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


def medians_by_group(group: IntArray, values: FloatArray, n_groups: int) -> FloatArray:
    """Median of every column within every group (the mean of the middle two for an even number of rows).

    Args:
        group: shape ``(N,)``, group ``0 … G - 1`` of every row
        values: shape ``(N, C)``
        n_groups: number ``G`` of groups

    Returns:
        shape ``(G, C)``

    Undefined:
        nan for a group without rows, and in a column where the group has a nan

    Example:
        >>> medians_by_group(np.array([1, 1, 0, 1]), np.array([[3.0], [1.0], [5.0], [8.0]]), 2).ravel()
        array([5., 3.])
    """
    sizes = np.bincount(group, minlength=n_groups)
    order = np.argsort(group, kind="stable")
    start = np.cumsum(sizes) - sizes
    medians = np.full((n_groups, values.shape[1]), np.nan)
    # groups of equal size form a dense array
    for size in np.unique(sizes[sizes > 0]).tolist():
        groups = np.flatnonzero(sizes == size)
        members = [values[order[start[groups] + k]] for k in range(size)]
        # most groups are this small; sorting would take several times as long
        if size <= 2:
            medians[groups] = (members[0] + members[-1]) / 2.0
        elif size == 3:
            a, b, c = members
            medians[groups] = np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))
        else:
            ordered = np.sort(members, axis=0)  # nan comes last
            middle = (ordered[(size - 1) // 2] + ordered[size // 2]) / 2.0
            medians[groups] = np.where(np.isnan(ordered[-1]), np.nan, middle)
    return medians


def keypoint_medians(unit: IntArray, points_xy: FloatArray, n_units: int) -> FloatArray:
    """Consensus keypoints of every unit: the median x and the median y over the members who labelled the point.

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
    """Median of every column of frame numbers over the members of every unit, rounded down.

    Args:
        unit: shape ``(N,)``, unit ``0 … U - 1`` of every member, each unit at least once
        frames: shape ``(N, C)``, such as first and last frames; medians keep ``first <= last``
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
        # the mean of two integers without their sum, which could overflow
        medians[:, column] = (low & high) + ((low ^ high) >> 1)
    return medians


def quorum_votes(assigned: IntArray, quorum: float | Literal["majority"]) -> IntArray:
    """Votes that a unit needs for consensus: the quorum times the assigned annotators, rounded up; at least 1.

    Args:
        assigned: number of assigned annotators, any shape
        quorum: share of the assigned annotators, in (0, 1], or ``"majority"`` for more than half of them

    Undefined:
        never

    Raises:
        ValueError: if ``quorum`` is not in (0, 1]

    Example:
        >>> quorum_votes(np.array([1, 2, 3, 4, 5]), 0.5)
        array([1, 1, 2, 2, 3])
        >>> quorum_votes(np.array([1, 2, 3, 4, 5]), "majority")
        array([1, 2, 2, 3, 3])
    """
    if quorum == "majority":
        return assigned // 2 + 1
    if not 0.0 < quorum <= 1.0:
        raise ValueError(f"`quorum` must be in (0, 1], got {quorum!r}")
    # floating point: 0.6 * 5 is slightly more than 3
    needed: IntArray = np.maximum(np.ceil(quorum * assigned - TIE).astype(np.int64), 1)
    return needed


def consensus_score(votes: IntArray, assigned: IntArray, mean_iou: FloatArray) -> FloatArray:
    """Score of a unit: share of the assigned annotators who drew it, times their mean IoU.

    Args:
        votes: shape ``(U,)``, number of members
        assigned: shape ``(U,)``, number of assigned annotators, ``>= votes``
        mean_iou: shape ``(U,)``, mean IoU of the pairs of members

    Returns:
        shape ``(U,)``, in [0, 1]

    Undefined:
        nan with one vote: there is no IoU

    Example:
        >>> consensus_score(np.array([2, 1]), np.array([4, 4]), np.array([0.8, np.nan]))
        array([0.4, nan])
    """
    return np.where(votes > 1, votes / np.maximum(assigned, 1) * mean_iou, np.nan)


def majority_pixels(masks: MaskCrops, group: IntArray, n_groups: int) -> MaskCrops:
    """Pixels that are in at least half of the masks of every group, cropped to their bounding rectangle.

    For two masks this is their union: one of two is half.

    Args:
        masks: ``N`` masks
        group: shape ``(N,)``, ascending, group ``0 … G - 1`` of every mask
        n_groups: number ``G`` of groups

    Returns:
        ``G`` masks

    Undefined:
        never; the result is an empty mask where no pixel has enough votes, or the group has no mask

    Example:
        >>> square = (np.ones((2, 2), bool), 0, 0)
        >>> masks = MaskCrops.from_crops([square, square, (np.ones((1, 3), bool), 1, 1)])
        >>> majority = majority_pixels(masks, np.array([0, 0, 0]), 1)
        >>> majority.crop(0).astype(int)
        array([[1, 1],
               [1, 1]])
    """
    end = np.searchsorted(group, np.arange(n_groups + 1))
    return MaskCrops.from_crops([_majority(masks, np.arange(end[k], end[k + 1])) for k in range(n_groups)])


def _majority(masks: MaskCrops, rows: IntArray) -> tuple[BoolArray, int, int]:
    if not len(rows):
        return np.zeros((0, 0), np.bool_), 0, 0
    bounds: FloatArray = masks.bounds[rows]
    left, top = (int(low) for low in bounds[:, :2].min(axis=0))
    right, bottom = (int(high) for high in bounds[:, 2:].max(axis=0))
    votes = np.zeros((bottom - top, right - left), np.int32)
    for row in rows.tolist():
        crop, x, y = masks.crop(row), int(masks.left[row]) - left, int(masks.top[row]) - top
        votes[y : y + crop.shape[0], x : x + crop.shape[1]] += crop
    inside = 2 * votes >= len(rows)
    inside &= votes > 0
    if not inside.any():
        return np.zeros((0, 0), np.bool_), 0, 0
    y_inside, x_inside = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    y, x = int(y_inside[0]), int(x_inside[0])
    return inside[y : int(y_inside[-1]) + 1, x : int(x_inside[-1]) + 1], left + x, top + y
