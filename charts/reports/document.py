"""A report as a document: its sections in order, as text and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...agreement.statistics.estimates import are_resampled
from ..text.headline import headline, image_alpha_details, single_alphas
from ..text.sections import (
    MOST_LINES,
    Cell,
    Column,
    Facts,
    Part,
    Section,
    as_markdown,
    as_text,
    sample_table,
    table,
    with_texts,
)
from ..text.words import counted, documents, listed, shortened, shown_number, shown_share
from .decided import DECIDED, decisions_section
from .families import family_of
from .role_sections import role_sections

if TYPE_CHECKING:
    from ...agreement.objects.sensitivity import Sensitivity
    from ...agreement.statistics.report import AgreementReport, Interval

_COVERAGE = {
    "fields": "a field that is null or absent means: not assigned",
    "videos": "an annotator with a label list on any frame of a video, to all its frames with a label list",
    "given": "from the field with the assigned annotators",
    "assumed": "not given, so everybody is assumed to be assigned to every sample that has a label list",
    "drew_nothing": "everybody, to every sample: no label list, or a null one, means that they drew nothing",
    "by_annotator": "by label lists; a null or absent one means: ",
}


#: annotators in the table of label lists, at most
_MOST_LISTS = 12
_RULES = "How it was computed"
#: by key of a section: with a greater number (others: 0) it leaves the short text earlier; of equal ones the last first
_LEAVE_OUT = {"words": 1, "rules": -1, "models": -3, "person": -5, "worst": -6, "annotators": -7}
#: sections that the short text always has, in addition to its 60 lines
_ALWAYS = ("reference", "decided")
#: characters of a name in the short text, at most
_NAME_LENGTH = 60
#: samples that are listed in the short text
_FEW_WORST = 3
#: characters of the reason for a dispute on a sample, in the short text
_LONGEST_REASON = 72
_WORDS = (
    (
        "Krippendorff's alpha",
        "agreement beyond chance: 0 as by chance, 1 perfect. Krippendorff's limits (reliable from 0.8, "
        "tentative from 0.667) judge the lower end of an alpha of classes, and no other alpha",
    ),
)


def report_text(report: AgreementReport, *, full: bool = False) -> str:
    """The report as text; the short one has at most 60 lines, and the sections on the reference and on decisions."""
    head = report_head(report, _changed(report))
    if full:
        return as_text([head, *report_sections(report), *report_details(report)])
    kept = [head, *report_sections(report, flowing=True)]
    # long names of annotators and classes are shortened, as they are and as quoted in sentences
    entries = [*report.annotators, *getattr(report, "classes", [])]
    names = [*(entry.name for entry in entries), *(entry.tag for entry in getattr(report, "tags", []))]
    names += getattr(report, "categories", [])
    for found in (*getattr(report, "findings", []), *getattr(report, "confused", [])):
        names += found.classes
    long = {name: shortened(name, _NAME_LENGTH) for name in names if len(name) > _NAME_LENGTH}
    if long:
        long |= {repr(name)[1:-1]: short for name, short in long.items()}
        # the longest first, because it may begin with another name
        pattern = re.compile("|".join(map(re.escape, sorted(long, key=len, reverse=True))))
        kept = [with_texts(section, lambda text: pattern.sub(lambda name: long[name[0]], text)) for section in kept]
    most = MOST_LINES + len(as_text([section for section in kept if section.key in _ALWAYS]).splitlines())
    left_out: list[str] = []

    def importance(place: int) -> tuple[int, int]:
        """Sort key: the section with the greatest one is left out next."""
        section = kept[place]
        return (-8 if place == 1 or section.key in _ALWAYS else _LEAVE_OUT.get(section.key, 0)), place

    while len(as_text(kept).splitlines()) > most - 3 * bool(left_out) and len(kept) > 1:
        least = kept.pop(max(range(1, len(kept)), key=importance))
        left_out.append(least.title.split(":")[0])
    if left_out:
        kept.append(Section("More in print_report(full=True)", [], ", ".join(reversed(left_out))))
    return as_text(kept)


def report_markdown(report: AgreementReport) -> str:
    """The most important sections of the report, as Markdown."""
    return as_markdown([report_head(report, _changed(report)), *report_sections(report)])


def _changed(report: AgreementReport) -> list[str]:
    """Sentence with the number of samples changed since the run."""
    if report.samples is None or report.run.n_of is not None:
        return []
    n_changed = report.samples.n_changed()
    what = "sample" if report.run.n_videos is None else "video"
    if not n_changed:
        return []
    return [f"{counted(n_changed, what)} saved or deleted since this run: run.update()."]


def _decisions(report: AgreementReport) -> list[Section]:
    """Section on the decisions about the objects of the run, if there are any."""
    found = None if report.samples is None else report.samples.decisions()
    if isinstance(found, int):
        many = f"More than {found:,} images have decisions: run.decisions.report() counts them."
        return [Section(DECIDED, [many], key="decided")]
    return [] if found is None else [decisions_section(found)]


def report_head(report: AgreementReport, notes: Sequence[str] = ()) -> Section:
    """First section: the outcome, the main cause of disagreement, who or what stands out, and the main numbers.

    Args:
        notes: additional notes on the numbers
    """
    return headline(report, notes, findings=[outcome(report), *family_of(report).findings(report)])


def outcome(report: AgreementReport) -> str:
    """Sentence on what the annotators have in common; for a single annotator, on the reference and models beside it."""
    if roles := report.roles_beside_one:
        name, others = report.annotators[0].name, listed([role.name for role in roles])
        return f"{name} is the only annotator, and compared with {others}: no agreement among annotators is defined."
    return family_of(report).outcome(report)


def overview_markdown(report: AgreementReport) -> str:
    """The most important sections of a report in words, for the panel."""
    if report.roles_beside_one:
        return as_markdown(role_sections(report))
    return as_markdown(section for build in family_of(report).overview for section in build(report))


def computation_markdown(report: AgreementReport, notes: Sequence[str] = ()) -> str:
    """Methods section for the panel: the main numbers with their meaning, and the rules.

    Args:
        notes: additional notes on the numbers
    """
    rules = Section(_RULES, [Facts(_rules(report))])
    return as_markdown([headline(report, notes), rules, *_lists(report), *_words(report)])


def sensitivity_sections(report: AgreementReport, found: Sensitivity | None = None) -> list[Section]:
    """Sections on the numbers at other thresholds and rules.

    Args:
        report: the report
        found: the numbers; by default they are computed, if the report was loaded from a dataset
    """
    builders = family_of(report).sensitivity
    if found is None and report.samples is not None and builders:
        found = report.samples.sensitivity
    if found is None or not builders:
        return []
    noted = [Section("Other thresholds and rules", [f"{found.note}."])] if found.note else []
    return [*noted, *(section for build in builders for section in build(report, found))]


def report_sections(report: AgreementReport, *, flowing: bool = False) -> list[Section]:
    """The most important sections below the headline; ``flowing``: the rules as one text."""
    shown = [section for build in family_of(report).sections for section in build(report)]
    told = _rules(report)
    parts: list[Part] = [" · ".join(f"{name}: {text}" for name, text in told)] if flowing else [Facts(told)]
    rules = Section(_RULES, parts, key="rules")
    if report.roles_beside_one:
        return [*role_sections(report), *_decisions(report), *_lists(report), rules]
    worst = _worst(report, _FEW_WORST if flowing else None)
    return [
        *shown[:1],
        *role_sections(report, brief=flowing),
        *shown[1:],
        *_decisions(report),
        *worst,
        *_lists(report),
        rules,
        *_words(report),
    ]


def report_details(report: AgreementReport) -> list[Section]:
    """All sections that :func:`report_sections` does not have."""
    if report.roles_beside_one:
        return [*role_sections(report, full=True), *_run(report)]
    details = [section for build in family_of(report).details for section in build(report)]
    details += [*sensitivity_sections(report), *image_alpha_details(report), *single_alphas(report)]
    if report.intervals:
        resampled = are_resampled(report.intervals)

        def ends(item: tuple[str, Interval]) -> Cell:
            return Cell(item[1].low, f"{shown_number(item[1].low)} – {shown_number(item[1].high)}")

        columns = [
            Column("number", lambda item: item[0]),
            Column("95 % interval", ends),
            Column("standard error", lambda item: item[1].error, lambda error: shown_number(error, 4)),
            Column("resampled" if resampled else "samples", lambda item: item[1].n),
        ]
        title = f"95 % intervals, by {'resampling' if resampled else 'the delta method'}"
        details.append(Section(title, [table(columns, report.intervals.items())]))
    return [*role_sections(report, full=True), *details, *_run(report)]


def _rules(report: AgreementReport) -> list[tuple[str, str]]:
    """The rules by which the numbers were computed."""
    coverage = _COVERAGE[report.run.coverage]
    if isinstance(report.config.get("no_labels"), Mapping):
        of_names = ", ".join(f"{name}: {reading}" for name, reading in report.config["no_labels"].items())
        coverage += of_names.replace("_", " ") + "; others: not assigned"
    rules = [*family_of(report).rules(report), ("who was assigned", coverage)]
    notes = [
        (report.run.n_added_assignments, "annotators who are not listed, drew something and count as assigned"),
        (report.run.n_invalid, "labels left out because they cannot be compared"),
        (report.run.n_unknown, "labels left out of annotators who appeared during the run"),
        (report.run.n_repeated, "repetitions of samples in the view, left out"),
        (report.run.n_changed, "samples left out because somebody changed them during the run"),
    ]
    return [*rules, *(("note", f"{text}: {count:,}") for count, text in notes if count)]


def _words(report: AgreementReport) -> list[Section]:
    """Glossary of the report."""
    return [Section("What the words mean", [Facts([*_WORDS, *family_of(report).words(report)])], key="words")]


def _lists(report: AgreementReport) -> list[Section]:
    """Table of each annotator's label lists by state, where some are null."""
    lists = report.run.lists
    if not any(entry.n_null for entry in lists):
        return []
    if len(lists) > _MOST_LISTS:
        lists = sorted(lists, key=lambda entry: (-entry.n_null, entry.name))[:_MOST_LISTS]
        note = f"the {_MOST_LISTS} of {len(report.run.lists)} who have no list most often"
    else:
        note = ""
    columns = [Column("annotator", "name"), Column("with labels", "n_labels")]
    if any(entry.n_empty for entry in lists) or report.other_reading is not None:
        columns.append(Column("with an empty list", "n_empty"))
    columns.append(Column("null", "n_null"))
    what = documents(report).capitalize()
    return [Section(f"{what} by what each annotator's field holds", [table(columns, lists)], note)]


