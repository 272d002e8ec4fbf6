"""Sections of the report on objects: annotators, pairs, sessions of one person; bias in words and numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from ...agreement.evidence.ranking import MIN_IMAGES, MIN_LABELS, far_from, most_first
from ...agreement.statistics.main_numbers import MEASURES, OBJECT_PAIR_NUMBERS
from ..text.headline import FORMS
from ..text.sections import Cell, Column, Part, Section, Table, other_class_column, share_of, table, verdict_column
from ..text.shortlists import PAIR_NAMES, pair_sections, shortlist_annotators, shortlist_parts
from ..text.words import (
    UNDEFINED,
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

if TYPE_CHECKING:
    from ...agreement.objects.report import Bias, ObjectReport
    from ...agreement.statistics.report import Interval


#: the offsets of a box, and their unit and sign in words
BOX_SIDES = ("size", "left", "top", "right", "bottom")
OFFSETS = "in per cent; positive: larger, further right, lower"
#: smaller differences, in per cent, are not mentioned
_SLIGHT = 1.0
#: name of an edge, words for positive and negative offsets, and the offset for each per cent of size
_EDGES = {
    "left": ("left edge", "further right", "further left", -0.5),
    "top": ("upper edge", "lower", "higher", -0.5),
    "right": ("right edge", "further right", "further left", 0.5),
    "bottom": ("lower edge", "lower", "higher", 0.5),
}


def bias_in_words(bias: Bias | None, told: Collection[str], at_most: int = 2) -> str:
    """``12 % larger, lower edge 9 % lower``: the size first, then the edges that the size does not explain.

    A box that is 12 % larger on all sides has its edges 6 % further out, which is not mentioned.

    Args:
        bias: that of an annotator
        told: the offsets that may be mentioned, see :func:`told_offsets`
        at_most: number of edges that are mentioned
    """
    if bias is None or not has_evidence(bias):
        return UNDEFINED
    words, mean = [], {name: value for name, value in bias.mean.items() if name in told}
    size = mean.get("size")
    if size is not None and abs(size) >= _SLIGHT:
        words.append(f"{abs(size):.0f} % {'larger' if size > 0 else 'smaller'}")
    odd = []  # edges whose offset the size does not explain, the largest unexplained offset first
    for name, (title, positive, negative, share) in _EDGES.items():
        value = mean.get(name)
        unexplained = abs((value or 0.0) - share * (bias.mean.get("size") or 0.0))
        if value is not None and min(abs(value), unexplained) >= _SLIGHT:
            odd.append((-unexplained, f"{title} {abs(value):.0f} % {positive if value > 0 else negative}"))
    odd.sort(key=lambda edge: edge[0])
    return ", ".join([*words, *(text for _, text in odd[:at_most])]) or "no clear difference"


def has_evidence(bias: Bias) -> bool:
    """True if enough labels on enough images support a bias."""
    return bias.n >= MIN_LABELS and any(interval.n >= MIN_IMAGES for interval in bias.intervals.values())


def told_offsets(annotators: Sequence[Any]) -> dict[str, set[str]]:
    """The offsets of every annotator that are not 0, at a false discovery rate of 5 % among those of all.

    None of annotators with fewer than 20 labels, or without intervals.
    """
    known = [
        (entry.name, side, value, entry.bias.intervals[side])
        for entry in annotators
        if entry.bias is not None and has_evidence(entry.bias)
        for side, value in entry.bias.mean.items()
        if value is not None and side in entry.bias.intervals
    ]
    far = far_from(0.0, [value for *_, value, _ in known], [interval for *_, interval in known])
    told: dict[str, set[str]] = {entry.name: set() for entry in annotators}
    for (name, side, *_), is_far in zip(known, far.tolist(), strict=True):
        if is_far:
            told[name].add(side)
    return told


def offset_cell(value: float | None, interval: Interval | None) -> Cell:
    """A mean offset in per cent, with its interval: ``+2.1 [0.9, 3.4]``."""
    shown = shown_interval(value, interval, functools.partial(shown_number, digits=1))
    return Cell(value, f"+{shown}" if value is not None and value >= 0.05 else shown)


#: verdicts that are shown only if they occur
_RARE = ("attribute_conflict", "split", "duplicate")
#: titles of the verdicts on the labels of an annotator, beside what the annotator missed
_OF_LABELS = {**VERDICTS, "missed": "missed by others"}
_NAME = Column("annotator", "name")


def missed(entry: Any) -> Cell:
    """How many objects an annotator missed, of those that two others drew where these are counted."""
    could = getattr(entry, "n_could_miss", None)
    return Cell(entry.n_missed, f"{entry.n_missed:,}") if could is None else share_of(entry.n_missed, could)


def annotators_section(report: ObjectReport) -> list[Section]:
    """Table of the annotators: labels, missed and lone objects, other classes, bias; of many a shortlist."""
    has_bias = any(entry.bias is not None for entry in report.annotators)
    # with two annotators nobody can miss what two others drew
    has_missed, told = len(report.annotators) > 2, told_offsets(report.annotators)
    draws = Column("draws", lambda entry: bias_in_words(entry.bias, told[entry.name]))
    columns = [
        *(_NAME, Column("labels", "n_objects")),
        *([Column("missed", missed)] if has_missed else []),
        *(verdict_column("lone", VERDICTS["lone"]), other_class_column()),
        *([draws] if has_bias else []),
    ]
    notes = ["Missed: of the objects that two others drew."] * has_missed + [
        "Lone: nobody else drew the object. " + other_class(report)
    ]
    notes += ["Draws: against the median box of the object."] * has_bias
    if has_bias and len(report.annotators) == 2:
        notes.append("The median of two boxes lies between them: each annotator shows half of the difference.")
    elif has_bias and any(entry["votes"] == 2 for entry in report.existence.votes):
        notes.append("Where two drew it, each shows half of their difference.")
    shown = shortlist_annotators(report)
    words = [" ".join(notes)] if shown.entries else []
    parts = [*shortlist_parts(columns, shown), *words]
    return [Section(shown.title, parts, figures=("annotators", "bias"), key="annotators")]


def closeness_details(report: ObjectReport) -> list[Section]:
    """Tables of the groups of annotators who agree, and of one person's sessions beside different people."""
    sections = []
    if report.clusters:
        columns = [
            Column("mean score at which they join", "similarity", shown_number),
            Column("who", "members", listed),
        ]
        sections.append(Section("Groups of annotators, the closest first", [table(columns, report.clusters)]))
    sessions = report.sessions
    if sessions is not None:

        def cell(kind: str, name: str) -> Cell:
            value = getattr(sessions, f"{kind}_{name}")
            return Cell(value, shown_interval(value, sessions.intervals.get(f"{kind}_{name}")))

        titles = {"alpha": "alpha", "score": "score", "f1": "F1", "mean_iou": f"mean {report.localisation.measure}"}
        columns = [
            Column("number", lambda name: titles[name]),
            Column("one person again", functools.partial(cell, "intra")),
            Column("different people", functools.partial(cell, "inter")),
        ]
        pairs = f"{sessions.n_intra_pairs}, of different people: {sessions.n_inter_pairs}"
        note = f"pairs of sessions of one person: {pairs}"
        sections.append(Section("Sessions", [table(columns, titles)], note))
    return sections


