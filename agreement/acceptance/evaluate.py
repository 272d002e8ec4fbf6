"""Check requirements against the numbers of a report, or of reports on parts of the samples: passed or failed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from ...metrics.matching.merging import TIE
from ..families.family import FAMILIES
from ..settings.errors import AgreementInputError, did_you_mean, shown
from ..statistics.estimates import is_share_name
from ..statistics.presentation import ShowsItself, shown_as
from ..statistics.report import AgreementReport
from ..statistics.values import Each, interval_at, part_types
from .requirements import EACH, INTERVAL, Requirement

if TYPE_CHECKING:
    from pandas import DataFrame

#: for a field, the parts into which it divides the samples, by name: each a function that builds its report
PartReports: TypeAlias = Callable[[str], Mapping[str, Callable[[], AgreementReport]]]
#: fields of reports in which no number of the run itself is looked for
_NO_NUMBERS = ("config", "samples", "schema_version", "intervals", "other_reading", "reference", "models")
#: the number to suggest where a requirement names only a part of the report: ``score.mean`` for ``score``
_MAIN = ("pooled", "mean", "value")
#: names that choose an entry of a report, by key of the requirement, and the entry; None if the report has none
Entry: TypeAlias = tuple[dict[str, tuple[str, ...]], Any]

PASSED, FAILED, NOT_ENOUGH = "passed", "failed", "not enough data"


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked requirement and its outcome; undefined numbers are None."""

    name: str
    outcome: str  #: ``passed``, ``failed`` or ``not enough data``
    condition: str  #: what must hold
    limit: float | None = None  #: the limit in it
    of: str = ""  #: the annotator, class or pair that the number is of; empty: the whole run
    by: str = ""  #: the field that divides the images, if the number is of a part of them
    part: str = ""  #: name of that part
    value: float | None = None
    low: float | None = None  #: ends of the interval of the value
    high: float | None = None
    n_objects: int | None = None  #: objects behind the number; None where the report does not count them
    n_images: int | None = None  #: images behind the number
    reason: str = ""  #: why there is not enough data
    #: arguments of ``run.view()`` that show the labels on which annotators disagree here; of a part (``by``) those of
    #: all images, of which ``run.on(…).view(…)`` shows those of the part
    view: dict[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def of_requirement(
        cls, wanted: Requirement, chosen: Mapping[str, Sequence[str]], part: str, **found: Any
    ) -> Checked:
        """The result of a requirement that is not judged yet: ``not enough data``."""
        of = ", ".join(" and ".join(names) for names in chosen.values() if names)
        return cls(wanted.name, NOT_ENOUGH, wanted.condition, wanted.limit, of=of, by=wanted.by, part=part, **found)

    @property
    def title(self) -> str:
        """The name of the requirement, with the annotator, class, pair and part in brackets."""
        about = ", ".join(filter(None, (self.of, self.part)))
        return f"{self.name} ({about})" if about else self.name


@dataclass(frozen=True, slots=True, repr=False)
class AcceptanceCheck(ShowsItself):
    """Acceptance check of a run against its requirements.

    ``outcome`` is ``failed`` if any requirement failed, else ``not enough data`` if any has not enough, else
    ``passed``.
    """

    shown_by: ClassVar[str] = "acceptance"

    run_key: str
    source: str  #: name of the requirements file
    outcome: str
    results: tuple[Checked, ...]
    n_unlisted: int = 0  #: results that a stored check leaves out, failures last

    @property
    def passed(self) -> bool:
        """True if all requirements passed."""
        return self.outcome == PASSED

    def of(self, outcome: str) -> list[Checked]:
        """The requirements with an outcome."""
        return [each for each in self.results if each.outcome == outcome]

    @classmethod
    def from_results(cls, run_key: str, source: str, results: tuple[Checked, ...]) -> AcceptanceCheck:
        """The check with the outcome that follows from the results."""
        found = {each.outcome for each in results}
        outcome = next((each for each in (FAILED, NOT_ENOUGH) if each in found), PASSED)
        return cls(run_key, source, outcome, results)

    def shortened(self, at_most: int) -> AcceptanceCheck:
        """The check with at most so many results, failures first."""
        order = (FAILED, NOT_ENOUGH, PASSED)
        ordered = sorted(self.results, key=lambda each: order.index(each.outcome))
        if len(ordered) <= at_most:
            return self
        return dataclasses.replace(self, results=tuple(ordered[:at_most]), n_unlisted=len(ordered) - at_most)

    def __repr__(self) -> str:
        said = ", ".join(f"{len(self.of(each))} {each}" for each in (PASSED, FAILED, NOT_ENOUGH) if self.of(each))
        return f"<{type(self).__name__} of {self.run_key!r}: {self.outcome} ({said}); print_report() says more>"

    def to_dataframe(self) -> DataFrame:
        """The results as a pandas DataFrame, a row each; undefined numbers are nan."""
        return shown_as("acceptance_frame", self)

    def to_dict(self) -> dict[str, Any]:
        """The check as JSON-serialisable values."""
        values = dataclasses.asdict(self)
        return {**values, "results": list(values["results"])}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> AcceptanceCheck:
        """Rebuild a check from :meth:`to_dict`."""
        results = tuple(Checked(**each) for each in values["results"])
        return cls(**{**values, "results": results})


def check_requirements(
    requirements: Sequence[Requirement], source: str, report: AgreementReport, parts: PartReports
) -> AcceptanceCheck:
    """Check requirements against a report and the reports on its parts.

    Args:
        requirements: what must hold
        source: name of their file
        report: on the run, or on some of its samples
        parts: gives the reports on parts of these samples

    Raises:
        AgreementInputError: if a requirement names a number, an annotator or a field that the run does not have
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
            results.append(Checked.of_requirement(wanted, {}, wanted.part, reason=reason))
        for name in found if wanted.part == EACH else {wanted.part} & {*found}:
            results += _checked(wanted, found[name](), name)
    return AcceptanceCheck.from_results(report.run_key, source, tuple(results))


def keyed_numbers(owner: Any) -> dict[str, float | None]:
    """The numbers of a report, or of a part of it, by key (``score.mean``), also those of its own parts."""
    return dict(_numbers(type(owner), owner))


def _numbers(kind: Any, value: Any, key: str = "") -> Iterator[tuple[str, float | None]]:
    """The numbers within a value and their keys; ``kind`` is the class of a part of a report, None of other values."""
    entries: dict[str, tuple[Any, Any]] = {}
    if isinstance(kind, Each):
        entries = {name: (kind.part, entry) for name, entry in (value or {}).items()}
    elif kind is not None:
        parts = part_types(kind)
        for field in dataclasses.fields(kind):
            name, entry, of = field.name, getattr(value, field.name, None), str(field.type)
            is_number = "float" in of or "int" in of or isinstance(entry, Mapping) or name in parts
            is_other = name in _NO_NUMBERS or isinstance(entry, bool | str) or of.startswith("list")
            if is_number and not is_other:
                entries[name] = parts.get(name), entry
    elif isinstance(value, Mapping):
        entries = {name: (None, entry) for name, entry in value.items()}
    elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield key, value
    for name, (part, entry) in entries.items():
        yield from _numbers(part, entry, f"{key}.{name}" if key else name)


def _checked(wanted: Requirement, report: AgreementReport, part: str) -> Iterator[Checked]:
    """The results of a requirement: one for every annotator, class or pair that it is about."""
    roles = {"reference": report.reference, **{f"models.{role.name}": role for role in report.models}}
    # the longest, as the name of a model may begin another: v1 and v1.2
    prefix = max((name for name in roles if wanted.number.startswith(f"{name}.")), key=len, default="")
    path = wanted.number.removeprefix(f"{prefix}.") if prefix else wanted.number
    if prefix and roles[prefix] is None:
        yield Checked.of_requirement(wanted, {}, part, reason="the run has no reference")
        return
    entries: list[Entry] = [({}, roles[prefix] if prefix else report)]
    for key, names in (("annotator", wanted.annotator), ("class", wanted.class_name), ("pair", wanted.pair)):
        names = (names,) if isinstance(names, str) else names
        if any(names):
            entries = [found for entry in entries for found in _chosen(wanted, entry, key, names, report)]
    for chosen, entry in entries:
        result = Checked.of_requirement(wanted, chosen, part)
        if entry is None:
            reason = f"no label is of {result.of}" if result.of else "the run has none"
            yield dataclasses.replace(result, reason=reason)
            continue
        known = keyed_numbers(entry)
        if path not in known:
            every = [f"{prefix}.{key}" if prefix else key for key in known]
            meant = next((key for name in _MAIN if (key := f"{wanted.number}.{name}") in every), None)
            hint = f"; did you mean {meant!r}?" if meant else did_you_mean(wanted.number, every)
            hint = hint or f"; there are {shown(every, limit=60)}"
            raise AgreementInputError(
                f"{wanted.place}: `number` must be a number{f' of {result.of}' if result.of else ''} that the run has, "
                f"got {wanted.number[:200]!r}{hint}"
            )
        if wanted.limit > 1 and is_share_name(path):
            percent = f"; {wanted.limit:g} % is {wanted.limit / 100:g}" if wanted.limit <= 100 else ""
            raise AgreementInputError(
                f"{wanted.place}: the limit of {wanted.number!r}, a share, must be at most 1, got {wanted.limit:g}"
                f"{percent}"
            )
        value = judged = known[path]
        interval = None if value is None else interval_at(entry, path)
        n_objects, n_images = (
            next((getattr(entry, name) for name in names if hasattr(entry, name)), None)
            for names in (("n_units", "n_reference", "n_objects"), ("n_rated", "n_samples", "n_assigned"))
        )
        result = dataclasses.replace(result, value=value, n_objects=n_objects, n_images=n_images)
        if interval is not None:
            result = dataclasses.replace(result, low=interval.low, high=interval.high)
        if wanted.judge == INTERVAL:
            judged = result.high if wanted.is_most else result.low
        if value is None or judged is None:
            reason = f"{wanted.number} {'is undefined' if value is None else 'has no interval'}"
            yield dataclasses.replace(result, reason=reason)
        # a limit that is missed by rounding alone is reached
        elif judged <= wanted.limit + TIE if wanted.is_most else judged >= wanted.limit - TIE:
            yield dataclasses.replace(result, outcome=PASSED)
        else:
            model = prefix.removeprefix("models.") if prefix.startswith("models.") else ""
            yield dataclasses.replace(result, outcome=FAILED, view=_view(wanted, chosen, report, model))


def _chosen(
    wanted: Requirement, entry: Entry, key: str, names: tuple[str, ...], report: AgreementReport
) -> Iterator[Entry]:
    """The entries of a table of a report that a requirement chooses.

    Raises:
        AgreementInputError: if reports on this label type have no such table, or no annotator has that name
    """
    before, owner = entry
    if owner is None:
        yield entry
        return
    tables = {"annotator": ["annotators"], "class": ["classes", "tags"], "pair": ["pairs"]}[key]
    rows = next((getattr(owner, table) for table in tables if hasattr(owner, table)), None)
    if rows is None or isinstance(rows, Mapping):  # an annotator's classes are counts by class
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


#: verdicts of the labels that lower a number, by first or last part of its key; all disputed ones for other numbers
_MISSED = ("missed", "lone", "split", "duplicate")
_VERDICTS = {
    **dict.fromkeys(("f1", "jaccard", "icc", "precision", "recall", "existence"), _MISSED),
    **dict.fromkeys(("class_given_match", "class_agreement", "class_errors", "other_class"), ("class_conflict",)),
}
#: outcomes against the reference of the labels that lower a number; all but right ones for other numbers
_SAID_BEHIND = {
    "recall": ["missed"],
    **{key: ["loose", "extra"] for key in ("precision", "f1", "jaccard")},
    "class_accuracy": ["wrong_class"],
    "class_recall": ["wrong_class", "loose"],
}
#: the same beside a model, whose view also shows both sides together
_BESIDE_MODEL = {
    "recall": ["loose", "missed"],
    "precision": ["loose", "extra"],
    **{key: ["loose", "extra", "missed"] for key in ("f1", "jaccard")},
    "class_accuracy": ["wrong_class"],
    "class_recall": ["wrong_class", "loose", "missed"],
}
#: numbers on how labels of one object are drawn
_OF_EXTENT = ("localisation", "mean_iou", "mean_dice")
#: no score of masks that differ is above this
_NOT_EQUAL = 1.0 - 1e-12


def _view(
    wanted: Requirement, chosen: Mapping[str, Sequence[str]], report: AgreementReport, model: str
) -> dict[str, Any]:
    """Arguments of ``run.view()`` for the labels behind a number, without those that the label type does not have.

    Labels beside a model are shown of all classes; only models of objects have a view.
    """
    family, keys = FAMILIES[report.family], wanted.number.split(".")
    (annotator,) = chosen.get("annotator") or ("",)
    if model:
        verdicts = _BESIDE_MODEL.get(keys[-1], ["wrong_class", "loose", "extra", "missed"])
        of_annotator = {"annotators": [annotator]} if annotator else {}
        return {"model": model, "verdict": verdicts, **of_annotator} if family.has_objects else {}
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
