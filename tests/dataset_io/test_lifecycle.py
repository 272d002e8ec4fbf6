"""Runs are registered, listed, replaced, renamed and deleted."""

from __future__ import annotations

import fiftyone as fo
import pytest
from bson import ObjectId
from fiftyone import ViewField as F

from tests.dataset_io.quick_runs import compute_quickly
from tests.datasets import random_annotators, stored
from tools.stress.hostile_files import hostile_files
from tools.stress.imports import at_once, killed
from tools.stress.shared_out import shared_runs
from tools.stress.together import any_operations, delete_beside_units
from tools.stress.workers import Command, workers

from annotator_agreement import AgreementInputError, names
from annotator_agreement.dataset_io import (
    add_units,
    compute_agreement,
    delete_agreement,
    list_agreements,
    load_agreement,
    rename_agreement,
    resolve_units,
)
from annotator_agreement.dataset_io.app.settings import AppSettings, app_settings_of
from annotator_agreement.dataset_io.record import run
from annotator_agreement.dataset_io.run import read
from annotator_agreement.dataset_io.units import units_field

ANNOTATORS = ["alice", "bob", "carol"]


def test_the_run_records_its_status_options_and_fields(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset.limit(3), ANNOTATORS, iou=0.4)
    config = dataset.get_run_info("agreement").config
    assert (config.method, config.status, config.schema_version) == (
        "annotator_agreement",
        "completed",
        names.SCHEMA_VERSION,
    )
    assert config.options["iou"] == 0.4
    assert "alice.detections.agreement_id" in config.fields_written
    assert len(dataset.load_run_view("agreement")) == 3
    assert list_agreements(dataset) == ["agreement"]


def test_deleting_leaves_the_dataset_as_it_was(make_dataset):
    dataset = make_dataset(random_annotators(20))
    before = stored(dataset)
    compute_agreement(dataset, ANNOTATORS)
    assert stored(dataset) != before
    delete_agreement(dataset, "agreement")
    assert stored(dataset) == before
    assert list_agreements(dataset) == []


def test_deleting_also_removes_what_delete_run_left_behind(make_dataset):
    dataset = make_dataset()
    before = stored(dataset)
    compute_agreement(dataset, ANNOTATORS)
    dataset.delete_run("agreement")
    with pytest.raises(AgreementInputError, match="was left behind by a run of that name"):
        compute_agreement(dataset, ANNOTATORS)
    delete_agreement(dataset, "agreement")
    assert stored(dataset) == before


def test_overwriting_replaces_a_run(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS)
    with pytest.raises(AgreementInputError, match="replace it with overwrite=True"):
        compute_agreement(dataset, ["alice", "bob"])
    report = compute_agreement(dataset, ["alice", "bob"], overwrite=True)
    assert load_agreement(dataset) == report
    assert dataset.get_field("carol.detections.agreement") is None
    assert dataset.values("carol.detections.agreement")[0] == [None, None]
    assert dataset.first().alice.detections[0].agreement_votes == 2


def test_overwriting_works_where_there_is_nothing_to_overwrite(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS, overwrite=True)
    dataset.delete_run("agreement")
    compute_agreement(dataset, ANNOTATORS, overwrite=True)
    assert list_agreements(dataset) == ["agreement"]


def test_a_view_made_from_a_run_cannot_replace_it(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS)
    before = stored(dataset)
    for view in (
        dataset.match(F("agreement_score") < 0.9),
        dataset.filter_labels("alice", F("agreement") == "lone"),
        dataset.sort_by("agreement_score"),
    ):
        with pytest.raises(AgreementInputError, match="must not depend on the run to overwrite"):
            compute_agreement(view, ANNOTATORS, overwrite=True)
    assert stored(dataset) == before
    compute_agreement(dataset.match(F("agreement_score") < 0.9), ANNOTATORS, run_key="worst")


