"""A report as aligned text: what all label types share, around what those of a family add."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .object_text import object_rules, object_sections
from .tables import INDENT, end_of_path, shown_number, table

if TYPE_CHECKING:
    from ..agreement.report import AgreementReport

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
#: what the score of a sample is, by family
_SCORES = {"objects": "mean panoptic quality"}

#: rules of matching and counting, by family
_RULES: dict[str, Callable[[Any], list[tuple[str, str]]]] = {"objects": object_rules}
#: everything between the rules and the worst samples, by family
_SECTIONS: dict[str, Callable[[Any], list[list[str]]]] = {"objects": object_sections}


def report_text(report: AgreementReport) -> str:
    """The report as lines of text."""
    sections = [_headline(report), _rules(report), *_SECTIONS[report.family](report), _worst(report)]
    return "\n\n".join("\n".join(section) for section in sections if section)


def _headline(report: AgreementReport) -> list[str]:
    title = f"Annotator agreement: run '{report.run_key}'"
    alpha = report.alpha
    undefined = [f"{count} ({_UNDEFINED[reason]})" for reason, count in alpha.undefined.items() if count]
    lines = [
        title,
        "=" * len(title),
        f"Score                  {shown_number(report.score.mean)}   {_SCORES[report.family]} of "
        f"{report.score.n} samples (0: nothing in common, 1: identical)",
        f"Krippendorff's alpha   {shown_number(alpha.pooled)}   over all {alpha.n_units} units "
        "(0: as by chance, 1: perfect)",
        f"  mean over images     {shown_number(alpha.mean)}   of the {alpha.n_defined} samples where it is defined",
    ]
    if undefined:
        lines.append(f"  undefined            {', '.join(undefined)}")
    return lines


def _rules(report: AgreementReport) -> list[str]:
    rules = [*_RULES[report.family](report), ("who was assigned", _COVERAGE[report.run.coverage])]
    notes = [
        (report.run.n_added_assignments, "times somebody who is not listed drew something, and counts as assigned"),
        (report.run.n_invalid, "labels were left out because they cannot be compared"),
        (report.run.n_unknown, "labels of annotators who appeared during the run were left out"),
        (report.run.n_repeated, "repetitions of samples in the view were left out"),
        (report.run.n_changed, "samples were changed by somebody during the run, and left out"),
    ]
    rules += [("note", f"{count} {text}") for count, text in notes if count]
    return ["Rules", *(f"{INDENT}{name:<20} {text}" for name, text in rules)]


def _worst(report: AgreementReport) -> list[str]:
    if not report.worst_samples:
        return []
    rows = [
        [
            shown_number(entry["score"]),
            f"{entry['n_disputed']} of {entry['n_units']}",
            entry["id"],
            end_of_path(entry["filepath"]),
        ]
        for entry in report.worst_samples
    ]
    return ["Where to look first", *table(["score", "disputed", "sample id", "file"], rows)]
