"""Every state of the panel says what is wrong or missing, and what to do."""

from __future__ import annotations

import subprocess
import sys

import fiftyone as fo
import fiftyone.core.odm as odm
import psutil
import pytest

from tests.panels.conftest import of_tab

from annotator_agreement.dataset_io import compute_agreement, delete_agreement, rename_agreement
from annotator_agreement.dataset_io.record import this_process

ANNOTATORS = ["alice", "bob", "carol"]


def _made(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS, resamples=0, progress=False)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_made)


def _set_config(dataset, run_key="agreement", **values):
    config = dataset.get_run_info(run_key).config
    for name, value in values.items():
        setattr(config, name, value)
    dataset.update_run_config(run_key, config)


def test_without_a_dataset_it_says_so_and_without_a_run_a_button_opens_the_form(event, make_dataset):
    sent = event("on_load", None)
    assert "No dataset is open" in sent.text
    assert sent.parts.keys() & {"compute", "refresh"} == {"refresh"}
    dataset = make_dataset()
    sent = event("on_load", dataset)
    assert "No agreement was computed on this dataset yet" in sent.text
    assert sent.parts.keys() & {"compute", "refresh", "cards"} == {"compute", "refresh"}
    (prompted,) = event("compute", dataset, sent.state).of("prompt_user_for_operation")
    assert prompted["operator_uri"] == "@annotator/agreement/compute_agreement"


def _values(sent, name):
    """The values of a choice."""
    return [each["value"] for each in sent.parts[name]["view"]["choices"]]


def test_a_run_whose_view_names_a_deleted_field_is_shown_and_others_can_be_chosen(event, make_dataset):
    dataset = _made(make_dataset)
    dataset.add_sample_field("checked", fo.BooleanField)
    dataset.clone_sample_field("alice", "before")
    of_view = dataset.filter_labels("before", fo.ViewField("label") != "nothing", only_matches=False)
    compute_agreement(of_view, ANNOTATORS, run_key="on_view", resamples=0, progress=False)
    dataset.delete_sample_field("before")
    dataset.set_values("checked", [True] * len(dataset))
    tabs = _values(event("on_load", dataset), "tabs")
    for tab in tabs:
        sent = event("on_load", dataset, {**of_tab({}, tab), "decide": {"by": "mia"}})
        assert sent.state["run_key"] == "on_view"
        assert "has no field 'before'" in sent.text
        assert "what was changed since is not known" in sent.text
        assert _values(sent, "run") == ["on_view", "agreement"]
        assert _values(sent, "tabs") == tabs
    assert "decide" in tabs
    other = event("choose_run", dataset, sent.state, value="agreement")
    assert "has no field" not in other.text


def test_a_run_without_numbers_says_why_and_what_to_do(event, dataset):
    before = dataset.get_run_info("agreement").config.serialize()
    for values, said in (
        ({"status": "running"}, "is being computed, or its process died"),
        ({"status": "renaming"}, "is being renamed"),
        ({"status": "deleting"}, "is being deleted"),
        ({"status": "failed", "error": "OSError: the disk is full"}, "failed: OSError: the disk is full"),
        ({"status": before["status"], "schema_version": 1}, "was computed by another version of the plugin"),
    ):
        _set_config(dataset, **values)
        sent = event("on_load", dataset)
        assert said in sent.text
        assert "ompute it again" in sent.text
        assert {"controls", "compute"} <= set(sent.parts)
        assert "cards" not in sent.parts


def test_a_run_whose_process_was_killed_says_so(event, dataset):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = f"{this_process().split(' ')[0]} {process.pid} {psutil.Process(process.pid).create_time()}"
    _set_config(dataset, status="running", process=started)
    assert "is being computed" in event("on_load", dataset).text
    process.kill()
    process.wait()
    sent = event("on_load", dataset)
    assert "The process that computed the run 'agreement' is gone" in sent.text
    assert "Continue" in sent.text
    assert {"controls", "compute"} <= set(sent.parts)


@pytest.mark.long
def test_a_completed_run_is_shown_rather_than_one_that_failed(event, dataset):
    compute_agreement(dataset, ANNOTATORS, run_key="a_first", resamples=0, progress=False)
    _set_config(dataset, "a_first", status="failed", error="x")
    rename_agreement(dataset, "agreement", "z_last")
    sent = event("on_load", dataset)
    assert "cards" in sent.parts
    assert "failed" not in sent.text


def test_a_run_that_is_deleted_meanwhile_makes_place_for_another(event, dataset):
    compute_agreement(dataset, ANNOTATORS, run_key="other", resamples=0, progress=False)
    state = event("choose_run", dataset, event("on_load", dataset).state, value="other").state
    assert state["run_key"] == "other"
    delete_agreement(dataset, "other")
    sent = event("refresh", dataset, state)
    assert "The run 'other' was deleted or renamed meanwhile; this is 'agreement'." in sent.text
    opened = event("drill_down", dataset, state, path="cards.c5.card_1", number=5)
    assert "was deleted or renamed" in opened.of("notify")[0]["message"]
    assert not opened.of("set_view")
    delete_agreement(dataset, "agreement")
    sent = event("refresh", dataset, state)
    assert "The run 'other' is gone" in sent.text
    assert "compute" in sent.parts


