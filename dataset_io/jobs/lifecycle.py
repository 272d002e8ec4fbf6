"""Rename a run and its fields, and list what deleting it removes."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any

import fiftyone as fo
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.settings.arguments import takes_arrays
from ...agreement.settings.errors import AgreementInputError
from ..app.appearance import entries
from ..app.settings import AppSettings, app_settings_of, configure_agreement_app, remove_app_settings
from ..labels.source import refuse_read_only
from ..labels.stored import Place, all_fields, places
from ..record.lease import writing
from ..record.run import COMPLETED, RENAMING, Run, refresh
from ..record.run_keys import check_key_is_free, check_not_in_database
from ..record.schema import declare, delete_fields, fields_marked, rename_in_app
from ..views.agreement_view import check_view_names, marked_views, remove_saved_views, save_views, views_of_renamed
from .deletion import delete_with_runs, field_keys

logger = logging.getLogger(__name__)

delete_with_runs(remove_saved_views, remove_app_settings)


def what_is_deleted(dataset: fo.Dataset, run_key: str) -> dict[str, list[str]]:
    """List what deleting a run removes, by kind: fields, attributes of labels, saved views, settings of the App."""
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
    with writing(run.dataset) as dataset:
        run.require()
        config = run.config
        if config.get("status") != COMPLETED:
            raise AgreementInputError(
                f"Only a completed run can be renamed, got {run_key!r} with the status {config.get('status')!r}"
            )
        renamed = check_rename(dataset, run_key, new_run_key)
        check_not_in_database(dataset, new_run_key, renamed.values())
        saved, settings = views_of_renamed(dataset, run_key, new_run_key), app_settings_of(dataset, run_key)
        check_view_names(dataset, run_key, saved)

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
            status=COMPLETED,
            renaming_to=None,
            fields_written=new,
            options={**config["options"], "run_key": new_run_key},
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
