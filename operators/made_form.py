"""What the forms of units and of their consensus have in common."""

from __future__ import annotations

import dataclasses
from typing import Any

import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError
from ..dataset_io.record.run_labels import open_run_labels
from ..dataset_io.record.runs import list_agreements
from ..dataset_io.units.made_labels import MadeLabels, check_can_make, made_record
from .run_choice import run_choice

#: the functions that the forms stand for, for messages
_FUNCTIONS = {names.UNITS_SUFFIX: "add_units", names.CONSENSUS_SUFFIX: "resolve_units"}
_SHAPES = {
    "medoid": "The shape of the annotator who is nearest to the rest",
    "vote": "Pixel by pixel: what at least half of the annotators drew",
}


def chosen_run(ctx: foo.ExecutionContext) -> str:
    """The run that is chosen, as the form opens the first."""
    chosen: str = ctx.params.get("run_key") or list_agreements(ctx.dataset)[0]
    return chosen


def show_problem(inputs: types.Object, error: Exception) -> None:
    """Show in a form why it cannot be executed."""
    problem = inputs.view("problem", types.Error(label=str(error)))
    problem.invalid, problem.error_message = True, str(error)


def add_made_inputs(inputs: types.Object, ctx: foo.ExecutionContext, suffix: str, description: str) -> bool:
    """Ask for the run, for shapes and whether to replace what was made before; False if there is no run."""
    if not run_choice(inputs, ctx, description=description):
        return False
    run_key = chosen_run(ctx)
    try:
        labels = open_run_labels(ctx.dataset, run_key)
        if labels.family == "objects" and labels.kinds[0].comparable == "shapes":
            view = types.DropdownView()
            for value, label in _SHAPES.items():
                view.add_choice(value, label=label)
            inputs.enum("shapes", list(_SHAPES), label="Masks and polygons", default="medoid", view=view)
        if made_record(ctx.dataset, run_key, suffix) is not None:
            inputs.bool(
                "overwrite",
                label="Overwrite",
                description="Replace what was made before",
                default=False,
                view=types.SwitchView(),
            )
        check_can_make(labels, suffix, _FUNCTIONS[suffix], overwrite=bool(ctx.params.get("overwrite", False)))
    except AgreementInputError as error:
        show_problem(inputs, error)
    return True


def made_options(ctx: foo.ExecutionContext) -> dict[str, Any]:
    """The arguments that the form gave."""
    return {
        "run_key": ctx.params["run_key"],
        "shapes": ctx.params.get("shapes") or "medoid",
        "overwrite": bool(ctx.params.get("overwrite", False)),
    }


def made_message(ctx: foo.ExecutionContext, made: MadeLabels) -> dict[str, Any]:
    """Tell the user what was written and what was left out; returns the same as a result."""
    told = [f"Wrote {made.n_labels} labels into {made.field}"]
    if made.n_below_quorum:
        told.append(f"{made.n_below_quorum} objects have too few votes")
    if made.n_left_out:
        told.append(f"{made.n_left_out} objects were left out: labels changed since the run, or have no pixels")
    if made.n_changed:
        told.append(f"{made.n_changed} samples were left out: somebody was editing them")
    if not ctx.delegated:
        ctx.ops.reload_dataset()
        complete = not made.n_left_out and not made.n_changed
        ctx.ops.notify("; ".join(told), variant="success" if complete else "warning")
    return dataclasses.asdict(made)
