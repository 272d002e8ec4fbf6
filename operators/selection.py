"""What the user has chosen in the App: labels, samples or patches, or what the grid shows."""

from __future__ import annotations

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection

from ..dataset_io.run_labels import RunLabels


def chosen_samples(ctx: foo.ExecutionContext) -> SampleCollection:
    """The selected samples, or patches, of the current view; without a selection the view."""
    view = ctx.view if ctx.view is not None else ctx.dataset
    return view.select(list(ctx.selected)) if ctx.selected else view


def chosen_labels(ctx: foo.ExecutionContext, labels: RunLabels) -> list[str] | None:
    """Ids of the selected labels of annotators; None if none is selected."""
    fields = {name.rsplit(".", 1)[-1] for name in labels.config.fields}
    chosen = [entry["label_id"] for entry in ctx.selected_labels if entry["field"].rsplit(".", 1)[-1] in fields]
    return chosen or None


def is_chosen(ctx: foo.ExecutionContext) -> bool:
    """Whether a part of the dataset is selected or shown."""
    is_part = ctx.view is not None and (ctx.view._is_generated or bool(ctx.view._stages))
    return bool(ctx.selected) or is_part


def describe_choice(ctx: foo.ExecutionContext, labels: RunLabels) -> str:
    """What would be worked on, in words."""
    selected = chosen_labels(ctx, labels)
    if selected is not None:
        return f"{len(selected)} selected labels"
    if ctx.selected:
        return f"the labels of {len(ctx.selected)} selected samples or patches"
    return "the labels that the current view shows" if is_chosen(ctx) else "all labels of the run"
