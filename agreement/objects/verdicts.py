"""The verdict on every object and unit: whether the annotators agree on it, and if not, why."""

from __future__ import annotations

import numpy as np

from ...metrics.arrays import BoolArray, FloatArray, IntArray
from ...metrics.geometry.objects import Geometry, Objects, Overlaps
from ...metrics.matching import Matching
from ...metrics.matching.splits import find_duplicates, find_splits
from ..codes import NOT_GIVEN
from ..ratings.compute import agreeing
from .batch import Batch

#: of objects; units have the first five of them
VERDICTS = ("agreed", "class_conflict", "attribute_conflict", "missed", "lone", "split", "duplicate")
AGREED, CLASS_CONFLICT, ATTRIBUTE_CONFLICT, MISSED, LONE, SPLIT, DUPLICATE = range(len(VERDICTS))
#: of the labels of a sample that is not rated
NO_VERDICT = -1

#: verdict of crowd regions, and of labels that are lone or missed only because somebody else drew a crowd region
CROWD = "crowd"


def object_verdicts(
    objects: Objects, verdict: IntArray, overlaps: Overlaps, geometry: Geometry, *, threshold: float
) -> IntArray:
    """The verdict of every object, shape ``(N,)``: the verdict of its unit, or a more specific one.

    Of lone and missed objects ``split`` says that one annotator drew a whole and another one its parts. It leaves alone
    what has another verdict: of a whole that agrees with its largest part, only the other parts get it. Of lone objects
    ``duplicate`` says that the same annotator drew the same thing again. It comes before ``split``, since it is the
    mistake of one person, whatever the others did: with the duplicate gone, the rest may be no split.

    Args:
        objects: ``N`` objects
        verdict: shape ``(N,)``, verdict of every object's unit
        overlaps: the overlapping pairs
        geometry: extent of the objects
        threshold: least IoU of the union of the parts with the whole
    """
    lone = verdict == LONE
    found = verdict.copy()
    found[find_splits(objects, lone | (verdict == MISSED), overlaps, geometry, threshold)] = SPLIT
    found[find_duplicates(objects, lone, geometry, overlaps.area)] = DUPLICATE
    return found


def unit_verdicts(batch: Batch, matching: Matching, votes: IntArray, assigned: IntArray, tolerance: float) -> IntArray:
    """The verdict of every unit, shape ``(U,)``; ``NO_VERDICT`` where the sample is not rated.

    Args:
        batch: the objects, with the codes of their attributes
        matching: their units
        votes: shape ``(U,)``, members of every unit
        assigned: shape ``(U,)``, annotators assigned to its sample
        tolerance: numbers that differ by at most this agree
    """
    lowest = np.full(len(votes), np.iinfo(np.int64).max)
    highest = np.zeros(len(votes), np.int64)
    np.minimum.at(lowest, matching.unit, batch.objects.category)
    np.maximum.at(highest, matching.unit, batch.objects.category)
    conflict = attribute_conflicts(batch, matching, tolerance)
    return np.select(
        [assigned < 2, lowest != highest, conflict, votes == assigned, votes == 1],
        [NO_VERDICT, CLASS_CONFLICT, ATTRIBUTE_CONFLICT, AGREED, LONE],
        MISSED,
    )


def attribute_conflicts(batch: Batch, matching: Matching, tolerance: float) -> BoolArray:
    """The units in which two values of any compared attribute differ, shape ``(U,)``.

    What a member was not given is left out. Two numbers differ by more than the tolerance; a number differs from what
    is no number.

    Args:
        batch: the objects, with the codes of their attributes
        matching: their units
        tolerance: numbers that differ by at most this agree
    """
    conflict = np.zeros(matching.n_units, np.bool_)
    for codes, numbers in zip(batch.attributes, batch.attribute_numbers, strict=True):
        conflict |= _differ(codes, numbers, matching.unit, matching.n_units, tolerance)
    return conflict


def _differ(codes: IntArray, numbers: FloatArray, unit: IntArray, n_units: int, tolerance: float) -> BoolArray:
    given = codes != NOT_GIVEN
    unit, codes = unit[given], codes[given]
    number = numbers[codes]
    of_number = ~np.isnan(number)
    least, greatest = _range(unit[of_number], number[of_number], n_units)
    # all numbers count as one value here
    first, last = _range(unit, np.where(of_number, 0, codes).astype(np.float64), n_units)
    both: BoolArray = (np.isfinite(least) & ~agreeing(least, greatest, tolerance)) | (first < last)
    return both


def _range(unit: IntArray, values: FloatArray, n_units: int) -> tuple[FloatArray, FloatArray]:
    """Least and greatest value of every unit, infinite without any."""
    least, greatest = np.full(n_units, np.inf), np.full(n_units, -np.inf)
    np.minimum.at(least, unit, values)
    np.maximum.at(greatest, unit, values)
    return least, greatest
