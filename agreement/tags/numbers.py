"""The numbers of a report on tags: sums over samples, formulas, effects of annotators and tags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...metrics.alpha import alpha_of
from ...metrics.alpha.sets import expected_disagreement_of_sets, set_distance
from ...metrics.bootstrap.draws import hstack, sparse
from ...metrics.numeric.arrays import FloatArray, sums_by
from ..evidence.hypotheses import EffectRows, findings_of, often_given
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
    yield from numbers_of_sets(records.agreement(), context)


def headline_numbers(records: TagRecords, context: ReportContext) -> Iterator[Numbers]:
    """Score, equal sets and alpha as functions of sums over any samples."""
    agreement = records.agreement()
    yield sample_numbers(records)
    yield _equal_sets(agreement)
    yield from alpha_of_sets(agreement, context, keep_rows=True)


def sample_contents(records: TagRecords, context: ReportContext) -> tuple[Hashes, FloatArray]:
    """Content of the samples for :func:`~..statistics.content_order.content_ranks`: hashes of the tags ``(S,)``."""
    annotators, tags = name_hashes(context.annotators), name_hashes(context.class_names)
    sample, annotator, tag = records.labels()
    given = combined(tags[tag], annotators[annotator].view(np.int64))
    of_assigned = assignment_hashes(records.assigned, annotators)
    return of_assigned + hash_sums(sample, given, records.n_samples), np.empty((records.n_samples, 0))


def numbers_of_sets(t: TagAgreement, context: ReportContext) -> Iterator[Numbers]:
    """All numbers of rated samples but those that all families have.

    Args:
        t: agreement on all samples at once, so that equal sets have equal codes
    """
    names, n, n_samples = context.annotators, len(context.annotators), len(t.score)
    yield _equal_sets(t)
    yield from alpha_of_sets(t, context)

    met = AnnotatorPairs.of(t.assigned)
    pairs = GroupNumbers(
        table="pairs",
        keys={pair: ("pairs", *both) for pair, both in enumerate(met.names(names))},
        n_groups=len(met),
        names=("score", "same_tags"),
        group=met.rows(t.a, t.b),
        sample=t.met_on,
        columns={"jaccard": t.jaccard, "same": t.jaccard == 1.0, "n": np.ones(len(t.a))},
        formula=lambda sums: ratio(sums[..., :2], sums[..., 2:]),
        basis=np.array([2, 2]),
        resampled=met.chosen(names),
    )
    joined = Joined(by_sample=True)
    joined.add(0, [pairs], n_samples)
    yield from joined.numbers()

    # the mean Jaccard index of every annotator with the others
    place, shape = (np.tile(t.met_on, 2), np.concatenate([t.a, t.b])), (n_samples, n)
    of_annotators = [sparse(*place, np.tile(t.jaccard, 2), shape), sparse(*place, np.ones(2 * len(t.a)), shape)]
    yield Numbers(
        tuple(("annotators", name, "score") for name in names),
        hstack(of_annotators),
        lambda sums: ratio(sums[..., :n], sums[..., n:]),
        basis=n + np.arange(n),
    )

    n_given = np.bincount(t.unit_tag, minlength=len(context.class_names))
    codes = np.flatnonzero(n_given).tolist()
    by_frequency = sorted(codes, key=lambda code: (-n_given[code], context.class_names[code]))
    if codes:
        yield _numbers_of_tags(t, context, by_frequency[:MAX_TAGS])
    if codes[MAX_TAGS:]:
        yield _numbers_of_tags(t, context, by_frequency[MAX_TAGS:]).summed()


def _equal_sets(t: TagAgreement) -> Numbers:
    """The mean over samples of the share of pairs of annotators with equal sets."""
    n_samples = len(t.score)
    n_pairs = np.bincount(t.met_on, minlength=n_samples)
    equal = sums_by(t.met_on, t.jaccard == 1.0, n_samples) / np.maximum(n_pairs, 1)
    columns = hstack([np.column_stack([equal, np.ones(n_samples)])])
    return Numbers((("alpha.percent_agreement",),), columns, lambda sums: ratio(sums[..., :1], sums[..., 1:]))


def alpha_of_sets(t: TagAgreement, context: ReportContext, *, keep_rows: bool = False) -> Iterator[Numbers]:
    """Alpha of whole sets; none with too many different sets, no interval with many (``keep_rows``: yet rows)."""
    sets = t.sets
    number, members = sets.distinct()
    n_sets = members.shape[0]
    if n_sets > MAX_DIFFERENT_SETS:
        return
    distance, undefined = context.config.set_distance, context.config.undefined
    of_pairs = (column.astype(np.float64) for column in (t.shared, t.n_a, t.n_b))
    differing = 2.0 * set_distance(distance, *of_pairs) / (t.n_annotators[t.met_on] - 1)
    observed = sums_by(t.met_on, differing, len(t.score))

    def formula(sums: FloatArray) -> FloatArray:
        of_set = sums[..., 1:]
        expected = expected_disagreement_of_sets(members, of_set, distance)
        return alpha_of(sums[..., 0], expected, of_set.sum(axis=-1), undefined=undefined)[..., None]

    counts = sparse(sets.unit, number, np.ones(len(number)), (len(t.score), n_sets))
    numbers = Numbers((("alpha.pooled",),), hstack([observed[:, None], counts]), formula)
    few = n_sets <= MAX_RESAMPLED_SETS
    yield numbers if few else replace(numbers, by_sample=False) if keep_rows else numbers.summed()


def _numbers_of_tags(t: TagAgreement, context: ReportContext, chosen: list[int]) -> Numbers:
    """Alpha of every tag (given or not), and the share of annotators who gave it on samples with this tag."""
    names, n = context.class_names, len(chosen)
    place = np.full(len(names), -1)
    place[chosen] = np.arange(n)
    kept = place[t.unit_tag] >= 0
    sample, column, votes = t.unit_sample[kept], place[t.unit_tag[kept]], t.votes[kept]
    m = t.n_annotators[sample]

    def formula(sums: FloatArray) -> FloatArray:
        n_sets, (votes, assigned, differing) = sums[..., :1], np.split(sums[..., 1:], 3, axis=-1)
        return np.concatenate(
            [alpha_of(differing, 2 * votes * (n_sets - votes), n_sets), ratio(votes, assigned)], axis=-1
        )

    columns = (
        sparse(sample, column, each, (len(t.score), n)) for each in (votes, m, 2 * votes * (m - votes) / (m - 1))
    )
    return Numbers(
        tuple(("tags", names[code], name) for name in ("alpha", "share") for code in chosen),
        hstack([t.n_annotators[:, None].astype(np.float64), *columns]),
        formula,
        basis=1 + np.tile(np.arange(n), 2),
    )


def tag_effects(t: TagAgreement, context: ReportContext) -> dict[str, Any]:
    """The fields of a report: what the tests confirm, and of how many.

    Args:
        t: agreement on rated samples
    """
    effects, (n_samples, n) = EffectRows(context.clusters), t.assigned.shape
    several, who = n > 2, np.arange(n)

    def count(values: Any) -> FloatArray:
        """Sums over the tags of every annotator on every sample, ``(S, R)``."""
        return sums_by(t.sample * n + t.annotator, values[t.unit], n_samples * n).reshape(n_samples, n)

    # tags left out, and tags that nobody else gave, against the other annotators on all images of the annotator: also
    # on images without an own whole, as where the others left a tag out there may be none that two others gave
    rates = {"lone": (count(t.verdict == LONE), count(np.ones(len(t.votes))))}
    if several:
        by_two = np.bincount(t.unit_sample[t.votes >= 2], minlength=n_samples)
        missed = np.where(t.assigned, by_two[:, None] - count(t.votes >= 2), 0.0)
        rates["misses"] = missed, missed + count(t.votes >= 3)
    for kind, both in rates.items():
        others = (np.where(t.assigned, each.sum(axis=1, keepdims=True) - each, 0.0) for each in both)
        effects.add_table(kind, who, (*both, *others))

    # annotators' rates of each tag against the others', and tags left out more than other tags; of two annotators
    # nobody leaves out what two others gave: whether only one of them gave it counts
    assigned = t.n_annotators[t.unit_sample]
    missing = np.where(t.votes >= 2, assigned - t.votes, 0) if several else t.votes == 1
    could = np.where(t.votes >= 2, assigned, 0) if several else np.ones(len(t.votes))
    of_all = [sums_by(t.unit_sample, each, n_samples) for each in (missing, could)]
    n_tags = len(context.class_names)
    n_given, n_images = np.bincount(t.tag, minlength=n_tags), np.bincount(t.unit_tag, minlength=n_tags)
    for tag in often_given(n_given, n_images):
        gave = np.zeros((n_samples, n))
        gave[t.sample[t.tag == tag], t.annotator[t.tag == tag]] = 1.0
        effects.add_deviations("class_used", gave, t.assigned, tag)
        rows = t.unit_tag == tag
        own, whole = (sums_by(t.unit_sample[rows], each[rows], n_samples) for each in (missing, could))
        others = (np.where(whole > 0, total - each, 0.0) for total, each in zip(of_all, (own, whole), strict=True))
        effects.add_table("class_missed", [tag], [each[:, None] for each in (own, whole, *others)])
    return findings_of(effects.moments(), context.annotators, context.class_names)
