"""What a report says on every annotator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...metrics.arrays import FloatArray, IntArray, sums_by
from ..report import ReportContext, number
from .additive import Moments, SparseCounts
from .annotator_sums import AnnotatorSums
from .bias import bias_of
from .confusions import Listed, listed_by_row
from .consensus import ConsensusSums, consensus_of
from .findings import pair_names
from .pair_sums import PairSums
from .persons import persons_of
from .size_rule import SIZES
from .summaries import AnnotatorSummary
from .verdicts import VERDICTS

#: pairs of classes that a report lists for an annotator
MAX_LISTED = 20


@dataclass(frozen=True, slots=True)
class WithoutEach:
    """Alpha with all annotators, and without each of them; nan where undefined.

    Attributes:
        alpha: of all
        units_as_they_are: shape ``(R,)``
        rematched: shape ``(R,)``; None if nothing was matched again
    """

    alpha: float
    units_as_they_are: Sequence[float]
    rematched: Sequence[float] | None = None

    def vitality(self, annotator: int) -> float | None:
        """How much alpha falls without the annotator, None where that is undefined or not one of three."""
        return self._fall(self.units_as_they_are, annotator)

    def vitality_rematched(self, annotator: int) -> float | None:
        """The same, where the others were matched again."""
        return None if self.rematched is None else self._fall(self.rematched, annotator)

    def _fall(self, alphas: Sequence[float], annotator: int) -> float | None:
        return number(self.alpha - alphas[annotator]) if len(alphas) >= 3 else None


def annotator_summaries(
    sums: AnnotatorSums,
    pairs: PairSums,
    bias: Moments,
    consensus: ConsensusSums,
    without: WithoutEach,
    n_samples: int,
    context: ReportContext,
) -> list[AnnotatorSummary]:
    """Every annotator, in their order."""
    names = context.annotators
    persons = persons_of(context.config)
    classes = _classes(sums.classes, context)
    conflicts = _conflicts(pairs.confusion, context)
    score, n_scored = (_of_annotators(column, len(names)) for column in (pairs.score, pairs.n_scored))
    iou, n_matched = (_of_annotators(column, len(names)) for column in (pairs.iou, pairs.n_matched))
    missed, could_miss = sums.missed.sum(axis=1), sums.could_miss.sum(axis=1)
    return [
        AnnotatorSummary(
            name=name,
            n_assigned=int(sums.n_assigned[k]),
            n_drew_nothing=int(sums.n_drew_nothing[k]),
            n_not_assigned=n_samples - int(sums.n_assigned[k]),
            n_objects=sum(classes[k].values()),
            n_missed=int(missed[k]),
            n_crowd=int(sums.n_crowd[k]),
            verdicts=dict(zip(VERDICTS, sums.verdicts[k].tolist(), strict=True)),
            verdict_shares={
                verdict: _ratio(n, sums.verdicts[k].sum())
                for verdict, n in zip(VERDICTS, sums.verdicts[k].tolist(), strict=True)
            },
            classes=classes[k],
            person=persons.get(name),
            score=_ratio(score[k], n_scored[k]),
            n_could_miss=int(could_miss[k]),
            miss_rate=_ratio(missed[k], could_miss[k]),
            miss_rate_by_size=_by_size(sums, k),
            mean_iou=_ratio(iou[k], n_matched[k]),
            class_conflicts=conflicts[k].entries,
            bias=bias_of(bias, k),
            vitality=without.vitality(k),
            vitality_rematched=without.vitality_rematched(k),
            consensus=consensus_of(consensus, k),
        )
        for k, name in enumerate(names)
    ]


def _ratio(part: float | np.generic, whole: float | np.generic) -> float | None:
    """A share or a mean, None of nothing."""
    return float(part) / float(whole) if whole else None


def _by_size(sums: AnnotatorSums, annotator: int) -> dict[str, float | None]:
    """Share of missed objects of every size, none where objects have no size."""
    if not sums.could_miss[:, : len(SIZES)].any():
        return {}
    rates = zip(sums.missed[annotator].tolist(), sums.could_miss[annotator].tolist(), strict=True)
    return {size: _ratio(*rate) for size, rate in zip(SIZES, rates, strict=False)}


def _of_annotators(of_pairs: FloatArray | IntArray, n_annotators: int) -> FloatArray:
    """Sum over the pairs of every annotator, shape ``(R,)``."""
    a, b = pair_names(n_annotators)
    return sums_by(np.concatenate([a, b]), np.concatenate([of_pairs, of_pairs]), n_annotators)


def _classes(counts: SparseCounts, context: ReportContext) -> list[dict[str, int]]:
    """How many objects of every class each annotator drew, by name."""
    classes: list[dict[str, int]] = [{} for _ in context.annotators]
    annotator, category = counts.columns()
    for k, code, n in zip(annotator.tolist(), category.tolist(), counts.counts.tolist(), strict=True):
        name = context.class_names[code]
        classes[k][name] = classes[k].get(name, 0) + n
    return [dict(sorted(entry.items())) for entry in classes]


def _conflicts(confusion: SparseCounts, context: ReportContext) -> list[Listed]:
    """What each annotator said where another one said something else."""
    pair, own, other = confusion.columns()
    a, b = pair_names(len(context.annotators))
    both = confusion.regrouped(a[pair], own, other) + confusion.regrouped(b[pair], other, own)
    annotator, said, others = both.columns()
    differ = said != others
    return listed_by_row(
        annotator[differ], said[differ], others[differ], both.counts[differ], context.class_names,
        len(context.annotators), MAX_LISTED,
    )  # fmt: skip
