"""Give a run another key, field by field in a way that can be interrupted anywhere."""

from __future__ import annotations

import fiftyone as fo
from fiftyone.core.collections import SampleCollection

from .. import names
from ..agreement.errors import AgreementInputError
from . import runs
from .run_keys import check_key_is_free, check_not_in_database, written_paths
from .source import LABEL_KINDS, common_label_kind, refuse_read_only


def rename_agreement(dataset: fo.Dataset | SampleCollection, run_key: str, new_run_key: str) -> None:
    """Give a run another key, and its fields the names that go with it.

    A run that died while it was being renamed can be deleted under the key under which it is listed.

    Args:
        dataset: the dataset, or a view of it
        run_key: key of the run
        new_run_key: the new key

    Raises:
        AgreementInputError: if there is no such completed run, or the new key is not free
    """
    dataset = runs.dataset_of(dataset)
    runs.require_run(dataset, run_key)
    config = runs.read_config(dataset, run_key)
    if config["status"] != runs.COMPLETED:
        raise AgreementInputError(
            f"Only a completed run can be renamed, got {run_key!r} with the status {config['status']!r}"
        )
    # a run that was renamed with FiftyOne's own rename_run() has fields of its first key
    field_key = config["options"]["run_key"]
    list_paths = check_rename(dataset, run_key, new_run_key)
    check_not_in_database(dataset, new_run_key, list_paths)

    old, new = written_paths(field_key, list_paths), written_paths(new_run_key, list_paths)
    runs.update_config(
        dataset,
        run_key,
        status=runs.RENAMING,
        renaming_to=new_run_key,
        fields_written=sorted({*config["fields_written"], *new}),
    )
    runs.declare_fields(dataset, new_run_key, list_paths)
    _rename_values(dataset, field_key, new_run_key, list_paths)
    dataset._sample_doc_cls._rename_indexes(old, new)
    dataset._doc.app_config._rename_paths(old, new)
    dataset._doc.save()
    dataset.delete_sample_fields(runs.fields_of_run(dataset, field_key), error_level=2)
    dataset.rename_run(run_key, new_run_key)
    runs.update_config(
        dataset,
        new_run_key,
        status=runs.COMPLETED,
        renaming_to=None,
        fields_written=new,
        options={**config["options"], "run_key": new_run_key},
    )
    runs.refresh(dataset)


def check_rename(dataset: fo.Dataset, run_key: str, new_run_key: str) -> list[str]:
    """Refuse a new key that is not free, as far as the schema and the runs tell; returns the run's label lists.

    The lists are found by their marked fields: the user may have renamed, cloned or deleted label fields since.

    Raises:
        AgreementInputError: saying what is in the way
    """
    field_key = runs.read_config(dataset, run_key)["options"]["run_key"]
    marked = runs.fields_of_run(dataset, field_key)
    refuse_read_only(dataset, marked)
    list_paths = sorted({path.rsplit(".", 1)[0] for path in marked if "." in path})
    fields = [path.split(".", 1)[0] for path in list_paths]
    kind = common_label_kind(dataset, fields) if fields else LABEL_KINDS[0]
    check_key_is_free(dataset, new_run_key, list_paths, kind, argument="new_run_key")
    return list_paths


def _rename_values(dataset: fo.Dataset, run_key: str, new_run_key: str, list_paths: list[str]) -> None:
    """Move every value to its new name, each sample in one step."""
    old_of_samples = [run_key + suffix for suffix in names.SAMPLE_FIELDS]
    set_of_samples = {new_run_key + suffix: f"${run_key}{suffix}" for suffix in names.SAMPLE_FIELDS}
    stages: list[dict[str, object]] = [{"$set": set_of_samples}]
    for list_path in list_paths:
        moved = {new_run_key + suffix: f"$$this.{run_key}{suffix}" for suffix in names.LABEL_FIELDS}
        mapped = {"$map": {"input": f"${list_path}", "in": {"$mergeObjects": ["$$this", moved]}}}
        # a field that is null, or not there, stays so
        root = list_path.split(".", 1)[0]
        is_list = {"$isArray": f"${list_path}"}
        changed = {"$mergeObjects": [f"${root}", {list_path.split(".", 1)[1]: mapped}]}
        stages.append({"$set": {root: {"$cond": [is_list, changed, {"$ifNull": [f"${root}", "$$REMOVE"]}]}}})
    of_labels = [path for list_path in list_paths for path in names.label_paths(run_key, list_path)]
    stages += [{"$unset": old_of_samples + of_labels}, {"$set": {"last_modified_at": "$$NOW"}}]
    written = [{path: {"$exists": True}} for path in old_of_samples + of_labels]
    dataset._sample_collection.update_many({"$or": written}, stages)
