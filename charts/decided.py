"""The section on what was decided: how far it is, and how right annotators and majority were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sections import Part, Section
from .tables import Cell, Column, table
from .words import counted, percent, shown_share

if TYPE_CHECKING:
    from ..agreement.disputes.judged import AnnotatorDecided, ClassDecided, DecisionReport

DECIDED = "What was decided"
_NUMBERS = (
    Column("precision", "precision", shown_share, interval=True),
    Column("recall", "recall", shown_share, interval=True),
    Column("wrong class", "class_errors", shown_share, interval=True),
)
#: classes of every annotator that are listed: those with most errors
_MOST_CLASSES = 3


def decisions_section(report: DecisionReport) -> Section:
    """What was decided on the objects of a run."""
    n, disputed = report.n_disputed_decided, report.n_disputed
    parts: list[Part] = [f"{n:,} of {disputed:,} disputed objects were decided ({percent(n, disputed)})."]
    if report.n_decided:
        right, decided = report.n_consensus_right, report.n_decided
        parts.append(f"Of all decided objects the majority was right on {right:,} of {decided:,} "
                     f"({percent(right, decided)}).")  # fmt: skip
    left = [
        (report.n_skipped, "skipped, for later"),
        (report.n_changed, "decided, but labels were edited, added or deleted since"),
    ]
    parts += [f"{counted(count, 'object')} {text}." for count, text in left if count]
    columns = [
        Column("annotator", "name"),
        *_NUMBERS,
        Column("right", "n_right"),
        Column("missed", "n_missed"),
        Column("too many", "n_too_many"),
        Column("most errors on", _worst_classes),
    ]
    note = (
        "Precision: labels that are of an object. Recall: objects that they drew. Wrong class: of the objects that "
        "they drew. All of decided objects alone"
        + ("." if report.n_decided == report.n_objects else ", which may be the hard ones.")
    )
    if report.n_decided:
        parts += [table(columns, report.annotators), note]
    return Section(DECIDED, parts)


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
