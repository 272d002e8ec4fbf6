"""The operators that show a run, open it in the panel, rename and delete it."""

from __future__ import annotations

from typing import Any

import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..charts.reports.document import report_markdown
from ..charts.text.headline import alpha_sentence
from ..charts.text.sections import Facts, Section, as_markdown
from ..charts.text.words import counted, listed
from ..dataset_io import (
    agreement_on,
    changed_since,
    delete_agreement,
    load,
    load_agreement,
    rename_agreement,
    update_agreement,
)
from ..dataset_io.app.settings import app_settings_of
from ..dataset_io.database.fiftyone_private import open_panel
from ..dataset_io.jobs.delete import what_is_deleted
from ..dataset_io.jobs.rename import check_rename
from ..dataset_io.record.run import Run
from .base import (
    AgreementOperator,
    add_choice,
    add_switch,
    chosen_run,
    is_from_app,
    progress_of,
    show_colors,
    summary_output,
    tell,
)
from .selection import must_leave_view, shows_part

#: the samples of the report
RUN, VIEW = "run", "view"


class ShowAgreement(AgreementOperator, function=load):
    """Shows the report of a run."""

    operator_name = names.SHOW_AGREEMENT
    risk = "low"
    label = "Show the annotator agreement report"
    description = "Show the report of an agreement run"
    icon = "summarize"
    submit = "Show"
    run_text = "The run whose report is shown"

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        if shows_part(ctx):
            titles = {RUN: "The whole run", VIEW: "The samples in the current view, as the run found them"}
            add_choice(inputs, "samples", "Samples", titles, as_radio_buttons=True, required=True)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        run_key = chosen_run(ctx)
        of_view = ctx.params.get("samples") == VIEW
        report = agreement_on(ctx.view, run_key) if of_view else load_agreement(ctx.dataset, run_key)
        return {"summary": report_markdown(report), "report": report.to_dict()}

    def resolve_output(self, ctx: foo.ExecutionContext) -> types.Property:
        outputs = types.Object()
        outputs.btn(
            "open_panel",
            label="Show in the panel",
            icon="diversity_3",
            variant="contained",
            on_click=f"{names.PLUGIN_NAME}/{names.OPEN_AGREEMENT_PANEL}",
            params={"run_key": ctx.params.get("run_key")},
        )
        return summary_output("Annotator agreement", outputs)


class UpdateAgreement(AgreementOperator, function=update_agreement):
    """Computes a run again where samples were changed."""

    operator_name = names.UPDATE_AGREEMENT
    label = "Update annotator agreement"
    description = "Compute an agreement run again where images were edited, added or deleted since, with its options"
    icon = "update"
    submit = "Update"
    run_text = "The run that is brought up to date, with its options"
    can_be_delegated = True

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        n_changed = changed_since(ctx.dataset, chosen_run(ctx))
        label = "Nothing was changed since the run" if n_changed == 0 else "It is not known what was changed since"
        if n_changed:
            label = f"Edited, added or deleted since the run: {counted(n_changed, 'sample')}"
        inputs.view("changed", types.Notice(label=label))

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        run_key = chosen_run(ctx)
        report = update_agreement(ctx.dataset, run_key, progress=progress_of(ctx))
        tell(ctx, f"Updated the run '{run_key}'. {alpha_sentence(report)}")
        return {"run_key": run_key, "summary": report_markdown(report), "report": report.to_dict()}


class OpenAgreementPanel(AgreementOperator):
    """Opens the panel with a run; called by the button above results."""

    operator_name = names.OPEN_AGREEMENT_PANEL
    risk = "low"
    label = "Open the annotator agreement panel"
    description = "Show a run in the panel"
    icon = "diversity_3"
    submit = "Open"

    @property
    def config(self) -> foo.OperatorConfig:
        config = super().config
        config.unlisted = True
        return config

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        inputs.str("run_key", label="Run")

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        open_panel_on(ctx, ctx.params.get("run_key"))
        return {}


class RenameAgreement(AgreementOperator, function=rename_agreement):
    """Renames a run and its fields."""

    operator_name = names.RENAME_AGREEMENT
    label = "Rename annotator agreement"
    description = "Rename an agreement run and its fields"
    icon = "drive_file_rename_outline"
    submit = "Rename"
    run_text = "The run to rename"

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        inputs.str("new_run_key", label="New run key", description="Its fields' names begin with it", required=True)
        if ctx.params.get("new_run_key") and ctx.params.get("run_key"):
            check_rename(ctx.dataset, ctx.params.get("run_key"), ctx.params.get("new_run_key"))

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        run_key, new_key = ctx.params.get("run_key"), ctx.params.get("new_run_key")
        if must_leave_view(ctx, self.uri, run_key):
            return {}
        rename_agreement(ctx.dataset, run_key, new_key)
        if app_settings_of(ctx.dataset, new_key).color_by is not None:
            show_colors(ctx)
        tell(ctx, f"Renamed the run '{run_key}' to '{new_key}'")
        return {"run_key": new_key}


class DeleteAgreement(AgreementOperator, function=delete_agreement):
    """Deletes a run and everything that it wrote."""

    operator_name = names.DELETE_AGREEMENT
    risk = "high"
    label = "Delete annotator agreement"
    description = "Delete an agreement run and everything that it wrote"
    icon = "delete"
    submit = "Delete"
    run_text = "The run that is deleted, with all its fields"

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        run_key = chosen_run(ctx)
        Run(ctx.dataset, run_key).require()
        written = what_is_deleted(ctx.dataset, run_key)
        removed = [Facts([(what, listed(found)) for what, found in written.items()])]
        inputs.md(as_markdown([Section(f"This removes the run '{run_key}'", removed)]), name=f"removed_{run_key}")
        inputs.view("kept", types.Notice(label="Your own labels and fields are not touched"))
        name = f"delete_{run_key}"  # asked again if another run is chosen
        add_switch(inputs, name, f"Yes, delete the run '{run_key}'")
        if is_from_app(ctx) and not ctx.params.get(name):
            inputs.view("asked", types.Notice(label="It cannot be undone")).invalid = True

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        run_key = ctx.params.get("run_key")
        if must_leave_view(ctx, self.uri, run_key):
            return {}
        colors = app_settings_of(ctx.dataset, run_key).color_by
        delete_agreement(ctx.dataset, run_key)
        if colors is not None:
            show_colors(ctx)
        tell(ctx, f"Deleted the run '{run_key}' and everything that it wrote")
        return {"run_key": run_key}


def open_panel_on(ctx: foo.ExecutionContext, run_key: str | None) -> None:
    """Show a run in the panel."""
    # if the panel is open, the App only brings it to the front, with its current run
    ctx.ops.close_panel(name=names.AGREEMENT_PANEL)
    if not open_panel(ctx, names.AGREEMENT_PANEL, {"run_key": run_key}) and run_key is not None:
        sentence = f"Choose the run {run_key!r} in the panel; this version of FiftyOne cannot open the panel on a run"
        tell(ctx, sentence, reload=False)