def annotator_details(report: ObjectReport) -> list[Section]:
    """Tables of all numbers of annotators: coverage, verdicts, sizes, bias, agreement with the consensus."""
    what, entries, measure = documents(report), report.annotators, report.localisation.measure
    title = (
        f"Coverage: {report.n_samples:,} {what}, {report.n_rated:,} with at least 2 annotators assigned, "
        f"{report.n_empty:,} of them without any label; in rated {what} {report.n_objects:,} labels are "
        f"{report.n_units:,} objects"
    )
    columns = [
        *(_NAME, Column("assigned", "n_assigned"), Column("drew nothing", "n_drew_nothing")),
        *(Column("not assigned", "n_not_assigned"), Column("labels", "n_objects")),
    ]
    tables = [table(columns, entries, title)]
    rare = _RARE if len(entries) > 2 else (*_RARE, "missed")  # of two, nobody can miss what two others drew
    verdicts = list(entries[0].verdicts) if entries else []
    verdicts = [name for name in verdicts if name not in rare or any(entry.verdicts[name] for entry in entries)]
    columns, title = [_NAME, *(verdict_column(name, _OF_LABELS.get(name, name)) for name in verdicts)], ""
    if len(entries) > 2:
        columns.append(Column("missed by them", "n_missed"))
        title = ", and objects of two others that they missed"
    tables.append(table(columns, entries, f"Verdicts on their labels{title}"))
    if any(entry.score is not None or entry.n_could_miss for entry in entries):
        sizes = list(dict.fromkeys(size for entry in entries for size in entry.miss_rate_by_size))
        columns = [
            _NAME,
            Column("score", "score", shown_number, interval=True),
            Column("miss rate", "miss_rate", shown_number, interval=True),
            *(Column(f"… of {size}", f"miss_rate_by_size.{size}", shown_share) for size in sizes),
            Column(f"mean {measure}", "mean_iou", shown_number, interval=True),
        ]
        # vitality minus its mean over all annotators, because every further annotator raises alpha
        vitality = [entry.vitality for entry in entries if entry.vitality is not None]
        if vitality:
            mean = math.fsum(vitality) / len(vitality)
            title = f"raises alpha, against the mean of {signed(mean)}"
            columns.append(Column(title, lambda e: None if e.vitality is None else e.vitality - mean, signed))
        columns.append(Column("most often", lambda entry: most_frequent(entry.other_classes, "{b} called {a} ({n})")))
        tables.append(table(columns, entries, "Agreement with the others"))
    rows: list[list[Cell]] = []
    for entry in entries:
        if (bias := entry.bias) is not None:
            means = [offset_cell(bias.mean.get(side), bias.intervals.get(side)) for side in BOX_SIDES]
            stds = [Cell(bias.std.get(side), shown_number(bias.std.get(side), 1)) for side in BOX_SIDES]
            rows.append([Cell(entry.name, entry.name), Cell("mean", "mean"), *means, Cell(bias.n, str(bias.n))])
            rows.append([Cell("", ""), Cell("std", "std"), *stds, Cell(None, "")])
    if rows:
        title = f"Bias against the median box of an object, {OFFSETS}"
        tables.append(Table(["annotator", "", *BOX_SIDES, "objects"], rows, title))
    compared = [entry for entry in entries if entry.consensus is not None]
    if compared:
        numbers = {"precision": "precision", "recall": "recall", "f1": "F1", "class_agreement": "same class"}
        numbers["mean_iou"] = f"mean {measure}"
        columns = [
            *(_NAME, Column("labels", "consensus.n_objects"), Column("objects of the others", "consensus.n_units")),
            *(Column(title, f"consensus.{name}", shown_number, interval=True) for name, title in numbers.items()),
        ]
        tables.append(table(columns, compared, "Against the consensus of the others"))
    return [Section("Annotators in detail", tables)]


