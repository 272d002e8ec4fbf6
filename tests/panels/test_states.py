"""Every state of the panel says what is wrong or missing, and what to do."""

from __future__ import annotations

import re

import fiftyone as fo
import pytest

from annotator_agreement import compute_agreement, delete_agreement, load_agreement, rename_agreement

ANNOTATORS = ["alice", "bob", "carol"]


@pytest.fixture
def dataset(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS, progress=False)
    return dataset


def _set_config(dataset, run_key="agreement", **values):
    config = dataset.get_run_info(run_key).config
    for name, value in values.items():
        setattr(config, name, value)
    dataset.update_run_config(run_key, config)


def test_without_a_dataset_it_says_so(event):
    sent = event("on_load", None)
    assert "No dataset is open" in sent.text
    assert "compute" not in sent.parts
    assert "refresh" in sent.parts


def test_a_dataset_that_is_gone_is_no_traceback(event):
    sent = event("on_load", "no-such-dataset")
    assert "The dataset was deleted" in sent.text
    assert "Traceback" not in sent.text
    assert "refresh" in sent.parts


def test_without_a_run_a_button_opens_the_form(event, make_dataset):
    dataset = make_dataset()
    sent = event("on_load", dataset)
    assert "No agreement was computed on this dataset yet" in sent.text
    assert {"compute", "refresh"} <= set(sent.parts)
    assert "charts" not in sent.parts
    (prompted,) = event("compute", dataset, sent.state).of("prompt_user_for_operation")
    assert prompted["operator_uri"] == "@annotator/agreement/compute_agreement"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"status": "running"}, "is being computed, or its process died"),
        ({"status": "renaming"}, "is being renamed"),
        ({"status": "deleting"}, "is being deleted"),
        ({"status": "failed", "error": "OSError: the disk is full"}, "failed: OSError: the disk is full"),
        ({"schema_version": 1}, "was computed by another version of the plugin"),
    ],
    ids=["running", "renaming", "deleting", "failed", "older schema"],
)
def test_a_run_without_numbers_says_why_and_what_to_do(event, dataset, values, said):
    _set_config(dataset, **values)
    sent = event("on_load", dataset)
    assert said in sent.text
    assert "ompute it again" in sent.text
    assert {"controls", "compute"} <= set(sent.parts)
    assert "charts" not in sent.parts


def test_a_completed_run_is_shown_rather_than_one_that_failed(event, dataset):
    compute_agreement(dataset, ANNOTATORS, run_key="a_first", progress=False)
    _set_config(dataset, "a_first", status="failed", error="x")
    _set_config(dataset, "agreement", status="completed")
    rename_agreement(dataset, "agreement", "z_last")
    sent = event("on_load", dataset)
    assert "charts" in sent.parts
    assert "failed" not in sent.text


def test_a_run_that_is_deleted_meanwhile_makes_place_for_another(event, dataset):
    compute_agreement(dataset, ANNOTATORS, run_key="other", progress=False)
    state = event("choose_run", dataset, event("on_load", dataset).state, value="other").state
    assert state["run_key"] == "other"
    delete_agreement(dataset, "other")
    sent = event("refresh", dataset, state)
    assert "The run 'other' was deleted or renamed meanwhile; this is 'agreement'." in sent.text
    opened = event("drill_down", dataset, state, path="charts.verdicts_1", x="lone")
    assert "was deleted or renamed" in opened.of("notify")[0]["message"]
    assert not opened.of("set_view")
    delete_agreement(dataset, "agreement")
    sent = event("refresh", dataset, state)
    assert "The run 'other' is gone" in sent.text
    assert "compute" in sent.parts


def test_a_dataset_deleted_under_the_open_panel_is_a_sentence(event, dataset):
    state = event("on_load", dataset).state
    name = dataset.name
    fo.delete_dataset(name)
    for method, params in (
        ("refresh", {}),
        ("drill_down", {"path": "pairs_1", "x": "alice", "y": "bob"}),
        ("back", {}),
    ):
        sent = event(method, name, state, **params)
        assert name in sent.text or "deleted" in sent.text


def test_fields_deleted_by_hand_leave_the_numbers_and_a_warning(event, dataset):
    dataset.delete_sample_field("agreement_score")
    sent = event("on_load", dataset)
    assert "Fields of this run were deleted: `agreement_score`." in sent.text
    assert "pairs" in sent.parts
    opened = event("drill_down", dataset, sent.state, path="charts.verdicts_1", x="lone")
    assert "agreement_score" in opened.of("notify")[0]["message"]
    assert not opened.of("set_view")


def _n_objects(shown):
    """How many objects the headline counts."""
    return int(re.findall(r"· ([\d,]+) objects", shown.parts["headline"]["default"])[0].replace(",", ""))


def test_a_run_replaced_meanwhile_is_read_again(event, dataset):
    before = event("on_load", dataset)
    assert not event("on_change_view", dataset, before.state).requests
    compute_agreement(dataset, ANNOTATORS, iou=0.9, overwrite=True, progress=False)
    after = event("on_change_view", dataset, before.state)
    assert "of at least 0.9" in after.text
    assert load_agreement(dataset).n_units != _n_objects(before)


def test_events_that_change_nothing_send_nothing(event, dataset):
    state = event("on_load", dataset).state
    for method, params in (
        ("on_change_view", {}),
        ("choose_run", {"value": "agreement"}),
        ("choose_run", {"value": None}),
        ("choose_samples", {"value": False}),
    ):
        sent = event(method, dataset, {**state, "run_key": "agreement"} if params.get("value") else state, **params)
        assert not sent.requests, method
