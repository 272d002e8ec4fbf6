"""Match the objects of a role (a reference or model) with those of every annotator, of each alone."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from ...metrics.geometry.objects import Objects
from ...metrics.geometry.regions import joined
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, ranges
from ..matching.batch import Batch, SamplePairs
from ..matching.compute import matched_objects, matched_pairs, matching_of
from ..settings.config import AgreementConfig

#: least similarity of a label that was drawn loosely: below it two labels share too little to mean one object
LOOSE = 0.1
#: kinds of pairs: matched with equal classes, or with others, and overlapping below the threshold; a label of the role
#: that the annotator is excused from by a crowd region; one of the annotator in a crowd region of the role; one of an
#: object that nobody decided, where the role holds decisions
RIGHT, WRONG_CLASS, LOOSELY, EXCUSED, COVERED, UNDECIDED = range(6)


#: what the reference says of the labels of such pairs, and of labels without one
SAID = {RIGHT: "right", WRONG_CLASS: "wrong_class", LOOSELY: "loose"}
#: where the classes are equal, but an attribute differs that both have
WRONG_ATTRIBUTE = "wrong_attribute"
EXTRA = "extra"


@dataclass(frozen=True, slots=True)
class RolePairs:
    """Matches of ``P`` labels of one role and labels of annotators."""

    label: IntArray  #: shape ``(P,)``, row of the label of the role; -1 for ``COVERED`` and ``UNDECIDED``
    drawn: IntArray  #: shape ``(P,)``, row of the label of the annotator; -1 for ``EXCUSED``
    annotator: IntArray  #: shape ``(P,)``
    kind: IntArray  #: shape ``(P,)``
    iou: FloatArray  #: shape ``(P,)``, nan from ``EXCUSED`` on

    def without_undecided(self, undecided: BoolArray, annotator: IntArray) -> RolePairs:
        """The pairs, with labels of annotators that nobody decided in none, unless the role has them too.

        Args:
            undecided: shape ``(N,)``, labels of annotators
            annotator: shape ``(N,)``
        """
        left_out = undecided.copy()
        left_out[self.drawn[self.kind <= WRONG_CLASS]] = False
        kept, rows = ~np.append(left_out, False)[self.drawn], np.flatnonzero(left_out)
        n = len(rows)
        return RolePairs(
            np.r_[self.label[kept], np.full(n, -1)],
            np.r_[self.drawn[kept], rows],
            np.r_[self.annotator[kept], annotator[rows]],
            np.r_[self.kind[kept], np.full(n, UNDECIDED)],
            np.r_[self.iou[kept], np.full(n, np.nan)],
        )


@dataclass(frozen=True, slots=True)
class Cells:
    """The pairs of a role and an annotator on every sample that both were assigned to, as samples of two annotators."""

    batch: Batch
    row: IntArray  #: shape ``(N,)``, row of every object of the batch among the objects of its side
    sample: IntArray  #: shape ``(V,)``, sample of every cell
    annotator: IntArray  #: shape ``(V,)``, its annotator

    @classmethod
    def of(cls, drawn: Batch, role: Batch) -> Cells:
        """All cells; the first side is the role."""
        both: BoolArray = drawn.assigned & role.assigned
        cell = (np.cumsum(both) - 1).reshape(both.shape)
        n_cells, asked = int(both.sum()), both.sum(axis=1)
        counts = asked[role.objects.sample]
        repeated = np.repeat(np.arange(len(role.objects)), counts)
        of_role = ranges((np.cumsum(asked) - asked)[role.objects.sample], counts)
        rows = np.flatnonzero(both[drawn.objects.sample, drawn.objects.annotator])
        of_drawn = cell[drawn.objects.sample[rows], drawn.objects.annotator[rows]]
        side = np.repeat([0, 1], [len(repeated), len(rows)])
        order = np.lexsort((side, np.r_[of_role, of_drawn]))
        taken = np.r_[repeated, len(role.objects) + rows][order]
        crowd = [np.zeros(len(each.objects), np.bool_) if each.crowd is None else each.crowd for each in (role, drawn)]
        category = np.r_[role.objects.category, drawn.objects.category][taken]
        batch = Batch(
            Objects(np.r_[of_role, of_drawn][order], side[order], category),
            joined([role.geometry, drawn.geometry]).take(taken),
            np.ones((n_cells, 2), np.bool_),
            np.concatenate(crowd)[taken],
        )
        return cls(batch, np.r_[repeated, rows][order], *np.nonzero(both))

    @classmethod
    def of_annotators(cls, drawn: Batch) -> Cells:
        """The cells of all pairs of annotators, numbered as in :class:`SamplePairs`."""
        objects, pairs = drawn.objects, SamplePairs.of(drawn.objects, drawn.assigned)
        asked = drawn.assigned.sum(axis=1)
        counts = asked[objects.sample]
        row = np.repeat(np.arange(len(objects)), counts)
        other = np.nonzero(drawn.assigned)[1][ranges((np.cumsum(asked) - asked)[objects.sample], counts)]
        different = other != objects.annotator[row]
        row, other = row[different], other[different]
        own = objects.annotator[row]
        cell = pairs.row(objects.sample[row], np.minimum(own, other), np.maximum(own, other))
        order = np.lexsort((own > other, cell))
        row, side = row[order], (own > other)[order].astype(np.int64)
        batch = Batch(
            Objects(cell[order], side, objects.category[row]),
            drawn.geometry.take(row),
            np.ones((len(pairs.sample), 2), np.bool_),
            None if drawn.crowd is None else drawn.crowd[row],
        )
        return cls(batch, row, pairs.sample, np.arange(len(pairs.sample)))


def optimal(config: AgreementConfig) -> AgreementConfig:
    """The options of the matching of a role."""
    return dataclasses.replace(config, method="optimal")


def in_codes(role: Batch, codes: IntArray) -> Batch:
    """The objects of a role with the codes of the annotators' classes, from the code there of every class of roles."""
    objects = role.objects
    category = np.append(codes, 0)[objects.category]
    return Batch(Objects(objects.sample, objects.annotator, category), role.geometry, role.assigned, role.crowd)


