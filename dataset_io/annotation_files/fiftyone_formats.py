"""Formats that FiftyOne reads, one path for each annotator: call its importers, then correct who looked at what."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fiftyone as fo
import fiftyone.types as fot

from ...agreement.settings.errors import AgreementInputError
from ..database.fiftyone_private import default_fields, sample_collection
from .annotation_set import AnnotationSet, DrawnLabel, ImageKey, stored_size
from .label_documents import DETECTIONS, LABEL_TYPES

#: label types by type of the field, which is also what FiftyOne calls the list of labels in it
_LISTS = {"Detections": "detections", "Polylines": "polylines", "Keypoints": "keypoints"}
_ANSWERS = ("Classification", "Classifications", "Segmentation", "Regression")


def read_with_fiftyone(
    paths: Mapping[str, Path],
    dataset_type: type,
    media_dir: Path | None,
    label_types: str | Iterable[str] | None,
) -> AnnotationSet:
    """The labels of every annotator, from FiftyOne's importers.

    Args:
        paths: the folder, or the file with the labels, of each
        dataset_type: FiftyOne's name of the format
        media_dir: folder with the images, where they are not beside the labels
        label_types: which label types to read, where the importer has several

    Raises:
        AgreementInputError: if FiftyOne cannot read a path
    """
    if not (inspect.isclass(dataset_type) and issubclass(dataset_type, fot.Dataset)):
        raise AgreementInputError(f"`format` must be a type of fiftyone.types, got {dataset_type!r}")
    found = AnnotationSet(dataset_type.__name__)
    for annotator, path in paths.items():
        if not path.exists():
            raise AgreementInputError(f"The path of {annotator!r} must exist, got {str(path)!r}")
        with _read(path, dataset_type, media_dir, annotator, label_types) as dataset:
            schema = dataset.get_field_schema()
            fields = {name: field for name, field in schema.items() if name not in default_fields(dataset)}
            for document in sample_collection(dataset).find({}):
                # every image of the annotator's set was looked at, also those for which the importer says nothing
                page = found.page(annotator, ImageKey(document["filepath"]))
                page.scale = (1.0, 1.0)
                metadata = document.get("metadata") or {}
                page.size_px = stored_size(metadata.get("width"), metadata.get("height"))
                for name in fields:
                    page.labels += _labels(name, document.get(name))
    return found


@contextmanager
def _read(
    path: Path,
    dataset_type: type,
    media_dir: Path | None,
    annotator: str,
    label_types: str | Iterable[str] | None,
) -> Iterator[fo.Dataset]:
    """A temporary dataset of what FiftyOne reads from a path."""
    options: dict[str, Any] = {"labels_path": str(path)} if path.is_file() else {"dataset_dir": str(path)}
    if media_dir is not None:
        options["data_path"] = str(media_dir)
    if "label_types" in inspect.signature(dataset_type().get_dataset_importer_cls()).parameters:
        kinds = [label_types] if isinstance(label_types, str) else list(label_types or [DETECTIONS])
        options["label_types"] = kinds
    dataset = fo.Dataset()
    try:
        try:
            dataset.add_dir(dataset_type=dataset_type, progress=False, **options)
        except Exception as error:  # whatever the importer stumbles over is in the user's files
            raise AgreementInputError(
                f"The path of {annotator!r} must hold a {dataset_type.__name__}, got {str(path)!r}, which FiftyOne "
                f"cannot read: {error or type(error).__name__}"
            ) from error
        if not dataset.count():
            raise AgreementInputError(
                f"The path of {annotator!r} must hold images with their labels, got none in {str(path)!r}"
                + ("" if media_dir else "; say `media_dir=` if the images are elsewhere")
            )
        if dataset.media_type != "image":
            raise AgreementInputError(f"Labels must be of images, got {dataset.media_type}s in {str(path)!r}")
        yield dataset
    finally:
        dataset.delete()


def _labels(name: str, value: Any) -> Iterator[DrawnLabel]:
    """The labels in a field of a document."""
    kind = value.get("_cls") if isinstance(value, dict) else None
    if kind in _LISTS:
        # where an importer gives several label types, its fields have their names
        label_type = name if name in LABEL_TYPES else _LISTS[kind]
        for label in value.get(_LISTS[kind]) or ():
            yield DrawnLabel(label.get("label"), document=label, document_type=label_type)
    elif kind == "Classifications":
        for label in value.get("classifications") or ():
            yield DrawnLabel(label.get("label"), document=label, question=name)
    elif kind in _ANSWERS:
        yield DrawnLabel(value.get("label"), document=value, question=name)


def type_names() -> list[str]:
    """Names of the types of labelled images that FiftyOne reads."""
    kinds = [kind for kind in vars(fot).values() if inspect.isclass(kind) and issubclass(kind, fot.LabeledImageDataset)]
    return sorted(kind.__name__ for kind in kinds if kind is not fot.LabeledImageDataset)
