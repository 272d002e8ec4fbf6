"""Changes by others while the panel is open, and unusual views: a sentence, never a blank panel or a traceback."""

from __future__ import annotations

import fiftyone as fo
import pytest
from fiftyone import ViewField as F

from tests.datasets import detections, random_annotators
from tests.panels.conftest import ANNOTATORS
from tools.bench.database import make_dataset as generated_dataset

from annotator_agreement import agreement_on, compute_agreement, delete_agreement, load_agreement, rename_agreement

#: every event of the panel but those that the App sends by itself
EVENTS = [
    ("refresh", {}),
    ("back", {}),
    ("choose_run", {"value": "agreement"}),
    ("choose_samples", {"value": True}),
    ("drill_down", {"path": "charts.pairs_1", "x": "alice", "y": "bob"}),
    ("drill_down", {"path": "charts.annotators_1", "x": 0.1, "y": "alice", "trace": "missed"}),
    ("drill_down", {"path": "charts.confusion_1", "x": "cat", "y": "dog"}),
    ("drill_down", {"path": "charts.verdicts_1", "x": "lone"}),
    ("drill_down", {"path": "charts.votes_1", "x": "2 of 3"}),
    ("drill_down", {"path": "charts.scores_1", "x": 0.725}),
    ("drill_down", {"path": "class_table_1", "row": 0}),
    ("open_sample", {"path": "worst_1", "row": 0}),
]


def _check_clear(sent):
    """The answer is a message; nothing failed, and no view was opened."""
    assert sent.requests
    assert not sent.of("set_view")
    told = " ".join(entry["message"] for entry in sent.of("notify"))
    assert "did not work" not in told
    shown = [str(output) for output in sent.of("show_panel_output")]
    assert told or shown
    assert not any(word in told + "".join(shown) for word in ("Traceback", "cannot be shown:"))


def test_every_event_after_somebody_deleted_the_run(event, dataset, state):
    delete_agreement(dataset)
    for method, params in EVENTS:
        sent = event(method, dataset, {**state, "run_key": "agreement"}, **params)
        _check_clear(sent)
        assert "The run 'agreement' is gone" in sent.text
        assert "compute" in sent.parts


def test_every_event_after_fiftyone_deleted_the_run_and_left_its_fields(event, dataset, state):
    dataset.delete_run("agreement")
    for method, params in EVENTS:
        sent = event(method, dataset, state, **params)
        _check_clear(sent)
        gone = "The run 'agreement' is gone" if method == "choose_run" else "No agreement was computed on this dataset"
        assert gone in sent.text


def test_every_event_after_somebody_deleted_the_dataset(event, dataset, state):
    name = dataset.name
    fo.delete_dataset(name)
    for method, params in EVENTS:
        sent = event(method, name, state, **params)
        assert not sent.of("set_view")
        assert "The dataset was deleted" in sent.text
        assert "Traceback" not in sent.text
        assert "refresh" in sent.parts or "compute" in sent.parts


@pytest.mark.parametrize("gone", ["agreement_score", "alice", "alice.detections.agreement_of"])
def test_every_event_after_somebody_deleted_a_field(event, dataset, state, gone):
    dataset.delete_sample_field(gone)
    for method, params in EVENTS:
        sent = event(method, dataset, state, **params)
        if method == "drill_down":
            _check_clear(sent)
            assert gone in sent.of("notify")[0]["message"]
        assert not any("did not work" in entry["message"] for entry in sent.of("notify"))
    again = event("on_load", dataset, sent.state)
    assert "pairs" in again.parts
    assert gone in again.text


def test_every_event_after_the_run_was_renamed(event, dataset, state):
    rename_agreement(dataset, "agreement", "first")
    for method, params in EVENTS:
        sent = event(method, dataset, {**state, "run_key": "agreement"}, **params)
        _check_clear(sent)
        assert "The run 'agreement' was deleted or renamed meanwhile; this is 'first'" in sent.text
        assert "pairs" in sent.parts


def test_drill_downs_after_a_new_run_of_the_key_are_those_of_the_new_run(event, dataset, state):
    compute_agreement(dataset, ANNOTATORS, iou=0.9, overwrite=True, progress=False)
    report = load_agreement(dataset)
    sent = event("drill_down", dataset, state, path="charts.verdicts_1", x="lone")
    n_lone = sum(entry.verdicts["lone"] for entry in report.annotators)
    view = sent.view(dataset)
    assert sum(view.count(f"{name}.detections") for name in ANNOTATORS) == n_lone
    assert "of at least 0.9" in sent.text


def test_two_panels_have_a_state_of_their_own(event, dataset):
    compute_agreement(dataset, ANNOTATORS, run_key="strict", iou=0.9, progress=False)
    first, second = event("on_load", dataset), event("on_load", dataset)
    second = event("choose_run", dataset, second.state, value="strict")
    opened = event("drill_down", dataset, second.state, path="charts.verdicts_1", x="lone")
    # what the one did is a change of view to the other, in which its own numbers stay
    assert not event("on_change_view", dataset, first.state, view=opened.view(dataset)).requests
    assert not event("on_load", dataset, first.state, view=opened.view(dataset)).drill_down
    assert "of at least 0.9" not in event("refresh", dataset, first.state).text
    back = event("back", dataset, opened.state, view=opened.view(dataset))
    assert len(back.of("clear_view")) == 1
    assert not back.drill_down
    assert "of at least 0.9" in event("on_load", dataset, back.state).text


