"""A report as aligned text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .headline import alpha_sentence, headline_numbers, interval_notes, undefined_alphas
from .objects.rules import object_rules
from .objects.sections import object_details, object_sections
from .pixel_text import pixel_rules, pixel_sections
from .rating_text import rating_rules, rating_sections
from .sections import Facts, Section, Table, part_lines, section_lines
from .tables import documents, end_of_path, shown_number
from .tag_text import tag_rules, tag_sections

if TYPE_CHECKING:
    from ..agreement.report import AgreementReport

_WIDTH = 118

_COVERAGE = {
    "fields": "a field that is null or absent means: not assigned",
    "videos": "whoever has a label list on any frame of a video, to all its frames on which anybody has one",
    "given": "from the field with the assigned annotators",
    "assumed": "not given, so everybody is assumed to be assigned to every sample that has a label list",
}

#: rules of matching and counting, by family
_RULES: dict[str, Callable[[Any], list[tuple[str, str]]]] = {
    "objects": object_rules,
    "ratings": rating_rules,
    "tags": tag_rules,
    "pixels": pixel_rules,
}
#: everything between the headline and the worst samples, by family
_SECTIONS: dict[str, Callable[[Any], list[Section]]] = {
    "objects": object_sections,
    "ratings": rating_sections,
    "tags": tag_sections,
    "pixels": pixel_sections,
}
#: what only a full report says, by family
_DETAILS: dict[str, Callable[[Any], list[Section]]] = {"objects": object_details}


def report_text(report: AgreementReport, *, full: bool = False) -> str:
    """The report as lines of text."""
    sections = [*report_sections(report), *(report_details(report) if full else [])]
    return "\n\n".join("\n".join(lines) for lines in [_headline(report), *map(section_lines, sections)])


def report_sections(report: AgreementReport) -> list[Section]:
    """What everybody should read, below the headline."""
    first, *others = _SECTIONS[report.family](report)
    return [first, rules_section(report), *others, *worst_section(report)]


def report_details(report: AgreementReport) -> list[Section]:
    """Everything else."""
    details = _DETAILS.get(report.family, lambda report: [])
    return [*details(report), *_intervals(report), *_run(report)]


def _headline(report: AgreementReport) -> list[str]:
    title = f"Annotator agreement: run '{report.run_key}'"
    lines = [title, "=" * len(title), *_extent(report)]
    numbers = headline_numbers(report)
    width = max(len(shown) for _, shown, _ in numbers)
    lines += [f"{name:<22} {shown:<{width}}   {what}" for name, shown, what in numbers]
    undefined = undefined_alphas(report)
    if undefined:
        lines += part_lines(Facts([("undefined", ", ".join(undefined))]))
    notes = [alpha_sentence(report), *interval_notes(report)]
    return [*lines, *(line for note in notes for line in textwrap.wrap(note, _WIDTH))]


def _extent(report: AgreementReport) -> list[str]:
    """What the report is on, where that is not all samples of the run, one by one."""
    lines = []
    if report.run.n_of is not None:
        lines.append(f"Part of the run        {report.n_samples} of its {report.run.n_of} {documents(report)}")
    if report.run.n_videos is not None:
        text = f"{report.run.n_videos}, of which {report.n_samples} frames are compared one by one"
        lines.append(f"Videos                 {text}")
    return lines


def rules_section(report: AgreementReport) -> Section:
    """How the numbers were made."""
    rules = [*_RULES[report.family](report), ("who was assigned", _COVERAGE[report.run.coverage])]
    notes = [
        (report.run.n_added_assignments, "times somebody who is not listed drew something, and counts as assigned"),
        (report.run.n_invalid, "labels were left out because they cannot be compared"),
        (report.run.n_unknown, "labels of annotators who appeared during the run were left out"),
        (report.run.n_repeated, "repetitions of samples in the view were left out"),
        (report.run.n_changed, "samples were changed by somebody during the run, and left out"),
    ]
    rules += [("note", f"{count} {text}") for count, text in notes if count]
    return Section("Rules", [Facts(rules)])


def worst_section(report: AgreementReport) -> list[Section]:
    """The samples with the lowest scores."""
    if not report.worst_samples:
        return []
    rows: list[list[object]] = [
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
    return [Section("Where to look first", [Table(header, rows)], ("scores",))]


def _intervals(report: AgreementReport) -> list[Section]:
    """The intervals of the main numbers, each made in two ways."""
    rows = []
    for name, entry in report.intervals.items():
        ends = [(entry.low, entry.high), (entry.bca_low, entry.bca_high)]
        shown = [f"{shown_number(low)} – {shown_number(high)}" for low, high in ends]
        rows.append([name, *shown, shown_number(entry.error, 4), shown_number(entry.jackknife_error, 4), entry.n])
    header = ["number", "percentile", "BCa", "standard error", "by jackknife", "resampled"]
    return [Section("95 % intervals, by resampling", [Table(header, rows)])] if rows else []


def _run(report: AgreementReport) -> list[Section]:
    facts = [(name, version) for name, version in report.run.versions.items()]
    if report.run.seconds is not None:
        facts.append(("seconds", f"{report.run.seconds:.1f}"))
    return [Section("The run", [Facts(facts)])] if facts else []
