"""Reading labels: label types, checks, annotators, assignment, and labels as columns."""

from __future__ import annotations

from .geometry_readers import BoxReader, are_usable_keypoints, read_keypoints
from .kinds import KINDS
from .mask_reading import read_mask
from .shape_readers import PolylineReader, decode_mask, pixel_boxes, placed_masks, read_mask_file
from .source import comparable_fields, open_source
