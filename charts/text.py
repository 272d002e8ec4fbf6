"""A report as aligned text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..agreement.report import AgreementReport, PairSummary

_UNDEFINED = {
    "one_annotator": "fewer than 2 annotators assigned",
    "no_objects": "nobody drew anything",
    "single_category": "one category only, so there is no variation",
    "no_pairable_values": "no object was drawn by two annotators",
}
_COVERAGE = {
    "fields": "a field that is null or absent means: not assigned",
    "given": "from the field with the assigned annotators",
    "assumed": "not given, so everybody is assumed to be assigned to every sample that has a label list",
}
_MISSING = {"category": "a category of its own", "ignore": "left out"}
_EMPTY = {"skip": "left out", "agree": "count as agreement"}
_INDENT = "  "


def report_text(report: AgreementReport) -> str:
    """The report as lines of text."""
    sections = [
        _headline(report),
        _rules(report),
        _questions(report),
        _coverage(report),
        _annotators(report),
        _pairs(report),
        _worst(report),
    ]
    return "\n\n".join("\n".join(section) for section in sections if section)


def shown_number(value: float | None, digits: int = 3) -> str:
    """A number for people: ``-`` where it is undefined."""
    return "-" if value is None else f"{value:.{digits}f}"


def _percent(part: float, whole: float) -> str:
    return f"{100.0 * part / whole:.1f} %" if whole else "-"


def _headline(report: AgreementReport) -> list[str]:
    title = f"Annotator agreement: run '{report.run_key}'"
    alpha = report.alpha
    undefined = [f"{count} ({_UNDEFINED[reason]})" for reason, count in alpha.undefined.items() if count]
    lines = [
        title,
        "=" * len(title),
        f"Score                  {shown_number(report.score.mean)}   mean panoptic quality of {report.score.n} samples "
        "(0: nothing in common, 1: identical)",
        f"Krippendorff's alpha   {shown_number(alpha.pooled)}   over all {alpha.n_units} units "
        "(0: as by chance, 1: perfect)",
        f"  mean over images     {shown_number(alpha.mean)}   of the {alpha.n_defined} samples where it is defined",
    ]
    if undefined:
        lines.append(f"  undefined            {', '.join(undefined)}")
    return lines


def _rules(report: AgreementReport) -> list[str]:
    config = report.config
    matching = f"{config['method']}, {config['similarity']} >= {config['iou']:g}, classes: {config['classes']}"
    if config["method"] == "mutual_best":
        matching = f"mutual_best, classes: {config['classes']}"
    if config["method"] != "optimal":
        matching += " (may depend on the order of the annotators)"
    lines = [
        "Rules",
        f"{_INDENT}matching             {matching}",
        f"{_INDENT}missed objects       {_MISSING[config['missing']]} in alpha",
        f"{_INDENT}empty images         {_EMPTY[config['empty']]}",
        f"{_INDENT}alpha w/o variation  {'1' if config['undefined'] == 'one' else 'undefined'}",
        f"{_INDENT}who was assigned     {_COVERAGE[report.run.coverage]}",
    ]
    notes = [
        (report.run.n_added_assignments, "times somebody who is not listed drew something, and counts as assigned"),
        (report.run.n_invalid, "labels were left out because their box is unusable"),
        (report.run.n_unknown, "labels of annotators who appeared during the run were left out"),
        (report.run.n_repeated, "repetitions of samples in the view were left out"),
        (report.run.n_changed, "samples were changed by somebody during the run, and left out"),
        (report.n_inexact_components, f"of {report.n_hard_components} entangled groups of objects were too large for "
                                      "an exact matching"),
    ]  # fmt: skip
    return lines + [f"{_INDENT}note                 {count} {text}" for count, text in notes if count]


def _questions(report: AgreementReport) -> list[str]:
    seen = [entry for entry in report.existence.votes if entry["assigned"] >= 2]
    by_share = [
        f"{entry['units']} by {entry['votes']} of {entry['assigned']} ({_percent(entry['units'], report.n_units)})"
        for entry in sorted(seen, key=lambda entry: (-entry["assigned"], -entry["votes"]))
    ]
    given, local = report.class_given_match, report.localisation
    alike = "-" if given.percent_agreement is None else f"{100.0 * given.percent_agreement:.1f} % agree"
    lines = [
        "Why: three questions",
        f"{_INDENT}Do they see the same objects?        F1 {shown_number(report.existence.f1)}",
        f"{_INDENT}Do they name a shared object alike?  {alike}, alpha {shown_number(given.alpha)} "
        f"({given.n_units} objects)",
        f"{_INDENT}Do they draw a shared object alike?  mean IoU {shown_number(local.mean_iou)}, Dice "
        f"{shown_number(local.mean_dice)} ({local.n_pairs} pairs of labels)",
    ]
    return lines + _wrapped("drawn", by_share)


def _wrapped(head: str, entries: Sequence[str], per_line: int = 3) -> list[str]:
    lines = []
    for start in range(0, len(entries), per_line):
        first = head if start == 0 else ""
        lines.append(f"{_INDENT}{first:<21}{', '.join(entries[start : start + per_line])}")
    return lines


def _coverage(report: AgreementReport) -> list[str]:
    rows = [
        [entry.name, entry.n_assigned, entry.n_drew_nothing, entry.n_not_assigned, entry.n_objects]
        for entry in report.annotators
    ]
    head = f"Coverage: {report.n_samples} samples, {report.n_rated} with at least 2 annotators assigned, of which " \
           f"{report.n_empty} nobody drew in; there {report.n_objects} labels are {report.n_units} objects"  # fmt: skip
    return [head, *table(["annotator", "assigned", "drew nothing", "not assigned", "labels"], rows)]


def _annotators(report: AgreementReport) -> list[str]:
    rows = []
    for entry in report.annotators:
        verdicts = entry.verdicts
        judged = sum(verdicts.values())
        rows.append(
            [
                entry.name,
                *(f"{verdicts[name]} ({_percent(verdicts[name], judged)})" for name in verdicts),
                entry.n_missed,
            ]
        )
    titles = {"class_conflict": "class conflict", "missed": "others missed it", "lone": "only theirs"}
    verdict_names = list(report.annotators[0].verdicts) if report.annotators else []
    header = ["annotator", *(titles.get(name, name) for name in verdict_names), "missed by them"]
    return ["Annotators: verdicts on their labels, and objects of two others that they missed", *table(header, rows)]


def best_and_worst_pairs(report: AgreementReport, at_most: int = 30) -> tuple[list[PairSummary], str]:
    """The pairs by descending score and a title; where there are many, only those at both ends."""
    pairs = sorted(report.pairs, key=lambda pair: (pair.score is None, -(pair.score or 0.0), pair.a, pair.b))
    if len(pairs) <= at_most:
        return pairs, "Pairs of annotators, best first"
    half = at_most // 2
    return pairs[:half] + pairs[-half:], f"Pairs of annotators: the best {half} and the last {half} of {len(pairs)}"


def _pairs(report: AgreementReport) -> list[str]:
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


def _worst(report: AgreementReport) -> list[str]:
    if not report.worst_samples:
        return []
    rows = [
        [
            shown_number(entry["score"]),
            f"{entry['n_disputed']} of {entry['n_units']}",
            entry["id"],
            _end(entry["filepath"]),
        ]
        for entry in report.worst_samples
    ]
    return ["Where to look first", *table(["score", "disputed", "sample id", "file"], rows)]


def _end(path: str | None, length: int = 48) -> str:
    text = path or "-"
    return text if len(text) <= length else "…" + text[-length + 1 :]


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Lines of a table: text columns to the left, numbers to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    if not cells:
        return [f"{_INDENT}(none)"]
    right = [all(_is_numeric(row[k]) for row in cells) for k in range(len(header))]
    widths = [max(len(header[k]), *(len(row[k]) for row in cells)) for k in range(len(header))]
    lines = []
    for row in [list(header), *cells]:
        padded = [
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ]
        lines.append((_INDENT + "  ".join(padded)).rstrip())
    return lines


def _is_numeric(text: str) -> bool:
    return text == "-" or text.lstrip("-")[:1].isdigit()
