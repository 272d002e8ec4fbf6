"""What every annotator drew and missed, as sums over samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.arrays import BoolArray, IntArray
from .additive import Additive, SparseCounts
from .chunk import Chunk
from .size_rule import SIZES
from .verdicts import NO_VERDICT, VERDICTS


@dataclass(frozen=True, slots=True)
class AnnotatorSums(Additive):
    """Sums for every annotator.

    Attributes:
        n_assigned: shape ``(R,)``, samples each annotator was assigned to
        n_drew_nothing: shape ``(R,)``, those in which they drew nothing
        n_crowd: shape ``(R,)``, labels that are crowd, or explained by one of somebody else
        verdicts: shape ``(R, V)``, objects with every one of ``VERDICTS``
        missed: shape ``(R, 4)``, units of two or more others that an assigned annotator did not draw, of every one of
            ``SIZES``, then those of unknown size
        could_miss: shape ``(R, 4)``, units of two or more others, drawn or not
        classes: counts of (annotator, class) of all objects
    """

    n_assigned: IntArray
    n_drew_nothing: IntArray
    n_crowd: IntArray
    verdicts: IntArray
    missed: IntArray
    could_miss: IntArray
    classes: SparseCounts


def annotator_sums(chunk: Chunk) -> AnnotatorSums:
    """The sums of some samples."""
    findings = chunk.findings
    objects, verdict, n_annotators = findings.objects, findings.object_verdict, findings.n_annotators
    drew = np.zeros(findings.assigned.shape, np.bool_)
    drew[objects.sample, objects.annotator] = True
    has_verdict = verdict != NO_VERDICT
    cells = objects.annotator[has_verdict] * len(VERDICTS) + verdict[has_verdict]
    missed, could_miss = _missed(chunk)
    return AnnotatorSums(
        n_assigned=findings.assigned.sum(axis=0),
        n_drew_nothing=(findings.assigned & ~drew).sum(axis=0),
        n_crowd=findings.n_crowd.sum(axis=0),
        verdicts=np.bincount(cells, minlength=n_annotators * len(VERDICTS)).reshape(n_annotators, len(VERDICTS)),
        missed=missed,
        could_miss=could_miss,
        classes=SparseCounts.of(objects.annotator, objects.category),
    )


def _missed(chunk: Chunk) -> tuple[IntArray, IntArray]:
    """What every assigned annotator missed of units of two or more others, and could have missed, by size."""
    findings, units = chunk.findings, chunk.findings.units
    n_sizes = len(SIZES) + 1  # those of unknown size come last
    size = chunk.size % n_sizes
    several = chunk.rated_unit & (units.votes >= 2)
    cells = units.sample[several] * n_sizes + size[several]
    of_sample = np.bincount(cells, minlength=findings.n_samples * n_sizes).reshape(findings.n_samples, n_sizes)

    def drawn(of_unit: BoolArray) -> IntArray:
        """Objects of every annotator and size in some of the units."""
        rows = of_unit[findings.unit]
        pairs = findings.objects.annotator[rows] * n_sizes + size[findings.unit[rows]]
        return np.bincount(pairs, minlength=findings.n_annotators * n_sizes).reshape(-1, n_sizes)

    missed: IntArray = findings.assigned.T.astype(np.int64) @ of_sample - drawn(several)
    could_miss: IntArray = missed + drawn(several & (units.votes >= 3))
    return missed, could_miss
