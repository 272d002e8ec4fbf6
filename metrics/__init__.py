"""Kernels of agreement metrics: arrays in, arrays out; no FiftyOne."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from .alpha import alpha_of, chance_corrected, nominal_alpha_of_sums
from .alpha.kappas import (
    brennan_prediger,
    category_weights,
    cohen_kappa,
    conger_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    scott_pi,
    weighted_alpha,
)
from .alpha.nominal import NominalTally, alpha_by_group
from .alpha.rated import krippendorff_alpha, percent_agreement
from .alpha.sets import TagSets
from .bootstrap.confidence import (
    MIN_SAMPLES,
    ConfidenceIntervals,
    Resampling,
    bootstrap,
    sums_of_clusters,
    wilson_interval,
)
from .consensus.consensus import Votes, unit_votes
from .geometry.boxes import box_iou, box_overlaps, boxes_as_polygons
from .geometry.keypoints import COCO_SIGMAS, Keypoints, oks, visibility_agreement
from .geometry.lines import Lines, line_overlap, lines_from_points
from .geometry.masks import MaskCrops, mask_box_intersection, mask_intersection, mask_polygon_intersection
from .geometry.objects import Objects, Overlaps, dice_from_iou
from .geometry.polygons import Polygons, polygon_intersection, polygons_from_rings
from .geometry.rasterize import pillow_mask
from .geometry.regions import Regions
from .geometry.temporal import Intervals
from .matching import Matching, match_objects
from .matching.average_precision import average_precision, match_detections
from .matching.pairs import Alignment, f1_score, panoptic_quality, segmentation_quality
from .matching.sweep import THRESHOLDS, sweep_thresholds
from .matching.threshold import ThresholdFromData, best_similarities, similarities_between_samples, threshold_from_data
from .numeric.rate_tests import AlternativeAnnotatorTest, alternative_annotator_test
from .pixels.boundaries import BoundaryAgreement, boundary_agreement
from .pixels.joint_counts import JointCounts, disagreement_map, ignored_pixels, joint_counts

__all__ = [
    "COCO_SIGMAS",
    "MIN_SAMPLES",
    "THRESHOLDS",
    "Alignment",
    "AlternativeAnnotatorTest",
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
    "Polygons",
    "Regions",
    "Resampling",
    "TagSets",
    "ThresholdFromData",
    "Votes",
    "alpha_by_group",
    "alpha_of",
    "alternative_annotator_test",
    "average_precision",
    "best_similarities",
    "bootstrap",
    "boundary_agreement",
    "box_iou",
    "box_overlaps",
    "boxes_as_polygons",
    "brennan_prediger",
    "category_weights",
    "chance_corrected",
    "cohen_kappa",
    "conger_kappa",
    "dice_from_iou",
    "disagreement_map",
    "f1_score",
    "fleiss_kappa",
    "gwet_ac1",
    "gwet_ac2",
    "ignored_pixels",
    "joint_counts",
    "krippendorff_alpha",
    "line_overlap",
    "lines_from_points",
    "mask_box_intersection",
    "mask_intersection",
    "mask_polygon_intersection",
    "match_detections",
    "match_objects",
    "nominal_alpha_of_sums",
    "oks",
    "panoptic_quality",
    "percent_agreement",
    "pillow_mask",
    "polygon_intersection",
    "polygons_from_rings",
    "scott_pi",
    "segmentation_quality",
    "similarities_between_samples",
    "sums_of_clusters",
    "sweep_thresholds",
    "threshold_from_data",
    "unit_votes",
    "visibility_agreement",
    "weighted_alpha",
    "wilson_interval",
]

if not TYPE_CHECKING:  # for type checkers every name would exist

    def __getattr__(name: str) -> Any:
        close = difflib.get_close_matches(name, __all__, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
