"""All uses of FiftyOne's private API, one plain function each: look here when FiftyOne changes.

FiftyOne has no public way to do these things. ``tests/test_layers.py`` checks that no other file uses the private API.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import fiftyone as fo
import fiftyone.core.media as fom
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from fiftyone.core.odm import get_db_conn
from fiftyone.core.view import DatasetView
from mongoengine.errors import ValidationError
from pymongo.collection import Collection
from pymongo.database import Database

Document = dict[str, Any]

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


def reload_dataset(dataset: fo.Dataset) -> None:
    """Reload the document of a dataset, its schema and its runs."""
    dataset._reload(hard=True)


def reload_samples(dataset: fo.Dataset) -> None:
    """Reload the samples in memory; stops at a sample that FiftyOne itself cannot read."""
    with contextlib.suppress(ValidationError, TypeError, ValueError):
        with contextlib.suppress(RuntimeError):
            dataset._reload_docs(hard=True)
            return
        # FiftyOne iterates over the samples in memory while another thread creates one
        dataset._reload_docs(hard=True)


def reload_saved_views(dataset: fo.Dataset) -> None:
    """Reload the list of saved views."""
    dataset._doc.reload("saved_views")


def save_dataset(dataset: fo.Dataset) -> None:
    """Save the document of a dataset."""
    dataset._doc.save()


def update_app_config(dataset: fo.Dataset, values: Mapping[str, Any]) -> None:
    """Change App settings in one write, as FiftyOne stores them; None removes a setting. Names may have dots."""
    of_kind: dict[str, dict[str, Any]] = {"$set": {}, "$unset": {}}
    for name, value in values.items():
        of_kind["$unset" if value is None else "$set"][f"app_config.{name}"] = "" if value is None else value
    changes = {operator: changed for operator, changed in of_kind.items() if changed}
    database().datasets.update_one({"_id": dataset_id(dataset)}, changes)
    reload_dataset(dataset)


# ---- schema ----


def has_frame_fields(samples: SampleCollection) -> bool:
    """Whether samples may have frames."""
    return bool(samples._has_frame_fields())


def default_fields(samples: SampleCollection, *, of_frames: bool = False) -> set[str]:
    """Names of the fields that FiftyOne itself has on every sample, or frame."""
    get = samples._get_default_frame_fields if of_frames else samples._get_default_sample_fields
    return set(get(include_private=True))


def merge_fields(dataset: fo.Dataset, fields: dict[str, fo.Field], *, of_frames: bool) -> None:
    """Declare fields by path, unchanged."""
    merge = dataset._merge_frame_field_schema if of_frames else dataset._merge_sample_field_schema
    merge(fields)


def rename_indexes(dataset: fo.Dataset, old: list[str], new: list[str], *, of_frames: bool) -> None:
    """Rename the indexes of fields."""
    document_class = dataset._frame_doc_cls if of_frames else dataset._sample_doc_cls
    document_class._rename_indexes(old, new)


def rename_app_paths(dataset: fo.Dataset, old: list[str], new: list[str]) -> None:
    """Rename fields in the settings of the App."""
    dataset._doc.app_config._rename_paths(old, new)
    save_dataset(dataset)


def document_fields(document: object) -> tuple[str, ...]:
    """Names of the fields of a FiftyOne document or document class; none for anything else."""
    return tuple(getattr(document, "_fields_ordered", ()))


def list_name(label_type: type[fo.Label]) -> str:
    """Name of the list in a label field that holds several labels."""
    name: str = label_type._LABEL_LIST_FIELD
    return name


# ---- views ----


def view_kind(samples: SampleCollection) -> Literal["patches", "frames", "clips"] | None:
    """Kind of the documents of a generated view; None if they are samples."""
    if not samples._is_generated:
        return None
    return "patches" if samples._is_patches else "frames" if samples._is_frames else "clips"


def is_generated(samples: SampleCollection) -> bool:
    """Whether a view shows patches, frames or clips, which FiftyOne keeps in a temporary dataset."""
    return view_kind(samples) is not None


def is_dynamic_groups(samples: SampleCollection) -> bool:
    """Whether a view groups samples by a field."""
    return bool(samples._is_dynamic_groups)


def is_part(samples: SampleCollection | None) -> bool:
    """Whether a view differs from the dataset: it is generated, or has stages."""
    return isinstance(samples, DatasetView) and (is_generated(samples) or bool(samples._stages))


def stages_of(view: DatasetView) -> list[fo.ViewStage]:
    """The stages of a view."""
    return list(view._stages)


def pipeline_of(samples: SampleCollection, *, frames_only: bool = False) -> list[Document]:
    """The aggregation pipeline of a view; with ``frames_only``, its documents are frames."""
    return list(samples._pipeline(frames_only=frames_only))


def serialized_stages(view: DatasetView | None, *, with_ids: bool = True) -> list[Document]:
    """The stages of a view as JSON values; without ids equal views are equal."""
    return [] if view is None else list(view._serialize(include_uuids=with_ids))


def view_from_stages(dataset: fo.Dataset, stages: Sequence[Document]) -> DatasetView:
    """The view with serialized stages."""
    return DatasetView._build(dataset, stages)


def all_slices(samples: SampleCollection) -> SampleCollection:
    """The samples of all slices of groups, also of different media types; other samples unchanged."""
    return samples.select_group_slices(_allow_mixed=True) if samples.media_type == fom.GROUP else samples


def mongo_stage(pipeline: list[Document], *, needs_frames: bool) -> fo.ViewStage:
    """Aggregation stages of MongoDB as one view stage of FiftyOne."""
    # without ``needs_frames`` FiftyOne joins all frames, and the samples of all group slices, to every sample
    return fo.Mongo(pipeline, _needs_frames=needs_frames, _group_slices=[])


# ---- runs ----


def run_document(dataset: fo.Dataset, run_key: str) -> Any:
    """FiftyOne's document of a run; None if the dataset has no such run."""
    return dataset._doc.runs.get(run_key)


def forget_cached_results(dataset: fo.Dataset, run_key: str) -> None:
    """Remove the results of a run that FiftyOne keeps in memory."""
    dataset._run_cache.pop(run_key, None)
