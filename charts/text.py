"""A report as aligned text: what all label types share, around what those of a family add."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .object_text import object_rules, object_sections
from .pixel_text import pixel_rules, pixel_sections
from .rating_text import rating_rules, rating_sections
from .tables import INDENT, documents, end_of_path, shown_number, table
from .tag_text import tag_rules, tag_sections

if TYPE_CHECKING:
    from ..agreement.report import AgreementReport

_UNDEFINED = {
    "one_annotator": "fewer than 2 annotators assigned",
    "no_objects": "nobody drew anything",
    "single_category": "one category only, so there is no variation",
    "no_pairable_values": "no object was drawn by two annotators",
    "no_pixels": "all pixels are ignored",
}
_COVERAGE = {
    "fields": "a field that is null or absent means: not assigned",
    "videos": "whoever has a label list on any frame of a video, to all its frames on which anybody has one",
    "given": "from the field with the assigned annotators",
    "assumed": "not given, so everybody is assumed to be assigned to every sample that has a label list",
}
#: what the score of a sample is, by family
_SCORES = {
    "objects": "mean panoptic quality",
    "ratings": "mean share of agreeing pairs of annotators",
    "tags": "mean Jaccard index of two annotators' tags",
    "pixels": "mean class IoU without background",
}
#: families whose samples have no alpha of their own
WITHOUT_SAMPLE_ALPHA = ("ratings", "tags")

#: rules of matching and counting, by family
_RULES: dict[str, Callable[[Any], list[tuple[str, str]]]] = {
    "objects": object_rules,
    "ratings": rating_rules,
    "tags": tag_rules,
    "pixels": pixel_rules,
}
#: everything between the rules and the worst samples, by family
_SECTIONS: dict[str, Callable[[Any], list[list[str]]]] = {
    "objects": object_sections,
    "ratings": rating_sections,
    "tags": tag_sections,
    "pixels": pixel_sections,
}


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
        *_videos(report),
        f"Score                  {shown_number(report.score.mean)}   {_SCORES[report.family]} of "
        f"{report.score.n} {documents(report)} (0: nothing in common, 1: identical)",
        f"Krippendorff's alpha   {shown_number(alpha.pooled)}   over all {alpha.n_units} units "
        "(0: as by chance, 1: perfect)",
    ]
    if report.family not in WITHOUT_SAMPLE_ALPHA:
        where = f"of the {alpha.n_defined} {documents(report)} where it is defined"
        lines.append(f"  mean over images     {shown_number(alpha.mean)}   {where}")
    if undefined:
        lines.append(f"  undefined            {', '.join(undefined)}")
    return lines


def _videos(report: AgreementReport) -> list[str]:
    if report.run.n_videos is None:
        return []
    return [f"Videos                 {report.run.n_videos}, of which {report.n_samples} frames are compared one by one"]


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
    header = ["score", "disputed", "sample id", "file"]
    if report.run.n_videos is not None:
        header.append("worst frame")
        rows = [[*row, entry["frame_number"]] for row, entry in zip(rows, report.worst_samples, strict=True)]
    return ["Where to look first", *table(header, rows)]
