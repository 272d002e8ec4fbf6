"""Disputes on single samples: misses, lone objects, class conflicts and attributes in dispute."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from ..matching.verdicts import AGREED, ATTRIBUTE_CONFLICT, CLASS_CONFLICT
from ..objects.records import ObjectRecords, UnitColumns, unit_columns
from ..statistics.report import ReportContext


@dataclass(frozen=True, slots=True)
class Disputes:
    """Disputes on one sample, as numbers of objects."""

    lone: Counter[str] = field(default_factory=Counter)  #: that only this annotator drew
    missed: Counter[str] = field(default_factory=Counter)  #: that two or more others drew and this annotator did not
    n_missed: int = 0  #: that two or more drew, and somebody did not
    classes: Counter[tuple[str, ...]] = field(default_factory=Counter)  #: that were given these classes, by no majority
    #: labels of objects most of whose annotators said something else: (annotator, class, class of the majority)
    other_classes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    n_attributes: int = 0  #: with different values of an attribute
    n_disputed: int = 0  #: disputed for any reason


def disputes_of(records: ObjectRecords, context: ReportContext) -> list[Disputes]:
    """Disputes on every sample; meant for a few samples."""
    return [
        _disputes(units, sample, context) for _, units in unit_columns(records) for sample in range(len(units.assigned))
    ]


def _disputes(units: UnitColumns, sample: int, context: ReportContext) -> Disputes:
    lone: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    classes: Counter[tuple[str, ...]] = Counter()
    own = np.flatnonzero((units.sample == sample) & (units.verdict > AGREED))
    asked = np.flatnonzero(units.assigned[sample]).tolist()
    exempt = set(zip(units.exemptions.unit.tolist(), units.exemptions.annotator.tolist(), strict=True))
    other_classes: Counter[tuple[str, str, str]] = Counter()
    n_missed = 0
    for unit in own.tolist():
        rows = np.flatnonzero(units.unit == unit)
        drew = units.annotator[rows].tolist()
        if len(drew) == 1:
            lone[context.annotators[drew[0]]] += 1
            continue
        left = [k for k in asked if k not in drew and (unit, k) not in exempt]
        missed.update(context.annotators[k] for k in left)
        n_missed += bool(left)
        if units.verdict[unit] == CLASS_CONFLICT:
            said = [context.class_names[k] for k in units.category[rows].tolist()]
            most, n = Counter(said).most_common(1)[0]
            if 2 * n > len(said):
                named = zip(drew, said, strict=True)
                other_classes.update((context.annotators[k], own, most) for k, own in named if own != most)
            else:
                classes[tuple(sorted(set(said)))] += 1
    n_attributes = int((units.verdict[own] == ATTRIBUTE_CONFLICT).sum())
    return Disputes(lone, missed, n_missed, classes, other_classes, n_attributes, len(own))
