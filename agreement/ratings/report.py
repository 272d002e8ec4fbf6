"""Report on ratings (one class or number per sample), as dataclasses, and how it is built from records."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...metrics.alpha.kappas import (
    Weights,
    brennan_prediger,
    cohen_kappa,
    conger_kappa,
    fleiss_kappa,
    gwet_ac2,
    scott_pi,
    weighted_alpha,
)
from ...metrics.alpha.nominal import Level
from ...metrics.numeric.arrays import FloatArray
from ..evidence.confusions import Confused
from ..settings.annotators import AnnotatorPairs
from ..settings.options import value_name
from ..statistics.estimates import Fields, rated_only, report_estimates, report_of
from ..statistics.main_numbers import RATING_NUMBERS, MainNumber
from ..statistics.report import AgreementReport, AlphaSummary, OfOne, OfPair, ReportContext, number
from .compute import VERDICTS, RatingRecords, agreeing, mean_and_spread, rating_of_others
from .numbers import ROWS_AT_ONCE, numbers_of_table, rating_effects, sample_contents
from .scale import RatingTable, ScaledRatings

#: kinds of weights; the first treats all disagreements equally, the last is not used for pairs
WEIGHTS: tuple[Weights, ...] = ("identity", "linear", "quadratic", "ordinal")

_COEFFICIENTS = {
    "krippendorff_alpha": weighted_alpha,
    "fleiss_kappa": fleiss_kappa,
    "conger_kappa": conger_kappa,
    "brennan_prediger": brennan_prediger,
}

#: approximate number of confusion entries of all pairs together; the rarest are left out
MAX_CONFUSIONS = 100_000
MAX_CONFUSIONS_OF_PAIR = 1_000
#: maximum number of classes counted per annotator; the rarest are left out
MAX_CLASSES = 1_000
#: listed pairs of what an annotator said and most of the others said instead
MAX_OTHER_CLASSES = 20


@dataclass(frozen=True, slots=True)
class RatingPairSummary(OfPair):
    """Agreement of two annotators on the samples that both rated.

    ``score`` is the share of samples on which they agree. ``kappa`` is Cohen's, by weights; the kappas and ``scott_pi``
    are None where undefined, and for numbers without categories. ``confusion`` lists ``{a, b, n}``, the most frequent
    first: ``n`` samples got the class ``a`` from the first and ``b`` from the second; ``n_unlisted`` samples are in
    entries that were left out. ``mean_distance`` is the mean absolute difference of numbers.
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


