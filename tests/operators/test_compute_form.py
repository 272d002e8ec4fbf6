"""The form offers the fields of one kind and the options that concern it."""

from __future__ import annotations

import fiftyone as fo
import fiftyone.operators as foo
import pytest

from annotator_agreement.dataset_io import (
    add_units,
    compute_agreement,
    delete_agreement,
    load_agreement,
    resolve_units,
    view_agreement,
)
from annotator_agreement.dataset_io.labels import KINDS
from annotator_agreement.operators import given_options, options_of

LABEL_TYPES = {
    "boxes": fo.Detections, "polygons": fo.Polylines, "keypoints": fo.Keypoints, "scene": fo.Classification,
    "tags": fo.Classifications, "segmentation": fo.Segmentation,
}  # fmt: skip
OBJECTS = {"iou", "classes", "missing", "method", "similarity"}
#: those that need numbers are offered for numbers
LEVELS = {"scene": ["auto", "nominal", "ordinal"], "rating": ["auto", "nominal", "ordinal", "interval", "ratio"]}
FROM_APP = {"spaces": {}}


def _made(make_dataset):
    dataset = make_dataset({})
    dataset.add_sample(fo.Sample(filepath="/images/0.jpg"))
    for name in ("alice", "bob"):
        for ending, label_type in LABEL_TYPES.items():
            dataset.add_sample_field(f"{name}_{ending}", fo.EmbeddedDocumentField, embedded_doc_type=label_type)
        dataset.add_sample_field(f"{name}_rating", fo.IntField)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_made)


@pytest.fixture
def compute(operator):
    return operator("compute_agreement")


@pytest.fixture
def compute_form(compute, form, dataset):
    return lambda **params: form(compute, dataset, **params)


def _attributes(inputs):
    return [choice["value"] for choice in inputs["annotator_attribute"]["view"]["choices"]]


def _offered(inputs):
    return {choice["value"] for choice in inputs["fields"]["view"]["choices"]}


def _problem(inputs):
    return inputs["problem"]["view"]["label"]


@pytest.mark.long
def test_fields_that_end_alike_are_chosen_and_those_that_can_be_compared_with_them_offered(compute_form):
    assert compute_form()["fields"]["default"] == ["alice_boxes", "bob_boxes"]
    shapes = {"alice_boxes", "bob_boxes", "alice_polygons", "bob_polygons"}
    assert _offered(compute_form(fields=["alice_polygons"])) == shapes
    assert _offered(compute_form(fields=["alice_scene"])) == {"alice_scene", "bob_scene"}
    everything = {f"{name}_{ending}" for name in ("alice", "bob") for ending in (*LABEL_TYPES, "rating")}
    assert _offered(compute_form(fields=[])) == everything


