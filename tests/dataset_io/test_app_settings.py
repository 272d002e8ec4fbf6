"""App settings for a run: changed on request, recorded, and restored to their former values."""

from __future__ import annotations

import fiftyone as fo
import pytest

from tests.dataset_io.app_state import EVERYTHING, sidebar_groups
from tests.dataset_io.masked import masked_dataset, random_masks
from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly
from tests.datasets import random_annotators, stored

from annotator_agreement import AgreementInputError, names
from annotator_agreement.dataset_io import (
    add_units,
    compute_agreement,
    configure_agreement_app,
    delete_agreement,
    rename_agreement,
    resolve_units,
)
from annotator_agreement.dataset_io.app import settings as app_settings
from annotator_agreement.dataset_io.app.settings import AppSettings, annotator_colors, app_settings_of, color_names
from annotator_agreement.dataset_io.record import run
from annotator_agreement.dataset_io.record.run_labels import open_run_labels

FIELDS = [f"agreement{suffix}" for suffix, spec in names.OBJECT_FIELDS.sample.items() if spec.option is None]


@pytest.fixture
def dataset(make_dataset):
    return make_dataset(random_annotators(15))


def _without_run(dataset):
    """What the database holds, but for the run's own documents, files and status."""
    held = stored(dataset)
    return {name: held[name] for name in ("samples", "frames", "indexes")} | {"app": held["dataset"]["app_config"]}


# ---- undoing ----


@pytest.mark.parametrize("setting", [{name: value} for name, value in EVERYTHING.items()] + [EVERYTHING], ids=str)
@pytest.mark.few(1)
def test_every_setting_is_undone_with_the_run(dataset, setting):
    before = stored(dataset)
    compute_quickly(dataset, ANNOTATORS)
    computed = _without_run(dataset)
    configure_agreement_app(dataset, **setting)
    assert _without_run(dataset) != computed
    assert app_settings_of(dataset, "agreement") == AppSettings(**setting)
    delete_agreement(dataset)
    assert stored(dataset) == before


def test_settings_that_are_not_asked_for_any_more_are_undone(dataset):
    compute_quickly(dataset, ANNOTATORS)
    before = _without_run(dataset)
    configure_agreement_app(dataset, **EVERYTHING)
    configure_agreement_app(dataset, sidebar=True)
    assert dataset.app_config.color_scheme is None
    assert "agreement" in sidebar_groups(dataset)
    assert "agreement_score" not in dataset.list_indexes()
    assert app_settings_of(dataset, "agreement") == AppSettings(sidebar=True)
    configure_agreement_app(dataset)
    assert _without_run(dataset) == before
    assert app_settings_of(dataset, "agreement") == AppSettings()


def test_making_a_setting_twice_is_making_it_once(dataset):
    before = stored(dataset)
    compute_quickly(dataset, ANNOTATORS)
    configure_agreement_app(dataset, **EVERYTHING)
    once = _without_run(dataset)
    configure_agreement_app(dataset, **EVERYTHING)
    scheme = once["app"]["color_scheme"]
    assert _without_run(dataset)["app"]["color_scheme"] == {**scheme, "_id": dataset.app_config.color_scheme._id}
    assert sidebar_groups(dataset) == {group["name"]: group["paths"] for group in once["app"]["sidebar_groups"]}
    delete_agreement(dataset)
    assert stored(dataset) == before


@pytest.mark.parametrize("step", ["set_entry", "create_indexes"])
def test_a_process_that_dies_between_two_settings_leaves_nothing_that_stays(dataset, monkeypatch, step):
    before = stored(dataset)
    compute_quickly(dataset, ANNOTATORS)

    class Died(BaseException):
        pass

    def die(*arguments):
        raise Died

    monkeypatch.setattr(app_settings, step, die)
    with pytest.raises(Died):
        configure_agreement_app(dataset, **EVERYTHING)
    monkeypatch.undo()
    delete_agreement(dataset)
    assert stored(dataset) == before


