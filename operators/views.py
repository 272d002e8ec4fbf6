"""The operators that show, and save, views of what a run found."""

from __future__ import annotations

from typing import Any

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError
from ..dataset_io import save_agreement_views, view_agreement
from ..dataset_io.record.run_labels import open_run_labels
from ..dataset_io.record.runs import list_agreements
from ..dataset_io.views.view_request import check_request
from .run_choice import run_choice
from .view_form import add_view_inputs, view_options


class ViewAgreement(foo.Operator):
    """Shows the samples and labels behind a number of a report."""

    @property
    def config(self) -> foo.OperatorConfig:
        return foo.OperatorConfig(
            name=names.VIEW_AGREEMENT,
            label="View annotator agreement",
            description="Show who disagrees about what: labels by verdict, annotators, class, votes or score",
            icon="filter_alt",
            dynamic=True,
        )

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        inputs = types.Object()
        prompt = types.PromptView(label="View annotator agreement", submit_button_label="Show")
        if run_choice(inputs, ctx, description="The run whose findings are shown"):
            try:
                add_view_inputs(inputs, ctx, _run_key(ctx))
                check_request(open_run_labels(_samples(ctx), _run_key(ctx)), **view_options(ctx.params))
            except AgreementInputError as error:
                problem = inputs.view("problem", types.Error(label=str(error)))
                problem.invalid, problem.error_message = True, str(error)
        return types.Property(inputs, view=prompt)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        view = _requested(ctx)
        n_samples = len(view)
        if n_samples:
            ctx.ops.set_view(view)
        else:
            ctx.ops.notify("There is nothing to show: no label, or sample, is all of this", variant="warning")
        return {"n_samples": n_samples}

    def __call__(self, samples: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY, **options: Any) -> DatasetView:
        """The view, from Python; see :func:`~annotator_agreement.view_agreement` for the options."""
        return view_agreement(samples, run_key, **options)


class SaveAgreementViews(foo.Operator):
    """Saves the usual views of a run."""

    @property
    def config(self) -> foo.OperatorConfig:
        return foo.OperatorConfig(
            name=names.SAVE_AGREEMENT_VIEWS,
            label="Save annotator agreement views",
            description="Save the usual views of an agreement run: lowest score, class conflicts, missed, lone",
            icon="bookmark_add",
            dynamic=True,
        )

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        inputs = types.Object()
        run_choice(inputs, ctx, description="The run whose views are saved; they are removed with it")
        prompt = types.PromptView(label="Save annotator agreement views", submit_button_label="Save")
        return types.Property(inputs, view=prompt)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        saved = save_agreement_views(ctx.dataset, ctx.params["run_key"])
        if not ctx.delegated:
            ctx.ops.reload_dataset()
            ctx.ops.notify(f"Saved {', '.join(repr(name) for name in saved)}", variant="success")
        return {"saved": saved}

    def __call__(self, samples: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> list[str]:
        """Save the views, from Python."""
        return save_agreement_views(samples, run_key)


def _run_key(ctx: foo.ExecutionContext) -> str:
    """The run that is chosen, as the form opens the first."""
    chosen: str = ctx.params.get("run_key") or list_agreements(ctx.dataset)[0]
    return chosen


def _requested(ctx: foo.ExecutionContext) -> fo.DatasetView:
    """The view that a form asks for."""
    return view_agreement(_samples(ctx), _run_key(ctx), **view_options(ctx.params))


def _samples(ctx: foo.ExecutionContext) -> SampleCollection:
    """The dataset, or the current view if a form asks for a part of that."""
    return ctx.view if ctx.params.get("within_view") and ctx.view is not None else ctx.dataset
