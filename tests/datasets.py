"""Small datasets, and what a database holds of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import fiftyone as fo
import numpy as np
from bson import ObjectId
from fiftyone.core.odm import get_db_conn
from pymongo import IndexModel

#: a label: class and relative box (x, y, width, height)
Label = tuple[str, Sequence[float]]

#: three annotators on five samples: full agreement, a class conflict and a miss, an image that all left empty, one that
#: only two were assigned to, and one that only alice was
EXAMPLE: dict[str, list[list[Label] | None]] = {
    "alice": [
        [("cat", (0.1, 0.1, 0.2, 0.4)), ("dog", (0.5, 0.5, 0.3, 0.2))],
        [("cat", (0.1, 0.2, 0.4, 0.2)), ("dog", (0.6, 0.6, 0.2, 0.3))],
        [],
        [("dog", (0.2, 0.2, 0.5, 0.3))],
        [("cat", (0.3, 0.1, 0.2, 0.2))],
    ],
    "bob": [
        [("cat", (0.1, 0.1, 0.2, 0.4)), ("dog", (0.5, 0.5, 0.3, 0.2))],
        [("dog", (0.1, 0.2, 0.4, 0.25)), ("dog", (0.6, 0.6, 0.2, 0.25))],
        [],
        [],
        None,
    ],
    "carol": [
        [("cat", (0.1, 0.1, 0.2, 0.4)), ("dog", (0.5, 0.5, 0.3, 0.2))],
        [("cat", (0.12, 0.2, 0.4, 0.2))],
        [],
        None,
        None,
    ],
}


def detections(labels: Sequence[Label] | None, **attributes: Any) -> fo.Detections | None:
    """A label list, None where the annotator was not assigned."""
    if labels is None:
        return None
    drawn = [fo.Detection(label=label, bounding_box=list(box), **attributes) for label, box in labels]
    return fo.Detections(detections=drawn)


def join_fields(dataset: fo.Dataset, fields: Sequence[str], field: str) -> None:
    """Write one field in which labels name their annotator, and a field that lists who was assigned."""
    for sample in dataset.iter_samples(autosave=True):
        drawn = {name: sample[name].copy().detections for name in fields if sample[name] is not None}
        for name, labels in drawn.items():
            for label in labels:
                label["annotator"] = name
        labels = [label for labels in drawn.values() for label in labels]
        sample[field] = fo.Detections(detections=labels) if drawn else None
        sample[f"{field}_assigned"] = list(drawn) or None


def frames_of(*labels: Sequence[Label] | None) -> list[fo.Detections | None]:
    """A label list for every frame of a video."""
    return [detections(entry) for entry in labels]


def boxes_dataset(
    name: str,
    annotators: Mapping[str, Sequence[Sequence[Label] | None]] | None = None,
    then: Callable[[fo.Dataset], None] | None = None,
) -> fo.Dataset:
    """A dataset with one label field an annotator (the example by default).

    FiftyOne makes the first one of the same labels. What it stored of that is stored again for others, which takes a
    third of the time.

    Args:
        name: of the dataset
        annotators: the labels of every annotator
        then: changes samples of the first one, and so of the others
    """
    annotators = EXAMPLE if annotators is None else annotators
    key = repr(annotators), then
    if key not in _MADE:
        dataset = _boxes_dataset(name, annotators)
        if then is not None:
            then(dataset)
        document = get_db_conn().datasets.find_one({"_id": dataset._doc.id})
        indexes = dataset._sample_collection.index_information()
        _MADE[key] = document, list(dataset._sample_collection.find({}).sort("_id")), indexes
        return dataset
    document, samples, indexes = _MADE[key]
    dataset_id = ObjectId()
    collection = get_db_conn()[f"samples.{dataset_id}"]
    own = {"_id": dataset_id, "name": name, "slug": name, "sample_collection_name": collection.name}
    get_db_conn().datasets.insert_one(document | own)
    models = [IndexModel(index["key"], name=each) for each, index in indexes.items() if each != "_id_"]
    collection.create_indexes(models)
    if samples:
        collection.insert_many([_with_new_ids(sample) | {"_dataset_id": dataset_id} for sample in samples])
    return fo.load_dataset(name)


#: what is stored of datasets of boxes, by the labels: the document, the samples and the indexes
_MADE: dict[tuple[str, Any], tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]] = {}


def _with_new_ids(value: Any) -> Any:
    """The documents in a document with ids of their own."""
    if isinstance(value, dict):
        return {name: ObjectId() if name == "_id" else _with_new_ids(entry) for name, entry in value.items()}
    return [_with_new_ids(entry) for entry in value] if isinstance(value, list) else value


def _boxes_dataset(name: str, annotators: Mapping[str, Sequence[Sequence[Label] | None]]) -> fo.Dataset:
    dataset = fo.Dataset(name, persistent=True)
    # all at once: add_sample_field() saves and reads the dataset for every field
    dataset._merge_sample_field_schema({field: fo.EmbeddedDocumentField(fo.Detections) for field in annotators})
    n_samples = max(map(len, annotators.values()), default=0)
    drawn = [{field: detections(labels[k]) for field, labels in annotators.items()} for k in range(n_samples)]
    dataset.add_samples([fo.Sample(f"/images/{k}.jpg", **labels) for k, labels in enumerate(drawn)])
    return dataset


def videos_dataset(
    name: str, videos: Sequence[Mapping[str, Sequence[Any]]], size: tuple[int, int] | None = (200, 100)
) -> fo.Dataset:
    """A dataset of videos, each with one list an annotator: the value of their field on frame 1, 2 …

    None on a frame leaves the field unset there; ``size`` is width and height of the frames in pixels.
    """
    dataset = fo.Dataset(name, persistent=True)
    dataset.media_type = "video"
    samples = []
    for k, of_annotators in enumerate(videos):
        sample = fo.Sample(filepath=f"/videos/{k}.mp4")
        if size is not None:
            sample.metadata = fo.VideoMetadata(frame_width=size[0], frame_height=size[1])
        for number in range(1, 1 + max(map(len, of_annotators.values()), default=0)):
            values = {field: labels[number - 1] for field, labels in of_annotators.items()}
            sample.frames[number] = fo.Frame(**{field: value for field, value in values.items() if value is not None})
        samples.append(sample)
    dataset.add_samples(samples)
    return dataset


def random_annotators(
    n_samples: int, names: Sequence[str] = ("alice", "bob", "carol"), seed: int = 51
) -> dict[str, list[list[Label] | None]]:
    """Noisy versions of random true boxes; some samples empty, some annotators not assigned."""
    rng = np.random.default_rng(seed)
    result: dict[str, list[list[Label] | None]] = {name: [] for name in names}
    for _ in range(n_samples):
        n = int(rng.integers(0, 7))
        low = rng.uniform(0.05, 0.5, (n, 2))
        size = rng.uniform(0.1, 0.4, (n, 2))
        classes = rng.choice(["cat", "dog", "owl"], n)
        for name in names:
            if rng.random() < 0.1:
                result[name].append(None)
                continue
            labels: list[Label] = []
            for k in np.flatnonzero(rng.random(n) < 0.85).tolist():
                box = np.concatenate([low[k] + rng.normal(0, 0.02, 2), size[k] * rng.uniform(0.85, 1.15, 2)])
                label = str(rng.choice(["cat", "dog", "owl"])) if rng.random() < 0.15 else str(classes[k])
                labels.append((label, box.tolist()))
            result[name].append(labels)
    return result


def random_videos(
    lengths: Sequence[int], names: Sequence[str] = ("alice", "bob", "carol"), seed: int = 51
) -> list[dict[str, list[fo.Detections | None]]]:
    """Random boxes, as those of :func:`random_annotators`, on the frames of videos of these lengths."""
    labels, ends = random_annotators(sum(lengths), names, seed), list(itertools.accumulate(lengths))
    return [{name: frames_of(*of[end - n : end]) for name, of in labels.items()}
            for n, end in zip(lengths, ends, strict=True)]  # fmt: skip


def grouped_dataset(make_dataset: Any, slices: Mapping[str, Sequence[fo.Sample]]) -> fo.Dataset:
    """A dataset of groups: the first samples of all slices are one group, the second ones another …"""
    dataset = make_dataset({})
    dataset.add_group_field("group", default=next(iter(slices)))
    for samples in zip(*slices.values(), strict=True):
        group = fo.Group()
        for name, sample in zip(slices, samples, strict=True):
            sample["group"] = group.element(name)
        dataset.add_samples(samples, dynamic=True)
    return dataset


def stored(dataset: fo.Dataset) -> dict[str, Any]:
    """Everything the database holds of a dataset, but for time stamps that any access changes."""
    database = get_db_conn()
    samples, frames = (list(collection.find({}).sort("_id")) for collection in _collections(dataset))
    document = database.datasets.find_one({"_id": dataset._doc.id})
    for entry in samples + frames:
        entry.pop("last_modified_at", None)
    for key in ("last_modified_at", "last_loaded_at"):
        document.pop(key, None)
    return {
        "samples": list(map(repr, samples)),  # as text, in which nan equals nan
        "frames": list(map(repr, frames)),
        "dataset": document,
        "indexes": [sorted(collection.index_information()) for collection in _collections(dataset)],
        "runs": sorted(str(run["_id"]) for run in database.runs.find({"_dataset_id": dataset._doc.id})),
        "n_files": database["fs.files"].count_documents({}),
        "n_chunks": database["fs.chunks"].count_documents({}),
    }


class Kept:
    """All that the database holds of a dataset, to be put back as often as it is asked for.

    This takes a tenth of the time of making the dataset and a run. Files of results are kept if they are files of runs.
    """

    def __init__(self, dataset: fo.Dataset) -> None:
        database, of_dataset = get_db_conn(), {"_dataset_id": dataset._doc.id}
        runs = list(database.runs.find(of_dataset))
        ids = [run["config"].get(name) for run in runs for name in ("results_id", "previous")]
        files = [*(run.get("results") for run in runs), *(f"annotator_agreement/{each}" for each in ids if each)]
        queries = [
            (database.datasets, {"_id": dataset._doc.id}),
            *((database[name], of_dataset) for name in ("runs", "views", "workspaces")),
            *(
                (database[f"fs.{name}"], {key: {"$in": files}})
                for name, key in (("files", "_id"), ("chunks", "files_id"))
            ),
            *((collection, {}) for collection in _collections(dataset)),
        ]
        self._dataset = dataset
        self._documents = [(collection, query, list(collection.find(query))) for collection, query in queries]
        self._indexes = [(collection, collection.index_information()) for collection in _collections(dataset)]

    def put_back(self) -> fo.Dataset:
        """The dataset as it was."""
        for collection, query, documents in self._documents:
            if list(collection.find(query)) != documents:
                collection.delete_many(query)
                if documents:
                    collection.insert_many(documents)
        for collection, indexes in self._indexes:
            found = collection.index_information()
            for name in found.keys() - indexes.keys():
                collection.drop_index(name)
            missing = [IndexModel(indexes[name]["key"], name=name) for name in indexes.keys() - found.keys()]
            if missing:
                collection.create_indexes(missing)
        self._dataset.clear_cache()
        self._dataset.reload()
        return self._dataset


class Lent:
    """A dataset that tests have one after the other, each as it was made."""

    def __init__(self, make: Callable[[], fo.Dataset]) -> None:
        self._make = make
        self._dataset: fo.Dataset | None = None

    def lend(self) -> fo.Dataset:
        """The dataset as it was made."""
        if self._dataset is not None and not self._dataset.deleted:
            return self._kept.put_back()
        self._dataset = self._make()
        self._kept = Kept(self._dataset)
        return self._dataset


def _collections(dataset: fo.Dataset) -> tuple[Any, Any]:
    """The samples and the frames of a dataset."""
    return dataset._sample_collection, get_db_conn()[f"frames.{dataset._sample_collection_name}"]


def user_values(dataset: fo.Dataset, run_keys: Sequence[str]) -> list[dict[str, Any]]:
    """All samples and frames as documents, without what runs wrote."""

    of_runs = tuple(f"{key}_" for key in run_keys)

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            kept = (name for name in value if name not in run_keys and not name.startswith(of_runs))
            return {name: without(value[name]) for name in kept}
        return [without(entry) for entry in value] if isinstance(value, list) else value

    found = [document for collection in _collections(dataset) for document in collection.find({}).sort("_id")]
    documents = [without(document) for document in found]
    for document in documents:
        document.pop("last_modified_at", None)
    return documents


def with_regions(
    make_dataset: Any, seed: int, *, in_one_field: bool, names: Sequence[str] = tuple(EXAMPLE), n_samples: int = 12
) -> tuple[fo.Dataset, list[str], dict[str, str]]:
    """Random boxes, with crowd regions, several of them on one image: a dataset, its fields, and options of a run."""
    rng = np.random.default_rng(seed)
    annotators = random_annotators(n_samples, seed=seed)
    dataset = make_dataset({})
    for k in range(n_samples):
        everything: list[fo.Detection] = []
        sample = fo.Sample(filepath=f"/images/{k}.jpg")
        for n, name in enumerate(names):
            labels = detections(annotators[list(annotators)[n % 3]][k])
            if labels is None or (n > 2 and rng.random() < 0.3):
                continue
            # not on most images: what lies within a region is left out for everybody
            for _ in range(rng.integers(1, 3) if rng.random() < 0.2 else 0):
                corner = rng.uniform(0, 0.6, 2).tolist()
                labels.detections.append(fo.Detection(label="cat", bounding_box=[*corner, 0.35, 0.35], iscrowd=1))
            for label in labels.detections if in_one_field else ():
                label["who"] = name
            everything += labels.detections
            if not in_one_field:
                sample[name] = labels
        if in_one_field:
            sample["all"] = fo.Detections(detections=everything)
        dataset.add_sample(sample, dynamic=True)
    fields = ["all"] if in_one_field else [name for name in names if dataset.has_field(name)]
    return dataset, fields, {"annotator_attribute": "who"} if in_one_field else {}
