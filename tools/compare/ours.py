"""Our side: a FiftyOne dataset of the same annotations, ``compute()``, and the match ids it wrote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import fiftyone as fo
import numpy as np
from numpy.typing import NDArray

from tools.dev.plugin import load_plugin

from .annotations import Annotations

#: the rules of the other programs: alpha is 1 for images that all left empty, and for images without variation
RULES = {"empty": "agree", "undefined": "one"}


class OurDataset:
    """The annotations as a dataset with a field for every annotator; use as a context, which deletes it."""

    def __init__(self, annotations: Annotations) -> None:
        self.annotations = annotations
        self.dataset = _dataset(annotations)

    def __enter__(self) -> OurDataset:
        return self

    def __exit__(self, *_: object) -> None:
        self.dataset.delete()

    def report(self, annotators: Sequence[str] | None = None, **options: Any) -> Any:
        """The report of a run with all annotators, or with some."""
        rules = {**RULES, "overwrite": True, "progress": False, **options}
        return load_plugin().compute(self.dataset, list(annotators or self.annotations.annotators), **rules)

    def run(self, **options: Any) -> Answer:
        """Alphas, and units as they were written on the labels."""
        report = self.report(**options)
        found: dict[int, tuple[str, str]] = {}
        for name in self.annotations.annotators:
            paths = ["id", f"{name}.detections.number", f"{name}.detections.agreement_id"]
            for sample, numbers, units in zip(*self.dataset.values(paths), strict=True):
                found.update((n, (sample, u)) for n, u in zip(numbers or [], units or [], strict=True))
        keys = [found[number] for number in self.annotations.ids.tolist()]
        number_of = {key: k for k, key in enumerate(sorted(set(keys)))}
        unit = np.array([number_of[key] for key in keys])
        return Answer(report.alpha.mean, report.alpha.pooled, unit)


def _dataset(annotations: Annotations) -> fo.Dataset:
    names = {category["id"]: category["name"] for category in annotations.coco["categories"]}
    labels: dict[tuple[int, str], list[fo.Detection]] = defaultdict(list)
    size = {image["id"]: (image["width"], image["height"]) for image in annotations.coco["images"]}
    for entry in annotations.coco["annotations"]:
        width, height = size[entry["image_id"]]
        x, y, w, h = entry["bbox"]
        labels[entry["image_id"], entry["rater_id"]].append(
            fo.Detection(
                label=names[entry["category_id"]],
                bounding_box=[x / width, y / height, w / width, h / height],
                number=entry["id"],
            )
        )
    dataset = fo.Dataset(f"compare {annotations.path.stem}", overwrite=True)
    dataset.add_samples(
        [
            fo.Sample(
                filepath=f"/nowhere/{image['file_name']}",
                **{name: fo.Detections(detections=labels[image["id"], name]) for name in image["rater_list"]},
            )
            for image in annotations.coco["images"]
        ],
        progress=False,
    )
    return dataset


#: value of a missed object, and of an image that everybody left empty
MISSING = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """The numbers of a program and its units."""

    mean: float  #: mean of the alphas of the images
    pooled: float | None  #: alpha of all units together; None where the program has none
    unit: NDArray[np.int64]  #: shape ``(N,)``, unit of every annotation


def units_from_ids(annotations: Annotations, units: Iterable[Sequence[int]]) -> NDArray[np.int64]:
    """Unit of every annotation, from lists of ids."""
    row = {number: k for k, number in enumerate(annotations.ids.tolist())}
    unit = np.full(len(row), -1)
    for number, members in enumerate(units):
        unit[[row[member] for member in members]] = number
    if (unit < 0).any():
        raise ValueError(f"Every annotation must be in a unit, got {int((unit < 0).sum())} that are in none")
    return unit


def reliability_tables(annotations: Annotations, unit: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """Ratings of the units of every image, shape ``(U, R)``; an image without labels is one unit that all missed."""
    _, unit = np.unique(unit, return_inverse=True)
    table = np.full((int(unit.max(initial=-1)) + 1, len(annotations.annotators)), float(MISSING))
    table[unit, annotations.annotator] = annotations.category
    sample = np.zeros(len(table), np.int64)
    sample[unit] = annotations.sample
    order = np.argsort(sample, kind="stable")
    parts = np.split(table[order], np.searchsorted(sample[order], np.arange(1, annotations.n_samples)))
    return [part if len(part) else np.full((1, table.shape[1]), float(MISSING)) for part in parts]


def our_alphas(tables: Sequence[NDArray[np.float64]], decimals: int | None = None) -> tuple[float, float]:
    """Mean and pooled alpha under the rules of the other programs: missing is a category, no variation counts 1."""
    metrics = load_plugin().metrics
    alphas = np.array([metrics.krippendorff_alpha(table) for table in tables])
    alphas[np.isnan(alphas)] = 1.0
    if decimals is not None:
        alphas = np.round(alphas, decimals)
    return float(alphas.mean()), float(metrics.krippendorff_alpha(np.concatenate(tables)))
