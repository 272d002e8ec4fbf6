"""Tables of a report as pandas DataFrames."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...agreement.objects.sensitivity import RuleAlpha, Sensitivity, ThresholdPoint
from ...agreement.settings.arguments import one_of, without_numpy
from ...agreement.settings.errors import AgreementInputError
from ...agreement.statistics.values import part_types
from .families import family_of

if TYPE_CHECKING:
    from ...agreement.disputes.judged import DecisionReport
    from ...agreement.statistics.report import AgreementReport, Interval

Row = dict[str, Any]
Rows = Callable[[Any], list[Row]]

#: tables that are read from the stored records of a run
STORED = ("samples", "labels", "units")
#: tables that are computed when they are asked for, of runs on objects
ON_DEMAND = ("thresholds", "rules", "best_matches")
#: ends of an interval, in the columns after its number
_ENDS = ("low", "high")
#: parts of a report that are not summaries of agreement
_NOT_NUMBERS = ("run", "sessions", "samples", "reference")
_PLAIN = {"str", "int", "float", "bool", "None"}


def table_names(report: AgreementReport) -> list[str]:
    """The tables of a report of this family, including empty ones."""
    return [name for name, (part, _) in _TABLES.items() if _has(type(report), *part.split("."))]


def _has(owner: Any, name: str, *more: str) -> bool:
    """True if a class has a field of this name, the class of that field has the next name, and so on."""
    if name not in {field.name for field in dataclasses.fields(owner)}:
        return False
    return not more or _has(part_types(owner)[name], *more)


def report_frame(report: AgreementReport, table: str) -> pd.DataFrame:
    """A table of a report; undefined numbers are nan.

    Raises:
        AgreementInputError: if reports of this family have no such table
    """
    names = table_names(report)
    from_run = (*STORED, *(ON_DEMAND if report.has_objects else ()))
    table = one_of("table", without_numpy(table), (*names, *from_run))
    if table in from_run:
        if report.samples is None:
            raise AgreementInputError(
                f"The table of {table} needs a report that was loaded from a dataset, got another one; use "
                f"load(dataset, run_key).to_dataframe({table!r})"
            )
        return report.samples.read(table)
    rows = _TABLES[table][1](report)
    if rows:
        return frame_of(rows)
    # an empty table has the fields of its entries as columns, except dictionaries and lists
    kind: Any = type(report)
    part = part_types(kind).get(table)
    fields = dataclasses.fields(part) if dataclasses.is_dataclass(part) else ()
    return frame_of([], [field.name for field in fields if set(str(field.type).split(" | ")) <= _PLAIN])


def frame_of(rows: Sequence[Row], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A table with nan for undefined numbers, also in columns of undefined numbers alone."""
    frame = pd.DataFrame(rows, columns=columns)
    for name in frame.columns:
        if frame[name].isna().all():  # a column with None only has no type
            frame[name] = np.full(len(frame), np.nan)
    return frame


def decisions_frame(report: DecisionReport) -> pd.DataFrame:
    """Table of an adjudication report: every annotator, and the rule; undefined numbers are nan."""
    return frame_of([flat(entry) for entry in report.rows])


def flat(entry: Any) -> Row:
    """A part of a report as one row: numbers with the ends of their intervals, dictionaries by ``name.key``.

    Lists are left out; they are separate tables.
    """
    row: Row = {}
    intervals: Mapping[str, Interval] = getattr(entry, "intervals", {})
    for field in dataclasses.fields(entry):
        if field.name != "intervals":
            _add(row, field.name, getattr(entry, field.name), intervals)
    return row


def _add(row: Row, name: str, value: Any, intervals: Mapping[str, Interval]) -> None:
    if dataclasses.is_dataclass(value):
        for key, nested in flat(value).items():
            row[f"{name}.{key}"] = nested
    elif isinstance(value, Mapping):
        for key, nested in value.items():
            _add(row, f"{name}.{key}", nested, intervals)
    elif not isinstance(value, list):
        row[name] = value
        if name in intervals:
            row |= {f"{name}_{end}": getattr(intervals[name], end) for end in _ENDS}


