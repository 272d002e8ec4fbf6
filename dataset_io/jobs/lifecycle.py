"""Rename a run and its fields, list what deleting it removes, and delete it in any state of the run."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import fiftyone as fo
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.settings.arguments import takes_arrays
from ...agreement.settings.errors import AgreementInputError
from ..app.appearance import entries
from ..app.settings import AppSettings, app_settings_of, configure_agreement_app, remove_app_settings
from ..database.fiftyone_private import database, dataset_id, forget_cached_results
from ..families.pixels import delete_map_files, runs_of_files
from ..labels.source import refuse_read_only
from ..labels.stored import Place, all_fields, places
from ..record.lease import writing
from ..record.run import COMPLETED, DELETING, RENAMING, Run, list_agreements, refresh
from ..record.run_keys import check_key_is_free, check_not_in_database
from ..record.schema import declare, delete_fields, fields_marked, mend, rename_in_app, unset_undeclared
from ..record.stored_records import delete_orphans, delete_results
from ..views.agreement_view import check_view_names, marked_views, remove_saved_views, save_views, saved_suffixes

#: remove what users had made for runs of some keys: their saved views, and settings of the App
_also_removed: list[Callable[[fo.Dataset, set[str]], None]] = []


def delete_with_runs(*functions: Callable[[fo.Dataset, set[str]], None]) -> None:
    """Take what removes more of runs from here: to compute a run needs no views and settings of the App."""
    _also_removed[:] = functions


@takes_arrays
def delete_agreement(dataset: fo.Dataset | SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> None:
    """Delete a run and everything it wrote, in any state of the run.

    This includes crashed runs, interrupted renames and deletions, and fields left behind by ``dataset.delete_run()``.

    Args:
        dataset: the dataset, or a view of it
        run_key: key of the run

    Raises:
        AgreementInputError: if nothing of such a run exists
    """
    run = Run(dataset, run_key)
    with writing(run.dataset):
        _delete(run)


def _delete(run: Run) -> None:
    dataset = run.dataset
    if run.key in dataset.list_runs() and not run.exists:
        raise AgreementInputError(f"`run_key` must be an agreement run, got {run.key!r}, a run of another kind")
    documents = run.documents()
    keys = field_keys(run, documents)
    declared = sorted({path for key in keys for path in fields_marked(dataset, key)})
    refuse_read_only(dataset, declared)
    if not documents and not declared and run.reference is None:
        run.require()
    being_written = run.is_being_written
    if run.exists:
        run.update(status=DELETING)
    recorded = run.recorded_paths()
    for remove in _also_removed:
        remove(dataset, keys)
    _delete_maps(dataset, documents, declared)
    delete_fields(dataset, declared, being_written=being_written)
    unset_undeclared(dataset, sorted(recorded - set(declared)))
    # the run goes first, then its results, documents and records, so that no reference ever dangles
    database().datasets.update_one({"_id": dataset_id(run.dataset)}, {"$unset": {f"runs.{run.key}": ""}})
    for document in documents:
        delete_results(document)
    delete_orphans()
    forget_cached_results(run.dataset, run.key)
    mend(dataset)
    refresh(dataset)


def field_keys(run: Run, documents: Sequence[dict[str, Any]]) -> set[str]:
    """Keys that the fields of a run may carry: the current key, the new key of an interrupted rename, and the old key
    if the run was renamed with FiftyOne's own ``rename_run()``."""
    keys = {run.key}
    for document in documents:
        keys.add(str(document["config"].get("renaming_to") or run.key))
        keys.add(str(document["config"]["options"].get("run_key") or run.key))
    return keys - (set(list_agreements(run.dataset)) - {run.key})


def _delete_maps(dataset: fo.Dataset, documents: Sequence[dict[str, Any]], declared: Sequence[str]) -> None:
    """Delete the files of heatmaps, including files that only field values refer to."""
    options = [(document["config"]["options"], document["config"]["results_id"]) for document in documents]
    found = {(known["map_folder"], run_id) for known, run_id in options if isinstance(known.get("map_folder"), str)}
    heatmaps = [path for path in declared if getattr(dataset.get_field(path), "document_type", None) is fo.Heatmap]
    for place in places(dataset, heatmaps):
        for path in place.paths:
            named = place.collection.find({f"{path}.map_path": {"$type": "string"}}, {f"{path}.map_path": True})
            found |= runs_of_files(document[path]["map_path"] for document in named)
    own = [document["_id"] for document in documents]
    for folder, run_id in sorted(found):
        # a cloned dataset has the files of the original
        if database().runs.find_one({"config.results_id": run_id, "_id": {"$nin": own}}) is None:
            delete_map_files(folder, run_id)


logger = logging.getLogger(__name__)

delete_with_runs(remove_saved_views, remove_app_settings)


def what_is_deleted(dataset: fo.Dataset, run_key: str) -> dict[str, list[str]]:
    """List what deleting a run removes, by kind: names of fields, of attributes of labels, and of saved views."""
    run = Run(dataset, run_key)
    keys = field_keys(run, run.documents())
    fields = sorted({path for key in keys for path in fields_marked(dataset, key)})
    schema = all_fields(dataset)
    is_label = {path: getattr(schema.get(path), "document_type", None) is not None for path in fields}
    of_labels: dict[str, list[str]] = {}
    for path in fields:
        parent, _, name = path.rpartition(".")
        if parent and parent + "." != names.FRAMES_PREFIX and not parent.startswith(tuple(fields)):
            of_labels.setdefault(name, []).append(parent)
    together: dict[str, list[str]] = {}
    for name, parents in of_labels.items():
        together.setdefault(", ".join(parents), []).append(name)
    top = [path for path in fields if "." not in path.removeprefix(names.FRAMES_PREFIX)]
    settings = [entry["settings"] for entry in entries(dataset) if entry["run_key"] in keys]
    removed = {
        "fields": [path for path in top if not is_label[path]],
        "labels that it wrote": [path for path in top if is_label[path]],
        "attributes of labels": [f"{', '.join(found)} (in {parents})" for parents, found in together.items()],
        "saved views": sorted(view["name"] for view in marked_views(dataset, keys)),
        "settings of the App": [name.replace("_", " ") for each in settings for name, value in each.items() if value],
    }
    return {what: found for what, found in removed.items() if found}


