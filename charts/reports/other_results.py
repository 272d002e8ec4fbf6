"""Sections, sentences and tables of other results: parts of the samples, label convergence, check of requirements."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...agreement.settings.arguments import one_of, without_numpy
from ..text.headline import FORMS
from ..text.sections import Cell, Column, Note, Part, Section, table
from ..text.words import capitalised, counted, ends_of, listed, shown_interval, shown_number, signed
from .dataframes import flat, frame_of

if TYPE_CHECKING:
    from ...agreement.acceptance.evaluate import AcceptanceCheck, Checked
    from ...agreement.objects.convergence import Convergence
    from ...agreement.parts.result import AgreementParts, DataPart, PartNumber
    from ...agreement.statistics.main_numbers import MainNumber


#: parts that sentences name, at most
_MOST_NAMED = 5
#: marks of the number of a part that stands out
LOWER, HIGHER = "↓", "↑"


def parts_sections(parts: AgreementParts, figure: str | None = None) -> list[Section]:
    """The parts in one section: which of them stand out, and all in a table."""
    of_run = "" if parts.run_key is None else f" of run '{parts.run_key}'"

    def column_of(number: MainNumber) -> Column:
        show = FORMS[number.form]

        def cell(part: DataPart) -> Cell:
            found = part.numbers.get(number.key)
            if found is None:
                return Cell(None, show(None))
            return Cell(found.value, shown_interval(found.value, found.interval, show) + arrow_of(found))

        return Column(capitalised(number.name(parts.measure)), cell)

    columns = [
        Column(parts.by, "name"),
        Column(parts.what, "n_rated"),
        *([Column("labels", "n_objects")] if parts.run_key is not None else []),
        *map(column_of, parts.shown),
    ]
    rows = [*parts.rated, *([parts.whole] if parts.run_key is not None else [])]
    shown: list[Part] = [*finding_sentences(parts), table(columns, rows)]
    if parts.n_tested:
        shown.append(
            f"{LOWER} {HIGHER}: differs from all other {parts.what} by more than 0.02 by one of "
            f"{counted(parts.n_tested, 'test')}, at a false discovery rate of 5 %. […] are 95 % intervals."
        )
    left = [part.name for part in parts.parts if part not in parts.rated]
    if left:
        names = listed([*left[:_MOST_NAMED], *(["others"] if len(left) > _MOST_NAMED else [])])
        shown.append(f"Parts without {parts.what} of two annotators have no numbers: {names}.")
    if parts.n_merged:
        shown.append(f"(others): {parts.n_merged:,} values that fewer {parts.what} have.")
    figures = () if figure is None else (figure,)
    return [Section(f"Agreement{of_run} by {parts.by}", shown, figures=figures)]


def finding_sentences(parts: AgreementParts) -> Iterator[str]:
    """Sentences on the parts that differ from the others by test: the greatest difference of each."""
    if not parts.n_tested:
        return
    said: dict[str, str] = {}
    for part, number, found in parts.findings:
        if part.name not in said:
            show = FORMS[number.form]
            # the difference of two shares is in percentage points
            factor, digits, unit = (1.0, 3, "") if number.form == "number" else (100.0, 1, " points")
            change, low, high = (
                None if value is None else signed(factor * value, digits)
                for value in (found.difference, found.low, found.high)
            )
            ends = "" if low is None else f" [{low}, {high}]"
            others = f"{show(found.rest)} on all other {parts.what} ({change}{unit}{ends})"
            said[part.name] = f"{part.name}: {number.name(parts.measure)} {show(found.value)} against {others}."
    if not said:
        yield "No part differs from the others by test: the differences may be chance."
        return
    yield " ".join([*said.values()][:_MOST_NAMED])
    if len(said) > _MOST_NAMED:
        yield f"{len(said) - _MOST_NAMED:,} more parts differ."


def arrow_of(found: PartNumber) -> str:
    """An arrow where a number stands out."""
    return "" if not found.stands_out else f" {HIGHER if (found.difference or 0.0) > 0 else LOWER}"


def parts_frame(parts: AgreementParts) -> pd.DataFrame:
    """One row for every part and number."""
    rows: list[dict[str, Any]] = []
    for part in parts.parts:
        counts = {"part": part.name, "n_samples": part.n_samples, "n_rated": part.n_rated, "n_objects": part.n_objects}
        for number in parts.numbers:
            found = part.numbers.get(number.key)
            if found is None:
                continue
            ends = {end: getattr(found.interval, end, None) for end in ("low", "high")}
            test = {"rest": found.rest, "difference": found.difference, "difference_low": found.low}
            test |= {"difference_high": found.high, "p_value": found.p_value, "stands_out": found.stands_out}
            rows.append({**counts, "number": number.key, "value": found.value, **ends, **test})
    return frame_of(rows)


_UNDEFINED = {
    "one_annotator": "Label convergence is undefined: no image has labels of two annotators who were asked about it.",
    "no_objects": "Label convergence is undefined: nobody drew an object on an image about which two annotators were "
    "asked.",
}
_NO_AREAS = (
    "No numbers by size: they need labels with an area, and the sizes of all images; dataset.compute_metadata() finds "
    "them."
)
_CONSTANT = (
    "Labels of annotators have no confidence: all have one score, and the order in which they are stored, as in COCO's "
    "own program."
)
#: rows of the table of pairs, and reasons of outcomes, at most
_MOST_PAIRS, _MOST_REASONS = 20, 20
_TABLES = ("summary", "classes", "areas", "pairs", "model")


_value = functools.partial(shown_number, digits=2)


def convergence_sentence(convergence: Convergence) -> str:
    """Label convergence in one sentence."""
    if convergence.undefined is not None:
        return _UNDEFINED[convergence.undefined]
    reached = f"{_value(convergence.map)} {ends_of(convergence.intervals.get('map'), _value)}".rstrip()
    said = f"Annotators reach mAP {reached} against each other"
    model = convergence.model
    if model is not None:
        said += f", {model.name} {_value(model.map)} against them"
    return f"{said}; a model near their mean can be above what they reach."


def convergence_sections(convergence: Convergence) -> list[Section]:
    """Label convergence as a section with tables."""
    parts: list[Part] = [convergence_sentence(convergence)]
    if convergence.undefined is None:
        model = convergence.model
        of_model = [] if model is None else [Column(model.name, "model", _value)]
        number = Column("mAP", "map", _value, interval=True)
        at_half = Column("mAP at .50", "map_50", _value, interval=True)
        parts.append(
            f"mAP at .50 is {_value(convergence.map_50)}, at .75 {_value(convergence.map_75)}, by "
            f"{convergence.measure}, on {counted(convergence.n_samples, 'image')} with two or more annotators."
        )
        parts += [Note(_CONSTANT), *([Note(_NO_AREAS)] if convergence.no_areas else [])]
        labels = Column("labels", "n_labels")
        if convergence.areas:
            parts.append(table([Column("size", "name"), number, *of_model, labels], convergence.areas))
        parts.append(table([Column("class", "name"), number, at_half, *of_model, labels], convergence.classes))
        pairs = [*([] if model is None else model.pairs), *convergence.pairs]
        who = [Column("reference", "reference"), Column("as a detector", "detector")]
        parts.append(table([*who, number, at_half, Column("images", "n_samples")], pairs[:_MOST_PAIRS]))
        if len(pairs) > _MOST_PAIRS:
            parts.append(f"{len(pairs) - _MOST_PAIRS:,} more pairs: to_dataframe('pairs').")
    return [Section(f"Label convergence of run '{convergence.run_key}'", parts, is_first=True)]


def convergence_frame(convergence: Convergence, name: str) -> pd.DataFrame:
    """A table of label convergence; undefined numbers are nan."""
    name = one_of("table", without_numpy(name), _TABLES)
    rows: list[Any] = [convergence]
    if name == "model":
        rows = [] if convergence.model is None else convergence.model.pairs
    elif name != "summary":
        rows = getattr(convergence, name)
    return frame_of([flat(entry) for entry in rows])


#: how outcomes are marked, so that they are told apart without colours
MARKS = {"passed": "✓ passed", "failed": "✗ failed", "not enough data": "? not enough data"}


#: a limit that is missed by less is reached
_ROUNDING = 1e-9


def shown_value(result: Checked) -> str:
    """The value of a requirement's number, with its interval; so many digits that none seems to be the limit."""
    limit, known = result.limit, [each for each in (result.value, result.low, result.high) if each is not None]
    apart = [each for each in known if limit is not None and abs(each - limit) > _ROUNDING]
    digits = next(n for n in range(3, 11) if all(shown_number(each, n) != shown_number(limit, n) for each in apart))
    show = functools.partial(shown_number, digits=digits)
    return f"{show(result.value)}{'' if result.low is None else f' [{show(result.low)}, {show(result.high)}]'}"


