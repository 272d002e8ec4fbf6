"""The operators on objects: write one label for each, show disputed ones, tag, send to annotation, resolve by vote."""

from __future__ import annotations

import fiftyone as fo
import pytest

from tests.datasets import random_annotators
from tests.operators.conftest import view_of

from annotator_agreement.dataset_io import add_units, agreement_patches, compute_agreement

ANNOTATORS = ["alice", "bob", "carol"]


def _made(make_dataset):
    dataset = make_dataset(random_annotators(20, seed=4))
    compute_agreement(dataset, ANNOTATORS, resamples=0)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_made)


# ---- units and consensus ----


@pytest.mark.parametrize(
    ("name", "field"), [("add_agreement_units", "agreement_units"), ("resolve_units", "agreement_consensus")]
)
@pytest.mark.few(1)
def test_labels_are_made_and_made_anew_on_request(operator, dataset, run, form, name, field):
    made = operator(name)
    inputs = form(made, dataset)
    assert "overwrite" not in inputs
    assert "problem" not in inputs
    assert inputs["shapes"]["type"]["values"] == ["medoid", "vote"]
    result, requests = run(made, dataset, run_key="agreement")
    assert result["n_labels"] == dataset.count(f"{field}.detections") > 20
    assert result["field"] == field
    assert {"reload_dataset", "notify"} <= set(requests)
    assert requests["notify"]["variant"] == "success"
    assert f"Wrote {result['n_labels']} labels into {field}" in requests["notify"]["message"]
    inputs = form(made, dataset, run_key="agreement")
    assert "must be new, but it exists already" in inputs["problem"]["view"]["label"]
    assert "problem" not in form(made, dataset, run_key="agreement", overwrite=True)
    assert run(made, dataset, run_key="agreement", overwrite=True)[0] == result


def test_what_is_left_out_is_said(operator, dataset, run):
    sample = next(iter(dataset.match(fo.ViewField("alice.detections").length() > 1)))
    sample.alice.detections = sample.alice.detections[1:]
    sample.save()
    result, requests = run(operator("add_agreement_units"), dataset, run_key="agreement")
    assert result["n_left_out"] == 1
    assert requests["notify"]["variant"] == "warning"
    assert "left out 1 object whose labels changed since the run" in requests["notify"]["message"]


def test_keypoints_are_not_asked_for_shapes(operator, make_dataset, form):
    dataset = make_dataset({})
    points = [[0.1, 0.2], [0.2, 0.2]]
    sample = fo.Sample("1.jpg", metadata=fo.ImageMetadata(width=400, height=100))
    for name in ("alice", "bob"):
        sample[name] = fo.Keypoints(keypoints=[fo.Keypoint(label="p", points=points)])
    dataset.add_samples([sample])
    compute_agreement(dataset, ["alice", "bob"])
    assert "shapes" not in form(operator("add_agreement_units"), dataset)


def test_disputed_objects_open_one_by_one_and_units_are_made_for_them(operator, dataset, run, form):
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


def test_nothing_disputed_leaves_the_view_as_it_is(operator, make_dataset, run):
    dataset = make_dataset({name: [[("cat", (0.1, 0.1, 0.4, 0.3))]] for name in ANNOTATORS})
    compute_agreement(dataset, ANNOTATORS)
    add_units(dataset)
    result, requests = run(operator("agreement_patches"), dataset, run_key="agreement")
    assert result == {"n_units": 0}
    assert list(requests) == ["notify"]


# ---- tags ----


@pytest.fixture
def patches(operator, dataset):
    add_units(dataset)
    return agreement_patches(dataset)
