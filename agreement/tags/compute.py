"""Scores and verdicts of a batch of samples with tags, and the records that keep every annotator's tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, pairs_within, sums_by
from ..matching.verdicts import AGREED, LONE, MISSED, unit_verdicts
from ..statistics.records import OF_SAMPLE, AnyColumns, Columns, Records, compact, packed, rows_by_column

#: verdicts of tags, with their codes: those of objects of one class
VERDICTS = {"agreed": AGREED, "missed": MISSED, "lone": LONE}


@dataclass(frozen=True, slots=True)
class TagAgreement:
    """The agreement on a batch of samples, as four tables: samples, tags of annotators, units, and meetings.

    A unit is a tag of a sample, whoever gave it; a meeting is a sample and two of its assigned annotators.
    """

    # a row for every sample, (S,)
    assigned: BoolArray  #: shape ``(S, R)``, whether an annotator is assigned; includes all who gave a tag
    n_annotators: IntArray  #: assigned annotators
    score: FloatArray  #: mean Jaccard index over pairs; nan with fewer than two annotators
    # a row for every tag of an annotator, (T,), by sample, annotator and tag; a tag that was given twice counts once
    sample: IntArray
    annotator: IntArray
    tag: IntArray  #: code of the tag, from 1
    unit: IntArray  #: row of the unit
    label: IntArray  #: row of the label, the first one with this tag
    # a row for every unit, (U,), by sample, then tag
    unit_sample: IntArray
    unit_tag: IntArray
    votes: IntArray  #: annotators who gave it
    verdict: IntArray  #: code, see ``VERDICTS``
    of_label: IntArray  #: shape ``(N,)``, unit of every label
    # a row for every meeting, (Q,)
    met_on: IntArray  #: the sample
    a: IntArray  #: first annotator
    b: IntArray  #: second annotator
    shared: IntArray  #: tags that both gave
    n_a: IntArray  #: number of tags of the first
    n_b: IntArray  #: number of tags of the second
    jaccard: FloatArray  #: shared tags / tags in either set; 1 for two empty sets

    @property
    def rated(self) -> BoolArray:
        """Samples with at least two assigned annotators, shape ``(S,)``."""
        return self.n_annotators >= 2


def compute_tags(sample: IntArray, annotator: IntArray, tag: IntArray, assigned: BoolArray) -> TagAgreement:
    """Score the samples of a batch, and judge their tags.

    Args:
        sample: shape ``(N,)``, sample of every label
        annotator: shape ``(N,)``
        tag: shape ``(N,)``, code of the tag, from 1; an annotator may give it twice
        assigned: shape ``(S, R)``, whether an annotator is assigned; includes all who gave a tag
    """
    (n_samples, n), n_tags = assigned.shape, int(tag.max(initial=0)) + 1
    n_annotators = assigned.sum(axis=1)
    label = first_labels(sample, annotator, tag)
    key, of_label = np.unique(sample * n_tags + tag, return_inverse=True)
    unit_sample, unit = key // n_tags, of_label[label]
    votes = np.bincount(unit, minlength=len(key))

    seat_sample, seat_annotator = np.nonzero(assigned)
    seat = np.searchsorted(seat_sample * n + seat_annotator, sample[label] * n + annotator[label])
    i, j = pairs_within(seat_sample)
    # any two tags of one unit are a tag that two annotators share
    order = np.argsort(unit, kind="stable")
    first, second = (seat[order][rows] for rows in pairs_within(unit[order]))
    meeting = np.searchsorted(i * len(seat_sample) + j, first * len(seat_sample) + second)
    shared, size = np.bincount(meeting, minlength=len(i)), np.bincount(seat, minlength=len(seat_sample))
    union = size[i] + size[j] - shared
    jaccard = np.where(union > 0, shared / np.maximum(union, 1), 1.0)
    n_pairs = n_annotators * (n_annotators - 1) // 2
    total = sums_by(seat_sample[i], jaccard, n_samples)
    return TagAgreement(
        assigned=assigned,
        n_annotators=n_annotators,
        score=np.where(n_pairs > 0, total / np.maximum(n_pairs, 1), np.nan),
        sample=sample[label],
        annotator=annotator[label],
        tag=tag[label],
        unit=unit,
        label=label,
        unit_sample=unit_sample,
        unit_tag=key % n_tags,
        votes=votes,
        verdict=unit_verdicts(tag[label], (), unit, votes, n_annotators[unit_sample], 0.0),
        of_label=of_label,
        met_on=seat_sample[i],
        a=seat_annotator[i],
        b=seat_annotator[j],
        shared=shared,
        n_a=size[i],
        n_b=size[j],
        jaccard=jaccard,
    )


def first_labels(sample: IntArray, annotator: IntArray, tag: IntArray) -> IntArray:
    """Rows of the labels that stand for the tags of annotators, by sample, annotator and tag.

    If an annotator gave a tag more than once, the first label counts.
    """
    key = sample * (int(annotator.max(initial=0)) + 1) + annotator
    first: IntArray = np.unique(key * (int(tag.max(initial=0)) + 1) + tag, return_index=True)[1]
    return first


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
        return compute_tags(*self.labels(), self.assigned)

    def recoded(self, classes: IntArray, attributes: Sequence[IntArray]) -> TagRecords:
        """The same records with other codes; the tags of an annotator are sorted by code."""
        parts = list[AnyColumns]()
        # the short form of super() does not work in classes with slots
        for part in super(TagRecords, self).recoded(classes, attributes).parts:
            sample = np.repeat(np.arange(len(part["score"])), part["n_objects"])
            order = np.lexsort((part["tag"], part["annotator"], sample))
            parts.append({**part, **{name: part[name][order] for name in ("tag", "label_id") if name in part}})
        return replace(self, parts=tuple(parts))


def record_tags(agreement: TagAgreement, otherwise: BoolArray | None = None) -> TagRecords:
    """The records of a batch.

    Args:
        otherwise: shape ``(S, R)``, who would be assigned if null label lists meant the opposite; None: the same
    """
    n_samples, disputed = len(agreement.score), agreement.unit_sample[agreement.verdict > AGREED]
    columns: Columns = {
        "assigned": packed(agreement.assigned),
        "otherwise": packed(agreement.assigned if otherwise is None else otherwise),
        "score": agreement.score,
        "n_objects": compact(np.bincount(agreement.sample, minlength=n_samples)),
        "n_units": compact(np.bincount(agreement.unit_sample, minlength=n_samples)),
        "n_disputed": compact(np.bincount(disputed, minlength=n_samples)),
        "annotator": compact(agreement.annotator),
        "tag": compact(agreement.tag),
    }
    return TagRecords(agreement.assigned.shape[1], (columns,))
