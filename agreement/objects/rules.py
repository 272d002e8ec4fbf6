"""Alpha under other rules than those of the run, from the same labels, as statistics that add up over batches.

Any published number can be located among them: programs differ in what matches and in what alpha counts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np

from ...metrics.alpha.nominal import NominalTally
from ...metrics.arrays import IntArray
from ...metrics.matching import ClassHandling, Method, match_objects
from ...metrics.matching.sweep import sweep_thresholds
from ..config import AgreementConfig, Empty, Missing, Undefined
from .compute import Agreement
from .sweep import first_of_units
from .unit_counts import UnitCounter


@dataclass(frozen=True, slots=True)
class RuleSums:
    """Sums over rated samples that somebody drew in.

    Attributes:
        method: how objects are matched
        classes: how classes enter the matching
        missing: whether a missed object is a category
        joint: ratings of units as alpha counts them
        alpha: sum of the samples' alphas
        n_defined: samples with an alpha
        n_single: samples without, because everybody used one category
    """

    method: Method
    classes: ClassHandling
    missing: Missing
    joint: NominalTally
    alpha: float
    n_defined: int
    n_single: int

    def __add__(self, other: RuleSums) -> RuleSums:
        return dataclasses.replace(
            self,
            joint=self.joint + other.joint,
            alpha=self.alpha + other.alpha,
            n_defined=self.n_defined + other.n_defined,
            n_single=self.n_single + other.n_single,
        )


@dataclass(frozen=True, slots=True)
class OtherRules:
    """Alpha under one set of rules, nan where undefined; ``undefined`` concerns ``mean`` alone."""

    method: Method
    classes: ClassHandling
    missing: Missing
    empty: Empty
    undefined: Undefined
    pooled: float
    mean: float
    n_defined: int


@dataclass(frozen=True, slots=True)
class RuleStatistics:
    """Sums under every rule of matching and of missing objects, and what images add that everybody left empty.

    Attributes:
        sums: in the order in which they are reported
        empty: ratings of the images that everybody left empty, where these count and missing is a category
        n_empty: number of these images
    """

    sums: tuple[RuleSums, ...] = ()
    empty: NominalTally = dataclasses.field(default_factory=NominalTally.empty)
    n_empty: int = 0

    def __add__(self, other: RuleStatistics) -> RuleStatistics:
        sums = self.sums or other.sums
        if self.sums and other.sums:
            sums = tuple(a + b for a, b in zip(self.sums, other.sums, strict=True))
        return RuleStatistics(sums, self.empty + other.empty, self.n_empty + other.n_empty)

    def alphas(self) -> Iterator[OtherRules]:
        """Alpha under every combination of the rules."""
        for sums in self.sums:
            for empty in get_args(Empty):
                agreed = self.n_empty if empty == "agree" else 0
                joint = sums.joint + self.empty if agreed and sums.missing == "category" else sums.joint
                for undefined in get_args(Undefined):
                    ones = agreed + (sums.n_single if undefined == "one" else 0)
                    n = sums.n_defined + ones
                    yield OtherRules(
                        method=sums.method,
                        classes=sums.classes,
                        missing=sums.missing,
                        empty=empty,
                        undefined=undefined,
                        pooled=joint.alpha(),
                        mean=(sums.alpha + ones) / n if n else np.nan,
                        n_defined=n,
                    )


def rules_of(agreement: Agreement, config: AgreementConfig) -> RuleStatistics:
    """Alpha of a batch under all class rules of the method ``optimal``, and under ``recursive`` as it was published.

    At the threshold of the run, whose own units are taken as they are, and come first if they are of another method.
    The others of ``optimal`` are found as :func:`~...metrics.sweep.sweep_thresholds` finds them, which solves all but
    very large components exactly.
    """
    counter = UnitCounter.of(agreement.batch.objects, agreement.overlaps, agreement.n_assigned)
    sums = []
    for method, classes, first in _matchings(agreement, config):
        units = counter.group(first)
        for missing in get_args(Missing):
            alpha, single = counter.alphas(units, missing)
            defined = alpha[~np.isnan(alpha)]
            joint = counter.tally(units, missing)
            sums.append(
                RuleSums(method, classes, missing, joint, float(defined.sum()), len(defined), int(single.sum()))
            )
    is_empty = agreement.rated & (agreement.n_objects == 0)
    return RuleStatistics(tuple(sums), counter.all_empty(agreement.n_objects, "category", "agree"), int(is_empty.sum()))


def _matchings(agreement: Agreement, config: AgreementConfig) -> Iterator[tuple[Method, ClassHandling, IntArray]]:
    """Method, class rule, and the first object of the unit of every object."""
    objects, overlaps, similarity = agreement.batch.objects, agreement.overlaps, config.similarity
    own_rules = (config.method, config.classes)
    own = first_of_units(agreement.matching.unit, agreement.matching.n_units)
    if config.method != "optimal":
        yield *own_rules, own
    for classes in get_args(ClassHandling):
        if own_rules == ("optimal", classes):
            yield "optimal", classes, own
            continue
        sweep = sweep_thresholds(objects, overlaps, thresholds=(config.iou,), similarity=similarity, classes=classes)
        yield "optimal", classes, sweep.first[0]
    if own_rules != ("recursive", "ignore"):
        matching = match_objects(
            objects, overlaps, threshold=config.iou, similarity=similarity, method="recursive", classes="ignore"
        )
        yield "recursive", "ignore", first_of_units(matching.unit, matching.n_units)
