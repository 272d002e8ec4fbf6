"""Section of every report on a model as good as a person: a sentence, the alternative annotator test, both compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...agreement.statistics.role_reports import EPSILON, EPSILONS, MARGIN, MIN_ANNOTATORS, MIN_ITEMS
from ..text.sections import Note, Part, Section
from ..text.tables import Cell, Column, Table, table
from ..text.words import counted, ends_of, listed, shown_number, shown_share, signed

if TYPE_CHECKING:
    from ...agreement.statistics.role_reports import LeftOutTest, PersonComparison, RoleReport, SideBySide

#: rows of the table of classes
_MOST_ROWS = 60
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
    """Measure that compares a model with annotators; of classes, F1 is the share of equal ones."""
    return "accuracy" if any(one.accuracy is not None for one in model.annotators) else "F1"


def person_sentence(role: RoleReport) -> str:
    """The verdict on a model that is compared with annotators, with both F1 and their difference."""
    name, person = role.name, role.person
    if person is None:
        return ""
    total = person.total
    if total.difference is None:
        return f"{_VERDICTS[None].format(name=name)}: there are no labels to compare."
    model, annotators, difference = (
        show(value, 2)
        for show, value in (
            (shown_number, total.model),
            (shown_number, total.annotators),
            (signed, total.difference),
        )
    )
    ends = ends_of(total.intervals.get("difference"), lambda value: signed(value, 2)) or "without an interval"
    return (
        f"{_VERDICTS[person.verdict].format(name=name)} "
        f"({measure_of(role)} {model} against {annotators}, difference {difference} {ends})."
    )


def test_sentences(person: PersonComparison, what: str) -> Iterator[str]:
    """Sentences on the alternative annotator test, and on those who could not be tested.

    Args:
        what: word for images, or videos
    """
    few = [f"{entry.name} {entry.n:,}" for entry in person.left_out if entry.p_value is None]
    if not person.tests:
        every = listed([f"{entry.name} {entry.n:,}" for entry in person.left_out])
        yield (
            f"The alternative annotator test needs at least {MIN_ANNOTATORS} annotators with {MIN_ITEMS} {what} "
            f"each, on which another one was, too; there are {every}."
        )
        return
    n = len(person.left_out) - len(few)
    wins = listed([f"{round(test.winning_rate * n)} at epsilon {test.epsilon:g}" for test in person.tests])
    least = person.least_epsilon
    passes = "at no epsilon" if least is None else f"from epsilon {least:.2f} on"
    yield (
        f"Alternative annotator test: of {counted(n, 'annotator')}, it wins against {wins}; against half of them or "
        f"more, so that it may take the place of one, {passes}. It is at least as good as an annotator on "
        f"{shown_share(person.advantage_probability)} of the {what}."
    )
    if few:
        yield f"Not tested, with fewer than {MIN_ITEMS} {what}: {listed(few)}."


def person_section(model: RoleReport, what: str, *, full: bool) -> Section | None:
    """The section on a model as an annotator; None without two annotators on one image."""
    person = model.person
    if person is None:
        return None
    parts: list[Part] = [person_sentence(model), *test_sentences(person, what)]
    tested = {entry.name: entry for entry in person.left_out}
    parts.append(_annotators(model, person.annotators, tested))
    if full:
        parts += [Note(_NOTE.format(measure=measure_of(model))), *([Note(_EPSILON)] if person.tests else [])]
        for title, entries in (("class", person.classes), ("size", person.sizes)):
            if entries:
                columns = [Column(title, "name"), Column(f"labels of {model.name}", "n_labels")]
                columns += _sides(model.name, "annotators")
                parts.append(table(columns, entries[:_MOST_ROWS], f"By {title}", [entry.name for entry in entries]))
    figures = ("models",) if person.classes or person.sizes else ()
    return Section(f"Is {model.name} as good as a person?", parts, figures=figures, key="person")


def _sides(model: str, annotators: str) -> list[Column]:
    return [
        Column(model, "model", shown_number),
        Column(annotators, "annotators", shown_number),
        Column("difference", "difference", signed, interval=True),
    ]


def _annotators(role: RoleReport, entries: Sequence[SideBySide], tested: dict[str, LeftOutTest]) -> Table:
    """Every annotator left out, and the test against each."""
    model, measure = role.name, measure_of(role)

    def share(name: str, mine: str) -> Column:
        return Column(name, lambda entry: getattr(tested[entry.name], mine), shown_share)

    columns = [
        Column("left out", "name"),
        *_sides(f"{measure} of {model}", f"{measure} of the one left out"),
        share(f"{model} at least as good", "advantage"),
        share("the one left out", "advantage_of_annotator"),
        Column(f"p (epsilon {EPSILON:g})", lambda entry: _p_value(tested[entry.name])),
    ]
    return table(columns, entries, keys=[entry.name for entry in entries])


def _p_value(entry: LeftOutTest) -> Cell:
    p_value = entry.p_value
    if p_value is None:
        return Cell(None, "-")
    return Cell(p_value, f"{shown_number(p_value) if p_value >= 0.001 else '< 0.001'}{', wins' if entry.won else ''}")
