"""The operator that renames a run."""

from __future__ import annotations

from typing import Any

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError
from ..dataset_io import rename_agreement
from ..dataset_io.rename import check_rename
from .run_choice import run_choice


class RenameAgreement(foo.Operator):
    """Gives a run another key, and its fields the names that go with it."""

    @property
    def config(self) -> foo.OperatorConfig:
        return foo.OperatorConfig(
            name=names.RENAME_AGREEMENT,
            label="Rename annotator agreement",
            description="Give an agreement run another key, and its fields the names that go with it",
            icon="drive_file_rename_outline",
            dynamic=True,
        )

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        inputs = types.Object()
        prompt = types.PromptView(label="Rename annotator agreement", submit_button_label="Rename")
        if not run_choice(inputs, ctx, description="The run that gets another key"):
            return types.Property(inputs, view=prompt)
        inputs.str("new_run_key", label="New run key", description="New beginning of its fields' names", required=True)
        new_key = ctx.params.get("new_run_key")
        if new_key and ctx.params.get("run_key"):
            try:
                check_rename(ctx.dataset, ctx.params["run_key"], new_key)
            except AgreementInputError as error:
                inputs.view("problem", types.Error(label=str(error))).invalid = True
        return types.Property(inputs, view=prompt)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        run_key, new_key = ctx.params["run_key"], ctx.params["new_run_key"]
        rename_agreement(ctx.dataset, run_key, new_key)
        if not ctx.delegated:
            ctx.ops.reload_dataset()
            ctx.ops.notify(f"Renamed the run '{run_key}' to '{new_key}'", variant="success")
        return {"run_key": new_key}

    def __call__(self, samples: SampleCollection, run_key: str, new_run_key: str) -> None:
        """Rename a run, from Python."""
        rename_agreement(samples, run_key, new_run_key)
