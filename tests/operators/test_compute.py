"""The operator that computes agreement: form, execution, delegation, Python."""

from __future__ import annotations

import fiftyone as fo
import fiftyone.operators as foo
import numpy as np
import pytest
from fiftyone.operators.delegated import DelegatedOperationService

from tests.dataset_io.masked import masked_dataset
from tests.operators.conftest import ANNOTATORS

from annotator_agreement.dataset_io import configure_agreement_app, delete_agreement
from annotator_agreement.dataset_io.app import app_settings_of


@pytest.fixture
def compute(operator):
    return operator("compute_agreement")


def test_the_form_is_ready_to_execute_as_it_opens_and_the_next_run_gets_a_key_of_its_own(
    compute, make_dataset, form, run
):
    dataset = make_dataset()
    dataset.add_sample_field("scene", fo.EmbeddedDocumentField, embedded_doc_type=fo.Classification)
    inputs = form(compute, dataset)
    assert inputs["fields"]["default"] == [each["value"] for each in inputs["fields"]["view"]["choices"]] == ANNOTATORS
    assert inputs["run_key"]["default"] == "agreement"
    defaults = {name: entry["default"] for name, entry in inputs.items() if entry.get("default") is not None}
    assert "problem" not in form(compute, dataset, **defaults)

    result, _ = run(compute, dataset, dataset.limit(2), fields=ANNOTATORS, run_key="agreement")  # the current view
    assert result["n_samples"] == 2
    assert [value is None for value in dataset.values("agreement_n_annotators")] == [False, False, True, True, True]
    inputs = form(compute, dataset)
    assert inputs["run_key"]["default"] == "agreement_2"
    assert "overwrite" in inputs
    assert "problem" in form(compute, dataset, fields=ANNOTATORS, run_key="agreement")
    assert "problem" not in form(compute, dataset, fields=ANNOTATORS, run_key="agreement", overwrite=True)
    assert "problem" not in form(compute, dataset, fields=ANNOTATORS, run_key="agreement_2")
    for expected, params in (("agreement_2", {}), ("agreement_3", {"run_key": ""})):
        result, requests = run(compute, dataset, fields=ANNOTATORS, **params)
        assert (result["run_key"], result["worst_samples"][0]) == (expected, dataset.values("id")[3])
        assert "reload_dataset" in requests
    options = {"classes": "ignore", "missing": "ignore", "empty": "agree", "undefined": "one", "method": "recursive",
               "similarity": "dice", "invalid": "skip", "iou": 0.3}  # fmt: skip
    run(compute, dataset, fields=["alice", "bob"], run_key="all_options", **options)
    assert dataset.get_run_info("all_options").config.options.items() >= options.items()


def test_attribute_mode_is_offered_when_one_field_is_chosen(compute, make_dataset, form):
    dataset = make_dataset()
    dataset.add_sample_field("alice.detections.rater", fo.StringField)
    dataset.add_sample_field("raters", fo.ListField, subfield=fo.StringField)
    assert "annotator_attribute" not in form(compute, dataset, fields=ANNOTATORS, run_key="agreement")
    inputs = form(compute, dataset, fields=["alice"], run_key="agreement")
    assert [choice["value"] for choice in inputs["annotator_attribute"]["view"]["choices"]] == ["rater"]
    assert inputs["assigned_field"]["type"]["values"] == ["raters"]
    assert inputs["problem"]["invalid"]
    given = {"fields": ["alice"], "run_key": "agreement", "annotator_attribute": "rater"}
    assert "got 'rater', which none of them has" in form(compute, dataset, **given)["problem"]["view"]["label"]
    dataset.set_values("alice.detections.rater", [["ann"] * len(of) for of in dataset.values("alice.detections")])
    assert "problem" not in form(compute, dataset, **given)


WRONG = [
    ({"fields": []}, "Choose the label fields of at least 2 annotators"),
    ({"fields": ["alice"]}, "Choose a second field, or the attribute"),
    ({"run_key": "label"}, "`label` is a field of Detection"),
    ({"run_key": "Not a key"}, "must be lower-case letters"),
    ({"run_key": "taken"}, "`taken_score` is a field of the dataset"),
    ({"iou": 0.0}, r"`iou` must be in (0, 1], got 0.0"),
    (lambda dataset: dataset.to_patches("alice"), "got a patches view"),
    (lambda dataset: dataset.exclude_fields("bob"), "got 'bob', which does not exist"),
    (lambda dataset: dataset.match({"filepath": "nowhere"}), "got an empty view"),
    (lambda dataset: dataset.group_by("filepath"), "group"),
]


