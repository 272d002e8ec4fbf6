"""Sections of every report on a reference and on models, in words and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...agreement.statistics.role_reports import RoleComparison, RoleReport
from ..objects.bias import BOX_SIDES, OFFSETS, offset_cell
from ..text.sections import Part, Section
from ..text.tables import Column, part_of, share_of, table
from ..text.words import documents, listed, shown_number, shown_share
from .person_section import person_section

if TYPE_CHECKING:
    from ...agreement.statistics.report import AgreementReport

#: numbers against a reference or model by the field that holds them: title, and how each is shown; those that a family
#: has are shown
NUMBERS: dict[str, tuple[str, Callable[[float | None], str]]] = {
    "f1": ("F1", shown_number),
    "accuracy": ("accuracy", shown_share),
    "mean_absolute_error": ("mean absolute error", shown_number),
    "mean_error": ("mean error", shown_number),
    "kappa": ("kappa", shown_number),
    "precision": ("precision", shown_number),
    "recall": ("recall", shown_number),
    "jaccard": ("Jaccard", shown_number),
    "pq": ("PQ", shown_number),
    "class_accuracy": ("class accuracy", shown_share),
    "mean_iou": ("mean {measure}", shown_number),
    "iou": ("{measure}", shown_number),
}
#: what decides who is worst, if a family has it; else the first of the numbers
_DECIDING = ("f1", "mean_iou", *NUMBERS)
#: the numbers of the short report
_FEW = ("f1", "accuracy", "mean_absolute_error", "kappa", "precision", "recall", "class_accuracy", "mean_iou")
#: the numbers of classes and sizes, and rows of their tables at most
_OF_PARTS, _MOST_ROWS = ("f1", "precision", "recall", "mean_iou", "iou"), 60
#: the numbers of attributes
_OF_ATTRIBUTES = ("accuracy", "kappa", "mean_error", "mean_absolute_error")
#: numbers of which the greatest is the worst
_ERRORS = {"mean_absolute_error"}
_NOTES = {
    "reference": "Precision: share of their labels that match one of the reference; recall: share of the reference "
    "that they gave",
    "models": "Precision: share of the labels of {name} that match one of the annotator; recall: share of the "
    "annotator's labels that {name} found",
}


def worst_first(role: RoleReport) -> list[RoleComparison]:
    """The annotators, the worst against the role first; those without a number last."""
    name = _deciding(role)
    sign = -1.0 if name in _ERRORS else 1.0

    def order(one: RoleComparison) -> tuple[bool, float, str]:
        value = getattr(one, name)
        return value is None, sign * (value or 0.0), one.name

    return sorted(role.annotators, key=order)


def _deciding(role: RoleReport) -> str:
    """The number that decides who is worst."""
    return next((name for name in _DECIDING if _has(role.annotators, name)), "f1")


def _has(entries: Sequence[Any], name: str) -> bool:
    return any(getattr(one, name, None) is not None for one in entries)


def number_columns(role: RoleReport, measure: str, names: tuple[str, ...] | None = None) -> list[Column]:
    """A column for every number that any annotator has."""
    return [
        Column(title.format(measure=measure), name, show, interval=names is None or name == _deciding(role))
        for name, (title, show) in NUMBERS.items()
        if (names is None or name in names) and _has(role.annotators, name)
    ]


def role_sections(report: AgreementReport, *, full: bool = False) -> list[Section]:
    """Annotators against the reference, the worst first; models against annotators."""
    found = [] if report.reference is None else [_section(report, report.reference, "reference", full=full)]
    for model in report.models:
        person = person_section(model, documents(report), full=full)
        found += [*([] if person is None else [person]), _section(report, model, "models", full=full)]
    return found


def _section(report: AgreementReport, role: RoleReport, key: str, *, full: bool) -> Section:
    what = documents(report)
    title = f"Against the reference {role.name}" if key == "reference" else f"The model {role.name}"
    if not role.n_samples:
        return Section(title, [f"No {what[:-1]} has labels of {role.name} and of an annotator."], key=key)
    note = f"{role.n_samples:,} {what} have it" + f", {role.n_without:,} do not" * bool(role.n_without)
    if role.n_undecided:
        note += f"; {role.n_undecided:,} labels of objects that nobody decided are left out"
    if role.thresholds:
        note += f"; labels from a confidence of {listed([*dict.fromkeys(map(shown_number, role.thresholds))])} on"
    columns = [Column("annotator", "name"), *number_columns(role, report.measure, None if full else _FEW)]
    are_matched = report.has_objects or _has(role.annotators, "precision")
    if are_matched:
        columns += _counts(role, key, full=full)
    parts: list[Part] = [table(columns, worst_first(role))]
    if are_matched:
        parts.append(_NOTES[key].format(name=role.name) + ("; both whatever the class." if report.has_objects else "."))
    if key == "models" and report.has_objects:
        call = f'run.view(model="{role.name}", annotators=…, verdict="extra")'
        parts.append(f'The labels of {role.name} alone: {call}; "missed": those of the annotator alone.')
    if full:
        parts += _details(role, report.measure)
    return Section(title, parts, note, key=key)


def _counts(role: RoleReport, key: str, *, full: bool) -> list[Column]:
    title = "missed" if key == "reference" else f"{role.name} alone"
    missed = Column(title, lambda one: share_of(one.n_missed, one.n_reference))
    if not full:
        return [missed]
    kinds = (("right", "n_right"), ("wrong class", "n_wrong_class"), ("wrong attribute", "n_wrong_attribute"),
             ("loose", "n_loose"), ("extra" if key == "reference" else "annotator alone", "n_extra"))  # fmt: skip
    some = [kind for kind in kinds if any(getattr(one, kind[1]) for one in role.annotators)]
    return [Column("labels", "n_labels"), *(_kind(title, name) for title, name in some), missed]


def _kind(title: str, name: str) -> Column:
    return Column(title, lambda one: part_of(getattr(one, name), one.n_labels))


def _offset_column(side: str) -> Column:
    return Column(side, lambda one: offset_cell(one.bias.get(side), one.intervals.get(f"bias.{side}")))


def _details(role: RoleReport, measure: str) -> list[Any]:
    """Tables of the bias, the confusions, and of classes and sizes, of all annotators."""
    tables = []
    biased = [one for one in role.annotators if one.bias]
    if biased:
        columns = [Column("annotator", "name"), *map(_offset_column, BOX_SIDES)]
        tables.append(table(columns, biased, f"Bias against the boxes of {role.name}, {OFFSETS}"))
    confusions = [{**entry, "name": one.name} for one in role.annotators for entry in one.confusion]
    if confusions:
        confusions.sort(key=lambda entry: -entry["n"])
        columns = [Column("annotator", "name"), Column(role.name, "reference"), Column("annotator says", "annotator")]
        tables.append(table([*columns, Column("times", "n")], confusions[:20], "Classes that differ"))
    parts = ("class", "classes", _OF_PARTS), ("size", "sizes", _OF_PARTS), ("attribute", "attributes", _OF_ATTRIBUTES)
    for title, part, numbers in parts:
        rows = [
            {"annotator": one.name, title: each.name, role.name: getattr(each, "n_reference", each.n_labels)}
            | {name: getattr(each, name) for name in numbers}
            for one in role.annotators
            for each in getattr(one, part)
        ]
        shown = [name for name in numbers if any(row[name] is not None for row in rows)]
        of_numbers = [Column(NUMBERS[name][0].format(measure=measure), name, NUMBERS[name][1]) for name in shown]
        if rows:
            columns = [*(Column(name, name) for name in ("annotator", title, role.name)), *of_numbers]
            tables.append(table(columns, rows[:_MOST_ROWS], f"By {title}"))
    return tables
