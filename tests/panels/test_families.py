"""The panel shows the sections of every family of label types, and their clicks lead to views."""

from __future__ import annotations

import os

import fiftyone as fo
import numpy as np
import pytest

from annotator_agreement import compute_agreement, load_agreement

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
    "ratings": [[_class(a) for a in row] for row in _CLASSES],
    "tags": [[_tags(a) for a in row] for row in _TAGS],
    "pixels": [[_mask(a) for a in row] for row in _MASKS],
    "numbers": [[float(a) for a in row] for row in _NUMBERS],
}
SECTIONS = {
    "ratings": {"pairs", "scores", "annotators", "confusion", "verdicts", "worst"},
    "tags": {"pairs", "scores", "annotators", "verdicts", "classes", "class_table", "worst"},
    "pixels": {"pairs", "scores", "classes", "class_table", "worst"},
    "numbers": {"pairs", "scores", "annotators", "verdicts", "worst"},
}


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


def test_the_panel_has_the_sections_of_the_family(event, family):
    name, dataset = family
    sent = event("on_load", dataset)
    assert SECTIONS[name] <= set(sent.parts)
    assert "votes" not in sent.parts
    assert f"Score {load_agreement(dataset).score.mean:.3f}".lower() in sent.parts["headline"]["default"].lower()


def test_every_click_on_what_is_drawn_leads_to_samples_or_a_sentence(event, family):
    _, dataset = family
    sent = event("on_load", dataset)
    n_views = 0
    for section, part in sent.parts.items():
        view = part["view"]
        if not view or "on_click" not in view or view.get("name") != "PlotlyView":
            continue
        for trace in view["data"]:
            click = {"path": f"charts.{section}_1", "x": trace["x"][-1], "y": trace["y"][0], "trace": trace.get("name")}
            opened = event("drill_down", dataset, sent.state, **click)
            assert len(opened.of("set_view")) + len(opened.of("notify")) == 1
            assert not any("did not work" in entry["message"] for entry in opened.of("notify"))
            n_views += len(opened.of("set_view"))
    assert n_views >= 2
