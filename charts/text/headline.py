"""The headline of every report: its outcome in words, and its main numbers with intervals and meaning."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...agreement.families.family import FAMILIES
from ...agreement.statistics.estimates import are_resampled
from ...agreement.statistics.main_numbers import HEADLINE
from .sections import Facts, Note, NumberRow, Part, Section, ShownNumber
from .words import (
    capitalised,
    counted,
    documents,
    drawn_things,
    ends_of,
    shown_interval,
    shown_number,
    shown_share,
    singular,
)

if TYPE_CHECKING:
    from ...agreement.statistics.main_numbers import MainNumber
    from ...agreement.statistics.report import AgreementReport

#: intervals from fewer samples are rough
FEW_SAMPLES = 20
#: formatting of the main numbers, by form
FORMS: dict[str, Callable[[float | None], str]] = {"number": shown_number, "share": shown_share}
#: the same for cards in the panel, with two digits
CARD_FORMS: dict[str, Callable[[float | None], str]] = {**FORMS, "number": functools.partial(shown_number, digits=2)}

#: from this expected distance on, the alpha of images hardly differs from the score
_FAR_APART = 0.9
#: Krippendorff's limits of the alpha of nominal classes, each with the level above it
_LIMITS = ((0.8, "good", "reliable"), (0.667, "fair", "tentative"))

_UNDEFINED = {
    "one_annotator": "fewer than 2 annotators assigned",
    "no_objects": "nobody drew anything",
    "single_category": "one category only, so there is no variation",
    "no_pairable_values": "no object was drawn by two annotators",
    "no_pixels": "all pixels are ignored",
}


def headline(report: AgreementReport, notes: Sequence[str] = (), *, findings: Sequence[str] = ()) -> Section:
    """First section of a report: what the annotators have in common, the findings, and the main numbers.

    Args:
        notes: additional notes on the numbers
        findings: sentences: the outcome, the main cause of disagreement, and who or what stands out
    """
    what, extent = documents(report), [", ".join(report.label_types)]  # what the report covers, in short phrases
    if report.run.n_of is not None:
        extent.append(singular(f"part of the run: {report.n_samples:,} of its {report.run.n_of:,} {what}"))
    if report.run.n_videos is not None:
        frames = counted(report.n_samples, "frame")
        extent.append(f"{counted(report.run.n_videos, 'video')} with {frames}, compared frame by frame")
    for role in report.roles_beside_one:
        labels = f" ({counted(role.annotators[0].n_labels, 'label')})" if report.has_objects and role.annotators else ""
        extent.append(singular(f"{role.n_samples:,} of {report.n_samples:,} {what} compared with {role.name}{labels}"))
    if not report.roles_beside_one:
        n_empty, n_disputed = getattr(report, "n_empty", 0), getattr(report, "n_disputed", None)
        without = f", {n_empty:,} of them empty" if n_empty else ""
        extent.append(singular(f"{report.n_rated:,} of {report.n_samples:,} {what} rated by two or more{without}"))
        extent += [counted(len(report.annotators), "annotator"), counted(report.n_objects, "label")]
        if report.has_objects:
            extent.append(counted(report.n_units, "object"))
        if n_disputed is not None:  # of masks, which have no verdicts, classes are disputed
            units = what if FAMILIES[report.family].verdicts else f"of {report.n_units:,} classes of single {what}"
            extent.append(singular(f"{n_disputed:,} {units} disputed"))
    parts: list[Part] = [*findings]
    parts += [Note(f"Warning: {text}.", is_warning=True) for text in report.warnings]
    parts.append(" · ".join(extent))
    if not report.roles_beside_one:
        parts.append(NumberRow(shown_numbers(report, HEADLINE)))
    parts += [*interval_notes(report), *map(Note, notes)]
    return Section(f"Annotator agreement: run '{report.run_key}'", parts, is_first=True)


def card_numbers(report: AgreementReport) -> list[tuple[MainNumber, ShownNumber]]:
    """The main numbers that have a card in the panel, with two digits."""
    things = documents(report).replace("samples", "images")
    cards = []
    for number in report.main_numbers:
        value = number.value(report)
        if number.card and not ((number.below or number.is_judged) and value is None):
            show = CARD_FORMS[number.form]
            below = number.below.format(report=report, things=things) or ends_of(report.intervals.get(number.key), show)
            title = number.card.format(measure=report.measure)
            cards.append((number, ShownNumber(title, show(value), singular(below), number.hint)))
    return cards


def shown_numbers(report: AgreementReport, group: str) -> list[ShownNumber]:
    """The main numbers of a group, formatted."""
    measure, shown = report.measure, []
    for number in report.main_numbers:
        value, show = number.value(report), FORMS[number.form]
        is_of_group = number.group == group or (number.leads and group == HEADLINE)
        if not is_of_group or not number.concerns(measure) or (number.is_optional and value is None):
            continue
        interval = ends_of(report.intervals.get(number.key), show) if value is not None else ""
        meaning = singular(number.meaning.format(report=report, documents=documents(report)))
        if grade := grade_of(report, number)[1]:
            meaning += f"; {grade} by Krippendorff's limits, 0.8 and 0.667"
        name = number.name(measure)
        shown.append(ShownNumber(capitalised(name) if group == HEADLINE else name, show(value), interval, meaning))
    return shown


def image_alpha_details(report: AgreementReport) -> list[Section]:
    """Section on the parts of the alpha of images: observed and expected distance."""
    found = report.image_alpha
    if found is None or found.value is None:
        return []
    most = "the most by which their cumulative share exceeds that of the expected ones"
    facts = [
        ("observed", f"{shown_number(found.observed)}, mean distance of two annotations of one image"),
        ("expected", f"{shown_number(found.expected)}, of different images ({found.n_expected:,} pairs)"),
        ("sigma", f"{shown_number(found.sigma)}, share of observed distances below 95 % of the expected ones"),
        ("KS", f"{shown_number(found.ks)}, {most}"),
    ]
    parts: list[Part] = [Facts(facts)]
    if found.expected is not None and found.expected >= _FAR_APART:
        text = "Labels of different images have next to nothing in common, as they seldom lie at one place: this alpha"
        parts.append(f"{text} is nearly the score.")
    return [Section("Alpha of images", parts, "1 - observed / expected, distance: 1 - score")]


def single_alphas(report: AgreementReport) -> list[Section]:
    """The mean of the alphas of single samples, and where they are undefined; ratings and tags have none."""
    if report.alpha.mean is None and FAMILIES[report.family].verdicts and not report.has_objects:
        return []
    reasons = [f"{count:,} ({_UNDEFINED[reason]})" for reason, count in report.alpha.undefined.items() if count]
    facts = []
    if report.alpha.mean is not None:
        value = shown_interval(report.alpha.mean, report.intervals.get("alpha.mean"))
        facts.append(("mean", f"{value}, of the {report.alpha.n_defined:,} where it is defined"))
    if reasons:
        facts.append(("undefined on", ", ".join(reasons)))
    title = f"Alpha of single {documents(report)}"
    of_all = next(number.name() for number in report.main_numbers if number.key == "alpha.pooled")
    note = f"{of_all} is of all of them together"
    return [Section(title, [Facts(facts)], note)] if facts else []


def interval_notes(report: AgreementReport) -> list[Note]:
    """An explanation of the intervals, and a warning if they come from few samples."""
    shown = list(report.intervals.values())
    if not shown:
        return []
    n = max(entry.n for entry in shown)
    what = drawn_things(report)[:-1]
    how = "resampled" if are_resampled(report.intervals) else "by the delta method"
    notes = [
        Note(f"[…] are 95 % confidence intervals for the population of {what}s, with these annotators ({n:,} {how}).")
    ]
    if n < FEW_SAMPLES:
        text = f"Warning: the intervals rest on {counted(n, what)}; with fewer than {FEW_SAMPLES} they are rough."
        notes.append(Note(text, is_warning=True))
    elif n_few := sum(entry.n < FEW_SAMPLES for entry in shown):
        least = min(entry.n for entry in shown)
        text = f"Warning: intervals of numbers that fewer than {FEW_SAMPLES} {what}s say anything about are rough"
        notes.append(Note(f"{text} (here {n_few:,}; one rests on {least:,}).", is_warning=True))
    return notes


def grade_of(report: AgreementReport, number: MainNumber) -> tuple[str, str]:
    """Level of an alpha of nominal classes by Krippendorff's limits, and its words; empty for every other number.

    The lower end of the interval decides; without an interval there is no grade.
    """
    interval = report.intervals.get(number.key)
    if not number.is_judged or interval is None or number.value(report) is None:
        return "", ""
    if getattr(report, "level", "nominal") != "nominal":
        return "", ""
    poor = ("poor", "too low to rely on")
    return next(((level, words) for limit, level, words in _LIMITS if interval.low >= limit), poor)
