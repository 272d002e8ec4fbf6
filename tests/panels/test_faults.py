"""Changes by others while the panel is open, and unusual views: a sentence, never a blank panel or a traceback."""

from __future__ import annotations

import functools
import itertools
import sys

import fiftyone as fo
import fiftyone.operators as foo
import pytest

from tests.datasets import detections, grouped_dataset, random_annotators
from tests.panels.conftest import ANNOTATORS, URI, of_tab
from tools.bench.generated import make_dataset as generated_dataset

from annotator_agreement.dataset_io import agreement_on, compute_agreement, delete_agreement
from annotator_agreement.panels import run_panel

#: every event of the panel but those that the App sends by itself
EVENTS = [
    ("refresh", {}), ("back", {}), ("choose_run", {"value": "agreement"}), ("choose_samples", {"value": "view"}),
    ("choose_tab", {"value": "annotators"}), ("go_to_tab", {"tab": "images"}),
    ("turn_page", {"item": "work", "page": 1}), ("click_cell", {"path": "verdicts_1", "row": -1, "column": 2}),
    ("click_cell", {"path": "verdicts_1", "row": 1, "column": 2}),
    ("click_cell", {"path": "votes_1", "row": 0, "column": 1}),
    ("drill_down", {"path": "cards.c5.card_1", "number": 5}), ("open_sample", {"id": "000000000000000000000000"}),
    ("run_operator", {"operator": "agreement_patches"}),
]  # fmt: skip


def _check_clear(sent):
    """The answer is a message; nothing failed, and no view was opened."""
    assert sent.requests
    assert not sent.of("set_view")
    told = " ".join(entry["message"] for entry in sent.of("notify"))
    assert "did not work" not in told
    shown = [str(output) for output in sent.of("show_panel_output")]
    assert told or shown
    assert not any(word in told + "".join(shown) for word in ("Traceback", "cannot be shown:"))


def test_only_events_of_the_panel_can_be_called_by_name(event, dataset, state, monkeypatch):
    shown, beside = foo.get_operator(URI), foo.get_operator("@annotator/agreement/decide_panel")
    assert [name for name in run_panel.EVENTS if not hasattr(beside, name)] == []
    assert [name for name in run_panel.EVENTS if not hasattr(shown, name)] == ["open_next"]
    monkeypatch.setattr(type(shown), "new_helper", lambda self, ctx: None, raising=False)
    names = {*dir(foo.Panel), "render", "new_helper", "open_next"} - {"on_load", "on_startup"}
    names |= {name for name in dir(foo.get_operator(URI)) if name.startswith("_")}
    for method in [*sorted(names), "nothing", "", 5, ["on_load"], {}]:
        (told,) = event(method, dataset, state, panel="refusing").requests
        assert "`__method__` must be an event of the panel" in told["params"]["message"]
    # none of them holds the panel up
    assert "cards" in event("on_load", dataset, state, panel="refusing").parts


#: what the App may keep of a panel in a broken browser
UNUSABLE = [
    *({"answer": value} for value in ([1], {"a": 1}, 5, True)),
    *({"decide": value} for value in ("text", 5, [], {"at": "x"}, {"at": ["x", "0"]}, {"past": [None]}, {"n": "1"})),
    *({"decide": value} for value in ({"watched": {"x": "1"}}, {"editing": {"active": 5}})),
    *({"sort": {"verdicts": "1"}}, {"page": [1]}, {"tab": ["overview"]}, {"run_key": {}}, {"refreshed": "x"}),
]


@pytest.mark.long
def test_what_a_browser_kept_that_cannot_be_used_begins_anew_with_a_sentence(event, dataset, state):
    for unusable in UNUSABLE:
        sent = event("refresh", dataset, {**state, **unusable}, panel="unusable", beside=True)
        (told,) = sent.of("notify")
        assert told["message"].startswith(
            "What the browser kept of this panel cannot be used; `" + next(iter(unusable))
        )
        assert "cards" in sent.parts
    assert not event("refresh", dataset, sent.state, panel="unusable", beside=True).of("notify")
    for wrong in ({"panel_id": ["x"]}, {"panel_state": "text"}, {"panel_state": [1]}):
        (told,) = event("refresh", dataset, **wrong).requests
        assert f"`{next(iter(wrong))}` must be" in told["params"]["message"]


def test_a_filter_of_another_run_and_what_no_list_offers_are_left_out(event, dataset, state):
    for decide in ({"annotator": "nobody"}, {"label": "nothing"}, {"verdict": "nonsense"}):
        sent = event("refresh", dataset, {**of_tab(state, "decide"), "decide": {"by": "mia", **decide}})
        assert "0 of " in sent.said
        assert not sent.of("notify")
    state = {**of_tab(state, "decide"), "decide": {"by": "mia"}}
    for value, what in itertools.product((["alice"], {"a": 1}, 3.5, True), ("verdict", "annotator", "label", "votes")):
        sent = event(f"seek_{what}", dataset, state, value=value)
        assert "This cannot be shown" not in str(sent.requests)
        assert sent.state["decide"].get(what) is None


@pytest.mark.parametrize("delete", [delete_agreement, fo.Dataset.delete_run])
def test_every_event_after_somebody_deleted_the_run_also_if_its_fields_are_left(event, dataset, state, delete):
    delete(dataset, "agreement")
    for method, params in EVENTS:
        sent = event(method, dataset, {**state, "run_key": "agreement"}, **params)
        _check_clear(sent)
        assert "The run 'agreement' is gone" in sent.text
        assert "compute" in sent.parts


