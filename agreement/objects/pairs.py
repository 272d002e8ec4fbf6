"""Agreement of every two annotators."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...metrics.alpha.kappas import coefficients_by_pair
from ...metrics.alpha.nominal import nominal_alpha_of_squares, nominal_alpha_of_sums
from ...metrics.arrays import BoolArray, FloatArray, IntArray, sums_by
from ...metrics.detection import Alignment, f1_score, panoptic_quality, segmentation_quality
from ..classes import MISSING
from ..config import AgreementConfig
from ..report import ReportContext, number
from .additive import Moments
from .coefficients import ruled
from .confusions import listed_by_row
from .findings import pair_names
from .pair_sums import PairSums
from .persons import persons_of, same_person
from .summaries import PairSummary, SampleMean
from .totals import RunTotals

#: pairs of classes that a report lists for a pair of annotators
MAX_LISTED = 20


@dataclass(frozen=True, slots=True)
class PairRatings:
    """What the alpha of every pair counts; two ratings a unit, columns of shape ``(P,)``.

    Attributes:
        n_units: units
        n_differ: units in which the two differ
        missing: ratings that are *missing*
        pair: shape ``(T,)``, with ``category`` and ``n`` the ratings of every class
        category: shape ``(T,)``
        n: shape ``(T,)``
    """

    n_units: IntArray
    n_differ: IntArray
    missing: IntArray
    pair: IntArray
    category: IntArray
    n: IntArray

    @classmethod
    def of(cls, sums: PairSums, config: AgreementConfig) -> PairRatings:
        """The ratings of units on shared samples with an object of at least one of the two."""
        pair, category = sums.classes.columns()
        differ = sums.n_matched - sums.n_same_class
        missing = np.zeros_like(differ)
        n_units = sums.n_matched
        if config.missing == "category":
            alone = sums.n_a + sums.n_b - 2 * sums.n_matched
            missing = alone + 2 * sums.n_empty
            differ, n_units = differ + alone, n_units + alone + sums.n_empty
        return cls(n_units, differ, missing, pair, category, sums.classes.counts)

    def alphas(self) -> FloatArray:
        """Alpha of every pair, shape ``(P,)``; nan where undefined."""
        squares = sums_by(self.pair, self.n * self.n, len(self.n_units)) + self.missing * self.missing
        n = 2 * self.n_units.astype(np.float64)
        return nominal_alpha_of_squares(2 * self.n_differ.astype(np.float64), n, squares)

    def pooled_alpha(self, pairs: BoolArray, config: AgreementConfig) -> float:
        """Alpha of all units of some pairs together, each unit of a pair two ratings; nan where undefined."""
        kept = pairs[self.pair]
        counts = np.bincount(self.category[kept], weights=self.n[kept], minlength=MISSING + 1)
        counts[MISSING] += self.missing[pairs].sum()
        n_differ = np.array(2.0 * self.n_differ[pairs].sum())
        return ruled(float(nominal_alpha_of_sums(n_differ, counts.astype(np.float64))), float(counts.sum()), config)


def pair_summaries(sums: PairSums, totals: RunTotals, context: ReportContext) -> list[PairSummary]:
    """Every pair with a shared sample, in the order of the annotators."""
    config, names = context.config, context.annotators
    ratings = PairRatings.of(sums, config)
    alphas = ratings.alphas()
    n_pairs = len(sums.n_samples)
    of_pair, class_a, class_b = sums.confusion.columns()
    kappa, ac1 = coefficients_by_pair(of_pair, class_a, class_b, sums.confusion.counts, n_pairs)
    differ = class_a != class_b
    confusions = listed_by_row(
        of_pair[differ], class_a[differ], class_b[differ], sums.confusion.counts[differ], context.class_names, n_pairs,
        MAX_LISTED,
    )  # fmt: skip
    consistency = totals.tracks.consistency(len(names))
    persons = persons_of(config)
    summaries = []
    for pair, (a, b) in enumerate(zip(*(index.tolist() for index in pair_names(len(names))), strict=True)):
        if not sums.n_samples[pair]:
            continue
        n, n_units = int(sums.n_matched[pair]), int(ratings.n_units[pair])
        n_a, n_b = int(sums.n_a[pair]), int(sums.n_b[pair])
        n_same, n_scored = int(sums.n_same_class[pair]), int(sums.n_scored[pair])
        summaries.append(
            PairSummary(
                a=names[a],
                b=names[b],
                n_samples=int(sums.n_samples[pair]),
                n_a=n_a,
                n_b=n_b,
                n_matched=n,
                score=float(sums.score[pair]) / n_scored if n_scored else None,
                alpha=number(ruled(float(alphas[pair]), n_units, config)),
                percent_agreement=1.0 - int(ratings.n_differ[pair]) / n_units if n_units else None,
                f1=number(float(f1_score(n, n_a, n_b))),
                class_agreement=n_same / n if n else None,
                mean_iou=number(float(segmentation_quality(sums.iou[pair], n))),
                mean_dice=number(float(segmentation_quality(sums.dice[pair], n))),
                pq=number(float(panoptic_quality(sums.iou_same_class[pair], n_a, n_b))),
                sq=number(float(segmentation_quality(sums.iou_same_class[pair], n_same))),
                rq=number(float(f1_score(n_same, n_a, n_b))),
                mean_max_iou={
                    "a_to_b": _sample_mean(sums.a_to_b, pair),
                    "b_to_a": _sample_mean(sums.b_to_a, pair),
                    "symmetric": _sample_mean(sums.symmetric, pair),
                },
                alignment=_alignment(sums, pair) if config.method == "mutual_best" else None,
                visibility=float(sums.visibility[pair]) / n if context.measure == "OKS" and n else None,
                track_consistency=number(consistency[a, b]),
                jaccard=n / (n_a + n_b - n) if n_a + n_b else None,
                kappa=number(float(kappa[pair])),
                ac1=number(float(ac1[pair])),
                confusion=confusions[pair].entries,
                n_unlisted=confusions[pair].n_unlisted,
                intra=same_person(persons, names[a], names[b]),
            )
        )
    return summaries


def _sample_mean(moments: Moments, pair: int) -> SampleMean:
    n = int(moments.n[pair])
    if not n:
        return SampleMean(None, None, 0)
    return SampleMean(float(moments.mean[pair]), math.sqrt(float(moments.squares[pair]) / n), n)


def _alignment(sums: PairSums, pair: int) -> dict[str, float | int | None]:
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
