"""Tab of the panel on annotators: their agreement with the others, misses, additions and bias, and the pairs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..agreement.evidence.hypotheses import Finding
from ..agreement.families.family import FAMILIES
from ..agreement.statistics.report import AgreementReport
from ..agreement.statistics.role_reports import RoleReport
from ..charts.figures import plot_models
from ..charts.figures.matrices import annotator_order
from ..charts.figures.people import plot_skill
from ..charts.reports.families import family_of
from ..charts.reports.role_sections import NUMBERS, measure_of, person_sentence, test_sentences, worst_first
from ..charts.text.advice import OF_TWO, finding_text
from ..charts.text.sections import Cell, Column, plain_markdown
from ..charts.text.shortlists import MOST_ANNOTATORS, annotators_by_evidence, shortlist_annotators
from ..charts.text.words import (
    VERDICTS,
    capitalised,
    documents,
    listed,
    other_class,
    percent,
    shown_number,
    shown_share,
    signed,
    singular,
)
from .items import (
    Choices,
    Item,
    Link,
    chart_item,
    link,
    matrix_item,
    named,
    over_ends,
    table_item,
    text_item,
    two_digits,
)

_EDGES = {"size": "Size", "left": "Left", "top": "Top", "right": "Right", "bottom": "Bottom"}
_SIDES_HINT = "A click on a class shows its objects; on all, the disputed ones."
_SKILL_HINT = "Click a point: the labels of this annotator."
#: an offset of so many per cent has the darkest shade
_LARGE_OFFSET = 25.0
#: rows on a page: all tables together fit two screens
_PER_PAGE, _PER_PAGE_BELOW = 8, 5
#: numbers in the tables
_AGAINST = ("f1", "accuracy", "mean_absolute_error", "kappa", "precision", "recall", "class_accuracy", "mean_iou")
#: of these, those that counts beside them say, too: how many labels are extra, missed or of another class
_COUNTED = ("precision", "recall", "class_accuracy")
#: counts against the reference, and what it says of their labels
_SAID = (
    *(("n_wrong_class", "Wrong class", "wrong_class"), ("n_wrong_attribute", "Wrong attribute", "wrong_attribute")),
    *(("n_loose", "Loose", "loose"), ("n_extra", "Extra", "extra")),
)
#: counts beside a model, and what leads to their labels
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
    if len(everybody) == 2:
        yield text_item("two", plain_markdown(OF_TWO))
    columns = list(_columns(report))
    yield table_item("annotators", columns, shown, choices, title=shortlist.title, note=note, per_page=_PER_PAGE)
    for number, role in enumerate(filter(None, (report.reference, *report.models))):  # the worst first
        yield from _person(report, role, number, choices)
        if role.annotators:
            yield _role_table(report, role, number, choices)
            yield from _role_attributes(report, role, number, choices)
    if report.findings:

        def about(finding: Finding) -> str:
            of_size = [f"{finding.size} objects"] if finding.size else []
            return listed([*finding.annotators, *finding.classes, *of_size])

        phrases = family_of(report).phrases
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
    """What the table of annotators says of each."""
    yield named("Annotator", "name")
    yield Column("Score", "score", two_digits, interval=True)
    entries: list[Any] = report.annotators
    if len(entries) > 2 and "missed_by" not in FAMILIES[report.family].not_in_views:

        def missed_link(entry: Any) -> Link | None:
            title = f"What {entry.name} missed: the labels of the others"
            return link(title, missed_by=entry.name) if entry.n_missed else None

        yield Column("Missed", _missed, link=missed_link)
    if family_of(report).verdicts is not None:
        if any(entry.verdicts.get("lone") for entry in entries):
            yield Column(VERDICTS["lone"].capitalize(), _lone, link=functools.partial(_with_verdict, "lone"))
        if any(entry.verdicts.get("class_conflict") for entry in entries):
            title = "Other class" if getattr(report, "level", "nominal") == "nominal" else "Other rating"
            yield Column(title, _other_class, link=functools.partial(_with_verdict, "class_conflict"))
    if any(getattr(entry, "bias", None) is not None for entry in entries):
        yield Column("Size", lambda entry: Cell(None, "–") if entry.bias is None else _offset(entry.bias, "size", 0))


def _share_with_interval(share: float | None, interval: Any) -> str:
    return over_ends(shown_share(share), interval, lambda end: f"{100.0 * (end or 0.0):.0f}")


def _missed(entry: Any) -> Cell:
    """What an annotator missed, of what two others drew where that is known."""
    if getattr(entry, "n_could_miss", None) is None:
        return Cell(getattr(entry, "miss_rate", entry.n_missed), f"{entry.n_missed:,}")
    share = f"{entry.n_missed:,} of {entry.n_could_miss:,}\n{shown_share(entry.miss_rate)}"
    return Cell(entry.miss_rate, share)


def _lone(entry: Any) -> Cell:
    """Lone labels, and their share of all."""
    n, whole = entry.verdicts.get("lone", 0), sum(entry.verdicts.values())
    share = n / whole if whole else None
    return Cell(share, f"{n:,} · {_share_with_interval(share, entry.intervals.get('verdict_shares.lone'))}")


def _other_class(entry: Any) -> Cell:
    """The share of other classes than the majority's, and below it all labels in a conflict."""
    ends = _share_with_interval(entry.other_class, entry.intervals.get("other_class")).replace("\n", " ")
    return Cell(entry.other_class, f"{ends}\n{entry.verdicts.get('class_conflict', 0):,} in conflict")


