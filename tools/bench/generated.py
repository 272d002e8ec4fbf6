"""Generated annotations of known size and noise: columns for the kernels, documents and datasets for MongoDB."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from bson import ObjectId
from numpy.typing import NDArray
from pymongo import UpdateOne

from tools.dev.plugin import load_plugin

if TYPE_CHECKING:
    import fiftyone as fo

ANNOTATORS = ("alice", "bob", "carol")
N_CLASSES = 80
OBJECTS_PER_SAMPLE = 7.3
MISS_RATE = 0.08
FLIP_RATE = 0.06
CORNER_JITTER = 0.06
EXTRA_PER_ANNOTATOR = 0.4
SEED = 51


@dataclasses.dataclass(frozen=True, slots=True)
class GeneratedBoxes:
    """Boxes of several annotators, one row per object, sorted by (sample, annotator)."""

    sample: NDArray[np.int64]  #: shape ``(N,)``, index of the sample
    annotator: NDArray[np.int64]  #: shape ``(N,)``, index into the annotators' names
    label: NDArray[np.int64]  #: shape ``(N,)``, class number
    boxes_xywh_rel: NDArray[np.float64]  #: shape ``(N, 4)``, relative ``(x, y, width, height)``
    n_samples: int  #: number of samples, including samples without boxes
    n_annotators: int  #: number of annotators
    #: shape ``(n_samples, n_annotators)``, who looked at which sample; None: everybody at all
    asked: NDArray[np.bool_] | None = None

    def of_rows(self, rows: NDArray[Any] | slice) -> GeneratedBoxes:
        """Some of the boxes."""
        names = ("sample", "annotator", "label", "boxes_xywh_rel")
        return dataclasses.replace(self, **{name: getattr(self, name)[rows] for name in names})

    @property
    def assigned(self) -> NDArray[np.bool_]:
        """Who looked at which sample, shape ``(n_samples, n_annotators)``."""
        return np.ones((self.n_samples, self.n_annotators), np.bool_) if self.asked is None else self.asked


def random_boxes(n: int, rng: np.random.Generator, sides: tuple[float, float] = (0.05, 0.35)) -> NDArray[np.float64]:
    """Boxes ``(N, 4)`` anywhere on an image, as :class:`GeneratedBoxes` has them."""
    size = rng.uniform(*sides, (n, 2))
    return np.hstack([rng.uniform(0.0, 1.0 - size), size])


def generate(n_samples: int, n_annotators: int = len(ANNOTATORS), seed: int = SEED) -> GeneratedBoxes:
    """Draw true objects, then each annotator's noisy version of them."""
    rng = np.random.default_rng(seed)
    true_sample = np.repeat(np.arange(n_samples), rng.poisson(OBJECTS_PER_SAMPLE, n_samples))
    true_boxes = random_boxes(len(true_sample), rng)
    true_label = rng.integers(0, N_CLASSES, len(true_sample))
    parts = []
    for annotator in range(n_annotators):
        seen = rng.random(len(true_sample)) >= MISS_RATE
        sample, boxes, label = true_sample[seen], true_boxes[seen], true_label[seen].copy()
        flipped = rng.random(len(label)) < FLIP_RATE
        label[flipped] = rng.integers(0, N_CLASSES, int(flipped.sum()))
        low, size = boxes[:, :2], boxes[:, 2:]
        corner_a = low + rng.normal(0.0, CORNER_JITTER, low.shape) * size
        corner_b = low + size + rng.normal(0.0, CORNER_JITTER, low.shape) * size
        corner_a, corner_b = np.clip(corner_a, 0, 1), np.clip(corner_b, 0, 1)
        drawn = np.hstack([np.minimum(corner_a, corner_b), np.abs(corner_b - corner_a)])
        extra_sample = np.repeat(np.arange(n_samples), rng.poisson(EXTRA_PER_ANNOTATOR, n_samples))
        sample = np.concatenate([sample, extra_sample])
        drawn = np.concatenate([drawn, random_boxes(len(extra_sample), rng)])
        label = np.concatenate([label, rng.integers(0, N_CLASSES, len(extra_sample))])
        parts.append((sample, np.full(len(sample), annotator), label, drawn))
    sample, annotator, label, boxes = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((annotator, sample))
    return GeneratedBoxes(sample[order], annotator[order], label[order], boxes[order], n_samples, n_annotators)


def batch_of(data: GeneratedBoxes) -> Any:
    """The boxes as what is compared at once."""
    load_plugin()
    from annotator_agreement.agreement.matching.tables import Batch
    from annotator_agreement.metrics import Objects
    from annotator_agreement.metrics.geometry.boxes import Boxes

    boxes = data.boxes_xywh_rel.copy()
    boxes[:, 2:] += boxes[:, :2]
    return Batch(Objects(data.sample, data.annotator, data.label + 1), Boxes(boxes), data.assigned)


