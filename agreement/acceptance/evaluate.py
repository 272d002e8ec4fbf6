"""Check requirements on the stored records of a run, with the numbers and formulas of its report."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...metrics.matching.merging import TIE
from ...metrics.numeric.arrays import BoolArray
from ..families.family import FAMILIES, build_report
from ..objects.build import object_numbers, sample_contents
from ..objects.records import ObjectRecords
from ..objects.sizes import SizeRule
from ..pixels.report import PixelReport
from ..ratings.compute import RatingRecords, compute_ratings, record_ratings
from ..roles.summary import role_kind
from ..settings.errors import AgreementInputError, did_you_mean, shown
from ..statistics.estimates import Estimate, rated_only, report_estimates
from ..statistics.numbers import Key
from ..statistics.records import Records
from ..statistics.report import AgreementReport, ReportContext, number
from ..statistics.values import at_path, interval_at
from ..tags.compute import TagRecords, compute_tags, record_tags
from .kept_objects import Found, FoundOf, against_reference, field_of, is_of_report, kept_objects, of_report
from .outcome import FAILED, NOT_ENOUGH, PASSED, AcceptanceCheck, Checked
from .requirements import INTERVAL, METRICS, OF_ANNOTATOR, OF_REFERENCE, REFERENCE, Requirement

#: numbers of single classes of masks
_OF_MASK_CLASS = {"iou": "iou", "dice": "dice"}


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """A run, or its part on some samples."""

    records: Records
    context: ReportContext
    report: AgreementReport  #: of these records
    tagged: Callable[[Sequence[str]], BoolArray]  #: the samples with one of some tags, a mask ``(S,)``


def check_requirements(requirements: Sequence[Requirement], source: str, run: CheckedRun) -> AcceptanceCheck:
    """Check requirements; those for labels of other types than those of the run are left out.

    Raises:
        AgreementInputError: if none is for the labels of the run, or one names what the run does not have
    """
    types = {name.lower() for name in run.report.label_types} | {run.report.family}
    kept = [each for each in requirements if not each.labels or types & set(each.labels)]
    if not kept:
        for_types = sorted({name for each in requirements for name in each.labels})
        raise AgreementInputError(
            f"{source} must have a requirement for {shown(run.report.label_types)}, got requirements for "
            f"{shown(for_types)}"
        )
    by_filter: dict[Requirement, list[Requirement]] = defaultdict(list)
    for each in kept:
        _check_fits(each, run)
        by_filter[_filters(each)].append(each)
    results: dict[str, list[Checked]] = {}
    for filters, asked in by_filter.items():
        numbers = _numbers_of(filters, asked, run)
        for each in asked:
            results[each.name] = [
                _judged(each, name, numbers(each, name), run) for name in _annotators(each, run.report)
            ]
    ordered = tuple(result for each in kept for result in results[each.name])
    left_out = tuple(each.name for each in requirements if each not in kept)
    return AcceptanceCheck.from_results(run.report.run_key, source, ordered, left_out)


def _annotators(wanted: Requirement, report: AgreementReport) -> list[str | None]:
    """Whom a requirement is about one by one; None for all together."""
    if not wanted.of_one:
        return [None]
    return list(wanted.annotators) or [entry.name for entry in report.annotators]


def _filters(wanted: Requirement) -> Requirement:
    """Filters of a requirement alone: requirements with equal filters share their numbers."""
    several = wanted.annotators if len(wanted.annotators) > 1 and wanted.against != REFERENCE else ()
    return Requirement(
        name="",
        place="",
        against=wanted.against,
        classes=wanted.classes,
        attributes=wanted.attributes,
        size=wanted.size,
        area=wanted.area,
        tags=wanted.tags,
        annotators=several,
        iou=wanted.iou,
    )


def _check_fits(wanted: Requirement, run: CheckedRun) -> None:
    """Raise :class:`AgreementInputError` if a requirement names what the run does not have."""
    report, names = run.report, list(run.context.annotators)
    start = f"{wanted.place}: "
    for name in wanted.annotators:
        if name not in names:
            hint = did_you_mean(name, names)
            raise AgreementInputError(
                f"{start}`annotators` must be annotators of the run ({shown(names)}), got {name!r}{hint}"
            )
    for name, _ in wanted.attributes:
        if not report.has_objects or name not in run.context.config.attributes:
            compared = shown(run.context.config.attributes) or "none"
            raise AgreementInputError(
                f"{start}`attributes` must be among those that the run compared ({compared}), got {name!r}; compute it "
                f"with attributes=[{name!r}]"
            )
    if not report.has_objects and (wanted.size or wanted.area or wanted.iou):
        raise AgreementInputError(f"{start}`size`, `area` and `iou` are of objects, got a run on {report.family}")
    if isinstance(report, PixelReport):
        if len(wanted.classes) > 1 or (wanted.classes and wanted.metric not in _OF_MASK_CLASS):
            raise AgreementInputError(
                f"{start}of masks, `classes` must be one class, with the metric iou or dice, got "
                f"{shown(wanted.classes)} and {wanted.metric}"
            )
        if len(wanted.annotators) > 1 and wanted.against != REFERENCE:
            raise AgreementInputError(
                f"{start}of masks, `annotators` must be one annotator, got {len(wanted.annotators)}"
            )
    if not _has_number(wanted, run):
        table: Iterable[str] = OF_ANNOTATOR if wanted.of_one else METRICS
        table, whom = (OF_REFERENCE, " against the reference") if wanted.against == REFERENCE else (table, "")
        known = [name for name in table if _has_number(dataclasses.replace(wanted, metric=name), run)]
        raise AgreementInputError(
            f"{start}`metric` must be a number of runs on {shown(report.label_types)}{whom} "
            f"({shown(known, limit=30)}), got {wanted.metric!r}"
        )


def _has_number(wanted: Requirement, run: CheckedRun) -> bool:
    """True if the labels of a run have the number, be it defined or not."""
    if wanted.against == REFERENCE:
        return bool(field_of(wanted, role_kind(run.records, run.context)))
    return _path(wanted, run.report) is not None


def _path(wanted: Requirement, report: AgreementReport) -> str | None:
    """Path of the number in a report; None if it has no such number."""
    if isinstance(report, PixelReport) and wanted.classes:
        return _OF_MASK_CLASS.get(wanted.metric)
    if wanted.of_one:
        owner: Any = next(iter(report.annotators), None)
        paths = OF_ANNOTATOR.get(wanted.metric, ())
    else:
        owner, paths = report, METRICS.get(wanted.metric, (wanted.metric,))
    return next((path for path in paths if _has(owner, path)), None)


def _has(owner: Any, path: str) -> bool:
    """True if there is an entry at a path, also an undefined one."""
    for name in path.split("."):
        if owner is None:
            return True  # a part that is undefined as a whole
        if not (name in owner if isinstance(owner, dict) else hasattr(owner, name)):
            return False
        owner = _entry(owner, name)
    return True


def _entry(owner: Any, name: str) -> Any:
    return owner.get(name) if isinstance(owner, dict) else getattr(owner, name, None)


# ---- the numbers ----


def _numbers_of(filters: Requirement, asked: Sequence[Requirement], run: CheckedRun) -> FoundOf:
    """The numbers of requirements with the same filters."""
    if filters.against == REFERENCE and is_of_report(filters):
        kind = role_kind(run.records, run.context)
        return lambda wanted, annotator: of_report(wanted, annotator, run.report, kind)
    records, context = run.records, run.context
    if filters.tags:
        chosen = run.tagged(filters.tags)
        records, context = records.select(chosen), context.of_samples(chosen)
    least, threshold = min((value for _, value in filters.iou), default=context.config.iou), context.config.iou
    if isinstance(records, ObjectRecords) and least < threshold - TIE:
        reason = f"the run matched at {threshold:g}; {least:g} needs another matching, of a run with iou={least:g}"
        return lambda *_: Found(reason=reason)
    known = {*context.class_names}
    if isinstance(run.report, PixelReport):
        known = {entry.name for entry in run.report.classes}
    named = [tuple(name for name, _ in filters.iou if name != "default")]
    if filters.against == REFERENCE:
        known |= {*context.role_class_names}
    elif not context.details.get("numbers"):
        named.append(filters.classes)
    missing = next((min(names) for names in named if names and known.isdisjoint(names)), None)
    if missing is not None:
        reason = f"no label has the class {missing!r}{did_you_mean(missing, filter(None, known))}"
        return lambda *_: Found(n_objects=0, n_images=0, reason=reason)
    if filters.against == REFERENCE:
        return against_reference(filters, records, context)
    if isinstance(records, ObjectRecords):
        if filters.has_object_filters or filters.tags or filters.annotators:
            return _of_objects(filters, asked, records, context, run)
        return _of_report(run.report, records)
    if isinstance(records, RatingRecords):
        records, context = _kept_ratings(filters, records, context)
    elif isinstance(records, TagRecords):
        records, context = _kept_tags(filters, records, context)
    if not records.rated.any():
        return lambda *_: Found(n_objects=0, n_images=0, reason="no image with two annotators")
    same = records is run.records
    return _of_report(run.report if same else build_report(records, context), records)


def _counts(records: Records) -> tuple[int, int]:
    """Units of rated samples, and rated samples."""
    values, rated = records.sample_values(), records.rated
    return int(values.n_units[rated].sum()), int(rated.sum())


def _of_report(report: AgreementReport, records: Records) -> FoundOf:
    """The numbers of a report."""
    n_objects, n_images = _counts(records)
    by_name = {entry.name: entry for entry in report.annotators}

    def numbers(wanted: Requirement, annotator: str | None) -> Found:
        path = _path(wanted, report)
        owner: Any = report if annotator is None else by_name.get(annotator)
        if isinstance(report, PixelReport) and wanted.classes:
            owner = next((each for each in _entry(report, "classes") if each.name == wanted.classes[0]), None)
        if owner is None or path is None:
            return Found(n_objects=n_objects, n_images=n_images)
        return Found(at_path(owner, path), interval_at(owner, path), n_objects, n_images)

    return numbers


def _of_objects(
    filters: Requirement,
    asked: Sequence[Requirement],
    records: ObjectRecords,
    context: ReportContext,
    run: CheckedRun,
) -> FoundOf:
    """The numbers of some objects: those that are asked for, and no others."""
    assert isinstance(run.records, ObjectRecords)
    rule = SizeRule.of(run.records, context.config)
    if rule.limits is None and (filters.size or filters.area):
        return lambda *_: Found(reason="the objects of the run have no size")
    records, context = kept_objects(records, context, rule, filters)
    n_objects, n_images = _counts(records)
    if not n_images or not n_objects:
        return lambda *_: Found(n_objects=0, n_images=n_images, reason="no such object on an image with two annotators")
    records, context = rated_only(records, context)
    wanted = {_key(each, name, run.report) for each in asked for name in _annotators(each, run.report)}
    whole_only = all(len(key) == 1 for key in wanted)
    numbers = (
        each for each in object_numbers(records, context, headline_only=whole_only) if not wanted.isdisjoint(each.keys)
    )
    found = report_estimates(numbers, lambda: sample_contents(records, context), records, context)

    def number_of(each: Requirement, annotator: str | None) -> Found:
        estimate = found.get(_key(each, annotator, run.report), Estimate(np.nan, None))
        return Found(number(estimate.value), estimate.interval, n_objects, n_images)

    return number_of


def _key(wanted: Requirement, annotator: str | None, report: AgreementReport) -> Key:
    """The key of a number of objects."""
    path = _path(wanted, report) or ""
    if annotator is None:
        return (path,)
    part = path.rpartition(".")[0]
    return ("annotators", annotator, *([part] if part else []), path.rpartition(".")[2])


def _kept_ratings(
    filters: Requirement, records: RatingRecords, context: ReportContext
) -> tuple[RatingRecords, ReportContext]:
    """The ratings of some annotators, of images to which anybody gave one of some classes."""
    ratings, is_number = records.ratings, bool(context.details["numbers"])
    if not (filters.classes or filters.annotators):
        return records, context
    if filters.annotators:
        places = [k for k, name in enumerate(context.annotators) if name in filters.annotators]
        ratings = ratings[:, places]
        context = dataclasses.replace(context, annotators=[context.annotators[k] for k in places])
        records = record_ratings(compute_ratings(ratings, context.config.tolerance), numbers=is_number)
    if filters.classes:
        if is_number:
            wanted = [float(name) for name in filters.classes if _is_number(name)]
        else:
            wanted = [code for code, name in enumerate(context.class_names) if name in filters.classes]
        chosen: BoolArray = np.isin(ratings, wanted).sum(axis=1) > 0
        records, context = records.select(chosen), context.of_samples(chosen)
    return records, context


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _kept_tags(filters: Requirement, records: TagRecords, context: ReportContext) -> tuple[TagRecords, ReportContext]:
    """Some tags and annotators; images without these tags are left out."""
    if not (filters.classes or filters.annotators):
        return records, context
    batch, chosen = records.batch(), np.ones(records.n_samples, np.bool_)
    kept = np.ones(len(batch.tag), np.bool_)
    if filters.annotators:
        places = [k for k, name in enumerate(context.annotators) if name in filters.annotators]
        kept &= np.isin(batch.annotator, places)
        context = dataclasses.replace(context, annotators=[context.annotators[k] for k in places])
        batch = dataclasses.replace(batch, assigned=batch.assigned[:, places])
    else:
        places = list(range(records.n_annotators))
    if filters.classes:
        codes = [code for code, name in enumerate(context.class_names) if name in filters.classes]
        kept &= np.isin(batch.tag, codes)
        chosen = np.bincount(batch.sample[kept], minlength=records.n_samples) > 0
    batch = dataclasses.replace(
        batch,
        sample=batch.sample[kept],
        annotator=np.searchsorted(places, batch.annotator[kept]),
        tag=batch.tag[kept],
        otherwise=None,
    ).select(chosen)
    return record_tags(compute_tags(batch), len(places)), context.of_samples(chosen)


# ---- the outcome ----


def _judged(wanted: Requirement, annotator: str | None, found: Found, run: CheckedRun) -> Checked:
    """Result of checking a requirement against its numbers."""
    outcome, reason = _outcome(wanted, found)
    low, high = (None, None) if found.interval is None else (found.interval.low, found.interval.high)
    return Checked(
        name=wanted.name,
        outcome=outcome,
        condition=wanted.condition,
        value=found.value,
        low=low,
        high=high,
        n_objects=found.n_objects,
        n_images=found.n_images,
        annotator=annotator,
        reason=reason,
        view={} if outcome == PASSED else _view(wanted, annotator, run),
        tags=list(wanted.tags),
    )


def _outcome(wanted: Requirement, found: Found) -> tuple[str, str]:
    if found.reason:
        return NOT_ENOUGH, found.reason
    for least, n, what in (
        (wanted.least_objects, found.n_objects, "objects"),
        (wanted.least_images, found.n_images, "images"),
    ):
        if least and (n is None or n < least):
            return NOT_ENOUGH, f"{'unknown' if n is None else f'{n:,}'} of at least {least:,} {what}"
    if found.value is None:
        return NOT_ENOUGH, f"{wanted.metric} is undefined"
    value = found.value
    if wanted.judge == INTERVAL:
        ends = (None, None) if found.interval is None else (found.interval.low, found.interval.high)
        end = ends[1] if wanted.is_most else ends[0]
        if end is None:
            return NOT_ENOUGH, f"{wanted.metric} has no interval"
        value = end
    # a threshold that is reached but for rounding is reached
    reached = value <= wanted.limit + TIE if wanted.is_most else value >= wanted.limit - TIE
    return (PASSED if reached else FAILED), ""


#: verdicts of labels that lower a number; all that are disputed, if it is not here
_VERDICTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("f1", "jaccard", "count_icc", "precision", "recall"), ("missed", "lone", "split", "duplicate")),
    **dict.fromkeys(("class_agreement", "class_alpha", "kappa", "ac1", "other_class"), ("class_conflict",)),
}
#: what the reference says of labels that lower a number; of others all that is not right
_SAID_BEHIND = {"recall": ["missed"], "precision": ["loose", "extra"], "class_accuracy": ["wrong_class"],
                "class_recall": ["missed", "wrong_class"]}  # fmt: skip
#: numbers on how labels of one object are drawn
_OF_EXTENT = ("iou", "dice")
#: the largest score of masks that differ
_NOT_EQUAL = 1.0 - 1e-12


def _view(wanted: Requirement, annotator: str | None, run: CheckedRun) -> dict[str, Any]:
    """Arguments of a view of the labels behind a requirement, as far as the label type has them."""
    family = FAMILIES[run.report.family]
    found: dict[str, Any] = {
        "annotators": [annotator] if annotator is not None else list(wanted.annotators[:2]),
        "classes": [name for name in wanted.classes if name in run.context.class_names],
    }
    if not family.verdicts:
        found["max_score"] = _NOT_EQUAL
    elif wanted.against == REFERENCE and "missed_by" not in family.not_in_views:
        found["reference"] = _SAID_BEHIND.get(wanted.metric, ["wrong_class", "loose", "extra"])
    elif annotator is not None and wanted.metric in ("miss_rate", "recall") and "missed_by" not in family.not_in_views:
        found |= {"missed_by": annotator, "annotators": []}
    elif wanted.metric in _OF_EXTENT and family.has_objects:
        found["votes"] = [2, None]
    else:
        verdicts = [name for name in _VERDICTS.get(wanted.metric, ()) if name in family.verdicts]
        found["verdict"] = verdicts or list(family.disputed)
    return {name: value for name, value in found.items() if value and name not in family.not_in_views}
