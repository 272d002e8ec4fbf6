"""All uses of FiftyOne's private API, one plain function each: look here when FiftyOne changes.

FiftyOne has no public way to do these things. ``tests/test_layers.py`` checks that no other file uses the private API.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Literal
from zipfile import BadZipFile

import fiftyone as fo
import fiftyone.core.dataset as fod
import fiftyone.core.media as fom
import fiftyone.core.utils as fou
import fiftyone.operators as foo
from bson import CodecOptions, ObjectId, json_util
from bson.raw_bson import RawBSONDocument
from fiftyone.core.collections import SampleCollection
from fiftyone.core.odm import SampleFieldDocument, SavedViewDocument, get_db_conn
from fiftyone.core.view import DatasetView
from fiftyone.server.events.state import get_state
from mongoengine.errors import MongoEngineException, ValidationError
from pymongo.collection import Collection
from pymongo.database import Database

from ... import names
from ...agreement.settings.errors import AgreementInputError
from .stored_arrays import UNREADABLE

Document = dict[str, Any]

#: attribute, on the sample class of a dataset in memory, with the stored parts that :func:`reload_dataset` read last
_READ = "_annotator_agreement_read"
#: parts of the document of a dataset that refer to documents of other collections, by collection
_REFERENCES = {
    "runs": ("annotation_runs", "brain_methods", "evaluations", "runs"),
    "views": ("saved_views",),
    "workspaces": ("workspaces",),
}
#: parts that can be reloaded without the schema
_APART = {"last_modified_at", "last_deletion_at", *(part for parts in _REFERENCES.values() for part in parts)}

# ---- datasets and their documents in the database ----


def database() -> Database[Document]:
    """The database that FiftyOne is connected to."""
    connected: Database[Document] = get_db_conn()
    return connected


def stored_dataset(samples: SampleCollection) -> fo.Dataset:
    """The dataset that stores the documents of a view; for patches, frames and clips FiftyOne's temporary dataset."""
    return samples._dataset


def root_dataset(samples: SampleCollection) -> fo.Dataset:
    """The user's dataset behind a view, also for views of patches, frames and clips."""
    return samples._root_dataset


def dataset_id(dataset: fo.Dataset) -> ObjectId:
    """Id of the document of a dataset."""
    document_id: ObjectId = dataset._doc.id
    return document_id


def sample_collection(samples: SampleCollection) -> Collection[Document]:
    """The MongoDB collection of the samples of a dataset or view."""
    collection: Collection[Document] = samples._dataset._sample_collection
    return collection


def frame_collection(samples: SampleCollection) -> Collection[Document]:
    """The MongoDB collection of the frames of a dataset of videos."""
    collection: Collection[Document] = samples._dataset._frame_collection
    return collection


def is_deleted(document_id: ObjectId) -> bool:
    """True if there is no dataset (any more) whose document has this id."""
    return database().datasets.find_one({"_id": document_id}, {"_id": True}) is None


def deleted_error(dataset: fo.Dataset) -> AgreementInputError:
    """Error for a dataset that was deleted."""
    return AgreementInputError(f"The dataset {dataset.name!r} must exist, but it was deleted")


def reload_dataset(dataset: fo.Dataset) -> None:
    """Reload document, schema and runs of a dataset, as far as they changed since the last call."""
    # FiftyOne loads by name: the dataset may have been renamed, or replaced by another one of the same name
    content = _content(dataset_id(dataset))
    if content is None:
        raise deleted_error(dataset)
    name, parts = content.name, content.parts
    document, before = getattr(dataset._sample_doc_cls, _READ, (None, {}))
    if document is dataset._doc and not document._get_changed_fields():
        changed = [part for part in {**before, **parts} if before.get(part) != parts.get(part)]
        if set(changed) <= _APART:  # the schema, whose reading takes seconds with hundreds of fields, is as it was
            if changed:
                document.reload(*changed)
                setattr(dataset._sample_doc_cls, _READ, (document, parts))
            return
    # as in FiftyOne's own ``reload()``, which also saves the document, to note when it was loaded
    media_type = dataset.media_type
    dataset._doc, dataset._sample_doc_cls, dataset._frame_doc_cls = fod._load_dataset(dataset, name, virtual=True)
    if media_type != dataset._doc.media_type:
        dataset._set_media_type(dataset._doc.media_type)
    if dataset._group_slice is None:
        dataset._group_slice = dataset._doc.default_group_slice
    setattr(dataset._sample_doc_cls, _READ, (dataset._doc, parts))


