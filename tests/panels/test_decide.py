"""The tab Decide: one object after the other, by real events."""

from __future__ import annotations

import base64
import getpass
import io
import itertools
import re
import sys
from pathlib import Path

import fiftyone as fo
import fiftyone.operators as foo
import numpy as np
import pytest
from PIL import Image, ImageColor

from tests.dataset_io.masked import masked_dataset
from tests.dataset_io.said import said_dataset
from tests.datasets import EXAMPLE, random_annotators

from annotator_agreement.dataset_io import (
    apply_decisions,
    compute_agreement,
    decide,
    delete_agreement,
    list_decisions,
    update_agreement,
)

ANNOTATORS = ["alice", "bob", "carol"]
#: the state of a panel on the tab, of somebody whose name is known
MIA = {"tab": "decide", "decide": {"by": "mia"}}


def computed(dataset, names=ANNOTATORS):
    """A dataset, on which a run was computed."""
    compute_agreement(dataset, names, resamples=0, progress=False)
    return dataset


def _example(make_dataset):
    return computed(make_dataset(EXAMPLE))


@pytest.fixture
def example(lend):
    return lend(_example)


@pytest.fixture
def named(event, dataset):
    """The state of a panel on the tab, with the name of who decides."""
    sent = event("choose_tab", dataset, event("on_load", dataset).state, value="decide")
    assert "Your name" not in sent.said  # the browser may know it
    sent = event("hear_browser", dataset, sent.state, name=None, colours=[])
    assert "Your name" in sent.said
    assert getpass.getuser() not in str(sent.parts["decider"])
    nobody = event("start_deciding", dataset, {**sent.state, "decider": " "})
    assert "Type your name first" in str(nobody.of("notify"))
    return event("start_deciding", dataset, {**sent.state, "decider": " mia "}).state


def button(sent, name):
    """A button of the tab by the beginning of its label."""
    found = [each["view"] for each in sent.parts.values() if (each["view"].get("label") or "").startswith(name)]
    assert found, name
    return found[0]


def press(event, dataset, state, sent, label, **options):
    """Press a button by the beginning of its label."""
    view = button(sent, label)
    assert not view.get("disabled")
    params = dict(view.get("params") or {})
    handler = params.pop("event", view["operator"])  # of buttons with which the browser sends its name
    return event(handler.rsplit("#", 1)[-1], dataset, state, **options, **params)


def show(event, dataset, state=MIA):
    """What the panel shows in a state."""
    return event("refresh", dataset, state)


def _cost(dataset, document_id, unit):
    """1 for every two annotators of whom one drew an object, 2 for every two who gave it different classes."""
    sample = dataset[document_id]
    asked = [name for name in ANNOTATORS if sample[name] is not None]
    given = {name: [each.label for each in sample[name].detections if each.agreement_id == unit] for name in asked}
    pairs = itertools.combinations(given.values(), 2)
    return sum(bool(a) != bool(b) or 2 * (bool(a) and bool(b) and a != b) for a, b in pairs)


@pytest.mark.long
def test_deciding_one_after_the_other_goes_through_all_disputed_objects_the_costliest_first(event, make_dataset):
    dataset = computed(make_dataset(random_annotators(9, seed=3)))
    sent, pressed = show(event, dataset), []
    n = sum(dataset.values("agreement_n_disputed")[k] or 0 for k in range(len(dataset)))
    while "Everything that you look for" not in sent.text:
        assert f"{len(pressed)} of {n} decided" in sent.said
        pressed.append(button(sent, "No object")["params"])
        sent = press(event, dataset, sent.state, sent, "No object")
    assert len(pressed) == n > 10
    found = list_decisions(dataset)
    assert {(each.choice, each.decided_by) for each in found} == {("none", "mia")}
    assert [each.unit for each in found] == [each["unit"] for each in pressed]
    costs = [_cost(dataset, each["document"], each["unit"]) for each in pressed]
    assert costs == sorted(costs, reverse=True)
    assert len(set(costs)) > 1


