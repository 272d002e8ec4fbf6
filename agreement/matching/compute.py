"""Agreement on a batch of samples: units of matched objects, ratings for alpha, verdicts and scores.

Objects are matched by ``match_objects`` of :mod:`...metrics.matching`, which :func:`matching_of` alone calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...metrics.alpha.nominal import alpha_by_group, ratings_by_group
from ...metrics.bootstrap.draws import sparse
from ...metrics.geometry.objects import Geometry, Objects, Overlaps, iou_from_areas
from ...metrics.matching import Matching, match_objects
from ...metrics.matching.merging import TIE
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..settings.config import AgreementConfig
from ..statistics.numbers import ratio
from ..statistics.records import Columns, compact, packed
from .tables import Batch, MatchedPairs, SamplePairs, Tables, pairs_of_units
from .verdicts import MOST_NAMED, Relation, object_verdicts, unit_verdicts, who_left_out

#: an object lies mostly within a crowd region if they share at least this part of the smaller one
MOSTLY_INSIDE = 0.5

#: why the alpha of a sample is undefined; entry 0 where it is defined
ALPHA_REASONS = ("", "one_annotator", "no_objects", "single_category", "no_pairable_values")


class MatchedBatch(Tables):
    """The agreement on a batch, together with its labels and matching."""

    batch: Batch  #: the objects that count
    counted: BoolArray  #: shape ``(N',)``, whether an object of the original batch counts; the others are crowd
    matching: Matching  #: unit of every object
    others: IntArray  #: rows in the original batch of objects that are in no unit and that a run stores


def compute_agreement_of(batch: Batch, config: AgreementConfig) -> MatchedBatch:
    """Match the objects of a batch and score its samples."""
    read = batch.objects
    batch, overlaps, counted = without_crowd(batch)
    objects, geometry, n_samples = batch.objects, batch.geometry, batch.n_samples
    matching = matching_of(objects, overlaps, config)
    unit, of_unit = matching.unit, np.zeros(matching.n_units, np.int64)
    of_unit[unit] = objects.sample
    n_units, votes = np.bincount(of_unit, minlength=n_samples), np.bincount(unit, minlength=matching.n_units)
    n_assigned = batch.assigned.sum(axis=1)
    attributes = zip(batch.attributes, batch.attribute_numbers, strict=True)
    verdict = unit_verdicts(objects.category, attributes, unit, votes, n_assigned[of_unit], config.tolerance)
    pairs = matched_pairs(objects, geometry, overlaps, matching)
    boxes, visibility, places = geometry.boxes_xyxy(), geometry.visibility(pairs.i, pairs.j), geometry.places()
    crowded = np.empty(0, np.int64) if overlaps.crowded is None else objects.sample[overlaps.crowded]

    def count(sample: IntArray) -> NDArray[Any]:
        return compact(np.bincount(sample, minlength=n_samples))

    columns: Columns = {
        "n_objects": count(objects.sample),
        "n_units": compact(n_units),
        "n_matched": count(objects.sample[pairs.i]),
        "n_crowd": count(read.sample[~counted]),
        "assigned": packed(batch.assigned),
        "annotator": compact(objects.annotator),
        "category": compact(objects.category),
        "unit": compact(unit - (np.cumsum(n_units) - n_units)[objects.sample]),
        "verdict": object_verdicts(objects, verdict[unit], overlaps, geometry, threshold=config.iou).astype(np.int8),
        "area": overlaps.area,
        "unit_verdict": verdict.astype(np.int8),
        "iou": pairs.iou,
        "crowd_annotator": compact(read.annotator[~counted]),
        "n_hard": count(matching.hard),
        "n_inexact": count(matching.inexact),
        "inexact_surplus": matching.inexact_surplus[np.argsort(matching.inexact, kind="stable")],
        "crowded": count(crowded) > 0,
        "n_repaired": count(objects.sample[geometry.repaired]),
        "n_points": count(objects.sample[geometry.without_extent]),
        "n_in_another_order": count(objects.sample[geometry.in_another_order(objects, votes[unit] == 1)]),
        **{name: places[name] for name in ("boxes_rest", "outline") if name in places},
    }
    if boxes is not None:
        columns["boxes_xyxy"] = boxes.astype(np.float32)
    if "first" in places:
        columns["first_frame"] = compact(places["first"].astype(np.int64))
    if "points_xy" in places:
        n_coordinates = 2 * places["points_xy"].shape[1]
        columns["n_coordinates"] = compact(np.bincount(objects.sample, minlength=n_samples) * n_coordinates)
        columns["coordinates"] = places["points_xy"].astype(np.float32).ravel()
    if batch.attributes:
        columns["attributes"] = compact(np.column_stack(batch.attributes))
    if visibility is not None:
        columns["visibility"] = visibility
    if batch.otherwise is not None:
        columns["otherwise"] = packed(batch.otherwise)
    if batch.size_px is not None:
        columns["size_px"] = batch.size_px.astype(np.float32)
    if batch.track is not None:
        columns["track"] = batch.track
    found = MatchedBatch(columns, batch.assigned.shape[1], config)
    found.batch, found.counted, found.matching = batch, counted, matching
    meetings = found.sample_pairs
    alpha, reason = sample_alpha(found)
    columns |= {
        "n_pairs": count(meetings.sample),
        "score": sample_scores(found.pair_score, meetings, n_samples),
        "cost": sample_costs(found.pair_score, meetings, n_samples),
        "alpha": alpha,
        "alpha_reason": reason.astype(np.uint8),
        "best_iou": _best_iou(found, overlaps),
    }
    if matching.aligned is not None:
        # number, recall and precision of the mutual best pairs of every meeting
        i, j = matching.aligned
        area = overlaps.values_at(overlaps.intersection, i, j)
        rows, n_meetings = (
            meetings.row(objects.sample[i], objects.annotator[i], objects.annotator[j]),
            len(meetings.sample),
        )
        values = (np.ones(len(i)), area / overlaps.area[i], area / overlaps.area[j])
        columns["aligned"] = np.column_stack([sums_by(rows, each, n_meetings) for each in values])
    return found


def without_crowd(batch: Batch) -> tuple[Batch, Overlaps, BoolArray]:
    """Leave out crowd regions, and objects that lie mostly within one of another annotator, as COCO ignores them.

    Returns:
        the objects that count, their overlaps, and a mask that tells which objects of the batch they are
    """
    overlaps = batch.geometry.overlaps(batch.objects)
    if batch.crowd is None or not batch.crowd.any():
        return batch, overlaps, np.ones(len(batch.objects), np.bool_)
    counted = ~(batch.crowd | in_crowd(batch.objects, batch.crowd, overlaps))
    return batch.among(counted), overlaps.among(counted), counted


def in_crowd(objects: Objects, crowd: BoolArray, overlaps: Overlaps) -> BoolArray:
    """Objects that lie mostly within a crowd region of another annotator, shape ``(N,)``.

    Args:
        crowd: shape ``(N,)``, whether an object is a crowd region
    """
    inside, (i, j) = np.zeros(len(objects), np.bool_), (overlaps.i, overlaps.j)
    mostly = (overlaps.inclusion() >= MOSTLY_INSIDE - TIE) & (objects.annotator[i] != objects.annotator[j])
    inside[i[mostly & crowd[j]]] = True
    inside[j[mostly & crowd[i]]] = True
    return inside


def matching_of(
    objects: Objects, overlaps: Overlaps, config: AgreementConfig, threshold: float | None = None
) -> Matching:
    """Match objects by the options of a run, by default at its threshold."""
    return match_objects(
        objects,
        overlaps,
        threshold=config.iou if threshold is None else threshold,
        similarity=config.similarity,
        method=config.method,
        classes=config.classes,
    )


def matched_pairs(objects: Objects, geometry: Geometry, overlaps: Overlaps, matching: Matching) -> MatchedPairs:
    """The pairs of objects of one unit."""
    i, j = pairs_of_units(matching.unit)
    iou = overlaps.values_at(overlaps.iou, i, j)
    if overlaps.crowded is not None:  # ``overlaps`` lacks some pairs of crowded objects
        left_out = np.flatnonzero(overlaps.crowded[i] & (iou == 0.0))
        a, b = i[left_out], j[left_out]
        iou[left_out] = iou_from_areas(geometry.intersection_of(a, b), overlaps.area[a], overlaps.area[b])
    return MatchedPairs(i, j, iou, objects.category[i] == objects.category[j])


def sample_scores(pair_score: FloatArray, sample_pairs: SamplePairs, n_samples: int) -> FloatArray:
    """Mean over the scored pairs of every sample, shape ``(S,)``; nan without scored pairs."""
    scored = ~np.isnan(pair_score)
    of_sample = sample_pairs.sample[scored]
    return ratio(sums_by(of_sample, pair_score[scored], n_samples), np.bincount(of_sample, minlength=n_samples))


def sample_costs(pair_score: FloatArray, sample_pairs: SamplePairs, n_samples: int) -> FloatArray:
    """The disagreement that fixing a sample would remove, shape ``(S,)``; 0 where everybody drew the same, or nothing.

    Sum over pairs of annotators of ``(n_a + n_b) (1 - score)``: an object that one of the two drew costs 1, one with
    different classes 2, any other one ``2 (1 - IoU)``. Rounded, so that equal samples stay equal.
    """
    costs = (sample_pairs.n_a + sample_pairs.n_b) * (1.0 - np.nan_to_num(pair_score, nan=1.0))
    return sums_by(sample_pairs.sample, costs, n_samples).round(9) + 0.0  # no negative zero


def sample_alpha(t: Tables) -> tuple[FloatArray, IntArray]:
    """Alpha of every sample and why it is undefined, both ``(S,)``."""
    ratings, n_assigned, n_samples = t.ratings, t.n_assigned, t.n_samples
    alpha = alpha_by_group(ratings.unit, ratings.category, ratings.count, ratings.sample, n_samples, t.config.undefined)
    is_empty = t.rated & (t.n_objects == 0)
    if t.config.empty == "agree":
        alpha[is_empty] = 1.0
    n_ratings = ratings_by_group(ratings.unit, ratings.count, ratings.sample, n_samples)
    names = ("", "one_annotator", "no_objects", "no_pairable_values")
    reason = np.select(
        [~np.isnan(alpha), n_assigned < 2, is_empty, n_ratings == 0],
        [ALPHA_REASONS.index(name) for name in names],
        ALPHA_REASONS.index("single_category"),
    )
    return alpha, reason


def _best_iou(t: Tables, overlaps: Overlaps) -> FloatArray:
    """For every meeting the mean best IoU of the labels of ``a`` with ``b``, and of ``b`` with ``a``: ``(Q, 2)``."""
    objects, seats, meetings = t.objects, t.seats, t.sample_pairs
    rank, width = meetings.rank, int(t.n_assigned.max(initial=0))
    best = np.zeros(len(objects) * width)  # best IoU of every object with each annotator assigned to its sample
    for own, other in ((overlaps.i, overlaps.j), (overlaps.j, overlaps.i)):
        np.maximum.at(best, own * width + rank[objects.sample[other], objects.annotator[other]], overlaps.iou)
    n = len(objects)
    of_seat = sparse(seats.own, np.arange(n), np.ones(n), (len(seats.sample), n)) @ best.reshape(n, width)
    sample, a, b = meetings.sample, meetings.a, meetings.b
    a_to_b, b_to_a = of_seat[seats.at[sample, a], rank[sample, b]], of_seat[seats.at[sample, b], rank[sample, a]]
    return np.column_stack([ratio(a_to_b, meetings.n_a), ratio(b_to_a, meetings.n_b)])


def missed_by(found: Tables) -> Relation:
    """Annotators who missed the object of a label, for all ``N`` labels."""
    return who_left_out(found.assigned[found.units.sample], found.unit, found.objects.annotator).of_rows(found.unit)


def differs_from(found: Tables) -> Relation:
    """Annotators who gave the object of a label another class, for all ``N`` labels."""
    pairs, annotator = found.pairs, found.objects.annotator
    i, j = pairs.i[~pairs.same_class], pairs.j[~pairs.same_class]
    row, other = np.concatenate([i, j]), annotator[np.concatenate([j, i])]
    order = np.lexsort((other, row))
    return Relation(row[order], other[order])


def is_named(found: Tables) -> BoolArray:
    """Labels that can name other annotators, shape ``(N,)``: at most ``MOST_NAMED`` were asked for the object."""
    named: BoolArray = (found.units.assigned <= MOST_NAMED)[found.unit]
    return named
