"""The numbers of a report on ratings: sums over samples, formulas, effects of annotators and classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...metrics.alpha.nominal import Level
from ...metrics.alpha.rated import alpha_sums
from ...metrics.bootstrap.draws import hstack
from ...metrics.numeric.arrays import FloatArray, IntArray, pairs_within, sums_by
from ..evidence.confusions import conflict_rows, findings_and_confusions
from ..evidence.hypotheses import EffectRows, effect_groups, often_given
from ..settings.annotators import AnnotatorPairs
from ..statistics.content_order import Hashes, combined, hash_sums, mixed, name_hashes
from ..statistics.estimates import sample_numbers
from ..statistics.numbers import Key, Numbers, ratio
from ..statistics.report import ReportContext
from .compute import ROWS_AT_ONCE, RatingRecords, agreeing, n_agreeing, rating_of_others
from .scale import RatingTable


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
            Numbers(
                ((*key, "score"),),
                columns,
                lambda sums: ratio(sums[..., :1], sums[..., 1:]),
                rows,
                basis=np.array([1]),
                scores_are_shares=True,
            ),
            _alpha((*key, "alpha"), of_alpha[np.ix_(rows, [a, b])], level, context, rows),
        )
        yield from (each if pair in resampled else each.summed() for each in numbers)
    yield _annotators(ratings, table.tolerance, context)


def sample_contents(records: RatingRecords, context: ReportContext) -> tuple[Hashes, FloatArray]:
    """Content of the samples for :func:`~..statistics.content_order.content_ranks`: hashes of the ratings ``(S,)``."""
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
    n, given, majority = ratings.shape[1], ~np.isnan(ratings), rating_of_others(ratings)
    n_others = np.where(given, given.sum(axis=1, keepdims=True) - 1, 0)
    differ = given & ~np.isnan(majority) & ~agreeing(ratings, majority, tolerance)
    columns = [n_agreeing(ratings, tolerance) - given, differ, n_others, ~np.isnan(majority)]
    numbers = Numbers(
        tuple(("annotators", name, number) for number in ("score", "other_class") for name in context.annotators),
        hstack([np.hstack(columns).astype(np.float64)]),
        lambda sums: ratio(sums[..., : 2 * n], sums[..., 2 * n :]),
        basis=2 * n + np.arange(2 * n),
        scores_are_shares=True,
    )
    return numbers if context.config.resamples else numbers.summed()


def rating_effects(table: RatingTable, context: ReportContext) -> dict[str, Any]:
    """The fields of a report: what the tests confirm, of how many, and the classes that are confused.

    Args:
        table: of rated samples
    """
    ratings, values, positions = table.ratings, table.of_alpha, table.positions
    effects, n_samples, given = EffectRows(context.clusters), len(ratings), ~np.isnan(ratings)
    # conflicts of an annotator with the others, against those of the others among themselves
    n_others = np.where(given, given.sum(axis=1, keepdims=True) - 1, 0)
    differ = np.where(given, n_others + 1 - n_agreeing(ratings, table.tolerance), 0)
    rest = [np.where(n_others > 0, each.sum(axis=1, keepdims=True) // 2 - each, 0) for each in (differ, n_others)]
    effects.add_table("conflicts", range(ratings.shape[1]), (differ, n_others, *rest))
    if table.level != "nominal" and given.any() and (low := np.nanmin(values)) < (high := np.nanmax(values)):
        effects.add_deviations("rates", (values - low) / (high - low), ~np.isnan(values))
    expected: dict[int, float] = {}
    n_labels = np.empty(0, np.int64)
    if positions is not None and not table.are_numbers:
        k = max(len(table.categories), 1)
        n_labels, n_images = np.zeros((2, k), np.int64)
        n_conflicts = np.zeros(n_samples)
        # how often every two classes met
        for start in range(0, n_samples, ROWS_AT_ONCE):
            some = positions[start : start + ROWS_AT_ONCE]
            sample, annotator = np.nonzero(~np.isnan(some))
            cell, count = np.unique(sample * k + some[sample, annotator].astype(np.int64), return_counts=True)
            of, category = cell // k, cell % k
            i, j = pairs_within(of)
            effects.add([conflict_rows(category[i], category[j], of[i], len(some), count[i] * count[j])], len(some))
            n_conflicts[start : start + len(some)] = sums_by(of[i], count[i] * count[j], len(some))
            n_labels += np.bincount(category, count, k).astype(np.int64)
            n_images += np.bincount(category, minlength=k)
        share = n_labels / max(n_labels.sum(), 1)
        n_used = np.count_nonzero(n_labels)
        for code in often_given(n_labels, n_images):
            gave = (positions == code).astype(np.float64)
            if table.level == "nominal":
                effects.add_deviations("class_used", gave, given, code)
            if n_used > 2:
                # conflicts in which the class is one of the two, of all conflicts
                n_gave = gave.sum(axis=1)
                columns = (n_gave * (given.sum(axis=1) - n_gave), n_conflicts, *np.zeros((2, n_samples)))
                effects.add_table("class_confused", [code], [column[:, None] for column in columns])
                as_frequent = 2.0 * share[code] * (1.0 - share[code]) / max(1.0 - (share**2).sum(), 1e-12)
                by_chance = max(as_frequent, share[code] + (1.0 - share[code]) / (n_used - 1))
                expected[int(effect_groups("class_confused", code))] = by_chance
    return findings_and_confusions(
        effects.moments(), context.annotators, table.categories, of_classes=n_labels, expected=expected
    )
