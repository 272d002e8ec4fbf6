"""The operator that writes one label for every unit of a run."""

from __future__ import annotations

from typing import Any

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..dataset_io import add_units
from ..dataset_io.units.made_labels import MadeLabels
from .made_form import add_made_inputs, made_message, made_options


class AddAgreementUnits(foo.Operator):
    """Writes one label for every physical object that the annotators drew."""

    @property
    def config(self) -> foo.OperatorConfig:
        return foo.OperatorConfig(
            name=names.ADD_AGREEMENT_UNITS,
            label="Add annotator agreement units",
            description="Write one label for every object that the annotators drew, with its verdict and votes",
            icon="join_inner",
            dynamic=True,
            allow_immediate_execution=True,
            allow_delegated_execution=True,
        )

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        inputs = types.Object()
        add_made_inputs(inputs, ctx, names.UNITS_SUFFIX, "The run whose objects get a label each")
        prompt = types.PromptView(label="Add annotator agreement units", submit_button_label="Add")
        return types.Property(inputs, view=prompt)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        progress = fo.report_progress(lambda bar: ctx.set_progress(progress=bar.progress, label="Samples"), dt=1.0)
        made = add_units(ctx.dataset, **made_options(ctx), progress=progress)
        return made_message(ctx, made)

    def __call__(self, samples: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY, **options: Any) -> MadeLabels:
        """Write the labels, from Python; see :func:`~annotator_agreement.add_units` for the options."""
        return add_units(samples, run_key, **options)
