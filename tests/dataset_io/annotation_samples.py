"""Small annotation files of several annotators, and datasets for them."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fiftyone as fo
import numpy as np
import pytest
from PIL import Image

import annotator_agreement as aa
from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import import_annotations

_numbers = itertools.count()
#: how the names of the datasets begin
PREFIX = "test-imports-"


def dataset_of(names: Iterable[str], folder: str = "/images") -> fo.Dataset:
    """A dataset of images that need not exist."""
    dataset = fo.Dataset(f"{PREFIX}{os.getpid()}-{next(_numbers)}")
    dataset.add_samples([fo.Sample(f"{folder}/{name}") for name in names])
    return dataset


def sized(names: Iterable[str], folder: str = "/images", size: tuple[int, int] = (40, 20)) -> fo.Dataset:
    """A dataset of images of a size."""
    dataset = dataset_of(names, folder)
    dataset.set_values("metadata", [fo.ImageMetadata(width=size[0], height=size[1])] * len(dataset))
    return dataset


def boxes_of(dataset: fo.Dataset, field: str = "alice") -> list[Any]:
    """Class and box of the detections on every image; None where there is no list, or not even a field."""
    if not dataset.has_field(field):
        return [None] * len(dataset)
    return [value and [(box.label, *np.round(box.bounding_box, 9).tolist()) for box in value.detections]
            for value in dataset.values(field)]  # fmt: skip


class Importing:
    """Imports files with some content.

    Args:
        folder: where the files are written
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(
        self,
        content: Any,
        images: Iterable[str] | fo.Dataset = ("1.jpg",),
        *,
        who: str | None = None,
        size: tuple[int, int] | None = None,
        **options: Any,
    ) -> tuple[fo.Dataset, Any]:
        """The dataset, and the summary of the import.

        Args:
            content: of a file of JSON or XML; else what is imported: a path, paths by annotator, a table
            images: names, or a dataset that is there
            who: the annotator of the file, if it says none
            size: of the images
            options: of the import
        """
        dataset = images
        if not isinstance(dataset, fo.Dataset):
            dataset = dataset_of(images) if size is None else sized(images, size=size)
        is_source = isinstance(content, dict) and all(isinstance(path, Path) for path in content.values())
        if isinstance(content, str | list | dict) and not is_source:
            ending = "xml" if str(content).startswith("<") else "json"
            content = written(self._folder / f"import-{next(_numbers)}.{ending}", content)
        return dataset, import_annotations(dataset, content if who is None else {who: content}, **options)

    def refuses(self, message: str, /, *arguments: Any, **options: Any) -> None:
        """The import is refused with this sentence."""
        with pytest.raises(AgreementInputError, match=message):
            self(*arguments, **options)


def run_of(dataset: fo.Dataset, summary: Any, **options: Any) -> Any:
    """The run, without intervals, that the call computes which the summary of an import prints."""
    (call,) = summary.calls
    return eval(f"{call[:-1]}, **options)", {"aa": aa, "dataset": dataset, "options": {"resamples": 0, **options}})


def said_by(summary: Any) -> str:
    """All that a summary says of what was left out, and its notes."""
    return "\n".join((*summary.left_out, *summary.notes))


def files_in(folder: Path, contents: dict[str, Any]) -> Path:
    """A folder with files."""
    for name, content in contents.items():
        if isinstance(content, bytes):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        else:
            written(folder / name, content)
    return folder


def written(path: Path, content: Any) -> Path:
    """A file with a text, or with JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def images_in(folder: Path, names: Iterable[str], size: tuple[int, int] = (40, 20)) -> Path:
    """Real images in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        Image.new("L", size).save(folder / name)
    return folder


def coco(images: Iterable[str | dict[str, Any]], annotations: list[dict[str, Any]]) -> Any:
    """A COCO file; images without a size are 40 x 20 pixels, annotations are on the first image."""
    named = [{"file_name": image} if isinstance(image, str) else image for image in images]
    return {"images": [{"id": k, "width": 40, "height": 20, **image} for k, image in enumerate(named)],
            "annotations": [{"id": k, "image_id": 0, "category_id": 1, **each} for k, each in enumerate(annotations)],
            "categories": [{"id": k, "name": name} for k, name in enumerate(("cat", "dog"), 1)]}  # fmt: skip


def label_studio_task(name: str, *annotations: dict[str, Any], predictions: Iterable[Any] = ()) -> dict[str, Any]:
    """A task of Label Studio."""
    return {"id": 1, "data": {"image": f"/data/upload/3/{name}"}, "annotations": list(annotations),
            "predictions": list(predictions)}  # fmt: skip


def by(who: Any, *results: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An annotation of Label Studio."""
    return {"completed_by": who, "was_cancelled": False, "result": list(results), **more}


def region(kind: str, value: dict[str, Any], name: str = "r", **more: Any) -> dict[str, Any]:
    """A result of Label Studio, on an image of 200 x 100 pixels."""
    return {"id": name, "type": kind, "from_name": "label", "to_name": "image", "original_width": 200,
            "original_height": 100, "value": value, **more}  # fmt: skip


def ls_box(x: float, y: float, width: float, height: float, label: str = "cat", **more: Any) -> dict[str, Any]:
    """A rectangle of Label Studio, in percent."""
    value = {"x": x, "y": y, "width": width, "height": height, "rotation": more.pop("rotation", 0)}
    return region("rectanglelabels", {**value, "rectanglelabels": [label]}, **more)
