"""Verdicts on objects and units (agreed, class conflict, missed, lone, split, duplicate), and who left a unit out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...metrics.geometry.objects import Geometry, Objects, Overlaps
from ...metrics.matching.splits import find_duplicates, find_splits
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, ranges
from ..ratings.compute import agreeing
from ..statistics.codes import NOT_GIVEN

#: verdicts of objects; units have only the first five
VERDICTS = ("agreed", "class_conflict", "attribute_conflict", "missed", "lone", "split", "duplicate")
AGREED, CLASS_CONFLICT, ATTRIBUTE_CONFLICT, MISSED, LONE, SPLIT, DUPLICATE = range(len(VERDICTS))
#: verdict of the labels of a sample that is not rated
NO_VERDICT = -1

#: verdict of crowd regions, and of labels that lie mostly within one of another annotator
CROWD = "crowd"


def verdict_names(codes: IntArray) -> NDArray[np.object_]:
    """The names of verdicts of objects, tags or ratings; None for ``NO_VERDICT``."""
    return np.array([*VERDICTS, None], object)[codes]


def object_verdicts(
    objects: Objects, verdict: IntArray, overlaps: Overlaps, geometry: Geometry, *, threshold: float
) -> IntArray:
    """The verdict of every object, shape ``(N,)``: the verdict of its unit, or a more specific one.

    ``split`` replaces the verdicts lone and missed if one annotator drew a whole and another one its parts. Other
    verdicts stay: if the whole is matched with its largest part, only the other parts become ``split``. ``duplicate``
    replaces lone if the same annotator drew the object twice. It comes before ``split``, because it is the mistake of
    one annotator alone: without the duplicate, there may be no split.

    Args:
        verdict: shape ``(N,)``, verdict of every object's unit
        threshold: least IoU of the union of the parts with the whole
    """
    lone = verdict == LONE
    found = verdict.copy()
    found[find_splits(objects, lone | (verdict == MISSED), overlaps, geometry, threshold)] = SPLIT
    found[find_duplicates(objects, lone, geometry, overlaps.area)] = DUPLICATE
    return found


def unit_verdicts(
    category: IntArray,
    attributes: Iterable[tuple[IntArray, FloatArray]],
    unit: IntArray,
    votes: IntArray,
    assigned: IntArray,
    tolerance: float,
) -> IntArray:
    """The verdict of every unit, shape ``(U,)``; ``NO_VERDICT`` where the sample is not rated.

    Args:
        category: shape ``(N,)``, class of every object
        attributes: as in :func:`attribute_conflicts`
        unit: shape ``(N,)``, unit of every object
        votes: shape ``(U,)``, number of members of every unit
        assigned: shape ``(U,)``, number of annotators assigned to its sample
        tolerance: numbers that differ by at most this agree
    """
    lowest = np.full(len(votes), np.iinfo(np.int64).max)
    highest = np.zeros(len(votes), np.int64)
    np.minimum.at(lowest, unit, category)
    np.maximum.at(highest, unit, category)
    conflict = attribute_conflicts(attributes, unit, len(votes), tolerance)
    return np.select(
        [assigned < 2, lowest != highest, conflict, votes == assigned, votes == 1],
        [NO_VERDICT, CLASS_CONFLICT, ATTRIBUTE_CONFLICT, AGREED, LONE],
        MISSED,
    )


def attribute_conflicts(
    attributes: Iterable[tuple[IntArray, FloatArray]], unit: IntArray, n_units: int, tolerance: float
) -> BoolArray:
    """True for units with two different values of a compared attribute, shape ``(U,)``.

    Values that were not given do not count. Numbers differ if their difference exceeds the tolerance; a number differs
    from every other kind of value.

    Args:
        attributes: for every compared attribute the code of every object ``(N,)``, and the number of every code
        unit: shape ``(N,)``, unit of every object
        tolerance: numbers that differ by at most this agree
    """
    conflict = np.zeros(n_units, np.bool_)
    for codes, numbers in attributes:
        given = codes != NOT_GIVEN
        of, code, number = unit[given], codes[given], numbers[codes[given]]
        of_number = ~np.isnan(number)
        least, greatest = _range(of[of_number], number[of_number], n_units)
        conflict |= np.isfinite(least) & ~agreeing(least, greatest, tolerance)
        # all numbers count as one value here; their range is tested above
        first, last = _range(of, np.where(of_number, 0, code).astype(np.float64), n_units)
        conflict |= first < last
    return conflict


def _range(unit: IntArray, values: FloatArray, n_units: int) -> tuple[FloatArray, FloatArray]:
    """Min and max value of every unit, infinite without values."""
    least, greatest = np.full(n_units, np.inf), np.full(n_units, -np.inf)
    np.minimum.at(least, unit, values)
    np.maximum.at(greatest, unit, values)
    return least, greatest


#: labels name the annotators who missed their unit only if at most so many were asked: longer lists fill documents
MOST_NAMED = 64


@dataclass(frozen=True, slots=True)
class Relation:
    """Annotators by row of labels, or of units; shapes ``(L,)``, ascending by row, then annotator."""

    row: IntArray
    annotator: IntArray

    def of_rows(self, rows: IntArray) -> Relation:
        """The relation of other rows, each with the annotators of one of these rows: of labels from that of units.

        Args:
            rows: shape ``(N,)``, the row of this relation for each of the other rows
        """
        n = np.bincount(self.row, minlength=int(rows.max(initial=-1)) + 1)
        annotator = self.annotator[ranges((np.cumsum(n) - n)[rows], n[rows])]
        return Relation(np.repeat(np.arange(len(rows)), n[rows]), annotator)

    def where(self, rows: BoolArray) -> Relation:
        """The relation at the rows in a mask."""
        kept = rows[self.row]
        return Relation(self.row[kept], self.annotator[kept])

    def names(self, annotators: Sequence[str]) -> dict[int, list[str]]:
        """The names of the annotators of every row that has any."""
        rows, start = np.unique(self.row, return_index=True)
        named = np.array([*annotators, None], object)[:-1][self.annotator].tolist()
        ends = np.append(start[1:], len(named))[: len(rows)].tolist()
        return {row: named[first:end] for row, first, end in zip(rows.tolist(), start.tolist(), ends, strict=True)}


def who_left_out(asked: BoolArray, unit: IntArray, annotator: IntArray) -> Relation:
    """Annotators who were asked for a unit and have no label of it.

    Args:
        asked: shape ``(U, R)``
        unit: shape ``(N,)``, unit of every label
        annotator: shape ``(N,)``, who gave it
    """
    lacks = asked.copy()
    lacks[unit, annotator] = False
    return Relation(*np.nonzero(lacks))
