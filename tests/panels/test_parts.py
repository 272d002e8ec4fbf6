"""The tab "By": a list of what divides the images, a table of the parts, and the way to the images of each."""

from __future__ import annotations

import pytest
from fiftyone import ViewField as F

from annotator_agreement import load


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
