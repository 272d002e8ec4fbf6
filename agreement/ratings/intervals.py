"""Confidence intervals in a report on ratings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...metrics.alpha.nominal import Level
from ...metrics.arrays import FloatArray
from ...metrics.bootstrap.sparse import beside
from ..config import AgreementConfig
from ..content_order import Hashes, combined, content_ranks, hash_sums, mixed, name_hashes
from ..numbers import Estimate, Key, Numbers, by_owner, estimates, ratio
from ..pairs import chosen_pairs, pair_names
from ..report import ReportContext
from .alpha_sums import alpha_sums
from .compute import agreeing
from .levels import level_of
from .records import RatingRecords
from .scale import scale_classes, scale_numbers

if TYPE_CHECKING:
    from .report import RatingReport


def rating_sums(records: RatingRecords, context: ReportContext) -> Iterator[Numbers]:
    """The numbers of a report that are functions of sums over samples.

    The score, alpha (see :func:`~.alpha_sums.alpha_sums` for where it has none), both of every pair, and the score of
    every annotator; samples that fewer than two rated have rows of zeros.
    """
    config, names = context.config, context.annotators
    numbers = bool(context.details["numbers"])
    ratings, score = records.ratings, records.column("score")
    level = level_of(config, numbers=numbers)
    table = _compared(ratings, level, context)
    tolerance = config.tolerance if numbers else 0.0
    scored = ~np.isnan(score)
    plain = np.column_stack([np.nan_to_num(score), scored]).astype(np.float64)
    yield _with_alpha((("score.mean",),), ("alpha.pooled",), plain, table, level, config)
    a, b = pair_names(len(names))
    for pair in chosen_pairs(records.assigned, names).tolist():
        both = [a[pair], b[pair]]
        rows = np.flatnonzero(~np.isnan(ratings[:, both]).any(axis=1))
        agree = agreeing(ratings[rows, a[pair]], ratings[rows, b[pair]], tolerance)
        key = ("pairs", names[a[pair]], names[b[pair]])
        plain = np.column_stack([agree, np.ones(len(rows))]).astype(np.float64)
        of_pair = _with_alpha(((*key, "score"),), (*key, "alpha"), plain, table[np.ix_(rows, both)], level, config)
        yield replace(of_pair, samples=rows, basis=np.full(len(of_pair.keys), 1))
    yield _of_annotators(ratings, tolerance, context)


def sample_contents(records: RatingRecords, context: ReportContext) -> tuple[Hashes, FloatArray]:
    """What tells samples apart, for :func:`~..content_order.content_ranks`: hashes of the ratings ``(S,)``."""
    ratings = records.ratings
    sample, annotator = np.nonzero(~np.isnan(ratings))
    given = ratings[sample, annotator]
    if context.details["numbers"]:
        hashes = (given + 0.0).view(np.uint64)  # -0 is 0
    else:
        hashes = name_hashes(context.class_names)[given.astype(np.int64)]
    hashes = combined(hashes, name_hashes(context.annotators)[annotator].view(np.int64))
    return hash_sums(sample, mixed(hashes), len(ratings)), np.empty((len(ratings), 0))


def rating_estimates(records: RatingRecords, context: ReportContext) -> dict[Key, Estimate]:
    """All numbers that have intervals, with these."""
    rated = records.assigned.sum(axis=1) >= 2
    records = records.select(rated)
    clusters = None if context.clusters is None else context.clusters[rated]
    ranks = content_ranks(*sample_contents(records, context), clusters)
    config = context.config
    return estimates(rating_sums(records, context), ranks, resamples=config.resamples, seed=config.seed)


def with_intervals(report: RatingReport, records: RatingRecords, context: ReportContext) -> RatingReport:
    """The report with confidence intervals of its numbers, as many as there are samples for."""
    if not context.config.resamples:
        return report
    of = by_owner(rating_estimates(records, context))
    return replace(
        report,
        intervals=of[()],
        pairs=[replace(pair, intervals=of["pairs", pair.a, pair.b]) for pair in report.pairs],
        annotators=[replace(entry, intervals=of["annotators", entry.name]) for entry in report.annotators],
    )


def _compared(ratings: FloatArray, level: Level, context: ReportContext) -> FloatArray:
    """What alpha compares: the numbers themselves, or positions of categories in their order."""
    if level in ("interval", "ratio"):
        return ratings
    if not context.details["numbers"]:
        return scale_classes(ratings, context.class_names, level, context.config).positions
    scaled = scale_numbers(ratings, level, context.config)
    return ratings if scaled is None else scaled.positions


def _with_alpha(
    keys: tuple[Key, ...], alpha_key: Key, plain: FloatArray, table: FloatArray, level: Level, config: AgreementConfig
) -> Numbers:
    """A mean from its sum and number, and alpha."""
    found = alpha_sums(table, level, config.undefined)
    if found is None:
        return Numbers(keys, beside([plain]), lambda sums: ratio(sums[..., :1], sums[..., 1:]))
    columns, alpha = found

    def statistic(sums: FloatArray) -> FloatArray:
        return np.stack([ratio(sums[..., 0], sums[..., 1]), alpha(sums[..., 2:])], axis=-1)

    return Numbers((*keys, alpha_key), beside([plain, columns]), statistic)


def _of_annotators(ratings: FloatArray, tolerance: float, context: ReportContext) -> Numbers:
    """The share of the ratings of others, on the same samples, that agree with those of every annotator."""
    names = context.annotators
    n, given = len(names), ~np.isnan(ratings)
    n_others = np.where(given, given.sum(axis=1, keepdims=True) - 1, 0)
    n_agreeing = [agreeing(ratings, ratings[:, k : k + 1], tolerance).sum(axis=1) - given[:, k] for k in range(n)]
    columns = np.column_stack([*n_agreeing, n_others]).astype(np.float64)
    return Numbers(
        tuple(("annotators", name, "score") for name in names),
        beside([columns]),
        lambda sums: ratio(sums[..., :n], sums[..., n:]),
        basis=n + np.arange(n),
    )
