"""The labels that an annotator gives to the whole image: a class, tags, and a rating of its quality."""

from __future__ import annotations

import fiftyone as fo
import numpy as np

from .annotators import HABITS, annotate, confused, draw_nothing
from .images import Scene

#: source -> the class of its images, and alternative names
SCENE_CLASSES = {
    "astronaut": ("people", "objects"),
    "camera": ("people", "landscape"),
    "cat": ("animal", "texture"),
    "cell": ("microscopy", "sky"),
    "china": ("landscape", "objects"),
    "coffee": ("objects", "texture"),
    "coins": ("objects", "text"),
    "flower": ("plant", "texture"),
    "galaxies": ("sky", "texture"),
    "grass": ("texture", "plant"),
    "gravel": ("texture", "landscape"),
    "horse": ("animal", "objects"),
    "moon": ("sky", "landscape"),
    "motorcycle": ("objects", "people"),
    "nuclei": ("microscopy", "texture"),
    "page": ("text", "texture"),
    "retina": ("microscopy", "sky"),
    "rocket": ("landscape", "objects"),
}
#: the two classes of images that a confused annotator mixes up
CONFUSED_SCENES = ("sky", "microscopy")

#: source -> quality of its images, 1 (poor) to 5 (good)
QUALITIES = {
    "astronaut": 5,
    "camera": 3,
    "cat": 4,
    "cell": 2,
    "china": 5,
    "coffee": 4,
    "coins": 2,
    "flower": 5,
    "galaxies": 3,
    "grass": 4,
    "gravel": 3,
    "horse": 1,
    "moon": 2,
    "motorcycle": 4,
    "nuclei": 1,
    "page": 2,
    "retina": 4,
    "rocket": 3,
}
BEST_QUALITY = 5


def scene_class(scene: Scene, annotator: str, rng: np.random.Generator) -> fo.Classification:
    """The class that one annotator gives to an image."""
    habit = HABITS[annotator]
    first, second = SCENE_CLASSES[scene.source]
    label = second if rng.random() < habit.slip_rate else first
    return fo.Classification(label=confused(label, CONFUSED_SCENES, habit, rng))


def tags(scene: Scene, annotator: str, rng: np.random.Generator) -> fo.Classifications:
    """The tags of one annotator for an image: the classes of the noticed objects."""
    labels = sorted({obj.label for obj in annotate(scene, HABITS[annotator], rng, draw_nothing)})
    return fo.Classifications(classifications=[fo.Classification(label=label) for label in labels])


def quality(scene: Scene, annotator: str, rng: np.random.Generator) -> int:
    """The rating of the quality of an image by one annotator, 1 to 5."""
    habit = HABITS[annotator]
    rating = QUALITIES[scene.source]
    if rng.random() < habit.slip_rate:
        rating += int(rng.choice([-1, 1]))
    if rng.random() < habit.generous_rate:
        rating += 1
    return min(max(rating, 1), BEST_QUALITY)
