"""Do annotators draw an object alike that two or more of them drew?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...metrics.arrays import FloatArray, IntArray, sums_by
from ...metrics.geometry.objects import dice_from_iou
from ...metrics.matching.partition import TIE
from ..report import Describe
from .additive import Additive, Gathered, Worst
from .chunk import Chunk
from .summaries import Localisation
from .worst import described

#: bins of the histograms, from 0 to 1
N_BINS = 20
#: class of two labels that are not of one class
NO_CLASS = -1


@dataclass(frozen=True, slots=True)
class LocalisationSums(Additive):
    """What is known of all pairs of matched labels; 16 bytes each.

    Attributes:
        iou: IoU of every pair, shape ``(P,)``
        category: class of the two labels, ``NO_CLASS`` if they differ
        size: index into ``SIZES`` of their unit, -1 where not known
        visibility: sum of the shares of points that both labelled
        worst: the samples with the lowest mean IoU
    """

    iou: Gathered
    category: Gathered
    size: Gathered
    visibility: float
    worst: Worst


@dataclass(frozen=True, slots=True)
class Matches:
    """All pairs of matched labels: IoU, class and size as in :class:`LocalisationSums`, each of shape ``(P,)``."""

    iou: FloatArray
    category: IntArray
    size: IntArray

    @classmethod
    def of(cls, sums: LocalisationSums) -> Matches:
        """The pairs of all samples."""
        return cls(sums.iou.values(), sums.category.values(), sums.size.values())


def localisation_sums(chunk: Chunk) -> LocalisationSums:
    """The sums of some samples."""
    findings, pairs = chunk.findings, chunk.findings.pairs
    n_pairs = np.bincount(chunk.match_sample, minlength=findings.n_samples)
    mean = sums_by(chunk.match_sample, pairs.iou, findings.n_samples) / np.maximum(n_pairs, 1)
    category = np.where(pairs.same_class, findings.objects.category[pairs.i], NO_CLASS)
    return LocalisationSums(
        iou=Gathered.of(pairs.iou),
        category=Gathered.of(category.astype(np.int32)),
        size=Gathered.of(chunk.size[findings.unit[pairs.i]].astype(np.int8)),
        visibility=0.0 if findings.visibility is None else float(findings.visibility.sum()),
        worst=Worst.of(np.where((n_pairs > 0) & (mean < 1.0 - TIE), mean, np.nan), n_pairs, chunk.label_area),
    )


def localisation(
    sums: LocalisationSums, matches: Matches, measure: str, has_points: bool, describe: Describe
) -> Localisation:
    """The answer of a report.

    Args:
        sums: over all samples
        matches: the pairs of matched labels of all samples
        measure: what the similarity is called
        has_points: whether the labels are keypoints, which have a visibility
        describe: says where a sample is
    """
    n = len(matches.iou)
    if not n:
        return Localisation(None, None, 0, measure)
    return Localisation(
        **distribution(matches.iou),
        n_pairs=n,
        measure=measure,
        visibility=sums.visibility / n if has_points else None,
        worst_samples=described(sums.worst, describe),
    )


def distribution(iou: FloatArray) -> dict[str, Any]:
    """Mean, median and histogram of IoU and Dice by name; None, and no histogram, without a pair of labels."""
    dice = dice_from_iou(iou)
    n = len(iou)
    return {
        "mean_iou": float(iou.sum()) / n if n else None,
        "mean_dice": float(dice.sum()) / n if n else None,
        "median_iou": float(np.median(iou)) if n else None,
        "median_dice": float(np.median(dice)) if n else None,
        "iou_histogram": histogram(iou) if n else [],
        "dice_histogram": histogram(dice) if n else [],
    }


def histogram(values: FloatArray) -> list[int]:
    """How many values in [0, 1] are in each bin of 0.05; a value on an edge, by less than ``TIE``, is in the upper."""
    place = np.minimum(((values + TIE) * N_BINS).astype(np.int64), N_BINS - 1)
    counts: list[int] = np.bincount(place, minlength=N_BINS).tolist()
    return counts
