"""Sections on adjudication: how much is decided, accuracy of annotators and majority, labels that were changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...names import FRAMES_PREFIX
from ..text.sections import Cell, Column, Part, Section, table
from ..text.words import counted, percent, shown_share, singular

if TYPE_CHECKING:
    from ...agreement.disputes.judged import AnnotatorDecided, ClassDecided, DecisionReport

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
        "they drew. All of objects decided one by one"
    ),
    "tag": "Precision: tags that are right. Recall: right tags that they gave. All of tags decided one by one",
    "image": (
        "Wrong: images of which they said something else. Too many: said where nothing is right. All of images "
        "decided one by one"
    ),
}
#: classes that are listed for every annotator, at most: those with most errors
_MOST_CLASSES = 3


def decisions_section(report: DecisionReport) -> Section:
    """Section on the decisions about the labels of a run."""
    n, disputed, unit = report.n_disputed_decided, report.n_disputed, report.unit
    parts: list[Part] = [f"{n:,} of {disputed:,} disputed {unit}s were decided ({percent(n, disputed)})."]
    right, n_none = report.n_consensus_right, report.n_no_majority or 0
    if right is not None and report.n_consensus_wrong is not None and right + report.n_consensus_wrong:
        judged = right + report.n_consensus_wrong
        who = "majority" if unit != "image" else "majority (of numbers, the median)"
        parts.append(f"The {who} was right on {right:,} of {judged:,} decided {unit}s ({percent(right, judged)}).")
    left = [
        (n_none, "decided on which there is no majority"),
        (report.n_skipped, "skipped, for later"),
        (report.n_by_rule, "decided by a rule, which says nothing of who was right: a row of their own"),
        (report.n_changed, "with a decision on other labels: changed since, or matched otherwise in another run"),
        (report.n_undrawn, "drawn while deciding that no annotator drew: missed by all who were assigned"),
        (report.n_applied, "applied to annotators' labels, which count for nobody since"),
    ]
    parts += [f"{counted(count, unit)} {text}." for count, text in left if count]
    if report.n_decided:
        are_all = report.n_decided - report.n_by_rule == report.n_objects
        note = _NOTES[unit] + ("." if are_all else ", which may be the hard ones.")
        parts += [table(decision_columns(report), report.rows), note]
    return Section(DECIDED, parts, key="decided")


def decision_columns(report: DecisionReport) -> list[Column]:
    """Columns of the table with a row for every annotator, and one for decisions by a rule."""

    def worst_classes(entry: AnnotatorDecided) -> Cell:
        """The classes with most missed objects, wrong classes and labels of no object."""
        by_errors = sorted(entry.classes, key=lambda each: (-_errors(each), each.name))
        worst = ", ".join(each.name for each in by_errors[:_MOST_CLASSES] if _errors(each) > 0)
        return Cell(worst, worst or "-")

    of_whole = report.unit == "image"  # an annotator gave one class or value to a whole image
    return [
        Column("annotator", "name"),
        *(() if of_whole else _FOUND),
        *(() if report.unit == "tag" else (_WRONG,)),
        Column("right", "n_right"),
        *((Column("wrong", "n_wrong_class"),) if of_whole else ()),
        *(() if of_whole else (Column("missed", "n_missed"),)),
        Column("too many", "n_too_many"),
        *((Column("most errors on", worst_classes),) if any(each.classes for each in report.annotators) else ()),
    ]


def decisions_sections(report: DecisionReport) -> list[Section]:
    """The adjudication report as a text of its own: one section with a title, and how many images have decisions."""
    title = f"What was decided on the {report.unit}s of run '{report.run_key}'"
    section, n_without = decisions_section(report), report.n_samples - report.n_samples_decided
    what = "frames" if report.field.startswith(FRAMES_PREFIX) else "images"
    said = f"{report.n_samples_decided:,} of {report.n_samples:,} {what} have decisions"
    if n_without and report.n_samples_decided and what == "images":
        said += f"; an export of `{report.field}` has the other {n_without:,} without labels"
        # an image with skipped objects alone has an entry there, too
        said += "" if report.n_skipped else f", one of dataset.exists('{report.field}_decisions') leaves them out"
    return [replace(section, title=title, is_first=True, parts=[*section.parts, f"{said}."])]


def applied_section(title: str, annotators: Sequence[Any]) -> Section:
    """Section on the labels changed by applying decisions, for every annotator.

    Args:
        title: what was done, in a sentence
        annotators: numbers of labels of every annotator (``AppliedTo``)
    """
    titles = {"name": "annotator", "n_class": "other class", "n_geometry": "other geometry"}
    titles |= {"n_attributes": "other attributes", "n_deleted": "deleted", "n_added": "added"}
    return Section(title, [table([Column(title, name) for name, title in titles.items()], annotators)])


def but_left_out(numbers: Iterable[tuple[int, str]]) -> str:
    """End of a sentence that lists what was left out: numbers, each with the name of what it counts."""
    said = [singular(f"{n:,} {text}") for n, text in numbers if n]
    return f"; left out: {', '.join(said)}" if said else ""


def _errors(entry: ClassDecided) -> float:
    """Objects of a class that an annotator missed or gave another class, and labels of it that are of no object."""
    missed = entry.n_objects * (1.0 - (1.0 if entry.recall is None else entry.recall))
    wrong = entry.n_objects * (entry.recall or 0.0) * (entry.class_errors or 0.0)
    return missed + wrong + entry.n_labels * (1.0 - (1.0 if entry.precision is None else entry.precision))
