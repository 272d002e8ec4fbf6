"""The records of a run are one file, which is removed with the run, however the run is removed."""

from __future__ import annotations

import fiftyone as fo
import gridfs
import numpy as np
import pytest
from fiftyone.core.odm import get_db_conn

from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly
from tests.datasets import random_annotators, stored

from annotator_agreement import AgreementInputError, names
from annotator_agreement.dataset_io import (
    add_units,
    agreement_on,
    agreement_patches,
    agreement_samples,
    compare_agreement,
    decide,
    delete_agreement,
    load_agreement,
    update_agreement,
    view_agreement,
)
from annotator_agreement.dataset_io.record import stored_records
from annotator_agreement.dataset_io.record.run import Run


@pytest.fixture
def dataset(make_dataset):
    return make_dataset(random_annotators(12))


def _files():
    return sorted(
        file["_id"] for file in get_db_conn().fs.files.find({"_id": {"$regex": "^annotator_agreement/"}}, {"_id": 1})
    )


def test_the_records_are_one_file_and_the_results_hold_the_report_alone(dataset):
    report = compute_quickly(dataset, ANNOTATORS)
    assert _files() == [f"annotator_agreement/{Run(dataset, 'agreement').config['results_id']}"]
    results = dataset.load_run_results("agreement").serialize()
    assert set(results) - {"cls"} == {"applied", "report"}
    loaded = Run(dataset, "agreement").records()
    assert loaded.report == report
    scores = dict(zip(loaded.index.ids(), loaded.records.column("score").tolist(), strict=True))
    for sample in dataset:
        assert scores[sample.id] == pytest.approx(np.nan if (s := sample.agreement_score) is None else s, nan_ok=True)


def test_records_of_runs_that_fiftyone_deleted_are_removed_with_the_run(dataset):
    before = stored(dataset)
    compute_quickly(dataset, ANNOTATORS)
    dataset.delete_run("agreement")
    assert len(_files()) == 1
    delete_agreement(dataset)
    assert stored(dataset) == before


def test_records_of_datasets_that_fiftyone_deleted_are_removed_with_the_next_run(make_dataset):
    gone, dataset = make_dataset(random_annotators(5)), make_dataset(random_annotators(6))
    compute_quickly(gone, ANNOTATORS)
    left = _files()
    gone.delete()
    assert _files() == left
    compute_quickly(dataset, ANNOTATORS)
    assert not set(left) & set(_files())
    assert len(_files()) == 1


def test_the_report_before_an_update_of_a_dataset_that_fiftyone_deleted_is_removed_too(make_dataset):
    gone, dataset = make_dataset(random_annotators(5)), make_dataset(random_annotators(6))
    before = stored(dataset)
    compute_quickly(gone, ANNOTATORS)
    sample = gone.first()
    sample["alice"] = fo.Detections()
    sample.save()
    update_agreement(gone)
    gone.delete()
    assert stored(dataset)["n_files"] == before["n_files"] + 3  # records of both, report of the first
    compute_quickly(dataset, ANNOTATORS)
    delete_agreement(dataset)
    assert stored(dataset) == before


def test_a_file_with_a_name_like_ours_hinders_no_run(dataset):
    files = gridfs.GridFS(get_db_conn())
    files.put(b"mine", _id="annotator_agreement/of a user")
    compute_quickly(dataset, ANNOTATORS)
    delete_agreement(dataset)
    assert _files() == ["annotator_agreement/of a user"]
    files.delete("annotator_agreement/of a user")


def test_a_cloned_dataset_shares_the_records_until_both_runs_are_gone(dataset):
    compute_quickly(dataset, ANNOTATORS)
    clone = dataset.clone()
    try:
        delete_agreement(dataset)
        assert agreement_on(clone.limit(8)).n_samples == 8
        delete_agreement(clone)
        assert _files() == []
    finally:
        clone.delete()


def test_half_written_records_are_removed(dataset):
    before = stored(dataset)
    compute_quickly(dataset, ANNOTATORS)
    # as if the process had died before the file was closed, and somebody then deleted the run
    get_db_conn().fs.files.delete_one({"_id": _files()[0]})
    with pytest.raises(AgreementInputError, match="must have its records in this database, got none"):
        agreement_samples(dataset)
    assert load_agreement(dataset).n_samples == 12
    dataset.delete_run("agreement")
    delete_agreement(dataset)
    assert stored(dataset) == before


def test_runs_of_an_older_version_say_that_they_must_be_computed_again(dataset, monkeypatch):
    before = stored(dataset)
    with monkeypatch.context() as patch:
        patch.setattr(names, "SCHEMA_VERSION", names.SCHEMA_VERSION - 1)
        compute_quickly(dataset, ANNOTATORS)
        add_units(dataset)
    assert Run(dataset, "agreement").config["schema_version"] == names.SCHEMA_VERSION - 1
    again = "run 'agreement' was stored by another version of the plugin; compute it again with overwrite=True"
    for refused in (load_agreement, agreement_samples, view_agreement, update_agreement, agreement_patches, decide):
        with pytest.raises(AgreementInputError, match=again):
            refused(dataset)
    with pytest.raises(AgreementInputError, match=again):
        compare_agreement(dataset, "agreement")
    delete_agreement(dataset)
    assert stored(dataset) == before


def test_columns_come_back_as_they_were(dataset):
    compute_quickly(dataset, ANNOTATORS)
    loaded = Run(dataset, "agreement").records()
    for name in loaded.records.parts[0]:
        values = loaded.records.column(name)
        packed, is_smaller = stored_records._packed(values)
        again = stored_records._unpacked(packed, is_smaller, values.dtype.str, values.shape)
        assert again.dtype == values.dtype
        assert again.tobytes() == values.tobytes()
