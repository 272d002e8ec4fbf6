"""The operators on objects: write one label for each, show disputed ones, tag, send to annotation, resolve by vote."""

from __future__ import annotations

import json
import re

import fiftyone as fo
import fiftyone.operators as foo
import pytest

from tests.datasets import detections, random_annotators, stored
from tests.operators.conftest import view_of

ANNOTATORS = ["alice", "bob", "carol"]


@pytest.fixture
def dataset(lend, operator):
    def made(make_dataset):
        dataset = make_dataset(random_annotators(20, seed=4))
        operator("compute_agreement")(dataset, ANNOTATORS, resamples=0, sensitivity=False)
        return dataset

    return lend(made)


@pytest.fixture
def form_of(context):
    """The inputs of a form, with what is selected."""

    def make(operator, dataset, view=None, selected=(), selected_labels=(), **params):
        ctx = context(operator, dataset, view, **params)
        ctx.request_params |= {"selected": list(selected), "selected_labels": list(selected_labels)}
        return operator.resolve_type(ctx, "inputs").to_json()["type"]["properties"]

    return make


@pytest.mark.parametrize("name", ["add_agreement_units", "agreement_patches", "resolve_units"])
def test_a_run_on_labels_that_are_no_objects_gets_a_sentence(operator, make_dataset, form, name):
    dataset = make_dataset({})
    dataset.add_samples([fo.Sample("1.jpg", a=fo.Classification(label="x"), b=fo.Classification(label="y"))])
    operator("compute_agreement")(dataset, ["a", "b"])
    problem = form(operator(name), dataset)["problem"]
    assert problem["invalid"]
    assert re.search(r"on objects.*, got (the run )?'agreement' on Classification", problem["view"]["label"])


# ---- units and consensus ----


@pytest.mark.parametrize(
    ("name", "field"), [("add_agreement_units", "agreement_units"), ("resolve_units", "agreement_consensus")]
)
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


def test_the_quorum_of_the_form_is_used(operator, dataset, run, form):
    resolve = operator("resolve_units")
    assert "quorum" not in form(resolve, dataset)
    assert form(resolve, dataset, votes="share")["quorum"]["default"] == 0.5
    few, requests = run(resolve, dataset, run_key="agreement", quorum=1.0, keep_ties=True)
    many, _ = run(resolve, dataset, run_key="agreement", quorum=0.1, keep_ties=True, overwrite=True)
    assert few["n_labels"] < many["n_labels"]
    assert few["n_below_quorum"] == many["n_labels"] - few["n_labels"]
    assert f"{few['n_below_quorum']} objects have too few votes" in requests["notify"]["message"]
    most, requests = run(resolve, dataset, run_key="agreement", quorum=0.1, overwrite=True)
    assert most["n_tied"] == many["n_labels"] - most["n_labels"] > 0
    assert f"{most['n_tied']} objects were left out: several classes" in requests["notify"]["message"]


def test_what_is_left_out_is_said(operator, dataset, run):
    sample = next(iter(dataset.match(fo.ViewField("alice.detections").length() > 1)))
    sample.alice.detections = sample.alice.detections[1:]
    sample.save()
    result, requests = run(operator("add_agreement_units"), dataset, run_key="agreement")
    assert result["n_left_out"] == 1
    assert requests["notify"]["variant"] == "warning"
    assert "1 objects were left out: labels changed since the run" in requests["notify"]["message"]


def test_keypoints_are_not_asked_for_shapes(operator, make_dataset, form):
    dataset = make_dataset({})
    points = [[0.1, 0.2], [0.2, 0.2]]
    sample = fo.Sample("1.jpg", metadata=fo.ImageMetadata(width=400, height=100))
    for name in ("alice", "bob"):
        sample[name] = fo.Keypoints(keypoints=[fo.Keypoint(label="p", points=points)])
    dataset.add_samples([sample])
    operator("compute_agreement")(dataset, ["alice", "bob"])
    assert "shapes" not in form(operator("add_agreement_units"), dataset)


def test_units_are_made_with_the_run_on_request(operator, make_dataset, run, form):
    dataset = make_dataset()
    compute = operator("compute_agreement")
    assert form(compute, dataset)["units"]["default"] is False
    assert "problem" not in form(compute, dataset, fields=ANNOTATORS, units=True)
    run(compute, dataset, fields=ANNOTATORS, units=True, resamples=0)
    assert dataset.count("agreement_units.detections") == 6
    ratings = make_dataset({})
    ratings.add_samples([fo.Sample("1.jpg", a=fo.Classification(label="x"), b=fo.Classification(label="y"))])
    assert "units" not in form(compute, ratings)


