"""App settings for a run: changed on request, recorded, and restored to their former values."""

from __future__ import annotations

import math
from itertools import combinations

import fiftyone as fo
import numpy as np
import pytest

from tests.dataset_io.app_state import EVERYTHING, sidebar_groups
from tests.dataset_io.masked import masked_dataset, random_masks
from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused, run_on
from tests.datasets import random_annotators, stored

from annotator_agreement import dataset_io, names
from annotator_agreement.agreement.families import FAMILIES
from annotator_agreement.dataset_io.app import AppSettings, annotator_colors, app_settings_of, color_names
from annotator_agreement.dataset_io.app import settings as app_settings
from annotator_agreement.dataset_io.record import open_run_labels, run

FIELDS = [f"agreement{suffix}" for suffix, spec in names.OBJECT_FIELDS.sample.items() if spec.option is None]


def _made(make_dataset):
    return make_dataset(random_annotators(4))


@pytest.fixture
def dataset(lend):
    return lend(_made)


@pytest.fixture
def computed(lend):
    return lend(run_on(4))


def _without_run(dataset):
    """What the database holds, but for the run's own documents, files and status."""
    held = stored(dataset)
    return {name: held[name] for name in ("samples", "frames", "indexes")} | {"app": held["dataset"]["app_config"]}


def _settings(dataset):
    """What the App shows, without ids."""
    scheme = dataset.app_config.color_scheme
    return sidebar_groups(dataset), dataset.list_indexes(), scheme and (scheme.color_by, scheme.opacity, scheme.fields)


@pytest.mark.long
def test_every_setting_is_undone_with_the_run_and_where_it_is_not_asked_for_any_more(dataset):
    before = stored(dataset)
    for setting in (*({name: value} for name, value in EVERYTHING.items()), EVERYTHING):
        compute_quickly(dataset)
        computed = _without_run(dataset)
        dataset_io.configure_agreement_app(dataset, **setting)
        once = _settings(dataset)
        assert _without_run(dataset) != computed
        assert app_settings_of(dataset, "agreement") == AppSettings(**setting)
        dataset_io.configure_agreement_app(dataset, **setting)
        assert _settings(dataset) == once
        for fewer in ({"sidebar": True}, {}):
            dataset_io.configure_agreement_app(dataset, **fewer)
            assert dataset.app_config.color_scheme is None
            assert "agreement_score" not in dataset.list_indexes()
            assert app_settings_of(dataset, "agreement") == AppSettings(**fewer)
        assert _without_run(dataset) == computed
        dataset_io.configure_agreement_app(dataset, **setting)
        dataset_io.delete_agreement(dataset)
        assert stored(dataset) == before, setting


@pytest.mark.long
def test_a_process_that_dies_between_two_settings_leaves_nothing_that_stays(dataset, monkeypatch):
    before = stored(dataset)

    class Died(BaseException):
        pass

    def die(*arguments):
        raise Died

    for step in ("show_entries", "create_indexes"):
        compute_quickly(dataset)
        with monkeypatch.context() as patch:
            patch.setattr(app_settings, step, die)
            with pytest.raises(Died):
                dataset_io.configure_agreement_app(dataset, **EVERYTHING)
        dataset_io.delete_agreement(dataset)
        assert stored(dataset) == before, step


@pytest.mark.long
def test_a_renamed_run_keeps_its_settings_under_its_new_name(dataset):
    before = stored(dataset)
    compute_quickly(dataset)
    dataset_io.configure_agreement_app(dataset, **{**EVERYTHING, "color_by": "id"})
    dataset_io.rename_agreement(dataset, "agreement", "renamed")
    assert "agreement" not in sidebar_groups(dataset)
    assert sidebar_groups(dataset)["renamed"][0] == "renamed_score"
    assert "renamed_score" in dataset.list_indexes()
    assert {entry["colorByAttribute"] for entry in dataset.app_config.color_scheme.fields} == {"renamed_id"}
    assert app_settings_of(dataset, "renamed") == AppSettings(True, True, "id")
    dataset_io.delete_agreement(dataset, "renamed")
    assert stored(dataset) == before


