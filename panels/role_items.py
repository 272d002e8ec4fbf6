"""Tables on a reference and on models: numbers of every annotator, which lead to the labels behind them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from ..agreement.statistics.report import AgreementReport
from ..agreement.statistics.role_reports import RoleComparison, RoleReport
from ..charts.reports.role_sections import NUMBERS, worst_first
from ..charts.text.words import documents, ends_of, percent, shown_number, shown_share
from .items import Choices, Field, Item, Link, link, table_item

#: rows on a page
_PER_PAGE = 8
#: numbers in the tables
_SHOWN = ("f1", "accuracy", "mean_absolute_error", "kappa", "precision", "recall", "class_accuracy", "mean_iou")
_KINDS = (("Wrong class", "n_wrong_class", "wrong_class"), ("Loose", "n_loose", "loose"), ("Extra", "n_extra", "extra"))


def role_items(report: AgreementReport, choices: Choices) -> Iterator[Item]:
    """Every annotator against the reference, the worst first, and against each model."""
    roles = [*([report.reference] if report.reference is not None else []), *report.models]
    for number, role in enumerate(roles):
        if role.annotators:
            yield _table(report, role, number, choices)


def _table(report: AgreementReport, role: RoleReport, number: int, choices: Choices) -> Item:
    is_reference = role is report.reference
    fields = [Field("Annotator", lambda one: one.name, is_number=False, first_down=False)]
    known = [name for name in _SHOWN if any(getattr(one, name) is not None for one in role.annotators)]
    fields += [_number(report, name) for name in known]
    if report.has_objects and is_reference:
        fields += [_kind(*kind) for kind in _KINDS]
        fields.append(Field("Missed", _missed, lambda one: one.n_missed, _missed_link))
    title = f"Against the reference {role.name}" if is_reference else f"The model {role.name}"
    note = f"{role.n_samples:,} {documents(report)} have it, {role.n_without:,} do not. […] are 95 % intervals."
    if role.thresholds:
        note += f" Labels from a confidence of {' or '.join(dict.fromkeys(map(shown_number, role.thresholds)))} on."
    return table_item(f"role{number}", fields, worst_first(role), choices, title=title, note=note, per_page=_PER_PAGE)


def _number(report: AgreementReport, name: str) -> Field:
    title, show = NUMBERS[name]
    short = shown_share if show is shown_share else functools.partial(shown_number, digits=2)

    def text(one: RoleComparison) -> str:
        return f"{short(getattr(one, name))}\n{ends_of(one.intervals.get(name), short)}".rstrip()

    shown = title.format(measure=report.measure)
    return Field(shown[0].upper() + shown[1:], text, lambda one: getattr(one, name))


def _kind(title: str, name: str, said: str) -> Field:
    def leads(one: Any) -> Link | None:
        shown = f"Labels of {one.name}: {title.lower()}, says the reference"
        return link(shown, annotators=one.name, reference=said) if getattr(one, name) else None

    def text(one: Any) -> str:
        n = getattr(one, name)
        return f"{n:,}\n{percent(n, one.n_labels)}"

    return Field(title, text, lambda one: getattr(one, name), leads)


def _missed(one: Any) -> str:
    return f"{one.n_missed:,} of {one.n_reference:,}\n{percent(one.n_missed, one.n_reference)}"


def _missed_link(one: Any) -> Link | None:
    shown = f"What {one.name} missed: the labels of the reference"
    return link(shown, annotators=one.name, reference="missed") if one.n_missed else None
