"""From the masks of a sample to its numbers, and from samples to the columns of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ...metrics.arrays import BoolArray, FloatArray, IntArray
from ...metrics.boundaries import boundary_agreement
from ...metrics.pixel_classes import (
    ClassMask,
    JointCounts,
    PixelConfusion,
    PixelTally,
    ignored_pixels,
    joint_counts,
    pair_confusion,
)
from ..config import AgreementConfig
from .mask_values import MaskValues

#: numbers of a pair of annotators on a sample, and their means over the pairs: the columns of all tables of numbers
NUMBERS = (
    "score",
    "iou",
    "dice",
    "iou_with_background",
    "dice_with_background",
    "accuracy",
    "kappa",
    "boundary_iou",
    "surface_dice",
    "hd95",
)
SCORE, IOU = NUMBERS.index("score"), NUMBERS.index("iou")
BOUNDARY_NUMBERS = slice(NUMBERS.index("boundary_iou"), len(NUMBERS))

#: different values in the masks of a sample beyond which these hold no classes
MAX_VALUES = 4_096

#: why the alpha of a sample is undefined; entry 0 where it is defined
ALPHA_REASONS = ("", "one_annotator", "no_pixels", "single_category")


class TooManyValuesError(ValueError):
    """The masks of a sample have more than ``MAX_VALUES`` different values; the message is how many."""


@dataclass(frozen=True, slots=True)
class SampleMasks:
    """The agreement on the masks of one sample with at least two annotators.

    Attributes:
        annotators: ``M`` indices, ascending: whose masks were compared
        joint: combinations of their values
        confusions: for every pair of them, in the order (0, 1), (0, 2) … (M - 2, M - 1)
        numbers: shape ``(P, len(NUMBERS))``, the numbers of every pair; nan where undefined
        values: shape ``(K,)``, values that anybody used, ascending
        is_class: shape ``(K,)``, which of them are not the background
        class_iou: shape ``(K,)``, mean over the pairs in which the class is present
        class_dice: shape ``(K,)``
        is_disputed: shape ``(K,)``, whether any pair does not agree on all pixels of the class
        tally: what alpha counts
        alpha: nan where undefined
        reason: index into ``ALPHA_REASONS``
        is_empty: whether nobody drew anything but background
    """

    annotators: tuple[int, ...]
    joint: JointCounts
    confusions: tuple[PixelConfusion, ...]
    numbers: FloatArray
    values: IntArray
    is_class: BoolArray
    class_iou: FloatArray
    class_dice: FloatArray
    is_disputed: BoolArray
    tally: PixelTally
    alpha: float
    reason: int
    is_empty: bool


def compare_masks(
    masks: Sequence[ClassMask], annotators: Sequence[int], meaning: MaskValues, config: AgreementConfig
) -> SampleMasks:
    """Compare the masks of one sample, all pairs from one pass over the pixels; boundaries, if asked for, from more.

    Args:
        masks: of at least two annotators, integers, shape ``(H, W)``
        annotators: whose masks these are, ascending
        meaning: background and ignored values
        config: the options

    Raises:
        TooManyValuesError: before anything is computed of every value
    """
    joint = joint_counts(masks, meaning.ignored)
    values = np.unique(joint.values)
    if len(values) > MAX_VALUES:
        raise TooManyValuesError(str(len(values)))
    is_class = values != meaning.background if meaning.background is not None else np.ones(len(values), np.bool_)
    is_empty = bool(joint.n_pixels) and not is_class.any()
    pairs = list(combinations(range(len(masks)), 2))
    confusions = tuple(pair_confusion(joint, a, b) for a, b in pairs)
    numbers = np.full((len(pairs), len(NUMBERS)), np.nan)
    sums = np.zeros((3, len(values)))
    is_disputed = np.zeros(len(values), np.bool_)
    for row, confusion in zip(numbers, confusions, strict=True):
        classes, iou, dice = confusion.class_iou()
        at = np.searchsorted(values, classes)
        sums[:, at] += (np.ones(len(at)), iou, dice)
        is_disputed[at[iou < 1.0]] = True
        drawn = is_class[at]
        score = _mean(iou[drawn])
        if not drawn.any() and joint.n_pixels and (not is_empty or config.empty == "agree"):
            score = 1.0
        row[: BOUNDARY_NUMBERS.start] = (
            score,
            _mean(iou[drawn]),
            _mean(dice[drawn]),
            _mean(iou),
            _mean(dice),
            confusion.pixel_accuracy(),
            confusion.cohen_kappa(),
        )
    if config.boundaries:
        numbers[:, BOUNDARY_NUMBERS] = _boundaries(masks, pairs, values[is_class], meaning, config)
    tally = joint.tally()
    alpha, reason = _alpha(tally, is_empty, config)
    present = np.maximum(sums[0], 1.0)
    return SampleMasks(
        annotators=tuple(annotators),
        joint=joint,
        confusions=confusions,
        numbers=numbers,
        values=values,
        is_class=is_class,
        class_iou=sums[1] / present,
        class_dice=sums[2] / present,
        is_disputed=is_disputed,
        tally=tally,
        alpha=alpha,
        reason=reason,
        is_empty=is_empty,
    )


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else np.nan


def _alpha(tally: PixelTally, is_empty: bool, config: AgreementConfig) -> tuple[float, int]:
    alpha = tally.nominal.alpha()
    if alpha == alpha:  # nan is not equal to itself
        return alpha, 0
    if not tally.nominal.n_ratings:
        return alpha, ALPHA_REASONS.index("no_pixels")
    if config.undefined == "one" or (is_empty and config.empty == "agree"):
        return 1.0, 0
    return alpha, ALPHA_REASONS.index("single_category")


def _boundaries(
    masks: Sequence[ClassMask],
    pairs: Sequence[tuple[int, int]],
    classes: IntArray,
    meaning: MaskValues,
    config: AgreementConfig,
) -> FloatArray:
    """Boundary numbers of every pair: means over the classes that either has, shape ``(P, 3)``."""
    excluded = ignored_pixels(masks, meaning.ignored) if meaning.ignored else None
    width = None if config.boundary_width is None else int(config.boundary_width)
    rows = np.full((len(pairs), 3), np.nan)
    for row, (a, b) in zip(rows, pairs, strict=True):
        found = boundary_agreement(
            masks[a],
            masks[b],
            classes.tolist(),
            width_px=width,
            tolerance_px=config.boundary_tolerance,
            excluded=excluded,
        )
        for k, column in enumerate((found.boundary_iou, found.surface_dice, found.hd95)):
            row[k] = _mean(column[~np.isnan(column)])
    return rows


@dataclass(frozen=True, slots=True)
class PixelBatch:
    """The masks of some samples.

    Attributes:
        samples: ``S`` samples; None where fewer than two annotators are assigned
        assigned: shape ``(S, R)``, whether there is a mask of an annotator that can be compared
    """

    samples: tuple[SampleMasks | None, ...]
    assigned: BoolArray

    def select(self, kept: BoolArray) -> PixelBatch:
        """The batch of the samples that a mask ``(S,)`` keeps."""
        samples = tuple(sample for sample, keep in zip(self.samples, kept.tolist(), strict=True) if keep)
        return PixelBatch(samples, self.assigned[kept])


@dataclass(frozen=True, slots=True)
class PixelAgreement:
    """The agreement on a batch.

    Attributes:
        batch: the samples
        numbers: shape ``(S, len(NUMBERS))``, means over the pairs of annotators; nan where undefined
        mask_iou: shape ``(S, R)``, mean class IoU of every mask with the others, background left out; nan without any
        alpha: shape ``(S,)``, nan where undefined
        alpha_reason: shape ``(S,)``, index into ``ALPHA_REASONS``
        n_annotators: shape ``(S,)``
        n_units: shape ``(S,)``, classes that anybody used, background left out
        n_disputed: shape ``(S,)``, those on which any pair does not fully agree
        ignored: shape ``(S,)``, share of the pixels that was left out; nan where nothing was compared
    """

    batch: PixelBatch
    numbers: FloatArray
    mask_iou: FloatArray
    alpha: FloatArray
    alpha_reason: IntArray
    n_annotators: IntArray
    n_units: IntArray
    n_disputed: IntArray
    ignored: FloatArray

    @property
    def score(self) -> FloatArray:
        """Score of every sample, shape ``(S,)``."""
        score: FloatArray = self.numbers[:, SCORE]
        return score

    @property
    def rated(self) -> BoolArray:
        """Samples with at least two annotators, shape ``(S,)``."""
        return self.n_annotators >= 2


def collect_pixels(batch: PixelBatch) -> PixelAgreement:
    """The numbers of all samples of a batch as columns."""
    n_samples, n_annotators = batch.assigned.shape
    numbers = np.full((n_samples, len(NUMBERS)), np.nan)
    mask_iou = np.full((n_samples, n_annotators), np.nan)
    alpha, ignored = np.full((2, n_samples), np.nan)
    reason = np.full(n_samples, ALPHA_REASONS.index("one_annotator"))
    n_units, n_disputed = np.zeros((2, n_samples), np.int64)
    for k, sample in enumerate(batch.samples):
        if sample is None:
            continue
        numbers[k] = means_defined(sample.numbers)
        for m, of_annotator in enumerate(_pairs_of_members(len(sample.annotators))):
            mask_iou[k, sample.annotators[m]] = means_defined(sample.numbers[of_annotator, IOU : IOU + 1])[0]
        alpha[k], reason[k] = sample.alpha, sample.reason
        n_units[k] = np.count_nonzero(sample.is_class)
        n_disputed[k] = np.count_nonzero(sample.is_class & sample.is_disputed)
        ignored[k] = sample.joint.n_ignored / (sample.joint.n_ignored + sample.joint.n_pixels)
    return PixelAgreement(
        batch=batch,
        numbers=numbers,
        mask_iou=mask_iou,
        alpha=alpha,
        alpha_reason=reason,
        n_annotators=batch.assigned.sum(axis=1),
        n_units=n_units,
        n_disputed=n_disputed,
        ignored=ignored,
    )


def means_defined(rows: FloatArray) -> FloatArray:
    """Mean of the numbers of every column that are not nan; nan for a column without any."""
    defined = ~np.isnan(rows)
    n = defined.sum(axis=0)
    means: FloatArray = np.where(defined, rows, 0.0).sum(axis=0) / np.where(n > 0, n, np.nan)
    return means


def _pairs_of_members(n: int) -> list[IntArray]:
    """For every member of ``n``, the pairs that it is one of."""
    members = np.array(list(combinations(range(n), 2)), np.int64).reshape(-1, 2)
    return [np.flatnonzero((members == m).any(axis=1)) for m in range(n)]