def test_a_renamed_run_keeps_its_settings_under_its_new_name(dataset):
    before = stored(dataset)
    compute_quickly(dataset, ANNOTATORS)
    configure_agreement_app(dataset, **{**EVERYTHING, "color_by": "id"})
    rename_agreement(dataset, "agreement", "renamed")
    assert "agreement" not in sidebar_groups(dataset)
    assert sidebar_groups(dataset)["renamed"][0] == "renamed_score"
    assert "renamed_score" in dataset.list_indexes()
    assert {entry["colorByAttribute"] for entry in dataset.app_config.color_scheme.fields} == {"renamed_id"}
    assert app_settings_of(dataset, "renamed") == AppSettings(True, True, "id")
    delete_agreement(dataset, "renamed")
    assert stored(dataset) == before


def test_a_run_that_fiftyone_deleted_leaves_no_settings(dataset):
    before = stored(dataset)
    compute_quickly(dataset, ANNOTATORS)
    add_units(dataset)
    configure_agreement_app(dataset, **EVERYTHING)
    dataset.delete_run("agreement")
    delete_agreement(dataset)
    assert stored(dataset) == before


def test_settings_of_the_user_stay_where_a_run_that_fiftyone_deleted_left_its_own(dataset):
    compute_quickly(dataset, ANNOTATORS)
    dataset.add_sample_field("weather", fo.StringField)
    groups = fo.DatasetAppConfig.default_sidebar_groups(dataset)
    mine = fo.SidebarGroupDocument(name="agreement", paths=["weather"])
    dataset.app_config.sidebar_groups = [*groups, mine]
    entry = {"path": "bob", "fieldColor": "#ff00ff"}
    dataset.app_config.color_scheme = fo.ColorScheme(opacity=0.5, fields=[entry])
    dataset.save()
    configure_agreement_app(dataset, sidebar=True, color_by="id")
    dataset.delete_run("agreement")
    delete_agreement(dataset)
    assert sidebar_groups(dataset)["agreement"] == ["weather"]
    assert "agreement (2)" not in sidebar_groups(dataset)
    scheme = dataset.app_config.color_scheme
    assert (scheme.opacity, scheme.color_by, scheme.fields) == (0.5, None, [entry])


# ---- several runs ----


@pytest.fixture
def two_runs(dataset):
    """What was there before two runs with settings, and the scheme of the user below them."""
    mine = {"path": "bob", "fieldColor": "#ff00ff", "colorByAttribute": "label"}
    dataset.app_config.color_scheme = fo.ColorScheme(color_by="field", fields=[mine])
    dataset.save()
    before = stored(dataset)
    for key in ("first", "second"):
        compute_quickly(dataset, ANNOTATORS, run_key=key)
    configure_agreement_app(dataset, "first", sidebar=True, color_by="verdict")
    configure_agreement_app(dataset, "second", sidebar=True, color_by="id")
    return before


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
@pytest.mark.few(1)
def test_the_settings_of_two_runs_are_undone_in_any_order(dataset, two_runs, order):
    other = {"first": "second_id", "second": "first"}[order[0]]
    delete_agreement(dataset, order[0])
    scheme = dataset.app_config.color_scheme
    assert scheme.color_by == "value"
    assert {entry["colorByAttribute"] for entry in scheme.fields} == {other}
    assert order[1] in sidebar_groups(dataset)
    assert order[0] not in sidebar_groups(dataset)
    delete_agreement(dataset, order[1])
    assert stored(dataset) == two_runs


@pytest.mark.long
def test_a_run_that_fiftyone_deleted_takes_no_settings_of_another_along(dataset, two_runs):
    dataset.delete_run("first")
    delete_agreement(dataset, "first")
    assert {entry["colorByAttribute"] for entry in dataset.app_config.color_scheme.fields} == {"second_id"}
    assert dataset.app_config.color_scheme.color_by == "value"
    assert "second" in sidebar_groups(dataset)
    delete_agreement(dataset, "second")
    assert stored(dataset) == two_runs


# ---- the sidebar ----


