"""The operator that computes agreement."""

from __future__ import annotations

from typing import Any

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementReport
from ..charts.document import report_markdown
from ..dataset_io import compute_agreement
from .compute_form import compute_form, free_run_key, options_of, target_of
from .panel import summary_output


class ComputeAgreement(foo.Operator):
    """Computes agreement from a form in the App, from a delegated run, or from Python."""

    @property
    def config(self) -> foo.OperatorConfig:
        return foo.OperatorConfig(
            name=names.COMPUTE_AGREEMENT,
            label="Compute annotator agreement",
            description="Match the labels of several annotators, score every sample, and report how far they agree",
            icon="diversity_3",
            dynamic=True,
            allow_immediate_execution=True,
            allow_delegated_execution=True,
        )

    def resolve_placement(self, ctx: foo.ExecutionContext) -> types.Placement:
        return types.Placement(
            types.Places.SAMPLES_GRID_SECONDARY_ACTIONS,
            types.Button(label="Compute annotator agreement", icon="diversity_3", prompt=True),
        )

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        return compute_form(ctx)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        samples = target_of(ctx)
        options = {"run_key": free_run_key(ctx.dataset), **options_of(ctx.params, ctx.dataset)}
        progress = fo.report_progress(lambda bar: ctx.set_progress(progress=bar.progress, label="Samples"), dt=1.0)
        report = compute_agreement(samples, **options, progress=progress)
        if not ctx.delegated:
            ctx.ops.reload_dataset()
            ctx.ops.open_panel(names.AGREEMENT_PANEL, layout="horizontal")
        return {
            "run_key": report.run_key,
            "score": report.score.mean,
            "alpha": report.alpha.pooled,
            "n_samples": report.n_samples,
            "n_rated": report.n_rated,
            "n_objects": report.n_objects,
            "n_units": report.n_units,
            "worst_samples": [entry["id"] for entry in report.worst_samples],
            "summary": report_markdown(report),
        }

    def resolve_output(self, ctx: foo.ExecutionContext) -> types.Property:
        return summary_output(ctx)

    def __call__(self, samples: SampleCollection, fields: str | list[str], **options: Any) -> AgreementReport:
        """Compute agreement from Python; see :func:`~annotator_agreement.compute_agreement` for the options."""
        return compute_agreement(samples, fields, **options)
