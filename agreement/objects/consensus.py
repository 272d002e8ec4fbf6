"""Every annotator against the consensus of the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.arrays import BoolArray, FloatArray, IntArray, sums_by
from .additive import Additive
from .chunk import Chunk
from .summaries import ConsensusAgreement

#: others who must be assigned to a sample
MIN_OTHERS = 2


@dataclass(frozen=True, slots=True)
class ConsensusSums(Additive):
    """Sums for every annotator, of shape ``(R,)``, over samples with at least ``MIN_OTHERS`` others.

    Attributes:
        n_units: units in the consensus of the others
        n_objects: objects of the annotator
        n_both: those in such units
        n_judged: those whose unit has a class by consensus
        n_same_class: those with that class
        n_pairs: pairs of those in both with objects of others
        iou: sum of their IoU
    """

    n_units: IntArray
    n_objects: IntArray
    n_both: IntArray
    n_judged: IntArray
    n_same_class: IntArray
    n_pairs: IntArray
    iou: FloatArray


def consensus_sums(chunk: Chunk) -> ConsensusSums:
    """The sums of some samples."""
    findings, n = chunk.findings, chunk.findings.n_annotators
    objects, units, pairs = findings.objects, findings.units, findings.pairs
    many = units.assigned > MIN_OTHERS
    others = units.assigned - 1
    # a unit that an annotator did not draw is seen by all of its members, else by one less
    without = many & (2 * units.votes >= others)
    own = many[findings.unit]
    both = own & (2 * (units.votes - 1) >= others)[findings.unit]
    drew_without = without[findings.unit]
    of_samples = np.bincount(units.sample[without], minlength=findings.n_samples)
    of_annotator = objects.annotator

    def count(rows: BoolArray) -> IntArray:
        return np.bincount(of_annotator[rows], minlength=n)

    judged, same = _class_by_others(chunk, both)
    ends = np.concatenate([pairs.i, pairs.j])
    of_pair = both[ends]
    return ConsensusSums(
        n_units=of_samples @ findings.assigned - count(drew_without) + count(both),
        n_objects=count(own),
        n_both=count(both),
        n_judged=count(judged),
        n_same_class=count(same),
        n_pairs=np.bincount(of_annotator[ends[of_pair]], minlength=n),
        iou=sums_by(of_annotator[ends[of_pair]], np.concatenate([pairs.iou, pairs.iou])[of_pair], n),
    )


def _class_by_others(chunk: Chunk, both: BoolArray) -> tuple[BoolArray, BoolArray]:
    """Of objects in the consensus of the others, those to which one class leads there, and those that have it.

    Args:
        chunk: the findings
        both: shape ``(N,)``, which objects are in the consensus of the others
    """
    findings, category = chunk.findings, chunk.findings.objects.category
    # the three largest numbers of members of one class, for every unit; one object of every (unit, class)
    _, first = np.unique(findings.unit * chunk.n_categories + category, return_index=True)
    order = first[np.lexsort((-chunk.alike[first], findings.unit[first]))]
    unit, alike = findings.unit[order], chunk.alike[order]
    start = np.searchsorted(unit, np.arange(len(findings.units.votes) + 1))
    place = np.arange(len(unit)) - start[unit]
    largest = np.zeros((3, len(findings.units.votes)), np.int64)
    largest[place[place < 3], unit[place < 3]] = alike[place < 3]
    top = largest[:, findings.unit]
    own = chunk.alike
    # without the object's own class: the most frequent of the others, and the next
    most = np.where(own == top[0], top[1], top[0])
    next_most = np.where(own >= top[1], top[2], top[1])
    same = both & (own - 1 > most)
    judged = same | (both & (own - 1 < most) & (next_most < most))
    return judged, same


def consensus_of(sums: ConsensusSums, annotator: int) -> ConsensusAgreement | None:
    """The agreement of an annotator with the others, None without a sample that two others were assigned to."""
    n_units, n_objects, n_both, n_judged, n_same, n_pairs = (
        int(column[annotator])
        for column in (sums.n_units, sums.n_objects, sums.n_both, sums.n_judged, sums.n_same_class, sums.n_pairs)
    )
    if not n_units + n_objects:
        return None
    return ConsensusAgreement(
        n_units=n_units,
        n_objects=n_objects,
        precision=n_both / n_objects if n_objects else None,
        recall=n_both / n_units if n_units else None,
        f1=2 * n_both / (n_units + n_objects),
        class_agreement=n_same / n_judged if n_judged else None,
        mean_iou=float(sums.iou[annotator]) / n_pairs if n_pairs else None,
    )
