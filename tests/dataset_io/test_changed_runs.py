"""What something else changed of a run, or of decisions: one sentence where it is loaded; deleting works."""

from __future__ import annotations

import os
from typing import Any

import fiftyone as fo
import gridfs
import numpy as np
import pytest
from fiftyone.core.odm import get_db_conn

from tests.dataset_io.masked import masked_dataset, random_masks
from tests.dataset_io.quick_runs import compute_quickly
from tests.datasets import random_annotators, stored

import annotator_agreement as aa
from annotator_agreement import AgreementInputError, names
from annotator_agreement.dataset_io import (
    add_units,
    agreement_on,
    agreement_patches,
    agreement_samples,
    changed_since,
    compare_agreement,
    configure_agreement_app,
    decide,
    delete_agreement,
    list_agreements,
    load_agreement,
    update_agreement,
    view_agreement,
)
from annotator_agreement.dataset_io.record import Run

READS = (
    load_agreement,
    agreement_on,
    agreement_samples,
    changed_since,
    view_agreement,
    agreement_patches,
    update_agreement,
    configure_agreement_app,
    lambda dataset: compare_agreement(dataset, "agreement", "agreement"),
)
#: changes of the document of a run, and what is said of it
CHANGED = "The run 'agreement' was changed by something else; delete the run and compute it again"
CHANGES: dict[str, tuple[Any, str]] = {
    **{
        f"no {name}": ({"$unset": {f"config.{name}": ""}}, CHANGED)
        for name in ("results_id", "options", "annotators", "fields_written", "versions", "family", "changes")
    },
    "a results_id that is no id": ({"$set": {"config.results_id": "x"}}, CHANGED),
    "options that are a text": ({"$set": {"config.options": "x"}}, CHANGED),
    "empty options": ({"$set": {"config.options": {}}}, CHANGED),
    "options of other types": ({"$set": {"config.options": {"fields": 5, "run_key": None}}}, CHANGED),
    "annotators of other types": ({"$set": {"config.annotators": ["alice", 5]}}, CHANGED),
    "fields_written of other types": ({"$set": {"config.fields_written": [None, 5, "agreement_score"]}}, CHANGED),
    "numbers that are texts": ({"$set": {"config.changes": {"at": "x", "n_samples": 3}}}, CHANGED),
    "no results": ({"$unset": {"results": ""}}, CHANGED),
    "results that are a text": ({"$set": {"results": "x"}}, CHANGED),
    "no status": ({"$unset": {"config.status": ""}}, "must be completed, got the status None"),
    "another schema": ({"$unset": {"config.schema_version": ""}}, "was stored by another version of the plugin"),
}


def _run_document(dataset: fo.Dataset) -> dict[str, Any]:
    return get_db_conn().runs.find_one({"_dataset_id": dataset._doc.id})


@pytest.fixture
def small(make_dataset):
    """Two samples, without a run."""
    return make_dataset(random_annotators(2, seed=4))


@pytest.mark.long
def test_a_changed_record_is_one_sentence_and_can_be_deleted(small) -> None:
    before = stored(small)
    for name, (change, said) in CHANGES.items():
        compute_quickly(small)
        get_db_conn().runs.update_one({"_id": _run_document(small)["_id"]}, change)
        small.reload()
        assert list_agreements(small) == ["agreement"]
        for read in READS:
            with pytest.raises(AgreementInputError, match=said):
                read(small)
        delete_agreement(small)
        left = stored(small)
        if "results_id" in str(change):  # nothing tells whose results these are
            left |= {each: before[each] for each in ("n_files", "n_chunks")}
            files = get_db_conn().fs.files.find({"_id": {"$regex": "^annotator_agreement/"}})
            for file in list(files):
                gridfs.GridFS(get_db_conn()).delete(file["_id"])
        assert left == before, name