def test_the_fields_of_a_run_have_a_group_of_their_own(dataset):
    dataset.add_sample_field("weather", fo.StringField)
    compute_quickly(dataset, ANNOTATORS)
    configure_agreement_app(dataset, sidebar=True)
    groups = sidebar_groups(dataset)
    assert list(groups) == ["tags", "metadata", "labels", "agreement", "primitives"]
    assert groups["agreement"] == FIELDS
    assert groups["labels"] == ANNOTATORS
    assert groups["primitives"] == ["id", "filepath", "created_at", "last_modified_at", "weather"]


def test_fields_that_a_run_writes_later_join_its_group(dataset):
    before = stored(dataset)
    compute_quickly(dataset, ANNOTATORS)
    add_units(dataset)
    assert "agreement" not in sidebar_groups(dataset), "nobody asked for a group"
    configure_agreement_app(dataset, sidebar=True)
    resolve_units(dataset)
    add_units(dataset, overwrite=True)
    groups = sidebar_groups(dataset)
    assert groups["agreement"] == [*FIELDS, "agreement_units", "agreement_consensus"]
    assert groups["labels"] == ANNOTATORS
    delete_agreement(dataset)
    assert stored(dataset) == before


def test_groups_of_the_user_stay_as_the_user_left_them(dataset):
    dataset.add_sample_field("weather", fo.StringField)
    groups = fo.DatasetAppConfig.default_sidebar_groups(dataset)
    groups.append(fo.SidebarGroupDocument(name="agreement", paths=["weather"], expanded=False))
    groups[3].paths.remove("weather")
    dataset.app_config.sidebar_groups = groups
    dataset.save()
    before = stored(dataset)
    compute_quickly(dataset, ANNOTATORS)
    configure_agreement_app(dataset, sidebar=True)
    assert sidebar_groups(dataset)["agreement (2)"] == FIELDS
    assert sidebar_groups(dataset)["agreement"] == ["weather"]
    delete_agreement(dataset)
    assert stored(dataset) == before


def test_what_the_user_changes_meanwhile_stays(dataset):
    dataset.add_sample_field("weather", fo.StringField)
    compute_quickly(dataset, ANNOTATORS)
    configure_agreement_app(dataset, sidebar=True)
    ours = next(group for group in dataset.app_config.sidebar_groups if group.name == "agreement")
    primitives = next(group for group in dataset.app_config.sidebar_groups if group.name == "primitives")
    ours.paths.append("weather")
    primitives.paths.remove("weather")
    primitives.expanded = False
    dataset.app_config.sidebar_groups.append(fo.SidebarGroupDocument(name="mine", paths=[]))
    dataset.save()
    delete_agreement(dataset)
    groups = {group.name: (list(group.paths), group.expanded) for group in dataset.app_config.sidebar_groups}
    assert groups["agreement"] == (["weather"], None)
    assert groups["primitives"] == (["id", "filepath", "created_at", "last_modified_at"], False)
    assert groups["mine"] == ([], None)


def test_fields_go_back_to_where_they_stood(dataset):
    compute_quickly(dataset, ANNOTATORS)
    groups = fo.DatasetAppConfig.default_sidebar_groups(dataset)
    primitives = next(group for group in groups if group.name == "primitives")
    primitives.paths.remove("agreement_alpha")
    groups.insert(0, fo.SidebarGroupDocument(name="mine", paths=["agreement_alpha"]))
    dataset.app_config.sidebar_groups = groups
    dataset.save()
    before = _without_run(dataset)
    configure_agreement_app(dataset, sidebar=True)
    assert sidebar_groups(dataset)["mine"] == []
    configure_agreement_app(dataset, sidebar=False)
    assert _without_run(dataset) == before


def test_fields_that_come_later_do_not_make_the_default_groups_the_users(dataset):
    compute_quickly(dataset, ANNOTATORS)
    configure_agreement_app(dataset, sidebar=True)
    dataset.add_sample_field("weather", fo.StringField)
    delete_agreement(dataset)
    assert dataset.app_config.sidebar_groups is None


# ---- indexes ----


