"""What a click on the panel asks the App to show, counted from the report and from the labels one by one."""

from __future__ import annotations

import contextlib
import copy
from collections import Counter

import numpy as np
import pytest

from tests.panels.conftest import ANNOTATORS

from annotator_agreement import compute_agreement, load_agreement
from annotator_agreement.agreement.errors import AgreementInputError
from annotator_agreement.panels.drill_down import drill_down_of
from annotator_agreement.panels.view_model import view_model


def _labels(view):
    """Every label of a view: sample, annotator, label."""
    return [
        (sample.id, name, label)
        for sample in view
        for name in ANNOTATORS
        if name in sample.field_names and sample[name] is not None
        for label in sample[name].detections
    ]


def test_every_verdict_leads_to_as_many_labels_as_its_bar_says(event, dataset, state):
    trace = event("on_load", dataset).parts["verdicts"]["view"]["data"][0]
    of_dataset = Counter(label["agreement"] for _, _, label in _labels(dataset))
    of_dataset.pop(None, None)
    assert dict(zip(trace["x"], trace["y"], strict=True)) == dict(of_dataset)
    for verdict, n in of_dataset.items():
        view = event("drill_down", dataset, state, path="charts.verdicts_1", x=verdict).view(dataset)
        found = [label["agreement"] for _, _, label in _labels(view)]
        assert found == [verdict] * n


def test_every_bar_of_scores_leads_to_as_many_samples_as_it_says(event, dataset, state):
    trace = event("on_load", dataset).parts["scores"]["view"]["data"][0]
    assert sum(trace["y"]) == dataset.count("agreement_score")
    for centre, n in zip(trace["x"], trace["y"], strict=True):
        sent = event("drill_down", dataset, state, path="charts.scores_1", x=centre)
        assert (len(sent.view(dataset)) if n else len(sent.of("set_view"))) == n


def test_every_bar_of_votes_leads_to_as_many_objects_as_it_says(event, dataset, state):
    trace = event("on_load", dataset).parts["votes"]["view"]["data"][0]
    for name, n in zip(trace["x"], trace["y"], strict=True):
        view = event("drill_down", dataset, state, path="charts.votes_1", x=name).view(dataset)
        assert len({(sample_id, label["agreement_id"]) for sample_id, _, label in _labels(view)}) == n


def test_a_bar_of_missed_objects_leads_to_as_many_as_the_report_says(event, dataset, state):
    for entry in load_agreement(dataset).annotators:
        click = {"path": "charts.annotators_1", "y": entry.name, "x": 0.1, "trace": "missed"}
        view = event("drill_down", dataset, state, **click).view(dataset)
        found = _labels(view)
        assert entry.name not in {name for _, name, _ in found}
        assert len({(sample_id, label["agreement_id"]) for sample_id, _, label in found}) == entry.n_missed


def test_every_other_bar_of_an_annotator_leads_to_these_labels(event, dataset, state):
    bars = event("on_load", dataset).parts["annotators"]["view"]["data"]
    for trace in bars:
        if trace["name"] == "missed":
            continue
        for name, (of_name, _, n, _) in zip(trace["y"], trace["customdata"], strict=True):
            assert of_name == name
            click = {"path": "charts.annotators_1", "y": name, "x": 0.1, "trace": trace["name"]}
            sent = event("drill_down", dataset, state, **click)
            assert n or not sent.of("set_view")
            found = _labels(sent.view(dataset)) if n else []
            assert {name} >= {of for _, of, _ in found}
            assert len(found) == n


def test_a_cell_of_pairs_leads_to_the_samples_these_two_disagree_on_the_worst_first(event, dataset, state):
    view = event("drill_down", dataset, state, path="charts.pairs_1", x="alice", y="bob").view(dataset)
    expected = set()
    for sample in dataset:
        if sample["alice"] is not None and sample["bob"] is not None:
            said = [{(label["agreement_id"], label.label) for label in sample[name].detections}
                    for name in ("alice", "bob")]  # fmt: skip
            if said[0] != said[1]:
                expected.add(sample.id)
    assert set(view.values("id")) == expected
    assert {name for _, name, _ in _labels(view)} == {"alice", "bob"}


