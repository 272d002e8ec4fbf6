"""Fields with one label per object pass through FiftyOne's exporters and importers unchanged."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fiftyone as fo
import numpy as np
import pytest
from PIL import Image

from tests.conftest import SHARED_DATA
from tests.dataset_io.quick_runs import compute_quickly
from tests.datasets import coco_dataset

from annotator_agreement.dataset_io import add_units, resolve_units

pytestmark = pytest.mark.long

LVIS = SHARED_DATA / "lvis_double" / "lvis_v1.0_val_doubly_annos_subset200.json"
#: exporters, with what their importers are told besides
TYPES = {
    fo.types.COCODetectionDataset: {},
    fo.types.YOLOv5Dataset: {"split": "val"},
    fo.types.VOCDetectionDataset: {},
    fo.types.CVATImageDataset: {},
}


@pytest.fixture(scope="module")
def demo(demo_copy: fo.Dataset) -> fo.Dataset:
    """The demo dataset with the objects and the consensus of a run."""
    made = _derive(demo_copy, ["alice", "bob", "carol"])
    assert made.n_below_quorum > 0
    return demo_copy


@pytest.fixture(scope="module")
def lvis(private_fiftyone: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[fo.Dataset]:
    """The same of the doubly annotated images of LVIS."""
    dataset = _lvis(tmp_path_factory.mktemp("lvis"))
    made = _derive(dataset, ["r1", "r2"])
    assert made.n_below_quorum > 0
    assert made.n_tied > 0
    yield dataset
    dataset.delete()


def _derive(dataset: fo.Dataset, annotators: list[str]) -> Any:
    compute_quickly(dataset, annotators)
    assert add_units(dataset).n_labels == dataset.sum("agreement_n_units")
    return resolve_units(dataset)


def _lvis(folder: Path) -> fo.Dataset:
    """The doubly annotated images of LVIS, as blank images of their sizes."""
    if not LVIS.is_file():
        pytest.skip(f"needs the test data {LVIS}")
    dataset = coco_dataset(f"lvis-exporters-{os.getpid()}", LVIS, attribute_mode=False)
    sizes = {image["file_name"]: (image["width"], image["height"]) for image in json.loads(LVIS.read_text())["images"]}
    for sample in dataset.iter_samples(autosave=True):
        name = Path(sample.filepath).name
        Image.new("L", sizes[name]).save(folder / name)
        sample.filepath = str(folder / name)
    return dataset


def _boxes(dataset: fo.Dataset, field: str) -> list[Any]:
    """Class and box in pixels of every label, by file."""
    dataset.compute_metadata(progress=False)
    paths = ("filepath", f"{field}.detections.label", f"{field}.detections.bounding_box")
    sizes = dataset.values(["metadata.width", "metadata.height"])
    found = []
    for path, labels, boxes, width, height in zip(*dataset.values(list(paths)), *sizes, strict=True):
        pixels = np.array(boxes or ()).reshape(-1, 4) * [width, height, width, height]
        found.append((Path(path).stem, list(zip(labels or (), pixels.tolist(), strict=True))))
    return sorted(found)


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    ("name", "field"), [("demo", "agreement_units"), ("demo", "agreement_consensus"), ("lvis", "agreement_consensus")]
)
def test_objects_are_exported_and_read_back_without_an_option(
    request: pytest.FixtureRequest, name: str, field: str, kind: type, tmp_path: Path
) -> None:
    dataset = request.getfixturevalue(name)
    folder = str(tmp_path / "export")
    dataset.export(folder, dataset_type=kind, label_field=field, progress=False)
    again = fo.Dataset.from_dir(folder, dataset_type=kind, label_field="read", progress=False, **TYPES[kind])
    try:
        (read,) = (name for name in ("read", "read_detections") if again.has_field(name))
        expected, found = _boxes(dataset, field), _boxes(again, read)
        assert [(stem, [label for label, _ in labels]) for stem, labels in found] == [
            (stem, [label for label, _ in labels]) for stem, labels in expected
        ]
        for (_, of_file), (_, of_export) in zip(expected, found, strict=True):
            for (_, box), (_, again_box) in zip(of_file, of_export, strict=True):
                assert np.abs(np.subtract(box, again_box)).max() < 2  # VOC and CVAT store corners in whole pixels
    finally:
        again.delete()
