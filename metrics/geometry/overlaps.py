"""Overlap ratios of two regions, from the areas of the regions and of their intersection."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import FloatArray

Similarity = Literal["iou", "dice"]


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """``numerator / denominator``, nan where the denominator is 0."""
    empty = denominator <= 0
    return np.where(empty, np.nan, numerator / np.where(empty, 1.0, denominator))


def iou_from_areas(intersection: FloatArray, area_a: FloatArray, area_b: FloatArray) -> FloatArray:
    """Intersection over union, |A ∩ B| / |A ∪ B|, in [0, 1].

    Args:
        intersection: areas shared by the two regions, any one unit
        area_a: areas of the regions of one annotator, same unit
        area_b: areas of the regions of the other, same unit; shapes must broadcast

    Undefined:
        nan where both regions are empty
    """
    return _ratio(intersection, area_a + area_b - intersection)


def dice_from_areas(intersection: FloatArray, area_a: FloatArray, area_b: FloatArray) -> FloatArray:
    """Dice coefficient, 2 |A ∩ B| / (|A| + |B|), in [0, 1].

    Args:
        intersection: areas shared by the two regions, any one unit
        area_a: areas of the regions of one annotator, same unit
        area_b: areas of the regions of the other, same unit; shapes must broadcast

    Undefined:
        nan where both regions are empty
    """
    return _ratio(2.0 * intersection, area_a + area_b)


def iom_from_areas(intersection: FloatArray, area_a: FloatArray, area_b: FloatArray) -> FloatArray:
    """Intersection over minimum, |A ∩ B| / min(|A|, |B|), in [0, 1].

    Args:
        intersection: areas shared by the two regions, any one unit
        area_a: areas of the regions of one annotator, same unit
        area_b: areas of the regions of the other, same unit; shapes must broadcast

    Undefined:
        nan where both regions are empty; 0 where one is
    """
    smaller = np.minimum(area_a, area_b)
    one_empty = (smaller <= 0) & (np.maximum(area_a, area_b) > 0)
    return np.where(one_empty, 0.0, _ratio(intersection, smaller))


def dice_from_iou(iou: FloatArray) -> FloatArray:
    """Dice coefficient of pairs whose IoU is known: ``2 IoU / (1 + IoU)``.

    Args:
        iou: in [0, 1], any shape

    Undefined:
        nan where the IoU is nan
    """
    return 2.0 * iou / (1.0 + iou)