def _listed(path: str, **names: dict[str, str]) -> tuple[str, Rows]:
    """A table for :data:`_TABLES` from a list of parts or dictionaries, which may be a field of entries of other lists.

    Args:
        path: names of fields from the report to the list of the rows, each a list or a single part
        names: by field, the columns with attributes of its entries (column: attribute); for the last field
            new names of columns
    """
    *owners, last = path.split(".")
    titles = {name: column for column, name in names.get(last, {}).items()}

    def rows_of(owner: Any, lists: Sequence[str], named: Row) -> Iterator[Row]:
        if not lists:
            for entry in getattr(owner, last):
                row = entry if isinstance(entry, Mapping) else flat(entry)
                yield named | {titles.get(name, name): value for name, value in row.items()}
            return
        found = getattr(owner, lists[0])
        for part in found if isinstance(found, list) else [] if found is None else [found]:
            of_part = {column: getattr(part, name) for column, name in names.get(lists[0], {}).items()}
            yield from rows_of(part, lists[1:], named | of_part)

    return path, lambda report: list(rows_of(report, owners, {}))


def _summary(report: AgreementReport) -> list[Row]:
    """The main numbers, one per row: counts, numbers of all parts, and the declared main numbers of the report."""
    shown: Row = {name: getattr(report, name) for name in ("n_samples", "n_rated", "n_units", "n_objects")}
    for field in dataclasses.fields(report):
        part = getattr(report, field.name)
        if dataclasses.is_dataclass(part) and field.name not in _NOT_NUMBERS:
            _add(shown, field.name, part, {})
    shown |= {number.key: number.value(report) for number in report.main_numbers if number.key not in shown}
    numbers = {name: value for name, value in shown.items() if not isinstance(value, str)}
    rows = []
    for name, value in numbers.items():
        found = report.intervals.get(name)
        rows.append({"number": name, "value": value, **{end: getattr(found, end, None) for end in _ENDS}})
    return rows


def _intervals(report: AgreementReport) -> list[Row]:
    """Every interval of the report, with all its fields."""
    found = [("", number, entry) for number, entry in report.intervals.items()]
    for kind in ("pairs", "annotators", "classes"):
        for entry in getattr(report, kind, []):
            of = f"{kind}: " + (f"{entry.a} / {entry.b}" if kind == "pairs" else entry.name)
            found += [(of, number, interval) for number, interval in getattr(entry, "intervals", {}).items()]
            for part in ("bias", "consensus"):
                nested = getattr(getattr(entry, part, None), "intervals", {})
                found += [(of, f"{part}.{number}", interval) for number, interval in nested.items()]
    return [{"of": of, "number": number, **dataclasses.asdict(entry)} for of, number, entry in found]


def _annotators(report: Any) -> list[Row]:
    rows = []
    for entry in report.annotators:
        bias = getattr(entry, "bias", None)
        ends = {
            f"bias.mean.{side}_{end}": getattr(found, end)
            for side, found in (bias.intervals if bias is not None else {}).items()
            for end in _ENDS
        }
        # there may be 1,000 classes: they have a separate table
        rows.append({name: value for name, value in flat(entry).items() if not name.startswith("classes.")} | ends)
    return rows


def _persons(report: AgreementReport) -> list[Row]:
    """Every model compared with annotators left out: in total, by annotator (with the test), class and size."""
    return [
        {"role": model.name, "part": part, **flat(entry), **of_tests.get(entry.name, {})}
        for model in report.models
        if model.person is not None
        for part, entries, tests in (
            ("total", [model.person.total], []),
            ("annotators", model.person.annotators, model.person.left_out),
            ("classes", model.person.classes, []),
            ("sizes", model.person.sizes, []),
        )
        for of_tests in [{each.name: flat(each) for each in tests}]
        for entry in entries
    ]


def sensitivity_frame(found: Sensitivity, table: str) -> pd.DataFrame:
    """A table of the numbers at other thresholds or rules, one of :data:`ON_DEMAND`.

    Raises:
        AgreementInputError: if there are no numbers, as the labels cannot be read again
    """
    if table == "best_matches":  # histograms of the best similarities on the same image, and on another one
        best = found.data_threshold
        return frame_of([] if best is None else _bins({"n_observed": best.observed, "n_expected": best.expected}))
    entries = getattr(found, table)
    if found.note and not entries:
        raise AgreementInputError(found.note)
    kind = RuleAlpha if table == "rules" else ThresholdPoint
    return frame_of([flat(entry) for entry in entries], [field.name for field in dataclasses.fields(kind)])


