"""The numbers of a report on objects as functions of sums over samples: for intervals, and for comparing runs.

``object_sums(records, context)`` gives all of them: the headline numbers (``headline_sums`` gives these alone), whose
keys are single names (``("alpha.pooled",)``), and those of pairs, classes and annotators by name
(``("pairs", "alice", "bob", "f1")``, ``("classes", "car", "alpha")``, ``("annotators", "alice", "miss_rate")``). Where
two runs have records of the same samples in the same order, ``differences(a, b, n_samples)`` of :mod:`..sample_sums`
gives the change of every number, and ``estimates`` of :mod:`..intervals` the interval of that. Samples that are not
rated have rows of zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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


class Collector(Protocol):
    """Collects the columns of some numbers."""

    def add(self, chunk: Chunk) -> None:
        """Add the findings of the next samples."""

    def sums(self) -> Iterable[SampleSums]:
        """The numbers."""


def object_sums(records: ObjectRecords, context: ReportContext) -> Iterator[SampleSums]:
    """All numbers that are functions of sums over samples."""
    config, n_categories = context.config, len(context.class_names)
    annotators, assigned = context.annotators, records.assigned
    return _collected(
        records,
        context,
        [
            HeadlineColumns(n_categories, config.undefined),
            PairColumns(annotators, assigned, n_categories, config),
            ClassColumns(context.class_names, config.undefined),
            AnnotatorColumns(annotators),
            VitalityColumns(annotators, assigned, n_categories, config),
        ],
    )


def headline_sums(records: ObjectRecords, context: ReportContext) -> Iterator[SampleSums]:
    """The headline numbers alone."""
    return _collected(records, context, [HeadlineColumns(len(context.class_names), context.config.undefined)])


def _collected(records: ObjectRecords, context: ReportContext, collectors: Sequence[Collector]) -> Iterator[SampleSums]:
    for findings in records.findings(context.config):
        chunk = Chunk.of(findings, len(context.class_names), WITHOUT_SIZES)
        for collector in collectors:
            collector.add(chunk)
    for collector in collectors:
        yield from collector.sums()


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