@pytest.mark.long
def test_a_run_that_fiftyone_deleted_leaves_its_own_settings_but_not_those_of_the_user(dataset):
    before = stored(dataset)
    compute_quickly(dataset)
    dataset_io.add_units(dataset)
    dataset_io.configure_agreement_app(dataset, **EVERYTHING)
    dataset.delete_run("agreement")
    dataset_io.delete_agreement(dataset)
    assert stored(dataset) == before
    dataset.add_sample_field("weather", fo.StringField)
    groups = fo.DatasetAppConfig.default_sidebar_groups(dataset)
    groups.append(fo.SidebarGroupDocument(name="agreement", paths=["weather"], expanded=False))
    groups[3].paths.remove("weather")
    dataset.app_config.sidebar_groups = groups
    dataset.app_config.color_scheme = fo.ColorScheme(opacity=0.5, fields=[{"path": "bob", "fieldColor": "#ff00ff"}])
    dataset.save()
    before = stored(dataset)
    for by_fiftyone in (False, True):
        compute_quickly(dataset)
        dataset_io.configure_agreement_app(dataset, sidebar=True, color_by="id")
        groups = sidebar_groups(dataset)
        assert (groups["agreement (2)"], groups["agreement"]) == (FIELDS, ["weather"])
        if by_fiftyone:
            dataset.delete_run("agreement")
        dataset_io.delete_agreement(dataset)
        assert stored(dataset) == before, by_fiftyone


@pytest.mark.parametrize("edited", ["a text", {"runs": "a text"}, {"runs": [{"run_key": "agreement"}, "a text"]}])
def test_a_run_is_deleted_whatever_somebody_wrote_into_the_settings(computed, edited):
    computed.app_config.plugins[names.RUN_METHOD] = edited
    computed.save()
    dataset_io.delete_agreement(computed)
    assert not computed.has_run("agreement")


@pytest.mark.long
@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
def test_the_settings_of_two_runs_are_undone_in_any_order_and_the_users_scheme_comes_back(dataset, order):
    mine = {"path": "bob", "fieldColor": "#ff00ff", "colorByAttribute": "label",
            "valueColors": [{"value": "dog", "color": "yellow"}]}  # fmt: skip
    dataset.app_config.color_scheme = fo.ColorScheme(color_by="field", opacity=0.5, fields=[mine])
    dataset.save()
    before = stored(dataset)
    for key, color_by in (("first", "verdict"), ("second", "id")):
        compute_quickly(dataset, run_key=key)
        dataset_io.configure_agreement_app(dataset, key, sidebar=True, color_by=color_by)
    scheme = dataset.app_config.color_scheme
    assert (scheme.color_by, scheme.opacity) == ("value", 0.5)
    assert next(entry for entry in scheme.fields if entry["path"] == "bob")["fieldColor"] == "#ff00ff"
    if order[0] == "first":
        dataset.delete_run("first")  # takes no settings of the other along
    dataset_io.delete_agreement(dataset, order[0])
    scheme = dataset.app_config.color_scheme
    assert scheme.color_by == "value"
    other = {"first": "second_id", "second": "first"}[order[0]]
    assert {entry["colorByAttribute"] for entry in scheme.fields} == {other}
    assert order[1] in sidebar_groups(dataset)
    assert order[0] not in sidebar_groups(dataset)
    dataset_io.delete_agreement(dataset, order[1])
    assert stored(dataset) == before


@pytest.mark.long
def test_the_fields_of_a_run_have_a_group_of_their_own_and_later_ones_join_it(dataset):
    before = stored(dataset)
    compute_quickly(dataset)
    dataset_io.add_units(dataset)
    assert "agreement" not in sidebar_groups(dataset), "nobody asked for a group"
    dataset_io.configure_agreement_app(dataset, sidebar=True)
    dataset_io.resolve_units(dataset)
    dataset_io.add_units(dataset, overwrite=True)
    groups = sidebar_groups(dataset)
    assert list(groups) == ["tags", "metadata", "labels", "agreement", "primitives"]
    assert groups["agreement"] == [*FIELDS, "agreement_units", "agreement_consensus"]
    assert groups["labels"] == ANNOTATORS
    assert groups["primitives"] == ["id", "filepath", "created_at", "last_modified_at"]
    dataset_io.delete_agreement(dataset)
    assert stored(dataset) == before


