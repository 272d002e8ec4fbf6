"""The numbers of a report on tags: sums over samples, formulas, effects of annotators and tags."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...metrics.alpha import alpha_of
from ...metrics.alpha.sets import expected_disagreement_of_sets, set_distance
from ...metrics.bootstrap.draws import SparseColumns, hstack, sparse
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..evidence.hypotheses import EffectRows, effect_groups, findings_of, often_given
from ..matching.verdicts import LONE
from ..settings.annotators import AnnotatorPairs
from ..statistics.content_order import Hashes, assignment_hashes, combined, hash_sums, name_hashes
from ..statistics.estimates import sample_numbers
from ..statistics.numbers import GroupNumbers, Joined, Numbers, ratio
from ..statistics.report import ReportContext
from .compute import TagAgreement, TagRecords

#: maximum number of different sets for alpha; its time grows with the pairs of sets that share a tag
MAX_DIFFERENT_SETS = 20_000
#: maximum number of different sets for an interval of alpha
MAX_RESAMPLED_SETS = 200
#: maximum number of tags with intervals (the most frequent ones)
MAX_TAGS = 200


def tag_numbers(records: TagRecords, context: ReportContext) -> Iterator[Numbers]:
    """All numbers of rated samples."""
    yield sample_numbers(records)
    yield from numbers_of_sets(records.agreement(), records.assigned, context)


def headline_numbers(records: TagRecords, context: ReportContext) -> Iterator[Numbers]:
    """Score, equal sets and alpha as functions of sums over any samples."""
    agreement = records.agreement()
    yield sample_numbers(records)
    yield _equal_sets(agreement)
    yield from alpha_of_sets(agreement, context, keep_rows=True)


def numbers_of_sets(agreement: TagAgreement, assigned: BoolArray, context: ReportContext) -> Iterator[Numbers]:
    """All numbers of rated samples.

    Args:
        agreement: agreement on all samples at once, so that equal sets have equal codes
        assigned: shape ``(S, R)``
    """
    yield _equal_sets(agreement)
    yield from alpha_of_sets(agreement, context)
    yield from _pairs(agreement, assigned, context)
    yield _annotators(agreement, context)
    yield from _tags(agreement, context)


def sample_contents(records: TagRecords, context: ReportContext) -> tuple[Hashes, FloatArray]:
    """Content of the samples for :func:`~..statistics.content_order.content_ranks`: hashes of the tags ``(S,)``."""
    annotators, tags = name_hashes(context.annotators), name_hashes(context.class_names)
    sample = np.repeat(np.arange(records.n_samples), records.column("n_objects"))
    given = combined(tags[records.column("tag")], annotators[records.column("annotator")].view(np.int64))
    of_assigned = assignment_hashes(records.assigned, annotators)
    return of_assigned + hash_sums(sample, given, records.n_samples), np.empty((records.n_samples, 0))


def _equal_sets(agreement: TagAgreement) -> Numbers:
    """The mean over samples of the share of pairs of annotators with equal sets."""
    pairs, n_samples = agreement.pairs, len(agreement.score)
    n_pairs = np.bincount(pairs.sample, minlength=n_samples)
    equal = sums_by(pairs.sample, pairs.jaccard == 1.0, n_samples) / np.maximum(n_pairs, 1)
    columns = hstack([np.column_stack([equal, np.ones(n_samples)])])
    return Numbers((("alpha.percent_agreement",),), columns, lambda sums: ratio(sums[..., :1], sums[..., 1:]))


def alpha_of_sets(agreement: TagAgreement, context: ReportContext, *, keep_rows: bool = False) -> Iterator[Numbers]:
    """Alpha of whole sets; none with too many different sets, no interval with many (``keep_rows``: yet rows)."""
    number, members = agreement.sets.distinct()
    n_sets = members.shape[0]
    if n_sets > MAX_DIFFERENT_SETS:
        return
    distance, undefined = context.config.set_distance, context.config.undefined
    pairs, n_samples, unit = agreement.pairs, len(agreement.score), agreement.sets.unit
    of_pairs = (column.astype(np.float64) for column in (pairs.shared, pairs.size_a, pairs.size_b))
    differing = 2.0 * set_distance(distance, *of_pairs) / (agreement.n_annotators[pairs.sample] - 1)
    observed = sums_by(pairs.sample, differing, n_samples)

    def formula(sums: FloatArray) -> FloatArray:
        of_set = sums[..., 1:]
        expected = expected_disagreement_of_sets(members, of_set, distance)
        return alpha_of(sums[..., 0], expected, of_set.sum(axis=-1), undefined=undefined)[..., None]

    counts = sparse(unit, number, np.ones(len(unit)), (n_samples, n_sets))
    numbers = Numbers((("alpha.pooled",),), hstack([observed[:, None], counts]), formula)
    few = n_sets <= MAX_RESAMPLED_SETS
    yield numbers if few else replace(numbers, by_sample=False) if keep_rows else numbers.summed()


def _pairs(agreement: TagAgreement, assigned: BoolArray, context: ReportContext) -> Iterator[Numbers]:
    """The mean Jaccard index, and the share of equal sets, of every pair of annotators."""
    pairs, met = agreement.pairs, AnnotatorPairs.of(assigned)
    found = GroupNumbers(
        table="pairs",
        keys={pair: ("pairs", *both) for pair, both in enumerate(met.names(context.annotators))},
        n_groups=len(met),
        names=("score", "same_tags"),
        group=met.rows(pairs.a, pairs.b),
        sample=pairs.sample,
        columns={"jaccard": pairs.jaccard, "same": pairs.jaccard == 1.0, "n": np.ones(len(pairs.a))},
        formula=lambda sums: ratio(sums[..., :2], sums[..., 2:]),
        basis=np.array([2, 2]),
        resampled=met.chosen(context.annotators),
    )
    joined = Joined(by_sample=True)
    joined.add(0, [found], len(assigned))
    return joined.numbers()


def _annotators(agreement: TagAgreement, context: ReportContext) -> Numbers:
    """The mean Jaccard index of every annotator with the others."""
    n, pairs = len(context.annotators), agreement.pairs
    sample, annotator = np.tile(pairs.sample, 2), np.concatenate([pairs.a, pairs.b])
    shape = (len(agreement.score), n)
    total = sparse(sample, annotator, np.tile(pairs.jaccard, 2), shape)
    return Numbers(
        tuple(("annotators", name, "score") for name in context.annotators),
        hstack([total, sparse(sample, annotator, np.ones(len(sample)), shape)]),
        lambda sums: ratio(sums[..., :n], sums[..., n:]),
        basis=n + np.arange(n),
    )


def _tags(agreement: TagAgreement, context: ReportContext) -> Iterator[Numbers]:
    """Alpha of every tag (given or not), and the share of annotators who gave it on samples with this tag."""
    names = context.class_names
    n_given = np.bincount(agreement.tags.tag, minlength=len(names))
    given = sorted(np.flatnonzero(n_given).tolist(), key=lambda code: (-n_given[code], names[code]))
    if given[:MAX_TAGS]:
        yield _tag_numbers(agreement, context, given[:MAX_TAGS])
    if given[MAX_TAGS:]:
        yield _tag_numbers(agreement, context, given[MAX_TAGS:]).summed()


def _tag_numbers(agreement: TagAgreement, context: ReportContext, chosen: list[int]) -> Numbers:
    tags, names, n, n_samples = agreement.tags, context.class_names, len(chosen), len(agreement.score)
    place = np.full(len(names), -1)
    place[chosen] = np.arange(n)
    kept = place[tags.tag] >= 0
    sample, column, votes = tags.sample[kept], place[tags.tag[kept]], tags.votes[kept]
    m = agreement.n_annotators[sample]

    def columns(values: FloatArray | IntArray) -> SparseColumns:
        return sparse(sample, column, values, (n_samples, n))

    def formula(sums: FloatArray) -> FloatArray:
        n_sets, (votes, assigned, differing) = sums[..., :1], np.split(sums[..., 1:], 3, axis=-1)
        return np.concatenate(
            [alpha_of(differing, 2 * votes * (n_sets - votes), n_sets), ratio(votes, assigned)], axis=-1
        )

    n_sets = agreement.n_annotators[:, None].astype(np.float64)
    return Numbers(
        tuple(("tags", names[code], name) for name in ("alpha", "share") for code in chosen),
        hstack([n_sets, columns(votes), columns(m), columns(2 * votes * (m - votes) / (m - 1))]),
        formula,
        basis=1 + np.tile(np.arange(n), 2),
    )


def tag_effects(agreement: TagAgreement, context: ReportContext) -> dict[str, Any]:
    """The fields of a report: what the tests confirm, and of how many.

    Args:
        agreement: on rated samples
    """
    annotators, effects = context.annotators, EffectRows(context.clusters)
    _annotator_effects(effects, agreement, len(annotators))
    _tag_effects(effects, agreement, len(annotators), len(context.class_names))
    return findings_of(effects.moments(), annotators, context.class_names)


def _annotator_effects(effects: EffectRows, agreement: TagAgreement, n: int) -> None:
    """Annotators' rates of tags left out, and of tags that nobody else gave, against the others'."""
    sets, tags, n_samples = agreement.sets, agreement.tags, len(agreement.score)
    cell = sets.unit * n + agreement.annotator
    votes, of_set = tags.votes[agreement.of_given], cell[sets.row]

    def table(values: FloatArray | BoolArray) -> FloatArray:
        return sums_by(of_set, values.astype(np.float64), n_samples * n).reshape(n_samples, n)

    assigned = np.bincount(cell, minlength=n_samples * n).reshape(n_samples, n) > 0
    given = table(np.ones(len(of_set)))
    _against_others(effects, "lone", table(tags.verdict[agreement.of_given] == LONE), given, assigned)
    if n > 2:
        by_two = np.bincount(tags.sample[tags.votes >= 2], minlength=n_samples)
        missed = np.where(assigned, by_two[:, None] - table(votes >= 2), 0.0)
        _against_others(effects, "misses", missed, missed + table(votes >= 3), assigned)


def _against_others(effects: EffectRows, kind: str, own: FloatArray, whole: FloatArray, assigned: BoolArray) -> None:
    """An annotator against the other annotators on all images of the annotator; shapes ``(S, R)``.

    Images without an own whole count for the others: where the others left a tag out, there may be none that two others
    gave.
    """
    others = [np.where(assigned, column.sum(axis=1, keepdims=True) - column, 0.0) for column in (own, whole)]
    effects.add_table(
        effect_groups(kind, np.arange(own.shape[1])), len(own), functools.partial(_slices, own, whole, *others)
    )


def _tag_effects(effects: EffectRows, agreement: TagAgreement, n: int, n_tags: int) -> None:
    """Annotators' rates of each tag against the others', and tags left out more than other tags."""
    sets, tags, n_samples = agreement.sets, agreement.tags, len(agreement.score)
    n_given = sums_by(tags.tag, tags.votes, n_tags)
    n_images = np.bincount(tags.tag, minlength=n_tags)
    assigned = np.zeros((n_samples, n), np.bool_)
    assigned[sets.unit, agreement.annotator] = True
    # of two annotators nobody leaves out what two others gave: whether only one of them gave it counts
    counted = tags.votes >= 2 if n > 2 else np.ones(len(tags.tag), np.bool_)
    of_all = agreement.n_annotators[tags.sample]
    missing = np.where(counted, of_all - tags.votes if n > 2 else tags.votes == 1, 0)
    could = np.where(counted, of_all if n > 2 else 1, 0)
    totals = [sums_by(tags.sample, column, n_samples) for column in (missing, could)]
    for tag in often_given(n_given, n_images):
        gave = np.zeros((n_samples, n))
        of_tag = sets.row[sets.tag == tag]
        gave[sets.unit[of_tag], agreement.annotator[of_tag]] = 1.0
        effects.add_deviations("class_used", tag, n_samples, functools.partial(_slices, gave, assigned))
        rows = tags.tag == tag
        own, whole = (sums_by(tags.sample[rows], column[rows], n_samples) for column in (missing, could))
        others = [np.where(whole > 0, total - column, 0.0) for total, column in zip(totals, (own, whole), strict=True)]
        group, table = effect_groups("class_missed", np.array([tag])), np.stack([own, whole, *others])[:, :, None]
        effects.add_table(group, n_samples, functools.partial(_slices, *table))


def _slices(*columns_and_slice: Any) -> Any:
    """Some rows of columns, the last argument says which."""
    *columns, some = columns_and_slice
    return tuple(column[some] for column in columns)
