"""The section on what was decided: how far it is, and how right annotators and majority were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sections import Part, Section
from .tables import Cell, Column, table
from .words import counted, percent, shown_share

if TYPE_CHECKING:
    from ..agreement.disputes.judged import AnnotatorDecided, ClassDecided, DecisionReport

DECIDED = "What was decided"
_FOUND = (
    Column("precision", "precision", shown_share, interval=True),
    Column("recall", "recall", shown_share, interval=True),
)
_WRONG = Column("wrong class", "class_errors", shown_share, interval=True)
#: what the numbers mean, by what was decided on
_NOTES = {
    "object": (
        "Precision: labels that are of an object. Recall: objects that they drew. Wrong class: of the objects that "
        "they drew. All of decided objects alone"
    ),
    "tag": "Precision: tags that are right. Recall: right tags that they gave. All of decided tags alone",
    "image": (
        "Wrong: images of which they said something else. Too many: said where nothing is right. All of decided "
        "images alone"
    ),
}
#: classes of every annotator that are listed: those with most errors
_MOST_CLASSES = 3


def decisions_section(report: DecisionReport) -> Section:
    """What was decided on the labels of a run."""
    n, disputed, unit = report.n_disputed_decided, report.n_disputed, report.unit
    parts: list[Part] = [f"{n:,} of {disputed:,} disputed {unit}s were decided ({percent(n, disputed)})."]
    decided = report.n_decided - report.n_applied
    if decided and report.n_consensus_right is not None:
        right = report.n_consensus_right
        parts.append(f"Of all decided {unit}s the majority was right on {right:,} of {decided:,} "
                     f"({percent(right, decided)}).")  # fmt: skip
    left = [
        (report.n_skipped, "skipped, for later"),
        (report.n_changed, "decided, but labels were edited, added or deleted since"),
        (report.n_applied, "applied to annotators' labels, which count for nobody since"),
    ]
    parts += [f"{counted(count, unit)} {text}." for count, text in left if count]
    if report.n_damaged:
        entries = counted(report.n_damaged, "entry", "entries")
        parts.append(f"{entries} of `{report.field}`, or of its decisions, left out: damaged by another program.")
    of_whole = report.unit == "image"  # everybody said something of the whole image
    columns = [
        Column("annotator", "name"),
        *(() if of_whole else _FOUND),
        *(() if report.unit == "tag" else (_WRONG,)),
        Column("right", "n_right"),
        *((Column("wrong", "n_wrong_class"),) if of_whole else ()),
        *(() if of_whole else (Column("missed", "n_missed"),)),
        Column("too many", "n_too_many"),
        *((Column("most errors on", _worst_classes),) if any(each.classes for each in report.annotators) else ()),
    ]
    note = _NOTES[report.unit] + (
        "." if report.n_decided == report.n_objects else ", which may be the hard ones."
    )  # fmt: skip
    if report.n_decided:
        parts += [table(columns, report.annotators), note]
    return Section(DECIDED, parts, key="decided")


def _worst_classes(entry: AnnotatorDecided) -> Cell:
    """The classes with most missed objects, wrong classes and labels of no object."""
    by_errors = sorted(entry.classes, key=lambda each: (-_errors(each), each.name))
    worst = [each.name for each in by_errors[:_MOST_CLASSES] if _errors(each) > 0]
    return Cell(", ".join(worst), ", ".join(worst) or "-")


def _errors(entry: ClassDecided) -> float:
    """Objects of a class that an annotator missed or gave another class, and labels of it that are of no object."""
    missed = entry.n_objects * (1.0 - (1.0 if entry.recall is None else entry.recall))
    wrong = entry.n_objects * (entry.recall or 0.0) * (entry.class_errors or 0.0)
    return missed + wrong + entry.n_labels * (1.0 - (1.0 if entry.precision is None else entry.precision))