@dataclass(frozen=True, slots=True)
class DatasetContent:
    """Snapshot of a dataset's documents, without its samples."""

    name: str  #: name of the dataset
    parts: dict[str, Any]  #: entries of its document; of runs, saved views and workspaces also their documents
    #: a hash of the parts and, if asked for, of the sample, and frame, changed last and of the last decision
    version: str


def content_of(ctx: foo.ExecutionContext) -> DatasetContent | None:
    """Snapshot of the dataset of an event in the App; None if the event has none."""
    key = ctx.dataset_id or (database().datasets.find_one({"name": ctx.dataset_name}, {"_id": True}) or {}).get("_id")
    return None if key is None else _content(ObjectId(key), with_samples=True)


def load_dataset_once(ctx: foo.ExecutionContext, content: DatasetContent) -> None:
    """Load the dataset of an event in the App so that :func:`reload_dataset` need not read it a second time.

    FiftyOne's server reads a dataset anew for every event.

    Args:
        content: a snapshot taken before; the loaded dataset is at least as new
    """
    dataset = ctx.dataset
    setattr(dataset._sample_doc_cls, _READ, (dataset._doc, content.parts))


def _content(key: ObjectId, *, with_samples: bool = False) -> DatasetContent | None:
    """Snapshot of a dataset; None if it was deleted. ``with_samples``: the version changes with samples, too."""
    raw: Any = database().with_options(codec_options=CodecOptions(document_class=RawBSONDocument))
    found = raw.datasets.find_one({"_id": key}, {"last_loaded_at": False, names.LEASE: False})
    if found is None:
        return None
    version = hashlib.md5(found.raw, usedforsecurity=False)
    parts: dict[str, Any] = dict(found.items())
    for collection, names_of_parts in _REFERENCES.items():
        documents = [document.raw for document in raw[collection].find({"_dataset_id": key})]
        version.update(b"".join(documents))
        parts |= {part: (parts.get(part), documents) for part in names_of_parts}
    decided = names.DEFAULT_GOLD_FIELD + names.DECISIONS_SUFFIX
    for kind in ("sample", "frame") if with_samples else ():
        if not found.get(f"{kind}_collection_name"):
            continue
        orders = ["last_modified_at"]
        if any(declared["name"] == decided for declared in found.get(f"{kind}_fields") or ()):
            orders.append(f"{decided}.id")  # decisions do not change the time stamp
        for order in orders:
            has_it = {order: {"$exists": True}}  # needed for a sparse index to be used
            newest = raw[found[f"{kind}_collection_name"]].find_one(has_it, {order: True}, sort=[(order, -1)])
            version.update(b"" if newest is None else newest.raw)
    return DatasetContent(found["name"], parts, version.hexdigest())


def reload_samples(dataset: fo.Dataset) -> None:
    """Reload the samples in memory; stops at a sample that FiftyOne itself cannot read."""
    with contextlib.suppress(
        MongoEngineException, ValidationError, BadZipFile, AttributeError, LookupError, *UNREADABLE
    ):
        with contextlib.suppress(RuntimeError):
            dataset._reload_docs(hard=True)
            return
        # again: FiftyOne iterated over the samples in memory while another thread created one
        dataset._reload_docs(hard=True)


def reload_saved_views(dataset: fo.Dataset) -> None:
    """Reload the list of saved views."""
    dataset._doc.reload("saved_views")


