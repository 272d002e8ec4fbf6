"""Saved views that a run made: told from those of the user by a mark at the end of their description."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import fiftyone as fo

from ..fiftyone_private import database, dataset_id, reload_saved_views


def marked(description: str, run_key: str) -> str:
    """A description with the mark of a run; a user who edits the mark makes the view their own."""
    return f"{description} {_mark(run_key)}"


def marked_views(dataset: fo.Dataset, run_keys: Collection[str]) -> list[dict[str, Any]]:
    """The documents of the saved views of some runs, those included that the dataset never came to refer to."""
    ends = "|".join(re.escape(_mark(run_key)) for run_key in sorted(run_keys))
    wanted = {"_dataset_id": dataset_id(dataset), "description": {"$regex": f"({ends})$"}}
    return list(database().views.find(wanted).sort("_id")) if ends else []


def remove_marked_views(dataset: fo.Dataset, run_keys: Collection[str]) -> None:
    """Remove the saved views of some runs."""
    ids = [view["_id"] for view in marked_views(dataset, run_keys)]
    if not ids:
        return
    connected = database()
    # nothing ever refers to what is gone
    connected.datasets.update_one({"_id": dataset_id(dataset)}, {"$pull": {"saved_views": {"$in": ids}}})
    connected.views.delete_many({"_id": {"$in": ids}})
    reload_saved_views(dataset)


def _mark(run_key: str) -> str:
    return f"(annotator agreement, run {run_key})"
