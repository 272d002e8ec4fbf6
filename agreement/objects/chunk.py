"""What several parts of a report need of the findings of some samples, computed once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.alpha.nominal import NominalCounts
from ...metrics.arrays import BoolArray, FloatArray, IntArray, sums_by
from .compute import Ratings
from .findings import Findings, pair_rows
from .size_rule import SizeRule
from .verdicts import NO_VERDICT


@dataclass(frozen=True, slots=True)
class Chunk:
    """The findings of some samples.

    Attributes:
        findings: ``N`` objects in ``U`` units on ``S`` samples, ``P`` pairs of objects of one unit, ``Q`` pairs of
            annotators on samples
        n_categories: number ``K`` of category codes, that of *missing* included
        ratings: what alpha counts
        rated_unit: shape ``(U,)``, units of samples that are rated
        alike: shape ``(N,)``, members of the unit of every object that have its class, itself included
        size: shape ``(U,)``, index into ``SIZES``, -1 where not known
        match_pair: shape ``(P,)``, pair of annotators
        match_sample: shape ``(P,)``
        shared_pair: shape ``(Q,)``, pair of annotators
        label_area: shape ``(S,)``, areas of all labels together
    """

    findings: Findings
    n_categories: int
    ratings: Ratings
    rated_unit: BoolArray
    alike: IntArray
    size: IntArray
    match_pair: IntArray
    match_sample: IntArray
    shared_pair: IntArray
    label_area: FloatArray

    @classmethod
    def of(cls, findings: Findings, n_categories: int, sizes: SizeRule) -> Chunk:
        """The findings of some samples."""
        objects, pairs, shared = findings.objects, findings.pairs, findings.sample_pairs
        same = np.concatenate([pairs.i[pairs.same_class], pairs.j[pairs.same_class]])
        return cls(
            findings=findings,
            n_categories=n_categories,
            ratings=findings.ratings(),
            rated_unit=findings.units.verdict != NO_VERDICT,
            alike=1 + np.bincount(same, minlength=len(objects)),
            size=sizes.of_units(findings),
            match_pair=pair_rows(objects.annotator[pairs.i], objects.annotator[pairs.j], findings.n_annotators),
            match_sample=objects.sample[pairs.i],
            shared_pair=pair_rows(shared.a, shared.b, findings.n_annotators),
            label_area=sums_by(objects.sample, findings.area, findings.n_samples),
        )

    def counts(self, unit: IntArray, category: IntArray, count: IntArray) -> NominalCounts:
        """Count ratings of units, by class code; columns as in :class:`.compute.Ratings`."""
        return NominalCounts.of(
            unit, category, count, max_ratings=self.findings.n_annotators, n_categories=self.n_categories
        )

    @property
    def n_annotator_pairs(self) -> int:
        """Number of pairs of annotators."""
        n = self.findings.n_annotators
        return n * (n - 1) // 2

    @property
    def rated_object(self) -> BoolArray:
        """Objects of samples that are rated, shape ``(N,)``."""
        return self.rated_unit[self.findings.unit]
