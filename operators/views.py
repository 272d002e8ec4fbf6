"""The operators that show and save views of a run."""

from __future__ import annotations

from typing import Any

import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..dataset_io import save_agreement_views, view_agreement
from ..dataset_io.record.run_labels import open_run_labels
from ..dataset_io.views.view_request import check_request, options_without
from .base import AgreementOperator, add_choice, add_several, chosen_run, tell
from .selection import add_within_view, samples_within, shows_part

#: the choice of a dropdown for no condition
_ANY = "any"


class ViewAgreement(AgreementOperator, function=view_agreement):
    """Shows the samples and labels behind a number of a report."""

    operator_name = names.VIEW_AGREEMENT
    risk = "low"
    label = "Find labels by annotator agreement"
    description = "Show who disagrees about what: labels by verdict, annotators, class, votes or score"
    icon = "filter_alt"
    submit = "Show"
    run_text = "The run to view"

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        labels = open_run_labels(ctx.dataset, chosen_run(ctx))
        without = options_without(labels)
        if "verdict" not in without:
            verdicts = (_ANY, *labels.family.verdicts)
            add_choice(inputs, "verdict", "Verdict", verdicts, description="Labels with this verdict")
        description = "One: the labels of this annotator; two: where these two disagree"
        add_several(inputs, "annotators", "Annotators", description, labels.annotators)
        if "missed_by" not in without and len(labels.annotators) > 2:
            description = "Objects of other annotators that this annotator missed"
            add_choice(inputs, "missed_by", "Missed by", (_ANY, *labels.annotators), description=description)
        if "classes" not in without:
            description = "The class of a label, or of another label of the same object"
            add_several(inputs, "classes", "Classes", description, None)
        if "confusion" not in without:
            description = "Two classes of one object; if annotators are chosen, the first one gave the first class"
            add_several(inputs, "confusion", "Confused classes", description, None)
        if "votes" not in without:
            inputs.int("least_votes", label="Minimum number of votes", min=1)
            inputs.int("most_votes", label="Maximum number of votes", min=1)
        inputs.float("min_score", label="Lowest score of samples", min=0.0, max=1.0)
        inputs.float("max_score", label="Highest score of samples", min=0.0, max=1.0)
        if shows_part(ctx):
            add_within_view(inputs)
        check_request(open_run_labels(samples_within(ctx), chosen_run(ctx)), view_options(ctx.params))

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        view = view_agreement(samples_within(ctx), chosen_run(ctx), **view_options(ctx.params))
        n_samples = len(view)
        if n_samples:
            ctx.ops.set_view(view)
        else:
            ctx.ops.notify("There is nothing to show: no label or sample meets all conditions", variant="warning")
        return {"n_samples": n_samples}


class SaveAgreementViews(AgreementOperator, function=save_agreement_views):
    """Saves the usual views of a run."""

    operator_name = names.SAVE_AGREEMENT_VIEWS
    label = "Save annotator agreement views"
    description = "Save the usual views of an agreement run: lowest score, class conflicts, missed, lone"
    icon = "bookmark_add"
    submit = "Save"
    run_text = "The run whose views are saved; they are removed with it"

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        saved = save_agreement_views(ctx.dataset, chosen_run(ctx))
        tell(ctx, f"Saved {', '.join(repr(name) for name in saved)}")
        return {"saved": saved}


def view_options(params: dict[str, Any]) -> dict[str, Any]:
    """The arguments of :func:`view_agreement` from a form; empty inputs are no conditions."""
    names = ("verdict", "annotators", "missed_by", "classes", "confusion", "min_score", "max_score")
    options = {name: params[name] for name in names if params.get(name) not in (None, "", [], _ANY)}
    votes = params.get("least_votes"), params.get("most_votes")
    if votes != (None, None):
        options["votes"] = votes
    return options
