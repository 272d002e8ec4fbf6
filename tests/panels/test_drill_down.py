"""What a click on the panel asks the App to show, counted from the report and from the labels one by one."""

from __future__ import annotations

import copy
from collections import Counter

import fiftyone as fo
import fiftyone.operators as foo
import pytest

from tests.charts.filled import filled_report, filled_values
from tests.datasets import EXAMPLE, join_fields, random_annotators
from tests.panels.conftest import ANNOTATORS, of_tab, shown_of

from annotator_agreement import load
from annotator_agreement.agreement import AgreementInputError
from annotator_agreement.dataset_io import compute_agreement, load_agreement
from annotator_agreement.dataset_io.record import Run
from annotator_agreement.panels import (
    Choices,
    annotator_items,
    link_of,
    panel_state_of,
    samples_behind,
    view_model,
)


def _labels(view):
    """Every label of a view: sample, annotator, label."""
    return [
        (sample.id, name, label)
        for sample in view
        for name in ANNOTATORS
        if name in sample.field_names and sample[name] is not None
        for label in sample[name].detections
    ]


def _units(view):
    """The classes, and the annotators, of every object of a view."""
    units = {}
    for sample_id, name, label in _labels(view):
        units.setdefault((sample_id, label["agreement_id"]), {})[name] = label.label
    return units


def _opened(event, dataset, state, tab):
    """The tab, and a function that clicks a cell of it."""
    state = of_tab(state, tab)
    sent = event("refresh", dataset, state)

    def click(name, row, column):
        return event("click_cell", dataset, state, path=f"{name}_1", row=row, column=column)

    return sent, click


@pytest.fixture
def lone_row(event, dataset, state):
    """The click on what one annotator alone drew."""
    sent, _ = _opened(event, dataset, state, "objects")
    return {"path": "verdicts_1", "column": 2, "row": [row[0] for row in sent.table("verdicts")].index("lone")}


def _number(text):
    return int(text.split()[0].replace(",", ""))


@pytest.mark.parametrize("tab", view_model.TABS)
@pytest.mark.few(2)
def test_every_click_opens_what_its_link_says_whatever_is_written_there(event, dataset, state, tab):
    """What the links themselves lead to is compared with the tables of the run in ``test_every_link``."""
    panel, state = panel_state_of(dataset, None), of_tab(state, tab)
    model, sent = view_model.view_model(shown_of(dataset), panel, tab), event("refresh", dataset, state)
    reworded = copy.deepcopy(model)  # drill-downs follow from the data of charts and tables
    for item in reworded["items"]:
        item |= {"title": "?", "columns": [], "rows": [{} for _ in item.get("rows", ())], "layout": {}}
    for item in model["items"]:
        if item["kind"] == "table":
            assert sent.table(item["name"]) == [[row[column] for column, _ in item["columns"]] for row in item["rows"]]
        for k, (click, leads) in enumerate(_links(item)):
            assert _behind(model, click) == _behind(reworded, click)
            if k % 3 or (leads is not None and {"seek", "against"} & leads.keys()):  # of the tab of decisions
                continue
            opened = event("click_cell" if item["kind"] == "table" else "drill_down", dataset, state, **click)
            expected = None if leads is None else samples_behind(dataset, panel, leads)
            shown = [_stages(params["view"]) for params in opened.of("set_view")]
            if shown:
                assert shown == [_stages(expected._serialize())]
            else:
                assert expected is None or len(expected) == 0


def _links(item):
    """A click on every cell of a table and every bar of a chart, as the App sends them, and the link of it."""
    path = f"{item['name']}_1"
    if item["kind"] == "table":
        for k, row in enumerate(item["links"]):
            yield from (({"path": path, "row": k, "column": n}, leads) for n, leads in enumerate(row))
    elif item["kind"] == "chart":
        places = item["data"][0]["x"]
        for x, leads in zip(places, item.get("points") or [None] * len(places), strict=True):
            yield {"path": path, "x": x}, leads


def _behind(model, click):
    try:
        return link_of(model, click)
    except AgreementInputError:
        return None


def _stages(view):
    """The stages of a view as the App gets it, without their ids."""
    return [(stage["_cls"], stage["kwargs"]) for stage in view]


def test_the_numbers_of_the_cards_lead_to_what_they_count(event, dataset, state):
    parts = event("on_load", dataset).parts
    cards = [part["view"]["label"] for name, part in parts.items() if name.split()[0] == "card"]
    assert len(cards) == 2
    disputed = event("drill_down", dataset, state, path="cards.c5.card_1", number=5).view(dataset)
    assert len(_units(disputed)) == _number(cards[0])
    rated = event("drill_down", dataset, state, path="cards.c6.card_1", number=6).view(dataset)
    assert len(rated) == _number(cards[1]) == load_agreement(dataset).n_rated


