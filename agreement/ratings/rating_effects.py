"""Effects of annotators and classes on ratings: counts on every image, from which findings are tested."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, pairs_within, sums_by
from ..evidence.confusions import Conflicts, conflict_rows
from ..evidence.hypotheses import SAMPLES_AT_ONCE, Column, EffectRows, effect_groups, findings_of, often_given
from ..statistics.report import ReportContext
from .compute import agreeing
from .scale import RatingTable


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
