"""The way from a result to the panel."""

from __future__ import annotations

from typing import Any

import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names


class OpenAgreementPanel(foo.Operator):
    """Opens the panel on a run; the button below results does this."""

    @property
    def config(self) -> foo.OperatorConfig:
        return foo.OperatorConfig(
            name=names.OPEN_AGREEMENT_PANEL,
            label="Open the annotator agreement panel",
            description="Show a run in the panel",
            icon="diversity_3",
            unlisted=True,
        )

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        inputs = types.Object()
        inputs.str("run_key", label="Run")
        return types.Property(inputs)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        open_panel(ctx, ctx.params.get("run_key"))
        return {}


def open_panel(ctx: foo.ExecutionContext, run_key: str | None) -> None:
    """Open the panel on a run, in the place of one that is open."""
    # the App only brings an open panel to the front, with the run that it shows
    ctx.ops.close_panel(name=names.AGREEMENT_PANEL)
    ctx.ops.open_panel(names.AGREEMENT_PANEL, layout="horizontal", state={"state": {"run_key": run_key}})


def summary_output(ctx: foo.ExecutionContext) -> types.Property:
    """The summary of a report, and a button that opens the panel on its run."""
    outputs = types.Object()
    run_key = ctx.results.get("run_key") or ctx.params.get("run_key")
    outputs.btn(
        "open_panel",
        label="Show in the panel",
        icon="diversity_3",
        variant="contained",
        on_click=f"{names.PLUGIN_NAME}/{names.OPEN_AGREEMENT_PANEL}",
        params={"run_key": run_key},
    )
    outputs.str("summary", view=types.MarkdownView())
    return types.Property(outputs, view=types.View(label="Annotator agreement"))
