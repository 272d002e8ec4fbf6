"""Match the objects of roles (a reference, models) with those of every annotator, and those of every two annotators.

Two who were asked on the same image meet there: a role and an annotator, or two annotators, one of whom is left out and
takes the place of a model: units of three and more annotators would not do as a standard for a role, as who is matched
alone finds more. Every meeting is matched alone, as an image of two annotators.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from ...metrics.geometry.objects import Geometry, Objects, Overlaps
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, ranges
from ..matching.batch import Batch
from ..matching.compute import in_crowd, matched_pairs, matching_of
from ..settings.config import AgreementConfig
from ..statistics.records import Columns, compact, packed

#: least similarity of a label that was drawn loosely: below it two labels share too little to mean one object
LOOSE = 0.1
#: kinds of pairs: matched with equal classes, or with others, and overlapping below the threshold; a label of the
#: annotator in a crowd region of the role; one of an object that nobody decided, where the role holds decisions
RIGHT, WRONG_CLASS, LOOSELY, COVERED, UNDECIDED = range(5)


@dataclass(frozen=True, slots=True)
class RolePairs:
    """``P`` labels of one role, and what annotators drew for them; rows are those of all labels, also of roles."""

    label: IntArray  #: shape ``(P,)``, row of the label of the role; -1 for ``COVERED`` and ``UNDECIDED``
    drawn: IntArray  #: shape ``(P,)``, row of the label of the annotator
    kind: IntArray  #: shape ``(P,)``
    iou: FloatArray  #: shape ``(P,)``, nan from ``COVERED`` on


@dataclass(frozen=True, slots=True)
class Meetings:
    """Two who were asked on the same sample, as samples of two annotators; every label is there once for each."""

    objects: Objects
    geometry: Geometry
    overlaps: Overlaps
    row: IntArray  #: shape ``(N',)``, row of every object among those of everybody
    party: IntArray  #: shape ``(N',)``, who comes first in its meeting: a role, or the first of two annotators
    covered: BoolArray  #: shape ``(N',)``, labels of annotators in a crowd region of the role
    counted: BoolArray  #: shape ``(N',)``, all others that count
    kept: BoolArray  #: shape ``(N,)``, the objects of everybody that count

    @classmethod
    def of(cls, people: Batch, n: int, counted: BoolArray, *, of_annotators: bool = False) -> Meetings:
        """The meetings of roles with annotators.

        Args:
            people: objects of ``n`` annotators, and of roles with the numbers from ``n`` on, with crowd regions
            n: number of annotators
            counted: shape ``(N,)``, the objects of annotators that count
            of_annotators: whether every two annotators meet, too
        """
        objects, (n_samples, n_people) = people.objects, people.assigned.shape
        met = np.zeros((n_people, n_people), np.bool_)
        met[n:, :n], met[:n, :n] = True, of_annotators & np.triu(np.ones((n, n), np.bool_), 1)
        sample, first, second = np.nonzero(people.assigned[:, :, None] & people.assigned[:, None, :] & met)
        counts = np.bincount(objects.sample * n_people + objects.annotator, minlength=n_samples * n_people)
        cell = np.column_stack([sample * n_people + first, sample * n_people + second]).ravel()
        row = ranges((np.cumsum(counts) - counts)[cell], counts[cell])
        place = np.repeat(np.arange(len(cell)), counts[cell])
        two, geometry = Objects(place // 2, place % 2, objects.category[row]), people.geometry.take(row)
        overlaps, of_role = geometry.overlaps(two), objects.annotator >= n
        inside, kept = np.zeros(len(row), np.bool_), counted | of_role
        if people.crowd is not None and people.crowd.any():
            inside = in_crowd(two, people.crowd[row], overlaps)
            kept &= ~people.crowd
            kept[row[inside & of_role[row]]] = False
        inside &= kept[row]
        return cls(two, geometry, overlaps, row, first[two.sample], inside, kept[row] & ~inside, kept)

    def matched(self, config: AgreementConfig) -> tuple[IntArray, RolePairs]:
        """Match every meeting by the method ``optimal``, and what remains once more at the similarity ``LOOSE``.

        Returns:
            who comes first, shape ``(P,)``, and the pairs, whose rows are those of the meetings
        """
        found, config, left = [], optimal(config), self.counted.copy()
        for threshold, kinds in ((config.iou, (RIGHT, WRONG_CLASS)), (LOOSE, (LOOSELY, LOOSELY))):
            if left.any() and (threshold == config.iou or config.iou > LOOSE):
                objects, geometry, overlaps, place = self.among(left)
                matching = matching_of(objects, overlaps, config, threshold)
                pairs = matched_pairs(objects, geometry, overlaps, matching)
                i, j = place[pairs.i], place[pairs.j]
                found.append((i, j, np.where(pairs.same_class, *kinds), pairs.iou))
                left[i] = left[j] = False
        none = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        i, j, kind, iou = (np.concatenate(column) for column in zip(none, *found, strict=True))
        return self.party[i], RolePairs(i, j, kind, iou)

    def among(self, chosen: BoolArray) -> tuple[Objects, Geometry, Overlaps, IntArray]:
        """Some of the objects, with their geometry, overlaps and rows."""
        rows, of = np.flatnonzero(chosen), self.objects
        if len(rows) == len(of):
            return of, self.geometry, self.overlaps, rows
        objects = Objects(of.sample[rows], of.annotator[rows], of.category[rows])
        return objects, self.geometry.take(rows), self.overlaps.among(chosen), rows


def optimal(config: AgreementConfig) -> AgreementConfig:
    """The options of the matching of a role."""
    return dataclasses.replace(config, method="optimal")


def role_columns(
    people: Batch, n: int, counted: BoolArray, config: AgreementConfig, undecided: BoolArray | None = None
) -> tuple[IntArray, Columns]:
    """Match the objects of roles with those of every annotator, and where there is a model of every two annotators.

    A label is stored as its place on its sample: first those that count among annotators, then the others.

    Args:
        people: as of :meth:`Meetings.of`
        n: likewise
        counted: likewise
        config: the options
        undecided: shape ``(N, roles)``, labels of annotators of which the decisions in a role say nothing; None where
            none holds decisions

    Returns:
        the rows of the other objects: those of annotators that do not count, and those of roles in no crowd region;
        and the columns of records on roles
    """
    meetings = Meetings.of(people, n, counted, of_annotators=bool(config.models))
    party, pairs = meetings.matched(config)
    alone, row, sample = np.where(meetings.covered, COVERED, -1), meetings.row, people.objects.sample
    if undecided is not None:
        of_role = np.flatnonzero(meetings.counted & (meetings.party >= n) & (meetings.objects.annotator == 1))
        alone[of_role[undecided[row[of_role], meetings.party[of_role] - n]]] = UNDECIDED
        alone[pairs.drawn[pairs.kind <= WRONG_CLASS]] = -1
    kept = (alone[pairs.drawn] < 0) & ((party >= n) | (pairs.kind <= WRONG_CLASS))
    rows, others = np.flatnonzero(alone >= 0), ~counted & (meetings.kept | (people.objects.annotator < n))
    # places of the labels on their samples; behind the last one that of none
    place, before = np.full(len(sample) + 1, -1), np.zeros(people.n_samples, np.int64)
    for chosen in (counted, others):
        number = np.bincount(sample[chosen], minlength=people.n_samples)
        place[:-1][chosen], before = ranges(before, number), before + number
    label = np.r_[row[pairs.label[kept]], np.full(len(rows), len(sample))]
    drawn, party = np.r_[row[pairs.drawn[kept]], row[rows]], np.r_[party[kept], meetings.party[rows]]
    order = np.lexsort((place[drawn], place[label], party, sample[drawn]))
    return np.flatnonzero(others), {
        "role_present": packed(people.assigned[:, n:]),
        "n_role_pairs": compact(np.bincount(sample[drawn], minlength=people.n_samples)),
        "pair_party": compact(party[order]),
        "pair_label": compact(place[label[order]]),
        "pair_drawn": compact(place[drawn[order]]),
        "pair_kind": np.r_[pairs.kind[kept], alone[rows]][order].astype(np.uint8),
        "pair_iou": np.r_[pairs.iou[kept], np.full(len(rows), np.nan)][order],
    }
