"""The life of a run in a dataset: registered, completed, listed, deleted, whatever it died of."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import fiftyone as fo
import fiftyone.constants as foc
import gridfs
import numpy as np
import scipy
from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.config import AgreementConfig
from ...agreement.errors import AgreementInputError, shown
from ...agreement.family import report_from_dict
from ...agreement.report import AgreementReport
from ..families.map_files import delete_map_files, runs_of_files
from ..fiftyone_private import (
    database,
    dataset_id,
    forget_cached_results,
    reload_dataset,
    reload_samples,
    root_dataset,
    run_document,
    stored_dataset,
)
from ..labels.paths import all_fields, declare, delete_fields, places
from ..labels.source import refuse_read_only
from .attachments import remove_attachments
from .run_config import COMPLETED, DELETING, RUNNING, read_config, update_config
from .stored_records import OpenRecords, StoredRecords

logger = logging.getLogger(__name__)

#: FiftyOne's field for every type of :class:`~..names.FieldSpec`
_FIELD_TYPES: dict[str, Callable[..., fo.Field]] = {
    "float": fo.FloatField,
    "int": fo.IntField,
    "str": fo.StringField,
    "bool": fo.BooleanField,
    "list": functools.partial(fo.ListField, fo.StringField()),
    "heatmap": functools.partial(fo.EmbeddedDocumentField, fo.Heatmap),
}


# ---- reading ----


def refresh(dataset: fo.Dataset) -> None:
    """Read the dataset again, samples in memory included, so that what the database has is known."""
    reload_dataset(dataset)
    reload_samples(dataset)


def dataset_of(samples: object) -> fo.Dataset:
    """The dataset of a dataset or view.

    Raises:
        AgreementInputError: if it is neither
    """
    if not isinstance(samples, SampleCollection):
        raise AgreementInputError(f"`dataset` must be a FiftyOne dataset or view, got {type(samples).__name__}")
    return root_dataset(samples)


def is_agreement(dataset: fo.Dataset, run_key: str) -> bool:
    """Whether a run of the dataset is one of ours."""
    return run_key in dataset.list_runs(method=names.RUN_METHOD)


def list_agreements(dataset: fo.Dataset | SampleCollection) -> list[str]:
    """Keys of the agreement runs of a dataset, whatever their status."""
    return list(dataset_of(dataset).list_runs(method=names.RUN_METHOD))


def owner(field: fo.Field | None) -> str | None:
    """Key of the run that declared a field, None if no run of ours did."""
    info = getattr(field, "info", None) or {}
    return info.get(names.RUN_METHOD)


def load_agreement(dataset: fo.Dataset | SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> AgreementReport:
    """The report of a completed run.

    Args:
        dataset: the dataset, or a view of it
        run_key: key of the run

    Raises:
        AgreementInputError: if there is no such run, it did not complete, or an older version computed it
    """
    from ..results.sample_table import with_samples  # which reads records with what stands here

    return with_samples(_load(dataset_of(dataset), run_key)[0], dataset_of(dataset))


def load_records(dataset: fo.Dataset, run_key: str) -> OpenRecords:
    """The records of a completed run; errors as of :func:`load_agreement`."""
    report, records = _load(dataset, run_key)
    return StoredRecords.from_dict(records).open(report)


def _load(dataset: fo.Dataset, run_key: str) -> tuple[AgreementReport, dict[str, Any]]:
    require_run(dataset, run_key)
    status = read_config(dataset, run_key).get("status")
    results = dataset.load_run_results(run_key, cache=False, load_view=False)
    if status != COMPLETED or results is None:
        raise AgreementInputError(
            f"The run {run_key!r} must be completed, got the status {status!r}; {_compute_again(run_key)}"
        )
    return read_report(results.report, run_key), results.records


def read_report(text: str, run_key: str) -> AgreementReport:
    """The report of a run from the text that its results hold.

    Raises:
        AgreementInputError: if an older version wrote it
    """
    stored = json.loads(text)
    if stored["schema_version"] != names.SCHEMA_VERSION:
        raise AgreementInputError(
            f"The run {run_key!r} must have results of version {names.SCHEMA_VERSION}, got version "
            f"{stored['schema_version']}, of another version of the plugin; {_compute_again(run_key)}"
        )
    # a run that was renamed is known by its new key
    return report_from_dict({**stored, "run_key": run_key, "config": {**stored["config"], "run_key": run_key}})


def _compute_again(run_key: str) -> str:
    return f"compute it again with overwrite=True, or remove it with delete_agreement(dataset, {run_key!r})"


def require_run(dataset: fo.Dataset, run_key: str) -> None:
    """Raise :class:`AgreementInputError` unless the key is a run of ours; others may have changed the schema, too."""
    reload_dataset(dataset)
    if run_key not in list_agreements(dataset):
        found = shown(map(repr, list_agreements(dataset))) or "none"
        raise AgreementInputError(
            f"`run_key` must be an agreement run of {dataset.name!r}, got {run_key!r}; runs are {found}"
        )


# ---- the run record ----


def register(
    samples: SampleCollection,
    config: AgreementConfig,
    family: str,
    annotators: Sequence[str],
    fields_written: Sequence[str],
    results_id: str,
) -> None:
    """Record a run as running, before anything is written; the id tells it from others of its key."""
    run = stored_dataset(samples).init_run(
        method=names.RUN_METHOD,
        schema_version=names.SCHEMA_VERSION,
        status=RUNNING,
        fields_written=list(fields_written),
        family=family,
        annotators=list(annotators),
        options=config.to_dict(),
        results_id=results_id,
        versions=versions(),
        seed=config.seed,
    )
    samples.register_run(config.run_key, run)


def versions() -> dict[str, str]:
    """Versions of what a result depends on."""
    return {"fiftyone": foc.VERSION, "numpy": np.__version__, "scipy": scipy.__version__}


def complete(dataset: fo.Dataset, run_key: str, report: AgreementReport, records: StoredRecords) -> None:
    """Store the report and the records of a run, and mark it as completed."""
    document = run_document(dataset, run_key)
    results = dataset.init_run_results(run_key, report=json.dumps(report.to_dict()), records=records.to_dict())
    # as FiftyOne stores results, but under an id that the run's config knows: a file that was half written when the
    # process died can be found and removed
    document.results.put(
        json.dumps(results.serialize()).encode(),
        _id=ObjectId(read_config(dataset, run_key)["results_id"]),
        content_type="application/json",
    )
    document.save()
    update_config(dataset, run_key, status=COMPLETED)


# ---- schema ----


def declare_fields(dataset: fo.Dataset, run_key: str, fields: Mapping[str, names.FieldSpec]) -> None:
    """Declare everything a run writes, by path; repeated until nobody else's declarations got in between."""
    info = {names.RUN_METHOD: run_key}
    for _ in range(5):
        absent = {path: spec for path, spec in fields.items() if dataset.get_field(path) is None}
        if not absent:
            return
        declare(dataset, {path: new_field(spec, info=dict(info)) for path, spec in absent.items()})
        reload_dataset(dataset)
    raise RuntimeError(f"The fields of the run {run_key!r} could not be declared: the dataset's schema keeps changing")


