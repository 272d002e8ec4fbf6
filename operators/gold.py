"""The operators that decide by a rule, export what was decided, apply it to annotators' labels, and take it back."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..agreement.matching.verdicts import VERDICTS
from ..charts.reports.decided import applied_section
from ..charts.text.sections import as_markdown
from ..charts.text.words import counted
from ..dataset_io import apply_decisions, decide, export_decided, undo_applied, undo_decisions
from ..dataset_io.decide.apply import Applied, latest_applied, possible_changes
from ..dataset_io.decide.decide import Decided, ObjectsToDecide, open_to_decide, user_name
from ..dataset_io.decide.decisions import delete_empty_gold, gold_fields, open_gold
from ..dataset_io.record.run_labels import open_run_labels
from ..dataset_io.results.decided_labels import decided_to_export, format_of_decided
from .base import (
    AgreementOperator,
    add_choice,
    add_several,
    add_switch,
    add_warning,
    chosen_run,
    given_names,
    is_from_app,
    progress_of,
    summary_output,
    tell,
)
from .export import file_name_of, told_of_file
from .selection import add_within_view, samples_within, shows_part

_CHOICES = {
    "consensus": "The consensus of all annotators",
    "version": "The label of one annotator",
    "none": "No label: there is no such object, or nothing is right",
}
#: parameters that are passed on as they are
_GIVEN = ("verdict", "classes", "min_iou", "one_class", "by", "remark", "gold", "overwrite", "all")
#: what the form begins with: what two annotators drew, or agree on
_LEAST_VOTES = 2
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
        inputs.int("min_votes", label="Votes, at least", description=described, default=_LEAST_VOTES, min=1)
        if "one_class" not in units.without:
            add_switch(inputs, "one_class", "One class", "Only if all annotators gave it the same class")
        if "min_iou" not in units.without:
            described = "0 to 1; only where two or more annotators have a label"
            inputs.float("min_iou", label="Least mean IoU", description=described, min=0.0, max=1.0)
        inputs.str("by", label="Your name", description="It is stored with every decision", default=user_name())
        if shows_part(ctx):
            add_within_view(inputs)
        add_switch(inputs, "overwrite", "Decide again", "Also objects on which somebody decided before")
        if _is_counted(inputs, ctx, "How many objects this decides"):
            inputs.view("preview", types.Notice(label=_decide(ctx, preview=True).told("This would decide")))
        if not _has_condition(ctx):
            add_switch(inputs, "all", "All objects", "Also the lone ones, which one annotator drew")
            if not ctx.params.get("all"):
                add_warning(inputs, "no_condition", "Nothing says which objects: choose verdicts, votes or least mean "
                            "IoU, or “All objects”")  # fmt: skip

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        done = _decide(ctx, preview=False, progress=progress_of(ctx))
        tell(ctx, done.told("Decided"), variant="success" if done.n_decided else "warning")
        return dataclasses.asdict(done)


def _is_counted(inputs: types.Object, ctx: foo.ExecutionContext, what: str) -> bool:
    """Whether the form counts what would be done; on larger datasets it asks."""
    if len(samples_within(ctx)) <= _MOST_COUNTED:
        return True
    add_switch(inputs, "count", "Count first", what)
    return bool(ctx.params.get("count"))


def _choice(ctx: foo.ExecutionContext) -> str:
    """What is right; at first the consensus, of masks the label of one annotator."""
    chosen = ctx.params.get("choice")
    if chosen:
        return str(chosen)
    units = open_to_decide(open_run_labels(ctx.dataset, chosen_run(ctx)), names.DEFAULT_GOLD_FIELD, among=()).units
    return "consensus" if units.has_consensus else "version"


def _has_condition(ctx: foo.ExecutionContext) -> bool:
    """Whether the form says which objects are meant."""
    params = ctx.params
    return _least_votes(ctx) != 1 or any(params.get(name) for name in ("verdict", "classes", "min_iou", "one_class"))


def _least_votes(ctx: foo.ExecutionContext) -> Any:
    return ctx.params.get("min_votes") or _LEAST_VOTES


def _decide(ctx: foo.ExecutionContext, *, preview: bool, progress: Any = False) -> Decided:
    """Decide as the form says."""
    params, run_key = ctx.params, chosen_run(ctx)
    choice: Any = _choice(ctx)
    given = {name: params[name] for name in _GIVEN if params.get(name)}
    given["min_votes"] = _least_votes(ctx)
    if _has_condition(ctx):
        given.pop("all", None)
    if choice == "version":
        given["annotator"] = params.get("annotator") or open_run_labels(ctx.dataset, run_key).annotators[0]
    return decide(samples_within(ctx), run_key, choice, **given, preview=preview, progress=progress)


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
        if not _add_gold(inputs, ctx):
            return
        inputs.str("by", label="Decided by", description="Only what this person decided; empty for anybody")

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        by = ctx.params.get("by") or None
        gold = _gold(ctx)
        n = undo_decisions(ctx.dataset, ctx.params.get("step"), by=by, gold=gold)
        delete_empty_gold(ctx.dataset, gold)
        tell(ctx, f"Took back {counted(n, 'decision')}", variant="success" if n else "warning")
        return {"n": n}


def _add_gold(inputs: types.Object, ctx: foo.ExecutionContext) -> bool:
    """Ask for a field of decisions; without one, warn in the form and return False."""
    fields = gold_fields(ctx.dataset) if ctx.dataset is not None else []
    if not fields:
        add_warning(inputs, "no_decisions", "Nothing was decided on this dataset yet")
        return False
    add_choice(inputs, "gold", "Field of decisions", fields, required=True)
    return True


def _gold(ctx: foo.ExecutionContext) -> str:
    """The chosen field of decisions; when the form opens, the first one."""
    return ctx.params.get("gold") or next(iter(gold_fields(ctx.dataset)), names.DEFAULT_GOLD_FIELD)


_CHANGES = {
    "class": ("Classes", "Labels get the class that is right"),
    "geometry": ("Geometry", "Labels get the box or shape, number or mask that is right, instead of their own"),
    "attributes": ("Attributes", "Labels get the values that are right of the attributes that the run compares"),
    "delete": ("Delete", "Delete labels where somebody decided that there is nothing"),
    "add": ("Add", "Add what annotators missed on images that they were assigned to"),
}


class ApplyDecisions(AgreementOperator, function=apply_decisions):
    """Changes the annotators' own labels to what was decided."""

    operator_name = names.APPLY_DECISIONS
    risk = "high"
    label = "Apply decisions to the annotators' labels"
    description = "Change the annotators' own labels to what was decided, as one step that can be taken back"
    icon = "published_with_changes"
    submit = "Change labels"
    run_text = "The run that says who the annotators are"
    can_be_delegated = True

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        if not _add_gold(inputs, ctx):
            return
        opened = _opened(ctx)
        described = "Only the labels of these annotators; none for all"
        add_several(inputs, "annotators", "Annotators", described, opened.labels.annotators)
        for change, is_default in possible_changes(opened).items():
            add_switch(inputs, change, *_CHANGES[change], default=is_default)
        inputs.str("by", label="Your name", description="It is stored with the step", default=user_name())
        if shows_part(ctx):
            add_within_view(inputs)
        asked = "Yes, change the annotators' labels"
        if _is_counted(inputs, ctx, "How many labels this changes"):
            found = _apply(ctx, preview=True)
            told = applied_section(found.told("This would change"), found.annotators)
            inputs.md(as_markdown([told]), name="preview")
        add_switch(inputs, "sure", asked, "“Take back applied decisions” makes them what they are now")
        if is_from_app(ctx) and not ctx.params.get("sure"):
            inputs.view("asked", types.Notice(label="Nothing is changed yet")).invalid = True

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        done = _apply(ctx, preview=False, progress=progress_of(ctx))
        told = done.told("Changed")
        if done.n_applied:
            told += ". Update the runs to see what it changes"
        tell(ctx, told, variant="success" if done.n_applied else "warning")
        return dataclasses.asdict(done)


