"""The report on ratings."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from ...metrics.alpha.category_weights import Weights
from ...metrics.alpha.kappas import cohen_kappa, scott_pi
from ...metrics.alpha.nominal import Level
from ...metrics.arrays import FloatArray
from ..config import AgreementConfig
from ..report import (
    AgreementReport,
    AlphaSummary,
    Each,
    Interval,
    ReportContext,
    ScoreSummary,
    mean_defined,
    number,
)
from .coefficients import alpha_of, coefficients_of
from .compute import VERDICTS, mean_and_spread
from .intervals import with_intervals
from .levels import level_of
from .records import RatingRecords
from .scale import ScaledRatings, scale_classes, scale_numbers
from .statistics import RatingStatistics, summarise_ratings

#: entries of the confusion matrices of all pairs together, about; the rarest are left out
MAX_CONFUSIONS = 100_000
MAX_CONFUSIONS_OF_PAIR = 1_000
#: different classes that are counted for every annotator; the rarest are left out
MAX_CLASSES = 1_000


@dataclass(frozen=True, slots=True)
class RatingPairSummary:
    """Agreement of two annotators on the samples that both rated.

    ``score`` is the share on which they agree. ``kappa`` is Cohen's, by weights; the kappas and ``scott_pi`` are None
    where undefined, and for numbers without categories. ``confusion`` lists ``{a, b, n}``: ``n`` samples got the class
    ``a`` from the first and ``b`` from the second, the most frequent first; ``n_unlisted`` samples are in entries that
    were left out. ``mean_distance`` is the mean absolute difference of numbers.
    """

    a: str
    b: str
    n_samples: int
    score: float | None
    alpha: float | None
    kappa: dict[str, float | None]
    scott_pi: float | None
    mean_distance: float | None
    confusion: list[dict[str, Any]]
    n_unlisted: int
    intervals: dict[str, Interval] = dataclasses.field(default_factory=dict)

    parts: ClassVar[dict[str, Any]] = {"intervals": Each(Interval)}


@dataclass(frozen=True, slots=True)
class RaterSummary:
    """What one annotator did.

    ``score`` is the share of the ratings of others, on the same samples, that agree with theirs. ``verdicts`` counts
    their ratings on samples that others rated too. ``mean`` and ``std`` are those of numbers.
    """

    name: str
    n_assigned: int
    n_not_assigned: int
    n_objects: int
    score: float | None
    verdicts: dict[str, int]
    classes: dict[str, int]
    mean: float | None
    std: float | None
    intervals: dict[str, Interval] = dataclasses.field(default_factory=dict)

    parts: ClassVar[dict[str, Any]] = {"intervals": Each(Interval)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingReport(AgreementReport):
    """How far annotators agree on one class or number for every sample.

    ``alpha.pooled`` is Krippendorff's alpha of the whole table at its ``level``; samples have no alpha of their own.
    ``coefficients`` has the others by name, then weights; empty for numbers without ``categories``.
    """

    family: ClassVar[str] = "ratings"
    parts: ClassVar[dict[str, Any]] = {
        **AgreementReport.parts,
        "pairs": RatingPairSummary,
        "annotators": RaterSummary,
    }

    level: Level
    n_disputed: int
    categories: list[str]
    coefficients: dict[str, dict[str, float | None]]
    pairs: list[RatingPairSummary]
    annotators: list[RaterSummary]


def build_rating_report(records: RatingRecords, context: ReportContext) -> RatingReport:
    """The report on samples.

    ``context.details`` says whether the ratings are ``numbers``.

    Raises:
        AgreementInputError: if a class is not among those that the user listed
    """
    config, numbers = context.config, bool(context.details["numbers"])
    level = level_of(config, numbers=numbers)
    ratings, score = records.ratings, records.column("score")
    statistics = summarise_ratings(ratings, score, config.tolerance if numbers else 0.0)
    if numbers:
        scaled = scale_numbers(ratings, level, config)
    else:
        scaled = scale_classes(ratings, context.class_names, level, config)
        ratings = scaled.positions  # the codes take memory, and tell no more
    table = _Table(statistics, config, level, context.annotators, ratings, scaled, numbers)
    rated = ~np.isnan(score)
    summary = ScoreSummary(*mean_defined(score))
    report = RatingReport(
        run_key=config.run_key,
        config=config.to_dict(),
        label_types=list(context.label_types),
        n_samples=len(score),
        n_rated=int(rated.sum()),
        n_units=int(rated.sum()),
        n_objects=int((~np.isnan(ratings[rated])).sum()),
        n_disputed=int((score < 1.0).sum()),
        score=summary,
        alpha=AlphaSummary(
            pooled=number(alpha_of(ratings, scaled, level, config)),
            mean=None,
            n_defined=0,
            undefined={"one_annotator": int((~rated).sum())},
            percent_agreement=summary.mean,
            n_units=int(rated.sum()),
        ),
        level=level,
        categories=list(scaled.categories) if scaled is not None else [],
        coefficients=coefficients_of(scaled) if scaled is not None else {},
        pairs=table.pairs(),
        annotators=table.raters(),
        worst_samples=context.worst_samples,
        run=context.run,
    )
    return with_intervals(report, records, context)


@dataclass(frozen=True, slots=True)
class _Table:
    """The ratings of all samples, and what is needed to describe annotators and pairs of these."""

    statistics: RatingStatistics
    config: AgreementConfig
    level: Level
    annotators: Sequence[str]
    ratings: FloatArray
    scaled: ScaledRatings | None
    numbers: bool

    def pairs(self) -> list[RatingPairSummary]:
        """Every pair with a sample that both rated."""
        shared = self.statistics.n_shared
        present = [(a, b) for a, b in combinations(range(len(self.annotators)), 2) if shared[a, b]]
        longest = min(MAX_CONFUSIONS_OF_PAIR, max(20, MAX_CONFUSIONS // max(len(present), 1)))
        return [self._pair(a, b, longest) for a, b in present]

    def _pair(self, a: int, b: int, longest: int) -> RatingPairSummary:
        both = ~np.isnan(self.ratings[:, [a, b]]).any(axis=1)
        values = self.ratings[both][:, [a, b]]
        n = int(self.statistics.n_shared[a, b])
        scaled, pi = self.scaled, None
        kappa: dict[str, float | None] = {}
        confusion: list[dict[str, Any]] = []
        if scaled is not None:
            first, second = scaled.positions[both, a], scaled.positions[both, b]
            scaled = ScaledRatings(np.column_stack([first, second]), scaled.categories, scaled.ordered)
            every = np.arange(len(scaled.categories), dtype=np.float64)
            weights: tuple[Weights, ...] = ("identity", "linear", "quadratic") if scaled.weighted else ("identity",)
            kappa = {kind: number(cohen_kappa(first, second, weights=kind, categories=every)) for kind in weights}
            pi = number(scott_pi(first, second, categories=every))
            confusion = _confusion(scaled, longest)
        return RatingPairSummary(
            a=self.annotators[a],
            b=self.annotators[b],
            n_samples=n,
            score=int(self.statistics.n_agreeing[a, b]) / n,
            alpha=number(alpha_of(values, scaled, self.level, self.config)),
            kappa=kappa,
            scott_pi=pi,
            mean_distance=float(np.abs(values[:, 0] - values[:, 1]).mean()) if self.numbers else None,
            confusion=confusion,
            n_unlisted=n - sum(entry["n"] for entry in confusion) if scaled is not None else 0,
        )

    def raters(self) -> list[RaterSummary]:
        """Every annotator."""
        means, spreads = mean_and_spread(self.ratings.T)
        return [self._rater(k, number(means[k]), number(spreads[k])) for k in range(len(self.annotators))]

    def _rater(self, k: int, mean: float | None, std: float | None) -> RaterSummary:
        statistics = self.statistics
        n = int((~np.isnan(self.ratings[:, k])).sum())
        others = np.arange(len(self.annotators)) != k
        n_compared = int(statistics.n_shared[k, others].sum())
        return RaterSummary(
            name=self.annotators[k],
            n_assigned=n,
            n_not_assigned=len(self.ratings) - n,
            n_objects=n,
            score=int(statistics.n_agreeing[k, others].sum()) / n_compared if n_compared else None,
            verdicts={verdict: int(statistics.verdicts[k, v]) for v, verdict in enumerate(VERDICTS)},
            classes=_most_frequent(self.scaled.counts(k)) if self.scaled is not None else {},
            mean=mean if self.numbers else None,
            std=std if self.numbers else None,
        )


def _confusion(scaled: ScaledRatings, longest: int) -> list[dict[str, Any]]:
    """The most frequent pairs of categories of two columns; equally frequent ones in the order of the categories."""
    k = len(scaled.categories)
    columns = scaled.positions.astype(np.int64)
    keys, counts = np.unique(columns[:, 0] * k + columns[:, 1], return_counts=True)
    order = np.argsort(-counts, kind="stable")[:longest]
    return [
        {"a": scaled.categories[key // k], "b": scaled.categories[key % k], "n": n}
        for key, n in zip(keys[order].tolist(), counts[order].tolist(), strict=True)
    ]


def _most_frequent(counts: dict[str, int]) -> dict[str, int]:
    """The counts of the most frequent classes, in the order of the categories."""
    kept = set(sorted(counts, key=lambda name: (-counts[name], name))[:MAX_CLASSES])
    return {name: count for name, count in counts.items() if name in kept}