def _with_verdict(verdict: str, entry: Any) -> Link | None:
    title = f"Labels of {entry.name}: {VERDICTS[verdict]}"
    return link(title, annotators=entry.name, verdict=verdict) if entry.verdicts.get(verdict) else None


def _offset(bias: Any, side: str, digits: int) -> Cell:
    mean = bias.mean.get(side)
    return Cell(mean, over_ends(f"{signed(mean, digits)} %", bias.intervals.get(side), lambda end: signed(end, 0)))


def _pairs(report: AgreementReport, choices: Choices) -> Iterator[Item]:
    """The score of every two annotators."""
    pairs: Sequence[Any] = report.pairs
    everybody: Sequence[Any] = report.annotators
    scores = {names: pair.score for pair in pairs for names in ((pair.a, pair.b), (pair.b, pair.a))}
    # of more, there is a chart above
    ordered = annotator_order(report, MOST_ANNOTATORS if len(everybody) <= MOST_ANNOTATORS else _PER_PAGE)
    if not any(pair.score is not None for pair in pairs) or len(ordered) < 2:
        return
    cells = {(a, b): scores.get((a, b)) for a in ordered for b in ordered if a != b}
    note = f"{family_of(report).pair_values['score'].capitalize()} of every two. A click shows what they disagree on."
    if len(ordered) < len(everybody):
        note = f"The {len(ordered)} of {len(everybody)} who share most with each other. {note}"

    def leads(a: str, b: str) -> Link:
        return link(f"What {a} and {b} disagree on", annotators=sorted((a, b)))

    options: dict[str, Any] = {"corner": "", "whole": 1.0, "title": "Pairs of annotators", "note": note}
    yield matrix_item("pairs", ordered, ordered, cells, two_digits, choices, leads, **options)


def _bias(report: AgreementReport, shown: Sequence[Any], choices: Choices) -> Iterator[Item]:
    """Table of the annotators' bias of boxes."""
    entries = [entry for entry in shown if getattr(entry, "bias", None) is not None and entry.bias.n]
    if not entries:
        return

    def column(side: str, title: str) -> Column:
        def shade(entry: Any) -> float:
            return abs(entry.bias.mean.get(side) or 0.0) / _LARGE_OFFSET

        return Column(title, lambda entry: _offset(entry.bias, side, 1), shade=shade)

    edges = [column(side, title) for side, title in _EDGES.items()]
    note = "Against the median box of the object; positive: larger, further right, lower."
    if len(report.annotators) == 2 and len(entries) == 2:
        # both rows would say the same: the edges of the other are off by as much, the other way
        entries, other = entries[:1], entries[1].name
        note += f" The median of two boxes lies halfway: the edges of {other} are off by as much the other way."
    columns = [named("Annotator", "name"), *edges, Column("Objects", "bias.n")]
    yield table_item("bias", columns, entries, choices, title="How they draw", note=note, per_page=_PER_PAGE_BELOW)


