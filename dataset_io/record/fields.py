"""The fields that runs declare; each is marked with the key of its run, so that it can be deleted with the run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import fiftyone as fo
from bson import ObjectId

from ... import names
from ...agreement.settings.errors import AgreementInputError
from ..labels.paths import Place, all_fields, is_marked, mark_of, outermost, places, run_of
from .lease import writing
from .schema import declare, undeclare

#: FiftyOne's field for every type of :class:`~..names.FieldSpec`
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
        being_written: whether somebody may be writing them. All samples get a new time stamp then, so that nobody who
            read them before writes them now; all runs take that for a change
    """
    deleted = outermost(paths)
    if not deleted:
        return
    with writing(dataset):
        # what we wrote is no part of what runs compared
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
    """Remove values; whether that counts as a change of the samples."""
    stamp: list[dict[str, Any]] = [{"$set": {"last_modified_at": "$$NOW"}}] if changes else []
    place.collection.update_many(query, [{"$unset": place.paths}, *stamp])
