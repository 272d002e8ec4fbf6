"""Look up the number of a report that belongs to the key of an interval."""

from __future__ import annotations

import math
from typing import Any

from annotator_agreement.agreement.statistics.report import AgreementReport, Interval

NAN = math.nan

#: what tells entries of the lists of a report apart
_NAMES = {"pairs": ("a", "b"), "classes": ("name",), "annotators": ("name",), "tags": ("tag",)}


def number_of(report: AgreementReport, key: tuple[str, ...]) -> float:
    """A number of a report; nan where it is undefined or not there."""
    if key[0].startswith("attributes."):
        _, attribute, number = key[0].split(".")
        found = {entry.name: entry for entry in report.attributes}  # type: ignore[attr-defined]
        return _value(found[attribute], [number])
    if len(key) == 1:
        return _value(report, key[0].split("."))
    if key[0] == "sessions":
        return _of_sessions(report, key[1])
    names = _NAMES[key[0]]
    entry = _entry(report, key)
    return NAN if entry is None else _value(entry, ".".join(key[1 + len(names) :]).split("."))


def interval_of(report: AgreementReport, key: tuple[str, ...]) -> Interval | None:
    """The interval of the number."""
    if len(key) == 1:
        return report.intervals.get(key[0])
    owner = report.sessions if key[0] == "sessions" else _entry(report, key)  # type: ignore[attr-defined]
    for name in key[1 + len(_NAMES.get(key[0], ())) : -1]:
        owner = getattr(owner, name)
    return None if owner is None else owner.intervals.get(key[-1])


def _entry(report: AgreementReport, key: tuple[str, ...]) -> Any:
    names = _NAMES[key[0]]
    wanted = key[1 : 1 + len(names)]
    entries = getattr(report, key[0])
    if report.family == "pixels" and key[0] == "classes":
        return next((entry for entry in entries if (str(entry.value),) == wanted), None)
    return next((entry for entry in entries if tuple(getattr(entry, name) for name in names) == wanted), None)


def _value(owner: Any, path: list[str]) -> float:
    if path[0] == "bias":
        return NAN if owner.bias is None else owner.bias.mean[path[1]]
    for name in ".".join(path).split("."):
        owner = owner.get(name) if isinstance(owner, dict) else None if owner is None else getattr(owner, name)
    return NAN if owner is None else owner


def _of_sessions(report: Any, name: str) -> float:
    kind, _, number = name.partition("_")
    if kind != "difference":
        return _value(report.sessions, [name])
    return _value(report.sessions, [f"intra_{number}"]) - _value(report.sessions, [f"inter_{number}"])
