"""Compute the numbers of a run, and build its report, from the records of samples."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...metrics.numeric.arrays import FloatArray, sums_by
from ..settings.annotators import AnnotatorPairs
from ..statistics.content_order import Hashes, assignment_hashes, combined, hash_sums, mixed, name_hashes
from ..statistics.estimates import (
    Fields,
    kept_by_sample,
    other_reading,
    rated_only,
    report_estimates,
    report_of,
    sample_numbers,
)
from ..statistics.numbers import BySample, Numbers
from ..statistics.report import ReportContext, mean_defined, number
from .annotators import AnnotatorSums, annotator_numbers, annotator_summaries
from .attributes import attribute_numbers
from .classes import ClassNumbers, ClassSums, class_pairs, class_summaries, merges, similar_names, synonyms
from .headline import HeadlineNumbers, HeadlineSums, headline_otherwise, headline_parts
from .object_distances import object_distances
from .object_effects import ObjectEffects
from .pairs import PairNumbers, PairSums, clusters, pair_numbers, pair_summaries, sessions
from .records import ObjectRecords, track_counts
from .report import ObjectReport
from .sensitivity import Sensitivity, VitalityNumbers
from .sizes import SizeRule, SizeSums, size_summaries, size_sums
from .sums import Additive, Chunk
from .threshold_sample import data_threshold

#: up to this many samples, and pairs collected at once, all columns are collected in one pass (about 3 kB per sample);
#: else of a few kinds in each pass
MAX_SAMPLES_AT_ONCE = 10_000
_KINDS_AT_ONCE = 4
#: collectors that look at a chunk at the same time
_N_THREADS = 2


class Collector(Protocol):
    """Collects the columns of some numbers."""

    def add(self, chunk: Chunk) -> None:
        """Add the next samples."""

    def numbers(self) -> Iterator[Numbers]:
        """The numbers; the columns are no longer kept here."""


@dataclass(frozen=True, slots=True)
class ReportSums(Additive):
    """Parts of a report in addition to its numbers; see the class of each part."""

    headline: HeadlineSums
    sizes: SizeSums
    pairs: PairSums
    annotators: AnnotatorSums
    classes: ClassSums

    @classmethod
    def of(cls, chunk: Chunk) -> ReportSums:
        """The sums of some samples."""
        return cls(
            headline=HeadlineSums.of(chunk),
            sizes=size_sums(chunk),
            pairs=PairSums.of(chunk),
            annotators=AnnotatorSums.of(chunk),
            classes=ClassSums.of(chunk),
        )


class _ReportParts:
    """Collector of the sums behind the parts of the report that are no numbers.

    Sums of equally many chunks are added, so that adding many sparse counts takes no longer than sorting them once.
    """

    def __init__(self) -> None:
        self._sums: list[tuple[int, ReportSums]] = []  # number of chunks, and their sums

    def add(self, chunk: Chunk) -> None:
        self._sums.append((1, ReportSums.of(chunk)))
        while len(self._sums) > 1 and self._sums[-2][0] <= self._sums[-1][0]:
            self._add_last()

    def _add_last(self) -> None:
        n, last = self._sums.pop()
        before, sums = self._sums.pop()
        self._sums.append((before + n, sums + last))

    @property
    def total(self) -> ReportSums:
        """The sums of all samples."""
        while len(self._sums) > 1:
            self._add_last()
        return self._sums[0][1]

    def numbers(self) -> Iterator[Numbers]:
        yield from ()


class Collection:
    """The collectors of all numbers of some samples.

    Args:
        by_sample: what is kept per sample, for intervals or a comparison of runs
    """

    def __init__(self, records: ObjectRecords, context: ReportContext, *, by_sample: BySample) -> None:
        config, names, n_categories = context.config, context.annotators, len(context.class_names)
        self.expected = object_distances(records, context)
        self._records = records
        self._context = context
        self._by_sample = by_sample
        self.sizes = SizeRule.of(records, config)
        assigned = records.assigned
        self.annotator_pairs = AnnotatorPairs.of(assigned)
        self.headline = HeadlineNumbers(n_categories, config.undefined, by_sample=by_sample)
        self.annotators = annotator_numbers(names, by_sample=by_sample)
        self.attributes = attribute_numbers(records, context, by_sample=by_sample)
        self._collectors: list[Collector] = [
            self.headline,
            *pair_numbers(self.annotator_pairs, names, config, self.expected.mean, by_sample=by_sample),
            ClassNumbers(context.class_names, config.undefined, by_sample=by_sample),
            *self.annotators,
            VitalityNumbers(names, assigned, n_categories, config, by_sample=by_sample),
            *self.attributes,
        ]
        n_groups = sum(isinstance(each, PairNumbers) for each in self._collectors)
        few = records.n_samples <= MAX_SAMPLES_AT_ONCE and n_groups == 1
        in_one_pass = few or by_sample is not True
        self._at_once = len(self._collectors) if in_one_pass else _KINDS_AT_ONCE if n_groups == 1 else 1

    def numbers(self, *others: Collector) -> Iterator[Numbers]:
        """All numbers; other collectors get the samples too."""
        yield sample_numbers(self._records)
        yield self.expected.numbers(self._records)
        asked = list(others)
        while self._collectors:
            asked += self._collectors[: self._at_once]
            del self._collectors[: self._at_once]
            yield from self._pass(asked)  # empties the list

    def chunks(self, records: ObjectRecords) -> Iterator[Chunk]:
        """The agreement on some samples."""
        for agreement in records.agreements(self._context.config):
            sizes = self.sizes.of_units(agreement)
            n_categories = len(self._context.class_names)
            yield Chunk.of(agreement, n_categories, sizes, self.annotator_pairs, by_sample=bool(self._by_sample))

    def _pass(self, collectors: list[Collector]) -> Iterator[Numbers]:
        with ThreadPoolExecutor(_N_THREADS) as pool:  # numpy lets another thread work meanwhile
            for chunk in self.chunks(self._records):
                for _ in pool.map(operator.methodcaller("add", chunk), collectors):
                    pass
        while collectors:
            yield from collectors.pop(0).numbers()


def object_numbers(records: ObjectRecords, context: ReportContext) -> Iterator[Numbers]:
    """All numbers of a report as functions of sums over its samples.

    Their keys are single names (``("alpha.pooled",)``), or begin with a part of the report: ``("pairs", "alice", "bob",
    "f1")``, ``("classes", "car", "alpha")``, ``("annotators", "alice", "miss_rate")``. Samples that are not rated have
    rows of zeros.
    """
    return Collection(records, context, by_sample=True).numbers()


def headline_numbers(records: ObjectRecords, context: ReportContext) -> Iterator[Numbers]:
    """The headline as functions of sums over any samples: without the alpha of images, whose chance is not one."""
    n_categories, pairs = len(context.class_names), AnnotatorPairs.of(records.assigned)
    headline = HeadlineNumbers(n_categories, context.config.undefined, by_sample=True)
    for agreement in records.agreements(context.config):
        no_size = np.full(len(agreement.units.sample), -1)
        headline.add(Chunk.of(agreement, n_categories, no_size, pairs, by_sample=True))
    yield sample_numbers(records)
    yield from headline.main_numbers()


def sample_contents(records: ObjectRecords, context: ReportContext) -> tuple[Hashes, FloatArray]:
    """Content of the samples for :func:`~..statistics.content_order.content_ranks`; independent of order and ids.

    Returns:
        hashes of the labels with their annotators, classes and verdicts ``(S,)``, and values ``(S, 2)``
    """
    annotators, classes = name_hashes(context.annotators), name_hashes(context.class_names)
    config, hashes, values = context.config, [], []
    of_values = [
        name_hashes([repr(value) for value in context.attribute_values.get(name, [None])]) for name in config.attributes
    ]
    for agreement in records.agreements(config):
        objects, n_samples = agreement.objects, agreement.n_samples
        label = combined(mixed(annotators)[objects.annotator] + classes[objects.category], agreement.object_verdict)
        label = combined(label, agreement.units.votes[agreement.unit])
        for of_value, codes in zip(of_values, agreement.attributes, strict=False):
            label = combined(label, of_value[codes].view(np.int64))
        of_assigned = assignment_hashes(agreement.assigned, annotators)
        hashes.append(of_assigned + hash_sums(objects.sample, label, n_samples))
        iou = sums_by(objects.sample[agreement.pairs.i], agreement.pairs.iou, n_samples)
        values.append(np.column_stack([agreement.score, iou]))
    return np.concatenate(hashes), np.concatenate(values)


def build_object_report(records: ObjectRecords, context: ReportContext) -> ObjectReport:
    """The report on samples."""
    config, class_names = context.config, context.class_names
    sensitivity = Sensitivity(records, config)
    rated, of_rated = rated_only(records, context)
    collection, rest = Collection(rated, of_rated, by_sample=kept_by_sample(rated, of_rated)), _ReportParts()
    effects = ObjectEffects(collection.annotator_pairs, of_rated.clusters)
    found = report_estimates(
        collection.numbers(rest, effects), lambda: sample_contents(rated, of_rated), rated, of_rated
    )
    if rated is not records:
        for chunk in collection.chunks(records.select(~records.rated)):
            rest.add(chunk)
    other = None
    if (records.otherwise != records.assigned).any():
        found_otherwise = headline_otherwise(records.agreements(config), len(class_names), config.undefined)
        other = other_reading(records, context, *found_otherwise)
    fields, sums, headline = Fields(found), rest.total, collection.headline
    joint = class_pairs(sums.pairs.confusion, class_names)
    image_alpha = collection.expected.summary(
        number(found["image_alpha.value",].value), rated, sums.headline.pair_scores.values()
    )
    tracks = None
    if "track" in records.parts[0] and context.clusters is not None:
        tracks = track_counts(records, context.clusters, config)
    pairs = pair_summaries(fields, sums.pairs, collection.annotator_pairs, tracks, context)
    consistency = [pair.track_consistency for pair in pairs if pair.track_consistency is not None]
    classes, n_classes_unlisted = class_summaries(fields, sums.classes, joint, sums.headline.matches, class_names)
    drawn = np.unique(sums.annotators.classes.column(1)).tolist()
    parts = ("", "consensus", "bias")
    n_of_pairs = sums.pairs.n_a + sums.pairs.n_b
    of_effects = effects.found(context.annotators, class_names, sums.classes.n_objects, n_of_pairs)
    counted = ("n_hard", "n_inexact", "crowded", "n_repaired", "n_points")
    n_hard, n_inexact, n_crowded, n_repaired, n_points = (
        int(records.column(name).sum(dtype=np.int64)) for name in counted
    )
    surplus, bound = records.column("inexact_surplus").sum(axis=0).tolist()
    of_annotators = {part: each.total for part, each in zip(parts, collection.annotators, strict=True)}
    return report_of(
        ObjectReport,
        fields,
        records,
        context,
        n_rated=sums.headline.n_rated,
        n_empty=sums.headline.n_empty,
        n_units=sums.headline.n_units,
        n_objects=sums.headline.n_objects,
        n_hard_components=n_hard,
        n_inexact_components=n_inexact,
        inexact_gap=1.0 - surplus / bound if bound else None,
        n_crowded=n_crowded,
        n_repaired=n_repaired,
        n_points=n_points,
        track_consistency=mean_defined(consistency)[0],
        **headline_parts(fields.of(), headline, sums.headline, joint, class_names, context.measure, of_rated.describe),
        image_alpha=image_alpha,
        attributes=[attribute.summary(found, of_rated.describe) for attribute in collection.attributes],
        sizes=size_summaries(sums.sizes, collection.sizes, sums.headline.matches),
        pairs=pairs,
        annotators=annotator_summaries(
            fields,
            of_annotators,
            sums.annotators,
            sums.pairs,
            collection.annotator_pairs,
            records.n_samples,
            context,
        ),
        sessions=sessions(pairs, fields),
        clusters=clusters(pairs, context.annotators),
        classes=classes,
        n_classes_unlisted=n_classes_unlisted,
        merges=merges(
            sums.classes.pair_counts, headline.joint.observed, headline.joint_counts(), class_names, config.undefined
        ),
        similar_names=similar_names(
            [class_names[code] for code in drawn], synonyms(joint, class_names, of_effects["confused"])
        ),
        **of_effects,
        thresholds=sensitivity.threshold_points(),
        data_threshold=data_threshold(records.threshold_sample, config),
        rules=sensitivity.rule_alphas(other),
        other_reading=other,
    )