def test_what_the_user_changes_meanwhile_stays(computed):
    computed.add_sample_field("weather", fo.StringField)
    dataset_io.configure_agreement_app(computed, sidebar=True, color_by="verdict")
    colors = [{"value": verdict, "color": color} for verdict, color in names.VERDICT_COLORS.items()]
    entry = {"colorByAttribute": "agreement", "valueColors": colors}
    assert computed.app_config.color_scheme.fields == [{"path": name, **entry} for name in ANNOTATORS]
    assert computed.app_config.color_scheme.color_by == "value"
    groups = {group.name: group for group in computed.app_config.sidebar_groups}
    ours, primitives = groups["agreement"], groups["primitives"]
    ours.paths.append("weather")
    primitives.paths.remove("weather")
    primitives.expanded = False
    computed.app_config.sidebar_groups.append(fo.SidebarGroupDocument(name="mine", paths=[]))
    scheme = computed.app_config.color_scheme
    scheme.fields[0]["fieldColor"] = "#123456"
    scheme.fields[1] = {"path": "bob", "colorByAttribute": "label"}
    scheme.color_by, scheme.opacity = "field", 0.7
    computed.save()
    dataset_io.delete_agreement(computed)
    groups = {group.name: (list(group.paths), group.expanded) for group in computed.app_config.sidebar_groups}
    assert groups["agreement"] == (["weather"], None)
    assert groups["primitives"] == (["id", "filepath", "created_at", "last_modified_at"], False)
    assert groups["mine"] == ([], None)
    scheme = computed.app_config.color_scheme
    assert (scheme.color_by, scheme.opacity) == ("field", 0.7)
    assert scheme.fields == [{"path": "alice", "fieldColor": "#123456"}, {"path": "bob", "colorByAttribute": "label"}]


@pytest.mark.long
def test_fields_go_back_to_where_they_stood(computed):
    groups = fo.DatasetAppConfig.default_sidebar_groups(computed)
    next(group for group in groups if group.name == "primitives").paths.remove("agreement_alpha")
    groups.insert(0, fo.SidebarGroupDocument(name="mine", paths=["agreement_alpha"]))
    computed.app_config.sidebar_groups = groups
    computed.save()
    before = _without_run(computed)
    dataset_io.configure_agreement_app(computed, sidebar=True)
    assert sidebar_groups(computed)["mine"] == []
    dataset_io.configure_agreement_app(computed, sidebar=False)
    assert _without_run(computed) == before
    # fields that come later do not make the default groups the user's
    computed.app_config.sidebar_groups = None
    computed.save()
    dataset_io.configure_agreement_app(computed, sidebar=True)
    computed.add_sample_field("weather", fo.StringField)
    dataset_io.delete_agreement(computed)
    assert computed.app_config.sidebar_groups is None


def test_fields_of_samples_get_indexes_but_for_those_that_have_one(computed):
    computed.create_index("agreement_alpha")
    before = _without_run(computed)
    dataset_io.configure_agreement_app(computed, indexes=True)
    assert set(FIELDS) <= set(computed.list_indexes())
    computed.drop_index("agreement_iou")
    dataset_io.configure_agreement_app(computed)
    assert _without_run(computed) == before


@pytest.mark.parametrize("colors", [names.VERDICT_COLORS, names.ANNOTATOR_COLORS], ids=["verdicts", "annotators"])
def test_colours_are_told_apart_also_without_one_kind_of_cone(colors):
    assert set(names.VERDICT_COLORS) == {verdict for family in FAMILIES.values() for verdict in family.verdicts}
    channels = [[int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)] for color in colors.values()]
    linear = np.array([[c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in own] for own in channels])
    for matrix in (  # Vienot, Brettel and Mollon (1999), in linear RGB: nobody lacks any, no long, no middle cones
        np.eye(3),
        [(0.11238, 0.88762, 0), (0.11238, 0.88762, 0), (0.00401, -0.00401, 1)],
        [(0.29275, 0.70725, 0), (0.29275, 0.70725, 0), (-0.02234, 0.02234, 1)],
    ):
        mixed = np.clip(linear @ np.transpose(matrix), 0, 1)
        seen = np.where(mixed <= 0.0031308, 12.92 * mixed, 1.055 * mixed ** (1 / 2.4) - 0.055)
        assert min(math.dist(a, b) for a, b in combinations(seen, 2)) > 0.12