def test_fields_of_samples_get_indexes_but_for_those_that_have_one(dataset):
    compute_quickly(dataset, ANNOTATORS)
    dataset.create_index("agreement_alpha")
    before = _without_run(dataset)
    configure_agreement_app(dataset, indexes=True)
    assert set(FIELDS) <= set(dataset.list_indexes())
    dataset.drop_index("agreement_iou")
    configure_agreement_app(dataset)
    assert _without_run(dataset) == before


# ---- colours ----


def test_every_verdict_has_a_colour():
    from annotator_agreement.agreement.families.family import FAMILIES

    assert set(names.VERDICT_COLORS) == {verdict for family in FAMILIES.values() for verdict in family.verdicts}


@pytest.mark.parametrize("colors", [names.VERDICT_COLORS, names.ANNOTATOR_COLORS], ids=["verdicts", "annotators"])
def test_colours_are_told_apart(colors):
    colors = list(colors.values())
    assert len(set(colors)) == len(colors)
    # as people without one kind of cone see them (Vienot, Brettel and Mollon, 1999), in linear RGB
    seen = {
        "nobody lacks any": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        "no long cones": ((0.11238, 0.88762, 0), (0.11238, 0.88762, 0), (0.00401, -0.00401, 1)),
        "no middle cones": ((0.29275, 0.70725, 0), (0.29275, 0.70725, 0), (-0.02234, 0.02234, 1)),
    }
    for who, matrix in seen.items():
        shades = [_seen(color, matrix) for color in colors]
        for k, a in enumerate(shades):
            for b in shades[:k]:
                assert sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5 > 0.12, (who, a, b)


def _seen(color, matrix):
    """A colour in sRGB (0-1) as it is seen."""
    channels = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    mixed = [max(0.0, min(1.0, sum(m * c for m, c in zip(row, linear, strict=True)))) for row in matrix]
    return [12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055 for c in mixed]


def test_labels_are_coloured_by_verdict_or_unit(dataset):
    compute_quickly(dataset, ANNOTATORS)
    configure_agreement_app(dataset, color_by="verdict")
    scheme = dataset.app_config.color_scheme
    assert scheme.color_by == "value"
    colors = [{"value": verdict, "color": color} for verdict, color in names.VERDICT_COLORS.items()]
    assert scheme.fields == [
        {"path": name, "colorByAttribute": "agreement", "valueColors": colors} for name in ANNOTATORS
    ]
    configure_agreement_app(dataset, color_by="id")
    assert dataset.app_config.color_scheme.fields == [
        {"path": name, "colorByAttribute": "agreement_id"} for name in ANNOTATORS
    ]


def test_annotators_in_one_field_have_colours_and_these_have_names(make_dataset):
    dataset = make_dataset({"labels": [[("cat", (0.1, 0.1, 0.2, 0.4)), ("cat", (0.1, 0.1, 0.2, 0.3))]]})
    sample = dataset.first()
    for label, name in zip(sample["labels"].detections, ("ann", "bea"), strict=True):
        label["rater"] = name
    sample.save()
    compute_quickly(dataset, "labels", annotator_attribute="rater")
    assert color_names(open_run_labels(dataset, "agreement")) == {}
    configure_agreement_app(dataset, color_by="annotator")
    (orange, blue, *_), values = names.ANNOTATOR_COLORS, list(names.ANNOTATOR_COLORS.values())
    colors = [{"value": "ann", "color": values[0]}, {"value": "bea", "color": values[1]}]
    assert dataset.app_config.color_scheme.fields == [
        {"path": "labels", "colorByAttribute": "rater", "valueColors": colors}
    ]
    assert color_names(open_run_labels(dataset, "agreement")) == {"ann": orange, "bea": blue}
    delete_agreement(dataset)
    assert dataset.app_config.color_scheme is None


