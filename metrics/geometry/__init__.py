"""Geometry of labels and their overlaps, one module for each kind of geometry."""

from __future__ import annotations

from .boxes import Boxes, box_area, box_intersection, check_boxes
from .keypoints import circle_iou
from .objects import Geometry, dice_from_areas, find_overlaps, iom_from_areas, iou_from_areas, near_pairs
from .rasterize import region_pixels
from .regions import BOX, MASK, OUTLINE_BYTES, POLYGON, Outlines, as_regions
from .vertices import intersection_measure, overlay
