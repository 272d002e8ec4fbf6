"""The labels that an annotator paints: a mask of every object, and one mask of the classes of the whole image."""

from __future__ import annotations

import math
from pathlib import Path

import fiftyone as fo
import numpy as np

from .annotators import HABITS, annotate, draw_outline
from .images import CLASSES, Scene
from .outlines import Box, box_area, fill

#: side of the pixels of an annotator's instance masks, in pixels of the image
MASK_PIXEL = {"alice": 1, "bob": 2, "carol": 1}
#: whose masks are image files instead of values in the database
MASKS_IN_FILES = frozenset({"carol"})

BACKGROUND = 0
#: value in a semantic mask -> class
MASK_TARGETS = {BACKGROUND: "background"} | dict(enumerate(CLASSES, start=1))
_VALUES = {label: value for value, label in MASK_TARGETS.items()}


def instance_masks(scene: Scene, annotator: str, rng: np.random.Generator) -> fo.Detections:
    """The objects of one annotator as boxes of whole pixels with masks of what is inside."""
    height, width = scene.image.shape[:2]
    found = []
    for obj in annotate(scene, HABITS[annotator], rng, draw_outline):
        x0, y0, x1, y1 = whole_pixels(obj.box_xyxy)
        rows, columns = (math.ceil(side / MASK_PIXEL[annotator]) for side in (y1 - y0, x1 - x0))
        found.append(
            fo.Detection(
                label=obj.label,
                bounding_box=[x0 / width, y0 / height, (x1 - x0) / width, (y1 - y0) / height],
                mask=fill(obj.outline, (x0, y0, x1, y1), rows, columns),
            )
        )
    return fo.Detections(detections=found)


def semantic_mask(scene: Scene, annotator: str, rng: np.random.Generator) -> fo.Segmentation:
    """The classes of all pixels of an image as one annotator sees them; smaller objects lie on top of larger ones."""
    height, width = scene.image.shape[:2]
    mask = np.full((height, width), BACKGROUND, np.uint8)
    drawn = annotate(scene, HABITS[annotator], rng, draw_outline)
    for obj in sorted(drawn, key=lambda obj: -box_area(obj.box_xyxy)):
        x0, y0, x1, y1 = whole_pixels(obj.box_xyxy)
        mask[y0:y1, x0:x1][fill(obj.outline, (x0, y0, x1, y1), y1 - y0, x1 - x0)] = _VALUES[obj.label]
    return fo.Segmentation(mask=mask)


def whole_pixels(box_xyxy: Box) -> tuple[int, int, int, int]:
    """The smallest box of whole pixels round a box."""
    x_min, y_min, x_max, y_max = box_xyxy
    return math.floor(x_min), math.floor(y_min), math.ceil(x_max), math.ceil(y_max)


def move_masks_to_files(label: fo.Detections | fo.Segmentation, folder: Path, name: str) -> None:
    """Write the masks of a label as PNG files of the folder, with names that start with ``name``.

    Instance masks are written as black and white (0 and 255), as drawing programs do.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(label, fo.Segmentation):
        label.export_mask(str(folder / f"{name}.png"), update=True)
        return
    for number, detection in enumerate(label.detections):
        detection.mask = np.where(detection.mask, 255, 0).astype(np.uint8)
        detection.export_mask(str(folder / f"{name}_{number:03d}.png"), update=True)