def test_the_fields_of_annotators_have_colours_but_for_those_that_have_one(dataset):
    mine = {"path": "bob", "fieldColor": "#ff00ff"}
    dataset.app_config.color_scheme = fo.ColorScheme(color_by="value", opacity=0.5, fields=[mine])
    dataset.save()
    compute_quickly(dataset, ANNOTATORS)
    before = dataset.app_config.color_scheme.to_dict()
    configure_agreement_app(dataset, color_by="annotator")
    scheme, colors = dataset.app_config.color_scheme, list(names.ANNOTATOR_COLORS.values())
    assert (scheme.color_by, scheme.opacity) == ("field", 0.5)
    expected = {"alice": colors[0], "bob": "#ff00ff", "carol": colors[2]}
    assert {each["path"]: each["fieldColor"] for each in scheme.fields} == expected
    assert annotator_colors(open_run_labels(dataset, "agreement")) == expected
    assert color_names(open_run_labels(dataset, "agreement")) == {}
    configure_agreement_app(dataset, color_by="id")
    configure_agreement_app(dataset, color_by="annotator")
    delete_agreement(dataset)
    assert dataset.app_config.color_scheme.to_dict() == before


def test_of_many_annotators_fiftyone_chooses_the_colours(make_dataset):
    fields = [f"rater_{k}" for k in range(len(names.ANNOTATOR_COLORS) + 1)]
    dataset = make_dataset({name: [[("cat", (0.1, 0.1, 0.2, 0.4))]] for name in fields})
    compute_quickly(dataset, fields, resamples=0)
    configure_agreement_app(dataset, color_by="annotator")
    assert dataset.app_config.color_scheme is None


def test_the_scheme_of_the_user_is_given_back(dataset):
    mine = {
        "path": "bob",
        "fieldColor": "#ff00ff",
        "colorByAttribute": "label",
        "valueColors": [{"value": "dog", "color": "yellow"}],
    }
    dataset.app_config.color_scheme = fo.ColorScheme(color_by="field", opacity=0.5, fields=[mine])
    dataset.save()
    before = stored(dataset)
    compute_quickly(dataset, ANNOTATORS)
    configure_agreement_app(dataset, color_by="verdict")
    scheme = dataset.app_config.color_scheme
    assert (scheme.color_by, scheme.opacity) == ("value", 0.5)
    bob = next(entry for entry in scheme.fields if entry["path"] == "bob")
    assert (bob["fieldColor"], bob["colorByAttribute"]) == ("#ff00ff", "agreement")
    delete_agreement(dataset)
    assert stored(dataset) == before


def test_colours_that_the_user_changes_meanwhile_stay(dataset):
    compute_quickly(dataset, ANNOTATORS)
    configure_agreement_app(dataset, color_by="verdict")
    scheme = dataset.app_config.color_scheme
    scheme.fields[0]["fieldColor"] = "#123456"
    scheme.fields[1] = {"path": "bob", "colorByAttribute": "label"}
    scheme.color_by = "field"
    scheme.opacity = 0.7
    dataset.save()
    delete_agreement(dataset)
    scheme = dataset.app_config.color_scheme
    assert (scheme.color_by, scheme.opacity) == ("field", 0.7)
    assert scheme.fields == [
        {"path": "alice", "fieldColor": "#123456"},
        {"path": "bob", "colorByAttribute": "label"},
    ]


# ---- bad input ----


def test_what_is_not_usable_is_named(dataset, make_dataset):
    compute_quickly(dataset, ANNOTATORS)
    before = stored(dataset)
    for options, message in (
        ({"sidebar": "yes"}, "`sidebar` must be True or False, got 'yes'"),
        ({"indexes": None}, "`indexes` must be True or False, got None"),
        ({"color_by": "label"}, "`color_by` must be one of annotator, verdict, id, None, got 'label'"),
        ({"run_key": "other"}, "`run_key` must be an agreement run of .*, got 'other'"),
    ):
        with pytest.raises(AgreementInputError, match=message):
            configure_agreement_app(dataset, **options)
    assert stored(dataset) == before
    masks = masked_dataset(make_dataset, random_masks(3, ["a", "b"]))
    compute_agreement(masks, ["a", "b"], resamples=0)
    with pytest.raises(
        AgreementInputError, match="`color_by` must be an attribute that the run writes on labels, got 'id'"
    ):
        configure_agreement_app(masks, color_by="id")
    run.Run(dataset, "agreement").update(status=run.RUNNING)
    with pytest.raises(AgreementInputError, match="must be completed, got the status 'running'"):
        configure_agreement_app(dataset, sidebar=True)