@pytest.mark.long
def test_versions_skip_back_undo_and_filters(event, example):
    sent = show(event, example)
    assert "0 of 3 decided" in sent.said
    assert "class conflict · 1.jpg" in sent.said
    after = press(event, example, sent.state, sent, "bob: dog")
    assert "1 of 3 decided" in after.said
    (decision,) = list_decisions(example)
    assert (decision.annotator, decision.choice) == ("bob", "version")
    assert button(after, "carol: nothing")["params"] == button(after, "No object")["params"]
    skipped = press(event, example, after.state, after, "Skip")
    assert "1 of 3 decided, 1 skipped" in skipped.said
    assert button(skipped, "Consensus: no majority")["disabled"]  # one of two drew it
    done = press(event, example, skipped.state, skipped, "alice: dog")
    assert "Everything that you look for" in done.text
    again = press(event, example, done.state, done, "Go through 1 skipped object")
    assert button(again, "Skip")["params"]["unit"] == button(after, "Skip")["params"]["unit"]
    back = press(event, example, done.state, done, "Previous")
    assert "mia decided: alice" in back.text
    changed = press(event, example, back.state, back, "No object")  # decided again, without asking
    assert [each.choice for each in list_decisions(example)] == ["version", "skip", "none"]
    undone = press(event, example, changed.state, changed, "Undo")
    assert [each.choice for each in list_decisions(example)] == ["version", "skip", "version"]
    anew = event("choose_tab", example, event("on_load", example).state, value="decide")
    assert "2 of 3 decided, 1 skipped" in event("start_deciding", example, {**anew.state, "decider": "noa"}).said
    lone = event("seek_verdict", example, undone.state, value="lone")
    assert "1 of 1 decided" in lone.said
    assert not event("seek_verdict", example, lone.state, value="lone").of("show_panel_output")
    of_carol = event("seek_annotator", example, MIA, value="carol")
    assert "of 2 decided" in of_carol.said  # she was not asked about the lone one
    assert "1 of 1 decided" in event("seek_votes", example, MIA, value="1").said
    of_cats = event("seek_label", example, MIA, value="cat")
    assert "1 of 1 decided" in of_cats.said
    assert "0 of 0 decided" in event("seek_votes", example, of_cats.state, value="2").said


def test_a_form_in_which_nothing_was_changed_decides_nothing(event, example, monkeypatch):
    sent = show(event, example)
    place = button(sent, "Edit")["params"]
    form = press(event, example, sent.state, sent, "Edit")
    done = press(event, example, form.state, form, "Done")
    assert "nothing is decided" in str(done.of("notify"))
    assert button(done, "Skip")["params"]["unit"] == place["unit"]  # it is still in hand
    of_plugin = type(foo.get_operator("@annotator/agreement/agreement_panel")).__module__.rsplit(".", 1)[0]
    monkeypatch.setattr(sys.modules[f"{of_plugin}.decide_events"], "_SAVED_SECONDS", 0.0)
    after = event("refresh", example, done.state)
    assert list_decisions(example) == []
    assert "0 of 3 decided" in after.said
    assert "skipped" not in after.said
    assert example[place["document"]]["agreement_gold"] is None


def _opened_form(event, dataset):
    """The state of a panel in which somebody opened a form, and a function that edits the label as the App does."""
    sent = show(event, dataset)
    document = button(sent, "Edit")["params"]["document"]
    form = press(event, dataset, sent.state, sent, "Edit")

    def edit():
        sample = dataset[document]
        sample.reload()
        sample.agreement_gold.detections[0].label = "edited"
        sample.save()

    return form.state, edit


def _recorded(dataset):
    return [(each.choice, each.decided_by, each.edited) for each in list_decisions(dataset)]


def test_an_edit_is_recorded_under_the_name_of_who_made_it_though_the_panel_asks_for_a_name(event, example):
    state, edit = _opened_form(event, example)
    asked = event("ask_name", example, state)
    edit()
    asked = event("refresh", example, asked.state)
    assert "Your name" in asked.said
    assert _recorded(example) == [("own", "mia", False)]
    typed = event("start_deciding", example, {**asked.state, "decider": "noa"})
    press(event, example, typed.state, typed, "Done")
    assert _recorded(example) == [("own", "mia", False)]
    assert fo.load_dataset(example.name).active_label_schemas == []


