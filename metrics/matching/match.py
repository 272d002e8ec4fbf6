"""Match the objects of several annotators: which of them are the same physical object.

:func:`match_objects` matches all kinds of objects, from the pairs that overlap. The input is columns of objects of many
samples, the output a unit number per object. The methods:

- ``optimal``: the partition into units with the greatest surplus of similarity over the threshold (:mod:`.optimal`)
- ``recursive``: sequential assignment, annotator by annotator (:mod:`.sequential`)
- ``mutual_best``: objects that are each other's best match (also :mod:`.sequential`)

``optimal`` does not depend on the order of annotators; the other two may.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..geometry.objects import Objects, Overlaps, Similarity
from ..numeric.arrays import FloatArray, IntArray
from .optimal import ClassHandling, match_optimal
from .sequential import match_mutual_best, match_recursive

Method = Literal["optimal", "recursive", "mutual_best"]


@dataclass(frozen=True, slots=True)
class Matching:
    """Partition of objects into physical objects.

    Attributes:
        unit: shape ``(N,)``, unit of every object, numbered from 0 in the order of the units' first objects
        n_units: number of units
        hard: shape ``(H,)``, sample of every component that needed a decision between several partitions
        inexact: shape ``(X,)``, sample of every hard component whose solution is not proven to be optimal
        inexact_surplus: shape ``(X, 2)``, sum over within-unit pairs of (similarity - threshold) of every inexact
            component, as it was found and as no solution can exceed
        aligned: shape ``(2, A)``, pairs of objects that are each other's best match (method ``mutual_best`` only)
    """

    unit: IntArray
    n_units: int
    hard: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    inexact: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    inexact_surplus: FloatArray = field(default_factory=lambda: np.empty((0, 2)))
    aligned: IntArray | None = None

    @property
    def n_hard(self) -> int:
        """Number of hard components."""
        return len(self.hard)

    @property
    def n_inexact(self) -> int:
        """Number of inexact components."""
        return len(self.inexact)


def match_objects(
    objects: Objects,
    overlaps: Overlaps,
    *,
    threshold: float = 0.5,
    similarity: Similarity = "iou",
    method: Method = "optimal",
    classes: ClassHandling = "prefer",
) -> Matching:
    """Match objects across annotators, sample by sample.

    Every object is in exactly one unit, and a unit has at most one object of each annotator.

    Args:
        objects: ``N`` objects of any number of samples
        overlaps: the overlapping pairs among them
        threshold: least similarity of a match, in (0, 1]; not used by ``mutual_best``
        similarity: IoU or Dice; ``mutual_best`` always uses Dice
        method: ``optimal`` maximises the sum of (similarity - threshold) over the pairs within units; pairs at the
            threshold (with a tolerance of 1e-9) match. ``recursive`` is the sequential assignment of Tschirschwitz et
            al.; pairs at the threshold do not match. ``mutual_best`` is the alignment of Hajič jr. et al.; it aligns
            only pairs of one class (unless ``classes`` is ``ignore``)
        classes: ``ignore`` matches by geometry alone; ``require`` matches only objects of one class; ``prefer``
            matches objects of one class first, then joins these units across classes

    Raises:
        ValueError: if the threshold is outside (0, 1] or an option is unknown

    References:
        D. Tschirschwitz et al., "A Dataset for Analysing Complex Document Layouts in the Digital Humanities and Its
        Evaluation with Krippendorff's Alpha", GCPR 2022 (``recursive``);
        J. Hajič jr. and P. Pecina, "The MUSCIMA++ dataset", ICDAR 2017 (``mutual_best``)
    """
    if not 0.0 < threshold <= 1.0:
        raise ValueError(f"`threshold` must be in (0, 1], got {threshold!r}")
    for name, value, allowed in (
        ("similarity", similarity, ("iou", "dice")),
        ("method", method, ("optimal", "recursive", "mutual_best")),
        ("classes", classes, ("prefer", "ignore", "require")),
    ):
        if value not in allowed:
            raise ValueError(f"`{name}` must be one of {allowed}, got {value!r}")
    if method == "mutual_best":
        unit, n_units, aligned = match_mutual_best(objects, overlaps, classes)
        return Matching(unit, n_units, aligned=aligned)
    values = overlaps.similarity(similarity)
    if method == "recursive":
        unit = match_recursive(objects, overlaps.i, overlaps.j, values, threshold, classes)
        return Matching(unit, int(unit.max(initial=-1)) + 1)
    thresholds = np.full(len(objects), threshold)
    found = match_optimal(objects.annotator, objects.category, overlaps.i, overlaps.j, values, thresholds, classes)
    hard, inexact = objects.sample[found.hard], objects.sample[found.inexact]
    return Matching(found.unit, found.n_units, hard, inexact, found.inexact_surplus)