def test_annotators_in_one_field_have_colours_and_these_have_names(make_dataset):
    dataset = make_dataset({"labels": [[("cat", (0.1, 0.1, 0.2, 0.4)), ("cat", (0.1, 0.1, 0.2, 0.3))]]})
    dataset.set_values("labels.detections.rater", [["ann", "bea"]], dynamic=True)
    compute_quickly(dataset, "labels", annotator_attribute="rater")
    assert color_names(open_run_labels(dataset, "agreement")) == {}
    dataset_io.configure_agreement_app(dataset, color_by="annotator")
    (orange, blue, *_), values = names.ANNOTATOR_COLORS, list(names.ANNOTATOR_COLORS.values())
    colors = [{"value": "ann", "color": values[0]}, {"value": "bea", "color": values[1]}]
    expected = {"path": "labels", "colorByAttribute": "rater", "valueColors": colors}
    assert dataset.app_config.color_scheme.fields == [expected]
    assert color_names(open_run_labels(dataset, "agreement")) == {"ann": orange, "bea": blue}
    dataset_io.delete_agreement(dataset)
    assert dataset.app_config.color_scheme is None


def test_the_fields_of_annotators_have_colours_but_for_those_that_have_one(computed, make_dataset):
    mine = {"path": "bob", "fieldColor": "#ff00ff"}
    computed.app_config.color_scheme = fo.ColorScheme(color_by="value", opacity=0.5, fields=[mine])
    computed.save()
    before = computed.app_config.color_scheme.to_dict()
    dataset_io.configure_agreement_app(computed, color_by="annotator")
    scheme, colors = computed.app_config.color_scheme, list(names.ANNOTATOR_COLORS.values())
    assert (scheme.color_by, scheme.opacity) == ("field", 0.5)
    expected = {"alice": colors[0], "bob": "#ff00ff", "carol": colors[2]}
    assert {each["path"]: each["fieldColor"] for each in scheme.fields} == expected
    assert annotator_colors(open_run_labels(computed, "agreement")) == expected
    assert color_names(open_run_labels(computed, "agreement")) == {}
    dataset_io.configure_agreement_app(computed, color_by="id")
    dataset_io.configure_agreement_app(computed, color_by="annotator")
    dataset_io.delete_agreement(computed)
    assert computed.app_config.color_scheme.to_dict() == before
    fields = [f"rater_{k}" for k in range(len(names.ANNOTATOR_COLORS) + 1)]  # of more than there are, FiftyOne chooses
    dataset = make_dataset({name: [[("cat", (0.1, 0.1, 0.2, 0.4))]] for name in fields})
    for used, has_colours in ((fields[:-1], True), (fields, False)):
        compute_quickly(dataset, used, overwrite=True)
        dataset_io.configure_agreement_app(dataset, color_by="annotator")
        assert (dataset.app_config.color_scheme is not None) == has_colours
        dataset_io.configure_agreement_app(dataset)


def test_what_is_not_usable_is_named(computed, make_dataset):
    before = stored(computed)
    for options, message in (
        ({"sidebar": "yes"}, "`sidebar` must be True or False, got 'yes'"),
        ({"indexes": None}, "`indexes` must be True or False, got None"),
        ({"color_by": "label"}, "`color_by` must be one of annotator, verdict, id, None, got 'label'"),
        ({"run_key": "other"}, "`run_key` must be an agreement run of .*, got 'other'"),
    ):
        refused(message, dataset_io.configure_agreement_app, computed, **options)
    assert stored(computed) == before
    masks = masked_dataset(make_dataset, random_masks(3, ["a", "b"]))
    compute_quickly(masks, ["a", "b"])
    message = "`color_by` must be an attribute that the run writes on labels, got 'id'"
    refused(message, dataset_io.configure_agreement_app, masks, color_by="id")
    run.Run(computed, "agreement").update(status=run.RUNNING)
    message = "must be completed, got the status 'running'"
    refused(message, dataset_io.configure_agreement_app, computed, sidebar=True)
