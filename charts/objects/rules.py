"""Section of the report on objects: the rules of matching and counting, and alpha under other rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...agreement.evidence.ranking import MIN_IMAGES, MIN_LABELS
from ...agreement.settings.no_labels import null_policy
from ...agreement.settings.options import OPTIONS
from ...agreement.statistics.main_numbers import IMAGE_ALPHA, MEASURES
from ..text.sections import Section
from ..text.tables import Column, table
from ..text.words import shown_number

if TYPE_CHECKING:
    from ...agreement.objects.report import ObjectReport

#: the rule for what is named; the docs say more
FINDINGS_RULE = (
    f"tests at a false discovery rate of 5 % (Benjamini-Hochberg), from {MIN_LABELS} labels on {MIN_IMAGES} images on"
)
_EMPTY = {"skip": "are left out", "agree": "count as agreement"}
#: the measures of two labels of one object
_MEASURES = {
    "IoU": "overlap of two labels of one object: what both cover / what either covers; 1 if identical",
    "OKS": "closeness of the points of two labels of one object; 1 if identical",
    "temporal IoU": "overlap of two labels of one object in time: what both cover / what either covers; 1 if identical",
}


def object_rules(report: ObjectReport) -> list[tuple[str, str]]:
    """The rules for matching and counting objects."""
    config = report.config

    def chosen(option: str) -> str:
        return OPTIONS[option].choices[config[option]]

    threshold = f"{_similarity(report)} of at least {config['iou']:g}{_threshold_origin(report)}"
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
        text = "samples have so many overlapping objects that only the most similar pairs were compared"
        rules.append(("note", f"{report.n_crowded:,} {text}"))
    if report.n_repaired:
        text = "polygons have rings that cross themselves, or enclose nothing, and were repaired"
        rules.append(("note", f"{report.n_repaired:,} {text}"))
    if report.n_points:
        text = "keypoints have one labelled point, or several in one place; without a size they match only if equal"
        rules.append(("note", f"{report.n_points:,} {text}"))
    n_crowd = sum(entry.n_crowd for entry in report.annotators)
    if n_crowd:
        text = "labels are crowd regions, or lie in those of everybody else, and do not count"
        rules.append(("note", f"{n_crowd} {text}"))
    return rules


def object_words(report: ObjectReport) -> list[tuple[str, str]]:
    """Glossary of the sections on objects."""
    measure = report.localisation.measure
    words = [
        ("object", "what annotators drew at one place: their labels that match, or the label of one alone"),
        ("score", "panoptic quality: objects in common (F1) x same class x overlap, for two annotators on one image"),
        ("alpha of objects", "agreement beyond chance on class or missing, over all objects together"),
        (IMAGE_ALPHA.title, "agreement beyond chance on whole images, by the distance 1 - score of two annotators"),
        ("F1", "objects that both of two annotators drew, as a share of what each of them drew"),
        ("ICC of counts", "agreement on the number of objects; 1 if always equal, undefined if it never varies"),
        (measure, _MEASURES[measure]),
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
        words += [
            ("missed", "at least two drew the object, and somebody assigned did not"),
        ]
    return words


def _threshold_origin(report: ObjectReport) -> str:
    """Origin of the threshold, in brackets, if it was asked of the data."""
    if not report.config.get("iou_from_data"):
        return ""
    found = report.data_threshold
    if found is None:
        return " (requested from the data)"
    return " (from the data)" if found.threshold is not None else " (the data suggest none)"


def _similarity(report: ObjectReport) -> str:
    """Name of the similarity that is compared with the threshold."""
    measure, similarity = report.localisation.measure, str(report.config["similarity"])
    if measure == "IoU":
        return "IoU" if similarity == "iou" else "Dice"
    return measure if similarity == "iou" else f"2 {measure} / (1 + {measure})"


def other_rules(report: ObjectReport) -> list[Section]:
    """Alpha under other rules, side by side; the run's own are marked."""
    if not report.rules:
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
    return [Section("Alpha of objects under other rules", [text, table(columns, report.rules)])]
