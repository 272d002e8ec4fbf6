"""A run of a dataset: its record, its fields and its stored results."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import fiftyone as fo
import fiftyone.constants as foc
import gridfs
import numpy as np
import scipy
from bson import ObjectId, json_util
from fiftyone.core.collections import SampleCollection
from gridfs.errors import GridFSError

from ... import names
from ...agreement.families.family import report_from_dict
from ...agreement.settings.errors import AgreementInputError, did_you_mean, shown
from ...agreement.statistics.report import AgreementReport
from ..database.fiftyone_private import (
    database,
    dataset_id,
    forget_cached_results,
    reload_dataset,
    reload_samples,
    root_dataset,
    run_document,
    view_from_stages,
)
from ..database.stored_arrays import UNREADABLE
from ..labels.source import Source
from .lease import has_died, this_process, writing
from .sample_index import CHANGES_RECORD, SampleIndex, new_changes_record
from .schema import declare_fields, delete_fields, fields_marked, unset_undeclared
from .stored_records import (
    OpenRecords,
    Store,
    delete_files,
    delete_orphans,
    delete_parts,
    file_id,
    open_index,
    open_records,
    stored_bytes,
    surely_written,
)

#: used as the id of results where a record has none
_NO_RESULTS = "0" * 24

#: entry of the record of a run on several workers: its shards, and which of them are done
SHARED = "shared"
RUNNING, COMPLETED, FAILED, RENAMING, DELETING = "running", "completed", "failed", "renaming", "deleting"


def dataset_of(samples: object) -> fo.Dataset:
    """The dataset of a view; a dataset itself."""
    if not isinstance(samples, SampleCollection):
        raise AgreementInputError(f"`dataset` must be a FiftyOne dataset or view, got {type(samples).__name__}")
    return root_dataset(samples)


def list_agreements(dataset: fo.Dataset | SampleCollection) -> list[str]:
    """Keys of the agreement runs of a dataset, in any status."""
    references = _references(dataset_of(dataset))
    # FiftyOne leaves out runs whose records it cannot read
    ours = {"_id": {"$in": list(references.values())}, "config.method": names.RUN_METHOD}
    known = {document["_id"] for document in database().runs.find(ours, {"_id": True})}
    return sorted(key for key, reference in references.items() if reference in known)


def newest_first(dataset: fo.Dataset) -> list[str]:
    """Keys of the agreement runs of a dataset, the newest first."""
    references = _references(dataset)
    # the first four bytes of an id are its time
    return sorted(list_agreements(dataset), key=lambda key: (str(references.get(key)), key), reverse=True)


def completed_kinds(dataset: fo.Dataset) -> dict[str, tuple[str, bool, list[str]]]:
    """The family of label types of every completed run, whether it is on frames, and its fields; the newest run first.

    Runs can be compared if they agree in the first two.
    """
    configs = {key: Run(dataset, key).config for key in newest_first(dataset)}
    return {
        key: (str(config.get("family")), any(path.startswith(names.FRAMES_PREFIX) for path in fields), fields)
        for key, config in configs.items()
        for fields in [sorted(map(str, config["options"].get("fields") or ()))]
        if config.get("status") == COMPLETED
    }


def _references(dataset: fo.Dataset) -> dict[str, ObjectId]:
    """Ids of the run documents that a dataset refers to, by key."""
    document = database().datasets.find_one({"_id": dataset_id(dataset)}, {"runs": True}) or {}
    return dict(document.get("runs") or {})


def readable(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document of a run, with the entries that deletion needs made valid: deletion works in any state."""
    config = document.get("config")
    record = dict(config) if isinstance(config, Mapping) else {}
    paths, options, run_id = (record.get(name) for name in ("fields_written", "options", "results_id"))
    record |= {
        "fields_written": [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else [],
        "options": dict(options) if isinstance(options, Mapping) else {},
        "results_id": run_id if isinstance(run_id, str) and ObjectId.is_valid(run_id) else _NO_RESULTS,
    }
    results = document.get("results")
    return {**document, "config": record, "results": results if isinstance(results, ObjectId) else None}


def versions() -> dict[str, str]:
    """Versions of the software that results depend on."""
    return {
        "annotator-agreement": names.VERSION,
        "fiftyone": foc.VERSION,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        names.FORMULAS: str(names.FORMULAS_VERSION),
    }


def refresh(dataset: fo.Dataset) -> None:
    """Read the dataset and its samples in memory again from the database."""
    reload_dataset(dataset)
    reload_samples(dataset)


#: entries that the record of a completed run must have, and their types
_RECORDED: dict[str, type] = {
    **dict.fromkeys(("fields_written", "annotators"), list),
    **dict.fromkeys(("options", "versions", CHANGES_RECORD), dict),
    **dict.fromkeys(("family", "results_id"), str),
}


def with_files(named: str) -> dict[str, Any]:
    """A query for runs with files whose names have an id; those of a clone are the files of the original."""
    return {"$or": [{f"config.{entry}": named} for entry in ("results_id", "files_id", "files_before")]}


def compared_facts(source: Source) -> dict[str, Any]:
    """What the record of a run says of what it compared, and how: entries of its config."""
    return {
        "schema_version": names.SCHEMA_VERSION,
        "family": source.kinds[0].compared_as,
        "annotators": list(source.annotators),
        "options": source.config.to_dict(),
        "versions": versions(),
    }


class Run:
    """A run of a dataset, by its key. Nothing is cached: other processes may change or delete the run at any time.

    Attributes:
        dataset: the dataset
        key: key of the run
        run_id: id of a particular run with this key; None for the current one
    """

    def __init__(self, dataset: fo.Dataset | SampleCollection, key: str, run_id: str | None = None) -> None:
        self.dataset = dataset_of(dataset)
        if not isinstance(key, str) or not key.isidentifier():  # FiftyOne takes no other keys
            raise self._no_run(key)
        self.key = key
        self.run_id = run_id

    # ---- the record ----

    @property
    def exists(self) -> bool:
        """True if the dataset has an agreement run with this key."""
        return self.key in list_agreements(self.dataset)

    @property
    def config(self) -> dict[str, Any]:
        """The recorded entries: ``status``, ``fields_written``, ``options`` and so on."""
        return dict(self._document()["config"])

    def _document(self) -> dict[str, Any]:
        return readable(database().runs.find_one({"_id": self.reference}) or {})

    @property
    def computed_at(self) -> datetime | None:
        """Time at which the run was registered."""
        found = self._document().get("timestamp")
        return found if isinstance(found, datetime) else None

    @property
    def status(self) -> str | None:
        """Recorded status, such as ``running`` or ``completed``."""
        return self.config.get("status")

    @property
    def was_killed(self) -> bool:
        """True if the run is recorded as running, but its process, one of this machine, is gone."""
        record = self.config
        process = record.get("process")
        return record.get("status") == RUNNING and isinstance(process, str) and has_died(process)

    @property
    def is_being_written(self) -> bool:
        """True if a process may be computing or updating the run."""
        record = self.config
        return not self.was_killed and (record.get("status") == RUNNING or bool(record.get("updating")))

    @property
    def can_be_continued(self) -> bool:
        """True if the run on several workers did not complete, and nobody computes it: ``resume=True`` does."""
        record = self.config
        is_unfinished = record.get("status") in (RUNNING, FAILED) and not self.is_being_written
        return is_unfinished and SHARED in record

    @property
    def field_key(self) -> str:
        """Prefix of the run's fields; not its key if FiftyOne's own ``rename_run()`` renamed the run."""
        return str(self.config["options"].get("run_key") or self.key)

    def require(self) -> None:
        """Reload the dataset and raise :class:`AgreementInputError` unless it has such a run."""
        reload_dataset(self.dataset)
        if not self.exists:
            raise self._no_run(self.key)

    def _no_run(self, key: object) -> AgreementInputError:
        keys = list_agreements(self.dataset)
        found, hint = shown(map(repr, keys)) or "none", did_you_mean(key, keys)
        return AgreementInputError(
            f"`run_key` must be an agreement run of {self.dataset.name!r}, got {key!r}{hint}; runs are {found}"
        )

    def require_completed(self) -> None:
        """Raise :class:`AgreementInputError` unless such a run completed, and is what the plugin stored."""
        self.require()
        self.completed()

    def completed(self) -> dict[str, Any]:
        """The record of the run if it completed, after a check of its entries.

        Raises:
            AgreementInputError: if it did not complete, or another version of the plugin, or something else, stored it
        """
        document = database().runs.find_one({"_id": self.reference}) or {}
        record = readable(document)["config"]
        if record.get("status") != COMPLETED:
            gone = ", but its process is gone" if self.was_killed else ""
            raise AgreementInputError(
                f"The run {self.key!r} must be completed, got the status {record.get('status')!r}{gone}; "
                f"{self._compute_again()}"
            )
        if record.get("schema_version") != names.SCHEMA_VERSION:
            raise AgreementInputError(
                f"The run {self.key!r} was stored by another version of the plugin; {self._compute_again()}"
            )
        stored = document["config"]  # as it is stored, nothing made valid
        if not all(isinstance(stored.get(name), kind) for name, kind in _RECORDED.items()):
            raise self._changed()
        fields, read = stored["options"].get("fields"), stored[CHANGES_RECORD]
        named = [*stored["fields_written"], *stored["annotators"], *(fields if isinstance(fields, list) else [None])]
        are_numbers = all(isinstance(read.get(name), int) for name in ("at", "n_samples"))
        is_stored = ObjectId.is_valid(stored["results_id"]) and isinstance(document.get("results"), ObjectId)
        if not (fields and are_numbers and is_stored and all(isinstance(name, str) for name in named)):
            raise self._changed()
        return record

    def _changed(self) -> AgreementInputError:
        return AgreementInputError(
            f"The run {self.key!r} was changed by something else; delete the run and compute it again"
        )

    def update(
        self, *, fields_added: Sequence[str] = (), only_with: Mapping[str, Any] | None = None, **values: Any
    ) -> bool:
        """Change some entries of the record; other entries are not written, as another process may be changing them.

        Args:
            fields_added: more fields that the run writes
            only_with: change nothing unless the record has these values
            **values: the entries; names of nested entries have dots

        Returns:
            whether the record had the values of ``only_with``
        """
        update: dict[str, Any] = {"$set": _config_filter(values)}
        if fields_added:
            update["$addToSet"] = _config_filter({"fields_written": {"$each": list(fields_added)}})
        return self._update(update, _config_filter(only_with or {}))

    def withdraw(self, path: str, entry: str) -> None:
        """Take a field off the list of fields that the run writes, and remove an entry of the record.

        Used where an addition to the run failed and its field was deleted again.
        """
        self._update({"$pull": _config_filter({"fields_written": path}), "$unset": _config_filter({entry: ""})})

    def _update(self, update: Mapping[str, Any], only_with: Mapping[str, Any] | None = None) -> bool:
        """Update the document of this run, never of another one with its key; returns whether it was found."""
        own = {"_id": self.reference} if self.run_id is None else self._own()
        is_there = bool(database().runs.update_one({**own, **(only_with or {})}, update).matched_count)
        document = run_document(self.dataset, self.key)
        if is_there and document is not None:
            document.reload()
        return is_there

    def _own(self) -> dict[str, Any]:
        """A filter for the document of the run with :attr:`run_id`."""
        return {"_dataset_id": dataset_id(self.dataset), "key": self.key, **_config_filter({"results_id": self.run_id})}

    def is_current(self, **values: Any) -> bool:
        """True if the current run still has the id :attr:`run_id`, and its record has the given values."""
        return database().runs.find_one({**self._own(), **_config_filter(values)}, {"_id": True}) is not None

    def require_current(self, status: str | None = None) -> None:
        """Raise :class:`AgreementInputError` if the run was deleted, renamed or replaced, or one of these has begun.

        Args:
            status: the status that it must have; None: any but ``deleting`` and ``renaming``
        """
        if not self.is_current(status={"$nin": [DELETING, RENAMING]} if status is None else status):
            raise AgreementInputError(
                f"The run {self.key!r} was deleted or replaced while it was running, or updated by somebody "
                "else, or got another key; this attempt has stopped writing"
                if status is None
                else f"The run {self.key!r} is no longer being computed; its worker has stopped writing"
            )

    def target(self) -> SampleCollection:
        """The dataset, or the view that the run compared.

        Raises:
            AgreementInputError: if the dataset has changed such that the view cannot be made any more
        """
        stages = list(map(json_util.loads, self._document().get("view_stages") or ()))
        try:
            return view_from_stages(self.dataset, stages) if stages else self.dataset
        except ValueError as error:
            raise AgreementInputError(
                f"The view that the run {self.key!r} compared must still be possible, but {error}; if a field was "
                "renamed, rename it back, or compute the run again"
            ) from error

    # ---- remains in the database of a run that crashed or that FiftyOne deleted ----

    @property
    def reference(self) -> Any:
        """Id of the run document that the dataset refers to, even if the document is gone; None if there is none."""
        return _references(self.dataset).get(self.key)

    def documents(self) -> list[dict[str, Any]]:
        """The documents of the run, also those that the dataset does not refer to because the process died."""
        references = _references(self.dataset)
        of_others = [reference for key, reference in references.items() if key != self.key]
        wanted = {
            "_dataset_id": dataset_id(self.dataset),
            "config.method": names.RUN_METHOD,
            "$or": [{"key": self.key}, {"_id": references.get(self.key)}],
            "_id": {"$nin": of_others},
        }
        return list(map(readable, database().runs.find(wanted)))

    def recorded_paths(self) -> set[str]:
        """All paths that runs with this key, including crashed ones, recorded before writing."""
        return {path for document in self.documents() for path in document["config"]["fields_written"]}

    # ---- its life cycle ----

    @classmethod
    def register(cls, source: Source) -> Run:
        """Record the run of a source as running, before anything is written."""
        config, dataset = source.config, source.dataset
        record = dataset.init_run(
            method=names.RUN_METHOD,
            status=RUNNING,
            fields_written=list(source.fields_written(config.run_key)),
            **compared_facts(source),
            results_id=source.run_id,
            seed=config.seed,
            process=this_process(),
            **{CHANGES_RECORD: new_changes_record(dataset)},
        )
        source.samples.register_run(config.run_key, record)
        return cls(dataset, config.run_key, source.run_id)

    def declare(self, fields: Mapping[str, names.FieldSpec]) -> None:
        """Declare the fields that the run writes."""
        with writing(self.dataset):
            self.require_current()
            declare_fields(self.dataset, self.key, fields)

    # ---- updates: new results take the place of the old ones in one write ----

    def files_id(self) -> str:
        """Id in the names of files that the run writes now; another one if a clone of the dataset shares its files."""
        found = str(self.config.get("files_id") or self.run_id)
        is_shared = database().runs.find_one({**with_files(found), "_id": {"$ne": self.reference}}) is not None
        return str(ObjectId()) if is_shared else found

    def end_update(self, new_id: str, record: Mapping[str, int] | None = None) -> None:
        """End an update without new results; ``record``: new :data:`CHANGES_RECORD` if no change concerned the run."""
        update = {"$unset": _config_filter({"updating": ""})}
        if record is not None:
            update["$set"] = _config_filter({CHANGES_RECORD: dict(record)})
        self._update(update, _config_filter({"updating": new_id}))
        delete_files(new_id)

    def store(
        self,
        report: AgreementReport,
        store: Store,
        applied: Sequence[str],
        fields: Mapping[str, names.FieldSpec],
        *,
        new_id: str | None = None,
        read: Mapping[str, int] | None = None,
        named: str | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Store report and records, then complete the run in one write; an update keeps the old results, too.

        Args:
            report: the report
            store: stores the records
            applied: steps of decisions that are applied to labels
            fields: the fields that the run writes
            new_id: for an update, the id under which the results are stored
            read: for an update, when the samples were read (:data:`CHANGES_RECORD`)
            named: for an update, the id in the names of its files, see :meth:`files_id`
            facts: for an update of all samples, :func:`compared_facts` as they are now

        Raises:
            AgreementInputError: if somebody else began to update the run
        """
        stored_under = new_id or str(self.run_id)
        with surely_written():
            store(file_id(stored_under))
        with writing(self.dataset):
            self.declare(fields)
            delete_orphans()
            # stored like FiftyOne's results, but under an id from the record, so that a half-written file of a dead
            # process can be found and removed
            results = self.dataset.init_run_results(self.key, report=report.to_json(), applied=list(applied))
            content = json.dumps(results.serialize()).encode()
            gridfs.GridFS(database()).put(content, _id=ObjectId(stored_under), content_type="application/json")
            record, values = self.config, dict[str, Any](status=COMPLETED)
            if new_id is not None:
                values |= {"results_id": new_id, "previous": self.run_id, CHANGES_RECORD: dict(read or {})}
                before = record.get("files_id") or self.run_id
                values |= {"files_id": named, **(facts or {})}
                if named != before:
                    values["files_before"] = [*(record.get("files_before") or ()), before]
            update = {
                "$set": {"results": ObjectId(stored_under), **_config_filter(values)},
                "$unset": _config_filter({"updating": "", SHARED: ""}),
            }
            if not self._update(update, {} if new_id is None else _config_filter({"updating": new_id})):
                raise AgreementInputError(
                    f"The run {self.key!r} was updated, replaced or deleted by somebody else meanwhile; update it again"
                )
            forget_cached_results(self.dataset, self.key)
            if new_id is None:
                delete_parts(stored_under)
                return
            self.run_id, previous = new_id, record.get("previous")
            if isinstance(previous, str) and ObjectId.is_valid(previous):
                delete_files(previous)

    def fields(self) -> dict[str, fo.Field]:
        """The fields with the run's mark, by path: the user may have renamed, cloned or deleted label fields since."""
        return fields_marked(self.dataset, self.field_key)

    def remove_remains(self, paths: Collection[str]) -> None:
        """Remove everything that the run wrote after it was deleted or replaced; values of the new run stay."""
        if not self.documents():
            delete_fields(self.dataset, fields_marked(self.dataset, self.key))
        unset_undeclared(self.dataset, sorted(set(paths) - self.recorded_paths()))
        delete_orphans()
        refresh(self.dataset)

    # ---- its stored results ----

    def report(self) -> AgreementReport:
        """The report.

        Raises:
            AgreementInputError: if there is no such run, it did not complete, or another version stored it
        """
        self.require_completed()
        with self._unchanged():
            return self._stored_report(self._document()["results"])

    def records(self) -> OpenRecords:
        """The records of the samples; raises as :meth:`report`."""
        report = self.report()
        with self._unchanged():
            return open_records(self._records_id(), report)

    def previous(self) -> OpenRecords:
        """The records before the last update; raises as :meth:`report`, and if there was no update."""
        self.require_completed()
        previous = self.config.get("previous")
        if previous is None:
            raise AgreementInputError(
                f"The run {self.key!r} must have been updated to have an earlier state, got a run that was not; "
                "compare it with another run"
            )
        with self._unchanged():
            return open_records(previous, self._stored_report(ObjectId(previous)))

    def applied_steps(self, *, before: bool = False) -> set[str]:
        """The steps of decisions that were applied to labels when it was computed.

        Args:
            before: the steps of the state before the last update instead
        """
        with self._unchanged():
            document = self._document()
            results = ObjectId(document["config"].get("previous")) if before else document["results"]
            return {step for step in _results(results).get("applied") or () if isinstance(step, str)}

    def index(self) -> SampleIndex:
        """The samples of the run, without reading its other records; raises as :meth:`report`."""
        with self._unchanged():
            return open_index(self._records_id())

    @property
    def stored_bytes(self) -> int:
        """Size of the stored records in bytes; 0 if there are none."""
        return stored_bytes(self.config["results_id"])

    def _records_id(self) -> str:
        """Id of the stored records; raises :class:`AgreementInputError` if there are none."""
        run_id = str(self.config["results_id"])
        if not stored_bytes(run_id):
            raise AgreementInputError(
                f"The run {self.key!r} must have its records in this database, got none: FiftyOne does not export them "
                f"with a dataset; {self._compute_again()}"
            )
        return run_id

    def _stored_report(self, file_id: ObjectId) -> AgreementReport:
        """The report in the results."""
        stored = json.loads(_results(file_id)["report"])
        # a renamed run has a new key
        return report_from_dict({**stored, "run_key": self.key, "config": {**stored["config"], "run_key": self.key}})

    @contextlib.contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Re-word the errors of reading stored results that are gone, or that something else changed."""
        try:
            yield
        except AgreementInputError:
            raise
        except (GridFSError, *UNREADABLE, LookupError, AttributeError) as error:
            raise self._changed() from error

    def _compute_again(self) -> str:
        ways = "resume=True, or anew with overwrite=True," if self.can_be_continued else "overwrite=True,"
        return f"compute it again with {ways} or remove it with load(dataset, {self.key!r}).delete()"


def _results(file_id: Any) -> dict[str, Any]:
    """Stored results: the report as text, and the steps of decisions that were applied to labels."""
    found: dict[str, Any] = json.loads(gridfs.GridFS(database()).get(file_id).read())
    return found


def _config_filter(values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"config.{name}": value for name, value in values.items()}
