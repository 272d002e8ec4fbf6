"""Runs are registered, listed, replaced, renamed and deleted."""

from __future__ import annotations

import fiftyone as fo
import pytest
from bson import ObjectId
from fiftyone import ViewField as F

from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused, run_on
from tests.datasets import random_annotators, stored
from tools.stress.hostile_files import hostile_files
from tools.stress.imports import at_once, killed
from tools.stress.together import any_operations

from annotator_agreement import dataset_io
from annotator_agreement.dataset_io.app import AppSettings, app_settings_of
from annotator_agreement.dataset_io.record import run
from annotator_agreement.dataset_io.run import read
from annotator_agreement.dataset_io.units import units_field


@pytest.mark.long
def test_renaming_moves_fields_and_report_and_deleting_leaves_the_dataset_and_other_runs_as_they_were(make_dataset):
    dataset = make_dataset(random_annotators(12))
    before = stored(dataset)
    compute_quickly(dataset)
    scores, ids = dataset.values("agreement_score"), dataset.values("bob.detections.agreement_id")
    dataset_io.rename_agreement(dataset, "agreement", "first_round")
    assert (dataset_io.list_agreements(dataset), dataset.values("first_round_score")) == (["first_round"], scores)
    assert dataset.values("bob.detections.first_round_id") == ids
    assert not [path for path in dataset.get_field_schema(flat=True) if "agreement" in path]
    report = dataset_io.load_agreement(dataset, "first_round")
    assert dataset_io.agreement_on(dataset, "first_round").pairs == report.pairs
    assert report.run_key == report.config["run_key"] == "first_round"
    config = dataset.get_run_info("first_round").config
    assert (config.status, "first_round_score" in config.fields_written) == ("completed", True)
    with_one = stored(dataset)
    compute_quickly(dataset)
    assert with_one != stored(dataset) != before != with_one
    dataset_io.delete_agreement(dataset, "agreement")
    assert stored(dataset) == with_one
    assert dataset_io.load_agreement(dataset, "first_round") == report
    dataset_io.delete_agreement(dataset, "first_round")
    assert stored(dataset) == before
    assert dataset_io.list_agreements(dataset) == []


def test_deleting_also_removes_what_delete_run_left_behind_and_overwriting_replaces_it(make_dataset):
    dataset = make_dataset()
    before = stored(dataset)
    for _ in range(2):
        compute_quickly(dataset, overwrite=True)
        dataset.delete_run("agreement")
    refused("was left behind by a run of that name", compute_quickly, dataset)
    dataset_io.delete_agreement(dataset, "agreement")
    assert stored(dataset) == before


def test_overwriting_replaces_a_run_but_not_with_a_view_made_from_it(computed):
    before, worst = stored(computed), computed.match(F("agreement_score") < 0.9)
    of_run = (worst, computed.filter_labels("alice", F("agreement") == "lone"), computed.sort_by("agreement_score"))
    for view in of_run:
        refused("must not depend on the run to overwrite", compute_quickly, view, overwrite=True)
    refused("replace it with overwrite=True", compute_quickly, computed, ["alice", "bob"])
    assert stored(computed) == before
    compute_quickly(worst, run_key="worst")
    report = compute_quickly(computed, ["alice", "bob"], overwrite=True)
    assert dataset_io.load_agreement(computed) == report
    assert computed.get_field("carol.detections.agreement") is None
    assert computed.values("carol.detections.agreement")[0] == [None, None]
    assert computed.first().alice.detections[0].agreement_votes == 2


def test_renaming_needs_a_free_key_and_a_completed_run(computed):
    compute_quickly(computed, run_key="other")
    before = stored(computed)
    for old, key, message in (
        ("agreement", "other", "which is a run of this dataset"),
        ("agreement", "label", "`label` is a field of Detection"),
        ("agreement", "Upper", "must be lower-case letters"),
        ("nothing", "fresh", r"got 'nothing'; runs are 'agreement', 'other'"),
    ):
        refused(message, dataset_io.rename_agreement, computed, old, key)
    assert stored(computed) == before
    run.Run(computed, "other").update(status=run.RUNNING)
    message = r"Only a completed run can be renamed, got 'other' with .* 'running'"
    refused(message, dataset_io.rename_agreement, computed, "other", "fresh")


