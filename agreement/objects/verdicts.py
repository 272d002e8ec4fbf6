"""What is said of every object and unit: whether the annotators agree on it, and if not, why."""

from __future__ import annotations

from ...metrics.arrays import IntArray
from ...metrics.geometry.objects import Geometry, Objects, Overlaps
from ...metrics.matching.splits import find_duplicates, find_splits

#: of objects
VERDICTS = ("agreed", "class_conflict", "attribute_conflict", "missed", "lone", "split", "duplicate")
AGREED, CLASS_CONFLICT, ATTRIBUTE_CONFLICT, MISSED, LONE, SPLIT, DUPLICATE = range(len(VERDICTS))
#: of units, by the same numbers; an object of which something else is said is in a unit that is missed or lone
UNIT_VERDICTS = VERDICTS[: LONE + 1]
#: of the labels of a sample that is not rated
NO_VERDICT = -1

#: verdict of crowd regions, and of labels that are lone or missed only because somebody else drew a crowd region
CROWD = "crowd"


def object_verdicts(
    objects: Objects, verdict: IntArray, overlaps: Overlaps, geometry: Geometry, *, threshold: float
) -> IntArray:
    """The verdict of every object, shape ``(N,)``: that of its unit, unless there is more to say.

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