def test_the_work_list_ranks_by_what_is_disputed_and_its_rows_open_the_samples(event, dataset, state):
    sent = event("refresh", dataset, of_tab(state, "images"))
    rows = [part["view"] for name, part in sent.parts.items() if name.startswith("open")]
    assert len(rows) == 8
    loaded = Run(dataset, "agreement").records()
    n_disputed = dict(zip(loaded.index.ids(), loaded.records.sample_values().n_disputed.tolist(), strict=True))
    for row in rows:
        _, reason, numbers = row["label"].split("\n")
        n = n_disputed[row["params"]["id"]]
        assert numbers.startswith(f"{n} of ")
        assert reason
        (params,) = event("open_sample", dataset, state, **row["params"]).of("open_sample")
        assert params["id"] == row["params"]["id"]
    worst = rows[0]["params"]["id"]
    assert n_disputed[worst] >= sorted(n_disputed.values())[-5]
    dataset.delete_samples([worst])
    assert "was deleted" in event("open_sample", dataset, state, id=worst).of("notify")[0]["message"]
    other = event("turn_page", dataset, of_tab(state, "images"), item="work", page=1)
    shown = [part["view"]["params"]["id"] for name, part in other.parts.items() if name.startswith("open")]
    assert not set(shown) & {row["params"]["id"] for row in rows}


def test_a_click_on_a_header_sorts_the_table_and_the_next_one_reverses_it(event, dataset, state):
    sent, click = _opened(event, dataset, state, "classes")
    column = sent.columns("classes").index("Objects")
    first = click("classes", -1, column)
    counts = [_number(row[column]) for row in first.table("classes")]
    assert counts == sorted(counts, reverse=True)
    second = event("click_cell", dataset, {**first.state, "tab": "classes"}, path="classes_1", row=-1, column=column)
    assert [_number(row[column]) for row in second.table("classes")] == sorted(counts)
    # and a click then leads to the row that is shown
    opened = event("click_cell", dataset, second.state, path="classes_1", row=0, column=column)
    assert len(_units(opened.view(dataset))) == min(counts)


def test_disputed_objects_are_shown_at_once_with_a_title_and_a_way_back(event, dataset, state):
    # the run has no labels of objects yet
    assert "agreement_units" not in dataset.get_field_schema()
    mine = dataset.match({"agreement_n_disputed": {"$gt": 0}}).limit(9)
    sent = event("show_disputed", dataset, state, view=mine)
    dataset.reload()
    shown = sent.view(dataset)
    assert len(shown) == dataset.sum("agreement_n_disputed") > 0
    assert sent.drill_down == "**Disputed objects, the worst first**"
    assert not sent.of("prompt_user_for_operation")
    again = event("show_disputed", dataset, sent.state, view=shown)
    assert not again.of("reload_dataset")
    (back,) = event("back", dataset, again.state, view=shown).of("set_view")
    assert back["view"] == mine._serialize()


def test_labels_in_one_field_are_offered_colours_until_they_have_them(event, make_dataset):
    dataset = make_dataset(EXAMPLE)
    join_fields(dataset, ["alice", "bob"], "labels")
    compute_agreement(dataset, "labels", annotator_attribute="annotator", resamples=0, progress=False)
    state = event("on_load", dataset).state
    assert "Colour by annotator" in event("refresh", dataset, state).text
    (asked,) = event("color_annotators", dataset, state).of("configure_agreement_app")
    assert (asked["run_key"], asked["color_by"]) == ("agreement", "annotator")
    foo.execute_operator("@annotator/agreement/configure_agreement_app", {"dataset": dataset, "params": asked})
    dataset.reload()
    (field,) = dataset.app_config.color_scheme.fields
    assert (field["path"], field["colorByAttribute"]) == ("labels", "annotator")
    assert "Colour by annotator" not in event("refresh", dataset, state).text


@pytest.mark.long
def test_the_tabs_stand_above_the_numbers_which_only_overview_shows_in_full(event, dataset, state):
    for tab in ("overview", "annotators", "decide", "rules"):
        sent = event("refresh", dataset, of_tab(state, tab))
        shown = [name for name in sent.parts if name in ("tabs", "numbers", "cards", "cause")]
        assert shown == (["tabs", "cards", "cause"] if tab == "overview" else ["tabs", "numbers"]), tab
    line = sent.parts["numbers"]["view"]["title"]
    assert line.endswith(f"Images rated by two {load_agreement(dataset).n_rated} of {len(dataset)}")


