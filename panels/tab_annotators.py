"""Tab of the panel on annotators: their agreement with the others, misses, additions and bias, and the pairs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..agreement.evidence.hypotheses import Finding
from ..agreement.families.family import FAMILIES
from ..agreement.statistics.report import AgreementReport
from ..agreement.statistics.role_reports import RoleReport, SideBySide
from ..charts.figures import plot_models
from ..charts.figures.matrices import annotator_order
from ..charts.figures.people import plot_skill
from ..charts.reports.families import family_of
from ..charts.reports.role_sections import NUMBERS, measure_of, person_sentence, test_sentences, worst_first
from ..charts.text.advice import OF_TWO, finding_text
from ..charts.text.sections import plain_markdown
from ..charts.text.shortlists import MOST_ANNOTATORS, annotators_by_evidence, shortlist_annotators
from ..charts.text.words import (
    VERDICTS,
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
    Field,
    Item,
    Link,
    chart_item,
    link,
    matrix_item,
    over_ends,
    table_item,
    text_item,
    two_digits,
)

#: verdicts in the table
_VERDICTS = ("lone", "class_conflict", "missed")
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
_SAID = (
    *(("Wrong class", "n_wrong_class", "wrong_class"), ("Wrong attribute", "n_wrong_attribute", "wrong_attribute")),
    *(("Loose", "n_loose", "loose"), ("Extra", "n_extra", "extra")),
)
#: counts beside a model, and what leads to their labels
_OF_MODEL = (
    *(("Wrong class", "n_wrong_class", "wrong_class"), ("{model} alone", "n_missed", "extra")),
    ("Annotator alone", "n_extra", "missed"),
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
    fields = list(_fields(report))
    yield table_item("annotators", fields, shown, choices, title=shortlist.title, note=note, per_page=_PER_PAGE)
    yield from _roles(report, choices)
    yield from _findings(report, choices)
    yield from _pairs(report, choices)
    yield from _bias(report, shown, choices)


def _findings(report: AgreementReport, choices: Choices) -> Iterator[Item]:
    """Everything that stands out by test."""

    def about(finding: Finding) -> str:
        of_size = [f"{finding.size} objects"] if finding.size else []
        return listed([*finding.annotators, *finding.classes, *of_size])

    fields = [
        Field.named("Who or what", about),
        Field("Finding", lambda each: finding_text(each, report, family_of(report).phrases), is_number=False),
        Field.count("Labels", "n_labels"),
        Field.count("Images", "n_images"),
    ]
    if report.findings:
        title = f"Findings: {len(report.findings):,} of {report.n_tested:,} comparisons"
        note = "The greatest difference first, by tests at a false discovery rate of 5 %."
        found = report.findings
        yield table_item("findings", fields, found, choices, title=title, note=note, per_page=_PER_PAGE_BELOW)


def _fields(report: AgreementReport) -> Iterator[Field]:
    yield Field.named("Annotator", "name")
    yield Field.number("Score", "score")
    entries: list[Any] = report.annotators
    several = len(entries) > 2
    if several and "missed_by" not in FAMILIES[report.family].not_in_views:
        yield Field("Missed", _missed, lambda entry: getattr(entry, "miss_rate", entry.n_missed), _missed_link)
    if family_of(report).verdicts is not None:
        for verdict in _VERDICTS:
            if verdict != "missed" and any(entry.verdicts.get(verdict) for entry in entries):
                yield _other_class(report) if verdict == "class_conflict" else _verdict_field(verdict)
    if any(getattr(entry, "bias", None) is not None for entry in entries):
        yield Field(
            "Size",
            lambda entry: _offset(entry.bias, "size", 0) if entry.bias is not None else "–",
            lambda entry: entry.bias.mean["size"] if entry.bias is not None else None,
        )


def _share_with_interval(share: float | None, interval: Any) -> str:
    return over_ends(shown_share(share), interval, lambda end: f"{100.0 * (end or 0.0):.0f}")


def _missed(entry: Any) -> str:
    n_could_miss = getattr(entry, "n_could_miss", None)
    if n_could_miss is None:
        return f"{entry.n_missed:,}"
    return f"{entry.n_missed:,} of {n_could_miss:,}\n{_share_with_interval(entry.miss_rate, None)}"


def _missed_link(entry: Any) -> Link | None:
    title = f"What {entry.name} missed: the labels of the others"
    return link(title, missed_by=entry.name) if entry.n_missed else None


def _verdict_field(verdict: str) -> Field:
    def n(entry: Any) -> int:
        found: int = entry.verdicts.get(verdict, 0)
        return found

    def share(entry: Any) -> float | None:
        whole = sum(entry.verdicts.values())
        return n(entry) / whole if whole else None

    def text(entry: Any) -> str:
        interval = entry.intervals.get(f"verdict_shares.{verdict}")
        return f"{n(entry):,} · {_share_with_interval(share(entry), interval)}"

    return Field(VERDICTS[verdict].capitalize(), text, share, functools.partial(_with_verdict, verdict))


def _with_verdict(verdict: str, entry: Any) -> Link | None:
    title = f"Labels of {entry.name}: {VERDICTS[verdict]}"
    return link(title, annotators=entry.name, verdict=verdict) if entry.verdicts.get(verdict) else None


def _other_class(report: Any) -> Field:
    """Column with the share of other classes than the majority's, and below it all labels in a conflict."""

    def text(entry: Any) -> str:
        ends = _share_with_interval(entry.other_class, entry.intervals.get("other_class")).replace("\n", " ")
        return f"{ends}\n{entry.verdicts.get('class_conflict', 0):,} in conflict"

    title = "Other class" if getattr(report, "level", "nominal") == "nominal" else "Other rating"
    return Field(title, text, lambda entry: entry.other_class, functools.partial(_with_verdict, "class_conflict"))