@pytest.mark.parametrize("status", ["running", "failed", "deleting"])
def test_drill_downs_of_a_run_that_is_computed_again_meanwhile(event, dataset, state, status):
    config = dataset.get_run_info("agreement").config
    config.status = status
    dataset.update_run_config("agreement", config)
    for method, params in EVENTS[4:]:
        sent = event(method, dataset, state, **params)
        _check_clear(sent)
        assert "compute" in sent.parts


def test_of_patches_the_numbers_are_those_of_the_samples_they_are_of(event, dataset, state):
    patches = dataset.limit(5).to_patches("alice")
    of_samples = event("choose_samples", dataset, state, view=dataset.select(patches.distinct("sample_id")), value=True)
    of_patches = event("choose_samples", dataset, state, view=patches, value=True)
    assert of_patches.parts["headline"]["default"] == of_samples.parts["headline"]["default"]
    # drill-downs lead to samples
    opened = event("drill_down", dataset, of_patches.state, view=patches, path="charts.verdicts_1", x="lone")
    assert not opened.view(dataset)._is_patches


def test_a_large_view_says_that_it_has_no_intervals(event, private_fiftyone):
    dataset = generated_dataset("test-panel-large", 2_002)
    try:
        compute_agreement(dataset, ANNOTATORS, sensitivity=False, resamples=50, progress=False)
        state = event("on_load", dataset).state
        sent = event("choose_samples", dataset, state, view=dataset.limit(2_000), value=True)
        assert "95 %" in sent.parts["headline"]["default"]
        sent = event("choose_samples", dataset, state, view=dataset.limit(2_001), value=True)
        assert "Without intervals" in sent.parts["headline"]["default"]
        assert "95 %" not in sent.parts["headline"]["default"]
        expected = agreement_on(dataset.limit(2_001), resamples=0)
        assert f"Score {expected.score.mean:.3f}" in sent.parts["headline"]["default"]
        drawn = sent.parts["votes"]["view"]["data"][0]
        assert sum(drawn["y"]) == expected.n_units
    finally:
        dataset.delete()


def test_of_videos_the_frames_of_views_of_every_kind_count(event, make_videos):
    boxes = random_annotators(24, ANNOTATORS[:2])
    videos = [
        {name: [detections(entry) for entry in boxes[name][first : first + 3]] for name in ANNOTATORS[:2]}
        for first in range(0, 24, 3)
    ]
    dataset = make_videos(videos)
    compute_agreement(dataset, ["frames.alice", "frames.bob"], progress=False)
    sent = event("on_load", dataset)
    assert {"pairs", "verdicts", "worst"} <= set(sent.parts)
    opened = event("drill_down", dataset, sent.state, path="charts.verdicts_1", x="lone")
    n_lone = sum(entry.verdicts["lone"] for entry in load_agreement(dataset).annotators)
    view = opened.view(dataset)
    assert sum(view.count(f"frames.{name}.detections") for name in ANNOTATORS[:2]) == n_lone
    first_two = dataset.match_frames(F("frame_number") <= 2)
    clips = dataset.to_clips([[(1, 2)]] * 8)
    frames = dataset.to_frames(sample_frames="dynamic").match(F("frame_number") <= 2)
    shown = [
        event("choose_samples", dataset, sent.state, view=view, value=True).parts["headline"]["default"]
        for view in (first_two, clips, frames)
    ]
    assert shown[0] == shown[1] == shown[2] != sent.parts["headline"]["default"]
    assert f"part of the run: {agreement_on(first_two).n_samples} of its 24" in shown[0].replace(",", "")


def test_of_groups_the_samples_of_all_slices_count(event, make_dataset):
    dataset = make_dataset({})
    dataset.add_group_field("group", default="left")
    boxes = random_annotators(12, ANNOTATORS[:2])
    groups = [fo.Group() for _ in range(6)]
    dataset.add_samples(
        [
            fo.Sample(
                f"/images/{k}.jpg",
                group=groups[k // 2].element(("left", "right")[k % 2]),
                **{name: detections(boxes[name][k]) for name in ANNOTATORS[:2]},
            )
            for k in range(12)
        ]
    )
    compute_agreement(dataset, ANNOTATORS[:2], progress=False)
    state = event("on_load", dataset).state
    sent = event("choose_samples", dataset, state, view=dataset.limit(3), value=True)
    assert "part of the run: 6 of its 12" in sent.parts["headline"]["default"]
    # the drill-down shows the slices of these groups alone
    opened = event("drill_down", dataset, sent.state, view=dataset.limit(3), path="charts.votes_1", x="1 of 2")
    of_three = set(dataset.limit(3).select_group_slices(["left", "right"]).values("id"))
    assert set(opened.view(dataset).values("id")) <= of_three
