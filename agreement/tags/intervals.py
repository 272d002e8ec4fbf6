"""Confidence intervals in a report on tags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...metrics.alpha.sets import set_distance
from ...metrics.arrays import FloatArray, IntArray, pairs_within, sums_by
from ...metrics.bootstrap.sparse import SparseColumns, beside, sparse
from ..content_order import Hashes, assignment_hashes, combined, content_ranks, hash_sums, name_hashes
from ..numbers import Estimate, Key, Numbers, by_owner, estimates, ratio
from ..pairs import chosen_pairs, pair_names
from ..report import ReportContext
from .compute import TagAgreement, TagBatch, compute_tags
from .records import TagRecords

if TYPE_CHECKING:
    from .report import TagReport

#: the alpha of sets has no interval where there are more different sets: it needs all pairs of these
MAX_DIFFERENT_SETS = 200
#: at most so many tags have intervals, the most frequent ones
MAX_TAGS = 200


def tag_sums(records: TagRecords, context: ReportContext) -> Iterator[Numbers]:
    """The numbers of a report that are functions of sums over samples; those not rated have rows of zeros."""
    agreement = _whole(records)
    yield _headline(agreement, context)
    yield from _pairs(agreement, records, context)
    yield _annotators(agreement, context)
    yield from _tags(agreement, context)


def sample_contents(records: TagRecords, context: ReportContext) -> tuple[Hashes, FloatArray]:
    """What tells samples apart, for :func:`~..content_order.content_ranks`: hashes of the tags ``(S,)``."""
    annotators, tags = name_hashes(context.annotators), name_hashes(context.class_names)
    sample = np.repeat(np.arange(records.n_samples), records.column("n_objects"))
    given = combined(tags[records.column("tag")], annotators[records.column("annotator")].view(np.int64))
    of_assigned = assignment_hashes(records.assigned, annotators)
    return of_assigned + hash_sums(sample, given, records.n_samples), np.empty((records.n_samples, 0))


def tag_estimates(records: TagRecords, context: ReportContext) -> dict[Key, Estimate]:
    """All numbers that have intervals, with these."""
    rated = records.assigned.sum(axis=1) >= 2
    records = records.select(rated)
    clusters = None if context.clusters is None else context.clusters[rated]
    ranks = content_ranks(*sample_contents(records, context), clusters)
    config = context.config
    return estimates(tag_sums(records, context), ranks, resamples=config.resamples, seed=config.seed)


def with_intervals(report: TagReport, records: TagRecords, context: ReportContext) -> TagReport:
    """The report with confidence intervals of its numbers, as many as there are samples for."""
    if not context.config.resamples:
        return report
    of = by_owner(tag_estimates(records, context))
    return replace(
        report,
        intervals=of[()],
        pairs=[replace(pair, intervals=of["pairs", pair.a, pair.b]) for pair in report.pairs],
        annotators=[replace(entry, intervals=of["annotators", entry.name]) for entry in report.annotators],
        tags=[replace(entry, intervals=of["tags", entry.tag]) for entry in report.tags],
    )


def _whole(records: TagRecords) -> TagAgreement:
    """The agreement on all samples at once, so that equal sets have equal numbers."""
    sample = np.repeat(np.arange(records.n_samples), records.column("n_objects"))
    annotator, tag = (records.column(name).astype(np.int64) for name in ("annotator", "tag"))
    return compute_tags(TagBatch(sample, annotator, tag, records.assigned))


def _headline(agreement: TagAgreement, context: ReportContext) -> Numbers:
    """The score, the share of equal sets, and alpha of whole sets, unless there are too many different ones."""
    config, pairs, n_samples = context.config, agreement.pairs, len(agreement.score)
    n_pairs = np.bincount(pairs.sample, minlength=n_samples)
    equal = sums_by(pairs.sample, pairs.jaccard == 1.0, n_samples) / np.maximum(n_pairs, 1)
    plain = np.column_stack([np.nan_to_num(agreement.score), equal, agreement.rated]).astype(np.float64)
    number, members = agreement.sets.distinct()
    keys: tuple[Key, ...] = (("score.mean",), ("alpha.percent_agreement",))
    if members.shape[0] > MAX_DIFFERENT_SETS:
        return Numbers(keys, beside([plain]), lambda sums: ratio(sums[..., :2], sums[..., 2:]))
    size = np.asarray(members.sum(axis=1), np.float64)
    shared = np.asarray((members @ members.T).todense(), np.float64)
    distance = set_distance(config.set_distance, shared, size[:, None], size[None, :])
    unit = agreement.sets.unit
    i, j = pairs_within(unit)
    of_pair = 2.0 * distance[number[i], number[j]] / (agreement.n_annotators[unit[i]] - 1)
    observed = sums_by(unit[i], of_pair, n_samples)
    counted = agreement.rated[unit]
    counts = sparse(unit[counted], number[counted], np.ones(int(counted.sum())), (n_samples, len(size)))

    def statistic(sums: FloatArray) -> FloatArray:
        of_set = sums[..., 4:]
        n, expected = of_set.sum(axis=-1), ((of_set @ distance) * of_set).sum(axis=-1)
        alpha = 1.0 - (n - 1) * ratio(sums[..., 3], expected)
        if config.undefined == "one":
            alpha = np.where(np.isnan(alpha) & (n > 0), 1.0, alpha)
        return np.concatenate([ratio(sums[..., :2], sums[..., 2:3]), alpha[..., None]], axis=-1)

    return Numbers((*keys, ("alpha.pooled",)), beside([plain, observed[:, None], counts]), statistic)


def _pairs(agreement: TagAgreement, records: TagRecords, context: ReportContext) -> Iterator[Numbers]:
    """The mean Jaccard index of every pair of annotators, and the share of samples with the same tags."""
    names, pairs = context.annotators, agreement.pairs
    a, b = pair_names(len(names))
    for pair in chosen_pairs(records.assigned, names).tolist():
        rows = np.flatnonzero((pairs.a == a[pair]) & (pairs.b == b[pair]))
        jaccard = pairs.jaccard[rows]
        key = ("pairs", names[a[pair]], names[b[pair]])
        yield Numbers(
            ((*key, "score"), (*key, "same_tags")),
            beside([np.column_stack([jaccard, jaccard == 1.0, np.ones(len(rows))]).astype(np.float64)]),
            lambda sums: ratio(sums[..., :2], sums[..., 2:]),
            pairs.sample[rows],
            np.array([2, 2]),
        )


def _annotators(agreement: TagAgreement, context: ReportContext) -> Numbers:
    """The mean Jaccard index of every annotator with another."""
    n, pairs = len(context.annotators), agreement.pairs
    sample, annotator = np.tile(pairs.sample, 2), np.concatenate([pairs.a, pairs.b])
    shape = (len(agreement.score), n)
    total = sparse(sample, annotator, np.tile(pairs.jaccard, 2), shape)
    return Numbers(
        tuple(("annotators", name, "score") for name in context.annotators),
        beside([total, sparse(sample, annotator, np.ones(len(sample)), shape)]),
        lambda sums: ratio(sums[..., :n], sums[..., n:]),
        basis=n + np.arange(n),
    )


def _tags(agreement: TagAgreement, context: ReportContext) -> Iterator[Numbers]:
    """Alpha of every tag, given or not given, and the share of annotators who gave it where anybody did."""
    found, n_samples = agreement.tags, len(agreement.score)
    rated = agreement.rated[found.sample]
    sample, tag, votes = found.sample[rated], found.tag[rated], found.votes[rated]
    names = context.class_names
    n_given = np.bincount(tag, minlength=len(names))
    chosen = sorted(np.flatnonzero(n_given).tolist(), key=lambda code: (-n_given[code], names[code]))[:MAX_TAGS]
    if not chosen:
        return
    n = len(chosen)
    place = np.full(len(names), -1)
    place[chosen] = np.arange(n)
    kept = place[tag] >= 0
    sample, column, votes = sample[kept], place[tag[kept]], votes[kept]
    m = agreement.n_annotators[sample]

    def columns(values: FloatArray | IntArray) -> SparseColumns:
        return sparse(sample, column, values, (n_samples, n))

    def statistic(sums: FloatArray) -> FloatArray:
        given, assigned, differing = (sums[..., 1 + k * n : 1 + (k + 1) * n] for k in range(3))
        n_sets = sums[..., :1]
        alpha = 1.0 - (n_sets - 1) * ratio(differing, 2 * given * (n_sets - given))
        return np.concatenate([alpha, ratio(given, assigned)], axis=-1)

    n_sets = np.where(agreement.rated, agreement.n_annotators, 0)[:, None].astype(np.float64)
    yield Numbers(
        tuple(("tags", names[code], name) for name in ("alpha", "share") for code in chosen),
        beside([n_sets, columns(votes), columns(m), columns(2 * votes * (m - votes) / (m - 1))]),
        statistic,
        basis=1 + np.tile(np.arange(n), 2),
    )