def _offset(bias: Any, side: str, digits: int) -> str:
    shown = f"{signed(bias.mean.get(side), digits)} %"
    return over_ends(shown, bias.intervals.get(side), lambda end: signed(end, 0))


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

    def column(side: str, title: str) -> Field:
        def mean(entry: Any) -> float | None:
            value: float | None = entry.bias.mean.get(side)
            return value

        return Field(
            title,
            lambda entry: _offset(entry.bias, side, 1),
            mean,
            shade=lambda entry: abs(mean(entry) or 0.0) / _LARGE_OFFSET,
        )

    fields = [
        Field.named("Annotator", "name"),
        *(column(side, title) for side, title in _EDGES.items()),
        Field.count("Objects", "bias.n"),
    ]
    note = "Against the median box of the object; positive: larger, further right, lower."
    if len(report.annotators) == 2 and len(entries) == 2:
        # both rows would say the same: the edges of the other are off by as much, the other way
        entries, other = entries[:1], entries[1].name
        note += f" The median of two boxes lies halfway: the edges of {other} are off by as much the other way."
    yield table_item("bias", fields, entries, choices, title="How they draw", note=note, per_page=_PER_PAGE_BELOW)


def _roles(report: AgreementReport, choices: Choices) -> Iterator[Item]:
    """Every annotator against the reference, the worst first, and against each model."""
    for number, role in enumerate(filter(None, (report.reference, *report.models))):
        if role.person is not None:
            yield from _person(report, role, number, choices)
        if role.annotators:
            yield _role_table(report, role, number, choices)
            yield from _role_attributes(report, role, number, choices)


def _person(report: AgreementReport, model: RoleReport, number: int, choices: Choices) -> Iterator[Item]:
    """Comparison of a model with a person: in words, both side by side, and every annotator left out."""
    person = model.person
    if person is None:
        return
    told = [person_sentence(model), *test_sentences(person, documents(report))]
    first, *others = map(plain_markdown, told)
    measure = measure_of(model)
    yield text_item(f"person{number}", "\n\n".join([f"**{first}**", *others]))
    yield from chart_item(f"sides{number}", lambda: plot_models(report, model.name), _SIDES_HINT,
                          functools.partial(_behind_bar, report, model.name))  # fmt: skip

    def share(title: str, name: str) -> Field:
        found = {entry.name: getattr(entry, name) for entry in person.left_out}
        return Field(title, lambda one: shown_share(found[one.name]), lambda one: found[one.name])

    def labels_of(one: SideBySide) -> Link:
        return link(f"Objects of {one.name}", annotators=one.name)

    fields = [
        Field.named("Left out", "name"),
        Field(f"{measure} of {model.name}", lambda one: shown_number(one.model, 2), lambda one: one.model),
        Field(
            f"{measure} of the annotator",
            lambda one: shown_number(one.annotators, 2),
            lambda one: one.annotators,
            labels_of,
        ),
        Field.number("Difference", "difference", lambda value: signed(value, 2)),
        share("Model at least as good", "advantage"),
        share("Annotator at least as good", "advantage_of_annotator"),
    ]
    title = f"{model.name} against every annotator left out"
    yield table_item(f"left{number}", fields, person.annotators, choices, title=title, per_page=_PER_PAGE_BELOW)


