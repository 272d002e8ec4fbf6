"""What the App shows of a dataset besides its labels: sidebar groups."""

from __future__ import annotations

from typing import Any

#: every setting of the App
EVERYTHING = {"sidebar": True, "indexes": True, "color_by": "verdict"}


def sidebar_groups(dataset: Any) -> dict[str, list[str]]:
    """The groups of the sidebar with their fields."""
    return {group.name: list(group.paths) for group in dataset.app_config.sidebar_groups or []}