def test_an_edit_waits_for_a_name_and_for_a_run_that_is_computed_again(event, example):
    state, edit = _opened_form(event, example)
    edit()
    nobody = {**state, "decide": {**state["decide"], "by": None, "editor": None}}
    waits = event("refresh", example, nobody)
    assert waits.state["decide"]["watched"] == state["decide"]["watched"]
    config = example.get_run_info("agreement").config
    for status in ("running", "completed"):
        assert _recorded(example) == [("skip", "mia", True)]
        config.status = status
        example.update_run_config("agreement", config)
        state = event("refresh", example, state).state
    assert _recorded(example) == [("own", "mia", False)]


def test_the_label_schemas_are_put_back_when_the_run_is_gone_in_which_a_form_was_opened(event, example):
    state, edit = _opened_form(event, example)
    edit()
    delete_agreement(example)
    left = event("refresh", example, state)
    assert "is gone" in left.text
    assert not left.of("notify")
    assert not left.state["decide"]["watched"]
    assert fo.load_dataset(example.name).active_label_schemas == []
    fo.delete_dataset(example.name)
    gone = event("refresh", example.name, state)
    assert "The dataset was deleted" in gone.text
    assert not gone.of("notify")


@pytest.mark.long
def test_the_objects_of_the_open_image_are_decided_beside_it(event, example):
    _, second, _, fourth, _ = example.values("id")
    beside = {"uri": "@annotator/agreement/decide_panel", "sample": second, "beside": True}
    asked = event("on_load", example, **beside)
    assert "Asking this browser for your name" in asked.said
    sent = event("hear_browser", example, asked.state, name="mia", colours=[], **beside)
    assert "class conflict" in sent.said
    assert "all disputed" not in sent.text
    assert "data:image" not in sent.text
    (selected,) = sent.of("set_selected_labels")
    labels = [label for name in ANNOTATORS for label in example[second][name].detections]
    wanted = {label.id for label in labels if label.agreement == "class_conflict"}
    assert {each["label_id"] for each in selected["labels"]} == wanted
    assert button(sent, "Undo")["disabled"]
    told = {**sent.state, "decide": {**sent.state["decide"], "sample": None}}  # the App may not know the image yet
    missed = press(event, example, told, sent, "bob: dog", **beside)
    assert "missed" in missed.said
    assert not button(missed, "Undo")["disabled"]
    assert "1 of 3 decided" in missed.said
    done = press(event, example, missed.state, missed, "Skip", **beside)
    assert "Everything in this image" in done.text
    assert done.of("set_selected_labels") == [{"labels": []}]
    (opened,) = press(event, example, done.state, done, "Next image", **beside).of("open_sample")
    assert opened["id"] == fourth
    beside["sample"] = fourth
    lone = event("on_change_current_sample", example, done.state, **beside)
    assert "lone" in lone.said
    assert button(lone, "Undo")["disabled"]
    last = press(event, example, lone.state, lone, "No object", **beside)
    told = press(event, example, last.state, last, "Next image", **beside).of("notify")
    assert "Everything in other images is decided" in str(told)
    undone = press(event, example, last.state, last, "Undo", **beside)
    assert "lone" in undone.said
    assert [each.choice for each in list_decisions(example)] == ["version", "skip"]


@pytest.mark.long
def test_events_that_the_app_sent_before_it_got_an_answer_do_not_undo_it(event, example):
    beside = {"uri": "@annotator/agreement/decide_panel", "sample": example.values("id")[1], "beside": True}
    asked = event("on_load", example, **beside).state
    heard = event("hear_browser", example, asked, name=None, colours=[], **beside)
    started = event("start_deciding", example, {**asked, "decider": "noa"}, **beside)
    late = event("on_change_current_sample", example, asked, **beside)
    assert started.state["decide"]["by"] == "noa"
    assert not late.of("patch_panel_state")
    assert "Your name" not in str(late.requests)
    first = press(event, example, started.state, started, "bob: dog", **beside)
    second = press(event, example, started.state, first, "Skip", **beside)
    undone = press(event, example, first.state, second, "Undo", **beside)
    assert [each.choice for each in list_decisions(example)] == ["version"]
    assert "1 of 3 decided" in undone.said
    assert "Your name" not in event("refresh", example, heard.state, **beside).said
    # a page that is loaded begins with what was stored
    assert "Your name" in event("on_load", example, heard.state, **beside).said


