"""Section of the report on objects: do annotators see, name and draw the same objects?"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...agreement.statistics.main_numbers import MEASURES, QUESTIONS
from ..text.headline import shown_numbers
from ..text.sections import Answer, Facts, Part, Section
from ..text.tables import Cell, Column, sample_table, table
from ..text.words import documents, most_frequent, percent, shown_interval, shown_number, shown_share
from .classes import missed_or_lone
from .sentences import class_sentence, existence_sentence, localisation_sentence

if TYPE_CHECKING:
    from ...agreement.objects.report import ObjectReport, SizeSummary
    from ...agreement.statistics.report import Coefficients

#: sentences that explain the numbers of each question
_SENTENCES: dict[str, Callable[[ObjectReport], str]] = {
    "existence": existence_sentence,
    "class_given_match": class_sentence,
    "localisation": localisation_sentence,
}
_COEFFICIENTS = {
    "percent_agreement": "percent agreement",
    "alpha": "Krippendorff's alpha",
    "ac1": "Gwet's AC1",
    "brennan_prediger": "Brennan-Prediger",
    "fleiss_kappa": "Fleiss' kappa",
}


def questions_section(report: ObjectReport) -> list[Section]:
    """Section on the causes of disagreement: every question, its numbers with intervals, and their meaning."""
    parts: list[Part] = []
    for group, question in QUESTIONS.items():
        numbers = shown_numbers(report, group)
        if numbers:
            sentence = _SENTENCES[group](report) if group in _SENTENCES else ""
            parts.append(Answer(question, numbers, sentence))
    return [Section("Question by question", parts, figures=("votes", "iou"))]


def question_details(report: ObjectReport) -> list[Section]:
    """Everything on the three questions and on attributes."""
    return [
        *_existence(report),
        *_classes(report),
        *_localisation(report),
        *_attributes(report),
        *_coefficients(report),
        *_worst(report),
    ]


def _existence(report: ObjectReport) -> list[Section]:
    existence = report.existence
    if not existence.votes:
        return []
    columns = [
        Column("drawn by", lambda entry: f"{entry['votes']} of {entry['assigned']}"),
        Column("objects", "units"),
        Column("share", lambda entry: Cell(entry["units"], percent(entry["units"], report.n_units))),
    ]
    votes = sorted(existence.votes, key=lambda entry: (-entry["assigned"], -entry["votes"]))
    jaccard = shown_interval(existence.jaccard, report.intervals.get("existence.jaccard"))
    facts = [("Jaccard index", f"{jaccard} (objects that both of a pair drew / that either drew)")]
    if existence.presence is not None:
        alpha = shown_number(existence.presence.alpha)
        share = shown_share(existence.share_present)
        text = f"{share} of the annotators' {documents(report)} have an object; alpha {alpha}"
        facts.append(("anything at all?", f"{text}, AC1 {shown_number(existence.presence.ac1)}"))
    return [Section(f"{QUESTIONS['existence']} In detail", [table(columns, votes), Facts(facts)])]


def _classes(report: ObjectReport) -> list[Section]:
    given = report.class_given_match
    if not given.confusion:
        return []
    columns = [Column("class", "a"), Column("class", "b"), Column("pairs of labels", "n")]
    parts: list[Part] = [table(columns, given.confusion, "Confusions, the most frequent first")]
    if given.n_unlisted:
        parts.append(f"{given.n_unlisted:,} more pairs of labels have confusions that are not listed.")
    note = f"{given.n_units:,} objects that two or more drew"
    return [Section(f"{QUESTIONS['class_given_match']} In detail", parts, note)]


def _localisation(report: ObjectReport) -> list[Section]:
    local = report.localisation
    parts: list[Part] = []
    if local.median_iou is not None:
        facts = [(f"median {local.measure}", shown_number(local.median_iou))]
        if not MEASURES[local.measure].of_points:
            facts.append(("median Dice", shown_number(local.median_dice)))
        parts.append(Facts(facts))
    if report.sizes:
        columns = [
            *(Column("size", "size"), Column("area", _area), Column("objects", "n_units")),
            Column(f"mean {local.measure}", "mean_iou", shown_number),
            Column(f"median {local.measure}", "median_iou", shown_number),
            missed_or_lone(report),
            Column("F1", "f1", shown_number),
        ]
        parts.append(table(columns, report.sizes, "By size, the median area of an object's labels"))
    note = f"{local.n_pairs:,} pairs of labels"
    return [Section(f"{QUESTIONS['localisation']} In detail", parts, note)] if parts else []


def _area(entry: SizeSummary) -> str:
    """A range of areas: ``1024 – 9216 px²``."""
    below, above = (None if value is None else f"{value:.4g}" for value in (entry.area_from, entry.area_to))
    if above is None:
        return f"from {below or 0} {entry.unit}"
    return f"below {above} {entry.unit}" if not entry.area_from else f"{below} – {above} {entry.unit}"


def _attributes(report: ObjectReport) -> list[Section]:
    if not report.attributes:
        return []
    columns = [
        *(Column("attribute", "name"), Column("objects", "n_units"), Column("conflicts", "n_conflicts")),
        Column("agree", "percent_agreement", shown_share),
        Column("alpha", "alpha", shown_number),
        Column("level", "level"),
        Column("most frequent conflict", "conflicts", most_frequent),
    ]
    return [Section("Attributes of shared objects", [table(columns, report.attributes)])]


def _coefficients(report: ObjectReport) -> list[Section]:
    found: dict[str, Coefficients | None] = {
        "objects and classes": report.coefficients,
        "class of shared objects": report.class_given_match.coefficients,
        "anything at all?": report.existence.presence,
    }
    columns = [
        *(Column("of", "of"), Column("n", "n_units")),
        *(Column(title, name, shown_number) for name, title in _COEFFICIENTS.items()),
    ]
    known = [{"of": of, **dataclasses.asdict(each)} for of, each in found.items() if each is not None]
    text = "Where one category prevails alpha and kappa fall, AC1 rises, and Brennan-Prediger stays."
    return [Section("Coefficients beside alpha", [table(columns, known), text])] if known else []


def _worst(report: ObjectReport) -> list[Section]:
    asked = {
        "Objects that not everybody saw: lowest F1": report.existence.worst_samples,
        "Classes: largest share of conflicts": report.class_given_match.worst_samples,
        f"Drawing: lowest mean {report.localisation.measure}": report.localisation.worst_samples,
        **{f"Attribute {entry.name}: largest share of conflicts": entry.worst_samples for entry in report.attributes},
    }
    columns = [Column("value", "value", shown_number)]
    tables = [sample_table(columns, samples, title) for title, samples in asked.items() if samples]
    return [Section("Where to look for each question", tables)] if tables else []
