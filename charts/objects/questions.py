"""The three questions: do they see, name and draw the same objects?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..sections import Answer, Facts, Part, Section, Table
from ..tables import documents, end_of_path, percent, shown_interval, shown_number, shown_share
from .causes import cause_sentence
from .sentences import class_sentence, existence_sentence, localisation_sentence

if TYPE_CHECKING:
    from ...agreement.objects.report import ObjectReport
    from ...agreement.report import Coefficients

_COEFFICIENTS = {
    "percent_agreement": "percent agreement",
    "alpha": "Krippendorff's alpha",
    "ac1": "Gwet's AC1",
    "brennan_prediger": "Brennan-Prediger",
    "fleiss_kappa": "Fleiss' kappa",
}


def answers(report: ObjectReport) -> list[Answer]:
    """The questions, their numbers with intervals, and what these mean."""
    existence, given, local = report.existence, report.class_given_match, report.localisation
    f1 = shown_interval(existence.f1, report.intervals.get("existence.f1"))
    alpha = shown_interval(given.alpha, report.intervals.get("class_given_match.alpha"))
    drawn = shown_interval(local.mean_iou, report.intervals.get("localisation.mean_iou"))
    alike = "-" if given.percent_agreement is None else f"{shown_share(given.percent_agreement)} agree"
    numbers = f"mean {local.measure} {drawn}"
    if local.measure != "OKS":
        numbers += f", Dice {shown_number(local.mean_dice)}"
    found = [
        Answer("Do they see the same objects?", f"F1 {f1}", existence_sentence(report)),
        Answer("Do they name a shared object alike?", f"{alike}, alpha {alpha}", class_sentence(report)),
        Answer("Do they draw a shared object alike?", numbers, localisation_sentence(report)),
    ]
    if local.measure == "OKS":
        text = f"visibility {shown_number(local.visibility)} (points labelled by both, of those labelled by either)"
        found.append(Answer("… and label the same points of it?", text))
    if report.track_consistency is not None:
        text = f"{shown_number(report.track_consistency)} (share of frames in which a track keeps its partner)"
        found.append(Answer("Do they follow it through the video?", text))
    return found


def questions_section(report: ObjectReport) -> Section:
    """Why labels do not agree, in short."""
    return Section("Why? Three questions", [cause_sentence(report), *answers(report)], ("votes", "iou"))


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
    rows = [
        [f"{entry['votes']} of {entry['assigned']}", entry["units"], percent(entry["units"], report.n_units)]
        for entry in sorted(existence.votes, key=lambda entry: (-entry["assigned"], -entry["votes"]))
    ]
    parts: list[Part] = [Table(["drawn by", "objects", "share"], rows)]
    jaccard = shown_interval(existence.jaccard, report.intervals.get("existence.jaccard"))
    facts = [("Jaccard index", f"{jaccard} (objects that both of a pair drew, of those that either drew)")]
    if existence.presence is not None:
        alpha = shown_number(existence.presence.alpha)
        share = shown_share(existence.share_present)
        text = f"{share} of the annotators' {documents(report)} have an object; alpha {alpha}"
        facts.append(("anything at all?", f"{text}, AC1 {shown_number(existence.presence.ac1)}"))
    return [Section("Do they see the same objects? In detail", [*parts, Facts(facts)])]


def _classes(report: ObjectReport) -> list[Section]:
    given = report.class_given_match
    if not given.confusion:
        return []
    title = f"Do they name a shared object alike? In detail ({given.n_units} objects that two or more drew)"
    rows = [[entry["a"], entry["b"], entry["n"]] for entry in given.confusion]
    parts: list[Part] = [Table(["class", "class", "pairs of labels"], rows, "Confusions, the most frequent first")]
    if given.n_unlisted:
        parts.append(f"{given.n_unlisted} more are of confusions that are not listed.")
    return [Section(title, parts)]


def _localisation(report: ObjectReport) -> list[Section]:
    local = report.localisation
    parts: list[Part] = []
    if local.median_iou is not None:
        facts = [(f"median {local.measure}", shown_number(local.median_iou))]
        if local.measure != "OKS":
            facts.append(("median Dice", shown_number(local.median_dice)))
        parts.append(Facts(facts))
    if report.sizes:
        rows = [
            [
                entry.size,
                _area(entry.area_from, entry.area_to, entry.unit),
                entry.n_units,
                shown_number(entry.mean_iou),
                shown_number(entry.median_iou),
                shown_share(entry.miss_rate),
                shown_number(entry.f1),
            ]
            for entry in report.sizes
        ]
        header = ["size", "area", "objects", f"mean {local.measure}", f"median {local.measure}", "missed", "F1"]
        parts.append(Table(header, rows, "By size, the median area of an object's labels"))
    title = f"Do they draw a shared object alike? In detail ({local.n_pairs} pairs of labels)"
    return [Section(title, parts)] if parts else []


def _area(area_from: float | None, area_to: float | None, unit: str) -> str:
    """A range of areas: ``1024 – 9216 px²``."""
    below, above = (None if value is None else f"{value:.4g}" for value in (area_from, area_to))
    if above is None:
        return f"from {below or 0} {unit}"
    return f"below {above} {unit}" if not area_from else f"{below} – {above} {unit}"


def _attributes(report: ObjectReport) -> list[Section]:
    if not report.attributes:
        return []
    rows = []
    for entry in report.attributes:
        conflict = entry.conflicts[0] if entry.conflicts else None
        rows.append(
            [
                entry.name,
                entry.n_units,
                entry.n_conflicts,
                shown_share(entry.percent_agreement),
                shown_number(entry.alpha),
                entry.level,
                f"{conflict['a']} / {conflict['b']} ({conflict['n']})" if conflict else "-",
            ]
        )
    header = ["attribute", "objects", "conflicts", "agree", "alpha", "level", "most frequent conflict"]
    return [Section("Attributes of shared objects", [Table(header, rows)])]


def _coefficients(report: ObjectReport) -> list[Section]:
    found: dict[str, Coefficients | None] = {
        "objects and classes": report.coefficients,
        "class of shared objects": report.class_given_match.coefficients,
        "anything at all?": report.existence.presence,
    }
    rows = [
        [title, entry.n_units, *(shown_number(getattr(entry, name)) for name in _COEFFICIENTS)]
        for title, entry in found.items()
        if entry is not None
    ]
    text = "AC1 and Brennan-Prediger do not fall when one category prevails, as alpha and kappa do."
    header = ["of", "units", *_COEFFICIENTS.values()]
    return [Section("Coefficients beside alpha", [Table(header, rows), text])] if rows else []


def _worst(report: ObjectReport) -> list[Section]:
    asked = {
        "Objects that not everybody saw: lowest F1": report.existence.worst_samples,
        "Classes: largest share of conflicts": report.class_given_match.worst_samples,
        f"Drawing: lowest mean {report.localisation.measure}": report.localisation.worst_samples,
        **{f"Attribute {entry.name}: largest share of conflicts": entry.worst_samples for entry in report.attributes},
    }
    tables = []
    for title, samples in asked.items():
        header = ["value", "sample id", "file"]
        on_frames = any("frame_number" in entry for entry in samples)
        rows = [
            [
                shown_number(entry["value"]),
                entry["id"],
                end_of_path(entry["filepath"]),
                *([entry.get("frame_number", "-")] if on_frames else []),
            ]
            for entry in samples
        ]
        if rows:
            tables.append(Table([*header, *(["frame"] if on_frames else [])], rows, title))
    return [Section("Where to look for each question", tables)] if tables else []
