"""One process at a time changes the schema and the runs of a dataset; what others change meanwhile stays."""

from __future__ import annotations

import functools
import multiprocessing
import os
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import fiftyone as fo
import pytest
from fiftyone.core.odm import get_db_conn

from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused
from tests.datasets import random_annotators, stored
from tools.dev.private_fiftyone import PATIENT_SECONDS

from annotator_agreement import AgreementInputError, names
from annotator_agreement.dataset_io import add_units, compute_agreement, delete_agreement, list_agreements
from annotator_agreement.dataset_io.jobs import deletion
from annotator_agreement.dataset_io.record import lease, run, schema
from annotator_agreement.dataset_io.run import settle
from annotator_agreement.dataset_io.units import changing


def _document(dataset):
    return get_db_conn().datasets.find_one({"_id": dataset._doc.id})


def _set_lease(dataset, owner, seconds):
    until = {"$add": ["$$NOW", int(1_000 * seconds)]}
    update = [{"$set": {names.LEASE: {"owner": {"$literal": owner}, "until": until}}}]
    get_db_conn().datasets.update_one({"_id": dataset._doc.id}, update)


# ---- the lease ----


def test_one_thread_writes_at_a_time_and_may_ask_again(make_dataset):
    dataset = make_dataset()
    inside, most = [], []

    def write():
        for _ in range(5):
            with lease.writing(dataset), lease.writing(dataset):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.002)
                inside.pop()

    with ThreadPoolExecutor(4) as threads:
        for _ in range(4):
            threads.submit(write)
    assert most == [1] * 20
    assert names.LEASE not in _document(dataset)


def test_the_lease_of_a_process_that_died_is_taken_over_at_once(make_dataset, monkeypatch):
    dataset = make_dataset()
    monkeypatch.setattr(lease, "LEASE_SECONDS", 100_000.0)  # so that it does not end by itself
    monkeypatch.setattr(lease, "PATIENCE_SECONDS", 0.0)

    def die():
        lease._acquire(dataset, dataset._doc.id)
        os._exit(0)

    process = multiprocessing.get_context("fork").Process(target=die)
    process.start()
    process.join()
    died = _document(dataset)[names.LEASE]["owner"]
    with lease.writing(dataset):
        assert _document(dataset)[names.LEASE]["owner"] != died
    assert names.LEASE not in _document(dataset)


def test_the_lease_of_a_process_elsewhere_is_taken_over_when_it_has_ended_and_renewed_while_it_is_held(
    make_dataset, monkeypatch
):
    dataset = make_dataset()
    monkeypatch.setattr(lease, "RENEWAL_SECONDS", 0.05)
    _set_lease(dataset, "another-machine/1 1 0.0 x", 0.3)
    ended = _document(dataset)[names.LEASE]["until"]
    with lease.writing(dataset):
        first = _document(dataset)[names.LEASE]["until"]
        assert first - timedelta(seconds=lease.LEASE_SECONDS) >= ended
        deadline = time.monotonic() + PATIENT_SECONDS
        while _document(dataset)[names.LEASE]["until"] - first < timedelta(seconds=0.3):
            assert time.monotonic() < deadline, "the lease must be renewed"
            time.sleep(0.02)


def test_a_lease_that_is_renewed_is_waited_for_until_patience_ends_and_who_lost_it_changes_no_schema(
    make_dataset, monkeypatch
):
    dataset = make_dataset()
    before = _document(dataset)["sample_fields"]
    with lease.writing(dataset):
        _set_lease(dataset, "another-machine/1 77 0.0 x", 100_000)
        with pytest.raises(AgreementInputError, match="another one began to change it while this one stood still"):
            schema.declare(dataset, {"late": fo.FloatField()})
    assert _document(dataset)["sample_fields"] == before
    monkeypatch.setattr(lease, "PATIENCE_SECONDS", 0.2)
    message = "must be changed by one process at a time, but the process 77 on another-machine has been changing it"
    refused(message, compute_agreement, dataset, ANNOTATORS)
    assert list_agreements(dataset) == []
    assert _document(dataset)[names.LEASE]["owner"].startswith("another-machine")