def test_a_cell_of_confusion_leads_to_the_labels_with_this_conflict(event, dataset, state):
    trace = event("on_load", dataset).parts["confusion"]["view"]["data"][0]
    a, b = trace["y"][0], trace["x"][1]
    view = event("drill_down", dataset, state, path="charts.confusion_1", x=b, y=a).view(dataset)
    units = {}
    for sample_id, _, label in _labels(view):
        units.setdefault((sample_id, label["agreement_id"]), []).append(label.label)
    assert all({a, b} == set(classes) for classes in units.values())
    # every pair of labels of a unit that says one class each
    assert sum(classes.count(a) * classes.count(b) for classes in units.values()) == trace["z"][0][1]


def test_a_row_of_classes_leads_to_its_objects(event, dataset, state):
    rows = event("on_load", dataset).parts["class_table"]["default"]
    assert len(rows) > 1
    for number, row in enumerate(rows):
        view = event("drill_down", dataset, state, path="class_table_1", row=number).view(dataset)
        classes = {}
        for sample_id, _, label in _labels(view):
            classes.setdefault((sample_id, label["agreement_id"]), set()).add(label.label)
        assert len(classes) == int(row["objects"].replace(",", ""))
        assert all(row["name"] in of_unit for of_unit in classes.values())


def test_a_row_of_the_worst_samples_opens_that_sample(event, dataset, state):
    rows = event("on_load", dataset).parts["worst"]["default"]
    lowest = dataset.exists("agreement_score").sort_by("agreement_score").values("agreement_score")
    for number, row in enumerate(rows):
        (params,) = event("open_sample", dataset, state, path="worst_1", row=number).of("open_sample")
        assert dataset[params["id"]].filepath.endswith(row["file"][-10:])
        assert row["score"] == f"{lowest[number]:.3f}"
    dataset.delete_samples([dataset.exists("agreement_score").sort_by("agreement_score").first().id])
    sent = event("open_sample", dataset, state, path="worst_1", row=0)
    assert "was deleted" in sent.of("notify")[0]["message"]


def test_back_returns_to_the_view_before_the_first_drill_down(event, dataset, state):
    mine = dataset.match({"agreement_n_annotators": 3}).limit(30)
    first = event("drill_down", dataset, state, view=mine, path="charts.verdicts_1", x="lone")
    shown = first.view(dataset)
    second = event("drill_down", dataset, first.state, view=shown, path="charts.verdicts_1", x="missed")
    assert second.drill_down == "**Labels with the verdict missed**"
    last = event("back", dataset, second.state, view=second.view(dataset))
    assert last.view(dataset).values("id") == mine.values("id")
    assert not last.drill_down


def test_a_drill_down_and_the_way_back_leave_the_charts_as_they_are(event, dataset, state):
    """Every new schema makes the App draw all charts anew."""
    opened = event("drill_down", dataset, state, path="charts.verdicts_1", x="lone")
    seen = event("on_change_view", dataset, opened.state, view=opened.view(dataset))
    back = event("back", dataset, seen.state, view=opened.view(dataset))
    assert not any(sent.of("show_panel_output") for sent in (opened, seen, back))
    # the panel is built anew where its tab is opened again, and then the way back is there too
    assert event("on_load", dataset, seen.state, view=opened.view(dataset)).drill_down == opened.drill_down
    assert event("on_load", dataset, back.state).drill_down == ""


def test_names_with_markup_are_said_as_they_are(event, make_dataset):
    one, other = ([("**<b>_x_", [0.1, 0.1, 0.4, 0.4])], [("[y](z)", [0.1, 0.1, 0.4, 0.4])])
    dataset = make_dataset({"a": [one], "b": [other]})
    compute_agreement(dataset, ["a", "b"], progress=False)
    cell = {"y": "**&lt;b&gt;_x_", "x": "[y](z)"}
    opened = event("drill_down", dataset, event("on_load", dataset).state, path="charts.confusion_1", **cell).drill_down
    assert opened == r"**Labels on which '\*\*\<b>\_x\_' met '[y\](z)'**"


