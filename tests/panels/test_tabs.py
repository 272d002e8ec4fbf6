"""The tabs of every family of label types, other thresholds and rules, parts, and models as annotators."""

from __future__ import annotations

import os
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
    return fo.Classifications(classifications=[fo.Classification(label=name) for name in names.split()])


def _mask(value):
    mask = np.zeros((6, 8), np.uint8)
    mask[: value + 2, 1:5] = value
    return fo.Segmentation(mask=mask)


_CLASSES = [["cat", "cat", "dog"], ["dog", "dog", "dog"], ["owl", "cat", "owl"]]
_TAGS = [["sun", "sun sea", "sea"], ["sun", "sun", "sun"], ["sky", "", "sky"]]
_MASKS = [[1, 1, 2], [1, 1, 1], [2, 1, 2]]
_NUMBERS = [[1, 2, 2], [4, 4, 4], [2, 3, 5]]
VALUES = {
    "ratings": [[_class(a) for a in row] for row in _CLASSES], "tags": [[_tags(a) for a in row] for row in _TAGS],
    "pixels": [[_mask(a) for a in row] for row in _MASKS], "numbers": [[float(a) for a in row] for row in _NUMBERS],
}  # fmt: skip
#: what the tabs of a family hold
SECTIONS = {
    "ratings": {"annotators": {"annotators", "pairs"}, "classes": {"confusion"}},
    "tags": {"annotators": {"annotators", "pairs"}, "classes": {"classes"}},
    "pixels": {"annotators": {"annotators", "pairs"}, "classes": {"classes"}},
    "numbers": {"annotators": {"annotators", "pairs"}},
}
#: the images, tags or classes of which the card counts the disputed ones
OF = {"ratings": 3, "tags": 4, "pixels": 5, "numbers": 3}


@pytest.fixture(params=VALUES)
def family(request, private_fiftyone):
    dataset = fo.Dataset(f"test-panel-{request.param}-{os.getpid()}", persistent=True)
    dataset.add_samples(
        [
            fo.Sample(f"/images/{k}.jpg", **dict(zip(NAMES, row, strict=True)))
            for k, row in enumerate(VALUES[request.param])
        ]
    )
    compute_agreement(dataset, NAMES, progress=False)
    yield request.param, dataset
    dataset.delete()


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
    samples = [
        {name: [polygon(rectangle(5 + k + a, 4, 12, 8))] for a, name in enumerate(ANNOTATORS)} for k in range(12)
    ]
    dataset = shapes_dataset(make_dataset, *samples)
    compute_agreement(dataset, ANNOTATORS, resamples=0, progress=False)
    return dataset


def _boxes(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS, resamples=0, progress=False)
    return dataset


def test_of_a_few_boxes_they_are_shown_at_once(event, lend):
    dataset = lend(_boxes)
    sent = event("refresh", dataset, of_tab({}, "rules"))
    text = sent.parts["sensitivity_note"]["default"]
    assert "Thresholds side by side" in text
    assert "Alpha of objects under other rules" in text
    assert "thresholds" in sent.parts
    assert not [key for key in sent.parts if key.startswith("sensitivity_hint")]


def test_shapes_are_read_again_when_the_button_is_pressed(event, lend):
    dataset = lend(_polygons)
    sent = event("refresh", dataset, of_tab({}, "rules"))
    assert "computed when you ask for them" in sent.parts["sensitivity_hint"]["default"]
    assert "thresholds" not in sent.parts
    (button,) = [
        part for part in sent.parts.values() if part.get("view", {}).get("label") == "Other thresholds and rules"
    ]
    assert button["view"]["params"] == {"item": "sensitivity", "page": 1}
    shown = event("turn_page", dataset, sent.state, **button["view"]["params"])
    f1 = load(dataset).thresholds().set_index("threshold")["f1"]
    rows = [line.split("|") for line in shown.parts["sensitivity_note"]["default"].splitlines()]
    (row,) = [row for row in rows if len(row) > 2 and row[1].strip() == "0.85"]
    assert row[2].strip() == f"{f1[0.85]:.3f}"
    assert "sensitivity_hint" not in shown.parts
    assert "thresholds" in shown.parts


def test_labels_that_are_not_matched_have_none(event, lend):
    import fiftyone as fo

    def made(make_dataset):
        dataset = make_dataset({name: [[]] * 3 for name in ANNOTATORS})
        for name in ("first", "second"):
            dataset.set_values(name, [fo.Classification(label="car")] * 3)
        compute_agreement(dataset, ["first", "second"], resamples=0, progress=False)
        return dataset

    parts = event("refresh", lend(made), of_tab({}, "rules")).parts
    assert not {"sensitivity_hint", "sensitivity_note", "thresholds"} & parts.keys()


