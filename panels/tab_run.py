"""The tabs on a run as a whole: where to look first and what to do next, and how it was computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import fiftyone as fo

from ..charts.figures import plot_thresholds
from ..charts.reports.document import computation_markdown, overview_markdown
from ..charts.text.sections import plain_markdown
from ..names import (
    COMPARE_AGREEMENT,
    DELETE_AGREEMENT,
    EXPORT_AGREEMENT,
    RENAME_AGREEMENT,
    RESOLVE_UNITS,
    RUN_NOW,
    SAVE_AGREEMENT_VIEWS,
    TAG_AGREEMENT_LABELS,
)
from .items import Item, button_item, chart_item, text_item
from .tab_images import FIRST, work_item

if TYPE_CHECKING:
    from .model_cache import Shown
    from .panel_state import PanelState


#: other runs that are offered for a comparison
_MOST_RUNS = 8


def overview_items(shown: Shown, dataset: fo.Dataset | None, state: PanelState) -> Iterator[Item]:
    """Where to look first, the next steps, and the answers to the three questions."""
    if len(shown.work):
        yield work_item(shown, dataset, 0, FIRST, title="Where to look first")
        label = f"All {len(shown.work):,}, the most costly first"
        yield button_item("all_work", "", [(label, "list", "go_to_tab", {"tab": "images"})])
    text = "\n\n".join([*map(plain_markdown, shown.findings[1]), overview_markdown(shown.report)])
    if text.strip():
        yield text_item("overview", text)
    has_objects = hasattr(shown.report, "existence")
    steps = [
        ("Save these as views", "bookmark_add", SAVE_AGREEMENT_VIEWS),
        *([("Make a consensus", "how_to_vote", RESOLVE_UNITS)] if has_objects else []),
        ("Tag labels", "sell", TAG_AGREEMENT_LABELS),
        ("Export the report", "file_download", EXPORT_AGREEMENT),
        ("Delete this run", "delete", DELETE_AGREEMENT),
    ]
    buttons: list[tuple[str, str, str, dict[str, Any]]] = []
    if has_objects:
        buttons.append(("Show disputed objects", "crop", "show_disputed", {}))
    buttons += [(label, icon, "run_operator", {"operator": operator}) for label, icon, operator in steps]
    if state.config.get("previous"):
        params = {"operator": COMPARE_AGREEMENT, "run_key": str(state.run_key), "other_run_key": RUN_NOW}
        buttons.append(("Before and after the update", "compare_arrows", "run_operator", params))
    buttons += [compare_button(key, state) for key in state.comparable[:1]]
    yield button_item("next_steps", "Next steps", buttons)


def rule_items(shown: Shown, state: PanelState) -> Iterator[Item]:
    """The rules, the notes, the threshold and the other runs."""
    yield text_item("computation", computation_markdown(shown.report, shown.notes))
    yield from chart_item("thresholds", lambda: plot_thresholds(shown.report))
    others = [compare_button(key, state) for key in state.comparable[:_MOST_RUNS]]
    if others:
        yield button_item("other_runs", "Other runs", others)
    of_run = [
        ("Rename", "drive_file_rename_outline", RENAME_AGREEMENT),
        ("Export the report", "file_download", EXPORT_AGREEMENT),
        ("Delete", "delete", DELETE_AGREEMENT),
    ]
    buttons = [(label, icon, "run_operator", {"operator": operator}) for label, icon, operator in of_run]
    yield button_item("run_steps", f"This run: {state.run_key}", buttons)


def compare_button(other: str, state: PanelState) -> tuple[str, str, str, dict[str, Any]]:
    """From the older run to the newer one, whichever is shown."""
    before, after = sorted((other, state.run_key or ""), key=state.keys.index, reverse=True)
    params = {"operator": COMPARE_AGREEMENT, "run_key": before, "other_run_key": after}
    return f"Compare with {other}", "compare_arrows", "run_operator", params
