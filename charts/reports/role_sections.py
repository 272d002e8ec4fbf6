"""Sections on a reference and on models, for all label types; and on whether a model is as good as a person."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ...agreement.statistics.role_reports import (
    EPSILON,
    EPSILONS,
    MARGIN,
    MIN_ANNOTATORS,
    MIN_ITEMS,
    RoleComparison,
    RoleReport,
)
from ..objects.annotators import BOX_SIDES, OFFSETS, offset_cell
from ..text.sections import Cell, Column, Note, Part, Section, part_of, share_of, table
from ..text.words import counted, documents, drawn_things, ends_of, listed, shown_number, shown_share, signed, singular

if TYPE_CHECKING:
    from ...agreement.statistics.report import AgreementReport
    from ...agreement.statistics.role_reports import PersonComparison, SideBySide


#: rows of the tables of classes and sizes at most, and of annotators in brief sections
_MOST_ROWS, _MOST_BRIEF = 60, 3
_VERDICTS = {
    "better": "{name} agrees with the annotators better than they agree with each other",
    "as_well": "{name} agrees with the annotators as well as they agree with each other",
    "worse": "{name} agrees with the annotators less than they agree with each other",
    None: "Not enough evidence whether {name} agrees with the annotators as well as they agree with each other",
}
_NOTE = (
    "Every annotator is left out in turn: {measure} of the model with the others, and of the one left out with the "
    "same others, on the same images. A match counts where the classes are equal. As well: the interval of the "
    f"difference holds 0, and ends no lower than {shown_number(-MARGIN, 2)}."
)

_EPSILON = (
    f"Epsilon: how much more often the annotator may be the better one. Its authors take {EPSILONS[0]:g} where "
    f"annotators are crowd workers, {EPSILONS[1]:g} where they are skilled, {EPSILONS[2]:g} where they are experts."
)


def measure_of(model: RoleReport) -> str:
    """Name of the measure of a model against annotators: accuracy, F1 with equal classes (of objects), or F1."""
    if any(one.accuracy is not None for one in model.annotators):
        return "accuracy"
    return "F1 with equal classes" if any(one.class_precision is not None for one in model.annotators) else "F1"


def person_sentence(role: RoleReport) -> str:
    """The verdict on a model that is compared with annotators, with both values of the measure and their difference."""
    name, person = role.name, role.person
    if person is None:
        return ""
    total = person.total
    if total.difference is None:
        return f"{_VERDICTS[None].format(name=name)}: there are no labels to compare."
    ends = ends_of(total.intervals.get("difference"), lambda value: signed(value, 2)) or "without an interval"
    return (
        f"{_VERDICTS[person.verdict].format(name=name)} ({measure_of(role)} {shown_number(total.model, 2)} against "
        f"{shown_number(total.annotators, 2)}, difference {signed(total.difference, 2)} {ends})."
    )


def test_sentences(person: PersonComparison, what: str, drawn: str) -> Iterator[str]:
    """Sentences on the alternative annotator test, and on annotators who could not be tested.

    Args:
        what: word for samples, or frames
        drawn: word for what the test counts: samples, or whole videos or groups
    """
    few = [f"{entry.name} {entry.n:,}" for entry in person.left_out if entry.p_value is None]
    if not person.tests:
        every = listed([f"{entry.name} {entry.n:,}" for entry in person.left_out])
        yield (
            f"The alternative annotator test needs at least {MIN_ANNOTATORS} annotators with {MIN_ITEMS} {drawn} "
            f"each, on which another one was, too; there are {every}."
        )
        return
    n = len(person.left_out) - len(few)
    wins = listed([f"{round(test.winning_rate * n)} at epsilon {test.epsilon:g}" for test in person.tests])
    passed, others = (
        [f"{test.epsilon:g}" for test in person.tests if test.passed == is_passed] for is_passed in (True, False)
    )
    passes = f"at {listed(passed)}, not at {listed(others)}"
    if not passed or not others:
        passes = f"at {'none' if others else 'all'} of {', '.join([*passed, *others])}"
    yield (
        f"Alternative annotator test: of {counted(n, 'annotator')}, it wins against {wins}. It passes, winning against "
        f"half of them or more, {passes}. It is at least as good as an annotator on "
        f"{shown_share(person.advantage_probability)} of the {what}."
    )
    if few:
        yield f"Not tested, with fewer than {MIN_ITEMS} {drawn}: {listed(few)}."


def person_section(model: RoleReport, what: str, drawn: str, *, full: bool, brief: bool) -> Section | None:
    """The section on a model as an annotator, ``brief`` in sentences; None without two annotators on one image."""
    person = model.person
    if person is None:
        return None
    parts: list[Part] = [person_sentence(model), *test_sentences(person, what, drawn)]
    tested = {entry.name: entry for entry in person.left_out}
    if not brief:
        measure = measure_of(model)

        def p_value(entry: SideBySide) -> Cell:
            test = tested[entry.name]
            if test.p_value is None:
                return Cell(None, "-")
            shown = shown_number(test.p_value) if test.p_value >= 0.001 else "< 0.001"
            return Cell(test.p_value, f"{shown}{', wins' if test.won else ''}")

        columns = [
            Column("left out", "name"),
            *_sides(f"{measure} of {model.name}", f"{measure} of the one left out"),
            Column(f"{model.name} at least as good", lambda entry: tested[entry.name].advantage, shown_share),
            Column("the one left out", lambda entry: tested[entry.name].advantage_of_annotator, shown_share),
            Column(f"p (epsilon {EPSILON:g})", p_value),
        ]
        parts.append(table(columns, person.annotators))
    if full:
        parts += [Note(_NOTE.format(measure=measure_of(model))), *([Note(_EPSILON)] if person.tests else [])]
        for title, entries in (("class", person.classes), ("size", person.sizes)):
            if entries:
                columns = [Column(title, "name"), Column(f"labels of {model.name}", "n_labels")]
                columns += _sides(model.name, "annotators")
                parts.append(table(columns, entries[:_MOST_ROWS], f"By {title}"))
    figures = ("models",) if person.classes or person.sizes else ()
    return Section(f"Is {model.name} as good as a person?", parts, figures=figures, key="person")


def _sides(model: str, annotators: str) -> list[Column]:
    return [
        Column(model, "model", shown_number),
        Column(annotators, "annotators", shown_number),
        Column("difference", "difference", signed, interval=True),
    ]


#: numbers of a comparison with a reference or model: field, title and format; those that a family has are shown
NUMBERS: dict[str, tuple[str, Callable[[float | None], str]]] = {
    "f1": ("F1", shown_number),
    "accuracy": ("accuracy", shown_share),
    "mean_absolute_error": ("mean absolute error", shown_number),
    "mean_error": ("mean error", shown_number),
    "kappa": ("kappa", shown_number),
    "precision": ("precision", shown_number),
    "recall": ("recall", shown_number),
    "jaccard": ("Jaccard", shown_number),
    "pq": ("score", shown_number),
    "class_accuracy": ("class accuracy", shown_share),
    "mean_iou": ("mean {measure}", shown_number),
    "iou": ("{measure}", shown_number),
}
#: the first of these that a family has decides who is worst
_DECIDING = ("f1", "mean_iou", *NUMBERS)
#: the numbers of the short report
FEW = ("f1", "accuracy", "mean_absolute_error", "kappa", "precision", "recall", "class_accuracy", "mean_iou")
#: the numbers of a model in brief sections
_FEWEST = ("f1", "accuracy", "mean_absolute_error", "class_accuracy", "mean_iou")
#: the numbers of classes and sizes
_OF_PARTS = ("f1", "precision", "recall", "mean_iou", "iou")
#: the numbers of attributes
_OF_ATTRIBUTES = ("accuracy", "kappa", "mean_error", "mean_absolute_error")
#: numbers of which the greatest is the worst
_ERRORS = {"mean_absolute_error"}
_NOTES = {
    "reference": "Precision: share of their labels that match one of the reference; recall: share of the reference "
    "that they gave",
    "models": "Precision: share of the labels of {name} that match one of the annotator; recall: share of the "
    "annotator's labels that {name} found",
}


def worst_first(role: RoleReport) -> list[RoleComparison]:
    """The annotators, the worst against the role first; those without a number last."""
    name = _deciding(role)
    sign = -1.0 if name in _ERRORS else 1.0
    values = {one.name: getattr(one, name) for one in role.annotators}
    return sorted(
        role.annotators, key=lambda one: (values[one.name] is None, sign * (values[one.name] or 0.0), one.name)
    )


def _deciding(role: RoleReport) -> str:
    """The number that decides who is worst."""
    return next((name for name in _DECIDING if _has(role.annotators, name)), "f1")


def _has(entries: Sequence[Any], name: str) -> bool:
    return any(getattr(one, name, None) is not None for one in entries)


def number_columns(
    entries: Sequence[Any], measure: str, names: Iterable[str], intervals: Collection[str] = (), of: str = ""
) -> list[Column]:
    """A column for each of the numbers ``names`` that at least one entry has.

    Args:
        intervals: the numbers whose intervals are shown
        of: path of an entry in a row, with a dot at its end
    """
    return [
        Column(NUMBERS[name][0].format(measure=measure), f"{of}{name}", NUMBERS[name][1], interval=name in intervals)
        for name in names
        if _has(entries, name)
    ]


def role_title(report: AgreementReport, role: RoleReport) -> str:
    """Title of the section on a reference or model."""
    return f"Against the reference {role.name}" if role is report.reference else f"The model {role.name}"


def about_role(report: AgreementReport, role: RoleReport) -> str:
    """Note on the samples with a reference or model, and on which of its labels count."""
    note = f"{role.n_samples:,} {documents(report)} with it" + f", {role.n_without:,} without" * bool(role.n_without)
    if role.n_undecided:
        note += f"; left out: {role.n_undecided:,} labels of objects that nobody decided"
    if role.n_by_rule:
        note += (
            f"; a rule made {role.n_by_rule:,} of its decisions from the labels of annotators, who then agree with it: "
            "no evidence of who is right"
        )
    if role.thresholds:
        note += f"; labels from a confidence of {listed([*dict.fromkeys(map(shown_number, role.thresholds))])} on"
    return singular(note)


def role_sections(report: AgreementReport, *, full: bool = False, brief: bool = False) -> list[Section]:
    """Annotators against the reference, the worst first; models against annotators, ``brief``: shortened."""
    found = [] if report.reference is None else [_section(report, report.reference, "reference", full=full)]
    for model in report.models:
        person = person_section(model, documents(report), drawn_things(report), full=full, brief=brief)
        found += [*([] if person is None else [person]), _section(report, model, "models", full=full, brief=brief)]
    return found


def _section(report: AgreementReport, role: RoleReport, key: str, *, full: bool, brief: bool = False) -> Section:
    what, title = documents(report), role_title(report, role)
    if not role.n_samples:
        return Section(title, [f"No {what[:-1]} has labels of {role.name} and of an annotator."], key=key)
    note = about_role(report, role)
    numbers = tuple(NUMBERS) if full else _FEWEST if brief else FEW
    intervals = numbers if full else (_deciding(role),)
    columns = [Column("annotator", "name"), *number_columns(role.annotators, report.measure, numbers, intervals)]
    are_matched = report.has_objects or _has(role.annotators, "precision")
    if are_matched and full:  # labels by what the other side says of them; kinds that nobody has are left out
        kinds = {"right": "n_right", "wrong class": "n_wrong_class", "wrong attribute": "n_wrong_attribute",
                 "loose": "n_loose", "extra" if key == "reference" else "annotator alone": "n_extra"}  # fmt: skip

        def kind(title: str, name: str) -> Column:
            return Column(title, lambda one: part_of(getattr(one, name), one.n_labels))

        some = [each for each in kinds.items() if any(getattr(one, each[1]) for one in role.annotators)]
        columns += [Column("labels", "n_labels"), *(kind(*each) for each in some)]
    if are_matched:
        missed = "missed" if key == "reference" else f"{role.name} alone"
        columns.append(Column(missed, lambda one: share_of(one.n_missed, one.n_reference)))
    shown = worst_first(role)
    parts: list[Part] = [table(columns, shown[:_MOST_BRIEF] if brief else shown)]
    if brief:
        if len(shown) > _MOST_BRIEF:
            parts.append(f"{len(shown) - _MOST_BRIEF:,} more: print_report(full=True).")
        return Section(title, parts, note, key=key)
    if are_matched:
        parts.append(
            _NOTES[key].format(name=role.name) + ("; F1 and both whatever the class." if report.has_objects else ".")
        )
    if key == "models" and report.has_objects:
        call = f'run.view(model="{role.name}", annotators=…, verdict="extra")'
        parts.append(f'The labels of {role.name} alone: {call}; "missed": those of the annotator alone.')
    if full:
        parts += _details(role, report.measure)
    return Section(title, parts, note, key=key)


def _details(role: RoleReport, measure: str) -> list[Any]:
    """Tables of the bias, the confusions, and of classes and sizes, of all annotators."""
    tables = []
    biased = [one for one in role.annotators if one.bias]
    if biased:

        def offset(side: str) -> Column:
            return Column(side, lambda one: offset_cell(one.bias.get(side), one.intervals.get(f"bias.{side}")))

        columns = [Column("annotator", "name"), *map(offset, BOX_SIDES)]
        tables.append(table(columns, biased, f"Bias against the boxes of {role.name}, {OFFSETS}"))
    confusions = [{**entry, "name": one.name} for one in role.annotators for entry in one.confusion]
    if confusions:
        confusions.sort(key=lambda entry: -entry["n"])
        columns = [Column("annotator", "name"), Column(role.name, "reference"), Column("annotator says", "annotator")]
        tables.append(table([*columns, Column("times", "n")], confusions[:20], "Classes that differ"))
    parts = ("class", "classes", _OF_PARTS), ("size", "sizes", _OF_PARTS), ("attribute", "attributes", _OF_ATTRIBUTES)
    for title, part, numbers in parts:
        rows = part_rows(role.annotators, part)
        if rows:
            labels = Column(role.name, lambda row: getattr(row.of, "n_reference", row.of.n_labels))
            columns = [Column("annotator", "who"), Column(title, "of.name"), labels]
            columns += number_columns([row.of for row in rows], measure, numbers, of="of.")
            tables.append(table(columns, rows[:_MOST_ROWS], f"By {title}"))
    return tables


def part_rows(annotators: Sequence[RoleComparison], part: str) -> list[Any]:
    """A row for each class, size or attribute of an annotator: its comparison (``of``), and the name (``who``)."""
    return [SimpleNamespace(who=one.name, of=each) for one in annotators for each in getattr(one, part)]
