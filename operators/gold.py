"""The operators that decide on many objects by a rule, and take back what was decided last."""

from __future__ import annotations

import dataclasses
from typing import Any

import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..agreement.objects.verdicts import VERDICTS
from ..charts.words import counted
from ..dataset_io import decide, undo_decisions
from ..dataset_io.decide.decide import Decided, open_to_decide, user_name
from ..dataset_io.decide.decisions import gold_fields
from ..dataset_io.record.run_labels import open_run_labels
from .base import AgreementOperator, add_choice, add_several, add_switch, add_warning, chosen_run, progress_of, tell
from .selection import add_within_view, samples_within, shows_part

_CHOICES = {
    "consensus": "The consensus of all annotators",
    "version": "The label of one annotator",
    "none": "No label: there is no such object, or nothing is right",
}
#: parameters that are passed on as they are
_GIVEN = ("verdict", "classes", "min_votes", "min_iou", "one_class", "by", "remark", "gold", "overwrite")
#: larger datasets are counted on request: a form asks after every change
_MOST_COUNTED = 5_000


class Decide(AgreementOperator, function=decide):
    """Decides on all objects, tags or samples that meet a rule."""

    operator_name = names.DECIDE
    label = "Decide disputed objects by a rule"
    description = "Write into a field of its own which version is right, for all objects that meet a rule"
    icon = "gavel"
    submit = "Decide"
    run_text = "The run whose objects are decided"
    can_be_delegated = True

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        labels = open_run_labels(ctx.dataset, chosen_run(ctx))
        units = open_to_decide(labels, names.DEFAULT_GOLD_FIELD, among=()).units
        choices = {name: text for name, text in _CHOICES.items() if units.has_consensus or name != "consensus"}
        add_choice(inputs, "choice", "What is right", choices, as_radio_buttons=True)
        if _choice(ctx) == "version":
            add_choice(inputs, "annotator", "Annotator", labels.annotators)
        described = "Those with one of these verdicts; none for all, agreed ones included"
        verdicts = [name for name in VERDICTS if name in (labels.family.verdicts or VERDICTS[:2])]
        add_several(inputs, "verdict", "Verdicts", described, verdicts)
        described = "So many annotators drew it, or gave the leading value"
        inputs.int("min_votes", label="Votes, at least", description=described, default=1, min=1)
        if "one_class" not in units.without:
            add_switch(inputs, "one_class", "One class", "Only if all annotators gave it the same class")
        if "min_iou" not in units.without:
            described = "0 to 1; only where two or more annotators have a label"
            inputs.float("min_iou", label="Least mean IoU", description=described, min=0.0, max=1.0)
        inputs.str("by", label="Your name", description="It is stored with every decision", default=user_name())
        if shows_part(ctx):
            add_within_view(inputs)
        add_switch(inputs, "overwrite", "Decide again", "Also objects on which somebody decided before")
        samples = samples_within(ctx)
        if len(samples) > _MOST_COUNTED:
            add_switch(inputs, "count", "Count first", "How many objects this decides")
        if len(samples) <= _MOST_COUNTED or ctx.params.get("count"):
            inputs.view("preview", types.Notice(label=_told(_decide(ctx, preview=True), "This would decide")))

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        done = _decide(ctx, preview=False, progress=progress_of(ctx))
        tell(ctx, _told(done, "Decided"), variant="success" if done.n_decided else "warning")
        return dataclasses.asdict(done)


def _choice(ctx: foo.ExecutionContext) -> str:
    """What is right; at first the consensus, of masks the label of one annotator."""
    chosen = ctx.params.get("choice")
    if chosen:
        return str(chosen)
    units = open_to_decide(open_run_labels(ctx.dataset, chosen_run(ctx)), names.DEFAULT_GOLD_FIELD, among=()).units
    return "consensus" if units.has_consensus else "version"


def _decide(ctx: foo.ExecutionContext, *, preview: bool, progress: Any = False) -> Decided:
    """Decide as the form says."""
    params, run_key = ctx.params, chosen_run(ctx)
    choice: Any = _choice(ctx)
    given = {name: params[name] for name in _GIVEN if params.get(name)}
    if choice == "version":
        given["annotator"] = params.get("annotator") or open_run_labels(ctx.dataset, run_key).annotators[0]
    return decide(samples_within(ctx), run_key, choice, **given, preview=preview, progress=progress)


def _told(decided: Decided, what: str) -> str:
    """What became of the objects, in one sentence."""
    others = [
        (decided.n_before, "decided before"),
        (decided.n_without, "without such a label"),
        (decided.n_left_out, "with labels that were deleted or added since the run"),
    ]
    left = [f"{n:,} {text}" for n, text in others if n]
    return f"{what} {counted(decided.n_decided, 'object')}" + (f"; left out: {', '.join(left)}" if left else "")


class UndoDecisions(AgreementOperator, function=undo_decisions):
    """Takes back what was decided last."""

    operator_name = names.UNDO_DECISIONS
    label = "Undo the last decision"
    description = (
        "Take back the object, or all objects of a rule, that were decided last; what it replaced is there again"
    )
    icon = "undo"
    submit = "Undo"

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        fields = gold_fields(ctx.dataset) if ctx.dataset is not None else []
        if not fields:
            add_warning(inputs, "no_decisions", "Nothing was decided on this dataset yet")
            return
        add_choice(inputs, "gold", "Field of decisions", fields, required=True)
        inputs.str("by", label="Decided by", description="Only what this person decided; empty for anybody")

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        gold = ctx.params.get("gold") or names.DEFAULT_GOLD_FIELD
        n = undo_decisions(ctx.dataset, ctx.params.get("step"), by=ctx.params.get("by") or None, gold=gold)
        tell(ctx, f"Took back {counted(n, 'decision')}", variant="success" if n else "warning")
        return {"n": n}