# ---- patches ----


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


def test_what_the_form_asks_for_is_shown(operator, dataset, run, form_of):
    operator("add_agreement_units")(dataset)
    patches = operator("agreement_patches")
    asked = {"run_key": "agreement", "verdict": ["lone", "missed"], "max_units": 7}
    result, requests = run(patches, dataset, **asked)
    view = view_of(dataset, requests)
    assert result == {"n_units": 7}
    assert set(view.distinct("agreement_units.verdict")) <= {"lone", "missed"}
    part = dataset.limit(4)
    assert "within_view" not in form_of(patches, dataset)
    assert form_of(patches, dataset, part)["within_view"]["default"] is False
    all_units, _ = run(patches, dataset, part, run_key="agreement")
    some_units, requests = run(patches, dataset, part, run_key="agreement", within_view=True)
    assert some_units["n_units"] < all_units["n_units"]
    assert set(view_of(dataset, requests).values("sample_id")) <= set(part.values("id"))


def test_nothing_disputed_leaves_the_view_as_it_is(operator, make_dataset, run):
    dataset = make_dataset({name: [[("cat", (0.1, 0.1, 0.4, 0.3))]] for name in ANNOTATORS})
    operator("compute_agreement")(dataset, ANNOTATORS, units=True)
    result, requests = run(operator("agreement_patches"), dataset, run_key="agreement")
    assert result == {"n_units": 0}
    assert list(requests) == ["notify"]


def test_the_operator_and_the_function_are_the_same(operator, dataset):
    from annotator_agreement import agreement_patches

    operator("add_agreement_units")(dataset)
    asked = {"verdict": "missed", "max_units": 5}
    expected = agreement_patches(dataset, **asked).values("agreement_units.unit")
    assert operator("agreement_patches")(dataset, **asked).values("agreement_units.unit") == expected


# ---- tags ----


@pytest.fixture
def patches(operator, dataset):
    operator("add_agreement_units")(dataset)
    return operator("agreement_patches")(dataset)


def _labels(view):
    return {
        (name, label.id) for patch in view for name in ANNOTATORS if patch[name] for label in patch[name].detections
    }


def _tagged(dataset, tag="needs_review"):
    dataset.reload()
    return {
        (name, label.id)
        for name in ANNOTATORS
        for labels in dataset.values(f"{name}.detections")
        for label in labels or []
        if tag in label.tags
    }


def test_the_labels_of_selected_patches_are_tagged(operator, dataset, patches, run, form_of):
    tag = operator("tag_agreement_labels")
    selected = patches.values("id")[1:4]
    inputs = form_of(tag, dataset, patches, selected)
    assert inputs["target"]["view"]["label"] == "This concerns the labels of 3 selected samples or patches"
    result, requests = run(tag, dataset, patches, selected, run_key="agreement", tag="look", on="labels")
    expected = _labels(patches.select(selected))
    assert _tagged(dataset, "look") == expected
    assert result == {"n": len(expected)}
    assert {"reload_samples", "notify"} <= set(requests)
    run(tag, dataset, patches, selected, run_key="agreement", tag="look", on="labels", remove=True)
    assert _tagged(dataset, "look") == set()


def test_selected_labels_are_tagged(operator, dataset, patches, run, form_of):
    tag = operator("tag_agreement_labels")
    patch = patches.first()
    name = next(name for name in ANNOTATORS if patch[name] and patch[name].detections)
    label = patch[name].detections[0]
    selected = [
        {"label_id": label.id, "sample_id": patch.id, "field": name},
        {"label_id": patch.agreement_units.id, "sample_id": patch.id, "field": "agreement_units"},
    ]
    inputs = form_of(tag, dataset, patches, (), selected)
    assert inputs["target"]["view"]["label"] == "This concerns 1 selected labels of annotators"
    run(tag, dataset, patches, (), selected, run_key="agreement")
    assert _tagged(dataset) == {(name, label.id)}


