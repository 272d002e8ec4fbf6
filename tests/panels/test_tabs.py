"""The tabs of every family of label types, other thresholds and rules, parts, and models as annotators."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import fiftyone as fo
import numpy as np
import pytest
from fiftyone import ViewField as F

from tests.agreement.habits import CLASSES, Habits, context_of, simulate, with_model
from tests.charts.other_families import OTHERS
from tests.dataset_io.shaped import polygon, rectangle, shapes_dataset
from tests.panels.conftest import of_tab

from annotator_agreement.agreement import AgreementInputError, make_config
from annotator_agreement.agreement.families import build_report, report_from_dict
from annotator_agreement.dataset_io import compute_agreement, load, load_agreement
from annotator_agreement.panels import Choices, annotator_items, class_items, link_of

NAMES = ["anna", "ben", "cleo"]


def _class(name):
    return fo.Classification(label=name)


def _tags(names):
    return fo.Classifications(classifications=list(map(_class, names.split())))


def _mask(value):
    mask = np.zeros((6, 8), np.uint8)
    mask[: value + 2, 1:5] = value
    return fo.Segmentation(mask=mask)


#: what anna, ben and cleo say of three images
SAID = {
    "ratings": (_class, [["cat", "cat", "dog"], ["dog", "dog", "dog"], ["owl", "cat", "owl"]]),
    "tags": (_tags, [["sun", "sun sea", "sea"], ["sun", "sun", "sun"], ["sky", "", "sky"]]),
    "pixels": (_mask, [[1, 1, 2], [1, 1, 1], [2, 1, 2]]),
    "numbers": (float, [[1, 2, 2], [4, 4, 4], [2, 3, 5]]),
}
#: what the tabs of a family hold
SECTIONS = {
    "ratings": {"annotators": {"annotators", "pairs"}, "classes": {"confusion"}},
    "tags": {"annotators": {"annotators", "pairs"}, "classes": {"classes"}},
    "pixels": {"annotators": {"annotators", "pairs"}, "classes": {"classes"}},
    "numbers": {"annotators": {"annotators", "pairs"}},
}
#: the images, tags or classes of which the card counts the disputed ones
OF = {"ratings": 3, "tags": 4, "pixels": 5, "numbers": 3}


@pytest.fixture(params=SAID)
def family(request, make_dataset):
    dataset, (made, rows) = make_dataset({}), SAID[request.param]
    for k, row in enumerate(rows):
        dataset.add_sample(fo.Sample(f"/images/{k}.jpg", **dict(zip(NAMES, map(made, row), strict=True))))
    compute_agreement(dataset, NAMES, resamples=0, progress=False)
    return request.param, dataset


@pytest.mark.few(2)
def test_the_tabs_have_what_the_family_has(event, family):
    name, dataset = family
    sent = event("on_load", dataset)
    cards = [part["view"]["title"] for key, part in sent.parts.items() if key.split()[0] == "value"]
    assert f"{load_agreement(dataset).score.mean:.2f}" in cards
    assert re.search(rf"Disputed \w+ Show these labels of {OF[name]} ", sent.said)
    for tab, items in SECTIONS[name].items():
        assert items <= set(event("refresh", dataset, of_tab(sent.state, tab)).parts)
    images = event("refresh", dataset, of_tab(sent.state, "images"))
    assert "scores" in images.parts
    reasons = [part["view"]["label"].split("\n")[1] for key, part in images.parts.items() if key.startswith("open")]
    assert len(reasons) == 2
    if name == "ratings":
        assert set(reasons) == {"cat (anna, ben), dog (cleo)", "owl (anna, cleo), cat (ben)"}
    rules = event("refresh", dataset, of_tab(sent.state, "rules"))
    assert f"Score {load_agreement(dataset).score.mean:.3f}" in rules.parts["computation"]["default"].replace("**", "")


ANNOTATORS = ["alice", "bob", "carol"]


def _polygons(make_dataset):
    shapes = [{name: [polygon(rectangle(5 + k + a, 4, 12, 8))] for a, name in enumerate(ANNOTATORS)} for k in range(12)]
    dataset = shapes_dataset(make_dataset, *shapes)
    compute_agreement(dataset, ANNOTATORS, resamples=0, progress=False)
    return dataset


def test_of_a_few_boxes_other_thresholds_are_shown_at_once_and_of_classes_there_are_none(event, make_dataset):
    dataset = make_dataset()
    for name in ("first", "second"):
        dataset.set_values(name, [_class("car")] * len(dataset))
    compute_agreement(dataset, ANNOTATORS, resamples=0, progress=False)
    compute_agreement(dataset, ["first", "second"], run_key="classes", resamples=0, progress=False)
    sent = event("refresh", dataset, {**of_tab({}, "rules"), "run_key": "agreement"})
    text = sent.parts["sensitivity_note"]["default"]
    assert "Thresholds side by side" in text
    assert "Alpha of objects under other rules" in text
    assert "thresholds" in sent.parts
    assert not [key for key in sent.parts if key.startswith("sensitivity_hint")]
    parts = event("choose_run", dataset, sent.state, value="classes").parts
    assert "computation" in parts
    assert not {"sensitivity_hint", "sensitivity_note", "thresholds"} & parts.keys()


def test_shapes_are_read_again_when_the_button_is_pressed(event, lend):
    dataset = lend(_polygons)
    sent = event("refresh", dataset, of_tab({}, "rules"))
    assert "computed when you ask for them" in sent.parts["sensitivity_hint"]["default"]
    assert "thresholds" not in sent.parts
    buttons = [part["view"] for part in sent.parts.values() if part.get("view", {}).get("label")]
    (button,) = [view for view in buttons if view["label"] == "Other thresholds and rules"]
    assert button["params"] == {"item": "sensitivity", "page": 1}
    shown = event("turn_page", dataset, sent.state, **button["params"])
    f1 = load(dataset).thresholds().set_index("threshold")["f1"]
    rows = [line.split("|") for line in shown.parts["sensitivity_note"]["default"].splitlines()]
    (row,) = [row for row in rows if len(row) > 2 and row[1].strip() == "0.85"]
    assert row[2].strip() == f"{f1[0.85]:.3f}"
    assert "sensitivity_hint" not in shown.parts
    assert "thresholds" in shown.parts
    for page in (1, 2):  # the numbers stay while the tab is left
        state = event("turn_page", dataset, of_tab({}, "rules"), item="sensitivity", page=page).state
        other = event("choose_tab", dataset, state, value="overview").state
        assert "thresholds" in event("choose_tab", dataset, other, value="rules").parts


def test_where_nobody_shares_an_image_nobody_is_said_to_agree(event, make_dataset):
    drawn = [("cat", (0.1, 0.1, 0.2, 0.2))]
    dataset = make_dataset({"alice": [drawn, None], "bob": [None, drawn]})
    compute_agreement(dataset, ["alice", "bob"], resamples=0, progress=False)
    said = event("refresh", dataset, of_tab({}, "images")).said
    assert "No two annotators have labels to compare" in said
    assert "All agree" not in said


def _ids(requests):
    """The ids of the samples that the App was told to show."""
    (stage,) = (each for each in requests[0]["view"] if each["_cls"].endswith("Select"))
    return set(dict(map(tuple, stage["kwargs"]))["sample_ids"])


def test_a_choice_shows_its_parts_and_a_row_leads_to_their_images(event, dataset, state):
    dataset.set_values("camera", [("left", "right", None)[k % 3] for k in range(len(dataset))])
    dataset.set_values("night", [k % 2 == 0 for k in range(len(dataset))])
    opened, parts = {**state, "tab": "parts"}, load(dataset).by("camera")
    for by in ({}, {"by": "gone"}):  # something else than is offered
        text = event("refresh", dataset, {**opened, **by}).text
        assert "camera" in text
        assert "night" in text
    chosen = event("choose_by", dataset, opened, value="camera")
    for part in parts.parts:
        assert part.name in chosen.text
        assert f"{part.numbers['score.mean'].value:.2f}" in chosen.text
    by_camera = {**opened, "by": "camera"}
    shown = event("drill_down", dataset, by_camera, path="parts_1", row=0, column=0).of("set_view")
    assert _ids(shown) == set(dataset.match(F("camera") == "left").values("id")) == set(parts.view("left").values("id"))
    drawn = next((number.key for _, number, _ in parts.findings), parts.numbers[0].key)
    value = parts.parts[1].numbers[drawn].value
    point = event("drill_down", dataset, by_camera, path="parts_chart_1", x=value, y="right").of("set_view")
    assert _ids(point) == set(dataset.match(F("camera") == "right").values("id"))


def test_words_are_those_of_two_or_more_annotators_and_of_ratings_and_tags() -> None:
    def texts(family: str, **changes: Any) -> str:
        report: Any = report_from_dict({**OTHERS[family]().to_dict(), **changes})
        return repr([*class_items(SimpleNamespace(report=report), Choices()), *annotator_items(report, Choices())])

    values = OTHERS["ratings"]().to_dict()
    of_two = {"annotators": values["annotators"][:2], "pairs": values["pairs"][:1]}
    for changes, shown, other in (
        ({}, "Most others say", "The other says"), (of_two, "The other says", "Most others say"),
        ({"level": "interval"}, "Other rating: labels that", "Other class"),
    ):  # fmt: skip
        assert shown in texts("ratings", **changes)
        assert other not in texts("ratings", **changes)
    assert "of the others, at least two," not in texts("ratings", **of_two)
    assert "Mean Jaccard index of every two" in texts("tags")


@pytest.fixture
def report() -> Any:
    habits = [*(Habits(name, miss=0.05) for name in ("alice", "bob", "carol")), Habits("yolo", miss=0.2)]
    simulated = simulate(habits, 40, np.random.default_rng(2), jitter=0.03)
    config = make_config(simulated.names[:-1], models=["yolo"], resamples=50)
    return build_report(with_model(simulated.batch(), config), context_of(simulated, config))


def test_the_sentence_the_bars_and_everybody_left_out_are_shown_and_every_bar_leads_to_its_objects(report: Any) -> None:
    items = {item["name"]: item for item in annotator_items(report, Choices()) if item["name"][-1] == "0"}
    assert list(items) == ["person0", "sides0", "left0", "role0"]
    assert items["person0"]["markdown"].startswith("**yolo agrees with the annotators")
    people, model = items["sides0"]["data"]
    person = report.models[0].person
    shown = [person.total, *person.sizes, *person.classes]
    assert model["x"] == [entry.model for entry in shown]
    assert people["x"] == [entry.annotators for entry in shown]
    # every bar leads to its objects, on either side
    view_model: Any = {"items": list(items.values()), "cards": []}
    for side in (people, model):
        for x, y, (part, name) in zip(side["x"], side["y"], side["customdata"], strict=True):
            leads = link_of(view_model, {"path": "sides0", "x": x, "y": y})
            if part == "size":
                assert leads["sized"] == ["yolo", name]
                continue
            assert leads["options"].get("classes") == (name if part == "class" else None)
            assert part == "class" or "lone" in leads["options"]["verdict"]
    assert {key[1] for key in people["customdata"] if key[0] == "class"} <= set(CLASSES)
    with pytest.raises(AgreementInputError, match="There is nothing to draw: there is no model 'resnet'"):
        report.plot_models("resnet")
