"""How the annotators voted on every unit: how many, how far they agree, for what, how spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .alpha.nominal import unit_disagreement
from .alpha.ratings import check_ratings, count_ratings
from .arrays import FloatArray, IntArray, sums_by


@dataclass(frozen=True, slots=True)
class Votes:
    """The votes on every unit, as columns.

    Attributes:
        n_ratings: shape ``(U,)``, annotators who rated the unit
        agreement: shape ``(U,)``, share of the pairs of annotators who agree, in [0, 1]
        majority: shape ``(U,)``, code with the most votes
        entropy_bits: shape ``(U,)``, entropy of the shares of the codes, from 0 (all agree) to ``log2 R``

    Undefined:
        ``agreement`` nan with fewer than two ratings, ``majority`` without a rating and where codes tie for the most
        votes, ``entropy_bits`` without a rating
    """

    n_ratings: IntArray
    agreement: FloatArray
    majority: FloatArray
    entropy_bits: FloatArray


def unit_votes(ratings: FloatArray) -> Votes:
    """Count the votes on every unit.

    Args:
        ratings: shape ``(U, R)``, category codes of ``U`` units by ``R`` annotators, nan where one did not rate

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
