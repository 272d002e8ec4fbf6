"""Cost of disputed units (objects, tags, samples), the costliest first; disputes of a sample; misses by class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..matching.tables import Tables
from ..matching.verdicts import AGREED, ATTRIBUTE_CONFLICT, CLASS_CONFLICT, NO_VERDICT
from ..objects.records import ObjectRecords
from ..statistics.records import Records
from ..statistics.report import ReportContext
from ..tags.compute import TagRecords

#: costs of samples as units are whole numbers of thousandths
_THOUSANDTHS = 1_000


def object_costs(votes: IntArray, asked: IntArray, n_same_class: IntArray, conflict: BoolArray) -> IntArray:
    """Cost of every disputed object, shape ``(U,)``.

    The cost is 1 for every two annotators of whom only one drew it, 2 for every two who gave it different classes.

    Args:
        votes: shape ``(U,)``, annotators who drew it
        asked: shape ``(U,)``, annotators who should have drawn it
        n_same_class: shape ``(U,)``, ordered pairs of its labels with the same class
        conflict: shape ``(U,)``, whether classes differ
    """
    return votes * (asked - votes) + np.where(conflict, votes * (votes - 1) - n_same_class, 0)


def costs_of_units(t: Tables) -> IntArray:
    """Cost of every object, shape ``(U,)``; 0 on samples that are not rated."""
    units, conflict = t.units, t.units.verdict == CLASS_CONFLICT
    of_class, _, count = _classes(t, conflict)
    n_same_class = sums_by(of_class, count * (count - 1), len(conflict)).astype(np.int64)
    return np.where(t.rated_unit, object_costs(units.votes, units.assigned, n_same_class, conflict), 0)


def _classes(t: Tables, kept: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """The classes of the units in a mask ``(U,)``: for each the unit, the class, and the number of labels with it."""
    rows, category = kept[t.unit], t.objects.category
    n = int(category.max(initial=0)) + 1
    key, count = np.unique(t.unit[rows] * n + category[rows], return_counts=True)
    return key // n, key % n, count


def object_sample_costs(records: ObjectRecords) -> FloatArray:
    """The disagreement that fixing a sample would remove, ``(S,)`` (:func:`~..matching.compute.sample_costs`)."""
    return records.column("cost")


def pair_costs(score: FloatArray, n_annotators: IntArray) -> FloatArray:
    """Sum of 1 - score over all pairs of annotators of a sample, shape ``(S,)``; 0 without a score."""
    costs: FloatArray = np.nan_to_num(1.0 - score) * (n_annotators * (n_annotators - 1) / 2)
    return costs.round(9) + 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtUnits:
    """Filter of disputed units, by codes in the records; None for all."""

    verdict: int | None = None
    annotator: int | None = None  #: units of samples to which this annotator was assigned
    category: int | None = None  #: units to which somebody gave this class
    votes: int | None = None  #: units that so many annotators drew


@dataclass(frozen=True, slots=True)
class CostlyUnits:
    """How many disputed units of each cost a sample has: the costliest first, then those of costlier samples."""

    row: IntArray  #: shape ``(E,)``, row of the sample in the records
    cost: IntArray  #: shape ``(E,)``, what each of these units costs
    n: IntArray  #: shape ``(E,)``, number of units
    n_of_sample: IntArray  #: shape ``(E,)``, number of all units of the sample

    def select(self, kept: Sequence[bool]) -> CostlyUnits:
        """The entries in a mask ``(E,)``."""
        mask = np.array(kept, np.bool_)
        return CostlyUnits(self.row[mask], self.cost[mask], self.n[mask], self.n_of_sample[mask])


def _costly(
    records: Records,
    sought: SoughtUnits,
    row: IntArray,
    verdict: IntArray,
    votes: IntArray,
    cost: IntArray,
    has_class: BoolArray,
    n_units: IntArray,
) -> CostlyUnits:
    """The disputed units that pass the filter.

    Args:
        records: of all samples
        sought: the filter
        row: shape ``(U,)``, row of the sample of every unit
        verdict: shape ``(U,)``
        votes: shape ``(U,)``, annotators who drew it
        cost: shape ``(U,)``
        has_class: shape ``(U,)``, whether somebody gave it the class that is looked for
        n_units: shape ``(S,)``, units of every sample
    """
    kept = has_class & (verdict > AGREED if sought.verdict is None else verdict == sought.verdict)
    if sought.annotator is not None:
        kept &= records.assigned[row, sought.annotator]
    if sought.votes is not None:
        kept &= votes == sought.votes
    most = int(cost[kept].max(initial=0)) + 1
    key, n = np.unique(row[kept] * most + cost[kept], return_counts=True)
    row, cost = key // most, key % most
    cost_of_sample = np.zeros(len(n_units), np.int64)
    np.add.at(cost_of_sample, row, cost * n)
    order = np.lexsort((row, -cost_of_sample[row], -cost))
    return CostlyUnits(row[order], cost[order], n[order], n_units[row[order]])


def costly_objects(records: ObjectRecords, sought: SoughtUnits) -> CostlyUnits:
    """The disputed objects of a run."""
    start, parts = 0, [(*np.zeros((4, 0), np.int64), np.zeros(0, np.bool_))]
    for t in records.tables():
        units, n = t.units, len(t.units.sample)
        has_class = np.ones(n, np.bool_)
        if sought.category is not None:
            has_class = np.bincount(t.unit[t.objects.category == sought.category], minlength=n) > 0
        parts.append((start + units.sample, units.verdict, units.votes, costs_of_units(t), has_class))
        start += t.n_samples
    row, verdict, votes, cost, has_class = (np.concatenate(each) for each in zip(*parts, strict=True))
    return _costly(records, sought, row, verdict, votes, cost, has_class, records.sample_values().n_units)


def costly_tags(records: TagRecords, sought: SoughtUnits) -> CostlyUnits:
    """The disputed tags of a run; a tag costs 1 for every two annotators of whom only one gave it, as an object."""
    t, code = records.agreement(), sought.category
    cost = t.votes * (t.n_annotators[t.unit_sample] - t.votes)
    has_class = np.full(len(cost), True) if code is None else t.unit_tag == code
    n_units = records.sample_values().n_units
    return _costly(records, sought, t.unit_sample, t.verdict, t.votes, cost, has_class, n_units)


def costly_samples(records: Records, sought: SoughtUnits) -> CostlyUnits:
    """The disputed samples of a run, each of which is one unit: the less its pairs of annotators agree, the costlier.

    A disputed sample has the verdict ``class_conflict``.
    """
    values, code, every = records.sample_values(), sought.category, np.arange(records.n_samples)
    votes = values.n_annotators
    verdict = np.where((values.n_disputed > 0) & (votes >= 2), CLASS_CONFLICT, NO_VERDICT)
    cost = np.rint(_THOUSANDTHS * np.nan_to_num(1.0 - values.score) * votes * (votes - 1)).astype(np.int64)
    has_class = np.full(len(every), True) if code is None else (records.column("ratings") == code).any(axis=1)
    return _costly(records, sought, every, verdict, votes, cost, has_class, (votes > 0).astype(np.int64))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Numbers of objects by class and annotator, shape ``(K, R)``: those missed, and those drawn alone."""

    missed: IntArray  #: objects with a label of the class that two others drew and this annotator did not
    lone: IntArray  #: objects of the class that this annotator alone drew


