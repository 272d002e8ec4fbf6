"""Runs on labels of every type with random options."""

from __future__ import annotations

import io
import itertools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import cv2
import fiftyone as fo
import numpy as np

from .parameters import broken_promise, collections, own_folder
from .run import Campaign, Outcome
from annotator_agreement import dataset_io

KEY = "stressed"


def _without_stamps(documents: list[dict[str, Any]]) -> str:
    return repr([{name: value for name, value in entry.items() if name != "last_modified_at"} for entry in documents])


def _one_round(labelled: Labelled, dataset: Any, random: Random, folder: Path) -> list[str]:
    """Compute, read and delete a run; what is wrong."""
    before = [list(collection.find().sort("_id")) for collection in collections(dataset)]
    given = labelled.arguments(random, folder)

    def call() -> None:
        report = dataset_io.compute_agreement(dataset, run_key=KEY, **given)
        json.dumps(report.to_dict(), allow_nan=False)
        report.print_report(full=True, file=io.StringIO())

    wrong = [broken_promise(call)]
    if KEY in dataset_io.list_agreements(dataset):
        wrong.append(broken_promise(lambda: dataset_io.delete_agreement(dataset, KEY)))
    left = [_without_stamps(list(collection.find().sort("_id"))) for collection in collections(dataset)]
    if left != list(map(_without_stamps, before)):
        wrong.append("values of the user differ, or values of ours are left")
        for collection, documents in zip(collections(dataset), before, strict=True):
            collection.delete_many({})
            if documents:
                collection.insert_many(documents)
    shown = {name: value for name, value in given.items() if name != "fields"}
    return [f"{labelled.name} {shown}: {sentence}" for sentence in wrong if sentence]


#: rounds on one dataset, which is made anew then
_ROUNDS_OF_A_DATASET = 20


def options(seed: int, rounds: int) -> Outcome:
    """Runs with random options, of every label type so many."""
    examples: list[str] = []
    with own_folder() as folder:
        for labelled in TYPES:
            for start in range(0, rounds, _ROUNDS_OF_A_DATASET):
                dataset = labelled.dataset(seed + start, folder)
                try:
                    for number in range(start, min(rounds, start + _ROUNDS_OF_A_DATASET)):
                        random = Random(f"{seed} {labelled.name} {number}")
                        found = _one_round(labelled, dataset, random, folder)
                        examples += [f"round {number}: {sentence}" for sentence in found]
                finally:
                    dataset.delete()
    return Outcome(rounds * len(TYPES), len(examples), examples)


CAMPAIGNS = (Campaign("options", "random options on labels of every type", options, 20),)


ANNOTATORS = ("alice", "bob", "carol")
N_SAMPLES = 4
_CLASSES = ("cat", "dog", None, "a.b", "$x")
_numbers = itertools.count()

