"""Sidebar groups and label colours of runs in the App, and restoring the user's settings.

A dataset has one value for each setting. The user's value is remembered in the dataset's plugin settings; the App gets
a value made from it for all runs together. When the last run is deleted, the user's value is restored. If the user
changed our value meanwhile, the changed value stays, without the parts that belong to runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import fiftyone as fo
from bson import ObjectId

from ... import names
from ..database.fiftyone_private import reload_dataset, replace_parts, stored_parts
from ..labels.stored import all_fields, run_of

#: settings of a run: ``run_key``; ``paths`` of its sidebar group, if any; ``attribute`` and ``fields`` to colour, if
#: any, with the colour of every value in ``value_colors``; or the colour of every field in ``field_colors``; and
#: entries of other modules
Entry = dict[str, Any]

#: key of our entry in the dataset's plugin settings
_NAME = names.RUN_METHOD
#: entries of the dataset's document that are changed: groups, colours, and what is remembered about them
_PARTS = ("app_config.sidebar_groups", "app_config.color_scheme", f"app_config.plugins.{_NAME}")
_BY_FIELD, _BY_VALUE = "field", "value"
_OF_COLORS = ("colorByAttribute", "valueColors")


def entries(dataset: fo.Dataset) -> list[Entry]:
    """The entry of every run with settings, oldest first."""
    found = _state(dataset).get("runs")
    runs = found if isinstance(found, list) else []
    return [entry for entry in runs if isinstance(entry, dict) and isinstance(entry.get("run_key"), str)]


def add_path(dataset: fo.Dataset, run_key: str, path: str) -> None:
    """Put a field that a run wrote later into its group of the sidebar, if it has one."""
    runs = entries(dataset)
    grouped = [run for run in runs if run["run_key"] == run_key and run.get("paths")]
    for run in grouped:
        run["paths"] = list(dict.fromkeys([*run["paths"], path]))  # may be in the list, but no longer in the sidebar
    if grouped:
        show_entries(dataset, runs)


def sidebar_groups(dataset: fo.Dataset) -> list[dict[str, Any]]:
    """The groups of the sidebar that the App shows when it opens a dataset."""
    groups = dataset.app_config.sidebar_groups
    return _default_groups(dataset) if groups is None else _as_values(groups)


def _state(dataset: fo.Dataset) -> dict[str, Any]:
    found = dataset.app_config.plugins.get(_NAME)
    return dict(found) if isinstance(found, Mapping) else {}  # somebody may have edited it


def show_entries(dataset: fo.Dataset, runs: list[Entry]) -> None:
    """Show the groups and the colours of runs, those of others no more, and remember their entries, in one write."""
    while True:  # until nobody changes the settings between reading and writing
        stored = stored_parts(dataset, _PARTS)
        reload_dataset(dataset)
        state, groups, colors = _state(dataset), _Groups(dataset), _Colors(dataset)
        shown, sidebar = _renewed(groups, state.get("sidebar"), [run for run in runs if run.get("paths")])
        scheme, coloring = _renewed(
            colors, state.get("colors"), [run for run in runs if run.get("attribute") or run.get("field_colors")]
        )
        values = (  # None removes an entry
            None if shown is None else [fo.SidebarGroupDocument(**group).to_dict() for group in shown],
            None if scheme is None else _scheme(scheme).to_dict(),
            {"runs": runs, "sidebar": sidebar, "colors": coloring} if runs else None,
        )
        if replace_parts(dataset, stored, dict(zip(_PARTS, values, strict=True))):
            return


def _renewed(
    setting: _Groups | _Colors, memory: Mapping[str, Any] | None, runs: Sequence[Entry]
) -> tuple[Any, dict[str, Any] | None]:
    """The value of a setting for some runs, and what to remember: the user's value, our value, and our marks."""
    current: Any = setting.read()
    if memory is None:
        before = current
    elif setting.is_same(current, memory["ours"]):
        before = memory["before"]
    else:
        before = setting.without_ours(current, memory)
    if not runs:
        return before, None
    ours, marks = setting.with_runs(before, runs)
    return ours, {"before": before, "ours": ours, "marks": marks}


