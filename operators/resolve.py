"""The operator that decides by vote."""

from __future__ import annotations

from typing import Any

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..dataset_io import resolve_units
from ..dataset_io.units.made_labels import MadeLabels
from .made_form import add_made_inputs, made_message, made_options

_QUORUM = types.SliderView(componentsProps={"slider": {"min": 0.05, "max": 1.0, "step": 0.05}})


class ResolveUnits(foo.Operator):
    """Writes the consensus of the annotators as a new label field."""

    @property
    def config(self) -> foo.OperatorConfig:
        return foo.OperatorConfig(
            name=names.RESOLVE_UNITS,
            label="Resolve annotator agreement units",
            description="Write the consensus of the annotators into a new field: objects and classes by vote",
            icon="how_to_vote",
            dynamic=True,
            allow_immediate_execution=True,
            allow_delegated_execution=True,
        )

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        inputs = types.Object()
        if add_made_inputs(inputs, ctx, names.CONSENSUS_SUFFIX, "The run whose objects are decided by vote"):
            inputs.float(
                "quorum",
                label="Quorum",
                description="Least share of annotators",  # short, as the slider's value stands above its middle
                default=0.5,
                min=0.01,
                max=1.0,
                view=_QUORUM,
            )
            kept = "The annotators' own labels are not touched"
            written = "a new field gets the objects that at least this share of the assigned annotators drew"
            inputs.view("kept", types.Notice(label=f"{kept}; {written}"))
        prompt = types.PromptView(label="Resolve annotator agreement units", submit_button_label="Resolve")
        return types.Property(inputs, view=prompt)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        progress = fo.report_progress(lambda bar: ctx.set_progress(progress=bar.progress, label="Samples"), dt=1.0)
        quorum = ctx.params.get("quorum", 0.5)
        made = resolve_units(ctx.dataset, quorum=quorum, **made_options(ctx), progress=progress)
        return made_message(ctx, made)

    def __call__(self, samples: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY, **options: Any) -> MadeLabels:
        """Write the consensus, from Python; see :func:`~annotator_agreement.resolve_units` for the options."""
        return resolve_units(samples, run_key, **options)
