"""The operators that show, update, compare, rename and delete runs."""

from __future__ import annotations

import fiftyone as fo
import pytest

from tests.datasets import random_annotators
from tests.operators.conftest import ANNOTATORS

from annotator_agreement.dataset_io import (
    add_units,
    compare_agreement,
    compute_agreement,
    load_agreement,
    save_agreement_views,
)


def _two_runs(make_dataset):
    dataset = make_dataset(random_annotators(25))
    compute_agreement(dataset, ANNOTATORS, run_key="before", resamples=0)
    compute_agreement(dataset, ANNOTATORS, run_key="after", iou=0.8, resamples=0)
    return dataset


@pytest.fixture
def dataset(example):
    return example


@pytest.fixture
def two_runs(lend):
    return lend(_two_runs)


def test_runs_are_offered_with_their_status_and_the_newest_that_is_complete_is_preset(operator, dataset, form):
    compute_agreement(dataset, ["alice", "bob"], run_key="zz", resamples=0)
    dead = dataset.init_run(method="annotator_agreement", status="running", fields_written=[], results_id="0" * 24)
    dataset.register_run("died", dead)
    for name in ("show_agreement", "rename_agreement", "delete_agreement"):
        offered = form(operator(name), dataset)["run_key"]
        assert (offered["default"], offered["type"]["values"]) == ("zz", ["zz", "agreement", "died"])
        assert [choice["label"] for choice in offered["view"]["choices"]] == ["zz", "agreement", "died (running)"]


def test_showing_gives_the_stored_report_or_that_of_the_current_view(operator, two_runs, form, run):
    show, view = operator("show_agreement"), two_runs.skip(15)
    assert list(form(show, two_runs)) == ["run_key"]  # without a view
    assert form(show, two_runs, view=view)["samples"]["type"]["values"] == ["run", "view"]
    result, _ = run(show, two_runs, run_key="before")
    report = load_agreement(two_runs, "before")
    assert result["report"] == report.to_dict()
    assert f"| alice | bob | {report.pairs[0].n_samples} |" in " ".join(result["summary"].split())
    shown = {samples: run(show, two_runs, view, run_key="before", samples=samples)[0]["report"]
             for samples in ("view", "run")}  # fmt: skip
    assert (shown["view"]["n_samples"], shown["view"]["run"]["n_of"]) == (10, 25)
    assert (shown["run"]["n_samples"], shown["run"]["run"]["n_of"]) == (25, None)
    assert shown["view"]["score"] != shown["run"]["score"]


def test_without_two_runs_of_one_kind_there_is_nothing_to_compare(operator, make_dataset, form):
    dataset = make_dataset()
    for name in ("anna", "ben"):
        dataset.set_values(name, ["a"] * 5)
    for key, fields in ((None, []), ("agreement", ANNOTATORS), ("rated", ["anna", "ben"])):
        if key:
            compute_agreement(dataset, fields, run_key=key, resamples=0)
        inputs = form(operator("compare_agreement"), dataset)
        assert [(name, each["invalid"]) for name, each in inputs.items()] == [("no_runs", True)]


def test_comparing_shows_what_changed(operator, two_runs, run):
    result, _ = run(operator("compare_agreement"), two_runs, run_key="before", other_run_key="after")
    comparison = compare_agreement(two_runs, "before", "after")
    assert result["comparison"] == comparison.to_dict()
    assert comparison.numbers["score.mean"].difference < 0
    assert "run 'after' compared with 'before'" in result["summary"]
    assert "Threshold (iou): 0.5 → 0.8" in result["summary"]
    assert compare_agreement(two_runs, "before", "after", resamples=0).numbers["score.mean"].interval is None


def test_deleting_names_what_it_removes_asks_and_removes_it(operator, dataset, form, run):
    add_units(dataset)
    save_agreement_views(dataset)
    delete = operator("delete_agreement")
    inputs = form(delete, dataset)
    removed = inputs["removed_agreement"]["default"].replace("\\", "")
    assert "- fields: agreement_alpha, agreement_cost, agreement_dice" in removed
    assert "- labels that it wrote: agreement_units" in removed
    assert "agreement_of, agreement_votes (in alice.detections, bob.detections, carol.detections)" in removed
    assert "agreement: lowest score" in removed
    assert inputs["asked"]["invalid"] is True
    assert "asked" not in form(delete, dataset, run_key="agreement", delete_agreement=True)
    assert "asked" not in form(delete, dataset, prompt_id=None, run_key="agreement")
    run(delete, dataset, run_key="agreement")
    assert dataset.list_runs() == []
    assert not [path for path in dataset.get_field_schema(flat=True) if "agreement" in path]


def test_renaming_moves_the_run_and_its_fields_to_a_key_that_is_free(operator, dataset, form, run):
    rename = operator("rename_agreement")
    dataset.add_sample_field("taken_score", fo.FloatField)
    for key in ("label", "agreement", "taken", "Not a key"):
        problem = form(rename, dataset, run_key="agreement", new_run_key=key)["problem"]
        assert problem["invalid"]
        assert key in problem["view"]["label"]
    assert "problem" not in form(rename, dataset, run_key="agreement", new_run_key="round_1")
    run(rename, dataset, run_key="agreement", new_run_key="round_1")
    assert dataset.list_runs() == ["round_1"]
    assert dataset.values("round_1_n_units") == [2, 2, 0, 1, 1]


def test_a_run_is_updated_from_its_form_and_compared_with_what_is_now(operator, run, form, make_dataset):
    dataset, update = make_dataset(), operator("update_agreement")
    for key in ("zebra", "agreement"):
        compute_agreement(dataset, ANNOTATORS, run_key=key, resamples=0)
    inputs = form(update, dataset)
    assert inputs["run_key"]["type"]["values"] == ["agreement", "zebra"]
    assert inputs["changed"]["view"]["label"] == "Nothing was saved since the run"
    sample = dataset.first()
    sample["alice"] = None
    sample.save()
    assert form(update, dataset, run_key="zebra")["changed"]["view"]["label"].endswith(": 1 sample")
    result, _ = run(update, dataset)
    assert (result["run_key"], result["report"]["score"]) == ("agreement", load_agreement(dataset).to_dict()["score"])
    assert form(update, dataset)["changed"]["view"]["label"] == "Nothing was saved since the run"
    compare = operator("compare_agreement")
    inputs = form(compare, dataset, run_key="agreement")
    assert inputs["other_run_key"]["type"]["values"] == ["(now)", "zebra"]
    shown, _ = run(compare, dataset, run_key="agreement", other_run_key="(now)")
    assert shown["comparison"] == compare_agreement(dataset, "agreement").to_dict()


@pytest.mark.parametrize("name", ["delete_agreement", "rename_agreement"])
@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.few(1)
def test_the_app_leaves_a_view_of_what_goes_away_before_it_does(operator, run, dataset, name, stays):
    params, view, from_app = (
        {"run_key": "agreement", "new_run_key": "other"},
        dataset.sort_by("filepath"),
        {"spaces": {}},
    )
    if not stays:
        result, requests = run(operator(name), dataset, dataset.sort_by("agreement_score"), from_app, **params)
        assert (result, list(requests)) == ({}, ["clear_view", name])
        assert requests[name] == {**params, "view_left": True}
        assert "agreement" in dataset.list_runs()
        view, params = None, requests[name]
    result, requests = run(operator(name), dataset, view, from_app, **params)  # no field of the run is in this view
    assert result["run_key"] in params.values()
    assert list(requests) == ["show_sidebar_groups", "reload_dataset", "notify"]
    assert "agreement" not in dataset.list_runs()