def _opened(ctx: foo.ExecutionContext) -> ObjectsToDecide:
    return open_to_decide(open_run_labels(ctx.dataset, chosen_run(ctx)), _gold(ctx), among=())


def _apply(ctx: foo.ExecutionContext, *, preview: bool, progress: Any = False) -> Applied:
    """Apply decisions as the form says."""
    possible = possible_changes(_opened(ctx))
    changes = [change for change, is_default in possible.items() if ctx.params.get(change, is_default)]
    return apply_decisions(
        samples_within(ctx),
        chosen_run(ctx),
        annotators=given_names(ctx.params, "annotators") or None,
        changes=changes,
        by=ctx.params.get("by") or None,
        gold=_gold(ctx),
        preview=preview,
        progress=progress,
    )


class UndoApplied(AgreementOperator, function=undo_applied):
    """Takes back the decisions that were applied last."""

    operator_name = names.UNDO_APPLIED
    risk = "high"
    label = "Take back applied decisions"
    description = "Make annotators' labels what they were before decisions were applied to them; the decisions stay"
    icon = "settings_backup_restore"
    submit = "Take back"
    can_be_delegated = True

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        if not _add_gold(inputs, ctx):
            return
        latest = latest_applied(open_gold(ctx.dataset, _gold(ctx)))
        if latest is None:
            add_warning(inputs, "not_applied", "No decisions are applied to annotators' labels")
            return
        what = f"{latest.by} applied {counted(latest.n_objects, 'decision')} at {latest.at:%Y-%m-%d %H:%M} (UTC)"
        inputs.view("latest", types.Notice(label=f"{what}; labels that were edited since stay as they are"))

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        done = undo_applied(ctx.dataset, ctx.params.get("step"), gold=_gold(ctx))
        tell(ctx, done.told(), variant="success" if done.n_objects else "warning")
        return dataclasses.asdict(done)