@takes_arrays
def rename_agreement(dataset: fo.Dataset | SampleCollection, run_key: str, new_run_key: str) -> None:
    """Rename a run and its fields.

    After an interrupted rename, the run can be deleted under the key that ``list_runs`` shows.

    Args:
        dataset: the dataset, or a view of it
        run_key: key of the run
        new_run_key: the new key

    Raises:
        AgreementInputError: if there is no such completed run, or the new key is not free
    """
    run = Run(dataset, run_key)
    with writing(run.dataset):
        _rename(run, new_run_key)


def _rename(run: Run, new_run_key: str) -> None:
    dataset, run_key = run.dataset, run.key
    run.require()
    config = run.config
    if config.get("status") != COMPLETED:
        raise AgreementInputError(
            f"Only a completed run can be renamed, got {run_key!r} with the status {config.get('status')!r}"
        )
    renamed = check_rename(dataset, run_key, new_run_key)
    check_not_in_database(dataset, new_run_key, renamed.values())
    saved, settings = saved_suffixes(dataset, run_key), app_settings_of(dataset, run_key)
    check_view_names(dataset, new_run_key, saved)

    # saved views and App settings refer to the old names: remove them, and create them again at the end
    field_key = run.field_key
    remove_saved_views(dataset, {run_key, field_key})
    remove_app_settings(dataset, {run_key, field_key})
    old, new = list(renamed), list(renamed.values())
    run.update(status=RENAMING, renaming_to=new_run_key, fields_written=sorted({*config["fields_written"], *new}))
    fields = {path: dataset.get_field(before).copy() for before, path in renamed.items()}
    for field in fields.values():
        field.info = {names.RUN_METHOD: new_run_key}
    declare(dataset, fields)
    for place in places(dataset, old):
        inner = {path: renamed[place.prefix + path].removeprefix(place.prefix) for path in place.paths}
        _rename_values(dataset, place, inner)
    rename_in_app(dataset, renamed)
    delete_fields(dataset, fields_marked(dataset, field_key))
    dataset.rename_run(run_key, new_run_key)
    Run(dataset, new_run_key).update(
        status=COMPLETED, renaming_to=None, fields_written=new, options={**config["options"], "run_key": new_run_key}
    )
    # create the saved views and App settings again, if their labels still exist
    try:
        save_views(dataset, new_run_key, saved)
        if settings != AppSettings():
            configure_agreement_app(dataset, new_run_key, **dataclasses.asdict(settings))
    except AgreementInputError as error:
        logger.warning("Saved views and settings of the App were left out: %s", error)
    refresh(dataset)


def check_rename(dataset: fo.Dataset, run_key: str, new_run_key: str) -> dict[str, str]:
    """Refuse a new key that is in use (in the schema or the runs); returns the new path of every field.

    Fields are found by their marks, because the user may have renamed, cloned or deleted label fields since.
    """
    run = Run(dataset, run_key)
    run.require()
    field_key, marked = run.field_key, sorted(run.fields())
    refuse_read_only(dataset, marked)
    renamed = {}
    for path in marked:
        parent, dot, name = path.rpartition(".")
        renamed[path] = f"{parent}{dot}{new_run_key}{name.removeprefix(field_key)}"
    check_key_is_free(dataset, new_run_key, renamed.values(), argument="new_run_key")
    return renamed


def _rename_values(dataset: fo.Dataset, place: Place, renamed: Mapping[str, str]) -> None:
    """Move every value to its new name, each document in one step."""
    of_parents: dict[str, dict[str, str]] = {}
    for old, new in renamed.items():
        parent, _, name = old.rpartition(".")
        of_parents.setdefault(parent, {})[name] = new.rpartition(".")[2]
    stages: list[dict[str, object]] = [{"$set": {new: f"${old}" for old, new in of_parents.pop("", {}).items()}}]
    for parent, attributes in of_parents.items():
        # a null field stays null, an absent field absent
        root, _, inner = parent.partition(".")
        if isinstance(dataset.get_field(place.prefix + parent), fo.ListField):
            moved = {new: f"$$this.{old}" for old, new in attributes.items()}
            merged = {"$cond": [_is_document("$$this"), {"$mergeObjects": ["$$this", moved]}, "$$this"]}
            mapped: object = {"$map": {"input": f"${parent}", "in": merged}}
            changed = {"$mergeObjects": [f"${root}", {inner: mapped}]}
            is_there: object = {"$and": [_is_document(f"${root}"), {"$isArray": f"${parent}"}]}
        else:
            changed = {"$mergeObjects": [f"${root}", {new: f"${parent}.{old}" for old, new in attributes.items()}]}
            is_there = _is_document(f"${root}")
        stages.append({"$set": {root: {"$cond": [is_there, changed, f"${root}"]}}})
    stages = [stage for stage in stages if stage["$set"]]
    stages += [{"$unset": list(renamed)}]
    place.collection.update_many({"$or": [{path: {"$exists": True}} for path in renamed]}, stages)


def _is_document(value: str) -> dict[str, Any]:
    """An expression for whether a value is a document, and so may have attributes."""
    return {"$eq": [{"$type": value}, "object"]}
