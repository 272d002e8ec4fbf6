"""Sections of the report on objects: pairs of annotators, and sessions of one person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...agreement.evidence.ranking import most_first
from ...agreement.statistics.main_numbers import MEASURES, OBJECT_PAIR_NUMBERS
from ..text.headline import FORMS
from ..text.sections import Part, Section
from ..text.shortlists import PAIR_NAMES, pair_sections
from ..text.tables import Cell, Column, table
from ..text.words import most_frequent, shown_number

if TYPE_CHECKING:
    from ...agreement.objects.report import ObjectReport

_ALIGNMENT = {"n_aligned": "aligned", "recall": "recall", "precision": "precision", "f_score": "F"}


def pairs_section(report: ObjectReport) -> list[Section]:
    """The main numbers of pairs."""
    measure = MEASURES[report.localisation.measure]
    columns = [
        Column("score", "score", shown_number),
        Column("alpha of objects", "alpha", shown_number, interval=True),
        Column("F1", "f1", shown_number),
        Column("same class", "class_agreement", shown_number),
        Column(f"mean {measure.name}", "mean_iou", shown_number),
        *([Column("visibility", "visibility", shown_number)] if measure.of_points else []),
        *([Column("tracks kept", "track_consistency", shown_number)] if report.track_consistency is not None else []),
        Column(
            "matched objects", lambda pair: Cell(pair.n_matched, f"{pair.n_matched:,} of {pair.n_a:,} / {pair.n_b:,}")
        ),
    ]
    return pair_sections(report, columns)


def pair_details(report: ObjectReport) -> list[Section]:
    """Everything on pairs."""
    shown_pairs = most_first(report.pairs)
    measure = report.localisation.measure
    tables = {group: list(PAIR_NAMES) for group in dict.fromkeys(number.group for number in OBJECT_PAIR_NUMBERS)}
    for number in OBJECT_PAIR_NUMBERS:
        if number.concerns(measure):
            tables[number.group].append(Column(number.name(measure), number.key, FORMS[number.form], interval=True))
    tables[""] += [
        Column(f"mean best {measure}", "mean_max_iou.symmetric.mean", shown_number),
        Column("most frequent conflict", "confusion", most_frequent),
    ]
    if any(pair.intra for pair in report.pairs):
        tables[""].append(Column("one person", lambda pair: "yes" if pair.intra else ""))
    parts: list[Part] = [table(columns, shown_pairs, title) for title, columns in tables.items()]
    aligned = [pair for pair in shown_pairs if pair.alignment is not None]
    if aligned:
        of_alignment = [Column(title, f"alignment.{key}", _shown_count) for key, title in _ALIGNMENT.items()]
        parts.append(table([*PAIR_NAMES, *of_alignment], aligned, "Alignment (a as the reference)"))
    text = "PQ is the panoptic quality of all objects together, SQ times RQ; kappa and AC1 are over shared objects."
    parts.append(text)
    return [Section("Pairs in detail", parts)]


def _shown_count(value: float | None) -> str:
    return str(value) if isinstance(value, int) else shown_number(value)
