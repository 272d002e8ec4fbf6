"""Schema paths of a dataset, and the collection (samples or frames) that stores their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import fiftyone as fo
from pymongo.collection import Collection

from ... import names
from ..database.fiftyone_private import frame_collection, has_frame_fields, list_of, sample_collection

#: types, in the database, of texts, switches, numbers and dates
VALUE_TYPES = ["string", "bool", "number", "date"]


@dataclass(frozen=True, slots=True)
class Place:
    """Documents of one collection, and paths within them."""

    collection: Collection[dict[str, Any]]  #: the samples or the frames of a dataset
    prefix: str  #: prefix of the paths in the schema of the dataset
    paths: list[str]  #: paths within a document


def places(dataset: fo.Dataset, paths: Iterable[str]) -> Iterator[Place]:
    """Group paths by the collection that stores them."""
    paths = list(paths)
    of_frames = [path.removeprefix(names.FRAMES_PREFIX) for path in paths if is_of_frames(path)]
    of_samples = [path for path in paths if not is_of_frames(path)]
    if of_samples:
        yield Place(sample_collection(dataset), "", of_samples)
    if of_frames:
        yield Place(frame_collection(dataset), names.FRAMES_PREFIX, of_frames)


def is_of_frames(path: str) -> bool:
    """True if a schema path is on frames."""
    return path.startswith(names.FRAMES_PREFIX)


def where_labels_are(schema: Mapping[str, fo.Field], path: str) -> str:
    """Path of the labels of a field: its list, if it has one; of other fields the path itself."""
    kind = getattr(schema.get(path), "document_type", None)
    inner = list_of(kind) if isinstance(kind, type) and issubclass(kind, fo.Label) else None
    return path if inner is None else f"{path}.{inner[0]}"


def labels_have(dataset: fo.Dataset, paths: Iterable[str], *, first: int | None = None) -> bool:
    """True if labels of samples have an attribute with a text, switch, number or date; it need not be declared.

    Args:
        paths: where the attribute would be, in a document
        first: how many samples with labels are looked at; None: as many as it takes
    """
    paths = [path for path in paths if path.isprintable()]  # the database cannot look for a null character
    labelled: dict[str, Any] = {"$or": [{path.rpartition(".")[0]: {"$nin": [None, []]}} for path in paths]}
    found = {"$or": [{path: {"$type": VALUE_TYPES}} for path in paths]}
    looked_at: list[dict[str, Any]] = [] if first is None else [{"$match": labelled}, {"$limit": first}]
    stages = [*looked_at, {"$match": found}, {"$limit": 1}, {"$project": {"_id": True}}]
    return bool(paths) and any(True for _ in sample_collection(dataset).aggregate(stages))


def all_fields(dataset: fo.Dataset) -> dict[str, fo.Field]:
    """Every declared field by path, including fields of labels and frames."""
    fields = dict(dataset.get_field_schema(flat=True))
    if has_frame_fields(dataset):
        of_frames = dataset.get_frame_field_schema(flat=True) or {}
        fields.update({names.FRAMES_PREFIX + path: field for path, field in of_frames.items()})
    return fields


def outermost(paths: Iterable[str]) -> list[str]:
    """The paths that are not within another one."""
    wanted = set(paths)
    return sorted(path for path in wanted if not any(path.startswith(f"{other}.") for other in wanted))


def mark_of(field: fo.Field | None) -> str | None:
    """Key of the run that declared a field; None if no agreement run did."""
    info: dict[str, Any] = getattr(field, "info", None) or {}
    return info.get(names.RUN_METHOD)


def gold_of(field: fo.Field | None) -> str | None:
    """Name of the field of decisions as which a field was declared; None if it was not."""
    info: dict[str, Any] = getattr(field, "info", None) or {}
    return info.get(names.GOLD_MARK)


def is_marked(field: fo.Field | None) -> bool:
    """True if the plugin wrote a field: it belongs to a run, or holds decisions."""
    return mark_of(field) is not None or gold_of(field) is not None


def run_of(path: str, field: fo.Field) -> str | None:
    """Key of the run that wrote a field, read from its mark; None for renamed copies, which belong to the user."""
    run_key = mark_of(field)
    return run_key if run_key is not None and path.rpartition(".")[2] in names.own_names(run_key) else None


def attributes_of_runs(dataset: fo.Dataset) -> set[str]:
    """Names of the attributes that runs wrote on labels."""
    return {path.rpartition(".")[2] for path, field in all_fields(dataset).items() if run_of(path, field) is not None}
