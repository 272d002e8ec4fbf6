"""The operator that deletes a run."""

from __future__ import annotations

from typing import Any

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..dataset_io import delete_agreement
from .run_choice import run_choice


class DeleteAgreement(foo.Operator):
    """Deletes a run and everything that it wrote."""

    @property
    def config(self) -> foo.OperatorConfig:
        return foo.OperatorConfig(
            name=names.DELETE_AGREEMENT,
            label="Delete annotator agreement",
            description="Delete an agreement run and everything that it wrote",
            icon="delete",
            dynamic=True,
        )

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        inputs = types.Object()
        if run_choice(inputs, ctx, description="The run that is deleted, with all its fields"):
            inputs.view("kept", types.Notice(label="Your own labels and fields are not touched"))
        return types.Property(
            inputs, view=types.PromptView(label="Delete annotator agreement", submit_button_label="Delete")
        )

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        run_key = ctx.params["run_key"]
        delete_agreement(ctx.dataset, run_key)
        if not ctx.delegated:
            ctx.ops.reload_dataset()
            ctx.ops.notify(f"Deleted the run '{run_key}' and everything that it wrote", variant="success")
        return {"run_key": run_key}

    def __call__(self, samples: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> None:
        """Delete a run, from Python."""
        delete_agreement(samples, run_key)
