"""Sums over samples for every pair of annotators."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...metrics.arrays import FloatArray, IntArray, ranges, sums_by
from ...metrics.geometry.objects import dice_from_iou
from .additive import Additive, Moments, SparseCounts
from .chunk import Chunk
from .findings import Findings


@dataclass(frozen=True, slots=True)
class PairSums(Additive):
    """Sums over the samples that both annotators of a pair were assigned to; dense columns have the shape ``(P,)``.

    ``P`` counts the pairs of ``R`` annotators in the order (0, 1), (0, 2) … (R - 2, R - 1).

    Attributes:
        n_samples: shared samples
        n_scored: those with a score
        score: sum of the pair's scores
        n_a: objects of the first annotator
        n_b: objects of the second
        n_matched: units with both
        n_same_class: those in which they agree on the class
        iou: sum of IoU over units with both
        dice: sum of Dice over units with both
        iou_same_class: sum of IoU over units with both and one class
        n_empty: shared samples that count as agreement on nothing
        a_to_b: over samples, mean over ``a``'s objects of the best IoU with ``b``'s
        b_to_a: the other direction
        symmetric: over samples, mean of the two directions
        n_aligned: mutual best pairs (method ``mutual_best``)
        recall: sum over them of shared area / area of ``a``'s object
        precision: sum over them of shared area / area of ``b``'s object
        visibility: sum over pairs of matched keypoints of the share of points that both labelled; 0 of other labels
        classes: counts of (pair, class) of the objects that the alpha of a pair counts
        confusion: counts of (pair, class of ``a``'s object, class of ``b``'s) over units with both
    """

    n_samples: IntArray
    n_scored: IntArray
    score: FloatArray
    n_a: IntArray
    n_b: IntArray
    n_matched: IntArray
    n_same_class: IntArray
    iou: FloatArray
    dice: FloatArray
    iou_same_class: FloatArray
    n_empty: IntArray
    a_to_b: Moments
    b_to_a: Moments
    symmetric: Moments
    n_aligned: IntArray
    recall: FloatArray
    precision: FloatArray
    visibility: FloatArray
    classes: SparseCounts
    confusion: SparseCounts


def pair_sums(chunk: Chunk) -> PairSums:
    """The sums of some samples."""
    findings = chunk.findings
    objects, pairs, shared = findings.objects, findings.pairs, findings.sample_pairs
    of_sample, of_match, n_pairs = chunk.shared_pair, chunk.match_pair, chunk.n_annotator_pairs
    count = functools.partial(np.bincount, minlength=n_pairs)
    add = functools.partial(sums_by, n=n_pairs)

    pair_score = findings.pair_score()
    scored = ~np.isnan(pair_score)
    all_empty = np.zeros(len(of_sample), np.bool_)
    if findings.config.empty == "agree":
        all_empty = findings.n_objects[shared.sample] == 0
    visibility = np.zeros(len(pairs.i)) if findings.visibility is None else findings.visibility
    return PairSums(
        n_samples=count(of_sample),
        n_scored=count(of_sample[scored]),
        score=add(of_sample[scored], pair_score[scored]),
        n_a=add(of_sample, shared.n_a).astype(np.int64),
        n_b=add(of_sample, shared.n_b).astype(np.int64),
        n_matched=count(of_match),
        n_same_class=count(of_match[pairs.same_class]),
        iou=add(of_match, pairs.iou),
        dice=add(of_match, dice_from_iou(pairs.iou)),
        iou_same_class=add(of_match[pairs.same_class], pairs.iou[pairs.same_class]),
        n_empty=count(of_sample[all_empty]),
        visibility=add(of_match, visibility),
        classes=_classes(chunk),
        confusion=SparseCounts.of(of_match, objects.category[pairs.i], objects.category[pairs.j]),
        **_best_overlaps(findings, of_sample, n_pairs),
        **_alignment(findings, of_sample, n_pairs),
    )


def _best_overlaps(findings: Findings, of_sample: IntArray, n_pairs: int) -> dict[str, Any]:
    """Over samples, the mean of the best IoU, for every pair of annotators in both directions."""
    a_to_b, b_to_a = findings.best_iou.T

    def moments(values: FloatArray) -> Moments:
        defined = ~np.isnan(values)
        return Moments.of(of_sample[defined], values[defined], n_pairs)

    one_drew = ~(np.isnan(a_to_b) & np.isnan(b_to_a))
    both = np.where(one_drew, (np.nan_to_num(a_to_b) + np.nan_to_num(b_to_a)) / 2.0, np.nan)
    return {"a_to_b": moments(a_to_b), "b_to_a": moments(b_to_a), "symmetric": moments(both)}


def _alignment(findings: Findings, of_sample: IntArray, n_pairs: int) -> dict[str, Any]:
    columns = np.zeros((len(of_sample), 3)) if findings.aligned is None else findings.aligned
    n_aligned, recall, precision = (sums_by(of_sample, column, n_pairs) for column in columns.T)
    return {"n_aligned": n_aligned.astype(np.int64), "recall": recall, "precision": precision}


def _classes(chunk: Chunk) -> SparseCounts:
    """Classes of both annotators' objects for every pair: all on shared samples, or the matched ones only."""
    findings = chunk.findings
    objects, pairs, n_annotators = findings.objects, findings.pairs, findings.n_annotators
    if findings.config.missing == "ignore":
        rows = chunk.match_pair
        return SparseCounts.of(np.r_[rows, rows], np.r_[objects.category[pairs.i], objects.category[pairs.j]])
    shared = findings.sample_pairs
    parts = []
    # rows of the objects of one annotator on one sample stand together
    block = objects.sample * n_annotators + objects.annotator
    for annotator, n in ((shared.a, shared.n_a), (shared.b, shared.n_b)):
        first = np.searchsorted(block, shared.sample * n_annotators + annotator)
        parts.append((np.repeat(chunk.shared_pair, n), objects.category[ranges(first, n)]))
    return SparseCounts.of(*(np.concatenate(column) for column in zip(*parts, strict=True)))