def test_where_nobody_shares_an_image_nobody_is_said_to_agree(event, make_dataset):
    drawn = [("cat", (0.1, 0.1, 0.2, 0.2))]
    dataset = make_dataset({"alice": [drawn, None], "bob": [None, drawn]})
    compute_agreement(dataset, ["alice", "bob"], resamples=0, progress=False)
    said = event("refresh", dataset, of_tab({}, "images")).said
    assert "No two annotators have labels to compare" in said
    assert "All agree" not in said


@pytest.mark.parametrize("page", [1, 2])
def test_the_numbers_stay_while_the_tab_is_left(event, lend, page):
    dataset = lend(_polygons)
    state = event("turn_page", dataset, of_tab({}, "rules"), item="sensitivity", page=page).state
    other = event("choose_tab", dataset, state, value="overview").state
    assert "thresholds" in event("choose_tab", dataset, other, value="rules").parts


@pytest.fixture
def divided(dataset):
    n = len(dataset)
    dataset.set_values("camera", [("left", "right", None)[k % 3] for k in range(n)])
    dataset.set_values("night", [k % 2 == 0 for k in range(n)])
    return dataset


def _ids(requests):
    """The ids of the samples that the App was told to show."""
    (stage,) = (each for each in requests[0]["view"] if each["_cls"].endswith("Select"))
    return set(dict(map(tuple, stage["kwargs"]))["sample_ids"])


def test_a_choice_shows_its_parts_and_a_row_leads_to_their_images(event, divided, state):
    opened = {**state, "tab": "parts"}
    sent = event("refresh", divided, opened)
    assert "camera" in sent.text
    assert "night" in sent.text
    chosen = event("choose_by", divided, opened, value="camera")
    run = load(divided)
    for part in run.by("camera").parts:
        assert part.name in chosen.text
        assert f"{part.numbers['score.mean'].value:.2f}" in chosen.text
    by_camera = {**opened, "by": "camera"}
    shown = event("drill_down", divided, by_camera, path="parts_1", row=0, column=0).of("set_view")
    assert _ids(shown) == set(divided.match(F("camera") == "left").values("id"))
    assert run.by("camera").view("left").count() == divided.match(F("camera") == "left").count()
    parts = run.by("camera")
    drawn = next((number.key for _, number, _ in parts.findings), parts.numbers[0].key)
    value = parts.parts[1].numbers[drawn].value
    point = event("drill_down", divided, by_camera, path="parts_chart_1", x=value, y="right").of("set_view")
    assert _ids(point) == set(divided.match(F("camera") == "right").values("id"))


def test_something_else_than_is_offered_shows_the_first_list(event, divided, state):
    sent = event("refresh", divided, {**state, "tab": "parts", "by": "gone"})
    assert "camera" in sent.text


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


@pytest.fixture(scope="module")
def report() -> Any:
    habits = [*(Habits(name, miss=0.05) for name in ("alice", "bob", "carol")), Habits("yolo", miss=0.2)]
    simulated = simulate(habits, 40, np.random.default_rng(2), jitter=0.03)
    config = make_config(simulated.names[:-1], models=["yolo"], resamples=50)
    return build_report(with_model(simulated.batch(), config), context_of(simulated, config))


def test_the_sentence_the_bars_and_everybody_left_out_are_shown(report: Any) -> None:
    items = {item["name"]: item for item in annotator_items(report, Choices()) if item["name"][-1] == "0"}
    assert list(items) == ["person0", "sides0", "left0", "role0"]
    assert items["person0"]["markdown"].startswith("**yolo agrees with the annotators")
    people, model = items["sides0"]["data"]
    person = report.models[0].person
    shown = [person.total, *person.sizes, *person.classes]
    assert model["x"] == [entry.model for entry in shown]
    assert people["x"] == [entry.annotators for entry in shown]


@pytest.mark.parametrize("trace", [0, 1])
def test_every_bar_leads_to_its_objects_on_either_side(report: Any, trace: int) -> None:
    items = list(annotator_items(report, Choices()))
    bars = next(item for item in items if item["name"] == "sides0")
    view_model: Any = {"items": items, "cards": []}
    for place, (part, name) in enumerate(bars["data"][trace]["customdata"]):
        click = {"path": "sides0", "x": bars["data"][trace]["x"][place], "y": bars["data"][trace]["y"][place]}
        if part == "size":
            assert link_of(view_model, click)["sized"] == ["yolo", name]
            continue
        options = link_of(view_model, click)["options"]
        assert options.get("classes") == (name if part == "class" else None)
        assert part == "class" or "lone" in options["verdict"]
    assert {key[1] for key in bars["data"][0]["customdata"] if key[0] == "class"} <= set(CLASSES)


def test_a_model_that_is_not_there_is_not_drawn(report: Any) -> None:
    with pytest.raises(AgreementInputError, match="There is nothing to draw: there is no model 'resnet'"):
        report.plot_models("resnet")
