"""The usual views of a run, saved with the dataset."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import fiftyone as fo
import fiftyone.core.utils as fou
from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.settings.arguments import takes_arrays
from ...agreement.settings.errors import AgreementInputError, shown
from ..database.fiftyone_private import add_saved_view, database, dataset_id, reload_saved_views
from ..record.lease import writing
from ..record.run import dataset_of
from ..record.run_labels import open_run_labels
from .agreement_view import view_agreement

#: names of saved views after the run key: the verdict that they show (None: all), and their description for users
_VIEWS: dict[str, tuple[str | None, str]] = {
    "lowest score": (None, "All samples with a score, the lowest first"),
    "class conflicts": ("class_conflict", "Where annotators name the same thing differently, the lowest scores first"),
    "missed": ("missed", "Missed: what two or more annotators have and others have not, the lowest scores first"),
    "lone": ("lone", "Lone: what only one annotator has, the lowest scores first"),
}


@takes_arrays
def save_agreement_views(dataset: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> list[str]:
    """Save the usual views of a run: ``<key>: lowest score``, ``class conflicts``, ``missed`` and ``lone``.

    Views that do not apply to the labels of the run are left out. Earlier saved views of the run are replaced;
    ``delete_agreement`` removes them.

    Args:
        dataset: the dataset, or a view of it; the views are of the whole dataset
        run_key: key of the run

    Returns:
        the names of the saved views

    Raises:
        AgreementInputError: as :func:`view_agreement`; if a saved view that the run did not save has one of the names
    """
    with writing(dataset_of(dataset)) as stored:
        verdicts = open_run_labels(stored, run_key).family.verdicts
        suffixes = [suffix for suffix, (verdict, _) in _VIEWS.items() if verdict is None or verdict in verdicts]
        return save_views(stored, run_key, suffixes)


def save_views(dataset: fo.Dataset, run_key: str, suffixes: Collection[str]) -> list[str]:
    """Save some of the usual views of a run; see :func:`save_agreement_views`."""
    check_view_names(dataset, run_key, suffixes)
    wanted = {_name(run_key, suffix): _VIEWS[suffix] for suffix in suffixes}
    _remove([view["_id"] for view in marked_views(dataset, {run_key}) if view["name"] in wanted], dataset)
    for name, (verdict, description) in wanted.items():
        view = view_agreement(dataset, run_key, verdict=verdict, max_score=1.0)
        add_saved_view(dataset, name, view, marked(description, run_key))
    return list(wanted)


def saved_suffixes(dataset: fo.Dataset, run_key: str) -> list[str]:
    """The usual views of a run that are saved under their original names."""
    found = {view["name"] for view in marked_views(dataset, {run_key})}
    return [suffix for suffix in _VIEWS if _name(run_key, suffix) in found]


def check_view_names(dataset: fo.Dataset, run_key: str, suffixes: Collection[str]) -> None:
    """Refuse to replace views that the run did not save."""
    wanted = {fou.to_slug(_name(run_key, suffix)) for suffix in suffixes}
    own = {view["name"] for view in marked_views(dataset, {run_key})}
    reload_saved_views(dataset)
    taken = [name for name in dataset.list_saved_views() if fou.to_slug(name) in wanted and name not in own]
    if taken:
        raise AgreementInputError(
            f"Saved views must have new names, got {shown(map(repr, taken))}, which the run {run_key!r} did not save; "
            "rename or delete them first"
        )


def _name(run_key: str, suffix: str) -> str:
    return f"{run_key}: {suffix}"


# ---- saved views of a run, recognised by a mark at the end of their description ----


def marked(description: str, run_key: str) -> str:
    """A description with the mark of a run; if a user edits the mark, the view belongs to the user."""
    return f"{description} {_mark(run_key)}"


def _mark(run_key: str) -> str:
    return f"(annotator agreement, run {run_key})"


def marked_views(dataset: fo.Dataset, run_keys: Collection[str]) -> list[dict[str, Any]]:
    """The documents of the saved views of some runs, including documents that the dataset does not refer to."""
    ends = "|".join(re.escape(_mark(run_key)) for run_key in sorted(run_keys))
    wanted = {"_dataset_id": dataset_id(dataset), "description": {"$regex": f"({ends})$"}}
    return list(database().views.find(wanted).sort("_id")) if ends else []


def remove_saved_views(dataset: fo.Dataset, run_keys: Collection[str]) -> None:
    """Remove the saved views of some runs."""
    _remove([view["_id"] for view in marked_views(dataset, run_keys)], dataset)


def _remove(ids: list[ObjectId], dataset: fo.Dataset) -> None:
    if not ids:
        return
    # references first, then documents, so that no reference ever dangles
    database().datasets.update_one({"_id": dataset_id(dataset)}, {"$pull": {"saved_views": {"$in": ids}}})
    database().views.delete_many({"_id": {"$in": ids}})
    reload_saved_views(dataset)