def test_selected_labels_of_nobody_are_not_taken_for_no_selection(operator, dataset, patches, run, form_of):
    tag = operator("tag_agreement_labels")
    patch = patches.first()
    selected = [{"label_id": patch.agreement_units.id, "sample_id": patch.id, "field": "agreement_units"}]
    inputs = form_of(tag, dataset, patches, (), selected)
    assert inputs["target"]["view"]["label"] == "This concerns 0 selected labels of annotators"
    result, requests = run(tag, dataset, patches, (), selected, run_key="agreement")
    assert (result, _tagged(dataset)) == ({"n": 0}, set())
    assert requests["notify"]["variant"] == "warning"


def test_the_samples_of_selected_labels_are_tagged(operator, dataset, run):
    sample = next(iter(dataset.match(fo.ViewField("bob.detections").length() > 1)))
    selected = [{"label_id": sample.bob.detections[1].id, "sample_id": sample.id, "field": "bob"}]
    result, _ = run(operator("tag_agreement_labels"), dataset, None, (), selected, run_key="agreement", on="samples")
    assert result == {"n": 1}
    assert dataset.match_tags("needs_review").values("id") == [sample.id]


def test_of_a_sample_that_was_added_twice_the_selected_labels_are_tagged(operator, make_dataset, run):
    dataset = make_dataset({name: [[("cat", (0.1, 0.1, 0.4, 0.3))]] for name in ANNOTATORS})
    sample = dataset.first()
    dataset.add_samples([fo.Sample("again.jpg", **{name: sample[name] for name in ANNOTATORS})])
    operator("compute_agreement")(dataset, ANNOTATORS)
    label_id = sample.bob.detections[0].id
    assert dataset.values("bob.detections.id") == [[label_id], [label_id]]
    selected = [{"label_id": label_id, "sample_id": sample.id, "field": "bob"}]
    result, _ = run(operator("tag_agreement_labels"), dataset, None, (), selected, run_key="agreement")
    assert result == {"n": 1}
    assert dataset.values("bob.detections.tags") == [[["needs_review"]], [[]]]


def test_of_a_group_the_selected_sample_is_tagged_and_no_other(operator, make_dataset, run):
    dataset = make_dataset({})
    dataset.add_group_field("group", default="left")
    group = fo.Group()
    labels = detections([("cat", (0.1, 0.1, 0.4, 0.3))])
    dataset.add_samples(
        [
            fo.Sample(f"{side}.jpg", group=group.element(side), **{name: labels.copy() for name in ANNOTATORS})
            for side in ("left", "right")
        ]
    )
    operator("compute_agreement")(dataset, ANNOTATORS, resamples=0)
    tag, left = operator("tag_agreement_labels"), dataset.first()
    assert run(tag, dataset, None, [left.id], run_key="agreement", on="samples")[0] == {"n": 1}
    assert run(tag, dataset, None, [left.id], run_key="agreement", on="labels")[0] == {"n": 3}
    flat = dataset.select_group_slices()
    assert flat.match_tags("needs_review").values("id") == [left.id]
    assert {(name, left[name].detections[0].id) for name in ANNOTATORS} == {
        (name, label_id) for name in ANNOTATORS for label_id in flat.select_labels(tags="needs_review").values(
            f"{name}.detections.id", unwind=True)
    }  # fmt: skip


def test_what_the_view_shows_is_tagged_for_some_annotators(operator, dataset, patches, run, form_of):
    tag = operator("tag_agreement_labels")
    inputs = form_of(tag, dataset, patches)
    assert inputs["target"]["view"]["label"] == "This concerns the labels that the current view shows"
    assert form_of(tag, dataset)["target"]["view"]["label"] == "This concerns all labels of the run"
    assert [choice["value"] for choice in inputs["annotators"]["view"]["choices"]] == ANNOTATORS
    run(tag, dataset, patches, run_key="agreement", annotators=["bob"])
    assert _tagged(dataset) == {entry for entry in _labels(patches) if entry[0] == "bob"}


def test_samples_are_tagged(operator, dataset, run):
    tag = operator("tag_agreement_labels")
    ids = dataset.values("id")[3:5]
    result, requests = run(tag, dataset, None, ids, run_key="agreement", on="samples")
    assert result == {"n": 2}
    assert dataset.match_tags("needs_review").values("id") == ids
    assert requests["notify"]["message"] == "Tagged 2 samples ('needs_review')"


# ---- annotate again ----


@pytest.fixture
def file_backend(monkeypatch, tmp_path):
    parameters = {"config_cls": "tests.dataset_io.file_backend.FileBackendConfig", "folder": str(tmp_path)}
    monkeypatch.setattr(fo.annotation_config, "backends", {"cvat": {"url": "https://x"}, "file": parameters})
    return tmp_path


