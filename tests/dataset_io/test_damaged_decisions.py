"""Decisions and right labels damaged by other programs are left out, and make nothing fail."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import fiftyone as fo
import pytest
from bson import ObjectId
from PIL import Image

from tests.dataset_io.damaged_decisions import DAMAGES, DECISIONS, FIRST, GOLD, damage, decided_dataset, first_decision
from tests.datasets import user_values

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import (
    apply_decisions,
    decide,
    decided_against,
    delete_decisions,
    export_agreement,
    export_decided,
    export_decided_against,
    list_decisions,
    load_agreement,
    record_own_labels,
    report_decisions,
    undo_applied,
    undo_decisions,
)
from annotator_agreement.dataset_io.results.picture import picture_of

#: what never changes the labels of annotators
_READING: dict[str, Callable[[Any, Any], Any]] = {
    "print_report": lambda dataset, folder: load_agreement(dataset).print_report(file=io.StringIO()),
    "export_agreement": lambda dataset, folder: export_agreement(dataset, path=folder / "a.html", overwrite=True),
    "list_decisions": lambda dataset, folder: list_decisions(dataset),
    "list_decisions of a view": lambda dataset, folder: list_decisions(dataset.limit(3)),
    "report_decisions": lambda dataset, folder: report_decisions(dataset, resamples=0),
    "decided_against": lambda dataset, folder: [len(decided_against(dataset, name)) for name in ("bob", "carol")],
    "export_decided_against": lambda dataset, folder: export_decided_against(
        dataset, "carol", path=folder / "b.html", overwrite=True
    ),
    "export_decided": lambda dataset, folder: export_decided(dataset, folder / "c.json", overwrite=True),
    "preview": lambda dataset, folder: apply_decisions(dataset, preview=True),
    "decide": lambda dataset, folder: decide(dataset, choice="none", all=True),
    "decide again": lambda dataset, folder: decide(
        dataset, choice="version", annotator="carol", all=True, overwrite=True
    ),
    "record_own_labels": lambda dataset, folder: record_own_labels(dataset),
    "undo_decisions": lambda dataset, folder: undo_decisions(dataset),
}
_CHANGING: dict[str, Callable[[Any, Any], Any]] = {
    "apply_decisions": lambda dataset, folder: apply_decisions(dataset),
    "undo_applied": lambda dataset, folder: (undo_applied(dataset), undo_decisions(dataset)),
}
_NO_LIST = "{}; set it to None, or delete all decisions"
#: what is said instead, where that can name the sample
_REFUSED = {
    ("decided_against", "the list of right labels is a text"): _NO_LIST,
    ("export_decided", "the list of right labels is a text"): _NO_LIST,
    ("export_decided", "the right labels are a list"): "must hold labels that FiftyOne can export",
    ("export_decided", "the box of a right label is none"): "must hold labels that FiftyOne can export",
}


@pytest.fixture(scope="module")
def dataset(make_module_dataset):
    dataset = decided_dataset(make_module_dataset)
    dataset.set_values("metadata", [fo.ImageMetadata(width=300, height=200) for _ in range(len(dataset))])
    return dataset


@pytest.fixture(scope="module")
def documents(dataset):
    """The samples before they are damaged."""
    return list(dataset._sample_collection.find({}))


def _restore(dataset: Any, documents: list[dict[str, Any]]) -> None:
    for document in documents:
        dataset._sample_collection.replace_one({"_id": document["_id"]}, document)


@pytest.mark.parametrize("what", DAMAGES)
def test_nothing_fails_and_labels_of_annotators_stay(dataset, documents, tmp_path, what):
    for name, function in {**_READING, **_CHANGING}.items():
        _restore(dataset, documents)
        sample_id = damage(dataset, DAMAGES[what])
        before = user_values(dataset, ["agreement"])
        if (name, what) in _REFUSED:
            with pytest.raises(AgreementInputError, match=_REFUSED[name, what].format(sample_id)):
                function(dataset, tmp_path)
        else:
            function(dataset, tmp_path)
        if name in _READING:
            assert user_values(dataset, ["agreement"]) == before, name


@pytest.mark.parametrize(
    "what", ["no id", "a decision is null", "the decisions are a text", "the right labels are a text"]
)
def test_damaged_decisions_can_be_deleted(dataset, documents, what):
    _restore(dataset, documents)
    other = dataset.clone()
    damage(other, DAMAGES[what])
    delete_decisions(other)
    left = {"$or": [{name: {"$exists": True}} for name in (GOLD, DECISIONS)]}
    assert not other._sample_collection.count_documents(left)
    assert not any(name.startswith(GOLD) for name in other.get_field_schema())
    assert not any(name.startswith(DECISIONS) for name in other._sample_collection.index_information())
    other.delete()


def test_an_object_whose_decision_is_damaged_can_be_decided_again(dataset, documents):
    _restore(dataset, documents)
    n = len(list_decisions(dataset))
    sample_id = damage(dataset, {"$unset": {f"{FIRST}.hashes": ""}})
    document = dataset._sample_collection.find_one({"_id": ObjectId(sample_id)})
    stored = document[DECISIONS][first_decision(document)]
    assert len(list_decisions(dataset)) == n - 1
    assert report_decisions(dataset, resamples=0).n_damaged == 1
    shown = io.StringIO()
    load_agreement(dataset).print_report(file=shown)
    assert "1 entry of `agreement_gold`, or of its decisions, left out" in " ".join(shown.getvalue().split())
    made = decide(dataset, choice="consensus", all=True)
    assert (made.n_decided, made.n_changed) == (1, 0)
    assert len(list_decisions(dataset)) == n
    assert stored in dataset._sample_collection.find_one({"_id": ObjectId(sample_id)})[DECISIONS]


@pytest.mark.parametrize("value", ["text", None, {"_cls": "Detections", "detections": "text"}], ids=str)
def test_damaged_labels_are_not_recorded_as_deleted_by_somebody(dataset, documents, value):
    _restore(dataset, documents)
    sample_id = damage(dataset, {"$set": {GOLD: value}})
    record_own_labels(dataset)
    choices = {each.choice for each in list_decisions(dataset) if each.sample_id == sample_id}
    assert choices == ({"none"} if value is None else {"version"})


@pytest.mark.parametrize(
    "label",
    [
        {"bounding_box": [0.1, "a", None, 0.2]},
        {"bounding_box": 5},
        {"bounding_box": [0.1, 0.1, 1e300, 0.2]},
        {"points": "text"},
        {"points": [[0.1, "a"], [0.2, None]]},
        {"points": [[0.1, 1e300], [0.2, float("inf")]]},
        {"points": [0.1, 0.2, 0.3]},
        {"_cls": "Polyline", "points": [None]},
        {"_cls": "Polyline", "points": [[[0.1], [0.1, 0.2]]]},
    ],
    ids=str,
)
def test_a_label_without_a_usable_geometry_is_left_out_of_the_picture(tmp_path, label):
    Image.new("RGB", (40, 30)).save(tmp_path / "a.png")
    whole = {"bob": {"bounding_box": [0.2, 0.2, 0.3, 0.3]}}
    colours = {"bob": "red", "alice": "blue"}
    pictures = [picture_of(str(tmp_path / "a.png"), labels, colours) for labels in (whole, {**whole, "alice": label})]
    assert pictures[0] == pictures[1] is not None
