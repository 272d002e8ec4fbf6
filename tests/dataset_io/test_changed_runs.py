"""What something else changed of a run, or of decisions: one sentence where it is loaded; deleting works."""

from __future__ import annotations

import os

import fiftyone as fo
import gridfs
import numpy as np
import pytest
from fiftyone.core.odm import get_db_conn

from tests.dataset_io.masked import masked_dataset, random_masks
from tests.dataset_io.quick_runs import compute_quickly, refused
from tests.datasets import random_annotators, stored

import annotator_agreement as aa
from annotator_agreement import AgreementInputError, dataset_io, names
from annotator_agreement.dataset_io import agreement_samples, delete_agreement, load_agreement
from annotator_agreement.dataset_io.record import Run

READS = (load_agreement, dataset_io.agreement_on, agreement_samples, dataset_io.changed_since,
         dataset_io.view_agreement, dataset_io.agreement_patches, dataset_io.update_agreement,
         dataset_io.configure_agreement_app,
         lambda dataset: dataset_io.compare_agreement(dataset, "agreement", "agreement"))  # fmt: skip
#: changes of the document of a run, and what is said of it
CHANGED = "The run 'agreement' was changed by something else; delete the run and compute it again"
CHANGES = [
    *(({"$unset": {f"config.{name}": ""}}, CHANGED)
      for name in ("results_id", "options", "annotators", "fields_written", "versions", "family", "changes")),
    *(({"$set": {name: value}}, CHANGED)
      for name, value in (("config.results_id", "x"), ("config.options", "x"), ("config.options", {}),
                          ("config.options", {"fields": 5, "run_key": None}), ("config.annotators", ["alice", 5]),
                          ("config.fields_written", [None, 5, "agreement_score"]),
                          ("config.changes", {"at": "x", "n_samples": 3}), ("results", "x"))),
    ({"$unset": {"results": ""}}, CHANGED),
    ({"$unset": {"config.status": ""}}, "must be completed, got the status None"),
    ({"$unset": {"config.schema_version": ""}}, "was stored by another version of the plugin"),
]  # fmt: skip


def _run_document(dataset):
    return get_db_conn().runs.find_one({"_dataset_id": dataset._doc.id})


@pytest.fixture
def small(make_dataset):
    return make_dataset(random_annotators(2, seed=4))


@pytest.mark.long
def test_a_changed_record_is_one_sentence_and_can_be_deleted(small):
    before = stored(small)
    for change, said in CHANGES:
        compute_quickly(small)
        get_db_conn().runs.update_one({"_id": _run_document(small)["_id"]}, change)
        small.reload()
        assert dataset_io.list_agreements(small) == ["agreement"]
        for read in READS:
            refused(said, read, small)
        delete_agreement(small)
        left = stored(small)
        if "results_id" in str(change):  # nothing tells whose results these are
            left |= {each: before[each] for each in ("n_files", "n_chunks")}
            for name in _files():
                gridfs.GridFS(get_db_conn()).delete(name)
        assert left == before, change


def test_changed_results_are_one_sentence_and_can_be_replaced(small):
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
        refused(CHANGED, agreement_samples, small)
    compute_quickly(small, overwrite=True)
    assert load_agreement(small).n_samples == len(small)
    delete_agreement(small)
    assert stored(small) == before


GOLD, DECISIONS = "agreement_gold", "agreement_gold_decisions"
#: changes of a sample with decisions, the third and fourth as of earlier versions
OF_DECISIONS = [
    {"$set": {f"{DECISIONS}.0": None}},
    {"$set": {f"{DECISIONS}.0": "text"}},
    {"$unset": {f"{DECISIONS}.$[].by_rule": 1}},
    {"$set": {f"{DECISIONS}.$[].replaced": {"decisions": []}}},
    {"$unset": {f"{DECISIONS}.0.hashes": ""}},
    {"$push": {f"{DECISIONS}.0.hashes": "a"}},
    {"$set": {f"{DECISIONS}.0.choice": "perhaps"}},
    {"$set": {f"{DECISIONS}.0.decided_at": "yesterday"}},
    {"$set": {GOLD: "text"}},
    {"$set": {f"{GOLD}.detections.0": None}},
    {"$set": {f"{GOLD}.detections.0.label": ["cat"]}},
]


def test_changed_decisions_are_one_sentence_and_can_be_deleted(small):
    compute_quickly(small)
    before, decisions = stored(small), aa.load(small).decisions
    said = "decisions in `agreement_gold` were changed by something else, or made by an earlier version; delete them"
    for change in OF_DECISIONS:
        decisions.decide("version", annotator="alice", all=True, by="mia")
        sample = small._sample_collection.find_one({f"{GOLD}.detections.0": {"$exists": True}})
        small._sample_collection.update_one({"_id": sample["_id"]}, change)
        for call in (decisions.list, decisions.report, decisions.apply, decisions.record_own):
            refused(said, call)
        refused(said, decisions.decide, "none", all=True, overwrite=True)
        decisions.delete()
        assert stored(small) == before, change


def test_maps_that_cannot_be_removed_do_not_keep_a_run_and_folders_are_refused(make_dataset, tmp_path, caplog):
    dataset, folder = masked_dataset(make_dataset, random_masks(3, gaps=False)), tmp_path / "maps"
    before = stored(dataset)
    for bad in ("a\x00b", "x" * 5_000, "y/" * 3_000, "~nobody-here/x", b"maps", 5, "", "\udcff"):
        with pytest.raises(AgreementInputError) as refusal:
            compute_quickly(dataset, map_folder=bad)
        assert len(str(refusal.value).encode()) <= 2_000
    assert dataset_io.list_agreements(dataset) == []
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
def test_a_full_disk_is_a_sentence():
    from annotator_agreement.dataset_io.families import write_map

    message = "`map_folder` must be writable, got '/dev': No space left on device"
    refused(message, write_map, "/dev/full", b"content")


# ---- the records of a run are one file, which is removed with the run, however the run is removed ----


def _files():
    found = get_db_conn().fs.files.find({"_id": {"$regex": "^annotator_agreement/"}}, {"_id": 1})
    return sorted(file["_id"] for file in found)


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
    dataset_io.update_agreement(gone)
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
    refused("must have its records in this database, got none", agreement_samples, small)
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
        assert dataset_io.agreement_on(clone.limit(1)).n_samples == 1
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
        dataset_io.add_units(small)
    assert Run(small, "agreement").config["schema_version"] == names.SCHEMA_VERSION - 1
    again = "run 'agreement' was stored by another version of the plugin; compute it again with overwrite=True"
    for read in (*READS, dataset_io.decide):
        refused(again, read, small)
    delete_agreement(small)
    assert stored(small) == before
