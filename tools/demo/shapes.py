"""The labels that an annotator draws with a line: boxes and polygons."""

from __future__ import annotations

import fiftyone as fo
import numpy as np

from .annotators import HABITS, annotate, draw_box, draw_outline
from .images import Scene
from .outlines import rings_xy


def boxes(scene: Scene, annotator: str, rng: np.random.Generator) -> fo.Detections:
    """The boxes of one annotator, relative to the size of the image."""
    height, width = scene.image.shape[:2]
    found = []
    for obj in annotate(scene, HABITS[annotator], rng, draw_box):
        x0, y0, x1, y1 = obj.box_xyxy
        box_xywh_rel = [float(v) for v in (x0 / width, y0 / height, (x1 - x0) / width, (y1 - y0) / height)]
        found.append(fo.Detection(label=obj.label, bounding_box=box_xywh_rel))
    return fo.Detections(detections=found)


def polygons(scene: Scene, annotator: str, rng: np.random.Generator) -> fo.Polylines:
    """The polygons of one annotator: closed and filled, the outer ring and then the holes (even-odd rule)."""
    height, width = scene.image.shape[:2]
    found = []
    for obj in annotate(scene, HABITS[annotator], rng, draw_outline):
        points = [[(float(x / width), float(y / height)) for x, y in ring] for ring in rings_xy(obj.outline)]
        found.append(fo.Polyline(label=obj.label, points=points, closed=True, filled=True))
    return fo.Polylines(polylines=found)
