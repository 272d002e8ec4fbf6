"""Sections of the report on objects: classes, their confusions, and names to merge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..text.advice import conflict_counts, confusions_section
from ..text.sections import Part, Section
from ..text.tables import Cell, Column, part_of, table
from ..text.words import UNDEFINED, counted, listed, shown_number, shown_share, signed

if TYPE_CHECKING:
    from ...agreement.objects.report import Merge, ObjectReport

_MANY = 10


def confused_classes(report: ObjectReport) -> list[Section]:
    """The classes that are confused, the effect of merging them, and similar class names."""
    more: list[Part] = []
    if report.similar_names:
        shown = [listed([repr(name) for name in group]) for group in report.similar_names[:_MANY]]
        n_more = len(report.similar_names) - len(shown)
        groups = "; ".join([*shown, *([f"and {counted(n_more, 'more group')}"] if n_more else [])])
        more.append(f"Names that may mean one class, counted as different: {groups}.")
    given = report.class_given_match
    return confusions_section(report, conflict_counts(given.confusion), given.n_unlisted, more)


def class_details(report: ObjectReport) -> list[Section]:
    """Everything on classes, and on merging them."""
    sections = []
    if report.classes:
        sections.append(_classes(report))
    if report.merges:
        columns = [
            Column("classes", "classes", listed),
            Column("confused", "n_confused"),
            Column("alpha now", "alpha_before", shown_number),
            Column("as one class", "alpha_after", shown_number),
            Column("change", _change),
        ]
        text = "Whether to merge similar classes depends on the task; a higher alpha alone is not a reason."
        sections.append(Section("Effect of merging two classes", [table(columns, report.merges), text]))
    return sections


def _change(merge: Merge) -> Cell:
    before, after = merge.alpha_before, merge.alpha_after
    change = None if before is None or after is None else after - before
    return Cell(change, signed(change))


def _classes(report: ObjectReport) -> Section:
    columns = [
        *(Column("class", "name"), Column("labels", "n_objects"), Column("objects", "n_units")),
        Column("share", "prevalence", shown_share),
        Column("alpha", "alpha", shown_number, interval=True),
        Column("same class", "agreement_given_match", shown_share),
        missed_or_lone(report),
        Column(f"mean {report.localisation.measure}", "mean_iou", shown_number),
        Column(
            "confused with",
            lambda entry: ", ".join(f"{each['class']} ({each['n']})" for each in entry.confused_with[:3]) or UNDEFINED,
        ),
    ]
    parts: list[Part] = [table(columns, report.classes)]
    if report.n_classes_unlisted:
        parts.append(f"{report.n_classes_unlisted} rarer classes are not listed.")
    note = "alpha of the class against all others"
    return Section("Classes, the most frequent first", parts, note, ("classes",))


def missed_or_lone(report: ObjectReport) -> Column:
    """Column with the misses of a class or size; of two annotators, with its lone objects."""
    if len(report.annotators) > 2:
        return Column("missed", "miss_rate", shown_share)
    return Column("lone", lambda entry: part_of(entry.n_lone, entry.n_units))
