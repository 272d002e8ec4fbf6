"""The operator that compares two runs."""

from __future__ import annotations

from typing import Any

import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..charts.reports.comparison import comparison_markdown
from ..dataset_io import compare_agreement
from ..dataset_io.record.run import Run, completed_kinds
from .base import AgreementOperator, add_choice, add_warning, summary_output


class CompareAgreement(AgreementOperator, function=compare_agreement):
    """Shows the changes from one run to another, over their common samples."""

    operator_name = names.COMPARE_AGREEMENT
    risk = "low"
    label = "Compare annotator agreement"
    description = "Show what changed from one agreement run to another, with intervals, and on which samples"
    icon = "compare_arrows"
    submit = "Compare"

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        families = {} if ctx.dataset is None else completed_kinds(ctx.dataset)
        updated = [key for key in families if Run(ctx.dataset, key).config.get("previous")]
        kinds = list(families.values())
        first = [key for key in reversed(families) if kinds.count(families[key]) > 1 or key in updated]
        if not first:
            label = "This dataset has no two completed agreement runs on labels of one kind, and none that was updated"
            advice = "Correct labels and update the run, or compute agreement again under another run key"
            add_warning(inputs, "no_runs", label, advice)
            return
        key_a = ctx.params.get("run_key")
        key_a = key_a if key_a in first else first[0]
        second = {names.RUN_NOW: "the same run now, from before its last update"} if key_a in updated else {}
        second |= {key: key for key in first if key != key_a and families[key] == families[key_a]}
        description = "The first run: before the change"
        add_choice(inputs, "run_key", "From", first, description=description, required=True)
        description = "The second run: after the change"
        add_choice(inputs, "other_run_key", "To", second, description=description, required=True)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        other = ctx.params.get("other_run_key")
        comparison = compare_agreement(
            ctx.dataset, ctx.params.get("run_key"), None if other == names.RUN_NOW else other
        )
        return {"summary": comparison_markdown(comparison), "comparison": comparison.to_dict()}

    def resolve_output(self, ctx: foo.ExecutionContext) -> types.Property:
        return summary_output("Annotator agreement, compared")
