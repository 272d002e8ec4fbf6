"""Sensitivity: the main numbers at other thresholds, under other rules and without each annotator (vitality).

All are sums over the rows that the samples of a report have for them, see :mod:`.variants`. The rules reproduce
published numbers of other programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np

from ...metrics.alpha import alpha_of
from ...metrics.alpha.nominal import NominalTally
from ...metrics.matching.pairs import f1_score
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..matching.compute import Counting
from ..settings.config import AgreementConfig, Empty, Undefined
from ..settings.no_labels import NOT_ASSIGNED, OtherReading, null_policy
from ..statistics.codes import MISSING
from ..statistics.report import number
from .records import MAX_OBJECTS_AT_ONCE, ObjectRecords
from .report import RuleAlpha, ThresholdPoint
from .variants import Variants


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """Sums over rated samples at one threshold."""

    threshold: float  #: matching threshold
    joint: NominalTally  #: ratings of units for alpha
    score: float  #: sum of the scores of samples
    n_scored: int  #: samples with a score
    n_matched: int  #: pairs of objects in the same unit
    n_drawn: int  #: objects of both annotators, summed over the pairs of annotators of every sample
    n_units: int  #: units
    n_hard: int  #: components of objects that needed a decision
    n_inexact: int  #: hard components without an exact solution

    @property
    def mean_score(self) -> float:
        """Mean score; nan without a scored sample."""
        return self.score / self.n_scored if self.n_scored else np.nan

    @property
    def f1(self) -> float:
        """F1 of existence over all pairs of annotators; nan where nobody drew anything."""
        return float(f1_score(self.n_matched, self.n_drawn, 0))


class Sensitivity:
    """The variants of a run on the samples of a report."""

    def __init__(self, records: ObjectRecords, config: AgreementConfig) -> None:
        self._records = records
        self._config = config
        self._variants = Variants.of(config)
        self._n_assigned = records.assigned.sum(axis=1)
        self._is_empty = (self._n_assigned >= 2) & (records.column("n_objects") == 0)
        self._tallies = self._added_up() if len(self._variants) else []

    def _added_up(self) -> list[NominalTally]:
        """Counts of alpha for every variant, without images that everybody left empty."""
        n, most = len(self._variants), int(self._n_assigned.max(initial=0)) + 1
        units, differing = np.zeros((2, n, most), np.int64)
        counts = np.zeros((n, int(self._records.column("category").max(initial=MISSING)) + 1), np.int64)
        for part in self._records.chunks("n_objects", MAX_OBJECTS_AT_ONCE):
            key = part["tally_variant"].astype(np.int64) * most + part["tally_ratings"]
            for total, name in ((units, "tally_units"), (differing, "tally_differing")):
                total += sums_by(key, part[name], n * most).astype(np.int64).reshape(n, most)
            counted = np.unpackbits(part["tallied"], axis=1, count=n).T.astype(np.bool_)
            for variant in range(n):
                counts[variant] += np.bincount(part["category"][counted[variant]], minlength=counts.shape[1])
        counts[:, MISSING] = (units * np.arange(most)).sum(axis=1) - counts.sum(axis=1)
        return [NominalTally(*columns) for columns in zip(counts, differing, units, strict=True)]

    def _empty_images(self) -> NominalTally:
        """The ratings of images that everybody left empty, where they count."""
        n_ratings = self._n_assigned[self._is_empty]
        n_units = np.bincount(n_ratings)
        return NominalTally(np.array([n_ratings.sum()]), np.zeros_like(n_units), n_units)

    def points(self) -> list[SweepPoint]:
        """The main numbers at all thresholds, under the rules of the run."""
        if not self._variants.thresholds:
            return []
        records = self._records
        empty = self._empty_images() if Counting.of(self._config).rates_empty else NominalTally.empty()
        score = records.column("swept_score")
        scores, n_scored = np.nansum(score, axis=0).tolist(), np.count_nonzero(~np.isnan(score), axis=0).tolist()
        names = ("matched", "drawn", "units", "hard", "inexact")
        sums = {f"n_{name}": records.column(f"swept_{name}").sum(axis=0, dtype=np.int64).tolist() for name in names}
        return [
            SweepPoint(
                threshold=threshold,
                joint=self._tallies[at] + empty,
                score=scores[at],
                n_scored=n_scored[at],
                **{name: values[at] for name, values in sums.items()},
            )
            for at, threshold in enumerate(self._variants.thresholds)
        ]

    def alphas(self, no_labels: str = NOT_ASSIGNED) -> Iterator[RuleAlpha]:
        """Alpha under every combination of the rules, all with the same meaning of a null label list."""
        rules = self._variants.rules
        if not rules:
            return
        first, n_empty, empty_images = len(self._variants.thresholds), int(self._is_empty.sum()), self._empty_images()
        sums, n_defined = self._sample_alphas()
        for at, (method, classes, missing) in enumerate(rules):
            for empty in get_args(Empty):
                agreed = n_empty if empty == "agree" else 0
                joint = self._tallies[first + at]
                if Counting(missing, empty).rates_empty:
                    joint = joint + empty_images
                for undefined in get_args(Undefined):
                    n = int(n_defined[undefined][at]) + agreed
                    yield RuleAlpha(
                        method=method,
                        classes=classes,
                        missing=missing,
                        empty=empty,
                        undefined=undefined,
                        pooled=number(joint.alpha()),
                        mean=(float(sums[undefined][at]) + agreed) / n if n else None,
                        n_defined=n,
                        no_labels=no_labels,
                    )

    def _sample_alphas(self) -> tuple[dict[Undefined, FloatArray], dict[Undefined, IntArray]]:
        """Sum of the samples' alphas under every rule, and their number, each ``(V,)``; for both ``undefined``."""
        first, n = len(self._variants.thresholds), len(self._variants.rules)
        sums = {undefined: np.zeros(n) for undefined in get_args(Undefined)}
        n_defined = {undefined: np.zeros(n, np.int64) for undefined in get_args(Undefined)}
        for part in self._records.chunks("n_objects", MAX_OBJECTS_AT_ONCE):
            n_samples = len(part["n_tallies"])
            sample = np.repeat(np.arange(n_samples), part["n_tallies"])
            variant = part["tally_variant"].astype(np.int64) - first
            here: BoolArray = (variant >= 0) & (variant < n)
            key, n_ratings = sample[here] * n + variant[here], part["tally_ratings"][here].astype(np.int64)
            shape = n_samples, n
            observed = sums_by(key, part["tally_differing"][here] / (n_ratings - 1), n_samples * n).reshape(shape)
            total = sums_by(key, n_ratings * part["tally_units"][here], n_samples * n).reshape(shape)
            for undefined in get_args(Undefined):
                alpha = alpha_of(observed, total * total - part["squares"], total, undefined=undefined)
                sums[undefined] += np.nansum(alpha, axis=0)
                n_defined[undefined] += np.count_nonzero(~np.isnan(alpha), axis=0)
        return sums, n_defined

    def threshold_points(self) -> list[ThresholdPoint]:
        """The entries of the report for all thresholds."""
        return [
            ThresholdPoint(
                threshold=point.threshold,
                alpha=number(point.joint.alpha(self._config.undefined)),
                score=number(point.mean_score),
                f1=number(point.f1),
                n_units=point.n_units,
                n_hard=point.n_hard,
                n_inexact=point.n_inexact,
            )
            for point in self.points()
        ]

    def rule_alphas(self, other: OtherReading | None) -> list[RuleAlpha]:
        """Alpha under every combination of the rules, and under the run's with the other meaning of a null list."""
        config = self._config
        found = list(self.alphas(null_policy(config.no_labels, config.assigned_field)))
        if other is None or not found:
            return found
        own = {name: getattr(config, name) for name in ("method", "classes", "missing", "empty", "undefined")}
        policy = null_policy(other.no_labels, None)
        return [
            *found,
            RuleAlpha(**own, pooled=other.alpha, mean=other.mean_alpha, n_defined=other.n_alpha, no_labels=policy),
        ]
