"""What a dataset has recorded of a run: its status, its options, what it writes. Reading and changing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import fiftyone as fo

from ...agreement.errors import AgreementInputError
from ..fiftyone_private import database, dataset_id, run_document

RUNNING, COMPLETED, FAILED, RENAMING, DELETING = "running", "completed", "failed", "renaming", "deleting"


def read_config(dataset: fo.Dataset, run_key: str) -> dict[str, Any]:
    """The config of a run: ``status``, ``fields_written``, ``options`` and so on."""
    return dict(dataset.get_run_info(run_key).config.serialize())


def update_config(
    dataset: fo.Dataset,
    run_key: str,
    *,
    fields_added: Sequence[str] = (),
    only_with: Mapping[str, Any] | None = None,
    **values: Any,
) -> None:
    """Change entries of a run's config, and nothing else of it, which somebody else may be changing.

    Args:
        dataset: the dataset
        run_key: key of the run
        fields_added: more fields that the run writes
        only_with: values without which nothing is changed
        **values: the entries; those within others have names with dots
    """
    run = run_document(dataset, run_key)
    update: dict[str, Any] = {"$set": _of_config(values)}
    if fields_added:
        update["$addToSet"] = _of_config({"fields_written": {"$each": list(fields_added)}})
    if database().runs.update_one({"_id": run.id, **_of_config(only_with or {})}, update).matched_count:
        run.reload()


def is_current(dataset: fo.Dataset, run_key: str, results_id: str, **values: Any) -> bool:
    """Whether a run is still the one that was registered, not deleted and not replaced, with some values."""
    current = {"_dataset_id": dataset_id(dataset), "key": run_key, **_of_config({"results_id": results_id, **values})}
    return database().runs.find_one(current, {"_id": True}) is not None


def require_current(dataset: fo.Dataset, run_key: str, results_id: str) -> None:
    """Raise :class:`AgreementInputError` if a run was deleted or replaced since it was registered."""
    if not is_current(dataset, run_key, results_id):
        raise AgreementInputError(
            f"The run {run_key!r} was deleted or replaced while it was running; it has stopped writing"
        )


def _of_config(values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"config.{name}": value for name, value in values.items()}