def _worst(report: AgreementReport, at_most: int | None = None) -> list[Section]:
    """The samples that would change most if they were fixed; where nothing is disputed those with the lowest scores."""
    first = report.look_first[:at_most]
    if not first and not report.worst_samples:
        return []
    columns = [Column("score", "score", shown_number)]
    if title := family_of(report).disputed:
        columns.append(
            Column(title, lambda entry: Cell(entry["n_disputed"], f"{entry['n_disputed']:,} of {entry['n_units']:,}"))
        )
    if not first:
        samples = sample_table(columns, report.worst_samples[:at_most], frame="worst frame", ids=False)
        return [Section("Lowest scores", [samples], figures=("scores",), key="worst")]

    def cut(text: str) -> str:
        """A reason, cut in the short text, so that a line holds it."""
        fits = at_most is None or len(text) <= _LONGEST_REASON
        return text if fits else f"{text[: _LONGEST_REASON - 1].rstrip(' ,;')}…"

    samples = sample_table(columns, first, frame="worst frame", ids=False, more=[Column("why", "reason", cut)])
    shares = [entry["share"] for entry in first if entry["share"] is not None]
    what = "images" if report.run.n_videos is None else "videos"
    these = f"these {len(first)} {what} hold" if len(first) > 1 else f"this {what[:-1]} holds"
    note = f"{these} {shown_share(sum(shares))} of {family_of(report).lost}" if shares else ""
    return [Section("Where to look first", [samples], note, figures=("scores",), key="worst")]


def _run(report: AgreementReport) -> list[Section]:
    facts = list(report.run.versions.items())
    if report.run.seconds is not None:
        facts.append(("seconds", f"{report.run.seconds:.1f}"))
    return [Section("The run", [Facts(facts)])] if facts else []
