"""What the text of a report says on objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .pairs import best_and_worst
from .tables import INDENT, documents, percent, shown_number, table, wrapped

if TYPE_CHECKING:
    from ..agreement.objects.report import ObjectReport
    from ..agreement.objects.summaries import PairSummary

_MISSING = {"category": "a category of its own", "ignore": "left out"}
_EMPTY = {"skip": "left out", "agree": "count as agreement"}


def object_rules(report: ObjectReport) -> list[tuple[str, str]]:
    """How objects were matched and counted."""
    config = report.config
    similarity = _similarity(report)
    matching = f"{config['method']}, {similarity} >= {config['iou']:g}, classes: {config['classes']}"
    if config["method"] == "mutual_best":
        matching = f"mutual_best, classes: {config['classes']}"
    if config["method"] != "optimal":
        matching += " (may depend on the order of the annotators)"
    rules = [
        ("labels", ", ".join(report.label_types)),
        ("matching", matching),
        ("missed objects", f"{_MISSING[config['missing']]} in alpha"),
        ("empty images", _EMPTY[config["empty"]]),
        ("alpha w/o variation", "1" if config["undefined"] == "one" else "undefined"),
    ]
    if report.n_inexact_components:
        text = "entangled groups of objects were too large for an exact matching"
        rules.append(("note", f"{report.n_inexact_components} of {report.n_hard_components} {text}"))
    if report.n_repaired:
        text = "polygons have rings that cross themselves, or enclose nothing, and were repaired"
        rules.append(("note", f"{report.n_repaired} {text}"))
    if report.n_points:
        text = "keypoints have one labelled point, or several in one place; without a size they match only where equal"
        rules.append(("note", f"{report.n_points} {text}"))
    n_crowd = sum(entry.n_crowd for entry in report.annotators)
    if n_crowd:
        rules.append(("note", f"{n_crowd} labels are crowd regions, or lie in one of somebody else, and do not count"))
    return rules


def _similarity(report: ObjectReport) -> str:
    """What was compared with the threshold."""
    measure, similarity = report.localisation.measure, str(report.config["similarity"])
    if measure == "IoU":
        return similarity
    return measure if similarity == "iou" else f"2 {measure} / (1 + {measure})"


def object_sections(report: ObjectReport) -> list[list[str]]:
    """The three questions, coverage, annotators and pairs."""
    return [_questions(report), _coverage(report), _annotators(report), _pairs(report)]


def _questions(report: ObjectReport) -> list[str]:
    seen = [entry for entry in report.existence.votes if entry["assigned"] >= 2]
    by_share = [
        f"{entry['units']} by {entry['votes']} of {entry['assigned']} ({percent(entry['units'], report.n_units)})"
        for entry in sorted(seen, key=lambda entry: (-entry["assigned"], -entry["votes"]))
    ]
    given, local = report.class_given_match, report.localisation
    alike = "-" if given.percent_agreement is None else f"{100.0 * given.percent_agreement:.1f} % agree"
    alike_drawn = f"mean {local.measure} {shown_number(local.mean_iou)}"
    if local.measure != "OKS":
        alike_drawn += f", Dice {shown_number(local.mean_dice)}"
    lines = [
        "Why: three questions",
        f"{INDENT}Do they see the same objects?        F1 {shown_number(report.existence.f1)}",
        f"{INDENT}Do they name a shared object alike?  {alike}, alpha {shown_number(given.alpha)} "
        f"({given.n_units} objects)",
        f"{INDENT}Do they draw a shared object alike?  {alike_drawn} ({local.n_pairs} pairs of labels)",
    ]
    if local.measure == "OKS":
        lines.append(
            f"{INDENT}… and label the same points of it?   visibility {shown_number(local.visibility)} (points "
            "labelled by both, of those labelled by either)"
        )
    if report.track_consistency is not None:
        lines.append(
            f"{INDENT}Do they follow it through the video?  {shown_number(report.track_consistency)} (share of frames "
            "in which a track keeps its partner)"
        )
    return lines + wrapped("drawn", by_share)


def _coverage(report: ObjectReport) -> list[str]:
    rows = [
        [entry.name, entry.n_assigned, entry.n_drew_nothing, entry.n_not_assigned, entry.n_objects]
        for entry in report.annotators
    ]
    head = (
        f"Coverage: {report.n_samples} {documents(report)}, {report.n_rated} with at least 2 annotators assigned, of "
        f"which {report.n_empty} nobody drew in; there {report.n_objects} labels are {report.n_units} objects"
    )
    return [head, *table(["annotator", "assigned", "drew nothing", "not assigned", "labels"], rows)]


def _annotators(report: ObjectReport) -> list[str]:
    rows = []
    for entry in report.annotators:
        verdicts = entry.verdicts
        judged = sum(verdicts.values())
        rows.append(
            [
                entry.name,
                *(f"{verdicts[name]} ({percent(verdicts[name], judged)})" for name in verdicts),
                entry.n_missed,
            ]
        )
    titles = {"class_conflict": "class conflict", "missed": "others missed it", "lone": "only theirs"}
    verdict_names = list(report.annotators[0].verdicts) if report.annotators else []
    header = ["annotator", *(titles.get(name, name) for name in verdict_names), "missed by them"]
    return ["Annotators: verdicts on their labels, and objects of two others that they missed", *table(header, rows)]


def _pairs(report: ObjectReport) -> list[str]:
    shown_pairs, title = best_and_worst(report.pairs)
    columns: dict[str, Callable[[PairSummary], object]] = {
        "a": lambda pair: pair.a,
        "b": lambda pair: pair.b,
        documents(report): lambda pair: pair.n_samples,
        "score": lambda pair: shown_number(pair.score),
        "alpha": lambda pair: shown_number(pair.alpha),
        "F1": lambda pair: shown_number(pair.f1),
        "same class": lambda pair: shown_number(pair.class_agreement),
        f"mean {report.localisation.measure}": lambda pair: shown_number(pair.mean_iou),
        **{title: _shown_attribute(name) for title, name in extra_columns(report).items()},
        "matched objects": lambda pair: f"{pair.n_matched} of {pair.n_a} / {pair.n_b}",
    }
    lines = [title, *table(list(columns), [[column(pair) for column in columns.values()] for pair in shown_pairs])]
    aligned = [pair for pair in shown_pairs if pair.alignment is not None]
    if aligned:
        rows = [[pair.a, pair.b, *(_alignment_entry(pair.alignment, key) for key in _ALIGNMENT)] for pair in aligned]
        lines += ["", "Alignment (b as if a were right)", *table(["a", "b", *_ALIGNMENT.values()], rows)]
    return lines


def extra_columns(report: ObjectReport) -> dict[str, str]:
    """Titles of the columns on pairs that only some labels have, with the attribute of the pair."""
    columns = {}
    if report.localisation.measure == "OKS":
        columns["visibility"] = "visibility"
    if report.track_consistency is not None:
        columns["tracks kept"] = "track_consistency"
    return columns


def _shown_attribute(name: str) -> Callable[[PairSummary], str]:
    return lambda pair: shown_number(getattr(pair, name))


_ALIGNMENT = {"n_aligned": "aligned", "recall": "recall", "precision": "precision", "f_score": "F"}


def _alignment_entry(alignment: dict[str, float | int | None] | None, key: str) -> str:
    value = (alignment or {}).get(key)
    return str(value) if isinstance(value, int) else shown_number(value)
