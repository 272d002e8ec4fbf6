"""One table of label types for tests that ask the same of all of them: random labels, and options of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import fiftyone as fo
import numpy as np

from tests.dataset_io.quick_runs import ANNOTATORS
from tests.datasets import detections

CLASSES = ["cat", "dog", "owl", "lynx"]
#: options of a run with a reference and a model beside the annotators
ROLES: dict[str, Any] = {"reference": "gold", "models": ["net"]}
#: where objects are, roughly
_PLACES = np.array([[0.05, 0.1, 0.25, 0.3], [0.4, 0.1, 0.3, 0.2], [0.1, 0.55, 0.2, 0.35], [0.55, 0.5, 0.35, 0.4]])


def _objects(rng: np.random.Generator) -> list[tuple[str, list[float]]]:
    """Classes and boxes of up to three of the objects."""
    found = rng.choice(len(_PLACES), int(rng.integers(0, 4)), replace=False)
    moved = _PLACES[found] + rng.normal(0, 0.015, (len(found), 4))
    return [(CLASSES[k] if rng.random() < 0.8 else str(rng.choice(CLASSES)), box.tolist())
            for k, box in zip(found, moved, strict=True)]  # fmt: skip


def boxes(rng: np.random.Generator) -> fo.Detections:
    """Boxes with attributes."""
    labels = detections(_objects(rng))
    for label in labels.detections:
        label["occluded"] = bool(rng.random() < 0.5)
        label["index"] = int(rng.integers(0, 3))
        label["confidence"] = float(rng.random())
    return labels


def _crowd_boxes(rng: np.random.Generator) -> fo.Detections:
    labels = boxes(rng)
    for label in labels.detections:
        label["iscrowd"] = int(rng.random() < 0.15)
    return labels


def _of_everybody(rng: np.random.Generator) -> fo.Detections:
    """Boxes that name their annotators."""
    labels = fo.Detections(detections=[label for _ in ANNOTATORS for label in boxes(rng).detections])
    for label in labels.detections:
        label["rater"] = str(rng.choice(ANNOTATORS))
    return labels


def _polygons(rng: np.random.Generator) -> fo.Polylines:
    """Polygons, some of which cross themselves."""
    made = []
    for name, (x, y, width, height) in _objects(rng):
        ring = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
        if rng.random() < 0.3:
            ring[2:] = ring[:1:-1]
        made.append(fo.Polyline(label=name, points=[ring], closed=True, filled=True))
    return fo.Polylines(polylines=made)


def _instances(rng: np.random.Generator) -> fo.Detections:
    labels = boxes(rng)
    for label in labels.detections:
        label.mask = rng.random((7, 9)) < np.linspace(0.2, 1, 9)
    return labels


def _keypoints(rng: np.random.Generator) -> fo.Keypoints:
    made = []
    for name, (x, y, width, height) in _objects(rng):
        points = [[x, y], [x + width, y], [x, y + height]][: int(rng.integers(1, 4))]
        made.append(fo.Keypoint(label=name, points=points + [[math.nan, math.nan]] * (3 - len(points))))
    return fo.Keypoints(keypoints=made)


def _masks(rng: np.random.Generator) -> fo.Segmentation:
    return fo.Segmentation(mask=rng.choice([0, 1, 1, 5], (6, 8)).astype(np.uint8))


def _tags(rng: np.random.Generator) -> fo.Classifications:
    chosen = rng.choice(CLASSES, int(rng.integers(0, 4)))
    return fo.Classifications(
        classifications=[fo.Classification(label=str(tag), confidence=float(rng.random())) for tag in chosen]
    )


def _class(rng: np.random.Generator) -> fo.Classification:
    return fo.Classification(label=str(rng.choice(CLASSES)), confidence=float(rng.random()))


def _number(rng: np.random.Generator) -> fo.Regression:
    return fo.Regression(value=float(rng.integers(0, 5)))


#: what an annotator gives on a sample, and the options of the run
KINDS: dict[str, tuple[Callable[[np.random.Generator], Any], dict[str, Any]]] = {
    "boxes": (boxes, {"attributes": ["occluded"], "resamples": 200}),
    "tags": (_tags, {"resamples": 200}),
    "masks": (_masks, {"boundaries": True, "disagreement_map": True}),
    "classes": (_class, {"categories": CLASSES}),
    "boxes with roles": (boxes, {**ROLES, "attributes": ["occluded", "index"], "confidence_threshold": 0.3}),
    "one field": (_of_everybody, {"annotator_attribute": "rater", "assigned_field": "asked"}),
    "empty agree": (boxes, {"empty": "agree", "classes": "ignore"}),
    "recursive": (boxes, {"method": "recursive", "missing": "ignore"}),
    "mutual_best": (boxes, {"method": "mutual_best", "no_labels": "drew_nothing"}),
    "crowd": (_crowd_boxes, {}),
    "polygons": (_polygons, {}),
    "instances": (_instances, {}),
    "keypoints": (_keypoints, {}),
    "numbers": (_number, {"tolerance": 1}),
    "plain": (lambda rng: str(rng.choice(CLASSES)), {}),
    "tags with roles": (_tags, {**ROLES, "confidence_threshold": 0.3}),
    "masks with roles": (_masks, {**ROLES, "boundaries": True}),
    "classes with roles": (_class, {**ROLES, "confidence_threshold": 0.3}),
    "numbers with roles": (_number, {**ROLES, "tolerance": 1}),
}
WITH_ROLES = [name for name, (_, options) in KINDS.items() if "reference" in options]


def fields_of(kind: str) -> list[str]:
    """The fields of the annotators."""
    return ["labels"] if kind == "one field" else ANNOTATORS


def random_labels(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    """What stands on a sample, by field; some annotators were not asked."""
    make_labels, options = KINDS[kind]
    names = [*fields_of(kind), *([options["reference"], *options["models"]] if kind in WITH_ROLES else ())]
    labels = {name: make_labels(rng) for name in names if rng.random() < 0.9}
    if kind == "one field":
        labels["asked"] = sorted(rng.choice(ANNOTATORS, 2, replace=False).tolist())
    return labels


def random_sample(rng: np.random.Generator, kind: str) -> fo.Sample:
    """A sample with random labels."""
    labels, metadata = random_labels(rng, kind), fo.ImageMetadata(width=200, height=100)
    return fo.Sample(f"/images/{rng.integers(1 << 60)}.jpg", metadata=metadata, **labels)


def dataset_of(make_dataset: Any, kind: str, n_samples: int = 16, seed: int = 5) -> tuple[Any, Sequence[str], dict]:
    """A dataset with random labels, the fields of the annotators, and options of a run without intervals."""
    rng, dataset = np.random.default_rng(seed), make_dataset({})
    dataset.add_samples([random_sample(rng, kind) for _ in range(n_samples)], dynamic=True)
    return dataset, fields_of(kind), {"resamples": 0, **KINDS[kind][1]}
