"""The labels that an annotator clicks: the four outermost points of every object and its centre."""

from __future__ import annotations

import fiftyone as fo
import numpy as np
from numpy.typing import NDArray

from .annotators import HABITS, Habit, annotate, draw_nothing
from .images import Scene
from .outlines import TrueObject, rings_xy

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
    """The points as the annotator clicks them: too far out by the margin, jittered, some left out; never the centre.

    Returns:
        shape ``(5, 2)``, in pixels of the image, in the order of ``POINTS``
    """
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
