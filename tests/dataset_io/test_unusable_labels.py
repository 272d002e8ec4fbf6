"""Labels that cannot be used: refused in one sentence that names the sample, or left out and counted."""

from __future__ import annotations

import io
import json
import zlib
from typing import Any

import fiftyone as fo
import numpy as np
import pytest
from bson import Int64, MaxKey, ObjectId

from tests.dataset_io.masked import masked_dataset
from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused, run_on
from tests.dataset_io.rated import rated_dataset
from tests.dataset_io.shaped import box, shapes_dataset
from tests.datasets import EXAMPLE, stored

from annotator_agreement import load
from annotator_agreement.dataset_io import (
    compute_agreement,
    delete_agreement,
    export_agreement,
    export_annotations,
    import_annotations,
)


def _packed(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return zlib.compress(file.getvalue())


def _header(text: bytes) -> bytes:
    """A numpy file with a header of its own."""
    padded = text.ljust(117) + b"\n"
    return zlib.compress(b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + bytes(99))


def _npz() -> bytes:
    file = io.BytesIO()
    np.savez(file, np.zeros((3, 3)))
    return zlib.compress(file.getvalue())


UNREADABLE_ARRAYS = {
    "an unclosed header": _header(b"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 3), "),
    "a header that is no Python": _header(b"{'descr': '|u1' 'x' ((("),
    "more pixels than the memory holds": _header(
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (9999999, 9999999), }"
    ),
    "npz": _npz(),
    "half a zip file": zlib.compress(b"PK\x03\x04" + bytes(50)),
    "texts": _packed(np.array([["a", "b"]])),
    "complex numbers": _packed(np.zeros((2, 2), np.complex128)),
    "a text instead of bytes": "text",
    "a number instead of bytes": 5,
    "a list instead of bytes": [[0, 1], [1, 1]],
}


def _both_ways(dataset: fo.Dataset, fields: list[str], n_invalid: int, **options: Any) -> Any:
    """Refused with the id of the sample, leaving only a failed run; left out and counted with ``invalid="skip"``."""
    sample_id = str(_first(dataset)["_id"])
    refused(sample_id, compute_agreement, dataset, fields, resamples=0, overwrite=True, **options)
    report = compute_agreement(dataset, fields, resamples=0, invalid="skip", overwrite=True, **options)
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
    for dataset, path in ((semantic, "alice.mask"), (instances, "alice.detections.0.mask")):
        ids = dataset.values("id")
        for sample_id, content in zip(ids, UNREADABLE_ARRAYS.values(), strict=True):
            _set(dataset, path, content, sample_id)
        for sample_id in ids:
            refused(sample_id, compute_quickly, dataset.select(sample_id), overwrite=True)
        report = compute_quickly(dataset, invalid="skip", overwrite=True)
        assert report.run.n_invalid == n
        json.dumps(report.to_dict(), allow_nan=False)


@pytest.mark.long
def test_paths_of_masks_that_are_no_texts(make_dataset) -> None:
    dataset = masked_dataset(make_dataset, {name: [np.eye(4, dtype=np.uint8)] for name in ANNOTATORS})
    _set(dataset, "alice.mask", None)
    for path in (0, ["x"], b"/tmp", "a\x00b"):
        _set(dataset, "alice.mask_path", path)
        _both_ways(dataset, ANNOTATORS, 1)


@pytest.mark.long
def test_entries_of_label_lists_that_are_no_labels(lend) -> None:
    for entry in (None, "text", 5, [1], {}, {"label": "cat"}):
        dataset = lend(run_on())
        n_objects = load(dataset).report.n_objects
        delete_agreement(dataset)
        labels = _first(dataset)["alice"]["detections"]
        _set(dataset, "alice.detections", [entry, *labels])
        changed = stored(dataset)
        report = _both_ways(dataset, list(EXAMPLE), 1)
        # the labels behind it got their own verdicts
        labels = _first(dataset)["alice"]["detections"]
        assert labels[0] == entry
        assert [label["agreement"] for label in labels[1:]] == ["agreed", "agreed"]
        assert report.n_objects == n_objects
        delete_agreement(dataset)
        assert stored(dataset)["samples"] == changed["samples"]