#: options of all label types, and values that may be usable together
_COMMON = {"invalid": ("error", "skip"), "resamples": (0, 0, 0, 5), "seed": (0, 51), "undefined": ("none", "one")}
_OBJECTS = {
    "no_labels": ("not_assigned", "drew_nothing", {"bob": "drew_nothing"}),
    "iou": (0.01, 0.5, 1.0, "auto"),
    "classes": ("prefer", "ignore", "require"),
    "missing": ("category", "ignore"),
    "method": ("optimal", "recursive", "mutual_best"),
    "similarity": ("iou", "dice"),
    "empty": ("skip", "agree"),
    "crowd_attribute": ("iscrowd", None, "label"),
    "attributes": ((), ("label",)),
    "aliases": (None, {"cat": "dog"}),
}
_CLASS_OPTIONS = {"level": ("auto", "nominal", "ordinal"), "categories": ((), ("cat", "dog", "a.b", "$x"))}
_NUMBER_OPTIONS = {
    "level": ("auto", "nominal", "ordinal", "interval", "ratio"),
    "tolerance": (0.0, 1e-9, 2.5, 1e308),
    "categories": ((), (1, 2, 3)),
}
_PIXELS = {
    "background": ("auto", None, 0, 7, "#ff0000"),
    "ignore_values": ((), (255,), (0, 1)),
    "empty": ("skip", "agree"),
    "boundaries": (False, True),
    "boundary_tolerance": (0.0, 2.0, 1e6),
    "boundary_width": (None, 1, 50),
    "disagreement_map": (False, True),
}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A label type: how a random label of it is made, and what can be asked for."""

    name: str
    make: Callable[[Random, Path], Any]  #: what an annotator has on a sample or frame; the folder is for files
    options: Mapping[str, Sequence[Any]]
    field: tuple[type, type | None] = (fo.EmbeddedDocumentField, None)  #: type of the field
    media: str = "image"
    on_frames: bool = False
    in_one_field: bool = False  #: whether one field has the labels of all, which name their annotators

    def dataset(self, seed: int, folder: Path) -> fo.Dataset:
        """A dataset with labels of this type."""
        random = Random(f"{seed} {self.name}")
        dataset = fo.Dataset(f"stress-{self.name}-{os.getpid()}-{next(_numbers)}")
        dataset.media_type = self.media
        samples = []
        for k in range(N_SAMPLES):
            sample = fo.Sample(filepath=f"/{self.media}s/{k}.{'mp4' if self.media == 'video' else 'jpg'}")
            if self.media == "video":
                sample.metadata = fo.VideoMetadata(frame_width=60, frame_height=40)
            else:
                sample.metadata = fo.ImageMetadata(width=60, height=40)
            places = [fo.Frame() for _ in range(2)] if self.on_frames else [sample]
            for place in places:
                for name in ("all",) if self.in_one_field else ANNOTATORS:
                    if random.random() < 0.9:
                        place[name] = self.make(random, folder)
            if self.on_frames:
                for number, frame in enumerate(places, 1):
                    sample.frames[number] = frame
            samples.append(sample)
        dataset.add_samples(samples, dynamic=True)
        return dataset

    def arguments(self, random: Random, folder: Path) -> dict[str, Any]:
        """The fields, and random options."""
        prefix = "frames." if self.on_frames else ""
        given: dict[str, Any] = {"fields": [prefix + name for name in ANNOTATORS]}
        if self.in_one_field:
            given.update(fields=[f"{prefix}all"], annotator_attribute="who")
        known = {**_COMMON, **self.options}
        for name in random.sample(sorted(known), random.randrange(min(5, len(known)))):
            given[name] = random.choice(known[name])
        if given.get("disagreement_map") and random.random() < 0.5:
            given["map_folder"] = str(folder / "maps")
        return {"resamples": 0, **given}


def _class(random: Random) -> str | None:
    return random.choice(_CLASSES)


def _box(random: Random) -> list[float]:
    return [random.choice((0.1, 0.12, 0.5)), random.choice((0.2, 0.6)), random.uniform(0.1, 0.4), 0.3]


def _detections(random: Random, folder: Path, **attributes: Any) -> fo.Detections:
    made = [
        fo.Detection(label=_class(random), bounding_box=_box(random), **attributes) for _ in range(random.randrange(4))
    ]
    return fo.Detections(detections=made)


def _rated_detections(random: Random, folder: Path) -> fo.Detections:
    made = _detections(random, folder)
    for label in made.detections:
        label["who"] = random.choice(ANNOTATORS)
    return made


def _masked_detections(random: Random, folder: Path) -> fo.Detections:
    made = _detections(random, folder)
    for label in made.detections:
        mask = np.random.default_rng(random.randrange(99)).random((12, 20)) < 0.7
        if random.random() < 0.5:
            label.mask = mask
        elif random.random() < 0.5:
            label.mask_path = _file(mask.astype(np.uint8) * 255, folder)
    return made


def _file(image: np.ndarray[Any, Any], folder: Path) -> str:
    path = str(folder / f"{next(_numbers)}.png")
    cv2.imwrite(path, image)
    return path


def _polylines(random: Random, folder: Path) -> fo.Polylines:
    rings = [
        [(random.random(), random.random()) for _ in range(random.choice((1, 2, 4, 7)))]
        for _ in range(random.choice((1, 1, 2)))
    ]
    return fo.Polylines(polylines=[fo.Polyline(label=_class(random), points=rings, closed=True, filled=True)])


def _keypoints(random: Random, folder: Path) -> fo.Keypoints:
    points = [(random.random(), random.random()) for _ in range(3)]
    return fo.Keypoints(keypoints=[fo.Keypoint(label=_class(random), points=points)])


def _intervals(random: Random, folder: Path) -> fo.TemporalDetections:
    made = []
    for _ in range(random.randrange(4)):
        first = random.choice((1, 5, 2**31, 2**62))
        support = [first, first + random.choice((0, 3, 7, 2**31, 2**62 - 1))]
        made.append(fo.TemporalDetection(label=_class(random), support=support))
    return fo.TemporalDetections(detections=made)


def _tags(random: Random, folder: Path) -> fo.Classifications:
    return fo.Classifications(
        classifications=[fo.Classification(label=_class(random)) for _ in range(random.randrange(3))]
    )


def _array(random: Random) -> np.ndarray[Any, Any]:
    values = random.choice(((0, 1), (0, 1, 255), (7,), (0, 2**15)))
    kind = random.choice((np.uint8, np.uint16, np.int64, np.float64))
    rng = np.random.default_rng(random.randrange(99))
    return rng.choice(values, random.choice(((40, 60), (1, 1), (3, 200)))).astype(kind)


def _segmentation(random: Random, folder: Path) -> fo.Segmentation:
    if random.random() < 0.5:
        return fo.Segmentation(
            mask=np.random.default_rng(random.randrange(9)).integers(0, 3, (40, 60)).astype(np.uint8)
        )
    if random.random() < 0.3:
        return fo.Segmentation(mask=_array(random))
    return fo.Segmentation(mask_path=_file(np.random.default_rng(random.randrange(9)).integers(0, 3, (40, 60)), folder))


def _number(random: Random) -> float:
    return random.choice((0, 1, 2.5, 3, -1, 1e-300, 1e99, -1e99, 2.0**52, 1 / 3))


TYPES = (
    Labelled("boxes", _detections, {**_OBJECTS, "geometry": ("auto", "box", "shape")}),
    Labelled("one-field", _rated_detections, {**_OBJECTS, "assigned_field": (None, "tags")}, in_one_field=True),
    Labelled("instance-masks", _masked_detections, {**_OBJECTS, "geometry": ("auto", "box", "shape")}),
    Labelled("frames", _detections, _OBJECTS, media="video", on_frames=True),
    Labelled(
        "polylines", _polylines, {**_OBJECTS, "rasterize": (None, "pillow"), "line_tolerance": (None, 1.0, 1e300)}
    ),
    Labelled(
        "keypoints",
        _keypoints,
        {
            **_OBJECTS,
            "sigmas": (None, None, "coco", 0.1, (0.1, 0.2, 0.3), 1e-300, 1e300),
            "point_radius": (None, None, 5.0, 0.02, 1e-300, 1e300),
        },
    ),
    Labelled("intervals", _intervals, _OBJECTS, media="video"),
    Labelled("classes", lambda random, _: fo.Classification(label=_class(random)), _CLASS_OPTIONS),
    Labelled(
        "frame-classes",
        lambda random, _: fo.Classification(label=_class(random)),
        _CLASS_OPTIONS,
        media="video",
        on_frames=True,
    ),
    Labelled("tags", _tags, {"set_distance": ("masi", "jaccard"), "aliases": (None, {"cat": "dog"})}),
    Labelled("segmentations", _segmentation, _PIXELS),
    Labelled("frame-segmentations", _segmentation, _PIXELS, media="video", on_frames=True),
    Labelled("regressions", lambda random, _: fo.Regression(value=_number(random)), _NUMBER_OPTIONS),
    Labelled("texts", lambda random, _: random.choice(("cat", "dog", "=1")), _CLASS_OPTIONS),
    Labelled("numbers", lambda random, _: float(_number(random)), _NUMBER_OPTIONS),
    Labelled("switches", lambda random, _: random.random() < 0.5, {}),
)
