"""Tab of the panel on annotators: scores, misses, bias; reference and models; findings; pairs of annotators."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

from ..agreement.evidence.hypotheses import Finding
from ..agreement.families.family import FAMILIES
from ..agreement.statistics.report import AgreementReport
from ..agreement.statistics.role_reports import RoleReport
from ..charts.figures import plot_models
from ..charts.figures.matrices import annotator_order
from ..charts.figures.people import plot_skill
from ..charts.objects.annotators import BOX_SIDES, missed
from ..charts.reports.families import family_of
from ..charts.reports.role_sections import (
    FEW,
    about_role,
    measure_of,
    number_columns,
    part_rows,
    person_sentence,
    role_title,
    test_sentences,
    worst_first,
)
from ..charts.text.advice import OF_TWO, finding_text
from ..charts.text.sections import Cell, Column, part_of, plain_markdown, share_of
from ..charts.text.shortlists import MOST_ANNOTATORS, annotators_by_evidence, shortlist_annotators
from ..charts.text.words import (
    VERDICTS,
    capitalised,
    documents,
    drawn_things,
    ends_of,
    listed,
    other_class,
    percent,
    shown_share,
    signed,
)
from .items import Choices, Item, Link, chart_item, link, matrix_item, named, table_item, text_item, two_digits

_SIDES_HINT = "A click on a class shows its objects; on all, the disputed ones."
_SKILL_HINT = "Click a point: the labels of this annotator."
#: an offset of so many per cent has the darkest shade
_LARGE_OFFSET = 25.0
#: rows on a page: all tables together fit two screens
_PER_PAGE, _PER_PAGE_BELOW = 8, 5
#: numbers that are left out beside counts of labels that are extra, missed or of another class, which say the same
_COUNTED = ("precision", "recall", "class_accuracy")
#: counts against the reference: field, title of the column, verdict of the reference on the labels
_SAID = (
    *(("n_wrong_class", "Wrong class", "wrong_class"), ("n_wrong_attribute", "Wrong attribute", "wrong_attribute")),
    *(("n_loose", "Loose", "loose"), ("n_extra", "Extra", "extra")),
)
#: counts against a model: field, title of the column, verdict of the model's labels for the link
_OF_MODEL = (
    *(("n_wrong_class", "Wrong class", "wrong_class"), ("n_missed", "{model} alone", "extra")),
    ("n_extra", "Annotator alone", "missed"),
)
#: numbers of attributes
_OF_ATTRIBUTES = ("accuracy", "kappa", "mean_absolute_error")


def annotator_items(report: AgreementReport, choices: Choices) -> Iterator[Item]:
    """The tables on annotators and pairs."""
    everybody: Sequence[Any] = report.annotators
    shortlist, shown = shortlist_annotators(report), annotators_by_evidence(report)
    note = f"{shortlist.rest} Score: with each of the others, on average. […] are 95 % intervals.".lstrip()
    if any(getattr(entry, "n_majority", 0) for entry in everybody):
        note += f" {other_class(report)} A click shows all that are in a conflict, whoever is right."
    if len(everybody) > MOST_ANNOTATORS:
        yield from chart_item("skill", functools.partial(plot_skill, report), _SKILL_HINT,
                              lambda name: link(f"Labels of {name}", annotators=name))  # fmt: skip
    if len(everybody) == 2 and report.reference is None:
        yield text_item("two", plain_markdown(OF_TWO))
    columns = list(_columns(report))
    yield table_item("annotators", columns, shown, choices, title=shortlist.title, note=note, per_page=_PER_PAGE)
    for number, role in enumerate(filter(None, (report.reference, *report.models))):  # tables with the worst first
        yield from _person(report, role, number, choices)
        if role.annotators:
            yield from _role(report, role, number, choices)
    if report.findings:
        phrases = family_of(report).phrases

        def about(finding: Finding) -> str:
            of_size = [f"{finding.size} objects"] if finding.size else []
            return listed([*finding.annotators, *finding.classes, *of_size])

        columns = [
            named("Who or what", about),
            Column("Finding", lambda each: finding_text(each, report, phrases), is_number=False),
            *(Column("Labels", "n_labels"), Column("Images", "n_images")),
        ]
        title = f"Findings: {len(report.findings):,} of {report.n_tested:,} comparisons"
        note = "The greatest difference first, by tests at a false discovery rate of 5 %."
        found = report.findings
        yield table_item("findings", columns, found, choices, title=title, note=note, per_page=_PER_PAGE_BELOW)
    yield from _pairs(report, choices)
    yield from _bias(report, shown, choices)


def _columns(report: AgreementReport) -> Iterator[Column]:
    """The columns of the table of annotators."""
    yield named("Annotator", "name")
    yield Column("Score", "score", two_digits, interval=True)
    entries: list[Any] = report.annotators
    if len(entries) > 2 and "missed_by" not in FAMILIES[report.family].not_in_views:

        def what_they_missed(entry: Any) -> Link | None:
            title = f"What {entry.name} missed: the labels of the others"
            return link(title, missed_by=entry.name) if entry.n_missed else None

        yield Column("Missed", missed, link=what_they_missed)
    if family_of(report).verdicts is not None:
        if any(entry.verdicts.get("lone") for entry in entries):
            yield Column(VERDICTS["lone"].capitalize(), _lone, link=functools.partial(_with_verdict, "lone"))
        if any(entry.verdicts.get("class_conflict") for entry in entries):
            title = "Other class" if getattr(report, "level", "nominal") == "nominal" else "Other rating"
            yield Column(title, _other_class, link=functools.partial(_with_verdict, "class_conflict"))
    if any(getattr(entry, "bias", None) is not None for entry in entries):
        yield Column("Size", functools.partial(_offset, "size", 0))


def _per_cent(interval: Any) -> str:
    """The ends of an interval of a share."""
    return ends_of(interval, lambda end: f"{100.0 * (end or 0.0):.0f}")


def _lone(entry: Any) -> Cell:
    """Lone labels, and their share of all."""
    n, whole = entry.verdicts.get("lone", 0), sum(entry.verdicts.values())
    ends = _per_cent(entry.intervals.get("verdict_shares.lone"))
    return Cell(n / whole if whole else None, f"{n:,} · {percent(n, whole)}", ends)


def _other_class(entry: Any) -> Cell:
    """The share of other classes than the majority's, and below it all labels in a conflict."""
    share = f"{shown_share(entry.other_class)} {_per_cent(entry.intervals.get('other_class'))}".rstrip()
    return Cell(entry.other_class, share, f"{entry.verdicts.get('class_conflict', 0):,} in conflict")