#: path and values, by type of the labels
NO_TEXTS: dict[str, tuple[str, list[Any]]] = {
    "Classification": ("alice.label", [["cat"], {"a": 1}]),
    "StringField": ("alice", [["cat"], {"a": 1}]),
    "Classifications": ("alice.classifications.0.label", [["cat"], {"a": 1}]),
    "Detections": ("alice.detections.0.label", [["cat"], {"a": 1}, b"cat"]),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", NO_TEXTS)
def test_classes_and_tags_that_are_no_texts(make_dataset, lend, kind: str) -> None:
    path, values = NO_TEXTS[kind]
    for value in values:
        if kind == "Detections":
            dataset = lend(run_on())
        else:
            given = ["cat", "dog"] if kind != "Classifications" else [["cat"], ["dog"]]
            dataset = rated_dataset(make_dataset, dict.fromkeys(ANNOTATORS, given), kind)
        _set(dataset, path, value)
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


def test_keypoints_far_away_are_not_usable(make_dataset) -> None:
    values = [1e9 * 1.01, 1e60, 1e150, 1e307, -1.7e308]
    dataset, size = make_dataset({}), fo.ImageMetadata(width=60, height=40)
    for k in range(len(values)):
        points = [fo.Keypoint(label="x", points=[(0.1, 0.1), (0.5, 0.5)]) for _ in "ab"]
        given = {name: fo.Keypoints(keypoints=[point]) for name, point in zip(("alice", "bob"), points, strict=True)}
        dataset.add_sample(fo.Sample(f"/{k}.jpg", metadata=size, **given))
    for sample_id, value in zip(dataset.values("id"), values, strict=True):
        _set(dataset, "alice.keypoints.0.points.1.0", value, sample_id)
    _both_ways(dataset, ["alice", "bob"], len(values))


def test_intervals_of_64_bit_integers(make_videos) -> None:
    dataset = make_videos([{}])
    for name in ("alice", "bob"):
        dataset.add_sample_field(name, fo.EmbeddedDocumentField, embedded_doc_type=fo.TemporalDetections)
        made = fo.TemporalDetection(label="x", support=[1, 10])
        dataset.set_values(name, [fo.TemporalDetections(detections=[made])])
        _set(dataset, f"{name}.detections.0.support", [Int64(1), Int64(10)])
    assert compute_quickly(dataset, ["alice", "bob"]).n_units == 1


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
            summary = export_annotations(dataset, list(EXAMPLE), path, format=format, overwrite=True)
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
                summary = export_annotations(dataset, labels, path, format=format, overwrite=True)
                assert summary.n_images == len(dataset) - 1
                assert summary.left_out == (f"samples without the path of a file: 1 ({_first(dataset)['_id']})",)
        assert import_annotations(dataset, path, prefix="im_").left_out == ()
        export_agreement(dataset, path=tmp_path / "x.html", overwrite=True)


@pytest.mark.long
def test_exports_need_sizes_that_images_can_have_and_boxes_none(make_dataset, tmp_path) -> None:
    dataset, path = _with_sizes(make_dataset()), tmp_path / "x.json"
    export_annotations(dataset, list(EXAMPLE), path)
    for k, width in enumerate(("6o", float("inf"), [60], 1e300, -60, float("nan"), True)):
        _set(dataset, "metadata.width", width)
        compute_quickly(dataset, overwrite=True)
        message = r"must have an image size to be exported, got 1 without"
        refused(message, export_annotations, dataset, list(EXAMPLE), path, overwrite=True)
        assert import_annotations(dataset, path, prefix=f"im{k}_").is_written
        assert _first(dataset)["metadata"]["width"] == 60
