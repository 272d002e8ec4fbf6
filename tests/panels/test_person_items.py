"""A model and the annotators left out in the panel, and where clicks on bars lead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.agreement.habits import CLASSES, Habits, simulate
from tests.agreement.models import context_of, with_model

import annotator_agreement.charts  # noqa: F401
from annotator_agreement.agreement.families.family import build_report
from annotator_agreement.agreement.settings.config import make_config
from annotator_agreement.agreement.settings.errors import AgreementInputError
from annotator_agreement.panels.drill_down import link_of
from annotator_agreement.panels.items import Choices
from annotator_agreement.panels.tab_annotators import annotator_items


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