def add_saved_view(dataset: fo.Dataset, name: str, view: DatasetView, description: str) -> None:
    """Save a view under a new name, without touching what others save at the same time."""
    now = datetime.now(timezone.utc).replace(tzinfo=None)
    document = SavedViewDocument(
        dataset_id=dataset_id(dataset),
        name=name,
        slug=fou.to_slug(name),
        description=description,
        view_stages=[json_util.dumps(stage) for stage in view._serialize(include_uuids=False)],
        created_at=now,
        last_modified_at=now,
    )
    document.save(upsert=True)
    database().datasets.update_one({"_id": dataset_id(dataset)}, {"$push": {"saved_views": document.id}})
    reload_saved_views(dataset)


def stored_parts(dataset: fo.Dataset, paths: Sequence[str]) -> Document:
    """Parts of the document of a dataset as they are stored, by path; None for a part that is not there."""
    found = database().datasets.find_one({"_id": dataset_id(dataset)}, dict.fromkeys(paths, True))
    if found is None:
        raise deleted_error(dataset)
    return {path: _part_of(found, path) for path in paths}


def _part_of(document: Document, path: str) -> Any:
    outer, _, inner = path.partition(".")
    part = document.get(outer)
    return _part_of(part or {}, inner) if inner else part


def replace_parts(dataset: fo.Dataset, before: Document, values: Document) -> bool:
    """Change parts of the document of a dataset in one write, unless somebody changed them since they were read.

    Args:
        before: the parts as they were read, by path; None for a part that was not there
        values: the new parts, by path; None removes a part

    Returns:
        whether they were changed
    """
    condition: Document = {"_id": dataset_id(dataset)}
    of_kind: Document = {"$set": {}, "$unset": {}}
    for path, value in values.items():
        condition[path] = {"$eq": before[path]}
        of_kind["$unset" if value is None else "$set"][path] = "" if value is None else value
    changes = {operator: changed for operator, changed in of_kind.items() if changed}
    matched = database().datasets.update_one(condition, changes).matched_count
    reload_dataset(dataset)
    return bool(matched)


# ---- schema ----


def has_frame_fields(samples: SampleCollection) -> bool:
    """True if samples may have frames."""
    return bool(samples._has_frame_fields())


def default_fields(samples: SampleCollection, *, of_frames: bool = False) -> set[str]:
    """Names of the fields that FiftyOne itself has on every sample, or frame."""
    get = samples._get_default_frame_fields if of_frames else samples._get_default_sample_fields
    return set(get(include_private=True))


def field_document(name: str, field: fo.Field) -> Document:
    """Document of a field as the dataset stores it, for a field that is declared now.

    Raises:
        ValueError: if FiftyOne could not read the field back, and so could never open the dataset again
    """
    field = field.copy()
    field.name = field.db_field = name
    field._set_created_at(datetime.now(timezone.utc).replace(tzinfo=None))
    document = SampleFieldDocument.from_field(field)
    try:
        document.to_field()
    except Exception as error:  # whatever FiftyOne raises, it would raise whenever the dataset is opened
        raise ValueError(str(error)) from error
    return dict(document.to_mongo())


def delete_indexes(dataset: fo.Dataset, paths: Sequence[str]) -> None:
    """Delete all indexes that contain any of some fields."""
    dataset._sample_doc_cls._delete_indexes(list(paths))


def rename_indexes(dataset: fo.Dataset, old: Sequence[str], new: Sequence[str]) -> None:
    """Rename fields in indexes."""
    dataset._sample_doc_cls._rename_indexes(list(old), list(new))


def document_fields(document: object) -> tuple[str, ...]:
    """Names of the fields of a FiftyOne document or document class; none for anything else."""
    return tuple(getattr(document, "_fields_ordered", ()))


def list_name(label_type: type[fo.Label]) -> str:
    """Name of the list in a label field that holds several labels."""
    name: str = label_type._LABEL_LIST_FIELD
    return name


def list_of(label_type: type[fo.Label]) -> tuple[str, type[fo.Label]] | None:
    """Name of the list in a label field, and type of the labels in it; None for a field with one label."""
    if not hasattr(label_type, "_LABEL_LIST_FIELD"):
        return None
    name = list_name(label_type)
    return name, label_type._fields[name].field.document_type


# ---- views ----


