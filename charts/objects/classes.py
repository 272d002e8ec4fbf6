"""What the report says on classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..sections import Part, Section, Table
from ..tables import counted, listed, shown_interval, shown_number, shown_share, signed

if TYPE_CHECKING:
    from ...agreement.objects.report import ObjectReport

_FEW = 5
_MANY = 10


def confusions_section(report: ObjectReport) -> list[Section]:
    """The classes that are confused most, and what merging them would do; names that may be one."""
    confusion = report.class_given_match.confusion[:_FEW]
    parts: list[Part] = []
    if confusion:
        effects = {frozenset(entry.classes): entry for entry in report.merges}
        rows = []
        for entry in confusion:
            merge = effects.get(frozenset((entry["a"], entry["b"])))
            rows.append([entry["a"], entry["b"], entry["n"], shown_number(merge.alpha_after if merge else None)])
        has_merges = bool(report.merges)
        header = ["class", "class", "pairs of labels", "alpha if they were one"]
        parts.append(Table(header, rows) if has_merges else Table(header[:3], [row[:3] for row in rows]))
    if report.similar_names:
        shown = [listed([repr(name) for name in group]) for group in report.similar_names[:_MANY]]
        more = len(report.similar_names) - len(shown)
        groups = "; ".join([*shown, *([f"and {counted(more, 'more group')}"] if more else [])])
        parts.append(f"Names that may mean one class, counted as different: {groups}.")
    return [Section("Classes that are confused most", parts, ("confusion",))] if parts else []


def class_details(report: ObjectReport) -> list[Section]:
    """Everything on classes, and on merging them."""
    sections = []
    if report.classes:
        sections.append(_classes(report))
    if report.merges:
        rows = [
            [
                listed(entry.classes),
                entry.n_confused,
                shown_number(entry.alpha_before),
                shown_number(entry.alpha_after),
                signed(_difference(entry.alpha_before, entry.alpha_after)),
            ]
            for entry in report.merges
        ]
        text = "Merging classes that are alike is a choice about the task; alpha alone does not make it right."
        header = ["classes", "confused", "alpha now", "as one class", "change"]
        sections.append(Section("What merging two classes would do", [Table(header, rows), text]))
    return sections


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _classes(report: ObjectReport) -> Section:
    measure = report.localisation.measure
    header = ["class", "labels", "objects", "share", "alpha", "same class", "missed", f"mean {measure}"]
    rows = [
        [
            entry.name,
            entry.n_objects,
            entry.n_units,
            shown_share(entry.prevalence),
            shown_interval(entry.alpha, entry.intervals.get("alpha")),
            shown_share(entry.agreement_given_match),
            shown_share(entry.miss_rate),
            shown_number(entry.mean_iou),
            ", ".join(f"{other['class']} ({other['n']})" for other in entry.confused_with[:3]) or "-",
        ]
        for entry in report.classes
    ]
    parts: list[Part] = [Table([*header, "confused with"], rows)]
    if report.n_classes_unlisted:
        parts.append(f"{report.n_classes_unlisted} rarer classes are not listed.")
    title = "Classes, the most frequent first (alpha: this class against everything else)"
    return Section(title, parts, ("classes",))
