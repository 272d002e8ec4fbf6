"""Statistics of tags that add up over batches."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...metrics.alpha.nominal import add_padded
from ...metrics.alpha.sets import SetDistance, SetTally, TagTally
from ...metrics.arrays import FloatArray, IntArray, sums_by
from .compute import AGREED, NO_VERDICT, VERDICTS, TagAgreement

#: the alpha of sets takes time for the pairs of different sets: about ten seconds for this many
MAX_DIFFERENT_SETS = 20_000


@dataclass(frozen=True, slots=True)
class TagCounts:
    """Counts of every tag on rated samples; shapes ``(K,)``.

    Attributes:
        samples: samples on which anybody gave it
        votes: annotators who gave it, over the samples
        assigned: annotators assigned, over the samples on which anybody gave it
        agreed: samples on which everybody gave it
    """

    samples: IntArray
    votes: IntArray
    assigned: IntArray
    agreed: IntArray

    def __add__(self, other: TagCounts) -> TagCounts:
        return TagCounts(
            *(add_padded(getattr(self, field.name), getattr(other, field.name)) for field in dataclasses.fields(self))
        )


@dataclass(frozen=True, slots=True)
class TagStatistics:
    """Sufficient statistics of any number of samples.

    Attributes:
        scores: score of the samples of every batch, shapes ``(S,)``; nan where not rated
        sets: the sets of tags; None where there are too many different ones to compare
        presence: of every tag, whether it was given
        tags: counts of every tag
        given: shape ``(R, K)``, how often every annotator gave each tag, on all samples
        verdicts: shape ``(R, 3)``, tags of every annotator with every verdict
        n_missed: shape ``(R,)``, tags of two or more others that an assigned annotator did not give
        n_assigned: shape ``(R,)``, samples each annotator was assigned to
        n_empty: shape ``(R,)``, those on which they gave no tag
        n_shared: shape ``(R, R)``, samples that two annotators were assigned to; both orders
        jaccard: shape ``(R, R)``, sum of their Jaccard indices
        n_equal: shape ``(R, R)``, samples on which their sets are equal
        equal: shape ``()``, sum over samples of the share of pairs of equal sets
        n_rated: samples with at least two assigned annotators
        n_given: tags given on these, each once by every annotator
        n_disputed: samples of these on which not all gave the same tags
    """

    scores: tuple[FloatArray, ...]
    sets: SetTally | None
    presence: TagTally
    tags: TagCounts
    given: IntArray
    verdicts: IntArray
    n_missed: IntArray
    n_assigned: IntArray
    n_empty: IntArray
    n_shared: IntArray
    jaccard: FloatArray
    n_equal: IntArray
    equal: float
    n_rated: int
    n_given: int
    n_disputed: int

    def __add__(self, other: TagStatistics) -> TagStatistics:
        total: dict[str, Any] = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in dataclasses.fields(self)
            if field.name not in ("sets", "given")
        }
        both = None if self.sets is None or other.sets is None else _unless_too_many(self.sets + other.sets)
        n_tags = max(self.given.shape[1], other.given.shape[1])
        own, others = (np.pad(part, ((0, 0), (0, n_tags - part.shape[1]))) for part in (self.given, other.given))
        return TagStatistics(sets=both, given=own + others, **total)

    @property
    def score(self) -> FloatArray:
        """Score of every sample, shape ``(S,)``; nan where not rated."""
        return np.concatenate(self.scores)


def _unless_too_many(sets: SetTally) -> SetTally | None:
    return sets if sets.n_different <= MAX_DIFFERENT_SETS else None


def summarise_tags(agreement: TagAgreement, n_annotators: int, distance: SetDistance) -> TagStatistics:
    """The statistics of a batch.

    Args:
        agreement: the agreement on the batch
        n_annotators: number of annotators ``R``
        distance: distance of two sets
    """
    sets, annotator, tags, pairs = agreement.sets, agreement.annotator, agreement.tags, agreement.pairs
    rated, n_tags = agreement.rated, sets.n_tags
    size = np.bincount(sets.row, minlength=len(annotator))
    of_tag = annotator[sets.row]
    verdict = tags.verdict[agreement.of_given]
    judged = verdict != NO_VERDICT
    equal = pairs.jaccard == 1.0
    n_pairs = agreement.n_annotators * (agreement.n_annotators - 1) // 2
    counted = tags.verdict != NO_VERDICT
    return TagStatistics(
        scores=(agreement.score,),
        sets=_unless_too_many(SetTally.from_sets(sets, distance)),
        presence=TagTally.from_sets(sets),
        tags=TagCounts(
            samples=_count(tags.tag[counted], n_tags),
            votes=sums_by(tags.tag[counted], tags.votes[counted], n_tags).astype(np.int64),
            assigned=sums_by(tags.tag[counted], agreement.n_annotators[tags.sample[counted]], n_tags).astype(np.int64),
            agreed=_count(tags.tag[tags.verdict == AGREED], n_tags),
        ),
        given=_count(of_tag * n_tags + sets.tag, n_annotators * n_tags).reshape(n_annotators, n_tags),
        verdicts=_count(of_tag[judged] * len(VERDICTS) + verdict[judged], n_annotators * len(VERDICTS)).reshape(
            n_annotators, len(VERDICTS)
        ),
        n_missed=_missed(agreement, n_annotators),
        n_assigned=_count(annotator, n_annotators),
        n_empty=_count(annotator[size == 0], n_annotators),
        n_shared=_both_ways(agreement, np.ones(len(equal)), n_annotators).astype(np.int64),
        jaccard=_both_ways(agreement, pairs.jaccard, n_annotators),
        n_equal=_both_ways(agreement, equal.astype(np.float64), n_annotators).astype(np.int64),
        equal=float((1.0 / n_pairs[pairs.sample[equal]]).sum()),
        n_rated=int(rated.sum()),
        n_given=int(tags.votes[counted].sum()),
        n_disputed=int((agreement.score < 1.0).sum()),
    )


def _count(index: IntArray, n: int) -> IntArray:
    return np.bincount(index, minlength=n)


def _both_ways(agreement: TagAgreement, values: FloatArray, n_annotators: int) -> FloatArray:
    """Sum of values of pairs of sets for every pair of annotators, shape ``(R, R)``, symmetric."""
    pairs = agreement.pairs
    sums = sums_by(pairs.a * n_annotators + pairs.b, values, n_annotators**2).reshape(n_annotators, n_annotators)
    both: FloatArray = sums + sums.T
    return both


def _missed(agreement: TagAgreement, n_annotators: int) -> IntArray:
    """Tags of two or more others that an annotator assigned to the sample did not give, shape ``(R,)``."""
    tags, sets, annotator = agreement.tags, agreement.sets, agreement.annotator
    shared = (tags.verdict != NO_VERDICT) & (tags.votes >= 2)
    of_sample = np.bincount(tags.sample[shared], minlength=sets.n_units)
    could_give = sums_by(annotator, of_sample[sets.unit], n_annotators).astype(np.int64)
    gave = np.bincount(annotator[sets.row][shared[agreement.of_given]], minlength=n_annotators)
    missed: IntArray = could_give - gave
    return missed