@dataclass(frozen=True, slots=True)
class RaterSummary(OfOne):
    """The ratings and the agreement of one annotator.

    ``score`` is the share of the others' ratings on the same samples that agree with this annotator. ``verdicts``
    counts this annotator's ratings on rated samples. ``mean`` and ``std`` exist only for numbers.

    ``n_majority`` counts the ratings of samples of which more than half of the others, at least two, said the same
    (with two annotators in all: what the other one said); ``n_other_class`` those of them that differ from it, and
    ``other_class`` is their share. ``other_classes`` lists the 20 most frequent ``{a, b, n}``: ``n`` ratings ``a``
    where most of the others said ``b``.
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
    n_majority: int = 0
    n_other_class: int = 0
    other_class: float | None = None
    other_classes: list[dict[str, Any]] = dataclasses.field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RatingReport(AgreementReport):
    """Report on ratings: agreement on one class or number for every sample.

    ``alpha.pooled`` is Krippendorff's alpha of the whole table at its ``level``; samples have no alpha of their own.
    ``coefficients`` has the other coefficients by name, then weights; empty for numbers without ``categories``.
    """

    family: ClassVar[str] = "ratings"
    main_numbers: ClassVar[tuple[MainNumber, ...]] = RATING_NUMBERS

    level: Level
    n_disputed: int
    categories: list[str]
    coefficients: dict[str, dict[str, float | None]]
    pairs: list[RatingPairSummary]
    annotators: list[RaterSummary]
    #: pairs of classes that met on 10 images or more, the surest first; at most 1,000
    confused: list[Confused] = dataclasses.field(default_factory=list)


def build_rating_report(records: RatingRecords, context: ReportContext) -> RatingReport:
    """The report on samples.

    ``context.details`` says whether the ratings are ``numbers``.

    Raises:
        AgreementInputError: if a class is not in the user's list of categories
    """
    table, (rated, of_rated) = RatingTable.of(records.ratings, context), rated_only(records, context)
    scaled, rated_table = table.scaled, table.select(records.rated)
    numbers = numbers_of_table(rated, rated_table, of_rated)
    fields = Fields(report_estimates(numbers, lambda: sample_contents(rated, of_rated), rated, of_rated))
    n_rated, of_report = rated.n_samples, fields.of()
    return report_of(
        RatingReport,
        fields,
        records,
        context,
        n_rated=n_rated,
        n_units=n_rated,
        n_objects=int(rated.assigned.sum()),
        n_disputed=int((rated.column("score") < 1.0).sum()),
        alpha=AlphaSummary(
            pooled=of_report["alpha"]["pooled"],
            mean=None,
            n_defined=0,
            undefined={"one_annotator": records.n_samples - n_rated},
            percent_agreement=of_report["score"]["mean"],
            n_units=n_rated,
        ),
        level=table.level,
        categories=list(scaled.categories) if scaled is not None else [],
        coefficients=coefficients_of(scaled) if scaled is not None else {},
        pairs=_pairs(rated, rated_table, fields, context),
        annotators=_raters(records, table, fields, context),
        **rating_effects(rated_table, of_rated),
    )


def coefficients_of(scaled: ScaledRatings) -> dict[str, dict[str, float | None]]:
    """The coefficients of the whole table by name, then weights; None where undefined."""
    categories = np.arange(len(scaled.categories), dtype=np.float64)
    weights = WEIGHTS if scaled.weighted else WEIGHTS[:1]
    found: dict[str, dict[str, float | None]] = {
        name: {
            kind: number(function(scaled.positions, weights=scaled.weights(kind), categories=categories))
            for kind in weights
        }
        for name, function in _COEFFICIENTS.items()
    }
    gwet: dict[str, float | None] = {
        kind: number(gwet_ac2(scaled.positions, weights=scaled.weights(kind), categories=categories))
        for kind in weights
    }
    found["gwet_ac1"] = {"identity": gwet.pop("identity")}
    if gwet:
        found["gwet_ac2"] = gwet
    return found


def _pairs(rated: RatingRecords, table: RatingTable, fields: Fields, context: ReportContext) -> list[RatingPairSummary]:
    """The summaries of all pairs with a shared sample."""
    names, assigned, scaled = context.annotators, rated.assigned, table.scaled
    ratings = table.ratings if table.are_numbers else None
    pairs = AnnotatorPairs.of(assigned)
    longest = min(MAX_CONFUSIONS_OF_PAIR, max(20, MAX_CONFUSIONS // max(len(pairs), 1)))
    summaries = []
    for a, b, n in zip(pairs.a.tolist(), pairs.b.tolist(), pairs.n_shared.tolist(), strict=True):
        both = assigned[:, a] & assigned[:, b]
        distance = None if ratings is None else float(np.abs(ratings[both, a] - ratings[both, b]).mean())
        on_scale: dict[str, Any] = {"kappa": {}, "scott_pi": None, "confusion": [], "n_unlisted": 0}
        if scaled is not None:
            on_scale = _on_scale(scaled.positions[both, a], scaled.positions[both, b], scaled, longest)
        summaries.append(
            RatingPairSummary(
                a=names[a],
                b=names[b],
                n_samples=n,
                mean_distance=distance,
                **on_scale,
                **fields.of("pairs", names[a], names[b]),
            )
        )
    return summaries


def _on_scale(first: FloatArray, second: FloatArray, scaled: ScaledRatings, longest: int) -> dict[str, Any]:
    """The fields of a pair's summary that need categories: kappas, Scott's pi and confusion."""
    every = np.arange(len(scaled.categories), dtype=np.float64)
    weights = WEIGHTS[:3] if scaled.weighted else WEIGHTS[:1]
    confusion = _confusion(first, second, scaled.categories, longest)
    return {
        "kappa": {
            kind: number(cohen_kappa(first, second, weights=scaled.weights(kind), categories=every)) for kind in weights
        },
        "scott_pi": number(scott_pi(first, second, categories=every)),
        "confusion": confusion,
        "n_unlisted": len(first) - sum(entry["n"] for entry in confusion),
    }


def _raters(records: RatingRecords, table: RatingTable, fields: Fields, context: ReportContext) -> list[RaterSummary]:
    score, assigned = records.column("score"), records.assigned
    n_given = assigned.sum(axis=0).tolist()
    verdicts = np.stack([assigned[samples].sum(axis=0) for samples in (score == 1.0, score < 1.0)], axis=1).tolist()
    undefined = np.full(len(n_given), np.nan)
    n_majority, others = _against_most(records, table.tolerance)
    means, spreads = mean_and_spread(table.ratings.T) if table.are_numbers else (undefined, undefined)
    return [
        RaterSummary(
            name=name,
            n_assigned=n_given[k],
            n_not_assigned=len(score) - n_given[k],
            n_objects=n_given[k],
            verdicts=dict(zip(VERDICTS, verdicts[k], strict=True)),
            classes=_most_frequent(table.scaled.counts(k)) if table.scaled is not None else {},
            mean=number(means[k]),
            std=number(spreads[k]),
            n_majority=n_majority[k],
            n_other_class=sum(others[k].values()),
            other_classes=_other_classes(others[k], context),
            **fields.of("annotators", name),
        )
        for k, name in enumerate(context.annotators)
    ]


def _against_most(records: RatingRecords, tolerance: float) -> tuple[list[int], list[Counter[tuple[float, float]]]]:
    """Number of majorities of the others, and counts of (own, majority) where they differ, by annotator."""
    n_annotators = records.n_annotators
    n_majority, said = np.zeros(n_annotators, np.int64), [Counter[tuple[float, float]]() for _ in range(n_annotators)]
    table = records.ratings
    for start in range(0, len(table), ROWS_AT_ONCE):
        some = table[start : start + ROWS_AT_ONCE]
        majority = rating_of_others(some)
        n_majority += (~np.isnan(majority)).sum(axis=0)
        sample, annotator = np.nonzero(~np.isnan(majority) & ~agreeing(some, majority, tolerance))
        for k, own, most in zip(
            annotator.tolist(), some[sample, annotator].tolist(), majority[sample, annotator].tolist(), strict=True
        ):
            said[k][own, most] += 1
    return n_majority.tolist(), said


def _other_classes(said: Counter[tuple[float, float]], context: ReportContext) -> list[dict[str, Any]]:
    """Most frequent pairs of an annotator's own value and the majority's, where they differ."""

    def name(value: float) -> str:
        return value_name(value) if context.details["numbers"] else context.class_names[int(value)]

    named = [(name(own), name(most), n) for (own, most), n in said.items()]
    ordered = sorted(named, key=lambda entry: (-entry[2], entry[0], entry[1]))[:MAX_OTHER_CLASSES]
    return [{"a": own, "b": most, "n": n} for own, most, n in ordered]


def _confusion(first: FloatArray, second: FloatArray, categories: Sequence[str], longest: int) -> list[dict[str, Any]]:
    """The most frequent pairs of categories of two columns; ties in the order of the categories."""
    k = len(categories)
    keys, counts = np.unique(first.astype(np.int64) * k + second.astype(np.int64), return_counts=True)
    order = np.argsort(-counts, kind="stable")[:longest]
    return [
        {"a": categories[key // k], "b": categories[key % k], "n": n}
        for key, n in zip(keys[order].tolist(), counts[order].tolist(), strict=True)
    ]


def _most_frequent(counts: dict[str, int]) -> dict[str, int]:
    """The counts of the most frequent classes, in the order of the categories."""
    kept = set(sorted(counts, key=lambda name: (-counts[name], name))[:MAX_CLASSES])
    return {name: count for name, count in counts.items() if name in kept}