def test_fields_deleted_by_hand_leave_the_numbers_and_a_warning(event, dataset):
    dataset.delete_sample_field("agreement_score")
    sent = event("on_load", dataset)
    assert "Fields of this run were deleted: `agreement_score`." in sent.text
    assert "cards" in sent.parts
    opened = event("drill_down", dataset, sent.state, path="cards.c5.card_1", number=5)
    assert "agreement_score" in opened.of("notify")[0]["message"]
    assert not opened.of("set_view")


@pytest.mark.long
def test_what_others_change_meanwhile_is_shown_at_the_next_event(event, dataset):
    before = event("refresh", dataset, of_tab({}, "rules"))
    assert not event("on_change_view", dataset, before.state).requests
    sample = dataset.first()
    sample.alice.detections[0].label = "other"
    sample.save()
    changed = event("on_change_view", dataset, before.state)
    assert "1 sample was saved or deleted since this run" in changed.text
    compute_agreement(dataset, ANNOTATORS, iou=0.9, overwrite=True, resamples=0, progress=False)
    after = event("on_change_view", dataset, changed.state)
    assert "of at least 0.9" in after.text
    assert after.parts["computation"] != before.parts["computation"]


def test_events_that_change_nothing_send_nothing_and_do_not_load_the_dataset(event, dataset, monkeypatch):
    state = event("on_load", dataset, panel="one").state
    load, loaded = odm.load_dataset, []
    monkeypatch.setattr(odm, "load_dataset", lambda **asked: loaded.append(asked) or load(**asked))
    for value in ([], None):
        assert not event("on_change_view", dataset, state, panel="one", value=value).requests
    assert not loaded
    for method, value in (("choose_run", "agreement"), ("choose_run", None), ("choose_samples", "run")):
        shown = {**state, "run_key": "agreement"} if value else state
        assert not event(method, dataset, shown, panel="one", value=value).requests, method
    event("refresh", dataset, state, panel="one")
    assert loaded


def test_a_tab_and_the_order_of_a_table_are_not_told_to_the_app_until_something_else_is(event, dataset):
    state = {**event("on_load", dataset).state}
    sort = {"path": "verdicts_1", "row": -1, "column": 0}
    for method, params in (("choose_tab", {"value": "objects"}), ("click_cell", sort)):
        sent = event(method, dataset, state, beside=True, **params)
        assert "verdicts" in sent.parts
        assert sent.state == state
        assert not sent.of("patch_panel_state")
    sent = event("refresh", dataset, state, beside=True)
    assert (sent.state["tab"], list(sent.state["sort"])) == ("objects", ["verdicts"])


@pytest.mark.long
def test_two_windows_with_one_panel_in_different_tabs_lead_to_what_each_shows(event, dataset):
    state = event("on_load", dataset).state
    event("choose_tab", dataset, state, beside=True, value="annotators")
    event("choose_tab", dataset, state, beside=True, value="objects")  # in the other window
    for path, column, title in (("pairs_1", 2, "alice and bob"), ("verdicts_1", 2, "")):
        sent = event("click_cell", dataset, state, beside=True, path=path, row=0, column=column)
        assert sent.of("set_view"), sent.requests
        assert title in str(sent.of("patch_panel_data"))
    assert "pairs" in event("choose_tab", dataset, state, beside=True, value="annotators").parts
    assert "pairs" in event("choose_tab", dataset, state, beside=True, value="annotators").parts
    # the App kept a state that another process left: a tab stays open, too
    state, there = {**state, "answer": "of another process"}, {"panel": "restarted", "beside": True}
    assert "pairs" in event("choose_tab", dataset, state, value="annotators", **there).parts
    assert "pairs" in event("refresh", dataset, state, **there).parts


@pytest.mark.long
def test_a_tab_opened_while_another_event_is_answered_stays_open_whatever_the_app_tells_late(event, dataset):
    state = event("on_load", dataset).state
    refreshed = event("refresh", dataset, state, beside=True)
    assert "pairs" in event("choose_tab", dataset, state, beside=True, value="annotators").parts
    # sent before the App had the first answer, and handled after the tab was opened: it shows the tab already
    for params in ({"view": dataset.limit(5)}, {}):
        assert not event("on_change_view", dataset, state, beside=True, **params).of("show_panel_output")
    assert "pairs" in event("refresh", dataset, refreshed.state, beside=True).parts
    # a page that is loaded has what was stored, and what it is told is about that
    loaded = event("on_load", dataset, state, beside=True)
    assert "pairs" not in loaded.parts
    assert not event("on_change_view", dataset, loaded.state, beside=True).of("show_panel_output")


def test_the_newest_run_comes_first_and_one_computed_while_another_is_shown_takes_its_place(event, dataset):
    compute_agreement(dataset, ANNOTATORS, run_key="a_later_one", resamples=0, progress=False)
    sent = event("on_load", dataset)
    assert _values(sent, "run") == ["a_later_one", "agreement"]
    assert sent.parts["run"]["view"]["value"] == "a_later_one"
    state = event("choose_run", dataset, sent.state, value="agreement").state
    compute_agreement(dataset, ANNOTATORS, run_key="second_look", iou=0.9, resamples=0, progress=False)
    sent = event("on_change_view", dataset, state)
    assert sent.parts["run"]["view"]["value"] == "second_look"
    # and gives way to the one that the user chooses then
    again = event("choose_run", dataset, sent.state, value="agreement")
    assert again.parts["run"]["view"]["value"] == "agreement"
    assert not event("on_change_view", dataset, again.state).requests