def test_without_a_backend_the_form_says_how_to_configure_one(operator, dataset, form, monkeypatch):
    monkeypatch.setattr(fo.annotation_config, "backends", {"cvat": {"url": "https://x"}})
    problem = form(operator("annotate_disputed"), dataset)["problem"]
    assert problem["invalid"]
    assert "FIFTYONE_CVAT_USERNAME" in problem["view"]["label"]


def test_disputed_labels_are_sent_to_the_backend_that_is_chosen(operator, dataset, patches, run, form_of, file_backend):
    annotate = operator("annotate_disputed")
    inputs = form_of(annotate, dataset, patches)
    assert inputs["backend"]["type"]["values"] == ["file"]
    assert inputs["anno_key"]["default"] == "disputed"
    problem = form_of(annotate, dataset, patches, anno_key="two words")["problem"]
    assert "`anno_key` must be a new name" in problem["view"]["label"]
    selected = patches.values("id")[:2]
    result, requests = run(annotate, dataset, patches, selected, run_key="agreement", anno_key="again", backend="file")
    assert result == {"anno_key": "again"}
    labels = json.loads((file_backend / "again.json").read_text())["labels"]
    sent = {(name, label_id) for name, of in labels.items() for ids in of.values() for label_id in ids or []}
    assert sent == _labels(patches.select(selected))
    assert dataset.list_annotation_runs() == ["again"]
    assert "load_annotations('again')" in requests["notify"]["message"]


def test_only_selected_labels_are_sent(operator, dataset, run, file_backend):
    sample = next(iter(dataset.match(fo.ViewField("bob.detections").length() > 1)))
    selected = [{"label_id": sample.bob.detections[1].id, "sample_id": sample.id, "field": "bob"}]
    run(operator("annotate_disputed"), dataset, None, (), selected, run_key="agreement")
    labels = json.loads((file_backend / "disputed.json").read_text())["labels"]
    assert labels == {"bob": {sample.id: [sample.bob.detections[1].id]}}


def test_a_selection_without_anything_disputed_is_shown_in_the_form(operator, make_dataset, form_of, file_backend):
    dataset = make_dataset({name: [[("cat", (0.1, 0.1, 0.4, 0.3))]] * 2 for name in ANNOTATORS})
    operator("compute_agreement")(dataset, ANNOTATORS)
    problem = form_of(operator("annotate_disputed"), dataset, None, dataset.values("id")[:1])["problem"]
    assert "There must be disputed labels to send" in problem["view"]["label"]


def test_the_operators_run_through_fiftyone(make_dataset):
    dataset = make_dataset(random_annotators(20, seed=4))
    before = stored(dataset)
    foo.get_operator("@annotator/agreement/compute_agreement")(dataset, ANNOTATORS)
    for name in ("add_agreement_units", "resolve_units"):
        uri = f"@annotator/agreement/{name}"
        assert foo.execute_operator(uri, {"dataset": dataset, "params": {"run_key": "agreement"}}).result["n_labels"]
    foo.get_operator("@annotator/agreement/delete_agreement")(dataset)
    dataset.reload()
    assert stored(dataset) == before


@pytest.mark.parametrize("on", ["labels", "samples"])
@pytest.mark.parametrize(
    "entry",
    [{"label_id": None, "sample_id": None, "field": None}, {"label_id": "x", "sample_id": "y", "field": "zz"},
     {"label_id": "x", "sample_id": "y", "field": "alice"}, {}, None, {"label_id": "6" * 24, "field": "alice"}],
    ids=repr,
)  # fmt: skip
def test_selected_labels_that_name_none_are_ignored(operator, dataset, run, entry, on):
    sample = next(iter(dataset.match(fo.ViewField("alice.detections").length() > 0)))
    named = {"label_id": sample.alice.detections[0].id, "sample_id": sample.id, "field": "alice"}
    asked = operator("tag_agreement_labels")
    run(asked, dataset, None, (), [entry, named], run_key="agreement", on=on)
    assert dataset.count_sample_tags() == ({} if on == "labels" else {"needs_review": 1})
    assert len(_tagged(dataset)) == (on == "labels")
    result, _ = run(asked, dataset, None, (), [entry], run_key="agreement", tag="none")
    assert result == {"n": 0}
