"""Compare semantic masks: areas of every class in one and in both masks, agreement on samples; meaning of values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...metrics.alpha import alpha_of
from ...metrics.geometry.objects import dice_from_areas, iou_from_areas
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, pairs_within, ranges, sums_by
from ...metrics.pixels.boundaries import boundary_agreement
from ...metrics.pixels.joint_counts import ClassMask, ignored_pixels, joint_counts
from ..settings.config import AgreementConfig
from ..settings.errors import AgreementInputError, shown
from ..settings.options import mask_value
from ..statistics.records import AnyColumns, Columns, compact, ids_of_given, packed, unpacked
from ..statistics.values import masked_means

#: names that make the value 0 the background
BACKGROUND_NAMES = frozenset({"background", "bg", "unlabeled", "unlabelled", "void", "none"})
#: names that make another value the background if 0 is a class
_CERTAIN_NAMES = frozenset({"background", "bg"})


def are_classes(values: IntArray, background: int | None) -> BoolArray:
    """True for values that are classes, not the background."""
    return np.ones(len(values), np.bool_) if background is None else values != background


@dataclass(frozen=True, slots=True)
class MaskValues:
    """The meaning of the values of all masks of a run."""

    background: int | None  #: value of the background; None if there is none
    ignored: tuple[int, ...]  #: values that mean "do not judge"
    names: dict[int, str]  #: names of classes by value; no two values have the same

    def name(self, value: int, *, is_rgb: bool) -> str:
        """Name of a class; without a name its value or colour."""
        unnamed = f"#{value:06x}" if is_rgb else str(value)
        return self.names.get(value, unnamed)

    def to_dict(self) -> dict[str, Any]:
        """The meaning as JSON values."""
        names = {str(value): name for value, name in self.names.items()}
        return {"background": self.background, "ignored": list(self.ignored), "names": names}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> MaskValues:
        """Rebuild from a dictionary that contains the entries of :meth:`to_dict`."""
        names = {int(value): name for value, name in values["names"].items()}
        return cls(values["background"], tuple(values["ignored"]), names)


def mask_values(config: AgreementConfig, targets: Mapping[str, Mapping[int | str, str]]) -> MaskValues:
    """The meaning of mask values, from the options and from the mask targets of the dataset.

    With ``background="auto"`` the value 0 is background unless a mask target gives it a name that is not in
    ``BACKGROUND_NAMES`` (ignoring case). Then 0 is a class, and the background is the value named *background* or *bg*;
    if there is no such value, or several, there is no background. Values that mask targets give one name are different
    classes, which are told apart by the value: ``road (3)`` and ``road (7)``.

    Args:
        targets: mask targets of every field that has some

    Raises:
        AgreementInputError: if a value has different names in different fields
    """
    found: dict[int, dict[str, str]] = {}
    shown_values: dict[int, int | str] = {}
    for field, names in targets.items():
        for key, name in names.items():
            # MongoDB stores integer keys as text
            value = int(key) if isinstance(key, str) and key.isdecimal() else mask_value(key)
            if value is not None and name is not None:
                found.setdefault(value, {})[field] = str(name)
                shown_values.setdefault(value, key)
    for value, by_field in found.items():
        if len({_plain(name) for name in by_field.values()}) > 1:
            raise AgreementInputError(
                "Mask targets of the fields must not contradict each other, got for the value "
                f"{value}: {shown(f'{name!r} in {field!r}' for field, name in sorted(by_field.items()))}; give a value "
                "the same name everywhere in dataset.mask_targets"
            )
    named = {value: min(by_field.values()).strip() for value, by_field in sorted(found.items())}
    if config.background != "auto":
        background = mask_value(config.background)
    elif _plain(named.get(0, "background")) in BACKGROUND_NAMES:
        background = 0
    else:
        certain = [value for value, name in named.items() if _plain(name) in _CERTAIN_NAMES]
        background = certain[0] if len(certain) == 1 else None
    n_values = Counter(named.values())
    told_apart = {
        value: f"{name} ({shown_values[value]})" if n_values[name] > 1 else name for value, name in named.items()
    }
    return MaskValues(background, config.ignore_values, told_apart)


def _plain(name: str) -> str:
    return name.strip().lower()


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
SCORE = NUMBERS.index("score")
#: points ``(G, 2)`` by which masks of different images are compared, shares of width and height: a lattice by the
#: golden ratio, even along rows, columns and diagonals, so that thin lines are hit in proportion to their area
POINTS: FloatArray = (0.5 + np.arange(896)[:, None] * [1.0, 896 * 0.6180339887498949]) / 896.0 % 1.0
POINTS.setflags(write=False)

#: maximum number of different values in the masks of a sample; with more they are not classes
MAX_VALUES = 4_096


class TooManyValuesError(ValueError):
    """The masks of a sample have more than ``MAX_VALUES`` different values; the message is their number."""


@dataclass(frozen=True, slots=True)
class SampleMasks:
    """Counts of the pixels of the ``M`` masks of one sample; ``M`` is at least 2."""

    values: IntArray  #: shape ``(K,)``, used values, ascending
    areas: IntArray  #: shape ``(M, K)``, pixels of every value in every mask
    #: shape ``(P, K)``, pixels of every value in both masks of every pair, in the order (0, 1), (0, 2) … (M - 2, M - 1)
    shared: IntArray
    n_ignored: int  #: pixels left out because somebody gave them an ignored value
    #: shape ``(P, 3)``, the boundary numbers of every pair, nan where undefined; None if not requested
    boundaries: FloatArray | None
    #: shape ``(M, G)``, index into ``values`` at every one of ``POINTS``; ``K`` where pixels are ignored
    at_points: NDArray[np.int16]


def compare_masks(masks: Sequence[ClassMask], meaning: MaskValues, config: AgreementConfig) -> SampleMasks:
    """Compare the masks of one sample: all pairs in one pass over the pixels, and boundaries if requested.

    Args:
        masks: integer masks of two annotators or more, in their order, shape ``(H, W)``

    Raises:
        TooManyValuesError: if there are more than ``MAX_VALUES`` values; raised before boundaries are compared
    """
    joint = joint_counts(masks, meaning.ignored)
    values = np.unique(joint.values)
    if len(values) > MAX_VALUES:
        raise TooManyValuesError(str(len(values)))
    boundaries = None
    if config.boundaries:
        classes = values[are_classes(values, meaning.background)].tolist()
        excluded = ignored_pixels(masks, meaning.ignored) if meaning.ignored else None
        width, tolerance = config.boundary_width, config.boundary_tolerance
        width = None if width is None else int(width)
        of_pairs = [
            boundary_agreement(a, b, classes, width_px=width, tolerance_px=tolerance, excluded=excluded)
            for a, b in combinations(masks, 2)
        ]
        # of every pair, means over the classes that at least one of the two used
        by_class = (np.stack((each.boundary_iou, each.surface_dice, each.hd95), axis=1) for each in of_pairs)
        boundaries = np.stack([means_defined(each) for each in by_class])
    columns, rows = (POINTS * masks[0].shape[::-1]).astype(np.int64).T
    found = np.stack([mask[rows, columns].astype(np.int64) for mask in masks])
    at_points = np.searchsorted(values, found).astype(np.int16)
    at_points[:, np.isin(found, np.asarray(meaning.ignored, np.int64)).any(axis=0)] = len(values)
    codes, n = [np.searchsorted(values, column) for column in joint.values.T], len(values)
    areas = np.stack([sums_by(code, joint.count, n) for code in codes]).astype(np.int64)
    shared = [sums_by(a[a == b], joint.count[a == b], n) for a, b in combinations(codes, 2)]
    in_both = np.stack(shared).astype(np.int64)
    return SampleMasks(values, areas, in_both, joint.n_ignored, boundaries, at_points)


def mask_columns(
    samples: Sequence[SampleMasks | None],
    assigned: BoolArray,
    config: AgreementConfig,
    label_ids: NDArray[np.uint8] | None = None,
) -> Columns:
    """The counted masks of ``S`` samples as columns of records, in their order.

    Confusions between classes are not kept; they would take several times the memory.

    Args:
        samples: None where fewer than two annotators have a mask
        assigned: shape ``(S, R)``, annotators with a compared mask
        config: the options
        label_ids: shape ``(S, R, 12)``, id of every mask; None without any
    """
    rated, n = [sample for sample in samples if sample is not None], assigned.sum(axis=1)
    n_values, n_ignored = np.zeros((2, len(samples)), np.int64)
    rows = [k for k, sample in enumerate(samples) if sample is not None]
    n_values[rows], n_ignored[rows] = [len(each.values) for each in rated], [each.n_ignored for each in rated]
    n_masks, none = np.where(n >= 2, n, 0), np.empty(0, np.int64)
    n_pairs, n_bits = n_masks * (n_masks - 1) // 2, bits_of(n_values)
    # the indices at points, bit by bit
    at_points = np.concatenate([np.empty((0, len(POINTS)), np.int16), *(each.at_points for each in rated)])
    of_mask = np.repeat(n_bits, n_masks)
    bit = ranges(np.zeros_like(of_mask), of_mask)
    columns: Columns = {
        "assigned": packed(assigned),
        "n_ignored": compact(n_ignored),
        "n_values": compact(n_values),
        "n_areas": compact(n_values * n_masks),
        "n_shared": compact(n_values * n_pairs),
        "n_pairs": compact(n_pairs),
        "n_masks": compact(n_masks),
        "n_planes": compact(n_bits * n_masks),
        "planes": np.packbits((np.repeat(at_points, of_mask, axis=0) >> bit[:, None]) & 1, axis=1),
        **{
            name: compact(np.concatenate([none, *(getattr(each, name).ravel() for each in rated)]))
            for name in ("values", "areas", "shared")
        },
        **ids_of_given(label_ids, assigned),
    }
    if config.boundaries:
        columns["boundaries"] = np.concatenate([np.empty((0, 3)), *(each.boundaries for each in rated)])
    return columns


def bits_of(n_values: IntArray) -> IntArray:
    """Number of bits of an index at a point, which is at most ``n_values``; any shape."""
    bits: IntArray = np.ceil(np.log2(n_values + 1.0)).astype(np.int64)
    return bits


@dataclass(frozen=True, slots=True, kw_only=True)
class PixelAgreement:
    """The agreement on some samples; samples with fewer than two masks are not rated."""

    columns: AnyColumns  #: those of :func:`mask_columns`, from which all others are computed
    assigned: BoolArray  #: shape ``(S, R)``, annotators with a compared mask
    n_masks: IntArray  #: shape ``(S,)``, masks that were compared
    n_ignored: IntArray  #: shape ``(S,)``, pixels left out because somebody gave them an ignored value
    sample: IntArray  #: shape ``(V,)``, sample of every value of every sample
    values: IntArray  #: shape ``(V,)``, the values, ascending in every sample
    numbers: FloatArray  #: shape ``(S, len(NUMBERS))``, means over the pairs of annotators; nan where undefined
    pair_numbers: FloatArray  #: shape ``(Q, len(NUMBERS))``, of every pair of annotators on every sample
    pair: IntArray  #: shape ``(Q, 2)``, the two annotators, sorted by sample, then annotators
    pair_sample: IntArray  #: shape ``(Q,)``
    shared_by: IntArray  #: shape ``(E,)``, pair of every shared area; a pair has one for every value of its sample
    shared_value: IntArray  #: shape ``(E,)``, row of the value
    agreed: IntArray  #: shape ``(Q,)``, pixels to which both gave the same value
    #: shape ``(S, R)``, mean class IoU of every mask with the others, without background; nan without others
    mask_iou: FloatArray
    alpha: FloatArray  #: shape ``(S,)``, nan where undefined
    differing: IntArray  #: shape ``(S,)``, ordered pairs of masks that differ, summed over the pixels
    n_pixels: IntArray  #: shape ``(S,)``, pixels that were compared
    n_units: IntArray  #: shape ``(S,)``, used classes without background
    n_disputed: IntArray  #: shape ``(S,)``, used classes on which two masks differ
    class_iou: FloatArray  #: shape ``(V,)``, for every value of every sample: mean over the pairs that used it
    class_dice: FloatArray  #: shape ``(V,)``
    class_shared: FloatArray  #: shape ``(V,)``, pixels of the value in both masks, summed over the pairs
    area: IntArray  #: shape ``(V, R)``, pixels of the value in every mask

    @property
    def score(self) -> FloatArray:
        """Score of every sample, shape ``(S,)``."""
        score: FloatArray = self.numbers[:, SCORE]
        return score

    @property
    def n_annotators(self) -> IntArray:
        """Annotators with a mask of every sample, shape ``(S,)``."""
        n: IntArray = self.assigned.sum(axis=1)
        return n

    @property
    def rated(self) -> BoolArray:
        """Samples with at least two annotators, shape ``(S,)``."""
        return self.n_annotators >= 2

    @property
    def ignored(self) -> FloatArray:
        """Share of the pixels left out, shape ``(S,)``; nan where nothing was compared."""
        n = self.n_ignored + self.n_pixels
        return np.where(self.rated, self.n_ignored / np.maximum(n, 1), np.nan)


def measure(columns: AnyColumns, n_annotators: int, background: int | None, config: AgreementConfig) -> PixelAgreement:
    """The agreement on samples, from the counts of their masks.

    Args:
        columns: those of :func:`mask_columns`
        n_annotators: number ``R`` of annotators
        background: value of the background; None if there is none
        config: the options
    """
    assigned, names = (
        unpacked(columns["assigned"], n_annotators),
        ("n_values", "n_ignored", "values", "areas", "shared"),
    )
    n_of_sample, n_ignored, values, areas, shared_areas = (columns[name].astype(np.int64) for name in names)
    (n_samples, n), n_values, given = assigned.shape, len(values), assigned.sum(axis=1)
    m, of_sample = np.where(given >= 2, given, 0), np.repeat(np.arange(n_samples), n_of_sample)
    first, is_class = np.cumsum(n_of_sample) - n_of_sample, are_classes(values, background)
    # masks of rated samples, and the rows of areas: every mask with every value of its sample
    sample, annotator = np.nonzero(assigned & (m > 0)[:, None])
    of_mask, area = np.repeat(annotator, n_of_sample[sample]), np.zeros((n_values, n), np.int64)
    area[ranges(first[sample], n_of_sample[sample]), of_mask] = areas
    in_all = area.sum(axis=1)
    n_pixels = sums_by(of_sample, in_all, n_samples).astype(np.int64) // np.maximum(m, 1)
    n_units = np.bincount(of_sample[is_class], minlength=n_samples)
    is_empty = (n_pixels > 0) & (n_units == 0)

    # pairs of masks, and the rows of shared areas: every pair with every value of its sample
    i, j = pairs_within(sample)
    of_pair, pair, n_pairs = sample[i], np.column_stack([annotator[i], annotator[j]]), len(i)
    row = np.repeat(np.arange(n_pairs), n_of_sample[of_pair])
    value = ranges(first[of_pair], n_of_sample[of_pair])
    a, b = (area[value, end[row]].astype(np.float64) for end in pair.T)
    shared = shared_areas.astype(np.float64)
    iou, dice = iou_from_areas(shared, a, b), dice_from_areas(shared, a, b)
    present = ~np.isnan(iou)
    drawn, n_of_pair = present & is_class[value], n_pixels[of_pair]
    agreed = sums_by(row, shared, n_pairs).astype(np.int64)
    by_chance = sums_by(row, a * (n_of_pair[row] - b), n_pairs)
    # two masks without classes agree; images that everybody left empty may be skipped
    agree = (np.bincount(row[drawn], minlength=n_pairs) == 0) & (n_of_pair > 0)
    agree &= ~is_empty[of_pair] | (config.empty == "agree")
    of_classes = _means_by(row, iou, drawn, n_pairs)
    of_pairs = [
        np.where(agree, 1.0, of_classes),
        of_classes,
        _means_by(row, dice, drawn, n_pairs),
        _means_by(row, iou, present, n_pairs),
        _means_by(row, dice, present, n_pairs),
        np.where(n_of_pair > 0, agreed / np.maximum(n_of_pair, 1), np.nan),
        kappa_of_areas(n_of_pair, agreed, by_chance),
    ]
    boundaries = columns.get("boundaries", np.full((n_pairs, 3), np.nan))
    pair_numbers = np.column_stack([*of_pairs, boundaries])
    numbers = np.column_stack([_means_by(of_pair, each, ~np.isnan(each), n_samples) for each in pair_numbers.T])
    ends, of_ends = (of_pair[:, None] * n + pair).T.ravel(), np.tile(of_classes, 2)
    is_disputed = np.bincount(value[present & (iou < 1.0)], minlength=n_values) > 0
    differing = 2 * sums_by(of_pair, n_of_pair - agreed, n_samples).astype(np.int64)
    n_ratings = m * n_pixels
    expected = sums_by(of_sample, in_all * (n_ratings[of_sample] - in_all), n_samples)
    alpha = alpha_of(differing / np.maximum(m - 1, 1), expected, n_ratings, undefined=config.undefined)
    if config.empty == "agree":
        alpha[is_empty] = 1.0
    return PixelAgreement(
        columns=columns,
        assigned=assigned,
        n_masks=m,
        n_ignored=n_ignored,
        sample=of_sample,
        values=values,
        numbers=numbers,
        pair_numbers=pair_numbers,
        pair=pair,
        pair_sample=of_pair,
        shared_by=row,
        shared_value=value,
        agreed=agreed,
        mask_iou=_means_by(ends, of_ends, ~np.isnan(of_ends), n_samples * n).reshape(n_samples, n),
        alpha=alpha,
        differing=differing,
        n_pixels=n_pixels,
        n_units=n_units,
        n_disputed=np.bincount(of_sample[is_disputed & is_class], minlength=n_samples),
        class_iou=np.nan_to_num(_means_by(value, iou, present, n_values)),
        class_dice=np.nan_to_num(_means_by(value, dice, present, n_values)),
        class_shared=sums_by(value, shared, n_values),
        area=area,
    )


def _means_by(index: IntArray, values: FloatArray, counted: BoolArray, n: int) -> FloatArray:
    """Means of the counted values at every index ``0 … n - 1``, shape ``(n,)``; nan without any."""
    n_counted = np.bincount(index[counted], minlength=n)
    return sums_by(index[counted], values[counted], n) / np.where(n_counted > 0, n_counted, np.nan)


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
