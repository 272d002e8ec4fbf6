"""Report on ratings (a class or number per sample): its dataclasses, its numbers, and how it is built from records."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
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
from ...metrics.alpha.rated import alpha_sums
from ...metrics.bootstrap.draws import hstack
from ...metrics.numeric.arrays import FloatArray, IntArray, pairs_within, sums_by
from ..evidence.hypotheses import (
    Confused,
    EffectRows,
    conflict_rows,
    effect_groups,
    findings_and_confusions,
    often_given,
    on_equal_images,
)
from ..settings.annotators import AnnotatorPairs
from ..settings.options import value_name
from ..statistics.estimates import Fields, rated_only, report_estimates, report_of, sample_numbers
from ..statistics.main_numbers import RATING_NUMBERS, MainNumber
from ..statistics.numbers import Key, Numbers, ratio
from ..statistics.records import Hashes, combined, hash_sums, mixed, name_hashes
from ..statistics.report import AgreementReport, AlphaSummary, OfOne, OfPair, ReportContext, number
from .compute import (
    ROWS_AT_ONCE,
    VERDICTS,
    RatingRecords,
    RatingTable,
    agreeing,
    mean_and_spread,
    n_agreeing,
    rating_of_others,
)

#: kinds of weights; the first treats all disagreements equally, the last is not used for pairs
WEIGHTS: tuple[Weights, ...] = ("identity", "linear", "quadratic", "ordinal")

_COEFFICIENTS: dict[str, Callable[..., float]] = {
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
#: most pairs (rating of an annotator, different rating of most others) that are listed
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

    ``n_majority`` counts the ratings of samples to which more than half of the others, at least two, gave the same
    rating (with two annotators in all: the rating of the other one); ``n_other_class`` counts the ratings among these
    that differ from it, and ``other_class`` is their share. ``other_classes`` lists the 20 most frequent ``{a, b, n}``:
    ``n`` ratings ``a`` where most of the others gave ``b``.
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
    #: pairs of classes that met on 10 images or more, the highest lower end of ``share`` first; at most 1,000
    confused: list[Confused] = dataclasses.field(default_factory=list)


def headline_numbers(
    records: RatingRecords, context: ReportContext, table: RatingTable | None = None
) -> Iterator[Numbers]:
    """Score and alpha as functions of sums over any samples.

    Args:
        table: the ratings on their scale; None: it is computed
    """
    table = RatingTable.of(records.ratings, context) if table is None else table
    yield sample_numbers(records)
    yield _alpha(("alpha.pooled",), table, table.of_alpha, context)


def rating_numbers(
    records: RatingRecords, context: ReportContext, table: RatingTable | None = None
) -> Iterator[Numbers]:
    """All numbers of rated samples: score and alpha overall and of every pair, and the score of every annotator."""
    table = RatingTable.of(records.ratings, context) if table is None else table
    names, assigned, ratings, of_alpha = context.annotators, records.assigned, table.ratings, table.of_alpha
    yield from headline_numbers(records, context, table)

    pairs = AnnotatorPairs.of(assigned)
    resampled = set(pairs.chosen(names).tolist())
    for pair, (a, b) in enumerate(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)):
        rows = np.flatnonzero(assigned[:, a] & assigned[:, b])
        key = ("pairs", names[a], names[b])
        agree = agreeing(ratings[rows, a], ratings[rows, b], table.tolerance)
        score = Numbers(
            ((*key, "score"),),
            hstack([np.column_stack([agree, np.ones(len(rows))]).astype(np.float64)]),
            lambda sums: ratio(sums[..., :1], sums[..., 1:]),
            rows,
            basis=np.array([1]),
            scores_are_shares=True,
        )
        alpha = _alpha((*key, "alpha"), table, of_alpha[np.ix_(rows, [a, b])], context, rows)
        yield from (each if pair in resampled else each.summed() for each in (score, alpha))

    # for every annotator, the share of others' ratings that agree, and of own ratings that differ from most others
    n, given, majority = ratings.shape[1], ~np.isnan(ratings), rating_of_others(ratings)
    n_others = np.where(given, given.sum(axis=1, keepdims=True) - 1, 0)
    differ = given & ~np.isnan(majority) & ~agreeing(ratings, majority, table.tolerance)
    columns = [n_agreeing(ratings, table.tolerance) - given, differ, n_others, ~np.isnan(majority)]
    yield Numbers(
        tuple(("annotators", name, number) for number in ("score", "other_class") for name in names),
        hstack([np.hstack(columns).astype(np.float64)]),
        lambda sums: ratio(sums[..., : 2 * n], sums[..., 2 * n :]),
        basis=2 * n + np.arange(2 * n),
        scores_are_shares=True,
    )


def _alpha(
    key: Key, table: RatingTable, ratings: FloatArray, context: ReportContext, samples: IntArray | None = None
) -> Numbers:
    """Alpha of ratings ``(S, R)`` on all or some samples; no interval if there are very many different values."""
    sums = alpha_sums(ratings, table.level, context.config.undefined)
    columns, formula, n = sums.columns, sums.formula, sums.columns.shape[1]
    if samples is not None:
        columns = hstack([columns, np.ones((len(samples), 1))])
    return Numbers(
        (key,),
        columns,
        lambda found: formula(found[..., :n])[..., None],
        samples,
        basis=None if samples is None else np.array([n]),
        by_sample=sums.few_values,
    )


def sample_contents(records: RatingRecords, context: ReportContext) -> tuple[Hashes, FloatArray]:
    """Content of the samples for :func:`~..statistics.records.content_ranks`: hashes of the ratings ``(S,)``."""
    ratings = records.ratings
    sample, annotator = np.nonzero(~np.isnan(ratings))
    given = ratings[sample, annotator]
    if context.details["numbers"]:
        hashes = (given + 0.0).view(np.uint64)  # -0 is 0
    else:
        hashes = name_hashes(context.class_names)[given.astype(np.int64)]
    hashes = combined(hashes, name_hashes(context.annotators)[annotator].view(np.int64))
    return hash_sums(sample, mixed(hashes), len(ratings)), np.empty((len(ratings), 0))


def rating_effects(table: RatingTable, context: ReportContext) -> dict[str, Any]:
    """The fields ``findings``, ``n_tested`` and ``confused`` of a report.

    Args:
        table: of rated samples
    """
    ratings, values, positions = table.ratings, table.of_alpha, table.positions
    effects, n_samples, given = EffectRows(context.clusters), len(ratings), ~np.isnan(ratings)
    # conflicts of an annotator with the others, against those of the others among themselves
    n_others = np.where(given, given.sum(axis=1, keepdims=True) - 1, 0)
    differ = np.where(given, n_others + 1 - n_agreeing(ratings, table.tolerance), 0)
    rest = [np.where(n_others > 0, each.sum(axis=1, keepdims=True) // 2 - each, 0) for each in (differ, n_others)]
    compared = on_equal_images((differ, n_others, *rest), (n_others - 1) / 2)
    effects.add_table("conflicts", range(ratings.shape[1]), compared)
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


def build_rating_report(records: RatingRecords, context: ReportContext) -> RatingReport:
    """The report on ratings, from the records of samples.

    ``context.details`` says whether the ratings are ``numbers``.

    Raises:
        AgreementInputError: if a class is not in the user's list of categories
    """
    table, (rated, of_rated) = RatingTable.of(records.ratings, context), rated_only(records, context)
    rated_table = table.select(records.rated)
    numbers = rating_numbers(rated, of_rated, rated_table)
    fields = Fields(report_estimates(numbers, lambda: sample_contents(rated, of_rated), rated, of_rated))
    n_rated, of_report = rated.n_samples, fields.of()
    # the coefficients of the whole table by name, then weights; None where undefined
    coefficients: dict[str, dict[str, float | None]] = {}
    if table.positions is not None:
        categories = np.arange(len(table.categories), dtype=np.float64)
        alpha: Callable[..., float] = partial(weighted_alpha, undefined=context.config.undefined)
        for name, function in {**_COEFFICIENTS, "krippendorff_alpha": alpha}.items():
            for kind in WEIGHTS if table.weighted else WEIGHTS[:1]:
                found = number(function(table.positions, weights=table.weights(kind), categories=categories))
                named = "gwet_ac1" if (name, kind) == ("gwet_ac2", "identity") else name  # AC2 without weights
                coefficients.setdefault(named, {})[kind] = found
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
        coefficients=coefficients,
        pairs=_pairs(rated, rated_table, fields, context),
        annotators=_raters(records, table, fields, context),
        **rating_effects(rated_table, of_rated),
    )


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
