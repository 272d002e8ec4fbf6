"""The labels that an annotator gives to the whole image: a class, tags, and a rating of its quality."""

from __future__ import annotations

import fiftyone as fo
import numpy as np

from .annotators import HABITS, annotate, confused, draw_nothing
from .images import Scene

#: source -> the class of its images, an alternative one, and their quality, 1 (poor) to 5 (good)
SCENES = {
    "astronaut": ("people", "objects", 5),
    "camera": ("people", "landscape", 3),
    "cat": ("animal", "texture", 4),
    "cell": ("microscopy", "sky", 2),
    "china": ("landscape", "objects", 5),
    "coffee": ("objects", "texture", 4),
    "coins": ("objects", "text", 2),
    "flower": ("plant", "texture", 5),
    "galaxies": ("sky", "texture", 3),
    "grass": ("texture", "plant", 4),
    "gravel": ("texture", "landscape", 3),
    "horse": ("animal", "objects", 1),
    "moon": ("sky", "landscape", 2),
    "motorcycle": ("objects", "people", 4),
    "nuclei": ("microscopy", "texture", 1),
    "page": ("text", "texture", 2),
    "retina": ("microscopy", "sky", 4),
    "rocket": ("landscape", "objects", 3),
}
#: the two classes of images that a confused annotator mixes up
CONFUSED_SCENES = ("sky", "microscopy")

BEST_QUALITY = 5


def scene_class(scene: Scene, annotator: str, rng: np.random.Generator) -> fo.Classification:
    """The class that one annotator gives to an image."""
    habit = HABITS[annotator]
    first, second, _ = SCENES[scene.source]
    label = second if rng.random() < habit.slip_rate else first
    return fo.Classification(label=confused(label, CONFUSED_SCENES, habit, rng))


def tags(scene: Scene, annotator: str, rng: np.random.Generator) -> fo.Classifications:
    """The tags of one annotator for an image: the classes of the noticed objects."""
    labels = sorted({obj.label for obj in annotate(scene, HABITS[annotator], rng, draw_nothing)})
    return fo.Classifications(classifications=[fo.Classification(label=label) for label in labels])


def quality(scene: Scene, annotator: str, rng: np.random.Generator) -> int:
    """The rating of the quality of an image by one annotator, 1 to 5."""
    habit = HABITS[annotator]
    *_, rating = SCENES[scene.source]
    if rng.random() < habit.slip_rate:
        rating += int(rng.choice([-1, 1]))
    if rng.random() < habit.generous_rate:
        rating += 1
    return min(max(rating, 1), BEST_QUALITY)
