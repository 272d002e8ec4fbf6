"""The operator that shows the stored report of a run."""

from __future__ import annotations

from typing import Any

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementReport
from ..charts.document import report_markdown
from ..dataset_io import agreement_on, load_agreement
from ..dataset_io.fiftyone_private import is_part
from .panel import summary_output
from .run_choice import run_choice

#: which samples the report is on
RUN, VIEW = "run", "view"


class ShowAgreement(foo.Operator):
    """Shows how far the annotators agree, as a run found it."""

    @property
    def config(self) -> foo.OperatorConfig:
        return foo.OperatorConfig(
            name=names.SHOW_AGREEMENT,
            label="Show annotator agreement",
            description="Show the report of an agreement run",
            icon="summarize",
            dynamic=True,
        )

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        inputs = types.Object()
        if run_choice(inputs, ctx, description="The run whose report is shown") and _shows_a_part(ctx):
            choices = types.RadioGroup()
            choices.add_choice(RUN, label="The whole run")
            choices.add_choice(VIEW, label="The samples in the current view, as the run found them")
            inputs.enum("samples", choices.values(), label="Samples", default=RUN, required=True, view=choices)
        return types.Property(
            inputs, view=types.PromptView(label="Show annotator agreement", submit_button_label="Show")
        )

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        run_key = ctx.params["run_key"]
        of_view = ctx.params.get("samples") == VIEW
        report = agreement_on(ctx.view, run_key) if of_view else load_agreement(ctx.dataset, run_key)
        return {"summary": report_markdown(report), "report": report.to_dict()}

    def resolve_output(self, ctx: foo.ExecutionContext) -> types.Property:
        return summary_output(ctx)

    def __call__(self, samples: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> AgreementReport:
        """The report of a run, from Python."""
        return load_agreement(samples, run_key)


def _shows_a_part(ctx: foo.ExecutionContext) -> bool:
    """Whether the App shows something else than the whole dataset."""
    return is_part(ctx.view)
