"""What is said of every object and unit: whether the annotators agree on it, and if not, why."""

from __future__ import annotations

#: of objects
VERDICTS = ("agreed", "class_conflict", "attribute_conflict", "missed", "lone", "split", "duplicate")
AGREED, CLASS_CONFLICT, ATTRIBUTE_CONFLICT, MISSED, LONE, SPLIT, DUPLICATE = range(len(VERDICTS))
#: of units, by the same numbers; an object of which something else is said is in a unit that is missed or lone
UNIT_VERDICTS = VERDICTS[: LONE + 1]
#: of the labels of a sample that is not rated
NO_VERDICT = -1

#: verdict of crowd regions, and of labels that are lone or missed only because somebody else drew a crowd region
CROWD = "crowd"
