"""The operator that compares two runs, and the report of a run on the current view."""

from __future__ import annotations

import fiftyone.operators as foo
import pytest

from tests.datasets import random_annotators

from annotator_agreement.dataset_io import compare_agreement, compute_agreement

ANNOTATORS = ["alice", "bob", "carol"]


def _made(make_dataset):
    dataset = make_dataset(random_annotators(25))
    compute_agreement(dataset, ANNOTATORS, run_key="before")
    compute_agreement(dataset, ANNOTATORS, run_key="after", iou=0.8)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_made)


def _execute(operator, dataset, view=None, **params):
    request = {"dataset": dataset, "params": params}
    if view is not None:
        request["view"] = view
    return foo.execute_operator(operator.uri, request).result


@pytest.mark.parametrize("n_runs", [0, 1, 2])
def test_without_two_runs_of_one_kind_the_form_says_so(operator, make_dataset, form, n_runs):
    dataset = make_dataset()
    if n_runs:
        compute_agreement(dataset, ANNOTATORS)
    if n_runs > 1:
        for name in ("anna", "ben"):
            dataset.set_values(name, ["a"] * 5)
        compute_agreement(dataset, ["anna", "ben"], run_key="rated")
    inputs = form(operator("compare_agreement"), dataset)
    assert list(inputs) == ["no_runs"]
    assert inputs["no_runs"]["invalid"]


def test_comparing_shows_what_changed(operator, dataset):
    compare = operator("compare_agreement")
    result = _execute(compare, dataset, run_key="before", other_run_key="after")
    comparison = compare_agreement(dataset, "before", "after")
    assert result["comparison"] == comparison.to_dict()
    assert comparison.numbers["score.mean"].difference < 0
    assert "run 'after' compared with 'before'" in result["summary"]
    assert "Threshold (iou): 0.5 → 0.8" in result["summary"]
    assert compare_agreement(dataset, "before", "after", resamples=0).numbers["score.mean"].interval is None


def test_the_report_can_be_shown_on_the_current_view(operator, dataset, context):
    show = operator("show_agreement")
    view = dataset.skip(15)
    inputs = show.resolve_type(context(show, dataset, view), "inputs").to_json()["type"]["properties"]
    assert inputs["samples"]["type"]["values"] == ["run", "view"]
    of_view = _execute(show, dataset, view, run_key="before", samples="view")
    assert (of_view["report"]["n_samples"], of_view["report"]["run"]["n_of"]) == (10, 25)
    whole = _execute(show, dataset, view, run_key="before", samples="run")
    assert (whole["report"]["n_samples"], whole["report"]["run"]["n_of"]) == (25, None)
    assert of_view["report"]["score"] != whole["report"]["score"]


def test_without_a_view_only_the_whole_run_is_shown(operator, dataset, form):
    assert list(form(operator("show_agreement"), dataset)) == ["run_key"]
