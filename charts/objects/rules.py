"""Sections of the report on objects: rules of matching and counting, and the numbers over the threshold."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...agreement.evidence.ranking import MIN_IMAGES, MIN_LABELS
from ...agreement.settings.no_labels import null_policy
from ...agreement.settings.options import OPTIONS
from ...agreement.statistics.main_numbers import IMAGE_ALPHA, MEASURES
from ..text.sections import Column, Section, table
from ..text.words import counted, listed, shown_number

if TYPE_CHECKING:
    from ...agreement.objects.report import ObjectReport
    from ...agreement.objects.sensitivity import DataThreshold, Sensitivity, ThresholdPoint


#: the rule by which sentences name annotators, pairs and classes; the docs say more
FINDINGS_RULE = (
    f"tests at a false discovery rate of 5 % (Benjamini-Hochberg), from {MIN_LABELS} labels on {MIN_IMAGES} images on"
)
_EMPTY = {"skip": "are left out", "agree": "count as agreement"}


def object_rules(report: ObjectReport) -> list[tuple[str, str]]:
    """The rules for matching and counting objects."""
    config = report.config

    def chosen(option: str) -> str:
        return OPTIONS[option].choices[config[option]]

    threshold = f"{_similarity(report)} of at least {config['iou']:g}"
    if config.get("iou_from_data"):
        threshold += " (requested from the data)"
    if config["method"] == "mutual_best":
        threshold = f"best {_similarity(report)}"
    rules = [
        ("labels", ", ".join(report.label_types)),
        ("one object", f"labels with {threshold}"),
        ("matched for", f"{chosen('method')} ({config['method']})"),
        ("classes", f"{chosen('classes')} ({config['classes']})"),
        ("a missed object", f"counts in alpha {chosen('missing')}"),
        ("nothing drawn", f"images that everybody left empty {_EMPTY[config['empty']]}"),
        ("one category only", f"alpha is {chosen('undefined')}"),
    ]
    rules.append(("findings", FINDINGS_RULE))
    if config.get("attributes"):
        rules.append(("attributes", ", ".join(map(str, config["attributes"]))))
    if config.get("aliases"):
        rules.append(("class names", ", ".join(f"{old!r} is {new!r}" for old, new in config["aliases"].items())))
    if report.n_inexact_components:
        text = "entangled groups of objects were too large for an exact matching"
        if report.inexact_gap is not None:
            text += f"; what was found is at most {report.inexact_gap:.1%} below the best"
        rules.append(("note", f"{report.n_inexact_components:,} of {report.n_hard_components:,} {text}"))
    if report.n_crowded:
        text = "samples with so many overlapping objects that only the most similar pairs were compared"
        rules.append(("note", f"{text}: {report.n_crowded:,}"))
    if report.n_repaired:
        text = "polygons repaired because their rings cross themselves, or enclose nothing"
        rules.append(("note", f"{text}: {report.n_repaired:,}"))
    if report.n_points:
        text = "keypoints with one labelled point, or several in one place, which without a size match only if equal"
        rules.append(("note", f"{text}: {report.n_points:,}"))
    n_crowd = sum(entry.n_crowd for entry in report.annotators)
    if n_crowd:
        text = "labels that are crowd regions, or lie in those of anybody else, and do not count"
        rules.append(("note", f"{text}: {n_crowd:,}"))
    return rules


def object_words(report: ObjectReport) -> list[tuple[str, str]]:
    """Glossary of the sections on objects."""
    measure = report.localisation.measure
    words = [
        ("object", "what annotators drew at one place: their labels that match, or the label of one alone"),
        ("F1", "share of the labels of two annotators whose object the other one drew too, whatever its class"),
        ("F1 with equal classes", "the same, but an object counts only if both gave it one class"),
        ("score", f"as F1 with equal classes, but each object counts by its {measure}; of two annotators on one image"),
        (IMAGE_ALPHA.title, "agreement beyond chance on whole images, by the distance 1 - score of two annotators"),
        ("alpha of objects", "agreement beyond chance on class or missing, over all objects together"),
        ("ICC of counts", "agreement on the number of objects; 1 if always equal, undefined if it never varies"),
        (measure, f"{MEASURES[measure].meaning}; 1 if identical"),
    ]
    if not MEASURES[measure].of_points:
        words.append(("Dice", "2 x what both cover / what the one covers + what the other covers; 1 if identical"))
    optional = (number for number in report.main_numbers if number.is_optional and number.value(report) is not None)
    words += [
        (number.name(measure), number.meaning)
        for number in optional
        if number.meaning and number.name(measure) not in dict(words)
    ]
    words += [
        ("class conflict", "others drew the object too, and somebody gave it another class"),
        ("lone", "only one annotator drew the object"),
    ]
    # of two annotators, an object is drawn by both or lone
    if len(report.annotators) > 2:
        words += [("missed", "at least two drew the object, and somebody assigned did not")]
    return words


def _similarity(report: ObjectReport) -> str:
    """Name of the similarity that is compared with the threshold."""
    measure, similarity = report.localisation.measure, str(report.config["similarity"])
    if measure == "IoU":
        return "IoU" if similarity == "iou" else "Dice"
    return measure if similarity == "iou" else f"2 {measure} / (1 + {measure})"


def other_rules(report: ObjectReport, found: Sensitivity) -> list[Section]:
    """Alpha under other rules, side by side; the rules of the run are marked."""
    if not found.rules:
        return []
    names = ["method", "classes", "missing", "empty", "undefined"]
    own = {name: report.config.get(name) for name in names}
    if report.other_reading is not None:
        names.append("no_labels")
        own["no_labels"] = null_policy(report.config["no_labels"], report.config["assigned_field"])
    columns = [
        *(Column(name, name) for name in names),
        Column("alpha", "pooled", shown_number),
        Column("mean over images", "mean", shown_number),
        Column("defined on", "n_defined"),
        Column("", lambda entry: "this run" if all(getattr(entry, name) == own[name] for name in names) else ""),
    ]
    text = "The same labels at the same threshold; only the rules differ. `undefined` concerns the mean over images."
    return [Section("Alpha of objects under other rules", [text, table(columns, found.rules)])]


#: F1 is compared at thresholds up to this distance from the run's
_AROUND = 0.1
#: smaller changes of F1 do not count as dependence on the threshold
_STILL = 0.02
#: a higher threshold is mentioned if F1 falls by more
_FALL = 0.1
#: thresholds that differ by at most this are called close
_CLOSE = 0.05
#: from fewer similarities no threshold is suggested
_FEW_VALUES = 30
#: with a smaller separation (Kolmogorov-Smirnov distance), the threshold hardly tells same from different objects
_TOLD_APART = 0.2
#: a threshold is confirmed if it and those of two halves of the images differ by at most this
_ALIKE = 0.1
#: why the data suggest no threshold
_REASONS = {
    "too_few_values": "there are too few objects to compare",
    "no_variation": "all objects are equally similar, either on one image or across images",
    "no_crossing": "no threshold separates labels of the same object from labels of different objects",
}


def f1_by_threshold(report: ObjectReport, points: Sequence[ThresholdPoint]) -> list[str]:
    """Sentence on how F1 depends on the threshold, near that of the run; none where F1 is undefined."""
    own = float(report.config["iou"])
    near = [entry for entry in points if abs(entry.threshold - own) <= _AROUND + 1e-9]
    known = [entry.f1 for entry in near if entry.f1 is not None]
    if len(known) < 2 or len(known) < len(near):
        return []
    low, high = near[0], near[-1]
    depends = "hardly depends" if max(known) - min(known) < _STILL else "depends"
    said = f"F1 {depends} on the threshold of {own:g}: at {low.threshold:g} it is {shown_number(low.f1)}, at "
    said += f"{high.threshold:g} {shown_number(high.f1)}"
    for each in points:  # the first higher threshold at which F1 is clearly lower
        if each.threshold > high.threshold and each.f1 is not None and each.f1 < known[-1] - _FALL:
            return [f"{said}, but at {each.threshold:g} {shown_number(each.f1)}."]
    return [f"{said}."]


def suggested_threshold(report: ObjectReport, found: DataThreshold | None) -> list[str]:
    """The threshold that the data suggest, if two halves of the images confirm it; nothing if data are too few."""
    if found is None or found.n_observed < _FEW_VALUES or found.n_samples < MIN_IMAGES:
        return []
    if found.threshold is None:
        return [f"The data suggest no threshold: {_REASONS.get(found.reason or '', found.reason)}."]
    if found.ks is None or found.ks < _TOLD_APART:
        reason = f"the best one, {found.threshold:.2f}, hardly tells the same object from different ones"
        return [f"The data suggest no threshold: {reason}."]
    halves = [f"{half:.2f}" if half is not None else "none" for half in found.halves]
    known = [half for half in (found.threshold, *found.halves) if half is not None]
    if len(known) < 3 or max(known) - min(known) > _ALIKE:
        of_halves = f": {listed(halves)} on two halves of the images" if halves else ""
        return [f"The data suggest no threshold: {found.threshold:.2f} is not confirmed{of_halves}."]
    own = float(report.config["iou"])
    place = "close to" if abs(found.threshold - own) <= _CLOSE + 1e-9 else "below" if found.threshold < own else "above"
    beside = f", {place} the {own:g} of this run"
    if report.config["method"] == "mutual_best":
        beside = "; this run matches without one"
    elif report.config.get("iou_from_data"):
        beside = f", and this run used {own:g}"
    return [f"The data suggest {found.threshold:.2f} ({listed(halves)} on two halves of the images){beside}."]


def threshold_sections(report: ObjectReport, found: Sensitivity) -> list[Section]:
    """F1 as a function of the threshold, all thresholds, and the histogram behind the suggested one."""
    sections, own = [], float(report.config["iou"])
    if sentences := f1_by_threshold(report, found.thresholds):
        sections.append(Section("The threshold", sentences, figures=("thresholds",)))
    if found.thresholds:
        columns = [
            Column("threshold", "threshold", functools.partial(shown_number, digits=2)),
            Column("F1", "f1", shown_number),
            Column("score", "score", shown_number),
            Column("alpha of objects", "alpha", shown_number),
            *(Column("objects", "n_units"), Column("entangled groups", "n_hard")),
            Column("too large to solve", "n_inexact"),
            Column("", lambda entry: "this run" if abs(entry.threshold - own) < 1e-9 else ""),
        ]
        sections.append(Section("Thresholds side by side", [table(columns, found.thresholds)]))
    suggested = found.data_threshold
    if suggested is not None and suggested.observed:
        n = len(suggested.observed)
        columns = [
            Column(report.localisation.measure, lambda bin: f"{bin[0] / n:.2f} – {(bin[0] + 1) / n:.2f}"),
            *(Column("same image", lambda bin: bin[1]), Column("other image", lambda bin: bin[2])),
        ]
        bins = zip(range(n), suggested.observed, suggested.expected, strict=True)
        text = (
            f"Best similarity of an object with another annotator's objects on {counted(suggested.n_samples, 'image')},"
            " and on a different image; at the threshold both are equally likely."
        )
        sentences = suggested_threshold(report, suggested)
        sections.append(Section("The threshold from the data", [*sentences, text, table(columns, bins)]))
    return sections