def test_back_clears_the_view_where_there_was_none(event, dataset, state):
    first = event("drill_down", dataset, state, path="charts.verdicts_1", x="lone")
    last = event("back", dataset, first.state, view=first.view(dataset))
    assert len(last.of("clear_view")) == 1


def test_the_numbers_of_the_view_are_those_of_its_samples_and_so_are_the_drill_downs(event, dataset, state):
    mine = dataset.limit(20)
    sent = event("choose_samples", dataset, state, view=mine, value=True)
    trace = sent.parts["verdicts"]["view"]["data"][0]
    expected = Counter(label["agreement"] for _, _, label in _labels(mine))
    expected.pop(None, None)
    assert dict(zip(trace["x"], trace["y"], strict=True)) == dict(expected)
    opened = event("drill_down", dataset, sent.state, view=mine, path="charts.verdicts_1", x="lone")
    assert len(_labels(opened.view(dataset))) == expected["lone"]
    # a view opened by a click does not count: the numbers stay
    seen = event("on_load", dataset, opened.state, view=opened.view(dataset))
    assert seen.parts["verdicts"]["view"]["data"] == [trace]
    other = event("on_change_view", dataset, sent.state, view=dataset.skip(20))
    assert other.parts["verdicts"]["view"]["data"] != [trace]


def test_a_view_without_samples_of_the_run_is_a_sentence(event, dataset, state):
    sent = event("choose_samples", dataset, state, view=dataset.match({"agreement_n_annotators": 99}), value=True)
    assert "must have samples of the run" in sent.text


@pytest.mark.parametrize(
    "click",
    [
        {"path": "charts.pairs_1", "x": "alice", "y": "alice"},
        {"path": "charts.iou_1", "x": 0.5},
        {"path": "charts.verdicts_1", "x": "no such verdict"},
        {"path": "worst_1"},
        {"path": "class_table_1", "row": 99},
        {"path": "charts.votes_1", "x": None},
        {},
    ],
)
def test_a_click_on_nothing_is_a_notification(event, dataset, state, click):
    sent = event("drill_down", dataset, state, **click)
    assert len(sent.of("notify")) == 1
    assert not sent.of("set_view")


def test_reworded_titles_and_labels_lead_to_the_same_samples(dataset):
    """Drill-downs use the data of charts and tables, never their displayed text."""
    model = view_model(load_agreement(dataset), np.array([0.5, np.nan, 0.9]), "1")
    reworded = copy.deepcopy(model)
    for item in reworded["items"]:
        item |= {"title": "?", "hint": "?", "columns": [], "rows": []}
        item["layout"] = {}
        for trace in item.get("data", []):
            trace |= {"name": f"<i>{trace.get('name')}</i>", "text": None, "hovertext": None, "hovertemplate": "?"}
            for axis in ("x", "y"):
                trace[axis] = [f"{value}?" if isinstance(value, str) else value for value in trace[axis]]
    n_compared = 0
    for item, other in zip(model["items"], reworded["items"], strict=True):
        for click, same in zip(_clicks(item), _clicks(other), strict=True):
            shown = [_behind(content, one) for content, one in ((model, click), (reworded, same))]
            assert shown[0] == shown[1]
            n_compared += shown[0] is not None
    assert n_compared > 40


def _clicks(item):
    """A click on every point of a chart and every row of a table, as the App sends them."""
    path = f"charts.{item['name']}_1"
    if item["kind"] == "table":
        return [{"path": path, "row": row} for row in range(len(item["keys"]))]
    clicks = []
    for trace in item["data"]:
        places = list(zip(trace["x"], trace["y"], strict=True))
        if trace["type"] == "heatmap":
            places = [(x, y) for x in trace["x"] for y in trace["y"] if x != y]
        clicks += [{"path": path, "x": x, "y": y, "trace": trace.get("name")} for x, y in places]
    return clicks


def _behind(content, click):
    with contextlib.suppress(AgreementInputError):
        return drill_down_of(content, click)
    return None