def test_a_run_that_is_not_there_or_of_others_is_named_as_such(make_dataset):
    dataset = make_dataset()
    for call in (dataset_io.load_agreement, dataset_io.delete_agreement):
        refused(r"must be an agreement run of .*, got 'nothing'; runs are none", call, dataset, "nothing")
    for call in (dataset_io.list_agreements, dataset_io.delete_agreement, dataset_io.load_agreement):
        refused("must be a FiftyOne dataset or view, got NoneType", call, None)
    dataset.register_run("theirs", dataset.init_run(method="something"))
    assert dataset_io.list_agreements(dataset) == []
    for call, options in ((dataset_io.delete_agreement, {}), (compute_quickly, {"overwrite": True})):
        refused("run of another kind", call, dataset, run_key="theirs", **options)
    assert dataset.list_runs() == ["theirs"]


def test_a_run_that_fails_says_so_and_can_be_deleted(make_dataset, monkeypatch):
    dataset = make_dataset()
    before = stored(dataset)

    def interrupt(bar):
        raise KeyboardInterrupt("stop")

    with pytest.raises(KeyboardInterrupt):
        dataset_io.compute_agreement(dataset, ANNOTATORS, progress=interrupt)
    config = dataset.get_run_info("agreement").config
    assert (config.status, config.error) == ("failed", "KeyboardInterrupt: stop")
    refused(r"must be completed, got the status 'failed'; compute it again", dataset_io.load_agreement, dataset)
    dataset_io.delete_agreement(dataset)
    assert stored(dataset) == before


def test_renaming_keeps_null_and_absent_fields_and_the_indexes_and_the_sidebar_of_the_user(computed):
    collection, last = computed._sample_collection, {"_id": ObjectId(computed.last().id)}
    collection.update_one(last, {"$set": {"bob": None}, "$unset": {"carol": ""}})
    computed.create_index("agreement_score")
    computed.app_config.sidebar_groups = fo.DatasetAppConfig.default_sidebar_groups(computed)
    computed.app_config.sidebar_groups.append(fo.SidebarGroupDocument(name="mine", paths=["agreement_score"]))
    computed.save()
    dataset_io.rename_agreement(computed, "agreement", "renamed")
    assert "renamed_score" in computed.list_indexes()
    mine = next(group for group in computed.app_config.sidebar_groups if group.name == "mine")
    assert mine.paths == ["renamed_score"]
    document = collection.find_one(last)
    assert document["bob"] is None
    assert "carol" not in document


@pytest.mark.long
def test_runs_are_renamed_and_deleted_with_label_fields_that_were_changed(lend):
    for change in ("renamed", "cloned", "deleted"):
        dataset = lend(run_on())
        verdicts = dataset.values("alice.detections.agreement")
        if change == "deleted":
            dataset.delete_sample_fields(["alice", "bob"])
        else:
            rename_or_clone = dataset.rename_sample_field if change == "renamed" else dataset.clone_sample_field
            rename_or_clone("alice", "alicia")
        dataset_io.rename_agreement(dataset, "agreement", "renamed")
        assert not [path for path in dataset.get_field_schema(flat=True) if "agreement" in path], change
        if change != "deleted":
            assert dataset.values("alicia.detections.renamed") == verdicts
        dataset_io.delete_agreement(dataset, "renamed")
        assert not [path for path in dataset.get_field_schema(flat=True) if "renamed" in path], change
        if change == "renamed":
            assert dataset.count_values("alicia.detections.renamed") == {None: 6}


@pytest.mark.long
def test_a_run_renamed_by_fiftyone_itself_is_still_ours(make_dataset):
    dataset = make_dataset()
    before = stored(dataset)
    compute_quickly(dataset, run_key="first")
    expected = dataset_io.view_agreement(dataset, "first", missed_by="carol").values("id")
    dataset.rename_run("first", "second")
    assert dataset_io.view_agreement(dataset, "second", missed_by="carol").values("id") == expected != []
    dataset_io.rename_agreement(dataset, "second", "third")
    assert dataset.values("third_n_units") == [2, 2, 0, 1, 1]
    dataset.rename_run("third", "fourth")
    assert dataset_io.load_agreement(dataset, "fourth").n_samples == 5
    dataset_io.delete_agreement(dataset, "fourth")
    assert stored(dataset) == before


