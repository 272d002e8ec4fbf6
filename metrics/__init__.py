"""Pure kernels of agreement: arrays in, arrays out."""

from __future__ import annotations

from .alpha import NominalTally, alpha_by_group, krippendorff_alpha, percent_agreement
from .boxes import box_dice, box_dice_rowwise, box_iom, box_iom_rowwise, box_iou, box_iou_rowwise
from .detection import f1_score, mean_max_iou, panoptic_quality, segmentation_quality
from .matching import Matching, match_objects
from .mutual_best import Alignment
from .objects import Objects, Overlaps, box_overlaps
from .overlaps import dice_from_iou

__all__ = [
    "Alignment",
    "Matching",
    "NominalTally",
    "Objects",
    "Overlaps",
    "alpha_by_group",
    "box_dice",
    "box_dice_rowwise",
    "box_iom",
    "box_iom_rowwise",
    "box_iou",
    "box_iou_rowwise",
    "box_overlaps",
    "dice_from_iou",
    "f1_score",
    "krippendorff_alpha",
    "match_objects",
    "mean_max_iou",
    "panoptic_quality",
    "percent_agreement",
    "segmentation_quality",
]
