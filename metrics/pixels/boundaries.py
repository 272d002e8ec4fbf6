"""Agreement of the outlines of regions: boundary IoU, surface Dice and the 95 % Hausdorff distance, in pixels.

A boundary pixel is a pixel of the mask that has one of its 4 neighbours outside the mask. Outside the image is outside
the mask, so a mask that reaches the border of the image has its boundary there. All three numbers follow one rule for
empty masks: undefined if both are empty, the worst value if one is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from ..numeric.arrays import BoolArray, FloatArray, IntArray
from .joint_counts import ClassMask

#: default width of the bands of boundary IoU, as a share of the image diagonal
BAND_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class BoundaryAgreement:
    """Boundary agreement of every class of two semantic masks; nan for a class that neither has.

    Attributes:
        values: shape ``(K,)``, the classes in the requested order
        boundary_iou: shape ``(K,)``, in [0, 1]; IoU of the bands along the inside of the two outlines. A pixel of a
            mask is in its band if a pixel outside the mask is at most the band width away, in rows and columns; bands
            wider than the regions give the IoU of the regions
        surface_dice: shape ``(K,)``, in [0, 1]; share of the boundary pixels of both masks that lie within a tolerance
            of the boundary of the other mask
        hd95: shape ``(K,)``, in pixels, from 0 to the image diagonal: 95 % Hausdorff distance, the maximum of two 95th
            percentiles (linear between ranks) of the distances from the boundary pixels of one mask to the nearest
            boundary pixel of the other. Programs that take one percentile of both directions together give other
            numbers

    References:
        B. Cheng et al., "Boundary IoU: Improving Object-Centric Image Segmentation Evaluation", 2021 (bands as in the
        authors' program);
        S. Nikolov et al., "Deep learning to achieve clinically applicable segmentation of head and neck anatomy for
        radiotherapy", 2018 (surface Dice; the authors' program weighs pieces of contour by their length);
        D. Huttenlocher et al., "Comparing images using the Hausdorff distance", 1993 (the percentile);
        L. Maier-Hein et al., "Metrics reloaded", 2024 (the maximum of the directed percentiles)
    """

    values: IntArray
    boundary_iou: FloatArray
    surface_dice: FloatArray
    hd95: FloatArray


def boundary_agreement(
    mask_a: ClassMask,
    mask_b: ClassMask,
    values: Sequence[int],
    *,
    width_px: int | None = None,
    tolerance_px: float,
    excluded: BoolArray | None = None,
) -> BoundaryAgreement:
    """Boundary IoU, surface Dice and HD95 of every class of two semantic masks.

    Args:
        mask_a: shape ``(H, W)``, integers, mask of one annotator
        mask_b: shape ``(H, W)``, integers, mask of the other
        values: the classes to compare, usually all but background
        width_px: width of the bands, at least 1; by default 2 % of the image diagonal, rounded, at least 1
        tolerance_px: greatest accepted distance between the centres of boundary pixels, at least 0
        excluded: shape ``(H, W)``, pixels that belong to no class in either mask, such as the result of
            :func:`~.joint_counts.ignored_pixels`; regions that touch them have a boundary there

    Undefined:
        nan for a class that neither mask has; if one mask has it, boundary IoU and surface Dice are 0, and HD95 is the
        image diagonal, ``sqrt(H² + W²)``

    Raises:
        ValueError: if the masks are not integers of one shape ``(H, W)``, or an option is out of range

    Example:
        >>> a, b = np.zeros((2, 6, 9), np.int64)
        >>> a[1:5, 1:5] = b[1:5, 4:8] = 7
        >>> found = boundary_agreement(a, b, [7], width_px=1, tolerance_px=2)
        >>> found.boundary_iou.round(3), found.surface_dice.round(3), found.hd95
        (array([0.2]), array([0.667]), array([3.]))
    """
    for name, mask in (("mask_a", mask_a), ("mask_b", mask_b)):
        if mask.dtype.kind not in "biu":
            raise ValueError(f"`{name}` must be integers, got {mask.dtype}")
    _check_shapes("mask_a", mask_a, "mask_b", mask_b)
    if not tolerance_px >= 0:
        raise ValueError(f"`tolerance_px` must be at least 0, got {tolerance_px!r}")
    if excluded is not None:
        _check_shapes("mask_a", mask_a, "excluded", excluded)
    diagonal = math.hypot(*mask_a.shape)
    width = max(1, round(BAND_SHARE * diagonal)) if width_px is None else width_px
    if width < 1:
        raise ValueError(f"`width_px` must be at least 1, got {width_px!r}")
    numbers = np.full((3, len(values)), np.nan)
    for k, value in enumerate(values):
        a, b = mask_a == value, mask_b == value
        if excluded is not None:
            a, b = a & ~excluded, b & ~excluded
        # cropped to the smallest rectangle that contains both
        rows, columns = (np.flatnonzero((a | b).any(axis=axis)) for axis in (1, 0))
        part = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] if len(rows) else np.s_[:0, :0]
        a, b = a[part], b[part]
        band_a, band_b = a & ~_eroded(a, width), b & ~_eroded(b, width)
        if either := np.count_nonzero(band_a | band_b):
            numbers[0, k] = np.count_nonzero(band_a & band_b) / either
        boundary_a, boundary_b = _boundary(a), _boundary(b)
        a_to_b, b_to_a = _directed_distances(boundary_a, boundary_b), _directed_distances(boundary_b, boundary_a)
        if len(a_to_b) and len(b_to_a):
            within = np.count_nonzero(a_to_b <= tolerance_px) + np.count_nonzero(b_to_a <= tolerance_px)
            numbers[1, k] = within / (len(a_to_b) + len(b_to_a))
            numbers[2, k] = max(np.percentile(a_to_b, 95), np.percentile(b_to_a, 95))
        elif len(a_to_b) or len(b_to_a):  # an empty mask has no boundary, even with an infinite tolerance
            numbers[1:, k] = 0.0, diagonal
    return BoundaryAgreement(np.asarray(values, np.int64), *numbers)


def _check_shapes(name_a: str, a: ClassMask, name_b: str, b: ClassMask) -> None:
    if a.ndim != 2 or a.shape != b.shape:
        raise ValueError(f"`{name_a}` and `{name_b}` must have one shape (H, W), got {a.shape} and {b.shape}")


def _eroded(mask: BoolArray, width: int) -> BoolArray:
    """Pixels whose surrounding square of ``2 width + 1`` rows and columns lies in the mask."""
    return _eroded_rows(_eroded_rows(mask, width).T, width).T


def _eroded_rows(mask: BoolArray, width: int) -> BoolArray:
    """Pixels whose ``width`` neighbours above and below lie in the mask; outside counts as not in it."""
    if 2 * width >= len(mask):
        return np.zeros_like(mask)
    window = 2 * width + 1
    covered = 1  # entry k: the rows k … k + covered - 1 are in the mask; the span doubles until it is the window
    inside = mask
    while covered < window:
        step = min(covered, window - covered)
        inside = inside[:-step] & inside[step:]
        covered += step
    eroded = np.zeros_like(mask)
    eroded[width:-width] = inside
    return eroded


def _boundary(mask: BoolArray) -> BoolArray:
    """Pixels of the mask with one of 4 neighbours outside it; outside the array is outside the mask."""
    inner = np.zeros_like(mask)
    inner[1:-1, 1:-1] = mask[:-2, 1:-1] & mask[2:, 1:-1] & mask[1:-1, :-2] & mask[1:-1, 2:]
    return mask & ~inner


def _directed_distances(start: BoolArray, end: BoolArray) -> FloatArray:
    """Distances of pixels of one boundary from the nearest of another, ``(N,)``, in pixels; infinite if it is empty."""
    distances = np.zeros(np.count_nonzero(start))
    if not end.any():
        distances[:] = np.inf
        return distances
    # a k-d tree of boundary pixels takes a tenth of the time of a distance transform; common pixels need no search
    distances[~end[start]] = cKDTree(_positions(end)).query(_positions(start & ~end))[0]
    return distances


def _positions(mask: BoolArray) -> IntArray:
    """Rows and columns of the pixels of a mask, shape ``(N, 2)``; ten times as fast as ``np.argwhere``."""
    return np.column_stack(np.divmod(np.flatnonzero(mask), mask.shape[1]))
