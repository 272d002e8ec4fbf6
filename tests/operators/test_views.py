"""The operators that show views of a run, save the usual ones, and set up the App."""

from __future__ import annotations

import fiftyone as fo
import pytest

from tests.datasets import random_annotators
from tests.operators.conftest import view_of

from annotator_agreement.dataset_io import compute_agreement, load_agreement

ANNOTATORS = ["alice", "bob", "carol"]


def _made(make_dataset):
    dataset = make_dataset(random_annotators(20))
    compute_agreement(dataset, ANNOTATORS)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_made)


@pytest.fixture
def view_agreement(operator):
    return operator("view_agreement")


def test_the_form_offers_what_concerns_the_labels_of_the_run(view_agreement, dataset, make_dataset, operator, form):
    inputs = form(view_agreement, dataset)
    assert inputs["verdict"]["type"]["values"][:3] == ["any", "agreed", "class_conflict"]
    assert [choice["value"] for choice in inputs["annotators"]["view"]["choices"]] == ANNOTATORS
    assert inputs["missed_by"]["type"]["values"] == ["any", *ANNOTATORS]
    assert {"classes", "confusion", "least_votes", "most_votes", "min_score", "max_score"} <= set(inputs)
    assert not {"problem", "within_view"} & set(inputs)
    ratings = make_dataset({})
    ratings.add_samples([fo.Sample("1.jpg", a=fo.Classification(label="x"), b=fo.Classification(label="y"))])
    compute_agreement(ratings, ["a", "b"])
    inputs = form(view_agreement, ratings)
    assert inputs["verdict"]["type"]["values"] == ["any", "agreed", "class_conflict"]
    assert "missed_by" not in inputs


def test_the_defaults_of_the_form_show_every_sample(view_agreement, dataset, form, run):
    defaults = {name: entry["default"] for name, entry in form(view_agreement, dataset).items() if "default" in entry}
    result, requests = run(view_agreement, dataset, **defaults)
    assert result == {"n_samples": 20}
    assert view_of(dataset, requests).values("id") == dataset.values("id")


def test_what_is_not_usable_is_shown_in_the_form(view_agreement, dataset, form):
    for params, message in (
        ({"annotators": ANNOTATORS}, "`annotators` must be one annotator, or two"),
        ({"confusion": ["cat"]}, "`confusion` must be two different classes"),
        ({"least_votes": 3, "most_votes": 2}, "`votes` must be"),
        ({"min_score": 0.9, "max_score": 0.1}, "`min_score` must be at most"),
        ({"missed_by": "bob", "annotators": ["bob"]}, "`missed_by` must not be one of"),
    ):
        problem = form(view_agreement, dataset, **params)["problem"]
        assert problem["invalid"]
        assert message in problem["view"]["label"]


def test_the_view_opens_in_the_app(view_agreement, operator, dataset, run):
    report = load_agreement(dataset)
    result, requests = run(view_agreement, dataset, verdict="lone", missed_by="any", classes=[])
    view = view_of(dataset, requests)
    assert len(view) == result["n_samples"] > 0
    for annotator in report.annotators:
        assert view.count(f"{annotator.name}.detections") == annotator.verdicts["lone"]
    _, requests = run(view_agreement, dataset, annotators=["alice", "bob"], least_votes=2)
    view = view_of(dataset, requests)
    assert view.get_field("carol") is None
    assert min(view.values("alice.detections.agreement_votes", unwind=True)) >= 2


def test_nothing_to_show_leaves_the_view_as_it_is(view_agreement, dataset, run):
    result, requests = run(view_agreement, dataset, least_votes=9)
    assert result == {"n_samples": 0}
    assert list(requests) == ["notify"]


def test_the_current_view_can_be_narrowed(view_agreement, dataset, context, form, run):
    current = dataset.limit(7)
    ctx = context(view_agreement, dataset, current, run_key="agreement")
    inputs = view_agreement.resolve_type(ctx, "inputs").to_json()["type"]["properties"]
    assert inputs["within_view"]["default"] is False
    whole, _ = run(view_agreement, dataset, current, verdict="agreed")
    part, requests = run(view_agreement, dataset, current, verdict="agreed", within_view=True)
    assert 0 < part["n_samples"] < whole["n_samples"]
    assert set(view_of(dataset, requests).values("id")) <= set(current.values("id"))


def test_the_usual_views_are_saved(operator, dataset, run):
    save = operator("save_agreement_views")
    result, requests = run(save, dataset, run_key="agreement")
    assert result["saved"] == dataset.list_saved_views()
    assert len(result["saved"]) == 4
    assert set(requests) == {"show_sidebar_groups", "reload_dataset", "notify"}