def test_the_first_error_reaches_the_user_even_if_it_cannot_be_recorded(make_dataset, monkeypatch, caplog):
    dataset = make_dataset()

    def fail(*arguments, **options):
        raise OSError("the database is gone")

    monkeypatch.setattr(run.Run, "update", fail)
    monkeypatch.setattr(run.Run, "declare", lambda *arguments: [][0])
    with pytest.raises(IndexError):
        dataset_io.compute_agreement(dataset, ANNOTATORS)
    assert "could not be recorded" in caplog.text


def _elsewhere(killable, dataset, function, **options):
    """Call a function of the plugin in another process, so that this one does not see it."""
    assert not killable(dataset, function, kill_before=None, **options)


@pytest.mark.long
def test_what_somebody_else_made_is_not_replaced_unasked_and_goes_with_its_run(killable, make_dataset):
    dataset = make_dataset()
    before = stored(dataset)
    for forget in ("rename", "delete"):
        compute_quickly(dataset)
        _elsewhere(killable, dataset, "add_units")
        assert not dataset.has_sample_field("agreement_units"), forget
        if forget == "rename":
            _elsewhere(killable, dataset, "resolve_units", quorum=1.0)
            refused("must be new, but it exists already", dataset_io.resolve_units, dataset)
            dataset_io.rename_agreement(dataset, "agreement", "renamed")
            assert dataset.count("renamed_units.detections") == 6
        dataset_io.delete_agreement(dataset, "renamed" if forget == "rename" else "agreement")
        assert stored(dataset) == before, forget


@pytest.mark.long
def test_what_somebody_else_records_meanwhile_is_kept(killable, make_dataset, monkeypatch):
    dataset = make_dataset()
    before = stored(dataset)
    compute_quickly(dataset)
    original = units_field.open_units

    def open_late(*arguments):
        opened = original(*arguments)
        _elsewhere(killable, dataset, "add_units")
        _elsewhere(killable, dataset, "configure_agreement_app", sidebar=True)
        return opened

    monkeypatch.setattr(units_field, "open_units", open_late)
    dataset_io.resolve_units(dataset)
    config = run.Run(dataset, "agreement").config
    status = {suffix: made["status"] for suffix, made in config["derived_fields"].items()}
    assert status == dict.fromkeys(("_units", "_consensus"), "completed")
    assert app_settings_of(dataset, "agreement") == AppSettings(sidebar=True)
    dataset_io.delete_agreement(dataset)
    assert stored(dataset) == before


def test_of_two_that_make_one_field_the_later_one_wins(lend, before_each_write, monkeypatch):
    dataset = lend(run_on(12))
    monkeypatch.setattr(read, "BATCH_SAMPLES", 4)
    started = []

    def start_another(batch):
        started.append(batch)
        if len(started) == 2:
            dataset_io.resolve_units(fo.load_dataset(dataset.name), quorum=0.1)

    before_each_write(start_another)
    refused("`agreement_consensus` is being written by somebody else", dataset_io.resolve_units, dataset, quorum=0.9)
    made = units_field.derived_record(run.Run(dataset, "agreement"), "_consensus")
    assert (made["status"], made["quorum"]) == ("completed", 0.1)
    votes = dataset.values("agreement_consensus.detections.votes", unwind=True)
    dataset_io.resolve_units(dataset, quorum=0.1, overwrite=True)
    assert dataset.values("agreement_consensus.detections.votes", unwind=True) == votes


def test_units_that_must_not_be_changed_are_not_made_anew(computed):
    dataset_io.add_units(computed)
    field = computed.get_field("agreement_units")
    field.read_only = True
    field.save()
    refused("must not be read-only, got agreement_units", dataset_io.add_units, computed, overwrite=True)
    assert units_field.derived_record(run.Run(computed, "agreement"), "_units")["status"] == "completed"


#: campaign, first seed, rounds, options
CAMPAIGNS = {
    "any operations at once leave a dataset that opens, and what users have": (any_operations, 7, 2, {}),
    "imports at once lose no label": (at_once, 51, 1, {}),
    "imports and exports that are killed leave the old or the new": (killed, 51, 2, {}),
    # those that grow most
    "hostile files are read within memory and time, or refused": (hostile_files, 0, 4, {"size": 20_000}),
}


@pytest.mark.long
@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_a_short_campaign(private_fiftyone, campaign):
    play, seed, rounds, options = CAMPAIGNS[campaign]
    tried, failed, examples = play(seed, rounds, **options)
    assert (tried, failed) == (rounds, 0), examples