def acceptance_sentence(check: AcceptanceCheck) -> str:
    """The outcome of all requirements in a sentence."""
    n = [(len(check.of(outcome)), outcome) for outcome in ("failed", "not enough data", "passed")]
    has = {"not enough data": "has" if n[1][0] == 1 else "have"}
    said = listed([" ".join(filter(None, (str(count), has.get(outcome), outcome))) for count, outcome in n if count])
    verdict = {"passed": "Accepted", "failed": "Not accepted"}.get(check.outcome, "Cannot be judged")
    return f"{verdict} by {check.source}: of {counted(len(check.results), 'requirement')} {said}."


def acceptance_section(check: AcceptanceCheck) -> Section:
    """The check as a section of a report."""
    columns = [
        Column("requirement", "title"),
        Column("outcome", "outcome", lambda outcome: MARKS[outcome]),
        Column("must be", "condition"),
        Column("value", lambda each: Cell(each.value, shown_value(each))),
        *(Column("objects", "n_objects"), Column("images", "n_images")),
    ]
    parts: list[Part] = [acceptance_sentence(check), table(columns, check.results)]
    parts += [f"{each.title}: {each.reason}." for each in check.results if each.reason][:_MOST_REASONS]
    if check.n_unlisted:
        parts.append(f"{check.n_unlisted:,} more results are not listed.")
    return Section("Acceptance", parts, key="acceptance")


def acceptance_sections(check: AcceptanceCheck) -> list[Section]:
    """The check as a text of its own."""
    return [Section(f"Acceptance of run '{check.run_key}'", acceptance_section(check).parts, is_first=True)]


def acceptance_frame(check: AcceptanceCheck) -> pd.DataFrame:
    """The outcome of every requirement as a table."""
    names = [*("name", "of", "by", "part", "outcome", "condition"), *("value", "low", "high")]
    names += ["n_objects", "n_images", "reason"]
    rows = [{name: getattr(each, name) for name in names} for each in check.results]
    frame = pd.DataFrame(rows, columns=names)
    return frame.astype(dict.fromkeys(("value", "low", "high"), float))
