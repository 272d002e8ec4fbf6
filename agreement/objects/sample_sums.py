"""The numbers of a report on objects as functions of sums over samples: for intervals, and for comparing runs.

``object_sums(records, context)`` gives all of them: the headline numbers, whose keys are single names
(``("alpha.pooled",)``), and those of pairs, classes and annotators by name (``("pairs", "alice", "bob", "f1")``,
``("classes", "car", "alpha")``, ``("annotators", "alice", "miss_rate")``). Where two runs have records of the same
samples in the same order, ``all_differences(a, b, n_samples)`` of :mod:`..sample_sums` gives the change of every
number, and ``estimates`` of :mod:`..intervals` the interval of that. Samples that are not rated have rows of zeros.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from ...metrics.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..content_order import Hashes, assignment_hashes, combined, hash_sums, mixed, name_hashes
from ..numbers import Numbers
from ..pairs import chosen_pairs, pair_names
from ..report import ReportContext
from .attributes import Values
from .chunk import Chunk
from .records import ObjectRecords
from .resampled.annotators import annotator_collectors
from .resampled.attributes import AttributeColumns
from .resampled.classes import ClassColumns
from .resampled.headline import HeadlineColumns
from .resampled.pairs import PairColumns
from .resampled.vitality import VitalityColumns
from .size_rule import SizeRule

#: up to so many samples, and samples shared by two annotators, all columns are collected in one pass over the findings:
#: about 3 kB a sample; else those of one kind after the other
MAX_SAMPLES_AT_ONCE = 10_000
MAX_SHARED_AT_ONCE = 500_000


class Collector(Protocol):
    """Collects the columns of some numbers."""

    def add(self, chunk: Chunk) -> None:
        """Add the findings of the next samples."""

    def sums(self) -> Iterable[Numbers]:
        """The numbers."""


def object_sums(
    records: ObjectRecords, context: ReportContext, *, headline_only: bool = False, sizes: SizeRule | None = None
) -> Iterator[Numbers]:
    """All numbers that are functions of sums over samples, or those of the report as a whole.

    Args:
        records: of the samples
        context: what the report needs beside them
        headline_only: without those of attributes, pairs, classes and annotators
        sizes: what is small, medium and large; by default what it is for these samples
    """
    sizes = sizes or SizeRule.of(records, context.config)
    config, names, n_categories = context.config, context.annotators, len(context.class_names)
    assigned = records.assigned
    makers: list[Callable[[], Collector]] = [lambda: HeadlineColumns(n_categories, config.undefined)]
    if not headline_only:
        groups = _groups_of_pairs(assigned, names)
        makers += [functools.partial(PairColumns, names, *pairs, n_categories, config) for pairs in groups]
        makers.append(lambda: ClassColumns(context.class_names, config.undefined))
        makers += annotator_collectors(names)
        makers.append(lambda: VitalityColumns(names, assigned, n_categories, config))
        if config.attributes:
            attributes = [
                Values.of(name, context.attribute_values.get(name, [None]), config.tolerance)
                for name in config.attributes
            ]
            makers.append(lambda: AttributeColumns(attributes, config.undefined))
        if records.n_samples <= MAX_SAMPLES_AT_ONCE and len(groups) == 1:
            yield from _collected(records, context, sizes, [make() for make in makers])
            return
    for make in makers:
        yield from _collected(records, context, sizes, [make()])


def _groups_of_pairs(assigned: BoolArray, annotators: Sequence[str]) -> list[tuple[IntArray, bool]]:
    """The pairs of annotators that have intervals, so many at a time as are collected at once; and if these are all."""
    chosen = chosen_pairs(assigned, annotators)
    shared = (assigned.T.astype(np.float64) @ assigned)[pair_names(len(annotators))]
    group = (np.cumsum(shared[chosen], dtype=np.int64) - 1) // MAX_SHARED_AT_ONCE
    groups = [chosen[group == number] for number in np.unique(group)] or [chosen]
    n_pairs = int((shared > 0).sum())
    return [(pairs, len(pairs) == n_pairs) for pairs in groups]


def _collected(
    records: ObjectRecords, context: ReportContext, sizes: SizeRule, collectors: list[Collector]
) -> Iterator[Numbers]:
    for findings in records.findings(context.config):
        chunk = Chunk.of(findings, len(context.class_names), sizes)
        for collector in collectors:
            collector.add(chunk)
    while collectors:  # the columns of one are not needed any longer when those of the next are asked for
        yield from collectors.pop(0).sums()


def sample_contents(records: ObjectRecords, context: ReportContext) -> tuple[Hashes, FloatArray]:
    """What tells samples apart, for :func:`~..content_order.content_ranks`: no order and no id enters.

    Returns:
        hashes of the labels with their annotators, classes and verdicts ``(S,)``, and values ``(S, 2)``
    """
    annotators, classes = name_hashes(context.annotators), name_hashes(context.class_names)
    config, hashes, values = context.config, [], []
    of_values = [
        name_hashes([repr(value) for value in context.attribute_values.get(name, [None])]) for name in config.attributes
    ]
    for findings in records.findings(config):
        objects, n_samples = findings.objects, findings.n_samples
        label = combined(mixed(annotators)[objects.annotator] + classes[objects.category], findings.object_verdict)
        label = combined(label, findings.units.votes[findings.unit])
        for of_value, codes in zip(of_values, findings.attributes, strict=False):
            label = combined(label, of_value[codes].view(np.int64))
        of_assigned = assignment_hashes(findings.assigned, annotators)
        hashes.append(of_assigned + hash_sums(objects.sample, label, n_samples))
        iou = sums_by(objects.sample[findings.pairs.i], findings.pairs.iou, n_samples)
        values.append(np.column_stack([findings.score, iou]))
    return np.concatenate(hashes), np.concatenate(values)
