"""Scores and verdicts of a batch of samples with tags, and the records that keep every annotator's tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...metrics.alpha.sets import TagSets
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, pairs_within, sums_by
from ..matching.verdicts import AGREED, LONE, MISSED, unit_verdicts
from ..statistics.records import OF_SAMPLE, AnyColumns, Columns, Records, compact, packed, rows_by_column

#: verdicts of tags, with their codes: those of objects of one class
VERDICTS = {"agreed": AGREED, "missed": MISSED, "lone": LONE}


@dataclass(frozen=True, slots=True)
class TagBatch:
    """The tags of a batch of samples, and the assigned annotators."""

    sample: IntArray  #: shape ``(N,)``, sample of every label
    annotator: IntArray  #: shape ``(N,)``
    tag: IntArray  #: shape ``(N,)``, code of the tag, from 1; an annotator may give it twice
    assigned: BoolArray  #: shape ``(S, R)``, whether an annotator is assigned; includes all who gave a tag
    #: shape ``(S, R)``, who would be assigned if a null label list had the other meaning; None: the same
    otherwise: BoolArray | None = None

    def select(self, samples: BoolArray) -> TagBatch:
        """The batch of the samples in a mask ``(S,)``."""
        rows = samples[self.sample]
        number = np.cumsum(samples) - 1
        otherwise = None if self.otherwise is None else self.otherwise[samples]
        columns = (number[self.sample[rows]], self.annotator[rows], self.tag[rows])
        return TagBatch(*columns, self.assigned[samples], otherwise)


@dataclass(frozen=True, slots=True)
class SetPairs:
    """The sets of two annotators on one sample, for all pairs; shapes ``(Q,)``."""

    sample: IntArray  #: the sample
    a: IntArray  #: first annotator
    b: IntArray  #: second annotator
    shared: IntArray  #: tags that both gave
    size_a: IntArray  #: number of tags of the first
    size_b: IntArray  #: number of tags of the second
    jaccard: FloatArray  #: shared tags / tags in either set; 1 for two empty sets


@dataclass(frozen=True, slots=True)
class SampleTags:
    """The different tags of every sample, by sample, then tag; shapes ``(T,)``."""

    sample: IntArray  #: the sample
    tag: IntArray  #: code of the tag
    votes: IntArray  #: annotators who gave it
    verdict: IntArray  #: code as of objects


@dataclass(frozen=True, slots=True)
class TagAgreement:
    """The agreement on a batch."""

    sets: TagSets  #: the set of every assigned annotator; samples are units
    annotator: IntArray  #: shape ``(B,)``, annotator of every set
    pairs: SetPairs  #: all pairs of sets of one sample
    tags: SampleTags  #: the tags of every sample
    of_given: IntArray  #: shape ``(T',)``, row in ``tags`` of every tag in ``sets``
    of_label: IntArray  #: shape ``(N,)``, row in ``tags`` of every label
    n_annotators: IntArray  #: shape ``(S,)``, assigned annotators
    score: FloatArray  #: shape ``(S,)``, mean Jaccard index over pairs; nan with fewer than two annotators
    otherwise: BoolArray | None = None  #: as in :class:`TagBatch`

    @property
    def rated(self) -> BoolArray:
        """Samples with at least two assigned annotators, shape ``(S,)``."""
        return self.n_annotators >= 2

    @property
    def n_tags(self) -> IntArray:
        """Different tags of every sample, shape ``(S,)``."""
        return np.bincount(self.tags.sample, minlength=len(self.n_annotators))

    @property
    def n_disputed(self) -> IntArray:
        """Number of tags of every sample that not all annotators gave, shape ``(S,)``."""
        disputed = self.tags.sample[self.tags.verdict > AGREED]
        return np.bincount(disputed, minlength=len(self.n_annotators))


def compute_tags(batch: TagBatch) -> TagAgreement:
    """Score the samples of a batch, and judge their tags."""
    n_samples = len(batch.assigned)
    n_annotators = batch.assigned.sum(axis=1)
    sample, annotator = np.nonzero(batch.assigned)
    sets = TagSets.from_columns(
        np.concatenate([sample, batch.sample]),
        np.concatenate([annotator, batch.annotator]),
        np.concatenate([np.full(len(sample), -1), batch.tag]),
        n_units=n_samples,
    )
    pairs = _pairs(sets, annotator)
    n_pairs = n_annotators * (n_annotators - 1) // 2
    total = sums_by(pairs.sample, pairs.jaccard, n_samples)
    tags, of_given, of_label = _sample_tags(sets, batch, n_annotators)
    return TagAgreement(
        sets=sets,
        annotator=annotator,
        pairs=pairs,
        tags=tags,
        of_given=of_given,
        of_label=of_label,
        n_annotators=n_annotators,
        score=np.where(n_pairs > 0, total / np.maximum(n_pairs, 1), np.nan),
        otherwise=batch.otherwise,
    )


def first_labels(batch: TagBatch) -> IntArray:
    """Rows of the labels that stand for the tags of annotators, by sample, annotator and tag.

    If an annotator gave a tag more than once, the first label counts.
    """
    annotator = batch.sample * batch.assigned.shape[1] + batch.annotator
    key = annotator * (int(batch.tag.max(initial=0)) + 1) + batch.tag
    first: IntArray = np.unique(key, return_index=True)[1]
    return first


def _keys(sets: TagSets, sample: IntArray, tag: IntArray) -> IntArray:
    """One number for every (sample, tag), ascending by sample, then tag."""
    keys: IntArray = sample * max(sets.n_tags, 1) + tag
    return keys


def _pairs(sets: TagSets, annotator: IntArray) -> SetPairs:
    i, j = pairs_within(sets.unit)
    size = np.bincount(sets.row, minlength=len(sets.unit))
    # each pair of rows with the same (sample, tag) is a tag shared by two sets
    keys = _keys(sets, sets.unit[sets.row], sets.tag)
    order = np.argsort(keys, kind="stable")
    first, second = (sets.row[order][rows] for rows in pairs_within(keys[order]))
    n_sets = len(sets.unit)
    shared = np.bincount(np.searchsorted(i * n_sets + j, first * n_sets + second), minlength=len(i))
    union = size[i] + size[j] - shared
    jaccard = np.where(union > 0, shared / np.maximum(union, 1), 1.0)
    return SetPairs(sets.unit[i], annotator[i], annotator[j], shared, size[i], size[j], jaccard)


def _sample_tags(sets: TagSets, batch: TagBatch, n_annotators: IntArray) -> tuple[SampleTags, IntArray, IntArray]:
    """The tags of every sample, the row of every tag of the sets in them, and the row of every label."""
    keys, of_given, votes = np.unique(
        _keys(sets, sets.unit[sets.row], sets.tag), return_inverse=True, return_counts=True
    )
    sample, tag = keys // max(sets.n_tags, 1), keys % max(sets.n_tags, 1)
    verdict = unit_verdicts(sets.tag, (), of_given, votes, n_annotators[sample], 0.0)
    of_label = np.searchsorted(keys, _keys(sets, batch.sample, batch.tag))
    return SampleTags(sample, tag, votes, verdict), of_given, of_label


@dataclass(frozen=True, slots=True)
class TagRecords(Records):
    """The tags of any number of samples, each once per annotator.

    About 40 bytes for a sample with three annotators and four tags each, and 12 for the id of every label.
    """

    family: ClassVar[str] = "tags"
    rows: ClassVar[Mapping[str, str]] = rows_by_column(
        {
            OF_SAMPLE: ("assigned", "otherwise", "score", "n_objects", "n_units", "n_disputed"),
            "n_objects": ("annotator", "tag", "label_id"),
        }
    )
    of_classes: ClassVar[str | None] = "tag"

    def agreement(self) -> TagAgreement:
        """The agreement on all samples at once."""
        return compute_tags(self.batch())

    def read_otherwise(self) -> TagRecords:
        """The records of the same tags if a null label list had the other meaning."""
        return record_tags(compute_tags(self.batch(self.otherwise)), self.n_annotators)

    def _recoded(self, part: AnyColumns, classes: IntArray, attributes: Sequence[IntArray]) -> AnyColumns:
        """The tags of an annotator stand in the order of their codes."""
        # the short form of super() does not work in classes with slots
        found = super(TagRecords, self)._recoded(part, classes, attributes)
        sample = np.repeat(np.arange(len(part["score"])), part["n_objects"])
        order = np.lexsort((found["tag"], part["annotator"], sample))
        return {**found, **{name: found[name][order] for name in ("tag", "label_id") if name in found}}

    def batch(self, assigned: BoolArray | None = None) -> TagBatch:
        """The tags, with who is assigned, or was by another reading."""
        assigned = self.assigned if assigned is None else assigned
        sample = np.repeat(np.arange(self.n_samples), self.column("n_objects"))
        annotator, tag = (self.column(name).astype(np.int64) for name in ("annotator", "tag"))
        return TagBatch(sample, annotator, tag, assigned)


def record_tags(agreement: TagAgreement, n_annotators: int) -> TagRecords:
    """The records of a batch with ``R`` annotators."""
    sets, n_samples = agreement.sets, len(agreement.score)
    assigned = np.zeros((n_samples, n_annotators), np.bool_)
    assigned[sets.unit, agreement.annotator] = True
    of_sample = sets.unit[sets.row]
    columns: Columns = {
        "assigned": packed(assigned),
        "score": agreement.score,
        "n_objects": compact(np.bincount(of_sample, minlength=n_samples)),
        "n_units": compact(agreement.n_tags),
        "n_disputed": compact(agreement.n_disputed),
        "annotator": compact(agreement.annotator[sets.row]),
        "tag": compact(sets.tag),
    }
    if agreement.otherwise is not None:
        columns["otherwise"] = packed(agreement.otherwise)
    return TagRecords(n_annotators, (columns,))