def test_fields_of_frames_are_not_offered_with_those_of_samples(make_videos, compute, form):
    dataset = make_videos([{"alice": [fo.Detections()], "bob": [fo.Detections()]}])
    dataset.add_sample_field("whole", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    opened = form(compute, dataset)
    assert set(opened["fields"]["default"]) == _offered(opened) == {"frames.alice", "frames.bob"}
    assert "problem" not in opened
    assert _offered(form(compute, dataset, fields=["whole"])) == {"whole"}


#: the ending of the fields, what else is entered, and which options then are shown, and are not
SHOWN = [
    ("boxes", {}, {*OBJECTS, "geometry", "crowd_attribute"}, {"sigmas", "level", "background", "rasterize"}),
    ("boxes", {"method": "mutual_best"}, {"method"}, {"iou"}),
    ("boxes", {"iou_from_data": True}, {"iou_from_data"}, {"iou"}),
    ("boxes", {"attributes": ["occluded"]}, {"tolerance", "iou", "iou_from_data"}, set()),
    ("boxes", {"aliases": ["Car=car"]}, {"aliases"}, {"tolerance"}),
    ("boxes polygons", {}, {"line_tolerance"}, {"sigmas"}),
    ("polygons", {}, {*OBJECTS, "rasterize", "line_tolerance"}, {"sigmas", "level", "background"}),
    ("keypoints", {}, {*OBJECTS, "sigmas", "point_radius", "crowd_attribute"}, {"geometry", "level"}),
    ("scene", {}, {"level", "categories"}, {*OBJECTS, "tolerance", "set_distance", "boundaries"}),
    ("rating", {}, {"level", "categories", "tolerance"}, {*OBJECTS, "set_distance"}),
    ("tags", {}, {"set_distance"}, {*OBJECTS, "level"}),
    ("segmentation", {}, {"background", "ignore_values", "boundaries"}, {*OBJECTS, "map_folder", "boundary_tolerance"}),
    ("segmentation", {"disagreement_map": True}, {"map_folder"}, set()),
    ("segmentation", {"boundaries": True}, {"boundary_tolerance"}, set()),
    # what was entered for other fields does not stand in the way
    ("scene", {"background": "sky", "line_tolerance": -1, "iou": 7}, {"level"}, {"background"}),
]


def test_only_options_that_apply_are_shown_and_every_choice_is_explained(compute_form):
    for endings, entered, shown, hidden in SHOWN:
        first, *_, last = endings.split() * 2
        inputs = compute_form(fields=[f"alice_{first}", f"bob_{last}"], run_key="agreement", **entered)
        assert shown <= set(inputs), endings
        assert not {*hidden, "problem"} & set(inputs), endings
        assert "level" not in inputs or inputs["level"]["type"]["values"] == LEVELS[endings]
        for name in inputs.keys() - {"view_target", "lists"}:  # FiftyOne's own; a table
            entry = inputs[name]
            choices = (entry.get("view") or {}).get("choices") or []
            if name not in ("fields", "reference", "models"):  # names of fields
                assert all(choice["label"] and choice["label"] != choice["value"] for choice in choices), name
            assert entry["view"].get("label") or entry.get("label"), name


@pytest.mark.long
def test_attributes_of_any_list_can_name_the_annotator_but_not_what_a_run_wrote(dataset, compute_form):
    dataset.add_sample_field("alice_polygons.polylines.rater", fo.StringField)
    for name in ("alice_polygons.polylines.first", "first_majority"):
        dataset.add_sample_field(name, fo.StringField, info={"annotator_agreement": "first"})
    inputs = compute_form(fields=["alice_polygons"], run_key="agreement")
    assert _attributes(inputs) == ["rater"]
    assert "assigned_field" not in inputs
    assert "annotator_attribute" not in compute_form(fields=["alice_scene"], run_key="agreement")


ATTRIBUTES = {"attributes": ["occluded", "2"], "aliases": {"Car ": "car", "a=b": "c"}, "tolerance": 0.5}
#: kinds of labels, what was entered, and the options that it stands for
ENTERED = [
    (
        "Polylines Keypoints Classification Segmentation",
        {"rasterize": "none", "sigmas": "none", "background": " None", "ignore_values": [" 255", "#ff0000"],
         "categories": ["bad", "1"], "crowd_attribute": "None", "map_folder": "", "boundaries": False},
        {"rasterize": None, "sigmas": None, "background": None, "ignore_values": [255, "#ff0000"],
         "categories": ["bad", 1], "crowd_attribute": None, "boundaries": False},
    ),
    ("Detections", {"attributes": ["occluded", "2"], "aliases": ["Car =car", "a=b=c"], "tolerance": 0.5}, ATTRIBUTES),
    ("Detections", ATTRIBUTES, ATTRIBUTES),
    ("Detections", {"tolerance": 0.5, "attributes": []}, {}),
    ("Segmentation", ATTRIBUTES, {}),
    ("Detections", {"iou_from_data": True, "iou": 0.3}, {"iou": "auto"}),
    ("Detections", {"iou_from_data": False, "iou": 0.3}, {"iou": 0.3}),
    ("Detections", {"iou": "auto"}, {"iou": "auto"}),
    ("Segmentation", {"iou_from_data": True}, {}),
]  # fmt: skip


def test_what_is_entered_becomes_the_options_it_stands_for(dataset):
    for titles, entered, expected in ENTERED:
        assert given_options(entered, [kind for kind in KINDS if kind.title in titles.split()]) == expected
    # a folder is forgotten with the map for which it was entered
    given = {"fields": ["alice_segmentation", "bob_segmentation"], "map_folder": "/maps"}
    assert "map_folder" not in options_of({**given, "disagreement_map": False}, dataset, from_form=True)
    assert options_of(given, dataset, from_form=True)["map_folder"] == "/maps"


def test_plain_fields_are_not_chosen_where_there_are_labels(make_dataset, compute, form):
    dataset = make_dataset({})
    dataset.add_sample(fo.Sample(filepath="/images/0.jpg", uniqueness=0.5, mistakenness=0.25))
    assert set(form(compute, dataset)["fields"]["default"]) == {"uniqueness", "mistakenness"}
    for name in ("scene", "ground_truth", "predictions"):
        label_type = fo.Classification if name == "scene" else fo.Detections
        dataset.add_sample_field(name, fo.EmbeddedDocumentField, embedded_doc_type=label_type)
    assert form(compute, dataset)["fields"]["default"] == ["ground_truth", "predictions"]


def test_what_is_wrong_with_the_options_of_the_chosen_fields_is_said_also_to_a_caller_without_a_form(
    dataset, compute_form, compute
):
    boxes, masks = ({"fields": [f"{name}_{kind}" for name in ("alice", "bob")]} for kind in ("boxes", "segmentation"))
    assert "`aliases` must map class names" in _problem(compute_form(**boxes, aliases=["Car"]))
    assert "problem" in compute_form(**masks, background="sky", line_tolerance=-1, iou=7)
    refused = "`iou` concerns objects that are matched, but 'alice_segmentation' holds Segmentation; leave it out"
    assert _problem(compute_form(prompt_id=None, **masks, iou=0.9)) == refused
    assert "problem" not in compute_form(prompt_id=None, **masks, iou=0.5)
    with pytest.raises(Exception, match=refused):
        foo.execute_operator(compute.uri, {"dataset": dataset, "params": {**masks, "iou": 0.9}})
    assert dataset.list_runs() == []
    for name, good, bad, least, most in (
        ("workers", 8, [0, 1.5, "x", 10**6], 1, 1_000),
        ("resamples", 0, [-1, 2.5, 10**6], 0, 100_000),
    ):
        number = compute_form(**boxes, advanced={name: good})[name]
        assert (number["type"]["int"], number["type"]["min"], number["type"]["max"]) == (True, least, most)
        assert not number["invalid"]
        for value in bad:
            number = compute_form(**boxes, advanced={name: value})[name]
            assert number["invalid"]
            assert f"must be a whole number from {least} to {most:,}, got {value!r}" in number["error_message"]


BOX = ("cat", (0.1, 0.1, 0.2, 0.4))


def _counted(inputs):
    """The rows of the table of what the fields hold: name, labels, images with labels, with an empty list, without."""
    lines = [line for line in inputs["lists"]["default"].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_label_lists_are_counted_before_the_run_and_null_is_asked_for_where_it_can_mean_two_things(
    compute, form, make_dataset, compute_form
):
    dataset = make_dataset({"alice": [[BOX], [], None, None], "bob": [[BOX], [BOX], [], [BOX]]})
    inputs = form(compute, dataset)
    assert _counted(inputs) == [["alice", "1", "1", "1", "2"], ["bob", "3", "3", "1", "0"]]
    assert inputs["no_labels"]["default"] == "not_assigned"
    assert [choice["value"] for choice in inputs["no_labels"]["view"]["choices"]] == ["not_assigned", "drew_nothing"]
    assert list(inputs).index("no_labels") < list(inputs).index("iou")
    of_view = form(compute, dataset, view=dataset.limit(2))
    assert "no_labels" not in of_view
    assert _counted(of_view)[0] == ["alice", "1", "1", "1", "0"]
    dataset.add_sample_field("asked", fo.ListField, subfield=fo.StringField)
    with_field = form(compute, dataset, fields=["alice", "bob"], assigned_field="asked", no_labels="drew_nothing")
    assert not {"no_labels", "problem"} & with_field.keys()
    inputs = compute_form(fields=["alice_scene", "bob_scene"], no_labels="drew_nothing", assigned_field="x")
    assert _counted(inputs) == [["alice\\_scene", "0", "0", "0", "1"], ["bob\\_scene", "0", "0", "0", "1"]]
    assert not {"no_labels", "problem"} & inputs.keys()
    assert "no_labels" in compute_form(fields=["alice_boxes", "bob_boxes"])


# ---- what is preset ----


def _rated(make_dataset):
    """Boxes of two raters in one field, with the list of those who were asked; nothing of it is declared."""
    dataset = make_dataset({})
    metadata = fo.ImageMetadata(width=10, height=20)
    for k in range(3):
        boxes = [fo.Detection(label="a", bounding_box=[0, 0, 0.5, 0.5], rater=name, area=k) for name in ("r1", "r2")]
        dataset.add_sample(fo.Sample(filepath=f"/{k}.jpg", metadata=metadata, labels=fo.Detections(detections=boxes)))
    dataset.set_values("raters", [["r1", "r2"]] * 3)
    dataset.set_values("users", [["somebody", "else"]] * 3)
    return dataset


@pytest.fixture
def rated(lend):
    return lend(_rated)


def test_the_attribute_that_names_annotators_and_their_list_are_guessed_and_a_misspelt_one_corrected(
    rated, compute, form
):
    inputs = form(compute, rated)
    assert inputs["fields"]["default"] == ["labels"]
    assert inputs["annotator_attribute"]["default"] == "rater"
    assert inputs["annotator_attribute"]["view"]["description"] == "It names r1, r2"
    assert inputs["assigned_field"]["default"] == "raters"
    assert "problem" not in inputs
    assert set(_attributes(inputs)) == {"rater", "area"}
    problem = _problem(form(compute, rated, fields=["labels"], annotator_attribute="ratr"))
    assert "which none of them has; did you mean 'rater'?; their attributes are " in problem
    given = {"fields": ["labels"], "annotator_attribute": "rater"}
    assert not rated.has_sample_field("labels.detections.rater")
    assert foo.execute_operator(compute.uri, {"dataset": rated, "params": given}).result["score"] == 1.0
    in_use = "A run key must not be in use, got 'labels': `labels` is a label field of the dataset; choose another key"
    assert _problem(form(compute, rated, **given, run_key="labels")) == in_use
    rated.reload()
    problem = _problem(form(compute, rated, **given, run_key="agreement"))
    assert problem.endswith("use another key, or replace it with the switch “Overwrite”")


@pytest.mark.long
def test_what_the_last_run_chose_is_chosen_again(rated, compute, form):
    rated.clone_sample_field("labels", "theirs")
    compute_agreement(rated, "theirs", annotator_attribute="rater", iou=0.3, aliases={"b": "a"}, run_key="first")
    inputs = form(compute, rated)
    chosen = {name: inputs[name]["default"] for name in ("fields", "annotator_attribute", "iou", "aliases", "run_key")}
    assert list(chosen.values()) == [["theirs"], "rater", 0.3, ["b=a"], "agreement"]
    assert inputs["preset"]["view"]["label"].startswith("As in the run 'first': ")
    other = form(compute, rated, fields=["labels"])
    assert other["iou"]["default"] == 0.5
    assert "preset" not in other


@pytest.mark.long
def test_a_copy_of_the_consensus_is_nobodys_labels(make_dataset, compute, form):
    dataset = make_dataset({name: [[BOX]] for name in ("labels", "more")})
    compute_agreement(dataset, ["labels", "more"], resamples=0)
    resolve_units(dataset)
    dataset.clone_sample_field("agreement_consensus", "gt")
    delete_agreement(dataset)
    dataset.delete_sample_field("more")
    assert form(compute, dataset)["fields"]["default"] == ["labels"]


def test_samples_that_a_run_chose_are_not_preset_and_asked_for(make_dataset, compute, form, context):
    dataset = make_dataset()
    compute_agreement(dataset, ["alice", "bob", "carol"], resamples=0)
    shown = view_agreement(dataset, annotators=["alice", "bob"])
    opened = context(compute, dataset, shown)
    opened._prompt_id = "form"
    del opened.request_params["view_target"]  # nothing is chosen yet
    inputs = compute.resolve_type(opened, "inputs").to_json()["type"]["properties"]
    assert inputs["view_target"]["default"] == "DATASET"
    assert "chosen_by_a_run" not in inputs
    told = form(compute, dataset, view=shown, view_target="CURRENT_VIEW")["chosen_by_a_run"]
    assert "run 'agreement' chose these samples" in told["view"]["label"]
    assert told["invalid"] is True
    asked = form(compute, dataset, view=shown, view_target="CURRENT_VIEW", all_the_same=True)
    assert asked["chosen_by_a_run"]["invalid"] is False
    assert form(compute, dataset, view=dataset.limit(2))["view_target"]["default"] == "CURRENT_VIEW"


def test_what_must_be_asked_is_asked_and_what_is_entered_in_the_folded_part_arrives(rated, compute, form, context, run):
    ctx = context(compute, rated)
    ctx._prompt_id = "form"
    inputs = compute.resolve_type(ctx, "inputs").to_json()["type"]["properties"]
    asked = {"fields", "annotator_attribute", "assigned_field", "reference", "models"}
    assert set(inputs) == {"view_target", *asked, "lists", "advanced"}
    folded = inputs["advanced"]
    assert folded["view"]["collapsible"] is True
    assert {"run_key", "iou", "classes"} <= set(folded["type"]["properties"])
    assert "sigmas" not in folded["type"]["properties"]
    given = {"fields": ["labels"], "annotator_attribute": "rater", "advanced": {"run_key": "fine", "iou": 0.25}}
    assert "problem" not in form(compute, rated, **given)
    assert "must be in (0, 1]" in _problem(form(compute, rated, **{**given, "advanced": {"iou": 7}}))
    run(compute, rated, request=FROM_APP, **given)  # the App gives no prompt then
    assert load_agreement(rated, "fine").config["iou"] == 0.25


@pytest.mark.long
def test_of_views_of_objects_the_whole_dataset_is_computed_and_the_view_is_left(make_dataset, compute, run):
    dataset = make_dataset()
    given = {"fields": ["alice", "bob"], "run_key": "agreement", "overwrite": True}
    result, _ = run(compute, dataset, dataset.to_patches("alice"), FROM_APP, **given)
    assert result["n_samples"] == len(dataset)
    add_units(dataset)
    # the new run has no objects
    _, requests = run(compute, dataset, dataset.exists("agreement_units"), **given, view_target="DATASET")
    assert requests.keys() & {"clear_view", "reload_dataset"} == {"clear_view"}


# ---- roles in one field with the labels of all ----


def _with_roles(make_dataset):
    """Boxes of three annotators, a reference on one image alone, and a model, of two shifts; and predictions."""
    dataset = make_dataset({})
    metadata = fo.ImageMetadata(width=10, height=20)
    for k in range(4):
        labels = [
            fo.Detection(label="a", bounding_box=[0, 0, 0.5, 0.5 - n / 50], rater=name, shift=("day", "night")[n % 2],
                         confidence=0.5 if name == "yolo" else None)
            for n, name in enumerate(["alice", "bob", "carol", "yolo", *(["gold"] if k == 3 else [])])
        ]  # fmt: skip
        boxes = [fo.Detection(label="a", bounding_box=[0, 0, 0.5, 0.4], confidence=0.9)]
        labels, predictions = fo.Detections(detections=labels), fo.Detections(detections=boxes)
        dataset.add_sample(fo.Sample(f"/{k}.jpg", metadata=metadata, labels=labels, predictions=predictions))
    return dataset


@pytest.fixture
def with_roles(lend):
    return lend(_with_roles)


def _roles(inputs):
    """What is offered as a role, and what is preset."""
    offered = [choice["value"] for choice in inputs["reference"]["view"]["choices"]]
    assert offered == [choice["value"] for choice in inputs["models"]["view"]["choices"]]
    return offered, inputs["reference"].get("default"), inputs["models"]["default"]


@pytest.fixture
def filled(with_roles, compute, form):
    """What the App would send: all that is preset, other than what is folded and the samples."""
    inputs = form(compute, with_roles)
    names = ("fields", "annotator_attribute", "assigned_field", "reference", "models")
    return {name: inputs[name]["default"] for name in names if inputs.get(name, {}).get("default") not in (None, [])}


def test_values_of_the_attribute_are_offered_and_guessed_as_roles(with_roles, compute, form, filled, run):
    everybody = ["alice", "bob", "carol", "gold", "yolo"]
    assert _roles(form(compute, with_roles)) == ([*everybody, "predictions"], "gold", ["yolo", "predictions"])
    assert filled["annotator_attribute"] == "rater"
    assert "problem" not in form(compute, with_roles, **filled)
    run(compute, with_roles, request=FROM_APP, **filled)
    report = load_agreement(with_roles)
    assert [entry.name for entry in report.annotators] == ["alice", "bob", "carol"]
    assert (report.reference.name, report.reference.n_samples) == ("gold", 1)
    assert [model.name for model in report.models] == ["yolo", "predictions"]
    assert _roles(form(compute, with_roles))[1:] == ("gold", ["yolo", "predictions"])  # as in the last run


def test_roles_follow_the_attribute_there_and_back(with_roles, compute, form, filled, run):
    changed = form(compute, with_roles, **{**filled, "annotator_attribute": "shift"})  # the App keeps the roles
    assert _roles(changed) == (["day", "night", "predictions"], None, ["predictions"])
    assert changed["left_over"]["view"]["label"].startswith("gold, yolo: left out")
    assert "problem" not in changed
    back = form(compute, with_roles, **filled)
    assert _roles(back)[1:] == ("gold", ["yolo", "predictions"])
    assert not {"problem", "left_over"} & {*back}
    removed = form(compute, with_roles, **{**filled, "annotator_attribute": ""})
    assert _roles(removed)[0] == ["predictions"]
    assert "left_over" in removed
    run(compute, with_roles, request=FROM_APP, **{**filled, "annotator_attribute": "shift"})
    report = load_agreement(with_roles)
    assert [entry.name for entry in report.annotators] == ["day", "night"]
    assert (report.reference, [model.name for model in report.models]) == (None, ["predictions"])


def test_a_role_that_does_not_exist_is_a_problem_and_without_two_others_nobody_is_guessed_as_one(
    with_roles, compute, form, filled
):
    for changed in ({"reference": "glod"}, {"models": ["yolo", "glod"]}):
        problem = _problem(form(compute, with_roles, **{**filled, **changed}))
        assert "must be a label field or an annotator, got 'glod', which does not exist; did you mean 'gold'" in problem
    of_caller = form(compute, with_roles, prompt_id=None, **{**filled, "annotator_attribute": "shift"})
    assert "got 'gold', which does not exist" in _problem(of_caller)
    assert "left_over" not in of_caller
    for sample in with_roles.iter_samples(autosave=True):
        sample.labels.detections = [each for each in sample.labels.detections if each.rater in ("alice", "yolo")]
    assert _roles(form(compute, with_roles)) == (["alice", "yolo", "predictions"], None, ["predictions"])
