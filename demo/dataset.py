"""The demo dataset: photographs from installed wheels, with boxes of three annotators whose habits are known."""

from __future__ import annotations

from pathlib import Path

import fiftyone as fo
import numpy as np
from PIL import Image

from .annotators import (
    ANNOTATORS,
    CONFUSED_PAIR,
    CONFUSION_RATE,
    HABITS,
    LOOSE_MARGIN,
    MISS_AREA_QUANTILE,
    SMALL_MISS_RATE,
    annotate,
)
from .images import Scene, TrueObject, demo_scenes

DATASET_NAME = "annotator-agreement-demo"
SEED = 51
JPEG_QUALITY = 92

#: annotator -> scenes that were never given to them: their field is None there, which is not "drew nothing"
NOT_ASSIGNED = {
    "alice": frozenset[str](),
    "bob": frozenset({"cell"}),
    "carol": frozenset({"cell", "page", "retina", "galaxies_10"}),
}

DESCRIPTION = (
    "Demo of annotator agreement: real photographs that come with scikit-image and scikit-learn, and boxes of three "
    "simulated annotators (fields alice, bob, carol) whose habits are known; see dataset.info."
)

HABITS_TOLD = {
    "alice": "careful: tight boxes, right classes, misses almost nothing",
    "bob": (
        f"as careful as alice, but skips {SMALL_MISS_RATE:.0%} of the objects among the smallest "
        f"{MISS_AREA_QUANTILE:.0%} of an image"
    ),
    "carol": (
        f"loose boxes, {LOOSE_MARGIN:.0%} too far out on every side; gives {CONFUSION_RATE:.0%} of the objects of "
        f"the classes {CONFUSED_PAIR[0]!r} and {CONFUSED_PAIR[1]!r} the other one; now and then a box on nothing"
    ),
}

SOURCES_TOLD = {
    "scikit-image": (
        "skimage/data: coins, hubble_deep_field (NASA), ihc, astronaut (NASA), camera, cell, chelsea, coffee, horse, "
        "moon, motorcycle_left, page, retina, rocket (SpaceX), grass, gravel; credits in skimage.data"
    ),
    "scikit-learn": (
        "sklearn/datasets/images: china.jpg (flickr: danielbuechele) and flower.jpg (flickr: vultilion), CC BY 2.0"
    ),
    "objects": "coins, galaxies and nuclei were found by segmentation, all others were boxed by hand",
}


#: colours of the annotators' boxes in the App
COLORS = {"alice": "#7fe07f", "bob": "#5aa9ff", "carol": "#ff8c42"}


def build_demo_dataset(image_dir: Path, name: str = DATASET_NAME) -> fo.Dataset:
    """Create the persistent demo dataset, replacing a dataset that has the name already.

    The field of an annotator is None on images that were not assigned to them, and holds no detections on images
    where they looked and drew nothing. Every call gives the same images and boxes.

    Args:
        image_dir: folder for the image files, created if missing; files of an earlier call are overwritten
        name: name of the dataset

    Returns:
        the dataset, with metadata; every sample is tagged with the photograph it comes from
    """
    image_dir = Path(image_dir)
    image_dir.mkdir(parents=True, exist_ok=True)
    if fo.dataset_exists(name):
        fo.delete_dataset(name)
    dataset = fo.Dataset(name, persistent=True)
    for annotator in ANNOTATORS:
        dataset.add_sample_field(annotator, fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    rng = np.random.default_rng(SEED)
    dataset.add_samples([scene_sample(scene, image_dir, rng) for scene in demo_scenes()], progress=False)
    dataset.compute_metadata(progress=False)
    dataset.description = DESCRIPTION
    dataset.info = {"annotators": HABITS_TOLD, "sources": SOURCES_TOLD, "seed": SEED}
    dataset.app_config.color_scheme = fo.ColorScheme(
        color_by="field", fields=[{"path": name, "fieldColor": color} for name, color in COLORS.items()]
    )
    dataset.save()
    return dataset


def scene_sample(scene: Scene, image_dir: Path, rng: np.random.Generator) -> fo.Sample:
    """Write a scene's image file and return its sample with the boxes of the annotators assigned to it."""
    path = image_dir / f"{scene.name}.jpg"
    Image.fromarray(scene.image).save(path, quality=JPEG_QUALITY)
    sample = fo.Sample(filepath=str(path.resolve()), tags=[scene.source])
    for annotator in ANNOTATORS:
        if scene.name not in NOT_ASSIGNED[annotator]:
            sample[annotator] = detections(annotate(scene, HABITS[annotator], rng), scene)
    return sample


def detections(objects: list[TrueObject], scene: Scene) -> fo.Detections:
    """Drawn objects as FiftyOne detections, boxes relative to the size of the image."""
    height, width = scene.image.shape[:2]
    found = []
    for obj in objects:
        x0, y0, x1, y1 = obj.box_xyxy
        box_xywh_rel = [float(v) for v in (x0 / width, y0 / height, (x1 - x0) / width, (y1 - y0) / height)]
        found.append(fo.Detection(label=obj.label, bounding_box=box_xywh_rel))
    return fo.Detections(detections=found)
