"""How far annotators agree on small, medium and large objects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.arrays import IntArray, sums_by
from .additive import Additive
from .chunk import Chunk
from .localisation import Matches, distribution
from .size_rule import SIZES, SizeRule
from .summaries import SizeSummary


@dataclass(frozen=True, slots=True)
class SizeSums(Additive):
    """Sums over the units of every size, shape ``(3,)``.

    Attributes:
        n_units: units
        n_pairs: pairs of matched labels
        n_labels: labels of both annotators, over all pairs of annotators
        n_expected: annotators assigned to units that two or more drew
        n_missing: those of them without an object
    """

    n_units: IntArray
    n_pairs: IntArray
    n_labels: IntArray
    n_expected: IntArray
    n_missing: IntArray


def size_sums(chunk: Chunk) -> SizeSums:
    """The sums of some samples."""
    known = (chunk.size >= 0) & chunk.rated_unit
    size, units = chunk.size[known], chunk.findings.units
    votes, assigned = units.votes[known], units.assigned[known]
    several = votes >= 2

    def add(values: IntArray) -> IntArray:
        return sums_by(size, values, len(SIZES)).astype(np.int64)

    return SizeSums(
        n_units=np.bincount(size, minlength=len(SIZES)),
        n_pairs=add(votes * (votes - 1) // 2),
        n_labels=add(votes * (assigned - 1)),
        n_expected=add(np.where(several, assigned, 0)),
        n_missing=add(np.where(several, assigned - votes, 0)),
    )


def size_summaries(sums: SizeSums, rule: SizeRule, matches: Matches) -> list[SizeSummary]:
    """Agreement on every size; none where objects have no size."""
    if rule.limits is None:
        return []
    ends = [None, *rule.limits, None]
    summaries = []
    for k, size in enumerate(SIZES):
        iou = matches.iou[matches.size == k]
        n_expected = int(sums.n_expected[k])
        summaries.append(
            SizeSummary(
                size=size,
                area_from=ends[k],
                area_to=ends[k + 1],
                unit=rule.unit,
                n_units=int(sums.n_units[k]),
                n_pairs=len(iou),
                **distribution(iou),
                miss_rate=int(sums.n_missing[k]) / n_expected if n_expected else None,
                f1=2 * int(sums.n_pairs[k]) / int(sums.n_labels[k]) if sums.n_labels[k] else None,
            )
        )
    return summaries
