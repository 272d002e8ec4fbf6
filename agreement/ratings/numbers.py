"""The numbers of a report on ratings: sums over samples, formulas, effects of annotators and classes."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...metrics.alpha.nominal import Level
from ...metrics.alpha.rated import alpha_sums
from ...metrics.bootstrap.draws import hstack
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, pairs_within, sums_by
from ..evidence.confusions import Conflicts, conflict_rows
from ..evidence.hypotheses import SAMPLES_AT_ONCE, Column, EffectRows, effect_groups, findings_of, often_given
from ..settings.annotators import AnnotatorPairs
from ..statistics.content_order import Hashes, combined, hash_sums, mixed, name_hashes
from ..statistics.estimates import sample_numbers
from ..statistics.numbers import Joined, Key, Numbers, ratio
from ..statistics.report import ReportContext
from .compute import RatingRecords, agreeing, rating_of_others
from .scale import RatingTable

#: samples that are compared at once
ROWS_AT_ONCE = 4_096


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
    yield from _annotators(ratings, table.tolerance, context)


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


def _annotators(ratings: FloatArray, tolerance: float, context: ReportContext) -> Iterator[Numbers]:
    """For every annotator, the share of the others' ratings that agree, and of ratings that differ from most."""
    n = ratings.shape[1]
    keys = tuple(("annotators", name, number) for number in ("score", "other_class") for name in context.annotators)
    joined = Joined(by_sample=context.config.resamples > 0)
    for start in range(0, max(len(ratings), 1), ROWS_AT_ONCE):
        some = ratings[start : start + ROWS_AT_ONCE]
        given = ~np.isnan(some)
        n_others = np.where(given, given.sum(axis=1, keepdims=True) - 1, 0)
        n_agreeing = [agreeing(some, some[:, k : k + 1], tolerance).sum(axis=1) - given[:, k] for k in range(n)]
        majority = rating_of_others(some)
        differ = given & ~np.isnan(majority) & ~agreeing(some, majority, tolerance)
        columns = [*n_agreeing, *differ.T, n_others, ~np.isnan(majority)]
        found = Numbers(
            keys,
            hstack([np.column_stack(columns).astype(np.float64)]),
            lambda sums: ratio(sums[..., : 2 * n], sums[..., 2 * n :]),
            basis=2 * n + np.arange(2 * n),
            scores_are_shares=True,
        )
        joined.add(0, [found], len(some))
    return joined.numbers()


def rating_effects(table: RatingTable, context: ReportContext) -> dict[str, Any]:
    """The fields of a report: what the tests confirm, of how many, and the classes that are confused.

    Args:
        table: of rated samples
    """
    scaled, effects = table.scaled, EffectRows(context.clusters)
    _conflicts(effects, table.ratings, table.tolerance)
    expected: dict[int, float] = {}
    n_labels = np.empty(0, np.int64)
    if table.level != "nominal":
        _rates(effects, table.of_alpha)
    if scaled is not None and not table.are_numbers:
        counts = _ClassCounts.of(scaled.positions, len(scaled.categories), effects)
        n_labels = counts.n_labels
        expected = counts.add(effects, used=table.level == "nominal")
    moments = effects.moments()
    conflicts = Conflicts.of(moments, n_labels)
    expected |= dict(zip(moments.group[conflicts.row].tolist(), conflicts.by_chance.tolist(), strict=True))
    classes = scaled.categories if scaled is not None else ()
    found = findings_of(moments, context.annotators, classes, expected=expected)
    return {**found, "confused": conflicts.named(moments, classes)}