class ExportDecided(AgreementOperator, function=export_decided):
    """Writes what was decided to be right to a file."""

    operator_name = names.EXPORT_DECIDED
    label = "Export what was decided"
    description = (
        "Write the decided labels alone, of the images on which something was decided, in a format of FiftyOne"
    )
    icon = "file_download"
    submit = "Export"
    can_be_delegated = True

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        if not _add_gold(inputs, ctx):
            return
        path, described = _decided_path(ctx), "A file on the machine of the App's server; missing folders are created"
        inputs.str("path", label="File", description=described, default=path, required=True)
        if shows_part(ctx):
            add_within_view(inputs)
        add_switch(inputs, "download", "Download it with the browser, too", default=True)
        add_switch(inputs, "overwrite", "Replace the file if there is one")
        if _is_counted(inputs, ctx, "How many labels this exports"):
            found, _ = decided_to_export(
                samples_within(ctx), path, gold=_gold(ctx), overwrite=ctx.params.get("overwrite") or False
            )
            inputs.view("preview", types.Notice(label=found.told("This exports"), description=found.format))

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        done = export_decided(
            samples_within(ctx),
            _decided_path(ctx),
            gold=_gold(ctx),
            overwrite=ctx.params.get("overwrite") or False,
            progress=progress_of(ctx),
        )
        told = done.told("Exported")
        tell(ctx, told, reload=False)
        of_file = told_of_file(ctx, Path(str(done.path)))
        return {**dataclasses.asdict(done), "summary": f"{of_file['summary']}\n\n{told} ({done.format})"}

    def resolve_output(self, ctx: foo.ExecutionContext) -> types.Property:
        return summary_output(self.label)


def _decided_path(ctx: foo.ExecutionContext) -> str:
    """The file of the form; at first one in the home directory of the user who runs the App's server."""
    _, _, ending = format_of_decided(open_gold(ctx.dataset, _gold(ctx)))
    return ctx.params.get("path") or str(Path.home() / f"{file_name_of(ctx.dataset.name)}-{_gold(ctx)}{ending}")
