"""Several processes at once on one dataset: short versions of the campaigns of ``make stress``."""

from __future__ import annotations

import pytest

from tools.stress.hostile_files import hostile_files
from tools.stress.imports import at_once, killed
from tools.stress.shared_out import shared_runs
from tools.stress.together import any_operations, delete_beside_units
from tools.stress.workers import Command, workers

pytestmark = pytest.mark.long


def test_deleting_a_run_while_units_of_another_are_written_leaves_a_dataset_that_opens(private_fiftyone):
    assert delete_beside_units(7, 3) == (3, 0, [])


def test_any_operations_at_once_leave_a_dataset_that_opens_and_what_users_have(private_fiftyone):
    assert any_operations(7, 4) == (4, 0, [])


def test_imports_at_once_lose_no_label(private_fiftyone):
    tried, failed, examples = at_once(51, 2)
    assert (tried, failed) == (2, 0), examples


def test_imports_and_exports_that_are_killed_leave_the_old_or_the_new(private_fiftyone):
    tried, failed, examples = killed(51, 3)
    assert (tried, failed) == (3, 0), examples


def test_small_hostile_files_are_read_within_memory_and_time_or_refused(private_fiftyone):
    tried, failed, examples = hostile_files(0, 6, size=20_000)  # those that grow most
    assert (tried, failed) == (6, 0), examples


def test_a_shared_run_whose_main_process_is_killed_is_continued_or_deleted(private_fiftyone):
    tried, failed, examples = shared_runs(66, 1)
    assert (tried, failed) == (1, 0), examples


def test_a_process_that_hangs_is_followed_by_another_one(private_fiftyone):
    with workers(1) as (worker,):
        first = worker.pid
        assert worker.do(Command("time:sleep", [60]), patience=0.2).error == "Hanging"
        assert worker.do(Command("os:getpid")).value == worker.pid != first