def test_how_two_draw_is_said_once(dataset):
    three = load_agreement(dataset)
    report = compute_agreement(dataset, ANNOTATORS[:2], run_key="two", resamples=0, progress=False)
    for each, n in ((three, 3), (report, 1)):
        (table,) = (item for item in annotator_items(each, Choices()) if item["name"] == "bias")
        assert len(table["rows"]) == n
    a, b = (entry.bias.mean for entry in report.annotators)
    for side in ("left", "top", "right", "bottom"):
        assert a[side] == pytest.approx(-b[side], abs=1e-9), "as the note says of the other"
    assert f"the edges of {report.annotators[1].name} are off by as much the other way" in table["note"]


def test_a_drill_down_the_way_back_and_another_view_change_neither_charts_nor_state(event, dataset, state, lone_row):
    """Every new schema makes the App draw all charts anew; for a new state it reads its page again."""
    state = event("refresh", dataset, of_tab(state, "objects")).state
    opened = event("click_cell", dataset, state, **lone_row)
    view = opened.view(dataset)
    # the App mixes state and data when a page is loaded: a title of the one name became part of itself
    data = {name.split(".")[0] for params in opened.of("patch_panel_data") for name in params["data"]}
    assert data
    assert not data & set(opened.state)
    # what the App told before the click, and arrives after it, does not end the drill-down
    assert event("on_change_view", dataset, state).drill_down is None
    seen = event("on_change_view", dataset, opened.state, view=view)
    assert seen.drill_down is None
    # the panel is built anew where its tab is opened again, and then the way back is there too
    assert event("on_load", dataset, seen.state, view=view).drill_down == opened.drill_down
    back = event("back", dataset, seen.state, view=view)
    assert len(back.of("clear_view")) == 1
    for sent in (opened, seen, back):
        assert not sent.of("show_panel_output") + sent.of("patch_panel_state")
    assert event("on_load", dataset, back.state).drill_down == ""
    # another view ends it, too, and brings the groups of the sidebar back
    opened = event("click_cell", dataset, state, **lone_row)
    seen = event("on_change_view", dataset, opened.state, view=opened.view(dataset))
    assert not seen.of("show_sidebar_groups")
    left = event("on_change_view", dataset, seen.state, view=dataset.limit(3))
    assert left.drill_down == ""
    assert len(left.of("show_sidebar_groups")) == 1
    assert not event("on_change_view", dataset, left.state).requests


def test_names_with_markup_are_said_as_they_are_and_shaded_numbers_look_like_links(event, make_dataset):
    one, other = ([("**<b>_x_", [0.1, 0.1, 0.4, 0.4])], [("[y](z)", [0.1, 0.1, 0.4, 0.4])])
    dataset = make_dataset({"a": [one], "b": [other]})
    compute_agreement(dataset, ["a", "b"], progress=False, resamples=0)
    state = event("on_load", dataset).state
    click = {"path": "confusion_1", "row": 0, "column": 1}
    opened = event("click_cell", dataset, of_tab(state, "classes"), **click).drill_down
    assert opened == r"**Labels on which '\*\*\<b>\_x\_' met '[y\](z)'**"
    sent = event("refresh", dataset, of_tab(state, "annotators"))
    style = sent.parts["pairs"]["view"]["componentsProps"]["table"]["sx"]
    cells = ", ".join(f"& tbody tr:nth-of-type({k}) td:nth-of-type({n})" for k, n in ((1, 3), (2, 2)))
    assert style[cells]["textDecoration"] == "underline"


def test_the_numbers_of_the_view_are_those_of_its_samples_and_so_are_the_drill_downs(event, dataset, state, lone_row):
    dataset.set_values("weather", ["sun"] * len(dataset))
    mine = dataset.limit(20)
    state = of_tab(state, "objects")
    sent = event("choose_samples", dataset, state, view=mine, value="view")
    expected = Counter(label["agreement"] for _, _, label in _labels(mine))
    expected.pop(None, None)
    rows = sent.table("verdicts")
    assert sorted(_number(row[2]) for row in rows) == sorted(expected.values())
    lone_row["row"] = [row[0] for row in rows].index("lone")
    opened = event("click_cell", dataset, sent.state, view=mine, **lone_row)
    view = opened.view(dataset)
    assert len(_labels(view)) == expected["lone"]
    assert {"alice", "bob", "carol", "agreement_score"} <= set(view.get_field_schema()) - {"weather"}
    assert "weather" not in view.get_field_schema()  # the grid gets the fields of the run alone
    # a view opened by a click does not count: the numbers stay
    seen = event("on_load", dataset, opened.state, view=view)
    assert seen.table("verdicts") == rows
    other = event("on_change_view", dataset, sent.state, view=dataset.skip(20))
    assert other.table("verdicts") != rows
    nothing = event("choose_samples", dataset, state, view=dataset.match({"agreement_n_annotators": 99}), value="view")
    assert "must have samples of the run" in nothing.text


