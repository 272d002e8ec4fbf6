"""The operator that shows disputed units one by one."""

from __future__ import annotations

from typing import Any

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError
from ..dataset_io import add_units, agreement_patches
from ..dataset_io.fiftyone_private import is_generated, stages_of
from ..dataset_io.record.run_labels import open_run_labels
from ..dataset_io.units.patches import DISPUTED, check_units, check_verdicts
from .made_form import chosen_run, show_problem
from .run_choice import run_choice


class AgreementPatches(foo.Operator):
    """Shows every disputed object as a patch, with every annotator's version of it."""

    @property
    def config(self) -> foo.OperatorConfig:
        return foo.OperatorConfig(
            name=names.AGREEMENT_PATCHES,
            label="Show disputed objects",
            description="One patch for every object that annotators disagree about, the worst first",
            icon="grid_view",
            dynamic=True,
        )

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        inputs = types.Object()
        prompt = types.PromptView(label="Show disputed objects", submit_button_label="Show")
        if run_choice(inputs, ctx, description="The run whose disputed objects are shown"):
            choices = types.AutocompleteView(allow_user_input=False, allow_duplicates=False)
            for verdict in (*DISPUTED, "agreed"):
                choices.add_choice(verdict, label=verdict)
            inputs.list(
                "verdict",
                types.String(),
                label="Verdicts",
                description="Objects with one of these; none for all that are disputed",
                view=choices,
            )
            inputs.int("max_units", label="At most so many", description="The worst ones", min=1)
            if _is_narrowed(ctx):
                inputs.bool("within_view", label="Within the current view", default=False)
            try:
                _offer_units(inputs, ctx)
                check_verdicts(ctx.params.get("verdict") or None)
            except AgreementInputError as error:
                show_problem(inputs, error)
        return types.Property(inputs, view=prompt)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        run_key = chosen_run(ctx)
        if _make_units(ctx, default=False) and not _has_units(ctx):
            add_units(ctx.dataset, run_key)
            ctx.ops.reload_dataset()
        samples = ctx.view if ctx.params.get("within_view") and _is_narrowed(ctx) else ctx.dataset
        verdict, max_units = ctx.params.get("verdict") or None, ctx.params.get("max_units")
        view = agreement_patches(samples, run_key, verdict=verdict, max_units=max_units)
        n_units = len(view)
        if n_units:
            ctx.ops.set_view(view)
        else:
            ctx.ops.notify("There is nothing to show: no object has such a verdict", variant="warning")
        return {"n_units": n_units}

    def __call__(self, samples: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY, **options: Any) -> DatasetView:
        """The view, from Python; see :func:`~annotator_agreement.agreement_patches` for the options."""
        return agreement_patches(samples, run_key, **options)


def _is_narrowed(ctx: foo.ExecutionContext) -> bool:
    """Whether the App shows a part of the samples."""
    return ctx.view is not None and not is_generated(ctx.view) and bool(stages_of(ctx.view))


def _make_units(ctx: foo.ExecutionContext, *, default: bool) -> bool:
    return bool(ctx.params.get("make_units", default))


def _has_units(ctx: foo.ExecutionContext) -> bool:
    try:
        check_units(open_run_labels(ctx.dataset, chosen_run(ctx)))
    except AgreementInputError:
        return False
    return True


def _offer_units(inputs: types.Object, ctx: foo.ExecutionContext) -> None:
    """Offer to make the units of a run on objects, where there are none.

    Raises:
        AgreementInputError: if there are none, and the user does not want them made
    """
    labels = open_run_labels(ctx.dataset, chosen_run(ctx))
    try:
        check_units(labels)
    except AgreementInputError:
        if labels.family != "objects":
            raise
        inputs.bool(
            "make_units",
            label="Make the units first",
            description="The run has none yet: one label for every object, removed with the run",
            default=True,
            view=types.SwitchView(),
        )
        if not _make_units(ctx, default=True):
            raise
