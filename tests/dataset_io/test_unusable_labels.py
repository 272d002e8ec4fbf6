"""Labels that cannot be used: refused in one sentence that names the sample, or left out and counted."""

from __future__ import annotations

import io
import json
import zlib
from typing import Any

import fiftyone as fo
import numpy as np
import pytest
from bson import MaxKey, ObjectId

from tests.dataset_io.masked import masked_dataset
from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused, run_on
from tests.dataset_io.rated import rated_dataset
from tests.dataset_io.shaped import box, shapes_dataset
from tests.datasets import EXAMPLE, stored

from annotator_agreement import dataset_io, load


def _saved(save: Any, array: Any) -> bytes:
    file = io.BytesIO()
    save(file, array)
    return zlib.compress(file.getvalue())


#: headers of numpy files, of their own length
UNCLOSED = b"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 3), "
TOO_LARGE = b"{'descr': '<f8', 'fortran_order': False, 'shape': (9999999, 9999999), }"
UNREADABLE_ARRAYS = {
    **{header: zlib.compress(b"\x93NUMPY\x01\x00\x76\x00" + header.ljust(117) + b"\n" + bytes(99))
       for header in (UNCLOSED, b"{'descr': '|u1' 'x' (((", TOO_LARGE)},
    "npz": _saved(np.savez, np.zeros((3, 3))),
    "half a zip file": zlib.compress(b"PK\x03\x04" + bytes(50)),
    "texts": _saved(np.save, np.array([["a", "b"]])),
    "complex numbers": _saved(np.save, np.zeros((2, 2), np.complex128)),
    "a text instead of bytes": "text",
    "a list instead of bytes": [[0, 1], [1, 1]],
}  # fmt: skip


def _both_ways(dataset: fo.Dataset, fields: list[str], n_invalid: int, **options: Any) -> Any:
    """Refused with the id of the sample, leaving only a failed run; left out and counted with ``invalid="skip"``."""
    sample_id = str(_first(dataset)["_id"])
    refused(sample_id, dataset_io.compute_agreement, dataset, fields, resamples=0, overwrite=True, **options)
    report = dataset_io.compute_agreement(dataset, fields, resamples=0, invalid="skip", overwrite=True, **options)
    assert report.run.n_invalid == n_invalid
    json.dumps(report.to_dict(), allow_nan=False)
    return report


def _set(dataset: fo.Dataset, path: str, value: Any, sample_id: str | None = None) -> None:
    """Change a sample, by default the first one, as a plain driver does."""
    key = _first(dataset)["_id"] if sample_id is None else ObjectId(sample_id)
    dataset._sample_collection.update_one({"_id": key}, {"$set": {path: value}})


def _first(dataset: fo.Dataset) -> dict[str, Any]:
    return dataset._sample_collection.find_one(sort=[("_id", 1)])


@pytest.mark.long
def test_unreadable_masks(make_dataset) -> None:
    """Every one on a sample of its own: the check of one names it, and all of them are left out of a run."""
    n, mask = len(UNREADABLE_ARRAYS), np.eye(4, dtype=np.uint8)
    semantic = masked_dataset(make_dataset, {name: [mask] * n for name in ANNOTATORS})
    label = {name: [box(2, 2, 10, 8, mask=np.ones((8, 10), bool)), box(20, 2, 9, 9)] for name in ANNOTATORS}
    instances = shapes_dataset(make_dataset, *({name: [each.copy() for each in of] for name, of in label.items()}
                                               for _ in range(n)))  # fmt: skip
    paths = masked_dataset(make_dataset, {name: [mask] * 4 for name in ANNOTATORS})
    paths._sample_collection.update_many({}, {"$set": {"alice.mask": None}})
    for dataset, path, contents in (
        (semantic, "alice.mask", UNREADABLE_ARRAYS.values()),
        (instances, "alice.detections.0.mask", UNREADABLE_ARRAYS.values()),
        (paths, "alice.mask_path", [0, ["x"], b"/tmp", "a\x00b"]),  # no texts
    ):
        ids = dataset.values("id")
        for sample_id, content in zip(ids, contents, strict=True):
            _set(dataset, path, content, sample_id)
        for sample_id in ids:
            refused(sample_id, compute_quickly, dataset.select(sample_id), overwrite=True)
        report = compute_quickly(dataset, invalid="skip", overwrite=True)
        assert report.run.n_invalid == len(contents)
        json.dumps(report.to_dict(), allow_nan=False)


@pytest.mark.long
def test_entries_of_label_lists_that_are_no_labels(lend) -> None:
    for entry in (None, "text", 5, [1], {}, {"label": "cat"}):
        dataset = lend(run_on())
        n_objects = load(dataset).report.n_objects
        dataset_io.delete_agreement(dataset)
        labels = _first(dataset)["alice"]["detections"]
        _set(dataset, "alice.detections", [entry, *labels])
        changed = stored(dataset)
        report = _both_ways(dataset, list(EXAMPLE), 1)
        # the labels behind it got their own verdicts
        labels = _first(dataset)["alice"]["detections"]
        assert labels[0] == entry
        assert [label["agreement"] for label in labels[1:]] == ["agreed", "agreed"]
        assert report.n_objects == n_objects
        dataset_io.delete_agreement(dataset)
        assert stored(dataset)["samples"] == changed["samples"]


