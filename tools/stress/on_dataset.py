"""What the processes of the campaigns do to a dataset, besides calling the plugin."""

from __future__ import annotations

import hashlib
import json
import logging
from random import Random
from typing import Any

import fiftyone as fo
import gridfs
from fiftyone.core.odm import get_db_conn

from tests.datasets import boxes_dataset, detections, random_annotators, stored, user_values, videos_dataset

from annotator_agreement.dataset_io import (
    compute_agreement,
    delete_agreement,
    delete_decisions,
    list_agreements,
    list_decisions,
    load_agreement,
    undo_applied,
    undo_decisions,
)
from annotator_agreement.dataset_io.record.gold_fields import applied_steps, gold_fields
from annotator_agreement.dataset_io.record.run import COMPLETED, Run
from annotator_agreement.dataset_io.record.schema import fields_marked
from annotator_agreement.dataset_io.shards import share


def make_boxes(name: str, n_samples: int, seed: int) -> None:
    """A dataset of images with boxes."""
    boxes_dataset(name, random_annotators(n_samples, seed=seed))


def make_videos(name: str, seed: int) -> None:
    """A small dataset of videos with labels on their frames."""
    labels = random_annotators(20, seed=seed)
    videos_dataset(name, [{field: [detections(entry) for entry in labels[field]] for field in labels}] * 2, (200, 100))


def values_of_user(dataset: fo.Dataset) -> str:
    """What samples and frames hold, as a text that is the same for the same values."""
    return repr(user_values(dataset, []))


def touch(dataset: fo.Dataset) -> None:
    """Have the dataset in memory, so that all processes begin at once."""
    dataset.first()


def open_and_list(dataset: fo.Dataset) -> dict[str, str | None]:
    """Open the dataset and read everything of its runs; their status by key."""
    for sample in dataset:
        sample.to_dict()
    found = {}
    for key in list_agreements(dataset):
        found[key] = Run(dataset, key).status
        if found[key] == COMPLETED:
            load_agreement(dataset, key)
    return found


def delete_everything(dataset: fo.Dataset, keys: list[str]) -> None:
    """Delete all decisions, all runs, and what is left of runs that no longer exist."""
    for field in gold_fields(dataset):
        delete_decisions(dataset, gold=field)
    for key in keys:
        if key in list_agreements(dataset) or fields_marked(dataset, key) or Run(dataset, key).documents():
            delete_agreement(dataset, key)


def decisions_taken_back(dataset: fo.Dataset) -> list[str]:
    """Take back all that was applied, and delete all decisions; what was wrong with them before."""
    wrong, collection = [], dataset._sample_collection
    for document in collection.find():
        log = document.get("agreement_gold_decisions") or []
        decisions = [each for each in log if "replaced_by" not in each]
        labels = (document.get("agreement_gold") or {}).get("detections") or []
        with_label = sorted(each["gold_id"] for each in decisions if each["gold_id"] is not None)
        if with_label != sorted(each["_id"] for each in labels):
            wrong.append(f"decisions and labels of {document['_id']} are not of each other")
        keys = [key for each in decisions for key in each["labels"]]
        if len(keys) != len(set(keys)):
            wrong.append(f"a label of {document['_id']} has two decisions")
    if gold_fields(dataset):
        wrong += [f"a decision on {each.sample_id} does not know its labels" for each in list_decisions(dataset)
                  if each.changed or each.edited]  # fmt: skip
        # what was applied of a decision that another one replaced can be taken back when the other one is undone
        while sum(undo_applied(dataset, step).n_objects for step in reversed(applied_steps(dataset))) or undo_decisions(
            dataset
        ):
            pass
        wrong += ["something applied is left"] if any(each.applied for each in list_decisions(dataset)) else []
        delete_decisions(dataset)
    return wrong


def add_user_field(dataset: fo.Dataset, name: str) -> None:
    """A field that the user adds."""
    dataset.add_sample_field(name, fo.StringField, description="of the user")


def edit(dataset: fo.Dataset, sample_id: str, label: str) -> None:
    """Change the class of the first label of a sample, as a user does."""
    sample: Any = dataset[sample_id]
    sample.alice.detections[0].label = label
    sample.save()


def edit_any(dataset: fo.Dataset, seed: int, label: str) -> tuple[str, str]:
    """Change the class of the first label of any sample; the sample, and the class that it had."""
    rng, before = Random(seed), ""
    while before in ("", label):
        sample: Any = dataset[rng.choice(dataset.exists("alice.detections").values("id"))]
        before = sample.alice.detections[0].label if sample.alice.detections else ""
    edit(dataset, sample.id, label)
    return sample.id, before


def compute_shared(
    dataset: fo.Dataset, fields: list[str], shard_samples: int, scheduler: str | None = None, **options: Any
) -> None:
    """Compute a run in small shards, by processes of its own or by Dask's."""
    share.SHARD_SAMPLES = shard_samples
    if scheduler is None:
        compute_agreement(dataset, fields, **options)
        return
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with Client(scheduler) as client:
        compute_agreement(dataset, fields, executor=client.get_executor(), **options)


def contents(dataset: fo.Dataset, key: str = "agreement") -> tuple[dict[str, Any], bytes, list[Any]]:
    """What must be the same whoever computed a run: its report, its records, and samples and frames with its values."""
    run = Run(dataset, key)
    report = run.report().to_dict()
    del report["run"]["seconds"]
    records = gridfs.GridFS(get_db_conn()).get(f"annotator_agreement/{run.config['results_id']}").read()
    return report, records, _without_stamps(user_values(dataset, []))


def _without_stamps(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_stamps(each) for name, each in value.items() if name != "last_modified_at"}
    return [_without_stamps(each) for each in value] if isinstance(value, list) else value


def hashes_of_contents(dataset: fo.Dataset, key: str) -> dict[str, str]:
    """Hashes of the :func:`contents` of a run."""
    dataset.reload()
    report, records, values = contents(dataset, key)
    # in which order a document has its fields makes no difference
    report, values = (json.dumps(each, default=repr, sort_keys=True).encode() for each in (report, values))
    texts = {"report": report, "records": records, "values": values}
    return {name: hashlib.sha256(text).hexdigest() for name, text in texts.items()}


def without_runs(dataset: fo.Dataset) -> dict[str, Any]:
    """What the database holds that runs may not leave otherwise than it was."""
    return {name: value for name, value in stored(dataset).items() if name not in ("dataset", "indexes")}