def test_renaming_moves_fields_and_report(make_dataset):
    dataset = make_dataset(random_annotators(20))
    before = stored(dataset)
    compute_agreement(dataset, ANNOTATORS)
    scores, ids = dataset.values("agreement_score"), dataset.values("bob.detections.agreement_id")
    rename_agreement(dataset, "agreement", "first_round")
    assert list_agreements(dataset) == ["first_round"]
    assert dataset.values("first_round_score") == scores
    assert dataset.values("bob.detections.first_round_id") == ids
    assert not [path for path in dataset.get_field_schema(flat=True) if "agreement" in path]
    assert load_agreement(dataset, "first_round").run_key == "first_round"
    assert load_agreement(dataset, "first_round").config["run_key"] == "first_round"
    config = dataset.get_run_info("first_round").config
    assert (config.status, "first_round_score" in config.fields_written) == ("completed", True)
    compute_agreement(dataset, ANNOTATORS)
    delete_agreement(dataset, "agreement")
    delete_agreement(dataset, "first_round")
    assert stored(dataset) == before


def test_renaming_leaves_null_fields_null_and_absent_fields_absent(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS)
    collection, last = dataset._sample_collection, {"_id": ObjectId(dataset.last().id)}
    collection.update_one(last, {"$set": {"bob": None}, "$unset": {"carol": ""}})
    rename_agreement(dataset, "agreement", "first_round")
    document = collection.find_one(last)
    assert document["bob"] is None
    assert "carol" not in document


def test_renaming_needs_a_free_key_and_a_completed_run(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS)
    compute_agreement(dataset, ANNOTATORS, run_key="other")
    before = stored(dataset)
    for key, message in (
        ("other", "which is a run of this dataset"),
        ("label", "`label` is a field of Detection"),
        ("Upper", "must be lower-case letters"),
    ):
        with pytest.raises(AgreementInputError, match=message):
            rename_agreement(dataset, "agreement", key)
    with pytest.raises(AgreementInputError, match=r"got 'nothing'; runs are 'agreement', 'other'"):
        rename_agreement(dataset, "nothing", "fresh")
    assert stored(dataset) == before
    run.Run(dataset, "other").update(status=run.RUNNING)
    with pytest.raises(
        AgreementInputError, match=r"Only a completed run can be renamed, got 'other' with .* 'running'"
    ):
        rename_agreement(dataset, "other", "fresh")


def test_a_run_that_is_not_there_is_named_as_such(make_dataset):
    dataset = make_dataset()
    for call in (load_agreement, delete_agreement):
        with pytest.raises(AgreementInputError, match=r"must be an agreement run of .*, got 'nothing'; runs are none"):
            call(dataset, "nothing")


def test_runs_of_others_are_not_ours(make_dataset):
    dataset = make_dataset()
    dataset.register_run("theirs", dataset.init_run(method="something"))
    assert list_agreements(dataset) == []
    for call in (
        lambda: delete_agreement(dataset, "theirs"),
        lambda: compute_agreement(dataset, ANNOTATORS, run_key="theirs", overwrite=True),
    ):
        with pytest.raises(AgreementInputError, match="run of another kind"):
            call()
    assert dataset.list_runs() == ["theirs"]


def test_a_run_that_fails_says_so_and_can_be_deleted(make_dataset, monkeypatch):
    dataset = make_dataset()
    before = stored(dataset)

    def interrupt(bar):
        raise KeyboardInterrupt("stop")

    with pytest.raises(KeyboardInterrupt):
        compute_agreement(dataset, ANNOTATORS, progress=interrupt)
    config = dataset.get_run_info("agreement").config
    assert (config.status, config.error) == ("failed", "KeyboardInterrupt: stop")
    with pytest.raises(AgreementInputError, match=r"must be completed, got the status 'failed'; compute it again"):
        load_agreement(dataset)
    delete_agreement(dataset)
    assert stored(dataset) == before


@pytest.mark.long
def test_a_cloned_dataset_can_delete_its_copy_of_a_run(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS)
    clone = dataset.clone()
    try:
        assert load_agreement(clone) == load_agreement(dataset)
        delete_agreement(clone)
        assert not [path for path in clone.get_field_schema(flat=True) if "agreement" in path]
        assert load_agreement(dataset).n_samples == 5
        assert dataset.values("agreement_n_units") == [2, 2, 0, 1, 1]
    finally:
        clone.delete()