class _Groups:
    """The groups of the sidebar, as a list of ``name``, ``paths`` and ``expanded``; None for FiftyOne's default."""

    def __init__(self, dataset: fo.Dataset) -> None:
        self._dataset = dataset
        self._fields = all_fields(dataset)

    def read(self) -> list[dict[str, Any]] | None:
        groups = self._dataset.app_config.sidebar_groups
        return None if groups is None else _as_values(groups)

    def is_same(self, current: Sequence[Mapping[str, Any]] | None, ours: Sequence[Mapping[str, Any]]) -> bool:
        """True if groups are equal, apart from fields of runs and deleted fields."""
        shown, remembered = (
            [(group["name"], list(filter(self._is_users, group["paths"])), group["expanded"]) for group in groups]
            for groups in (current or (), ours)
        )
        return shown == remembered

    def _is_users(self, path: str) -> bool:
        """True if a path belongs to a field that no run wrote."""
        return path in self._fields and run_of(path, self._fields[path]) is None

    def without_ours(
        self, current: Sequence[Mapping[str, Any]] | None, memory: Mapping[str, Any]
    ) -> list[dict[str, Any]] | None:
        """The user's changed groups, without the fields of runs in our groups; our empty groups are dropped."""
        groups = []
        for group in current or ():
            is_ours = group["name"] in memory["marks"]
            paths = [path for path in group["paths"] if not is_ours or self._is_users(path)]
            if paths or not is_ours:
                groups.append({**group, "paths": paths})
        return None if current is None else groups

    def with_runs(
        self, before: Sequence[Mapping[str, Any]] | None, runs: Sequence[Entry]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """The user's groups with a group for every run after the labels, and the names of the groups of runs."""
        groups = _default_groups(self._dataset) if before is None else [dict(group) for group in before]
        own = {path for run in runs for path in run["paths"]}
        groups = [{**group, "paths": [path for path in group["paths"] if path not in own]} for group in groups]
        added = []
        for run in runs:
            name = names.first_free(run["run_key"], {group["name"] for group in groups}, " ({})")
            after = [k for k, group in enumerate(groups) if group["name"] in ("labels", "frame labels")]
            at = after[-1] + 1 if after else len(groups)
            groups.insert(at, {"name": name, "paths": list(run["paths"]), "expanded": None})
            added.append(name)
        return groups, added


def _default_groups(dataset: fo.Dataset) -> list[dict[str, Any]]:
    return _as_values(fo.DatasetAppConfig.default_sidebar_groups(dataset))


def _as_values(groups: Sequence[fo.SidebarGroupDocument]) -> list[dict[str, Any]]:
    return [{"name": group.name, "paths": list(group.paths), "expanded": group.expanded} for group in groups]


class _Colors:
    """The colour scheme of a dataset as values; None for the App's default."""

    def __init__(self, dataset: fo.Dataset) -> None:
        self._dataset = dataset

    def read(self) -> dict[str, Any] | None:
        scheme = self._dataset.app_config.color_scheme
        return None if scheme is None else _scheme_document(scheme)

    def is_same(self, current: Mapping[str, Any] | None, ours: Mapping[str, Any]) -> bool:
        return current is not None and {**current, "_id": None} == {**ours, "_id": None}

    def without_ours(self, current: Mapping[str, Any] | None, memory: Mapping[str, Any]) -> dict[str, Any] | None:
        """The user's changed scheme, without colours by attributes of runs, and without field colours from runs."""
        if current is None:
            return None
        before = memory["before"] or {}
        originals, ours = (
            {entry["path"]: entry for entry in each.get("fields") or []} for each in (before, memory["ours"])
        )
        fields = []
        for found in current.get("fields") or []:
            entry, original = dict(found), originals.get(found["path"], {})
            if entry.get("colorByAttribute") in memory["marks"]:
                entry = {name: value for name, value in entry.items() if name not in _OF_COLORS}
                entry |= {name: original[name] for name in _OF_COLORS if name in original}
            given = ours.get(found["path"], {}).get("fieldColor")
            if given is not None and entry.get("fieldColor") == given and "fieldColor" not in original:
                entry.pop("fieldColor")
            if set(entry) != {"path"} or original:
                fields.append(entry)
        is_ours = current.get("color_by") == memory["ours"].get("color_by")
        color_by = before.get("color_by") if is_ours else current.get("color_by")
        return {**current, "fields": fields or before.get("fields"), "color_by": color_by}

    def with_runs(self, before: Mapping[str, Any] | None, runs: Sequence[Entry]) -> tuple[dict[str, Any], list[str]]:
        """The user's scheme with the colours of all runs (later runs win), and the attributes that runs colour by."""
        scheme = fo.ColorScheme() if before is None else _scheme(before)
        by_path = {entry["path"]: dict(entry) for entry in scheme.fields or []}
        for run in runs:
            given: dict[str, str] = run.get("field_colors", {})
            taken = {by_path.get(path, {}).get("fieldColor") for path in given} - {None}
            lacking = [path for path in given if by_path.get(path, {}).get("fieldColor") is None]
            used = taken | {given[path] for path in lacking}
            spare = (color for color in names.ANNOTATOR_COLORS.values() if color not in used)
            for path in lacking:
                color = next(spare) if given[path] in taken else given[path]
                by_path[path] = {**by_path.get(path, {}), "path": path, "fieldColor": color}
            for path in run.get("fields", ()):
                kept = {name: value for name, value in by_path.get(path, {}).items() if name not in _OF_COLORS}
                by_path[path] = {"path": path, **kept, "colorByAttribute": run["attribute"]}
                if run["value_colors"]:
                    by_path[path]["valueColors"] = run["value_colors"]
        scheme.fields = list(by_path.values())
        scheme.color_by = _BY_VALUE if runs[-1].get("attribute") else _BY_FIELD
        return _scheme_document(scheme), [run["attribute"] for run in runs if run.get("attribute")]


def _scheme_document(scheme: fo.ColorScheme) -> dict[str, Any]:
    values = dict(scheme.to_dict())
    return {**values, "_id": str(values["_id"])}


def _scheme(values: Mapping[str, Any]) -> fo.ColorScheme:
    return fo.ColorScheme.from_dict({**values, "_id": ObjectId(values["_id"])})
