"""Three simulated annotators: how each draws the true objects of a scene.

``alice`` is careful. ``bob`` is as careful, but skips the smallest objects of an image. ``carol`` draws loosely and
with few corners, mixes up the two classes of ``CONFUSED_PAIR``, and finds most photographs better than they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import shapely
from shapely import affinity

from .images import Scene
from .outlines import Box, TrueObject, box_area, cut_to_box, largest_part, mean_width, rings_xy

ANNOTATORS = ("alice", "bob", "carol")

#: the classes that carol mixes up
CONFUSED_PAIR = ("round galaxy", "elongated galaxy")
SPURIOUS_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Habit:
    """How one annotator differs from the truth; every field that is 0 is a mistake the annotator does not make."""

    #: standard deviation of every edge of a box, as share of the box's width or height, and of every corner of an
    #: outline, as share of the object's mean width
    jitter: float = 0.012
    #: an outline leaves the true one by up to this share of the object's mean width, to save corners
    coarseness: float = 0.012
    miss_rate: float = 0.01  #: chance to overlook an object of any size
    point_skip_rate: float = 0.03  #: chance not to label one of an object's points
    slip_rate: float = 0.08  #: chance to rate a whole photograph slightly differently
    #: edges of a box move outwards by this share of its width or height, an outline by this share of its mean width
    margin: float = 0.0
    small_quantile: float = 0.0  #: objects with an area below this quantile of the areas in the image …
    small_miss_rate: float = 0.0  #: … are overlooked with this chance
    confusion_rate: float = 0.0  #: how often two classes are mixed up
    spurious_rate: float = 0.0  #: chance to draw one box on nothing in an image
    generous_rate: float = 0.0  #: chance to rate a photograph one better


HABITS = {
    "alice": Habit(),
    "bob": Habit(small_quantile=0.35, small_miss_rate=0.9),
    "carol": Habit(
        jitter=0.025,
        coarseness=0.06,
        miss_rate=0.03,
        point_skip_rate=0.15,
        margin=0.11,
        confusion_rate=0.4,
        spurious_rate=0.2,
        generous_rate=0.7,
    ),
}

#: how an annotator gives the box and outline of an object
Draw = Callable[[TrueObject, Scene, Habit, np.random.Generator], TrueObject]


def annotate(scene: Scene, habit: Habit, rng: np.random.Generator, draw: Draw) -> list[TrueObject]:
    """The objects that an annotator with this habit labels on a scene, drawn by ``draw``, in pixels of the image."""
    if not scene.objects:
        return []
    small = float(np.quantile([box_area(obj.box_xyxy) for obj in scene.objects], habit.small_quantile))
    drawn = []
    for obj in scene.objects:
        is_small = box_area(obj.box_xyxy) < small
        if rng.random() < (habit.small_miss_rate if is_small else habit.miss_rate):
            continue
        seen = TrueObject(confused(obj.label, CONFUSED_PAIR, habit, rng), obj.box_xyxy, obj.outline)
        drawn.append(draw(seen, scene, habit, rng))
    if rng.random() < habit.spurious_rate:
        drawn.extend(spurious_objects(scene, rng))
    return drawn


def confused(label: str, pair: tuple[str, str], habit: Habit, rng: np.random.Generator) -> str:
    """The class that the annotator gives: the other one of ``pair`` at the rate of the habit."""
    if label in pair and rng.random() < habit.confusion_rate:
        return pair[1 - pair.index(label)]
    return label


def draw_nothing(obj: TrueObject, scene: Scene, habit: Habit, rng: np.random.Generator) -> TrueObject:
    """The object unchanged, for an annotator who only says that it exists."""
    return obj


def draw_box(obj: TrueObject, scene: Scene, habit: Habit, rng: np.random.Generator) -> TrueObject:
    """The object with a drawn box: edges moved outwards by the margin, jittered, cut at the image border."""
    x0, y0, x1, y1 = obj.box_xyxy
    height, width = scene.image.shape[:2]
    left, top, right, bottom = habit.margin + habit.jitter * rng.standard_normal(4)
    box = (
        max(x0 - left * (x1 - x0), 0.0),
        max(y0 - top * (y1 - y0), 0.0),
        min(x1 + right * (x1 - x0), float(width)),
        min(y1 + bottom * (y1 - y0), float(height)),
    )
    return TrueObject(obj.label, box, obj.outline)


def draw_outline(obj: TrueObject, scene: Scene, habit: Habit, rng: np.random.Generator) -> TrueObject:
    """The object with a drawn outline, and the box round it.

    The outline is moved outwards by the margin, loses corners, each other corner is jittered, and it is cut at the
    image border. All lengths are shares of the object's mean width, so that thin things and rings are drawn as well,
    or as badly, as round ones.
    """
    width = mean_width(obj.outline)
    outline = obj.outline.buffer(habit.margin * width) if habit.margin else obj.outline
    outline = outline.simplify(habit.coarseness * width)
    outer, *holes = [ring + habit.jitter * width * rng.standard_normal(ring.shape) for ring in rings_xy(outline)]
    drawn = largest_part(shapely.make_valid(shapely.Polygon(outer, holes)))
    cut = cut_to_box(drawn, (0.0, 0.0, float(scene.image.shape[1]), float(scene.image.shape[0])))
    return TrueObject(obj.label, cut.bounds, cut)


def spurious_objects(scene: Scene, rng: np.random.Generator) -> list[TrueObject]:
    """One object that does not exist, with the shape and class of a real one; empty if no free place was found."""
    height, width = scene.image.shape[:2]
    for _ in range(SPURIOUS_ATTEMPTS):
        model = scene.objects[rng.integers(len(scene.objects))]
        x0, y0, x1, y1 = model.box_xyxy
        # an object as high or wide as the image can stick out a bit: the image was rounded to whole pixels
        x, y = rng.uniform(0, max(width - (x1 - x0), 0.0)), rng.uniform(0, max(height - (y1 - y0), 0.0))
        box = (x, y, min(x + (x1 - x0), float(width)), min(y + (y1 - y0), float(height)))
        if not any(boxes_touch(box, obj.box_xyxy) for obj in scene.objects):
            outline = cut_to_box(affinity.translate(model.outline, x - x0, y - y0), box)
            return [TrueObject(model.label, box, outline)]
    return []


def boxes_touch(a: Box, b: Box) -> bool:
    """Whether two boxes share at least a point."""
    return a[0] <= b[2] and b[0] <= a[2] and a[1] <= b[3] and b[1] <= a[3]
