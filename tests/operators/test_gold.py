"""The operators that decide by a rule, and undo."""

from __future__ import annotations

import json

import fiftyone as fo
import pytest

from tests.dataset_io.said import said_dataset
from tests.datasets import stored
from tests.operators.conftest import ANNOTATORS

import annotator_agreement as aa
from annotator_agreement.dataset_io import apply_decisions, decide, list_decisions, undo_decisions


@pytest.fixture
def dataset(twenty):
    return twenty


def test_the_form_counts_what_it_would_decide_and_deciding_does_just_that_and_is_undone(operator, form, run, dataset):
    asked, before = operator("decide"), stored(dataset)
    assert form(operator("undo_decisions"), dataset)["no_decisions"]["invalid"]
    rule = {"min_votes": 2, "one_class": True, "verdict": ["missed"], "by": "mia"}
    inputs = form(asked, dataset, **rule)
    n = decide(dataset, min_votes=2, one_class=True, verdict="missed", preview=True).n_decided
    assert inputs["preview"]["view"]["label"] == f"This would decide {n} objects"
    assert n > 1
    assert stored(dataset) == before
    result, requests = run(asked, dataset, **rule)
    assert requests["notify"]["message"] == f"Decided {n} objects"
    assert {(each.decided_by, each.step) for each in list_decisions(dataset)} == {("mia", result["step"])}
    inputs = form(asked, dataset, **rule)
    assert inputs["preview"]["view"]["label"] == f"This would decide 0 objects; left out: {n} decided before"
    n_lone = decide(dataset, choice="none", verdict="lone").n_decided
    assert form(operator("undo_decisions"), dataset)["gold"]["default"] == "agreement_gold"
    assert run(operator("undo_decisions"), dataset)[0] == {"n": n_lone}  # the last step
    assert {each.choice for each in list_decisions(dataset)} == {"consensus"}
    assert undo_decisions(dataset) == n


@pytest.mark.long
def test_one_annotator_can_be_right_and_only_the_view_is_decided(operator, context, form, run, dataset):
    inputs = form(operator("decide"), dataset, choice="version")
    assert inputs["annotator"]["type"]["values"] == ANNOTATORS
    assert inputs["min_votes"]["default"] == 2
    drawn_by_two = decide(dataset, choice="version", annotator="alice", min_votes=2, preview=True).n_decided
    assert inputs["preview"]["view"]["label"].startswith(f"This would decide {drawn_by_two} objects; left out")
    assert not {"no_condition", "within_view"} & inputs.keys()
    everything = {"choice": "version", "min_votes": 1}
    assert form(operator("decide"), dataset, **everything)["no_condition"]["invalid"]
    assert "no_condition" not in form(operator("decide"), dataset, **everything, all=True)
    with pytest.raises(ValueError, match="say all=True to mean that"):
        operator("decide").execute(context(operator("decide"), dataset, **everything))
    params = {**everything, "all": True, "annotator": "carol", "within_view": True}
    run(operator("decide"), dataset, dataset.limit(4), **params)
    found = [each.annotator for each in list_decisions(dataset)]
    assert found == ["carol"] * dataset.limit(4).count("carol.detections")


def test_the_form_offers_what_means_something_for_the_labels(operator, form, run, make_dataset):
    dataset = said_dataset(make_dataset, "masks", 6)
    inputs = form(operator("decide"), dataset)
    assert inputs["choice"]["type"]["values"] == ["version", "none"]
    assert inputs["annotator"]["type"]["values"] == ANNOTATORS
    assert "min_iou" in inputs
    assert "one_class" not in inputs
    n = run(operator("decide"), dataset)[0]["n_decided"]
    given = zip(*(dataset.values(name) for name in ANNOTATORS), strict=True)
    assert n == sum(each[0] is not None and sum(mask is not None for mask in each) > 1 for each in given) > 2


