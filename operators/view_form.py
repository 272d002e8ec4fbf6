"""The form in which a view of a run's findings is asked for."""

from __future__ import annotations

from typing import Any

import fiftyone.operators as foo
from fiftyone.operators import types

from ..dataset_io.fiftyone_private import is_part
from ..dataset_io.record.run_labels import open_run_labels
from ..dataset_io.views.view_request import VERDICTS, options_without
from .selection import add_annotators_input

#: the choice of a dropdown that asks for nothing
_ANY = "any"


def add_view_inputs(inputs: types.Object, ctx: foo.ExecutionContext, run_key: str) -> None:
    """Add what can be asked of the labels of a run.

    Raises:
        AgreementInputError: if it has no labels to show
    """
    labels = open_run_labels(ctx.dataset, run_key)
    without = options_without(labels)
    if "verdict" not in without:
        _dropdown(inputs, "verdict", "Verdict", "Labels with this verdict", VERDICTS[labels.family])
    add_annotators_input(inputs, labels, "One: the labels of this annotator; two: where these two disagree")
    if "missed_by" not in without:
        description = "What others have, and this annotator has not"
        _dropdown(inputs, "missed_by", "Missed by", description, labels.annotators)
    if "classes" not in without:
        description = "Of labels, or of others of their unit"
        inputs.list("classes", types.String(), label="Classes", description=description, view=_typed())
    if "confusion" not in without:
        description = "Two classes that met; where annotators are chosen, the first of them said the first"
        inputs.list("confusion", types.String(), label="Confused classes", description=description, view=_typed())
    if "votes" not in without:
        inputs.int("least_votes", label="At least so many votes", min=1)
        inputs.int("most_votes", label="At most so many votes", min=1)
    inputs.float("min_score", label="Lowest score of samples", min=0.0, max=1.0)
    inputs.float("max_score", label="Highest score of samples", min=0.0, max=1.0)
    if is_part(ctx.view):
        inputs.bool("within_view", label="Within the current view", default=False)


def view_options(params: dict[str, Any]) -> dict[str, Any]:
    """The arguments of :func:`view_agreement` that a form gave; what was left empty is not asked for."""
    names = ("verdict", "annotators", "missed_by", "classes", "confusion", "min_score", "max_score")
    options = {name: params[name] for name in names if params.get(name) not in (None, "", [], _ANY)}
    votes = params.get("least_votes"), params.get("most_votes")
    if votes != (None, None):
        options["votes"] = votes
    return options


def _typed() -> types.AutocompleteView:
    """A list of texts that are typed."""
    return types.AutocompleteView(allow_user_input=True, allow_duplicates=False)


def _dropdown(inputs: types.Object, name: str, label: str, description: str, values: tuple[str, ...]) -> None:
    view = types.DropdownView()
    for value in (_ANY, *values):
        view.add_choice(value, label=value)
    inputs.enum(name, [_ANY, *values], label=label, description=description, default=_ANY, view=view)
