"""The operators that show views of a run, save the usual ones, and write one label for each object."""

from __future__ import annotations

import fiftyone as fo
import pytest

from tests.operators.conftest import ANNOTATORS, view_of

from annotator_agreement.dataset_io import add_units, compute_agreement, load_agreement


@pytest.fixture
def dataset(twenty):
    return twenty


@pytest.fixture
def view_agreement(operator):
    return operator("view_agreement")


def test_the_form_offers_what_concerns_the_labels_of_the_run_and_shows_what_is_not_usable(
    view_agreement, dataset, make_dataset, form
):
    inputs = form(view_agreement, dataset)
    assert inputs["verdict"]["type"]["values"][:3] == ["any", "agreed", "class_conflict"]
    assert [choice["value"] for choice in inputs["annotators"]["view"]["choices"]] == ANNOTATORS
    assert inputs["missed_by"]["type"]["values"] == ["any", *ANNOTATORS]
    assert {"classes", "confusion", "least_votes", "most_votes", "min_score", "max_score"} <= set(inputs)
    assert not {"problem", "within_view"} & set(inputs)
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
    ratings = make_dataset({})
    ratings.add_samples([fo.Sample("1.jpg", a=fo.Classification(label="x"), b=fo.Classification(label="y"))])
    compute_agreement(ratings, ["a", "b"], resamples=0)
    inputs = form(view_agreement, ratings)
    assert inputs["verdict"]["type"]["values"] == ["any", "agreed", "class_conflict"]
    assert "missed_by" not in inputs


def test_the_view_opens_in_the_app_and_stays_as_it_is_if_there_is_nothing_to_show(view_agreement, dataset, form, run):
    defaults = {name: entry["default"] for name, entry in form(view_agreement, dataset).items() if "default" in entry}
    result, requests = run(view_agreement, dataset, **defaults)
    assert result == {"n_samples": 20}
    assert view_of(dataset, requests).values("id") == dataset.values("id")
    result, requests = run(view_agreement, dataset, verdict="lone", missed_by="any", classes=[])
    view = view_of(dataset, requests)
    assert len(view) == result["n_samples"] > 0
    for annotator in load_agreement(dataset).annotators:
        assert view.count(f"{annotator.name}.detections") == annotator.verdicts["lone"]
    _, requests = run(view_agreement, dataset, annotators=["alice", "bob"], least_votes=2)
    view = view_of(dataset, requests)
    assert view.get_field("carol") is None
    assert min(view.values("alice.detections.agreement_votes", unwind=True)) >= 2
    result, requests = run(view_agreement, dataset, least_votes=9)
    assert (result, list(requests)) == ({"n_samples": 0}, ["notify"])
    # the current view is narrowed
    current = dataset.limit(7)
    assert form(view_agreement, dataset, view=current, run_key="agreement")["within_view"]["default"] is False
    whole, _ = run(view_agreement, dataset, current, verdict="agreed")
    part, requests = run(view_agreement, dataset, current, verdict="agreed", within_view=True)
    assert 0 < part["n_samples"] < whole["n_samples"]
    assert set(view_of(dataset, requests).values("id")) <= set(current.values("id"))


def test_the_usual_views_are_saved(operator, dataset, run):
    result, requests = run(operator("save_agreement_views"), dataset, run_key="agreement")
    assert result["saved"] == dataset.list_saved_views()
    assert len(result["saved"]) == 4
    assert set(requests) == {"show_sidebar_groups", "reload_dataset", "notify"}


@pytest.mark.parametrize(
    ("name", "field"), [("add_agreement_units", "agreement_units"), ("resolve_units", "agreement_consensus")]
)
def test_labels_of_objects_are_made_and_made_anew_on_request(operator, dataset, run, form, name, field):
    made = operator(name)
    inputs = form(made, dataset)
    assert not {"overwrite", "problem"} & set(inputs)
    assert inputs["shapes"]["type"]["values"] == ["medoid", "vote"]
    result, requests = run(made, dataset, run_key="agreement")
    assert result["n_labels"] == dataset.count(f"{field}.detections") > 20
    assert result["field"] == field
    assert "reload_dataset" in requests
    assert requests["notify"]["variant"] == "success"
    assert f"Wrote {result['n_labels']} labels into {field}" in requests["notify"]["message"]
    inputs = form(made, dataset, run_key="agreement")
    assert "must be new, but it exists already" in inputs["problem"]["view"]["label"]
    assert "problem" not in form(made, dataset, run_key="agreement", overwrite=True)
    assert run(made, dataset, run_key="agreement", overwrite=True)[0] == result
    sample = next(iter(dataset.match(fo.ViewField("alice.detections").length() > 1)))
    sample.alice.detections = sample.alice.detections[1:]
    sample.save()
    result, requests = run(made, dataset, run_key="agreement", overwrite=True)
    assert result["n_left_out"] == 1
    assert requests["notify"]["variant"] == "warning"
    assert "left out 1 object whose labels changed since the run" in requests["notify"]["message"]


def test_keypoints_are_not_asked_for_shapes(operator, make_dataset, form):
    dataset = make_dataset({})
    sample = fo.Sample("1.jpg", metadata=fo.ImageMetadata(width=400, height=100))
    for name in ("alice", "bob"):
        sample[name] = fo.Keypoints(keypoints=[fo.Keypoint(label="p", points=[[0.1, 0.2], [0.2, 0.2]])])
    dataset.add_samples([sample])
    compute_agreement(dataset, ["alice", "bob"], resamples=0)
    assert "shapes" not in form(operator("add_agreement_units"), dataset)


def test_disputed_objects_open_one_by_one_and_units_are_made_for_them(operator, dataset, make_dataset, run, form):
    patches = operator("agreement_patches")
    inputs = form(patches, dataset)
    assert inputs["make_units"]["default"] is True
    assert "problem" not in inputs
    problem = form(patches, dataset, run_key="agreement", make_units=False)["problem"]
    assert "must be written first" in problem["view"]["label"]
    result, requests = run(patches, dataset, run_key="agreement", make_units=True)
    view = view_of(dataset, requests)
    assert len(view) == result["n_units"] > 10
    assert "agreed" not in view.count_values("agreement_units.verdict")
    assert "make_units" not in form(patches, dataset)
    agreed = make_dataset({name: [[("cat", (0.1, 0.1, 0.4, 0.3))]] for name in ANNOTATORS})
    compute_agreement(agreed, ANNOTATORS, resamples=0)
    add_units(agreed)
    result, requests = run(patches, agreed, run_key="agreement")  # nothing is disputed: the view stays
    assert (result, list(requests)) == ({"n_units": 0}, ["notify"])
