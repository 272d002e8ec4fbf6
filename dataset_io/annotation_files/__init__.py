"""Import annotation files of other tools, with the annotators who looked at each image, and export such files."""

from __future__ import annotations

from .exporting import short_names
from .image_names import _Names
from .label_studio import address_of, name_in
from .run_length import coco_mask