def test_a_renamed_label_field_is_cleaned_all_the_same(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS)
    dataset.rename_sample_field("alice", "alicia")
    delete_agreement(dataset)
    assert not [path for path in dataset.get_field_schema(flat=True) if "agreement" in path]
    assert dataset.count_values("alicia.detections.agreement") == {None: 6}


@pytest.mark.parametrize("change", ["renamed", "cloned", "deleted"])
@pytest.mark.few(1)
def test_renaming_a_run_follows_label_fields_that_were_changed(make_dataset, change):
    dataset = make_dataset()
    compute_agreement(dataset, ["alice", "bob"])
    verdicts = dataset.values("alice.detections.agreement")
    if change == "renamed":
        dataset.rename_sample_field("alice", "alicia")
    elif change == "cloned":
        dataset.clone_sample_field("alice", "alicia")
    else:
        dataset.delete_sample_fields(["alice", "bob"])
    rename_agreement(dataset, "agreement", "renamed")
    assert not [path for path in dataset.get_field_schema(flat=True) if "agreement" in path]
    if change != "deleted":
        assert dataset.values("alicia.detections.renamed") == verdicts
    delete_agreement(dataset, "renamed")
    assert not [path for path in dataset.get_field_schema(flat=True) if "renamed" in path]


@pytest.mark.long
def test_a_run_renamed_by_fiftyone_itself_is_still_ours(make_dataset):
    dataset = make_dataset()
    before = stored(dataset)
    compute_agreement(dataset, ANNOTATORS, run_key="first")
    dataset.rename_run("first", "second")
    assert load_agreement(dataset, "second").n_samples == 5
    delete_agreement(dataset, "second")
    assert stored(dataset) == before
    compute_agreement(dataset, ANNOTATORS, run_key="first")
    dataset.rename_run("first", "second")
    rename_agreement(dataset, "second", "third")
    assert dataset.values("third_n_units") == [2, 2, 0, 1, 1]
    delete_agreement(dataset, "third")
    assert stored(dataset) == before


def test_renaming_keeps_the_indexes_and_the_sidebar_of_the_user(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS)
    dataset.create_index("agreement_score")
    dataset.app_config.sidebar_groups = fo.DatasetAppConfig.default_sidebar_groups(dataset)
    dataset.app_config.sidebar_groups.append(fo.SidebarGroupDocument(name="mine", paths=["agreement_score"]))
    dataset.save()
    rename_agreement(dataset, "agreement", "renamed")
    assert "renamed_score" in dataset.list_indexes()
    mine = next(group for group in dataset.app_config.sidebar_groups if group.name == "mine")
    assert mine.paths == ["renamed_score"]


def test_the_first_error_reaches_the_user_even_if_it_cannot_be_recorded(make_dataset, monkeypatch, caplog):
    dataset = make_dataset()

    def fail(*arguments, **options):
        raise OSError("the database is gone")

    monkeypatch.setattr(run.Run, "update", fail)
    monkeypatch.setattr(run.Run, "declare", lambda *arguments: [][0])
    with pytest.raises(IndexError):
        compute_agreement(dataset, ANNOTATORS)
    assert "could not be recorded" in caplog.text


# ---- derived fields of a run that another process creates meanwhile, unknown to this process ----


def _elsewhere(killable, dataset, function, **options):
    """Call a function of the plugin in another process, so that this one does not see it."""
    assert not killable(dataset, function, kill_before=None, **options)


@pytest.mark.parametrize("forget", ["rename", "delete"])
@pytest.mark.few(1)
def test_units_that_somebody_else_made_go_with_their_run(killable, make_dataset, forget):
    dataset = make_dataset()
    before = stored(dataset)
    compute_quickly(dataset)
    _elsewhere(killable, dataset, "add_units")
    assert not dataset.has_sample_field("agreement_units")
    if forget == "rename":
        rename_agreement(dataset, "agreement", "renamed")
        assert dataset.count("renamed_units.detections") == 6
    delete_agreement(dataset, "renamed" if forget == "rename" else "agreement")
    assert stored(dataset) == before


