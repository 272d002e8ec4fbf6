"""Sections of the report on objects: annotators, with misses, verdicts, bias and consensus."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from ..text.sections import Section
from ..text.shortlists import shortlist_annotators, shortlist_parts
from ..text.tables import Cell, Column, Table, other_class_column, share_of, table, verdict_column
from ..text.words import (
    VERDICTS,
    documents,
    listed,
    most_frequent,
    other_class,
    shown_interval,
    shown_number,
    shown_share,
    signed,
)
from .bias import BOX_SIDES, OFFSETS, bias_in_words, offset_cell

if TYPE_CHECKING:
    from ...agreement.objects.report import AnnotatorSummary, Bias, ObjectReport, Sessions

#: verdicts that are shown only if they occur
_RARE = ("attribute_conflict", "split", "duplicate")
#: titles of the verdicts on the labels of an annotator, beside what the annotator missed
_OF_LABELS = {**VERDICTS, "missed": "missed by others"}
_NAME = Column("annotator", "name")
_DRAWS = Column("draws", lambda entry: bias_in_words(entry.bias))


def annotators_section(report: ObjectReport) -> list[Section]:
    """The main habits of each annotator."""
    has_bias = any(entry.bias is not None for entry in report.annotators)
    # with two annotators nobody can miss what two others drew
    has_missed = len(report.annotators) > 2
    columns = [
        *(_NAME, Column("labels", "n_objects")),
        *([Column("missed", lambda entry: share_of(entry.n_missed, entry.n_could_miss))] if has_missed else []),
        *(verdict_column("lone", VERDICTS["lone"]), other_class_column()),
        *([_DRAWS] if has_bias else []),
    ]
    notes = ["Missed: of the objects that two others drew."] * has_missed + [
        "Lone: nobody else drew the object. " + other_class(report)
    ]
    notes += ["Draws: against the median box of the object."] * has_bias
    if has_bias and len(report.annotators) == 2:
        notes.append("The median of two boxes lies between them: each annotator shows half of the difference.")
    shown = shortlist_annotators(report)
    words = [" ".join(notes)] if shown.entries else []
    parts = [*shortlist_parts(columns, shown), *words]
    return [Section(shown.title, parts, figures=("annotators", "bias"), key="annotators")]


def annotator_details(report: ObjectReport) -> list[Section]:
    """Everything on annotators: coverage, verdicts, sizes, bias, consensus, clusters, sessions."""
    tables = [_coverage(report), _verdicts(report), *_habits(report), *_bias(report), *_consensus(report)]
    sections = [Section("Annotators in detail", tables)]
    if report.clusters:
        columns = [
            Column("mean score at which they join", "similarity", shown_number),
            Column("who", "members", listed),
        ]
        sections.append(Section("Groups of annotators, the closest first", [table(columns, report.clusters)]))
    return [*sections, *_sessions(report)]


def _coverage(report: ObjectReport) -> Table:
    title = (
        f"Coverage: {report.n_samples:,} {documents(report)}, {report.n_rated:,} with at least 2 annotators assigned, "
        f"{report.n_empty:,} of them without any label; in rated {documents(report)} {report.n_objects:,} labels are "
        f"{report.n_units:,} objects"
    )
    columns = [
        *(_NAME, Column("assigned", "n_assigned"), Column("drew nothing", "n_drew_nothing")),
        *(Column("not assigned", "n_not_assigned"), Column("labels", "n_objects")),
    ]
    return table(columns, report.annotators, title)


def _verdicts(report: ObjectReport) -> Table:
    names = list(report.annotators[0].verdicts) if report.annotators else []
    shown = [name for name in names if name not in _RARE or any(entry.verdicts[name] for entry in report.annotators)]
    columns = [
        _NAME,
        *(verdict_column(name, _OF_LABELS.get(name, name)) for name in shown),
        Column("missed by them", "n_missed"),
    ]
    return table(columns, report.annotators, "Verdicts on their labels, and objects of two others that they missed")


def _habits(report: ObjectReport) -> list[Table]:
    if not any(entry.score is not None or entry.n_could_miss for entry in report.annotators):
        return []
    sizes = list(dict.fromkeys(size for entry in report.annotators for size in entry.miss_rate_by_size))
    columns = [
        _NAME,
        Column("score", "score", shown_number, interval=True),
        Column("miss rate", "miss_rate", shown_number, interval=True),
        *(Column(f"… of {size}", f"miss_rate_by_size.{size}", shown_share) for size in sizes),
        Column(f"mean {report.localisation.measure}", "mean_iou", shown_number, interval=True),
        *_vitality(report, "vitality", "raises alpha, against the mean"),
        *_vitality(report, "vitality_rematched", "… matched again"),
    ]
    columns.append(Column("most often", lambda entry: most_frequent(entry.other_classes, "for")))
    return [table(columns, report.annotators, "Agreement with the others")]


def _vitality(report: ObjectReport, name: str, title: str) -> list[Column]:
    """By how much annotators raise alpha more than the mean of all: each further one raises it, whoever it is."""
    values = [value for entry in report.annotators if (value := getattr(entry, name)) is not None]
    if not values:
        return []
    mean = math.fsum(values) / len(values)

    def cell(entry: AnnotatorSummary) -> Cell:
        value = getattr(entry, name)
        more = None if value is None else value - mean
        return Cell(more, signed(more))

    return [Column(f"{title} of {signed(mean)}", cell)]


def _bias(report: ObjectReport) -> list[Table]:
    biased: list[tuple[str, Bias]] = [(entry.name, entry.bias) for entry in report.annotators if entry.bias is not None]
    if not biased:
        return []
    rows: list[list[Cell]] = []
    for name, bias in biased:
        means = [offset_cell(bias.mean.get(side), bias.intervals.get(side)) for side in BOX_SIDES]
        stds = [Cell(bias.std.get(side), shown_number(bias.std.get(side), 1)) for side in BOX_SIDES]
        rows.append([Cell(name, name), Cell("mean", "mean"), *means, Cell(bias.n, str(bias.n))])
        rows.append([Cell("", ""), Cell("std", "std"), *stds, Cell(None, "")])
    title = f"Bias against the median box of an object, {OFFSETS}"
    return [Table(["annotator", "", *BOX_SIDES, "objects"], rows, title)]


def _consensus(report: ObjectReport) -> list[Table]:
    entries = [entry for entry in report.annotators if entry.consensus is not None]
    if not entries:
        return []
    numbers = {"precision": "precision", "recall": "recall", "f1": "F1", "class_agreement": "same class"}
    numbers["mean_iou"] = f"mean {report.localisation.measure}"
    columns = [
        *(_NAME, Column("labels", "consensus.n_objects"), Column("objects of the others", "consensus.n_units")),
        *(Column(title, f"consensus.{name}", shown_number, interval=True) for name, title in numbers.items()),
    ]
    return [table(columns, entries, "Against the consensus of the others")]


def _sessions(report: ObjectReport) -> list[Section]:
    sessions = report.sessions
    if sessions is None:
        return []
    titles = {"alpha": "alpha", "score": "score", "f1": "F1", "mean_iou": f"mean {report.localisation.measure}"}
    columns = [
        Column("number", lambda name: titles[name]),
        Column("one person again", functools.partial(_session_cell, sessions, "intra")),
        Column("different people", functools.partial(_session_cell, sessions, "inter")),
    ]
    note = f"{sessions.n_intra_pairs} pairs of sessions of one person, {sessions.n_inter_pairs} of different people"
    return [Section("Sessions", [table(columns, titles)], note)]


def _session_cell(sessions: Sessions, kind: str, name: str) -> Cell:
    value = getattr(sessions, f"{kind}_{name}")
    return Cell(value, shown_interval(value, sessions.intervals.get(f"{kind}_{name}")))
