"""The demo dataset: photographs from installed wheels, with labels of three annotators with known habits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fiftyone as fo
import numpy as np
from PIL import Image

from .annotators import ANNOTATORS, CONFUSED_PAIR, HABITS
from .images import Scene, demo_scenes
from .labels import (
    CONFUSED_SCENES,
    EDGES,
    MASK_TARGETS,
    MASKS_IN_FILES,
    POINTS,
    boxes,
    instance_masks,
    keypoints,
    move_masks_to_files,
    polygons,
    quality,
    scene_class,
    semantic_mask,
    tags,
)

DATASET_NAME = "annotator-agreement-demo"
SEED = 51
JPEG_QUALITY = 92

#: annotator -> scenes not assigned to them: their fields are None there, which does not mean "drew nothing"
NOT_ASSIGNED = {
    "alice": frozenset[str](),
    "bob": frozenset({"cell"}),
    "carol": frozenset({"cell", "page", "retina", "galaxies_10"}),
}

#: label type -> function that gives the label of an annotator for an image; every type has its own random numbers
LABELLERS: dict[str, Callable[[Scene, str, np.random.Generator], Any]] = {
    "boxes": boxes,
    "polygons": polygons,
    "masks": instance_masks,
    "segmentation": semantic_mask,
    "keypoints": keypoints,
    "class": scene_class,
    "tags": tags,
    "quality": quality,
}

#: label type -> class of its fields; the fields of the others hold whole numbers
LABEL_CLASSES = {
    "boxes": fo.Detections,
    "polygons": fo.Polylines,
    "masks": fo.Detections,
    "segmentation": fo.Segmentation,
    "keypoints": fo.Keypoints,
    "class": fo.Classification,
    "tags": fo.Classifications,
}


def field_name(label_type: str, annotator: str) -> str:
    """The field with an annotator's labels of one type; for boxes it is just the annotator's name."""
    return annotator if label_type == "boxes" else f"{annotator}_{label_type}"


#: label type -> arguments of ``compute()``; fields in the order of ``ANNOTATORS``
LABEL_TYPES: dict[str, dict[str, Any]] = {
    label_type: {
        "fields": tuple(field_name(label_type, annotator) for annotator in ANNOTATORS),
        "annotators": {field_name(label_type, annotator): annotator for annotator in ANNOTATORS},
    }
    for label_type in LABELLERS
}
LABEL_TYPES["quality"]["categories"] = (1, 2, 3, 4, 5)

DESCRIPTION = (
    "Demo of annotator agreement: real photographs that come with scikit-image and scikit-learn, and labels of three "
    "simulated annotators whose habits are known: boxes (fields alice, bob, carol), and polygons, instance masks, "
    "semantic masks, keypoints, classes, tags and ratings (fields alice_polygons ...); see dataset.info."
)

_BOB, _CAROL = HABITS["bob"], HABITS["carol"]
HABITS_TOLD = {
    "alice": "careful: tight shapes, right classes, misses almost nothing",
    "bob": (
        f"as careful as alice, but skips {_BOB.small_miss_rate:.0%} of the objects among the smallest "
        f"{_BOB.small_quantile:.0%} of an image; paints instance masks at half the resolution"
    ),
    "carol": (
        f"loose boxes, {_CAROL.margin:.0%} too far out on every side, and loose outlines with few corners; gives "
        f"{_CAROL.confusion_rate:.0%} of the objects of the classes {CONFUSED_PAIR[0]!r} and {CONFUSED_PAIR[1]!r}, and "
        f"of the images of the classes {CONFUSED_SCENES[0]!r} and {CONFUSED_SCENES[1]!r}, the other one; now and then "
        f"a shape on nothing; leaves out {_CAROL.point_skip_rate:.0%} of the points; rates "
        f"{_CAROL.generous_rate:.0%} of the images one better; keeps masks in files"
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
    "objects": (
        "coins, galaxies and nuclei were found by segmentation, all others were boxed by hand; the outlines of the "
        "horse, the cell and the flowers were found by a threshold, the others were traced by hand or are ellipses"
    ),
}

#: colours of the annotators' labels in the App
COLORS = {"alice": "#7fe07f", "bob": "#5aa9ff", "carol": "#ff8c42"}


def build_demo_dataset(image_dir: Path, name: str = DATASET_NAME) -> fo.Dataset:
    """Create the persistent demo dataset, replacing an existing dataset of that name.

    The fields of an annotator are None on images that were not assigned to them, and hold no objects on images where
    they looked and drew nothing. Every call gives the same images and labels. The App shows the boxes at first.
    """
    image_dir = Path(image_dir).resolve()
    image_dir.mkdir(parents=True, exist_ok=True)
    if fo.dataset_exists(name):
        fo.delete_dataset(name)
    dataset = fo.Dataset(name, persistent=True)
    declare_fields(dataset)
    generators = label_generators()
    samples = [scene_sample(scene, image_dir, generators) for scene in demo_scenes()]
    dataset.add_samples(samples, progress=False)
    dataset.default_mask_targets = MASK_TARGETS
    dataset.mask_targets = dict.fromkeys(LABEL_TYPES["segmentation"]["fields"], MASK_TARGETS)
    dataset.default_skeleton = fo.KeypointSkeleton(labels=list(POINTS), edges=[list(edge) for edge in EDGES])
    dataset.description = DESCRIPTION
    dataset.info = {"annotators": HABITS_TOLD, "sources": SOURCES_TOLD, "seed": SEED}
    dataset.app_config.color_scheme = fo.ColorScheme(
        color_by="field",
        fields=[
            {"path": field_name(label_type, annotator), "fieldColor": color}
            for label_type in LABEL_TYPES
            for annotator, color in COLORS.items()
        ],
    )
    dataset.app_config.active_fields = fo.ActiveFields(paths=list(LABEL_TYPES["boxes"]["fields"]))
    dataset.save()
    return dataset


def declare_fields(dataset: fo.Dataset) -> None:
    """Add the fields of all label types to a dataset."""
    fields = {
        field: fo.EmbeddedDocumentField(LABEL_CLASSES[label_type]) if label_type in LABEL_CLASSES else fo.IntField()
        for label_type, entry in LABEL_TYPES.items()
        for field in entry["fields"]
    }
    dataset._merge_sample_field_schema(fields)  # all at once: add_sample_field() saves and reads the dataset each time


def label_generators() -> dict[str, np.random.Generator]:
    """Random numbers of every label type, so that none changes when another one does."""
    generators = {label_type: np.random.default_rng([SEED, n]) for n, label_type in enumerate(LABELLERS)}
    return generators | {"boxes": np.random.default_rng(SEED)}


def scene_sample(scene: Scene, image_dir: Path, generators: dict[str, np.random.Generator]) -> fo.Sample:
    """Write a scene's image file and return its sample with the labels of the annotators assigned to it."""
    path = image_dir / f"{scene.name}.jpg"
    Image.fromarray(scene.image).save(path, quality=JPEG_QUALITY)
    sample = fo.Sample(filepath=str(path), tags=[scene.source], metadata=fo.ImageMetadata.build_for(str(path)))
    for label_type, label in LABELLERS.items():
        for annotator in ANNOTATORS:
            if scene.name in NOT_ASSIGNED[annotator]:
                continue
            field = field_name(label_type, annotator)
            sample[field] = label(scene, annotator, generators[label_type])
            if label_type in ("masks", "segmentation") and annotator in MASKS_IN_FILES:
                move_masks_to_files(sample[field], image_dir / field, scene.name)
    return sample
