"""A process killed while it saves views or changes App settings leaves nothing that delete misses."""

from __future__ import annotations

import itertools

import pytest
from fiftyone.core.odm import get_db_conn

from tests.dataset_io.app_state import EVERYTHING
from tests.dataset_io.quick_runs import compute_quickly
from tests.datasets import random_annotators, stored

from annotator_agreement.dataset_io import (
    configure_agreement_app,
    delete_agreement,
    list_agreements,
    save_agreement_views,
)
from annotator_agreement.dataset_io.record import run
from annotator_agreement.dataset_io.record.lease import writing
from annotator_agreement.dataset_io.record.schema import fields_marked

pytestmark = pytest.mark.long


def _views(dataset):
    return get_db_conn().views.count_documents({"_dataset_id": dataset._doc.id})


def _kill_everywhere(kill, make_dataset, prepare, function, *arguments, keys=("agreement",), step=1, **options):
    """Kill a call before its first write, a later one, and so on, until it survives; the run is deleted each time."""
    dataset = make_dataset(random_annotators(9, seed=5))
    before = stored(dataset)
    for n in itertools.count(1, step):
        compute_quickly(dataset)
        prepare(dataset)
        killed = kill(dataset, function, *arguments, kill_before=n, **options)
        dataset.reload()
        assert len(dataset) == 9
        dataset.first()
        for key in keys:
            left = list_agreements(dataset), fields_marked(dataset, key), run.Run(dataset, key).documents()
            if key in left[0] or left[1] or left[2]:
                delete_agreement(dataset, key)
        with writing(dataset):  # the next writer takes the lease over, of a process that died before it gave it back
            pass
        assert stored(dataset) == before, n
        assert _views(dataset) == 0, n
        if not killed:
            return n
    raise AssertionError


def _nothing(dataset):
    pass


def _everything(dataset):
    configure_agreement_app(dataset, **EVERYTHING)
    save_agreement_views(dataset)


def test_setting_up_the_app_killed_before_every_second_of_its_writes(killable, make_dataset):
    n = _kill_everywhere(killable, make_dataset, _nothing, "configure_agreement_app", step=2, **EVERYTHING)
    assert n > 10  # the record, the groups, seven indexes, the colours, the links


def test_taking_settings_back_killed_before_every_third_of_its_writes(killable, make_dataset):
    n = _kill_everywhere(killable, make_dataset, _everything, "configure_agreement_app", step=3)
    assert n > 10


def test_saving_views_killed_before_any_of_its_writes(killable, make_dataset):
    n = _kill_everywhere(killable, make_dataset, _nothing, "save_agreement_views")
    assert n > 8  # four views, and the dataset for each


def test_deleting_a_run_with_settings_killed_before_every_third_of_its_writes(killable, make_dataset):
    n = _kill_everywhere(killable, make_dataset, _everything, "delete_agreement", step=3)
    assert n > 15


def test_renaming_a_run_with_settings_killed_before_every_seventh_of_its_writes(killable, make_dataset):
    keys = ("agreement", "renamed")
    n = _kill_everywhere(
        killable, make_dataset, _everything, "rename_agreement", "agreement", "renamed", keys=keys, step=7
    )
    assert n > 30
