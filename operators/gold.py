"""Forms of adjudication: decide by a rule, apply decisions to annotators' labels, and undo both."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Iterator
from typing import Any

from .. import names
from ..agreement.matching.verdicts import VERDICTS
from ..charts.reports.decided import applied_section
from ..charts.text.sections import as_markdown
from ..charts.text.words import counted
from ..dataset_io import apply_decisions, decide, undo_applied, undo_decisions
from ..dataset_io.decide.apply import Applied, latest_applied, possible_changes
from ..dataset_io.decide.decide import Decided, user_name
from ..dataset_io.decide.decision_units import ObjectsToDecide, objects_to_decide
from ..dataset_io.decide.gold import Gold
from .form import Filled, Form
from .inputs import Choice, FormField, Notice, Number, Several, Switch, Text, warning

#: effects on larger datasets are counted on request, because a form is built again after every change
_MOST_COUNTED = 5_000


def counted_first(form: Filled, what: str) -> Generator[FormField, None, bool]:
    """On larger datasets ask whether to count the effect first; returns whether to count it."""
    if len(form.samples) <= _MOST_COUNTED:
        return True
    yield Switch("count", "Count first", what)
    return bool(form.params.get("count"))


# ---- decide by a rule ----

_CHOICES = {
    "consensus": "The consensus of all annotators",
    "version": "The label of one annotator",
    "none": "No label: there is no such object, or nothing is right",
}
#: parameters that are passed on as they are
_GIVEN = ("verdict", "classes", "min_iou", "one_class", "by", "remark", "gold", "overwrite", "all")
#: least number of votes when the form opens: what two annotators drew, or agree on
_LEAST_VOTES = 2


def _opened(form: Filled, gold: str = names.DEFAULT_GOLD_FIELD) -> ObjectsToDecide:
    return objects_to_decide(form.labels, gold, ())


def _choice(form: Filled) -> Any:
    """Which label is right; when the form opens the consensus, or without one the label of one annotator."""
    return form.get("choice") or ("consensus" if _opened(form).has_consensus else "version")


def _has_condition(form: Filled) -> bool:
    """True if the form restricts the objects by any condition."""
    conditions = form.given("verdict", "classes", "min_iou", "one_class")
    return bool(conditions) or form.get("min_votes", _LEAST_VOTES) != 1


def _decided(form: Filled, *, preview: bool, progress: Any = False) -> Decided:
    """Decide as the form says."""
    choice, given = _choice(form), form.given(*_GIVEN)
    given["min_votes"] = form.get("min_votes", _LEAST_VOTES)
    if _has_condition(form):
        given.pop("all", None)
    if choice == "version":
        given["annotator"] = form.get("annotator") or form.labels.annotators[0]
    return decide(form.samples, form.run_key, choice, **given, preview=preview, progress=progress)


def _decide_fields(form: Filled) -> Iterator[FormField]:
    labels, opened = form.labels, _opened(form)
    choices = {name: text for name, text in _CHOICES.items() if opened.has_consensus or name != "consensus"}
    yield Choice("choice", "What is right", values=choices, as_radio_buttons=True)
    if _choice(form) == "version":
        yield Choice("annotator", "Annotator", values=labels.annotators)
    hint = "Those with one of these verdicts; none for all, agreed ones included"
    verdicts = [name for name in VERDICTS if name in (labels.family.verdicts or VERDICTS[:2])]
    yield Several("verdict", "Verdicts", hint, values=verdicts)
    hint = "So many annotators drew it, or gave the leading value"
    yield Number("min_votes", "Votes, at least", hint, default=_LEAST_VOTES, least=1, is_whole=True)
    if "one_class" not in opened.without:
        yield Switch("one_class", "One class", "Only if all annotators gave it the same class")
    if "min_iou" not in opened.without:
        hint = "0 to 1; only where two or more annotators have a label"
        yield Number("min_iou", "Least mean IoU", hint, least=0.0, most=1.0)
    yield FormField("by", "Your name", "It is stored with every decision", default=user_name())
    yield from form.within_view()
    yield Switch("overwrite", "Decide again", "Also objects on which somebody decided before")
    if (yield from counted_first(form, "How many objects this decides")):
        yield Notice("preview", _decided(form, preview=True).told("This would decide"))
    if not _has_condition(form):
        yield Switch("all", "All objects", "Also the lone ones, which one annotator drew")
        if not form.get("all"):
            label = "Nothing says which objects: choose verdicts, votes or least mean IoU, or “All objects”"
            yield warning("no_condition", label)


def _decide(form: Filled) -> dict[str, Any]:
    done = _decided(form, preview=False, progress=form.progress)
    form.tell(done.told("Decided"), variant="success" if done.n_decided else "warning")
    return dataclasses.asdict(done)


DECIDE = Form(
    name=names.DECIDE,
    label="Decide disputed objects by a rule",
    sentence="Write into a field of its own which version is right, for all objects that meet a rule",
    icon="gavel",
    run="The run whose objects are decided",
    fields=_decide_fields,
    execute=_decide,
    delegated=True,
)


def _undo(form: Filled) -> dict[str, Any]:
    gold = form.gold
    n = undo_decisions(form.dataset, form.params.get("step"), by=form.get("by"), gold=gold)
    if (left := Gold.left_in(form.dataset, gold)) is not None:
        left.delete_if_empty()
    form.tell(f"Took back {counted(n, 'decision')}", variant="success" if n else "warning")
    return {"n": n}


UNDO_DECISIONS = Form(
    name=names.UNDO_DECISIONS,
    label="Undo the last decision",
    sentence="Take back the object, or all objects of a rule, that were decided last; what it replaced is there again",
    icon="undo",
    of_gold=True,
    fields=lambda form: [FormField("by", "Decided by", "Only what this person decided; empty for anybody")],
    execute=_undo,
)

# ---- apply decisions to annotators' labels ----

_CHANGES = {
    "class": ("Classes", "Labels get the class that is right"),
    "geometry": ("Geometry", "Labels get the box or shape, number or mask that is right, instead of their own"),
    "attributes": ("Attributes", "Labels get the values that are right of the attributes that the run compares"),
    "delete": ("Delete", "Delete labels where somebody decided that there is nothing"),
    "add": ("Add", "Add what annotators missed on images that they were assigned to"),
}


def _applied(form: Filled, *, preview: bool, progress: Any = False) -> Applied:
    """Apply decisions as the form says."""
    possible = possible_changes(_opened(form, form.gold))
    return apply_decisions(
        form.samples,
        form.run_key,
        annotators=form.names("annotators") or None,
        changes=[change for change, is_default in possible.items() if form.params.get(change, is_default)],
        by=form.get("by"),
        gold=form.gold,
        preview=preview,
        progress=progress,
    )


def _apply_fields(form: Filled) -> Iterator[FormField]:
    opened = _opened(form, form.gold)
    hint = "Only the labels of these annotators; none for all"
    yield Several("annotators", "Annotators", hint, values=opened.labels.annotators)
    for change, is_default in possible_changes(opened).items():
        yield Switch(change, *_CHANGES[change], default=is_default)
    yield FormField("by", "Your name", "It is stored with the step", default=user_name())
    yield from form.within_view()
    if (yield from counted_first(form, "How many labels this changes")):
        found = _applied(form, preview=True)
        yield Text("preview", as_markdown([applied_section(found.told("This would change"), found.annotators)]))
    hint = "“Take back applied decisions” makes them what they are now"
    yield from form.confirmed("sure", "Yes, change the annotators' labels", hint, "Nothing is changed yet")


def _apply(form: Filled) -> dict[str, Any]:
    done = _applied(form, preview=False, progress=form.progress)
    told = done.told("Changed")
    if done.n_applied:
        told += ". Update the runs to see what it changes"
    form.tell(told, variant="success" if done.n_applied else "warning")
    return dataclasses.asdict(done)


APPLY = Form(
    name=names.APPLY_DECISIONS,
    label="Apply decisions to the annotators' labels",
    sentence="Change the annotators' own labels to what was decided, as one step that can be taken back",
    icon="published_with_changes",
    submit="Change labels",
    run="The run that says who the annotators are",
    of_gold=True,
    fields=_apply_fields,
    execute=_apply,
    delegated=True,
    risk="high",
)


def _undo_applied_fields(form: Filled) -> Iterator[FormField]:
    latest = latest_applied(Gold.open(form.dataset, form.gold))
    if latest is None:
        yield warning("not_applied", "No decisions are applied to annotators' labels")
        return
    what = f"{latest['by']} applied {counted(latest['n_objects'], 'decision')} at {latest['at']:%Y-%m-%d %H:%M} (UTC)"
    yield Notice("latest", f"{what}; labels that were edited since stay as they are")


def _undo_applied(form: Filled) -> dict[str, Any]:
    done = undo_applied(form.dataset, form.params.get("step"), gold=form.gold)
    form.tell(done.told(), variant="success" if done.n_objects else "warning")
    return dataclasses.asdict(done)


UNDO_APPLIED = Form(
    name=names.UNDO_APPLIED,
    label="Take back applied decisions",
    sentence="Make annotators' labels what they were before decisions were applied to them; the decisions stay",
    icon="settings_backup_restore",
    submit="Take back",
    of_gold=True,
    fields=_undo_applied_fields,
    execute=_undo_applied,
    delegated=True,
    risk="high",
)
