"""A dataset with decisions, and ways to damage them as a plain driver does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bson import ObjectId

from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly
from tests.datasets import EXAMPLE

from annotator_agreement import apply_decisions, decide

GOLD, DECISIONS = "agreement_gold", "agreement_gold_decisions"
_FIRST = f"{DECISIONS}.0"
_ENTRIES = ("id", "choice", "annotator", "labels", "hashes", "asked", "decided_by", "decided_at", "step", "gold_id")
_WRONG = {
    "a decision is null": {_FIRST: None},
    "a decision is a text": {_FIRST: "text"},
    "a decision is a list": {_FIRST: [{"id": "a", "labels": ["b"]}]},
    "the decisions are a text": {DECISIONS: "text"},
    "the decisions are a document": {DECISIONS: {"id": "a", "step": "b"}},
    "the decisions are null": {DECISIONS: None},
    "the id is a number": {f"{_FIRST}.id": 5},
    "the time is a text": {f"{_FIRST}.decided_at": "yesterday"},
    "the choice is unknown": {f"{_FIRST}.choice": "perhaps"},
    "the labels are a text": {f"{_FIRST}.labels": "text"},
    "a name of a label is null": {f"{_FIRST}.labels.0": None},
    "a name of a label is empty": {f"{_FIRST}.labels.0": ""},
    "a name of a label is of no field": {f"{_FIRST}.labels.0": "nobody x"},
    "a hash is a number": {f"{_FIRST}.hashes.0": 5},
    "there is a hash too many": {f"{_FIRST}.hashes": ["a"] * 9},
    "a class is null": {f"{_FIRST}.classes": [None]},
    "the assigned are a number": {f"{_FIRST}.asked": 5},
    "the id of the right label is a text": {f"{_FIRST}.gold_id": "text"},
    "the id of the right label is a document": {f"{_FIRST}.gold_id": {"a": 1}},
    "the label as written is a text": {f"{_FIRST}.written": "text"},
    "what was replaced is a text": {f"{_FIRST}.replaced": "text"},
    "what was replaced holds a text": {f"{_FIRST}.replaced": {"decisions": "text", "labels": [None]}},
    "what was applied is a text": {f"{_FIRST}.applied": "text"},
    "a part of what was applied is null": {f"{_FIRST}.applied": [None]},
    "a part of what was applied has no step": {f"{_FIRST}.applied.0": {"changes": []}},
    "changes are null": {f"{_FIRST}.applied.0.changes": None},
    "a change is null": {f"{_FIRST}.applied.0.changes": [None]},
    "a change is unknown": {f"{_FIRST}.applied.0.changes": [{"what": "said", "key": "a b", "annotator": "bob"}]},
    "fields of changes are mixed": {f"{_FIRST}.applied.0.fields": [5, "bob", None]},
    "the right labels are a text": {GOLD: "text"},
    "the right labels are a list": {GOLD: ["text", None]},
    "the right labels are null": {GOLD: None},
    "the list of right labels is a text": {f"{GOLD}.detections": "text"},
    "a right label is null": {f"{GOLD}.detections.0": None},
    "a right label is a text": {f"{GOLD}.detections.0": "text"},
    "a right label is empty": {f"{GOLD}.detections.0": {}},
    "the id of a right label is a list": {f"{GOLD}.detections.0._id": [1]},
    "the class of a right label is a list": {f"{GOLD}.detections.0.label": ["cat"]},
    "the box of a right label is none": {f"{GOLD}.detections.0.bounding_box": [0.1, "a", None, 0.2]},
    "the labels of an annotator are a text": {"carol": "text"},
    "a label of an annotator is null": {"carol.detections.0": None},
    "the id of an annotator's label is a text": {"carol.detections.0._id": "text"},
}
#: updates of the document of a sample
DAMAGES: dict[str, dict[str, Any]] = {
    **{f"no {entry}": {"$unset": {f"{_FIRST}.{entry}": ""}} for entry in _ENTRIES},
    **{what: {"$set": values} for what, values in _WRONG.items()},
    "drawn with a damaged box": {
        "$push": {f"{GOLD}.detections": {"_id": ObjectId(), "_cls": "Detection", "label": 5, "bounding_box": ["a"]}}
    },
}


def decided_dataset(make_dataset: Callable[..., Any]) -> Any:
    """Decisions on all objects; those of alice are applied."""
    dataset = make_dataset(EXAMPLE)
    compute_quickly(dataset)
    decide(dataset, choice="version", annotator="alice", all=True, by="mia")
    decide(dataset.limit(2), choice="version", annotator="bob", all=True, by="mia", overwrite=True)
    apply_decisions(dataset, annotators=ANNOTATORS[:2], by="mia")
    return dataset


def damage(dataset: Any, update: dict[str, Any], k: int = 1) -> str:
    """Damage a sample; its id."""
    sample_id = dataset._sample_collection.find({}, {"_id": True}).sort("_id")[k]["_id"]
    dataset._sample_collection.update_one({"_id": sample_id}, update)
    return str(sample_id)
