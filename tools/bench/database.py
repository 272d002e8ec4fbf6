"""The generated annotations as a FiftyOne dataset, and the time of MongoDB alone to read and write them."""

from __future__ import annotations

import time
from itertools import islice
from typing import Any

import fiftyone as fo
from pymongo import UpdateOne

from .generated import ANNOTATORS, documents, generate

_BATCH = 1_000


def make_dataset(name: str, n_samples: int, annotators: tuple[str, ...] = ANNOTATORS) -> fo.Dataset:
    """A dataset of generated boxes, written to the database as FiftyOne would."""
    dataset = fo.Dataset(name, persistent=True, overwrite=True)
    for annotator in annotators:
        dataset.add_sample_field(annotator, fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    samples = documents(generate(n_samples, len(annotators)), dataset._doc.id, annotators)
    while batch := list(islice(samples, _BATCH)):
        dataset._sample_collection.insert_many(batch)
    dataset.reload()
    return dataset


def floor_seconds(dataset: fo.Dataset) -> float:
    """Seconds of plain pymongo, in one thread: read ids, time stamps, classes and boxes, then write what a run writes.

    That is 7 + 5 x labels values of every sample, in one bulk; as in a run, no time stamp moves, which is an index.
    """
    collection = dataset._sample_collection
    started = time.perf_counter()
    leaves = {f"{name}.detections.{leaf}": True for name in ANNOTATORS for leaf in ("_id", "label", "bounding_box")}
    read = list(collection.find({}, {"last_modified_at": True, **leaves}))
    operations = [UpdateOne({"_id": document["_id"]}, {"$set": _values(document)}) for document in read]
    collection.bulk_write(operations, ordered=False)
    seconds = time.perf_counter() - started
    attributes = [f"{name}.detections.floor{leaf}" for name in ANNOTATORS for leaf in ("", "_id", "_iou", "_n", "_of")]
    collection.update_many({}, [{"$unset": [f"floor_{k}" for k in range(7)] + attributes}])
    return seconds


def _values(document: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {f"floor_{k}": 0.8125 for k in range(4)} | {f"floor_{k}": 3 for k in range(4, 7)}
    for name in ANNOTATORS:
        for k, label in enumerate(document[name]["detections"]):
            path = f"{name}.detections.{k}.floor"
            values[path] = "agreed"
            values[f"{path}_id"] = str(label["_id"])
            values[f"{path}_iou"] = 0.8125
            values[f"{path}_n"] = 3
            values[f"{path}_of"] = 3
    return values
