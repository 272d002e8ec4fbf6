"""The demo dataset: real photographs, sensible labels of every type, and annotators whose habits are found again."""

from __future__ import annotations

import os
from pathlib import Path

import fiftyone as fo
import pytest

from tools.demo.dataset import LABEL_TYPES, build_demo_dataset

from annotator_agreement.dataset_io import compute_agreement, delete_agreement

pytestmark = pytest.mark.long

NAMES = ("alice", "bob", "carol")


@pytest.fixture(scope="module")
def samples(demo_dataset):
    """The samples, read once: their masks and points take a second."""
    return list(demo_dataset)


def plain(label):
    """The content of a label, without ids (they differ between datasets) and with masks instead of their paths."""
    if label is None or isinstance(label, int):
        return label
    if hasattr(label, "get_mask") and label.get_mask() is not None:
        return (getattr(label, "label", None), getattr(label, "bounding_box", None), label.get_mask().tolist())
    for objects in ("detections", "polylines", "keypoints", "classifications"):
        if objects in label:
            return [plain(obj) for obj in label[objects]]
    content = (label.label, getattr(label, "bounding_box", None), getattr(label, "points", None))
    return repr(content)  # repr, because nan is not equal to nan


def test_the_careful_annotators_agree_best_on_every_kind_of_shape_and_the_habits_of_all_are_found(demo_copy):
    for label_type in ("masks", "polygons", "segmentation", "keypoints"):
        report = compute_agreement(demo_copy, run_key="of_type", resamples=0, progress=False, **LABEL_TYPES[label_type])
        assert report.n_rated == 28
        best = max(report.pairs, key=lambda pair: pair.score)
        assert (best.a, best.b) == ("alice", "bob"), label_type
        delete_agreement(demo_copy, "of_type")
    report = compute_agreement(demo_copy, list(NAMES), resamples=0, progress=False)
    annotators = {entry.name: entry for entry in report.annotators}
    pairs = {(pair.a, pair.b): pair for pair in report.pairs}
    careful, loose, other = pairs["alice", "bob"], pairs["alice", "carol"], pairs["bob", "carol"]
    # bob misses small objects
    assert annotators["bob"].n_missed > 10 * max(annotators["alice"].n_missed, annotators["carol"].n_missed)
    assert loose.f1 > max(careful.f1, other.f1)
    # carol draws loosely and confuses two classes
    assert careful.mean_iou > 0.9 > 0.75 > max(loose.mean_iou, other.mean_iou)
    assert careful.class_agreement == 1.0
    assert max(loose.class_agreement, other.class_agreement) < 0.9
    # so the careful annotator agrees best with both
    assert careful.score > loose.score > other.score


def test_the_images_are_there_and_the_boxes_are_on_them(samples):
    assert len(samples) >= 24
    for sample in samples:
        assert os.path.isfile(sample.filepath)
        assert sample.metadata.width > 50
        lists = [sample[field] for label_type in ("boxes", "masks") for field in LABEL_TYPES[label_type]["fields"]]
        for label in (label for found in lists if found is not None for label in found.detections):
            x, y, width, height = label.bounding_box
            assert 0 <= x < x + width <= 1 + 1e-9
            assert 0 <= y < y + height <= 1 + 1e-9


def test_every_annotator_has_a_field_of_every_label_type_and_none_in_all_where_they_were_not_asked(
    demo_dataset, samples
):
    classes = {
        "boxes": fo.Detections, "polygons": fo.Polylines, "masks": fo.Detections, "segmentation": fo.Segmentation,
        "keypoints": fo.Keypoints, "class": fo.Classification, "tags": fo.Classifications, "quality": int,
    }  # fmt: skip
    assert list(LABEL_TYPES) == list(classes)
    schema = demo_dataset.get_field_schema()
    for label_type, expected in classes.items():
        ending = "" if label_type == "boxes" else f"_{label_type}"
        assert LABEL_TYPES[label_type]["fields"] == tuple(f"{name}{ending}" for name in NAMES)
        for field in LABEL_TYPES[label_type]["fields"]:
            assert getattr(schema[field], "document_type", int) is expected
            assert any(isinstance(sample[field], expected) for sample in samples)
    not_assigned = {name: set() for name in NAMES}
    for sample in samples:
        for i, name in enumerate(NAMES):
            is_none = {sample[entry["fields"][i]] is None for entry in LABEL_TYPES.values()}
            assert len(is_none) == 1, (sample.filepath, name)
            if is_none == {True}:
                not_assigned[name].add(Path(sample.filepath).stem)
    assert not_assigned == {"alice": set(), "bob": {"cell"}, "carol": {"cell", "page", "retina", "galaxies_10"}}


def test_building_twice_gives_the_same_labels(samples, tmp_path):
    again = build_demo_dataset(tmp_path, f"demo-again-{os.getpid()}")
    try:
        fields = [field for entry in LABEL_TYPES.values() for field in entry["fields"]]
        for first, second in zip(samples, again, strict=True):
            assert Path(first.filepath).read_bytes() == Path(second.filepath).read_bytes()
            for field in fields:
                assert plain(first[field]) == plain(second[field]), (first.filepath, field)
    finally:
        again.delete()