def test_what_is_wrong_with_options_or_the_view_is_shown_in_the_form(compute, make_dataset, form):
    dataset = make_dataset()
    dataset.add_sample_field("taken_score", fo.FloatField)
    for wrong, message in WRONG:
        view, params = (wrong(dataset), {}) if callable(wrong) else (None, wrong)
        given = {"fields": ANNOTATORS, "run_key": "agreement", **params}
        problem = form(compute, dataset, prompt_id=None, view=view, **given)["problem"]
        assert problem["invalid"]
        assert message in problem["view"]["label"]
    with pytest.raises(Exception, match="Choose a second field, or the attribute"):  # and reaches who executes
        foo.execute_operator(compute.uri, {"dataset": dataset, "params": {"fields": ["alice"]}})
    inputs = form(compute, make_dataset({}))
    assert [(name, each["invalid"]) for name, each in inputs.items()] == [("nothing_to_compare", True)]


@pytest.mark.long
def test_a_delegated_run_reports_its_progress_and_masks_have_their_map(compute, make_dataset):
    service, mask = DelegatedOperationService(), np.eye(20, 40, dtype=np.uint8)
    masks = masked_dataset(make_dataset, {"alice": [mask], "bob": [mask]})
    boxes = make_dataset()
    for dataset, params in ((boxes, {"fields": ANNOTATORS}), (masks, {"fields": ["alice", "bob"]})):
        request = {"dataset": dataset, "params": {**params, "run_key": "later", "disagreement_map": dataset is masks}}
        assert foo.execute_operator(compute.uri, request, request_delegation=True).delegated
        (waiting,) = (each for each in service.list_operations(operator=compute.uri) if each.run_state == "queued")
        service.execute_operation(waiting)
        done = service.get(waiting.id)
        assert (done.run_state, done.status.progress) == ("completed", 1.0)
        dataset.reload()
    assert boxes.values("later_n_units") == [2, 2, 0, 1, 1]
    sample = masks.first()
    assert (sample.later_score, sample.later_map.map.max()) == (1.0, 0)


@pytest.mark.long
def test_a_run_from_the_app_has_its_group_in_the_sidebar_its_score_shown_and_its_annotators_coloured(
    compute, run, make_dataset
):
    dataset = make_dataset({"labels": [[("cat", (0.1, 0.1, 0.2, 0.4)), ("cat", (0.1, 0.1, 0.2, 0.3))]] * 2})
    dataset.set_values("labels.detections.rater", [["ann", "bea"]] * 2)
    before = dataset.app_config.to_dict()
    given = {"fields": ["labels"], "annotator_attribute": "rater", "request": {"active_fields": ["labels"]}}
    result, shown = run(compute, dataset, **given)
    assert result["n_rated"] == 2
    assert "**Score 0." in result["summary"]
    # the App reads groups and colours only when it opens a dataset
    groups = dataset.app_config.sidebar_groups
    assert shown["show_sidebar_groups"]["groups"] == [
        {"name": group.name, "paths": group.paths, "expanded": group.expanded} for group in groups
    ]
    assert shown["set_color_scheme"]["fields"] == dataset.app_config.color_scheme.fields
    assert shown["set_active_fields"]["fields"] == ["labels", "agreement_score"]
    assert "open_panel" in shown
    assert "agreement_score" in {group.name: group.paths for group in groups}["agreement"]
    (colors,) = dataset.app_config.color_scheme.fields
    assert (colors["path"], colors["colorByAttribute"]) == ("labels", "rater")
    assert [entry["value"] for entry in colors["valueColors"]] == ["ann", "bea"]
    configure_agreement_app(dataset, sidebar=True, color_by="verdict")
    _, shown = run(compute, dataset, **given, overwrite=True, run_key="agreement")
    assert app_settings_of(dataset, "agreement").color_by == "verdict"
    assert "set_color_scheme" not in shown
    delete_agreement(dataset)
    dataset.reload()
    assert dataset.app_config.to_dict() == before