def _with_verdict(verdict: str, entry: Any) -> Link | None:
    title = f"Labels of {entry.name}: {VERDICTS[verdict]}"
    return link(title, annotators=entry.name, verdict=verdict) if entry.verdicts.get(verdict) else None


def _offset(side: str, digits: int, entry: Any) -> Cell:
    if entry.bias is None:
        return Cell(None, "–")
    mean = entry.bias.mean.get(side)
    ends = ends_of(entry.bias.intervals.get(side), lambda end: signed(end, 0))
    return Cell(mean, f"{signed(mean, digits)} %", ends)


def _pairs(report: AgreementReport, choices: Choices) -> Iterator[Item]:
    """The score of every two annotators."""
    pairs: Sequence[Any] = report.pairs
    everybody: Sequence[Any] = report.annotators
    scores = {names: pair.score for pair in pairs for names in ((pair.a, pair.b), (pair.b, pair.a))}
    # of many annotators a few, because there is a chart above
    ordered = annotator_order(report, MOST_ANNOTATORS if len(everybody) <= MOST_ANNOTATORS else _PER_PAGE)
    if not any(pair.score is not None for pair in pairs) or len(ordered) < 2:
        return
    cells = {(a, b): scores.get((a, b)) for a in ordered for b in ordered if a != b}
    note = f"{capitalised(family_of(report).pair_values['score'])} of every two. A click shows what they disagree on."
    if len(ordered) < len(everybody):
        note = f"The {len(ordered)} of {len(everybody)} who share most with each other. {note}"

    def behind(a: str, b: str) -> Link:
        return link(f"What {a} and {b} disagree on", annotators=sorted((a, b)))

    options: dict[str, Any] = {"corner": "", "whole": 1.0, "title": "Pairs of annotators", "note": note}
    yield matrix_item("pairs", ordered, ordered, cells, two_digits, choices, behind, **options)


def _bias(report: Any, shown: Sequence[Any], choices: Choices) -> Iterator[Item]:
    """Table of the annotators' bias of boxes."""
    entries = [entry for entry in shown if getattr(entry, "bias", None) is not None and entry.bias.n]
    if not entries:
        return

    def shade(side: str, entry: Any) -> float:
        return abs(entry.bias.mean.get(side) or 0.0) / _LARGE_OFFSET

    edges = [
        Column(side.capitalize(), functools.partial(_offset, side, 1), shade=functools.partial(shade, side))
        for side in BOX_SIDES
    ]
    note = "Against the median box of the object; positive: larger, further right, lower."
    if len(report.annotators) == 2 and len(entries) == 2:
        # both rows would say the same: the edges of the other are off by as much, the other way
        entries, other = entries[:1], entries[1].name
        note += f" The median of two boxes lies halfway: the edges of {other} are off by as much the other way."
    elif any(entry["votes"] == 2 for entry in report.existence.votes):
        note += " Where two drew it, each shows half of their difference."
    columns = [named("Annotator", "name"), *edges, Column("Objects", "bias.n")]
    yield table_item("bias", columns, entries, choices, title="How they draw", note=note, per_page=_PER_PAGE_BELOW)


