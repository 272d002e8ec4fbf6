"""The fields that runs declare; each is marked with the key of its run, so that it can be deleted with the run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import fiftyone as fo

from ... import names
from ..fiftyone_private import reload_dataset
from ..labels.paths import all_fields, declare, places, run_of

#: FiftyOne's field for every type of :class:`~..names.FieldSpec`
_FIELD_TYPES: dict[str, Callable[..., fo.Field]] = {
    "float": fo.FloatField,
    "int": fo.IntField,
    "str": fo.StringField,
    "bool": fo.BooleanField,
    "list": functools.partial(fo.ListField, fo.StringField()),
    "heatmap": functools.partial(fo.EmbeddedDocumentField, fo.Heatmap),
}


def mark_of(field: fo.Field | None) -> str | None:
    """Key of the run that declared a field; None if no agreement run did."""
    info: dict[str, Any] = getattr(field, "info", None) or {}
    return info.get(names.RUN_METHOD)


def new_field(spec: names.FieldSpec, **options: Any) -> fo.Field:
    """A FiftyOne field from its specification, not declared yet."""
    return _FIELD_TYPES[spec.type](description=spec.description, **options)


def declare_fields(dataset: fo.Dataset, run_key: str, fields: Mapping[str, names.FieldSpec]) -> None:
    """Declare everything that a run writes, by path; try again if another process changes the schema meanwhile."""
    for _ in range(5):
        absent = {path: spec for path, spec in fields.items() if dataset.get_field(path) is None}
        if not absent:
            return
        info = {names.RUN_METHOD: run_key}
        declare(dataset, {path: new_field(spec, info=dict(info)) for path, spec in absent.items()})
        reload_dataset(dataset)
    raise RuntimeError(f"The fields of the run {run_key!r} could not be declared: the dataset's schema keeps changing")


def fields_marked(dataset: fo.Dataset, run_key: str) -> dict[str, fo.Field]:
    """Declared fields that carry the mark of a run, by path, whether or not the run still exists.

    This includes copies that the user made under other names, which belong to the user.
    """
    return {path: field for path, field in all_fields(dataset).items() if run_of(path, field) == run_key}


def unset_undeclared(dataset: fo.Dataset, paths: Sequence[str]) -> None:
    """Remove values of fields that are not in the schema (any more)."""
    for place in places(dataset, [path for path in paths if dataset.get_field(path) is None]):
        place.collection.update_many(
            {"$or": [{path: {"$exists": True}} for path in place.paths]},
            [{"$unset": place.paths}, {"$set": {"last_modified_at": "$$NOW"}}],
        )
