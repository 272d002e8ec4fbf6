"""The panel shows the sections of every family of label types, and their clicks lead to views."""

from __future__ import annotations

import os

import fiftyone as fo
import numpy as np
import pytest

from tests.panels.conftest import of_tab

from annotator_agreement.dataset_io import compute_agreement, load_agreement

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
#: what the tabs of a family hold
SECTIONS = {
    "ratings": {"annotators": {"annotators", "pairs"}, "classes": {"confusion"}},
    "tags": {"annotators": {"annotators", "pairs"}, "classes": {"classes"}},
    "pixels": {"annotators": {"annotators", "pairs"}, "classes": {"classes"}},
    "numbers": {"annotators": {"annotators", "pairs"}},
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


@pytest.mark.few(2)
def test_the_tabs_have_what_the_family_has(event, family):
    name, dataset = family
    sent = event("on_load", dataset)
    cards = [part["view"]["title"] for key, part in sent.parts.items() if key.split()[0] == "value"]
    assert f"{load_agreement(dataset).score.mean:.2f}" in cards
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
