"""The report on semantic masks."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from ...metrics.alpha.nominal import NominalTally
from ...metrics.arrays import FloatArray, IntArray, sums_by
from ...metrics.geometry.objects import dice_from_areas, iou_from_areas
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
from .compute import ALPHA_REASONS, kappa_of_areas
from .intervals import with_intervals
from .mask_values import MaskValues
from .records import PixelRecords
from .statistics import PairAreas, PixelStatistics, summarise_pixels

#: classes that are listed; those with the fewest pixels are left out
MAX_CLASSES = 1_000


@dataclass(frozen=True, slots=True)
class PixelNumbers:
    """Means over samples of the means over the pairs of annotators; None where no sample has any.

    ``iou`` and ``dice`` are means over the classes that either of two annotators used, background left out;
    ``hd95`` is in pixels; the last three are None unless the run compared boundaries.
    """

    iou: float | None
    dice: float | None
    iou_with_background: float | None
    dice_with_background: float | None
    accuracy: float | None
    kappa: float | None
    boundary_iou: float | None
    surface_dice: float | None
    hd95: float | None


@dataclass(frozen=True, slots=True)
class MaskPairSummary:
    """Agreement of two annotators on the samples with masks of both.

    ``score`` is the mean over samples; ``alpha``, ``accuracy`` and ``kappa`` (Cohen's) are over all pixels together.
    """

    a: str
    b: str
    n_samples: int
    score: float | None
    alpha: float | None
    accuracy: float | None
    kappa: float | None
    mean: PixelNumbers
    intervals: dict[str, Interval] = dataclasses.field(default_factory=dict)

    parts: ClassVar[dict[str, Any]] = {"mean": PixelNumbers, "intervals": Each(Interval)}


@dataclass(frozen=True, slots=True)
class MaskClassSummary:
    """One class.

    ``iou`` and ``dice`` are over all pixels of all pairs of annotators together, ``mean_iou`` and ``mean_dice`` means
    over the ``n_samples`` samples in which anybody used it; ``n_pixels`` adds up the pixels of all annotators.
    """

    value: int
    name: str
    is_background: bool
    n_samples: int
    n_pixels: int
    iou: float | None
    dice: float | None
    mean_iou: float | None
    mean_dice: float | None
    intervals: dict[str, Interval] = dataclasses.field(default_factory=dict)

    parts: ClassVar[dict[str, Any]] = {"intervals": Each(Interval)}


@dataclass(frozen=True, slots=True)
class MaskAnnotatorSummary:
    """What one annotator did: ``score`` is the mean with the others; ``classes`` are shares of their pixels."""

    name: str
    n_assigned: int
    n_not_assigned: int
    n_pixels: int
    score: float | None
    classes: dict[str, float]
    intervals: dict[str, Interval] = dataclasses.field(default_factory=dict)

    parts: ClassVar[dict[str, Any]] = {"intervals": Each(Interval)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PixelReport(AgreementReport):
    """How far annotators agree on the class of every pixel.

    ``alpha.pooled`` and ``alpha.percent_agreement`` are over all pixels of rated samples; ``kappa`` is the mean of
    Cohen's kappa of the pairs. ``n_pixels`` were compared, ``n_ignored`` left out because somebody gave them an ignored
    value.
    """

    family: ClassVar[str] = "pixels"
    parts: ClassVar[dict[str, Any]] = {
        **AgreementReport.parts,
        "mean": PixelNumbers,
        "pairs": MaskPairSummary,
        "classes": MaskClassSummary,
        "annotators": MaskAnnotatorSummary,
    }

    n_empty: int
    n_disputed: int
    background: int | None
    is_rgb: bool
    n_pixels: int
    n_ignored: int
    ignored: float | None
    kappa: float | None
    mean: PixelNumbers
    n_classes: int
    classes: list[MaskClassSummary]
    pairs: list[MaskPairSummary]
    annotators: list[MaskAnnotatorSummary]


def build_pixel_report(records: PixelRecords, context: ReportContext) -> PixelReport:
    """The report on samples.

    ``context.details`` are those of :meth:`MaskValues.to_dict`, and whether values are colours (``is_rgb``).
    """
    config, annotators, is_rgb = context.config, context.annotators, bool(context.details["is_rgb"])
    meaning = MaskValues.from_dict(context.details)
    parts = map(summarise_pixels, records.agreements(meaning.background, config))
    statistics = functools.reduce(operator.add, parts)
    tally = statistics.tally
    mean, n_defined = mean_defined(statistics.alpha)
    pairs = _pairs(statistics, config, annotators)
    n_all = tally.n_units + statistics.n_ignored
    classes = _classes(statistics, meaning, is_rgb)
    report = PixelReport(
        run_key=config.run_key,
        config=config.to_dict(),
        label_types=list(context.label_types),
        n_samples=len(statistics.score),
        n_rated=statistics.n_rated,
        n_units=statistics.n_units,
        n_objects=statistics.n_masks,
        n_empty=statistics.n_empty,
        n_disputed=statistics.n_disputed,
        background=meaning.background,
        is_rgb=is_rgb,
        n_pixels=tally.n_units,
        n_ignored=statistics.n_ignored,
        ignored=statistics.n_ignored / n_all if n_all else None,
        score=ScoreSummary(*mean_defined(statistics.score)),
        alpha=AlphaSummary(
            pooled=number(_alpha(tally, config)),
            mean=mean,
            n_defined=n_defined,
            undefined={
                reason: int(count)
                for reason, count in zip(ALPHA_REASONS, statistics.alpha_reasons, strict=True)
                if reason
            },
            percent_agreement=number(tally.percent_agreement()),
            n_units=tally.n_units,
        ),
        kappa=mean_defined([pair.kappa for pair in pairs if pair.kappa is not None])[0],
        mean=_numbers(statistics.samples.means(0)),
        n_classes=len(classes),
        classes=classes[:MAX_CLASSES],
        pairs=pairs,
        annotators=_annotators(statistics, annotators, classes),
        worst_samples=context.worst_samples,
        run=context.run,
    )
    return with_intervals(report, records, context)


def _alpha(tally: NominalTally, config: AgreementConfig) -> float:
    """Alpha; where everybody used one value, what the config says."""
    alpha = tally.alpha()
    return 1.0 if np.isnan(alpha) and tally.n_ratings and config.undefined == "one" else alpha


def _numbers(means: dict[str, float | None]) -> PixelNumbers:
    return PixelNumbers(**{name: value for name, value in means.items() if name != "score"})


def _pairs(statistics: PixelStatistics, config: AgreementConfig, annotators: Sequence[str]) -> list[MaskPairSummary]:
    summaries = []
    for k, (a, b) in enumerate(combinations(annotators, 2)):
        if not statistics.n_shared[k]:
            continue
        areas, means = statistics.pair_areas.of_pair(k), statistics.pairs.means(k)
        n_pixels, n_agreed = int(areas[:, 0].sum()), int(areas[:, 2].sum())
        # Python integers do not overflow
        expected = sum(area_a * area_b for area_a, area_b, _ in areas.tolist())
        numbers = (np.array(value, object) for value in (n_pixels, n_agreed, expected))
        summaries.append(
            MaskPairSummary(
                a=a,
                b=b,
                n_samples=int(statistics.n_shared[k]),
                score=means["score"],
                alpha=number(_alpha(_pair_tally(areas, n_pixels, n_agreed), config)),
                accuracy=n_agreed / n_pixels if n_pixels else None,
                kappa=number(float(kappa_of_areas(*numbers))),
                mean=_numbers(means),
            )
        )
    return summaries


def _pair_tally(areas: IntArray, n_pixels: int, n_agreed: int) -> NominalTally:
    """What alpha counts over the pixels of two annotators."""
    of_two = np.array([0, 0, 1], np.int64)
    return NominalTally(areas[:, :2].sum(axis=1), 2 * (n_pixels - n_agreed) * of_two, n_pixels * of_two)


def _classes(statistics: PixelStatistics, meaning: MaskValues, is_rgb: bool) -> list[MaskClassSummary]:
    """All classes, those with the most pixels first."""
    values = statistics.classes.values
    n_samples, iou, dice = statistics.classes.sums.T
    n_pixels = statistics.pixels.sums.sum(axis=1)
    pooled_iou, pooled_dice = _pooled(values, statistics.pair_areas)
    order = np.lexsort((values, -n_pixels))
    return [
        MaskClassSummary(
            value=int(values[k]),
            name=meaning.name(int(values[k]), is_rgb=is_rgb),
            is_background=bool(values[k] == meaning.background),
            n_samples=int(n_samples[k]),
            n_pixels=int(n_pixels[k]),
            iou=number(pooled_iou[k]),
            dice=number(pooled_dice[k]),
            mean_iou=float(iou[k] / n_samples[k]),
            mean_dice=float(dice[k] / n_samples[k]),
        )
        for k in order.tolist()
    ]


def _pooled(values: IntArray, pairs: PairAreas) -> tuple[FloatArray, FloatArray]:
    """IoU and Dice of every value, over the pixels of all pairs together."""
    at = np.searchsorted(values, pairs.value)
    area_a, area_b, shared = (sums_by(at, column, len(values)) for column in pairs.areas.T)
    return iou_from_areas(shared, area_a, area_b), dice_from_areas(shared, area_a, area_b)


def _annotators(
    statistics: PixelStatistics, annotators: Sequence[str], classes: Sequence[MaskClassSummary]
) -> list[MaskAnnotatorSummary]:
    place = {int(value): k for k, value in enumerate(statistics.pixels.values)}
    listed = [(entry.name, place[entry.value]) for entry in classes[:MAX_CLASSES]]
    members = list(combinations(range(len(annotators)), 2))
    total, n = statistics.pairs.total[:, 0], statistics.pairs.n[:, 0]
    summaries = []
    for r, name in enumerate(annotators):
        pixels = statistics.pixels.sums[:, r]
        n_pixels = int(pixels.sum())
        own = np.array([r in pair for pair in members], np.bool_)
        n_scored = int(n[own].sum())
        shares: dict[str, float] = {}
        for title, k in listed:
            if pixels[k]:  # several values may have one name
                shares[title] = shares.get(title, 0.0) + int(pixels[k]) / n_pixels
        n_assigned = int(statistics.n_assigned[r])
        summaries.append(
            MaskAnnotatorSummary(
                name=name,
                n_assigned=n_assigned,
                n_not_assigned=len(statistics.score) - n_assigned,
                n_pixels=n_pixels,
                score=float(total[own].sum()) / n_scored if n_scored else None,
                classes=shares,
            )
        )
    return summaries
