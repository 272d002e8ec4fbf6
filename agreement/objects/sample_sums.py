"""The numbers of a report on objects as functions of sums over samples: for intervals, and for comparing runs.

``object_sums(records, context)`` gives all of them: the headline numbers, whose keys are single names
(``("alpha.pooled",)``), and those of pairs, classes and annotators by name (``("pairs", "alice", "bob", "f1")``,
``("classes", "car", "alpha")``, ``("annotators", "alice", "miss_rate")``). Where two runs have records of the same
samples in the same order, ``differences(a, b, n_samples)`` of :mod:`..sample_sums` gives the change of every number,
and ``estimates`` of :mod:`..intervals` the interval of that. Samples that are not rated have rows of zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from ...metrics.arrays import FloatArray, sums_by
from ..content_order import Hashes, assignment_hashes, combined, hash_sums, mixed, name_hashes
from ..report import ReportContext
from ..sample_sums import SampleSums
from .chunk import Chunk
from .records import ObjectRecords
from .resampled.annotators import AnnotatorColumns
from .resampled.classes import ClassColumns
from .resampled.headline import HeadlineColumns
from .resampled.pairs import PairColumns
from .resampled.vitality import VitalityColumns
from .size_rule import SizeRule

#: the numbers below are of objects of all sizes
WITHOUT_SIZES = SizeRule(None, "", False)


#: what the numbers are about
KINDS = ("headline", "pairs", "classes", "annotators", "vitality")


class Collector(Protocol):
    """Collects the columns of some numbers."""

    def add(self, chunk: Chunk) -> None:
        """Add the findings of the next samples."""

    def sums(self) -> Iterable[SampleSums]:
        """The numbers."""


def object_sums(records: ObjectRecords, context: ReportContext, kinds: Sequence[str] = KINDS) -> Iterator[SampleSums]:
    """All numbers that are functions of sums over samples, or those of some of ``KINDS``.

    All of them take about 3 kB a sample; one kind after the other a quarter of that.
    """
    config, n_categories = context.config, len(context.class_names)
    annotators, assigned = context.annotators, records.assigned
    makers: dict[str, Callable[[], Collector]] = {
        "headline": lambda: HeadlineColumns(n_categories, config.undefined),
        "pairs": lambda: PairColumns(annotators, assigned, n_categories, config),
        "classes": lambda: ClassColumns(context.class_names, config.undefined),
        "annotators": lambda: AnnotatorColumns(annotators),
        "vitality": lambda: VitalityColumns(annotators, assigned, n_categories, config),
    }
    collectors = [makers[kind]() for kind in kinds]
    for findings in records.findings(config):
        chunk = Chunk.of(findings, n_categories, WITHOUT_SIZES)
        for collector in collectors:
            collector.add(chunk)
    while collectors:  # one after the other is no longer needed
        yield from collectors.pop(0).sums()


def sample_contents(records: ObjectRecords, context: ReportContext) -> tuple[Hashes, FloatArray]:
    """What tells samples apart, for :func:`~..content_order.content_ranks`: no order and no id enters.

    Returns:
        hashes of the labels with their annotators, classes and verdicts ``(S,)``, and values ``(S, 2)``
    """
    annotators, classes = name_hashes(context.annotators), name_hashes(context.class_names)
    hashes, values = [], []
    for findings in records.findings(context.config):
        objects, n_samples = findings.objects, findings.n_samples
        label = combined(mixed(annotators)[objects.annotator] + classes[objects.category], findings.object_verdict)
        label = combined(label, findings.units.votes[findings.unit])
        of_assigned = assignment_hashes(findings.assigned, annotators)
        hashes.append(of_assigned + hash_sums(objects.sample, label, n_samples))
        iou = sums_by(objects.sample[findings.pairs.i], findings.pairs.iou, n_samples)
        values.append(np.column_stack([findings.score, iou]))
    return np.concatenate(hashes), np.concatenate(values)
