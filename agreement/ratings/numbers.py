"""The numbers of a report on ratings: sums over samples and formulas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...metrics.alpha.nominal import Level
from ...metrics.alpha.rated import alpha_sums
from ...metrics.bootstrap.draws import hstack
from ...metrics.numeric.arrays import FloatArray, IntArray
from ..settings.annotators import AnnotatorPairs
from ..statistics.content_order import Hashes, combined, hash_sums, mixed, name_hashes
from ..statistics.estimates import sample_numbers
from ..statistics.numbers import Key, Numbers, Rows, ratio
from ..statistics.report import ReportContext
from .compute import RatingRecords, agreeing, rating_of_others
from .scale import RatingTable

#: samples that are compared at once
SAMPLES_AT_ONCE = 4_096


def rating_numbers(records: RatingRecords, context: ReportContext) -> Iterator[Numbers]:
    """All numbers of rated samples."""
    return numbers_of_table(records, RatingTable.of(records.ratings, context), context)


def headline_numbers(records: RatingRecords, context: ReportContext) -> Iterator[Numbers]:
    """Score and alpha as functions of sums over any samples."""
    table = RatingTable.of(records.ratings, context)
    yield sample_numbers(records)
    yield _alpha(("alpha.pooled",), table.of_alpha, table.level, context, keep_rows=True)


def numbers_of_table(records: RatingRecords, table: RatingTable, context: ReportContext) -> Iterator[Numbers]:
    """All numbers of rated samples: score and alpha overall and of every pair, and the score of every annotator."""
    names, assigned = context.annotators, records.assigned
    ratings, of_alpha, level = table.ratings, table.of_alpha, table.level
    yield sample_numbers(records)
    yield _alpha(("alpha.pooled",), of_alpha, level, context)

    pairs = AnnotatorPairs.of(assigned)
    resampled = set(pairs.chosen(names).tolist())
    for pair, (a, b) in enumerate(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)):
        rows = np.flatnonzero(assigned[:, a] & assigned[:, b])
        key = ("pairs", names[a], names[b])
        agree = agreeing(ratings[rows, a], ratings[rows, b], table.tolerance)
        columns = hstack([np.column_stack([agree, np.ones(len(rows))]).astype(np.float64)])
        numbers = (
            Numbers(((*key, "score"),), columns, lambda sums: ratio(sums[..., :1], sums[..., 1:]), rows, np.array([1])),
            _alpha((*key, "alpha"), of_alpha[np.ix_(rows, [a, b])], level, context, rows),
        )
        yield from (each if pair in resampled else each.summed() for each in numbers)
    yield _annotators(ratings, table.tolerance, context)


def sample_contents(records: RatingRecords, context: ReportContext) -> tuple[Hashes, FloatArray]:
    """Content of the samples for :func:`~..content_order.content_ranks`: hashes of the ratings ``(S,)``."""
    ratings = records.ratings
    sample, annotator = np.nonzero(~np.isnan(ratings))
    given = ratings[sample, annotator]
    if context.details["numbers"]:
        hashes = (given + 0.0).view(np.uint64)  # -0 is 0
    else:
        hashes = name_hashes(context.class_names)[given.astype(np.int64)]
    hashes = combined(hashes, name_hashes(context.annotators)[annotator].view(np.int64))
    return hash_sums(sample, mixed(hashes), len(ratings)), np.empty((len(ratings), 0))


def _alpha(
    key: Key,
    table: FloatArray,
    level: Level,
    context: ReportContext,
    samples: IntArray | None = None,
    *,
    keep_rows: bool = False,
) -> Numbers:
    """Alpha of all or some samples; no interval if there are very many different values (``keep_rows``: yet rows)."""
    sums = alpha_sums(table, level, context.config.undefined)
    formula = sums.formula
    numbers = Numbers((key,), sums.columns, lambda found: formula(found)[..., None])
    if samples is not None:
        columns, n = hstack([sums.columns, np.ones((len(samples), 1))]), sums.columns.shape[1]
        numbers = Numbers((key,), columns, lambda found: formula(found[..., :n])[..., None], samples, np.array([n]))
    return numbers if sums.few_values else replace(numbers, by_sample=False) if keep_rows else numbers.summed()


def _annotators(ratings: FloatArray, tolerance: float, context: ReportContext) -> Numbers:
    """For every annotator, the share of the others' ratings that agree, and of ratings that differ from most."""
    n = ratings.shape[1]
    rows = Rows(by_sample=context.config.resamples > 0)
    for start in range(0, max(len(ratings), 1), SAMPLES_AT_ONCE):
        some = ratings[start : start + SAMPLES_AT_ONCE]
        given = ~np.isnan(some)
        n_others = np.where(given, given.sum(axis=1, keepdims=True) - 1, 0)
        n_agreeing = [agreeing(some, some[:, k : k + 1], tolerance).sum(axis=1) - given[:, k] for k in range(n)]
        majority = rating_of_others(some)
        differ = given & ~np.isnan(majority) & ~agreeing(some, majority, tolerance)
        columns = [*n_agreeing, *differ.T, n_others, ~np.isnan(majority)]
        rows.add(hstack([np.column_stack(columns).astype(np.float64)]))
    return rows.numbers(
        tuple(("annotators", name, number) for number in ("score", "other_class") for name in context.annotators),
        lambda sums: ratio(sums[..., : 2 * n], sums[..., 2 * n :]),
        2 * n + np.arange(2 * n),
    )