def _bins(counts: Mapping[str, Sequence[int]]) -> list[Row]:
    n = max(map(len, counts.values()))
    return [
        {"from": round(k / n, 6), "to": round((k + 1) / n, 6), **{name: of[k] for name, of in counts.items() if of}}
        for k in range(n)
    ]


_ANNOTATOR, _MODEL = {"annotator": "name"}, {"model": "name"}
#: names of the entries of parts of the comparison with a reference or model
_OF_PARTS = {"classes": {"class": "name"}, "sizes": {"size": "name"}, "attributes": {"attribute": "name"}}
#: every table by name: the field that a report needs for it, and its rows
_TABLES: dict[str, tuple[str, Rows]] = {
    "summary": ("score", _summary),
    "pairs": _listed("pairs"),
    "annotators": ("annotators", _annotators),
    # how often each annotator gave each class; of masks the share of pixels
    "annotator_classes": ("annotators.classes", lambda report: [
        {"annotator": entry.name, "class": name, "share" if family_of(report).shares_of_classes else "n": count}
        for entry in report.annotators
        for name, count in entry.classes.items()
    ]),
    # classes of annotators where most of the others gave another one
    "other_classes": _listed(
        "annotators.other_classes", annotators=_ANNOTATOR, other_classes={"class": "a", "most_others": "b"}
    ),
    "worst_samples": _listed("worst_samples"),
    "intervals": ("intervals", _intervals),
    "classes": _listed("classes"),
    "confused_classes": _listed("classes.confused_with", classes={"name": "name"}),
    "confusion": _listed("class_given_match.confusion"),
    "coefficients": ("categories", lambda report: [
        {"coefficient": name, "weights": weights, "value": value}
        for name, values in report.coefficients.items()
        for weights, value in values.items()
    ]),
    "pair_confusion": _listed("pairs.confusion", pairs={"annotator_a": "a", "annotator_b": "b"}),
    "tags": _listed("tags"),
    "votes": _listed("existence.votes"),
    "iou": ("localisation.iou_histogram", lambda report: _bins({"n_iou": report.localisation.iou_histogram})),
    "sizes": _listed("sizes"),
    "attributes": _listed("attributes"),
    "attribute_conflicts": _listed("attributes.conflicts", attributes={"name": "name"}),
    "merges": ("merges", lambda report: [
        {**{f"class_{letter}": name for letter, name in zip("ab", entry.classes, strict=False)}, **flat(entry)}
        for entry in report.merges
    ]),
    "similar_names": ("similar_names", lambda report: [
        {"group": k, "name": name} for k, group in enumerate(report.similar_names, 1) for name in group
    ]),
    "clusters": ("clusters", lambda report: [
        {"join": join, "annotator": name, "similarity": entry.similarity}
        for join, entry in enumerate(report.clusters, 1)
        for name in entry.members
    ]),
    "findings": ("findings", lambda report: [
        {**dataclasses.asdict(each), **{name: ", ".join(getattr(each, name)) for name in ("annotators", "classes")}}
        for each in report.findings
    ]),
    "reference": _listed("reference.annotators", annotators=_ANNOTATOR),
    **{f"reference_{part}": _listed(f"reference.annotators.{part}", annotators=_ANNOTATOR, **_OF_PARTS)
       for part in _OF_PARTS},
    "reference_confusion": _listed("reference.annotators.confusion", annotators={"name": "name"}),
    "reference_attribute_conflicts": _listed(
        "reference.annotators.attributes.confusion", annotators={"name": "name"}, attributes={"attribute": "name"}
    ),
    "models": _listed("models.annotators", models=_MODEL, annotators=_ANNOTATOR),
    **{f"models_{part}": _listed(f"models.annotators.{part}", models=_MODEL, annotators=_ANNOTATOR, **_OF_PARTS)
       for part in _OF_PARTS},
    "persons": ("models", _persons),
}  # fmt: skip
