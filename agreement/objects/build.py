"""From the records of samples to the report on objects."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Sequence

import numpy as np

from ...metrics.alpha import NominalTally
from ...metrics.detection import f1_score, panoptic_quality, segmentation_quality
from ...metrics.mutual_best import Alignment
from ..config import AgreementConfig
from ..report import AlphaSummary, ReportContext, ScoreSummary, mean_defined, number
from .compute import ALPHA_REASONS
from .findings import pair_names
from .records import ObjectRecords
from .report import ObjectReport
from .statistics import AgreementStatistics, Moments, PairStatistics, pair_tally, summarise
from .summaries import AnnotatorSummary, ClassGivenMatch, Existence, Localisation, PairSummary, SampleMean
from .threshold_report import data_threshold, rule_alphas, threshold_points
from .totals import RunTotals
from .verdicts import VERDICTS


def build_object_report(records: ObjectRecords, context: ReportContext) -> ObjectReport:
    """The report on samples."""
    config = context.config
    statistics = functools.reduce(operator.add, map(summarise, records.findings(config)))
    totals = records.totals or RunTotals()
    has_points = context.measure == "OKS"
    pairs = _pairs(statistics, totals, config, context.annotators, has_points)
    consistency = [pair.track_consistency for pair in pairs if pair.track_consistency is not None]
    return ObjectReport(
        run_key=config.run_key,
        config=config.to_dict(),
        label_types=list(context.label_types),
        n_samples=len(statistics.score),
        n_rated=statistics.n_rated,
        n_empty=statistics.n_empty,
        n_units=statistics.n_units,
        n_objects=statistics.n_objects,
        n_hard_components=totals.n_hard,
        n_inexact_components=totals.n_inexact,
        n_repaired=totals.n_repaired,
        n_points=totals.n_points,
        track_consistency=mean_defined(consistency)[0],
        score=_score(statistics),
        alpha=_alpha(statistics, config),
        existence=_existence(statistics),
        class_given_match=ClassGivenMatch(
            number(_alpha_of(statistics.given_match, config)),
            number(statistics.given_match.percent_agreement()),
            statistics.given_match.n_units,
        ),
        localisation=_localisation(statistics, context.measure, has_points),
        pairs=pairs,
        annotators=_annotators(statistics, context.annotators, context.class_names),
        thresholds=threshold_points(totals.sweep, config),
        data_threshold=data_threshold(totals.threshold_sample, config),
        rules=rule_alphas(totals.rules),
        worst_samples=context.worst_samples,
        run=context.run,
    )


def _alpha_of(tally: NominalTally, config: AgreementConfig) -> float:
    """Alpha; where everybody used one category, what the config says."""
    alpha = tally.alpha()
    return 1.0 if math.isnan(alpha) and tally.n_ratings and config.undefined == "one" else alpha


def _score(statistics: AgreementStatistics) -> ScoreSummary:
    return ScoreSummary(*mean_defined(statistics.score))


def _alpha(statistics: AgreementStatistics, config: AgreementConfig) -> AlphaSummary:
    tally = statistics.joint
    mean, n_defined = mean_defined(statistics.alpha)
    return AlphaSummary(
        pooled=number(_alpha_of(tally, config)),
        mean=mean,
        n_defined=n_defined,
        undefined={
            reason: int(count) for reason, count in zip(ALPHA_REASONS, statistics.alpha_reasons, strict=True) if reason
        },
        percent_agreement=number(tally.percent_agreement()),
        n_units=tally.n_units,
    )


def _existence(statistics: AgreementStatistics) -> Existence:
    pairs = statistics.pairs
    assigned, votes = np.nonzero(statistics.votes)
    return Existence(
        f1=number(float(f1_score(pairs.n_matched.sum(), pairs.n_a.sum(), pairs.n_b.sum()))),
        votes=[
            {"assigned": int(n), "votes": int(k), "units": int(statistics.votes[n, k])}
            for n, k in zip(assigned, votes, strict=True)
        ],
    )


def _localisation(statistics: AgreementStatistics, measure: str, has_points: bool) -> Localisation:
    n = statistics.n_matched_pairs
    if not n:
        return Localisation(None, None, 0, measure)
    visibility = float(statistics.pairs.visibility.sum()) / n if has_points else None
    return Localisation(statistics.iou / n, statistics.dice / n, n, measure, visibility)


def _pairs(
    statistics: AgreementStatistics,
    totals: RunTotals,
    config: AgreementConfig,
    annotators: Sequence[str],
    has_points: bool,
) -> list[PairSummary]:
    sums = statistics.pairs
    consistency = totals.tracks.consistency(len(annotators))
    summaries = []
    for pair, (a, b) in enumerate(zip(*(index.tolist() for index in pair_names(len(annotators))), strict=True)):
        if sums.n_samples[pair]:
            n = int(sums.n_matched[pair])
            summary = _pair(statistics, config, pair, annotators[a], annotators[b])
            summaries.append(
                dataclasses.replace(
                    summary,
                    visibility=float(sums.visibility[pair]) / n if has_points and n else None,
                    track_consistency=number(consistency[a, b]),
                )
            )
    return summaries


def _pair(statistics: AgreementStatistics, config: AgreementConfig, pair: int, a: str, b: str) -> PairSummary:
    sums = statistics.pairs
    n_a, n_b, n_matched = int(sums.n_a[pair]), int(sums.n_b[pair]), int(sums.n_matched[pair])
    n_same_class, n_scored = int(sums.n_same_class[pair]), int(sums.n_scored[pair])
    tally = pair_tally(statistics, config, pair)
    return PairSummary(
        a=a,
        b=b,
        n_samples=int(sums.n_samples[pair]),
        n_a=n_a,
        n_b=n_b,
        n_matched=n_matched,
        score=float(sums.score[pair]) / n_scored if n_scored else None,
        alpha=number(_alpha_of(tally, config)),
        percent_agreement=number(tally.percent_agreement()),
        f1=number(float(f1_score(n_matched, n_a, n_b))),
        class_agreement=n_same_class / n_matched if n_matched else None,
        mean_iou=number(float(segmentation_quality(sums.iou[pair], n_matched))),
        mean_dice=number(float(segmentation_quality(sums.dice[pair], n_matched))),
        pq=number(float(panoptic_quality(sums.iou_same_class[pair], n_a, n_b))),
        sq=number(float(segmentation_quality(sums.iou_same_class[pair], n_same_class))),
        rq=number(float(f1_score(n_same_class, n_a, n_b))),
        mean_max_iou={
            "a_to_b": _sample_mean(sums.a_to_b, pair),
            "b_to_a": _sample_mean(sums.b_to_a, pair),
            "symmetric": _sample_mean(sums.symmetric, pair),
        },
        alignment=_alignment(sums, pair) if config.method == "mutual_best" else None,
    )


def _sample_mean(moments: Moments, pair: int) -> SampleMean:
    n = int(moments.n[pair])
    if not n:
        return SampleMean(None, None, 0)
    return SampleMean(float(moments.mean[pair]), math.sqrt(float(moments.squares[pair]) / n), n)


def _alignment(sums: PairStatistics, pair: int) -> dict[str, float | int | None]:
    alignment = Alignment(
        int(sums.n_a[pair]),
        int(sums.n_b[pair]),
        int(sums.n_aligned[pair]),
        float(sums.recall[pair]),
        float(sums.precision[pair]),
    )
    return {
        "n_aligned": alignment.n_aligned,
        "recall": number(alignment.recall),
        "precision": number(alignment.precision),
        "f_score": number(alignment.f_score),
    }


def _annotators(
    statistics: AgreementStatistics, annotators: Sequence[str], class_names: Sequence[str]
) -> list[AnnotatorSummary]:
    counts = statistics.annotator_classes
    classes: list[dict[str, int]] = [{} for _ in annotators]
    for row, category, count in zip(
        counts.rows().tolist(), counts.categories().tolist(), counts.counts.tolist(), strict=True
    ):
        name = class_names[category]
        classes[row][name] = classes[row].get(name, 0) + count
    return [
        AnnotatorSummary(
            name=name,
            n_assigned=int(statistics.n_assigned[k]),
            n_drew_nothing=int(statistics.n_drew_nothing[k]),
            n_not_assigned=len(statistics.score) - int(statistics.n_assigned[k]),
            n_objects=sum(classes[k].values()),
            n_missed=int(statistics.n_missed[k]),
            n_crowd=int(statistics.n_crowd[k]),
            verdicts={verdict: int(statistics.verdicts[k, v]) for v, verdict in enumerate(VERDICTS)},
            classes=dict(sorted(classes[k].items())),
        )
        for k, name in enumerate(annotators)
    ]