def test_a_decision_is_stored_under_the_name_that_the_browser_keeps_whoever_s_panel_it_shows(event, dataset):
    """FiftyOne gives a second browser the panel and state of the first; so does a workspace that somebody saved."""
    annas = event("hear_browser", dataset, event("on_load", dataset, {"tab": "decide"}).state, name="anna", colours=[])
    for panel in (None, "of a workspace"):
        shown = event("on_load", dataset, annas.state, panel=panel)
        assert "as anna" in shown.said
        bens = event("hear_browser", dataset, shown.state, panel=panel, name="ben ", colours=[])
        assert "as ben" in bens.said
        next_one = press(event, dataset, bens.state, bens, "No object", panel=panel, name="ben")
    # by now the panel that both see has Ben's name
    mine = press(event, dataset, next_one.state, next_one, "Skip", panel=panel, name="anna")
    assert [each["message"] for each in mine.of("notify")] == ["You decide as anna, the name that this browser keeps"]
    assert [each.decided_by for each in list_decisions(dataset)] == ["ben", "ben", "anna"]
    nobody = press(event, dataset, mine.state, mine, "No object", panel=panel, name=None)
    assert "Say your name first" in str(nobody.of("notify"))
    assert "Your name" in nobody.said
    assert len(list_decisions(dataset)) == 3
    # what is typed as another name holds
    typed = event("start_deciding", dataset, {**nobody.state, "decider": "noa"}, panel=panel)
    assert [each for each in typed.of("ask_browser") if "name" in each] == [{"name": "noa"}]
    press(event, dataset, typed.state, typed, "No object", panel=panel, name="noa")
    assert list_decisions(dataset)[-1].decided_by == "noa"
    asked = event("on_load", dataset, typed.state, panel="of nobody")
    assert "Your name" in event("hear_browser", dataset, asked.state, panel="of nobody", name=None).said


def test_a_click_never_replaces_a_decision_that_its_window_did_not_show(event, dataset, named):
    sent = show(event, dataset, named)
    old = press(event, dataset, sent.state, sent, "No object")  # what the other window of this panel goes on to show
    back = press(event, dataset, old.state, old, "Previous")
    here, there = (button(each, "No object")["params"]["unit"] for each in (back, old))
    assert here != there
    for unit in (here, there):
        decide(dataset, objects=unit, choice="none", by="ben", overwrite=True)
    for window, label in itertools.product((back, old), ("Skip", "Edit", "No object")):
        late = press(event, dataset, back.state, window, label)
        assert "meanwhile" in str(late.of("notify")), label

    def made():
        return [(each.unit, each.choice, each.decided_by) for each in list_decisions(dataset)]

    assert made() == [(here, "none", "ben"), (there, "none", "ben")]
    shown = button(old, "Skip")["params"]
    past = [[shown["document"], shown["unit"]]]
    now = event("previous_object", dataset, {**back.state, "decide": {"by": "mia", "past": past}})
    assert "ben decided: no object" in now.text
    press(event, dataset, now.state, now, "Skip")  # of whom sees it
    assert made() == [(here, "none", "ben"), (there, "skip", "mia")]


def test_undo_takes_back_what_its_button_says_whatever_was_decided_in_another_window(event, dataset):
    one, other = (event("on_load", dataset, MIA, panel=panel) for panel in ("one", "other"))
    first = press(event, dataset, one.state, one, "No object", panel="one")
    shown = event("refresh", dataset, other.state, panel="other")
    press(event, dataset, shown.state, shown, "Skip", panel="other")
    undone = press(event, dataset, first.state, first, "Undo: no object", panel="one")
    assert [each.choice for each in list_decisions(dataset)] == ["skip"]
    late = press(event, dataset, undone.state, first, "Undo: no object", panel="one")
    assert "taken back, or decided again, meanwhile" in str(late.of("notify"))
    assert [each.choice for each in list_decisions(dataset)] == ["skip"]
    assert button(late, "Undo")["label"] == "Undo: skipped"