def new_field(spec: names.FieldSpec, **options: Any) -> fo.Field:
    """A field of FiftyOne's as it is specified, not declared yet."""
    return _FIELD_TYPES[spec.type](description=spec.description, **options)


def fields_of_run(dataset: fo.Dataset, run_key: str) -> dict[str, fo.Field]:
    """Declared fields that carry the mark of a run, by path, whether or not the run still exists.

    What the user copied, mark included, to a field of another name belongs to the user.
    """
    own = names.own_names(run_key)
    return {
        path: field
        for path, field in all_fields(dataset).items()
        if owner(field) == run_key and path.rpartition(".")[2] in own
    }


# ---- deleting ----


def delete_agreement(dataset: fo.Dataset | SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> None:
    """Delete a run and everything it wrote, whatever state it is in.

    Runs that died, that were being renamed or deleted, and fields left behind by ``dataset.delete_run()`` included.

    Args:
        dataset: the dataset, or a view of it
        run_key: key of the run

    Raises:
        AgreementInputError: if there is nothing of such a run
    """
    dataset = dataset_of(dataset)
    reload_dataset(dataset)
    if run_key in dataset.list_runs() and not is_agreement(dataset, run_key):
        raise AgreementInputError(f"`run_key` must be an agreement run, got {run_key!r}, a run of another kind")
    documents = _run_documents(dataset, run_key)
    keys = _field_keys(dataset, run_key, documents)
    declared = sorted({path for key in keys for path in fields_of_run(dataset, key)})
    refuse_read_only(dataset, declared)
    if not documents and not declared and run_key not in _run_references(dataset):
        require_run(dataset, run_key)
    if is_agreement(dataset, run_key):
        update_config(dataset, run_key, status=DELETING)
    recorded = recorded_paths(dataset, run_key)
    remove_attachments(dataset, keys, [document["config"] for document in documents])
    _delete_maps(dataset, documents, declared)
    if declared:
        delete_fields(dataset, declared)
    _unset_undeclared(dataset, sorted(recorded - set(declared)))
    _forget_run(dataset, run_key, documents)
    refresh(dataset)


def _delete_maps(dataset: fo.Dataset, documents: Sequence[dict[str, Any]], declared: Sequence[str]) -> None:
    """Delete the files of heatmaps, those included that only the values of fields tell of."""
    options = [(document["config"].get("options", {}), document["config"]["results_id"]) for document in documents]
    found = {(known["map_folder"], run_id) for known, run_id in options if known.get("map_folder")}
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


def _field_keys(dataset: fo.Dataset, run_key: str, documents: Sequence[dict[str, Any]]) -> set[str]:
    """Keys that the fields of a run may carry: its own, the one it was being given, and the one it first had if it was
    renamed with FiftyOne's own ``rename_run()``."""
    keys = {run_key}
    for document in documents:
        keys.add(document["config"].get("renaming_to") or run_key)
        keys.add(document["config"].get("options", {}).get("run_key", run_key))
    return keys - (set(list_agreements(dataset)) - {run_key})


def _run_references(dataset: fo.Dataset) -> dict[str, Any]:
    """Ids of the run documents that the dataset's document refers to, also where the document is gone."""
    document = database().datasets.find_one({"_id": dataset_id(dataset)}, {"runs": True}) or {}
    return dict(document.get("runs") or {})


def _run_documents(dataset: fo.Dataset, run_key: str) -> list[dict[str, Any]]:
    """The documents of a run in the database, those that the dataset never came to refer to included."""
    references = _run_references(dataset)
    of_others = [reference for key, reference in references.items() if key != run_key]
    return list(
        database().runs.find(
            {
                "_dataset_id": dataset_id(dataset),
                "config.method": names.RUN_METHOD,
                "$or": [{"key": run_key}, {"_id": references.get(run_key)}],
                "_id": {"$nin": of_others},
            }
        )
    )


def recorded_paths(dataset: fo.Dataset, run_key: str) -> set[str]:
    """Everything that runs of this key, dead ones included, said that they would write."""
    documents = _run_documents(dataset, run_key)
    return {path for document in documents for path in document["config"].get("fields_written", [])}


def _unset_undeclared(dataset: fo.Dataset, paths: Sequence[str]) -> None:
    """Remove values whose fields the schema does not know (any more)."""
    for place in places(dataset, [path for path in paths if dataset.get_field(path) is None]):
        place.collection.update_many(
            {"$or": [{path: {"$exists": True}} for path in place.paths]},
            [{"$unset": place.paths}, {"$set": {"last_modified_at": "$$NOW"}}],
        )


def remove_remains(dataset: fo.Dataset, run_key: str, paths: Sequence[str]) -> None:
    """Remove what a run went on to write after somebody deleted or replaced it, but nothing of its successor."""
    if not _run_documents(dataset, run_key):
        delete_fields(dataset, fields_of_run(dataset, run_key))
    _unset_undeclared(dataset, sorted(set(paths) - recorded_paths(dataset, run_key)))
    refresh(dataset)


def _forget_run(dataset: fo.Dataset, run_key: str, documents: Sequence[dict[str, Any]]) -> None:
    """Remove the run from the dataset, then its results and documents: nothing ever refers to what is gone."""
    connected = database()
    connected.datasets.update_one({"_id": dataset_id(dataset)}, {"$unset": {f"runs.{run_key}": ""}})
    files = gridfs.GridFS(connected)
    for document in documents:
        # the id that the config knows may be that of a half-written file, or, in a cloned dataset, of the original's
        for file_id in {document.get("results"), ObjectId(document["config"]["results_id"])} - {None}:
            if connected.runs.find_one({"results": file_id, "_id": {"$ne": document["_id"]}}) is None:
                files.delete(file_id)
        connected.runs.delete_one({"_id": document["_id"]})
    forget_cached_results(dataset, run_key)
