"""Check requirements against the numbers of a report, or of the reports on its parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ...metrics.matching.merging import TIE
from ..families.family import FAMILIES
from ..settings.errors import AgreementInputError, did_you_mean, shown
from ..statistics.estimates import is_share_name
from ..statistics.report import AgreementReport
from ..statistics.values import Each, interval_at, part_types
from .outcome import FAILED, NOT_ENOUGH, PASSED, AcceptanceCheck, Checked
from .requirements import EACH, INTERVAL, Requirement

#: the reports on the parts that a field makes, by the names of the parts
PartReports: TypeAlias = Callable[[str], Mapping[str, Callable[[], AgreementReport]]]
#: entries of reports that are no numbers of the run
_NO_NUMBERS = ("config", "samples", "schema_version", "intervals", "other_reading", "reference", "models")
#: the names by which an entry of a report was chosen, by key of the requirement; and the entry, None if it has none
Entry: TypeAlias = tuple[dict[str, tuple[str, ...]], Any]


def check_requirements(
    requirements: Sequence[Requirement], source: str, report: AgreementReport, parts: PartReports
) -> AcceptanceCheck:
    """Check requirements.

    Args:
        requirements: what must hold
        source: name of their file
        report: of the run, or of its part on some samples
        parts: of these samples

    Raises:
        AgreementInputError: if one names what the run does not have
    """
    results = list[Checked]()
    for wanted in requirements:
        if not wanted.by:
            results += _checked(wanted, report, "")
            continue
        try:
            found = parts(wanted.by)
        except AgreementInputError as error:
            raise AgreementInputError(f"{wanted.place}: {error}") from error
        if wanted.part != EACH and wanted.part not in found:
            reason = f"no image has {wanted.part!r} by {wanted.by}{did_you_mean(wanted.part, found)}"
            results.append(_result(wanted, {}, wanted.part, reason=reason))
        for name in found if wanted.part == EACH else {wanted.part} & {*found}:
            results += _checked(wanted, found[name](), name)
    return AcceptanceCheck.from_results(report.run_key, source, tuple(results))


def keyed_numbers(owner: Any) -> dict[str, float | None]:
    """The numbers of a part of a report by their keys, also those in the parts that it has itself."""
    return dict(_numbers(type(owner), owner))


def _numbers(kind: Any, owner: Any) -> Iterator[tuple[str, float | None]]:
    parts = part_types(kind)
    for field in dataclasses.fields(kind):
        name, value, part = field.name, getattr(owner, field.name, None), parts.get(field.name)
        if name in _NO_NUMBERS or isinstance(value, bool | str) or str(field.type).startswith("list"):
            continue
        if isinstance(part, Each) or isinstance(value, Mapping):
            for key, entry in (value or {}).items():
                yield from _within(f"{name}.{key}", part.part if isinstance(part, Each) else None, entry)
        elif part is not None or "float" in str(field.type) or "int" in str(field.type):
            yield from _within(name, part, value)


def _within(name: str, part: Any, value: Any) -> Iterator[tuple[str, float | None]]:
    if part is not None:
        yield from ((f"{name}.{key}", each) for key, each in _numbers(part, value))
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _within(f"{name}.{key}", None, entry)
    elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield name, value


def _checked(wanted: Requirement, report: AgreementReport, part: str) -> Iterator[Checked]:
    """The results of a requirement: one for every annotator, class or pair that it is about."""
    roles = {"reference": report.reference, **{f"models.{role.name}": role for role in report.models}}
    prefix = next((name for name in roles if wanted.number.startswith(f"{name}.")), "")
    path = wanted.number.removeprefix(f"{prefix}.") if prefix else wanted.number
    if prefix and roles[prefix] is None:
        yield _result(wanted, {}, part, reason="the run has no reference")
        return
    entries: list[Entry] = [({}, roles[prefix] if prefix else report)]
    for key, names in (("annotator", wanted.annotator), ("class", wanted.class_name), ("pair", wanted.pair)):
        names = (names,) if isinstance(names, str) else names
        if any(names):
            entries = [found for entry in entries for found in _chosen(wanted, entry, key, names, report)]
    for chosen, entry in entries:
        said = _said(chosen)
        if entry is None:
            yield _result(wanted, chosen, part, reason=f"no label is of {said}" if said else "the run has none")
            continue
        known = keyed_numbers(entry)
        if path not in known:
            start = f"{prefix}." if prefix else ""
            every = [start + key for key in known]
            hint = did_you_mean(wanted.number, every) or f"; there are {shown(every, limit=60)}"
            raise AgreementInputError(
                f"{wanted.place}: `number` must be a number{f' of {said}' if said else ''} that the run has, got "
                f"{wanted.number[:200]!r}{hint}"
            )
        if wanted.limit > 1 and is_share_name(path):
            percent = f"; {wanted.limit:g} % is {wanted.limit / 100:g}" if wanted.limit <= 100 else ""
            raise AgreementInputError(
                f"{wanted.place}: the limit of {wanted.number!r}, a share, must be at most 1, got {wanted.limit:g}"
                f"{percent}"
            )
        yield _judged(wanted, chosen, part, report, entry, path, known[path])


def _chosen(
    wanted: Requirement, entry: Entry, key: str, names: tuple[str, ...], report: AgreementReport
) -> Iterator[Entry]:
    """The entries of a table of a report that a requirement chooses.

    Raises:
        AgreementInputError: if the labels have no such table, or no annotator has that name
    """
    before, owner = entry
    if owner is None:
        yield entry
        return
    tables = {"annotator": ["annotators"], "class": ["classes", "tags"], "pair": ["pairs"]}[key]
    rows = next((getattr(owner, table) for table in tables if hasattr(owner, table)), None)
    if rows is None:
        raise AgreementInputError(f"{wanted.place}: a run on {report.family} has no numbers of {tables[0]} there")
    found = {getattr(row, "names", None) or (row.name,): row for row in rows}
    known = [annotator.name for annotator in report.annotators]
    for name in () if key == "class" or names == (EACH,) else names:
        if name not in known:
            raise AgreementInputError(
                f"{wanted.place}: `{key}` must name annotators of the run ({shown(known)}), got {name[:200]!r}"
                f"{did_you_mean(name, known)}"
            )
    names = names if names in found or names[::-1] not in found else names[::-1]
    for each in (list(found) or [()]) if names == (EACH,) else [names]:
        yield {**before, key: each}, found.get(each)


def _said(chosen: Mapping[str, Sequence[str]]) -> str:
    """What was chosen, as text: ``alice``, ``alice and bob``, ``alice, car``."""
    return ", ".join(" and ".join(names) for names in chosen.values() if names)


def _judged(
    wanted: Requirement,
    chosen: dict[str, tuple[str, ...]],
    part: str,
    report: AgreementReport,
    entry: Any,
    path: str,
    value: float | None,
) -> Checked:
    interval = None if value is None else interval_at(entry, path)
    counts = [
        next((getattr(entry, name) for name in names if hasattr(entry, name)), None)
        for names in (("n_units", "n_reference", "n_objects"), ("n_rated", "n_samples", "n_assigned"))
    ]
    ends = {} if interval is None else {"low": interval.low, "high": interval.high}
    found = _result(wanted, chosen, part, value=value, **ends, n_objects=counts[0], n_images=counts[1])
    if value is None:
        return dataclasses.replace(found, reason=f"{wanted.number} is undefined")
    if wanted.judge == INTERVAL:
        if interval is None:
            return dataclasses.replace(found, reason=f"{wanted.number} has no interval")
        value = interval.high if wanted.is_most else interval.low
    # a limit that is reached but for rounding is reached
    if value <= wanted.limit + TIE if wanted.is_most else value >= wanted.limit - TIE:
        return dataclasses.replace(found, outcome=PASSED)
    return dataclasses.replace(found, outcome=FAILED, view=_view(wanted, chosen, report))


def _result(wanted: Requirement, chosen: Mapping[str, Sequence[str]], part: str, **found: Any) -> Checked:
    """The result of a requirement; not enough data, unless it is judged."""
    return Checked(wanted.name, NOT_ENOUGH, wanted.condition, of=_said(chosen), by=wanted.by, part=part, **found)


#: labels that lower a number, by parts of its key; all that are disputed for other numbers
_MISSED = ("missed", "lone", "split", "duplicate")
_VERDICTS = {
    **dict.fromkeys(("f1", "jaccard", "icc", "precision", "recall", "existence"), _MISSED),
    **dict.fromkeys(("class_given_match", "class_agreement", "class_errors", "other_class"), ("class_conflict",)),
}
#: what the reference says of labels that lower a number; all that is not right for other numbers
_SAID_BEHIND = {"recall": ["missed"], "precision": ["loose", "extra"], "class_accuracy": ["wrong_class"],
                "class_recall": ["missed", "wrong_class"]}  # fmt: skip
#: numbers on how labels of one object are drawn
_OF_EXTENT = ("localisation", "mean_iou", "mean_dice")
#: the largest score of masks that differ
_NOT_EQUAL = 1.0 - 1e-12


def _view(wanted: Requirement, chosen: Mapping[str, Sequence[str]], report: AgreementReport) -> dict[str, Any]:
    """Arguments of a view of the labels behind a number, as far as the label type has them."""
    family, keys = FAMILIES[report.family], wanted.number.split(".")
    (annotator,) = chosen.get("annotator") or ("",)
    found: dict[str, Any] = {
        "annotators": [annotator] if annotator else list(chosen.get("pair", ())),
        "classes": list(chosen.get("class", ())),
    }
    has_roles = "missed_by" not in family.not_in_views
    if not family.verdicts:
        found["max_score"] = _NOT_EQUAL
    elif keys[0] == "reference" and has_roles:
        found["reference"] = _SAID_BEHIND.get(keys[-1], ["wrong_class", "loose", "extra"])
    elif annotator and keys[-1] in ("miss_rate", "recall") and has_roles:
        found |= {"missed_by": annotator, "annotators": []}
    elif {*_OF_EXTENT} & {*keys} and family.has_objects:
        found["votes"] = [2, None]
    else:
        wanted_verdicts = next((_VERDICTS[key] for key in (keys[0], keys[-1]) if key in _VERDICTS), ())
        verdicts = [name for name in wanted_verdicts if name in family.verdicts]
        found["verdict"] = verdicts or list(family.disputed)
    return {name: value for name, value in found.items() if value and name not in family.not_in_views}
