"""What a run has beside its fields, because the user asked for it: saved views and settings of the App. Removing it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import fiftyone as fo

from .app_colors import uncolor_labels
from .app_sidebar import remove_sidebar_group
from .indexes import drop_indexes
from .instances import unlink_units
from .saved_view_marks import remove_marked_views

#: entry of a run's config with what was set in the App, written before it is
APP_RECORD = "app"


def remove_attachments(dataset: fo.Dataset, run_keys: Collection[str], configs: Sequence[Mapping[str, Any]]) -> None:
    """Remove what a run has beside its fields, while these are still there.

    Args:
        dataset: the dataset
        run_keys: the keys that its fields and views may carry
        configs: its configs, those of dead runs of its key included; none if FiftyOne's ``delete_run()`` left the rest
    """
    remove_marked_views(dataset, run_keys)
    for config in configs:
        undo_app_record(dataset, config.get(APP_RECORD) or {})
    if not configs:
        unlink_units(dataset, run_keys)  # these can be told from all others without a record


def undo_app_record(dataset: fo.Dataset, record: Mapping[str, Any]) -> None:
    """Undo what was set in the App, completely or in part."""
    if record.get("linked_by"):
        unlink_units(dataset, [record["linked_by"]])
    if record.get("indexes"):
        drop_indexes(dataset, record["indexes"])
    if record.get("colors"):
        uncolor_labels(dataset, record["colors"])
    if record.get("sidebar"):
        remove_sidebar_group(dataset, record["sidebar"])
