"""What a run has beside its fields, because the user asked for it: saved views and settings of the App. Removing it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import fiftyone as fo

from ... import names
from ..app.colors import left_behind_colors, uncolor_labels, without_colors
from ..app.indexes import drop_indexes
from ..app.instances import unlink_units
from ..app.sidebar import left_behind_groups, remove_sidebar_group, without_sidebar
from ..labels.paths import all_fields, run_of
from .run_config import read_config, update_config
from .saved_view_marks import remove_marked_views

#: entry of a run's config with what was set in the App, written before it is
APP_RECORD = "app"


def remove_attachments(dataset: fo.Dataset, run_keys: Collection[str], configs: Sequence[Mapping[str, Any]]) -> None:
    """Remove what a run has beside its fields, while these are still there.

    Args:
        dataset: the dataset
        run_keys: the keys that its fields and views may carry
        configs: its configs, those of dead runs of its key included; none if FiftyOne's ``delete_run()`` left the rest
    """
    remove_marked_views(dataset, run_keys)
    records = [config[APP_RECORD] for config in configs if config.get(APP_RECORD)]
    if not configs:
        unlink_units(dataset, run_keys)  # these can be told from all others without a record
        records = _left_behind(dataset, run_keys)
    for record in records:
        undo_app_record(dataset, run_keys, record)


def undo_app_record(dataset: fo.Dataset, run_keys: Collection[str], record: Mapping[str, Any]) -> None:
    """Undo what was set in the App for a run, completely or in part; other runs' settings stay.

    Args:
        dataset: the dataset
        run_keys: keys of the run
        record: what was set, and what was there before
    """
    others = _pass_on(dataset, run_keys, record)
    if record.get("linked_by"):
        unlink_units(dataset, [record["linked_by"]])
    if record.get("indexes"):
        drop_indexes(dataset, record["indexes"])
    if record.get("colors"):
        others_color = any(other.get("colors") for other in others)
        uncolor_labels(dataset, record["colors"], others_color=others_color)
    if record.get("sidebar"):
        remove_sidebar_group(dataset, record["sidebar"])


def _pass_on(dataset: fo.Dataset, run_keys: Collection[str], gone: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give what was there before a run to the records of others, who may have found the settings of this run.

    Returns:
        the records of the others
    """
    records = []
    for key in dataset.list_runs(method=names.RUN_METHOD):
        record = read_config(dataset, key).get(APP_RECORD)
        if key in run_keys or not record:
            continue
        passed = dict(record)
        for setting, without in (("colors", without_colors), ("sidebar", without_sidebar)):
            if record.get(setting) and gone.get(setting):
                passed[setting] = without(record[setting], gone[setting])
        if passed != record:
            update_config(dataset, key, **{APP_RECORD: passed})
        records.append(passed)
    return records


def _left_behind(dataset: fo.Dataset, run_keys: Collection[str]) -> list[dict[str, Any]]:
    """Records of what can be told to be the settings of runs of which there is no other record."""
    marks = {path: run_of(path, field) for path, field in all_fields(dataset).items()}
    attributes = sorted({path.rpartition(".")[2] for path, key in marks.items() if key in run_keys})
    paths = [path for path, key in marks.items() if key in run_keys]
    colors = [{"colors": record} for record in left_behind_colors(dataset, attributes)]
    groups = [record for key in sorted(run_keys) for record in left_behind_groups(dataset, key, paths)]
    return colors + [{"sidebar": record} for record in groups]
