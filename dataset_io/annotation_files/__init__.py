"""Annotation files of other tools: read into one form, then written into a dataset, with who looked at what."""

from __future__ import annotations

from .exporting import short_names
from .image_names import _Names
from .label_studio import address_of, name_in
from .run_length import coco_mask