def _behind_bar(report: AgreementReport, model: str, key: Any) -> Link:
    """The labels of a class or size; of all, those that are disputed."""
    part, name = key
    if part == "size":
        return {"title": f"{name.capitalize()} objects of {model} and of the annotators", "sized": [model, name]}
    if part == "class":
        return link(f"What somebody called {name!r}", classes=name, assigned=(2, None))
    return link("What is disputed", verdict=list(FAMILIES[report.family].disputed))


def _role_table(report: AgreementReport, role: RoleReport, number: int, choices: Choices) -> Item:
    is_reference = role is report.reference
    has_counts = is_reference and "reference" not in FAMILIES[report.family].not_in_views
    fields = [Field.named("Annotator", "name")]
    names = [name for name in _AGAINST if not (has_counts and name in _COUNTED)]
    known = [name for name in names if any(getattr(one, name) is not None for one in role.annotators)]
    fields += [_role_number(report, name) for name in known]
    if has_counts:
        fields += [
            _kind(*kind)
            for kind in _SAID
            if any(getattr(one, kind[1]) for one in role.annotators)
            or (report.has_objects and kind[1] != "n_wrong_attribute")
        ]
        if any(one.precision is not None for one in role.annotators):
            fields.append(_missed_of_reference())
    elif not is_reference and report.has_objects:
        fields += [_beside_model(role.name, *kind) for kind in _OF_MODEL]
    title = f"Against the reference {role.name}" if is_reference else f"The model {role.name}"
    note = singular(
        f"{role.n_samples:,} {documents(report)} with it, {role.n_without:,} without. […] are 95 % intervals."
    )
    if role.n_undecided:
        note += singular(f" Left out: {role.n_undecided:,} labels of objects that nobody decided.")
    if role.thresholds:
        note += f" Labels from a confidence of {' or '.join(dict.fromkeys(map(shown_number, role.thresholds)))} on."
    return table_item(f"role{number}", fields, worst_first(role), choices, title=title, note=note, per_page=_PER_PAGE)


def _role_attributes(report: AgreementReport, role: RoleReport, number: int, choices: Choices) -> Iterator[Item]:
    """Compared attributes of labels that are matched with one of the role."""
    rows = [(one.name, each) for one in worst_first(role) for each in one.attributes]
    if rows:
        known = [name for name in _OF_ATTRIBUTES if any(getattr(each, name) is not None for _, each in rows)]
        fields = [
            Field.named("Annotator", lambda row: row[0]),
            Field.named("Attribute", lambda row: row[1].name),
            *(_role_number(report, name, lambda row: row[1]) for name in known),
            Field.count("Labels", lambda row: row[1].n_labels),
        ]
        title = f"Attributes against {role.name}"
        yield table_item(f"attributes{number}", fields, rows, choices, title=title, per_page=_PER_PAGE_BELOW)


def _role_number(report: AgreementReport, name: str, of: Callable[[Any], Any] = lambda one: one) -> Field:
    title, show = NUMBERS[name]
    shown = title.format(measure=report.measure)
    short = shown_share if show is shown_share else two_digits
    return Field.number(shown[0].upper() + shown[1:], name, short, of=of)


def _kind(title: str, name: str, said: str) -> Field:
    def leads(one: Any) -> Link | None:
        shown = f"Labels of {one.name}: {title.lower()}, says the reference"
        return link(shown, annotators=one.name, reference=said) if getattr(one, name) else None

    def text(one: Any) -> str:
        n = getattr(one, name)
        return f"{n:,}\n{percent(n, one.n_labels)}"

    return Field(title, text, lambda one: getattr(one, name), leads)


def _beside_model(model: str, title: str, name: str, verdict: str) -> Field:
    shown = title.format(model=model)

    def leads(one: Any) -> Link | None:
        found = f"{one.name} and {model}: {shown[0].lower()}{shown[1:]}"
        return link(found, model=model, annotators=one.name, verdict=verdict) if getattr(one, name) else None

    return Field.count(shown, name, leads)


def _missed_of_reference() -> Field:
    def leads(one: Any) -> Link | None:
        shown = f"What {one.name} missed: the labels of the reference"
        return link(shown, annotators=one.name, reference="missed") if one.n_missed else None

    def text(one: Any) -> str:
        return f"{one.n_missed:,} of {one.n_reference:,}\n{percent(one.n_missed, one.n_reference)}"

    return Field("Missed", text, lambda one: one.n_missed, leads)
