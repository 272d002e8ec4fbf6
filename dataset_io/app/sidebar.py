"""A group in the App's sidebar for the fields of a run, and back to what was there."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import fiftyone as fo

Group = fo.SidebarGroupDocument


def group_name(dataset: fo.Dataset, run_key: str) -> str:
    """A name for the group of a run that no group has: the key, or the key with a number."""
    taken = {group.name for group in _groups(dataset)}
    name, number = run_key, 2
    while name in taken:
        name, number = f"{run_key} ({number})", number + 1
    return name


def sidebar_record(dataset: fo.Dataset, run_key: str, paths: Sequence[str]) -> dict[str, Any]:
    """What is needed to take a group out again: its name, whether the groups are the App's own, and where the fields
    stand now."""
    stand = [
        [path, group.name, position]
        for group in _groups(dataset)
        for position, path in enumerate(group.paths)
        if path in paths
    ]
    return {
        "group": group_name(dataset, run_key),
        "is_default": dataset.app_config.sidebar_groups is None,
        "paths": list(paths),
        "moved": stand,
    }


def add_sidebar_group(dataset: fo.Dataset, record: Mapping[str, Any]) -> None:
    """Move the fields of a run into a group of their own, after the labels."""
    paths = set(record["paths"])
    groups = [_group(group.name, [path for path in group.paths if path not in paths], group.expanded)
              for group in _groups(dataset)]  # fmt: skip
    after = [k for k, group in enumerate(groups) if group.name in ("labels", "frame labels")]
    groups.insert(after[-1] + 1 if after else len(groups), _group(record["group"], list(record["paths"]), None))
    _save(dataset, groups)


def remove_sidebar_group(dataset: fo.Dataset, record: Mapping[str, Any]) -> None:
    """Put the fields of a run back where they stood, whatever else was changed meanwhile."""
    if dataset.app_config.sidebar_groups is None:
        return
    ours = {path: (group, position) for path, group, position in record["moved"]}
    groups = []
    for group in dataset.app_config.sidebar_groups:
        if group.name != record["group"]:
            groups.append(_group(group.name, list(group.paths), group.expanded))
            continue
        added = [path for path in group.paths if path not in record["paths"]]
        if added:  # by the user
            groups.append(_group(group.name, added, group.expanded))
    listed = {path for group in groups for path in group.paths}
    for path, (name, position) in sorted(ours.items(), key=lambda entry: entry[1][1]):
        home = next((group for group in groups if group.name == name), None)
        if home is not None and path not in listed and dataset.get_field(path) is not None:
            home.paths.insert(position, path)
    default = fo.DatasetAppConfig.default_sidebar_groups(dataset)
    as_default = record["is_default"] and _in_outline(groups, default, set(record["paths"]))
    _save(dataset, None if as_default else groups)


def without_sidebar(record: Mapping[str, Any], gone: Mapping[str, Any]) -> dict[str, Any]:
    """The record of one run, if the group of another is taken out: only that may have made the groups the user's."""
    return {**record, "is_default": record["is_default"] or gone["is_default"]}


def left_behind_groups(dataset: fo.Dataset, run_key: str, paths: Collection[str]) -> list[dict[str, Any]]:
    """Records of groups that are named like that of a run, and hold nothing but its fields."""
    groups = dataset.app_config.sidebar_groups or []
    is_default = all(group.paths for group in groups)  # the App itself makes no empty ones
    name = re.compile(rf"{run_key}( \(\d+\))?")
    return [
        {"group": group.name, "is_default": is_default, "paths": list(group.paths), "moved": []}
        for group in groups
        if name.fullmatch(group.name) and group.paths and set(group.paths) <= set(paths)
    ]


def _in_outline(groups: Sequence[Group], default: Sequence[Group], own: set[str]) -> bool:
    """Whether groups are the default ones, as far as they go: fields that came later are in neither.

    Of the run's own fields the order does not matter, which renaming the run may have changed.
    """
    listed = {path for group in groups for path in group.paths}

    def outline(of: Sequence[Group]) -> list[tuple[str, list[str], set[str]]]:
        parts = [(group.name, [path for path in group.paths if path in listed]) for group in of]
        return [(name, [path for path in paths if path not in own], own & set(paths)) for name, paths in parts if paths]

    return all(group.expanded is None for group in groups) and outline(groups) == outline(default)


def _groups(dataset: fo.Dataset) -> list[Group]:
    groups = dataset.app_config.sidebar_groups
    return list(fo.DatasetAppConfig.default_sidebar_groups(dataset) if groups is None else groups)


def _group(name: str, paths: list[str], expanded: bool | None) -> Group:
    return Group(name=name, paths=paths, expanded=expanded)


def _save(dataset: fo.Dataset, groups: list[Group] | None) -> None:
    dataset.app_config.sidebar_groups = groups
    dataset.save()
