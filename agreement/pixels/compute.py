"""Count the masks of a sample, and compute the numbers of samples from these counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from ...metrics.alpha import nominal_alpha_of_sums
from ...metrics.geometry.objects import dice_from_areas, iou_from_areas
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ...metrics.pixels.boundaries import boundary_agreement
from ...metrics.pixels.joint_counts import ClassMask, ignored_pixels, joint_counts
from ..settings.config import AgreementConfig
from ..statistics.values import masked_means
from .counts import POINTS, MaskCounts, MaskTable, MaskValues, SampleMasks, are_classes, count_areas

#: numbers of every pair of annotators and (as means over pairs) of every sample; columns of all tables of numbers
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
_OF_AREAS, _OF_BOUNDARIES = np.split(np.arange(len(NUMBERS)), [NUMBERS.index("boundary_iou")])

#: maximum number of different values in the masks of a sample; with more they are not classes
MAX_VALUES = 4_096

#: why the alpha of a sample is undefined; entry 0 where it is defined
ALPHA_REASONS = ("", "one_annotator", "no_pixels", "single_category")
_ONE_ANNOTATOR, _NO_PIXELS, _SINGLE_CATEGORY = range(1, len(ALPHA_REASONS))


class TooManyValuesError(ValueError):
    """The masks of a sample have more than ``MAX_VALUES`` different values; the message is their number."""


def compare_masks(
    masks: Sequence[ClassMask], annotators: Sequence[int], meaning: MaskValues, config: AgreementConfig
) -> SampleMasks:
    """Compare the masks of one sample: all pairs in one pass over the pixels, and boundaries if requested.

    Args:
        masks: integer masks of at least two annotators, shape ``(H, W)``
        annotators: annotator of every mask, ascending

    Raises:
        TooManyValuesError: if there are more than ``MAX_VALUES`` values; raised before the slow part
    """
    joint = joint_counts(masks, meaning.ignored)
    values = np.unique(joint.values)
    if len(values) > MAX_VALUES:
        raise TooManyValuesError(str(len(values)))
    boundaries = None
    if config.boundaries:
        boundaries = _boundaries(masks, values[are_classes(values, meaning.background)], meaning, config)
    columns, rows = (POINTS * masks[0].shape[::-1]).astype(np.int64).T
    found = np.stack([mask[rows, columns].astype(np.int64) for mask in masks])
    at_points = np.searchsorted(values, found).astype(np.int16)
    at_points[:, np.isin(found, np.asarray(meaning.ignored, np.int64)).any(axis=0)] = len(values)
    return SampleMasks(tuple(annotators), values, *count_areas(joint, values), joint.n_ignored, boundaries, at_points)


def _boundaries(
    masks: Sequence[ClassMask], classes: IntArray, meaning: MaskValues, config: AgreementConfig
) -> FloatArray:
    """Boundary numbers of every pair, shape ``(P, 3)``: means over the classes that at least one of the two used."""
    excluded = ignored_pixels(masks, meaning.ignored) if meaning.ignored else None
    width = None if config.boundary_width is None else int(config.boundary_width)
    rows = []
    for a, b in combinations(masks, 2):
        found = boundary_agreement(
            a, b, classes.tolist(), width_px=width, tolerance_px=config.boundary_tolerance, excluded=excluded
        )
        rows.append(means_defined(np.stack((found.boundary_iou, found.surface_dice, found.hd95), axis=1)))
    return np.stack(rows)


@dataclass(frozen=True, slots=True)
class PixelBatch:
    """The masks of some samples."""

    samples: tuple[SampleMasks | None, ...]  #: ``S`` samples; None where fewer than two annotators are assigned
    assigned: BoolArray  #: shape ``(S, R)``, whether an annotator has a usable mask

    def select(self, kept: BoolArray) -> PixelBatch:
        """The batch of the samples in a mask ``(S,)``."""
        samples = tuple(sample for sample, keep in zip(self.samples, kept.tolist(), strict=True) if keep)
        return PixelBatch(samples, self.assigned[kept])


@dataclass(frozen=True, slots=True)
class PixelAgreement:
    """The agreement on some samples; samples with fewer than two masks are not rated."""

    counts: MaskCounts  #: areas from which all other columns are computed
    numbers: FloatArray  #: shape ``(S, len(NUMBERS))``, means over the pairs of annotators; nan where undefined
    pair_numbers: FloatArray  #: shape ``(Q, len(NUMBERS))``, of every pair of annotators on every sample
    pair: IntArray  #: shape ``(Q, 2)``, the two annotators, sorted by sample, then annotators
    agreed: IntArray  #: shape ``(Q,)``, pixels to which both gave the same value
    #: shape ``(S, R)``, mean class IoU of every mask with the others, without background; nan without others
    mask_iou: FloatArray
    alpha: FloatArray  #: shape ``(S,)``, nan where undefined
    alpha_reason: IntArray  #: shape ``(S,)``, index into ``ALPHA_REASONS``
    differing: IntArray  #: shape ``(S,)``, ordered pairs of masks that differ, summed over the pixels
    n_pixels: IntArray  #: shape ``(S,)``, pixels that were compared
    n_units: IntArray  #: shape ``(S,)``, used classes without background
    n_disputed: IntArray  #: shape ``(S,)``, used classes on which two masks differ
    is_empty: BoolArray  #: shape ``(S,)``, whether all masks are only background
    class_iou: FloatArray  #: shape ``(V,)``, for every value of every sample: mean over the pairs that used it
    class_dice: FloatArray  #: shape ``(V,)``
    class_shared: IntArray  #: shape ``(V,)``, pixels of the value in both masks, summed over the pairs
    area: IntArray  #: shape ``(V, R)``, pixels of the value in every mask

    @property
    def score(self) -> FloatArray:
        """Score of every sample, shape ``(S,)``."""
        score: FloatArray = self.numbers[:, SCORE]
        return score

    @property
    def n_annotators(self) -> IntArray:
        """Annotators with a mask of every sample, shape ``(S,)``."""
        n: IntArray = self.counts.assigned.sum(axis=1)
        return n

    @property
    def rated(self) -> BoolArray:
        """Samples with at least two annotators, shape ``(S,)``."""
        return self.n_annotators >= 2

    @property
    def ignored(self) -> FloatArray:
        """Share of the pixels left out, shape ``(S,)``; nan where nothing was compared."""
        n = self.counts.n_ignored + self.n_pixels
        return np.where(self.rated, self.counts.n_ignored / np.maximum(n, 1), np.nan)


def measure(counts: MaskCounts, background: int | None, config: AgreementConfig) -> PixelAgreement:
    """The agreement on samples.

    Args:
        counts: counts of the samples
        background: value of the background; None if there is none
    """
    n_samples, n_annotators = counts.assigned.shape
    n_pairs, n_values = int(counts.n_pairs.sum()), len(counts.values)
    found = PixelAgreement(
        counts=counts,
        numbers=np.full((n_samples, len(NUMBERS)), np.nan),
        pair_numbers=np.full((n_pairs, len(NUMBERS)), np.nan),
        pair=np.zeros((n_pairs, 2), np.int64),
        agreed=np.zeros(n_pairs, np.int64),
        mask_iou=np.full((n_samples, n_annotators), np.nan),
        alpha=np.full(n_samples, np.nan),
        alpha_reason=np.full(n_samples, _ONE_ANNOTATOR),
        differing=np.zeros(n_samples, np.int64),
        n_pixels=np.zeros(n_samples, np.int64),
        n_units=np.zeros(n_samples, np.int64),
        n_disputed=np.zeros(n_samples, np.int64),
        is_empty=np.zeros(n_samples, np.bool_),
        class_iou=np.zeros(n_values),
        class_dice=np.zeros(n_values),
        class_shared=np.zeros(n_values, np.int64),
        area=np.zeros((n_values, n_annotators), np.int64),
    )
    is_class = are_classes(counts.values, background)
    for table in counts.tables():
        _fill(found, table, table.spread(is_class), config)
    return found


def _fill(found: PixelAgreement, table: MaskTable, is_class: BoolArray, config: AgreementConfig) -> None:
    """Fill in the numbers of the samples of a table; ``is_class`` ``(B, K)`` marks values that are classes."""
    samples, members, areas, shared = table.samples, table.members, table.areas, table.shared
    n_pixels = table.n_pixels
    n_agreed = shared.sum(axis=2)
    found.n_pixels[samples] = n_pixels
    found.n_units[samples] = is_class.sum(axis=1)
    found.is_empty[samples] = is_empty = (n_pixels > 0) & ~is_class.any(axis=1)
    found.differing[samples] = 2 * (n_pixels - n_agreed).sum(axis=0)

    a, b = table.pairs
    iou, dice = (
        measured(shared.astype(np.float64), areas[a].astype(np.float64), areas[b].astype(np.float64))
        for measured in (iou_from_areas, dice_from_areas)
    )
    present = ~np.isnan(iou)
    drawn = present & is_class
    numbers = np.full((len(a), len(samples), len(NUMBERS)), np.nan)
    # two masks without classes agree; images that everybody left empty may be skipped
    agree = ~drawn.any(axis=2) & (n_pixels > 0) & (~is_empty | (config.empty == "agree"))
    of_classes = masked_means(iou, drawn)
    columns = (
        np.where(agree, 1.0, of_classes),
        of_classes,
        masked_means(dice, drawn),
        masked_means(iou, present),
        masked_means(dice, present),
        np.where(n_pixels > 0, n_agreed / np.maximum(n_pixels, 1), np.nan),
        kappa_of_areas(n_pixels, n_agreed, (areas[a] * (n_pixels[:, None] - areas[b])).sum(axis=2)),
    )
    numbers[:, :, _OF_AREAS] = np.stack(columns, axis=2)
    rows = table.sample_pair[:, None] + np.arange(len(a))
    if found.counts.boundaries is not None:
        numbers[:, :, _OF_BOUNDARIES] = found.counts.boundaries[rows].swapaxes(0, 1)
    found.pair_numbers[rows] = numbers.swapaxes(0, 1)
    found.pair[rows] = np.stack([members[:, a], members[:, b]], axis=2)
    found.agreed[rows] = n_agreed.T
    found.numbers[samples] = means_defined(numbers)
    for m in range(members.shape[1]):
        found.mask_iou[samples, members[:, m]] = means_defined(numbers[(a == m) | (b == m), :, IOU])

    is_disputed = (present & (iou < 1.0)).any(axis=0)
    found.n_disputed[samples] = (is_disputed & is_class).sum(axis=1)
    n_present = np.maximum(present.sum(axis=0), 1)
    for column, values in ((found.class_iou, iou), (found.class_dice, dice)):
        column[table.of_value] = (np.where(present, values, 0.0).sum(axis=0) / n_present)[table.is_value]
    found.class_shared[table.of_value] = shared.sum(axis=0)[table.is_value]
    of_value = np.nonzero(table.is_value)[0]
    for m in range(members.shape[1]):
        found.area[table.of_value, members[of_value, m]] = areas[m][table.is_value]
    _enter_alpha(found, table, areas.sum(axis=0), config)


def means_defined(numbers: FloatArray) -> FloatArray:
    """Means along the first axis without nan; nan if all are nan."""
    return masked_means(np.moveaxis(numbers, 0, -1), ~np.isnan(np.moveaxis(numbers, 0, -1)))


def kappa_of_areas(n: ArrayLike, n_agreed: ArrayLike, by_chance: ArrayLike) -> FloatArray:
    """Cohen's kappa over pixels.

    Args:
        n: pixels; shapes must broadcast
        n_agreed: pixels to which both annotators gave the same value
        by_chance: pairs of pixels that differ, ``Σ_v a_v (n - b_v)`` with the areas of every value in the two masks

    Undefined:
        nan without pixels, and where both annotators gave the same single value to all pixels

    References:
        J. Cohen, "A coefficient of agreement for nominal scales", 1960
    """
    of_all, agreed, chance = (np.asarray(each, np.float64) for each in (n, n_agreed, by_chance))
    undefined = chance == 0
    return np.where(undefined, np.nan, 1.0 - of_all * (of_all - agreed) / np.where(undefined, 1.0, chance))


def _enter_alpha(found: PixelAgreement, table: MaskTable, ratings: IntArray, config: AgreementConfig) -> None:
    """Fill in alpha from the pixels of every value in all masks together, shape ``(B, K)``."""
    samples = table.samples
    observed = found.differing[samples] / (table.members.shape[1] - 1)
    alpha = nominal_alpha_of_sums(observed, ratings.astype(np.float64), config.undefined)
    if config.empty == "agree":
        alpha[found.is_empty[samples]] = 1.0
    found.alpha[samples] = alpha
    reason = np.where(found.n_pixels[samples] > 0, _SINGLE_CATEGORY, _NO_PIXELS)
    found.alpha_reason[samples] = np.where(np.isnan(alpha), reason, 0)
