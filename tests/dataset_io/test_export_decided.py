"""Decided labels as files: read back by FiftyOne, against the documents of the database."""

from __future__ import annotations

import json
from pathlib import Path

import fiftyone as fo
import fiftyone.types as fot
import numpy as np
import pytest

from tests.dataset_io.quick_runs import compute_quickly, refused
from tests.dataset_io.said import said_dataset
from tests.dataset_io.unit_oracle import current_decisions
from tests.datasets import random_annotators

from annotator_agreement.dataset_io import decide, export_decided


def _made(make_dataset):
    """Decided: what two drew on the first 12 images, lone objects on the next; the others skipped, or open."""
    dataset = make_dataset(random_annotators(30, seed=4))
    dataset.set_values("metadata", [fo.ImageMetadata(width=400, height=250)] * len(dataset))
    compute_quickly(dataset)
    decide(dataset.limit(12), choice="version", annotator="bob", min_votes=2)
    decide(dataset[12:20], choice="none", verdict="lone")
    decide(dataset[20:24], choice="skip", all=True)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_made)


def _decided_documents(dataset):
    """The documents with decisions that are none for later."""
    documents = dataset._sample_collection.find({})
    return [each for each in documents
            if any(one["choice"] != "skip" for one in current_decisions(each))]  # fmt: skip


def test_the_decided_boxes_come_back_and_other_images_are_not_in_the_file(dataset, tmp_path):
    someone = dataset[25:26].first()  # a label that nobody decided on, and one on a decided image
    for sample in (someone, dataset.match(fo.ViewField("agreement_gold.detections").length() > 0).first()):
        found = sample["agreement_gold"] or fo.Detections()
        found.detections.append(fo.Detection(label="unrecorded", bounding_box=[0.1, 0.2, 0.3, 0.1]))
        sample["agreement_gold"] = found
        sample.save()
    before = list(dataset._sample_collection.find({}))
    done = export_decided(dataset, tmp_path / "gold.json", progress=False)
    assert list(dataset._sample_collection.find({})) == before
    documents = _decided_documents(dataset)
    decided_ids = {one["gold_id"] for each in documents for one in each["agreement_gold_decisions"]}
    expected = {
        each["filepath"]: sorted((label["label"], *np.round(label["bounding_box"], 6).tolist())
                                 for label in (each.get("agreement_gold") or {}).get("detections", [])
                                 if label["_id"] in decided_ids)
        for each in documents
    }  # fmt: skip
    folder = tmp_path / "images"
    folder.mkdir()
    for image in json.loads((tmp_path / "gold.json").read_text())["images"]:
        (folder / image["file_name"]).touch()
    of_coco = {"dataset_type": fot.COCODetectionDataset, "data_path": str(folder), "labels_path": done.path}
    back = fo.Dataset.from_dir(**of_coco)  # as FiftyOne reads it
    labels = dict(zip(*back.values(["filepath", "detections.detections"]), strict=True))
    back.delete()
    assert expected == {
        f"/images/{Path(path).name}": sorted((one.label, *np.round(one.bounding_box, 6).tolist()) for one in of or [])
        for path, of in labels.items()
    }
    n_labels = sum(map(len, expected.values()))
    n_empty = list(expected.values()).count([])
    assert (done.n_labels, done.n_images, done.n_empty, done.n_of) == (n_labels, len(expected), n_empty, 30)
    assert n_labels > 10 < len(expected) < 21
    assert n_empty > 2
    assert done.n_left_out == 1
    told = f"Exported {n_labels} labels on {len(expected)} of 30 images, {n_empty} of them with no object"
    assert done.told("Exported") == f"{told}; left out: 1 label on which nobody decided"
    assert repr(done).startswith(f"<{told}; left out")


def test_a_view_is_exported_alone_a_file_is_not_replaced_unasked_and_images_of_one_name_stay_apart(dataset, tmp_path):
    path = tmp_path / "gold.json"

    def exported():
        return {f"/images/{each['file_name']}" for each in json.loads(path.read_text())["images"]}

    assert export_decided(dataset.limit(3), path).n_of == 3
    assert exported() <= {"/images/0.jpg", "/images/1.jpg", "/images/2.jpg"}
    dataset.set_values("filepath", [f"/images/{k % 2}/{k // 2}.jpg" for k in range(len(dataset))])
    refused("say overwrite=True", export_decided, dataset, path)
    assert export_decided(dataset, path, overwrite=True).n_images > 5
    assert exported() == {each["filepath"] for each in _decided_documents(dataset)}
    assert [each.name for each in tmp_path.iterdir()] == ["gold.json"]


@pytest.mark.parametrize("kind", ["labels", "texts", "tags", "numbers"])
@pytest.mark.few(2)
def test_what_was_said_of_images_is_in_the_file(make_dataset, tmp_path, kind):
    dataset = said_dataset(make_dataset, kind)
    decide(dataset.limit(10), min_votes=2)
    decide(dataset.skip(20), choice="none", all=True)
    path = tmp_path / ("gold.csv" if kind == "numbers" else "gold.json")
    done = export_decided(dataset, path)

    def said(document):
        held = document.get("agreement_gold") or {}
        if kind == "tags":
            return sorted(label["label"] for label in held["classifications"]) if held else []
        return held.get("value" if kind == "numbers" else "label")

    expected = {each["filepath"].rpartition("/")[2]: said(each) for each in _decided_documents(dataset)}
    if kind == "numbers":
        rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
        back = {name.rpartition("/")[2]: float(value) if value else None for name, value in rows}
    else:
        found = json.loads(path.read_text())["labels"]
        back = {f"{name}.jpg": sorted(value or []) if kind == "tags" else value for name, value in found.items()}
    assert back == expected
    assert done.n_images == len(expected) > done.n_empty > 0


def test_what_cannot_be_exported_is_said_as_labels_without_a_class_until_they_have_one(make_dataset, dataset, tmp_path):
    path, masks = tmp_path / "a.json", said_dataset(make_dataset, "masks", 6)
    decide(masks, choice="version", annotator="alice", all=True)
    refused("must have decisions, but there are none", export_decided, make_dataset(), path)
    message = r"`path` must end in \.json for these labels \(COCO\), got"
    refused(message, export_decided, dataset, tmp_path / "a.csv")
    refused("must have decisions on the samples to be exported, got none", export_decided, dataset.skip(20), path)
    refused("got Segmentation in `agreement_gold`; export the samples with", export_decided, masks, path)
    several = dataset.match(fo.ViewField("agreement_gold.detections").length() > 1)
    for sample in several.limit(2).iter_samples(autosave=True):
        sample.agreement_gold.detections[1].label = None
    without = r"All labels in `agreement_gold` must have a class for COCO, got 2 of \d+ labels without one "
    message = without + r"\(on /images/\d+.jpg, .*; give them one with \*Edit\*"
    refused(message, export_decided, dataset, path)
    assert list(tmp_path.iterdir()) == []
    for sample in several.iter_samples(autosave=True):
        for label in sample.agreement_gold.detections:
            label.label = label.label or "cat"
    assert export_decided(dataset, path).n_labels > 2
    dataset.clear_sample_field("metadata")
    message = r"\d+ images must have a size for COCO, and there is no file"
    refused(message, export_decided, dataset, tmp_path / "b.json")
    assert list(tmp_path.iterdir()) == [path]