def left_out(records: ObjectRecords, n_classes: int, annotators: Sequence[int]) -> LeftOut:
    """Count misses and lone objects by class, for some annotators (the others have zeros)."""
    found = LeftOut(*np.zeros((2, n_classes, records.n_annotators), np.int64))
    for t in records.tables():
        units, objects = t.units, t.objects
        lone = ((units.votes == 1) & t.rated_unit)[t.unit]
        np.add.at(found.lone, (objects.category[lone], objects.annotator[lone]), 1)
        of_unit, category, _ = _classes(t, (units.votes >= 2) & (units.votes < units.assigned))
        for annotator in annotators:
            missed = (units.votes >= 2) & t.rated_unit & t.assigned[units.sample, annotator]
            missed[t.unit[objects.annotator == annotator]] = False
            found.missed[:, annotator] += np.bincount(category[missed[of_unit]], minlength=n_classes)
    return found


def disputed_by_class(records: ObjectRecords, n_classes: int) -> tuple[IntArray, IntArray]:
    """Numbers of objects to which somebody gave a class, and of the disputed ones among them; shape ``(K,)`` each."""
    objects, disputed = np.zeros((2, n_classes), np.int64)
    for t in records.tables():
        of_unit, category, _ = _classes(t, t.rated_unit)
        objects += np.bincount(category, minlength=n_classes)
        disputed += np.bincount(category[t.units.verdict[of_unit] > AGREED], minlength=n_classes)
    return objects, disputed


@dataclass(frozen=True, slots=True)
class Disputes:
    """Numbers of disputed objects of one sample, by kind."""

    lone: Counter[str] = field(default_factory=Counter)  #: that one annotator alone drew, by annotator
    missed: Counter[str] = field(default_factory=Counter)  #: that two or more others drew, by annotator who missed them
    n_missed: int = 0  #: that two or more drew, and somebody did not
    #: by the set of classes that they were given, where no class has a majority
    classes: Counter[tuple[str, ...]] = field(default_factory=Counter)
    #: labels with another class than most labels of the object: (annotator, class, class of the majority)
    other_classes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    n_attributes: int = 0  #: with different values of an attribute
    n_disputed: int = 0  #: disputed for any reason
    #: mean IoU of matched objects, if more than half of the cost of the sample is how they are drawn; else None
    drawn_iou: float | None = None


def disputes_of(records: ObjectRecords, context: ReportContext) -> list[Disputes]:
    """Disputes on every sample; meant for a few samples."""
    every = []
    for t in records.tables(context.config):
        alike = t.pairs.same_class
        drawing = sums_by(t.pair_sample[alike], 2.0 * (1.0 - t.pairs.iou[alike]), t.n_samples)
        for sample in range(t.n_samples):
            own = np.flatnonzero((t.units.sample == sample) & (t.units.verdict > AGREED))
            found = Disputes(
                n_attributes=int((t.units.verdict[own] == ATTRIBUTE_CONFLICT).sum()),
                n_disputed=len(own),
                drawn_iou=float(t.iou[sample]) if 2.0 * drawing[sample] > t.cost[sample] else None,
            )
            asked, n_missed = np.flatnonzero(t.assigned[sample]).tolist(), 0
            for unit in own.tolist():
                rows = np.flatnonzero(t.unit == unit)
                drew = t.objects.annotator[rows].tolist()
                if len(drew) == 1:
                    found.lone[context.annotators[drew[0]]] += 1
                    continue
                left = [k for k in asked if k not in drew]
                found.missed.update(context.annotators[k] for k in left)
                n_missed += bool(left)
                if t.units.verdict[unit] == CLASS_CONFLICT:
                    said = [context.class_names[k] for k in t.objects.category[rows].tolist()]
                    most, n = Counter(said).most_common(1)[0]
                    if 2 * n > len(said):
                        named = zip(drew, said, strict=True)
                        found.other_classes.update(
                            (context.annotators[k], gave, most) for k, gave in named if gave != most
                        )
                    else:
                        found.classes[tuple(sorted(set(said)))] += 1
            every.append(replace(found, n_missed=n_missed))
    return every
