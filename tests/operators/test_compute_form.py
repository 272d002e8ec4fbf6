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


def _made(make_dataset):
    dataset = make_dataset({})
    dataset.add_sample(fo.Sample(filepath="/images/0.jpg"))
    for ending, label_type in LABEL_TYPES.items():
        for name in ("alice", "bob"):
            dataset.add_sample_field(f"{name}_{ending}", fo.EmbeddedDocumentField, embedded_doc_type=label_type)
    for name in ("alice", "bob"):
        dataset.add_sample_field(f"{name}_rating", fo.IntField)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_made)


@pytest.fixture
def compute_form(operator, form, dataset):
    return lambda **params: form(operator("compute_agreement"), dataset, **params)


def _attributes(inputs):
    return [choice["value"] for choice in inputs["annotator_attribute"]["view"]["choices"]]


def _offered(inputs):
    return {choice["value"] for choice in inputs["fields"]["view"]["choices"]}


@pytest.mark.long
def test_fields_that_end_alike_are_chosen_and_those_that_can_be_compared_with_them_offered(compute_form):
    assert compute_form()["fields"]["default"] == ["alice_boxes", "bob_boxes"]
    shapes = {"alice_boxes", "bob_boxes", "alice_polygons", "bob_polygons"}
    assert _offered(compute_form(fields=["alice_polygons"])) == shapes
    assert _offered(compute_form(fields=["alice_scene"])) == {"alice_scene", "bob_scene"}
    everything = {f"{name}_{ending}" for name in ("alice", "bob") for ending in (*LABEL_TYPES, "rating")}
    assert _offered(compute_form(fields=[])) == everything