def _conflicts(effects: EffectRows, ratings: FloatArray, tolerance: float) -> None:
    """Add each annotator's rate of conflicts with the others, against that of the others among themselves."""
    n_annotators = ratings.shape[1]

    def columns(some: slice) -> Sequence[Column]:
        table = ratings[some]
        given = ~np.isnan(table)
        others = np.where(given, given.sum(axis=1, keepdims=True) - 1, 0)
        agree = [agreeing(table, table[:, k : k + 1], tolerance).sum(axis=1) for k in range(n_annotators)]
        differ = np.where(given, others + 1 - np.column_stack(agree), 0)
        rest = [np.where(others > 0, each.sum(axis=1, keepdims=True) // 2 - each, 0) for each in (differ, others)]
        return differ, others, *rest

    effects.add_table(effect_groups("conflicts", np.arange(n_annotators)), len(ratings), columns)


def _rates(effects: EffectRows, values: FloatArray) -> None:
    """Add the deviation of each annotator's numbers from those of the others."""
    given = ~np.isnan(values)
    if given.any() and (low := np.nanmin(values)) < (high := np.nanmax(values)):
        effects.add_deviations("rates", 0, len(values), lambda some: ((values[some] - low) / (high - low), given[some]))


@dataclass(frozen=True, slots=True)
class _ClassCounts:
    """Frequencies of classes, and of conflicts between classes."""

    positions: FloatArray  #: shape ``(S, R)``, nan where not rated
    n_labels: IntArray  #: shape ``(K,)``, ratings with every class
    n_images: IntArray  #: shape ``(K,)``, samples with every class
    n_conflicts: FloatArray  #: shape ``(S,)``, pairs of annotators with different classes

    @classmethod
    def of(cls, positions: FloatArray, n_classes: int, effects: EffectRows) -> _ClassCounts:
        """Count the ratings; add how often every two classes met."""
        n_samples, k = len(positions), max(n_classes, 1)
        n_labels, n_images = np.zeros((2, k), np.int64)
        n_conflicts = np.zeros(n_samples)
        for start in range(0, n_samples, SAMPLES_AT_ONCE):
            some = positions[start : start + SAMPLES_AT_ONCE]
            sample, annotator = np.nonzero(~np.isnan(some))
            cell, count = np.unique(sample * k + some[sample, annotator].astype(np.int64), return_counts=True)
            of, code = cell // k, cell % k
            i, j = pairs_within(of)
            effects.add([conflict_rows(code[i], code[j], of[i], len(some), count[i] * count[j])], len(some))
            n_conflicts[start : start + len(some)] = sums_by(of[i], count[i] * count[j], len(some))
            n_labels += np.bincount(code, count, k).astype(np.int64)
            n_images += np.bincount(code, minlength=k)
        return cls(positions, n_labels, n_images, n_conflicts)

    def class_mask(self, code: int, some: slice) -> tuple[FloatArray, BoolArray]:
        """True where an annotator gave a class (as floats), and where they gave any."""
        return (self.positions[some] == code).astype(np.float64), ~np.isnan(self.positions[some])

    def class_conflicts(self, code: int, some: slice) -> Sequence[Column]:
        """Conflicts in which a class is one of the two, of all conflicts."""
        gave, given = self.class_mask(code, some)
        n, m = gave.sum(axis=1, keepdims=True), given.sum(axis=1, keepdims=True)
        zero = np.zeros_like(n)
        return n * (m - n), self.n_conflicts[some, None], zero, zero

    def add(self, effects: EffectRows, *, used: bool) -> dict[int, float]:
        """Add each class's rate of conflicts and, if ``used``, the rate at which every annotator gives it.

        Returns:
            the share of conflicts with every class by chance
        """
        share = self.n_labels / max(self.n_labels.sum(), 1)
        n_used = np.count_nonzero(self.n_labels)
        expected: dict[int, float] = {}
        for code in often_given(self.n_labels, self.n_images):
            if used:
                class_mask = functools.partial(self.class_mask, code)
                effects.add_deviations("class_used", code, len(self.positions), class_mask)
            if n_used > 2:
                group = effect_groups("class_confused", np.array([code]))
                effects.add_table(group, len(self.positions), functools.partial(self.class_conflicts, code))
                as_frequent = 2.0 * share[code] * (1.0 - share[code]) / max(1.0 - (share**2).sum(), 1e-12)
                expected[int(group[0])] = max(as_frequent, share[code] + (1.0 - share[code]) / (n_used - 1))
        return expected