def test_changed_results_are_one_sentence_and_can_be_replaced(small) -> None:
    before, database = stored(small), get_db_conn()
    for what in ("gone", "garbage", "one byte of the records", "records garbage", "no chunks"):
        compute_quickly(small, overwrite=True)
        document = _run_document(small)
        of_records = f"annotator_agreement/{document['config']['results_id']}"
        file_id = of_records if "records" in what else document["results"]
        if what in ("gone", "no chunks"):
            database.fs.chunks.delete_many({"files_id": file_id})
        if what == "gone":
            database.fs.files.delete_one({"_id": file_id})
        for chunk in list(database.fs.chunks.find({"files_id": file_id}).limit(1)):
            data = bytearray(chunk["data"])
            data[-70] ^= 1
            data = bytes(data) if what.startswith("one byte") else os.urandom(len(data))
            database.fs.chunks.update_one({"_id": chunk["_id"]}, {"$set": {"data": data}})
        with pytest.raises(AgreementInputError, match=CHANGED):
            agreement_samples(small)
    compute_quickly(small, overwrite=True)
    assert load_agreement(small).n_samples == len(small)
    delete_agreement(small)
    assert stored(small) == before


GOLD, DECISIONS = "agreement_gold", "agreement_gold_decisions"
#: changes of a sample with decisions
OF_DECISIONS: dict[str, Any] = {
    "a decision is null": {"$set": {f"{DECISIONS}.0": None}},
    "a decision is a text": {"$set": {f"{DECISIONS}.0": "text"}},
    "of an earlier version, without by_rule": {"$unset": {f"{DECISIONS}.$[].by_rule": 1}},
    "of an earlier version, with all that was replaced": {"$set": {f"{DECISIONS}.$[].replaced": {"decisions": []}}},
    "no hashes": {"$unset": {f"{DECISIONS}.0.hashes": ""}},
    "a hash too many": {"$push": {f"{DECISIONS}.0.hashes": "a"}},
    "the choice is unknown": {"$set": {f"{DECISIONS}.0.choice": "perhaps"}},
    "the time is a text": {"$set": {f"{DECISIONS}.0.decided_at": "yesterday"}},
    "the right labels are a text": {"$set": {GOLD: "text"}},
    "a right label is null": {"$set": {f"{GOLD}.detections.0": None}},
    "the class of a right label is a list": {"$set": {f"{GOLD}.detections.0.label": ["cat"]}},
}


def test_changed_decisions_are_one_sentence_and_can_be_deleted(small) -> None:
    compute_quickly(small)
    before, decisions = stored(small), aa.load(small).decisions
    said = "decisions in `agreement_gold` were changed by something else, or made by an earlier version; delete them"
    for name, change in OF_DECISIONS.items():
        decisions.decide("version", annotator="alice", all=True, by="mia")
        sample = small._sample_collection.find_one({f"{GOLD}.detections.0": {"$exists": True}})
        small._sample_collection.update_one({"_id": sample["_id"]}, change)
        for call in (decisions.list, decisions.report, decisions.apply, decisions.record_own):
            with pytest.raises(AgreementInputError, match=said):
                call()
        with pytest.raises(AgreementInputError, match=said):
            decisions.decide("none", all=True, overwrite=True)
        decisions.delete()
        assert stored(small) == before, name


def test_maps_that_cannot_be_removed_do_not_keep_a_run(make_dataset, tmp_path, caplog) -> None:
    dataset = masked_dataset(make_dataset, random_masks(3, gaps=False))
    before = stored(dataset)
    folder = tmp_path / "maps"
    compute_quickly(dataset, map_folder=str(folder))
    # a folder in place of a file cannot be removed as one, not even by root
    first = sorted(folder.iterdir())[0]
    first.unlink()
    first.mkdir()
    delete_agreement(dataset)
    assert stored(dataset) == before
    assert [path.name for path in folder.iterdir()] == [first.name]
    assert "could not be removed" in caplog.text


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_a_sentence() -> None:
    from annotator_agreement.dataset_io.families import write_map

    with pytest.raises(AgreementInputError, match="`map_folder` must be writable, got '/dev': No space left on device"):
        write_map("/dev/full", b"content")