def test_fields_of_frames_are_not_offered_with_those_of_samples(make_videos, operator, form):
    dataset = make_videos([{"alice": [fo.Detections()], "bob": [fo.Detections()]}])
    dataset.add_sample_field("whole", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    opened = form(operator("compute_agreement"), dataset)
    assert opened["fields"]["default"] == ["frames.alice", "frames.bob"]
    assert _offered(opened) == {"frames.alice", "frames.bob"}
    assert "problem" not in opened
    assert _offered(form(operator("compute_agreement"), dataset, fields=["whole"])) == {"whole"}


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


@pytest.mark.parametrize(("endings", "entered", "shown", "hidden"), SHOWN)
def test_only_options_that_apply_are_shown(compute_form, endings, entered, shown, hidden):
    first, *_, last = endings.split() * 2
    inputs = compute_form(fields=[f"alice_{first}", f"bob_{last}"], run_key="agreement", **entered)
    assert shown <= set(inputs)
    assert not hidden & set(inputs)
    assert "problem" not in inputs
    if endings in LEVELS:
        assert inputs["level"]["type"]["values"] == LEVELS[endings]


@pytest.mark.long
def test_every_choice_is_explained(compute_form):
    for ending in (*LABEL_TYPES, "rating"):
        for name, entry in compute_form(fields=[f"alice_{ending}", f"bob_{ending}"], run_key="agreement").items():
            if name in ("view_target", "lists"):  # FiftyOne's own; a table
                continue
            choices = (entry.get("view") or {}).get("choices") or []
            if name not in ("fields", "reference", "models"):  # names of fields
                assert all(choice["label"] and choice["label"] != choice["value"] for choice in choices)
            assert entry["view"].get("label") or entry.get("label")


@pytest.mark.long
def test_attributes_of_any_list_can_name_the_annotator_but_not_what_a_run_wrote(dataset, compute_form):
    dataset.add_sample_field("alice_polygons.polylines.rater", fo.StringField)
    info = {"annotator_agreement": "first"}
    dataset.add_sample_field("alice_polygons.polylines.first", fo.StringField, info=info)
    dataset.add_sample_field("first_majority", fo.StringField, info=info)
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


def test_what_is_entered_becomes_the_options_it_stands_for():
    for titles, entered, expected in ENTERED:
        assert given_options(entered, [kind for kind in KINDS if kind.title in titles.split()]) == expected


def test_plain_fields_are_not_chosen_where_there_are_labels(make_dataset, operator, form):
    dataset = make_dataset({})
    dataset.add_sample(fo.Sample(filepath="/images/0.jpg", uniqueness=0.5, mistakenness=0.25))
    compute = operator("compute_agreement")
    assert set(form(compute, dataset)["fields"]["default"]) == {"uniqueness", "mistakenness"}
    for name in ("scene", "ground_truth", "predictions"):
        label_type = fo.Classification if name == "scene" else fo.Detections
        dataset.add_sample_field(name, fo.EmbeddedDocumentField, embedded_doc_type=label_type)
    assert form(compute, dataset)["fields"]["default"] == ["ground_truth", "predictions"]


def test_an_attribute_that_is_not_declared_can_be_typed(make_dataset, operator):
    dataset = make_dataset({})
    labels = [fo.Polyline(label="a", points=[[(0, 0), (0.5, 0), (0.5, 1)]], filled=True, rater=name) for name in "ab"]
    metadata = fo.ImageMetadata(width=10, height=20)
    dataset.add_sample(fo.Sample(filepath="/0.jpg", metadata=metadata, labels=fo.Polylines(polylines=labels)))
    assert not dataset.has_sample_field("labels.polylines.rater")
    params = {"fields": ["labels"], "annotator_attribute": "rater"}
    uri = operator("compute_agreement").uri
    assert foo.execute_operator(uri, {"dataset": dataset, "params": params}).result["score"] == 1.0


@pytest.mark.long
def test_a_caller_without_a_form_hears_of_options_that_have_no_effect(dataset, compute_form, operator):
    masks = {"fields": ["alice_segmentation", "bob_segmentation"], "run_key": "agreement"}
    refused = "`iou` concerns objects that are matched, but 'alice_segmentation' holds Segmentation; leave it out"
    assert compute_form(prompt_id=None, **masks, iou=0.9)["problem"]["view"]["label"] == refused
    assert "problem" not in compute_form(prompt_id=None, **masks, iou=0.5)
    with pytest.raises(Exception, match=r"`iou` concerns objects that are matched.*; leave it out"):
        foo.execute_operator(operator("compute_agreement").uri, {"dataset": dataset, "params": {**masks, "iou": 0.9}})
    assert dataset.list_runs() == []


def test_what_is_wrong_with_the_options_of_the_chosen_fields_is_said(compute_form):
    boxes = {"fields": ["alice_boxes", "bob_boxes"], "run_key": "agreement"}
    assert "`aliases` must map class names" in compute_form(**boxes, aliases=["Car"])["problem"]["view"]["label"]
    masks = {"fields": ["alice_segmentation", "bob_segmentation"], "run_key": "agreement"}
    assert "problem" in compute_form(**masks, background="sky", line_tolerance=-1, iou=7)


def test_a_folder_is_forgotten_with_the_map_for_which_it_was_entered(dataset):
    given = {"fields": ["alice_segmentation", "bob_segmentation"], "map_folder": "/maps"}
    assert "map_folder" not in options_of({**given, "disagreement_map": False}, dataset, from_form=True)
    assert options_of(given, dataset, from_form=True)["map_folder"] == "/maps"


BOX = ("cat", (0.1, 0.1, 0.2, 0.4))


def _counted(inputs):
    """The rows of the table of what the fields hold: name, labels, images with labels, with an empty list, without."""
    lines = [line for line in inputs["lists"]["default"].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_label_lists_are_counted_before_the_run_and_null_is_asked_for(operator, form, make_dataset):
    compute = operator("compute_agreement")
    dataset = make_dataset({"alice": [[BOX], [], None, None], "bob": [[BOX], [BOX], [], [BOX]]})
    inputs = form(compute, dataset)
    assert _counted(inputs) == [["alice", "1", "1", "1", "2"], ["bob", "3", "3", "1", "0"]]
    assert inputs["no_labels"]["default"] == "not_assigned"
    assert [choice["value"] for choice in inputs["no_labels"]["view"]["choices"]] == ["not_assigned", "drew_nothing"]
    assert list(inputs).index("no_labels") < list(inputs).index("iou")
    assert "no_labels" not in form(compute, dataset, view=dataset.limit(2))
    assert _counted(form(compute, dataset, view=dataset.limit(2)))[0] == ["alice", "1", "1", "1", "0"]
    dataset.add_sample_field("asked", fo.ListField, subfield=fo.StringField)
    with_field = form(compute, dataset, fields=["alice", "bob"], assigned_field="asked", no_labels="drew_nothing")
    assert "no_labels" not in with_field
    assert "problem" not in with_field


def test_null_is_not_asked_for_where_it_can_mean_one_thing(compute_form):
    inputs = compute_form(fields=["alice_scene", "bob_scene"], no_labels="drew_nothing", assigned_field="x")
    assert _counted(inputs) == [["alice\\_scene", "0", "0", "0", "1"], ["bob\\_scene", "0", "0", "0", "1"]]
    assert "no_labels" not in inputs
    assert "problem" not in inputs
    assert "no_labels" in compute_form(fields=["alice_boxes", "bob_boxes"])


# ---- what is preset ----


@pytest.fixture
def rated(make_dataset):
    """Boxes of two raters in one field, with the list of those who were asked; nothing of it is declared."""
    dataset = make_dataset({})
    metadata = fo.ImageMetadata(width=10, height=20)
    for k in range(3):
        boxes = [fo.Detection(label="a", bounding_box=[0, 0, 0.5, 0.5], rater=name, area=k) for name in ("r1", "r2")]
        dataset.add_sample(fo.Sample(filepath=f"/{k}.jpg", metadata=metadata, labels=fo.Detections(detections=boxes)))
    dataset.set_values("raters", [["r1", "r2"]] * 3)
    dataset.set_values("users", [["somebody", "else"]] * 3)
    return dataset


def test_the_attribute_that_names_annotators_and_their_list_are_guessed(rated, operator, form):
    inputs = form(operator("compute_agreement"), rated)
    assert inputs["fields"]["default"] == ["labels"]
    assert inputs["annotator_attribute"]["default"] == "rater"
    assert inputs["annotator_attribute"]["view"]["description"] == "It names r1, r2"
    assert inputs["assigned_field"]["default"] == "raters"
    assert "problem" not in inputs
    assert set(_attributes(inputs)) == {"rater", "area"}


@pytest.mark.long
def test_what_the_last_run_chose_is_chosen_again(rated, operator, form):
    compute = operator("compute_agreement")
    rated.clone_sample_field("labels", "theirs")
    compute_agreement(rated, "theirs", annotator_attribute="rater", iou=0.3, aliases={"b": "a"}, run_key="first")
    inputs = form(compute, rated)
    assert inputs["fields"]["default"] == ["theirs"]
    assert inputs["annotator_attribute"]["default"] == "rater"
    assert (inputs["iou"]["default"], inputs["aliases"]["default"]) == (0.3, ["b=a"])
    assert inputs["preset"]["view"]["label"].startswith("As in the run 'first': ")
    assert inputs["run_key"]["default"] == "agreement"
    other = form(compute, rated, fields=["labels"])
    assert other["iou"]["default"] == 0.5
    assert "preset" not in other


@pytest.mark.long
def test_a_copy_of_the_consensus_is_nobodys_labels(make_dataset, operator, form):
    dataset = make_dataset({name: [[BOX]] for name in ("labels", "more")})
    compute_agreement(dataset, ["labels", "more"], resamples=0)
    resolve_units(dataset)
    dataset.clone_sample_field("agreement_consensus", "gt")
    delete_agreement(dataset)
    dataset.delete_sample_field("more")
    assert form(operator("compute_agreement"), dataset)["fields"]["default"] == ["labels"]


def test_samples_that_a_run_chose_are_not_preset_and_asked_for(make_dataset, operator, form, context):
    dataset, compute = make_dataset(), operator("compute_agreement")
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


def test_what_must_be_asked_is_asked_and_what_is_entered_in_the_folded_part_arrives(rated, operator, form, context):
    compute = operator("compute_agreement")
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
    assert "must be in (0, 1]" in form(compute, rated, **{**given, "advanced": {"iou": 7}})["problem"]["view"]["label"]
    ctx = context(compute, rated, **given)
    ctx.request_params["spaces"] = {}  # as the App, which gives no prompt then
    compute.execute(ctx)
    assert load_agreement(rated, "fine").config["iou"] == 0.25


def test_the_form_names_the_attributes_that_there_are_and_its_own_switch(rated, operator, form):
    compute = operator("compute_agreement")
    problem = form(compute, rated, fields=["labels"], annotator_attribute="ratr")["problem"]["view"]["label"]
    assert "which none of them has; did you mean 'rater'?; their attributes are " in problem
    given = {"fields": ["labels"], "annotator_attribute": "rater"}
    problem = form(compute, rated, **given, run_key="labels")["problem"]["view"]["label"]
    assert (
        problem
        == "A run key must not be in use, got 'labels': `labels` is a label field of the dataset; choose another key"
    )
    compute_agreement(rated, "labels", annotator_attribute="rater")
    problem = form(compute, rated, **given, run_key="agreement")["problem"]["view"]["label"]
    assert problem.endswith("use another key, or replace it with the switch “Overwrite”")


@pytest.mark.long
def test_of_views_of_objects_the_whole_dataset_is_computed_and_the_view_is_left(make_dataset, operator, context):
    dataset, compute = make_dataset(), operator("compute_agreement")
    given = {"fields": ["alice", "bob"], "run_key": "agreement", "overwrite": True}
    ctx = context(compute, dataset, dataset.to_patches("alice"), **given)
    ctx.request_params["spaces"] = {}  # as the App
    assert compute.execute(ctx)["n_samples"] == len(dataset)
    dataset.reload()
    add_units(dataset)
    # the new run has no objects
    ctx = context(compute, dataset, dataset.exists("agreement_units"), **given, view_target="DATASET")
    compute.execute(ctx)
    requests = {request["operator_uri"].split("/")[-1] for request in ctx.executor.to_json()["requests"]}
    assert requests & {"clear_view", "reload_dataset"} == {"clear_view"}


@pytest.mark.parametrize(
    ("name", "good", "bad", "least", "most"),
    [("workers", 8, [0, 1.5, "x", 10**6], 1, 1_000), ("resamples", 0, [-1, 2.5, 10**6], 0, 100_000)],
)
def test_whole_numbers_have_limits_and_say_what_is_wrong(compute_form, name, good, bad, least, most):
    fields = {"fields": ["alice_boxes", "bob_boxes"]}
    number = compute_form(**fields, advanced={name: good})[name]
    assert (number["type"]["int"], number["type"]["min"], number["type"]["max"]) == (True, least, most)
    assert not number["invalid"]
    for value in bad:
        number = compute_form(**fields, advanced={name: value})[name]
        assert number["invalid"]
        assert f"must be a whole number from {least} to {most:,}, got {value!r}" in number["error_message"]


# ---- roles in one field with the labels of all ----


@pytest.fixture
def with_roles(make_dataset):
    """Boxes of three annotators, a reference on one image alone, and a model, of two shifts; and predictions."""
    dataset = make_dataset({})
    metadata = fo.ImageMetadata(width=10, height=20)
    for k in range(4):
        who = ["alice", "bob", "carol", "yolo", *(["gold"] if k == 3 else [])]
        labels = [
            fo.Detection(
                label="a",
                bounding_box=[0, 0, 0.5, 0.5 - n / 50],
                rater=name,
                shift=("day", "night")[n % 2],
                confidence=0.5 if name == "yolo" else None,
            )
            for n, name in enumerate(who)
        ]
        boxes = [fo.Detection(label="a", bounding_box=[0, 0, 0.5, 0.4], confidence=0.9)]
        labels, predictions = fo.Detections(detections=labels), fo.Detections(detections=boxes)
        dataset.add_sample(fo.Sample(f"/{k}.jpg", metadata=metadata, labels=labels, predictions=predictions))
    return dataset


def _roles(inputs):
    """What is offered as a role, and what is preset."""
    offered = [choice["value"] for choice in inputs["reference"]["view"]["choices"]]
    assert offered == [choice["value"] for choice in inputs["models"]["view"]["choices"]]
    return offered, inputs["reference"].get("default"), inputs["models"]["default"]


def _filled(inputs):
    """What the App would send: all that is preset, other than what is folded and the samples."""
    names = ("fields", "annotator_attribute", "assigned_field", "reference", "models")
    return {name: inputs[name]["default"] for name in names if inputs.get(name, {}).get("default") not in (None, [])}


def test_values_of_the_attribute_are_offered_and_guessed_as_roles(with_roles, operator, form, context):
    compute = operator("compute_agreement")
    opened = form(compute, with_roles)
    everybody = ["alice", "bob", "carol", "gold", "yolo"]
    assert _roles(opened) == ([*everybody, "predictions"], "gold", ["yolo", "predictions"])
    filled = _filled(opened)
    assert filled["annotator_attribute"] == "rater"
    assert "problem" not in form(compute, with_roles, **filled)
    ctx = context(compute, with_roles, **filled)
    ctx.request_params["spaces"] = {}  # as the App, which gives no prompt then
    compute.execute(ctx)
    report = load_agreement(with_roles)
    assert [entry.name for entry in report.annotators] == ["alice", "bob", "carol"]
    assert (report.reference.name, report.reference.n_samples) == ("gold", 1)
    assert [model.name for model in report.models] == ["yolo", "predictions"]
    again = form(compute, with_roles)  # as in the last run
    assert _roles(again)[1:] == ("gold", ["yolo", "predictions"])


def test_roles_follow_the_attribute_there_and_back(with_roles, operator, form, context):
    compute = operator("compute_agreement")
    filled = _filled(form(compute, with_roles))
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
    ctx = context(compute, with_roles, **{**filled, "annotator_attribute": "shift"})
    ctx.request_params["spaces"] = {}
    compute.execute(ctx)
    report = load_agreement(with_roles)
    assert [entry.name for entry in report.annotators] == ["day", "night"]
    assert (report.reference, [model.name for model in report.models]) == (None, ["predictions"])


def test_a_role_that_does_not_exist_is_a_problem(with_roles, operator, form):
    compute = operator("compute_agreement")
    filled = _filled(form(compute, with_roles))
    for changed in ({"reference": "glod"}, {"models": ["yolo", "glod"]}):
        problem = form(compute, with_roles, **{**filled, **changed})["problem"]["view"]["label"]
        assert (
            "must be a label field or an annotator, got 'glod', which does not exist; did you mean 'gold'?" in problem
        )
    of_caller = form(compute, with_roles, prompt_id=None, **{**filled, "annotator_attribute": "shift"})
    assert "got 'gold', which does not exist" in of_caller["problem"]["view"]["label"]
    assert "left_over" not in of_caller


def test_without_two_annotators_beside_them_nobody_is_guessed_as_a_role(with_roles, operator, form):
    for sample in with_roles:
        sample.labels.detections = [each for each in sample.labels.detections if each.rater in ("alice", "yolo")]
        sample.save()
    inputs = form(operator("compute_agreement"), with_roles)
    assert _roles(inputs) == (["alice", "yolo", "predictions"], None, ["predictions"])