def _person(report: AgreementReport, model: RoleReport, number: int, choices: Choices) -> Iterator[Item]:
    """Comparison of a model with a person: in words, both side by side, and every annotator left out."""
    person = model.person
    if person is None:
        return
    first, *others = map(plain_markdown, [person_sentence(model), *test_sentences(person, documents(report))])
    yield text_item(f"person{number}", "\n\n".join([f"**{first}**", *others]))

    def behind_bar(key: Any) -> Link:
        """The labels of a class or size; of all, those that are disputed."""
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


def _role_table(report: AgreementReport, role: RoleReport, number: int, choices: Choices) -> Item:
    is_reference = role is report.reference
    has_counts = is_reference and "reference" not in FAMILIES[report.family].not_in_views
    names = [name for name in _AGAINST if not (has_counts and name in _COUNTED)]
    known = [name for name in names if any(getattr(one, name) is not None for one in role.annotators)]
    columns = [named("Annotator", "name"), *(_role_number(report, name) for name in known)]
    for name, title, said in _SAID if has_counts else ():
        is_always = report.has_objects and name != "n_wrong_attribute"
        if any(getattr(one, name) for one in role.annotators) or is_always:
            told = f": {title.lower()}, says the reference"
            columns.append(_kind(title, name, "Labels of ", told, "n_labels", reference=said))
    if has_counts and any(one.precision is not None for one in role.annotators):
        told = " missed: the labels of the reference"
        columns.append(_kind("Missed", "n_missed", "What ", told, "n_reference", reference="missed"))
    for name, title, said in _OF_MODEL if not is_reference and report.has_objects else ():
        title = title.format(model=role.name)
        told = f" and {role.name}: {title[0].lower()}{title[1:]}"
        columns.append(_kind(title, name, "", told, model=role.name, verdict=said))
    title = f"Against the reference {role.name}" if is_reference else f"The model {role.name}"
    note = singular(
        f"{role.n_samples:,} {documents(report)} with it, {role.n_without:,} without. […] are 95 % intervals."
    )
    if role.n_undecided:
        note += singular(f" Left out: {role.n_undecided:,} labels of objects that nobody decided.")
    if role.thresholds:
        note += f" Labels from a confidence of {' or '.join(dict.fromkeys(map(shown_number, role.thresholds)))} on."
    return table_item(f"role{number}", columns, worst_first(role), choices, title=title, note=note, per_page=_PER_PAGE)


def _role_attributes(report: AgreementReport, role: RoleReport, number: int, choices: Choices) -> Iterator[Item]:
    """Compared attributes of labels that are matched with one of the role."""
    rows = [{"who": one.name, "of": each} for one in worst_first(role) for each in one.attributes]
    if rows:
        known = [name for name in _OF_ATTRIBUTES if any(getattr(row["of"], name) is not None for row in rows)]
        columns = [
            *(named("Annotator", "who"), named("Attribute", lambda row: row["of"].name)),
            *(_role_number(report, name, lambda row: row["of"]) for name in known),
            Column("Labels", lambda row: row["of"].n_labels),
        ]
        title = f"Attributes against {role.name}"
        yield table_item(f"attributes{number}", columns, rows, choices, title=title, per_page=_PER_PAGE_BELOW)


def _role_number(report: AgreementReport, name: str, of: Callable[[Any], Any] | None = None) -> Column:
    """A number against a reference or model; ``of`` is what of a row has it, if not the row."""
    title, show = NUMBERS[name]
    column = Column(
        capitalised(title.format(measure=report.measure)),
        name,
        shown_share if show is shown_share else two_digits,
        interval=True,
    )
    return column if of is None else Column(column.title, lambda row: column.cell(of(row), "\n"))


def _kind(title: str, name: str, before: str, after: str, whole: str = "", **options: Any) -> Column:
    """Labels of one kind, their share of a ``whole``, and a view of them: its title has the annotator in between."""

    def leads(one: Any) -> Link | None:
        shown = f"{before}{one.name}{after}"
        return link(shown, annotators=one.name, **options) if getattr(one, name) else None

    def cell(one: Any) -> Cell:
        n, text = getattr(one, name), f"{getattr(one, name):,}"
        if whole:
            of = f" of {getattr(one, whole):,}" if whole == "n_reference" else ""
            text += f"{of}\n{percent(n, getattr(one, whole))}"
        return Cell(n, text)

    return Column(title, cell, link=leads)
