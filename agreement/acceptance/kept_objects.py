"""Filter records to the objects of a requirement, and their numbers against the reference; no label is read again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from ...metrics.geometry.objects import Objects, dice_from_iou
from ...metrics.matching.merging import TIE
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, components, pairs_within
from ..families.family import FAMILIES
from ..matching.batch import CrowdExemptions, SamplePairs
from ..matching.compute import (
    Agreement,
    Counting,
    MatchedPairs,
    Units,
    pair_scores,
    ratings_of,
    sample_alpha,
    sample_scores,
)
from ..matching.verdicts import DUPLICATE, LONE, MISSED, SPLIT, unit_verdicts
from ..objects.attributes import Values
from ..objects.records import MAX_OBJECTS_AT_ONCE, ObjectRecords, agreement_columns, agreement_of_part
from ..objects.sizes import SIZES, SizeRule
from ..roles.matching import LOOSELY
from ..roles.numbers import COLUMNS, AgainstRole, role_names
from ..roles.summary import REFERENCE as KEY
from ..roles.summary import against_role, on_shared
from ..statistics.estimates import Estimate, estimates
from ..statistics.records import AnyColumns, Columns, Records
from ..statistics.report import AgreementReport, Interval, ReportContext, number
from .requirements import Requirement

#: columns of objects that stay as they are
_SAME = ("label_id", "field", "area", "boxes_xyxy", "first_frame", "outline", "attributes", "track")


@dataclass(frozen=True, slots=True)
class _Choice:
    """Filters of objects, annotators and attributes, as codes."""

    annotators: IntArray  #: codes of the annotators, ascending
    classes: IntArray | None  #: codes of classes; None: all
    attributes: Sequence[tuple[int, IntArray]]  #: attributes by place, with the codes of their values
    sizes: IntArray | None  #: indices into ``SIZES``; None: all
    area: tuple[float, float] | None
    least_iou: FloatArray | None  #: least IoU of matched labels by class code; None: as the run matched
    values: Sequence[Values]  #: values of the compared attributes

    @property
    def is_of_objects(self) -> bool:
        """True if images without such an object do not count."""
        return self.classes is not None or bool(self.attributes) or self.sizes is not None or self.area is not None


def kept_objects(
    records: ObjectRecords, context: ReportContext, rule: SizeRule, wanted: Requirement
) -> tuple[ObjectRecords, ReportContext]:
    """The objects and annotators that a requirement is about.

    An object is kept or left out as a whole, with the labels of all annotators. Labels of one object that are less
    alike than ``iou`` are no longer matched: its labels fall apart into those that pairs at that IoU hold together.
    Images without any such object are left out, unless only annotators and IoU are chosen.

    Args:
        records: of the run
        context: of the run
        rule: definition of small, medium and large in the run
        wanted: the requirement, whose names exist in the run
    """
    choice = _choice(context, wanted)
    kept = [_part(part, records.n_annotators, context, rule, choice)
            for part in records.chunks("n_objects", MAX_OBJECTS_AT_ONCE)]  # fmt: skip
    samples = np.concatenate([rows for _, rows in kept])
    found = ObjectRecords(len(choice.annotators), tuple(columns for columns, _ in kept))
    return found, context.of_samples(samples, [context.annotators[code] for code in choice.annotators.tolist()])


def _choice(context: ReportContext, wanted: Requirement) -> _Choice:
    names, classes = list(context.annotators), list(context.class_names)
    annotators = [names.index(name) for name in wanted.annotators if len(wanted.annotators) > 1] or range(len(names))
    attributes = []
    for name, value in wanted.attributes:
        place = context.config.attributes.index(name)
        codes = [code for code, known in enumerate(context.attribute_values[name]) if is_same_value(known, value)]
        attributes.append((place, np.array(codes, np.int64)))
    least = None
    if wanted.iou:
        of_class = dict(wanted.iou)
        least = np.array([of_class.get(name, of_class["default"]) for name in classes])
    low, high = wanted.area or (None, None)
    values = [Values.of(name, context.attribute_values.get(name, [None]), context.config.tolerance)
              for name in context.config.attributes]  # fmt: skip
    return _Choice(
        np.sort(np.array(annotators, np.int64)),
        np.array([code for code, name in enumerate(classes) if name in wanted.classes]) if wanted.classes else None,
        attributes,
        np.array([SIZES.index(size) for size in wanted.size]) if wanted.size else None,
        (-np.inf if low is None else low, np.inf if high is None else high) if wanted.area else None,
        least,
        values,
    )


def is_same_value(known: Any, value: Any) -> bool:
    """True if a value of an attribute is the one meant; 1 is not true."""
    return isinstance(known, bool) == isinstance(value, bool) and bool(known == value)


def _units_wanted(agreement: Agreement, choice: _Choice, own: BoolArray, rule: SizeRule) -> BoolArray:
    """The units that are kept, shape ``(U,)``; ``own`` are the labels of the chosen annotators."""
    n_units, unit = len(agreement.units.sample), agreement.unit
    kept = np.ones(n_units, np.bool_)

    def with_any(labels: BoolArray) -> BoolArray:
        return np.bincount(unit[labels & own], minlength=n_units) > 0

    if choice.classes is not None:
        kept &= with_any(np.isin(agreement.objects.category, choice.classes))
    for place, codes in choice.attributes:
        kept &= with_any(np.isin(agreement.attributes[place], codes))
    if choice.sizes is not None:
        kept &= np.isin(rule.of_units(agreement), choice.sizes)
    if choice.area is not None:
        areas = rule.areas_of_units(agreement)
        kept &= (areas >= choice.area[0]) & (areas <= choice.area[1])
    return kept


def _part(
    part: AnyColumns, n_annotators: int, context: ReportContext, rule: SizeRule, choice: _Choice
) -> tuple[Columns, BoolArray]:
    """The columns of the kept objects of some samples, and which samples are kept."""
    agreement = agreement_of_part(part, n_annotators, context.config)
    own = np.isin(agreement.objects.annotator, choice.annotators)
    labels = own & _units_wanted(agreement, choice, own, rule)[agreement.unit]
    samples = np.ones(agreement.n_samples, np.bool_)
    if choice.is_of_objects:
        samples = np.bincount(agreement.objects.sample[labels], minlength=agreement.n_samples) > 0
    found = _kept(agreement, choice, labels, samples)
    columns: Columns = agreement_columns(found)
    columns |= {name: part[name][labels] for name in _SAME if name in part}
    if "size_px" in part:
        columns["size_px"] = part["size_px"][samples]
    if "coordinates" in part and len(labels):
        columns["coordinates"] = part["coordinates"].reshape(len(labels), -1)[labels].ravel()
        columns["n_coordinates"] = found.n_objects * (part["coordinates"].size // len(labels))
    return columns, samples


def _kept(agreement: Agreement, choice: _Choice, labels: BoolArray, samples: BoolArray) -> Agreement:
    """The agreement on the kept labels (a mask ``(N,)``) and samples (a mask ``(S,)``) of the chosen annotators."""
    config, number = agreement.config, np.cumsum(samples) - 1
    of_annotator = np.searchsorted(choice.annotators, agreement.objects.annotator[labels])
    category = agreement.objects.category[labels]
    objects = Objects(number[agreement.objects.sample[labels]], of_annotator, category)
    unit, pairs, visibility = _units_of(agreement, choice, labels)
    n_units = int(unit.max(initial=-1)) + 1
    of_old, sample = np.zeros(n_units, np.int64), np.zeros(n_units, np.int64)
    of_old[unit], sample[unit] = agreement.unit[labels], objects.sample
    assigned = agreement.assigned[samples][:, choice.annotators]
    row, annotator = agreement.exemptions.by_object(of_old)
    among = np.isin(annotator, choice.annotators)
    exemptions = CrowdExemptions(row[among], np.searchsorted(choice.annotators, annotator[among]))
    n_assigned, n_exempt = assigned.sum(axis=1), exemptions.counts(n_units)
    votes, asked = np.bincount(unit, minlength=n_units), n_assigned[sample] - n_exempt
    attributes = tuple(codes[labels] for codes in agreement.attributes)
    of_values = zip(attributes, (each.numbers for each in choice.values), strict=True)
    verdict = unit_verdicts(category, of_values, unit, votes, asked, config.tolerance)
    before, after = agreement.object_verdict[labels], verdict[unit]
    special = np.isin(before, (SPLIT, DUPLICATE)) & np.isin(after, (LONE, MISSED))
    shared = SamplePairs.of(objects, assigned, exemptions.by_object(unit))
    n_objects = np.bincount(objects.sample, minlength=len(assigned))
    score = pair_scores(objects, pairs, shared, n_objects, empty=config.empty)
    ratings = ratings_of(objects, unit, sample, n_assigned, Counting.of(config), n_exempt)
    alpha, reason = sample_alpha(ratings, n_assigned, n_objects, config)
    return replace(
        agreement,
        objects=objects,
        assigned=assigned,
        otherwise=assigned,
        unit=unit,
        units=Units(sample, votes, asked, verdict),
        exemptions=exemptions,
        pairs=pairs,
        sample_pairs=shared,
        object_verdict=np.where(special, before, after),
        area=agreement.area[labels],
        boxes_xyxy=None if agreement.boxes_xyxy is None else agreement.boxes_xyxy[labels],
        size_px=agreement.size_px[samples],
        attributes=attributes,
        visibility=visibility,
        best_iou=np.full((len(shared.sample), 2), np.nan),
        aligned=None,
        n_crowd=agreement.n_crowd[samples][:, choice.annotators],
        score=sample_scores(score, shared, len(assigned)),
        alpha=alpha,
        alpha_reason=reason,
    )


def _units_of(
    agreement: Agreement, choice: _Choice, labels: BoolArray
) -> tuple[IntArray, MatchedPairs, FloatArray | None]:
    """The units of the kept labels, numbered by their first label, their pairs, and the visibility of these."""
    old, n, category = agreement.pairs, int(labels.sum()), agreement.objects.category
    matched = labels[old.i] & labels[old.j]
    if choice.least_iou is not None:
        like = old.iou if agreement.config.similarity == "iou" else dice_from_iou(old.iou)
        needed = np.maximum(choice.least_iou[category[old.i]], choice.least_iou[category[old.j]])
        matched &= like >= needed - TIE
    place = np.cumsum(labels) - 1
    _, unit = components(place[old.i[matched]], place[old.j[matched]], n)
    order = np.argsort(unit, kind="stable")
    first, second = pairs_within(unit[order])
    rows = np.flatnonzero(labels)
    i, j = order[first], order[second]
    keys = old.i * len(labels) + old.j
    sorter = np.argsort(keys)
    at = sorter[np.searchsorted(keys, rows[i] * len(labels) + rows[j], sorter=sorter)]
    kept = category[rows]
    visibility = None if agreement.visibility is None else agreement.visibility[at]
    return unit, MatchedPairs(i, j, old.iou[at], kept[i] == kept[j]), visibility


#: other names of numbers in the report, of which the labels have one; of a class all numbers are with equal classes
_FIELDS = {
    "iou": ("mean_iou",),
    "oks": ("mean_iou",),
    "error": ("mean_absolute_error",),
    "class_precision": ("precision", "accuracy"),
    "class_recall": ("recall", "accuracy"),
    "accuracy": ("class_jaccard", "jaccard"),
}
_NO_REFERENCE = "the run has no reference"


@dataclass(frozen=True, slots=True)
class Found:
    """A number of a run, and what it is about."""

    value: float | None = None
    interval: Interval | None = None
    n_objects: int | None = None
    n_images: int | None = None
    reason: str = ""  #: why there is none


#: the number of a requirement, of an annotator or of all
FoundOf: TypeAlias = Callable[[Requirement, str | None], Found]


def is_of_report(filters: Requirement) -> bool:
    """True if a report has the numbers: of all labels, of a class, or of a size."""
    others = filters.attributes or filters.area or filters.iou or filters.tags
    return not others and len(_parts(filters)) <= 1


def _parts(wanted: Requirement) -> list[tuple[str, str]]:
    """The classes and sizes that a requirement is about, each with the table of the reference that has it."""
    return [*(("classes", name) for name in wanted.classes), *(("sizes", name) for name in wanted.size)]


def field_of(wanted: Requirement, kind: type[AgainstRole]) -> str:
    """The name in the report of the number that a requirement is about; empty if such labels do not have it."""
    is_whole = is_of_report(dataclasses.replace(wanted, tags=()))
    if wanted.classes or (wanted.size and is_whole):
        has = {*kind.of_parts}
    else:
        has = {*kind.shown, *(["kappa"] if kind.has_kappa and is_whole else [])}
    others = () if wanted.size and wanted.metric.startswith("class_") else _FIELDS.get(wanted.metric, ())
    return next((name for name in (wanted.metric, *others) if name in has), "")


def of_report(wanted: Requirement, annotator: str | None, report: AgreementReport, kind: type[AgainstRole]) -> Found:
    """A number of an annotator against the reference, of all objects, a class or a size."""
    if report.reference is None:
        return Found(reason=_NO_REFERENCE)
    entry: Any = next((each for each in report.reference.annotators if each.name == annotator), None)
    if entry is None or not entry.n_samples:
        return Found(reason=f"{annotator} has no image with a reference")
    n_images = entry.n_samples
    for table, part in _parts(wanted):
        entry = next((each for each in getattr(entry, table) if each.name == part), None)
        if entry is None:
            return Found(n_objects=0, n_images=n_images, reason=f"neither {annotator} nor the reference has {part!r}")
    name = field_of(wanted, kind)
    return Found(getattr(entry, name), entry.intervals.get(name), entry.n_reference, n_images)


def against_reference(filters: Requirement, records: Records, context: ReportContext) -> FoundOf:
    """The numbers of annotators against the reference on some labels of some samples.

    What the reference says of an object decides whether it is among them, as by size; of labels without a match their
    own values. With classes, as by class, a match is one of equal classes.

    Args:
        filters: which labels
        records: of the samples
        context: of these
    """
    place = next((k for k, (_, is_model) in enumerate(role_names(context)) if not is_model), None)
    if place is None:
        return lambda *_: Found(reason=_NO_REFERENCE)
    every = against_role(records, context, place)
    compared, ranks, _ = on_shared(every, place, FAMILIES[records.family].contents)
    if (filters.size or filters.area) and compared.label_areas is None:
        return lambda *_: Found(reason="the objects of the run have no size")
    if filters.attributes and "role_attributes" not in compared.records.parts[0]:
        return lambda *_: Found(reason="the run did not read attributes of the reference; compute it again")
    config, by_sample = context.config, context.config.resamples > 0
    parts, is_whole = _parts(filters), is_of_report(dataclasses.replace(filters, tags=()))
    table, of_part = (parts[0] if parts else ("", "")) if is_whole else ("chosen", "")
    if is_whole:
        numbers = compared.numbers((KEY,), by_sample=by_sample)
    else:
        compared = _choosing(compared, filters)
        numbers = compared.chosen_numbers((KEY,), by_sample=by_sample)
    key, names = ((f"{KEY}_{table}", of_part), [*compared.titles()[table]]) if is_whole and parts else ((KEY,), [""])
    wanted_keys = {(key[0], name, *key[1:]) for name in context.annotators}
    chosen = (each for each in numbers if not wanted_keys.isdisjoint(one[:-1] for one in each.keys))
    found = estimates(chosen, ranks, resamples=config.resamples, seed=config.seed) if compared.records.n_samples else {}
    group, _, columns, _ = compared.rows_once(table)
    n_reference = np.bincount(group, columns[:, COLUMNS.index("n_both")], len(context.annotators) * len(names))
    n_true = np.bincount(group, columns[:, COLUMNS.index("n_reference")], len(n_reference))
    n_images = compared.both.sum(axis=0).tolist()

    def number_of(wanted: Requirement, annotator: str | None) -> Found:
        k = list(context.annotators).index(str(annotator))
        if not n_images[k]:
            return Found(reason=f"{annotator} has no image with a reference")
        row = k * len(names) + names.index(of_part) if of_part in names else -1
        if row < 0 or not n_reference[row]:
            what = repr(of_part) if of_part else "such a label"
            return Found(n_objects=0, n_images=n_images[k], reason=f"neither {annotator} nor the reference has {what}")
        way = (key[0], str(annotator), *key[1:], field_of(wanted, type(compared)))
        estimate = found.get(way, Estimate(np.nan, None))
        return Found(number(estimate.value), estimate.interval, int(n_true[row]), n_images[k])

    return number_of


def _choosing(compared: AgainstRole, filters: Requirement) -> AgainstRole:
    """The same with the labels that a requirement is about, matched at its IoU."""
    context, (names, drawn, wanted) = compared.context, compared.classes
    if filters.iou:
        of_class, pairs, rows = dict(filters.iou), compared.stored.pairs, compared.matched
        least = np.array([of_class.get(name, of_class["default"]) for name in names])
        like = pairs.iou[rows] if context.config.similarity == "iou" else dice_from_iou(pairs.iou[rows])
        needed = np.maximum(least[drawn[pairs.drawn[rows]]], least[wanted[pairs.label[rows]]])
        kind = pairs.kind.copy()
        kind[rows[like < needed - TIE]] = LOOSELY
        stored = dataclasses.replace(compared.stored, pairs=dataclasses.replace(pairs, kind=kind))
        compared = dataclasses.replace(compared, stored=stored)
    fits: tuple[BoolArray, BoolArray] = (np.ones(len(drawn), np.bool_), np.ones(len(wanted), np.bool_))
    if filters.attributes:
        records = compared.records
        codes = records.column("attributes"), records.column("role_attributes")[compared.stored.row]
        for name, value in filters.attributes:
            place, known = context.config.attributes.index(name), context.attribute_values[name]
            meant = [code for code, each in enumerate(known) if is_same_value(each, value)]
            fits = fits[0] & np.isin(codes[0][:, place], meant), fits[1] & np.isin(codes[1][:, place], meant)
    if filters.size:
        meant = [SIZES.index(size) for size in filters.size]
        fits = fits[0] & np.isin(compared.sizes[0], meant), fits[1] & np.isin(compared.sizes[1], meant)
    if filters.area and compared.label_areas is not None:
        low, high = (np.inf * sign if end is None else end for end, sign in zip(filters.area, (-1, 1), strict=True))
        inside = [(areas >= low) & (areas <= high) for areas in compared.label_areas]
        fits = fits[0] & inside[0], fits[1] & inside[1]
    pairs, rows = compared.stored.pairs, compared.matched
    fits[0][pairs.drawn[rows]] = fits[1][pairs.label[rows]]
    if filters.classes:
        meant = [code for code, name in enumerate(names) if name in filters.classes]
        fits = fits[0] & np.isin(drawn, meant), fits[1] & np.isin(wanted, meant)
    return dataclasses.replace(compared, chosen=(*fits, bool(filters.classes)))
