"""Relations of labels to other annotators: those who missed the object, and those who gave it another class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...metrics.numeric.arrays import BoolArray, IntArray, ranges
from .tables import Tables

#: the most annotators asked for a unit whose labels name the others; lists of more would fill the documents
MOST_NAMED = 64


@dataclass(frozen=True, slots=True)
class Relation:
    """Annotators by row of labels, or of units; shapes ``(L,)``, ascending by row, then annotator."""

    row: IntArray
    annotator: IntArray

    def of_rows(self, rows: IntArray) -> Relation:
        """The same for other rows, as of the labels of units.

        Args:
            rows: shape ``(N,)``, which of these rows each of the other rows has
        """
        n = np.bincount(self.row, minlength=int(rows.max(initial=-1)) + 1)
        annotator = self.annotator[ranges((np.cumsum(n) - n)[rows], n[rows])]
        return Relation(np.repeat(np.arange(len(rows)), n[rows]), annotator)

    def where(self, rows: BoolArray) -> Relation:
        """The relation without the rows outside a mask."""
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


def missed_by(found: Tables) -> Relation:
    """Annotators who missed the object of a label, for all ``N`` labels."""
    return who_left_out(found.assigned[found.units.sample], found.unit, found.objects.annotator).of_rows(found.unit)


def differs_from(found: Tables) -> Relation:
    """Annotators who gave the object of a label another class, for all ``N`` labels."""
    pairs, annotator = found.pairs, found.objects.annotator
    i, j = pairs.i[~pairs.same_class], pairs.j[~pairs.same_class]
    row, other = np.concatenate([i, j]), annotator[np.concatenate([j, i])]
    order = np.lexsort((other, row))
    return Relation(row[order], other[order])


def is_named(found: Tables) -> BoolArray:
    """Labels whose annotators can be named, shape ``(N,)``: few enough were asked for the object."""
    named: BoolArray = (found.units.assigned <= MOST_NAMED)[found.unit]
    return named