def view_kind(samples: SampleCollection) -> Literal["patches", "frames", "clips"] | None:
    """Kind of the documents of a generated view; None if they are samples."""
    if not samples._is_generated:
        return None
    return "patches" if samples._is_patches else "frames" if samples._is_frames else "clips"


def is_generated(samples: SampleCollection) -> bool:
    """True for a view of patches, frames or clips, which FiftyOne keeps in a temporary dataset."""
    return view_kind(samples) is not None


def is_dynamic_groups(samples: SampleCollection) -> bool:
    """True if a view groups samples by a field."""
    return bool(samples._is_dynamic_groups)


def is_part(samples: SampleCollection | None) -> bool:
    """True if a view differs from the dataset: it is generated, or has stages."""
    return isinstance(samples, DatasetView) and (is_generated(samples) or bool(samples._stages))


def stages_of(view: DatasetView) -> list[fo.ViewStage]:
    """The stages of a view."""
    return list(view._stages)


def with_stages(view: DatasetView, stages: Sequence[fo.ViewStage]) -> DatasetView:
    """The view with more stages, none of which changes samples, fields or media type on which a later one depends.

    FiftyOne copies all stages of a view several times for every stage that is added, which takes minutes from some
    dozen long ones on.
    """
    for stage in stages:
        stage.validate(view)
    found = copy(view)
    found._stages.extend(stages)
    return found


def pipeline_of(samples: SampleCollection, *, frames_only: bool = False) -> list[Document]:
    """The aggregation pipeline of a view; with ``frames_only``, its documents are frames."""
    return list(samples._pipeline(frames_only=frames_only))


def serialized_stages(view: DatasetView | None, *, with_ids: bool = True) -> list[Document]:
    """The stages of a view as JSON values; without their ids, equal views have equal values."""
    return [] if view is None else list(view._serialize(include_uuids=with_ids))


def view_from_stages(dataset: fo.Dataset, stages: Sequence[Document]) -> DatasetView:
    """The view with serialized stages."""
    return DatasetView._build(dataset, stages)


def view_in_app() -> DatasetView | None:
    """The view that the App shows, as the server in this process knows it; None if it shows none."""
    return get_state().view


def all_slices(samples: SampleCollection) -> SampleCollection:
    """The samples of all slices of groups, also of different media types; other samples unchanged."""
    return samples.select_group_slices(_allow_mixed=True) if samples.media_type == fom.GROUP else samples


# ---- what older versions of FiftyOne lack ----


def flat_target(ctx: foo.ExecutionContext) -> SampleCollection:
    """The samples that the user chose in a form; of groups only those of the active slice.

    Raises:
        AttributeError, ValueError: if FiftyOne cannot flatten the view
    """
    if asks_for_target(ctx):
        return ctx.target_view(require_flat=True)
    target = ctx.target_view()
    if target.media_type != fom.GROUP:
        return target
    return target.select_group_slices(ctx.group_slice or target.group_slice)


def asks_for_target(ctx: foo.ExecutionContext) -> bool:
    """True if FiftyOne itself adds the choice of samples to a form that calls ``ctx.target_view()``."""
    return _takes(ctx.target_view, "require_flat")


def open_panel(ctx: foo.ExecutionContext, panel: str, state: dict[str, Any]) -> bool:
    """Open a panel beside the samples; returns whether this version of FiftyOne can give it an initial state."""
    takes_state = _takes(ctx.ops.open_panel, "state")
    ctx.ops.open_panel(panel, layout="horizontal", **({"state": {"state": state}} if takes_state else {}))
    return takes_state


def _takes(function: Callable[..., Any], parameter: str) -> bool:
    return parameter in inspect.signature(function).parameters


# ---- runs ----


def run_document(dataset: fo.Dataset, run_key: str) -> Any:
    """FiftyOne's document of a run; None if the dataset has no such run."""
    return dataset._doc.runs.get(run_key)


def forget_cached_results(dataset: fo.Dataset, run_key: str) -> None:
    """Remove the results of a run that FiftyOne keeps in memory."""
    dataset._run_cache.pop(run_key, None)