def test_every_event_after_somebody_deleted_the_dataset(event, dataset, state):
    name = dataset.name
    fo.delete_dataset(name)
    for k, (method, params) in enumerate(EVENTS):
        sent = event(method, name, state, panel=f"panel {k}", **params)
        _check_clear(sent)
        assert "The dataset was deleted" in sent.text
        assert {"refresh", "compute"} & sent.parts.keys()


@pytest.mark.long
def test_two_panels_have_a_state_of_their_own(event, dataset):
    compute_agreement(dataset, ANNOTATORS, run_key="strict", iou=0.9, resamples=0, progress=False)
    rules = of_tab({}, "rules")
    one, other = functools.partial(event, panel="one"), functools.partial(event, panel="other")
    first, second = one("on_load", dataset, rules), other("on_load", dataset, rules)
    first = one("choose_run", dataset, first.state, value="agreement")
    second = other("choose_run", dataset, second.state, value="strict")
    opened = other("drill_down", dataset, second.state, path="cards.c5.card_1", number=5)
    # what the one did is a change of view to the other, in which its own numbers stay
    assert not one("on_change_view", dataset, first.state, view=opened.view(dataset)).requests
    assert not one("on_load", dataset, first.state, view=opened.view(dataset)).drill_down
    assert "of at least 0.9" not in one("refresh", dataset, first.state).text
    back = other("back", dataset, opened.state, view=opened.view(dataset))
    assert len(back.of("clear_view")) == 1
    assert not back.drill_down
    assert "of at least 0.9" in other("on_load", dataset, back.state).text


@pytest.mark.long
def test_drill_downs_of_a_run_that_is_computed_again_meanwhile(event, dataset, state):
    config = dataset.get_run_info("agreement").config
    for status in ("running", "failed", "deleting"):
        config.status = status
        dataset.update_run_config("agreement", config)
        for k, (method, params) in enumerate(EVENTS[8:]):
            sent = event(method, dataset, state, panel=f"panel {k} {status}", **params)
            _check_clear(sent)
            assert "compute" in sent.parts


def _computation(event, dataset, state, view):
    """How the numbers of a view were computed, as the panel says it."""
    sent = event("choose_samples", dataset, of_tab(state, "rules"), view=view, value="view")
    return sent.parts["computation"]["default"].replace("**", ""), sent


@pytest.mark.long
def test_a_large_view_says_that_it_has_no_intervals(event, private_fiftyone):
    dataset = generated_dataset("test-panel-large", 2_002)
    try:
        compute_agreement(dataset, ANNOTATORS, resamples=50, progress=False)
        state = event("on_load", dataset).state
        small, _ = _computation(event, dataset, state, dataset.limit(2_000))
        assert "95 %" in small
        large, sent = _computation(event, dataset, state, dataset.limit(2_001))
        assert "Without intervals" in large
        assert "95 %" not in large
        assert "Without intervals" in sent.said
        expected = agreement_on(dataset.limit(2_001), resamples=0)
        assert f"Score {expected.score.mean:.3f}" in large
        votes = event("refresh", dataset, of_tab(sent.state, "objects"), view=dataset.limit(2_001)).table("votes")
        assert sum(int(row[1].replace(",", "")) for row in votes) == expected.n_units
    finally:
        dataset.delete()


def test_of_groups_the_samples_of_all_slices_count(event, make_dataset):
    boxes = random_annotators(12, ANNOTATORS[:2])
    drawn = [{name: detections(boxes[name][k]) for name in ANNOTATORS[:2]} for k in range(12)]
    samples = [fo.Sample(f"/images/{k}.jpg", **labels) for k, labels in enumerate(drawn)]
    dataset = grouped_dataset(make_dataset, {"left": samples[::2], "right": samples[1::2]})
    compute_agreement(dataset, ANNOTATORS[:2], resamples=0, progress=False)
    state = event("on_load", dataset).state
    said, sent = _computation(event, dataset, state, dataset.limit(3))
    assert "part of the run: 6 of its 12" in said
    # the drill-down shows the slices of these groups alone
    state = of_tab(sent.state, "objects")
    opened = event("click_cell", dataset, state, view=dataset.limit(3), path="votes_1", row=1, column=1)
    of_three = set(dataset.limit(3).select_group_slices(["left", "right"]).values("id"))
    assert set(opened.view(dataset).values("id")) <= of_three


@pytest.mark.long
def test_the_runs_of_the_dataset_are_looked_up_once_for_a_click(event, dataset, state, monkeypatch):
    module = sys.modules[type(foo.get_operator(URI)).__module__.rpartition(".")[0] + ".run_panel"]
    looked, look = [], module.panel_state_of
    monkeypatch.setattr(module, "panel_state_of", lambda *given: looked.append(given) or look(*given))
    assert event("drill_down", dataset, state, path="cards.c5.card_1", number=5).of("set_view")
    assert len(looked) == 1
    # somebody else computes a run: what is stored has changed
    compute_agreement(dataset, ANNOTATORS, run_key="another", resamples=0, progress=False)
    event("choose_tab", dataset, state, value="annotators")
    assert any(wanted == "another" for _, wanted in looked)
