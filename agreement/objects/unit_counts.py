"""What alpha counts, from numbers of units, of pairs in units and of pairs of one class in units alone.

The units of a batch under many thresholds or rules differ in nothing else, so that these few numbers take the place of
sorting all ratings again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.alpha.nominal import NominalTally
from ...metrics.arrays import BoolArray, FloatArray, IntArray, pairs_within, sums_by
from ...metrics.geometry.objects import Objects, Overlaps
from ..classes import MISSING
from ..config import Empty, Missing


@dataclass(frozen=True, slots=True)
class Grouping:
    """The objects of rated samples in units.

    Attributes:
        first: shape ``(N,)``, row of the first object of every object's unit
        votes: shape ``(N,)``, members of the unit of which an object is the first; 0 for other objects
        together: shape ``(P,)``, whether an overlapping pair is in one unit
        same_class: shape ``(Q,)``, first object of the unit of every pair of objects of one unit and class
    """

    first: IntArray
    votes: IntArray
    together: BoolArray
    same_class: IntArray

    @property
    def n_units(self) -> int:
        """Number of units."""
        return int(np.count_nonzero(self.votes))

    @property
    def n_pairs(self) -> int:
        """Pairs of objects of one unit."""
        return int((self.votes * (self.votes - 1) // 2).sum())


@dataclass(frozen=True, slots=True)
class UnitCounter:
    """The objects of rated samples, ready to be grouped into units in different ways.

    Attributes:
        rows: shape ``(N,)``, row of every object among the ``N'`` of the batch
        number: shape ``(N',)``, the other way round
        sample: shape ``(N,)``
        category: shape ``(N,)``
        assigned: shape ``(S,)``, assigned annotators
        i: shape ``(P,)``, with ``j`` the overlapping pairs
        j: shape ``(P,)``
        one_class: shape ``(P,)``, whether a pair is of one class
        class_of: shape ``(N,)``, number of the (sample, class) of every object
        class_sample: shape ``(C,)``, sample of these
    """

    rows: IntArray
    number: IntArray
    sample: IntArray
    category: IntArray
    assigned: IntArray
    i: IntArray
    j: IntArray
    one_class: BoolArray
    class_of: IntArray
    class_sample: IntArray

    @classmethod
    def of(cls, objects: Objects, overlaps: Overlaps, n_assigned: IntArray) -> UnitCounter:
        """The objects of a batch with the pairs that overlap."""
        rated = n_assigned[objects.sample] >= 2
        number = np.cumsum(rated) - 1
        pairs = rated[overlaps.i]
        sample, category = objects.sample[rated], objects.category[rated]
        n_categories = int(category.max(initial=0)) + 1
        keys, class_of = np.unique(sample * n_categories + category, return_inverse=True)
        i, j = number[overlaps.i[pairs]], number[overlaps.j[pairs]]
        one_class = category[i] == category[j]
        return cls(
            np.flatnonzero(rated), number, sample, category, n_assigned, i, j, one_class, class_of, keys // n_categories
        )

    def group(self, first: IntArray) -> Grouping:
        """The units of which every object of the batch ``(N',)`` knows the row of the first object."""
        if len(self.rows) < len(first):
            first = self.number[first[self.rows]]
        n = len(first)
        votes = np.bincount(first, minlength=n)
        unit = first[self.i]
        together = unit == first[self.j]
        same_class = unit[together & self.one_class]
        n_overlapping = np.bincount(unit[together], minlength=n)
        apart = n_overlapping < votes * (votes - 1) // 2
        if apart.any():  # units with members that do not overlap
            members = np.flatnonzero(apart[first])
            members = members[np.argsort(first[members], kind="stable")]
            p, q = (members[side] for side in pairs_within(first[members]))
            same = self.category[p] == self.category[q]
            same_class = np.concatenate([same_class[~apart[same_class]], first[p[same]]])
        return Grouping(first, votes, together, same_class)

    def tally(self, units: Grouping, missing: Missing) -> NominalTally:
        """The ratings of all units."""
        start = np.flatnonzero(units.votes)
        votes = units.votes[start]
        n_categories = int(self.category.max(initial=MISSING)) + 1
        if missing == "ignore":
            matched = units.votes[units.first] >= 2
            n_units = np.bincount(votes[votes >= 2])
            m = np.arange(len(n_units))
            n_same = np.bincount(units.votes[units.same_class], minlength=len(m))
            counts = np.bincount(self.category[matched], minlength=n_categories)
            return NominalTally(counts, n_units * m * (m - 1) - 2 * n_same, n_units)
        ratings = self.assigned[self.sample[start]]
        n_units = np.bincount(ratings)
        m = np.arange(len(n_units))
        n_objects = np.bincount(self.assigned[self.sample], minlength=len(m))
        n_pairs = np.bincount(ratings, weights=votes * (votes - 1) // 2, minlength=len(m)).astype(np.int64)
        n_same = np.bincount(self.assigned[self.sample[units.same_class]], minlength=len(m))
        counts = np.bincount(self.category, minlength=n_categories)
        counts[MISSING] = int((m * n_units).sum()) - len(self.sample)
        # of m ratings v are objects: m² - Σ n_c² = 2 (m - 1) v - v (v - 1) - 2 (pairs of one class)
        return NominalTally(counts, 2 * ((m - 1) * n_objects - n_pairs - n_same), n_units)

    def all_empty(self, n_objects: IntArray, missing: Missing, empty: Empty) -> NominalTally:
        """The ratings of images that everybody left empty, from the objects of every sample ``(S,)``."""
        if missing == "ignore" or empty == "skip":
            return NominalTally.empty()
        ratings = self.assigned[(self.assigned >= 2) & (n_objects == 0)]
        counts = np.zeros(MISSING + 1, np.int64)
        counts[MISSING] = ratings.sum()
        n_units = np.bincount(ratings)
        return NominalTally(counts, np.zeros_like(n_units), n_units)

    def alphas(self, units: Grouping, missing: Missing) -> tuple[FloatArray, BoolArray]:
        """Alpha of every sample ``(S,)``, nan where undefined; and where that is for want of a second category."""
        n_samples = len(self.assigned)
        start = np.flatnonzero(units.votes)
        same_sample = self.sample[units.same_class]
        if missing == "ignore":
            matched = units.votes[units.first] >= 2
            of_class = np.bincount(self.class_of[matched], minlength=len(self.class_sample))
            ratings = np.bincount(self.sample[matched], minlength=n_samples)
            alike = sums_by(same_sample, 2.0 / (units.votes[units.same_class] - 1), n_samples)
            observed = ratings - alike
            absent = np.zeros(n_samples)
        else:
            of_class = np.bincount(self.class_of, minlength=len(self.class_sample))
            n_objects = np.bincount(self.sample, minlength=n_samples)
            ratings = self.assigned * np.bincount(self.sample[start], minlength=n_samples)
            n_pairs = sums_by(self.sample[start], units.votes[start] * (units.votes[start] - 1) // 2, n_samples)
            n_same = np.bincount(same_sample, minlength=n_samples)
            observed = 2.0 * (n_objects - (n_pairs + n_same) / np.maximum(self.assigned - 1, 1))
            absent = (ratings - n_objects).astype(np.float64)
        equal = sums_by(self.class_sample, of_class * of_class, n_samples) + absent * absent
        expected = ratings.astype(np.float64) ** 2 - equal
        defined = expected > 0
        alpha = np.where(defined, 1.0 - (ratings - 1) * observed / np.where(defined, expected, 1.0), np.nan)
        return alpha, ~defined & (ratings > 0)
