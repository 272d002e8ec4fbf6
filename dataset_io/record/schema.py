"""Declare, rename and delete fields (those of runs carry a mark); every change of the schema is a single write.

FiftyOne saves changes of the schema by their position in a list. If another process shortens the list meanwhile, that
leaves entries without a name, and the dataset never opens again. Here the whole list is written, on condition that it
is still the one that was read; if it is not, the new list is read and changed.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import fiftyone as fo
from bson import ObjectId

from ... import names
from ...agreement.settings.errors import AgreementInputError
from ..database.fiftyone_private import (
    Document,
    database,
    dataset_id,
    delete_indexes,
    deleted_error,
    field_document,
    reload_dataset,
    rename_indexes,
)
from ..labels.stored import Place, all_fields, is_marked, is_of_frames, mark_of, outermost, places, run_of
from .lease import lost_lease, require_lease, writing

#: entries of a dataset's document that name fields, and such entries of its App settings
_ENTRIES = ("sample_fields", "frame_fields", "label_schemas", "frame_label_schemas", "active_label_schemas")
_OF_APP = ("active_fields", "sidebar_groups", "media_fields", "grid_media_field", "modal_media_field")
_MEDIA_FIELD = "filepath"
#: entries of the document of a field that say its type
_TYPE = ("ftype", "subfield", "embedded_doc_type")


def declare(dataset: fo.Dataset, fields: Mapping[str, fo.Field]) -> None:
    """Declare fields by path, unless there are fields of these paths.

    Raises:
        AgreementInputError: if the parent of a field was deleted meanwhile, or FiftyOne could not read a field back
    """

    def change(document: Document) -> None:
        for path, field in fields.items():
            parent, _, name = path.rpartition(".")
            siblings = _fields_in(document, parent)
            if siblings is None:
                raise AgreementInputError(
                    f"`{parent}` must be a field of {dataset.name!r}, but it was deleted meanwhile"
                )
            if not any(entry["name"] == name for entry in siblings):
                siblings.append(_readable_document(path, name, field))

    if fields:
        _change(dataset, change)


def _readable_document(path: str, name: str, field: fo.Field) -> Document:
    """The document of a field, which FiftyOne reads whenever it opens the dataset."""
    try:
        return field_document(name, field)
    except ValueError as error:
        raise AgreementInputError(f"Fields must be such that FiftyOne can read them, got {path!r}: {error}") from error


def undeclare(dataset: fo.Dataset, paths: Collection[str]) -> None:
    """Remove fields from the schema, from indexes, and from what the App shows and lets users annotate; values stay."""

    def change(document: Document) -> None:
        for path in paths:
            parent, _, name = path.rpartition(".")
            siblings = _fields_in(document, parent)
            if siblings is not None:
                siblings[:] = [entry for entry in siblings if entry["name"] != name]
            _remove_annotation_schema(document, path)
        _replace(document["app_config"], dict.fromkeys(paths))

    with writing(dataset):
        delete_indexes(dataset, list(paths))
        _change(dataset, change)


def redeclare(dataset: fo.Dataset, fields: Mapping[str, fo.Field]) -> None:
    """Give declared fields another type, by path; fields declared within them are dropped."""

    def change(document: Document) -> None:
        for path, field in fields.items():
            parent, _, name = path.rpartition(".")
            new = _readable_document(path, name, field)
            for siblings in filter(None, [_fields_in(document, parent)]):
                for number, entry in enumerate(siblings):
                    if entry["name"] == name and any(entry.get(key) != new.get(key) for key in _TYPE):
                        siblings[number] = new
                        _remove_annotation_schema(document, path)

    if fields:
        _change(dataset, change)


def mend(dataset: fo.Dataset) -> None:
    """Remove entries without a name, which FiftyOne leaves behind if it saves while fields are deleted.

    With them the dataset would never open again; the dataset in memory is read again.
    """
    _change(dataset, lambda document: None)


def rename_in_app(dataset: fo.Dataset, renamed: Mapping[str, str]) -> None:
    """Rename fields in the settings of the App, and in indexes."""
    with writing(dataset):
        rename_indexes(dataset, list(renamed), list(renamed.values()))
        _change(dataset, lambda document: _replace(document["app_config"], renamed))


def _change(dataset: fo.Dataset, change: Callable[[Document], None]) -> None:
    """Change the document of a dataset in one write; the dataset in memory is read again."""
    wanted = [*_ENTRIES, *(f"app_config.{name}" for name in _OF_APP)]
    with writing(dataset):
        while True:
            found = database().datasets.find_one({"_id": dataset_id(dataset)}, dict.fromkeys(wanted, True))
            if found is None:
                raise deleted_error(dataset)
            found.setdefault("app_config", {})
            changed = copy.deepcopy(found)
            for fields in ("sample_fields", "frame_fields"):
                if changed.get(fields):
                    named = [each for each in changed[fields] if each and each.get("name") and each.get("ftype")]
                    changed[fields] = named
            change(changed)
            before, after = _flat(found), _flat(changed)
            new = {name: value for name, value in after.items() if value != before.get(name)}
            if not new:
                break
            still = {name: {"$eq": before.get(name)} for name in new}
            update = {"$set": new, "$currentDate": {"last_modified_at": True}}
            if database().datasets.update_one({**require_lease(dataset), **still}, update).matched_count:
                continue  # until nothing is left to change, also in what others saved just now
            if database().datasets.find_one(require_lease(dataset), {"_id": True}) is None:
                raise lost_lease(dataset)
        reload_dataset(dataset)


def _flat(document: Document) -> Document:
    entries = {name: document[name] for name in _ENTRIES if name in document}
    of_app = document["app_config"]
    return entries | {f"app_config.{name}": of_app[name] for name in _OF_APP if name in of_app}


def _fields_in(document: Document, parent: str) -> list[Document] | None:
    """The documents of the fields in a field (``""``: of samples, ``frames``: of frames); None if it does not exist."""
    of_frames = is_of_frames(f"{parent}.")
    inner = parent.removeprefix(names.FRAMES_PREFIX.rstrip(".")).removeprefix(".") if of_frames else parent
    fields: list[Document] = document.setdefault("frame_fields" if of_frames else "sample_fields", [])
    for name in filter(None, inner.split(".")):
        entry = next((entry for entry in fields if entry["name"] == name), None)
        if entry is None:
            return None
        if entry.get("fields") is None:
            entry["fields"] = []
        fields = entry["fields"]
    return fields


def _remove_annotation_schema(document: Document, path: str) -> None:
    """Remove a field, or an attribute of labels, from what FiftyOne lets users annotate."""
    parent, _, name = path.removeprefix(names.FRAMES_PREFIX).rpartition(".")
    schemas = document.get("frame_label_schemas" if is_of_frames(path) else "label_schemas") or {}
    schemas.pop(path.removeprefix(names.FRAMES_PREFIX), None)
    for owner in (parent, parent.rpartition(".")[0]):
        attributes = (schemas.get(owner) or {}).get("attributes")
        if attributes:
            attributes[:] = [attribute for attribute in attributes if attribute.get("name") != name]
    if document.get("active_label_schemas"):
        document["active_label_schemas"] = [field for field in document["active_label_schemas"] if field != path]


def _replace(of_app: Document, renamed: Mapping[str, str | None]) -> None:
    """Rename fields in settings of the App; those without a new name are left out."""

    def new_path(path: str) -> str | None:
        for old, new in renamed.items():
            if path == old or path.startswith(f"{old}."):
                return None if new is None else new + path[len(old) :]
        return path

    lists = [*(of_app.get("sidebar_groups") or []), of_app.get("active_fields") or {}]
    for holder, name in [*((holder, "paths") for holder in lists), (of_app, "media_fields")]:
        if holder.get(name):
            holder[name] = [path for path in map(new_path, holder[name]) if path is not None]
    for name in ("grid_media_field", "modal_media_field"):
        if of_app.get(name) is not None:
            of_app[name] = new_path(of_app[name]) or _MEDIA_FIELD


#: FiftyOne's field for every type of :class:`~...names.FieldSpec`
_FIELD_TYPES: dict[str, Callable[..., fo.Field]] = {
    "float": fo.FloatField,
    "int": fo.IntField,
    "str": fo.StringField,
    "bool": fo.BooleanField,
    "time": fo.DateTimeField,
    "list": functools.partial(fo.ListField, fo.StringField()),
    "heatmap": functools.partial(fo.EmbeddedDocumentField, fo.Heatmap),
}


def new_field(spec: names.FieldSpec, **options: Any) -> fo.Field:
    """A FiftyOne field from its specification, not declared yet."""
    return _FIELD_TYPES[spec.type](description=spec.description, **options)


def declare_fields(dataset: fo.Dataset, run_key: str, fields: Mapping[str, names.FieldSpec]) -> None:
    """Declare everything that a run writes, by path, unless it is declared."""
    declared = all_fields(dataset)
    absent = {path: spec for path, spec in fields.items() if path not in declared}
    declare(dataset, {path: new_field(spec, info={names.RUN_METHOD: run_key}) for path, spec in absent.items()})


def fields_marked(dataset: fo.Dataset, run_key: str) -> dict[str, fo.Field]:
    """Declared fields that carry the mark of a run, by path, whether or not the run still exists.

    This includes copies that the user made under other names, which belong to the user.
    """
    return {path: field for path, field in all_fields(dataset).items() if run_of(path, field) == run_key}


def refuse_field_of_user(dataset: fo.Dataset, path: str, run_key: str) -> None:
    """Raise :class:`AgreementInputError` if there is a field that a run did not write."""
    field = dataset.get_field(path)
    if field is not None and mark_of(field) != run_key:
        raise AgreementInputError(f"`{path}` must be free, but it is a field of the dataset; rename or delete it")


def delete_fields(dataset: fo.Dataset, paths: Iterable[str], *, being_written: bool = False) -> None:
    """Delete fields and their values.

    Args:
        being_written: whether a run may be writing values. All samples get a new time stamp then, so that it does not
            write to samples that it read before; for all runs, the samples count as changed
    """
    deleted = outermost(paths)
    if not deleted:
        return
    with writing(dataset):
        # runs do not compare fields that this plugin wrote
        own = all(is_marked(dataset.get_field(path)) for path in deleted)
        # values first: FiftyOne cannot save a sample with values of which the schema does not know
        for place in places(dataset, deleted):
            _unset(place, {}, changes=being_written or not own)
        undeclare(dataset, deleted)


def unset_values(dataset: fo.Dataset, paths: Sequence[str], sample_ids: Sequence[ObjectId]) -> None:
    """Remove the values of a run from some samples, and their frames."""
    for place in places(dataset, paths):
        of_samples = {"_sample_id" if place.prefix else "_id": {"$in": list(sample_ids)}}
        _unset(place, of_samples)


def unset_undeclared(dataset: fo.Dataset, paths: Sequence[str]) -> None:
    """Remove values of fields that are not in the schema (any more)."""
    declared = all_fields(dataset)
    undeclared = [path for path in paths if path not in declared]
    for place in places(dataset, undeclared):
        _unset(place, {"$or": [{path: {"$exists": True}} for path in place.paths]})


def _unset(place: Place, query: Mapping[str, Any], *, changes: bool = False) -> None:
    """Remove values; with ``changes``, that counts as a change of the samples (new time stamp)."""
    stamp: list[dict[str, Any]] = [{"$set": {"last_modified_at": "$$NOW"}}] if changes else []
    place.collection.update_many(query, [{"$unset": place.paths}, *stamp])
