"""A dataset with decisions, and ways to damage them as a plain driver does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bson import ObjectId

from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly
from tests.datasets import EXAMPLE

from annotator_agreement.dataset_io import apply_decisions, decide

GOLD, DECISIONS = "agreement_gold", "agreement_gold_decisions"
#: stands for the path of the first decision of a sample whose place no other one took
FIRST = "first"
_ENTRIES = ("id", "choice", "annotator", "labels", "hashes", "asked", "decided_by", "decided_at", "step", "gold_id")
_WRONG = {
    "a decision is null": {FIRST: None},
    "a decision is a text": {FIRST: "text"},
    "a decision is a list": {FIRST: [{"id": "a", "labels": ["b"]}]},
    "the decisions are a text": {DECISIONS: "text"},
    "the decisions are a document": {DECISIONS: {"id": "a", "step": "b"}},
    "the decisions are null": {DECISIONS: None},
    "the id is a number": {f"{FIRST}.id": 5},
    "the time is a text": {f"{FIRST}.decided_at": "yesterday"},
    "the choice is unknown": {f"{FIRST}.choice": "perhaps"},
    "the labels are a text": {f"{FIRST}.labels": "text"},
    "a name of a label is null": {f"{FIRST}.labels.0": None},
    "a name of a label is empty": {f"{FIRST}.labels.0": ""},
    "a name of a label is of no field": {f"{FIRST}.labels.0": "nobody x"},
    "a hash is a number": {f"{FIRST}.hashes.0": 5},
    "there is a hash too many": {f"{FIRST}.hashes": ["a"] * 9},
    "a class is null": {f"{FIRST}.classes": [None]},
    "the assigned are a number": {f"{FIRST}.asked": 5},
    "the id of the right label is a text": {f"{FIRST}.gold_id": "text"},
    "the id of the right label is a document": {f"{FIRST}.gold_id": {"a": 1}},
    "the label as written is a text": {f"{FIRST}.written": "text"},
    "what was replaced is a text": {f"{FIRST}.replaced": "text"},
    "what was replaced holds a text": {f"{FIRST}.replaced": {"decisions": "text", "labels": [None]}},
    "what took its place is a number": {f"{FIRST}.replaced_by": 5},
    "what took its place is not there": {f"{FIRST}.replaced_by": "nothing"},
    "its label is a text": {f"{FIRST}.label": "text"},
    "what was applied is a text": {f"{FIRST}.applied": "text"},
    "a part of what was applied is null": {f"{FIRST}.applied": [None]},
    "a part of what was applied has no step": {f"{FIRST}.applied.0": {"changes": []}},
    "changes are null": {f"{FIRST}.applied.0.changes": None},
    "a change is null": {f"{FIRST}.applied.0.changes": [None]},
    "a change is unknown": {f"{FIRST}.applied.0.changes": [{"what": "said", "key": "a b", "annotator": "bob"}]},
    "fields of changes are mixed": {f"{FIRST}.applied.0.fields": [5, "bob", None]},
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
    **{f"no {entry}": {"$unset": {f"{FIRST}.{entry}": ""}} for entry in _ENTRIES},
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
    document = dataset._sample_collection.find({}).sort("_id")[k]
    path = f"{DECISIONS}.{first_decision(document)}"
    named = {
        operator: {
            path + name.removeprefix(FIRST) if name.startswith(FIRST) else name: value for name, value in values.items()
        }
        for operator, values in update.items()
    }
    dataset._sample_collection.update_one({"_id": document["_id"]}, named)
    return str(document["_id"])


def first_decision(document: dict[str, Any]) -> int:
    """Place of the first decision of a sample whose place no other one took."""
    decisions = enumerate(document.get(DECISIONS) or [])
    return next((place for place, each in decisions if "replaced_by" not in each), 0)
