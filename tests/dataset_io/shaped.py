"""Datasets of boxes, polygons, lines and instance masks, one field for each annotator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import fiftyone as fo
import numpy as np

#: width and height of the images in pixels
SIZE = WIDTH, HEIGHT = 40, 20

Ring = Sequence[Sequence[float]]


def rectangle(x: float, y: float, width: float, height: float) -> Ring:
    """The corners of a box in pixels."""
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


def polygon(*rings: Ring, label: str = "cat", size: tuple[int, int] = SIZE, **attributes: Any) -> fo.Polyline:
    """A filled polyline, from rings in pixels."""
    points = [[(x / size[0], y / size[1]) for x, y in ring] for ring in rings]
    return fo.Polyline(label=label, points=points, **{"closed": True, "filled": True, **attributes})


def box(
    x: float, y: float, width: float, height: float, label: str = "cat", size: tuple[int, int] = SIZE, **attributes: Any
) -> fo.Detection:
    """A box in pixels, with a mask if one is given as ``mask``."""
    relative = [x / size[0], y / size[1], width / size[0], height / size[1]]
    return fo.Detection(label=label, bounding_box=relative, **attributes)


def cut_out(image: np.ndarray, label: str = "cat", **attributes: Any) -> fo.Detection:
    """The pixels of a whole image as an instance mask in the box around them."""
    y, x = np.nonzero(image)
    x_min, y_min, x_end, y_end = int(x.min()), int(y.min()), int(x.max()) + 1, int(y.max()) + 1
    crop = image[y_min:y_end, x_min:x_end]
    return box(x_min, y_min, x_end - x_min, y_end - y_min, label, image.shape[::-1], mask=crop, **attributes)


def shapes_dataset(
    make_dataset: Any,
    *samples: Mapping[str, Sequence[fo.Label] | None],
    size: tuple[int, int] | Sequence[tuple[int, int]] | None = SIZE,
) -> fo.Dataset:
    """A dataset of these labels by field; None where an annotator was not assigned.

    Args:
        make_dataset: the fixture
        samples: the labels of every sample by field
        size: width and height of the images, of all or of each; None for images without metadata
    """
    dataset = make_dataset({})
    types = {
        field: fo.Polylines if isinstance(label, fo.Polyline) else fo.Detections
        for labels_of in samples
        for field, labels in labels_of.items()
        for label in labels or ()
    }
    # all at once: add_sample_field() saves and reads the dataset for every field
    dataset._merge_sample_field_schema({field: fo.EmbeddedDocumentField(stored) for field, stored in types.items()})
    sizes = [size] * len(samples) if size is None or isinstance(size, tuple) else list(size)
    made = []
    for k, (labels_of, wh) in enumerate(zip(samples, sizes, strict=True)):
        sample = fo.Sample(filepath=f"/images/{k}.jpg")
        if wh is not None:
            sample.metadata = fo.ImageMetadata(width=wh[0], height=wh[1])
        for field, labels in labels_of.items():
            if labels is not None:
                stored = types.get(field, fo.Detections)
                sample[field] = stored(**{stored._LABEL_LIST_FIELD: list(labels)})
        made.append(sample)
    dataset.add_samples(made, dynamic=True)
    return dataset
