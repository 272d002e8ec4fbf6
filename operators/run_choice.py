"""The part of a form in which a run is chosen."""

from __future__ import annotations

import fiftyone.operators as foo
from fiftyone.operators import types

from ..dataset_io.record.run_config import read_config
from ..dataset_io.record.runs import list_agreements


def run_choice(inputs: types.Object, ctx: foo.ExecutionContext, *, description: str) -> bool:
    """Add the choice of a run to a form; False, and a warning in the form, where there is none."""
    keys = list_agreements(ctx.dataset) if ctx.dataset is not None else []
    if not keys:
        warning = types.Warning(label="This dataset has no agreement runs", description="Compute agreement first")
        inputs.view("no_runs", warning).invalid = True
        return False
    choices = types.DropdownView()
    for key in keys:
        status = read_config(ctx.dataset, key).get("status")
        choices.add_choice(key, label=key if status == "completed" else f"{key} ({status})")
    inputs.enum("run_key", keys, label="Run", description=description, default=keys[0], required=True, view=choices)
    return True