def test_folders_of_maps_that_cannot_be(make_dataset) -> None:
    dataset = masked_dataset(make_dataset, random_masks(2, gaps=False))
    for folder in ("a\x00b", "x" * 5_000, "y/" * 3_000, "~nobody-here/x", b"maps", 5, "", "\udcff"):
        with pytest.raises(AgreementInputError) as refused:
            compute_quickly(dataset, map_folder=folder)
        assert len(str(refused.value).encode()) <= 2_000
    assert list_agreements(dataset) == []


# ---- the records of a run are one file, which is removed with the run, however the run is removed ----


def _files():
    return sorted(
        file["_id"] for file in get_db_conn().fs.files.find({"_id": {"$regex": "^annotator_agreement/"}}, {"_id": 1})
    )


def test_the_records_are_one_file_and_the_results_hold_the_report_alone(make_dataset):
    dataset = make_dataset(random_annotators(12))
    report = compute_quickly(dataset)
    assert _files() == [f"annotator_agreement/{Run(dataset, 'agreement').config['results_id']}"]
    results = dataset.load_run_results("agreement").serialize()
    assert set(results) - {"cls"} == {"applied", "report"}
    loaded = Run(dataset, "agreement").records()
    assert loaded.report == report
    scores = dict(zip(loaded.index.ids(), loaded.records.column("score").tolist(), strict=True))
    for sample in dataset:
        assert scores[sample.id] == pytest.approx(np.nan if (s := sample.agreement_score) is None else s, nan_ok=True)


@pytest.mark.long
def test_records_and_reports_of_datasets_that_fiftyone_deleted_are_removed_with_the_next_run(make_dataset):
    gone, dataset = make_dataset(random_annotators(5)), make_dataset(random_annotators(6))
    before = stored(dataset)
    compute_quickly(gone)
    sample = gone.first()
    sample["alice"] = fo.Detections()
    sample.save()
    update_agreement(gone)
    left = _files()
    gone.delete()
    assert _files() == left
    assert stored(dataset)["n_files"] == before["n_files"] + 3  # records of both, report of the first
    compute_quickly(dataset)
    assert not set(left) & set(_files())
    assert len(_files()) == 1
    delete_agreement(dataset)
    assert stored(dataset) == before


def test_a_file_with_a_name_like_ours_hinders_no_run_and_half_written_records_are_removed(small):
    before, files = stored(small), gridfs.GridFS(get_db_conn())
    files.put(b"mine", _id="annotator_agreement/of a user")
    compute_quickly(small)
    delete_agreement(small)
    assert _files() == ["annotator_agreement/of a user"]
    files.delete("annotator_agreement/of a user")
    compute_quickly(small)
    # as if the process had died before the file was closed, and somebody then deleted the run
    get_db_conn().fs.files.delete_one({"_id": _files()[0]})
    with pytest.raises(AgreementInputError, match="must have its records in this database, got none"):
        agreement_samples(small)
    assert load_agreement(small).n_samples == 2
    small.delete_run("agreement")
    delete_agreement(small)
    assert stored(small) == before


@pytest.mark.long
def test_a_cloned_dataset_shares_the_records_until_both_runs_are_gone(small):
    compute_quickly(small)
    clone = small.clone()
    try:
        delete_agreement(small)
        assert agreement_on(clone.limit(1)).n_samples == 1
        delete_agreement(clone)
        assert _files() == []
    finally:
        clone.delete()


@pytest.mark.long
def test_runs_of_an_older_version_say_that_they_must_be_computed_again(small, monkeypatch):
    before = stored(small)
    with monkeypatch.context() as patch:
        patch.setattr(names, "SCHEMA_VERSION", names.SCHEMA_VERSION - 1)
        compute_quickly(small)
        add_units(small)
    assert Run(small, "agreement").config["schema_version"] == names.SCHEMA_VERSION - 1
    again = "run 'agreement' was stored by another version of the plugin; compute it again with overwrite=True"
    for refused in (load_agreement, agreement_samples, view_agreement, update_agreement, agreement_patches, decide):
        with pytest.raises(AgreementInputError, match=again):
            refused(small)
    with pytest.raises(AgreementInputError, match=again):
        compare_agreement(small, "agreement")
    delete_agreement(small)
    assert stored(small) == before
