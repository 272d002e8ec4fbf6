"""Pure kernels of agreement: arrays in, arrays out."""

from __future__ import annotations

from .alpha import alpha_of
from .alpha.category_weights import category_weights
from .alpha.kappas import (
    brennan_prediger,
    cohen_kappa,
    conger_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    scott_pi,
    weighted_alpha,
)
from .alpha.nominal import NominalTally, alpha_by_group, krippendorff_alpha, nominal_alpha_of_sums, percent_agreement
from .alpha.sets import TagSets, mean_jaccard, set_alpha, tag_alpha
from .bootstrap.confidence import FEW_SAMPLES, ConfidenceIntervals
from .bootstrap.resampling import Resampling, bootstrap, paired_difference, resampled_sums, sums_of_clusters
from .confusion import confusion_matrix
from .detection import f1_score, mean_max_iou, panoptic_quality, segmentation_quality
from .geometry.boxes import box_dice, box_dice_rowwise, box_iom, box_iom_rowwise, box_iou, box_iou_rowwise
from .geometry.keypoints import COCO_SIGMAS, Keypoints, oks, visibility_agreement
from .geometry.lines import Lines, line_overlap, lines_from_points
from .geometry.masks import MaskCrops, mask_box_intersection, mask_intersection, mask_polygon_intersection
from .geometry.objects import Objects, Overlaps, box_overlaps
from .geometry.overlaps import dice_from_iou
from .geometry.polygons import Polygons, boxes_as_polygons, polygon_intersection, polygons_from_rings
from .geometry.rasterize import pillow_mask
from .geometry.regions import Regions
from .geometry.temporal import Intervals, interval_iou
from .matching import Matching, match_objects
from .matching.mutual_best import Alignment
from .matching.sweep import THRESHOLDS, Sweep, sweep_thresholds
from .matching.threshold import ThresholdFromData, best_similarities, similarities_between_samples, threshold_from_data
from .pixels.boundaries import BoundaryAgreement, boundary_agreement, boundary_iou, hd95, surface_dice
from .pixels.joint_counts import (
    JointCounts,
    PixelConfusion,
    PixelTally,
    disagreement_map,
    ignored_pixels,
    joint_counts,
    pair_confusion,
)
from .votes import Votes, unit_votes

__all__ = [
    "COCO_SIGMAS",
    "FEW_SAMPLES",
    "THRESHOLDS",
    "Alignment",
    "BoundaryAgreement",
    "ConfidenceIntervals",
    "Intervals",
    "JointCounts",
    "Keypoints",
    "Lines",
    "MaskCrops",
    "Matching",
    "NominalTally",
    "Objects",
    "Overlaps",
    "PixelConfusion",
    "PixelTally",
    "Polygons",
    "Regions",
    "Resampling",
    "Sweep",
    "TagSets",
    "ThresholdFromData",
    "Votes",
    "alpha_by_group",
    "alpha_of",
    "best_similarities",
    "bootstrap",
    "boundary_agreement",
    "boundary_iou",
    "box_dice",
    "box_dice_rowwise",
    "box_iom",
    "box_iom_rowwise",
    "box_iou",
    "box_iou_rowwise",
    "box_overlaps",
    "boxes_as_polygons",
    "brennan_prediger",
    "category_weights",
    "cohen_kappa",
    "confusion_matrix",
    "conger_kappa",
    "dice_from_iou",
    "disagreement_map",
    "f1_score",
    "fleiss_kappa",
    "gwet_ac1",
    "gwet_ac2",
    "hd95",
    "ignored_pixels",
    "interval_iou",
    "joint_counts",
    "krippendorff_alpha",
    "line_overlap",
    "lines_from_points",
    "mask_box_intersection",
    "mask_intersection",
    "mask_polygon_intersection",
    "match_objects",
    "mean_jaccard",
    "mean_max_iou",
    "nominal_alpha_of_sums",
    "oks",
    "pair_confusion",
    "paired_difference",
    "panoptic_quality",
    "percent_agreement",
    "pillow_mask",
    "polygon_intersection",
    "polygons_from_rings",
    "resampled_sums",
    "scott_pi",
    "segmentation_quality",
    "set_alpha",
    "similarities_between_samples",
    "sums_of_clusters",
    "surface_dice",
    "sweep_thresholds",
    "tag_alpha",
    "threshold_from_data",
    "unit_votes",
    "visibility_agreement",
    "weighted_alpha",
]
