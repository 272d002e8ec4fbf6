"""The verdicts ``split`` and ``duplicate``: one annotator drew an object in parts, or twice."""

from __future__ import annotations

import fiftyone as fo

from tests.dataset_io.shaped import box, shapes_dataset

from annotator_agreement.dataset_io import compute_agreement

PAIR = ["alice", "bob"]


def _verdicts(dataset, name, run_key="agreement"):
    return [label[run_key] for label in dataset.first()[name][dataset.first()[name]._LABEL_LIST_FIELD]]


def test_the_label_with_the_larger_id_is_the_duplicate_wherever_it_stands_in_the_list(make_dataset):
    first, second = box(4, 3, 20, 10), box(4, 3, 20, 9.5)
    assert first.id < second.id
    dataset = shapes_dataset(make_dataset, {"alice": [second, first], "bob": []})
    compute_agreement(dataset, PAIR)
    assert _verdicts(dataset, "alice") == ["duplicate", "lone"]


def test_a_duplicate_outside_the_view_is_none(make_dataset):
    first, second = box(4, 3, 20, 10, confident=True), box(4, 3, 20, 9.5, confident=False)
    dataset = shapes_dataset(make_dataset, {"alice": [second, first], "bob": [box(30, 3, 5, 5, confident=True)]})
    view = dataset.filter_labels("alice", fo.ViewField("confident") == False)  # noqa: E712
    compute_agreement(view, PAIR)
    assert [getattr(label, "agreement", None) for label in dataset.first().alice.detections] == ["lone", None]
