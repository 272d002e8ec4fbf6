"""Report on ratings (one class or number per sample), as dataclasses, and how it is built from records."""

from __future__ import annotations

import dataclasses
from collections import Counter
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
from .numbers import numbers_of_table, rating_effects, sample_contents
from .scale import RatingTable

#: kinds of weights; the first treats all disagreements equally, the last is not used for pairs
WEIGHTS: tuple[Weights, ...] = ("identity", "linear", "quadratic", "ordinal")

_COEFFICIENTS = {
    "krippendorff_alpha": weighted_alpha,
    "fleiss_kappa": fleiss_kappa,
    "conger_kappa": conger_kappa,
    "brennan_prediger": brennan_prediger,
    "gwet_ac2": gwet_ac2,
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
    rated_table = table.select(records.rated)
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
        categories=list(table.categories),
        coefficients={} if table.positions is None else _coefficients(table, table.positions),
        pairs=_pairs(rated, rated_table, fields, context),
        annotators=_raters(records, table, fields, context),
        **rating_effects(rated_table, of_rated),
    )


def _coefficients(table: RatingTable, positions: FloatArray) -> dict[str, dict[str, float | None]]:
    """The coefficients of the whole table by name, then weights; None where undefined."""
    categories = np.arange(len(table.categories), dtype=np.float64)
    found: dict[str, dict[str, float | None]] = {
        name: {
            kind: number(function(positions, weights=table.weights(kind), categories=categories))
            for kind in (WEIGHTS if table.weighted else WEIGHTS[:1])
        }
        for name, function in _COEFFICIENTS.items()
    }
    gwet = found.pop("gwet_ac2")
    found["gwet_ac1"] = {"identity": gwet.pop("identity")}
    return {**found, "gwet_ac2": gwet} if gwet else found


def _pairs(rated: RatingRecords, table: RatingTable, fields: Fields, context: ReportContext) -> list[RatingPairSummary]:
    """The summaries of all pairs with a shared sample."""
    names, assigned, categories = context.annotators, rated.assigned, table.categories
    every, k = np.arange(len(categories), dtype=np.float64), len(categories)
    pairs = AnnotatorPairs.of(assigned)
    longest = min(MAX_CONFUSIONS_OF_PAIR, max(20, MAX_CONFUSIONS // max(len(pairs), 1)))
    summaries = []
    for a, b, n in zip(pairs.a.tolist(), pairs.b.tolist(), pairs.n_shared.tolist(), strict=True):
        both = assigned[:, a] & assigned[:, b]
        own: dict[str, Any] = {"kappa": {}, "scott_pi": None, "confusion": [], "n_unlisted": 0, "mean_distance": None}
        if table.are_numbers:
            own["mean_distance"] = float(np.abs(table.ratings[both, a] - table.ratings[both, b]).mean())
        if table.positions is not None:
            first, second = table.positions[both, a], table.positions[both, b]
            own["kappa"] = {
                kind: number(cohen_kappa(first, second, weights=table.weights(kind), categories=every))
                for kind in WEIGHTS[: 3 if table.weighted else 1]
            }
            own["scott_pi"] = number(scott_pi(first, second, categories=every))
            # the most frequent pairs of categories; ties in the order of the categories
            cells, counts = np.unique(first.astype(np.int64) * k + second.astype(np.int64), return_counts=True)
            order = np.argsort(-counts, kind="stable")[:longest]
            own["confusion"] = [
                {"a": categories[cell // k], "b": categories[cell % k], "n": count}
                for cell, count in zip(cells[order].tolist(), counts[order].tolist(), strict=True)
            ]
            own["n_unlisted"] = n - int(counts[order].sum())
        of_pair = fields.of("pairs", names[a], names[b])
        summaries.append(RatingPairSummary(a=names[a], b=names[b], n_samples=n, **own, **of_pair))
    return summaries


def _raters(records: RatingRecords, table: RatingTable, fields: Fields, context: ReportContext) -> list[RaterSummary]:
    """The summaries of all annotators: ratings of all samples, verdicts of rated samples."""
    score, assigned, ratings = records.column("score"), records.assigned, records.ratings
    n_given, undefined = assigned.sum(axis=0).tolist(), np.full(records.n_annotators, np.nan)
    verdicts = [assigned[samples].sum(axis=0) for samples in (score == 1.0, score < 1.0)]
    means, spreads = mean_and_spread(table.ratings.T) if table.are_numbers else (undefined, undefined)
    majority = rating_of_others(ratings)
    n_majority = (~np.isnan(majority)).sum(axis=0)
    differs = np.nonzero(~np.isnan(majority) & ~agreeing(ratings, majority, table.tolerance))
    said = Counter(zip(differs[1].tolist(), ratings[differs].tolist(), majority[differs].tolist(), strict=True))
    name_of = value_name if table.are_numbers else lambda code: context.class_names[int(code)]
    others: list[list[tuple[str, str, int]]] = [[] for _ in context.annotators]
    for (k, own, most), n in said.items():
        others[k].append((name_of(own), name_of(most), n))
    raters = []
    for k, name in enumerate(context.annotators):
        classes: dict[str, int] = {}
        if table.positions is not None:
            given = table.positions[:, k]
            position, counts = np.unique(given[~np.isnan(given)].astype(np.int64), return_counts=True)
            classes = {table.categories[p]: n for p, n in zip(position.tolist(), counts.tolist(), strict=True)}
            frequent = set(sorted(classes, key=lambda category: (-classes[category], category))[:MAX_CLASSES])
            classes = {category: n for category, n in classes.items() if category in frequent}
        ordered = sorted(others[k], key=lambda entry: (-entry[2], entry[0], entry[1]))
        raters.append(
            RaterSummary(
                name=name,
                n_assigned=n_given[k],
                n_not_assigned=len(score) - n_given[k],
                n_objects=n_given[k],
                verdicts={verdict: int(n[k]) for verdict, n in zip(VERDICTS, verdicts, strict=True)},
                classes=classes,
                mean=number(means[k]),
                std=number(spreads[k]),
                n_majority=int(n_majority[k]),
                n_other_class=sum(n for *_, n in ordered),
                other_classes=[{"a": own, "b": most, "n": n} for own, most, n in ordered[:MAX_OTHER_CLASSES]],
                **fields.of("annotators", name),
            )
        )
    return raters
