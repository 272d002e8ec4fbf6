"""Agreement on pixels: semantic masks, with one class per pixel from every annotator."""

from __future__ import annotations

from .compute import NUMBERS, MaskValues, compare_masks, mask_columns, mask_values, means_defined, measure
from .records import record_pixels
from .report import MAX_CLASSES, build_pixel_report