def test_the_form_names_whose_labels_it_will_change_asks_and_takes_them_back(operator, form, run, dataset):
    asked, undo = operator("apply_decisions"), operator("undo_applied")
    assert form(asked, dataset)["no_decisions"]["invalid"]
    decide(dataset, verdict=["missed", "class_conflict"], choice="version", annotator="alice")
    assert form(undo, dataset)["not_applied"]["invalid"]
    before, preview = stored(dataset), apply_decisions(dataset, preview=True)
    inputs = form(asked, dataset, annotators=["bob"], geometry=False)
    bob = next(each for each in preview.annotators if each.name == "bob")
    shown = [[cell.strip() for cell in line.split("|")[1:-1]] for line in inputs["preview"]["default"].split("\n")]
    assert ["bob", *map(str, (bob.n_class, 0, 0, bob.n_deleted, bob.n_added))] in shown
    assert "carol" not in inputs["preview"]["default"]
    assert {"class", "geometry", "delete", "add"} <= set(inputs)
    assert "attributes" not in inputs
    assert inputs["asked"]["invalid"]
    assert "asked" not in form(asked, dataset, sure=True)
    assert stored(dataset) == before
    made, requests = run(asked, dataset, dataset.limit(10), within_view=True, sure=True, by="mia")
    assert 0 < made["n_applied"] < preview.n_applied
    assert requests["notify"]["message"].startswith(f"Changed the labels of {made['n_applied']} objects")
    assert f"mia applied {made['n_applied']} decisions at" in form(undo, dataset)["latest"]["view"]["label"]
    assert run(undo, dataset)[0]["n_objects"] == made["n_applied"]
    assert stored(dataset) == before


def test_the_list_to_send_is_what_was_decided_or_what_the_reference_says(operator, form, run, dataset, tmp_path):
    export, path = operator("export_decided_against"), tmp_path / f"{dataset.name}-bob.csv"
    assert form(export, dataset)["no_decisions"]["invalid"]
    dataset.clone_sample_field("carol", "gold")
    against = aa.compute(dataset, ["alice", "bob"], run_key="against", reference="gold", resamples=0)
    params = {"annotator": "bob", "format": "csv", "folder": str(tmp_path), "download": True}
    of_reference = {**params, "run_key": "against", "against": "reference"}
    assert form(export, dataset, **of_reference)["against"]["type"]["values"] == ["reference"]
    run(export, dataset, **of_reference)
    (own,) = [each for each in against.reference.annotators if each.name == "bob"]
    n_lines = len(path.read_text("utf-8-sig").splitlines())
    assert n_lines == 1 + own.n_wrong_class + own.n_extra + own.n_missed

    path.unlink()
    alone = [label.agreement_id for labels in dataset.values("bob.detections") for label in labels or ()]
    decide(dataset, "agreement", choice="none", verdict="lone", objects=alone)
    params["run_key"] = "agreement"
    assert form(export, dataset, **params)["annotator"]["type"]["values"] == ANNOTATORS
    result, requests = run(export, dataset, **params)
    assert (result["path"], requests["browser_download"]["filename"]) == (str(path), path.name)
    assert len(path.read_text("utf-8-sig").splitlines()) > 2
    assert "already" in form(export, dataset, **params)["problem"]["view"]["label"]


def test_what_was_decided_is_counted_written_and_downloaded(operator, form, run, dataset, tmp_path):
    export, path = operator("export_decided"), tmp_path / "gold.json"
    assert form(export, dataset)["no_decisions"]["invalid"]
    dataset.set_values("metadata", [fo.ImageMetadata(width=300, height=200) for _ in range(20)])
    decide(dataset.limit(8), choice="version", annotator="alice", min_votes=2)
    assert form(export, dataset)["path"]["default"].endswith(f"/{dataset.name}-agreement_gold.json")
    preview = form(export, dataset, path=str(path))["preview"]["view"]
    result, requests = run(export, dataset, path=str(path), download=True)
    told = result["summary"].splitlines()[-1].removesuffix(" (COCO)")
    assert preview["label"] == told.replace("Exported", "This exports")
    assert (preview["description"], result["path"]) == ("COCO", str(path))
    assert len(json.loads(path.read_text())["annotations"]) == result["n_labels"] > 5
    assert (requests["notify"]["message"], requests["browser_download"]["filename"]) == (told, "gold.json")
    assert "already" in form(export, dataset, path=str(path))["problem"]["view"]["label"]