def test_a_consensus_that_somebody_else_made_is_not_replaced_unasked(killable, make_dataset):
    dataset = make_dataset()
    compute_quickly(dataset)
    _elsewhere(killable, dataset, "resolve_units", quorum=1.0)
    with pytest.raises(AgreementInputError, match="must be new, but it exists already"):
        resolve_units(dataset)


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
    resolve_units(dataset)
    config = run.Run(dataset, "agreement").config
    assert {suffix: made["status"] for suffix, made in config["derived_fields"].items()} == {
        "_units": "completed",
        "_consensus": "completed",
    }
    assert app_settings_of(dataset, "agreement") == AppSettings(sidebar=True)
    delete_agreement(dataset)
    assert stored(dataset) == before


def test_of_two_that_make_one_field_the_later_one_wins(make_dataset, before_each_write, monkeypatch):
    dataset = make_dataset(random_annotators(30))
    compute_quickly(dataset)
    monkeypatch.setattr(read, "BATCH_SAMPLES", 4)
    started = []

    def start_another(batch):
        started.append(batch)
        if len(started) == 2:
            resolve_units(fo.load_dataset(dataset.name), quorum=0.1)

    before_each_write(start_another)
    with pytest.raises(AgreementInputError, match="`agreement_consensus` is being written by somebody else"):
        resolve_units(dataset, quorum=0.9)
    made = units_field.derived_record(run.Run(dataset, "agreement"), "_consensus")
    assert (made["status"], made["quorum"]) == ("completed", 0.1)
    votes = [vote for of_sample in dataset.values("agreement_consensus.detections.votes") for vote in of_sample or []]
    resolve_units(dataset, quorum=0.1, overwrite=True)
    assert sum(map(len, filter(None, dataset.values("agreement_consensus.detections")))) == len(votes)


def test_units_that_must_not_be_changed_are_not_made_anew(make_dataset):
    dataset = make_dataset()
    compute_quickly(dataset)
    add_units(dataset)
    field = dataset.get_field("agreement_units")
    field.read_only = True
    field.save()
    with pytest.raises(AgreementInputError, match="must not be read-only, got agreement_units"):
        add_units(dataset, overwrite=True)
    assert units_field.derived_record(run.Run(dataset, "agreement"), "_units")["status"] == "completed"


# ---- several processes at once on one dataset: short versions of the campaigns of ``make stress`` ----


@pytest.mark.long
def test_deleting_a_run_while_units_of_another_are_written_leaves_a_dataset_that_opens(private_fiftyone):
    assert delete_beside_units(7, 3) == (3, 0, [])


@pytest.mark.long
def test_any_operations_at_once_leave_a_dataset_that_opens_and_what_users_have(private_fiftyone):
    assert any_operations(7, 4) == (4, 0, [])


@pytest.mark.long
def test_imports_at_once_lose_no_label(private_fiftyone):
    tried, failed, examples = at_once(51, 2)
    assert (tried, failed) == (2, 0), examples


@pytest.mark.long
def test_imports_and_exports_that_are_killed_leave_the_old_or_the_new(private_fiftyone):
    tried, failed, examples = killed(51, 3)
    assert (tried, failed) == (3, 0), examples


@pytest.mark.long
def test_small_hostile_files_are_read_within_memory_and_time_or_refused(private_fiftyone):
    tried, failed, examples = hostile_files(0, 6, size=20_000)  # those that grow most
    assert (tried, failed) == (6, 0), examples


@pytest.mark.long
def test_a_shared_run_whose_main_process_is_killed_is_continued_or_deleted(private_fiftyone):
    tried, failed, examples = shared_runs(66, 1)
    assert (tried, failed) == (1, 0), examples


@pytest.mark.long
def test_a_process_that_hangs_is_followed_by_another_one(private_fiftyone):
    with workers(1) as (worker,):
        first = worker.pid
        assert worker.do(Command("time:sleep", [60]), patience=0.2).error == "Hanging"
        assert worker.do(Command("os:getpid")).value == worker.pid != first
