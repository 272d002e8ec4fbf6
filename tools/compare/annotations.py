"""The annotations for all programs: boxes of LVIS and generated boxes, as COCO JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.bench.generated import GeneratedBoxes, generate
from tools.dev.private_fiftyone import ROOT

LVIS = ROOT.parent / "shared" / "data" / "lvis_double" / "lvis_v1.0_val_doubly_annos_subset200.json"
N_GENERATED = 1_000
WIDTH, HEIGHT = 640, 480


@dataclass(frozen=True, slots=True)
class Annotations:
    """Boxes of several annotators, in the file that the other programs read and as columns."""

    name: str  #: name in the table
    path: Path  #: COCO JSON with a ``rater_list`` on images and a ``rater_id`` on annotations
    coco: dict[str, Any]  #: content of the file
    annotators: list[str]  #: names, sorted
    ids: NDArray[np.int64]  #: shape ``(N,)``, ids of the annotations
    sample: NDArray[np.int64]  #: shape ``(N,)``, position of the image
    annotator: NDArray[np.int64]  #: shape ``(N,)``, position in ``annotators``
    category: NDArray[np.int64]  #: shape ``(N,)``, category ids
    boxes_xyxy: NDArray[np.float64]  #: shape ``(N, 4)``, relative to the image

    @property
    def n_samples(self) -> int:
        """Number of images."""
        return len(self.coco["images"])

    @classmethod
    def of(cls, name: str, path: Path, coco: dict[str, Any]) -> Annotations:
        """Columns of a COCO dictionary."""
        annotators = sorted({rater for image in coco["images"] for rater in image["rater_list"]})
        position = {image["id"]: k for k, image in enumerate(coco["images"])}
        entries = coco["annotations"]
        sample = np.array([position[entry["image_id"]] for entry in entries])
        size = np.array([[image["width"], image["height"]] for image in coco["images"]], np.float64)
        boxes = np.array([entry["bbox"] for entry in entries]) / np.tile(size, 2)[sample]
        boxes[:, 2:] += boxes[:, :2]
        return cls(
            name=name,
            path=path,
            coco=coco,
            annotators=annotators,
            ids=np.array([entry["id"] for entry in entries]),
            sample=sample,
            annotator=np.array([annotators.index(entry["rater_id"]) for entry in entries]),
            category=np.array([entry["category_id"] for entry in entries]),
            boxes_xyxy=boxes,
        )


def lvis() -> Annotations | None:
    """200 images of LVIS annotated twice; None where the file is absent."""
    if not LVIS.is_file():
        return None
    return Annotations.of("LVIS-200", LVIS, json.loads(LVIS.read_text()))


def generated(n_annotators: int, folder: Path, n_samples: int = N_GENERATED) -> Annotations:
    """The boxes that the benchmarks use; the file is written into a folder."""
    name, path = f"generated, {n_annotators} annotators", folder / f"generated_{n_annotators}.json"
    return annotations_of(name, path, generate(n_samples, n_annotators))


def annotations_of(name: str, path: Path, data: GeneratedBoxes) -> Annotations:
    """Generated boxes, written into a file."""
    names = [f"annotator_{k}" for k in range(data.n_annotators)]
    boxes = data.boxes_xywh_rel * np.tile([WIDTH, HEIGHT], 2)
    columns = (data.sample.tolist(), data.annotator.tolist(), data.label.tolist(), boxes.tolist())
    coco = {
        "images": [
            {"id": k + 1, "file_name": f"{k:05d}.jpg", "width": WIDTH, "height": HEIGHT}
            | {"rater_list": [names[r] for r in np.flatnonzero(asked)]}
            for k, asked in enumerate(data.assigned)
        ],
        "categories": [{"id": k + 1, "name": f"class_{k:02d}"} for k in range(int(data.label.max()) + 1)],
        "annotations": [
            {"id": k + 1, "image_id": s + 1, "category_id": label + 1, "rater_id": names[a], "bbox": box}
            for k, (s, a, label, box) in enumerate(zip(*columns, strict=True))
        ],
    }
    return written(name, path, coco)


def written(name: str, path: Path, coco: dict[str, Any]) -> Annotations:
    """Write a COCO dictionary and return its columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(coco), encoding="utf-8")
    return Annotations.of(name, path, coco)


def changed(
    annotations: Annotations, what: str, /, **changes: Callable[[dict[str, Any]], dict[str, Any] | None]
) -> Annotations:
    """Other annotations, written beside the first: every entry of a list becomes what a function says, or goes."""
    coco = dict(annotations.coco)
    for name, change in changes.items():
        coco[name] = [{**entry, **new} for entry in coco[name] if (new := change(entry)) is not None]
    path = annotations.path.with_name(f"{annotations.path.stem}_{what}.json")
    return written(annotations.name, path, coco)
