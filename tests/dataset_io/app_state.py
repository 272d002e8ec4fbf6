"""What the App shows of a dataset besides its labels: sidebar groups, and links between labels."""

from __future__ import annotations

from typing import Any

#: every setting of the App
EVERYTHING = {"sidebar": True, "indexes": True, "color_by": "verdict", "link_instances": True}


def sidebar_groups(dataset: Any) -> dict[str, list[str]]:
    """The groups of the sidebar with their fields."""
    return {group.name: list(group.paths) for group in dataset.app_config.sidebar_groups or []}


def instances(dataset: Any, name: str) -> list[Any]:
    """The instance of every label in a field."""
    return [
        label.instance_id
        for sample in dataset.iter_samples()
        if sample[name] is not None
        for label in sample[name].detections
    ]
