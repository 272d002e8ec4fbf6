"""Delete a run and everything that it wrote, in any state of the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import fiftyone as fo
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.settings.arguments import takes_arrays
from ...agreement.settings.errors import AgreementInputError
from ..database.fiftyone_private import database, dataset_id, forget_cached_results
from ..families.pixels import delete_map_files, runs_of_files
from ..labels.source import refuse_read_only
from ..labels.stored import places
from ..record.lease import writing
from ..record.run import DELETING, Run, list_agreements, refresh, with_files
from ..record.schema import delete_fields, fields_marked, mend, unset_undeclared
from ..record.stored_records import delete_orphans, delete_results

#: functions that remove the saved views, and the settings of the App, of runs with some keys
_also_removed: list[Callable[[fo.Dataset, set[str]], None]] = []


def delete_with_runs(*functions: Callable[[fo.Dataset, set[str]], None]) -> None:
    """Let deletion call these, too; it imports neither views nor App settings, which computing does not need."""
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
    with writing(run.dataset) as dataset:
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
        # the files of heatmaps, including files that only values of fields refer to
        configs = [document["config"] for document in documents]
        found = {(each["options"]["map_folder"], str(each.get("files_id") or each["results_id"])) for each in configs
                 if isinstance(each["options"].get("map_folder"), str)}  # fmt: skip
        heatmaps = [path for path in declared if getattr(dataset.get_field(path), "document_type", None) is fo.Heatmap]
        for place in places(dataset, heatmaps):
            for path in place.paths:
                named = place.collection.find({f"{path}.map_path": {"$type": "string"}}, {f"{path}.map_path": True})
                found |= runs_of_files(document[path]["map_path"] for document in named)
        own = [document["_id"] for document in documents]
        for folder, run_id in sorted(found):
            # a cloned dataset has the files of the original
            if database().runs.find_one({**with_files(run_id), "_id": {"$nin": own}}) is None:
                delete_map_files(folder, run_id)
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
