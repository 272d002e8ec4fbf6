"""Label convergence of a run against COCO's own program, on the same labels."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import statistics
from typing import Any

import fiftyone as fo

from tools.dev.plugin import load_plugin

from .database import make_dataset
from .generated import ANNOTATORS
from .main_job import N_SAMPLES, REPETITIONS
from .output import Limit, Row, at_least, say, timed

_SIDE = 640


def measure() -> list[Row]:
    """Time ours, with and without intervals, and theirs, without reading the labels, over all ordered pairs."""
    dataset = make_dataset("bench-convergence", N_SAMPLES)
    dataset.set_values("metadata", [fo.ImageMetadata(width=_SIDE, height=_SIDE)] * N_SAMPLES)
    run = load_plugin().compute(dataset, list(ANNOTATORS), progress=False, resamples=0)
    run.convergence(resamples=0, progress=False)  # warm up
    own, intervals = (
        timed(functools.partial(run.convergence, resamples=resamples, progress=False), REPETITIONS)[0]
        for resamples in (0, 1000)
    )
    labels = {name: _labels(dataset, name) for name in ANNOTATORS}
    pairs = list(itertools.permutations(ANNOTATORS, 2))
    of_coco, theirs = timed(lambda: [_coco(labels[a], labels[b], N_SAMPLES) for a, b in pairs])
    found = run.convergence(resamples=0).map
    say(f"convergence: {own:.2f} s, pycocotools {of_coco:.1f} s; mAP {found:.9f}, {statistics.mean(theirs):.9f}")
    dataset.delete()
    more = Limit(high=3, of_difference=True)
    return [
        Row("pycocotools, 6 ordered pairs / label convergence, reading included", of_coco, at_least(1), own),
        Row("label convergence with 1,000 resamples / without", intervals, more, own),
    ]


def _labels(dataset: fo.Dataset, field: str) -> list[dict[str, Any]]:
    """The labels of a field as COCO stores them, in the order of their images."""
    found = []
    ids, boxes = dataset.values([f"{field}.detections.label", f"{field}.detections.bounding_box"])
    for image, (names, drawn) in enumerate(zip(ids, boxes, strict=True), 1):
        for name, box in zip(names or (), drawn or (), strict=True):
            x, y, width, height = (_SIDE * value for value in box)
            entry = {"id": len(found) + 1, "image_id": image, "category_id": int(name[-2:]), "iscrowd": 0}
            found.append({**entry, "bbox": [x, y, width, height], "area": width * height, "score": 0.99})
    return found


def _coco(reference: list[dict[str, Any]], detector: list[dict[str, Any]], n_images: int) -> float:
    """Mean average precision by pycocotools."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    both = []
    with contextlib.redirect_stdout(io.StringIO()):
        for labels in (reference, detector):
            coco = COCO()
            images, categories = ([{"id": k} for k in numbers] for numbers in (range(1, n_images + 1), range(80)))
            coco.dataset = {"images": images, "categories": categories, "annotations": labels}
            coco.createIndex()
            both.append(coco)
        evaluation = COCOeval(*both, "bbox")
        evaluation.params.maxDets = [1000]
        evaluation.evaluate()
        evaluation.accumulate()
    precision = evaluation.eval["precision"][..., 0, 0]
    return float(precision[precision > -1].mean())