# ---- the schema ----


def test_a_declared_field_is_stored_as_fiftyone_stores_it(make_dataset):
    ours, theirs = make_dataset(), make_dataset()
    new = {
        "a": fo.FloatField(description="a number", info={"of": "a run"}),
        "b": fo.EmbeddedDocumentField(fo.Detections, description="labels"),
        "alice.detections.c": fo.ListField(fo.StringField()),
    }
    schema.declare(ours, new)
    theirs._merge_sample_field_schema({path: field.copy() for path, field in new.items()})

    def without_times(value):
        if isinstance(value, dict):
            return {name: without_times(entry) for name, entry in value.items() if name != "created_at"}
        return [without_times(entry) for entry in value] if isinstance(value, list) else value

    found, expected = (without_times(_document(dataset)["sample_fields"]) for dataset in (ours, theirs))
    assert found == expected
    assert ours.get_field("alice.detections.c") is not None


def test_fields_that_somebody_adds_between_reading_and_writing_stay(make_dataset, monkeypatch):
    dataset = make_dataset()
    original, added = schema._flat, []

    def flat(document):
        if len(added) < 3:  # another process, just before the schema is written
            name = f"of_user_{len(added)}"
            field = {**_document(dataset)["sample_fields"][0], "name": name, "db_field": name}
            get_db_conn().datasets.update_one({"_id": dataset._doc.id}, {"$push": {"sample_fields": field}})
            added.append(name)
        return original(document)

    monkeypatch.setattr(schema, "_flat", flat)
    schema.declare(dataset, {"mine": fo.FloatField()})
    assert {*added, "mine"} <= dataset.get_field_schema().keys()
    schema.delete_fields(dataset, ["mine"])
    assert {*added} <= dataset.get_field_schema().keys()
    assert "mine" not in dataset.get_field_schema()


