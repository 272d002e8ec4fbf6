"""The user's selection in the App: labels, samples or patches, or the current view."""

from __future__ import annotations

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from ..dataset_io.fiftyone_private import all_slices, is_generated, is_part
from ..dataset_io.record.run_labels import RunLabels


def chosen_samples(ctx: foo.ExecutionContext) -> SampleCollection:
    """The samples of selected labels, or the selected samples or patches, in the current view; else the view."""
    view = ctx.view if ctx.view is not None else ctx.dataset
    chosen = list(ctx.selected)
    if ctx.selected_labels:
        # samples that were added twice have labels with the same ids
        chosen = [] if is_generated(view) else sorted({entry["sample_id"] for entry in ctx.selected_labels})
    if not chosen:
        return view
    # FiftyOne selects whole groups, with the samples of all slices
    flat = all_slices(view)
    return flat.select(chosen)


def chosen_labels(ctx: foo.ExecutionContext, labels: RunLabels) -> dict[str, list[str]] | None:
    """Ids of the selected labels of annotators by field; None if no label at all is selected."""
    if not ctx.selected_labels:
        return None
    # views of frames use the field names of frames
    fields = {name.rsplit(".", 1)[-1]: name for name in labels.config.fields}
    chosen: dict[str, list[str]] = {}
    for entry in ctx.selected_labels:
        name = fields.get(entry["field"].rsplit(".", 1)[-1])
        if name is not None:
            chosen.setdefault(name, []).append(entry["label_id"])
    return chosen


def shows_part(ctx: foo.ExecutionContext) -> bool:
    """Whether the App shows something other than the whole dataset."""
    return is_part(ctx.view)


def is_chosen(ctx: foo.ExecutionContext) -> bool:
    """Whether a part of the dataset is selected or shown."""
    return bool(ctx.selected) or shows_part(ctx)


def add_within_view(inputs: types.Object) -> None:
    """Offer to use only the current view."""
    inputs.bool("within_view", label="Within the current view", default=False)


def samples_within(ctx: foo.ExecutionContext) -> SampleCollection:
    """The dataset, or the current view if the form says so."""
    return ctx.view if ctx.params.get("within_view") and shows_part(ctx) else ctx.dataset


def describe_choice(ctx: foo.ExecutionContext, labels: RunLabels) -> str:
    """Description of the labels that the operator would use."""
    selected = chosen_labels(ctx, labels)
    if selected is not None:
        return f"{sum(map(len, selected.values()))} selected labels of annotators"
    if ctx.selected:
        return f"the labels of {len(ctx.selected)} selected samples or patches"
    return "the labels that the current view shows" if is_chosen(ctx) else "all labels of the run"
