"""Several processes at once on one dataset: short versions of the campaigns of ``make stress``."""

from __future__ import annotations

from tools.stress.together import any_operations, delete_beside_units


def test_deleting_a_run_while_units_of_another_are_written_leaves_a_dataset_that_opens(private_fiftyone):
    assert delete_beside_units(7, 3) == (3, 0, [])


def test_any_operations_at_once_leave_a_dataset_that_opens_and_what_users_have(private_fiftyone):
    assert any_operations(7, 4) == (4, 0, [])
