"""How an annotator's boxes differ from those of the others, systematically."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...metrics.arrays import FloatArray, IntArray
from ...metrics.consensus import medians_by_group
from ...metrics.geometry.boxes import box_area
from .additive import Moments
from .chunk import Chunk
from .summaries import Bias

#: what is compared, in this order
MEASURES = ("size", "left", "top", "right", "bottom")


@dataclass(frozen=True, slots=True)
class Offsets:
    """Boxes against the median box of their unit, over objects of units with at least two members.

    Attributes:
        row: shape ``(M,)``, of the objects
        values: shape ``(M, 5)``, in per cent, in the order of ``MEASURES``
    """

    row: IntArray
    values: FloatArray


def offsets(chunk: Chunk) -> Offsets:
    """The offsets of some samples; of objects whose unit has a median box of some width and height."""
    findings = chunk.findings
    boxes = findings.boxes_xyxy
    if boxes is None:
        return Offsets(np.empty(0, np.int64), np.empty((0, len(MEASURES))))
    rows = np.flatnonzero(findings.units.votes[findings.unit] >= 2)
    own = boxes[rows]
    median = medians_by_group(findings.unit[rows], own, len(findings.units.votes))[findings.unit[rows]]
    width, height = median[:, 2] - median[:, 0], median[:, 3] - median[:, 1]
    kept = (width > 0) & (height > 0)  # not of nan
    own, median, sides = own[kept], median[kept], np.column_stack([width, height, width, height])[kept]
    size = np.sqrt(box_area(own) / box_area(median)) - 1.0
    return Offsets(rows[kept], 100.0 * np.column_stack([size, (own - median) / sides]))


def bias_sums(chunk: Chunk) -> Moments:
    """Moments of the offsets of every annotator: rows are (annotator, measure)."""
    found, n_annotators = offsets(chunk), chunk.findings.n_annotators
    annotator = chunk.findings.objects.annotator[found.row]
    cells = annotator[:, None] * len(MEASURES) + np.arange(len(MEASURES))
    return Moments.of(cells.ravel(), found.values.ravel(), n_annotators * len(MEASURES))


def bias_of(sums: Moments, annotator: int) -> Bias | None:
    """The bias of an annotator, None without a unit."""
    first = annotator * len(MEASURES)
    n = int(sums.n[first])
    if not n:
        return None
    cells = range(first, first + len(MEASURES))
    return Bias(
        n=n,
        mean={name: float(sums.mean[k]) for name, k in zip(MEASURES, cells, strict=True)},
        std={name: math.sqrt(float(sums.squares[k]) / n) for name, k in zip(MEASURES, cells, strict=True)},
    )