def match_annotators(drawn: Batch, config: AgreementConfig) -> RolePairs:
    """Match the objects of every two annotators, as :func:`match_role` does those of a role with each annotator.

    Units of three and more annotators would not do as a standard for a role: who is matched alone finds more.

    Returns:
        pairs of a label of the first annotator and one of the second; ``annotator`` has the number of their pair on
        their sample (:class:`SamplePairs`)
    """
    return _match(Cells.of_annotators(drawn), config)


def match_role(drawn: Batch, role: Batch, config: AgreementConfig) -> RolePairs:
    """Match the objects of a role with those of every annotator, of each alone.

    For every annotator that is the matching of a run of two annotators by the method ``optimal``. What remains is
    matched once more at the similarity ``LOOSE``.

    Args:
        drawn: the objects of the annotators, with their crowd regions
        role: the objects of the role on the same samples, whose classes have the codes of the annotators' classes
        config: the options of the run
    """
    return _match(Cells.of(drawn, role), config)


def _match(cells: Cells, config: AgreementConfig) -> RolePairs:
    config = optimal(config)
    batch, overlaps, matching, counted, _ = matched_objects(cells.batch, config)
    row, objects = cells.row[counted], batch.objects
    pairs = matched_pairs(objects, batch.geometry, overlaps, matching)
    found = [(pairs.i, pairs.j, np.where(pairs.same_class, RIGHT, WRONG_CLASS), pairs.iou)]
    alone = np.ones(len(objects), np.bool_)
    alone[pairs.i] = alone[pairs.j] = False
    if config.iou > LOOSE and alone.any():
        place, left = np.flatnonzero(alone), batch.among(alone)
        of_left = overlaps.among(alone)
        again = matched_pairs(left.objects, left.geometry, of_left, matching_of(left.objects, of_left, config, LOOSE))
        found.append((place[again.i], place[again.j], np.full(len(again.i), LOOSELY), again.iou))
    i, j, kind, iou = (np.concatenate(column) for column in zip(*found, strict=True))
    # what does not count, as a crowd region of the other side covers it, and crowd regions themselves
    out = ~counted if cells.batch.crowd is None else ~counted & ~cells.batch.crowd
    side, of_out, cell = cells.batch.objects.annotator[out], cells.row[out], cells.batch.objects.sample[out]
    nothing = np.full(len(of_out), -1)
    return RolePairs(
        np.r_[row[i], np.where(side == 0, of_out, nothing)],
        np.r_[row[j], np.where(side == 1, of_out, nothing)],
        cells.annotator[np.r_[objects.sample[i], cell]],
        np.r_[kind, np.where(side == 0, EXCUSED, COVERED)],
        np.r_[iou, np.full(len(of_out), np.nan)],
    )
