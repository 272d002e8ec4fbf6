"""Our side: a FiftyOne dataset of the same annotations, ``compute()``, and the match ids it wrote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import fiftyone as fo
import numpy as np

from tools.dev.plugin import load_plugin

from .annotations import Annotations
from .answer import Answer

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
