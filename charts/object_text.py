"""What the text of a report says on objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .tables import INDENT, percent, shown_number, table, wrapped

if TYPE_CHECKING:
    from ..agreement.objects.report import ObjectReport, PairSummary

_MISSING = {"category": "a category of its own", "ignore": "left out"}
_EMPTY = {"skip": "left out", "agree": "count as agreement"}


def object_rules(report: ObjectReport) -> list[tuple[str, str]]:
    """How objects were matched and counted."""
    config = report.config
    matching = f"{config['method']}, {config['similarity']} >= {config['iou']:g}, classes: {config['classes']}"
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
    n_crowd = sum(entry.n_crowd for entry in report.annotators)
    if n_crowd:
        rules.append(("note", f"{n_crowd} labels are crowd regions, or lie in one of somebody else, and do not count"))
    return rules


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
    lines = [
        "Why: three questions",
        f"{INDENT}Do they see the same objects?        F1 {shown_number(report.existence.f1)}",
        f"{INDENT}Do they name a shared object alike?  {alike}, alpha {shown_number(given.alpha)} "
        f"({given.n_units} objects)",
        f"{INDENT}Do they draw a shared object alike?  mean IoU {shown_number(local.mean_iou)}, Dice "
        f"{shown_number(local.mean_dice)} ({local.n_pairs} pairs of labels)",
    ]
    return lines + wrapped("drawn", by_share)


def _coverage(report: ObjectReport) -> list[str]:
    rows = [
        [entry.name, entry.n_assigned, entry.n_drew_nothing, entry.n_not_assigned, entry.n_objects]
        for entry in report.annotators
    ]
    head = f"Coverage: {report.n_samples} samples, {report.n_rated} with at least 2 annotators assigned, of which " \
           f"{report.n_empty} nobody drew in; there {report.n_objects} labels are {report.n_units} objects"  # fmt: skip
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


def best_and_worst_pairs(report: ObjectReport, at_most: int = 30) -> tuple[list[PairSummary], str]:
    """The pairs by descending score and a title; where there are many, only those at both ends."""
    pairs = sorted(report.pairs, key=lambda pair: (pair.score is None, -(pair.score or 0.0), pair.a, pair.b))
    if len(pairs) <= at_most:
        return pairs, "Pairs of annotators, best first"
    half = at_most // 2
    return pairs[:half] + pairs[-half:], f"Pairs of annotators: the best {half} and the last {half} of {len(pairs)}"


def _pairs(report: ObjectReport) -> list[str]:
    shown_pairs, title = best_and_worst_pairs(report)
    rows = [
        [
            pair.a,
            pair.b,
            pair.n_samples,
            *(shown_number(value) for value in (pair.score, pair.alpha, pair.f1, pair.class_agreement, pair.mean_iou)),
            f"{pair.n_matched} of {pair.n_a} / {pair.n_b}",
        ]
        for pair in shown_pairs
    ]
    header = ["a", "b", "samples", "score", "alpha", "F1", "same class", "mean IoU", "matched objects"]
    lines = [title, *table(header, rows)]
    aligned = [pair for pair in shown_pairs if pair.alignment is not None]
    if aligned:
        rows = [[pair.a, pair.b, *(_alignment_entry(pair.alignment, key) for key in _ALIGNMENT)] for pair in aligned]
        lines += ["", "Alignment (b as if a were right)", *table(["a", "b", *_ALIGNMENT.values()], rows)]
    return lines


_ALIGNMENT = {"n_aligned": "aligned", "recall": "recall", "precision": "precision", "f_score": "F"}


def _alignment_entry(alignment: dict[str, float | int | None] | None, key: str) -> str:
    value = (alignment or {}).get(key)
    return str(value) if isinstance(value, int) else shown_number(value)
