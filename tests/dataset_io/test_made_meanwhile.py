"""Derived fields of a run that another process creates meanwhile, unknown to this process."""

from __future__ import annotations

import fiftyone as fo
import pytest

from tests.dataset_io.quick_runs import compute_quickly
from tests.datasets import random_annotators, stored

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import add_units, delete_agreement, rename_agreement, resolve_units
from annotator_agreement.dataset_io.app.settings import AppSettings, app_settings_of
from annotator_agreement.dataset_io.record import run
from annotator_agreement.dataset_io.run import read
from annotator_agreement.dataset_io.units import units_field


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
