"""The demo dataset: real photographs, sensible boxes, and annotators whose habits the report finds again."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="module")
def demo(private_fiftyone, tmp_path_factory):
    from demo.dataset import ANNOTATORS, build_demo_dataset

    from annotator_agreement import compute_agreement

    dataset = build_demo_dataset(tmp_path_factory.mktemp("demo"), f"demo-{os.getpid()}")
    yield dataset, compute_agreement(dataset, list(ANNOTATORS))
    dataset.delete()


def test_the_images_are_there_and_the_boxes_are_on_them(demo):
    dataset, _ = demo
    assert len(dataset) >= 24
    for sample in dataset:
        assert os.path.isfile(sample.filepath)
        assert sample.metadata.width > 50
        for name in ("alice", "bob", "carol"):
            for label in sample[name].detections if sample[name] else []:
                x, y, width, height = label.bounding_box
                assert 0 <= x <= x + width <= 1 + 1e-9
                assert 0 <= y <= y + height <= 1 + 1e-9
                assert width * height > 0


def test_some_images_are_empty_and_some_annotators_not_assigned(demo):
    _, report = demo
    coverage = {entry.name: entry for entry in report.annotators}
    assert report.n_empty >= 1
    assert coverage["alice"].n_not_assigned == 0
    assert coverage["carol"].n_not_assigned >= 3
    assert report.alpha.undefined["one_annotator"] >= 1


def test_the_report_finds_the_annotators_habits(demo):
    _, report = demo
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
