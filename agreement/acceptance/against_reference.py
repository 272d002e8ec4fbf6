"""Numbers of annotators against the reference that a requirement is about: from the report, or of some labels alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ...metrics.geometry.objects import dice_from_iou
from ...metrics.matching.partition import TIE
from ...metrics.numeric.arrays import BoolArray
from ..families.family import FAMILIES
from ..objects.sizes import SIZES
from ..roles.matching import LOOSELY
from ..roles.numbers import COLUMNS, AgainstRole, role_names
from ..roles.summary import REFERENCE as KEY
from ..roles.summary import against_role, on_shared
from ..statistics.estimates import Estimate, estimates
from ..statistics.records import Records
from ..statistics.report import AgreementReport, Interval, ReportContext, number
from .kept_objects import is_same_value
from .requirements import Requirement

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