@pytest.mark.long
def test_undo_says_what_it_takes_back_and_filters_that_fit_nothing_and_a_run_without_disputes_are_said(
    event, make_dataset
):
    dataset = computed(make_dataset(random_annotators(8)))
    state = {"tab": "decide", "decide": {"by": "mia", "verdict": "class_conflict"}}
    sent = show(event, dataset, state)
    assert button(sent, "Undo")["label"] == "Undo"
    decide(dataset, choice="skip", by="noa", verdict="lone")  # of somebody else
    for press_on, said in (("alice: ", "alice"), ("No object", "no object"), ("Skip", "skipped")):
        file = Path(dataset[button(sent, press_on)["params"]["document"]].filepath).name
        sent = press(event, dataset, sent.state, sent, press_on)
        assert button(sent, "Undo")["label"] == f"Undo: {said}"
        assert button(sent, "Undo")["title"] == f"Takes back: {said}, {file}"
    sent = press(event, dataset, sent.state, sent, "Undo")
    assert button(sent, "Undo")["label"] == "Undo: no object"
    assert decide(dataset, choice="none", by="mia", verdict="missed").n_decided > 1
    assert button(show(event, dataset, sent.state), "Undo")["label"] == "Undo: decided by a rule"
    said = show(event, dataset, {"tab": "decide", "decide": {"by": "mia", "verdict": "lone", "votes": 3}}).text
    assert "No disputed object fits these filters" in said
    assert "Everything that you look for" not in said
    same = [[("car", (0.1, 0.1, 0.2, 0.2))]]
    agreed = computed(make_dataset({"alice": same, "bob": same}), ANNOTATORS[:2])
    assert "Nothing is disputed" in show(event, agreed, MIA).text


@pytest.fixture
def picture_of(event, tmp_path):
    """Computes a run on a dataset whose only image is white, and shows an object of it: what is sent, the picture."""

    def picture(dataset, names=ANNOTATORS):
        Image.new("RGB", (400, 200), "white").save(tmp_path / "white.png")
        dataset.set_values("filepath", [str(tmp_path / "white.png")])
        dataset.compute_metadata(progress=False, overwrite=True)
        sent = show(event, computed(dataset, names))
        (uri,) = [each["default"] for each in sent.parts.values() if str(each.get("default")).startswith("data:")]
        return sent, Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1])))

    return picture


