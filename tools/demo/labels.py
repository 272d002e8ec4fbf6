"""The labels of an annotator: drawn with a line, painted, clicked, or given to the whole image."""

from __future__ import annotations

import json
import math
from pathlib import Path

import fiftyone as fo
import numpy as np
from numpy.typing import NDArray

from .annotators import HABITS, Habit, annotate, confused, draw_box, draw_nothing, draw_outline
from .images import CLASSES, Scene
from .outlines import Box, TrueObject, box_area, fill, rings_xy


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


#: the skeleton of all objects
POINTS = ("top", "right", "bottom", "left", "centre")
EDGES = ((0, 4, 2), (3, 4, 1))
#: an edge is flat where it varies by less than this share of the object's size; its outermost point is the middle
FLAT_SHARE = 0.02
#: an edge this close to the border of the image, in pixels, may continue outside: nobody labels its point
BORDER_PX = 1.0


def keypoints(scene: Scene, annotator: str, rng: np.random.Generator) -> fo.Keypoints:
    """The points of one annotator, relative to the size of the image; nan for points that were not labelled."""
    habit = HABITS[annotator]
    height, width = scene.image.shape[:2]
    found = []
    for obj in annotate(scene, habit, rng, draw_nothing):
        points = clicked_points(obj, scene, habit, rng) / (width, height)
        found.append(fo.Keypoint(label=obj.label, points=[(float(x), float(y)) for x, y in points]))
    return fo.Keypoints(keypoints=found)


def clicked_points(obj: TrueObject, scene: Scene, habit: Habit, rng: np.random.Generator) -> NDArray[np.float64]:
    """The points as the annotator clicks them: too far out by the margin, jittered, some left out; never the centre."""
    height, width = scene.image.shape[:2]
    true = true_points(obj)
    size = np.subtract(obj.box_xyxy[2:], obj.box_xyxy[:2])
    clicked = true + 2 * habit.margin * (true - true[-1]) + habit.jitter * size * rng.standard_normal(true.shape)
    clicked = np.asarray(np.clip(clicked, 0, (width, height)))
    x_min, y_min, x_max, y_max = obj.outline.bounds
    cut_off = (y_min <= BORDER_PX, x_max >= width - BORDER_PX, y_max >= height - BORDER_PX, x_min <= BORDER_PX, False)
    left_out = rng.random(len(POINTS)) < habit.point_skip_rate
    left_out[-1] = False
    clicked[left_out | np.array(cut_off)] = np.nan
    return clicked


def true_points(obj: TrueObject) -> NDArray[np.float64]:
    """The points of ``POINTS``, shape ``(5, 2)``, in pixels of the image."""
    corners = rings_xy(obj.outline)[0]
    x, y = corners[:, 0], corners[:, 1]
    flat_x, flat_y = FLAT_SHARE * np.ptp(corners, axis=0)
    return np.array(
        [
            (np.mean(x[y <= y.min() + flat_y]), y.min()),
            (x.max(), np.mean(y[x >= x.max() - flat_x])),
            (np.mean(x[y >= y.max() - flat_y]), y.max()),
            (x.min(), np.mean(y[x <= x.min() + flat_x])),
            (obj.outline.centroid.x, obj.outline.centroid.y),
        ]
    )


#: by photograph: the class of its images, an alternative one, and their quality, 1 (poor) to 5 (good)
SCENES: dict[str, tuple[str, str, int]] = json.loads((Path(__file__).parent / "scenes.json").read_text("utf-8"))
#: the two classes of images that a confused annotator mixes up
CONFUSED_SCENES = ("sky", "microscopy")


def scene_class(scene: Scene, annotator: str, rng: np.random.Generator) -> fo.Classification:
    """The class that one annotator gives to an image."""
    habit, (first, second, _) = HABITS[annotator], SCENES[scene.source]
    label = second if rng.random() < habit.slip_rate else first
    return fo.Classification(label=confused(label, CONFUSED_SCENES, habit, rng))


def tags(scene: Scene, annotator: str, rng: np.random.Generator) -> fo.Classifications:
    """The tags of one annotator for an image: the classes of the noticed objects."""
    labels = sorted({obj.label for obj in annotate(scene, HABITS[annotator], rng, draw_nothing)})
    return fo.Classifications(classifications=[fo.Classification(label=label) for label in labels])


def quality(scene: Scene, annotator: str, rng: np.random.Generator) -> int:
    """The rating of the quality of an image by one annotator, 1 to 5."""
    habit, (*_, rating) = HABITS[annotator], SCENES[scene.source]
    if rng.random() < habit.slip_rate:
        rating += int(rng.choice([-1, 1]))
    if rng.random() < habit.generous_rate:
        rating += 1
    return min(max(rating, 1), 5)
