"""A comparison of two runs as aligned text, as Markdown and as DataFrames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...agreement.families.family import FAMILIES
from ...agreement.settings.arguments import one_of, without_numpy
from ...agreement.settings.options import OPTIONS
from ..text.headline import FEW_SAMPLES
from ..text.sections import (
    MOST_LINES,
    Cell,
    Column,
    Facts,
    Note,
    Part,
    Section,
    as_markdown,
    as_text,
    sample_table,
    table,
)
from ..text.words import counted, listed, shown_interval, shown_number, signed
from .dataframes import frame_of

if TYPE_CHECKING:
    from ...agreement.families.compare import AgreementComparison, Change

#: rows of tables of classes, pairs, annotators and samples at most; and what a short text leaves of the first three
_AT_MOST, _AT_LEAST = 10, 3
#: if decisions set labels: so many numbers are shown for the samples without such labels, and in sentences;
#: ``to_dataframe("without_decided")`` has all
_MOST_WITHOUT = 3
#: titles of numbers of pairs, classes and annotators, the most important first; a table shows the first two it has
_COLUMNS = {
    "f1": "F1",
    "miss_rate": "missed",
    "agreement_given_match": "same class",
    "accuracy": "accuracy",
    "mean_absolute_error": "mean absolute error",
    "score": "score",
    "mean_iou": "mean {measure}",
    "iou": "{measure}",
    "alpha": "alpha",
}
#: title of a table, and header of its first column
_PARTS = {
    "pairs": ("Pairs of annotators", "pair"),
    "classes": ("Classes", "class"),
    "annotators": ("Annotators", "annotator"),
    "tags": ("Tags", "tag"),
    "sessions": ("Sessions of one person", ""),
    "reference": ("Against the reference", "annotator"),
    "reference_classes": ("Against the reference, by class", "annotator – class"),
    "reference_sizes": ("Against the reference, by size", "annotator – size"),
    "reference_attributes": ("Against the reference, by attribute", "annotator – attribute"),
    "models": ("Models", "model – annotator"),
    "models_classes": ("Models by class", "model – annotator – class"),
    "models_sizes": ("Models by size", "model – annotator – size"),
    "models_attributes": ("Models by attribute", "model – annotator – attribute"),
}
#: smaller changes are rounding errors, or are not seen in the digits that are shown
_ROUNDING, _SLIGHT = 1e-9, 5e-4
_CHANGE = ("a", "b", "difference", "low", "high")


def comparison_text(comparison: AgreementComparison) -> str:
    """The comparison as text: at most 60 lines, as long as every table keeps 3 rows."""
    text = ""
    for at_most in range(_AT_MOST, 0, -1):
        text = as_text(comparison_sections(comparison, at_most))
        if len(text.splitlines()) <= MOST_LINES:
            break
    return text


def comparison_markdown(comparison: AgreementComparison) -> str:
    """The comparison as Markdown, for the App."""
    return as_markdown(comparison_sections(comparison))


def comparison_sections(comparison: AgreementComparison, at_most: int = _AT_MOST) -> list[Section]:
    """The comparison in sections, the first two of which say what changed; of tables at most so many rows."""
    title = f"Annotator agreement: run '{comparison.b}' compared with '{comparison.a}'"
    # the compared samples and those left out; a warning if the formulas changed between the runs
    left_out = [
        (comparison.n_only_a, f"only in '{comparison.a}'"),
        (comparison.n_only_b, f"only in '{comparison.b}'"),
        (comparison.n_unrated, "without two annotators in both"),
    ]
    said = listed([f"{n:,} {where}" for n, where in left_out if n])
    of_clusters = "" if comparison.n_clusters is None else f" of {comparison.n_clusters:,} videos or groups"
    compared = f"{counted(comparison.n_samples, _what(comparison))}{of_clusters} of both runs"
    basis: list[Part] = [f"{compared}; left out are {said}." if said else f"{compared}."]
    if comparison.formulas is not None:
        older, newer = sorted(comparison.formulas, key=int)
        runs = [comparison.a, comparison.b][:: 1 if comparison.formulas[0] == older else -1]
        told = f"'{runs[0]}' was computed with version {older} of the formulas, '{runs[1]}' with {newer}: numbers can "
        told += f"differ for the same labels; compute '{runs[0]}' again to compare labels alone."
        basis.append(Note(told, is_warning=True))
    # options and annotators that differ between the runs
    facts = [
        (
            f"{OPTIONS[name].title} ({name})" if (name := entry["option"]) in OPTIONS else name,
            f"{_option(entry['a'])} → {_option(entry['b'])}",
        )
        for entry in comparison.options
    ]
    for key, found in ((comparison.a, comparison.annotators_only_a), (comparison.b, comparison.annotators_only_b)):
        if found:
            more = [f"{len(found) - _AT_MOST:,} more"] if len(found) > _AT_MOST else []
            facts.append((f"only in {key}", listed([*found[:_AT_MOST], *more])))
    # the numbers; if decisions set labels, first those of the samples without such labels
    numbers, decided = list[Section](), comparison.decided
    if decided is not None and decided.n_labels and decided.numbers:
        said = f"Numbers of the {decided.n_left:,} {_what(comparison)}s without labels set by decisions"
        numbers.append(Section(said, [_numbers_table(comparison, decided.numbers, _MOST_WITHOUT)]))
    parts: list[Part] = [_numbers_table(comparison, comparison.numbers)]
    if comparison.resamples:
        parts.append("[…] are 95 % intervals of the difference, from resampling the same samples in both runs.")
    numbers.append(Section("Numbers", parts))
    labels = "Nothing but the labels" + (", some of which decisions set." if comparison.decided is not None else ".")
    return [
        Section(title, [*basis, *_verdict(comparison)], is_first=True),
        *numbers,
        Section("What differs between the runs", [Facts(facts)] if facts else [labels]),
        *_parts(comparison, max(at_most, _AT_LEAST)),
        _samples(comparison, at_most),
    ]


def _what(comparison: AgreementComparison) -> str:
    return "frame" if comparison.on_frames else "sample"


def _verdict(comparison: AgreementComparison) -> Iterator[Part]:
    """Sentence on the change of the main numbers; if decisions set labels, first on the samples without them."""
    decided, what = comparison.decided, _what(comparison)
    if decided is not None and decided.n_labels:
        were = "was" if decided.n_labels == 1 else "were"
        labels = f"{counted(decided.n_labels, 'label')} on {counted(decided.n_samples, what)} {were} set by decisions"
        told = f"{labels} between the runs (apply_decisions). That these agree is no agreement of annotators."
        yield Note(told, is_warning=True)
    if decided is not None and decided.is_incomplete:
        told = (
            "Decisions that one of the runs saw applied were taken back or deleted since: which labels, is not known."
        )
        yield Note(told, is_warning=True)
    if decided is not None and decided.n_labels:
        said = _change_said(comparison, decided.numbers, _MOST_WITHOUT)
        changed = f"nothing can be compared ({decided.n_left:,} left)"
        if said is not None:
            changed = f"({decided.n_left:,} left): {said}"
        yield f"Without these {what}s {changed}."
    has_decided = decided is not None and bool(decided.n_labels or decided.is_incomplete)
    said = _change_said(comparison, comparison.numbers, _MOST_WITHOUT if has_decided else None)
    if said is None:
        yield "Nothing can be compared: no number is defined in both runs."
        return
    yield f"With them: {said}." if has_decided else f"{said[0].upper()}{said[1:]}."
    if (comparison.n_samples if comparison.n_clusters is None else comparison.n_clusters) < FEW_SAMPLES:
        yield Note(f"With fewer than {FEW_SAMPLES} samples the intervals are rough.", is_warning=True)


def _change_said(
    comparison: AgreementComparison, numbers: Mapping[str, Change], at_most: int | None = None
) -> str | None:
    """Clause on the change of the numbers that have a card in the panel; None if none can be compared."""
    said = []
    for each in FAMILIES[comparison.family].report.main_numbers:
        change = numbers.get(each.key)
        if not each.card or each.below or change is None or change.difference is None:
            continue
        size = abs(change.difference)
        by = f"{100.0 * size:.1f} points" if each.form == "share" else shown_number(size)
        if size < _SLIGHT:
            by = f"less than {'0.1 points' if each.form == 'share' else '0.001'}"
        changed = f"{'rises' if change.difference > 0 else 'falls'} by {by}"
        if size < _ROUNDING:
            changed = "stays the same"
        elif change.interval is not None and not change.is_clear:
            changed += ", which chance may explain (the interval contains 0)"
        said.append(f"{'the score' if each.key == 'score.mean' else each.name(comparison.measure)} {changed}")
    return listed(said[:at_most]) if said else None


def _change_columns(comparison: AgreementComparison, number: str | None = None) -> list[Column]:
    """Columns with both values of a number and their difference; without ``number`` entries are (name, change)."""

    def change_of(entry: Any) -> Change | None:
        found: Change | None = entry[1] if number is None else entry.numbers.get(number)
        return found

    first = (
        comparison.a
        if number is None
        else f"{_COLUMNS.get(number, number).format(measure=comparison.measure)}: {comparison.a}"
    )

    def difference(entry: Any) -> Cell:
        """A difference and its interval: ``+0.021 [+0.004, +0.040]``."""
        change = change_of(entry)
        found, value = (None, None) if change is None else (change.interval, change.difference)
        return Cell(value, shown_interval(value, found, signed))

    return [
        Column(first, lambda entry: getattr(change_of(entry), "a", None), shown_number),
        Column(comparison.b, lambda entry: getattr(change_of(entry), "b", None), shown_number),
        Column("difference", difference),
    ]


def _numbers_table(comparison: AgreementComparison, numbers: Mapping[str, Change], at_most: int | None = None) -> Part:
    known = FAMILIES[comparison.family].report.main_numbers
    found = [(number.full_name(comparison.measure), numbers[number.key]) for number in known if number.key in numbers]
    return table([Column("number", lambda entry: entry[0]), *_change_columns(comparison)], found[:at_most])


def _option(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {entry}" for name, entry in value.items()) or "none"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _parts(comparison: AgreementComparison, at_most: int) -> Iterator[Section]:
    """Tables of pairs, classes, annotators …; of many rows those that clearly changed; and tables without any."""
    unchanged = []
    for name, parts in comparison.changes.items():
        numbers = [number for number in _COLUMNS if any(number in part.numbers for part in parts)]
        numbers = (numbers or sorted({number for part in parts for number in part.numbers}))[:2]
        title, row = _PARTS.get(name, (name.capitalize(), ""))
        columns = [Column(row, lambda part: " – ".join(part.names))]
        columns += [column for number in numbers for column in _change_columns(comparison, number)]
        if len(parts) <= at_most:
            yield Section(title, [table(columns, parts)])
            continue
        clear = [part for part in parts if any(part.numbers[k].is_clear for k in numbers if k in part.numbers)]
        said = f"{len(clear):,} of {len(parts):,} changed clearly (the interval of the difference excludes 0)"
        some = f", {at_most} of them" if len(clear) > at_most else ""
        if clear:
            yield Section(title, [f"{said}{some}:", table(columns, clear[:at_most])])
        else:
            unchanged.append((title, f"0 of {len(parts):,} changed clearly"))
    if unchanged:
        yield Section("Without a clear change", [Facts(unchanged)])


def _samples(comparison: AgreementComparison, at_most: int) -> Section:
    found = comparison.samples
    undefined = f", {found.n_undefined:,} without a score in one of the runs" if found.n_undefined else ""
    parts: list[Part] = [
        f"Scores of {_what(comparison)}s: {found.n_better:,} better, {found.n_worse:,} worse, {found.n_equal:,} "
        f"equal{undefined}."
    ]
    columns = [
        Column(comparison.a, "a", shown_number),
        Column(comparison.b, "b", shown_number),
        Column("difference", "difference", signed),
    ]
    changed: dict[str, Sequence[Mapping[str, Any]]] = {"Better": found.better, "Worse": found.worse}
    parts += [sample_table(columns, samples[:at_most], title) for title, samples in changed.items() if samples]
    return Section("Where it changed", parts)


def comparison_frame(comparison: AgreementComparison, table: str) -> pd.DataFrame:
    """A table of a comparison, one number each row; undefined numbers are nan."""
    of_whole = {"numbers": comparison.numbers}
    if comparison.decided is not None:
        of_whole["without_decided"] = comparison.decided.numbers
    table = one_of("table", without_numpy(table), (*of_whole, *comparison.changes, "samples"))
    if table in of_whole:
        rows = [{"number": name, **_row(change)} for name, change in of_whole[table].items()]
        return frame_of(rows, ["number", *_CHANGE])
    if table == "samples":
        changed = [*comparison.samples.better, *comparison.samples.worse]
        frame_number = ["frame_number"] if comparison.on_frames else []
        return pd.DataFrame(changed, columns=["id", "filepath", *frame_number, "a", "b", "difference"])
    rows = [
        {"name": " – ".join(part.names), "number": name, **_row(change)}
        for part in comparison.changes[table]
        for name, change in part.numbers.items()
    ]
    return frame_of(rows, ["name", "number", *_CHANGE])


def _row(change: Change) -> dict[str, Any]:
    ends = {end: getattr(change.interval, end, None) for end in ("low", "high")}
    return {"a": change.a, "b": change.b, "difference": change.difference, **ends}
