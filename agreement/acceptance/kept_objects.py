"""Filter records to the objects and annotators of a requirement, without reading or matching labels again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...metrics.geometry.objects import Objects, dice_from_iou
from ...metrics.matching.partition import TIE
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, components, pairs_within
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
from ..statistics.records import AnyColumns, Columns
from ..statistics.report import ReportContext
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