#: paths by type of the labels
NO_TEXTS = {"Classification": "alice.label", "StringField": "alice", "Classifications": "alice.classifications.0.label",
            "Detections": "alice.detections.0.label"}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("kind", NO_TEXTS)
def test_classes_and_tags_that_are_no_texts(make_dataset, lend, kind: str) -> None:
    for value in (["cat"], {"a": 1}):
        if kind == "Detections":
            dataset = lend(run_on())
        else:
            given = ["cat", "dog"] if kind != "Classifications" else [["cat"], ["dog"]]
            dataset = rated_dataset(make_dataset, dict.fromkeys(ANNOTATORS, given), kind)
        _set(dataset, NO_TEXTS[kind], value)
        _both_ways(dataset, ANNOTATORS, 1)
    if kind != "Detections":
        run = load(dataset)
        assert (run.changed(), run.decisions.decide("skip", all=True, preview=True).n_left_out) == (0, 0)
        assert [run.on(dataset.skip(k).limit(1)).report.run.n_invalid for k in range(2)] == [1, 0]


def test_labels_without_an_annotator_are_left_out_where_one_field_has_all(make_dataset) -> None:
    dataset = make_dataset({})
    labels = [fo.Detection(label="cat", bounding_box=[0.1, 0.1, 0.2, 0.2], who=name) for name in ("a", "b")]
    dataset.add_samples([fo.Sample("/1.jpg", all=fo.Detections(detections=labels))], dynamic=True)
    _set(dataset, "all.detections.2", None)
    report = compute_quickly(dataset, "all", annotator_attribute="who", invalid="skip")
    assert (report.run.n_invalid, report.run.n_unknown, report.n_objects) == (1, 0, 2)
    refused("Labels must be", compute_quickly, dataset, "all", annotator_attribute="who", overwrite=True)


@pytest.mark.long
def test_a_short_campaign_of_random_options(private_fiftyone) -> None:
    from tools.stress.options import options

    outcome = options(seed=51, rounds=1)
    assert outcome.failed == 0, "\n".join(outcome.examples)


def _with_sizes(dataset: fo.Dataset) -> fo.Dataset:
    dataset.set_values("metadata", [fo.ImageMetadata(width=60, height=40)] * len(dataset))
    return dataset


def test_exports_leave_out_and_count_what_are_no_labels(make_dataset, tmp_path) -> None:
    dataset = _with_sizes(make_dataset())
    for entry in (5, b"x", MaxKey(), None, "text"):
        _set(dataset, "alice.detections.0", entry)
        for format in ("coco", "label_studio", "csv"):
            path = tmp_path / f"{format}.{'csv' if format == 'csv' else 'json'}"
            summary = dataset_io.export_annotations(dataset, list(EXAMPLE), path, format=format, overwrite=True)
            assert summary.left_out == ("entries of label lists that are no labels: 1 (/images/0.jpg)",), entry
            assert summary.changed == ()


@pytest.mark.long
def test_exports_leave_out_and_count_samples_without_a_file(lend, tmp_path) -> None:
    for filepath in (5, None, ["/1.jpg"]):
        dataset = _with_sizes(lend(run_on()))
        _set(dataset, "filepath", filepath)
        for labels in (list(EXAMPLE), "agreement"):
            for ending, format in ((".json", "label_studio"), (".csv", "csv"), (".json", "coco")):
                path = tmp_path / f"x{ending}"
                summary = dataset_io.export_annotations(dataset, labels, path, format=format, overwrite=True)
                assert summary.n_images == len(dataset) - 1
                assert summary.left_out == (f"samples without the path of a file: 1 ({_first(dataset)['_id']})",)
        assert dataset_io.import_annotations(dataset, path, prefix="im_").left_out == ()
        dataset_io.export_agreement(dataset, path=tmp_path / "x.html", overwrite=True)


@pytest.mark.long
def test_exports_need_sizes_that_images_can_have_and_boxes_none(make_dataset, tmp_path) -> None:
    dataset, path = _with_sizes(make_dataset()), tmp_path / "x.json"
    dataset_io.export_annotations(dataset, list(EXAMPLE), path)
    for k, width in enumerate(("6o", float("inf"), [60], 1e300, -60, float("nan"), True)):
        _set(dataset, "metadata.width", width)
        compute_quickly(dataset, overwrite=True)
        message = r"must have an image size to be exported, got 1 without"
        refused(message, dataset_io.export_annotations, dataset, list(EXAMPLE), path, overwrite=True)
        assert dataset_io.import_annotations(dataset, path, prefix=f"im{k}_").is_written
        assert _first(dataset)["metadata"]["width"] == 60
