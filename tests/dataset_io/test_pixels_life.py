"""Runs on semantic masks leave nothing behind: neither in the database nor in the folder of the heatmaps."""

from __future__ import annotations

import os
import shutil

import fiftyone as fo
import numpy as np
import pytest

from tests.dataset_io.masked import masked_dataset, random_masks
from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly
from tests.datasets import stored

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import delete_agreement, load_agreement, rename_agreement
from annotator_agreement.dataset_io.families import pixels
from annotator_agreement.dataset_io.record import run


@pytest.fixture
def dataset(make_dataset):
    return masked_dataset(make_dataset, random_masks(9, gaps=False))


@pytest.fixture
def folder(tmp_path):
    """A folder with files of the user, some of them named nearly like heatmaps."""
    maps = tmp_path / "maps"
    maps.mkdir()
    for name in ("mine.png", f"{'a' * 24}-{'b' * 24}.png", f"{'a' * 24}.png"):
        (maps / name).write_text("mine")
    return maps


def _files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_deleting_leaves_everything_as_it_was_and_renaming_and_overwriting_take_maps_along(dataset, folder):
    before, files = stored(dataset), _files(folder)
    compute_quickly(dataset, ANNOTATORS, boundaries=True, disagreement_map=True)
    assert _files(folder) == files
    delete_agreement(dataset)
    assert stored(dataset) == before
    report = compute_quickly(dataset, ANNOTATORS, map_folder=folder)
    assert len(_files(folder)) == len(files) + 9
    maps = [sample.agreement_map.get_map() for sample in dataset]
    rename_agreement(dataset, "agreement", "renamed")
    assert not [path for path in dataset.get_field_schema(flat=True) if "agreement" in path]
    for sample, expected in zip(dataset, maps, strict=True):
        np.testing.assert_array_equal(sample.renamed_map.get_map(), expected)
    assert load_agreement(dataset, "renamed").mean == report.mean
    compute_quickly(dataset, ["alice", "bob"], run_key="renamed", overwrite=True)  # a map is not asked for any more
    assert dataset.get_field("renamed_map") is None
    assert _files(folder) == files
    compute_quickly(dataset, ANNOTATORS, map_folder=folder, run_key="renamed", overwrite=True)
    assert len(_files(folder)) == len(files) + 9
    delete_agreement(dataset, "renamed")
    assert (stored(dataset), _files(folder)) == (before, files)


@pytest.mark.long
def test_a_clone_deletes_no_files_of_the_original_which_go_with_it_also_after_delete_run(dataset, folder, tmp_path):
    before, left = stored(dataset), _files(folder)
    compute_quickly(dataset, ANNOTATORS, map_folder=folder)
    files = _files(folder)
    clone = dataset.clone()
    delete_agreement(clone)
    assert clone.get_field("agreement_map") is None
    assert _files(folder) == files
    clone.delete()
    dataset.delete_run("agreement")
    delete_agreement(dataset)
    assert (stored(dataset), _files(folder)) == (before, left)
    compute_quickly(dataset, ANNOTATORS, map_folder=tmp_path / "gone")
    shutil.rmtree(tmp_path / "gone")  # does not hinder deleting
    delete_agreement(dataset)
    assert stored(dataset) == before


@pytest.mark.long
def test_a_run_that_is_deleted_while_it_runs_leaves_no_files(dataset, folder, monkeypatch):
    before, files = stored(dataset), _files(folder)
    values = pixels.PixelFamily.values

    def delete_then_write(self, labels, result):
        delete_agreement(fo.load_dataset(dataset.name))
        return values(self, labels, result)

    monkeypatch.setattr(pixels.PixelFamily, "values", delete_then_write)
    with pytest.raises(AgreementInputError, match="was deleted or replaced while it was running"):
        compute_quickly(dataset, ANNOTATORS, map_folder=folder)
    assert _files(folder) == files
    assert stored(dataset) == before


@pytest.mark.long
def test_a_file_that_breaks_during_the_run_stops_it(make_dataset, tmp_path, monkeypatch):
    dataset = masked_dataset(make_dataset, random_masks(4, gaps=False), tmp_path)
    before = stored(dataset)
    check = pixels.PixelFamily.check

    def check_then_break(self):
        check(self)
        os.remove(tmp_path / "2-bob.png")

    monkeypatch.setattr(pixels.PixelFamily, "check", check_then_break)
    with pytest.raises(AgreementInputError, match=r"Files of masks must exist, got 1 that do not \(first: .*2-bob.png"):
        compute_quickly(dataset, ANNOTATORS)
    assert run.Run(dataset, "agreement").config["status"] == "failed"
    delete_agreement(dataset)
    assert stored(dataset) == before