def test_the_picture_shows_the_outlines_of_boxes_and_the_edge_of_a_mask_in_its_box(picture_of, make_dataset):
    place = (0.25, 0.25, 0.5, 0.5)
    _, picture = picture_of(make_dataset({"alice": [[("car", place)]], "bob": [[("bus", place)]], "carol": [[]]}))
    red, green, blue = picture.getpixel((round(picture.width * 0.25), picture.height // 2))
    assert blue > green > red  # bob's light blue, drawn over alice's orange
    assert picture.getpixel((picture.width // 2, picture.height // 2)) == (255, 255, 255)
    dataset = make_dataset({"alice": [[("car", place)]], "bob": [[("bus", place)]]})
    half = np.zeros((10, 10), np.uint8)
    half[:, :5] = 1
    for name in ("alice", "bob"):
        dataset.set_values(f"{name}.detections.mask", [[half]])
    _, picture = picture_of(dataset, ANNOTATORS[:2])
    # the mask ends in the middle of its box
    edge, beyond = picture.getpixel((picture.width // 2, picture.height // 2)), round(picture.width * 0.72)
    assert max(edge) - min(edge) > 60
    assert min(picture.getpixel((beyond, picture.height // 2))) > 200


@pytest.mark.parametrize("in_files", [False, True])
def test_the_picture_of_masks_shows_everybodys_edges_and_equal_ones_side_by_side(
    picture_of, make_dataset, tmp_path, in_files
):
    left, top = np.zeros((2, 100, 200), np.uint8)
    left[:, :100], top[:50] = 1, 1
    masks = {"alice": [left], "bob": [top], "carol": [top]}
    sent, picture = picture_of(masked_dataset(make_dataset, masks, tmp_path if in_files else None))
    assert "masks differ · white.png" in sent.text
    assert "class conflict" not in sent.text
    x, y = picture.width // 2, picture.height // 2
    styles = [button(sent, f"{name}:")["componentsProps"]["button"]["sx"]["border"] for name in ANNOTATORS]
    alice, bob, carol = (ImageColor.getrgb(style.rsplit(" ", 1)[-1]) for style in styles)
    # her edge is the vertical line; hers the horizontal line, as bob's, which is seen on both sides of it
    found = {alice: (x, y // 2), carol: (x // 2, y), bob: (x // 2, y - 2), (255, 255, 255): (x // 2, y // 2)}
    for colour, place in found.items():
        assert np.abs(np.subtract(picture.getpixel(place), colour)).max() < 60, (colour, picture.getpixel(place))


SAID = [
    ("labels", "alice: (cat|dog|owl)", "None is right"), ("integers", "alice: [1-5]$", "None is right"),
    ("tags", "alice: (sun|rain|snow)", "Not this tag"), ("masks", "alice: mask", "None is right"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "version", "none"), SAID)
@pytest.mark.long
def test_tags_and_what_was_said_of_whole_samples_are_decided_as_objects(event, make_dataset, kind, version, none):
    dataset = said_dataset(make_dataset, kind, 4 if kind == "tags" else 10)
    sent = show(event, dataset, {"tab": "decide", "decide": {"by": "mia", "annotator": "alice"}})
    n = int(re.search(r"0 of (\d+) decided", sent.said)[1])
    assert n > 4
    labels = [each["view"]["label"] for each in sent.parts.values() if each["view"].get("label")]
    assert any(re.match(version, label) for label in labels) or "alice: nothing" in labels
    assert any(label.startswith("Consensus") for label in labels) == (kind != "masks")
    for k, name in enumerate(["carol:", none, "Skip", none]):
        sent = press(event, dataset, sent.state, sent, none if button(sent, name).get("disabled") else name)
        assert f"{k + 1 - (k >= 2)} of {n} decided" in sent.said
    assert len({each.unit for each in list_decisions(dataset)}) == 4
    undone = press(event, dataset, sent.state, sent, "Undo")
    assert f"2 of {n} decided, 1 skipped" in undone.said
    while "Everything that you look for" not in sent.text:
        sent = press(event, dataset, sent.state, sent, none)
    assert len(list_decisions(dataset)) == n


def test_the_tab_counts_how_right_everybody_was_and_shows_what_was_decided_against_them(event, example):
    sent = show(event, example)
    ids = {verdict: [label.agreement_id for labels in example.values("alice.detections") for label in labels
                     if label.agreement == verdict] for verdict in ("agreed", "class_conflict")}  # fmt: skip
    decide(example, objects=ids["agreed"])
    decide(example, choice="version", annotator="carol", objects=ids["class_conflict"])
    decide(example, choice="none", verdict="lone")
    counted = press(event, example, sent.state, sent, "How right everybody was")
    assert "2 of 3 disputed objects were decided (66.7 %)" in counted.text
    assert "The majority was right on 3 of 3 decided objects (100.0 %)" in counted.text
    assert "1 object decided by a rule, which says nothing of who was right" in counted.text
    titles, rows = counted.columns("right"), {row[0]: row for row in counted.table("right")}
    assert rows["bob"][titles.index("wrong class")] == "33.3 %"
    assert rows["carol"][titles.index("wrong class")] == "0.0 %"
    assert rows["decided by a rule"][titles.index("too many")] == "1"
    click = {"path": "right_1", "row": list(rows).index("bob"), "column": titles.index("missed")}
    behind = event("click_cell", example, counted.state, **click)
    assert behind.drill_down == "**Decided against bob**"
    assert len(behind.of("set_view")) == 1
    assert button(counted, "Count again")


def test_rows_of_the_objects_tab_lead_to_deciding_on_them(event, example):
    sent = event("choose_tab", example, {"decide": {"by": "mia"}}, value="objects")
    row = next(k for k, each in enumerate(sent.table("verdicts")) if each[0] == "lone")
    decided = event("click_cell", example, sent.state, path="verdicts_1", row=row, column=4)
    assert decided.state["tab"] == "decide"
    assert "0 of 1 decided" in decided.said
    row = next(k for k, each in enumerate(sent.table("votes")) if each[0] == "2 of 3")
    of_votes = event("click_cell", example, sent.state, path="votes_1", row=row, column=3)
    assert "0 of 1 decided" in of_votes.said
    assert of_votes.state["decide"]["votes"] == 2
    of_class = event("click_cell", example, sent.state, path="by_class_1", row=0, column=4)
    assert of_class.state["decide"]["label"] == sent.table("by_class")[0][0]
    assert f"0 of {sent.table('by_class')[0][1]} decided" in of_class.said


@pytest.mark.parametrize("deleted", ["by applying it", "by hand"])
@pytest.mark.long
def test_an_object_is_shown_though_another_of_its_image_was_decided_and_deleted(event, make_dataset, deleted):
    """Two lone objects of bob on one image; one is decided to be none and deleted, and the run updated."""
    boxes = [("cat", (0.1, 0.1, 0.2, 0.2)), ("dog", (0.6, 0.6, 0.3, 0.2))]
    dataset = computed(make_dataset({"alice": [[]], "bob": [boxes], "carol": [[]]}))
    sent = press(event, dataset, MIA, show(event, dataset), "No object")
    (first,), left = list_decisions(dataset), button(sent, "No object")["params"]["unit"]
    assert left != first.unit
    if deleted == "by hand":
        dataset.delete_labels(ids=[each.rpartition(" ")[2] for each in first.labels])
    else:
        assert apply_decisions(dataset).n_applied == 1
    assert dataset.count("bob.detections") == 1
    assert button(show(event, dataset), "No object")["params"]["unit"] == left
    update_agreement(dataset, progress=False)
    assert button(show(event, dataset), "No object")["params"]["unit"] == left
    press(event, dataset, MIA, show(event, dataset), "No object")
    assert "Everything that you look for" in show(event, dataset).text


@pytest.mark.long
def test_an_object_that_changed_is_offered_though_all_of_its_image_are_decided(event, make_dataset):
    boxes = [("cat", (0.1, 0.1, 0.2, 0.2)), ("dog", (0.6, 0.6, 0.3, 0.2))]
    dataset = computed(make_dataset({"alice": [[], []], "bob": [boxes, boxes], "carol": [[], []]}))
    decide(dataset, choice="version", annotator="bob", all=True)
    assert "Everything that you look for" in show(event, dataset).text
    for width, afterwards in ((0.31, "nothing"), (0.32, "update"), (0.33, "compute")):
        sample = dataset.last()
        sample.bob.detections[1].bounding_box = [0.5, 0.5, width, 0.2]
        sample.save()
        if afterwards == "update":
            update_agreement(dataset, progress=False)
        elif afterwards == "compute":
            compute_agreement(dataset, ANNOTATORS, resamples=0, overwrite=True, progress=False)
        sent = show(event, dataset)
        assert "labels were changed since" in sent.text, afterwards
        assert button(sent, "bob: dog")["params"]["document"] == sample.id
        press(event, dataset, MIA, sent, "bob: dog")
        assert "Everything that you look for" in show(event, dataset).text, afterwards
        (moved,) = [each for each in dataset.last().agreement_gold.detections if each.label == "dog"]
        assert moved.bounding_box == [0.5, 0.5, width, 0.2]


def test_an_image_whose_class_changed_is_offered_after_those_that_nobody_decided(event, make_dataset):
    dataset = said_dataset(make_dataset, "labels", 10)
    *first, last = dataset.match(fo.ViewField("agreement_disputed") == True).exists("alice")  # noqa: E712
    decide(dataset, choice="none", objects=[sample.id for sample in first])
    for sample in first[:2]:
        sample.alice.label = "emu"
        sample.save()
    sent = show(event, dataset)
    while button(sent, "None is right")["params"]["document"] not in {sample.id for sample in first[:2]}:
        sent = press(event, dataset, sent.state, sent, "None is right")
    assert last.id in {each.sample_id for each in list_decisions(dataset)}
    assert "labels were changed since" in sent.text


@pytest.mark.long
def test_the_way_back_is_there_after_events_of_other_buttons_and_of_the_app(event, dataset, named):
    sent = show(event, dataset, named)
    for name in ("No object", "Skip"):
        sent = press(event, dataset, sent.state, sent, name)
    back = press(event, dataset, sent.state, sent, "Previous")
    skipped = button(back, "Skip")["params"]["unit"]
    assert not back.of("patch_panel_state")  # the App was told nothing
    for method in ("show_filters", "on_change_current_sample", "count_decisions"):
        after = event(method, dataset, back.state)
        assert button(after, "Skip")["params"]["unit"] == skipped, method
        first = press(event, dataset, after.state, after, "Previous")
        assert button(first, "Previous").get("disabled"), method
