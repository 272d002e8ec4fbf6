"""Other thresholds and rules in the tab Run: at once where they are quick, else behind a button."""

from __future__ import annotations

import pytest

from tests.dataset_io.shaped import polygon, rectangle, shapes_dataset
from tests.panels.conftest import of_tab

from annotator_agreement.dataset_io import compute_agreement, load

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


@pytest.mark.parametrize("page", [1, 2])
def test_the_numbers_stay_while_the_tab_is_left(event, lend, page):
    dataset = lend(_polygons)
    state = event("turn_page", dataset, of_tab({}, "rules"), item="sensitivity", page=page).state
    other = event("choose_tab", dataset, state, value="overview").state
    assert "thresholds" in event("choose_tab", dataset, other, value="rules").parts
