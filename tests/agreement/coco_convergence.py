"""Mean average precision of annotators against each other by COCO's own program."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotator_agreement.agreement.convergence.convergence import Detections, Precision
from annotator_agreement.agreement.matching.batch import Batch
from annotator_agreement.agreement.settings.config import make_config

CONFIG = make_config(["a", "b"])


@dataclass(frozen=True)
class Label:
    """A box in pixels, ``(x, y, width, height)``."""

    image: int
    category: int
    box: Sequence[float]
    crowd: bool = False
    score: float = 0.99
    shape: Any = None  #: what is drawn in the box, if it is not the box
    area: float | None = None  #: its area


def coco_precision(
    reference: Sequence[Label],
    detector: Sequence[Label],
    images: Sequence[int],
    overlap: Callable[[Sequence[Label], Sequence[Label]], Any] | None = None,
) -> np.ndarray:
    """Precision of COCO's program, ``(T, recalls, classes, areas)``; -1 where undefined.

    Args:
        reference: the objects
        detector: the detections
        images: ids of the images
        overlap: similarities ``(detections, objects)`` of the labels of one class and image, in place of the IoU
    """
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    categories = sorted({label.category for label in [*reference, *detector]})
    truth, found = ([_entry(label, k) for k, label in enumerate(labels, 1)] for labels in (reference, detector))
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = {
            "images": [{"id": image} for image in images],
            "categories": [{"id": category} for category in categories],
            "annotations": truth,
        }
        coco.createIndex()
        detections = COCO()
        detections.dataset = {**coco.dataset, "annotations": [entry for entry in found if not entry["iscrowd"]]}
        detections.createIndex()
        evaluation = COCOeval(coco, detections, "bbox")
        evaluation.params.maxDets = [100_000]
        if overlap is not None:
            evaluation.computeIoU = lambda image, category: _similarities(evaluation, image, category, overlap)
        evaluation.evaluate()
        evaluation.accumulate()
    return evaluation.eval["precision"][..., 0]


def _entry(label: Label, number: int) -> dict[str, Any]:
    return {
        "id": number, "image_id": label.image, "category_id": label.category, "bbox": list(label.box),
        "area": label.box[2] * label.box[3] if label.area is None else label.area, "iscrowd": int(label.crowd),
        "score": label.score, "label": label,
    }  # fmt: skip


def _similarities(evaluation: Any, image: int, category: int, overlap: Callable[..., Any]) -> Any:
    truth, found = evaluation._gts[image, category], evaluation._dts[image, category]
    if not truth or not found:
        return []
    found = [found[k] for k in np.argsort([-entry["score"] for entry in found], kind="mergesort")]
    return overlap([entry["label"] for entry in found], [entry["label"] for entry in truth])


def coco_mean(precision: np.ndarray) -> float:
    """Mean of what is defined."""
    defined = precision[precision > -1]
    return float(defined.mean()) if len(defined) else float("nan")


def detections_of(batch: Batch, images: Sequence[int] | None = None, **options: Any) -> Detections:
    """The labels of a batch in pixels, in the order of image ids, by default those of the batch."""
    ids = np.array([f"{k:012}".encode() for k in (images or range(batch.n_samples))], "S12")
    return Detections.of(batch, ids, CONFIG, **{"in_pixels": True, **options})


def constant(batch: Batch, images: Sequence[int] | None = None, **options: Any) -> Precision:
    """Average precision in the order of image ids."""
    return Precision.of(detections_of(batch, images, **options), batch.assigned.shape[1])


def mean_of(found: Precision, name: str = "map", area: int = 0) -> float:
    """Mean over all ordered pairs."""
    return found.means(name, area)[0]


def of_pair(found: Precision, n_annotators: int, reference: int, detector: int, area: int = 0) -> float:
    """Mean average precision of one ordered pair."""
    place = np.flatnonzero(found.pairs == reference * n_annotators + detector)
    return float(found.means(area=area)[1][place[0]]) if len(place) else float("nan")