@pytest.mark.long
@pytest.mark.parametrize("when", ["at once", "later"])
def test_what_fiftyone_saves_by_position_while_fields_are_deleted_is_mended(make_dataset, monkeypatch, when):
    dataset = make_dataset()
    compute_quickly(dataset)
    dataset.add_sample_field("of_user", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    n = len(_document(dataset)["sample_fields"])
    nested = {f"sample_fields.{n - 1}.fields": _document(dataset)["sample_fields"][-1]["fields"]}
    module, function = {"at once": (schema, "dataset_id"), "later": (deletion, "delete_orphans")}[when]
    original, done = getattr(module, function), []

    def save_meanwhile(*arguments):
        # dataset.add_sample_field("of_user.detections.new", …) of another process, which has read the longer list
        if not done and len(_document(dataset)["sample_fields"]) < n - 1:
            done.append(get_db_conn().datasets.update_one({"_id": dataset._doc.id}, {"$set": nested}))
            assert None in _document(dataset)["sample_fields"]
        return original(*arguments)

    monkeypatch.setattr(module, function, save_meanwhile)
    delete_agreement(dataset)
    assert done
    assert all(entry and entry["name"] for entry in _document(dataset)["sample_fields"])
    dataset.reload()
    assert "of_user" in dataset.get_field_schema()


def test_a_field_in_one_that_was_deleted_is_refused_and_nothing_names_a_deleted_field(make_dataset):
    dataset = make_dataset()
    before = stored(dataset)
    dataset.add_sample_field("score", fo.FloatField)
    dataset.create_index("score")
    dataset.app_config.sidebar_groups = fo.DatasetAppConfig.default_sidebar_groups(dataset)
    dataset.app_config.media_fields.append("score")
    dataset.app_config.grid_media_field = "score"
    dataset.save()
    schema.delete_fields(dataset, ["score"])
    assert "score" not in dataset.list_indexes()
    assert "score" not in repr(dataset.app_config)
    assert dataset.app_config.grid_media_field == "filepath"
    assert stored(dataset)["dataset"]["sample_fields"] == before["dataset"]["sample_fields"]
    fo.load_dataset(dataset.name).delete_sample_field("bob")
    with pytest.raises(AgreementInputError, match=r"`bob.detections` must be a field of 'test-.*', but it was deleted"):
        schema.declare(dataset, {"bob.detections.new": fo.FloatField()})


# ---- runs ----


def _meanwhile(monkeypatch, action):
    """Do something once, in another thread, after a run was registered and before its first batch is computed."""
    done = []

    def work(original, *arguments):
        if not done:
            done.append(True)
            with ThreadPoolExecutor(1) as thread:
                thread.submit(action).result()
        return original(*arguments)

    for module, name in ((settle, "work_through"), (changing, "read_ahead")):
        monkeypatch.setattr(module, name, functools.partial(work, getattr(module, name)))


@pytest.mark.long
def test_of_two_runs_of_one_key_at_once_one_gets_a_sentence(make_dataset):
    dataset = make_dataset(random_annotators(30, seed=2))
    with ThreadPoolExecutor(2) as threads:
        both = [threads.submit(compute_quickly, fo.load_dataset(dataset.name)) for _ in range(2)]
    (failure,) = [each.exception() for each in both if each.exception()]
    assert isinstance(failure, AgreementInputError)
    assert "`run_key` must be new, got 'agreement'" in str(failure)
    assert run.Run(dataset, "agreement").report().n_samples == 30


@pytest.mark.long
def test_an_overwritten_run_touches_nothing_of_the_one_that_replaced_it(make_dataset, monkeypatch):
    dataset = make_dataset(random_annotators(30, seed=2))
    n_files = stored(dataset)["n_files"]
    _meanwhile(monkeypatch, lambda: compute_quickly(dataset, overwrite=True, iou=0.6))
    refused("'agreement' was deleted or replaced while it was running", compute_quickly, dataset)
    kept = run.Run(dataset, "agreement")
    assert (kept.report().config["iou"], kept.status, kept.records().report.n_samples) == (0.6, "completed", 30)
    assert stored(dataset)["n_files"] == n_files + 2
    delete_agreement(dataset)
    assert stored(dataset)["n_files"] == n_files


@pytest.mark.parametrize("also_units", [False, True])
def test_a_dataset_deleted_during_a_run_leaves_one_sentence_and_nothing_else(make_dataset, monkeypatch, also_units):
    dataset = make_dataset(random_annotators(9, seed=2))
    if also_units:
        compute_quickly(dataset)
    document_id, name = dataset._doc.id, dataset.name
    connected = get_db_conn()

    def delete():
        # as another process does, of which the dataset in this one knows nothing
        for run_document in connected.runs.find({"_dataset_id": document_id}):
            connected.runs.delete_one({"_id": run_document["_id"]})
        connected.datasets.delete_one({"_id": document_id})
        connected[dataset._sample_collection_name].drop()

    _meanwhile(monkeypatch, delete)
    with pytest.raises(AgreementInputError, match=f"The dataset '{name}' was deleted meanwhile; nothing is left"):
        add_units(dataset) if also_units else compute_quickly(dataset)
    assert connected.runs.count_documents({"_dataset_id": document_id}) == 0
    assert not fo.dataset_exists(name)
    dataset._deleted = True


def test_a_dataset_that_was_renamed_during_a_run_keeps_its_run(make_dataset, monkeypatch):
    dataset = make_dataset(random_annotators(9, seed=2))
    new_name = f"{dataset.name}-renamed"
    update = {"$set": {"name": new_name, "slug": new_name}}
    _meanwhile(monkeypatch, lambda: get_db_conn().datasets.update_one({"_id": dataset._doc.id}, update))
    assert compute_quickly(dataset).n_samples == 9
    assert dataset.name == new_name