def _person(report: AgreementReport, model: RoleReport, number: int, choices: Choices) -> Iterator[Item]:
    """Whether a model is as good as a person: sentences, a chart of both, and a table of annotators left out."""
    person = model.person
    if person is None:
        return
    tests = test_sentences(person, documents(report), drawn_things(report))
    first, *others = map(plain_markdown, [person_sentence(model), *tests])
    yield text_item(f"person{number}", "\n\n".join([f"**{first}**", *others]))

    def behind_bar(key: Any) -> Link:
        """The link of a bar: labels of a class or size; for the bar of all classes, what is disputed."""
        part, name = key
        if part == "size":
            return {
                "title": f"{name.capitalize()} objects of {model.name} and of the annotators",
                "sized": [model.name, name],
            }
        if part == "class":
            return link(f"What somebody called {name!r}", classes=name, assigned=(2, None))
        return link("What is disputed", verdict=list(FAMILIES[report.family].disputed))

    yield from chart_item(f"sides{number}", lambda: plot_models(report, model.name), _SIDES_HINT, behind_bar)
    left_out = {entry.name: entry for entry in person.left_out}
    measure = measure_of(model)
    columns = [
        named("Left out", "name"),
        Column(f"{measure} of {model.name}", "model", two_digits),
        Column(
            f"{measure} of the annotator",
            "annotators",
            two_digits,
            link=lambda one: link(f"Objects of {one.name}", annotators=one.name),
        ),
        Column("Difference", "difference", lambda value: signed(value, 2), interval=True),
        Column("Model at least as good", lambda one: left_out[one.name].advantage, shown_share),
        Column("Annotator at least as good", lambda one: left_out[one.name].advantage_of_annotator, shown_share),
    ]
    title = f"{model.name} against every annotator left out"
    yield table_item(f"left{number}", columns, person.annotators, choices, title=title, per_page=_PER_PAGE_BELOW)


def _role(report: AgreementReport, role: RoleReport, number: int, choices: Choices) -> Iterator[Item]:
    """Tables of the numbers against a reference or model, and of the attributes of labels that are matched with it."""
    is_reference = role is report.reference
    has_counts = is_reference and "reference" not in FAMILIES[report.family].not_in_views
    columns = [named("Annotator", "name")]
    numbers = [name for name in FEW if not (has_counts and name in _COUNTED)]
    columns += _in_panel(number_columns(role.annotators, report.measure, numbers))
    for name, title, said in _SAID if has_counts else ():
        is_always = report.has_objects and name != "n_wrong_attribute"
        if any(getattr(one, name) for one in role.annotators) or is_always:
            columns.append(_kind(title, name, f"Labels of {{}}: {title.lower()}, says the reference", reference=said))
    if has_counts and any(one.precision is not None for one in role.annotators):
        columns.append(_kind("Missed", "n_missed", "What {} missed: the labels of the reference", reference="missed"))
    for name, title, said in _OF_MODEL if not is_reference and report.has_objects else ():
        title = title.format(model=role.name)
        shown = f"{{}} and {role.name}: {title[0].lower()}{title[1:]}"
        columns.append(_kind(title, name, shown, model=role.name, verdict=said))
    title, note = role_title(report, role), f"{about_role(report, role)}. […] are 95 % intervals."
    yield table_item(f"role{number}", columns, worst_first(role), choices, title=title, note=note, per_page=_PER_PAGE)
    rows = part_rows(worst_first(role), "attributes")
    if rows:
        columns = [named("Annotator", "who"), named("Attribute", "of.name")]
        columns += _in_panel(number_columns([row.of for row in rows], report.measure, _OF_ATTRIBUTES, of="of."))
        columns.append(Column("Labels", "of.n_labels"))
        title = f"Attributes against {role.name}"
        yield table_item(f"attributes{number}", columns, rows, choices, title=title, per_page=_PER_PAGE_BELOW)


def _in_panel(columns: Sequence[Column]) -> list[Column]:
    """Columns of numbers with two digits and intervals."""
    titled = [dataclasses.replace(each, title=capitalised(each.title), interval=True) for each in columns]
    return [each if each.show is shown_share else dataclasses.replace(each, show=two_digits) for each in titled]


def _kind(title: str, name: str, shown: str, **options: Any) -> Column:
    """Column with the number of labels of one kind, their share, and a link titled ``shown`` (``{}``: annotator)."""

    def behind(one: Any) -> Link | None:
        return link(shown.format(one.name), annotators=one.name, **options) if getattr(one, name) else None

    def cell(one: Any) -> Cell:
        if "reference" not in options:
            return Cell(getattr(one, name), f"{getattr(one, name):,}")
        whole = (share_of, one.n_reference) if name == "n_missed" else (part_of, one.n_labels)
        return whole[0](getattr(one, name), whole[1])

    return Column(title, cell, link=behind)
