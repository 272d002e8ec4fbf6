"""Runs with damaged documents or files: listed, deleted and overwritten; reading works or gives a clear error."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import fiftyone as fo
import pytest
from fiftyone.core.odm import get_db_conn

from tests.dataset_io.masked import masked_dataset, random_masks
from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly
from tests.datasets import stored

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import (
    agreement_on,
    agreement_patches,
    agreement_samples,
    compare_agreement,
    compute_agreement,
    configure_agreement_app,
    delete_agreement,
    list_agreements,
    load_agreement,
    rename_agreement,
    view_agreement,
)

READS = (
    load_agreement,
    agreement_on,
    agreement_samples,
    view_agreement,
    agreement_patches,
    configure_agreement_app,
    lambda dataset: compare_agreement(dataset, "agreement", "agreement"),
    lambda dataset: rename_agreement(dataset, "agreement", "renamed"),
)
DAMAGES: dict[str, Any] = {
    "no results_id": {"$unset": {"config.results_id": ""}},
    "a results_id that is no id": {"$set": {"config.results_id": "x"}},
    "no options": {"$unset": {"config.options": ""}},
    "options that are a text": {"$set": {"config.options": "x"}},
    "empty options": {"$set": {"config.options": {}}},
    "options of other types": {"$set": {"config.options": {"fields": 5, "run_key": None}}},
    "no status": {"$unset": {"config.status": ""}},
    "no fields_written": {"$unset": {"config.fields_written": ""}},
    "fields_written of other types": {"$set": {"config.fields_written": [None, 5, "agreement_score"]}},
    "no class of the config": {"$unset": {"config.cls": ""}},
    "no annotators": {"$unset": {"config.annotators": ""}},
    "no results": {"$unset": {"results": ""}},
    "results that are a text": {"$set": {"results": "x"}},
    "no version": {"$unset": {"version": ""}},
    "no timestamp": {"$set": {"timestamp": "yesterday"}},
    "another schema": {"$unset": {"config.schema_version": ""}},
}


def _run_document(dataset: fo.Dataset) -> dict[str, Any]:
    return get_db_conn().runs.find_one({"_dataset_id": dataset._doc.id})


def _check_damaged(dataset: fo.Dataset, before: Any) -> None:
    """The run is listed, overwritten and deleted without a trace; reading it works or gives a clear error."""
    assert list_agreements(dataset) == ["agreement"]
    for read in READS:
        with contextlib.suppress(AgreementInputError):
            read(dataset)
        if list_agreements(dataset) == ["renamed"]:
            rename_agreement(dataset, "renamed", "agreement")
    with pytest.raises(AgreementInputError, match="must be new"):
        compute_quickly(dataset)
    compute_quickly(dataset, run_key="other")
    delete_agreement(dataset, "other")
    compute_quickly(dataset, overwrite=True)
    assert load_agreement(dataset).n_samples == len(dataset)
    delete_agreement(dataset)
    assert list_agreements(dataset) == []
    assert stored(dataset) == before


@pytest.mark.parametrize("change", DAMAGES.values(), ids=DAMAGES)
def test_damaged_documents(make_dataset, change: Any) -> None:
    dataset = make_dataset()
    before = stored(dataset)
    compute_quickly(dataset)
    get_db_conn().runs.update_one({"_id": _run_document(dataset)["_id"]}, change)
    dataset.reload()
    _check_damaged(dataset, before)


@pytest.mark.parametrize("change", DAMAGES.values(), ids=DAMAGES)
def test_damaged_documents_can_be_deleted_at_once(make_dataset, change: Any) -> None:
    dataset = make_dataset()
    before = stored(dataset)
    compute_quickly(dataset)
    get_db_conn().runs.update_one({"_id": _run_document(dataset)["_id"]}, change)
    delete_agreement(dataset)
    left = stored(dataset)
    if "results_id" not in str(change):  # nothing tells whose results these are
        assert left == before
    assert {name: left[name] for name in ("samples", "dataset")} == {
        name: before[name] for name in ("samples", "dataset")
    }


@pytest.mark.parametrize("what", ["gone", "garbage", "records gone", "records garbage", "no chunks"])
def test_damaged_results(make_dataset, what: str) -> None:
    dataset = make_dataset()
    before = stored(dataset)
    compute_quickly(dataset)
    database, document = get_db_conn(), _run_document(dataset)
    of_records = f"annotator_agreement/{document['config']['results_id']}"
    file_id = of_records if what.startswith("records") else document["results"]
    if what.endswith("gone"):
        database.fs.files.delete_one({"_id": file_id})
        database.fs.chunks.delete_many({"files_id": file_id})
    elif what == "no chunks":
        database.fs.chunks.delete_many({"files_id": file_id})
    else:
        chunk = database.fs.chunks.find_one({"files_id": file_id})
        database.fs.chunks.update_one({"_id": chunk["_id"]}, {"$set": {"data": os.urandom(len(chunk["data"]))}})
    with pytest.raises(AgreementInputError, match="compute it again with overwrite=True, or remove it"):
        agreement_samples(dataset)
    _check_damaged(dataset, before)


def test_maps_that_cannot_be_removed_do_not_keep_a_run(make_dataset, tmp_path, caplog) -> None:
    dataset = masked_dataset(make_dataset, random_masks(3, gaps=False))
    before = stored(dataset)
    folder = tmp_path / "maps"
    compute_agreement(dataset, list(ANNOTATORS), resamples=0, map_folder=str(folder))
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
    from annotator_agreement.dataset_io.families.map_files import write_map

    with pytest.raises(AgreementInputError, match="`map_folder` must be writable, got '/dev': No space left on device"):
        write_map("/dev/full", b"content")


@pytest.mark.parametrize("folder", ["a\x00b", "x" * 5_000, "y/" * 3_000, "~nobody-here/x", b"maps", 5, "", "\udcff"])
def test_folders_of_maps_that_cannot_be(make_dataset, folder: Any) -> None:
    dataset = masked_dataset(make_dataset, random_masks(2, gaps=False))
    with pytest.raises(AgreementInputError) as refused:
        compute_agreement(dataset, list(ANNOTATORS), resamples=0, map_folder=folder)
    assert len(str(refused.value).encode()) <= 2_000
    assert list_agreements(dataset) == []