def context_of(
    n_annotators: int, classes: Sequence[str], kind: str = "Detections", *, resamples: int = 0, **details: Any
) -> Any:
    """The context of a report on ``worker 1``, ``worker 2`` …, without intervals by default."""
    load_plugin()
    from annotator_agreement.agreement import make_config
    from annotator_agreement.agreement.statistics.report import ReportContext, RunFacts

    config = make_config([f"worker {k + 1}" for k in range(n_annotators)], resamples=resamples)
    return ReportContext(config, config.annotators, ["(missing)", *classes], [kind], RunFacts(), details=details)


def report_on(data: GeneratedBoxes) -> Any:
    """The report without intervals and other thresholds."""
    context = context_of(data.n_annotators, [f"class {k}" for k in range(int(data.label.max()) + 1)])
    from annotator_agreement.agreement.families.family import build_report
    from annotator_agreement.agreement.matching.compute import compute_agreement_of
    from annotator_agreement.agreement.objects.records import record

    return build_report(record(compute_agreement_of(batch_of(data), context.config)), context)


def documents(data: GeneratedBoxes, dataset_id: ObjectId, names: Sequence[str]) -> Iterator[dict]:
    """The samples as FiftyOne stores them."""
    now = datetime.now(timezone.utc)
    starts = np.searchsorted(data.sample, np.arange(data.n_samples + 1))
    annotator, label = data.annotator.tolist(), data.label.tolist()
    boxes = data.boxes_xywh_rel.tolist()
    for index in range(data.n_samples):
        fields: list[list[dict]] = [[] for _ in names]
        for row in range(starts[index], starts[index + 1]):
            drawn = {"label": f"class_{label[row]:02d}", "bounding_box": boxes[row]}
            fields[annotator[row]].append({"_id": ObjectId(), "_cls": "Detection", "tags": [], **drawn})
        yield {
            "filepath": f"/nowhere/{index:06d}.jpg",
            "tags": [],
            "_media_type": "image",
            "_rand": index / data.n_samples,
            "_dataset_id": dataset_id,
            "created_at": now,
            "last_modified_at": now,
            **{
                name: {"_cls": "Detections", "detections": detections}
                for name, detections in zip(names, fields, strict=True)
            },
        }


def make_dataset(name: str, n_samples: int, annotators: Sequence[str] = ANNOTATORS) -> fo.Dataset:
    """A dataset of generated boxes, written to the database as FiftyOne would."""
    import fiftyone as fo

    dataset = fo.Dataset(name, persistent=True, overwrite=True)
    for annotator in annotators:
        dataset.add_sample_field(annotator, fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    samples = documents(generate(n_samples, len(annotators)), dataset._doc.id, annotators)
    while batch := list(islice(samples, 1_000)):
        dataset._sample_collection.insert_many(batch)
    dataset.reload()
    return dataset


@functools.cache
def shared_dataset(n_samples: int, annotators: Sequence[str] = ANNOTATORS) -> fo.Dataset:
    """A dataset that the benches of one process share; whoever changes it brings the labels back."""
    return make_dataset(f"bench-{n_samples}-{len(annotators)}", n_samples, annotators)


def floor_seconds(dataset: fo.Dataset) -> float:
    """Seconds of plain pymongo, in one thread: read ids, time stamps, classes and boxes, then write what a run writes.

    That is 7 + 5 x labels values of every sample, in one bulk; as in a run, no time stamp moves, which is an index.
    """
    collection = dataset._sample_collection
    started = time.perf_counter()
    leaves = {f"{name}.detections.{leaf}": True for name in ANNOTATORS for leaf in ("_id", "label", "bounding_box")}
    operations = []
    for document in list(collection.find({}, {"last_modified_at": True, **leaves})):
        values: dict[str, Any] = {f"floor_{k}": 0.8125 for k in range(4)} | {f"floor_{k}": 3 for k in range(4, 7)}
        for name in ANNOTATORS:
            for k, label in enumerate(document[name]["detections"]):
                path = f"{name}.detections.{k}.floor"
                values |= {path: "agreed", f"{path}_id": str(label["_id"])}
                values |= {f"{path}_iou": 0.8125, f"{path}_n": 3, f"{path}_of": 3}
        operations.append(UpdateOne({"_id": document["_id"]}, {"$set": values}))
    collection.bulk_write(operations, ordered=False)
    seconds = time.perf_counter() - started
    attributes = [f"{name}.detections.floor{leaf}" for name in ANNOTATORS for leaf in ("", "_id", "_iou", "_n", "_of")]
    collection.update_many({}, [{"$unset": [f"floor_{k}" for k in range(7)] + attributes}])
    return seconds
