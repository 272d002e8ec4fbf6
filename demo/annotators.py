"""Three simulated annotators: how each draws the true objects of a scene.

``alice`` is careful. ``bob`` is as careful, but skips the smallest objects of an image. ``carol`` draws loose boxes
and mixes up the two classes of ``CONFUSED_PAIR``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .images import Scene, TrueObject
from .segmentation import Box, box_area

ANNOTATORS = ("alice", "bob", "carol")

#: standard deviation of every edge of a careful box, as share of the box's width or height
CAREFUL_JITTER = 0.012
#: chance that a careful annotator overlooks an object of any size
CAREFUL_MISS_RATE = 0.01
#: bob overlooks objects whose area is below this quantile of the areas in the image ...
MISS_AREA_QUANTILE = 0.35
#: ... with this chance
SMALL_MISS_RATE = 0.9
#: carol moves every edge outwards by this share of the box's width or height
LOOSE_MARGIN = 0.11
LOOSE_JITTER = 0.025
LOOSE_MISS_RATE = 0.03
#: the classes that carol mixes up, and how often
CONFUSED_PAIR = ("round galaxy", "elongated galaxy")
CONFUSION_RATE = 0.4
#: chance that carol draws one box on nothing in an image
SPURIOUS_RATE = 0.2
SPURIOUS_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Habit:
    """How one annotator differs from the truth; every field that is 0 is a mistake the annotator does not make."""

    jitter: float
    miss_rate: float
    margin: float = 0.0
    small_quantile: float = 0.0
    small_miss_rate: float = 0.0
    confusion_rate: float = 0.0
    spurious_rate: float = 0.0


HABITS = {
    "alice": Habit(jitter=CAREFUL_JITTER, miss_rate=CAREFUL_MISS_RATE),
    "bob": Habit(
        jitter=CAREFUL_JITTER,
        miss_rate=CAREFUL_MISS_RATE,
        small_quantile=MISS_AREA_QUANTILE,
        small_miss_rate=SMALL_MISS_RATE,
    ),
    "carol": Habit(
        jitter=LOOSE_JITTER,
        miss_rate=LOOSE_MISS_RATE,
        margin=LOOSE_MARGIN,
        confusion_rate=CONFUSION_RATE,
        spurious_rate=SPURIOUS_RATE,
    ),
}


def annotate(scene: Scene, habit: Habit, rng: np.random.Generator) -> list[TrueObject]:
    """The objects that an annotator with this habit draws on a scene, boxes in pixels inside the image."""
    if not scene.objects:
        return []
    small = float(np.quantile([box_area(obj.box_xyxy) for obj in scene.objects], habit.small_quantile))
    drawn = []
    for obj in scene.objects:
        is_small = box_area(obj.box_xyxy) < small
        if rng.random() < (habit.small_miss_rate if is_small else habit.miss_rate):
            continue
        drawn.append(TrueObject(drawn_label(obj.label, habit, rng), drawn_box(obj.box_xyxy, scene, habit, rng)))
    if rng.random() < habit.spurious_rate:
        drawn.extend(spurious_objects(scene, rng))
    return drawn


def drawn_label(label: str, habit: Habit, rng: np.random.Generator) -> str:
    """The class that the annotator gives: the other one of ``CONFUSED_PAIR`` at the rate of the habit."""
    if label in CONFUSED_PAIR and rng.random() < habit.confusion_rate:
        return CONFUSED_PAIR[1 - CONFUSED_PAIR.index(label)]
    return label


def drawn_box(box_xyxy: Box, scene: Scene, habit: Habit, rng: np.random.Generator) -> Box:
    """The box as the annotator draws it: edges moved outwards by the margin, jittered, cut at the image border."""
    x0, y0, x1, y1 = box_xyxy
    height, width = scene.image.shape[:2]
    left, top, right, bottom = habit.margin + habit.jitter * rng.standard_normal(4)
    return (
        max(x0 - left * (x1 - x0), 0.0),
        max(y0 - top * (y1 - y0), 0.0),
        min(x1 + right * (x1 - x0), float(width)),
        min(y1 + bottom * (y1 - y0), float(height)),
    )


def spurious_objects(scene: Scene, rng: np.random.Generator) -> list[TrueObject]:
    """One box on nothing, with size and class of an object of the scene; empty if no free place was hit."""
    height, width = scene.image.shape[:2]
    for _ in range(SPURIOUS_ATTEMPTS):
        model = scene.objects[rng.integers(len(scene.objects))]
        x0, y0, x1, y1 = model.box_xyxy
        x, y = rng.uniform(0, width - (x1 - x0)), rng.uniform(0, height - (y1 - y0))
        box = (x, y, x + (x1 - x0), y + (y1 - y0))
        if not any(boxes_touch(box, obj.box_xyxy) for obj in scene.objects):
            return [TrueObject(model.label, box)]
    return []


def boxes_touch(a: Box, b: Box) -> bool:
    """Whether two boxes share at least a point."""
    return a[0] <= b[2] and b[0] <= a[2] and a[1] <= b[3] and b[1] <= a[3]