_ALIGNMENT = {"n_aligned": "aligned", "recall": "recall", "precision": "precision", "f_score": "F"}


def pairs_section(report: ObjectReport) -> list[Section]:
    """Table of the pairs of annotators with their main numbers; of many a shortlist."""
    measure = MEASURES[report.localisation.measure]
    columns = [
        Column("F1", "f1", shown_number, interval=True),
        Column("same class", "class_agreement", shown_share),
        Column(f"mean {measure.name}", "mean_iou", shown_number),
        Column("score", "score", shown_number, interval=True),
        *([Column("visibility", "visibility", shown_number)] if measure.of_points else []),
        *([Column("tracks kept", "track_consistency", shown_number)] if report.track_consistency is not None else []),
        Column(
            "matched, of labels of a and b",
            lambda pair: Cell(pair.n_matched, f"{pair.n_matched:,} of {pair.n_a:,} and {pair.n_b:,}"),
        ),
    ]
    return pair_sections(report, columns)


def pair_details(report: ObjectReport) -> list[Section]:
    """Tables of all numbers of pairs."""
    shown_pairs = most_first(report.pairs)
    measure = report.localisation.measure
    tables = {group: list(PAIR_NAMES) for group in dict.fromkeys(number.group for number in OBJECT_PAIR_NUMBERS)}
    for number in OBJECT_PAIR_NUMBERS:
        if number.concerns(measure):
            tables[number.group].append(Column(number.name(measure), number.key, FORMS[number.form], interval=True))
    tables[""] += [
        Column(f"mean best {measure}", "mean_max_iou.symmetric.mean", shown_number),
        Column("most frequent conflict (a says, b says)", "confusion", most_frequent),
    ]
    if any(pair.intra for pair in report.pairs):
        tables[""].append(Column("one person", lambda pair: "yes" if pair.intra else ""))
    parts: list[Part] = [table(columns, shown_pairs, title) for title, columns in tables.items()]
    aligned = [pair for pair in shown_pairs if pair.alignment is not None]
    if aligned:
        of_alignment = [
            Column(title, f"alignment.{key}", lambda n: str(n) if isinstance(n, int) else shown_number(n))
            for key, title in _ALIGNMENT.items()
        ]
        parts.append(table([*PAIR_NAMES, *of_alignment], aligned, "Alignment (a as the reference)"))
    text = (
        f"The score of all objects is F1 with equal classes times their mean {measure}; kappa and AC1 are over shared "
        "objects."
    )
    parts.append(text)
    return [Section("Pairs in detail", parts)]