#: tab and click
ON_NOTHING = [
    ("annotators", {"path": "pairs_1", "row": 0, "column": 1}),  # the diagonal
    ("annotators", {"path": "annotators_1", "row": 0, "column": 0}),
    ("images", {"path": "scores_1", "x": "no such score"}),
    ("objects", {"path": "verdicts_1", "row": 99, "column": 2}),
    ("objects", {"path": "verdicts_1", "row": 0, "column": 99}),
    ("objects", {"path": "iou_1", "x": 0.525}),
    ("objects", {"path": "no_such_table_1", "row": 0, "column": 0}),
    ("overview", {"path": "cards.c0.card_1", "number": 0}),
    ("overview", {}),
]


def test_a_click_on_nothing_is_a_notification(event, dataset, state):
    for tab, click in ON_NOTHING:
        sent = event("drill_down", dataset, of_tab(state, tab), **click)
        assert len(sent.of("notify")) == 1
        assert "did not work" not in sent.of("notify")[0]["message"]
        assert not sent.of("set_view")


def test_every_point_of_skill_against_volume_leads_to_the_labels_of_its_annotator():
    one = filled_values()["annotators"][0]
    annotators = [{**one, "name": f"w {k}", "score": 0.5 + k / 100, "n_objects": 100 + k // 2} for k in range(15)]
    items = list(annotator_items(filled_report(annotators=annotators), Choices()))
    (points,) = [item["data"][0] for item in items if item["name"] == "skill"]
    for k, (x, y) in enumerate(zip(points["x"], points["y"], strict=True)):
        leads = link_of({"items": items, "cards": []}, {"path": "skill_1", "x": x, "y": y})
        assert leads == {"title": f"Labels of w {k}", "options": {"annotators": f"w {k}"}}
    with pytest.raises(AgreementInputError, match="no samples behind this"):
        link_of({"items": items, "cards": []}, {"path": "skill_1", "x": 1, "y": 0.5})


def test_a_requirement_that_failed_leads_to_its_labels(event, dataset, state):
    run = load(dataset)
    numbers = {"class": ("class_given_match.percent_agreement", 1), "good": ("existence.f1", 0)}
    asked = {title: {"number": number, "at_least": least} for title, (number, least) in numbers.items()}
    run.check({"requirements": asked})
    seen = event("refresh", dataset, state)
    assert [row[:2] for row in seen.table("acceptance")] == [["class", "✗ failed"], ["good", "✓ passed"]]
    shown = event("drill_down", dataset, seen.state, path="acceptance_1", row=0, column=1).view(dataset)
    expected = run.view(verdict="class_conflict")
    assert shown.values("id") == expected.values("id")
    assert len(shown)
    assert not event("drill_down", dataset, seen.state, path="acceptance_1", row=1, column=1).of("set_view")


@pytest.mark.long
def test_attributes_against_a_reference_stand_in_a_table_and_lead_to_labels(event, make_dataset):
    dataset = make_dataset(random_annotators(10))
    dataset.clone_sample_field("alice", "gold")
    for n, name in enumerate([*ANNOTATORS, "gold"]):
        counts = [len(of or ()) for of in dataset.values(f"{name}.detections")]
        colours = [[("red", "green")[(k % 3 == n) and name != "gold"] for k in range(count)] for count in counts]
        dataset.set_values(f"{name}.detections.colour", colours)
    compute_agreement(dataset, ANNOTATORS, reference="gold", attributes="colour", progress=False, resamples=0)
    sent, click = _opened(event, dataset, event("on_load", dataset).state, "annotators")
    shown, found = {row[0]: row for row in sent.table("attributes0")}, load_agreement(dataset).reference.annotators
    assert set(shown) == {one.name for one in found}
    for one in found:
        assert shown[one.name][1] == "colour"
        assert shown[one.name][-1] == f"{one.attributes[0].n_labels:,}"
    tables = [name for name, part in sent.parts.items() if part["view"].get("columns")]
    (name,) = [name for name in tables if "Extra" in sent.columns(name)]
    row = next(k for k, row in enumerate(sent.table(name)) if row[0] == "alice")
    view = click(name, row, sent.columns(name).index("Wrong attribute")).view(dataset)
    expected = dataset.filter_labels("alice", fo.ViewField("agreement_reference") == "wrong_attribute")
    assert view.values("id") == expected.values("id")
    assert len(view)
